#include <config.h>

#include <base/data/clock.h>
#include <btl/sm/module.h>
#include <stdlib.h>
#include <string.h>

mca_btl_base_registration_handle_t *sm_register_mem(mca_btl_base_module_t *btl,
                                                    struct mca_btl_base_endpoint_t *endpoint,
                                                    void *base, size_t size, uint32_t flags)
{
    struct sm_module *module = sm_of(btl);
    mca_btl_base_registration_handle_t *handle =
        region_add(module->regions, endpoint, base, size, flags);
    if (!handle) {
        return NULL;
    }
    const struct region_handle *flat = (const struct region_handle *) handle;
    if (sm_commit(module, SM_AREA_REGIONS, flat->index + 1) != ORTE_SUCCESS) {
        region_remove(module->regions, handle);
        return NULL;
    }
    bool any = !endpoint || endpoint == MCA_BTL_ENDPOINT_ANY;
    if (!any) {
        btl_peer_activate(&module->peers, &endpoint->life);
    }
    sm_region_publish(sm_segment_unit(module->segment, SM_AREA_REGIONS, flat->index), flat, flags,
                      any ? NULL : &endpoint->life.name);
    return handle;
}

int sm_deregister_mem(mca_btl_base_module_t *btl, mca_btl_base_registration_handle_t *handle)
{
    struct sm_module *module = sm_of(btl);
    if (!handle) {
        return OPAL_ERR_BAD_PARAM;
    }
    uint32_t index = ((const struct region_handle *) handle)->index;
    int status = region_remove(module->regions, handle);
    if (status == OPAL_SUCCESS) {
        sm_region_withdraw(sm_segment_unit(module->segment, SM_AREA_REGIONS, index));
    }
    return status;
}

/* Whether the peer's memory can be reached by single copy; found out on the first use. */
static bool cma_works(struct mca_btl_base_endpoint_t *endpoint)
{
    if (endpoint->cma == SM_CMA_UNTRIED) {
        bool works =
            sm_cma_probe(&endpoint->process, endpoint->peer->nonce_address, endpoint->card.nonce);
        endpoint->cma = works ? SM_CMA_WORKS : SM_CMA_OFF;
    }
    return endpoint->cma == SM_CMA_WORKS;
}

/* One put or get. */
struct access {
    struct mca_btl_base_endpoint_t *endpoint;
    bool put;
    enum sm_way way;
    uint64_t began_ns; /* 0: it is not measured */
    const struct rdma_call *call;
    struct region_handle handle; /* a copy of call's remote one, which may lie at any alignment */
};

static int check(struct sm_module *module, const struct access *access)
{
    struct sm_peer *peer = access->endpoint->peer;
    uint64_t offset = peer->layout.start[SM_AREA_REGIONS] +
                      (uint64_t) access->handle.index * sizeof(struct sm_region);
    const struct sm_region *region =
        sm_peer_span(peer, SM_AREA_REGIONS, offset, sizeof(struct sm_region));
    if (!region) {
        return OPAL_ERR_PERM;
    }
    return sm_region_check(region, &access->handle, &module->peers.me, access->call->remote_address,
                           access->call->size,
                           access->put ? MCA_BTL_REG_FLAG_REMOTE_WRITE
                                       : MCA_BTL_REG_FLAG_REMOTE_READ);
}

/* One that began at began_ns has ended well; 0: it is not measured. */
static void note_pace(struct mca_btl_base_endpoint_t *endpoint, enum sm_way way, bool put,
                      size_t size, uint64_t began_ns)
{
    if (endpoint->pace && began_ns > 0) {
        const struct sm_timed timed = {put, size, began_ns, clock_ns()};
        sm_pace_count(endpoint->pace, way, &timed);
    }
}

void sm_time_of_asked(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      bool put, bool shared, size_t size, uint64_t began_ns)
{
    (void) btl;
    note_pace(endpoint, shared ? SM_COPY : SM_ASK, put, size, began_ns);
}

/* Of the peer, or of single copy to it, when a copy ended with this status. */
static void note_end(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint, int status)
{
    if (status == ORTE_ERR_NOT_AVAILABLE) {
        endpoint->cma = SM_CMA_OFF;
    } else if (status == ORTE_ERR_UNREACH) {
        sm_endpoint_fail(module, endpoint, false, "it ended");
    }
}

/* Checks and copies. NOT_AVAILABLE: nothing happened, and single copy is over for this peer. */
static int copy(struct sm_module *module, const struct access *access)
{
    struct mca_btl_base_endpoint_t *endpoint = access->endpoint;
    const struct rdma_call *call = access->call;
    int status = check(module, access);
    if (status != OPAL_SUCCESS || call->size == 0) {
        return status;
    }
    status = sm_cma_copy(&endpoint->process, access->put, call->local_address, call->remote_address,
                         call->size);
    if (status == OPAL_SUCCESS) {
        module->counts.copies++;
        module->counts.copied_bytes += call->size;
        note_pace(endpoint, access->way, access->put, call->size, access->began_ns);
        return access->put ? status : check(module, access);
    }
    note_end(module, endpoint, status);
    return status;
}

static int single_copy(struct sm_module *module, const struct access *access)
{
    struct sm_op *op = pool_get(&module->ops);
    if (!op) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    int status = copy(module, access);
    if (status == ORTE_ERR_NOT_AVAILABLE || !access->call->cbfunc) {
        pool_put(&module->ops, op);
        if (status != ORTE_ERR_NOT_AVAILABLE) {
            rdma_am_lose(&access->endpoint->am, status);
        }
        return status == ORTE_ERR_NOT_AVAILABLE ? status : OPAL_SUCCESS;
    }
    *op = (struct sm_op){.endpoint = access->endpoint, .call = *access->call, .status = status};
    list_append(&module->done_ops, &op->link);
    return OPAL_SUCCESS;
}

int sm_copy_rest(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, bool put,
                 const struct rdma_call *rest)
{
    struct access access = {.endpoint = endpoint, .put = put, .call = rest};
    memcpy(&access.handle, rest->remote_handle, sizeof(access.handle));
    return copy(sm_of(btl), &access);
}

int sm_reach(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, bool put,
             void *here, uint64_t there, size_t size)
{
    if (!cma_works(endpoint)) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    int status = sm_cma_copy(&endpoint->process, !put, here, there, size);
    note_end(sm_of(btl), endpoint, status);
    return status;
}

static int ready(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    return endpoint->life.state == PEER_UP ? ORTE_SUCCESS : sm_endpoint_open(module, endpoint);
}

/* Which way is to be taken to a peer whose memory can be copied from here; measured from
 * SM_PACE_MIN bytes on. */
static void choose_way(const struct sm_module *module, struct access *access)
{
    struct mca_btl_base_endpoint_t *endpoint = access->endpoint;
    size_t size = access->call->size;
    if (module->params.patience_us == 0) {
        access->way = SM_COPY;
    } else if (size >= SM_PACE_MIN) {
        if (!endpoint->pace) {
            endpoint->pace = calloc(1, sizeof(*endpoint->pace));
        }
        access->way = endpoint->pace ? sm_pace_way(endpoint->pace, access->put, size) : SM_ASK;
    }
}

/* Whether an operation is copied from here. */
static bool is_mine(struct sm_module *module, struct access *access)
{
    if (!cma_works(access->endpoint)) {
        return false;
    }
    choose_way(module, access);
    return access->way == SM_COPY || !sm_helps(access->endpoint);
}

int sm_rdma(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
            const struct rdma_call *call, bool put)
{
    struct sm_module *module = sm_of(btl);
    int status = ready(module, endpoint);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    struct access access = {.endpoint = endpoint, .put = put, .call = call};
    const bool mine = is_mine(module, &access);
    if (mine && call->size >= SM_PACE_MIN && sm_shares(module, endpoint)) {
        status = rdma_am_share(module->am, &endpoint->am, call, put);
        module->counts.shared += status == OPAL_SUCCESS;
        return status;
    }
    if (mine) {
        access.began_ns = call->size >= SM_PACE_MIN ? clock_ns() : 0;
        memcpy(&access.handle, call->remote_handle, sizeof(access.handle));
        status = single_copy(module, &access);
        if (status != ORTE_ERR_NOT_AVAILABLE) {
            return status;
        }
    }
    status = put ? rdma_am_put(module->am, &endpoint->am, call)
                 : rdma_am_get(module->am, &endpoint->am, call);
    module->counts.by_target += status == OPAL_SUCCESS;
    return status;
}

/* By the target, whose memory it is: single copy is not atomic. */
int sm_atomic(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
              const struct atomic_call *call)
{
    int status = ready(sm_of(btl), endpoint);
    return status == OPAL_SUCCESS ? rdma_am_atomic(sm_of(btl)->am, &endpoint->am, call) : status;
}

static void op_complete(struct sm_module *module, struct sm_op *op)
{
    struct sm_op done = *op;
    pool_put(&module->ops, op);
    rdma_call_back(&done.call, &module->super, done.endpoint, done.status);
}

int sm_ops_complete(struct sm_module *module)
{
    int completed = 0;
    while (completed < SM_COMPLETE_MAX && !list_empty(&module->done_ops)) {
        op_complete(module, container_of(list_pop(&module->done_ops), struct sm_op, link));
        completed++;
    }
    return completed;
}

void sm_ops_flush(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    struct list mine;
    list_init(&mine);
    struct sm_op *op;
    list_for_each (op, &module->done_ops, struct sm_op, link) {
        if (op->endpoint == endpoint) {
            list_remove(&op->link);
            list_append(&mine, &op->link);
        }
    }
    for (struct list *link = list_pop(&mine); link; link = list_pop(&mine)) {
        op_complete(module, container_of(link, struct sm_op, link));
    }
}
