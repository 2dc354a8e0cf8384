/* keel_btl_ext: what of it is the same for every module. */
#include <config.h>

#include <base/clock.h>
#include <base/list.h>
#include <base/param.h>
#include <btl/framework.h>
#include <btl/guard.h>
#include <btl/layer.h>

/* Shortages whose end cannot be seen are tried again after this time. */
#define RETRY_US 1000
/* A flush looks at the clock after this many passes with events, and after each without. */
#define BUSY_PASSES 64

static struct param flush_timeout = {
    .name = "btl_base_flush_timeout_ms",
    .type = PARAM_INT,
    .default_text = "60000",
    .min = 0,
    .max = 3600000,
    .unit = "ms",
    .help = "How long a flush waits for puts, gets and atomics to complete.",
};

void btl_ext_register_params(void)
{
    param_register(&flush_timeout);
}

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

static int pending_add(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
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

static int pending_remove(mca_btl_base_module_t *btl, struct keel_btl_pending *request)
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
    request->ready(btl_layer_outermost(waiting->entry->module), waiting->endpoint, request, status);
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
        enum btl_room room = entry->held
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

static int flush(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint)
{
    const struct btl_module_entry *entry = btl_entry(btl);
    if (!entry) {
        return OPAL_ERR_BAD_PARAM;
    }
    const struct btl_ext_ops *ops = entry->component->ext;
    uint64_t deadline = 0;
    for (unsigned passes = 0; ops->rdma_open(entry->module, endpoint); passes++) {
        if (btl_progressing()) {
            return OPAL_ERR_RESOURCE_BUSY;
        }
        if (btl_progress() + btl_host_progress() > 0 && passes % BUSY_PASSES != BUSY_PASSES - 1) {
            continue;
        }
        uint64_t now = clock_us();
        if (deadline == 0) {
            deadline = now + (uint64_t) param_int(&flush_timeout) * 1000u;
        }
        if (now >= deadline) {
            return OPAL_ERR_TIMEOUT;
        }
    }
    return ops->rdma_lost(entry->module, endpoint);
}

static int wait_fd(mca_btl_base_module_t *btl)
{
    const struct btl_module_entry *entry = btl_entry(btl);
    if (!entry) {
        return OPAL_ERR_BAD_PARAM;
    }
    const struct btl_ext_ops *ops = entry->component->ext;
    return ops->wait_fd ? ops->wait_fd(entry->module) : OPAL_ERR_NOT_SUPPORTED;
}

/* A shortage may end unseen, so who sleeps must not wait for room. */
static bool somebody_waits(const struct btl_module_entry *entry)
{
    struct waiting *waiting;
    list_for_each (waiting, &pending, struct waiting, link) {
        if (waiting->entry == entry) {
            return true;
        }
    }
    return false;
}

static int wait_arm(mca_btl_base_module_t *btl)
{
    const struct btl_module_entry *entry = btl_entry(btl);
    if (!entry) {
        return OPAL_ERR_BAD_PARAM;
    }
    const struct btl_ext_ops *ops = entry->component->ext;
    int status = ops->wait_arm ? ops->wait_arm(entry->module) : OPAL_ERR_NOT_SUPPORTED;
    return status == OPAL_SUCCESS && somebody_waits(entry) ? OPAL_ERR_RESOURCE_BUSY : status;
}

static int channel_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                        mca_btl_base_descriptor_t *descriptor, uint8_t channel,
                        mca_btl_base_tag_t tag)
{
    const struct btl_module_entry *entry = btl_entry(btl);
    if (!entry || channel > KEEL_BTL_CHANNEL_MAX) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (entry->shut) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    return entry->component->ext->channel_send(btl, endpoint, descriptor, channel, tag);
}

static int channel_sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                         opal_convertor_t *convertor, void *header, size_t header_size,
                         size_t payload_size, uint8_t order, uint32_t flags, uint8_t channel,
                         mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor)
{
    const struct btl_module_entry *entry = btl_entry(btl);
    if (entry && channel <= KEEL_BTL_CHANNEL_MAX && !entry->shut) {
        const struct btl_ext_ops *ops = entry->component->ext;
        return (ops->channel_sendi ? ops->channel_sendi : btl_sendi_by_send_on)(
            btl, endpoint, convertor, header, header_size, payload_size, order, flags, channel, tag,
            descriptor);
    }
    if (descriptor) {
        *descriptor = NULL;
    }
    return entry && channel <= KEEL_BTL_CHANNEL_MAX ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_ERR_BAD_PARAM;
}

void btl_ext_init(struct btl_module_entry *entry)
{
    if (!entry->component->ext) {
        return; /* a component without, of a test's */
    }
    entry->ext = (struct keel_btl_ext){
        .flags = entry->component->ext->flags,
        .atomic_flags = entry->module->btl_atomic_flags | entry->component->ext->atomic_flags,
        .flush = flush,
        .pending_add = pending_add,
        .pending_remove = pending_remove,
        .wait_fd = wait_fd,
        .wait_arm = wait_arm,
        .channel_register = btl_register_channel,
        .channel_send = channel_send,
        .channel_sendi = channel_sendi,
    };
}

const struct keel_btl_ext *keel_btl_ext(mca_btl_base_module_t *btl)
{
    const struct keel_btl_ext *guarded = btl_guard_ext(btl);
    if (guarded) {
        return guarded;
    }
    const struct btl_layer *layer = btl ? btl_layer_of(btl) : NULL;
    if (layer && layer->ext) {
        return layer->ext;
    }
    const struct btl_module_entry *entry = btl ? btl_entry(btl) : NULL;
    return entry && entry->component->ext ? &entry->ext : NULL;
}
