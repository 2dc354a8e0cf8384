/* BTL modules: frames that arrive in order, and room for them. */
#include <stdlib.h>
#include <string.h>
#include <tests/unit/pml/sim/state.h>

/* What struct keel_btl_pending keeps for the module. */
struct waiting {
    struct list link;
    endpoint *end;
};

static struct waiting *waiting_of(struct keel_btl_pending *pending)
{
    return (struct waiting *) (void *) pending->keel;
}

static bool has_room(const endpoint *end)
{
    const struct sim_kind *kind = &sim.kinds[end->rail];
    return (!end->unconnected || kind->queues) && end->under_way < kind->room;
}

static bool waits(const struct waiting *waiting)
{
    return waiting->link.next && !list_empty(&waiting->link);
}

static int pending_add(mca_btl_base_module_t *btl, endpoint *end, struct keel_btl_pending *pending)
{
    const struct sim_module *module = container_of(btl, struct sim_module, super);
    struct waiting *waiting = waiting_of(pending);
    if (waits(waiting)) {
        return OPAL_EXISTS;
    }
    waiting->end = end;
    list_append(&sim.process[module->rank].pendings, &waiting->link);
    sim_poll_soon(module->rank, 5 * SIM_US);
    return OPAL_SUCCESS;
}

static int pending_remove(mca_btl_base_module_t *btl, struct keel_btl_pending *pending)
{
    struct waiting *waiting = waiting_of(pending);
    (void) btl;
    if (!waits(waiting)) {
        return OPAL_ERR_NOT_FOUND;
    }
    list_remove(&waiting->link);
    return OPAL_SUCCESS;
}

static void call(struct waiting *waiting, int status)
{
    struct keel_btl_pending *pending =
        container_of((void *) waiting, struct keel_btl_pending, keel);
    mca_btl_base_module_t *btl = sim.process[sim.current].btls[waiting->end->rail];
    list_remove(&waiting->link);
    pending->ready(btl, waiting->end, pending, status);
}

int sim_give_room(struct sim_process *process)
{
    struct list round;
    int called = 0;
    list_init(&round);
    list_splice(&round, &process->pendings);
    while (!list_empty(&round)) {
        struct waiting *waiting = container_of(round.next, struct waiting, link);
        if (has_room(waiting->end)) {
            call(waiting, OPAL_SUCCESS);
            called++;
        } else {
            list_remove(&waiting->link);
            list_append(&process->pendings, &waiting->link);
        }
    }
    return called;
}

void sim_end_pending(struct sim_process *process, const endpoint *ended)
{
    struct list calls;
    struct waiting *waiting;
    list_init(&calls);
    list_for_each (waiting, &process->pendings, struct waiting, link) {
        if (waiting->end == ended) {
            list_remove(&waiting->link);
            list_append(&calls, &waiting->link);
        }
    }
    while (!list_empty(&calls)) {
        call(container_of(calls.next, struct waiting, link), OPAL_ERR_UNREACH);
    }
}

/* ---- frames ---- */

static bool is_short(const endpoint *end)
{
    if (has_room(end) && !chance(sim.kinds[end->rail].refuses)) {
        return false;
    }
    sim.report->shortages++;
    return true;
}

/* When what is sent now comes to the other end. */
static uint64_t arrival_of(endpoint *end, size_t size)
{
    const struct sim_kind *kind = &sim.kinds[end->rail];
    uint64_t start = end->free_at > sim_now() ? end->free_at : sim_now();
    end->free_at = start + size * kind->ps_a_byte / 1000;
    uint64_t at = end->free_at + kind->latency_ns + below(kind->jitter_ns);
    end->last_at = at > end->last_at ? at : end->last_at + 1;
    return end->last_at;
}

/* Each numbered frame does, and CAME. */
static bool tells_what_has_come(const struct sim_frame *frame)
{
    return frame->size > 0 && (frame->bytes[0] & 0xf) >= RAIL_NUMBERED;
}

static int sendi(mca_btl_base_module_t *btl, endpoint *end, opal_convertor_t *convertor,
                 void *header, size_t header_size, size_t size, uint8_t order, uint32_t flags,
                 uint8_t channel, mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor)
{
    struct rail_part part;
    (void) order, (void) flags, (void) descriptor;
    if (header_size + size > btl->btl_max_send_size || channel != RAIL_CHANNEL || tag != RAIL_TAG) {
        sim_violated("a frame of %zu bytes on channel %d", header_size + size, channel);
        return OPAL_ERR_BAD_PARAM;
    }
    end->used = true;
    sim_connect(end);
    if (end->unconnected && rail_decode_number(&part, header, header_size) &&
        part.kind == RAIL_PART_NONE) {
        sim_check_word(end);
    }
    if (!end->up && !end->unconnected) {
        return OPAL_ERR_UNREACH;
    }
    if (is_short(end)) {
        return chance(50) ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_ERR_RESOURCE_BUSY;
    }
    struct sim_frame *frame = malloc(sizeof(*frame) + header_size + size);
    *frame = (struct sim_frame){.item.what = ON_FRAME,
                                .rail = end->rail,
                                .from = end->rank,
                                .to = end->peer,
                                .size = header_size + size};
    memcpy(frame->bytes, header, header_size);
    if (size > 0 &&
        opal_convertor_pack_bytes(convertor, frame->bytes + header_size, size) != size) {
        sim_violated("a frame of bytes that there are not");
    }
    if (tells_what_has_come(frame)) {
        sim.process[end->rank].owed_since[end->peer] = 0;
        sim.process[end->rank].owed_bytes[end->peer] = 0;
    }
    if (end->unconnected) {
        end->under_way++;
        list_append(&end->queue, &frame->item.link);
    } else {
        sim_frame_go(end, frame);
    }
    return OPAL_SUCCESS;
}

void sim_frame_go(endpoint *end, struct sim_frame *frame)
{
    end->under_way++;
    frame->session = end->session;
    sim_log("%d sends %zu bytes, %#x, over rail %d to %d", end->rank, frame->size, frame->bytes[0],
            end->rail, end->peer);
    later(arrival_of(end, frame->size) - sim_now(), ON_FRAME, end->peer, frame);
}

void sim_frames_drop(endpoint *end)
{
    for (struct list *item; (item = list_pop(&end->queue));) {
        free(container_of(item, struct sim_frame, item.link));
    }
}

bool sim_link_lets_in(const struct sim_link *link, bool down, uint64_t *wait)
{
    *wait = link->cut ? link->late[down] : 0;
    return !link->cut || sim_now() <= link->until[down];
}

bool sim_link_stalls(const struct sim_link *link, enum sim_occasion what, int who, void *with)
{
    if (link->stalled <= sim_now()) {
        return false;
    }
    later(link->stalled - sim_now(), what, who, with);
    return true;
}

void sim_frame_came(struct sim_frame *frame)
{
    const struct sim_link *link = sim_link_of(frame->rail, frame->from, frame->to);
    if (sim_link_stalls(link, ON_FRAME, frame->to, frame)) {
        return;
    }
    endpoint *sender = sim_end(frame->rail, frame->from, frame->to);
    endpoint *receiver = sim_end(frame->rail, frame->to, frame->from);
    uint64_t wait = 0;
    bool there = frame->session == link->session &&
                 (frame->is_late || sim_link_lets_in(link, frame->to < frame->from, &wait));
    if (there && wait > 0) {
        frame->is_late = true;
        sim.report->late += !sender->up;
        later(wait, ON_FRAME, frame->to, frame);
        return;
    }
    if (there && sender->up && sender->session == frame->session) {
        sender->under_way--;
    }
    if (!there || (!receiver->up && receiver->session == frame->session)) {
        free(frame);
        return;
    }
    sim_deliver(frame->to, &frame->item);
}

/* A numbered frame has come: until it is told so, its sender keeps a copy. */
static void note_owed(struct sim_process *process, const struct sim_frame *frame)
{
    if ((frame->bytes[0] & 0xf) != RAIL_NUMBERED) {
        return;
    }
    if (process->owed_since[frame->from] == 0) {
        process->owed_since[frame->from] = sim_now();
    }
    process->owed_bytes[frame->from] += frame->size;
}

static void measure_owed(const struct sim_process *process, int peer)
{
    const uint64_t bytes = process->owed_bytes[peer];
    sim.report->owed_bytes = bytes > sim.report->owed_bytes ? bytes : sim.report->owed_bytes;
}

/* In the receiver's poll. */
void sim_frame_taken(struct sim_frame *frame)
{
    struct sim_process *process = &sim.process[frame->to];
    endpoint *end = sim_end(frame->rail, frame->to, frame->from);
    if (end->session != frame->session &&
        frame->session == sim_link_of(frame->rail, frame->from, frame->to)->session) {
        sim_opened(end); /* the session begins with its first frame at the latest */
    }
    if (end->up && end->session == frame->session && process->receive) {
        sim_log("%d gets %zu bytes, %#x, over rail %d from %d", end->rank, frame->size,
                frame->bytes[0], end->rail, end->peer);
        end->used = true;
        const size_t cut = chance(10) && frame->size > 1 ? 1 + below(frame->size - 1) : frame->size;
        mca_btl_base_segment_t segments[2] = {
            {.seg_addr.pval = frame->bytes, .seg_len = cut},
            {.seg_addr.pval = frame->bytes + cut, .seg_len = frame->size - cut}};
        mca_btl_base_descriptor_t descriptor = {.des_segments = segments,
                                                .des_segment_count = cut < frame->size ? 2 : 1,
                                                .des_context = end};
        note_owed(process, frame);
        process->receive(process->btls[frame->rail], RAIL_TAG, &descriptor, NULL);
        measure_owed(process, frame->from);
    }
    free(frame);
}

/* ---- modules ---- */

static int channel_register(mca_btl_base_module_t *btl, uint8_t channel,
                            mca_btl_base_module_recv_cb_fn_t receive, void *cbdata)
{
    (void) channel, (void) cbdata;
    sim.process[container_of(btl, struct sim_module, super)->rank].receive = receive;
    return OPAL_SUCCESS;
}

static void endpoints_init(struct sim_module *module)
{
    for (int peer = 0; peer < sim.ranks; peer++) {
        endpoint *end = &module->endpoints[peer];
        const struct sim_link *link = sim_link_of(module->rail, module->rank, peer);
        *end =
            (endpoint){.notice.what = ON_NOTICE,
                       .open.what = ON_OPEN,
                       .look.what = ON_LOOK,
                       .rank = module->rank,
                       .peer = peer,
                       .rail = module->rail,
                       .up = peer != module->rank && link->session > 0,
                       .listed = peer != module->rank && (link->session > 0 || link->unconnected),
                       .unconnected = peer != module->rank && link->unconnected,
                       .session = link->session};
        list_init(&end->notice.link);
        list_init(&end->open.link);
        list_init(&end->look.link);
        list_init(&end->queue);
        list_init(&end->ops);
    }
}

struct sim_module *sim_module_create(int rank, int number)
{
    struct sim_module *module = calloc(1, sizeof(*module));
    module->rank = rank;
    module->rail = number;
    module->super = sim.kinds[number].model;
    const uint32_t pins = sim.options.pins ? KEEL_BTL_PINS : 0;
    module->ext = (struct keel_btl_ext){.flags = KEEL_BTL_REMOTE_COMPLETION | pins,
                                        .pending_add = pending_add,
                                        .pending_remove = pending_remove,
                                        .channel_register = channel_register,
                                        .channel_sendi = sendi};
    endpoints_init(module);
    sim_rdma_init(module);
    return module;
}

void sim_module_destroy(struct sim_module *module)
{
    sim_rdma_fini(module);
    for (int peer = 0; peer < sim.ranks; peer++) {
        sim_frames_drop(&module->endpoints[peer]);
    }
    free(module);
}
