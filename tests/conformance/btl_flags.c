/* What a module advertises as data is so: flags, limits, alignments. What it does not advertise, it
 * does not do. (Atomics' flags are in btl_atomics.c, sizes of messages in btl_send.c, alignments of
 * put and get without limits in btl_rdma.c.) */
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/btl.h>

#define TAG 33

struct arrivals {
    atomic_ulong count;
    size_t size;
    unsigned seed;
};

static void take_pattern(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                         mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag;
    struct test *test = cbdata;
    struct arrivals *arrivals = test->state;
    size_t size;
    const unsigned char *bytes = received(test, descriptor, &size);
    must(test, size == arrivals->size && pattern_is(bytes, size, arrivals->seed));
    arrivals->count++;
}

static void begin(struct test *test, struct arrivals *arrivals, size_t size)
{
    *arrivals = (struct arrivals){.size = size, .seed = 5};
    test->state = arrivals;
    on_tag(test, TAG, take_pattern);
    meet(test);
}

/* Flags of things that no module has. */
static void only_what_is_there(struct test *test)
{
    const uint32_t known = MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_RDMA | MCA_BTL_FLAGS_SEND_INPLACE |
                           MCA_BTL_FLAGS_ATOMIC_OPS | MCA_BTL_FLAGS_ATOMIC_FOPS;
    const uint32_t atomics = MCA_BTL_ATOMIC_SUPPORTS_ADD | MCA_BTL_ATOMIC_SUPPORTS_AND |
                             MCA_BTL_ATOMIC_SUPPORTS_OR | MCA_BTL_ATOMIC_SUPPORTS_XOR |
                             MCA_BTL_ATOMIC_SUPPORTS_CSWAP | MCA_BTL_ATOMIC_SUPPORTS_GLOB;
    const mca_btl_base_module_t *btl = test->btl;
    must(test, (btl->btl_flags & ~known) == 0);
    const uint32_t more = MCA_BTL_ATOMIC_SUPPORTS_SWAP | MCA_BTL_ATOMIC_SUPPORTS_MIN |
                          MCA_BTL_ATOMIC_SUPPORTS_MAX | MCA_BTL_ATOMIC_SUPPORTS_32BIT;
    must(test, (btl->btl_atomic_flags & ~atomics) == 0);
    must(test, (ext_of(test)->atomic_flags & ~(atomics | more)) == 0);
    must(test, (btl->btl_flags & MCA_BTL_FLAGS_RDMA) == 0 || btl->btl_put_limit >= 1);
    const uint32_t flags = KEEL_BTL_REMOTE_COMPLETION | KEEL_BTL_PINS;
    must(test, (ext_of(test)->flags & ~flags) == 0);
    must(test, !(ext_of(test)->flags & KEEL_BTL_PINS) || btl->btl_register_mem);
}

/* One message of contiguous memory. Advertised: it is sent from where it lies. Not: its owner may
 * change it as soon as it is prepared. */
static void one_from_memory(struct test *test, unsigned char *memory, size_t reserve, size_t size)
{
    mca_btl_base_module_t *btl = test->btl;
    struct arrivals *arrivals = test->state;
    bool in_place = btl->btl_flags & MCA_BTL_FLAGS_SEND_INPLACE;
    opal_convertor_t convertor;
    mca_btl_base_descriptor_t *descriptor;
    pattern_fill(memory, reserve + size, arrivals->seed);
    for (;;) {
        size_t taken = size;
        opal_convertor_prepare(&convertor, memory + reserve, size);
        descriptor = btl->btl_prepare_src(btl, test->endpoints[test->right], &convertor,
                                          MCA_BTL_NO_ORDER, reserve, &taken, 0);
        if (descriptor) {
            must(test, taken == size);
            break;
        }
        pump(test);
    }
    const mca_btl_base_segment_t *last =
        &descriptor->des_segments[descriptor->des_segment_count - 1];
    bool lies_there = last->seg_addr.pval == memory + reserve;
    must(test, lies_there == in_place);
    memcpy(descriptor->des_segments[0].seg_addr.pval, memory, reserve);
    if (!in_place) {
        memset(memory, 0xee, reserve + size);
    }
    send_wait(test, test->right, descriptor, TAG);
    pump_until(test, &arrivals->count, 1);
    meet(test);
}

static void in_place_is_true(struct test *test)
{
    struct arrivals arrivals;
    size_t max = test->btl->btl_max_send_size;
    unsigned char *memory = malloc(max);
    const size_t sizes[] = {100, test->btl->btl_eager_limit - 16, max - 16};
    must(test, memory);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        begin(test, &arrivals, sizes[i] + 16);
        one_from_memory(test, memory, 16, sizes[i]);
    }
    free(memory);
}

/* btl_max_send_size goes, and what is more is cut, or there is no descriptor for it. */
static void most_is_most(struct test *test)
{
    struct arrivals arrivals;
    mca_btl_base_module_t *btl = test->btl;
    struct mca_btl_base_endpoint_t *endpoint = test->endpoints[test->right];
    size_t max = btl->btl_max_send_size, taken = max;
    unsigned char *memory = malloc(max + 1);
    opal_convertor_t convertor;
    mca_btl_base_descriptor_t *descriptor;
    must(test, memory);
    begin(test, &arrivals, max);
    pattern_fill(memory, max + 1, arrivals.seed);
    send_bytes(test, test->right, memory, max, TAG);
    must(test, !btl->btl_alloc(btl, endpoint, MCA_BTL_NO_ORDER, max + 1, 0));
    opal_convertor_prepare(&convertor, memory + 16, max - 15);
    while (!(descriptor = btl->btl_prepare_src(btl, endpoint, &convertor, MCA_BTL_NO_ORDER, 16,
                                               &taken, 0))) {
        pump(test);
        taken = max;
    }
    must(test, taken == max - 16 && opal_convertor_get_packed_size(&convertor) == max - 15 &&
                   convertor.bytes_converted == max - 16);
    memcpy(descriptor->des_segments[0].seg_addr.pval, memory, 16);
    send_wait(test, test->right, descriptor, TAG);
    pump_until(test, &arrivals.count, 2);
    int status =
        btl->btl_sendi(btl, endpoint, NULL, memory, max + 1, 0, MCA_BTL_NO_ORDER, 0, TAG, NULL);
    must(test, status == OPAL_ERR_BAD_PARAM);
    meet(test);
    free(memory);
}

static int transfer(struct test *test, bool put, unsigned char *local, size_t offset, size_t size)
{
    mca_btl_base_module_t *btl = test->btl;
    struct board *target = board_of(test, test->right);
    int status;
    while (is_shortage(status = (put ? btl->btl_put : btl->btl_get)(
                           btl, test->endpoints[test->right], local, target->base + offset, NULL,
                           (mca_btl_base_registration_handle_t *) (void *) target->handle, size, 0,
                           MCA_BTL_NO_ORDER, NULL, NULL, NULL))) {
        pump(test);
    }
    int flushed = keel_btl_ext(btl)->flush(btl, test->endpoints[test->right]);
    return status < 0 ? status : flushed;
}

/* The limit goes in one call, one byte more does not; what is not aligned does not, where it has to
 * be. */
static void one_direction(struct test *test, bool put, unsigned char *local)
{
    mca_btl_base_module_t *btl = test->btl;
    struct board *target = board_of(test, test->right);
    size_t limit = put ? btl->btl_put_limit : btl->btl_get_limit;
    size_t alignment = put ? btl->btl_put_alignment : btl->btl_get_alignment;
    size_t most = limit < DATA_BYTES ? limit : DATA_BYTES;
    unsigned char *from = put ? local : target->data, *to = put ? target->data : local;
    memset(to, 0, most);
    pattern_fill(from, most, 11u + put);
    must(test, transfer(test, put, local, 0, most) == OPAL_SUCCESS);
    must(test, pattern_is(to, most, 11u + put));
    if (limit < DATA_BYTES) {
        must(test, transfer(test, put, local, 0, limit + 1) < 0);
    }
    if (alignment > 1) {
        must(test, transfer(test, put, local, 1, alignment) < 0);
        must(test, transfer(test, put, local + 1, 0, alignment) < 0);
    } else {
        must(test, transfer(test, put, local + 1, 3, 17) == OPAL_SUCCESS);
    }
}

static void limits_of_rdma(struct test *test)
{
    mca_btl_base_module_t *btl = test->btl;
    if (!btl->btl_register_mem) {
        return;
    }
    unsigned char *local = malloc(DATA_BYTES);
    must(test, local);
    mca_btl_base_registration_handle_t *handle =
        show_data(test, DATA_BYTES, MCA_BTL_REG_FLAG_ACCESS_ANY);
    meet(test);
    if (btl->btl_flags & MCA_BTL_FLAGS_PUT) {
        one_direction(test, true, local);
    }
    meet(test);
    if (btl->btl_flags & MCA_BTL_FLAGS_GET) {
        one_direction(test, false, local);
    }
    meet(test);
    must(test, btl->btl_deregister_mem(btl, handle) == OPAL_SUCCESS);
    free(local);
}

const struct test_case flags_cases[] = {
    {.name = "flags", .run = only_what_is_there, .alone = true},
    {.name = "in place", .run = in_place_is_true, .min_size = 1},
    {.name = "most of a message", .run = most_is_most, .min_size = 1, .asks_too_much = true},
    {.name = "most of put and get", .run = limits_of_rdma, .min_size = 1, .asks_too_much = true},
    {.name = NULL},
};
