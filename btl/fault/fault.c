#include <config.h>

#include <base/data/clock.h>
#include <base/data/list.h>
#include <base/settings/fault.h>
#include <btl/fault/fault.h>
#include <btl/memory/desc.h>
#include <btl/modules/tap.h>
#include <btl/progress/progress.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Operations that are kept back at a time; beyond it calls are short of resources. */
#define KEPT_MAX 256
/* How long a call with the action early polls for its own end. */
#define EARLY_US 20000
#define FLUSH_US 60000000u

struct fault_tap {
    struct btl_tap tap; /* first */
    mca_btl_base_module_t *module;
    struct list kept; /* of struct fault_op, in the order of the calls */
    unsigned kept_count;
};

/* A send, put, get or atomic, to be made later or ended with an error. */
struct fault_op {
    struct list link; /* in kept, while it waits */
    struct fault_tap *owner;
    uint64_t due_us;
    int status; /* OPAL_SUCCESS: the call is made when it is due; else the callback has this */
    struct btl_call call; /* the caller's; its remote handle is NULL, or remote, once kept */
    unsigned char remote[MCA_BTL_REG_HANDLE_MAX_SIZE];
    bool twice; /* calls back twice */
    bool waits; /* its call is still running, and frees it */
    bool ended;
};

static struct fault_tap *fault_of(struct btl_tap *tap)
{
    return (struct fault_tap *) (void *) tap;
}

/* What a call returns for error=NAME. */
static int fault_status(int64_t error)
{
    switch (error) {
    case ENOMEM:
    case EAGAIN:
    case ENOBUFS:
        return OPAL_ERR_OUT_OF_RESOURCE;
    case EBUSY:
        return OPAL_ERR_RESOURCE_BUSY;
    case EINVAL:
        return OPAL_ERR_BAD_PARAM;
    case EPERM:
    case EACCES:
        return OPAL_ERR_PERM;
    default:
        return OPAL_ERR_UNREACH;
    }
}

static int next(struct fault_tap *fault, struct btl_call *call)
{
    btl_tap_next(&fault->tap, call);
    return call->status;
}

/* ---- what is kept back ---- */

static bool is_send(const struct fault_op *op)
{
    return op->call.slot == BTL_SEND;
}

/* A handle lives no longer than its call. The operation is the tap's from here on; else: too many
 * are, it is freed, and the call is short. */
static int keep(struct fault_op *op, int64_t delay_ms)
{
    struct fault_tap *fault = op->owner;
    struct rdma_call *rdma = &op->call.rdma.rdma;
    if (fault->kept_count >= KEPT_MAX) {
        free(op);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (!is_send(op) && rdma->remote_handle) {
        memcpy(op->remote, rdma->remote_handle, fault->module->btl_registration_handle_size);
        rdma->remote_handle = (mca_btl_base_registration_handle_t *) (void *) op->remote;
    }
    op->due_us = clock_us() + (uint64_t) delay_ms * 1000;
    list_append(&fault->kept, &op->link);
    fault->kept_count++;
    return OPAL_SUCCESS;
}

/* Whether there are sends, or others, to this endpoint (NULL: any). */
static bool keeps(const struct fault_tap *fault, const struct mca_btl_base_endpoint_t *endpoint,
                  bool sends)
{
    struct fault_op *op;
    bool found = false;
    list_for_each (op, (struct list *) &fault->kept, struct fault_op, link) {
        found = found || (is_send(op) == sends && (!endpoint || op->call.endpoint == endpoint));
    }
    return found;
}

static struct fault_op *op_create(struct fault_tap *fault, const struct btl_call *call, int status)
{
    struct fault_op *op = malloc(sizeof(*op));
    if (op) {
        *op = (struct fault_op){.owner = fault, .status = status, .call = *call};
    }
    return op;
}

/* Calls back. The record is freed, or will be by its call. */
static void op_end(struct fault_op *op, int status)
{
    struct fault_op ended = *op;
    mca_btl_base_module_t *module = ended.owner->module;
    op->ended = true;
    if (!ended.waits) {
        free(op);
    }
    if (is_send(&ended)) {
        btl_complete(module, ended.call.endpoint, ended.call.send.descriptor, status);
        return;
    }
    for (int i = 0; i <= (ended.twice ? 1 : 0); i++) {
        rdma_call_back(&ended.call.rdma.rdma, module, ended.call.endpoint, status);
    }
}

static void called_back(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                        void *local_address, mca_btl_base_registration_handle_t *local_handle,
                        void *context, void *cbdata, int status)
{
    (void) module, (void) endpoint, (void) local_address, (void) local_handle, (void) context;
    op_end(cbdata, status);
}

/* A put, get or atomic, now. */
static int op_call(struct fault_op *op)
{
    struct btl_call call = op->call;
    struct rdma_call *rdma = &call.rdma.rdma;
    rdma->cbfunc = rdma->cbfunc ? called_back : NULL;
    rdma->cbcontext = NULL;
    rdma->cbdata = op;
    return next(op->owner, &call);
}

/* The caller was told 0, so one callback has to come. */
static int send_now(struct fault_op *op)
{
    mca_btl_base_descriptor_t *descriptor = op->call.send.descriptor;
    uint32_t flags = descriptor->des_flags;
    if (descriptor->des_cbfunc) {
        descriptor->des_flags |= MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
    }
    int status = next(op->owner, &op->call);
    if (status < 0) {
        descriptor->des_flags = flags;
    }
    return status;
}

static void op_take(struct fault_op *op)
{
    list_remove(&op->link);
    op->owner->kept_count--;
}

/* False: it has to wait for room. Else it is the module's, or ended: an operation that the module
 * took may have called back, and be freed. */
static bool op_go(struct fault_op *op)
{
    bool sends = is_send(op);
    int status = op->status;
    op_take(op);
    if (status == OPAL_SUCCESS) {
        status = sends ? send_now(op) : op_call(op);
    }
    if (btl_is_shortage(status)) {
        list_prepend(&op->owner->kept, &op->link);
        op->owner->kept_count++;
        return false;
    }
    if (sends && status >= 0) {
        free(op);
    } else if (status != 0) {
        op_end(op, status == 1 ? OPAL_SUCCESS : status);
    }
    return true;
}

/* The first that is due; messages keep their order. */
static struct fault_op *next_due(struct fault_tap *fault, uint64_t now)
{
    struct fault_op *op, *found = NULL;
    bool send_waits = false;
    list_for_each (op, &fault->kept, struct fault_op, link) {
        bool blocked = is_send(op) && send_waits;
        if (!found && !blocked && op->due_us <= now) {
            found = op;
        }
        send_waits = send_waits || is_send(op);
    }
    return found;
}

static int progress(struct btl_tap *tap)
{
    struct fault_tap *fault = fault_of(tap);
    int events = 0;
    uint64_t now = fault->kept_count > 0 ? clock_us() : 0;
    while (fault->kept_count > 0 && events < KEPT_MAX) {
        struct fault_op *op = next_due(fault, now);
        if (!op || !op_go(op)) {
            break;
        }
        events++;
    }
    return events;
}

/* Ends what is kept for this endpoint (NULL: any) with an error. */
static void end(struct fault_tap *fault, const struct mca_btl_base_endpoint_t *endpoint)
{
    struct list ended;
    list_init(&ended);
    struct fault_op *op;
    list_for_each (op, &fault->kept, struct fault_op, link) {
        if (!endpoint || op->call.endpoint == endpoint) {
            op_take(op);
            list_append(&ended, &op->link);
        }
    }
    for (struct list *link = list_pop(&ended); link; link = list_pop(&ended)) {
        op_end(container_of(link, struct fault_op, link), OPAL_ERR_UNREACH);
    }
}

static void end_all(struct btl_tap *tap)
{
    end(fault_of(tap), NULL);
}

static bool is_quiet(const struct btl_tap *tap)
{
    return ((const struct fault_tap *) (const void *) tap)->kept_count == 0;
}

/* ---- messages ---- */

/* Sends a copy, so that the descriptor is done with inside the call. */
static int send_copy(struct fault_tap *fault, const struct btl_call *call)
{
    const mca_btl_base_descriptor_t *descriptor = call->send.descriptor;
    mca_btl_base_module_t *module = fault->module;
    const mca_btl_base_module_t *own = btl_own(module);
    size_t total;
    int status = desc_total(descriptor, module->btl_max_send_size, &total);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    mca_btl_base_descriptor_t *copy = own->btl_alloc(module, call->endpoint, descriptor->order,
                                                     total, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    if (!copy) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    desc_gather(copy->des_segments[0].seg_addr.pval, descriptor->des_segments,
                descriptor->des_segment_count);
    struct btl_call again = *call;
    again.send.descriptor = copy;
    status = next(fault, &again);
    if (status < 0) {
        own->btl_free(module, copy);
    }
    return status;
}

static int send_early(struct fault_tap *fault, const struct btl_call *call, bool twice)
{
    mca_btl_base_descriptor_t *descriptor = call->send.descriptor;
    int status = send_copy(fault, call);
    if (status < 0) {
        return status;
    }
    if (twice && descriptor->des_cbfunc) {
        btl_callbacks++;
        descriptor->des_cbfunc(fault->module, call->endpoint, descriptor, OPAL_SUCCESS);
        btl_callbacks--;
    }
    btl_complete(fault->module, call->endpoint, descriptor, OPAL_SUCCESS);
    return OPAL_SUCCESS;
}

static int send_late(struct fault_tap *fault, const struct btl_call *call, int status,
                     int64_t delay_ms)
{
    struct fault_op *op = op_create(fault, call, status);
    return op ? keep(op, delay_ms) : OPAL_ERR_OUT_OF_RESOURCE;
}

static int send(struct fault_tap *fault, struct btl_call *call)
{
    struct fault asked = fault_ask("btl.any.send");
    switch (asked.action) {
    case FAULT_ERROR:
        return fault_status(asked.value);
    case FAULT_DROP:
        /* Who cannot be called back is told now. */
        return call->send.descriptor->des_cbfunc ? send_late(fault, call, ORTE_ERR_COMM_FAILURE, 0)
                                                 : OPAL_ERR_UNREACH;
    case FAULT_DELAY:
        return send_late(fault, call, OPAL_SUCCESS, asked.value);
    default:
        break;
    }
    if (keeps(fault, call->endpoint, true)) {
        return send_late(fault, call, OPAL_SUCCESS, 0);
    }
    if (asked.action == FAULT_EARLY || asked.action == FAULT_DUPLICATE) {
        return send_early(fault, call, asked.action == FAULT_DUPLICATE);
    }
    return next(fault, call);
}

static int sendi(struct fault_tap *fault, struct btl_call *call)
{
    struct fault asked = fault_ask("btl.any.send");
    bool waits = keeps(fault, call->endpoint, true);
    if (asked.action == FAULT_ERROR || asked.action == FAULT_DROP) {
        return asked.action == FAULT_ERROR ? fault_status(asked.value) : OPAL_ERR_UNREACH;
    }
    return waits ? OPAL_ERR_OUT_OF_RESOURCE : next(fault, call);
}

/* ---- put, get and atomics ---- */

/* Makes the call now; early: stays in it until its callback came, for some time. */
static int go(struct fault_op *op, bool early)
{
    op->waits = true;
    int status = op_call(op);
    if (status == OPAL_SUCCESS && early && !btl_progressing()) {
        uint64_t begin = clock_us();
        while (!op->ended && clock_us() - begin < EARLY_US) {
            btl_progress();
        }
    }
    op->waits = false;
    if (op->ended || status != OPAL_SUCCESS || !op->call.rdma.rdma.cbfunc) {
        free(op);
    }
    return status;
}

/* What every module refuses is left to it: a fault that takes it would hide that. */
static bool is_sound_atomic(const struct btl_call *call)
{
    bool known = call->slot == BTL_ATOMIC_CSWAP || atomic_is_known(call->rdma.atomic.op);
    return known && call->rdma.rdma.remote_address % call->rdma.rdma.size == 0;
}

static struct fault ask_rdma(const struct btl_call *call)
{
    switch (call->slot) {
    case BTL_PUT:
        return fault_ask("btl.any.put");
    case BTL_GET:
        return fault_ask("btl.any.get");
    default:
        return is_sound_atomic(call) ? fault_ask("btl.any.atomic")
                                     : (struct fault){.action = FAULT_NONE};
    }
}

static int rdma(struct fault_tap *fault, const struct btl_call *call)
{
    struct fault asked = ask_rdma(call);
    bool calls_back = call->rdma.rdma.cbfunc != NULL, drops = asked.action == FAULT_DROP;
    if (asked.action == FAULT_ERROR) {
        return fault_status(asked.value);
    }
    if (drops && !calls_back) {
        return OPAL_ERR_UNREACH; /* who cannot be called back is told now */
    }
    struct fault_op *op = op_create(fault, call, drops ? ORTE_ERR_COMM_FAILURE : OPAL_SUCCESS);
    if (!op) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (drops || (asked.action == FAULT_DELAY && calls_back)) {
        return keep(op, drops ? 0 : asked.value);
    }
    op->twice = asked.action == FAULT_DUPLICATE;
    return go(op, asked.action == FAULT_EARLY);
}

/* ---- the tap ---- */

/* What is kept is not complete, and the module does not know of it. */
static int flush(struct fault_tap *fault, struct btl_call *call)
{
    uint64_t begin = clock_us();
    while (keeps(fault, call->endpoint, false)) {
        if (btl_progressing()) {
            return OPAL_ERR_RESOURCE_BUSY;
        }
        if (btl_progress() == 0 && clock_us() - begin > FLUSH_US) {
            return OPAL_ERR_TIMEOUT;
        }
    }
    return next(fault, call);
}

static int wait_arm(struct fault_tap *fault, struct btl_call *call)
{
    int status = next(fault, call);
    return status == OPAL_SUCCESS && fault->kept_count > 0 ? OPAL_ERR_RESOURCE_BUSY : status;
}

static int del_procs(struct fault_tap *fault, struct btl_call *call)
{
    for (size_t i = 0; i < call->procs.count; i++) {
        struct mca_btl_base_endpoint_t *endpoint = call->procs.endpoints[i];
        if (endpoint && btl_del_ends(fault->module, endpoint)) {
            end(fault, endpoint);
        }
    }
    return next(fault, call);
}

/* NULL, as without memory. */
static void make(struct fault_tap *fault, struct btl_call *call, struct fault asked)
{
    if (asked.action != FAULT_ERROR) {
        (void) next(fault, call);
    }
}

static void fail_or_pass(struct btl_tap *tap, struct btl_call *call)
{
    struct fault_tap *fault = fault_of(tap);
    switch (call->slot) {
    case BTL_ALLOC:
    case BTL_PREPARE_SRC:
        make(fault, call, fault_at("btl.any.alloc"));
        return;
    case BTL_REGISTER_MEM:
        make(fault, call, fault_at("btl.any.register"));
        return;
    case BTL_SEND:
        call->status = send(fault, call);
        return;
    case BTL_SENDI:
        call->status = sendi(fault, call);
        return;
    case BTL_PUT:
    case BTL_GET:
    case BTL_ATOMIC_OP:
    case BTL_ATOMIC_FOP:
    case BTL_ATOMIC_CSWAP:
        call->status = rdma(fault, call);
        return;
    case BTL_FLUSH:
        call->status = flush(fault, call);
        return;
    case BTL_WAIT_ARM:
        call->status = wait_arm(fault, call);
        return;
    case BTL_DEL_PROCS:
        call->status = del_procs(fault, call);
        return;
    case BTL_FINALIZE:
        end(fault, NULL);
        break;
    default:
        break;
    }
    (void) next(fault, call);
}

static void destroy(struct btl_tap *tap)
{
    free(fault_of(tap));
}

static const struct btl_tap_ops ops = {
    .place = BTL_TAP_FAULT,
    .call = fail_or_pass,
    .is_quiet = is_quiet,
    .progress = progress,
    .end = end_all,
    .destroy = destroy,
};

int fault_tap_create(mca_btl_base_module_t *module, struct btl_tap **tap)
{
    if (!fault_names("btl.any.")) {
        return ORTE_SUCCESS;
    }
    struct fault_tap *fault = calloc(1, sizeof(*fault));
    if (!fault) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    fault->tap.ops = &ops;
    fault->module = module;
    list_init(&fault->kept);
    *tap = &fault->tap;
    return ORTE_SUCCESS;
}
