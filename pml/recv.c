#include <config.h>

#include <base/least.h>
#include <pml/context.h>
#include <pml/control.h>
#include <pml/peer.h>
#include <pml/recv.h>

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
    recv->match = (struct match_receive){.source = source, .tag = tag};
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

static void finish(struct recv *recv, int status)
{
    struct keel_pml_status *end = &recv->super.status;

    list_remove(&recv->receiving);
    take_from_modules(recv, status);
    end->bytes = least(recv->delivered, opal_convertor_get_packed_size(&recv->ptl.req_convertor));
    end->truncated = recv->length > end->bytes && status == OPAL_SUCCESS;
    end->error = end->truncated ? OPAL_ERR_UNPACK_INADEQUATE_SPACE : status;
    request_end(&recv->super);
}

void recv_fail(struct recv *recv, int status)
{
    list_remove(&recv->super.link);
    finish(recv, status);
}

/* ---- the bytes ---- */

/* The path by which the first fragment came; else one of the same component, which may be able to
 * fetch as well: see pml/README.md. NULL: none. */
static const struct ptl_path *fetch_path(const struct recv *recv)
{
    const struct ptl_paths *paths = &recv->member->peer->paths;
    const struct ptl_path *other = NULL;

    for (size_t i = 0; i < paths->count; i++) {
        const struct ptl_path *path = &paths->path[i];
        if (path->ptl == recv->module) {
            return path;
        }
        other = path->ptl->ptl_component == recv->module->ptl_component ? path : other;
    }
    return other;
}

static int fetch_piece(struct recv *recv)
{
    const struct ptl_path *found = fetch_path(recv);
    if (!found) {
        return OPAL_ERR_UNREACH;
    }
    const struct ptl_path path = *found;
    size_t before = recv->ptl.req_offset, most = path.ptl->ptl_max_frag_size;
    size_t size = least(recv->expected - before, most > 0 ? most : SIZE_MAX);
    recv->busy = true;
    int status = path.ptl->ptl_get(path.ptl, path.peer, &recv->ptl, before, size, 0);
    recv->busy = false;
    if (status == OPAL_ERR_OUT_OF_RESOURCE) {
        peer_is_short(recv->member->peer, path.ptl);
    } else if (status == OPAL_SUCCESS && recv->ptl.req_offset == before) {
        status = OPAL_ERROR; /* it takes nothing, and does not say why */
    }
    return status;
}

/* False: it waits for room. */
static bool fetch_rest(struct recv *recv)
{
    while (recv->ptl.req_offset < recv->expected && recv->failed == OPAL_SUCCESS) {
        int status = fetch_piece(recv);
        if (status == OPAL_ERR_OUT_OF_RESOURCE && recv->failed == OPAL_SUCCESS) {
            return false;
        }
        recv->failed = recv->failed != OPAL_SUCCESS ? recv->failed : status;
    }
    return true;
}

/* No module may still write to the buffer. */
static bool fetches_are_over(const struct recv *recv)
{
    return !recv->ptl.req_fetch || recv->received + recv->lost >= recv->ptl.req_offset;
}

/* After whatever a module did with it. False: it waits for room. */
static bool advance(struct recv *recv)
{
    if (recv->ptl.req_fetch && !fetch_rest(recv)) {
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
    peer_pend_first(peer, &recv->super.link);
    return false;
}

void recv_upcall_progress(mca_ptl_base_module_t *ptl, mca_ptl_base_recv_request_t *request,
                          size_t received, size_t delivered)
{
    struct recv *recv = recv_of(request);

    (void) ptl;
    recv->begun = true;
    recv->received += received;
    recv->delivered += delivered;
    if (!recv->busy && list_empty(&recv->super.link) && !advance(recv)) {
        peer_pend(recv->member->peer, &recv->super.link);
    }
}

/* Another path could bring the bytes: see pml/README.md. */
void recv_upcall_failed(struct keel_ptl_module_t *ptl, mca_ptl_base_recv_request_t *request,
                        size_t offset, size_t size, int status)
{
    struct recv *recv = recv_of(request);

    (void) ptl, (void) offset;
    recv->failed = status != OPAL_SUCCESS ? status : OPAL_ERROR;
    recv->lost += size;
    if (!recv->busy) {
        list_remove(&recv->super.link);
        (void) advance(recv);
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
    recv->ptl.req_fetch = false;
    recv->ptl.req_offset = 0;
    recv->ptl.req_ptl = NULL;
    frag->frag_request = &recv->ptl;
    recv->busy = true;
    module->ptl_matched(module, frag);
    recv->busy = false;
    if (recv->ptl.req_fetch) {
        size_t room = opal_convertor_get_packed_size(&recv->ptl.req_convertor);
        size_t wanted = least(recv->length, room);
        recv->expected = wanted > first ? wanted : first;
        recv->ptl.req_offset = recv->ptl.req_offset > first ? recv->ptl.req_offset : first;
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
        peer_pend(recv->member->peer, &recv->super.link);
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
