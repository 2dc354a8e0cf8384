#include <config.h>

#include <pml/peers/peer.h>
#include <pml/requests/send.h>
#include <stdlib.h>

static struct send *send_of(mca_ptl_base_send_request_t *request)
{
    return container_of(request, struct send, ptl);
}

void send_construct(void *item, void *unused)
{
    (void) unused;
    ((struct send *) item)->ptl = (mca_ptl_base_send_request_t){.req_cached = false};
}

void send_construct_cached(void *item, void *module)
{
    struct send *send = item;
    mca_ptl_base_module_t *ptl = ((struct mca_pml_base_ptl_t *) module)->ptl;
    send->ptl = (mca_ptl_base_send_request_t){.req_cached = true};
    send->ptl.req_cached = ptl->ptl_request_init(ptl, &send->ptl) == OPAL_SUCCESS;
}

/* The requests that the peer's first module keeps, or those that belong to none. */
static struct pool *pool_for(const struct peer *peer)
{
    struct mca_pml_base_ptl_t *module = peer_first_path(peer)->ptl->ptl_base;
    return module->sends.limit > 0 && pool_has_room(&module->sends) ? &module->sends
                                                                    : &peer->pml->sends;
}

struct send *send_new(struct member *member, const opal_convertor_t *data, int32_t tag,
                      uint8_t mode)
{
    struct keel_pml_context *context = member->context;
    struct pool *pool = pool_for(member->peer);
    struct send *send = pool_get(pool);

    if (!send) {
        return NULL;
    }
    request_init(&send->super, pool, REQUEST_SEND, context);
    list_init(&send->sending);
    list_init(&send->again);
    send->member = member;
    send->copy = NULL;
    send->stripe.total = 0;
    send->mode = mode;
    send->ptl.req_header = (mca_ptl_base_match_header_t){.hdr_contextid = context->id,
                                                         .hdr_src = context->rank,
                                                         .hdr_dst = member->source.rank,
                                                         .hdr_tag = tag};
    if (data) {
        send->ptl.req_convertor = *data;
    } else {
        opal_convertor_prepare(&send->ptl.req_convertor, NULL, 0);
    }
    send->length = opal_convertor_get_packed_size(&send->ptl.req_convertor);
    send->ptl.req_header.hdr_msg_length = send->length;
    return send;
}

/* ---- its end ---- */

/* Modules other than this one touch it no more. */
static void take_from_modules(struct send *send, const mca_ptl_base_module_t *except)
{
    const struct ptl_paths *paths = &send->member->peer->paths;

    for (size_t i = 0; i < paths->count && send->stage != SEND_WAITS; i++) {
        struct keel_ptl_module_t *ptl = keel_ptl_extended(paths->path[i].ptl);
        if (ptl && &ptl->super != except) {
            ptl->ptl_send_end(ptl, &send->ptl);
        }
    }
}

static void finish(struct send *send, int status)
{
    list_remove(&send->sending);
    if (send->stripe.total > 0) {
        stripe_end(send->member->peer, &send->stripe);
    }
    ranges_clear(&send->again);
    if (send->copy) {
        send->super.context->pml->buffered -= send->length;
        free(send->copy);
        send->copy = NULL;
    }
    send->super.status.error = status;
    send->super.status.bytes = send->length;
    request_end(&send->super);
}

void send_fail(struct send *send, int status)
{
    list_remove(&send->super.link);
    take_from_modules(send, NULL);
    finish(send, status);
}

/* ---- the rest ---- */

/* Of a range, or of what no rail was given yet. */
static void put_piece(struct send *send, struct stripe_ask *ask, const struct stripe_piece *piece)
{
    mca_ptl_base_module_t *ptl = piece->path.ptl;
    struct range *range = range_first(&send->again);
    const size_t before = send->ptl.req_offset, told = send->reported;

    send->busy = true;
    int status = ptl->ptl_put(ptl, piece->path.peer, &send->ptl, range ? range->offset : before,
                              piece->size, 0);
    send->busy = false;
    const size_t taken = send->ptl.req_offset - before;
    if (range) {
        send->ptl.req_offset = before;
        range_taken(range, taken);
    }
    if (status == OPAL_SUCCESS && taken == 0) {
        status = OPAL_ERROR; /* it takes nothing, and does not say why */
    }
    stripe_gave(send->member->peer, &send->stripe, piece, taken, send->reported - told);
    stripe_answered(send->member->peer, ask, piece, status);
}

/* What the receiver asked for waits for room alone: who waits until less is under way may wait for
 * the receiver, which does the same. */
static void wait_for_turn(struct send *send, bool first)
{
    struct peer *peer = send->member->peer;

    if (list_empty(&send->again)) {
        stripe_wait(peer, &send->super.link, first);
    } else {
        (first ? list_prepend : list_append)(&peer->pending, &send->super.link);
    }
}

/* False: it waits for room. */
static bool put_rest(struct send *send)
{
    struct peer *peer = send->member->peer;
    struct stripe_ask ask = {.first = peer->paths.count > 0 ? peer_first_path(peer)->ptl : NULL};
    struct stripe_piece piece;

    while (send->failed == OPAL_SUCCESS) {
        const struct range *range = range_first(&send->again);
        ask.left = range ? range->size : send->length - send->ptl.req_offset;
        ask.by = range ? range->by : NULL;
        if (ask.left == 0 || (!range && stripe_is_full(peer))) {
            return ask.left == 0;
        }
        if (stripe_next(peer, &send->stripe, &ask, &piece)) {
            put_piece(send, &ask, &piece);
        } else if (stripe_has_to_wait(&ask)) {
            return false;
        } else {
            take_from_modules(send, NULL);
            send->failed = ask.status;
        }
    }
    return true;
}

static bool is_done(const struct send *send)
{
    return send->stage == SEND_REST && send->reported >= send->length &&
           send->failed == OPAL_SUCCESS;
}

/* After whatever a module did with it. False: it waits for room. */
static bool advance(struct send *send)
{
    if (send->stage == SEND_REST && !is_done(send) && !put_rest(send)) {
        return false;
    }
    if (send->failed != OPAL_SUCCESS) {
        finish(send, send->failed);
    } else if (is_done(send)) {
        finish(send, OPAL_SUCCESS);
    }
    return true;
}

void send_upcall_progress(mca_ptl_base_module_t *ptl, mca_ptl_base_send_request_t *request,
                          size_t bytes)
{
    struct send *send = send_of(request);

    if (send->stripe.total > 0 && !send->busy) {
        stripe_told(send->member->peer, &send->stripe, ptl, bytes, true);
    }
    send->reported += bytes;
    send->stage = SEND_REST;
    if (!send->busy && list_empty(&send->super.link) && !advance(send)) {
        wait_for_turn(send, false);
    }
}

/* A message that the receiver refused has arrived; of another one that is not known, so that the
 * order of those behind it cannot be kept. */
void send_upcall_failed(struct keel_ptl_module_t *ptl, mca_ptl_base_send_request_t *request,
                        int status)
{
    struct send *send = send_of(request);

    if (send->failed == OPAL_SUCCESS) {
        send->failed = status != OPAL_SUCCESS ? status : OPAL_ERROR;
        take_from_modules(send, &ptl->super);
    }
    if (status != OPAL_ERR_NOT_FOUND) {
        peer_has_changed(send->member->peer, send->failed);
    }
    if (!send->busy) {
        list_remove(&send->super.link);
        finish(send, send->failed);
    }
}

void send_upcall_put_wanted(struct keel_ptl_module_t *ptl, mca_ptl_base_send_request_t *request,
                            size_t offset, size_t size, int status)
{
    struct send *send = send_of(request);

    if (status != OPAL_SUCCESS && send->stripe.total > 0 && !send->busy) {
        stripe_told(send->member->peer, &send->stripe, &ptl->super, size, false);
    }
    send->stage = SEND_REST;
    if (!range_add(&send->again, offset, size, &ptl->super)) {
        send_upcall_failed(ptl, request, OPAL_ERR_OUT_OF_RESOURCE);
    } else if (!send->busy && list_empty(&send->super.link) && !advance(send)) {
        wait_for_turn(send, false);
    }
}

/* ---- the first fragment ---- */

/* It has not seen older messages. */
static bool is_behind(const struct member *member)
{
    return (uint16_t) (member->next - member->seen) >= SEQUENCE_AHEAD;
}

bool send_is_stalled(const struct send *send)
{
    return send->stage == SEND_WAITS && send->mode != SEND_CONTROL && is_behind(send->member);
}

bool send_at_once(struct member *member, const opal_convertor_t *data, int32_t tag,
                  keel_pml_mode_t mode)
{
    struct peer *peer = member->peer;
    const struct ptl_path path = *peer_first_path(peer);
    struct keel_ptl_module_t *ptl = keel_ptl_extended(path.ptl);
    const size_t size = data ? data->size : 0;

    if (!ptl || !ptl->ptl_sendi || (data && data->segments) ||
        size > path.ptl->ptl_first_frag_size || mode == KEEL_PML_SYNCHRONOUS || peer->asked ||
        peer->calling || !list_empty(&peer->pending) || is_behind(member)) {
        return false;
    }
    const mca_ptl_base_match_header_t header = {.hdr_contextid = member->context->id,
                                                .hdr_src = member->context->rank,
                                                .hdr_dst = member->source.rank,
                                                .hdr_tag = tag,
                                                .hdr_msg_length = size,
                                                .hdr_msg_seq = member->next};
    peer->calling = true;
    int status = ptl->ptl_sendi(ptl, path.peer, &header, data ? data->one.iov_base : NULL);
    peer->calling = false;
    if (status != OPAL_SUCCESS) {
        return false;
    }
    member->next++;
    member->stats.sent++;
    member->stats.sent_bytes += size;
    return true;
}

/* A whole message needs no acknowledgement, unless its sender wants to know that it was matched, or
 * its receiver has no room for what nobody receives. */
static int send_fragment(struct send *send)
{
    struct member *member = send->member;
    struct peer *peer = member->peer;
    const struct ptl_path path = *peer_first_path(peer);
    size_t most = path.ptl->ptl_first_frag_size, size = send->length;
    int flags = 0;

    if (size > most || send->mode == KEEL_PML_SYNCHRONOUS ||
        (peer->asked && send->mode != SEND_CONTROL)) {
        flags = MCA_PTL_FLAGS_ACK;
        size = peer->asked ? 0 : size < most ? size : most;
        send->stripe = (struct stripe){0};
    }
    if (send->mode != SEND_CONTROL) {
        send->ptl.req_header.hdr_msg_seq = member->next;
    }
    send->stage = SEND_FIRST;
    send->busy = peer->calling = true;
    int status = path.ptl->ptl_send(path.ptl, path.peer, &send->ptl, 0, size, flags);
    send->busy = peer->calling = false;
    if (status != OPAL_SUCCESS) {
        send->stage = SEND_WAITS;
        if (status == OPAL_ERR_OUT_OF_RESOURCE) {
            peer_is_short(member->peer, path.ptl);
        } else if (stripe_is_recovered(path.ptl, status)) {
            return OPAL_ERR_OUT_OF_RESOURCE; /* until its paths are renewed */
        }
        return status;
    }
    member->next += send->mode != SEND_CONTROL;
    member->stats.sent += send->mode != SEND_CONTROL;
    member->stats.sent_bytes += send->length;
    member->stats.announced += flags != 0;
    if (flags == 0 && send->ptl.req_offset < send->length && send->failed == OPAL_SUCCESS) {
        send->failed = OPAL_ERROR; /* nothing leads to the rest */
    }
    return OPAL_SUCCESS;
}

bool send_resume(struct send *send)
{
    struct peer *peer = send->member->peer;

    if (send->stage == SEND_WAITS) {
        int status = send_fragment(send);
        if (status == OPAL_ERR_OUT_OF_RESOURCE) {
            peer_pend_first(peer, &send->super.link);
            return false;
        }
        send->failed = status != OPAL_SUCCESS ? status : send->failed;
    }
    if (!advance(send)) {
        wait_for_turn(send, true);
        return false;
    }
    return true;
}

/* Behind what waits already; what one PML tells another need not. Nor while a message to the peer
 * is being given away: a callback of the data plane sends, and the number is not taken yet. */
static int try_first(struct send *send)
{
    const struct peer *peer = send->member->peer;

    return (list_empty(&peer->pending) || send->mode == SEND_CONTROL) && !peer->calling &&
                   !send_is_stalled(send)
               ? send_fragment(send)
               : OPAL_ERR_OUT_OF_RESOURCE;
}

int send_start(struct send *send)
{
    request_begin(&send->super, send->member->source.rank, send->ptl.req_header.hdr_tag);
    send->reported = 0;
    send->failed = OPAL_SUCCESS;
    send->stage = SEND_WAITS;
    send->ptl.req_offset = 0;
    send->ptl.req_ptl = NULL;
    int status = try_first(send);
    if (status == OPAL_SUCCESS && is_done(send)) {
        finish(send, OPAL_SUCCESS);
        return OPAL_SUCCESS;
    }
    if (status != OPAL_SUCCESS && status != OPAL_ERR_OUT_OF_RESOURCE) {
        request_undo(&send->super);
        return status;
    }
    struct peer *peer = send->member->peer;
    list_append(&peer->sending, &send->sending);
    if (status == OPAL_SUCCESS && !advance(send)) {
        wait_for_turn(send, false);
    } else if (status == OPAL_ERR_OUT_OF_RESOURCE) {
        peer_pend(peer, &send->super.link);
        if (list_empty(&peer->due) && !send_is_stalled(send)) {
            peer_is_due(peer); /* what waits before it is stalled: nobody else would try it */
        }
    }
    return OPAL_SUCCESS;
}

/* ---- buffered messages ---- */

/* A send of what data has now, which the user does not have. */
static int send_copy(const struct send *send, struct send **copied)
{
    struct pml *pml = send->super.context->pml;
    if (send->length > pml->buffered_most - pml->buffered) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    char *bytes = malloc(send->length > 0 ? send->length : 1);
    struct send *copy =
        bytes ? send_new(send->member, NULL, send->ptl.req_header.hdr_tag, KEEL_PML_STANDARD)
              : NULL;
    if (!copy) {
        free(bytes);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    opal_convertor_t data = send->ptl.req_convertor;
    size_t start = 0;
    (void) opal_convertor_set_position(&data, &start);
    (void) opal_convertor_pack_bytes(&data, bytes, send->length);
    opal_convertor_prepare(&copy->ptl.req_convertor, bytes, send->length);
    copy->length = copy->ptl.req_header.hdr_msg_length = send->length;
    copy->copy = bytes;
    pml->buffered += send->length;
    *copied = copy;
    return OPAL_SUCCESS;
}

int send_start_buffered(struct send *send)
{
    struct send *copy;
    int status = send_copy(send, &copy);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    request_abandon(&copy->super);
    status = send_start(copy);
    if (status != OPAL_SUCCESS) {
        send->super.context->pml->buffered -= copy->length;
        free(copy->copy);
        request_release(&copy->super);
        return status;
    }
    request_begin(&send->super, send->member->source.rank, send->ptl.req_header.hdr_tag);
    finish(send, OPAL_SUCCESS);
    return OPAL_SUCCESS;
}
