#include <config.h>

#include <base/data/clock.h>
#include <base/data/list.h>
#include <btl/progress/pending.h>

/* Shortages whose end cannot be seen are tried again after this time. */
#define RETRY_US 1000

/* What struct keel_btl_pending keeps for Keel. */
struct waiting {
    struct list link; /* in pending, or in the list of the running btl_pending_call */
    struct btl_module_entry *entry;
    struct mca_btl_base_endpoint_t *endpoint;
};
_Static_assert(sizeof(struct waiting) <= sizeof(((struct keel_btl_pending *) 0)->keel),
               "it fits into what the caller sets aside");

size_t btl_pending_count;
static struct list pending = LIST_INIT(pending); /* of all modules, in the order of the calls */
static struct list round_left = LIST_INIT(round_left); /* still to be looked at in this pass */
static uint64_t retried_us; /* when those with BTL_ROOM_UNSEEN were last called */

static struct waiting *waiting_of(struct keel_btl_pending *request)
{
    return (struct waiting *) (void *) request->keel;
}

static struct keel_btl_pending *request_of(struct list *link)
{
    struct waiting *waiting = container_of(link, struct waiting, link);
    return container_of((void *) waiting, struct keel_btl_pending, keel);
}

static bool waits(struct waiting *waiting)
{
    return waiting->link.next && !list_empty(&waiting->link);
}

int btl_pending_add(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    struct keel_btl_pending *request)
{
    struct btl_module_entry *entry = btl_entry(btl);
    if (!entry || !request || !request->ready) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct waiting *waiting = waiting_of(request);
    if (waits(waiting)) {
        return OPAL_EXISTS;
    }
    if (entry->closing) {
        return OPAL_ERR_UNREACH;
    }
    if (btl_pending_count++ == 0) {
        retried_us = clock_us();
    }
    waiting->entry = entry;
    waiting->endpoint = endpoint;
    list_append(&pending, &waiting->link);
    return OPAL_SUCCESS;
}

int btl_pending_remove(mca_btl_base_module_t *btl, struct keel_btl_pending *request)
{
    (void) btl;
    struct waiting *waiting = request ? waiting_of(request) : NULL;
    if (!waiting || !waits(waiting)) {
        return OPAL_ERR_NOT_FOUND;
    }
    list_remove(&waiting->link);
    btl_pending_count--;
    return OPAL_SUCCESS;
}

/* The request waits in no list any more. */
static void call(struct keel_btl_pending *request, int status)
{
    struct waiting *waiting = waiting_of(request);
    btl_pending_count--;
    btl_callbacks++;
    request->ready(waiting->entry->module, waiting->endpoint, request, status);
    btl_callbacks--;
}

int btl_pending_call(void)
{
    uint64_t now = clock_us();
    bool retry = now - retried_us >= RETRY_US;
    int called = 0;
    if (retry) {
        retried_us = now;
    }
    list_splice(&round_left, &pending);
    for (struct list *link = list_pop(&round_left); link; link = list_pop(&round_left)) {
        struct waiting *waiting = container_of(link, struct waiting, link);
        const struct btl_module_entry *entry = waiting->entry;
        enum btl_room room = btl_entry_is_held(entry)
                                 ? BTL_ROOM_NONE
                                 : entry->component->ext->room(entry->module, waiting->endpoint);
        if (room == BTL_ROOM || (room == BTL_ROOM_UNSEEN && retry)) {
            call(request_of(link), OPAL_SUCCESS);
            called++;
        } else {
            list_append(&pending, link);
        }
    }
    return called;
}

/* Moves what waits for this endpoint (NULL: any) of a module. */
static void take(struct list *from, const struct btl_module_entry *entry,
                 const struct mca_btl_base_endpoint_t *endpoint, struct list *to)
{
    struct waiting *waiting;
    list_for_each (waiting, from, struct waiting, link) {
        if (waiting->entry == entry && (!endpoint || waiting->endpoint == endpoint)) {
            list_remove(&waiting->link);
            list_append(to, &waiting->link);
        }
    }
}

void btl_pending_end(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint)
{
    const struct btl_module_entry *entry = btl_pending_count > 0 ? btl_entry(module) : NULL;
    struct list ended;
    if (!entry) {
        return;
    }
    list_init(&ended);
    take(&round_left, entry, endpoint, &ended);
    take(&pending, entry, endpoint, &ended);
    for (struct list *link = list_pop(&ended); link; link = list_pop(&ended)) {
        call(request_of(link), OPAL_ERR_UNREACH);
    }
}

bool btl_pending_has(const struct btl_module_entry *entry)
{
    struct waiting *waiting;
    list_for_each (waiting, &pending, struct waiting, link) {
        if (waiting->entry == entry) {
            return true;
        }
    }
    return false;
}
