/* What goes up from modules: messages, completions, errors. */
#include <config.h>

#include <base/settings/log.h>
#include <btl/interface/farewell.h>
#include <btl/lock/lock.h>
#include <btl/modules/entry.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

mca_btl_active_message_callback_t mca_btl_base_active_message_trigger[MCA_BTL_TAG_MAX + 1];

/* Of layers above; 0 is not used. */
static mca_btl_active_message_callback_t channels[KEEL_BTL_CHANNEL_MAX + 1];
/* Its layer has closed: what is still under way to it is dropped without a word. */
static bool channel_closed[KEEL_BTL_CHANNEL_MAX + 1];

unsigned btl_callbacks;

/* Messages with tags, or on channels, that nobody registered. */
static struct {
    bool warned;
    uint64_t count;
} dropped;

/* Who is told that a module lost a peer, or has it again. */
static struct {
    btl_peer_fn changed;
    void *arg;
} observer;

bool btl_calls_back(void)
{
    btl_lock();
    bool any = btl_callbacks > 0;
    btl_unlock();
    return any;
}

int btl_register_channel(mca_btl_base_module_t *module, uint8_t channel,
                         mca_btl_base_module_recv_cb_fn_t cbfunc, void *cbdata)
{
    (void) module;
    if (channel == 0 || channel > KEEL_BTL_CHANNEL_MAX) {
        return OPAL_ERR_BAD_PARAM;
    }
    channel_closed[channel] = !cbfunc && (channel_closed[channel] || channels[channel].cbfunc);
    channels[channel] = (mca_btl_active_message_callback_t){.cbfunc = cbfunc, .cbdata = cbdata};
    return OPAL_SUCCESS;
}

mca_btl_active_message_callback_t btl_receiver(uint8_t channel, mca_btl_base_tag_t tag)
{
    if (channel == 0) {
        return mca_btl_base_active_message_trigger[tag];
    }
    return channel <= KEEL_BTL_CHANNEL_MAX ? channels[channel]
                                           : (mca_btl_active_message_callback_t){NULL, NULL};
}

static void drop(const mca_btl_base_module_t *module, uint8_t channel, mca_btl_base_tag_t tag)
{
    struct btl_module_entry *entry = btl_entry(module);
    dropped.count++;
    if (entry) {
        entry->dropped++;
    }
    if (!dropped.warned && !(channel <= KEEL_BTL_CHANNEL_MAX && channel_closed[channel])) {
        dropped.warned = true;
        log_warn(LOG_BTL,
                 "%s: dropped a message with tag %u on channel %u, which nobody registered",
                 btl_module_name(module), (unsigned) tag, (unsigned) channel);
    }
}

static inline void call_back(mca_btl_base_module_t *module,
                             struct mca_btl_base_endpoint_t *endpoint, uint8_t channel,
                             mca_btl_base_tag_t tag, mca_btl_base_segment_t *segments, size_t count)
{
    mca_btl_active_message_callback_t trigger = btl_receiver(channel, tag);
    if (!trigger.cbfunc) {
        drop(module, channel, tag);
        return;
    }
    mca_btl_base_descriptor_t descriptor = {
        .des_segments = segments,
        .des_segment_count = count,
        .des_context = endpoint,
        .order = MCA_BTL_NO_ORDER,
    };
    btl_callbacks++;
    trigger.cbfunc(module, tag, &descriptor, trigger.cbdata);
    btl_callbacks--;
}

/* To the first of the taps outside of this place that wants it. */
static void deliver_from(const struct btl_taps *taps, unsigned place,
                         struct mca_btl_base_endpoint_t *endpoint, uint8_t channel,
                         mca_btl_base_tag_t tag, mca_btl_base_segment_t *segments, size_t count)
{
    while (place-- > 0) {
        struct btl_tap *tap = taps->at[place];
        if (tap && tap->ops->deliver) {
            tap->ops->deliver(tap, endpoint, channel, tag, segments, count);
            return;
        }
    }
    call_back(taps->module, endpoint, channel, tag, segments, count);
}

void btl_deliver_outward(const struct btl_tap *tap, struct mca_btl_base_endpoint_t *endpoint,
                         uint8_t channel, mca_btl_base_tag_t tag, mca_btl_base_segment_t *segments,
                         size_t count)
{
    deliver_from(tap->taps, tap->ops->place, endpoint, channel, tag, segments, count);
}

void btl_deliver_on(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                    uint8_t channel, mca_btl_base_tag_t tag, mca_btl_base_segment_t *segments,
                    size_t count)
{
    const struct btl_taps *taps = btl_taps_of(module);
    if (taps) {
        deliver_from(taps, BTL_TAP_PLACES, endpoint, channel, tag, segments, count);
    } else {
        call_back(module, endpoint, channel, tag, segments, count);
    }
}

void btl_complete(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                  mca_btl_base_descriptor_t *descriptor, int status)
{
    /* The callback may free a descriptor that is its own. */
    bool owned = descriptor->des_flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP;
    if (descriptor->des_cbfunc) {
        btl_callbacks++;
        descriptor->des_cbfunc(module, endpoint, descriptor, status);
        btl_callbacks--;
    }
    if (owned) {
        btl_own(module)->btl_free(module, descriptor);
    }
}

void rdma_call_back(const struct rdma_call *call, mca_btl_base_module_t *module,
                    struct mca_btl_base_endpoint_t *endpoint, int status)
{
    btl_callbacks++;
    call->cbfunc(module, endpoint, call->local_address, call->local_handle, call->cbcontext,
                 call->cbdata, status);
    btl_callbacks--;
}

int btl_sent(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
             mca_btl_base_descriptor_t *descriptor)
{
    if (descriptor->des_flags & MCA_BTL_DES_SEND_ALWAYS_CALLBACK) {
        btl_complete(module, endpoint, descriptor, OPAL_SUCCESS);
    } else if (descriptor->des_flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP) {
        btl_own(module)->btl_free(module, descriptor);
    }
    return 1;
}

/* To the taps, and to the choice of rails. */
static void tell_of_loss(mca_btl_base_module_t *module, int32_t flags, opal_proc_t *proc)
{
    const struct btl_taps *taps = btl_taps_of(module);
    for (unsigned i = BTL_TAP_PLACES; taps && i-- > 0;) {
        struct btl_tap *tap = taps->at[i];
        if (tap && tap->ops->failed) {
            tap->ops->failed(tap, flags, proc);
        }
    }
    if (observer.changed && (proc || (flags & MCA_BTL_ERROR_FLAGS_FATAL))) {
        observer.changed(observer.arg, module, proc, false);
    }
}

void btl_report_loss(mca_btl_base_module_t *module, opal_proc_t *proc)
{
    tell_of_loss(module, MCA_BTL_ERROR_FLAGS_NONFATAL, proc);
}

/* level: of the log, where nobody has asked for errors. */
static KEEL_PRINTF(5, 0) void report(mca_btl_base_module_t *module, int32_t flags,
                                     opal_proc_t *proc, enum log_level level, const char *format,
                                     va_list args)
{
    char text[512];
    vsnprintf(text, sizeof(text), format, args);
    tell_of_loss(module, flags, proc);
    struct btl_module_entry *entry = btl_entry(module);
    if (entry) {
        entry->failures++;
    }
    if (entry && entry->error) {
        btl_callbacks++;
        entry->error(module, flags, proc, text);
        btl_callbacks--;
        return;
    }
    if (level == LOG_WARN) {
        farewell_log(text);
    } else {
        log_at(LOG_BTL, level, "%s", text);
    }
}

void btl_report_error(mca_btl_base_module_t *module, int32_t flags, opal_proc_t *proc,
                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(module, flags, proc, flags & MCA_BTL_ERROR_FLAGS_FATAL ? LOG_ERROR : LOG_WARN, format,
           args);
    va_end(args);
}

void btl_report_departed(mca_btl_base_module_t *module, opal_proc_t *proc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(module, MCA_BTL_ERROR_FLAGS_NONFATAL, proc, LOG_INFO, format, args);
    va_end(args);
}

void btl_report_return(mca_btl_base_module_t *module, opal_proc_t *proc)
{
    if (observer.changed) {
        observer.changed(observer.arg, module, proc, true);
    }
}

void btl_watch_peers(btl_peer_fn changed, void *arg)
{
    observer.changed = changed;
    observer.arg = arg;
}

void btl_upcalls_close(void)
{
    if (dropped.count > 0) {
        log_info(LOG_BTL, "%llu messages that nobody registered for were dropped",
                 (unsigned long long) dropped.count);
    }
    memset(&dropped, 0, sizeof(dropped));
    memset(&observer, 0, sizeof(observer));
    memset(mca_btl_base_active_message_trigger, 0, sizeof(mca_btl_base_active_message_trigger));
    memset(channels, 0, sizeof(channels));
}
