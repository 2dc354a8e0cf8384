/* counter: all ranks draw numbers from one counter in the memory of rank 0, by an atomic operation;
 * no two draw the same.
 *
 *   keelrun -n 3 counter */
#include <keel/keel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What rank 0 publishes for each rank: where the counter lies, and that rank's handle. */
struct window {
    uint64_t address;
    char handle[MCA_BTL_REG_HANDLE_MAX_SIZE];
};

static const struct keel_rail *rail_to(uint32_t rank)
{
    orte_process_name_t peer = {keel_my_name()->jobid, rank};
    size_t count;
    const struct keel_rail *rail = keel_rails(&peer, &count);
    if (!rail || !(rail->btl->btl_flags & MCA_BTL_FLAGS_ATOMIC_FOPS)) {
        keel_abort(1, "no rail with atomics to rank %u", rank);
    }
    return rail;
}

static void publish(uint64_t *counter, uint32_t rank)
{
    const struct keel_rail *rail = rail_to(rank);
    struct window window = {.address = (uintptr_t) counter};
    char key[32];
    mca_btl_base_registration_handle_t *handle = rail->btl->btl_register_mem(
        rail->btl, rail->endpoint, counter, sizeof(*counter), MCA_BTL_REG_FLAG_REMOTE_ATOMIC);
    if (!handle) {
        keel_abort(1, "the counter cannot be registered");
    }
    memcpy(window.handle, handle, rail->btl->btl_registration_handle_size);
    snprintf(key, sizeof(key), "counter.%u", rank);
    keel_modex_send(key, &window, sizeof(window));
}

static void drawn(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                  void *number, mca_btl_base_registration_handle_t *handle, void *done, void *data,
                  int status)
{
    (void) btl, (void) endpoint, (void) number, (void) handle, (void) data;
    if (status != OPAL_SUCCESS) {
        keel_abort(1, "the operation failed: %s", opal_strerror(status));
    }
    *(bool *) done = true;
}

static uint64_t draw(struct window *window)
{
    const struct keel_rail *rail = rail_to(0);
    uint64_t number;
    bool done = false;
    int status;
    while ((status = rail->btl->btl_atomic_fop(
                rail->btl, rail->endpoint, &number, window->address, NULL,
                (mca_btl_base_registration_handle_t *) (void *) window->handle, MCA_BTL_ATOMIC_ADD,
                1, 0, MCA_BTL_NO_ORDER, drawn, &done, NULL)) == OPAL_ERR_OUT_OF_RESOURCE) {
        keel_progress(); /* no room yet */
    }
    if (status < 0) {
        keel_abort(1, "btl_atomic_fop: %s", opal_strerror(status));
    }
    while (status == 0 && !done) { /* 1: done at once, without a callback */
        keel_progress();
    }
    return number;
}

int main(void)
{
    static uint64_t counter = 1;
    struct window *window;
    char key[32];
    size_t size;
    if (keel_init(NULL) != ORTE_SUCCESS) {
        return 1;
    }
    uint32_t me = keel_my_name()->vpid;
    orte_process_name_t zero = {keel_my_name()->jobid, 0};
    for (uint32_t rank = 0; me == 0 && rank < keel_job_size(); rank++) {
        publish(&counter, rank);
    }
    keel_fence(); /* now rank 0 has published */
    snprintf(key, sizeof(key), "counter.%u", me);
    if (keel_modex_recv(&zero, key, (void **) &window, &size) != ORTE_SUCCESS) {
        keel_abort(1, "rank 0 published no counter");
    }
    printf("rank %u drew %llu\n", me, (unsigned long long) draw(window));
    free(window);
    return keel_finalize() == ORTE_SUCCESS ? 0 : 1; /* waits: rank 0 serves until all have drawn */
}
