/* send and sendi, and how sends end. */
#include <config.h>

#include <btl/check/check.h>
#include <string.h>

static uint64_t mix(uint64_t hash, const unsigned char *bytes, size_t size)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t word;
    for (; size >= sizeof(word); size -= sizeof(word), bytes += sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        hash = (hash ^ word) * odd;
        hash ^= hash >> 29;
    }
    for (; size > 0; size--) {
        hash = (hash ^ *bytes++) * odd;
    }
    return hash;
}

uint64_t check_hash(const mca_btl_base_segment_t *segments, size_t count)
{
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++) {
        hash = mix(hash, segments[i].seg_addr.pval, (size_t) segments[i].seg_len);
    }
    return hash;
}

/* Callers may make a segment smaller, or put segments of their own in the place of all; nothing
 * else of them is theirs to change. */
static bool segments_ok(const struct check_call *call, const struct check_desc *desc)
{
    const mca_btl_base_descriptor_t *base = &desc->base;
    size_t limit = call->check->module->btl_max_send_size, total = 0;
    bool own = base->des_segments != desc->segments;
    if (base->des_segment_count == 0 || (own && !base->des_segments) ||
        base->des_segment_count > (own ? MCA_BTL_DES_MAX_SEGMENTS : desc->given_count)) {
        check_report(call, CHECK_CALLER, "the descriptor has %zu segments; it was made with %zu",
                     base->des_segment_count, desc->given_count);
        return false;
    }
    for (size_t i = 0; i < base->des_segment_count; i++) {
        if (base->des_segments[i].seg_len > limit - total) {
            check_report(call, CHECK_CALLER,
                         "the message has %llu bytes or more; btl_max_send_size is %zu",
                         (unsigned long long) (total + base->des_segments[i].seg_len), limit);
            return false;
        }
        total += (size_t) base->des_segments[i].seg_len;
        if (own) {
            continue;
        }
        if (base->des_segments[i].seg_len > desc->given[i].seg_len ||
            base->des_segments[i].seg_addr.pval != desc->given[i].seg_addr.pval) {
            check_report(call, CHECK_CALLER, "segment %zu has %llu bytes at %p; it had %llu at %p",
                         i, (unsigned long long) base->des_segments[i].seg_len,
                         base->des_segments[i].seg_addr.pval,
                         (unsigned long long) desc->given[i].seg_len, desc->given[i].seg_addr.pval);
            return false;
        }
    }
    return true;
}

/* A second send of a descriptor in flight is allowed; a change of it meanwhile is not. */
static bool unchanged(const struct check_call *call, const struct check_desc *desc)
{
    const mca_btl_base_descriptor_t *now = &desc->base, *then = &desc->sent;
    if (now->des_cbfunc != then->des_cbfunc || now->des_cbdata != then->des_cbdata ||
        now->des_segments != then->des_segments ||
        now->des_segment_count != then->des_segment_count ||
        check_hash(now->des_segments, now->des_segment_count) != desc->bytes) {
        check_report(call, CHECK_CALLER, "the descriptor was changed while it is in flight");
        return false;
    }
    return true;
}

static bool descriptor_ok(const struct check_call *call, const struct check_desc *desc,
                          const void *descriptor)
{
    uint32_t flags = call->check->module->btl_flags;
    if (!desc) {
        check_report(call, CHECK_CALLER, "%p is no descriptor of this module", descriptor);
        return false;
    }
    if (desc->state != DESC_CALLERS) {
        check_report(call, CHECK_CALLER, "the descriptor %s",
                     desc->state == DESC_FREED ? "was freed" : "was sent with BTL_OWNERSHIP");
        return false;
    }
    if (!(flags & MCA_BTL_FLAGS_SEND)) {
        check_report(call, CHECK_CALLER, "send is not advertised");
    }
    if (desc->base.des_flags & MCA_BTL_DES_FLAGS_CUDA_COPY_ASYNC &&
        !(flags & MCA_BTL_FLAGS_CUDA_COPY_ASYNC_SEND)) {
        check_report(call, CHECK_CALLER, "CUDA_COPY_ASYNC is not advertised");
    }
    return segments_ok(call, desc) && (desc->pending == 0 || unchanged(call, desc));
}

static void completed(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                      mca_btl_base_descriptor_t *inner, int status);

/* Puts what the caller set into the module's descriptor. */
static void hand_over(struct check *check, struct check_desc *desc, struct check_endpoint *to)
{
    mca_btl_base_descriptor_t *inner = desc->inner;
    bool own = desc->base.des_segments != desc->segments;
    inner->des_segment_count = desc->base.des_segment_count;
    inner->des_segments = own ? desc->base.des_segments : desc->inner_segments;
    if (!own) {
        memcpy(inner->des_segments, desc->segments,
               inner->des_segment_count * sizeof(*inner->des_segments));
    }
    inner->des_cbfunc = desc->base.des_cbfunc ? completed : NULL;
    inner->des_cbdata = desc;
    inner->des_context = check;
    inner->des_flags = desc->base.des_flags;
    inner->order = desc->base.order;
    if (desc->pending == 0) {
        desc->sent = desc->base;
        desc->bytes = desc->base.des_cbfunc
                          ? check_hash(desc->base.des_segments, desc->base.des_segment_count)
                          : 0;
    }
    desc->several = desc->pending > 0 && (desc->several || desc->to != to);
    desc->to = to;
}

/* Which of the sends under way calls back: there may be some to several endpoints. */
static struct check_endpoint *sent_to(const struct check *check, const struct check_desc *desc,
                                      const struct mca_btl_base_endpoint_t *endpoint)
{
    struct check_endpoint *other = desc->several ? btl_map_get(&check->endpoints, endpoint) : NULL;
    return other ? other : desc->to;
}

/* The callback of a send, from the module. */
static void completed(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                      mca_btl_base_descriptor_t *inner, int status)
{
    (void) module;
    struct check_desc *desc = inner->des_cbdata;
    struct check *check = inner->des_context;
    struct check_call call = {check, "send's callback", __builtin_return_address(0), NULL};
    bool known = btl_map_get(&check->descs, desc) != NULL;
    if (!known || desc->pending == 0) {
        call.endpoint = known ? desc->to : NULL;
        check_report(&call, CHECK_MODULE, "calls back for a descriptor that is not in flight");
        return;
    }
    check_callback_begin(&call);
    call.endpoint = sent_to(check, desc, endpoint);
    if (call.endpoint->gone) {
        check_report(&call, CHECK_MODULE, "calls back after del_procs");
    }
    if (endpoint != call.endpoint->endpoint || call.endpoint->pending == 0) {
        check_report(&call, CHECK_MODULE, "names another endpoint than the send's");
    }
    if (status > 0) {
        check_report(&call, CHECK_MODULE, "has status %d", status);
    }
    bool same = unchanged(&call, desc);
    desc->pending--;
    desc->called++;
    call.endpoint->pending -= call.endpoint->pending > 0;
    desc->base.order = inner->order;
    bool owned = desc->state == DESC_MODULES;
    mca_btl_base_completion_fn_t cbfunc = same ? desc->base.des_cbfunc : desc->sent.des_cbfunc;
    if (cbfunc) {
        cbfunc(check->module, call.endpoint->endpoint, &desc->base, status);
    }
    if (owned && desc->pending == 0) {
        check_desc_end(check, desc);
    }
    check_callback_end();
}

static void expect_one_less(const struct check_call *call, struct check_desc *desc)
{
    if (desc->pending > 0) {
        desc->pending--;
        call->endpoint->pending--;
    }
}

/* The module says it is done: whether that fits to the callbacks of this call. earlier: those of an
 * earlier send of this descriptor may have come meanwhile. */
static void done(const struct check_call *call, struct check_desc *desc,
                 const mca_btl_base_descriptor_t *asked, bool earlier)
{
    bool wanted = asked->des_flags & MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
    if (!earlier && !wanted && desc->called > 0) {
        check_report(call, CHECK_MODULE, "returned 1 after a callback that nobody asked for");
    } else if (!earlier && wanted && desc->called == 0) {
        check_report(call, CHECK_MODULE, "returned 1 without the callback that was asked for");
    }
    if (desc->called == 0 || (earlier && !wanted)) {
        expect_one_less(call, desc);
    }
}

static void refused(const struct check_call *call, struct check_desc *desc,
                    const mca_btl_base_descriptor_t *asked, int status, bool earlier)
{
    if (desc->state == DESC_MODULES) {
        desc->state = DESC_CALLERS;
    }
    if (asked->des_cbfunc && desc->called > 0 && !earlier) {
        check_report(call, CHECK_MODULE, "returned %d after its callback", status);
    } else if (asked->des_cbfunc) {
        expect_one_less(call, desc);
    }
    /* In the callback it may have been freed. */
    if (desc->inner && desc->inner->des_flags != asked->des_flags) {
        check_report(call, CHECK_MODULE, "returned %d and changed des_flags from 0x%x to 0x%x",
                     status, asked->des_flags, desc->inner->des_flags);
    }
}

static void pass_on(const struct check_call *at, struct btl_call *call, struct check_desc *desc)
{
    const mca_btl_base_descriptor_t asked = desc->base;
    unsigned called = desc->called;
    bool owned = asked.des_flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP, earlier = desc->pending > 0;
    hand_over(at->check, desc, at->endpoint);
    desc->called = 0;
    if (owned) {
        desc->state = DESC_MODULES;
    }
    if (asked.des_cbfunc) {
        desc->pending++;
        at->endpoint->pending++;
    }
    call->send.descriptor = desc->inner;
    check_pass(at, call);
    int status = call->status;
    if (status > 1) {
        check_report(at, CHECK_MODULE, "returned %d", status);
    }
    check_taken(at, status);
    if (status < 0) {
        refused(at, desc, &asked, status, earlier);
    } else if (status == 1 && asked.des_cbfunc) {
        done(at, desc, &asked, earlier);
    }
    if (status >= 0 && desc->state == DESC_MODULES && desc->pending == 0) {
        check_desc_end(at->check, desc); /* nothing more comes: it is the module's for good */
    }
    desc->called = called; /* of the send that this one came from inside of, if any */
}

static bool channel_ok(const struct check_call *at, uint8_t channel)
{
    if (channel > KEEL_BTL_CHANNEL_MAX) {
        check_report(at, CHECK_CALLER, "there is no channel %u", (unsigned) channel);
    }
    return channel <= KEEL_BTL_CHANNEL_MAX;
}

void check_send(struct check_call *at, struct btl_call *call)
{
    struct check_desc *desc = btl_map_get(&at->check->descs, call->send.descriptor);
    at->operation = call->send.channel > 0 ? "channel_send" : at->operation;
    if (channel_ok(at, call->send.channel) && descriptor_ok(at, desc, call->send.descriptor)) {
        pass_on(at, call, desc);
    }
}

/* What sendi left behind. */
static void look_at_sendi(const struct check_call *call, int status, size_t size, size_t moved,
                          size_t payload_size, uint32_t flags,
                          const mca_btl_base_descriptor_t *left)
{
    size_t limit = call->check->module->btl_max_send_size;
    if (status > 0) {
        check_report(call, CHECK_MODULE, "returned %d", status);
    }
    if (status == OPAL_SUCCESS && size > limit) {
        check_report(call, CHECK_MODULE, "took %zu bytes; btl_max_send_size is %zu", size, limit);
    }
    if (moved != (status == OPAL_SUCCESS ? payload_size : 0)) {
        check_report(call, CHECK_MODULE, "returned %d and moved the convertor by %zu bytes", status,
                     moved);
    }
    if (left && !btl_is_shortage(status)) {
        check_report(call, CHECK_MODULE, "returned %d and a descriptor", status);
    }
    if (left) {
        check_desc_look(call, left, size, flags);
    }
    check_taken(call, status);
}

static bool sendi_args_ok(const struct check_call *at, const struct btl_call *call)
{
    const opal_convertor_t *convertor = call->sendi.convertor;
    size_t limit = at->check->module->btl_max_send_size;
    size_t header_size = call->sendi.header_size, payload_size = call->sendi.payload_size;
    bool header_lacks = header_size > 0 && !call->sendi.header;
    if ((payload_size > 0 && !convertor) || header_lacks) {
        check_report(at, CHECK_CALLER, "%s is NULL, and has bytes",
                     header_lacks ? "the header" : "the convertor");
        return false;
    }
    if (payload_size > 0 && payload_size > convertor->size - convertor->bytes_converted) {
        check_report(at, CHECK_CALLER, "the convertor has %zu bytes left of %zu",
                     convertor->size - convertor->bytes_converted, payload_size);
        return false;
    }
    if (header_size > limit || payload_size > limit - header_size) {
        check_report(at, CHECK_CALLER, "the message has %zu bytes; btl_max_send_size is %zu",
                     header_size + payload_size, limit);
    }
    return true;
}

void check_sendi(struct check_call *at, struct btl_call *call)
{
    at->operation = call->sendi.channel > 0 ? "channel_sendi" : at->operation;
    if (!channel_ok(at, call->sendi.channel) || !sendi_args_ok(at, call)) {
        return;
    }
    const opal_convertor_t *convertor = call->sendi.convertor;
    size_t size = call->sendi.payload_size, start = convertor ? convertor->bytes_converted : 0;
    mca_btl_base_descriptor_t **callers = call->sendi.descriptor, *left = NULL;
    call->sendi.descriptor = callers ? &left : NULL;
    check_pass(at, call);
    look_at_sendi(at, call->status, call->sendi.header_size + size,
                  convertor ? convertor->bytes_converted - start : 0, size, call->sendi.flags,
                  left);
    if (left) {
        struct check_desc *desc = check_desc_create(at, left);
        *callers = desc ? &desc->base : NULL;
    }
}
