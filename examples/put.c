/* put: every rank writes into memory of its right neighbour, which runs no code for it.
 *
 *   keelrun -n 3 put */
#include <keel/keel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a rank publishes: where the memory lies, and the handle by which a peer may write there. */
struct window {
    uint64_t address;
    char handle[MCA_BTL_REG_HANDLE_MAX_SIZE];
};

static const struct keel_rail *rail_to(orte_process_name_t peer)
{
    size_t count;
    const struct keel_rail *rail = keel_rails(&peer, &count);
    if (!rail || !rail->rdma) {
        keel_abort(1, "no rail with put to rank %u", peer.vpid);
    }
    return rail;
}

int main(void)
{
    static uint64_t memory[1024], mine[1024];
    struct window window = {.address = (uintptr_t) memory}, *theirs;
    size_t size;
    if (keel_init(NULL) != ORTE_SUCCESS) {
        return 1;
    }
    uint32_t me = keel_my_name()->vpid, ranks = keel_job_size();
    orte_process_name_t right = {keel_my_name()->jobid, (me + 1) % ranks};
    orte_process_name_t left = {keel_my_name()->jobid, (me + ranks - 1) % ranks};

    mca_btl_base_module_t *from = rail_to(left)->btl;
    mca_btl_base_registration_handle_t *handle = from->btl_register_mem(
        from, rail_to(left)->endpoint, memory, sizeof(memory), MCA_BTL_REG_FLAG_REMOTE_WRITE);
    if (!handle) {
        keel_abort(1, "the memory cannot be registered");
    }
    memcpy(window.handle, handle, from->btl_registration_handle_size);
    keel_modex_send("window", &window, sizeof(window));
    keel_fence(); /* now everybody has published */
    if (keel_modex_recv(&right, "window", (void **) &theirs, &size) != ORTE_SUCCESS) {
        keel_abort(1, "rank %u published no window", right.vpid);
    }

    for (size_t i = 0; i < 1024; i++) {
        mine[i] = me + 1;
    }
    const struct keel_rail *rail = rail_to(right);
    int status;
    while ((status = rail->btl->btl_put(
                rail->btl, rail->endpoint, mine, theirs->address, NULL,
                (mca_btl_base_registration_handle_t *) (void *) theirs->handle, sizeof(mine), 0,
                MCA_BTL_NO_ORDER, NULL, NULL, NULL)) == OPAL_ERR_OUT_OF_RESOURCE) {
        keel_progress(); /* no room yet */
    }
    if (status == OPAL_SUCCESS) { /* accepted; it has no callback, so flush tells how it ended */
        status = keel_btl_ext(rail->btl)->flush(rail->btl, rail->endpoint);
    }
    if (status != OPAL_SUCCESS) {
        keel_abort(1, "the put failed: %s", opal_strerror(status));
    }
    keel_fence(); /* now all puts are complete */
    printf("rank %u: rank %llu wrote %zu bytes\n", me, (unsigned long long) memory[1023] - 1,
           sizeof(memory));
    from->btl_deregister_mem(from, handle);
    free(theirs);
    return keel_finalize() == ORTE_SUCCESS && memory[0] == left.vpid + 1 ? 0 : 1;
}
