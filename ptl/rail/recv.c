/* The receiver's end of a message. */
#include <config.h>

#include <base/data/least.h>
#include <base/settings/fault.h>
#include <base/settings/log.h>
#include <btl/interface/base.h>
#include <ptl/rail/link.h>
#include <ptl/rail/memory.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A first fragment, from its arrival until it is matched. */
struct rail_frag {
    mca_ptl_base_recv_frag_t super; /* first */
    struct mca_btl_base_endpoint_t *endpoint;
    struct rail_header header; /* its handle lies where the bytes are */
    bool *matched;             /* while its arrival is told: set when it is */
    bool lost;                 /* there was no memory for its bytes */
    void *kept;                /* owned: handle and bytes, where they are many; else NULL */
    uint8_t few[64];           /* them, if not */
};

enum { FRAGS_PER_CHUNK = 64 };
const char rail_no_memory[] = "there was no memory for a message of its";

void rail_recv_open(void)
{
    pool_init(&rail.frags, sizeof(struct rail_frag), _Alignof(struct rail_frag), FRAGS_PER_CHUNK, 0,
              NULL, NULL);
}

void rail_recv_close(void)
{
    pool_fini(&rail.frags);
}

static void frag_free(struct rail_frag *frag)
{
    if (frag->kept) {
        free(frag->kept);
    }
    pool_put(&rail.frags, frag);
}

/* Bytes of a message come to their place: those that fitted there. */
static size_t land(mca_ptl_base_recv_request_t *request, size_t offset, const void *bytes,
                   size_t size)
{
    opal_convertor_t to;
    size_t together = size;
    void *place = offset == request->req_convertor.bytes_converted
                      ? opal_convertor_current(&request->req_convertor, &together)
                      : NULL;
    if (place && together == size) {
        memcpy(place, bytes, size);
        return size;
    }
    to = request->req_convertor;
    if (offset != to.bytes_converted) {
        size_t there = offset;
        opal_convertor_set_position(&to, &there);
        if (there != offset) {
            return 0; /* behind its end */
        }
    }
    return opal_convertor_unpack_bytes(&to, bytes, size);
}

/* --- receives of which more is to come --- */

/* NULL: no memory. */
static struct rail_recv *recv_create(struct rail_module *module, const struct rail_frag *frag,
                                     mca_ptl_base_recv_request_t *request)
{
    const struct rail_header *header = &frag->header;
    struct rail_recv *recv = calloc(1, sizeof(*recv));
    if (!recv || !ids_add(&rail.recvs, recv, &recv->id)) {
        free(recv);
        return NULL;
    }
    recv->proc = btl_proc_of(module->btl, frag->endpoint);
    recv->module = module;
    recv->endpoint = frag->endpoint;
    recv->request = request;
    recv->send_id = header->own_id;
    recv->total = header->bytes;
    recv->quiet = header->bytes - frag->super.frag_base.frag_size;
    recv->contiguous = header->flags & RAIL_FLAG_CONTIGUOUS;
    list_init(&recv->turns);
    list_init(&recv->ops);
    list_init(&recv->memories);
    list_init(&recv->grants);
    list_append(&rail.all_recvs, &recv->link);
    request->req_ptl = recv;
    return recv;
}

void rail_ptl_recv_end(struct keel_ptl_module_t *ptl, mca_ptl_base_recv_request_t *request,
                       int status)
{
    (void) ptl;
    struct rail_recv *recv = request->req_ptl;
    request->req_ptl = NULL;
    rail_ops_leave(&recv->ops);
    ids_remove(&rail.recvs, recv->id);
    list_remove(&recv->link);
    rail_pulls_end(recv);
    rail_grants_end(&recv->grants);
    rail_memories_end(&recv->memories);
    if (recv->quiet > 0 || status != OPAL_SUCCESS) {
        rail_say(recv->module, recv->endpoint,
                 &(struct rail_header){.type = status == OPAL_SUCCESS ? RAIL_ACK : RAIL_NACK,
                                       .id = recv->send_id});
    }
    free(recv);
}

/* One that pulls these bytes of the endpoint's peer; else NULL. */
static struct rail_recv *recv_of(const struct rail_header *header, const struct rail_module *module,
                                 const struct mca_btl_base_endpoint_t *endpoint)
{
    struct rail_recv *recv = ids_find(&rail.recvs, header->id);
    bool fits = recv && recv->proc == btl_proc_of(module->btl, endpoint) &&
                (header->type == RAIL_FRAG || !list_empty(&recv->grants)) &&
                header->bytes <= recv->pulled && header->offset <= recv->total &&
                header->bytes <= recv->total - header->offset;
    return fits ? recv : NULL;
}

/* --- first fragments --- */

/* By the peer's rail: the sender is asked for it, where that was not done. NULL: it cannot be had.
 */
static struct rail_memory *memory_by(struct rail_recv *recv, const struct mca_ptl_base_peer_t *peer)
{
    const struct rail_module *module = peer->module;
    if (!module->gets || !recv->contiguous) {
        return NULL;
    }
    struct rail_memory *memory = rail_memory_find(&recv->memories, module);
    if (!memory && !rail_in_pieces(module, recv->total) &&
        (memory = rail_memory_by(&recv->memories, module))) {
        rail_say_to(recv->proc, peer->module, peer->endpoint,
                    &(struct rail_header){.type = RAIL_WANT,
                                          .id = recv->send_id,
                                          .bytes = module->number,
                                          .own_id = recv->id});
    }
    return memory && memory->state != RAIL_MEMORY_NONE ? memory : NULL;
}

/* A long message is asked for on every rail when it is matched, so that none has to wait for the
 * answer when its turn comes. */
static void ask_on_all(struct rail_recv *recv)
{
    for (size_t i = 0; recv->proc && rail.count > 1 && i < rail.count; i++) {
        const struct rail_module *module = rail.modules[i];
        const struct mca_ptl_base_peer_t *peer =
            roster_find(module->roster, &recv->proc->proc_name);
        if (peer && peer->reached && recv->total >= 4 * module->super.super.ptl_min_frag_size) {
            (void) memory_by(recv, peer);
        }
    }
}

/* The PML is to fetch what is behind the first bytes. False: no memory. */
static bool begin_fetch(struct rail_module *module, const struct rail_frag *frag,
                        mca_ptl_base_recv_request_t *request)
{
    struct rail_recv *recv = recv_create(module, frag, request);
    if (!recv) {
        return false;
    }
    if (frag->header.flags & RAIL_FLAG_FETCH) {
        struct rail_memory *memory = rail_memory_by(&recv->memories, module);
        if (memory) { /* else the bytes are pulled */
            rail_memory_set(memory, &frag->header);
        }
    }
    ask_on_all(recv);
    request->req_fetch = true;
    request->req_peer_match.lval = frag->header.own_id;
    request->req_offset = frag->super.frag_base.frag_size;
    return true;
}

/* Of a message that is to be answered. False: no memory. */
static bool answer(struct rail_module *module, const struct rail_frag *frag,
                   mca_ptl_base_recv_request_t *request)
{
    if (frag->super.frag_base.frag_size < frag->header.bytes) {
        return begin_fetch(module, frag, request);
    }
    rail_say(module, frag->endpoint,
             &(struct rail_header){.type = RAIL_ACK, .id = frag->header.own_id});
    return true;
}

static void refuse(struct rail_module *module, const struct rail_frag *frag)
{
    if (frag->header.type == RAIL_RNDV) {
        rail_say(module, frag->endpoint,
                 &(struct rail_header){.type = RAIL_NACK, .id = frag->header.own_id});
    }
}

struct ompi_proc_t *rail_ptl_sender(struct keel_ptl_module_t *ptl,
                                    const mca_ptl_base_recv_frag_t *sent)
{
    const struct rail_frag *frag = container_of(sent, const struct rail_frag, super);
    return (struct ompi_proc_t *) (uintptr_t) btl_proc_of(rail_of(&ptl->super)->btl,
                                                          frag->endpoint);
}

void rail_ptl_matched(mca_ptl_base_module_t *ptl, mca_ptl_base_recv_frag_t *matched)
{
    struct rail_module *module = rail_of(ptl);
    struct rail_frag *frag = container_of(matched, struct rail_frag, super);
    mca_ptl_base_recv_request_t *request = matched->frag_request;
    size_t size = matched->frag_base.frag_size;
    if (frag->matched) {
        *frag->matched = true;
    }
    bool good = request && !frag->lost;
    if (good && frag->header.type != RAIL_MATCH) {
        good = answer(module, frag, request);
    }
    if (!good) {
        refuse(module, frag);
        frag_free(frag);
        if (request) {
            module->super.ptl_recv_failed(&module->super, request, 0, size,
                                          OPAL_ERR_OUT_OF_RESOURCE);
        }
        return;
    }
    size_t fitted = land(request, 0, matched->frag_base.frag_addr, size);
    frag_free(frag);
    ptl->ptl_recv_progress(ptl, request, size, fitted);
}

/* The bytes end with the call that brought them. */
static void keep(struct rail_frag *frag)
{
    mca_ptl_base_fragment_t *base = &frag->super.frag_base;
    size_t handle_size = frag->header.handle_size, size = handle_size + base->frag_size;
    uint8_t *to = frag->few;
    frag->matched = NULL;
    if (size > sizeof(frag->few)) {
        to = frag->kept = malloc(size);
    }
    if (!to) {
        frag->lost = true;
        return;
    }
    if (handle_size > 0) {
        memcpy(to, frag->header.handle, handle_size);
    }
    if (base->frag_size > 0) {
        memcpy(to + handle_size, base->frag_addr, base->frag_size);
    }
    frag->header.handle = to;
    base->frag_addr = to + handle_size;
}

/* NULL: no memory; its sender is given up. The caller fills in header and match header. */
static struct rail_frag *frag_new(struct rail_module *module,
                                  struct mca_btl_base_endpoint_t *endpoint, const void *bytes,
                                  size_t size)
{
    struct rail_frag *frag =
        fault_at("ptl.rail.message").action == FAULT_ERROR ? NULL : pool_get(&rail.frags);
    if (!frag) {
        rail_give_up(module, endpoint, rail_no_memory);
        return NULL;
    }
    mca_ptl_base_fragment_t *base = &frag->super.frag_base;
    frag->endpoint = endpoint;
    frag->lost = false;
    frag->kept = NULL;
    frag->super.frag_request = NULL;
    base->frag_owner = &module->super.super;
    base->frag_peer = NULL;
    base->frag_addr = (void *) (uintptr_t) bytes; /* only read */
    base->frag_size = size;
    base->frag_header.hdr_rndv.hdr_frag_length = size;
    return frag;
}

/* The PML is told. */
static void announce(struct rail_module *module, struct rail_frag *frag)
{
    mca_ptl_base_module_t *ptl = &module->super.super;
    mca_ptl_base_match_header_t *match = &frag->super.frag_base.frag_header.hdr_match;
    bool matched = false;
    frag->matched = &matched;
    match->hdr_dst = -1;
    (void) ptl->ptl_match(ptl, &frag->super, match);
    if (!matched) {
        keep(frag);
    }
}

/* Of a whole message that no receive took at once. */
static __attribute__((noinline)) void match_keep(struct rail_module *module,
                                                 struct mca_btl_base_endpoint_t *endpoint,
                                                 const mca_ptl_base_match_header_t *match,
                                                 const void *bytes)
{
    struct rail_frag *frag = frag_new(module, endpoint, bytes, match->hdr_msg_length);
    if (frag) {
        frag->header.type = RAIL_MATCH;
        frag->header.handle_size = 0;
        frag->super.frag_base.frag_header.hdr_match = *match;
        announce(module, frag);
    }
}

static inline bool is_message(const uint8_t *data, size_t size)
{
    return size >= RAIL_MATCH_BYTES && data[0] == rail_first_byte(RAIL_MATCH);
}

/* Of a whole message. False: its header makes no sense. */
static inline bool match_arrived(struct rail_module *module,
                                 struct mca_btl_base_endpoint_t *endpoint, const uint8_t *data,
                                 size_t size)
{
    struct keel_ptl_module_t *ptl = &module->super;
    const uint8_t *bytes = data + RAIL_MATCH_BYTES;
    mca_ptl_base_match_header_t match = {.hdr_common = {.hdr_type = RAIL_MATCH},
                                         .hdr_dst = -1,
                                         .hdr_msg_length = size - RAIL_MATCH_BYTES};
    if (data[1] != 0 || !rail_decode_match(&match, data)) {
        return false;
    }
    if (!ptl->ptl_matchi || !ptl->ptl_matchi(ptl, &match, bytes)) {
        match_keep(module, endpoint, &match, bytes);
    }
    return true;
}

static void rndv_arrived(struct rail_module *module, struct mca_btl_base_endpoint_t *endpoint,
                         const struct rail_header *header, const void *bytes, size_t size)
{
    struct rail_frag *frag = frag_new(module, endpoint, bytes, size);
    if (!frag) {
        return;
    }
    mca_ptl_base_rendezvous_header_t *rndv = &frag->super.frag_base.frag_header.hdr_rndv;
    frag->header = *header;
    rndv->hdr_match = header->match;
    rndv->hdr_match.hdr_common = (mca_ptl_base_common_header_t){RAIL_RNDV, MCA_PTL_FLAGS_ACK};
    rndv->hdr_match.hdr_msg_length = header->bytes;
    rndv->hdr_src_ptr.lval = header->own_id;
    announce(module, frag);
}

/* --- the rest --- */

/* Of a FRAG or LANDED header, whose bytes belong to a receive. */
static void rest_arrived(struct rail_module *module, struct rail_recv *recv,
                         const struct rail_header *header, const void *bytes)
{
    mca_ptl_base_module_t *ptl = &module->super.super;
    mca_ptl_base_recv_request_t *request = recv->request;
    size_t room = opal_convertor_get_packed_size(&request->req_convertor), fitted = 0;
    const uint64_t id = recv->id;
    const bool waits = !list_empty(&recv->turns);
    if (header->type == RAIL_FRAG) {
        fitted = land(request, header->offset, bytes, header->bytes);
    } else if (header->offset < room) {
        fitted = least(header->bytes, room - header->offset);
    }
    recv->pulled -= header->bytes;
    rail_grants_came(&recv->grants, header->offset, header->bytes);
    ptl->ptl_recv_progress(ptl, request, header->bytes, fitted);
    if (waits && ids_find(&rail.recvs, id) == recv) {
        rail_pull_more(recv);
    }
}

/* A get failed although its rail works: its bytes are pulled, and so is what is left. */
static void get_no_more(struct rail_recv *recv, struct rail_module *module,
                        struct mca_btl_base_endpoint_t *endpoint, size_t offset, size_t size)
{
    rail_memory_find(&recv->memories, module)->state = RAIL_MEMORY_NONE;
    rail_pull(recv, module, endpoint, offset, size);
}

static void got(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, void *local,
                mca_btl_base_registration_handle_t *handle, void *context, void *cbdata, int status)
{
    (void) btl, (void) handle, (void) context;
    struct rail_op *op = cbdata;
    struct rail_recv *recv = op->owner;
    struct rail_module *module = op->module;
    struct keel_ptl_module_t *ptl = &module->super;
    size_t offset = op->offset, size = op->size, fitted = size;
    if (recv && status == OPAL_SUCCESS && local == op->bounce) {
        fitted = land(recv->request, offset, op->bounce, size);
    }
    (void) rail_op_end(op);
    if (!recv) {
        return;
    }
    const opal_proc_t *proc = recv->proc;
    if (status == OPAL_SUCCESS) {
        ptl->super.ptl_recv_progress(&ptl->super, recv->request, size, fitted);
    } else if (status == OPAL_ERR_UNREACH || btl_is_shortage(status)) {
        ptl->ptl_recv_failed(ptl, recv->request, offset, size,
                             status == OPAL_ERR_UNREACH ? status : OPAL_ERR_TEMP_OUT_OF_RESOURCE);
    } else {
        get_no_more(recv, module, endpoint, offset, size);
    }
    rail_op_is_over(proc);
}

/* An error: nothing happened, and the op is as it was. */
static int issue(struct rail_op *op, struct rail_memory *memory)
{
    mca_btl_base_module_t *btl = op->module->btl;
    op->awaits = NULL;
    int status =
        btl->btl_get(btl, op->endpoint, op->local, memory->address + op->offset, NULL,
                     rail_memory_handle(memory), op->size, 0, MCA_BTL_NO_ORDER, got, NULL, op);
    if (status == 1) {
        got(btl, op->endpoint, op->local, NULL, NULL, op, OPAL_SUCCESS);
    }
    return status < 0 ? status : OPAL_SUCCESS;
}

static int get(struct mca_ptl_base_peer_t *peer, struct rail_recv *recv, struct rail_memory *memory,
               size_t offset, size_t size)
{
    struct rail_module *module = peer->module;
    mca_ptl_base_recv_request_t *request = recv->request;
    opal_convertor_t to = request->req_convertor;
    size_t place = offset, together = least(size, module->btl->btl_get_limit);
    opal_convertor_set_position(&to, &place);
    size = together;
    void *local =
        opal_convertor_need_buffers(&to, size) ? NULL : opal_convertor_current(&to, &together);
    if (!local) {
        size = least(size, module->frag_size);
    }
    struct rail_op *op = rail_op_create(recv, &recv->ops, peer, local, offset, size);
    if (!op) {
        return rail_want_room(peer, OPAL_ERR_OUT_OF_RESOURCE);
    }
    request->req_offset += size;
    if (memory->state == RAIL_MEMORY_ASKED) {
        op->awaits = memory;
        return OPAL_SUCCESS;
    }
    int status = issue(op, memory);
    if (btl_is_shortage(status) || status == OPAL_ERR_UNREACH) {
        request->req_offset -= size;
        (void) rail_op_end(op);
        return rail_want_room(peer, status);
    }
    if (status != OPAL_SUCCESS) {
        got(module->btl, peer->endpoint, op->local, NULL, NULL, op, status);
    }
    return OPAL_SUCCESS;
}

int rail_ptl_get(mca_ptl_base_module_t *ptl, struct mca_ptl_base_peer_t *peer,
                 mca_ptl_base_recv_request_t *request, size_t offset, size_t size, int flags)
{
    (void) ptl, (void) flags;
    struct rail_recv *recv = request->req_ptl;
    if (rail.disabled || !peer->reached) {
        return rail.disabled ? OPAL_ERR_NOT_AVAILABLE : OPAL_ERR_UNREACH;
    }
    if (!recv || size == 0 || offset > recv->total || size > recv->total - offset ||
        offset + size > opal_convertor_get_packed_size(&request->req_convertor)) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct rail_memory *memory = memory_by(recv, peer);
    if (memory) {
        int status = get(peer, recv, memory, offset, size);
        rail_op_is_over(peer->proc); /* it may have been refused */
        return status;
    }
    request->req_offset += size;
    rail_pull(recv, peer->module, peer->endpoint, offset, size);
    return OPAL_SUCCESS;
}

/* Of a receive's gets one that waits for this memory; NULL: none. */
static struct rail_op *waiting_for(const struct rail_recv *recv, const struct rail_memory *memory)
{
    struct rail_op *op;
    list_for_each (op, &recv->ops, struct rail_op, link) {
        if (op->awaits == memory) {
            return op;
        }
    }
    return NULL;
}

/* The answer to a WANT has come, or never will: what waits for it is fetched, or pulled. The last
 * of it may end the receive. */
static void issue_waiting(struct rail_recv *recv, struct rail_memory *memory)
{
    const uint64_t id = recv->id;
    struct rail_op *op;
    while (ids_find(&rail.recvs, id) == recv && (op = waiting_for(recv, memory))) {
        int status =
            memory->state == RAIL_MEMORY_THERE ? issue(op, memory) : OPAL_ERR_NOT_AVAILABLE;
        if (status != OPAL_SUCCESS) {
            op->awaits = NULL;
            got(op->module->btl, op->endpoint, op->local, NULL, NULL, op, status);
        }
    }
}

/* The answer to a WANT. */
static void memory_told(const struct rail_module *module,
                        const struct mca_btl_base_endpoint_t *endpoint,
                        const struct rail_header *header)
{
    struct rail_recv *recv = ids_find(&rail.recvs, header->id);
    bool is_its = recv && recv->proc == btl_proc_of(module->btl, endpoint);
    struct rail_memory *memory =
        is_its ? rail_memory_find(&recv->memories, rail.modules[header->own_id]) : NULL;
    if (!memory || memory->state != RAIL_MEMORY_ASKED) {
        return;
    }
    memory->state = RAIL_MEMORY_NONE;
    if ((header->flags & RAIL_FLAG_FETCH) && header->bytes >= recv->total) {
        rail_memory_set(memory, header);
    }
    issue_waiting(recv, memory);
}

/* Of one receive, which may end. */
static void lost_to(struct rail_recv *recv, struct rail_module *module)
{
    struct rail_memory *memory = rail_memory_find(&recv->memories, module);
    const uint64_t id = recv->id;
    if (memory && memory->state == RAIL_MEMORY_ASKED) {
        memory->state = RAIL_MEMORY_NONE;
        issue_waiting(recv, memory);
        if (ids_find(&rail.recvs, id) == recv) {
            rail_memory_end(memory); /* when the rail is back, it is asked for again */
        }
    }
    if (ids_find(&rail.recvs, id) == recv) {
        rail_pulls_lost(recv, module);
    }
}

void rail_memory_lost(struct rail_module *module, const opal_proc_t *proc)
{
    struct rail_recv *recv;
    list_for_each (recv, &rail.all_recvs, struct rail_recv, link) {
        if (recv->proc == proc) {
            lost_to(recv, module);
        }
    }
}

/* --- arrivals --- */

/* A handle is one of the module's peer's: of the size that they have. MEMORY names the module. */
static bool is_of(const struct rail_header *header, const mca_btl_base_module_t *btl)
{
    if (header->type == RAIL_MEMORY) {
        if (header->own_id >= rail.count) {
            return false;
        }
        btl = rail.modules[header->own_id]->btl;
    }
    size_t size = btl->btl_register_mem ? btl->btl_registration_handle_size : 0;
    return !rail_has_memory(header) || header->handle_size == size;
}

/* Headers that no bytes follow. False: it makes no sense. */
static bool told(struct rail_module *module, struct mca_btl_base_endpoint_t *endpoint,
                 const struct rail_header *header)
{
    switch (header->type) {
    case RAIL_WANT:
        rail_wanted(module, endpoint, header);
        return true;
    case RAIL_MEMORY:
        memory_told(module, endpoint, header);
        return true;
    case RAIL_PULL:
        return rail_pulled(module, endpoint, header);
    default:
        return rail_answered(module, endpoint, header);
    }
}

bool rail_take(struct rail_module *module, struct mca_btl_base_endpoint_t *endpoint,
               const uint8_t *data, size_t size)
{
    struct rail_header header;
    size_t taken;
    if (is_message(data, size)) {
        return match_arrived(module, endpoint, data, size);
    }
    if (rail_decode(&header, data, size, &taken) != OPAL_SUCCESS || !is_of(&header, module->btl)) {
        return false;
    }
    const uint8_t *bytes = data + taken;
    struct rail_recv *recv;
    size -= taken;
    switch (header.type) {
    case RAIL_RNDV:
        if (size > header.bytes || (size > 0 && (header.flags & RAIL_FLAG_FETCH))) {
            return false;
        }
        rndv_arrived(module, endpoint, &header, bytes, size);
        return true;
    case RAIL_FRAG:
    case RAIL_LANDED:
        if (size != (header.type == RAIL_FRAG ? header.bytes : 0)) {
            return false;
        }
        recv = recv_of(&header, module, endpoint);
        if (recv) { /* else it has ended */
            rest_arrived(module, recv, &header, bytes);
        }
        return true;
    default:
        return size == 0 && told(module, endpoint, &header);
    }
}

/* A message in several segments as one. NULL: no memory. */
static uint8_t *gather(const mca_btl_base_descriptor_t *descriptor, size_t *size)
{
    const mca_btl_base_segment_t *segments = descriptor->des_segments;
    *size = 0;
    for (size_t i = 0; i < descriptor->des_segment_count; i++) {
        *size += segments[i].seg_len;
    }
    uint8_t *data = malloc(*size + 1), *to = data;
    for (size_t i = 0; data && i < descriptor->des_segment_count; i++) {
        memcpy(to, segments[i].seg_addr.pval, segments[i].seg_len);
        to += segments[i].seg_len;
    }
    return data;
}

/* Its sender is of another version of Keel, or it makes no sense: what it said is lost. */
static void refuse_header(struct rail_module *module, struct mca_btl_base_endpoint_t *endpoint,
                          const uint8_t *data, size_t size)
{
    static char texts[16][80]; /* which stay */
    const unsigned version = size > 0 ? rail_version_of(data[0]) : RAIL_VERSION;
    if (!module || !endpoint) {
        if (!rail.warned) {
            rail.warned = true;
            log_warn(LOG_PTL, "rail: a message of %zu bytes was dropped: its sender is no peer",
                     size);
        }
    } else if (version != RAIL_VERSION) {
        snprintf(texts[version], sizeof(*texts),
                 "its messages by tag are of version %u, those of this process of version %d",
                 version, RAIL_VERSION);
        rail_give_up(module, endpoint, texts[version]);
    } else {
        rail_give_up(module, endpoint, "a header of its makes no sense");
    }
}

static bool is_numbered(const uint8_t *data, size_t size)
{
    return size > 0 && data[0] >= rail_first_byte(RAIL_NUMBERED) &&
           data[0] <= rail_first_byte(RAIL_LOST);
}

/* False: it makes no sense. */
static inline bool arrived(struct rail_module *module, struct mca_btl_base_endpoint_t *endpoint,
                           const uint8_t *data, size_t size)
{
    return (is_numbered(data, size) ? rail_link_arrived : rail_take)(module, endpoint, data, size);
}

/* What comes in several segments, or from nobody. */
static __attribute__((noinline)) void other_arrived(struct rail_module *module,
                                                    const mca_btl_base_descriptor_t *descriptor)
{
    struct mca_btl_base_endpoint_t *endpoint = descriptor->des_context;
    size_t size;
    uint8_t *gathered = gather(descriptor, &size);
    if (!gathered && module && endpoint) {
        rail_give_up(module, endpoint, rail_no_memory);
    } else if (!gathered || !module || !endpoint || !arrived(module, endpoint, gathered, size)) {
        refuse_header(module, endpoint, gathered, gathered ? size : 0);
    }
    free(gathered);
}

void rail_arrived(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                  mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) tag, (void) cbdata;
    struct rail_module *module = rail_module_over(btl);
    struct mca_btl_base_endpoint_t *endpoint = descriptor->des_context;
    const uint8_t *data = descriptor->des_segments->seg_addr.pval;
    const size_t size = descriptor->des_segments->seg_len;
    if (!module || !endpoint || descriptor->des_segment_count != 1) {
        other_arrived(module, descriptor);
    } else if (!(is_message(data, size) ? match_arrived(module, endpoint, data, size)
                                        : arrived(module, endpoint, data, size))) {
        refuse_header(module, endpoint, data, size);
    }
}
