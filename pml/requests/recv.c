#include <config.h>

#include <base/data/few.h>
#include <base/data/least.h>
#include <pml/peers/context.h>
#include <pml/requests/control.h>
#include <pml/requests/recv.h>
#include <stdlib.h>

static struct recv *recv_of(mca_ptl_base_recv_request_t *request)
{
    return container_of(request, struct recv, ptl);
}

void message_give_back(struct keel_pml_message *message)
{
    mca_ptl_base_recv_frag_t *frag = message_frag(message);
    mca_ptl_base_module_t *module = message->module;

    frag->frag_request = NULL;
    module->ptl_matched(module, frag);
}

struct recv *recv_new(struct keel_pml_context *context, const opal_convertor_t *data,
                      int32_t source, int32_t tag)
{
    struct pool *pool = &context->pml->recvs;
    struct recv *recv = pool_get(pool);

    if (!recv) {
        return NULL;
    }
    request_init(&recv->super, pool, REQUEST_RECV, context);
    recv->match.source = source;
    recv->match.tag = tag;
    recv->match.posted = false;
    list_init(&recv->receiving);
    if (data) {
        recv->ptl.req_convertor = *data;
    } else {
        opal_convertor_prepare(&recv->ptl.req_convertor, NULL, 0);
    }
    return recv;
}

/* ---- its end ---- */

/* The modules touch request and buffer no more. */
static void take_from_modules(struct recv *recv, int status)
{
    struct keel_ptl_module_t *ptl = recv->ptl.req_ptl ? keel_ptl_extended(recv->module) : NULL;

    if (ptl) {
        ptl->ptl_recv_end(ptl, &recv->ptl, status);
    }
}

static void end_fetch(struct recv *recv)
{
    stripe_end(recv->member->peer, &recv->stripe);
    ranges_clear(&recv->again);
}

/* Of a message of this length so many bytes are in the buffer. */
static inline void end(struct recv *recv, size_t bytes, size_t length, int status)
{
    struct keel_pml_status *end = &recv->super.status;

    end->bytes = bytes;
    end->truncated = length > bytes && status == OPAL_SUCCESS;
    end->error = end->truncated ? OPAL_ERR_UNPACK_INADEQUATE_SPACE : status;
    request_end(&recv->super);
}

static void finish(struct recv *recv, int status)
{
    const size_t room = opal_convertor_get_packed_size(&recv->ptl.req_convertor);

    list_remove(&recv->receiving);
    take_from_modules(recv, status);
    if (recv->ptl.req_fetch) {
        end_fetch(recv);
    }
    end(recv, least(recv->delivered, room), recv->length, status);
}

/* Apart, so that the receive of bytes in one place saves no registers for it. */
static __attribute__((noinline)) void scatter(opal_convertor_t *data, const void *bytes,
                                              size_t size)
{
    size_t start = 0;
    opal_convertor_t to = *data;
    (void) opal_convertor_set_position(&to, &start);
    (void) opal_convertor_unpack_bytes(&to, bytes, size);
}

void recv_take_whole(struct recv *recv, const mca_ptl_base_match_header_t *header,
                     const void *bytes)
{
    opal_convertor_t *data = &recv->ptl.req_convertor;
    const size_t size = least(header->hdr_msg_length, data->size);

    if (data->segments) {
        scatter(data, bytes, size);
    } else {
        copy_few(data->one.iov_base, bytes, size);
    }
    recv->super.status.source = header->hdr_src;
    recv->super.status.tag = header->hdr_tag;
    end(recv, size, header->hdr_msg_length, OPAL_SUCCESS);
}

void recv_fail(struct recv *recv, int status)
{
    list_remove(&recv->super.link);
    finish(recv, status);
}

/* ---- the bytes ---- */

static struct stripe_ask ask_of(const struct recv *recv)
{
    return (struct stripe_ask){.first = recv->module, .fetches = true};
}

/* Of a range, or of what no rail was asked for yet. */
static void fetch_piece(struct recv *recv, struct stripe_ask *ask, const struct stripe_piece *piece)
{
    mca_ptl_base_module_t *ptl = piece->path.ptl;
    struct range *range = range_first(&recv->again);
    const size_t before = recv->ptl.req_offset, told = recv->received + recv->lost;

    recv->busy = true;
    int status = ptl->ptl_get(ptl, piece->path.peer, &recv->ptl, range ? range->offset : before,
                              piece->size, 0);
    recv->busy = false;
    const size_t taken = recv->ptl.req_offset - before;
    recv->taken += taken;
    if (range) {
        recv->ptl.req_offset = before;
        range_taken(range, taken);
    }
    if (status == OPAL_SUCCESS && taken == 0) {
        status = OPAL_ERROR; /* it takes nothing, and does not say why */
    }
    stripe_gave(recv->member->peer, &recv->stripe, piece, taken,
                recv->received + recv->lost - told);
    stripe_answered(recv->member->peer, ask, piece, status);
}

/* False: it waits for room. */
static bool fetch_rest(struct recv *recv)
{
    struct peer *peer = recv->member->peer;
    struct stripe_ask ask = ask_of(recv);
    struct stripe_piece piece;

    while (recv->failed == OPAL_SUCCESS) {
        const struct range *range = range_first(&recv->again);
        ask.left = range ? range->size : recv->expected - recv->ptl.req_offset;
        if (ask.left == 0 || stripe_is_full(peer)) {
            return ask.left == 0;
        }
        if (stripe_next(peer, &recv->stripe, &ask, &piece)) {
            fetch_piece(recv, &ask, &piece);
        } else if (stripe_has_to_wait(&ask)) {
            return false;
        } else {
            recv->failed = ask.status;
        }
    }
    return true;
}

/* No module may still write to the buffer. */
static bool fetches_are_over(const struct recv *recv)
{
    return !recv->ptl.req_fetch || recv->received + recv->lost >= recv->taken;
}

/* After whatever a module did with it. False: it waits for room. */
static bool advance(struct recv *recv)
{
    if (recv->ptl.req_fetch && recv->failed == OPAL_SUCCESS && !fetch_rest(recv)) {
        return false;
    }
    if (recv->failed != OPAL_SUCCESS && fetches_are_over(recv)) {
        finish(recv, recv->failed);
    } else if (recv->failed == OPAL_SUCCESS && recv->begun && recv->received >= recv->expected) {
        finish(recv, OPAL_SUCCESS);
    }
    return true;
}

bool recv_resume(struct recv *recv)
{
    struct peer *peer = recv->member->peer;

    if (advance(recv)) {
        return true;
    }
    stripe_wait(peer, &recv->super.link, true);
    return false;
}

void recv_upcall_progress(mca_ptl_base_module_t *ptl, mca_ptl_base_recv_request_t *request,
                          size_t received, size_t delivered)
{
    struct recv *recv = recv_of(request);

    if (recv->stripe.total > 0 && !recv->busy) {
        stripe_told(recv->member->peer, &recv->stripe, ptl, received, true);
    }
    recv->begun = true;
    recv->received += received;
    recv->delivered += delivered;
    if (!recv->busy && list_empty(&recv->super.link) && !advance(recv)) {
        stripe_wait(recv->member->peer, &recv->super.link, false);
    }
}

/* False: no other rail can bring them, or there is no memory. */
static bool fetch_again(struct recv *recv, const mca_ptl_base_module_t *ptl, size_t offset,
                        size_t size, int status)
{
    const struct stripe_ask ask = ask_of(recv);
    if (!recv->ptl.req_fetch || recv->failed != OPAL_SUCCESS || size == 0) {
        return false;
    }
    return (status == OPAL_ERR_TEMP_OUT_OF_RESOURCE || stripe_is_recovered(ptl, status) ||
            stripe_shut(recv->member->peer, &recv->stripe, &ask, ptl)) &&
           range_add(&recv->again, offset, size, NULL);
}

void recv_upcall_failed(struct keel_ptl_module_t *ptl, mca_ptl_base_recv_request_t *request,
                        size_t offset, size_t size, int status)
{
    struct recv *recv = recv_of(request);

    if (recv->stripe.total > 0 && !recv->busy) {
        stripe_told(recv->member->peer, &recv->stripe, &ptl->super, size, false);
    }
    recv->lost += size;
    if (!fetch_again(recv, &ptl->super, offset, size, status)) {
        recv->failed = status != OPAL_SUCCESS ? status : OPAL_ERROR;
    }
    if (!recv->busy) {
        list_remove(&recv->super.link);
        if (!advance(recv)) {
            stripe_wait(recv->member->peer, &recv->super.link, false);
        }
    }
}

/* It is not whole yet: the end of its peer is to end it. */
static void track(struct recv *recv)
{
    struct member *member = recv->member;
    int status = member_connect(member);

    if (!member->peer || member->peer->gone != OPAL_SUCCESS || recv->ptl.req_fetch) {
        recv->failed = status;
    }
    if (member->peer) {
        list_append(&member->peer->receiving, &recv->receiving);
    }
}

/* Behind the first bytes, which came. */
static void begin_fetch(struct recv *recv, size_t first)
{
    size_t room = opal_convertor_get_packed_size(&recv->ptl.req_convertor);
    size_t wanted = least(recv->length, room);

    recv->expected = wanted > first ? wanted : first;
    recv->ptl.req_offset = recv->ptl.req_offset > first ? recv->ptl.req_offset : first;
    recv->taken = recv->ptl.req_offset;
    recv->stripe = (struct stripe){0};
    list_init(&recv->again);
}

void recv_take(struct recv *recv, struct keel_pml_message *message)
{
    mca_ptl_base_recv_frag_t *frag = message_frag(message);
    mca_ptl_base_module_t *module = message->module;
    size_t first = frag->frag_base.frag_size;

    request_begin(&recv->super, message->header->hdr_src, message->header->hdr_tag);
    recv->member = message_member(message);
    recv->module = module;
    recv->length = recv->expected = message->header->hdr_msg_length;
    recv->received = recv->delivered = recv->lost = 0;
    recv->failed = OPAL_SUCCESS;
    recv->begun = false;
    recv->stripe.total = 0;
    recv->ptl.req_fetch = false;
    recv->ptl.req_offset = 0;
    recv->ptl.req_ptl = NULL;
    frag->frag_request = &recv->ptl;
    recv->busy = true;
    module->ptl_matched(module, frag);
    recv->busy = false;
    if (recv->ptl.req_fetch) {
        begin_fetch(recv, first);
    }
    const bool whole = recv->begun && recv->received >= recv->expected;
    if (recv->failed == OPAL_SUCCESS && whole && !recv->ptl.req_fetch) {
        finish(recv, OPAL_SUCCESS);
        return;
    }
    if (recv->failed == OPAL_SUCCESS && !whole) {
        track(recv);
    }
    if (!advance(recv)) {
        stripe_wait(recv->member->peer, &recv->super.link, false);
    }
}

int recv_start(struct recv *recv)
{
    struct keel_pml_context *context = recv->super.context;
    struct member *member =
        recv->match.source >= 0 ? context_member(context, recv->match.source) : NULL;
    int status = member ? member_ready(member) : OPAL_SUCCESS;
    struct match_message *waiting = match_post(&context->match, &recv->match);

    if (waiting) {
        struct keel_pml_message *message = message_of(waiting);
        control_left(message_member(message));
        recv_take(recv, message);
        return OPAL_SUCCESS;
    }
    if (status != OPAL_SUCCESS) {
        (void) match_cancel(&context->match, &recv->match);
        return status;
    }
    request_begin(&recv->super, KEEL_PML_ANY_SOURCE, KEEL_PML_ANY_TAG);
    recv->member = NULL;
    recv->delivered = recv->length = 0;
    recv->ptl.req_fetch = false;
    recv->ptl.req_ptl = NULL;
    return OPAL_SUCCESS;
}

void recv_fail_member(struct member *member, int status)
{
    struct match *match = &member->context->match;
    struct match_receive *receive;
    struct match_message *message;

    while ((message = match_source_drop(&member->source))) {
        message_give_back(message_of(message));
    }
    while ((receive = match_give_up(match, member->source.rank))) {
        recv_fail(container_of(receive, struct recv, match), status);
    }
}
