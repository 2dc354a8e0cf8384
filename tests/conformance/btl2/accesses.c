/* put and get: every size, any segments at both ends, keys that go stale, registrations. The
 * targets lie in memory that all ranks see, so that each initiator checks them itself. */
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/btl2/suite.h>

#define LOCAL_BYTES ((size_t) 4 << 20)

/* What a rank has opened for its left neighbour, and what it reaches of its right one's. */
struct access {
    struct test *test;
    mca_btl2_base_descriptor_t *window; /* mine */
    unsigned char *local;
    unsigned done;
    int status;
};

static void completed(mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
                      mca_btl2_base_descriptor_t *descriptor, int status)
{
    struct access *access = descriptor->des_cbdata;
    must(access->test, btl == access->test->btl);
    must(access->test, endpoint == access->test->endpoints[access->test->right]);
    must(access->test, status <= 0);
    access->status = status;
    access->done++;
}

/* Shows the segments of a descriptor of mine. */
static void show(struct test *test, const mca_btl2_base_segment_t *segments, size_t count)
{
    struct board *mine = board_of(test, test->rank);
    memcpy(mine->segments, segments, count * sizeof(*segments));
    mine->segment_count = count;
    meet(test);
}

/* Opens the first bytes of my data to puts (dst), or to gets (src). */
static void window_open(struct test *test, struct access *access, bool src, size_t size)
{
    struct board *mine = board_of(test, test->rank);
    opal_convertor_t convertor;
    size_t taken = size;
    *access = (struct access){.test = test, .local = malloc(LOCAL_BYTES + 64)};
    must(test, access->local);
    opal_convertor_prepare(&convertor, mine->data, size);
    access->window = prepare_wait(test, src, &convertor, 0, &taken,
                                  src ? MCA_BTL2_DES_FLAGS_GET : MCA_BTL2_DES_FLAGS_PUT);
    must(test, taken == size);
    const mca_btl2_base_segment_t *segment =
        src ? access->window->des_src : access->window->des_dst;
    must(test, (src ? access->window->des_src_cnt : access->window->des_dst_cnt) == 1);
    must(test, segment->seg_addr.pval == mine->data && segment->seg_len == size);
    show(test, segment, 1);
}

static void window_close(struct test *test, struct access *access)
{
    meet(test);
    must(test, test->btl->btl_free(test->btl, access->window) == OPAL_SUCCESS);
    free(access->local);
    meet(test);
}

/* Runs one operation of a descriptor; returns its status, from the call or from the callback. */
static int run(struct access *access, mca_btl2_base_descriptor_t *descriptor, bool put)
{
    descriptor->des_cbfunc = completed;
    descriptor->des_cbdata = access;
    access->done = 0;
    int status = access_wait(access->test, descriptor, put);
    if (status == OPAL_SUCCESS) {
        pump_until(access->test, &access->done, 1);
        return access->status;
    }
    must(access->test, access->done == 0);
    return status;
}

/* A descriptor of local memory, and the remote segments of the other side. */
static mca_btl2_base_descriptor_t *aimed(struct test *test, bool put, void *local, size_t size,
                                         uint32_t flags, mca_btl2_base_segment_t *remote,
                                         size_t count)
{
    opal_convertor_t convertor;
    size_t taken = size;
    opal_convertor_prepare(&convertor, local, size);
    mca_btl2_base_descriptor_t *made =
        prepare_wait(test, put, &convertor, 0, &taken,
                     flags | (put ? MCA_BTL2_DES_FLAGS_PUT : MCA_BTL2_DES_FLAGS_GET));
    must(test, taken == size);
    if (put) {
        must(test, size == 0 || made->des_src[0].seg_addr.pval == local); /* no copy */
        made->des_dst = remote;
        made->des_dst_cnt = count;
    } else {
        made->des_src = remote;
        made->des_src_cnt = count;
    }
    return made;
}

/* One transfer between local + shift and the neighbour's data + offset, checked on both sides. */
static void transfer(struct access *access, bool put, size_t shift, size_t offset, size_t size)
{
    struct test *test = access->test;
    struct board *target = board_of(test, test->right);
    unsigned char *local = access->local + shift, *remote = target->data + offset;
    unsigned char *from = put ? local : remote, *to = put ? remote : local;
    unsigned seed = (unsigned) (size + offset * 3 + shift * 5 + put);
    mca_btl2_base_segment_t aim = target->segments[0];
    aim.seg_addr.lval += offset;
    aim.seg_len = (uint32_t) size;
    pattern_fill(from, size, seed);
    memset(to, 0, size);
    to[size] = (unsigned char) (seed + 1);
    mca_btl2_base_descriptor_t *made = aimed(test, put, local, size, 0, &aim, 1);
    must(test, run(access, made, put) == OPAL_SUCCESS);
    must(test, pattern_is(to, size, seed) && to[size] == (unsigned char) (seed + 1));
    must(test, test->btl->btl_free(test->btl, made) == OPAL_SUCCESS);
}

static void transfers(struct test *test, bool put)
{
    const size_t eager = test->btl->btl_eager_limit, most = test->btl->btl_max_send_size;
    const size_t sizes[] = {0,    1,        7,     8,         63,     64,        65,
                            4095, 4096,     4097,  eager - 1, eager,  eager + 1, most - 1,
                            most, most + 1, 65537, 1048579,   3145733};
    static const size_t offsets[] = {0, 1, 4095, 4097};
    struct access access;
    window_open(test, &access, !put, DATA_BYTES - 1);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        for (size_t o = 0; o < sizeof(offsets) / sizeof(*offsets); o++) {
            transfer(&access, put, o * 3, offsets[o], sizes[s]);
        }
    }
    transfer(&access, put, 3, DATA_BYTES - 1 - 5000, 5000); /* up to the window's end */
    window_close(test, &access);
}

static void puts_land(struct test *test)
{
    transfers(test, true);
}

static void gets_fetch(struct test *test)
{
    transfers(test, false);
}

/* ---- segments ---- */

/* Cuts size bytes at base into count segments of different sizes, some of them empty. */
static void cut(mca_btl2_base_segment_t *segments, size_t count, unsigned char *base, size_t size,
                const mca_btl2_base_segment_t *key, unsigned salt)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        size_t left = size - at, part = i == count - 1 ? left : (salt * (i + 7) * 911) % (left / 2);
        part = (i + salt) % 5 == 0 && i < count - 1 ? 0 : part;
        segments[i] = key ? *key : (mca_btl2_base_segment_t){.seg_len = 0};
        segments[i].seg_addr.pval = base + at;
        segments[i].seg_len = (uint32_t) part;
        at += part;
    }
}

/* The bytes of many source segments in as many destination segments, cut elsewhere. */
static void many_segments(struct test *test, bool put)
{
    enum { BYTES = 100000 };
    struct access access;
    window_open(test, &access, !put, DATA_BYTES);
    struct board *target = board_of(test, test->right);
    for (unsigned salt = 1; salt <= MCA_BTL2_DES_MAX_SEGMENTS; salt++) {
        mca_btl2_base_segment_t mine[MCA_BTL2_DES_MAX_SEGMENTS], theirs[MCA_BTL2_DES_MAX_SEGMENTS];
        size_t there = MCA_BTL2_DES_MAX_SEGMENTS + 1 - salt;
        unsigned char *from = put ? access.local : target->data;
        unsigned char *to = put ? target->data : access.local;
        mca_btl2_base_descriptor_t *made = aimed(test, put, access.local, BYTES, 0, theirs, there);
        cut(mine, salt, access.local, BYTES, NULL, salt);
        cut(theirs, there, target->data, BYTES, &target->segments[0], salt + 3);
        /* The peer's address of its data, which is mine only where memory is at the same one. */
        pattern_fill(from, BYTES, salt);
        memset(to, 0, BYTES);
        *(put ? &made->des_src : &made->des_dst) = mine;
        *(put ? &made->des_src_cnt : &made->des_dst_cnt) = salt;
        must(test, run(&access, made, put) == OPAL_SUCCESS);
        must(test, pattern_is(to, BYTES, salt));
        must(test, test->btl->btl_free(test->btl, made) == OPAL_SUCCESS);
    }
    window_close(test, &access);
}

static void segments(struct test *test)
{
    many_segments(test, true);
    many_segments(test, false);
}

/* More stretches than the module takes at once: they go on from progress, and complete once. */
static void beyond_the_room(struct test *test)
{
    enum { BYTES = 2000000 };
    struct access access;
    size_t put_limit = test->inner->btl_put_limit, get_limit = test->inner->btl_get_limit;
    window_open(test, &access, false, DATA_BYTES);
    test->inner->btl_put_limit = test->inner->btl_get_limit = 100;
    transfer(&access, true, 0, 0, BYTES);
    window_close(test, &access);
    window_open(test, &access, true, DATA_BYTES);
    transfer(&access, false, 0, 0, BYTES);
    test->inner->btl_put_limit = put_limit;
    test->inner->btl_get_limit = get_limit;
    window_close(test, &access);
}

/* A convertor of several pieces: a source is packed, a target is prepared piece by piece; and a
 * header before either. */
static void prepared(struct test *test)
{
    static const size_t reserves[] = {0, 1, 48};
    static unsigned char bytes[3 * 4096];
    struct access access;
    window_open(test, &access, false, DATA_BYTES);
    mca_btl2_base_segment_t aim = board_of(test, test->right)->segments[0];
    unsigned char *there = board_of(test, test->right)->data;
    for (size_t r = 0; r < 3; r++) {
        struct iovec pieces[] = {{bytes, 3000}, {bytes + 4096, 0}, {bytes + 8192, 2000}};
        for (uint32_t flags = 0; flags <= MCA_BTL2_DES_FLAGS_PUT; flags += MCA_BTL2_DES_FLAGS_PUT) {
            opal_convertor_t convertor;
            size_t reserve = reserves[r], size = 5000, in_dst = 5000, zero = 0;
            must(test, opal_convertor_prepare_iovec(&convertor, pieces, 3) == OPAL_SUCCESS);
            pattern_fill(bytes, 3000, (unsigned) r + flags);
            memset(bytes + 8192, (int) r + 3, 2000);
            memset(there, 0, 6000);
            mca_btl2_base_descriptor_t *made =
                prepare_wait(test, true, &convertor, reserve, &size, flags);
            memset(made->des_src[0].seg_addr.pval, 0x77, reserve);
            aim.seg_len = (uint32_t) (reserve + size);
            made->des_dst = &aim;
            made->des_dst_cnt = 1;
            must(test, run(&access, made, true) == OPAL_SUCCESS);
            must(test, size > 3000 && pattern_is(there + reserve, 3000, (unsigned) r + flags));
            must(test, there[reserve + size - 1] == r + 3 && there[reserve + size] == 0);
            must(test, reserve == 0 || (there[0] == 0x77 && there[reserve - 1] == 0x77));
            must(test, test->btl->btl_free(test->btl, made) == OPAL_SUCCESS);
            opal_convertor_set_position(&convertor, &zero);
            made = prepare_wait(test, false, &convertor, reserve, &in_dst, flags);
            must(test, in_dst == 3000 && made->des_dst_cnt == (reserve > 0 ? 2 : 1));
            must(test, made->des_dst[reserve > 0].seg_addr.pval == bytes);
            must(test, made->des_dst[0].seg_key.key64[0] != 0);
            must(test, test->btl->btl_free(test->btl, made) == OPAL_SUCCESS);
        }
    }
    window_close(test, &access);
}

/* Puts that bring header and data into a target with reserve, and gets from such a source. */
static void headers_at_the_peer(struct test *test)
{
    enum { RESERVE = 24, BYTES = 5000 };
    struct board *mine = board_of(test, test->rank), *target = board_of(test, test->right);
    for (int put = 0; put < 2; put++) {
        struct access access = {.test = test, .local = malloc(LOCAL_BYTES)};
        opal_convertor_t convertor;
        size_t size = BYTES;
        must(test, access.local);
        opal_convertor_prepare(&convertor, mine->data, BYTES);
        access.window = prepare_wait(test, !put, &convertor, RESERVE, &size,
                                     put ? MCA_BTL2_DES_FLAGS_PUT : MCA_BTL2_DES_FLAGS_GET);
        mca_btl2_base_segment_t *segments = put ? access.window->des_dst : access.window->des_src;
        must(test, segments[0].seg_len == RESERVE && segments[1].seg_len == BYTES);
        pattern_fill(segments[0].seg_addr.pval, RESERVE, put ? 0 : 11);
        pattern_fill(segments[1].seg_addr.pval, BYTES, put ? 0 : 12);
        pattern_fill(access.local, RESERVE, put ? 11 : 0);
        pattern_fill(access.local + RESERVE, BYTES, put ? 12 : 0);
        show(test, segments, 2);
        mca_btl2_base_descriptor_t *made =
            aimed(test, put, access.local, RESERVE + BYTES, 0, target->segments, 2);
        must(test, run(&access, made, put) == OPAL_SUCCESS);
        must(test, test->btl->btl_free(test->btl, made) == OPAL_SUCCESS);
        meet(test);
        const unsigned char *header = put ? segments[0].seg_addr.pval : access.local;
        const unsigned char *data = put ? mine->data : access.local + RESERVE;
        must(test, pattern_is(header, RESERVE, 11) && pattern_is(data, BYTES, 12));
        window_close(test, &access);
    }
}

/* ---- several at once ---- */

static void at_once(struct test *test)
{
    enum { TIMES = 40, BYTES = 3000 };
    for (int put = 0; put < 2; put++) {
        struct access access;
        window_open(test, &access, !put, DATA_BYTES);
        mca_btl2_base_segment_t aim = board_of(test, test->right)->segments[0];
        unsigned char *there = board_of(test, test->right)->data;
        aim.seg_len = BYTES;
        pattern_fill(put ? access.local : there, BYTES, 13);
        memset(put ? there : access.local, 0, BYTES);
        mca_btl2_base_descriptor_t *made =
            aimed(test, put, access.local, BYTES, MCA_BTL2_DES_FLAGS_PRIORITY, &aim, 1);
        unsigned counted = 0;
        made->des_cbfunc = count_success;
        made->des_cbdata = &counted;
        for (int i = 0; i < TIMES; i++) {
            if (i == TIMES - 1) {
                made->des_flags |= MCA_BTL2_DES_FLAGS_BTL_OWNERSHIP; /* ends with the last */
            }
            must(test, access_wait(test, made, put) == OPAL_SUCCESS);
        }
        pump_until(test, &counted, TIMES);
        must(test, pattern_is(put ? there : access.local, BYTES, 13));
        window_close(test, &access);
    }
}

static void ended(mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
                  mca_btl2_base_descriptor_t *descriptor, int status)
{
    struct access *access = descriptor->des_cbdata;
    (void) btl, (void) endpoint;
    access->status = status;
    access->done++;
}

/* Accesses that wait for room when their peer goes end with it. */
static void del_procs_amid_accesses(struct test *test)
{
    enum { SOME = 5, BYTES = 2000000 };
    struct access access;
    mca_btl2_base_segment_t aim;
    unsigned accepted = 0;
    window_open(test, &access, false, DATA_BYTES);
    aim = board_of(test, test->right)->segments[0];
    aim.seg_len = BYTES;
    test->inner->btl_put_limit = 100;
    for (int i = 0; i < SOME; i++) {
        mca_btl2_base_descriptor_t *made =
            aimed(test, true, access.local, BYTES, MCA_BTL2_DES_FLAGS_BTL_OWNERSHIP, &aim, 1);
        made->des_cbfunc = ended;
        made->des_cbdata = &access;
        if (test->btl->btl_put(test->btl, test->endpoints[test->right], made) == OPAL_SUCCESS) {
            accepted++;
        } else {
            must(test, test->btl->btl_free(test->btl, made) == OPAL_SUCCESS);
        }
    }
    must(test, accepted > 0);
    struct ompi_proc_t *proc = (struct ompi_proc_t *) &test->host->procs[test->right];
    must(test, test->btl->btl_del_procs(test->btl, 1, &proc, &test->endpoints[test->right]) ==
                   OPAL_SUCCESS);
    test->endpoints[test->right] = NULL;
    must(test, access.done == accepted && access.status <= 0);
    window_close(test, &access);
}

/* With RDMA_MATCHED a descriptor has one operation at a time. */
static void matched(struct test *test)
{
    struct access access;
    window_open(test, &access, false, DATA_BYTES);
    mca_btl2_base_segment_t aim = board_of(test, test->right)->segments[0];
    aim.seg_len = 1 << 20;
    test->btl->btl_flags |= MCA_BTL2_FLAGS_RDMA_MATCHED;
    mca_btl2_base_descriptor_t *made = aimed(test, true, access.local, 1 << 20, 0, &aim, 1);
    made->des_cbfunc = completed;
    made->des_cbdata = &access;
    must(test, access_wait(test, made, true) == OPAL_SUCCESS);
    int status = test->btl->btl_put(test->btl, test->endpoints[test->right], made);
    must(test, status == (access.done ? OPAL_SUCCESS : OPAL_ERR_RESOURCE_BUSY));
    pump_until(test, &access.done, status == OPAL_SUCCESS ? 2 : 1);
    must(test, run(&access, made, true) == OPAL_SUCCESS); /* and another one after it */
    test->btl->btl_flags &= ~(uint32_t) MCA_BTL2_FLAGS_RDMA_MATCHED;
    must(test, test->btl->btl_free(test->btl, made) == OPAL_SUCCESS);
    window_close(test, &access);
}

/* One descriptor, prepared without a hint, is sent, put from, and got from. */
static unsigned received;

static void count_message(mca_btl2_base_module_t *btl, mca_btl2_base_tag_t tag,
                          mca_btl2_base_descriptor_t *descriptor, void *cbdata)
{
    struct test *test = cbdata;
    (void) btl, (void) tag;
    must(test, descriptor->des_dst[0].seg_len == 1000);
    must(test, pattern_is(descriptor->des_dst[0].seg_addr.pval, 1000, (unsigned) test->left));
    received++;
}

static void for_any_use(struct test *test)
{
    struct access access;
    struct board *target = board_of(test, test->right);
    static unsigned char memory[1000];
    opal_convertor_t convertor;
    size_t size = sizeof(memory);
    must(test, test->btl->btl_register(test->btl, 200, count_message, test) == OPAL_SUCCESS);
    window_open(test, &access, false, 1000);
    mca_btl2_base_segment_t aim = target->segments[0];
    meet(test);
    pattern_fill(memory, sizeof(memory), (unsigned) test->rank);
    opal_convertor_prepare(&convertor, memory, sizeof(memory));
    mca_btl2_base_descriptor_t *made = prepare_wait(test, true, &convertor, 0, &size, 0);
    must(test, made->des_src_cnt == 1 && made->des_src[0].seg_addr.pval == memory);
    show(test, made->des_src, 1);
    made->des_dst = &aim;
    made->des_dst_cnt = 1;
    must(test, run(&access, made, true) == OPAL_SUCCESS);
    must(test, pattern_is(target->data, 1000, (unsigned) test->rank));
    access.done = 0;
    send_wait(test, made, 200);
    pump_until(test, &access.done, 1);
    pump_until(test, &received, 1);
    mca_btl2_base_descriptor_t *get =
        aimed(test, false, access.local, 1000, 0, target->segments, 1);
    must(test, run(&access, get, false) == OPAL_SUCCESS);
    must(test, pattern_is(access.local, 1000, (unsigned) test->right));
    must(test, test->btl->btl_free(test->btl, get) == OPAL_SUCCESS);
    meet(test);
    must(test, test->btl->btl_free(test->btl, made) == OPAL_SUCCESS);
    window_close(test, &access);
}

/* ---- what is refused ---- */

/* Neither end has changed. */
static void refused(struct access *access, bool put, const mca_btl2_base_segment_t *aim,
                    int expected)
{
    struct test *test = access->test;
    mca_btl2_base_segment_t copy = *aim;
    unsigned char *there = board_of(test, test->right)->data;
    pattern_fill(there, 8192, 21);
    pattern_fill(access->local, 8192, 22);
    mca_btl2_base_descriptor_t *made = aimed(test, put, access->local, copy.seg_len, 0, &copy, 1);
    int status = run(access, made, put);
    must(test, status < 0 && (expected == OPAL_ERROR || status == expected));
    must(test, pattern_is(there, 8192, 21) && pattern_is(access->local, 8192, 22));
    must(test, test->btl->btl_free(test->btl, made) == OPAL_SUCCESS);
}

static void wrong_uses(struct test *test)
{
    for (int put = 0; put < 2; put++) {
        struct access access;
        window_open(test, &access, put, 4096); /* for the other one */
        mca_btl2_base_segment_t aim = board_of(test, test->right)->segments[0];
        refused(&access, put, &aim, OPAL_ERR_PERM);
        window_close(test, &access);
        window_open(test, &access, !put, 4096);
        aim = board_of(test, test->right)->segments[0];
        aim.seg_len = 4097;
        refused(&access, put, &aim, OPAL_ERR_VALUE_OUT_OF_BOUNDS);
        aim.seg_len = 100;
        aim.seg_addr.lval += 4000;
        refused(&access, put, &aim, OPAL_ERR_VALUE_OUT_OF_BOUNDS);
        aim.seg_addr.lval -= 4001;
        refused(&access, put, &aim, OPAL_ERR_VALUE_OUT_OF_BOUNDS);
        aim.seg_addr.lval = UINT64_MAX - 50;
        refused(&access, put, &aim, OPAL_ERROR);
        window_close(test, &access);
    }
}

/* Index and generation, a bit at a time; then all that a key can be made of. */
static void forged_keys(struct test *test)
{
    struct access access;
    window_open(test, &access, false, 4096);
    const mca_btl2_base_segment_t shown = board_of(test, test->right)->segments[0];
    for (unsigned bit = 0; bit < 64; bit++) {
        mca_btl2_base_segment_t aim = shown;
        aim.seg_key.key64[0] ^= UINT64_C(1) << bit;
        refused(&access, true, &aim, OPAL_ERR_PERM);
    }
    mca_btl2_base_segment_t aim = shown;
    memset(&aim.seg_key, 0, sizeof(aim.seg_key));
    refused(&access, true, &aim, OPAL_ERR_PERM);
    memset(&aim.seg_key, 0xff, sizeof(aim.seg_key));
    refused(&access, true, &aim, OPAL_ERR_PERM);
    transfer(&access, true, 0, 0, 4000); /* the true one is still good */
    window_close(test, &access);
}

/* Freed memory is not reached by its key, also when another descriptor has its place. */
static void stale_keys(struct test *test)
{
    for (int put = 0; put < 2; put++) {
        struct access access, again;
        window_open(test, &access, !put, 4096);
        mca_btl2_base_segment_t old = board_of(test, test->right)->segments[0];
        window_close(test, &access);
        window_open(test, &again, !put, 4096);
        must(test,
             board_of(test, test->right)->segments[0].seg_key.key64[0] != old.seg_key.key64[0]);
        refused(&again, put, &old, OPAL_ERR_PERM);
        transfer(&again, put, 0, 0, 4000);
        window_close(test, &again);
    }
}

/* What the calls refuse themselves. */
static void bad_arguments(struct test *test)
{
    struct access access;
    mca_btl2_base_module_t *btl = test->btl;
    struct mca_btl2_base_endpoint_t *peer = test->endpoints[test->right];
    window_open(test, &access, false, 4096);
    mca_btl2_base_segment_t aim = board_of(test, test->right)->segments[0];
    aim.seg_len = 99;
    mca_btl2_base_descriptor_t *made = aimed(test, true, access.local, 100, 0, &aim, 1);
    must(test, btl->btl_put(btl, peer, made) == OPAL_ERR_BAD_PARAM); /* 100 bytes to 99 */
    made->des_dst_cnt = MCA_BTL2_DES_MAX_SEGMENTS + 1;
    must(test, btl->btl_put(btl, peer, made) == OPAL_ERR_BAD_PARAM);
    must(test, btl->btl_put(btl, peer, NULL) == OPAL_ERR_BAD_PARAM);
    must(test, btl->btl_get(btl, peer, NULL) == OPAL_ERR_BAD_PARAM);
    made->des_dst_cnt = 1;
    aim.seg_len = 100;
    must(test, run(&access, made, true) == OPAL_SUCCESS);
    must(test, btl->btl_free(btl, made) == OPAL_SUCCESS);
    window_close(test, &access);
}

/* ---- registrations ---- */

/* One of the program's serves several descriptors, and outlives its deregistration while one uses
 * it. */
static void registrations(struct test *test)
{
    struct access access;
    struct board *mine = board_of(test, test->rank);
    mca_btl2_base_module_t *btl = test->btl;
    mca_mpool_base_module_t *mpool = btl->btl_mpool;
    mca_mpool_base_registration_t *registration, *none;
    opal_convertor_t convertor;
    size_t size = 1000, other = 1000;
    access = (struct access){.test = test, .local = malloc(LOCAL_BYTES)};
    must(test, mpool->mpool_register(mpool, mine->data, 4096, 0, &registration) == OPAL_SUCCESS);
    must(test, registration->base == mine->data && registration->bound == mine->data + 4095);
    must(test, mpool->mpool_register(mpool, NULL, 8, 0, &none) == OPAL_ERR_BAD_PARAM && !none);
    must(test, mpool->mpool_deregister(mpool, NULL) == OPAL_ERR_BAD_PARAM);
    opal_convertor_prepare(&convertor, mine->data + 96, 8192);
    mca_btl2_base_descriptor_t *dst =
        btl->btl_prepare_dst(btl, test->endpoints[test->right], registration, &convertor,
                             MCA_BTL2_NO_ORDER, 0, &size, 0);
    mca_btl2_base_descriptor_t *src =
        btl->btl_prepare_src(btl, test->endpoints[test->right], registration, &convertor,
                             MCA_BTL2_NO_ORDER, 0, &other, 0);
    must(test, dst && src && size == 1000 && other == 1000 && registration->ref_count == 3);
    must(test, dst->des_dst[0].seg_key.key64[0] == src->des_src[0].seg_key.key64[0]);
    size = 6000; /* beyond the registration */
    must(test, !btl->btl_prepare_dst(btl, test->endpoints[test->right], registration, &convertor,
                                     MCA_BTL2_NO_ORDER, 0, &size, 0));
    must(test, convertor.bytes_converted == 2000 && registration->ref_count == 3);
    must(test, mpool->mpool_deregister(mpool, registration) == OPAL_SUCCESS);
    must(test, registration->ref_count == 2);
    must(test, btl->btl_free(btl, src) == OPAL_SUCCESS);
    access.window = dst;
    show(test, dst->des_dst, 1);
    mca_btl2_base_segment_t aim = board_of(test, test->right)->segments[0];
    pattern_fill(access.local, 1000, 31);
    mca_btl2_base_descriptor_t *made = aimed(test, true, access.local, 1000, 0, &aim, 1);
    must(test, run(&access, made, true) == OPAL_SUCCESS);
    must(test, pattern_is(board_of(test, test->right)->data + 96, 1000, 31));
    must(test, btl->btl_free(btl, made) == OPAL_SUCCESS);
    window_close(test, &access);
}

/* A hundred thousand registrations, one after another and some hundred at a time. */
static void many_registrations(struct test *test)
{
    enum { TIMES = 100000, AT_ONCE = 200 };
    static unsigned char memory[4096];
    static mca_btl2_base_descriptor_t *live[AT_ONCE];
    const struct btl2_module *module = btl2_of(test->btl);
    opal_convertor_t convertor;
    unsigned long times = test->checked ? TIMES / 20 : TIMES;
    for (unsigned long i = 0; i < times + AT_ONCE; i++) {
        mca_btl2_base_descriptor_t **at = &live[i % AT_ONCE];
        must(test, test->btl->btl_free(test->btl, *at) == OPAL_SUCCESS);
        *at = NULL;
        if (i < times) {
            size_t size = 1 + i % 4000;
            opal_convertor_prepare(&convertor, memory, sizeof(memory));
            *at = prepare_wait(test, i % 2, &convertor, 0, &size, MCA_BTL2_DES_FLAGS_GET);
        }
    }
    must(test, module->regions.in_use == 0 && module->regions.total < AT_ONCE + 200);
    must(test, module->descs.in_use == 0 && module->descs.total < AT_ONCE + 200);
}

const struct test_case access_cases[] = {
    {"put", puts_land, false, false},
    {"get", gets_fetch, false, false},
    {"segments", segments, false, false},
    {"beyond the room", beyond_the_room, false, false},
    {"prepared for puts", prepared, false, false},
    {"headers at the peer", headers_at_the_peer, false, false},
    {"accesses at once", at_once, false, false},
    {"del_procs amid accesses", del_procs_amid_accesses, true, false},
    {"matched", matched, false, false},
    {"any use", for_any_use, false, false},
    {"wrong uses", wrong_uses, false, true},
    {"forged keys", forged_keys, false, true},
    {"stale keys", stale_keys, false, true},
    {"bad arguments", bad_arguments, false, true},
    {"registrations", registrations, false, false},
    {"many registrations", many_registrations, false, false},
    {NULL, NULL, false, false},
};
