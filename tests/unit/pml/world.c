#include <keel/ptl_ext.h>
#include <stdlib.h>
#include <string.h>
#include <tests/unit/pml/world.h>

struct world world;

/* A module; its PTL peers are the other ranks' places. */
struct mca_ptl_base_peer_t {
    int rank;
    bool wants_room;
};
struct rank_module {
    struct keel_ptl_module_t super;
    int rank, rail;
    struct mca_ptl_base_peer_t peers[WORLD_RANKS];
    bool added[WORLD_RANKS];
    size_t under_way;
    double free_at; /* when what it has to move has been moved, in rounds */
};

/* A send or receive that a module has to do with: packets name it by its number. */
struct entry {
    struct entry *next;
    uint64_t id;
    int rank, peer; /* whose it is, and the other side */
    mca_ptl_base_send_request_t *send;
    mca_ptl_base_recv_request_t *recv;
    size_t bytes;    /* send: to be reported */
    uint64_t sender; /* recv: the entry that is fetched from */
    size_t left;     /* recv: bytes to come */
    bool fetched;    /* recv */
};

struct packet {
    mca_ptl_base_recv_frag_t frag; /* first */
    mca_ptl_base_match_header_t header;
    struct packet *next;
    int type, rail, from, to;
    uint64_t id, own; /* entries of the receiver's and of the sender's */
    size_t offset;
    uint64_t due;
    bool fetch;
    char bytes[];
};

static struct rank_module *modules[WORLD_RAILS][WORLD_RANKS];
static struct packet *wire, *newest;
static struct entry *entries;
static uint64_t last_id, rounds;
int world_opening;

unsigned world_random(unsigned most)
{
    world.rules.seed = world.rules.seed * 1103515245u + 12345u;
    return (world.rules.seed >> 8) % most;
}

/* ---- entries ---- */

static struct entry *entry_new(int rank, int peer)
{
    struct entry *entry = calloc(1, sizeof(*entry));
    entry->id = ++last_id;
    entry->rank = rank;
    entry->peer = peer;
    entry->next = entries;
    return entries = entry;
}

static struct entry *entry_find(uint64_t id)
{
    struct entry *entry = entries;
    while (entry && entry->id != id) {
        entry = entry->next;
    }
    return entry;
}

static void entry_free(struct entry *entry)
{
    struct entry **at = &entries;
    while (*at != entry) {
        at = &(*at)->next;
    }
    *at = entry->next;
    free(entry);
}

static struct entry *entry_of_send(const mca_ptl_base_send_request_t *request)
{
    struct entry *entry = entries;
    while (entry && entry->send != request) {
        entry = entry->next;
    }
    return entry;
}

/* ---- packets ---- */

/* How many rounds from now the module has moved these bytes, too. */
static uint64_t moved_after(struct rank_module *module, size_t size)
{
    const double speed = (double) world.rules.speed[module->rail], now = (double) rounds;
    module->free_at = (module->free_at > now ? module->free_at : now) + (double) size / speed;
    return (uint64_t) (module->free_at - now);
}

static struct packet *packet_new(int rail, int type, int from, int to, size_t size)
{
    struct packet *packet = calloc(1, sizeof(*packet) + size);
    packet->type = type;
    packet->rail = rail;
    packet->from = from;
    packet->to = to;
    packet->due = rounds + (world.rules.delay > 0 ? world_random(world.rules.delay + 1) : 0);
    if (world.rules.speed[rail] > 0 && (type == WORLD_FRAG || type == WORLD_FETCHED)) {
        packet->due += moved_after(modules[rail][to], size);
    }
    packet->frag.frag_base.frag_owner = &modules[rail][to]->super.super;
    packet->frag.frag_base.frag_peer = &modules[rail][to]->peers[from];
    packet->frag.frag_base.frag_addr = packet->bytes;
    packet->frag.frag_base.frag_size = size;
    *(wire ? &newest->next : &wire) = packet;
    newest = packet;
    world.counts.packets++;
    modules[rail][from]->under_way++;
    return packet;
}

/* Off the wire. */
static void packet_off(struct packet *packet)
{
    struct packet **at = &wire, *before = NULL;
    while (*at != packet) {
        before = *at;
        at = &(*at)->next;
    }
    *at = packet->next;
    newest = newest == packet ? before : newest;
    modules[packet->rail][packet->from]->under_way--;
}

static size_t taken_of(size_t size)
{
    return world.rules.splits && size > 1 ? 1 + world_random((unsigned) size) : size;
}

static bool is_short(struct rank_module *module, struct mca_ptl_base_peer_t *peer)
{
    const struct world_rules *rules = &world.rules;
    if ((rules->room > 0 && module->under_way >= rules->room) ||
        (rules->refuses > 0 && world_random(100) < rules->refuses)) {
        peer->wants_room = true;
        world.counts.short_calls++;
        return true;
    }
    return false;
}

static void copy_out(const opal_convertor_t *convertor, size_t offset, void *to, size_t size)
{
    opal_convertor_t data = *convertor;
    opal_convertor_set_position(&data, &offset);
    opal_convertor_pack_bytes(&data, to, size);
}

static size_t copy_in(const opal_convertor_t *convertor, size_t offset, const void *from,
                      size_t size)
{
    opal_convertor_t data = *convertor;
    opal_convertor_set_position(&data, &offset);
    return opal_convertor_unpack_bytes(&data, from, size);
}

/* ---- the module's functions: sending ---- */

static struct rank_module *module_of(mca_ptl_base_module_t *ptl)
{
    return (struct rank_module *) (void *) ptl;
}

static void take(mca_ptl_base_send_request_t *request, size_t size)
{
    __atomic_fetch_add(&request->req_offset, size, __ATOMIC_RELAXED);
}

/* Reports now, or when the packet arrives. */
static void report(struct rank_module *module, mca_ptl_base_send_request_t *request, size_t bytes,
                   struct packet *packet)
{
    if (world.rules.late) {
        struct entry *entry = entry_new(module->rank, packet->to);
        entry->send = request;
        entry->bytes = bytes;
        packet->own = entry->id;
    } else {
        module->super.super.ptl_send_progress(&module->super.super, request, bytes);
    }
}

/* Whether a first fragment may go now. */
static int begin_send(struct rank_module *module, struct mca_ptl_base_peer_t *peer)
{
    if (world.dead[peer->rank]) {
        return OPAL_ERR_UNREACH;
    }
    if (world.inner) {
        void (*inner)(void) = world.inner;
        world.inner = NULL;
        inner();
    }
    if (world.send_status != OPAL_SUCCESS) {
        return world.send_status;
    }
    return is_short(module, peer) ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_SUCCESS;
}

static struct packet *first_packet(const struct rank_module *module,
                                   const struct mca_ptl_base_peer_t *peer,
                                   const mca_ptl_base_match_header_t *header, size_t size)
{
    struct packet *packet = packet_new(module->rail, WORLD_FIRST, module->rank, peer->rank, size);
    packet->header = *header;
    packet->header.hdr_dst = -1;
    packet->header.hdr_common.hdr_flags = 0;
    return packet;
}

/* Of a message in one piece. */
static void copy_some(const struct rank_module *module, const struct mca_ptl_base_peer_t *peer,
                      const struct packet *packet, size_t size)
{
    if (world.rules.copies && world_random(3) == 0) {
        struct packet *copy = first_packet(module, peer, &packet->header, size);
        memcpy(copy->bytes, packet->bytes, size);
    }
}

static int sendi(struct keel_ptl_module_t *ptl, struct mca_ptl_base_peer_t *peer,
                 const mca_ptl_base_match_header_t *header, const void *bytes)
{
    struct rank_module *module = module_of(&ptl->super);
    const size_t size = header->hdr_msg_length;
    if (size > ptl->super.ptl_first_frag_size) {
        abort();
    }
    int status = begin_send(module, peer);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    struct packet *packet = first_packet(module, peer, header, size);
    if (size > 0) {
        memcpy(packet->bytes, bytes, size);
    }
    copy_some(module, peer, packet, size);
    world.counts.sendis++;
    return OPAL_SUCCESS;
}

static int send_first(mca_ptl_base_module_t *ptl, struct mca_ptl_base_peer_t *peer,
                      mca_ptl_base_send_request_t *request, size_t offset, size_t size, int flags)
{
    struct rank_module *module = module_of(ptl);
    size_t length = request->req_header.hdr_msg_length;
    bool ack = flags & MCA_PTL_FLAGS_ACK;
    if (offset != 0 || size > ptl->ptl_first_frag_size || (!ack && size != length)) {
        abort();
    }
    int status = begin_send(module, peer);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (request->req_cached) {
        memset(request + 1, 0x5a, world.rules.cache_bytes);
        world.counts.cached++;
    }
    bool fetch = ack && (ptl->ptl_flags & MCA_PTL_GET) && length > size;
    size = ack && !fetch && size > 0 ? taken_of(size) : size;
    struct packet *packet = first_packet(module, peer, &request->req_header, size);
    packet->header.hdr_common.hdr_flags = (uint8_t) flags;
    packet->fetch = fetch;
    copy_out(&request->req_convertor, 0, packet->bytes, size);
    take(request, fetch ? length : size);
    if (ack) {
        struct entry *entry = entry_new(module->rank, peer->rank);
        entry->send = request;
        entry->bytes = fetch ? length : size;
        packet->own = entry->id;
        return OPAL_SUCCESS;
    }
    copy_some(module, peer, packet, size);
    report(module, request, size, packet);
    return OPAL_SUCCESS;
}

static int put(mca_ptl_base_module_t *ptl, struct mca_ptl_base_peer_t *peer,
               mca_ptl_base_send_request_t *request, size_t offset, size_t size, int flags)
{
    struct rank_module *module = module_of(ptl);
    (void) flags;
    if (size == 0 || size > ptl->ptl_max_frag_size || offset != request->req_offset ||
        offset + size > request->req_header.hdr_msg_length) {
        abort();
    }
    if (world.dead[peer->rank]) {
        return OPAL_ERR_UNREACH;
    }
    if (world.put_status != OPAL_SUCCESS || is_short(module, peer)) {
        return world.put_status != OPAL_SUCCESS ? world.put_status : OPAL_ERR_OUT_OF_RESOURCE;
    }
    size = taken_of(size);
    struct packet *packet = packet_new(module->rail, WORLD_FRAG, module->rank, peer->rank, size);
    packet->id = request->req_peer_match.lval;
    packet->offset = offset;
    copy_out(&request->req_convertor, offset, packet->bytes, size);
    take(request, size);
    report(module, request, size, packet);
    return OPAL_SUCCESS;
}

static void send_end(struct keel_ptl_module_t *ptl, mca_ptl_base_send_request_t *request)
{
    struct entry *entry;
    (void) ptl;
    while ((entry = entry_of_send(request))) {
        entry_free(entry);
    }
}

/* ---- receiving ---- */

static int get(mca_ptl_base_module_t *ptl, struct mca_ptl_base_peer_t *peer,
               mca_ptl_base_recv_request_t *request, size_t offset, size_t size, int flags)
{
    struct rank_module *module = module_of(ptl);
    struct entry *entry = request->req_ptl;
    (void) flags;
    if (size == 0 || size > ptl->ptl_max_frag_size || !entry || entry->peer != peer->rank) {
        abort();
    }
    if (world.dead[peer->rank]) {
        return OPAL_ERR_UNREACH;
    }
    if (world.put_status != OPAL_SUCCESS || is_short(module, peer)) {
        return world.put_status != OPAL_SUCCESS ? world.put_status : OPAL_ERR_OUT_OF_RESOURCE;
    }
    size = taken_of(size);
    __atomic_fetch_add(&request->req_offset, size, __ATOMIC_RELAXED);
    struct packet *packet =
        packet_new(module->rail, WORLD_FETCHED, module->rank, module->rank, size);
    packet->id = entry->id;
    packet->own = entry->sender;
    packet->offset = offset;
    return OPAL_SUCCESS;
}

static void matched(mca_ptl_base_module_t *ptl, mca_ptl_base_recv_frag_t *frag)
{
    struct rank_module *module = module_of(ptl);
    struct packet *packet = (struct packet *) (void *) frag;
    mca_ptl_base_recv_request_t *request = frag->frag_request;
    bool ack = packet->header.hdr_common.hdr_flags & MCA_PTL_FLAGS_ACK;
    size_t size = frag->frag_base.frag_size, length = packet->header.hdr_msg_length;
    world.waiting--;
    if (ack && !packet->fetch) {
        struct packet *answer = packet_new(module->rail, request ? WORLD_ACK : WORLD_NACK,
                                           module->rank, packet->from, 0);
        answer->id = packet->own;
        if (request && length > size) {
            struct entry *entry = entry_new(module->rank, packet->from);
            entry->recv = request;
            entry->left = length - size;
            answer->own = entry->id;
            request->req_ptl = entry;
        }
    } else if (packet->fetch && request) {
        struct entry *entry = entry_new(module->rank, packet->from);
        entry->recv = request;
        entry->sender = packet->own;
        entry->fetched = true;
        entry->left = length - size;
        request->req_ptl = entry;
        request->req_fetch = true;
        request->req_offset = size;
    } else if (packet->fetch) {
        packet_new(module->rail, WORLD_NACK, module->rank, packet->from, 0)->id = packet->own;
    }
    if (request) {
        size_t fitted = copy_in(&request->req_convertor, 0, packet->bytes, size);
        ptl->ptl_recv_progress(ptl, request, size, fitted);
    }
    free(packet);
}

static struct ompi_proc_t *sender(struct keel_ptl_module_t *ptl,
                                  const mca_ptl_base_recv_frag_t *frag)
{
    (void) ptl;
    return (struct ompi_proc_t *) &world.procs[frag->frag_base.frag_peer->rank];
}

static void recv_end(struct keel_ptl_module_t *ptl, mca_ptl_base_recv_request_t *request,
                     int status)
{
    struct entry *entry = request->req_ptl;
    const struct rank_module *module = module_of(&ptl->super);
    (void) status;
    if (entry->fetched && !world.dead[entry->peer]) {
        packet_new(module->rail, WORLD_FIN, entry->rank, entry->peer, 0)->id = entry->sender;
    }
    request->req_ptl = NULL;
    entry_free(entry);
}

/* ---- delivery ---- */

static void land(struct rank_module *module, struct packet *packet)
{
    mca_ptl_base_module_t *ptl = &module->super.super;
    struct entry *entry = entry_find(packet->id);
    size_t size = packet->frag.frag_base.frag_size;
    if (!entry || !entry->recv) {
        return; /* it has ended */
    }
    mca_ptl_base_recv_request_t *request = entry->recv;
    if (packet->type == WORLD_FETCHED) {
        struct entry *sender = entry_find(packet->own);
        if (!sender) {
            module->super.ptl_recv_failed(&module->super, request, packet->offset, size,
                                          OPAL_ERR_NOT_FOUND);
            return;
        }
        if (world.broken == module->rail + 1) {
            module->super.ptl_recv_failed(&module->super, request, packet->offset, size,
                                          OPAL_ERROR);
            return;
        }
        copy_out(&sender->send->req_convertor, packet->offset, packet->bytes, size);
    }
    size_t fitted = copy_in(&request->req_convertor, packet->offset, packet->bytes, size);
    world.counts.moved[module->rail] += size;
    entry->left -= size;
    if (entry->left == 0 && !(world.rules.flags & MCA_PTL_FLAGS_EXTENDED)) {
        request->req_ptl = NULL;
        entry_free(entry);
    }
    ptl->ptl_recv_progress(ptl, request, size, fitted);
}

static void reported(struct rank_module *module, uint64_t id, const struct packet *ack)
{
    struct entry *entry = entry_find(id);
    if (!entry || !entry->send) {
        return;
    }
    mca_ptl_base_send_request_t *request = entry->send;
    size_t bytes = entry->bytes;
    entry_free(entry);
    if (ack && ack->type == WORLD_NACK) {
        if (world.rules.flags & MCA_PTL_FLAGS_EXTENDED) {
            module->super.ptl_send_failed(&module->super, request, OPAL_ERR_NOT_FOUND);
        }
        return;
    }
    if (ack) {
        request->req_peer_match.lval = ack->own;
    }
    module->super.super.ptl_send_progress(&module->super.super, request, bytes);
}

/* A receive took it at once. */
static bool taken_at_once(struct rank_module *module, const struct packet *packet)
{
    const bool tried =
        module->super.ptl_sendi && !(packet->header.hdr_common.hdr_flags & MCA_PTL_FLAGS_ACK);
    bool taken = tried && module->super.ptl_matchi(&module->super, &packet->header, packet->bytes);
    world.counts.matchis += taken;
    return taken;
}

static void deliver(struct packet *packet)
{
    struct rank_module *module = modules[packet->rail][packet->to];
    struct rank_module *sender = modules[packet->rail][packet->from];
    uint64_t own = packet->own;
    packet_off(packet);
    if (world.dead[packet->to] || world.dead[packet->from]) {
        free(packet);
        return;
    }
    switch (packet->type) {
    case WORLD_FIRST:
        if (!(packet->header.hdr_common.hdr_flags & MCA_PTL_FLAGS_ACK)) {
            reported(sender, own, NULL);
        }
        if (taken_at_once(module, packet)) {
            break;
        }
        world.waiting++;
        if (world.waiting > world.counts.waiting_most) {
            world.counts.waiting_most = world.waiting;
        }
        module->super.super.ptl_match(&module->super.super, &packet->frag, &packet->header);
        return;
    case WORLD_FRAG:
        land(module, packet);
        reported(sender, own, NULL);
        break;
    case WORLD_FETCHED:
        land(module, packet);
        break;
    default:
        reported(module, packet->id, packet);
    }
    free(packet);
}

static bool may_arrive(const struct packet *packet)
{
    bool held =
        world.holds && packet->type == WORLD_FIRST && packet->header.hdr_tag == world.held_tag;
    return packet->due <= rounds && packet->type != world.stuck && !held;
}

static struct packet *next_packet(void)
{
    struct packet *chosen = NULL;
    unsigned count = 0;
    for (struct packet *packet = wire; packet && (!chosen || world.rules.reorders);
         packet = packet->next) {
        if (may_arrive(packet)) {
            count++;
            chosen =
                !chosen || (world.rules.reorders && world_random(count) == 0) ? packet : chosen;
        }
    }
    return chosen;
}

static int rails_of_rank(void)
{
    return world.rules.rails > 0 ? world.rules.rails : 1;
}

static void tell_of_room(void)
{
    for (int i = 0; i < world.rules.ranks * rails_of_rank(); i++) {
        struct rank_module *module = modules[i / world.rules.ranks][i % world.rules.ranks];
        for (int peer = 0; peer < world.rules.ranks; peer++) {
            if (module->peers[peer].wants_room &&
                (world.rules.room == 0 || module->under_way < world.rules.room)) {
                module->peers[peer].wants_room = false;
                if (world.rules.flags & MCA_PTL_FLAGS_EXTENDED) {
                    module->super.ptl_peer_ready(&module->super, &module->peers[peer]);
                }
            }
        }
    }
}

static int progress(mca_ptl_tstamp_t tstamp)
{
    struct packet *packet;
    (void) tstamp;
    rounds++;
    if (world.doom > 0 && --world.doom == 0) {
        world_kill(world.doomed);
    }
    while (!world.halted && (packet = next_packet())) {
        deliver(packet);
    }
    tell_of_room();
    return OPAL_SUCCESS;
}

/* ---- peers that end ---- */

static void fail_entries(int rank)
{
    struct entry *entry = entries;
    while (entry) {
        struct rank_module *module = modules[0][entry->rank];
        if (entry->peer != rank || entry->rank == rank || (entry->recv && !entry->fetched)) {
            entry = entry->next;
        } else if (entry->send) {
            mca_ptl_base_send_request_t *request = entry->send;
            send_end(&module->super, request);
            module->super.ptl_send_failed(&module->super, request, OPAL_ERR_UNREACH);
            entry = entries;
        } else {
            module->super.ptl_recv_failed(&module->super, entry->recv, 0, 1, OPAL_ERR_UNREACH);
            entry = entries;
        }
    }
}

void world_kill(int rank)
{
    world.dead[rank] = true;
    for (struct packet *packet = wire, *next; packet; packet = next) {
        next = packet->next;
        if (packet->from == rank || packet->to == rank) {
            packet_off(packet);
            free(packet);
        }
    }
    fail_entries(rank);
    world_disturb(rank);
}

void world_flap(int rank)
{
    world_kill(rank);
    world.dead[rank] = false;
}

void world_disturb(int rank)
{
    for (int i = 0; i < world.rules.ranks; i++) {
        for (int rail = 0; rail < rails_of_rank() && i != rank && !world.dead[i]; rail++) {
            struct keel_ptl_module_t *ptl = &modules[rail][i]->super;
            ptl->ptl_peer_changed(ptl, (struct ompi_proc_t *) &world.procs[rank]);
        }
    }
}

/* ---- the component ---- */

static int add_procs(mca_ptl_base_module_t *ptl, size_t nprocs, struct ompi_proc_t **procs,
                     struct mca_ptl_base_peer_t **peers, struct ompi_bitmap_t *reachable)
{
    struct rank_module *module = module_of(ptl);
    for (size_t i = 0; i < nprocs; i++) {
        int rank = (int) procs[i]->super.proc_name.vpid;
        if (rank < world.rules.ranks && !world.dead[rank] && world.unplugged != module->rail + 1) {
            peers[i] = &module->peers[rank];
            module->added[rank] = true;
            opal_bitmap_set_bit(&reachable->super, (int) i);
        }
    }
    return OPAL_SUCCESS;
}

static int del_procs(mca_ptl_base_module_t *ptl, size_t nprocs, struct ompi_proc_t **procs,
                     struct mca_ptl_base_peer_t **peers)
{
    struct rank_module *module = module_of(ptl);
    for (size_t i = 0; i < nprocs; i++) {
        int rank = (int) procs[i]->super.proc_name.vpid;
        if (!module->added[rank] || peers[i] != &module->peers[rank]) {
            abort();
        }
        module->added[rank] = false;
    }
    return OPAL_SUCCESS;
}

static int request_init(mca_ptl_base_module_t *ptl, mca_ptl_base_send_request_t *request)
{
    (void) ptl;
    memset(request + 1, 0, world.rules.cache_bytes);
    world.counts.kept++;
    return OPAL_SUCCESS;
}

static void request_fini(mca_ptl_base_module_t *ptl, mca_ptl_base_send_request_t *request)
{
    (void) ptl, (void) request;
    world.counts.kept--;
}

static int finalize(mca_ptl_base_module_t *ptl)
{
    struct rank_module *module = module_of(ptl);
    for (int i = 0; i < WORLD_RANKS; i++) {
        if (module->added[i]) {
            abort();
        }
    }
    free(module);
    return OPAL_SUCCESS;
}

static mca_ptl_base_module_t *module_create(int rail)
{
    const struct world_rules *rules = &world.rules;
    struct rank_module *module = modules[rail][world_opening] = calloc(1, sizeof(*module));
    module->rank = world_opening;
    module->rail = rail;
    for (int i = 0; i < WORLD_RANKS; i++) {
        module->peers[i].rank = i;
    }
    module->super.super = (mca_ptl_base_module_t){
        .ptl_component = &world_component,
        .ptl_cache_size = rules->cache_size,
        .ptl_cache_bytes = rules->cache_bytes,
        .ptl_first_frag_size = rules->first,
        .ptl_min_frag_size = rules->min,
        .ptl_max_frag_size = rules->max,
        .ptl_bandwidth = rules->claims,
        .ptl_flags = rules->flags,
        .ptl_add_procs = add_procs,
        .ptl_del_procs = del_procs,
        .ptl_finalize = finalize,
        .ptl_send = send_first,
        .ptl_put = put,
        .ptl_get = get,
        .ptl_matched = matched,
        .ptl_request_init = rules->cache_size > 0 ? request_init : NULL,
        .ptl_request_fini = rules->cache_size > 0 ? request_fini : NULL,
    };
    if (rules->flags & MCA_PTL_FLAGS_EXTENDED) {
        module->super.ptl_send_end = send_end;
        module->super.ptl_recv_end = recv_end;
        module->super.ptl_sender = sender;
        module->super.ptl_sendi = rules->immediate ? sendi : NULL;
    }
    return &module->super.super;
}

static mca_ptl_base_module_t **init(int *num_ptls, bool progress_threads, bool threads)
{
    mca_ptl_base_module_t **made = calloc(WORLD_RAILS, sizeof(mca_ptl_base_module_t *));
    (void) progress_threads, (void) threads;
    *num_ptls = rails_of_rank();
    for (int rail = 0; rail < *num_ptls; rail++) {
        made[rail] = module_create(rail);
    }
    return made;
}

mca_ptl_base_component_t world_component = {
    .ptlm_version = {MCA_PTL_BASE_VERSION_1_0_0, "world", 1, 0, 0, NULL, NULL, NULL, NULL},
    .ptlm_init = init,
    .ptlm_progress = progress,
};

uint64_t world_time(void)
{
    return rounds * WORLD_ROUND_NS;
}

void world_clear(void)
{
    while (wire) {
        struct packet *packet = wire;
        wire = packet->next;
        free(packet);
    }
    while (entries) {
        entry_free(entries);
    }
}
