/* Puts, gets and the registrations that let them in. */
#include <stdlib.h>
#include <string.h>
#include <tests/unit/pml/sim/state.h>

/* What a peer gets of a registration. */
struct mca_btl_base_registration_handle_t {
    uint64_t base, size;
    uint64_t number; /* unlike for each that there ever was */
    uint32_t flags;
    int32_t rank;
};
typedef struct mca_btl_base_registration_handle_t key;

struct registration {
    key handle; /* first */
    struct list link;
    bool second; /* for puts, to memory that another rail's puts may go to */
    bool over;
};

/* A put or a get. */
struct sim_op {
    struct sim_item item; /* first */
    struct list link;     /* in its endpoint's ops, until it has called back */
    endpoint *end;
    bool is_put, told; /* told: it has called back with an error */
    bool on_way;       /* an event, or an inbox, has it */
    int status;
    char *local;
    uint64_t remote;
    key handle;
    mca_btl_base_rdma_completion_fn_t done;
    void *context, *cbdata;
    size_t size;
    char bytes[]; /* on their way */
};

static uint64_t last_number;

/* ---- registrations ---- */

/* Another rail's puts may go there. */
static bool is_open_elsewhere(const struct sim_module *module, const void *base)
{
    for (int i = 0; i < sim.rails; i++) {
        const struct sim_module *other = sim.process[module->rank].modules[i];
        const struct registration *each;
        list_for_each (each, &other->registrations, const struct registration, link) {
            if (other != module && each->handle.base == (uintptr_t) base &&
                (each->handle.flags & MCA_BTL_REG_FLAG_REMOTE_WRITE)) {
                return true;
            }
        }
    }
    return false;
}

static key *register_mem(mca_btl_base_module_t *btl, endpoint *end, void *base, size_t size,
                         uint32_t flags)
{
    struct sim_module *module = container_of(btl, struct sim_module, super);
    (void) end;
    if (chance(3)) {
        return NULL;
    }
    if (sim.options.pins && (btl->btl_flags & MCA_BTL_FLAGS_PUT) && size > SIM_PINNED) {
        sim_violated("rank %d: %zu bytes are registered at once", module->rank, size);
    }
    struct registration *made = malloc(sizeof(*made));
    made->over = false;
    made->second = (flags & MCA_BTL_REG_FLAG_REMOTE_WRITE) && is_open_elsewhere(module, base);
    made->handle = (key){.base = (uintptr_t) base,
                         .size = size,
                         .number = ++last_number,
                         .flags = flags,
                         .rank = module->rank};
    list_append(&module->registrations, &made->link);
    return &made->handle;
}

static const struct registration *find(const struct sim_module *module, const key *handle)
{
    const struct registration *each;
    list_for_each (each, &module->registrations, const struct registration, link) {
        if (each->handle.number == handle->number) {
            return each;
        }
    }
    return NULL;
}

static int deregister_mem(mca_btl_base_module_t *btl, key *handle)
{
    struct registration *made = (struct registration *) (void *) handle;
    if (!find(container_of(btl, struct sim_module, super), handle)) {
        sim_violated("what is not registered is deregistered");
        return OPAL_ERR_BAD_PARAM;
    }
    if (made->second && sim.options.sabotage == SIM_SECOND_OPEN) {
        made->over = true;
        return OPAL_SUCCESS;
    }
    list_remove(&made->link);
    free(made);
    return OPAL_SUCCESS;
}

/* Whether the target lets it in. */
static bool is_let_in(const struct sim_op *op)
{
    const endpoint *end = op->end;
    const uint32_t right =
        op->is_put ? MCA_BTL_REG_FLAG_REMOTE_WRITE : MCA_BTL_REG_FLAG_REMOTE_READ;
    if (!sim.kinds[end->rail].registers) {
        return true;
    }
    const key *handle = &op->handle;
    if (handle->rank != end->peer || !(handle->flags & right) || op->remote < handle->base ||
        op->size > handle->size || op->remote - handle->base > handle->size - op->size) {
        sim_violated("rank %d accesses what is not in a region of rank %d", end->rank, end->peer);
        return false;
    }
    if (!find(sim.process[end->peer].modules[end->rail], handle)) {
        sim.report->stale++;
        return op->is_put && sim.options.sabotage == SIM_LATE_RDMA;
    }
    return true;
}

/* ---- operations ---- */

void sim_op_free(void *op)
{
    free(op);
}

/* At the target. */
static int access(struct sim_op *op)
{
    void *there = (void *) (uintptr_t) op->remote; // NOLINT(performance-no-int-to-ptr)
    if (!is_let_in(op) || chance(sim.kinds[op->end->rail].denies)) {
        sim.report->denied++;
        return OPAL_ERR_PERM;
    }
    if (op->is_put) {
        memcpy(there, op->told ? op->bytes : op->local, op->size);
    } else {
        memcpy(op->bytes, there, op->size);
    }
    return OPAL_SUCCESS;
}

static void call_back(struct sim_op *op, int status)
{
    endpoint *end = op->end;
    list_remove(&op->link);
    if (op->is_put) {
        sim_program_read(end->rank, op->local);
    }
    sim.report->awaited +=
        roster_find(rail.given_up, &sim.process[end->peer].proc.proc_name) != NULL;
    op->done(sim.process[end->rank].btls[end->rail], end, op->local, NULL, op->context, op->cbdata,
             status);
}

/* At its initiator. */
static void complete(struct sim_op *op)
{
    if (op->status == OPAL_SUCCESS && !op->is_put) {
        memcpy(op->local, op->bytes, op->size);
        sim_program_landed(op->end->rank, op->local, op->size, -1);
    } else if (op->status == OPAL_SUCCESS) {
        sim_program_landed(op->end->peer, (void *) (uintptr_t) op->remote, op->size, // NOLINT
                           op->end->rail);
    }
    call_back(op, op->status);
}

static struct sim_link *link_of(const struct sim_op *op)
{
    return sim_link_of(op->end->rail, op->end->rank, op->end->peer);
}

/* It comes to the other end, of the target or back; else it is stuck until its initiator knows that
 * the rail is dead. */
static bool passes(struct sim_op *op, bool down)
{
    const struct sim_link *link = link_of(op);
    uint64_t wait;
    op->on_way =
        !op->told && link->session == op->end->session && sim_link_lets_in(link, down, &wait);
    return op->on_way;
}

void sim_op_access(void *arg)
{
    struct sim_op *op = arg;
    const endpoint *end = op->end;
    if (sim_link_stalls(link_of(op), ON_ACCESS, end->peer, op)) {
        return;
    }
    if (op->told) {
        sim.report->late++;
        if (sim.kinds[end->rail].registers) {
            (void) access(op);
        }
        free(op);
    } else if (passes(op, end->peer < end->rank)) {
        op->status = access(op);
        later(sim.kinds[end->rail].latency_ns + below(sim.kinds[end->rail].jitter_ns), ON_DONE,
              end->rank, op);
    }
}

void sim_op_done(void *arg)
{
    struct sim_op *op = arg;
    const endpoint *end = op->end;
    if (sim_link_stalls(link_of(op), ON_DONE, end->rank, op)) {
        return;
    }
    if (op->told) {
        free(op);
    } else if (passes(op, end->rank < end->peer)) {
        sim_deliver(end->rank, &op->item);
    }
}

/* In its initiator's poll. */
void sim_op_ended(struct sim_item *item)
{
    struct sim_op *op = container_of(item, struct sim_op, item);
    if (!op->told) {
        complete(op);
    }
    free(op);
}

/* What is not at its target may come later, as it is now; a get may have brought some bytes. */
static void stop(struct sim_op *op)
{
    op->told = true;
    if (op->is_put) {
        memcpy(op->bytes, op->local, op->size);
    } else {
        memset(op->local, 0x77, below(op->size + 1));
    }
}

static void fail(struct sim_op *op)
{
    const bool was_on_way = op->on_way;
    call_back(op, OPAL_ERR_UNREACH);
    if (was_on_way) {
        return; /* freed by who has it */
    }
    if (op->is_put && sim.kinds[op->end->rail].registers && chance(60)) {
        later(below(600 * SIM_US), ON_ACCESS, op->end->peer, op);
    } else {
        free(op);
    }
}

void sim_ops_fail(endpoint *end)
{
    struct list failed;
    struct sim_op *op;
    list_init(&failed);
    list_splice(&failed, &end->ops);
    list_for_each (op, &failed, struct sim_op, link) {
        stop(op);
    }
    while (!list_empty(&failed)) {
        fail(container_of(failed.next, struct sim_op, link));
    }
}

static int check_call(const mca_btl_base_module_t *btl, endpoint *end, const void *local,
                      const key *remote, size_t size, size_t limit)
{
    if (size == 0 || size > limit || !local || (btl->btl_register_mem && !remote)) {
        sim_violated("rank %d: a put or get of %zu bytes that cannot be", end->rank, size);
        return OPAL_ERR_BAD_PARAM;
    }
    sim_connect(end);
    if (!end->up && !end->unconnected) {
        return OPAL_ERR_UNREACH;
    }
    if (end->unconnected || chance(sim.kinds[end->rail].refuses)) {
        sim.report->shortages++;
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (chance(sim.kinds[end->rail].denies)) {
        sim.report->denied++;
        return OPAL_ERR_PERM;
    }
    return OPAL_SUCCESS;
}

/* 0, or 1: over, without a callback. */
static int start(struct sim_op *op)
{
    endpoint *end = op->end;
    const struct sim_kind *kind = &sim.kinds[end->rail];
    (op->is_put ? &sim.report->puts : &sim.report->gets)[0]++;
    list_append(&end->ops, &op->link);
    if (!link_of(op)->cut && chance(kind->at_once)) {
        op->status = access(op);
        if (op->status == OPAL_SUCCESS && chance(50)) {
            list_remove(&op->link);
            if (!op->is_put) {
                memcpy(op->local, op->bytes, op->size);
            }
            sim_program_landed(op->is_put ? end->peer : end->rank,
                               op->is_put ? (void *) (uintptr_t) op->remote : op->local, // NOLINT
                               op->size, op->is_put ? end->rail : -1);
            free(op);
            return 1;
        }
        complete(op);
        free(op);
        return OPAL_SUCCESS;
    }
    op->on_way = true;
    later(kind->latency_ns + below(kind->jitter_ns) + op->size * kind->ps_a_byte / 1000, ON_ACCESS,
          end->peer, op);
    return OPAL_SUCCESS;
}

static int begin(bool is_put, endpoint *end, void *local, uint64_t remote, const key *given,
                 size_t size, mca_btl_base_rdma_completion_fn_t done, void *context, void *cbdata)
{
    struct sim_op *op = malloc(sizeof(*op) + size);
    *op = (struct sim_op){.item.what = ON_DONE,
                          .end = end,
                          .is_put = is_put,
                          .local = local,
                          .remote = remote,
                          .done = done,
                          .context = context,
                          .cbdata = cbdata,
                          .size = size};
    if (given) {
        memcpy(&op->handle, given, sizeof(op->handle));
    }
    return start(op);
}

static int put(mca_btl_base_module_t *btl, endpoint *end, void *local, uint64_t remote,
               key *local_handle, key *remote_handle, size_t size, int flags, int order,
               mca_btl_base_rdma_completion_fn_t done, void *context, void *cbdata)
{
    (void) local_handle, (void) flags, (void) order;
    int status = check_call(btl, end, local, remote_handle, size, btl->btl_put_limit);
    return status != OPAL_SUCCESS
               ? status
               : begin(true, end, local, remote, remote_handle, size, done, context, cbdata);
}

static int get(mca_btl_base_module_t *btl, endpoint *end, void *local, uint64_t remote,
               key *local_handle, key *remote_handle, size_t size, int flags, int order,
               mca_btl_base_rdma_completion_fn_t done, void *context, void *cbdata)
{
    (void) local_handle, (void) flags, (void) order;
    int status = check_call(btl, end, local, remote_handle, size, btl->btl_get_limit);
    return status != OPAL_SUCCESS
               ? status
               : begin(false, end, local, remote, remote_handle, size, done, context, cbdata);
}

void sim_rdma_init(struct sim_module *module)
{
    mca_btl_base_module_t *btl = &module->super;
    list_init(&module->registrations);
    btl->btl_put = put;
    btl->btl_get = get;
    if (sim.kinds[module->rail].registers) {
        btl->btl_register_mem = register_mem;
        btl->btl_deregister_mem = deregister_mem;
        btl->btl_registration_handle_size = sizeof(key);
    }
}

void sim_rdma_fini(struct sim_module *module)
{
    for (struct list *link; (link = list_pop(&module->registrations));) {
        struct registration *left = container_of(link, struct registration, link);
        if (!left->over) {
            sim_violated("rank %d: a registration is left", module->rank);
        }
        free(left);
    }
}

bool sim_rdma_is_over(void)
{
    for (int i = 0; i < sim.ranks * sim.rails; i++) {
        const struct sim_module *module = sim.process[i % sim.ranks].modules[i / sim.ranks];
        for (int peer = 0; peer < sim.ranks; peer++) {
            if (!list_empty(&module->endpoints[peer].ops)) {
                return false;
            }
        }
    }
    return true;
}
