/* The sender's end of a message. */
#include <config.h>

#include <base/data/few.h>
#include <base/data/least.h>
#include <btl/interface/base.h>
#include <ptl/rail/link.h>
#include <ptl/rail/memory.h>
#include <stdlib.h>

/* One thread at a time: atomic operations would cost each message a few nanoseconds. */
static void take(mca_ptl_base_send_request_t *request, size_t size)
{
    request->req_offset += size;
}

static void take_back(mca_ptl_base_send_request_t *request, size_t size)
{
    request->req_offset -= size;
}

/* Header, and size bytes of data (NULL: none), to a peer whose frames have no numbers. */
static inline int send_out(struct mca_ptl_base_peer_t *peer, opal_convertor_t *data, void *header,
                           size_t header_size, size_t size)
{
    struct rail_module *module = peer->module;
    int status =
        module->ext->channel_sendi(module->btl, peer->endpoint, data, header, header_size, size,
                                   MCA_BTL_NO_ORDER, 0, RAIL_CHANNEL, RAIL_TAG, NULL);
    return status == OPAL_SUCCESS ? status : rail_want_room(peer, status);
}

/* Sends header and size bytes of data from offset on, which are copied. */
static int send_bytes(struct mca_ptl_base_peer_t *peer, void *header, size_t header_size,
                      const opal_convertor_t *data, size_t offset, size_t size)
{
    if (peer->link_to) {
        return rail_link_send(peer, header, header_size, data, offset, size);
    }
    opal_convertor_t from = *data;
    if (offset != from.bytes_converted) {
        opal_convertor_set_position(&from, &offset);
    }
    return send_out(peer, &from, header, header_size, size);
}

/* --- sends that wait for an answer --- */

static struct rail_send *send_create(struct mca_ptl_base_peer_t *peer,
                                     mca_ptl_base_send_request_t *request)
{
    struct rail_send *send = calloc(1, sizeof(*send));
    if (!send || !ids_add(&rail.sends, send, &send->id)) {
        free(send);
        return NULL;
    }
    send->proc = peer->proc;
    send->module = peer->module;
    send->request = request;
    list_init(&send->ops);
    list_init(&send->grants);
    list_init(&send->memories);
    list_append(&rail.all_sends, &send->link);
    request->req_ptl = send;
    return send;
}

/* Returns its request, which the caller may tell of it. */
static mca_ptl_base_send_request_t *send_end(struct rail_send *send)
{
    mca_ptl_base_send_request_t *request = send->request;
    rail_grants_end(&send->grants);
    rail_memories_end(&send->memories);
    rail_ops_leave(&send->ops);
    ids_remove(&rail.sends, send->id);
    list_remove(&send->link);
    free(send);
    request->req_ptl = NULL;
    return request;
}

void rail_ptl_send_end(struct keel_ptl_module_t *ptl, mca_ptl_base_send_request_t *request)
{
    (void) ptl;
    if (request->req_ptl) {
        (void) send_end(request->req_ptl);
    }
}

/* Moves those of a module (NULL: any) to a process (NULL: any) to another list. */
static void take_sends(const struct rail_module *module, const opal_proc_t *proc,
                       struct list *taken)
{
    struct rail_send *send;
    list_init(taken);
    list_for_each (send, &rail.all_sends, struct rail_send, link) {
        if ((!proc || send->proc == proc) && (!module || send->module == module)) {
            list_remove(&send->link);
            list_append(taken, &send->link);
        }
    }
}

void rail_forget_sends(const struct rail_module *module, const opal_proc_t *proc)
{
    struct list forgotten;
    take_sends(module, proc, &forgotten);
    while (!list_empty(&forgotten)) {
        (void) send_end(container_of(forgotten.next, struct rail_send, link));
    }
}

void rail_fail_sends(const struct rail_module *module, const opal_proc_t *proc, int status)
{
    /* What the PML does meanwhile is not to be failed. */
    struct list failed;
    take_sends(module, proc, &failed);
    while (!list_empty(&failed)) {
        struct rail_send *send = container_of(failed.next, struct rail_send, link);
        struct keel_ptl_module_t *ptl = &send->module->super;
        ptl->ptl_send_failed(ptl, send_end(send), status);
    }
}

/* --- first fragments --- */

enum { SHORT_BYTES = 64 }; /* of messages that are copied behind their header here */

/* A short message is header alone to the module, which then need not move a convertor. */
int rail_ptl_sendi(struct keel_ptl_module_t *ptl, struct mca_ptl_base_peer_t *peer,
                   const mca_ptl_base_match_header_t *match, const void *bytes)
{
    uint8_t header[RAIL_MATCH_BYTES + SHORT_BYTES];
    opal_convertor_t data;
    const size_t size = match->hdr_msg_length;
    (void) ptl;
    if (rail.disabled || !peer->reached) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    if (peer->link_to) {
        return rail_link_sendi(peer, match, bytes);
    }
    rail_encode_match(header, match);
    if (size <= SHORT_BYTES) {
        copy_few(header + RAIL_MATCH_BYTES, bytes, size);
        return send_out(peer, NULL, header, RAIL_MATCH_BYTES + size, 0);
    }
    opal_convertor_prepare(&data, (void *) (uintptr_t) bytes, size);
    return send_out(peer, &data, header, RAIL_MATCH_BYTES, size);
}

static int send_whole(struct mca_ptl_base_peer_t *peer, mca_ptl_base_send_request_t *request,
                      size_t size)
{
    uint8_t header[RAIL_MATCH_BYTES];
    rail_encode_match(header, &request->req_header);
    take(request, size);
    int status = send_bytes(peer, header, RAIL_MATCH_BYTES, &request->req_convertor, 0, size);
    if (status != OPAL_SUCCESS) {
        take_back(request, size);
        return status;
    }
    mca_ptl_base_module_t *ptl = &peer->module->super.super;
    ptl->ptl_send_progress(ptl, request, size);
    return OPAL_SUCCESS;
}

/* Opens the message to a rail's gets. False: it cannot get, or there is no memory or handle. */
static bool offer(struct rail_send *send, struct rail_module *module,
                  struct mca_btl_base_endpoint_t *endpoint, struct rail_header *header)
{
    const mca_ptl_base_send_request_t *request = send->request;
    const size_t size = request->req_header.hdr_msg_length;
    const bool gets = module->gets && !rail_in_pieces(module, size);
    void *memory = gets ? rail_memory_of(&request->req_convertor) : NULL;
    if (!memory || !rail_grant(&send->grants, module, endpoint, memory, size,
                               MCA_BTL_REG_FLAG_REMOTE_READ, header)) {
        return false;
    }
    header->flags |= RAIL_FLAG_FETCH;
    header->bytes = size;
    return true;
}

/* The first fragment of a message that is to be acknowledged. One that can be fetched takes no
 * bytes along. */
static int announce(struct mca_ptl_base_peer_t *peer, mca_ptl_base_send_request_t *request,
                    size_t size)
{
    const mca_ptl_base_match_header_t *match = &request->req_header;
    struct rail_send *send = send_create(peer, request);
    if (!send) {
        return rail_want_room(peer, OPAL_ERR_OUT_OF_RESOURCE);
    }
    struct rail_header header = {.type = RAIL_RNDV,
                                 .flags = RAIL_FLAG_ACK,
                                 .match = *match,
                                 .bytes = match->hdr_msg_length,
                                 .own_id = send->id};
    if (rail_memory_of(&request->req_convertor)) {
        header.flags |= RAIL_FLAG_CONTIGUOUS;
    }
    const bool offered = header.bytes > peer->module->super.super.ptl_first_frag_size &&
                         offer(send, peer->module, peer->endpoint, &header);
    uint8_t bytes[RAIL_MOST_BYTES];
    send->first = offered ? 0 : size;
    send->left = header.bytes;
    send->quiet = header.bytes - send->first;
    take(request, send->left);
    int status = send_bytes(peer, bytes, rail_encode(bytes, &header), &request->req_convertor, 0,
                            send->first);
    if (status != OPAL_SUCCESS) {
        take_back(request, send->left);
        (void) send_end(send);
    }
    return status;
}

int rail_ptl_send(mca_ptl_base_module_t *ptl, struct mca_ptl_base_peer_t *peer,
                  mca_ptl_base_send_request_t *request, size_t offset, size_t size, int flags)
{
    if (rail.disabled || !peer->reached) {
        return rail.disabled ? OPAL_ERR_NOT_AVAILABLE : OPAL_ERR_UNREACH;
    }
    size_t whole = request->req_header.hdr_msg_length;
    if (offset != 0 || size > whole || (size < whole && !(flags & MCA_PTL_FLAGS_ACK)) ||
        (size > ptl->ptl_first_frag_size && !(flags & MCA_PTL_FLAGS_ACK))) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (flags & MCA_PTL_FLAGS_ACK) {
        return announce(peer, request, least(size, ptl->ptl_first_frag_size));
    }
    return send_whole(peer, request, size);
}

/* --- what the receiver answers --- */

/* One to the endpoint's process; else NULL. */
static struct rail_send *send_of(uint64_t id, const struct rail_module *module,
                                 const struct mca_btl_base_endpoint_t *endpoint)
{
    struct rail_send *send = ids_find(&rail.sends, id);
    return send && send->proc == btl_proc_of(module->btl, endpoint) ? send : NULL;
}

bool rail_answered(struct rail_module *module, struct mca_btl_base_endpoint_t *endpoint,
                   const struct rail_header *header)
{
    struct rail_send *send = send_of(header->id, module, endpoint);
    if (!send) {
        return true; /* it has ended */
    }
    struct keel_ptl_module_t *ptl = &module->super;
    const size_t size = send->left;
    if (size != send->quiet + (send->matched ? 0 : send->first)) {
        return false; /* bytes that it pulled are under way */
    }
    if (header->type == RAIL_ACK) {
        ptl->super.ptl_send_progress(&ptl->super, send_end(send), size);
    } else {
        ptl->ptl_send_failed(ptl, send_end(send), OPAL_ERR_NOT_FOUND);
    }
    return true;
}

void rail_announce_again(struct rail_header *header, struct rail_module *module,
                         struct mca_btl_base_endpoint_t *endpoint)
{
    struct rail_send *send = ids_find(&rail.sends, header->own_id);
    const bool offered = header->flags & RAIL_FLAG_FETCH;
    header->flags &= (uint8_t) ~RAIL_FLAG_FETCH;
    if (send) { /* else it has failed here, and so does its receive */
        send->module = module;
        (void) (offered && offer(send, module, endpoint, header));
    }
}

void rail_wanted(struct rail_module *module, struct mca_btl_base_endpoint_t *endpoint,
                 const struct rail_header *header)
{
    struct rail_send *send = send_of(header->id, module, endpoint);
    struct rail_header answer = {
        .type = RAIL_MEMORY, .id = header->own_id, .own_id = header->bytes};
    (void) (send && offer(send, module, endpoint, &answer));
    rail_say(module, endpoint, &answer);
}

/* --- the rest --- */

/* All of it was reported, or is by the caller. */
static void end_if_moved(struct rail_send *send)
{
    if (send->left == 0) {
        (void) send_end(send);
    }
}

/* The first PULL tells that the message was matched. */
static void matched(struct rail_send *send, mca_ptl_base_module_t *ptl)
{
    send->matched = true;
    send->left -= send->first;
    ptl->ptl_send_progress(ptl, send->request, send->first);
}

/* Of a PULL that says where the bytes may be put. */
static void learn_memory(struct rail_send *send, const struct rail_module *module,
                         const struct rail_header *header)
{
    struct rail_memory *memory =
        header->flags & RAIL_FLAG_PIECE
            ? rail_memory_add(&send->memories, module, header->offset, header->bytes)
            : rail_memory_by(&send->memories, module);
    if (memory && memory->state != RAIL_MEMORY_NONE) {
        rail_memory_set(memory, header);
    }
}

bool rail_pulled(struct rail_module *module, struct mca_btl_base_endpoint_t *endpoint,
                 const struct rail_header *header)
{
    struct rail_send *send = send_of(header->id, module, endpoint);
    if (!send) {
        return true; /* it has ended */
    }
    const uint64_t total = send->request->req_header.hdr_msg_length, size = header->bytes;
    struct keel_ptl_module_t *ptl = &module->super;
    if (size == 0 || size > send->quiet || header->offset < send->first ||
        header->offset > total - size) {
        return false;
    }
    send->quiet -= size;
    send->request->req_peer_match.lval = header->own_id;
    if (header->flags & RAIL_FLAG_PUT && module->puts) {
        learn_memory(send, module, header);
    }
    if (!send->matched) {
        matched(send, &ptl->super);
    }
    ptl->ptl_put_wanted(ptl, send->request, header->offset, size, OPAL_SUCCESS);
    return true;
}

/* Of a put that has ended in vain. Where other rails may lead to the process, the loss of this one
 * costs no message. Where the rail works, what is left goes in fragments. */
static void put_failed(struct rail_send *send, struct rail_module *module, size_t offset,
                       size_t size, int status)
{
    struct keel_ptl_module_t *ptl = &module->super;
    if (status == OPAL_ERR_UNREACH && !rail_link_to(send->proc)) {
        ptl->ptl_send_failed(ptl, send_end(send), status);
        return;
    }
    struct rail_memory *memory = rail_memory_at(&send->memories, module, offset);
    if (memory && status != OPAL_ERR_UNREACH) {
        memory->state = RAIL_MEMORY_NONE;
    }
    ptl->ptl_put_wanted(ptl, send->request, offset, size, status);
}

static void put_succeeded(struct rail_send *send, struct rail_module *module,
                          struct mca_btl_base_endpoint_t *endpoint, size_t offset, size_t size)
{
    mca_ptl_base_module_t *ptl = &module->super.super;
    mca_ptl_base_send_request_t *request = send->request;
    const struct rail_header landed = {
        .type = RAIL_LANDED, .id = request->req_peer_match.lval, .offset = offset, .bytes = size};
    struct rail_memory *memory = rail_memory_at(&send->memories, module, offset);
    if (memory) { /* else its receiver named it for fewer bytes than it pulled */
        rail_memory_filled(memory, size);
    }
    send->left -= size;
    end_if_moved(send);
    ptl->ptl_send_progress(ptl, request, size);
    rail_say(module, endpoint, &landed);
}

static void put_done(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     void *local, mca_btl_base_registration_handle_t *handle, void *context,
                     void *cbdata, int status)
{
    (void) btl, (void) local, (void) handle, (void) context;
    struct rail_op *op = cbdata;
    struct rail_module *module = op->module;
    size_t offset = op->offset, size = op->size;
    struct rail_send *send = rail_op_end(op);
    if (!send) {
        return;
    }
    const opal_proc_t *proc = send->proc;
    if (status == OPAL_SUCCESS) {
        put_succeeded(send, module, endpoint, offset, size);
    } else {
        put_failed(send, module, offset, size, status);
    }
    rail_op_is_over(proc);
}

static int send_frag(struct mca_ptl_base_peer_t *peer, struct rail_send *send, size_t offset,
                     size_t size)
{
    uint8_t bytes[RAIL_MOST_BYTES];
    mca_ptl_base_module_t *ptl = &peer->module->super.super;
    mca_ptl_base_send_request_t *request = send->request;
    size = least(size, peer->module->frag_size);
    size_t header_size =
        rail_encode(bytes, &(struct rail_header){.type = RAIL_FRAG,
                                                 .id = request->req_peer_match.lval,
                                                 .bytes = size,
                                                 .offset = offset});
    take(request, size);
    send->left -= size; /* an answer may come meanwhile */
    int status = send_bytes(peer, bytes, header_size, &request->req_convertor, offset, size);
    if (status != OPAL_SUCCESS) {
        take_back(request, size);
        if (request->req_ptl) {
            send->left += size;
        }
        return status;
    }
    if (request->req_ptl) {
        end_if_moved(send);
    }
    ptl->ptl_send_progress(ptl, request, size);
    return OPAL_SUCCESS;
}

static int put(struct mca_ptl_base_peer_t *peer, struct rail_send *send, struct rail_memory *memory,
               size_t offset, size_t size)
{
    mca_btl_base_module_t *btl = peer->module->btl;
    mca_ptl_base_send_request_t *request = send->request;
    size = least(size, least(btl->btl_put_limit, memory->size - (offset - memory->offset)));
    char *from = (char *) rail_memory_of(&request->req_convertor) + offset;
    struct rail_op *op = rail_op_create(send, &send->ops, peer, from, offset, size);
    if (!op) {
        return rail_want_room(peer, OPAL_ERR_OUT_OF_RESOURCE);
    }
    take(request, size);
    int status =
        btl->btl_put(btl, peer->endpoint, from, memory->address + offset, NULL,
                     rail_memory_handle(memory), size, 0, MCA_BTL_NO_ORDER, put_done, NULL, op);
    if (status == 1) {
        put_done(btl, peer->endpoint, from, NULL, NULL, op, OPAL_SUCCESS);
    } else if (status < 0) {
        take_back(request, size);
        (void) rail_op_end(op);
        if (btl_is_shortage(status) || status == OPAL_ERR_UNREACH) {
            return rail_want_room(peer, status);
        }
        memory->state = RAIL_MEMORY_NONE;
        return send_frag(peer, send, offset, size);
    }
    return OPAL_SUCCESS;
}

int rail_ptl_put(mca_ptl_base_module_t *ptl, struct mca_ptl_base_peer_t *peer,
                 mca_ptl_base_send_request_t *request, size_t offset, size_t size, int flags)
{
    (void) ptl, (void) flags;
    struct rail_send *send = request->req_ptl;
    if (rail.disabled || !peer->reached) {
        return rail.disabled ? OPAL_ERR_NOT_AVAILABLE : OPAL_ERR_UNREACH;
    }
    size_t whole = request->req_header.hdr_msg_length;
    if (!send || size == 0 || offset > whole || size > whole - offset) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct rail_memory *memory = rail_memory_at(&send->memories, peer->module, offset);
    if (!memory || memory->state != RAIL_MEMORY_THERE || !rail_memory_of(&request->req_convertor)) {
        return send_frag(peer, send, offset, size);
    }
    int status = put(peer, send, memory, offset, size);
    rail_op_is_over(peer->proc); /* it may have been refused */
    return status;
}
