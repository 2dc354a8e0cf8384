#include <tests/unit/btl/check/mock.h>

#include <base/settings/log.h>
#include <base/settings/param.h>
#include <btl/check/check.h>
#include <btl/interface/atomic.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

#define MOCK_LIMIT 1000

struct mca_btl_base_endpoint_t {
    opal_proc_t *proc;
};

struct mock_desc {
    mca_btl_base_descriptor_t base;
    mca_btl_base_segment_t segments[2];
    struct mca_btl_base_endpoint_t *endpoint;
    unsigned char bytes[MOCK_LIMIT];
};

char last_report[512];
static unsigned lines;

static void keep_line(void *arg, enum log_level level, const char *line)
{
    (void) arg;
    if (level == LOG_ERROR) {
        lines++;
        strncpy(last_report, line, sizeof(last_report) - 1);
    }
}

unsigned reports(void)
{
    unsigned count = lines;
    lines = 0;
    return count;
}

static struct mock *mock_of(mca_btl_base_module_t *btl)
{
    return (struct mock *) (void *) btl;
}

static bool does(mca_btl_base_module_t *btl, enum mock_fault fault)
{
    return mock_of(btl)->fault == fault;
}

static void *keep(struct mock *mock, size_t size)
{
    ck_assert_uint_lt(mock->made_count, sizeof(mock->made) / sizeof(*mock->made));
    void *made = calloc(1, size);
    ck_assert_ptr_nonnull(made);
    mock->made[mock->made_count++] = made;
    return made;
}

static int mock_add_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                          struct mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && does(btl, GIVES_ONE_ENDPOINT)) {
            endpoints[i] = endpoints[0];
            continue;
        }
        endpoints[i] = keep(mock_of(btl), sizeof(**endpoints));
        endpoints[i]->proc = procs[i];
        if (reachable && !does(btl, SETS_NO_BIT)) {
            opal_bitmap_set_bit(reachable, (int) i);
        }
    }
    return OPAL_SUCCESS;
}

static struct mock_desc *desc_of_mock(mca_btl_base_descriptor_t *descriptor)
{
    return (struct mock_desc *) (void *) descriptor;
}

void mock_progress(struct mock *mock)
{
    mca_btl_base_descriptor_t *done = mock->queued;
    mock->queued = NULL;
    if (done) {
        btl_complete(&mock->super, desc_of_mock(done)->endpoint, done, OPAL_SUCCESS);
        if (mock->fault == CALLS_LATE_AND_TWICE) {
            btl_complete(&mock->super, desc_of_mock(done)->endpoint, done, OPAL_SUCCESS);
        }
    }
}

static int mock_del_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                          struct mca_btl_base_endpoint_t **endpoints)
{
    struct mock *mock = mock_of(btl);
    struct keel_btl_pending *request = mock->request;
    (void) count;
    if (request && !does(btl, FORGETS_REQUESTS)) {
        mock->request = NULL;
        request->ready(btl, endpoints[0], request, OPAL_ERR_UNREACH);
    }
    if (does(btl, FAILS_BEFORE_CALLBACKS)) {
        btl_report_error(btl, MCA_BTL_ERROR_FLAGS_NONFATAL, procs[0], "the mock fails");
    }
    if (!does(btl, FORGETS_CALLBACKS) && !does(btl, CALLS_AFTER_DEL_PROCS)) {
        mock_progress(mock);
    }
    return OPAL_SUCCESS;
}

static mca_btl_base_descriptor_t *make(struct mock *mock, size_t size, uint32_t flags)
{
    struct mock_desc *made = keep(mock, sizeof(*made));
    made->segments[0] = (mca_btl_base_segment_t){.seg_addr.pval = made->bytes, .seg_len = size};
    made->base = (mca_btl_base_descriptor_t){
        .des_segments = made->segments, .des_segment_count = 1, .des_flags = flags};
    return &made->base;
}

/* Into two segments. */
static void split(mca_btl_base_descriptor_t *descriptor)
{
    mca_btl_base_segment_t *segments = descriptor->des_segments;
    segments[1] = segments[0];
    segments[0].seg_len /= 2;
    segments[1].seg_addr.pval = (unsigned char *) segments[0].seg_addr.pval + segments[0].seg_len;
    segments[1].seg_len -= segments[0].seg_len;
    descriptor->des_segment_count = 2;
}

static void on_sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint, (void) descriptor, (void) status;
}

static mca_btl_base_descriptor_t *mock_alloc(mca_btl_base_module_t *btl,
                                             struct mca_btl_base_endpoint_t *endpoint,
                                             uint8_t order, size_t size, uint32_t flags)
{
    struct mock *mock = mock_of(btl);
    (void) endpoint, (void) order;
    if (size > MOCK_LIMIT && !does(btl, GIVES_TOO_MUCH)) {
        return NULL;
    }
    if (!mock->last || !does(btl, GIVES_IT_TWICE)) {
        mock->last = make(mock, does(btl, GIVES_TOO_LITTLE) ? size / 2 : size, flags);
    }
    if (does(btl, GIVES_TWO_SEGMENTS)) {
        split(mock->last);
    }
    mock->last->des_cbfunc = does(btl, GIVES_WITH_CALLBACK) ? on_sent : NULL;
    return mock->last;
}

static int mock_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor)
{
    (void) descriptor;
    mock_of(btl)->frees++;
    return OPAL_SUCCESS;
}

static mca_btl_base_descriptor_t *mock_prepare_src(mca_btl_base_module_t *btl,
                                                   struct mca_btl_base_endpoint_t *endpoint,
                                                   opal_convertor_t *convertor, uint8_t order,
                                                   size_t reserve, size_t *size, uint32_t flags)
{
    (void) endpoint, (void) order;
    mca_btl_base_descriptor_t *made = make(mock_of(btl), reserve + *size, flags);
    opal_convertor_pack_bytes(convertor, desc_of_mock(made)->bytes + reserve, *size);
    *size -= does(btl, PREPARE_MOVES_TOO_FAR);
    made->des_segments[0].seg_len = reserve + *size;
    if (does(btl, PREPARE_LEAVES_IN_PLACE)) {
        split(made);
    }
    return does(btl, PREPARE_FAILS_AND_MOVES) ? NULL : made;
}

struct completion {
    mca_btl_base_module_t *btl;
    struct mca_btl_base_endpoint_t *endpoint;
    mca_btl_base_descriptor_t *descriptor;
};

static void *complete(void *arg)
{
    struct completion *completion = arg;
    btl_complete(completion->btl, completion->endpoint, completion->descriptor, OPAL_SUCCESS);
    return NULL;
}

static void complete_on_a_thread(mca_btl_base_module_t *btl,
                                 struct mca_btl_base_endpoint_t *endpoint,
                                 mca_btl_base_descriptor_t *descriptor)
{
    struct completion completion = {btl, endpoint, descriptor};
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, complete, &completion), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

static int mock_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag)
{
    struct mock *mock = mock_of(btl);
    static struct mca_btl_base_endpoint_t another;
    (void) tag;
    mock->sends++;
    desc_of_mock(descriptor)->endpoint = endpoint;
    switch (mock->fault) {
    case CALLS_UNASKED:
        btl_complete(btl, endpoint, descriptor, OPAL_SUCCESS);
        return 1;
    case CALLS_NOT_THOUGH_ASKED:
        return 1;
    case CALLS_TWICE:
        btl_complete(btl, endpoint, descriptor, OPAL_SUCCESS);
        btl_complete(btl, endpoint, descriptor, OPAL_SUCCESS);
        return 0;
    case CALLS_AND_REFUSES:
        descriptor->des_cbfunc(btl, endpoint, descriptor, OPAL_SUCCESS);
        return OPAL_ERR_OUT_OF_RESOURCE;
    case REFUSES_AND_CHANGES_FLAGS:
        descriptor->des_flags |= MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
        return OPAL_ERR_OUT_OF_RESOURCE;
    case RETURNS_TWO:
        btl_sent(btl, endpoint, descriptor);
        return 2;
    case NAMES_ANOTHER_ENDPOINT:
        btl_complete(btl, &another, descriptor, OPAL_SUCCESS);
        return 0;
    case CALLS_ON_A_THREAD:
        complete_on_a_thread(btl, endpoint, descriptor);
        return 0;
    case NESTS_WITHOUT_END:
        btl_complete(btl, endpoint, descriptor, OPAL_SUCCESS);
        return 0;
    case HAS_POSITIVE_STATUS:
        btl_complete(btl, endpoint, descriptor, 1);
        return 0;
    default:
        if (descriptor->des_cbfunc && !mock->queued) {
            mock->queued = descriptor;
            return 0;
        }
        return btl_sent(btl, endpoint, descriptor);
    }
}

static int mock_sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      opal_convertor_t *convertor, void *header, size_t header_size,
                      size_t payload_size, uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                      mca_btl_base_descriptor_t **descriptor)
{
    (void) endpoint, (void) header, (void) order, (void) tag;
    unsigned char bytes[2 * MOCK_LIMIT];
    if (header_size + payload_size > MOCK_LIMIT && !does(btl, SENDI_TAKES_TOO_MUCH)) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (convertor) {
        opal_convertor_pack_bytes(convertor, bytes, payload_size);
    }
    if (descriptor && does(btl, SENDI_LEAVES_A_DESCRIPTOR)) {
        *descriptor = make(mock_of(btl), header_size + payload_size, flags);
    }
    if (descriptor && does(btl, SENDI_LEAVES_TOO_LITTLE)) {
        size_t start = 0;
        opal_convertor_set_position(convertor, &start);
        *descriptor = make(mock_of(btl), header_size, flags);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    return does(btl, SENDI_MOVES_AND_FAILS) ? OPAL_ERR_OUT_OF_RESOURCE
           : does(btl, SENDI_RETURNS_ONE)   ? 1
                                            : OPAL_SUCCESS;
}

static int rdma(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                const struct rdma_call *call, bool fits)
{
    void *local_address = call->local_address, *local_handle = call->local_handle;
    mca_btl_base_rdma_completion_fn_t cbfunc = call->cbfunc;
    void *cbcontext = call->cbcontext, *cbdata = call->cbdata;
    char another;
    if (!fits && !does(btl, RDMA_TAKES_ALL)) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    switch (mock_of(btl)->fault) {
    case RDMA_CALLS_TWICE:
        cbfunc(btl, endpoint, local_address, local_handle, cbcontext, cbdata, OPAL_SUCCESS);
        break;
    case RDMA_CALLS_AND_REFUSES:
        cbfunc(btl, endpoint, local_address, local_handle, cbcontext, cbdata, OPAL_SUCCESS);
        return OPAL_ERR_OUT_OF_RESOURCE;
    case RDMA_RETURNS_ONE:
        return 1;
    case RDMA_CHANGES_ADDRESS:
        local_address = &another;
        break;
    case RDMA_REFUSES_THE_HANDLE:
        return OPAL_ERR_PERM;
    case FORGETS_CALLBACKS:
    case RDMA_NEVER_CALLS:
        return OPAL_SUCCESS;
    case RDMA_HAS_POSITIVE_STATUS:
        cbfunc(btl, endpoint, local_address, local_handle, cbcontext, cbdata, 1);
        return OPAL_SUCCESS;
    case ATOMIC_CALLS_AND_RETURNS_ONE:
        cbfunc(btl, endpoint, local_address, local_handle, cbcontext, cbdata, OPAL_SUCCESS);
        return 1;
    default:
        break;
    }
    if (cbfunc) {
        cbfunc(btl, endpoint, local_address, local_handle, cbcontext, cbdata, OPAL_SUCCESS);
    }
    return OPAL_SUCCESS;
}

/* A get is not advertised. */
static int mock_rdma(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     const struct rdma_call *call, bool put)
{
    bool fits = put && call->size <= MOCK_LIMIT && (call->size | call->remote_address) % 4 == 0;
    return rdma(btl, endpoint, call, fits);
}

/* Nor is any but the add that fetches. */
static int mock_atomic(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                       const struct atomic_call *call)
{
    return rdma(btl, endpoint, &call->rdma,
                call->rdma.local_address && call->atomic.op == MCA_BTL_ATOMIC_ADD);
}

static mca_btl_base_registration_handle_t *
mock_register_mem(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, void *base,
                  size_t size, uint32_t flags)
{
    static uint64_t one[2];
    (void) endpoint, (void) base, (void) size, (void) flags;
    return does(btl, GIVES_ONE_HANDLE) ? (void *) one : calloc(1, 16);
}

static int mock_deregister_mem(mca_btl_base_module_t *btl,
                               mca_btl_base_registration_handle_t *handle)
{
    if (!does(btl, GIVES_ONE_HANDLE)) {
        free(handle);
    }
    return does(btl, REFUSES_TO_DEREGISTER) ? OPAL_ERR_NOT_FOUND : OPAL_SUCCESS;
}

static int mock_register(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                         mca_btl_base_module_recv_cb_fn_t cbfunc, void *cbdata)
{
    return does(btl, REGISTERS_NO_TAG) ? OPAL_SUCCESS : btl_register_tag(btl, tag, cbfunc, cbdata);
}

static void mock_dump(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      int verbose)
{
    (void) btl, (void) endpoint, (void) verbose;
}

static int mock_ft_event(int state)
{
    (void) state;
    return OPAL_SUCCESS;
}

/* ---- keel_btl_ext ---- */

/* One that waits for nothing. */
static int mock_flush(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint)
{
    (void) btl, (void) endpoint;
    return OPAL_SUCCESS;
}

static int mock_pending_add(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                            struct keel_btl_pending *pending)
{
    (void) endpoint;
    mock_of(btl)->request = pending;
    return OPAL_SUCCESS;
}

static int mock_pending_remove(mca_btl_base_module_t *btl, struct keel_btl_pending *pending)
{
    (void) pending;
    mock_of(btl)->request = NULL;
    return OPAL_SUCCESS;
}

static const struct keel_btl_ext mock_ext = {
    .flush = mock_flush,
    .pending_add = mock_pending_add,
    .pending_remove = mock_pending_remove,
};

static int mock_finalize(mca_btl_base_module_t *btl)
{
    (void) btl;
    return OPAL_SUCCESS;
}

static struct btl_component component = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("mock")}},
    .rdma = mock_rdma,
    .atomic = mock_atomic};

struct region_handle mock_handle = {.size = UINT64_MAX};

static const mca_btl_base_module_t template = {
    .btl_component = &component.component,
    .btl_eager_limit = 100,
    .btl_rndv_eager_limit = 100,
    .btl_max_send_size = MOCK_LIMIT,
    .btl_flags = MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_PUT | MCA_BTL_FLAGS_ATOMIC_FOPS,
    .btl_atomic_flags = MCA_BTL_ATOMIC_SUPPORTS_ADD,
    .btl_registration_handle_size = 16,
    .btl_put_limit = MOCK_LIMIT,
    .btl_get_limit = MOCK_LIMIT,
    .btl_put_alignment = 4,
    .btl_add_procs = mock_add_procs,
    .btl_del_procs = mock_del_procs,
    .btl_register = mock_register,
    .btl_finalize = mock_finalize,
    .btl_alloc = mock_alloc,
    .btl_free = mock_free,
    .btl_prepare_src = mock_prepare_src,
    .btl_send = mock_send,
    .btl_sendi = mock_sendi,
    .btl_put = btl_put,
    .btl_get = btl_get,
    .btl_dump = mock_dump,
    .btl_atomic_op = btl_atomic_op,
    .btl_atomic_fop = btl_atomic_fop,
    .btl_atomic_cswap = btl_atomic_cswap,
    .btl_register_error = btl_register_error_fn,
    .btl_ft_event = mock_ft_event,
    .btl_register_mem = mock_register_mem,
    .btl_deregister_mem = mock_deregister_mem,
};

void mock_begin(struct mock *mock)
{
    struct btl_tap *tap = NULL;
    btl_taps_init(&mock->taps, &mock->super, &mock_ext);
    ck_assert_int_eq(check_tap_create(&mock->super, &tap), ORTE_SUCCESS);
    ck_assert_ptr_nonnull(tap);
    btl_tap_add(&mock->taps, tap);
}

void mock_end(struct mock *mock)
{
    mock->super.btl_finalize(&mock->super);
    btl_taps_fini(&mock->taps);
    for (unsigned i = 0; i < mock->made_count; i++) {
        free(mock->made[i]);
    }
    free(mock);
}

void bench_open(struct bench *bench, enum mock_fault fault)
{
    ck_assert_int_eq(param_override("btl_check", "1"), ORTE_SUCCESS);
    log_set_sink(keep_line, NULL);
    *bench = (struct bench){
        .mock = calloc(1, sizeof(*bench->mock)),
        .proc = {.proc_name = {.jobid = 7, .vpid = 1}},
    };
    bench->mock->super = template;
    bench->mock->fault = fault;
    bench->btl = &bench->mock->super;
    mock_begin(bench->mock);
    opal_proc_t *proc = &bench->proc;
    opal_bitmap_t bitmap;
    OBJ_CONSTRUCT(&bitmap, opal_bitmap_t);
    ck_assert_int_eq(opal_bitmap_init(&bitmap, 1), OPAL_SUCCESS);
    ck_assert_int_eq(bench->btl->btl_add_procs(bench->btl, 1, &proc, &bench->endpoint, &bitmap),
                     OPAL_SUCCESS);
    OBJ_DESTRUCT(&bitmap);
}

void bench_close(struct bench *bench)
{
    opal_proc_t *proc = &bench->proc;
    if (bench->endpoint) {
        bench->btl->btl_del_procs(bench->btl, 1, &proc, &bench->endpoint);
    }
    mock_end(bench->mock);
    ck_assert_ptr_null(btl_tapped);
}
