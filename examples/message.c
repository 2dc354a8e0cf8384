/* message: every rank sends its right neighbour an active message.   keelrun -n 3 message */
#include "example.h"

#include <string.h>

enum { GREETING = MCA_BTL_TAG_USR }; /* a tag, 0 to 255 */

static int greetings;

/* Called by keel_progress when a message with the tag has come. Its bytes are read-only. */
static void greeted(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                    mca_btl_base_descriptor_t *message, void *me)
{
    const mca_btl_base_segment_t *text = &message->des_segments[0];
    (void) btl, (void) tag;
    printf("rank %u: %.*s\n", *(uint32_t *) me, (int) text->seg_len, (char *) text->seg_addr.pval);
    greetings++;
}

/* What was under way on a rail that failed may be lost, and would be waited for in vain. */
static void rails_changed(const orte_process_name_t *peer, void *arg)
{
    (void) arg;
    keel_abort(1, "a rail to rank %u has failed", peer->vpid);
}

int main(void)
{
    check(keel_init(NULL), "keel_init");
    check(keel_rails_watch(rails_changed, NULL), "keel_rails_watch");
    uint32_t me = keel_my_name()->vpid;
    const struct keel_rail *rail = rail_to((me + 1) % keel_job_size(), MCA_BTL_FLAGS_SEND);
    check(rail->btl->btl_register(rail->btl, GREETING, greeted, &me), "btl_register");
    check(keel_fence(), "keel_fence"); /* now everybody has registered the tag */
    char text[64];
    int status, size = snprintf(text, sizeof(text), "good morning from rank %u", me);
    while ((status = rail->btl->btl_sendi(rail->btl, rail->endpoint, NULL, text, (size_t) size, 0,
                                          MCA_BTL_NO_ORDER, 0, GREETING, NULL)) ==
           OPAL_ERR_OUT_OF_RESOURCE) {
        keel_progress(); /* no room yet */
    }
    check(status, "btl_sendi");
    while (greetings == 0) {
        keel_progress();
    }
    return keel_finalize() == ORTE_SUCCESS ? 0 : 1;
}
