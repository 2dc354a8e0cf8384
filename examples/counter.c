/* counter: all ranks draw numbers from one counter in the memory of rank 0, by an atomic operation;
 * no two draw the same.
 *
 *   keelrun -n 3 counter */
#include "example.h"

#include <string.h>

/* What rank 0 publishes for each rank: where the counter lies, and that rank's handle. */
struct window {
    uint64_t address;
    char handle[MCA_BTL_REG_HANDLE_MAX_SIZE];
};

int main(void)
{
    static uint64_t counter = 1, drawn;
    struct window window = {.address = (uintptr_t) &counter}, *theirs;
    char key[32];
    size_t size;
    int status;
    check(keel_init(NULL), "keel_init");
    orte_process_name_t me = *keel_my_name(), zero = {me.jobid, 0};

    /* Rank 0 lets each rank change the counter. */
    for (uint32_t rank = 0; me.vpid == 0 && rank < keel_job_size(); rank++) {
        const struct keel_rail *rail = rail_to(rank, MCA_BTL_FLAGS_ATOMIC_FOPS);
        void *handle = rail->btl->btl_register_mem(rail->btl, rail->endpoint, &counter,
                                                   sizeof(counter), MCA_BTL_REG_FLAG_REMOTE_ATOMIC);
        check(handle ? OPAL_SUCCESS : OPAL_ERR_OUT_OF_RESOURCE, "btl_register_mem");
        memcpy(window.handle, handle, rail->btl->btl_registration_handle_size);
        snprintf(key, sizeof(key), "counter.%u", rank);
        check(keel_modex_send(key, &window, sizeof(window)), "keel_modex_send");
    }
    check(keel_fence(), "keel_fence"); /* now rank 0 has published */

    /* Draw a number. */
    snprintf(key, sizeof(key), "counter.%u", me.vpid);
    check(keel_modex_recv(&zero, key, (void **) &theirs, &size), "keel_modex_recv");
    const struct keel_rail *rail = rail_to(0, MCA_BTL_FLAGS_ATOMIC_FOPS);
    while ((status = rail->btl->btl_atomic_fop(rail->btl, rail->endpoint, &drawn, theirs->address,
                                               NULL, (void *) theirs->handle, MCA_BTL_ATOMIC_ADD, 1,
                                               0, MCA_BTL_NO_ORDER, NULL, NULL, NULL)) ==
           OPAL_ERR_OUT_OF_RESOURCE) {
        keel_progress(); /* no room yet */
    }
    check(status, "btl_atomic_fop"); /* without a callback: flush tells how it ended */
    check(keel_btl_ext(rail->btl)->flush(rail->btl, rail->endpoint), "flush");
    printf("rank %u drew %llu\n", me.vpid, (unsigned long long) drawn);
    free(theirs);
    return keel_finalize() == ORTE_SUCCESS ? 0 : 1; /* waits: rank 0 serves until all have drawn */
}
