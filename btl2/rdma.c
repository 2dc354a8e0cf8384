/* put and get. One of 2.0 moves the bytes of its source segments to its destination segments; it
 * becomes operations of 3.0, one for each stretch that lies together at both ends and is within the
 * module's limit. They start together, as far as there is room, and go on when there is some again.
 */
#include <config.h>

#include <base/data/least.h>
#include <btl/lock/lock.h>
#include <btl2/adapter.h>
#include <string.h>

/* A position in segments. */
struct place {
    const mca_btl2_base_segment_t *segments;
    size_t count, index;
    uint32_t offset; /* in segments[index] */
};

struct op {
    struct btl2_desc *desc;
    struct mca_btl_base_endpoint_t *endpoint;
    struct place local, remote;
    unsigned open; /* stretches under way, and one for what is still to be started */
    int status;    /* the first error */
    bool put;
    bool started; /* a stretch was */
    struct keel_btl_pending room;
};

const size_t btl2_op_size = sizeof(struct op);

/* ---- segments ---- */

/* Moves on to the next byte; false: there is none. */
static bool place_settle(struct place *place)
{
    while (place->index < place->count && place->offset == place->segments[place->index].seg_len) {
        place->index++;
        place->offset = 0;
    }
    return place->index < place->count;
}

static uint32_t place_left(const struct place *place)
{
    return place->segments[place->index].seg_len - place->offset;
}

static uint64_t total(const mca_btl2_base_segment_t *segments, size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += segments[i].seg_len;
    }
    return sum;
}

/* ---- the end ---- */

/* One of what op counts as open is over. */
static void op_end(struct op *op, int status)
{
    struct btl2_desc *desc = op->desc;

    if (status < 0 && op->status == OPAL_SUCCESS) {
        op->status = status;
    }
    if (--op->open > 0) {
        return;
    }
    struct mca_btl_base_endpoint_t *endpoint = op->endpoint;
    status = op->status;
    pool_put(&desc->module->ops, op);
    desc->accesses--;
    btl2_complete(desc, endpoint, status);
}

static void stretch_done(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                         void *address, mca_btl_base_registration_handle_t *handle, void *context,
                         void *data, int status)
{
    (void) btl, (void) endpoint, (void) address, (void) handle, (void) data;
    op_end(context, status);
}

/* ---- stretches ---- */

/* The handle of local memory, where prepare made one. */
static mca_btl_base_registration_handle_t *local_handle(const struct btl2_desc *desc,
                                                        const void *address, size_t size)
{
    for (size_t i = 0; i < BTL2_MINE; i++) {
        if (desc->regions[i] && btl2_region_covers(desc->regions[i], address, size)) {
            return desc->regions[i]->handle;
        }
    }
    return NULL;
}

static int start_stretch(struct op *op, size_t size)
{
    mca_btl_base_module_t *btl = op->desc->module->btl;
    const mca_btl2_base_segment_t *mine = &op->local.segments[op->local.index];
    const mca_btl2_base_segment_t *theirs = &op->remote.segments[op->remote.index];
    uint64_t handle[MCA_BTL_REG_HANDLE_MAX_SIZE / sizeof(uint64_t)];
    char *address = (char *) mine->seg_addr.pval + op->local.offset;

    btl_handle_of(btl, theirs->seg_key.key64, theirs->seg_addr.lval, theirs->seg_len, handle);
    return (op->put ? btl->btl_put : btl->btl_get)(
        btl, op->endpoint, address, theirs->seg_addr.lval + op->remote.offset,
        local_handle(op->desc, address, size), (void *) handle, size, 0, op->desc->super.order,
        stretch_done, op, NULL);
}

/* Starts what is left; a status below 0: not all of it was. */
static int op_advance(struct op *op)
{
    const mca_btl_base_module_t *btl = op->desc->module->btl;
    size_t limit = op->put ? btl->btl_put_limit : btl->btl_get_limit;

    while (place_settle(&op->local) && place_settle(&op->remote)) {
        size_t size = least(least(place_left(&op->local), place_left(&op->remote)), limit);
        op->open++; /* its callback may come before the call returns */
        int status = start_stretch(op, size);
        if (status != OPAL_SUCCESS) { /* 1: done without a callback */
            op->open--;
        }
        if (status < 0) {
            return status;
        }
        op->started = true;
        op->local.offset += (uint32_t) size;
        op->remote.offset += (uint32_t) size;
    }
    return OPAL_SUCCESS;
}

static void op_wait(struct op *op);

/* What was to be started is, or there is no more to be. */
static void op_started(struct op *op, int status)
{
    if (btl_is_shortage(status)) {
        op_wait(op);
    } else {
        op_end(op, status);
    }
}

static void room_again(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                       struct keel_btl_pending *pending, int status)
{
    (void) btl, (void) endpoint;
    struct op *op = pending->arg;
    op_started(op, status == OPAL_SUCCESS ? op_advance(op) : status);
}

/* Goes on from progress. */
static void op_wait(struct op *op)
{
    struct btl2_module *module = op->desc->module;

    op->room = (struct keel_btl_pending){.ready = room_again, .arg = op};
    int status = module->ext->pending_add(module->btl, op->endpoint, &op->room);
    if (status != OPAL_SUCCESS) {
        op_end(op, status);
    }
}

/* ---- the calls ---- */

static int check(const struct btl2_module *module, mca_btl2_base_descriptor_t *descriptor)
{
    const uint32_t matched = module->super.btl_flags & MCA_BTL2_FLAGS_RDMA_MATCHED;

    if (!descriptor || btl2_desc_of(descriptor)->module != module ||
        descriptor->des_src_cnt > MCA_BTL2_DES_MAX_SEGMENTS ||
        descriptor->des_dst_cnt > MCA_BTL2_DES_MAX_SEGMENTS ||
        total(descriptor->des_src, descriptor->des_src_cnt) !=
            total(descriptor->des_dst, descriptor->des_dst_cnt)) {
        return OPAL_ERR_BAD_PARAM;
    }
    return matched && btl2_desc_of(descriptor)->accesses > 0 ? OPAL_ERR_RESOURCE_BUSY
                                                             : OPAL_SUCCESS;
}

static int start(struct btl2_module *module, struct mca_btl_base_endpoint_t *endpoint,
                 mca_btl2_base_descriptor_t *descriptor, bool put)
{
    struct place src = {descriptor->des_src, descriptor->des_src_cnt, 0, 0};
    struct place dst = {descriptor->des_dst, descriptor->des_dst_cnt, 0, 0};
    struct btl2_desc *desc = btl2_desc_of(descriptor);
    struct op *op = pool_get(&module->ops);

    if (!op) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    *op = (struct op){
        .desc = desc,
        .endpoint = endpoint,
        .local = put ? src : dst,
        .remote = put ? dst : src,
        .open = 1,
        .put = put,
    };
    desc->holds++;
    desc->accesses++;
    int status = op_advance(op);
    if (status < 0 && !op->started) {
        pool_put(&module->ops, op);
        desc->holds--;
        desc->accesses--;
        return status;
    }
    if (op->started) {
        op_started(op, status);
    } else {
        op_wait(op); /* no bytes: calls back from progress */
    }
    return OPAL_SUCCESS;
}

static int access_memory(mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
                         mca_btl2_base_descriptor_t *descriptor, bool put)
{
    btl_lock();
    int status = check(btl2_of(btl), descriptor);
    if (status == OPAL_SUCCESS) {
        status = start(btl2_of(btl), btl2_inner(endpoint), descriptor, put);
    }
    btl_unlock();
    return status;
}

int btl2_put(mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
             mca_btl2_base_descriptor_t *descriptor)
{
    return access_memory(btl, endpoint, descriptor, true);
}

int btl2_get(mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
             mca_btl2_base_descriptor_t *descriptor)
{
    return access_memory(btl, endpoint, descriptor, false);
}
