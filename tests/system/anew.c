/* anew ROUNDS: ranks of a job go through checkpoints and restarts together, with traffic queued.
 * Each sends to its right neighbour over its best rail. Prints the rails once; code 0: all arrived.
 */
#include "must.h"

#include <keel/keel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG 60
#define MESSAGES 500

static unsigned long received, completed, accepted;
static orte_process_name_t right;
static uint32_t ranks;
static const struct keel_rail *rail;

static void take(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                 mca_btl_base_descriptor_t *descriptor, void *data)
{
    (void) btl, (void) tag, (void) descriptor, (void) data;
    received++;
}

static void sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                 mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint, (void) descriptor;
    must(status == OPAL_SUCCESS);
    completed++;
}

static int try_one(size_t size)
{
    mca_btl_base_module_t *btl = rail->btl;
    mca_btl_base_descriptor_t *descriptor =
        btl->btl_alloc(btl, rail->endpoint, MCA_BTL_NO_ORDER, size,
                       MCA_BTL_DES_FLAGS_BTL_OWNERSHIP | MCA_BTL_DES_SEND_ALWAYS_CALLBACK);
    if (!descriptor) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    memset(descriptor->des_segments[0].seg_addr.pval, 1, size);
    descriptor->des_cbfunc = sent;
    int status = btl->btl_send(btl, rail->endpoint, descriptor, TAG);
    if (status < 0) {
        must(status == OPAL_ERR_OUT_OF_RESOURCE);
        btl->btl_free(btl, descriptor);
    }
    accepted += status >= 0;
    return status;
}

static void send_some(size_t size, int count)
{
    for (int i = 0; i < count; i++) {
        while (try_one(size) < 0) {
            keel_progress();
        }
    }
}

static void all_arrive(unsigned long all)
{
    while (received < all || completed < accepted) {
        keel_progress();
    }
    must(keel_fence() == ORTE_SUCCESS);
}

/* expected: what has come in all. A neighbour may be ahead of me, but not past the next fence. */
static unsigned long one_round(unsigned long expected)
{
    size_t sizes[] = {8, rail->btl->btl_max_send_size};
    for (int i = 0; i < 2; i++) {
        send_some(sizes[i], MESSAGES / 10); /* unread as yet, some of them */
        expected += MESSAGES / 10;
        must(keel_ft_event(OPAL_CRS_CHECKPOINT) == ORTE_SUCCESS);
        if (completed != accepted || received != expected) {
            keel_abort(3, "at a checkpoint: %lu of %lu sends completed, %lu of %lu messages came",
                       completed, accepted, received, expected);
        }
        must(try_one(8) == OPAL_ERR_OUT_OF_RESOURCE);
        must(keel_fence() == ORTE_SUCCESS);
        must(keel_ft_event(i ? OPAL_CRS_RESTART : OPAL_CRS_CONTINUE) == ORTE_SUCCESS);
        send_some(sizes[1 - i], MESSAGES);
        expected += MESSAGES;
        all_arrive(expected);
    }
    return expected;
}

int main(int argc, char **argv)
{
    size_t count;
    unsigned long expected = 0;
    if (keel_init(NULL) != ORTE_SUCCESS) {
        return 2;
    }
    ranks = keel_job_size();
    right = *keel_my_name();
    right.vpid = (right.vpid + 1) % ranks;
    rail = keel_rails(&right, &count);
    must(rail && count > 0);
    must(rail->btl->btl_register(rail->btl, TAG, take, NULL) == OPAL_SUCCESS);
    must(keel_ft_event(OPAL_CRS_NONE - 1) == ORTE_ERR_BAD_PARAM);
    must(keel_fence() == ORTE_SUCCESS);
    for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 1); i++) {
        expected = one_round(expected);
    }
    printf("%s\n", rail->btl->btl_component->btl_version.mca_component_name);
    return keel_finalize() == ORTE_SUCCESS ? 0 : 4;
}
