#include <config.h>

#include <base/fault.h>
#include <base/log.h>
#include <btl/ofi/ofi_native.h>
#include <btl/ofi/ofi_rdma.h>
#include <stdlib.h>
#include <string.h>

enum { PER_CHUNK = 128 };

/* Beside the region of the same index. Never moves: owners keep pointers to the handle. */
struct registration {
    struct ofi_handle handle;
    mca_btl_base_registration_handle_t *region; /* the table's; NULL: free */
    struct fid_mr *mr;                          /* NULL: over sends only */
    uint32_t flags;
};

struct ofi_regions {
    uint32_t limit;
    struct registration **chunks;
};

struct ofi_regions *ofi_regions_create(uint32_t limit)
{
    struct ofi_regions *regions = calloc(1, sizeof(*regions));

    if (!regions) {
        return NULL;
    }
    regions->limit = limit;
    regions->chunks = calloc(limit / PER_CHUNK + 1, sizeof(struct registration *));
    if (!regions->chunks) {
        free(regions);
        return NULL;
    }
    return regions;
}

static struct registration *registration_at(const struct ofi_regions *regions, uint32_t index)
{
    struct registration *chunk = index < regions->limit ? regions->chunks[index / PER_CHUNK] : NULL;

    return chunk ? &chunk[index % PER_CHUNK] : NULL;
}

static struct registration *registration_make(struct ofi_regions *regions, uint32_t index)
{
    struct registration **chunk = &regions->chunks[index / PER_CHUNK];

    if (!*chunk) {
        *chunk = calloc(PER_CHUNK, sizeof(**chunk));
    }
    return registration_at(regions, index);
}

static void mr_close(struct registration *registration)
{
    if (registration->mr) {
        fi_close(&registration->mr->fid);
        registration->mr = NULL;
    }
}

/* Calls visit for each registration in use. */
static void each(struct ofi_module *ofi, void (*visit)(struct ofi_module *, struct registration *))
{
    for (uint32_t index = 0; index < ofi->native->limit; index += PER_CHUNK) {
        struct registration *chunk = ofi->native->chunks[index / PER_CHUNK];
        for (uint32_t i = 0; chunk && i < PER_CHUNK; i++) {
            if (chunk[i].region) {
                visit(ofi, &chunk[i]);
            }
        }
    }
}

void ofi_regions_destroy(struct ofi_regions *regions)
{
    if (!regions) {
        return;
    }
    for (uint32_t chunk = 0; chunk < regions->limit / PER_CHUNK + 1; chunk++) {
        for (uint32_t i = 0; regions->chunks[chunk] && i < PER_CHUNK; i++) {
            mr_close(&regions->chunks[chunk][i]);
        }
        free(regions->chunks[chunk]);
    }
    free(regions->chunks);
    free(regions);
}

/* ---- registering ---- */

static bool keys_are_mine(const struct ofi_fabric *fabric)
{
    return !(fabric->info->domain_attr->mr_mode & FI_MR_PROV_KEY);
}

static uint64_t key_of(const struct region_handle *region)
{
    return (uint64_t) region->generation << 32 | region->index;
}

/* The provider's registration. Without one the region is served over sends. */
static void mr_open(struct ofi_module *ofi, struct registration *registration)
{
    struct ofi_fabric *fabric = &ofi->fabric;
    struct ofi_handle *handle = &registration->handle;
    uint32_t flags = registration->flags;
    bool reads = flags & MCA_BTL_REG_FLAG_REMOTE_READ,
         writes = flags & MCA_BTL_REG_FLAG_REMOTE_WRITE;
    uint64_t access =
        FI_READ | FI_WRITE | (reads ? FI_REMOTE_READ : 0) | (writes ? FI_REMOTE_WRITE : 0);

    handle->uses = 0;
    handle->key = 0;
    int rc =
        fi_mr_reg(fabric->domain, (void *) (uintptr_t) handle->region.base, handle->region.size,
                  access, 0, key_of(&handle->region), 0, &registration->mr, NULL);
    if (rc == 0 && (fabric->info->domain_attr->mr_mode & FI_MR_ENDPOINT)) {
        rc = fi_mr_bind(registration->mr, &fabric->ep->fid, 0);
        rc = rc == 0 ? fi_mr_enable(registration->mr) : rc;
    }
    if (rc != 0) {
        log_debug(LOG_BTL, "ofi: registering memory: %s", ofi_strerror(fabric, rc));
        mr_close(registration);
        return;
    }
    handle->key = fi_mr_key(registration->mr);
    handle->uses =
        (reads ? OFI_USE_READ : 0) | (writes ? OFI_USE_WRITE : 0) |
        (reads && writes && (flags & MCA_BTL_REG_FLAG_REMOTE_ATOMIC) ? OFI_USE_ATOMIC : 0);
}

mca_btl_base_registration_handle_t *ofi_native_register(struct ofi_module *ofi,
                                                        ofi_endpoint *endpoint, void *base,
                                                        size_t size, uint32_t flags)
{
    mca_btl_base_registration_handle_t *region =
        region_add(ofi->regions, endpoint, base, size, flags);
    struct region_handle flat;

    if (!region) {
        return NULL;
    }
    memcpy(&flat, region, sizeof(flat));
    struct registration *registration = registration_make(ofi->native, flat.index);
    if (!registration) {
        (void) region_remove(ofi->regions, region);
        return NULL;
    }
    *registration = (struct registration){
        .handle.region = flat,
        .region = region,
        .flags = flags,
    };
    /* Providers do not know who asks. */
    if (!endpoint || endpoint == MCA_BTL_ENDPOINT_ANY) {
        mr_open(ofi, registration);
    }
    return (mca_btl_base_registration_handle_t *) &registration->handle;
}

int ofi_native_deregister(struct ofi_module *ofi, mca_btl_base_registration_handle_t *handle)
{
    const struct ofi_handle *flat = (const struct ofi_handle *) handle;
    struct registration *registration =
        flat ? registration_at(ofi->native, flat->region.index) : NULL;

    if (!registration || flat != &registration->handle || !registration->region) {
        return OPAL_ERR_BAD_PARAM;
    }
    mr_close(registration);
    int status = region_remove(ofi->regions, registration->region);
    registration->region = NULL;
    return status;
}

static void registration_shut(struct ofi_module *ofi, struct registration *registration)
{
    (void) ofi;
    mr_close(registration);
}

void ofi_native_shut(struct ofi_module *ofi)
{
    each(ofi, registration_shut);
}

static void registration_again(struct ofi_module *ofi, struct registration *registration)
{
    if (registration->handle.uses != 0) {
        mr_open(ofi, registration);
    }
}

void ofi_native_again(struct ofi_module *ofi)
{
    each(ofi, registration_again);
}

/* ---- operations ---- */

static const struct {
    uint32_t op;
    enum fi_op fabric_op;
} atomic_ops[] = {
    {MCA_BTL_ATOMIC_ADD, FI_SUM},  {MCA_BTL_ATOMIC_AND, FI_BAND}, {MCA_BTL_ATOMIC_OR, FI_BOR},
    {MCA_BTL_ATOMIC_XOR, FI_BXOR}, {ATOMIC_CSWAP, FI_CSWAP},
};
enum { ATOMIC_OPS = sizeof(atomic_ops) / sizeof(*atomic_ops) };

bool ofi_native_has_atomics(const struct ofi_fabric *fabric)
{
    for (size_t i = 0; i < ATOMIC_OPS; i++) {
        struct fi_atomic_attr attr;
        uint64_t how = atomic_ops[i].op == ATOMIC_CSWAP ? FI_COMPARE_ATOMIC : FI_FETCH_ATOMIC;
        if (fi_query_atomic(fabric->domain, FI_UINT64, atomic_ops[i].fabric_op, &attr, how) != 0 ||
            attr.count == 0 || attr.size != ATOMIC_BYTES) {
            return false;
        }
    }
    return !ofi_fabric_wants_local(fabric);
}

bool ofi_native_can(const struct ofi_module *ofi, const struct ofi_rdma *rdma)
{
    uint32_t use = rdma->atomic ? OFI_USE_ATOMIC : rdma->put ? OFI_USE_WRITE : OFI_USE_READ;

    return ofi->native && (!rdma->atomic || ofi->native_atomics) && (rdma->handle.uses & use) &&
           rdma->size > 0 && rdma->size <= ofi->fabric.info->ep_attr->max_msg_size;
}

/* The local memory's descriptor: from its own registration, or a temporary one. */
static int local_desc(struct ofi_module *ofi, struct ofi_tx *tx, const struct ofi_rdma *rdma,
                      void **desc)
{
    const struct ofi_handle *handle = (const struct ofi_handle *) rdma->local_handle;
    struct registration *registration =
        handle ? registration_at(ofi->native, handle->region.index) : NULL;

    *desc = NULL;
    if (!ofi_fabric_wants_local(&ofi->fabric)) {
        return 0;
    }
    if (registration && registration->mr && handle == &registration->handle &&
        region_handle_covers(&handle->region, (uint64_t) (uintptr_t) rdma->local, rdma->size)) {
        *desc = fi_mr_desc(registration->mr);
        return 0;
    }
    int rc = fi_mr_reg(ofi->fabric.domain, rdma->local, rdma->size, FI_READ | FI_WRITE, 0, 0, 0,
                       &tx->temporary, NULL);
    if (rc == 0) {
        *desc = fi_mr_desc(tx->temporary);
    }
    return rc;
}

static ssize_t start_transfer(struct ofi_module *ofi, struct ofi_peer *peer, struct ofi_tx *tx,
                              const struct ofi_rdma *rdma, uint64_t address)
{
    void *desc;
    int rc = local_desc(ofi, tx, rdma, &desc);
    struct iovec iov = {rdma->local, rdma->size};
    struct fi_rma_iov remote = {.addr = address, .len = rdma->size, .key = rdma->handle.key};
    struct fi_msg_rma message = {
        .msg_iov = &iov,
        .desc = &desc,
        .iov_count = 1,
        .addr = peer->address,
        .rma_iov = &remote,
        .rma_iov_count = 1,
        .context = &tx->op.context,
    };

    if (rc != 0) {
        return rc;
    }
    /* A put is complete when the target's processor sees it. */
    return rdma->put ? fi_writemsg(ofi->fabric.ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE)
                     : fi_readmsg(ofi->fabric.ep, &message, FI_COMPLETION);
}

static ssize_t start_atomic(struct ofi_module *ofi, struct ofi_peer *peer, struct ofi_tx *tx,
                            const struct ofi_rdma *rdma, uint64_t address)
{
    enum fi_op op = FI_SUM;

    for (size_t i = 0; i < ATOMIC_OPS; i++) {
        op = atomic_ops[i].op == rdma->atomic->op ? atomic_ops[i].fabric_op : op;
    }
    if (rdma->atomic->op == ATOMIC_CSWAP) {
        tx->compare = rdma->atomic->operand;
        tx->operand = rdma->atomic->value;
        return fi_compare_atomic(ofi->fabric.ep, &tx->operand, 1, NULL, &tx->compare, NULL,
                                 &tx->result, NULL, peer->address, address, rdma->handle.key,
                                 FI_UINT64, op, &tx->op.context);
    }
    tx->operand = rdma->atomic->operand;
    return fi_fetch_atomic(ofi->fabric.ep, &tx->operand, 1, NULL, &tx->result, NULL, peer->address,
                           address, rdma->handle.key, FI_UINT64, op, &tx->op.context);
}

/* Whether the handle is what its owner was given, as far as that shows. */
static int handle_check(const struct ofi_module *ofi, const struct ofi_rdma *rdma)
{
    const struct ofi_handle *handle = &rdma->handle;

    if (!(handle->region.generation & 1) || handle->zero != 0 ||
        (keys_are_mine(&ofi->fabric) && handle->key != key_of(&handle->region))) {
        return OPAL_ERR_PERM;
    }
    return region_handle_covers(&handle->region, rdma->remote, rdma->size)
               ? OPAL_SUCCESS
               : OPAL_ERR_VALUE_OUT_OF_BOUNDS;
}

int ofi_native_start(struct ofi_module *ofi, struct ofi_peer *peer, const struct ofi_rdma *rdma)
{
    int status = handle_check(ofi, rdma);
    struct ofi_tx *tx = status == OPAL_SUCCESS ? ofi_tx_get(ofi, peer, OFI_OP_RDMA) : NULL;

    if (!tx) {
        return status == OPAL_SUCCESS ? OPAL_ERR_OUT_OF_RESOURCE : status;
    }
    bool is_virtual = ofi->fabric.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
    uint64_t address = is_virtual ? rdma->remote : rdma->remote - rdma->handle.region.base;
    tx->local = rdma->local;
    tx->atomic = rdma->atomic != NULL;
    tx->local_handle = rdma->local_handle;
    tx->cbfunc = rdma->cbfunc;
    tx->cbcontext = rdma->cbcontext;
    tx->cbdata = rdma->cbdata;
    struct fault fault = fault_at("btl.ofi.rdma");
    ssize_t rc = fault.action == FAULT_ERROR ? -fault.value
                 : rdma->atomic              ? start_atomic(ofi, peer, tx, rdma, address)
                                             : start_transfer(ofi, peer, tx, rdma, address);
    if (rc == 0) {
        ofi->operations++;
        peer->operations++;
        return OPAL_SUCCESS;
    }
    if (tx->temporary) {
        fi_close(&tx->temporary->fid);
    }
    ofi_tx_put(ofi, tx);
    return ofi_refused(ofi, peer, rc);
}

/* ---- completion ---- */

static void call_back(struct ofi_module *ofi, struct ofi_tx *tx, struct ofi_peer *peer, int status)
{
    struct ofi_tx done = *tx;

    ofi->operations--;
    peer->operations--;
    ofi_endpoint *endpoint = peer->endpoint;
    if (done.cbfunc) {
        done.cbfunc(&ofi->super, endpoint, done.local, done.local_handle, done.cbcontext,
                    done.cbdata, status);
    } else {
        rdma_am_lose(&peer->am, status);
    }
}

void ofi_rdma_completed(struct ofi_module *ofi, struct ofi_tx *tx, int status)
{
    struct ofi_tx done = *tx;

    if (done.temporary) {
        fi_close(&done.temporary->fid);
    }
    ofi_tx_put(ofi, tx);
    if (!done.peer) {
        return;
    }
    if (done.atomic && done.local && status == OPAL_SUCCESS) {
        memcpy(done.local, &done.result, sizeof(done.result));
    }
    call_back(ofi, &done, done.peer, status);
}

void ofi_rdma_abandon(struct ofi_module *ofi, struct ofi_tx *tx, struct ofi_peer *peer, int status)
{
    call_back(ofi, tx, peer, status);
}
