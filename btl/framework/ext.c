/* keel_btl_ext: what of it is the same for every module. */
#include <config.h>

#include <base/data/clock.h>
#include <base/settings/param.h>
#include <btl/emulation/rdma_am.h>
#include <btl/modules/entry.h>
#include <btl/peers/peer.h>
#include <btl/progress/pending.h>
#include <btl/progress/progress.h>

/* A flush looks at the clock after this many passes with events, and after each without. */
#define BUSY_PASSES 64

static struct param flush_timeout =
    PARAM_INT("btl_base_flush_timeout_ms", "60000", 0, 3600000, "ms",
              "How long a flush waits for puts, gets and atomics to complete.");
PARAM_ROWS("btl", flush_timeout);

/* The error that an endpoint keeps at am_at. */
static int peer_lost(void *endpoint, size_t am_at)
{
    return rdma_am_lost((struct rdma_am_peer *) (void *) ((char *) endpoint + am_at));
}

/* endpoint NULL: the first that one of the peers has; all are taken. */
static int take_lost(const struct btl_module_entry *entry, struct mca_btl_base_endpoint_t *endpoint)
{
    const struct btl_ext_ops *ops = entry->component->ext;
    struct btl_peer *peer;
    int first = OPAL_SUCCESS;
    if (ops->rdma_lost) {
        return ops->rdma_lost(entry->module);
    }
    if (endpoint) {
        return peer_lost(endpoint, ops->am_at);
    }
    list_for_each (peer, &btl_entry_peers(entry)->used, struct btl_peer, link) {
        int lost = peer_lost(peer, ops->am_at);
        first = first == OPAL_SUCCESS ? lost : first;
    }
    return first;
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
    return take_lost(entry, endpoint);
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

static int wait_arm(mca_btl_base_module_t *btl)
{
    const struct btl_module_entry *entry = btl_entry(btl);
    if (!entry) {
        return OPAL_ERR_BAD_PARAM;
    }
    const struct btl_ext_ops *ops = entry->component->ext;
    /* A shortage may end unseen, so who sleeps must not wait for room. */
    int status = ops->wait_arm ? ops->wait_arm(entry->module) : OPAL_ERR_NOT_SUPPORTED;
    return status == OPAL_SUCCESS && btl_pending_has(entry) ? OPAL_ERR_RESOURCE_BUSY : status;
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

/* channel_sendi of one that is shut: the call may be made again later. */
static int refuse_sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                        opal_convertor_t *convertor, void *header, size_t header_size,
                        size_t payload_size, uint8_t order, uint32_t flags, uint8_t channel,
                        mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor)
{
    (void) btl, (void) endpoint, (void) convertor, (void) header, (void) header_size;
    (void) payload_size, (void) order, (void) flags, (void) channel, (void) tag;
    if (descriptor) {
        *descriptor = NULL;
    }
    return OPAL_ERR_OUT_OF_RESOURCE;
}

void btl_ext_shut(struct btl_module_entry *entry, bool shut)
{
    const struct btl_ext_ops *ops = entry->component->ext;
    entry->shut = shut;
    entry->ext.channel_sendi = shut                 ? refuse_sendi
                               : ops->channel_sendi ? ops->channel_sendi
                                                    : btl_sendi_by_send_on;
}

void btl_ext_init(struct btl_module_entry *entry)
{
    if (!entry->component->ext) {
        return; /* a component without, of a test's */
    }
    const struct btl_ext_ops *ops = entry->component->ext;
    const bool pins = ops->pins && ops->pins(entry->module);
    entry->ext = (struct keel_btl_ext){
        .flags = ops->flags | (pins ? KEEL_BTL_PINS : 0),
        .atomic_flags = entry->module->btl_atomic_flags | ops->atomic_flags,
        .flush = flush,
        .pending_add = btl_pending_add,
        .pending_remove = btl_pending_remove,
        .wait_fd = wait_fd,
        .wait_arm = wait_arm,
        .channel_register = btl_register_channel,
        .channel_send = channel_send,
    };
    btl_ext_shut(entry, false);
}

const struct keel_btl_ext *keel_btl_ext(mca_btl_base_module_t *btl)
{
    const struct keel_btl_ext *tapped = btl ? btl_taps_ext(btl) : NULL;
    const struct btl_module_entry *entry = btl && !tapped ? btl_entry(btl) : NULL;
    return entry && entry->component->ext ? &entry->ext : tapped;
}
