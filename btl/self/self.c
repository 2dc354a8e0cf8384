/* self: a process's rail to itself, the smallest module. A message goes straight from the sender's
 * segments to the receive callback; put and get are checked copies. */
#include <config.h>

#include <base/net/sock.h>
#include <base/settings/param.h>
#include <base/types/name.h>
#include <btl/modules/module.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

/* Calls from inside callbacks nest so deep; what comes then waits for progress. */
#define MAX_DEPTH 8
/* Most queued operations that one progress call completes. */
#define PROGRESS_MAX 64
#define SMALL_SIZE 4096
#define MAX_SEND_SIZE 65536
#define MAX_REGIONS 65536
#define BANDWIDTH 10000 /* MB/s, about that of a copy */

static struct param free_list_param =
    PARAM_INT("btl_self_free_list_max", "1024", 1, 1 << 20, "",
              "Most descriptors of each size, and most operations that wait for progress.");
PARAM_ROWS("btl", free_list_param);

struct mca_btl_base_endpoint_t {
    opal_proc_t *proc; /* borrowed */
};

/* An accepted operation that progress has to finish. */
struct self_op {
    struct pool_item item;
    struct list link;
    struct mca_btl_base_endpoint_t *endpoint;
    mca_btl_base_descriptor_t *descriptor; /* NULL: a put or get, whose copy is done */
    uint8_t channel;
    mca_btl_base_tag_t tag;
    struct rdma_call call;
    int status; /* what the copy came to */
};

struct self_module {
    mca_btl_base_module_t super; /* first */
    struct desc_set descs;
    struct region_table *regions;
    struct mca_btl_base_endpoint_t endpoint;
    uint32_t added; /* how often the endpoint was */
    struct pool ops;
    struct list queue; /* of struct self_op, in the order of the calls */
    int depth;         /* how many of our calls, up the stack, are in a callback */
    int lost;          /* the first error of an operation without callback, until the next flush */
    int wait_fd;       /* for who sleeps: made when asked for, else -1 */
};

BTL_MODULE_BEGINS(struct self_module);

extern struct btl_component btl_self_component;

static struct self_module *self_of(mca_btl_base_module_t *btl)
{
    return (struct self_module *) (void *) btl;
}

/* ---- peers ---- */

/* The one peer is this process itself. */
static bool self_reaches(mca_btl_base_module_t *btl, const opal_proc_t *proc)
{
    const struct btl_host *host = btl_host();
    (void) btl;
    return name_equal(&proc->proc_name, &host->ops->me(host->arg)->proc_name);
}

static struct mca_btl_base_endpoint_t *self_add(mca_btl_base_module_t *btl, opal_proc_t *proc)
{
    if (!self_reaches(btl, proc)) {
        return NULL;
    }
    struct mca_btl_base_endpoint_t *endpoint = &self_of(btl)->endpoint;
    endpoint->proc = proc;
    return endpoint;
}

static uint32_t *self_added(mca_btl_base_module_t *btl,
                            const struct mca_btl_base_endpoint_t *endpoint)
{
    struct self_module *self = self_of(btl);
    return endpoint == &self->endpoint ? &self->added : NULL;
}

/* Delivers a message, if it is to be, and completes the operation. */
static void op_finish(struct self_module *self, struct self_op *op, int status)
{
    struct self_op done = *op;
    pool_put(&self->ops, op);
    mca_btl_base_descriptor_t *descriptor = done.descriptor;
    self->depth++;
    if (!descriptor) {
        rdma_call_back(&done.call, &self->super, done.endpoint,
                       status == OPAL_SUCCESS ? done.status : status);
    } else {
        if (status == OPAL_SUCCESS) {
            btl_deliver_on(&self->super, done.endpoint, done.channel, done.tag,
                           descriptor->des_segments, descriptor->des_segment_count);
        }
        desc_complete(&self->super, done.endpoint, desc_of(descriptor), status);
    }
    self->depth--;
}

/* Ends what waits for this endpoint (NULL: for any), once each. */
static void fail_queued(struct self_module *self, struct mca_btl_base_endpoint_t *endpoint)
{
    struct list failed;
    list_init(&failed);
    struct self_op *op;
    list_for_each (op, &self->queue, struct self_op, link) {
        if (!endpoint || op->endpoint == endpoint) {
            list_remove(&op->link);
            list_append(&failed, &op->link);
        }
    }
    for (struct list *link = list_pop(&failed); link; link = list_pop(&failed)) {
        op_finish(self, container_of(link, struct self_op, link), OPAL_ERR_UNREACH);
    }
}

static void self_end(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t **endpoints,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fail_queued(self_of(btl), endpoints[i]);
        btl_pending_end(btl, endpoints[i]);
    }
}

/* ---- messages ---- */

/* Leaves an operation to progress. */
static struct self_op *op_queue(struct self_module *self, struct mca_btl_base_endpoint_t *endpoint)
{
    struct self_op *op = pool_get(&self->ops);
    if (op) {
        memset(op, 0, sizeof(*op));
        op->endpoint = endpoint;
        list_append(&self->queue, &op->link);
    }
    return op;
}

static inline int send_on(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                          mca_btl_base_descriptor_t *descriptor, uint8_t channel,
                          mca_btl_base_tag_t tag)
{
    struct self_module *self = self_of(btl);
    size_t total;
    int status = desc_total(descriptor, btl->btl_max_send_size, &total);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    /* What waits already goes first. */
    if (self->depth >= MAX_DEPTH || !list_empty(&self->queue)) {
        struct self_op *op = op_queue(self, endpoint);
        if (!op) {
            return OPAL_ERR_OUT_OF_RESOURCE;
        }
        op->descriptor = descriptor;
        op->channel = channel;
        op->tag = tag;
        desc_hold(desc_of(descriptor));
        return OPAL_SUCCESS;
    }
    self->depth++;
    btl_deliver_on(btl, endpoint, channel, tag, descriptor->des_segments,
                   descriptor->des_segment_count);
    status = btl_sent(btl, endpoint, descriptor);
    self->depth--;
    return status;
}

static int self_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag)
{
    return send_on(btl, endpoint, descriptor, 0, tag);
}

static int self_channel_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                             mca_btl_base_descriptor_t *descriptor, uint8_t channel,
                             mca_btl_base_tag_t tag)
{
    return send_on(btl, endpoint, descriptor, channel, tag);
}

/* ---- put, get and atomics ---- */

/* Keeps the first error that nobody was called back with, for flush. */
static void lose(struct self_module *self, int status)
{
    if (self->lost == OPAL_SUCCESS) {
        self->lost = status;
    }
}

/* Calls back now, or from progress when the calls are nested too deep. */
static int rdma_complete(struct self_module *self, struct mca_btl_base_endpoint_t *endpoint,
                         const struct rdma_call *call, struct self_op *later, int status)
{
    if (later) {
        later->call = *call;
        later->status = status;
    } else if (call->cbfunc) {
        self->depth++;
        rdma_call_back(call, &self->super, endpoint, status);
        self->depth--;
    } else {
        lose(self, status);
    }
    return OPAL_SUCCESS;
}

static int self_rdma(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     const struct rdma_call *call, bool put)
{
    struct self_module *self = self_of(btl);
    struct self_op *later = NULL;
    if (call->cbfunc && self->depth >= MAX_DEPTH && !(later = op_queue(self, endpoint))) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    struct region_handle handle; /* the caller's copy may lie at any alignment */
    memcpy(&handle, call->remote_handle, sizeof(handle));
    int status;
    void *remote =
        region_access(self->regions, &handle, endpoint, call->remote_address, call->size,
                      put ? MCA_BTL_REG_FLAG_REMOTE_WRITE : MCA_BTL_REG_FLAG_REMOTE_READ, &status);
    if (remote && call->size > 0) {
        memmove(put ? remote : call->local_address, put ? call->local_address : remote, call->size);
    }
    return rdma_complete(self, endpoint, call, later, status);
}

/* Done inside the call, so that only a refusal calls back. */
static int self_atomic(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                       const struct atomic_call *call)
{
    struct self_module *self = self_of(btl);
    const struct rdma_call *rdma = &call->rdma;
    struct region_handle handle;
    memcpy(&handle, rdma->remote_handle, sizeof(handle));
    int status;
    void *word = region_access(self->regions, &handle, endpoint, rdma->remote_address, rdma->size,
                               MCA_BTL_REG_FLAG_REMOTE_ATOMIC, &status);
    if (!word) {
        struct self_op *later = NULL;
        if (rdma->cbfunc && self->depth >= MAX_DEPTH && !(later = op_queue(self, endpoint))) {
            return OPAL_ERR_OUT_OF_RESOURCE;
        }
        return rdma_complete(self, endpoint, rdma, later, status);
    }
    uint64_t before = atomic_apply(word, &call->atomic, rdma->size);
    if (rdma->local_address) {
        atomic_put(rdma->local_address, before, rdma->size);
    }
    return 1;
}

/* ---- keel_btl_ext ---- */

/* Copies are done in the call, so only callbacks are ever late. */
static bool self_rdma_open(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint)
{
    struct self_op *op;
    list_for_each (op, &self_of(btl)->queue, struct self_op, link) {
        if (!op->descriptor && (!endpoint || op->endpoint == endpoint)) {
            return true;
        }
    }
    return false;
}

static int self_rdma_lost(mca_btl_base_module_t *btl)
{
    struct self_module *self = self_of(btl);
    int lost = self->lost;
    self->lost = OPAL_SUCCESS;
    return lost;
}

static enum btl_room self_room(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint)
{
    struct self_module *self = self_of(btl);
    if (endpoint && !pool_has_room(&self->ops)) {
        return BTL_ROOM_NONE;
    }
    enum btl_room room = desc_set_room(&self->descs);
    return endpoint && room == BTL_ROOM_NONE ? BTL_ROOM_UNSEEN : room;
}

static bool self_is_quiet(mca_btl_base_module_t *btl)
{
    return list_empty(&self_of(btl)->queue);
}

/* Only this process's own calls give it work, so a descriptor that is never readable will do. */
static int self_wait_fd(mca_btl_base_module_t *btl)
{
    struct self_module *self = self_of(btl);
    if (self->wait_fd < 0) {
        self->wait_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    return self->wait_fd >= 0 ? self->wait_fd : OPAL_ERR_OUT_OF_RESOURCE;
}

static int self_wait_arm(mca_btl_base_module_t *btl)
{
    return list_empty(&self_of(btl)->queue) ? OPAL_SUCCESS : OPAL_ERR_RESOURCE_BUSY;
}

static const struct btl_ext_ops self_ext = {
    .flags = KEEL_BTL_REMOTE_COMPLETION,
    .atomic_flags = ATOMIC_ALL_EXT_FLAGS,
    .rdma_open = self_rdma_open,
    .rdma_lost = self_rdma_lost,
    .room = self_room,
    .is_quiet = self_is_quiet,
    .wait_fd = self_wait_fd,
    .wait_arm = self_wait_arm,
    .channel_send = self_channel_send,
};

/* ---- the module ---- */

static void self_describe(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                          char *text, size_t size)
{
    (void) endpoint;
    const struct self_module *self = self_of(btl);
    snprintf(text, size, "%zu operations wait, %zu small and %zu large descriptors in use",
             self->ops.in_use, self->descs.classes[0].pool.in_use,
             self->descs.classes[1].pool.in_use);
}

static int self_finalize(mca_btl_base_module_t *btl)
{
    struct self_module *self = self_of(btl);
    fail_queued(self, NULL);
    fd_close(&self->wait_fd);
    desc_set_fini(&self->descs);
    pool_fini(&self->ops);
    region_table_destroy(self->regions);
    free(self);
    return OPAL_SUCCESS;
}

static int self_ft_event(int state)
{
    return btl_component_ft_event(&btl_self_component, state);
}

static const mca_btl_base_module_t self_template = {
    BTL_MODULE_TABLE,
    .btl_component = &btl_self_component.component,
    .btl_eager_limit = SMALL_SIZE,
    .btl_rndv_eager_limit = SMALL_SIZE,
    .btl_max_send_size = MAX_SEND_SIZE,
    .btl_rdma_pipeline_send_length = SIZE_MAX,
    .btl_rdma_pipeline_frag_size = SIZE_MAX,
    .btl_exclusivity = MCA_BTL_EXCLUSIVITY_HIGH,
    .btl_latency = 0,
    .btl_bandwidth = BANDWIDTH,
    .btl_flags = BTL_MODULE_FLAGS | MCA_BTL_FLAGS_SEND_INPLACE,
    .btl_finalize = self_finalize,
    .btl_alloc = btl_alloc,
    .btl_prepare_src = btl_prepare_src,
    .btl_send = self_send,
    .btl_sendi = btl_sendi_by_send,
    .btl_register_mem = btl_register_mem,
    .btl_deregister_mem = btl_deregister_mem,
    .btl_ft_event = self_ft_event,
};

static struct self_module *module_create(void)
{
    struct self_module *self = calloc(1, sizeof(*self));
    if (!self) {
        return NULL;
    }
    self->super = self_template;
    self->wait_fd = -1;
    self->regions = region_table_create(MAX_REGIONS);
    if (!self->regions) {
        free(self);
        return NULL;
    }
    size_t limit = (size_t) param_int(&free_list_param);
    const struct desc_size sizes[] = {
        {.payload = SMALL_SIZE, .limit = limit, .per_chunk = 8},
        {.payload = MAX_SEND_SIZE, .limit = limit, .per_chunk = 2},
    };
    desc_set_init(&self->descs, sizes, 2, 0);
    pool_init(&self->ops, sizeof(struct self_op), _Alignof(struct self_op), 32, limit, NULL, NULL);
    list_init(&self->queue);
    return self;
}

/* ---- the component ---- */

static mca_btl_base_module_t **self_init(int *count, bool progress_threads, bool threads)
{
    (void) progress_threads, (void) threads;
    struct self_module *self = module_create();
    return btl_one_module(self ? &self->super : NULL, count);
}

static int self_progress(mca_btl_base_module_t *btl)
{
    struct self_module *self = self_of(btl);
    int events = 0;
    while (events < PROGRESS_MAX && !list_empty(&self->queue)) {
        struct list *link = list_pop(&self->queue);
        op_finish(self, container_of(link, struct self_op, link), OPAL_SUCCESS);
        events++;
    }
    return events;
}

static void self_devices(keel_device_fn visit, void *arg)
{
    visit(arg,
          &(struct keel_device){
              .name = "loopback", .address = "", .about = "within the process", .numa_node = -1});
}

struct btl_component btl_self_component = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("self")},
                  .btl_init = self_init,
                  .btl_progress = btl_progress},
    /* No restart: what is queued lies in this process's own memory, and nothing is published. */
    .progress = self_progress,
    .reaches = self_reaches,
    .add = self_add,
    .added = self_added,
    .end = self_end,
    .describe = self_describe,
    .rdma = self_rdma,
    .atomic = self_atomic,
    .ext = &self_ext,
    .devices = self_devices,
};
