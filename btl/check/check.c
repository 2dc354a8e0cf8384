/* The tap: the module's life, its peers, what comes up. */
#include <config.h>

#include <base/settings/log.h>
#include <btl/check/check.h>
#include <btl/memory/desc.h>
#include <btl/modules/tap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 16 /* of the segments that callbacks get */

static struct check *check_of(struct btl_tap *tap)
{
    return (struct check *) (void *) tap;
}

void check_pass(const struct check_call *at, struct btl_call *call)
{
    btl_tap_next(&at->check->tap, call);
}

int check_give_back(const struct check_call *at, enum btl_slot slot, void *inner)
{
    struct btl_call call = {.slot = slot, .from = at->from};
    if (slot == BTL_FREE) {
        call.send.descriptor = inner;
    } else {
        call.handle = inner;
    }
    check_pass(at, &call);
    return call.status;
}

/* What is known of an endpoint that callers have; NULL with NULL, or, reported, with another. */
static struct check_endpoint *endpoint_find(const struct check_call *at,
                                            struct mca_btl_base_endpoint_t *endpoint)
{
    struct check_endpoint *found = btl_map_get(&at->check->endpoints, endpoint);
    if (endpoint && (!found || found->gone)) {
        check_report(at, CHECK_MODULE, "names an endpoint that its caller does not have");
        return NULL;
    }
    return found;
}

/* What a caller gave as an endpoint; false, reported: it is none, or no longer. */
static bool endpoint_ok(struct check_call *at, struct mca_btl_base_endpoint_t *endpoint)
{
    at->endpoint = btl_map_get(&at->check->endpoints, endpoint);
    if (!at->endpoint) {
        check_report(at, CHECK_CALLER, "%p is no endpoint of this module", (void *) endpoint);
        return false;
    }
    if (at->endpoint->gone) {
        check_report(at, CHECK_CALLER, "the endpoint was given up by del_procs");
        return false;
    }
    return true;
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

/* A new endpoint, perhaps where one was that ended: the callbacks of that one still name it. */
static bool endpoint_begin(struct check *check, struct mca_btl_base_endpoint_t *endpoint,
                           opal_proc_t *proc)
{
    struct check_endpoint *made = calloc(1, sizeof(*made));
    void **place = btl_map_find(&check->endpoints, endpoint);
    if (!made || (!place && btl_map_put(&check->endpoints, endpoint, made) != ORTE_SUCCESS)) {
        free(made);
        return false;
    }
    if (place) {
        made->before = *place;
        *place = made;
    }
    made->endpoint = endpoint;
    made->proc = proc;
    snprintf(made->name, sizeof(made->name), "%s", ORTE_NAME_PRINT(&proc->proc_name));
    check->living++;
    return true;
}

/* False: no memory to know it. */
static bool endpoint_note(const struct check_call *at, struct mca_btl_base_endpoint_t *endpoint,
                          opal_proc_t *proc)
{
    struct check_endpoint *known = btl_map_get(&at->check->endpoints, endpoint);
    if (!known || known->gone) {
        return endpoint_begin(at->check, endpoint, proc);
    }
    if (known->proc != proc) { /* else the peer was added before */
        check_report(at, CHECK_MODULE, "gives %s the endpoint of %s",
                     ORTE_NAME_PRINT(&proc->proc_name), known->name);
    }
    return true;
}

/* del_procs of one endpoint, by the module. */
static int give_up(const struct check_call *at, opal_proc_t *proc,
                   struct mca_btl_base_endpoint_t *endpoint)
{
    struct btl_call call = {
        .slot = BTL_DEL_PROCS, .from = at->from, .procs = {1, &proc, &endpoint, NULL}};
    check_pass(at, &call);
    return call.status;
}

static void add_procs(struct check_call *at, struct btl_call *call)
{
    opal_proc_t **procs = call->procs.procs;
    struct mca_btl_base_endpoint_t **endpoints = call->procs.endpoints;
    const opal_bitmap_t *reachable = call->procs.reachable;
    check_pass(at, call);
    for (size_t i = 0; i < call->procs.count; i++) {
        bool bit = reachable && opal_bitmap_is_set_bit(reachable, (int) i);
        if (call->status == OPAL_SUCCESS && reachable && bit != (endpoints[i] != NULL)) {
            check_report(at, CHECK_MODULE, "%s: the bitmap says %s, the endpoint says %s",
                         ORTE_NAME_PRINT(&procs[i]->proc_name), bit ? "reachable" : "not reachable",
                         endpoints[i] ? "reachable" : "not reachable");
        }
        if (endpoints[i] && !endpoint_note(at, endpoints[i], procs[i])) {
            (void) give_up(at, procs[i], endpoints[i]);
            endpoints[i] = NULL;
            call->status = OPAL_ERR_OUT_OF_RESOURCE;
        }
    }
}

/* The module says that it has ended this endpoint. */
static void endpoint_end(struct check_call *at, struct check_endpoint *endpoint)
{
    at->endpoint = endpoint;
    if (endpoint->pending > 0) {
        check_report(at, CHECK_MODULE, "%lu callbacks are missing", endpoint->pending);
    }
    check_ext_endpoint_end(at);
    at->check->living--;
    endpoint->gone = true;
    endpoint->proc = NULL;
}

static int del_one(struct check_call *at, opal_proc_t *proc,
                   struct mca_btl_base_endpoint_t *endpoint)
{
    at->endpoint = NULL;
    if (!endpoint) {
        return OPAL_SUCCESS;
    }
    if (!endpoint_ok(at, endpoint)) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct check_endpoint *known = at->endpoint;
    if (known->proc != proc) {
        check_report(at, CHECK_CALLER, "the endpoint is another peer's");
    }
    bool ends = btl_del_ends(at->check->module, endpoint);
    int status = give_up(at, proc, endpoint);
    if (status == OPAL_ERR_BAD_PARAM) {
        check_report(at, CHECK_CALLER, "the endpoint was not added by who gives it up");
    } else if (ends) {
        endpoint_end(at, known);
    }
    return status;
}

static void del_procs(struct check_call *at, struct btl_call *call)
{
    if (check_in_callback()) {
        check_report(at, CHECK_CALLER, "called inside a callback");
        call->status = OPAL_ERR_RESOURCE_BUSY;
        return;
    }
    call->status = OPAL_SUCCESS;
    for (size_t i = 0; i < call->procs.count; i++) {
        int one = del_one(at, call->procs.procs[i], call->procs.endpoints[i]);
        call->status = call->status == OPAL_SUCCESS ? one : call->status;
    }
}

static void register_tag(struct check_call *at, struct btl_call *call)
{
    mca_btl_base_module_recv_cb_fn_t cbfunc = call->receiver.cbfunc;
    const void *cbdata = call->receiver.cbdata;
    unsigned tag = call->receiver.at;
    const mca_btl_active_message_callback_t *old = &mca_btl_base_active_message_trigger[tag];
    if (cbfunc && old->cbfunc && (old->cbfunc != cbfunc || old->cbdata != cbdata)) {
        check_report(at, CHECK_CALLER, "tag %u is registered to another callback", tag);
    }
    check_pass(at, call);
    if (call->status == OPAL_SUCCESS && (old->cbfunc != cbfunc || old->cbdata != cbdata)) {
        check_report(at, CHECK_MODULE, "tag %u was not registered", tag);
    }
}

static void dump(struct check_call *at, struct btl_call *call)
{
    struct check *check = at->check;
    const struct check_endpoint *found = btl_map_get(&check->endpoints, call->endpoint);
    log_write(LOG_BTL, LOG_INFO, "check: %zu endpoints, %zu descriptors, %lu breaches",
              check->living, check->inner_descs.count, check_breaches());
    call->endpoint = found && !found->gone ? call->endpoint : NULL;
    check_pass(at, call);
}

/* Whatever memory the module has the message in, the callback gets a copy, so that a write to it
 * can be reported. Who keeps a pointer to it is found by a memory checker. */
static void deliver_copy(struct check_call *call, uint8_t channel, mca_btl_base_tag_t tag,
                         mca_btl_base_segment_t *segments, size_t count, size_t total)
{
    const struct btl_tap *tap = &call->check->tap;
    struct mca_btl_base_endpoint_t *from = call->endpoint ? call->endpoint->endpoint : NULL;
    mca_btl_base_segment_t copies[MCA_BTL_DES_MAX_SEGMENTS];
    unsigned char *memory = malloc(total + count * ALIGNMENT + 1), *to = memory;
    if (!memory) {
        btl_deliver_outward(tap, from, channel, tag, segments, count);
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
    btl_deliver_outward(tap, from, channel, tag, copies, count);
    if (check_hash(given, count) != hash) {
        check_report(call, CHECK_CALLER, "the callback of tag %u wrote to the message",
                     (unsigned) tag);
    }
    free(memory);
}

static void deliver(struct btl_tap *tap, struct mca_btl_base_endpoint_t *endpoint, uint8_t channel,
                    mca_btl_base_tag_t tag, mca_btl_base_segment_t *segments, size_t count)
{
    struct check *check = check_of(tap);
    struct check_call call = {check, "deliver", __builtin_return_address(0), NULL};
    check_callback_begin(&call);
    call.endpoint = endpoint_find(&call, endpoint);
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
    } else if (total > check->module->btl_max_send_size) {
        check_report(&call, CHECK_MODULE, "a message of %zu bytes; btl_max_send_size is %zu", total,
                     check->module->btl_max_send_size);
    }
    if (sound) {
        deliver_copy(&call, channel, tag, segments, count, total);
    } else {
        btl_deliver_outward(tap, call.endpoint ? endpoint : NULL, channel, tag, segments, count);
    }
    check_callback_end();
}

/* A module's report that what is in flight to one peer, or to all (NULL), has ended. */
struct ending {
    struct check_call call;
    const opal_proc_t *proc;
    const char *what;
};

static void endpoint_ending(void *value, void *arg)
{
    struct check_endpoint *endpoint = value;
    struct ending *ending = arg;
    if (!endpoint->gone && endpoint->pending > 0 &&
        (!ending->proc || endpoint->proc == ending->proc)) {
        ending->call.endpoint = endpoint;
        check_report(&ending->call, CHECK_MODULE, "%s while %lu callbacks are to come",
                     ending->what, endpoint->pending);
    }
}

static void failed(struct btl_tap *tap, int32_t flags, opal_proc_t *proc)
{
    struct check *check = check_of(tap);
    struct ending ending = {
        {check, "error", __builtin_return_address(0), NULL}, proc, "reports the peer's failure"};
    if (proc && flags & (MCA_BTL_ERROR_FLAGS_FATAL | MCA_BTL_ERROR_FLAGS_NONFATAL)) {
        btl_map_each(&check->endpoints, endpoint_ending, &ending);
    }
}

static void drained(struct btl_tap *tap)
{
    struct check *check = check_of(tap);
    struct ending ending = {
        {check, "ft_event", __builtin_return_address(0), NULL}, NULL, "says that all is complete"};
    btl_map_each(&check->endpoints, endpoint_ending, &ending);
}

static void free_value(void *value, void *arg)
{
    (void) arg;
    free(value);
}

static void free_endpoint(void *value, void *arg)
{
    (void) arg;
    struct check_endpoint *endpoint = value;
    while (endpoint) {
        struct check_endpoint *before = endpoint->before;
        free(endpoint);
        endpoint = before;
    }
}

static void end_value(void *value, void *arg)
{
    struct check_endpoint *endpoint = value;
    if (!endpoint->gone) {
        endpoint_end(arg, endpoint);
    }
}

static void finalize(struct check_call *at, struct btl_call *call)
{
    struct check *check = at->check;
    if (check_in_callback()) {
        check_report(at, CHECK_CALLER, "called inside a callback");
    }
    if (check->inner_descs.count > 0) {
        log_info(LOG_BTL, "check: %s: %zu descriptors were never freed", check->name,
                 check->inner_descs.count);
    }
    check_conclude(check);
    check_pass(at, call);
    btl_map_each(&check->endpoints, end_value, at);
    check_ext_fini(at);
}

static void destroy(struct btl_tap *tap)
{
    struct check *check = check_of(tap);
    struct btl_map *const maps[] = {&check->descs, &check->regions, &check->ops};
    for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++) {
        btl_map_each(maps[i], free_value, NULL);
        btl_map_fini(maps[i]);
    }
    btl_map_each(&check->endpoints, free_endpoint, NULL);
    btl_map_fini(&check->endpoints);
    btl_map_fini(&check->inner_descs);
    btl_map_fini(&check->inner_regions);
    free(check);
}

/* What each slot's call goes through, and what its endpoint may be. Those that are not looked at,
 * and finalize and dump, come from any thread. */
static const struct {
    const char *name;
    void (*look)(struct check_call *at, struct btl_call *call);
    enum { NO_ENDPOINT, ONE_ENDPOINT, ONE_OR_ALL } endpoint;
} slots[BTL_SLOTS] = {
    [BTL_ADD_PROCS] = {"add_procs", add_procs, NO_ENDPOINT},
    [BTL_DEL_PROCS] = {"del_procs", del_procs, NO_ENDPOINT},
    [BTL_REGISTER] = {"register", register_tag, NO_ENDPOINT},
    [BTL_FINALIZE] = {"finalize", finalize, NO_ENDPOINT},
    [BTL_DUMP] = {"dump", dump, NO_ENDPOINT},
    [BTL_ALLOC] = {"alloc", check_alloc, ONE_OR_ALL},
    [BTL_FREE] = {"free", check_free, NO_ENDPOINT},
    [BTL_PREPARE_SRC] = {"prepare_src", check_prepare_src, ONE_OR_ALL},
    [BTL_REGISTER_MEM] = {"register_mem", check_register_mem, ONE_OR_ALL},
    [BTL_DEREGISTER_MEM] = {"deregister_mem", check_deregister_mem, NO_ENDPOINT},
    [BTL_SEND] = {"send", check_send, ONE_ENDPOINT},
    [BTL_SENDI] = {"sendi", check_sendi, ONE_ENDPOINT},
    [BTL_PUT] = {"put", check_rdma, ONE_ENDPOINT},
    [BTL_GET] = {"get", check_rdma, ONE_ENDPOINT},
    [BTL_ATOMIC_OP] = {"atomic_op", check_atomic, ONE_ENDPOINT},
    [BTL_ATOMIC_FOP] = {"atomic_fop", check_atomic, ONE_ENDPOINT},
    [BTL_ATOMIC_CSWAP] = {"atomic_cswap", check_atomic, ONE_ENDPOINT},
    [BTL_FLUSH] = {"flush", check_flush, ONE_OR_ALL},
    [BTL_PENDING_ADD] = {"pending_add", check_pending_add, ONE_OR_ALL},
    [BTL_PENDING_REMOVE] = {"pending_remove", check_pending_remove, NO_ENDPOINT},
};

static bool names_one(enum btl_slot slot, const struct mca_btl_base_endpoint_t *endpoint)
{
    bool all = !endpoint || (slot == BTL_REGISTER_MEM && endpoint == MCA_BTL_ENDPOINT_ANY);
    return slots[slot].endpoint == ONE_ENDPOINT || (slots[slot].endpoint == ONE_OR_ALL && !all);
}

static void look_at_call(struct btl_tap *tap, struct btl_call *call)
{
    struct check_call at = {check_of(tap), slots[call->slot].name, call->from, NULL};
    if (!slots[call->slot].look) {
        btl_tap_next(tap, call);
        return;
    }
    if (call->slot == BTL_FINALIZE || call->slot == BTL_DUMP) {
        slots[call->slot].look(&at, call);
        return;
    }
    call->status = OPAL_ERR_BAD_PARAM;
    if (check_enter(&at)) {
        if (!names_one(call->slot, call->endpoint) || endpoint_ok(&at, call->endpoint)) {
            slots[call->slot].look(&at, call);
        }
        check_leave();
    }
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
    const mca_btl_base_module_t *btl = call->check->module;
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

static const struct btl_tap_ops ops = {
    .place = BTL_TAP_CHECK,
    .call = look_at_call,
    .deliver = deliver,
    .failed = failed,
    .drained = drained,
    .destroy = destroy,
};

int check_tap_create(mca_btl_base_module_t *module, struct btl_tap **tap)
{
    if (!check_is_wanted()) {
        return ORTE_SUCCESS;
    }
    struct check *check = calloc(1, sizeof(*check));
    if (!check) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    check->tap.ops = &ops;
    check->module = module;
    check->name = btl_module_name(module);
    struct check_call at = {check, "init", (const void *) (uintptr_t) module->btl_finalize, NULL};
    look_at_table(&at);
    *tap = &check->tap;
    return ORTE_SUCCESS;
}
