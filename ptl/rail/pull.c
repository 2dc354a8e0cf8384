/* What a receiver asks its sender for. The bytes of a long message come by a rail that pins memory
 * piece by piece: while one moves, the next one is registered, and each is no longer open when its
 * bytes have come. */
#include <config.h>

#include <base/data/least.h>
#include <ptl/rail/memory.h>
#include <stdlib.h>

/* Bytes that are asked for when what is registered before them has come. */
struct turn {
    struct list link; /* in its receive's turns */
    struct rail_module *module;
    struct mca_btl_base_endpoint_t *endpoint; /* the module's */
    size_t offset, size;
};

static void turn_end(struct turn *turn)
{
    list_remove(&turn->link);
    free(turn);
}

/* The bytes may come meanwhile. */
static void ask(struct rail_recv *recv, struct rail_module *module,
                struct mca_btl_base_endpoint_t *endpoint, struct rail_header *header)
{
    header->type = RAIL_PULL;
    header->id = recv->send_id;
    header->own_id = recv->id;
    recv->pulled += header->bytes;
    recv->quiet -= header->bytes;
    rail_say_to(recv->proc, module, endpoint, header);
}

/* Opens all of the buffer to the sender's puts, and names it. */
static void open_to_puts(struct rail_recv *recv, struct rail_module *module,
                         struct mca_btl_base_endpoint_t *endpoint, struct rail_header *header)
{
    const opal_convertor_t *to = &recv->request->req_convertor;
    void *memory = module->puts ? rail_memory_of(to) : NULL;
    if (memory && rail_grant(&recv->grants, module, endpoint, memory,
                             least(opal_convertor_get_packed_size(to), recv->total),
                             MCA_BTL_REG_FLAG_REMOTE_WRITE, header)) {
        header->flags |= RAIL_FLAG_PUT;
    }
}

/* A small piece where nothing is open yet, so that the first bytes move soon. 0: none now. */
static size_t piece_of(const struct rail_recv *recv, const struct turn *turn)
{
    const size_t most = rail.registered_most;
    const size_t open = rail_grants_open(&recv->grants, turn->module);
    const size_t size = least(turn->size, open > 0 ? most / 2 : most / 16);
    return open + size <= most ? size : 0;
}

/* Without a handle the rest comes in fragments. */
static void take_turn(struct rail_recv *recv, struct turn *turn, size_t size)
{
    struct rail_module *module = turn->module;
    struct mca_btl_base_endpoint_t *endpoint = turn->endpoint;
    struct rail_header header = {.offset = turn->offset, .bytes = turn->size};
    if (rail_grant_piece(&recv->grants, module, rail_memory_of(&recv->request->req_convertor),
                         turn->offset, size, &header)) {
        header.flags = RAIL_FLAG_PUT | RAIL_FLAG_PIECE;
        header.bytes = size;
    }
    turn->offset += header.bytes;
    turn->size -= header.bytes;
    if (turn->size == 0) {
        turn_end(turn);
    }
    ask(recv, module, endpoint, &header);
}

/* NULL: none, or it has to wait for what is open. */
static struct turn *next_turn(const struct rail_recv *recv, size_t *size)
{
    struct turn *turn;
    list_for_each (turn, &recv->turns, struct turn, link) {
        if ((*size = piece_of(recv, turn)) > 0) {
            return turn;
        }
    }
    return NULL;
}

void rail_pull_more(struct rail_recv *recv)
{
    const uint64_t id = recv->id;
    struct turn *turn;
    size_t size;
    while (ids_find(&rail.recvs, id) == recv && (turn = next_turn(recv, &size))) {
        take_turn(recv, turn, size);
    }
}

void rail_pull(struct rail_recv *recv, struct rail_module *module,
               struct mca_btl_base_endpoint_t *endpoint, size_t offset, size_t size)
{
    struct rail_header header = {.offset = offset, .bytes = size};
    const bool in_pieces =
        rail_in_pieces(module, recv->total) && rail_memory_of(&recv->request->req_convertor);
    struct turn *turn = in_pieces ? malloc(sizeof(*turn)) : NULL;
    if (turn) {
        *turn =
            (struct turn){.module = module, .endpoint = endpoint, .offset = offset, .size = size};
        list_append(&recv->turns, &turn->link);
        rail_pull_more(recv);
        return;
    }
    if (!in_pieces) {
        open_to_puts(recv, module, endpoint, &header);
    }
    ask(recv, module, endpoint, &header);
}

static struct turn *turn_of(const struct rail_recv *recv, const struct rail_module *module)
{
    struct turn *turn;
    list_for_each (turn, &recv->turns, struct turn, link) {
        if (turn->module == module) {
            return turn;
        }
    }
    return NULL;
}

void rail_pulls_lost(struct rail_recv *recv, struct rail_module *module)
{
    struct keel_ptl_module_t *ptl = &module->super;
    const uint64_t id = recv->id;
    struct turn *turn;
    while (ids_find(&rail.recvs, id) == recv && (turn = turn_of(recv, module))) {
        const size_t offset = turn->offset, size = turn->size;
        turn_end(turn);
        ptl->ptl_recv_failed(ptl, recv->request, offset, size, OPAL_ERR_UNREACH);
    }
}

void rail_pulls_end(struct rail_recv *recv)
{
    for (struct list *link; (link = list_pop(&recv->turns));) {
        free(container_of(link, struct turn, link));
    }
}
