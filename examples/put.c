/* put: every rank writes into memory of its right neighbour, which runs no code for it.
 *
 *   keelrun -n 3 put */
#include "example.h"

#include <string.h>

/* What a rank publishes: where its memory lies, and the handle by which a peer may write there. */
struct window {
    uint64_t address;
    char handle[MCA_BTL_REG_HANDLE_MAX_SIZE];
};

int main(void)
{
    static uint64_t memory[1024], mine[1024];
    struct window window = {.address = (uintptr_t) memory}, *theirs;
    size_t size;
    int status;
    check(keel_init(NULL), "keel_init");
    uint32_t me = keel_my_name()->vpid, ranks = keel_job_size(), left = (me + ranks - 1) % ranks;
    orte_process_name_t right = {keel_my_name()->jobid, (me + 1) % ranks};

    /* Let the left neighbour write to my memory. */
    const struct keel_rail *rail = rail_to(left, MCA_BTL_FLAGS_PUT);
    void *handle = rail->btl->btl_register_mem(rail->btl, rail->endpoint, memory, sizeof(memory),
                                               MCA_BTL_REG_FLAG_REMOTE_WRITE);
    check(handle ? OPAL_SUCCESS : OPAL_ERR_OUT_OF_RESOURCE, "btl_register_mem");
    memcpy(window.handle, handle, rail->btl->btl_registration_handle_size);
    check(keel_modex_send("window", &window, sizeof(window)), "keel_modex_send");
    check(keel_fence(), "keel_fence"); /* now everybody has published */

    /* Write to the right neighbour's memory. */
    check(keel_modex_recv(&right, "window", (void **) &theirs, &size), "keel_modex_recv");
    rail = rail_to(right.vpid, MCA_BTL_FLAGS_PUT);
    mine[0] = mine[1023] = me + 1;
    while ((status = rail->btl->btl_put(rail->btl, rail->endpoint, mine, theirs->address, NULL,
                                        (void *) theirs->handle, sizeof(mine), 0, MCA_BTL_NO_ORDER,
                                        NULL, NULL, NULL)) == OPAL_ERR_OUT_OF_RESOURCE) {
        keel_progress(); /* no room yet */
    }
    check(status, "btl_put"); /* without a callback: flush tells how it ended */
    check(keel_btl_ext(rail->btl)->flush(rail->btl, rail->endpoint), "flush");
    check(keel_fence(), "keel_fence"); /* now all puts are complete */
    printf("rank %u: rank %u wrote %zu bytes\n", me, (unsigned) memory[1023] - 1, sizeof(memory));
    free(theirs);
    return keel_finalize() == ORTE_SUCCESS && memory[0] == left + 1 ? 0 : 1;
}
