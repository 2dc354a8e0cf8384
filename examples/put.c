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

/* Lets a neighbour write to the memory, and publishes where it is with the next fence. */
static mca_btl_base_registration_handle_t *publish(const struct keel_rail *rail, void *memory,
                                                   size_t size)
{
    mca_btl_base_module_t *btl = rail->btl;
    struct window window = {.address = (uintptr_t) memory};
    mca_btl_base_registration_handle_t *handle =
        btl->btl_register_mem(btl, rail->endpoint, memory, size, MCA_BTL_REG_FLAG_REMOTE_WRITE);
    if (!handle) {
        keel_abort(1, "the memory cannot be registered");
    }
    memcpy(window.handle, handle, btl->btl_registration_handle_size);
    keel_modex_send("window", &window, sizeof(window));
    return handle;
}

static struct window *window_of(const orte_process_name_t *peer)
{
    void *window;
    size_t size;
    if (keel_modex_recv(peer, "window", &window, &size) != ORTE_SUCCESS) {
        keel_abort(1, "rank %u published no window", peer->vpid);
    }
    return window;
}

/* Returns when the bytes are in the peer's memory. */
static void put(const struct keel_rail *rail, void *bytes, size_t size, struct window *to)
{
    mca_btl_base_module_t *btl = rail->btl;
    int status;
    while ((status = btl->btl_put(btl, rail->endpoint, bytes, to->address, NULL,
                                  (mca_btl_base_registration_handle_t *) (void *) to->handle, size,
                                  0, MCA_BTL_NO_ORDER, NULL, NULL, NULL)) ==
           OPAL_ERR_OUT_OF_RESOURCE) {
        keel_progress(); /* no room yet */
    }
    if (status == OPAL_SUCCESS) { /* accepted; it has no callback, so flush tells how it ended */
        status = keel_btl_ext(btl)->flush(btl, rail->endpoint);
    }
    if (status != OPAL_SUCCESS) {
        keel_abort(1, "the put failed: %s", opal_strerror(status));
    }
}

int main(void)
{
    static uint64_t memory[1024], mine[1024];
    if (keel_init(NULL) != ORTE_SUCCESS) {
        return 1;
    }
    uint32_t me = keel_my_name()->vpid, ranks = keel_job_size();
    orte_process_name_t right = {keel_my_name()->jobid, (me + 1) % ranks};
    orte_process_name_t left = {keel_my_name()->jobid, (me + ranks - 1) % ranks};
    const struct keel_rail *from = rail_to(left);
    mca_btl_base_registration_handle_t *handle = publish(from, memory, sizeof(memory));
    keel_fence(); /* now everybody has published */

    struct window *theirs = window_of(&right);
    for (size_t i = 0; i < 1024; i++) {
        mine[i] = me + 1;
    }
    put(rail_to(right), mine, sizeof(mine), theirs);
    free(theirs);
    keel_fence(); /* now all puts are complete */
    printf("rank %u: rank %llu wrote %zu bytes\n", me, (unsigned long long) memory[1023] - 1,
           sizeof(memory));
    from->btl->btl_deregister_mem(from->btl, handle);
    return keel_finalize() == ORTE_SUCCESS && memory[0] == left.vpid + 1 ? 0 : 1;
}
