#include <config.h>

#include <base/settings/log.h>
#include <btl/sm/module.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_OPS 4096
/* Address space beside a peer's segment, for what the process allocates meanwhile. */
#define PEER_SPARE ((size_t) 4 << 20)
#define EAGER_CHUNK 16
#define MAX_SEND_CHUNK 4
/* Of a put or get that both sides copy, at a time: some microseconds. */
#define SHARE_BYTES ((size_t) 64 << 10)
/* Rare work is done once in this many passes. */
#define CHECK_PASSES 256
/* Between fragments, so that those of a power of two do not share their cache sets. */
#define FRAGMENT_GAP SM_LINE_BYTES

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

int sm_commit(struct sm_module *module, enum sm_area area, uint32_t count)
{
    int status = sm_segment_commit(module->segment, area, count);
    if (status != ORTE_SUCCESS && !module->warned) {
        module->warned = true;
        log_warn(LOG_BTL, "sm: there is no more shared memory (%s): what needs some waits",
                 strerror(errno));
    }
    return status;
}

/* Gives memory to the fragments that the pool of a class makes next. False: there is none. */
static bool class_grows(struct sm_module *module, int class)
{
    static const enum sm_area areas[DESC_SIZES] = {SM_AREA_SMALL, SM_AREA_LARGE};
    const struct desc_size *size = &module->descs.classes[class].size;
    size_t made = module->descs.classes[class].pool.total;
    size_t next = size->limit - made < size->per_chunk ? size->limit : made + size->per_chunk;
    return sm_commit(module, areas[class], (uint32_t) next) == ORTE_SUCCESS;
}

bool sm_fragment_ready(struct sm_module *module, size_t size)
{
    for (int class = 0; class < DESC_SIZES; class ++) {
        const struct desc_class *descs = &module->descs.classes[class];
        if (size > descs->size.payload) {
            continue;
        }
        if (descs->pool.free) {
            return true;
        }
        if (descs->pool.total < descs->size.limit) {
            return class_grows(module, class);
        }
    }
    return false;
}

static mca_btl_base_descriptor_t *sm_alloc(mca_btl_base_module_t *btl,
                                           struct mca_btl_base_endpoint_t *endpoint, uint8_t order,
                                           size_t size, uint32_t flags)
{
    (void) endpoint;
    struct sm_module *module = sm_of(btl);
    return sm_fragment_ready(module, size) ? desc_alloc(&module->descs, order, size, flags) : NULL;
}

static mca_btl_base_descriptor_t *sm_prepare_src(mca_btl_base_module_t *btl,
                                                 struct mca_btl_base_endpoint_t *endpoint,
                                                 opal_convertor_t *convertor, uint8_t order,
                                                 size_t reserve, size_t *size, uint32_t flags)
{
    (void) endpoint;
    struct sm_module *module = sm_of(btl);
    size_t most = btl->btl_max_send_size;
    if (reserve > most) {
        return NULL;
    }
    size_t wanted = opal_convertor_get_packed_size(convertor) - convertor->bytes_converted;
    wanted = wanted < *size ? wanted : *size;
    wanted = wanted < most - reserve ? wanted : most - reserve;
    return sm_fragment_ready(module, reserve + wanted)
               ? desc_prepare(&module->descs, convertor, order, reserve, size, flags, false)
               : NULL;
}

void sm_describe(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, char *text,
                 size_t size)
{
    static const char *const cma[] = {"untried", "works", "off"};
    const struct sm_module *module = sm_of(btl);
    if (endpoint) {
        snprintf(text, size,
                 "process %u, sent %llu slots of which %llu consumed, received %llu slots, "
                 "single copy %s",
                 endpoint->card.pid, (unsigned long long) endpoint->tx.ring.tail,
                 (unsigned long long) endpoint->tx.ring.consumed,
                 (unsigned long long) endpoint->rx.ring.head, cma[endpoint->cma]);
    } else {
        snprintf(text, size,
                 "%u rings to peers, %u read in every pass, %zu small and %zu large descriptors "
                 "in use",
                 module->rings_made - module->free_ring_count, module->hot_count,
                 module->descs.classes[0].pool.in_use, module->descs.classes[1].pool.in_use);
    }
}

int sm_module_progress(mca_btl_base_module_t *btl)
{
    struct sm_module *module = sm_of(btl);
    int events = sm_rx_progress(module);
    if (!list_empty(&module->waiting)) {
        sm_tx_collect(module);
    }
    if (!list_empty(&module->descs.done)) {
        events += desc_set_finish(&module->super, &module->descs, NULL);
    }
    if (!list_empty(&module->done_ops)) {
        events += sm_ops_complete(module);
    }
    if (rdma_am_active(module->am)) {
        events += rdma_am_progress(module->am);
    }
    if (rdma_am_shares(module->am)) {
        events += sm_help_work(module);
    }
    if (++module->passes % CHECK_PASSES == 0) {
        sm_endpoints_check(module);
    }
    if (!list_empty(&module->peers.failing)) { /* who connects is connected by whoever sends */
        events += btl_peers_progress(&module->peers);
    }
    return events;
}

static int sm_finalize(mca_btl_base_module_t *btl)
{
    struct sm_module *module = sm_of(btl);
    sm_endpoints_destroy(module);
    rdma_am_destroy(module->am);
    desc_set_fini(&module->descs);
    pool_fini(&module->ops);
    region_table_destroy(module->regions);
    sm_bell_close(&module->bell);
    sm_segment_destroy(module->segment);
    free(module->hot);
    free(module->cells);
    free(module->free_rings);
    btl_peers_fini(&module->peers);
    free(module);
    return OPAL_SUCCESS;
}

static void forget_rings(struct sm_module *module)
{
    module->rings_made = module->free_ring_count = 0;
    module->doorbell = 0;
    module->rescan = false;
    memset(module->cells, 0, module->params.max_peers * sizeof(*module->cells));
}

/* Another segment at the old address, another card, and endpoints as before their first use.
 * Handles stay good: the table of regions moves along. */
int sm_module_restart(mca_btl_base_module_t *btl)
{
    struct sm_module *module = sm_of(btl);
    const struct btl_host *host = btl_host();
    char reason[256];
    const opal_proc_t *me = host->ops->me(host->arg);
    sm_endpoints_restart(module);
    int status = sm_segment_renew(module->segment, module->params.backing,
                                  host->ops->session_dir(host->arg), reason, sizeof(reason));
    if (status != ORTE_SUCCESS) {
        log_warn(LOG_BTL, "sm: no other segment after a restart: %s", reason);
        return status;
    }
    sm_module_open_bell(module);
    forget_rings(module);
    module->node = me->node;
    module->local_rank = me->local_rank;
    module->peers.cards.life++;
    return sm_publish_card(module);
}

static int sm_ft_event(int state)
{
    return btl_component_ft_event(&btl_sm_component, state);
}

static const mca_btl_base_module_t module_template = {
    BTL_MODULE_TABLE,
    .btl_component = &btl_sm_component.component,
    .btl_latency = 1,
    .btl_bandwidth = 10000,
    .btl_flags = BTL_MODULE_FLAGS,
    .btl_finalize = sm_finalize,
    .btl_alloc = sm_alloc,
    .btl_prepare_src = sm_prepare_src,
    .btl_send = sm_send,
    .btl_sendi = sm_sendi,
    .btl_register_mem = sm_register_mem,
    .btl_deregister_mem = sm_deregister_mem,
    .btl_ft_event = sm_ft_event,
};

static struct sm_shape shape_of(const struct sm_params *params)
{
    return (struct sm_shape){
        .peers = params->max_peers,
        .ring_slots = params->ring_slots,
        .units = {[SM_AREA_RINGS] = params->max_peers,
                  [SM_AREA_SMALL] = (uint32_t) params->eager_count,
                  [SM_AREA_LARGE] = (uint32_t) params->max_send_count,
                  [SM_AREA_REGIONS] = params->max_regions},
        .unit_bytes = {[SM_AREA_RINGS] = (uint32_t) sm_ring_bytes(params->ring_slots),
                       [SM_AREA_SMALL] =
                           (uint32_t) (round_up(params->eager_limit, SM_LINE_BYTES) + FRAGMENT_GAP),
                       [SM_AREA_LARGE] =
                           (uint32_t) (round_up(params->max_send_size, SM_LINE_BYTES) +
                                       FRAGMENT_GAP),
                       [SM_AREA_REGIONS] = sizeof(struct sm_region)},
    };
}

static void set_limits(mca_btl_base_module_t *btl, const struct sm_params *params)
{
    *btl = module_template;
    btl->btl_eager_limit = params->eager_limit;
    btl->btl_rndv_eager_limit = params->max_send_size;
    btl->btl_max_send_size = params->max_send_size;
    btl->btl_rdma_pipeline_send_length = params->max_send_size;
    btl->btl_rdma_pipeline_frag_size = params->max_send_size;
    btl->btl_min_rdma_pipeline_size = SIZE_MAX; /* one put or get takes all */
}

static void descs_init(struct sm_module *module)
{
    const struct sm_params *params = &module->params;
    const uint32_t *bytes = module->segment->shape.unit_bytes;
    const struct desc_size sizes[DESC_SIZES] = {
        {.payload = params->eager_limit,
         .limit = params->eager_count,
         .per_chunk = EAGER_CHUNK,
         .slots = sm_segment_unit(module->segment, SM_AREA_SMALL, 0),
         .slot_size = bytes[SM_AREA_SMALL]},
        {.payload = params->max_send_size,
         .limit = params->max_send_count,
         .per_chunk = MAX_SEND_CHUNK,
         .slots = sm_segment_unit(module->segment, SM_AREA_LARGE, 0),
         .slot_size = bytes[SM_AREA_LARGE]},
    };
    desc_set_init(&module->descs, sizes, DESC_SIZES, 0);
}

static void lists_init(struct sm_module *module)
{
    list_init(&module->lingering);
    list_init(&module->waiting);
    list_init(&module->done_ops);
    list_init(&module->quiet);
}

/* The parts that stand on the segment. */
static int parts_create(struct sm_module *module)
{
    uint32_t peers = module->params.max_peers;
    module->regions = region_table_create(module->params.max_regions);
    module->hot = calloc(peers, sizeof(struct mca_btl_base_endpoint_t *));
    module->cells = calloc(peers, sizeof(struct mca_btl_base_endpoint_t *));
    module->free_rings = calloc(peers, sizeof(*module->free_rings));
    descs_init(module);
    struct rdma_am_config config = {
        .module = &module->super,
        .regions = module->regions,
        .max_ops = MAX_OPS,
        .send = sm_channel_send,
        .claim = sm_claims,
        .copy = sm_copy_rest,
        .reach = sm_reach,
        .share_bytes = SHARE_BYTES,
        .timed = sm_time_of_asked,
        .timed_bytes = SM_PACE_MIN,
    };
    if (!module->regions || !module->hot || !module->cells || !module->free_rings) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    return rdma_am_create(&module->am, &config);
}

/* What a process needs to send anything at all: without it another module has to take over, which
 * nobody can any more once the card is published. */
static int commit_first(struct sm_module *module, char *reason, size_t reason_size)
{
    const uint32_t *units = module->segment->shape.units;
    const uint32_t first[SM_AREAS] = {[SM_AREA_RINGS] = 1,
                                      [SM_AREA_SMALL] = EAGER_CHUNK,
                                      [SM_AREA_LARGE] = MAX_SEND_CHUNK,
                                      [SM_AREA_REGIONS] = 1};
    int status = ORTE_SUCCESS;
    for (int area = 0; area < SM_AREAS && status == ORTE_SUCCESS; area++) {
        uint32_t count = first[area] < units[area] ? first[area] : units[area];
        status = sm_segment_commit(module->segment, (enum sm_area) area, count);
    }
    if (status != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "no memory for a first ring, fragments and regions: %s",
                 strerror(errno));
    }
    return status;
}

/* Whether a peer's segment, as large as this one, could be mapped, with something left. Else this
 * process is to have no sm at all: a rail that fails on its first use costs the program a message,
 * and perhaps its patience. */
static int reserve_for_a_peer(const struct sm_module *module, char *reason, size_t reason_size)
{
    size_t size = module->segment->layout.size + PEER_SPARE;
    void *room = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) {
        snprintf(reason, reason_size, "no address space for a peer's segment of %zu bytes: %s",
                 module->segment->layout.size, strerror(errno));
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    munmap(room, size);
    return ORTE_SUCCESS;
}

void sm_module_open_bell(struct sm_module *module)
{
    sm_bell_close(&module->bell);
    int status = sm_bell_open(&module->bell, module->segment->alarm, module->params.bell);
    if (status != ORTE_SUCCESS) {
        log_info(LOG_BTL, "sm: no bell, so this process has to poll: %s", opal_strerror(status));
    }
}

int sm_module_create(struct sm_module **module, const struct sm_params *params, char *reason,
                     size_t reason_size)
{
    const struct btl_host *host = btl_host();
    const opal_proc_t *me = host->ops->me(host->arg);
    struct sm_module *made = calloc(1, sizeof(*made));
    if (!made) {
        snprintf(reason, reason_size, "out of memory");
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    set_limits(&made->super, params);
    made->params = *params;
    made->node = me->node;
    made->local_rank = me->local_rank;
    lists_init(made);
    pool_init(&made->ops, sizeof(struct sm_op), _Alignof(struct sm_op), 32, MAX_OPS, NULL, NULL);
    struct sm_shape shape = shape_of(params);
    snprintf(reason, reason_size, "out of memory");
    int status = btl_peers_init(&made->peers, &sm_peer_hooks, &made->super, "sm",
                                sizeof(struct mca_btl_base_endpoint_t));
    if (status == ORTE_SUCCESS) {
        status = sm_segment_create(&made->segment, &shape, params->backing, btl_session_dir(),
                                   reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        status = commit_first(made, reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        status = reserve_for_a_peer(made, reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        sm_module_open_bell(made);
        status = parts_create(made);
        if (status != ORTE_SUCCESS) {
            snprintf(reason, reason_size, "out of memory");
        }
    }
    if (status != ORTE_SUCCESS) {
        sm_finalize(&made->super);
        return status;
    }
    *module = made;
    return ORTE_SUCCESS;
}
