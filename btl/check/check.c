/* The module itself: its life, its peers, what comes up. */
#include <config.h>

#include <base/log.h>
#include <btl/check/check.h>
#include <btl/desc.h>
#include <btl/framework.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 16 /* of the segments that callbacks get */

struct mca_btl_base_endpoint_t *check_endpoint_outer(struct check_endpoint *endpoint)
{
    return (struct mca_btl_base_endpoint_t *) (void *) endpoint;
}

bool check_endpoint_ok(struct check_call *call, struct mca_btl_base_endpoint_t *endpoint)
{
    call->endpoint = btl_map_get(&call->check->endpoints, endpoint);
    if (!call->endpoint) {
        check_report(call, CHECK_CALLER, "%p is no endpoint of this module", (void *) endpoint);
        return false;
    }
    if (call->endpoint->gone) {
        check_report(call, CHECK_CALLER, "the endpoint was given up by del_procs");
        return false;
    }
    return true;
}

struct check_endpoint *check_endpoint_face(const struct check_call *call,
                                           struct mca_btl_base_endpoint_t *inner)
{
    struct check_endpoint *found = btl_map_get(&call->check->inner_endpoints, inner);
    if (inner && !found) {
        check_report(call, CHECK_MODULE, "names an endpoint that its caller does not have");
    }
    return found;
}

void *check_bury(struct check_graves *graves, void *thing)
{
    size_t at = graves->next++ % CHECK_GRAVES;
    void *older = graves->graves[at];
    graves->graves[at] = thing;
    return older;
}

void check_end(struct check_graves *graves, struct btl_map *map, void *thing)
{
    void *older = check_bury(graves, thing);
    if (older) {
        btl_map_remove(map, older);
        free(older);
    }
}

static struct check_endpoint *endpoint_create(const struct check_call *call,
                                              struct mca_btl_base_endpoint_t *inner,
                                              opal_proc_t *proc)
{
    struct check *check = call->check;
    struct check_endpoint *made = btl_map_get(&check->inner_endpoints, inner);
    if (made) { /* the peer was added before */
        if (made->proc != proc) {
            check_report(call, CHECK_MODULE, "gives %s the endpoint of %s",
                         ORTE_NAME_PRINT(&proc->proc_name), made->name);
        }
        return made;
    }
    made = calloc(1, sizeof(*made));
    if (!made || btl_map_put(&check->endpoints, made, made) != ORTE_SUCCESS) {
        free(made);
        return NULL;
    }
    if (btl_map_put(&check->inner_endpoints, inner, made) != ORTE_SUCCESS) {
        btl_map_remove(&check->endpoints, made);
        free(made);
        return NULL;
    }
    made->inner = inner;
    made->proc = proc;
    snprintf(made->name, sizeof(made->name), "%s", ORTE_NAME_PRINT(&proc->proc_name));
    return made;
}

/* What a module may find out later: its limits and its speed. */
static void copy_limits(struct check *check)
{
    mca_btl_base_module_t *mine = &check->layer.super;
    const mca_btl_base_module_t *inner = check->layer.inner;
    mine->btl_eager_limit = inner->btl_eager_limit;
    mine->btl_rndv_eager_limit = inner->btl_rndv_eager_limit;
    mine->btl_max_send_size = inner->btl_max_send_size;
    mine->btl_latency = inner->btl_latency;
    mine->btl_bandwidth = inner->btl_bandwidth;
    mine->btl_put_limit = inner->btl_put_limit;
    mine->btl_get_limit = inner->btl_get_limit;
}

static int check_add_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                           struct mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable)
{
    struct check *check = check_of(btl);
    struct check_call call = {check, "add_procs", __builtin_return_address(0), NULL};
    if (!check_enter(&call)) {
        return OPAL_ERR_BAD_PARAM;
    }
    mca_btl_base_module_t *inner = check->layer.inner;
    int status = inner->btl_add_procs(inner, count, procs, endpoints, reachable);
    for (size_t i = 0; i < count; i++) {
        bool bit = reachable && opal_bitmap_is_set_bit(reachable, (int) i);
        if (status == OPAL_SUCCESS && reachable && bit != (endpoints[i] != NULL)) {
            check_report(&call, CHECK_MODULE, "%s: the bitmap says %s, the endpoint says %s",
                         ORTE_NAME_PRINT(&procs[i]->proc_name), bit ? "reachable" : "not reachable",
                         endpoints[i] ? "reachable" : "not reachable");
        }
        struct check_endpoint *made =
            endpoints[i] ? endpoint_create(&call, endpoints[i], procs[i]) : NULL;
        if (endpoints[i] && !made) {
            inner->btl_del_procs(inner, 1, &procs[i], &endpoints[i]);
            status = OPAL_ERR_OUT_OF_RESOURCE;
        }
        endpoints[i] = made ? check_endpoint_outer(made) : NULL;
    }
    copy_limits(check);
    check_leave();
    return status;
}

/* The module says that it has ended this endpoint. */
static void endpoint_end(struct check_call *call, struct check_endpoint *endpoint)
{
    call->endpoint = endpoint;
    if (endpoint->pending > 0) {
        check_report(call, CHECK_MODULE, "%lu callbacks are missing", endpoint->pending);
    }
    check_ext_endpoint_end(call);
    btl_map_remove(&call->check->inner_endpoints, endpoint->inner);
    endpoint->gone = true;
    endpoint->proc = NULL;
}

static int del_one(struct check_call *call, opal_proc_t *proc,
                   struct mca_btl_base_endpoint_t *outer)
{
    call->endpoint = NULL;
    if (!outer) {
        return OPAL_SUCCESS;
    }
    if (!check_endpoint_ok(call, outer)) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct check_endpoint *endpoint = call->endpoint;
    if (endpoint->proc != proc) {
        check_report(call, CHECK_CALLER, "the endpoint is another peer's");
    }
    mca_btl_base_module_t *inner = call->check->layer.inner;
    struct mca_btl_base_endpoint_t *theirs = endpoint->inner;
    bool ends = btl_del_ends(inner, theirs);
    int status = inner->btl_del_procs(inner, 1, &proc, &theirs);
    if (status == OPAL_ERR_BAD_PARAM) {
        check_report(call, CHECK_CALLER, "the endpoint was not added by who gives it up");
    } else if (ends) {
        endpoint_end(call, endpoint);
    }
    return status;
}

static int check_del_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                           struct mca_btl_base_endpoint_t **endpoints)
{
    struct check_call call = {check_of(btl), "del_procs", __builtin_return_address(0), NULL};
    if (!check_enter(&call)) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (check_in_callback()) {
        check_report(&call, CHECK_CALLER, "called inside a callback");
    }
    int status = OPAL_SUCCESS;
    for (size_t i = 0; i < count; i++) {
        int one = del_one(&call, procs[i], endpoints[i]);
        status = status == OPAL_SUCCESS ? one : status;
    }
    check_leave();
    return status;
}

static int check_register(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                          mca_btl_base_module_recv_cb_fn_t cbfunc, void *cbdata)
{
    struct check *check = check_of(btl);
    struct check_call call = {check, "register", __builtin_return_address(0), NULL};
    const mca_btl_active_message_callback_t *old = &mca_btl_base_active_message_trigger[tag];
    if (!check_enter(&call)) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (cbfunc && old->cbfunc && (old->cbfunc != cbfunc || old->cbdata != cbdata)) {
        check_report(&call, CHECK_CALLER, "tag %u is registered to another callback",
                     (unsigned) tag);
    }
    mca_btl_base_module_t *inner = check->layer.inner;
    int status = inner->btl_register(inner, tag, cbfunc, cbdata);
    if (status == OPAL_SUCCESS && (old->cbfunc != cbfunc || old->cbdata != cbdata)) {
        check_report(&call, CHECK_MODULE, "tag %u was not registered", (unsigned) tag);
    }
    check_leave();
    return status;
}

static int check_register_error(mca_btl_base_module_t *btl, mca_btl_base_module_error_cb_fn_t fn)
{
    mca_btl_base_module_t *inner = check_of(btl)->layer.inner;
    return inner->btl_register_error(inner, fn);
}

static void check_dump(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                       int verbose)
{
    struct check *check = check_of(btl);
    mca_btl_base_module_t *inner = check->layer.inner;
    struct check_endpoint *found = btl_map_get(&check->endpoints, endpoint);
    log_write(LOG_BTL, LOG_INFO, "check: %zu endpoints, %zu descriptors, %lu breaches",
              check->inner_endpoints.count, check->inner_descs.count, check_breaches());
    inner->btl_dump(inner, found && !found->gone ? found->inner : NULL, verbose);
}

/* Whatever memory the module has the message in, the callback gets a copy, so that a write to it
 * can be reported. Who keeps a pointer to it is found by a memory checker. */
static void deliver_copy(struct check_call *call, uint8_t channel, mca_btl_base_tag_t tag,
                         mca_btl_base_segment_t *segments, size_t count, size_t total)
{
    mca_btl_base_module_t *mine = &call->check->layer.super;
    struct mca_btl_base_endpoint_t *from =
        call->endpoint ? check_endpoint_outer(call->endpoint) : NULL;
    mca_btl_base_segment_t copies[MCA_BTL_DES_MAX_SEGMENTS];
    unsigned char *memory = malloc(total + count * ALIGNMENT + 1), *to = memory;
    if (!memory) {
        btl_deliver_on(mine, from, channel, tag, segments, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        copies[i] = (mca_btl_base_segment_t){{.pval = to}, segments[i].seg_len};
        to += desc_gather(to, &segments[i], 1);
        to += -(uintptr_t) to % ALIGNMENT;
    }
    uint64_t hash = check_hash(copies, count);
    mca_btl_base_segment_t given[MCA_BTL_DES_MAX_SEGMENTS];
    memcpy(given, copies, count * sizeof(*given));
    call->from = (const void *) (uintptr_t) btl_receiver(channel, tag).cbfunc;
    btl_deliver_on(mine, from, channel, tag, copies, count);
    if (check_hash(given, count) != hash) {
        check_report(call, CHECK_CALLER, "the callback of tag %u wrote to the message",
                     (unsigned) tag);
    }
    free(memory);
}

static void deliver(struct btl_layer *layer, struct mca_btl_base_endpoint_t *inner, uint8_t channel,
                    mca_btl_base_tag_t tag, mca_btl_base_segment_t *segments, size_t count)
{
    struct check *check = check_of(&layer->super);
    struct check_call call = {check, "deliver", __builtin_return_address(0), NULL};
    check_callback_begin(&call);
    call.endpoint = check_endpoint_face(&call, inner);
    size_t total = 0;
    bool sound = count <= MCA_BTL_DES_MAX_SEGMENTS;
    for (size_t i = 0; i < count; i++) {
        total += segments[i].seg_len;
        if (segments[i].seg_len > 0 && !segments[i].seg_addr.pval) {
            check_report(&call, CHECK_MODULE, "a message whose segment %zu is nowhere", i);
            sound = false;
        }
    }
    if (count == 0 || count > MCA_BTL_DES_MAX_SEGMENTS) {
        check_report(&call, CHECK_MODULE, "a message of %zu segments", count);
    } else if (total > layer->inner->btl_max_send_size) {
        check_report(&call, CHECK_MODULE, "a message of %zu bytes; btl_max_send_size is %zu", total,
                     layer->inner->btl_max_send_size);
    }
    if (sound) {
        deliver_copy(&call, channel, tag, segments, count, total);
    } else {
        btl_deliver_on(&layer->super, call.endpoint ? check_endpoint_outer(call.endpoint) : NULL,
                       channel, tag, segments, count);
    }
    check_callback_end();
}

struct failure {
    struct check_call *call;
    const opal_proc_t *proc;
};

static void endpoint_failed(void *value, void *arg)
{
    struct check_endpoint *endpoint = value;
    struct failure *failure = arg;
    if (!endpoint->gone && endpoint->proc == failure->proc && endpoint->pending > 0) {
        failure->call->endpoint = endpoint;
        check_report(failure->call, CHECK_MODULE,
                     "reports the peer's failure while %lu callbacks are to come",
                     endpoint->pending);
    }
}

static void failed(struct btl_layer *layer, int32_t flags, opal_proc_t *proc)
{
    struct check *check = check_of(&layer->super);
    struct check_call call = {check, "error", __builtin_return_address(0), NULL};
    struct failure failure = {&call, proc};
    if (proc && flags & (MCA_BTL_ERROR_FLAGS_FATAL | MCA_BTL_ERROR_FLAGS_NONFATAL)) {
        btl_map_each(&check->endpoints, endpoint_failed, &failure);
    }
}

static void endpoint_drained(void *value, void *arg)
{
    struct check_endpoint *endpoint = value;
    struct check_call *call = arg;
    if (!endpoint->gone && endpoint->pending > 0) {
        call->endpoint = endpoint;
        check_report(call, CHECK_MODULE,
                     "says that all is complete while %lu callbacks are to come",
                     endpoint->pending);
    }
}

static void drained(struct btl_layer *layer)
{
    struct check *check = check_of(&layer->super);
    struct check_call call = {check, "ft_event", __builtin_return_address(0), NULL};
    btl_map_each(&check->endpoints, endpoint_drained, &call);
}

static void free_value(void *value, void *arg)
{
    (void) arg;
    free(value);
}

static void end_value(void *value, void *arg)
{
    struct check_endpoint *endpoint = value;
    if (!endpoint->gone) {
        endpoint_end(arg, endpoint);
    }
}

static int check_finalize(mca_btl_base_module_t *btl)
{
    struct check *check = check_of(btl);
    struct check_call call = {check, "finalize", __builtin_return_address(0), NULL};
    if (check_in_callback()) {
        check_report(&call, CHECK_CALLER, "called inside a callback");
    }
    mca_btl_base_module_t *inner = check->layer.inner;
    if (check->inner_descs.count > 0) {
        log_info(LOG_BTL, "check: %s: %zu descriptors were never freed",
                 btl_component_name(inner->btl_component), check->inner_descs.count);
    }
    check_conclude(check);
    int status = inner->btl_finalize(inner);
    /* The component, whose name reports have, outlives its modules. */
    mca_btl_base_module_t rest = {.btl_component = check->layer.super.btl_component};
    check->layer.inner = &rest;
    btl_map_each(&check->endpoints, end_value, &call);
    check_ext_fini(&call);
    btl_layer_remove(&check->layer);
    struct btl_map *const maps[] = {&check->endpoints, &check->descs, &check->regions};
    for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++) {
        btl_map_each(maps[i], free_value, NULL);
        btl_map_fini(maps[i]);
    }
    btl_map_each(&check->ops, check_op_free, NULL);
    btl_map_fini(&check->ops);
    btl_map_fini(&check->inner_endpoints);
    btl_map_fini(&check->inner_descs);
    btl_map_fini(&check->inner_regions);
    free(check);
    return status;
}

/* All but register_mem and deregister_mem has to be there. */
static bool has_functions(const mca_btl_base_module_t *btl)
{
    return btl->btl_add_procs && btl->btl_del_procs && btl->btl_register && btl->btl_finalize &&
           btl->btl_alloc && btl->btl_free && btl->btl_prepare_src && btl->btl_send &&
           btl->btl_sendi && btl->btl_put && btl->btl_get && btl->btl_dump && btl->btl_atomic_op &&
           btl->btl_atomic_fop && btl->btl_atomic_cswap && btl->btl_register_error &&
           btl->btl_ft_event;
}

/* What a module says of itself has to fit together. */
static void look_at_table(const struct check_call *call)
{
    const mca_btl_base_module_t *btl = call->check->layer.inner;
    uint32_t flags = btl->btl_flags, atomics = MCA_BTL_FLAGS_ATOMIC_OPS | MCA_BTL_FLAGS_ATOMIC_FOPS;
    if (!has_functions(btl) || btl->btl_mpool) {
        check_report(call, CHECK_MODULE, "a function is NULL, or btl_mpool is not");
    }
    if (btl->btl_eager_limit > btl->btl_max_send_size ||
        btl->btl_rndv_eager_limit > btl->btl_max_send_size) {
        check_report(call, CHECK_MODULE, "an eager limit is above btl_max_send_size");
    }
    if ((btl->btl_register_mem == NULL) != (btl->btl_registration_handle_size == 0) ||
        (btl->btl_register_mem == NULL) != (btl->btl_deregister_mem == NULL) ||
        btl->btl_registration_handle_size > MCA_BTL_REG_HANDLE_MAX_SIZE) {
        check_report(call, CHECK_MODULE, "btl_registration_handle_size is %zu",
                     btl->btl_registration_handle_size);
    }
    if ((flags & MCA_BTL_FLAGS_PUT && btl->btl_put_limit == 0) ||
        (flags & MCA_BTL_FLAGS_GET && btl->btl_get_limit == 0)) {
        check_report(call, CHECK_MODULE, "put or get is advertised with a limit of 0");
    }
    if ((btl->btl_put_alignment & (btl->btl_put_alignment - 1)) != 0 ||
        (btl->btl_get_alignment & (btl->btl_get_alignment - 1)) != 0) {
        check_report(call, CHECK_MODULE, "an alignment is no power of two");
    }
    if (((flags & atomics) != 0) != (btl->btl_atomic_flags != 0)) {
        check_report(call, CHECK_MODULE, "btl_flags and btl_atomic_flags contradict each other");
    }
}

/* Functions that every table has; ft_event names no module, and is the module's own. */
static void make_table(mca_btl_base_module_t *table, const mca_btl_base_module_t *inner)
{
    *table = *inner;
    table->btl_add_procs = check_add_procs;
    table->btl_del_procs = check_del_procs;
    table->btl_register = check_register;
    table->btl_finalize = check_finalize;
    table->btl_alloc = check_alloc;
    table->btl_free = check_free;
    table->btl_prepare_src = check_prepare_src;
    table->btl_send = check_send;
    table->btl_sendi = check_sendi;
    table->btl_put = check_put;
    table->btl_get = check_get;
    table->btl_dump = check_dump;
    table->btl_atomic_op = check_atomic_op;
    table->btl_atomic_fop = check_atomic_fop;
    table->btl_atomic_cswap = check_atomic_cswap;
    table->btl_register_mem = inner->btl_register_mem ? check_register_mem : NULL;
    table->btl_deregister_mem = inner->btl_deregister_mem ? check_deregister_mem : NULL;
    table->btl_register_error = check_register_error;
}

static struct mca_btl_base_endpoint_t *inside(const struct btl_layer *layer,
                                              struct mca_btl_base_endpoint_t *outer)
{
    const struct check *check = (const struct check *) (const void *) layer;
    const struct check_endpoint *endpoint = btl_map_get(&check->endpoints, outer);
    return endpoint && !endpoint->gone ? endpoint->inner : NULL;
}

int check_layer_create(mca_btl_base_module_t *inner, struct btl_layer **layer)
{
    if (!check_is_wanted()) {
        return ORTE_SUCCESS;
    }
    struct check *check = calloc(1, sizeof(*check));
    if (!check) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    check->layer = (struct btl_layer){
        .inner = inner, .deliver = deliver, .failed = failed, .drained = drained, .inside = inside};
    make_table(&check->layer.super, inner);
    struct check_call call = {check, "init", (const void *) (uintptr_t) inner->btl_finalize, NULL};
    look_at_table(&call);
    check_ext_init(check);
    *layer = &check->layer;
    return ORTE_SUCCESS;
}
