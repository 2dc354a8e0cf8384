/* detour: each rank sends 100 messages to its right neighbour, over whatever rail there is at the
 * time, and prints the rails that it saw, in their order, those that share as sm+tcp. Code 0: all
 * arrived. */
#include <keel/keel.h>

#include <stdio.h>
#include <string.h>

#define TAG 61
#define MESSAGES 100

static unsigned long received, changes;
static orte_process_name_t right;

static void take(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                 mca_btl_base_descriptor_t *descriptor, void *data)
{
    (void) btl, (void) tag, (void) descriptor, (void) data;
    received++;
}

static void changed(const orte_process_name_t *peer, void *arg)
{
    if (arg != &changes) {
        keel_abort(3, "not what was given to keel_rails_watch");
    }
    changes += peer->vpid == right.vpid;
}

static const struct keel_rail *best_rail(void)
{
    size_t count;
    const struct keel_rail *rails = keel_rails(&right, &count);
    if (count == 0) {
        keel_abort(3, "no rail is left");
    }
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        printf("%c%s", i == 0 ? ' ' : '+',
               rails[i].btl->btl_component->btl_version.mca_component_name);
        sum += rails[i].weight;
        if (rails[i].weight <= 0 || rails[i].weight > 1) {
            keel_abort(3, "rail %zu has weight %g", i, rails[i].weight);
        }
    }
    if (sum < 0.999 || sum > 1.001) {
        keel_abort(3, "the rails' weights sum to %g", sum);
    }
    return rails;
}

static int send_one(const struct keel_rail *rail)
{
    static char text[] = "detour";
    return rail->btl->btl_sendi(rail->btl, rail->endpoint, NULL, text, sizeof(text), 0,
                                MCA_BTL_NO_ORDER, 0, TAG, NULL);
}

int main(void)
{
    if (keel_init(NULL) != ORTE_SUCCESS || keel_rails_watch(NULL, NULL) != ORTE_ERR_BAD_PARAM ||
        keel_rails_watch(changed, &changes) != ORTE_SUCCESS) {
        return 2;
    }
    right = *keel_my_name();
    right.vpid = (right.vpid + 1) % keel_job_size();
    printf("rails:");
    const struct keel_rail *rail = best_rail();
    unsigned long seen = changes;
    if (rail->btl->btl_register(rail->btl, TAG, take, NULL) != OPAL_SUCCESS ||
        keel_fence() != ORTE_SUCCESS) {
        return 2;
    }
    for (int sent = 0; sent < MESSAGES;) {
        sent += send_one(rail) == OPAL_SUCCESS;
        keel_progress();
        if (changes > seen) {
            seen = changes;
            rail = best_rail();
        }
    }
    while (received < MESSAGES) {
        keel_progress();
    }
    printf("\n");
    return keel_finalize() == ORTE_SUCCESS ? 0 : 4;
}
