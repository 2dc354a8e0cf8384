/* What a daemon orders its shepherd to do. */
#include <config.h>

#include <launcher/shepherd/shepherd_wire.h>
#include <stdlib.h>
#include <tests/fuzz/fuzz.h>

static void read_order(const struct order *order)
{
    struct wire_app *app = NULL;
    struct wire_proc proc;
    uint32_t id;
    int signal;
    const char *folder;
    if (order_get_app(order, &app) == ORTE_SUCCESS) {
        fuzz_check(app != NULL && app->argv && app->env, "an app is whole");
    }
    free(app);
    (void) !order_get_spawn(order, &proc);
    (void) !order_get_signal(order, &id, &signal);
    (void) !order_get_guard(order, &folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed feed = {data, size};
    struct order order;
    struct bytes queue = {.tail = size, .capacity = size};
    ptrdiff_t whole;
    queue.data = (char *) feed_copy(&feed, size, &size);
    while ((whole = order_next(&queue, &order)) > 0) {
        fuzz_check((size_t) whole <= bytes_waiting(&queue), "an order lies in the queue");
        read_order(&order);
        queue.head += (size_t) whole;
    }
    bytes_fini(&queue);
    return 0;
}
