/* What a daemon commands its shepherd to do. */
#include <config.h>

#include <launcher/shepherd/shepherd_wire.h>
#include <stdlib.h>
#include <tests/fuzz/fuzz.h>

static void read_command(const struct command *command)
{
    struct wire_app *app = NULL;
    struct wire_proc proc;
    uint32_t id;
    int signal;
    mode_t mask;
    const char *folder;
    if (command_get_app(command, &app) == ORTE_SUCCESS) {
        fuzz_check(app != NULL && app->argv && app->env, "an app is whole");
    }
    free(app);
    (void) !command_get_start(command, &proc);
    (void) !command_get_signal(command, &id, &signal);
    (void) !command_get_umask(command, &mask);
    (void) !command_get_guard(command, &folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed feed = {data, size};
    struct command command;
    struct bytes queue = {.tail = size, .capacity = size};
    ptrdiff_t whole;
    queue.data = (char *) feed_copy(&feed, size, &size);
    while ((whole = command_next(&queue, &command)) > 0) {
        fuzz_check((size_t) whole <= bytes_waiting(&queue), "a command lies in the queue");
        read_command(&command);
        queue.head += (size_t) whole;
    }
    bytes_fini(&queue);
    return 0;
}
