#include <config.h>

#include <base/data/clock.h>
#include <base/settings/fault.h>
#include <base/settings/log.h>
#include <btl/ofi/ofi_native.h>
#include <btl/ofi/ofi_send.h>
#include <string.h>

enum { SMALL = 4096 }; /* bytes that are copied */

/* The words of an atomic, in a descriptor's payload; of 4 bytes the first ones of each. */
struct words {
    uint64_t operand, compare, result;
};

static const struct atomic_op {
    uint32_t op;
    enum fi_op fabric_op;
    enum fi_datatype narrow, wide;
} atomic_ops[] = {
    {MCA_BTL_ATOMIC_ADD, FI_SUM, FI_UINT32, FI_UINT64},
    {MCA_BTL_ATOMIC_AND, FI_BAND, FI_UINT32, FI_UINT64},
    {MCA_BTL_ATOMIC_OR, FI_BOR, FI_UINT32, FI_UINT64},
    {MCA_BTL_ATOMIC_XOR, FI_BXOR, FI_UINT32, FI_UINT64},
    {MCA_BTL_ATOMIC_SWAP, FI_ATOMIC_WRITE, FI_UINT32, FI_UINT64},
    {MCA_BTL_ATOMIC_MIN, FI_MIN, FI_INT32, FI_INT64},
    {MCA_BTL_ATOMIC_MAX, FI_MAX, FI_INT32, FI_INT64},
    {ATOMIC_CSWAP, FI_CSWAP, FI_UINT32, FI_UINT64},
};
enum { ATOMIC_OPS = sizeof(atomic_ops) / sizeof(*atomic_ops) };

static bool has_atomic(const struct fabric *fabric, const struct atomic_op *op,
                       enum fi_datatype type, size_t size)
{
    struct fi_atomic_attr attr;
    uint64_t how = op->op == ATOMIC_CSWAP ? FI_COMPARE_ATOMIC : FI_FETCH_ATOMIC;

    return fi_query_atomic(fabric->domain, type, op->fabric_op, &attr, how) == 0 &&
           attr.count > 0 && attr.size == size;
}

bool ofi_native_has_atomics(const struct fabric *fabric)
{
    for (const struct atomic_op *op = atomic_ops; op < atomic_ops + ATOMIC_OPS; op++) {
        if (!has_atomic(fabric, op, op->narrow, sizeof(uint32_t)) ||
            !has_atomic(fabric, op, op->wide, sizeof(uint64_t))) {
            return false;
        }
    }
    return true;
}

bool ofi_native_can(const struct ofi_module *ofi, const struct ofi_rdma *rdma)
{
    uint32_t use = rdma->atomic ? OFI_USE_ATOMIC : rdma->put ? OFI_USE_WRITE : OFI_USE_READ;

    return ofi->native.regions && (!rdma->atomic || ofi->native.atomics) &&
           (rdma->handle.uses & use) && rdma->call->size > 0 &&
           rdma->call->size <= ofi->fabric.info->ep_attr->max_msg_size;
}

/* ---- local memory ---- */

static uint8_t *copy_of(const struct ofi_tx *tx)
{
    return desc_of(tx->copy)->payload;
}

/* Small: a copy of the module's own. */
static int copy_take(struct ofi_module *ofi, struct ofi_tx *tx, const struct ofi_rdma *rdma)
{
    size_t size = rdma->atomic ? sizeof(struct words) : rdma->call->size;

    tx->copy = desc_alloc(&ofi->descs, MCA_BTL_NO_ORDER, size, 0);
    if (!tx->copy) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (rdma->put) {
        memcpy(copy_of(tx), rdma->call->local_address, size);
    }
    return OPAL_SUCCESS;
}

/* The caller's memory, under its registration or one that lasts as long as the operation. */
static int memory_take(struct ofi_module *ofi, struct ofi_tx *tx, const struct rdma_call *call)
{
    if (!fabric_wants_local(&ofi->fabric)) {
        return OPAL_SUCCESS;
    }
    struct fabric_mr *mr = ofi_region_mr(ofi, call->local_handle, call->local_address, call->size);
    tx->mr = mr ? fabric_mr_hold(mr)
                : fabric_mr_open(&ofi->fabric, call->local_address, call->size, FI_READ | FI_WRITE,
                                 ++ofi->native.last_key);
    return tx->mr ? OPAL_SUCCESS : OPAL_ERR_OUT_OF_RESOURCE;
}

static int local_take(struct ofi_module *ofi, struct ofi_tx *tx, const struct ofi_rdma *rdma)
{
    return rdma->call->size <= SMALL ? copy_take(ofi, tx, rdma) : memory_take(ofi, tx, rdma->call);
}

static void put_back(struct ofi_module *ofi, struct ofi_tx *tx)
{
    if (tx->copy) {
        desc_free(tx->copy);
    }
    fabric_mr_release(tx->mr);
    list_remove(&tx->by_age);
    ofi_tx_put(ofi, tx);
}

/* ---- starting ---- */

static ssize_t start_transfer(struct ofi_module *ofi, ofi_endpoint *peer, struct ofi_tx *tx,
                              const struct ofi_rdma *rdma, uint64_t address)
{
    const struct rdma_call *call = rdma->call;
    void *desc = tx->copy ? ofi->fabric.memory_desc : tx->mr ? fi_mr_desc(tx->mr->mr) : NULL;
    struct iovec iov = {tx->copy ? copy_of(tx) : call->local_address, call->size};
    struct fi_rma_iov remote = {.addr = address, .len = call->size, .key = rdma->handle.key};
    struct fi_msg_rma message = {
        .msg_iov = &iov,
        .desc = &desc,
        .iov_count = 1,
        .addr = peer->address,
        .rma_iov = &remote,
        .rma_iov_count = 1,
        .context = &tx->op.context,
    };

    /* A put is complete when the target's processor sees it. */
    return rdma->put ? fi_writemsg(ofi->fabric.ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE)
                     : fi_readmsg(ofi->fabric.ep, &message, FI_COMPLETION);
}

static ssize_t start_atomic(struct ofi_module *ofi, ofi_endpoint *peer, struct ofi_tx *tx,
                            const struct ofi_rdma *rdma, uint64_t address)
{
    struct words *words = (struct words *) (void *) copy_of(tx);
    void *desc = ofi->fabric.memory_desc;
    size_t size = rdma->call->size;
    const struct atomic_op *op = atomic_ops;

    while (op->op != rdma->atomic->op) { /* it is one that every module knows */
        op++;
    }
    enum fi_datatype type = size == sizeof(uint32_t) ? op->narrow : op->wide;
    if (op->op == ATOMIC_CSWAP) {
        atomic_put(&words->compare, rdma->atomic->operand, size);
        atomic_put(&words->operand, rdma->atomic->value, size);
        return fi_compare_atomic(ofi->fabric.ep, &words->operand, 1, desc, &words->compare, desc,
                                 &words->result, desc, peer->address, address, rdma->handle.key,
                                 type, op->fabric_op, &tx->op.context);
    }
    atomic_put(&words->operand, rdma->atomic->operand, size);
    return fi_fetch_atomic(ofi->fabric.ep, &words->operand, 1, desc, &words->result, desc,
                           peer->address, address, rdma->handle.key, type, op->fabric_op,
                           &tx->op.context);
}

static ssize_t start(struct ofi_module *ofi, ofi_endpoint *peer, struct ofi_tx *tx,
                     const struct ofi_rdma *rdma)
{
    bool is_virtual = ofi->fabric.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
    uint64_t address = rdma->call->remote_address;
    struct fault fault = fault_at("btl.ofi.rdma");

    if (fault.action == FAULT_ERROR) {
        return -fault.value;
    }
    if (!is_virtual) {
        address -= rdma->handle.region.base;
    }
    return rdma->atomic ? start_atomic(ofi, peer, tx, rdma, address)
                        : start_transfer(ofi, peer, tx, rdma, address);
}

/* The provider did not take it: again later, but not for ever. */
static int refused(struct ofi_module *ofi, ofi_endpoint *peer, ssize_t rc)
{
    int status = ofi_refused(ofi, peer, rc);

    if (status != OPAL_ERR_OUT_OF_RESOURCE) {
        return status;
    }
    uint64_t now_us = clock_us();
    if (peer->full_since_us == 0) {
        peer->full_since_us = now_us;
    }
    return now_us - peer->full_since_us < ofi->params.rma_us ? status : OPAL_ERR_TIMEOUT;
}

int ofi_native_start(struct ofi_module *ofi, ofi_endpoint *peer, const struct ofi_rdma *rdma)
{
    struct ofi_tx *tx = ofi_tx_get(ofi, peer, OFI_OP_RDMA);

    if (!tx) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    tx->call = *rdma->call;
    tx->atomic = rdma->atomic != NULL;
    tx->put = rdma->put;
    list_init(&tx->by_age);
    int status = local_take(ofi, tx, rdma);
    ssize_t rc = status == OPAL_SUCCESS ? start(ofi, peer, tx, rdma) : 0;
    if (status != OPAL_SUCCESS || rc != 0) {
        put_back(ofi, tx);
        return status != OPAL_SUCCESS ? status : refused(ofi, peer, rc);
    }
    peer->full_since_us = 0;
    tx->deadline_us = clock_us() + ofi->params.rma_us;
    list_append(&ofi->native.by_age, &tx->by_age);
    ofi->operations++;
    peer->operations++;
    return OPAL_SUCCESS;
}

/* ---- the end ---- */

static void call_back(struct ofi_module *ofi, const struct rdma_call *call, ofi_endpoint *peer,
                      int status)
{
    ofi->operations--;
    peer->operations--;
    if (call->cbfunc) {
        rdma_call_back(call, &ofi->super, peer, status);
    } else {
        rdma_am_lose(&peer->am, status);
    }
}

/* What was fetched, to where the caller wants it. */
static void deliver(const struct ofi_tx *tx)
{
    if (tx->atomic && tx->call.local_address) {
        memcpy(tx->call.local_address, copy_of(tx) + offsetof(struct words, result), tx->call.size);
    } else if (tx->copy && !tx->put && !tx->atomic) {
        memcpy(tx->call.local_address, copy_of(tx), tx->call.size);
    }
}

void ofi_native_completed(struct ofi_module *ofi, struct ofi_tx *tx, int status)
{
    const struct rdma_call call = tx->call;
    ofi_endpoint *peer = tx->peer;

    if (peer && status == OPAL_SUCCESS) {
        deliver(tx);
    }
    put_back(ofi, tx);
    if (peer) {
        call_back(ofi, &call, peer, status);
    }
}

void ofi_native_abandon(struct ofi_module *ofi, struct ofi_tx *tx, ofi_endpoint *peer, int status)
{
    list_remove(&tx->by_age);
    call_back(ofi, &tx->call, peer, status);
}

bool ofi_native_is_exposed(const struct ofi_module *ofi, const struct ofi_tx *tx)
{
    return ofi->fabric.ep && tx->op.kind == OFI_OP_RDMA && !tx->copy && !tx->put;
}

static void expire(struct ofi_module *ofi, struct ofi_tx *tx)
{
    unsigned held = 0;

    if (log_rate_ok("ofi expire", &held)) {
        log_info(LOG_BTL, "ofi: %s: %s of %zu bytes did not end in time (%u more)",
                 ORTE_NAME_PRINT(&tx->peer->life.name),
                 tx->atomic ? "an atomic"
                 : tx->put  ? "a put"
                            : "a get",
                 tx->call.size, held);
    }
    if (ofi_native_is_exposed(ofi, tx)) {
        ofi_shut(ofi, "its provider does not end a get");
    }
    tx->peer->abandoned = true;
    ofi_send_abandon(ofi, tx, OPAL_ERR_TIMEOUT);
}

int ofi_native_expire(struct ofi_module *ofi)
{
    int events = 0;

    for (uint64_t now_us = clock_us(); !list_empty(&ofi->native.by_age); events++) {
        struct ofi_tx *tx = container_of(ofi->native.by_age.next, struct ofi_tx, by_age);
        if (tx->deadline_us > now_us) {
            break;
        }
        expire(ofi, tx);
    }
    return events;
}
