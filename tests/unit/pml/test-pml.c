/* What keel/pml.h promises, over tests/unit/pml/world.h. */
#include <config.h>

#include <base/settings/log.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <tests/unit/pml/world.h>

enum { ANY = KEEL_PML_ANY_SOURCE, ANY_TAG = KEEL_PML_ANY_TAG, FIRST = 64, MAX = 256, LONG = 2000 };
enum { STANDARD = KEEL_PML_STANDARD, SYNC = KEEL_PML_SYNCHRONOUS, BUFFERED = KEEL_PML_BUFFERED };

static struct keel_pml_context *ctx[WORLD_RANKS];
static char source[1 << 16], target[1 << 16];

static const struct world_rules calm = {
    .ranks = 2, .flags = MCA_PTL_FLAGS_EXTENDED, .first = FIRST, .min = 16, .max = MAX, .seed = 1};
static const struct world_rules immediate = {.ranks = 2,
                                             .flags = MCA_PTL_FLAGS_EXTENDED,
                                             .first = FIRST,
                                             .min = 16,
                                             .max = MAX,
                                             .immediate = true,
                                             .seed = 1};
static const struct world_rules fetching = {.ranks = 2,
                                            .flags = MCA_PTL_FLAGS_EXTENDED | MCA_PTL_GET,
                                            .first = FIRST,
                                            .min = 16,
                                            .max = MAX,
                                            .seed = 1};

static void start(const struct world_rules *rules)
{
    world_open(rules);
    for (int i = 0; i < rules->ranks; i++) {
        ck_assert_int_eq(
            pml_context_open(world.pml[i], 7, world.members, (size_t) rules->ranks, i, &ctx[i]),
            OPAL_SUCCESS);
    }
    for (size_t i = 0; i < sizeof(source); i++) {
        source[i] = (char) (i * 31 + i / 256 + 1);
    }
    memset(target, 0, sizeof(target));
}

static void stop(void)
{
    for (int i = 0; i < world.rules.ranks; i++) {
        if (!world.dead[i]) {
            ck_assert_int_eq(keel_pml_context_free(&ctx[i]), OPAL_SUCCESS);
            ck_assert_ptr_null(ctx[i]);
        }
    }
    world_close();
}

static opal_convertor_t of(void *memory, size_t size)
{
    opal_convertor_t convertor;
    opal_convertor_prepare(&convertor, memory, size);
    return convertor;
}

static struct keel_pml_request *isend(int from, int to, int32_t tag, size_t size, int mode)
{
    struct keel_pml_request *request = NULL;
    opal_convertor_t data = of(source, size);
    ck_assert_int_eq(keel_pml_isend(ctx[from], &data, to, tag, (keel_pml_mode_t) mode, &request),
                     OPAL_SUCCESS);
    return request;
}

static struct keel_pml_request *irecv(int me, int32_t from, int32_t tag, size_t room)
{
    struct keel_pml_request *request = NULL;
    opal_convertor_t data = of(target, room);
    ck_assert_int_eq(keel_pml_irecv(ctx[me], &data, from, tag, &request), OPAL_SUCCESS);
    return request;
}

static void isend_and_forget(int from, int to, int32_t tag, size_t size)
{
    struct keel_pml_request *send = isend(from, to, tag, size, STANDARD);
    ck_assert_int_eq(keel_pml_request_free(&send), OPAL_SUCCESS);
}

static bool is_done(struct keel_pml_request **request, struct keel_pml_status *status)
{
    bool done = false;
    (void) keel_pml_test(request, &done, status);
    return done;
}

/* It ends within some rounds, with this. */
static struct keel_pml_status ends(struct keel_pml_request **request, int error)
{
    struct keel_pml_status status;
    for (int i = 0; !is_done(request, &status); i++) {
        ck_assert_int_lt(i, 10000);
        world_progress();
    }
    ck_assert_int_eq(status.error, error);
    ck_assert_ptr_null(*request);
    return status;
}

static void never_ends(struct keel_pml_request **request)
{
    for (int i = 0; i < 20; i++) {
        world_progress();
        ck_assert(!is_done(request, NULL));
    }
}

static void expect(const struct keel_pml_status *status, int32_t from, int32_t tag, size_t bytes)
{
    ck_assert_int_eq(status->source, from);
    ck_assert_int_eq(status->tag, tag);
    ck_assert_uint_eq(status->bytes, bytes);
    ck_assert(!status->truncated);
    ck_assert_mem_eq(target, source, bytes);
}

/* ---- messages ---- */

START_TEST(a_short_message_is_sent_at_once)
{
    start(&calm);
    struct keel_pml_request *send = isend(0, 1, 5, 8, STANDARD);
    struct keel_pml_status status;
    bool done = false;
    ck_assert_uint_eq(world.counts.packets, 1);
    ck_assert_int_eq(keel_pml_test(&send, &done, &status), OPAL_SUCCESS);
    ck_assert(done);
    ck_assert_uint_eq(status.bytes, 8);
    struct keel_pml_request *recv = irecv(1, 0, 5, 100);
    status = ends(&recv, OPAL_SUCCESS);
    expect(&status, 0, 5, 8);
    stop();
}
END_TEST

/* Neither end has a request or a fragment of the module for it. */
START_TEST(a_whole_message_goes_the_short_way)
{
    start(&immediate);
    for (size_t size = 0; size <= FIRST; size++) {
        memset(target, 0, sizeof(target));
        struct keel_pml_request *recv = irecv(1, 0, 5, 100), *send = isend(0, 1, 5, size, STANDARD);
        struct keel_pml_status status;
        ck_assert(is_done(&send, &status));
        ck_assert_int_eq(status.source, 1);
        ck_assert_int_eq(status.tag, 5);
        ck_assert_uint_eq(status.bytes, size);
        status = ends(&recv, OPAL_SUCCESS);
        expect(&status, 0, 5, size);
    }
    ck_assert_uint_eq(world.counts.sendis, FIRST); /* the first one found the paths */
    ck_assert_uint_eq(world.counts.matchis, FIRST + 1);
    ck_assert_uint_eq(world.counts.waiting_most, 0);
    stop();
}
END_TEST

START_TEST(the_short_way_ends_in_a_small_or_scattered_buffer)
{
    start(&immediate);
    const struct iovec parts[] = {{target, 3}, {target + 3, 4}, {target + 7, 20}};
    struct keel_pml_request *cut = irecv(1, 0, 5, 7), *scattered;
    opal_convertor_t data;
    ck_assert_int_eq(opal_convertor_prepare_iovec(&data, parts, 3), OPAL_SUCCESS);
    isend_and_forget(0, 1, 5, 10);
    struct keel_pml_status status = ends(&cut, OPAL_ERR_UNPACK_INADEQUATE_SPACE);
    ck_assert(status.truncated);
    ck_assert_uint_eq(status.bytes, 7);
    ck_assert_mem_eq(target, source, 7);
    ck_assert_int_eq(target[7], 0);
    ck_assert_int_eq(keel_pml_irecv(ctx[1], &data, 0, 5, &scattered), OPAL_SUCCESS);
    isend_and_forget(0, 1, 5, 12);
    status = ends(&scattered, OPAL_SUCCESS);
    expect(&status, 0, 5, 12);
    ck_assert_uint_eq(world.counts.matchis, 2);
    stop();
}
END_TEST

/* What is not posted, comes early, is to be acknowledged, or lies apart. */
START_TEST(others_do_not_go_the_short_way)
{
    start(&immediate);
    const struct iovec parts[] = {{source, 3}, {source + 3, 4}};
    opal_convertor_t data;
    struct keel_pml_request *send, *recv;
    isend_and_forget(0, 1, 5, 8); /* finds the paths */
    isend_and_forget(0, 1, 5, 8);
    world_progress();
    struct keel_pml_status status;
    for (int i = 0; i < 2; i++) {
        recv = irecv(1, 0, 5, 100);
        status = ends(&recv, OPAL_SUCCESS);
        expect(&status, 0, 5, 8);
    }
    recv = irecv(1, 0, 5, 100);
    send = isend(0, 1, 5, 8, SYNC);
    status = ends(&recv, OPAL_SUCCESS);
    expect(&status, 0, 5, 8);
    (void) ends(&send, OPAL_SUCCESS);
    ck_assert_uint_eq(world.counts.matchis, 0);
    ck_assert_uint_eq(world.counts.sendis, 1);
    ck_assert_int_eq(opal_convertor_prepare_iovec(&data, parts, 2), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_isend(ctx[0], &data, 1, 5, KEEL_PML_STANDARD, &send), OPAL_SUCCESS);
    recv = irecv(1, 0, 5, 100);
    status = ends(&recv, OPAL_SUCCESS);
    expect(&status, 0, 5, 7);
    (void) ends(&send, OPAL_SUCCESS);
    ck_assert_uint_eq(world.counts.sendis, 1);
    stop();
}
END_TEST

START_TEST(blocking_calls_wait)
{
    start(&calm);
    for (size_t size = 0; size < 1000; size += 111) {
        opal_convertor_t from = of(source, size), to = of(target, size);
        struct keel_pml_request *send = isend(0, 1, 5, size, SYNC);
        struct keel_pml_status status;
        ck_assert_int_eq(keel_pml_recv(ctx[1], &to, 0, 5, &status), OPAL_SUCCESS);
        expect(&status, 0, 5, size);
        ck_assert_int_eq(keel_pml_wait(&send, NULL), OPAL_SUCCESS);
        struct keel_pml_request *recv = irecv(0, 1, 6, size);
        ck_assert_int_eq(keel_pml_send(ctx[1], &from, 0, 6, KEEL_PML_STANDARD), OPAL_SUCCESS);
        ck_assert_int_eq(keel_pml_wait(&recv, NULL), OPAL_SUCCESS);
    }
    stop();
}
END_TEST

START_TEST(a_process_sends_to_itself)
{
    start(&calm);
    for (size_t size = 0; size < 1000; size += 333) {
        struct keel_pml_request *recv = irecv(0, 0, 5, size);
        struct keel_pml_request *send = isend(0, 0, 5, size, STANDARD);
        struct keel_pml_status status = ends(&recv, OPAL_SUCCESS);
        expect(&status, 0, 5, size);
        ends(&send, OPAL_SUCCESS);
    }
    stop();
}
END_TEST

/* The receiver's memory is not written behind the buffer. */
static void truncate_over(const struct world_rules *rules)
{
    const size_t sizes[] = {10, FIRST, FIRST + 1, LONG};
    start(rules);
    for (size_t i = 0; i < 4; i++) {
        for (size_t room = 0; room < sizes[i]; room += sizes[i] / 5) {
            memset(target, 0, sizeof(target));
            struct keel_pml_request *send = isend(0, 1, 5, sizes[i], STANDARD);
            struct keel_pml_request *recv = irecv(1, 0, 5, room);
            struct keel_pml_status status = ends(&recv, OPAL_ERR_UNPACK_INADEQUATE_SPACE);
            ck_assert(status.truncated);
            ck_assert_uint_eq(status.bytes, room);
            ck_assert_mem_eq(target, source, room);
            ck_assert_int_eq(target[room], 0);
            ends(&send, OPAL_SUCCESS);
        }
    }
    stop();
}

START_TEST(a_message_that_does_not_fit_is_cut)
{
    truncate_over(&calm);
    truncate_over(&fetching);
}
END_TEST

START_TEST(a_synchronous_send_ends_when_it_is_matched)
{
    start(&calm);
    for (size_t size = 0; size <= LONG; size += 50) {
        struct keel_pml_request *send = isend(0, 1, 5, size, SYNC);
        never_ends(&send);
        struct keel_pml_request *recv = irecv(1, 0, 5, size);
        ends(&recv, OPAL_SUCCESS);
        ends(&send, OPAL_SUCCESS);
    }
    stop();
}
END_TEST

START_TEST(a_buffered_send_ends_at_once)
{
    start(&calm);
    for (size_t size = 0; size <= LONG; size += 500) {
        struct keel_pml_status status;
        struct iovec parts[] = {{source, size / 2}, {source + size / 2, size - size / 2}};
        opal_convertor_t data;
        struct keel_pml_request *send;
        char kept[LONG];
        memcpy(kept, source, size);
        opal_convertor_prepare_iovec(&data, parts, 2);
        ck_assert_int_eq(keel_pml_isend(ctx[0], &data, 1, 5, KEEL_PML_BUFFERED, &send),
                         OPAL_SUCCESS);
        ck_assert(is_done(&send, &status));
        ck_assert_uint_eq(status.bytes, size);
        memset(source, 0, size);
        struct keel_pml_request *recv = irecv(1, 0, 5, size);
        ends(&recv, OPAL_SUCCESS);
        ck_assert_mem_eq(target, kept, size);
        memcpy(source, kept, size);
    }
    stop();
}
END_TEST

START_TEST(buffered_sends_hold_so_much_and_no_more)
{
    setenv("KEEL_MCA_pml_buffered_size", "3000", 1);
    start(&calm);
    struct keel_pml_request *send = isend(0, 1, 5, LONG, BUFFERED), *none = NULL;
    opal_convertor_t data = of(source, LONG);
    ck_assert_int_eq(keel_pml_isend(ctx[0], &data, 1, 5, KEEL_PML_BUFFERED, &none),
                     OPAL_ERR_OUT_OF_RESOURCE);
    ck_assert_ptr_null(none);
    ends(&send, OPAL_SUCCESS);
    struct keel_pml_request *recv = irecv(1, 0, 5, LONG);
    ends(&recv, OPAL_SUCCESS);
    for (int i = 0; i < 5; i++) {
        world_progress();
    }
    send = isend(0, 1, 6, LONG, BUFFERED);
    ends(&send, OPAL_SUCCESS);
    recv = irecv(1, 0, 6, LONG);
    ends(&recv, OPAL_SUCCESS);
    stop();
}
END_TEST

START_TEST(messages_go_to_the_oldest_receive_that_wants_them)
{
    char places[5][8] = {{0}};
    struct keel_pml_request *recvs[5], *sends[5];
    const int32_t wanted[5][2] = {{0, 5}, {ANY, 6}, {0, ANY_TAG}, {ANY, ANY_TAG}, {0, -4}};
    const int32_t tags[5] = {-4, 6, 7, 5, 8};
    const size_t takes[5] = {4, 1, 2, 0, 3};
    start(&calm);
    for (size_t i = 0; i < 5; i++) {
        opal_convertor_t data = of(places[i], 8);
        ck_assert_int_eq(keel_pml_irecv(ctx[1], &data, wanted[i][0], wanted[i][1], &recvs[i]),
                         OPAL_SUCCESS);
    }
    for (size_t i = 0; i < 5; i++) {
        sends[i] = isend(0, 1, tags[i], 8, STANDARD);
    }
    for (size_t i = 0; i < 5; i++) {
        struct keel_pml_status status = ends(&recvs[takes[i]], OPAL_SUCCESS);
        ck_assert_int_eq(status.tag, tags[i]);
        ends(&sends[i], OPAL_SUCCESS);
    }
    stop();
}
END_TEST

/* ---- probes ---- */

START_TEST(a_probe_tells_and_leaves)
{
    struct keel_pml_status status;
    bool there = true;
    start(&calm);
    ck_assert_int_eq(keel_pml_iprobe(ctx[1], 0, 5, &there, NULL), OPAL_SUCCESS);
    ck_assert(!there);
    struct keel_pml_request *send = isend(0, 1, 5, LONG, STANDARD);
    ck_assert_int_eq(keel_pml_probe(ctx[1], ANY, 5, &status), OPAL_SUCCESS);
    ck_assert_int_eq(status.source, 0);
    ck_assert_uint_eq(status.bytes, LONG);
    ck_assert_int_eq(keel_pml_iprobe(ctx[1], 0, ANY_TAG, &there, &status), OPAL_SUCCESS);
    ck_assert(there);
    ck_assert_int_eq(status.tag, 5);
    struct keel_pml_request *recv = irecv(1, 0, 5, LONG);
    ck_assert_int_eq(keel_pml_iprobe(ctx[1], 0, 5, &there, NULL), OPAL_SUCCESS);
    ck_assert(!there);
    status = ends(&recv, OPAL_SUCCESS);
    expect(&status, 0, 5, LONG);
    ends(&send, OPAL_SUCCESS);
    stop();
}
END_TEST

START_TEST(a_message_is_taken_by_a_probe)
{
    struct keel_pml_message *message = NULL, *other = NULL;
    struct keel_pml_status status;
    struct keel_pml_request *recv, *send;
    start(&calm);
    ck_assert_int_eq(keel_pml_improbe(ctx[1], 0, 5, &message, &status), OPAL_SUCCESS);
    ck_assert_ptr_null(message);
    for (size_t size = 0; size <= LONG; size += LONG / 4) {
        opal_convertor_t data = of(target, LONG);
        send = isend(0, 1, 5, size, STANDARD);
        struct keel_pml_request *second = isend(0, 1, 5, 3, STANDARD);
        ck_assert_int_eq(keel_pml_mprobe(ctx[1], 0, 5, &message, &status), OPAL_SUCCESS);
        ck_assert_uint_eq(status.bytes, size);
        ck_assert_int_eq(keel_pml_improbe(ctx[1], 0, ANY_TAG, &other, &status), OPAL_SUCCESS);
        ck_assert_uint_eq(status.bytes, 3);
        ck_assert_int_eq(keel_pml_context_free(&ctx[1]), OPAL_ERR_RESOURCE_BUSY);
        ck_assert_int_eq(keel_pml_imrecv(&other, &data, &recv), OPAL_SUCCESS);
        ck_assert_ptr_null(other);
        status = ends(&recv, OPAL_SUCCESS);
        expect(&status, 0, 5, 3);
        ck_assert_int_eq(keel_pml_imrecv(&message, &data, &recv), OPAL_SUCCESS);
        status = ends(&recv, OPAL_SUCCESS);
        expect(&status, 0, 5, size);
        ends(&send, OPAL_SUCCESS);
        ends(&second, OPAL_SUCCESS);
    }
    stop();
}
END_TEST

/* ---- requests ---- */

START_TEST(a_request_is_started_again)
{
    struct keel_pml_request *send, *recv;
    opal_convertor_t from = of(source, LONG), to = of(target, LONG);
    start(&calm);
    ck_assert_int_eq(keel_pml_send_init(ctx[0], &from, 1, 5, KEEL_PML_STANDARD, &send),
                     OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_recv_init(ctx[1], &to, 0, 5, &recv), OPAL_SUCCESS);
    struct keel_pml_status status = {.error = -1};
    ck_assert_int_eq(keel_pml_wait(&recv, &status), OPAL_SUCCESS); /* not started */
    ck_assert_int_eq(status.source, ANY);
    for (int i = 0; i < 10; i++) {
        memset(target, 0, LONG);
        source[i] = (char) i;
        struct keel_pml_request *both[] = {send, recv};
        struct keel_pml_status statuses[2];
        ck_assert_int_eq(keel_pml_start(i % 2 ? send : recv), OPAL_SUCCESS);
        ck_assert_int_eq(keel_pml_start(i % 2 ? recv : send), OPAL_SUCCESS);
        ck_assert_int_eq(keel_pml_start(send), OPAL_ERR_RESOURCE_BUSY);
        ck_assert_int_eq(keel_pml_waitall(2, both, statuses), OPAL_SUCCESS);
        ck_assert_ptr_eq(both[0], send);
        expect(&statuses[1], 0, 5, LONG);
    }
    ck_assert_int_eq(keel_pml_context_free(&ctx[0]), OPAL_ERR_RESOURCE_BUSY);
    ck_assert_int_eq(keel_pml_request_free(&send), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_request_free(&recv), OPAL_SUCCESS);
    ck_assert_ptr_null(recv);
    stop();
}
END_TEST

START_TEST(a_receive_is_cancelled)
{
    struct keel_pml_status status;
    start(&calm);
    struct keel_pml_request *recv = irecv(1, 0, 5, 8), *second = irecv(1, 0, 5, 8);
    ck_assert_int_eq(keel_pml_cancel(recv), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_cancel(recv), OPAL_ERR_NOT_FOUND);
    ck_assert(is_done(&recv, &status));
    ck_assert_int_eq(status.error, OPAL_ERR_INTERUPTED);
    ck_assert_uint_eq(status.bytes, 0);
    struct keel_pml_request *send = isend(0, 1, 5, 8, STANDARD);
    world_progress();
    ck_assert_int_eq(keel_pml_cancel(second), OPAL_ERR_NOT_FOUND);
    ck_assert_int_eq(keel_pml_cancel(send), OPAL_ERR_NOT_SUPPORTED);
    status = ends(&second, OPAL_SUCCESS);
    expect(&status, 0, 5, 8);
    ends(&send, OPAL_SUCCESS);
    /* One that is freed takes no message either. */
    recv = irecv(1, 0, 5, 8);
    ck_assert_int_eq(keel_pml_request_free(&recv), OPAL_SUCCESS);
    send = isend(0, 1, 5, 8, STANDARD);
    recv = irecv(1, 0, 5, 8);
    ends(&recv, OPAL_SUCCESS);
    ends(&send, OPAL_SUCCESS);
    stop();
}
END_TEST

static struct {
    int calls;
    struct keel_pml_request *last, *started, *waited;
    struct keel_pml_status status;
} told;

static void tell(struct keel_pml_request *request, const struct keel_pml_status *status, void *arg)
{
    ck_assert_ptr_eq(arg, &told);
    told.calls++;
    told.last = request;
    told.status = *status;
    if (told.started) {
        ck_assert_int_eq(keel_pml_wait(&told.started, NULL), OPAL_SUCCESS);
        ck_assert_int_eq(keel_pml_start(told.started), OPAL_SUCCESS);
    }
    if (told.waited) {
        ck_assert_int_eq(keel_pml_wait(&told.waited, NULL), OPAL_SUCCESS);
    }
}

START_TEST(a_callback_comes_once)
{
    struct keel_pml_request *send, *recv;
    opal_convertor_t from = of(source, 8);
    start(&calm);
    recv = irecv(1, 0, 5, 8);
    ck_assert_int_eq(keel_pml_callback(recv, tell, &told), OPAL_SUCCESS);
    send = isend(0, 1, 5, 8, STANDARD); /* it has ended */
    ck_assert_int_eq(told.calls, 0);
    world_progress();
    ck_assert_int_eq(told.calls, 1);
    ck_assert_ptr_eq(told.last, recv);
    expect(&told.status, 0, 5, 8);
    ck_assert_int_eq(keel_pml_callback(send, tell, &told), OPAL_SUCCESS);
    ck_assert_int_eq(told.calls, 1);
    ends(&send, OPAL_SUCCESS);
    ck_assert_int_eq(told.calls, 2);
    ends(&recv, OPAL_SUCCESS);
    ck_assert_int_eq(told.calls, 2);
    /* Nobody is told of what was freed, or asked no more. */
    recv = irecv(1, 0, 5, 8);
    ck_assert_int_eq(keel_pml_callback(recv, tell, &told), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_request_free(&recv), OPAL_SUCCESS);
    send = isend(0, 1, 5, 8, STANDARD);
    ck_assert_int_eq(keel_pml_callback(send, tell, &told), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_callback(send, NULL, NULL), OPAL_SUCCESS);
    ends(&send, OPAL_SUCCESS);
    ck_assert_int_eq(told.calls, 2);
    /* One that starts its request again does not stop progress. */
    ck_assert_int_eq(keel_pml_send_init(ctx[0], &from, 1, 5, KEEL_PML_STANDARD, &told.started),
                     OPAL_SUCCESS);
    send = told.started;
    ck_assert_int_eq(keel_pml_callback(send, tell, &told), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_start(send), OPAL_SUCCESS);
    for (int i = 0; i < 5; i++) {
        world_progress();
    }
    ck_assert_int_gt(told.calls, 6);
    told.started = NULL;
    ck_assert_int_eq(keel_pml_wait(&send, NULL), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_request_free(&send), OPAL_SUCCESS);
    stop();
}
END_TEST

START_TEST(a_callback_waits_for_what_has_ended_with_it)
{
    start(&calm);
    struct keel_pml_request *recv = irecv(1, 0, 5, 8);
    told.waited = irecv(1, 0, 6, 8);
    ck_assert_int_eq(keel_pml_callback(recv, tell, &told), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_callback(told.waited, tell, &told), OPAL_SUCCESS);
    struct keel_pml_request *send = isend(0, 1, 5, 8, STANDARD);
    struct keel_pml_request *other = isend(0, 1, 6, 8, STANDARD);
    struct keel_pml_request *waited = told.waited;
    ends(&recv, OPAL_SUCCESS);
    ck_assert_int_eq(told.calls, 2);
    ck_assert_ptr_null(told.waited);
    ck_assert_ptr_eq(told.last, waited);
    ends(&send, OPAL_SUCCESS);
    ends(&other, OPAL_SUCCESS);
    stop();
}
END_TEST

START_TEST(any_some_and_all_are_waited_for)
{
    struct keel_pml_request *recvs[4], *send;
    struct keel_pml_status statuses[4];
    size_t index = 99, ended = 99, indices[4];
    bool done = true;
    start(&calm);
    for (int i = 0; i < 4; i++) {
        recvs[i] = i == 1 ? NULL : irecv(1, 0, i, 8);
    }
    ck_assert_int_eq(keel_pml_testany(4, recvs, &index, &done, NULL), OPAL_SUCCESS);
    ck_assert(!done);
    ck_assert_int_eq(keel_pml_testsome(4, recvs, &ended, indices, statuses), OPAL_SUCCESS);
    ck_assert_uint_eq(ended, 0);
    send = isend(0, 1, 2, 8, STANDARD);
    ck_assert_int_eq(keel_pml_waitany(4, recvs, &index, statuses), OPAL_SUCCESS);
    ck_assert_uint_eq(index, 2);
    ck_assert_int_eq(statuses[0].tag, 2);
    ck_assert_ptr_null(recvs[2]);
    ends(&send, OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_testall(4, recvs, &done, statuses), OPAL_SUCCESS);
    ck_assert(!done);
    send = isend(0, 1, 3, 8, STANDARD);
    ck_assert_int_eq(keel_pml_waitsome(4, recvs, &ended, indices, statuses), OPAL_SUCCESS);
    ck_assert_uint_eq(ended, 1);
    ck_assert_uint_eq(indices[0], 3);
    ck_assert_int_eq(statuses[0].tag, 3);
    ends(&send, OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_cancel(recvs[0]), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_waitall(4, recvs, statuses), OPAL_ERR_INTERUPTED);
    ck_assert_int_eq(statuses[0].error, OPAL_ERR_INTERUPTED);
    ck_assert_int_eq(statuses[3].error, OPAL_SUCCESS);
    /* Nothing to wait for. */
    ck_assert_int_eq(keel_pml_waitany(4, recvs, &index, statuses), OPAL_SUCCESS);
    ck_assert_uint_eq(index, 4);
    ck_assert_int_eq(keel_pml_waitsome(4, recvs, &ended, indices, statuses), OPAL_SUCCESS);
    ck_assert_uint_eq(ended, 0);
    ck_assert_int_eq(keel_pml_waitall(0, NULL, NULL), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_testall(4, recvs, &done, NULL), OPAL_SUCCESS);
    ck_assert(done);
    stop();
}
END_TEST

/* ---- contexts ---- */

START_TEST(contexts_keep_their_messages_apart)
{
    struct keel_pml_context *other[2];
    struct keel_pml_request *send, *second;
    struct keel_pml_status status;
    start(&calm);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pml_context_open(world.pml[i], 65535, NULL, 2, i, &other[i]),
                         OPAL_SUCCESS);
    }
    opal_convertor_t from = of(source, 9), to = of(target, 9);
    ck_assert_int_eq(keel_pml_isend(other[0], &from, 1, 5, KEEL_PML_STANDARD, &send), OPAL_SUCCESS);
    second = isend(0, 1, 5, 8, STANDARD);
    ck_assert_int_eq(keel_pml_recv(ctx[1], &to, ANY, ANY_TAG, &status), OPAL_SUCCESS);
    expect(&status, 0, 5, 8);
    ck_assert_int_eq(keel_pml_recv(other[1], &to, ANY, ANY_TAG, &status), OPAL_SUCCESS);
    expect(&status, 0, 5, 9);
    ends(&send, OPAL_SUCCESS);
    ends(&second, OPAL_SUCCESS);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(keel_pml_context_free(&other[i]), OPAL_SUCCESS);
    }
    stop();
}
END_TEST

START_TEST(members_have_ranks_of_their_own)
{
    struct world_rules three = calm;
    three.ranks = 3;
    start(&three);
    opal_proc_t *pair[] = {&world.procs[2], &world.procs[1]};
    struct keel_pml_context *some[2];
    struct keel_pml_request *send;
    struct keel_pml_status status;
    ck_assert_int_eq(pml_context_open(world.pml[2], 8, pair, 2, 0, &some[0]), OPAL_SUCCESS);
    ck_assert_int_eq(pml_context_open(world.pml[1], 8, pair, 2, 1, &some[1]), OPAL_SUCCESS);
    pair[0] = pair[1] = NULL; /* it was copied */
    opal_convertor_t from = of(source, LONG), to = of(target, LONG);
    ck_assert_int_eq(keel_pml_isend(some[0], &from, 1, 5, KEEL_PML_STANDARD, &send), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_recv(some[1], &to, 0, 5, &status), OPAL_SUCCESS);
    expect(&status, 0, 5, LONG);
    ends(&send, OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_context_free(&some[0]), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_context_free(&some[1]), OPAL_SUCCESS);
    stop();
}
END_TEST

START_TEST(messages_wait_until_their_context_is_opened)
{
    struct keel_pml_context *early, *late;
    struct keel_pml_request *sends[20];
    const struct world_rules rules = {.ranks = 2,
                                      .flags = MCA_PTL_FLAGS_EXTENDED,
                                      .first = FIRST,
                                      .max = MAX,
                                      .delay = 5,
                                      .reorders = true,
                                      .seed = 3};
    start(&rules);
    ck_assert_int_eq(pml_context_open(world.pml[0], 9, world.members, 2, 0, &early), OPAL_SUCCESS);
    for (int i = 0; i < 20; i++) {
        opal_convertor_t from = of(source, (size_t) i * 10);
        ck_assert_int_eq(keel_pml_isend(early, &from, 1, i, KEEL_PML_STANDARD, &sends[i]),
                         OPAL_SUCCESS);
    }
    for (int i = 0; i < 10; i++) {
        world_progress();
    }
    ck_assert_int_eq(pml_context_open(world.pml[1], 9, world.members, 2, 1, &late), OPAL_SUCCESS);
    for (int i = 0; i < 20; i++) {
        struct keel_pml_status status;
        opal_convertor_t to = of(target, sizeof(target));
        ck_assert_int_eq(keel_pml_recv(late, &to, ANY, ANY_TAG, &status), OPAL_SUCCESS);
        expect(&status, 0, i, (size_t) i * 10);
        ends(&sends[i], OPAL_SUCCESS);
    }
    ck_assert_int_eq(keel_pml_context_free(&early), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_context_free(&late), OPAL_SUCCESS);
    stop();
}
END_TEST

static void no_line(void *arg, enum log_level level, const char *line)
{
    (void) level, (void) line;
    ++*(int *) arg;
}

START_TEST(so_many_early_messages_wait_and_no_more)
{
    struct keel_pml_context *early, *late = NULL;
    int lines = 0;
    setenv("KEEL_MCA_pml_early_size", "4000", 1);
    start(&calm);
    log_set_sink(no_line, &lines);
    ck_assert_int_eq(pml_context_open(world.pml[0], 9, world.members, 2, 0, &early), OPAL_SUCCESS);
    for (int i = 0; i < 100; i++) {
        opal_convertor_t from = of(source, 50);
        ck_assert_int_eq(keel_pml_send(early, &from, 1, 5, KEEL_PML_STANDARD), OPAL_SUCCESS);
    }
    world_progress();
    ck_assert_uint_lt(world.counts.waiting_most, 100);
    ck_assert_int_gt(lines, 0);
    ck_assert_int_eq(pml_context_open(world.pml[1], 9, world.members, 2, 1, &late),
                     OPAL_ERR_OUT_OF_RESOURCE);
    ck_assert_ptr_null(late);
    ck_assert_int_eq(keel_pml_context_free(&early), OPAL_SUCCESS);
    stop();
}
END_TEST

START_TEST(a_context_gives_back_what_nobody_received)
{
    struct keel_pml_request *send, *recv;
    start(&calm);
    send = isend(0, 1, 5, LONG, STANDARD);
    struct keel_pml_request *small = isend(0, 1, 5, 8, STANDARD);
    world_progress();
    recv = irecv(1, 0, 6, 8);
    ck_assert_int_eq(keel_pml_context_free(&ctx[1]), OPAL_ERR_RESOURCE_BUSY);
    ck_assert_int_eq(keel_pml_cancel(recv), OPAL_SUCCESS);
    ends(&recv, OPAL_ERR_INTERUPTED);
    ck_assert_int_eq(keel_pml_context_free(&ctx[1]), OPAL_SUCCESS);
    ends(&send, OPAL_ERR_NOT_FOUND);
    ends(&small, OPAL_SUCCESS);
    /* The peer is there all the same. */
    ck_assert_int_eq(pml_context_open(world.pml[1], 10, NULL, 2, 1, &ctx[1]), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_context_free(&ctx[0]), OPAL_SUCCESS);
    ck_assert_int_eq(pml_context_open(world.pml[0], 10, NULL, 2, 0, &ctx[0]), OPAL_SUCCESS);
    send = isend(0, 1, 5, LONG, STANDARD);
    recv = irecv(1, 0, 5, LONG);
    ends(&recv, OPAL_SUCCESS);
    ends(&send, OPAL_SUCCESS);
    stop();
}
END_TEST

START_TEST(bad_arguments_change_nothing)
{
    struct keel_pml_context *none = NULL;
    struct keel_pml_request *request = NULL;
    struct keel_pml_message *message = NULL;
    opal_proc_t *holes[] = {&world.procs[0], NULL};
    bool flag;
    size_t number;
    start(&calm);
    struct pml *pml = world.pml[0];
    const int bad = OPAL_ERR_BAD_PARAM;
    ck_assert_int_eq(pml_context_open(pml, 65536, NULL, 2, 0, &none), bad);
    ck_assert_int_eq(pml_context_open(pml, 1, NULL, 3, 0, &none), bad);
    ck_assert_int_eq(pml_context_open(pml, 1, NULL, 2, 1, &none), bad);
    ck_assert_int_eq(pml_context_open(pml, 1, NULL, 2, 2, &none), bad);
    ck_assert_int_eq(pml_context_open(pml, 1, NULL, 2, -1, &none), bad);
    ck_assert_int_eq(pml_context_open(pml, 1, holes, 2, 0, &none), bad);
    ck_assert_int_eq(pml_context_open(pml, 1, world.members, 0, 0, &none), bad);
    ck_assert_int_eq(pml_context_open(pml, 1, NULL, 2, 0, NULL), bad);
    ck_assert_int_eq(pml_context_open(pml, 7, NULL, 2, 0, &none), OPAL_EXISTS);
    ck_assert_ptr_null(none);
    ck_assert_int_eq(keel_pml_context_free(&none), bad);
    ck_assert_int_eq(keel_pml_isend(ctx[0], NULL, 2, 0, KEEL_PML_STANDARD, &request), bad);
    ck_assert_int_eq(keel_pml_isend(ctx[0], NULL, ANY, 0, KEEL_PML_STANDARD, &request), bad);
    ck_assert_int_eq(keel_pml_isend(ctx[0], NULL, 1, ANY_TAG, KEEL_PML_STANDARD, &request), bad);
    ck_assert_int_eq(
        keel_pml_isend(ctx[0], NULL, 1, KEEL_PML_TAG_MIN - 1, KEEL_PML_STANDARD, &request), bad);
    ck_assert_int_eq(keel_pml_isend(ctx[0], NULL, 1, 0, (keel_pml_mode_t) 4, &request), bad);
    ck_assert_int_eq(keel_pml_isend(NULL, NULL, 1, 0, KEEL_PML_STANDARD, &request), bad);
    ck_assert_int_eq(keel_pml_isend(ctx[0], NULL, 1, 0, KEEL_PML_STANDARD, NULL), bad);
    ck_assert_int_eq(keel_pml_irecv(ctx[0], NULL, 2, 0, &request), bad);
    ck_assert_int_eq(keel_pml_irecv(ctx[0], NULL, -2, 0, &request), bad);
    ck_assert_int_eq(keel_pml_irecv(ctx[0], NULL, 1, KEEL_PML_TAG_MIN - 1, &request), bad);
    ck_assert_int_eq(keel_pml_irecv(ctx[0], NULL, 1, 0, NULL), bad);
    ck_assert_int_eq(keel_pml_send(NULL, NULL, 1, 0, KEEL_PML_STANDARD), bad);
    ck_assert_int_eq(keel_pml_recv(NULL, NULL, 1, 0, NULL), bad);
    ck_assert_int_eq(keel_pml_iprobe(ctx[0], 2, 0, &flag, NULL), bad);
    ck_assert_int_eq(keel_pml_iprobe(ctx[0], 1, 0, NULL, NULL), bad);
    ck_assert_int_eq(keel_pml_improbe(ctx[0], 1, 0, NULL, NULL), bad);
    ck_assert_int_eq(keel_pml_imrecv(&message, NULL, &request), bad);
    ck_assert_int_eq(keel_pml_send_init(ctx[0], NULL, 2, 0, KEEL_PML_STANDARD, &request), bad);
    ck_assert_int_eq(keel_pml_recv_init(ctx[0], NULL, 2, 0, &request), bad);
    ck_assert_int_eq(keel_pml_start(NULL), bad);
    ck_assert_int_eq(keel_pml_wait(NULL, NULL), bad);
    ck_assert_int_eq(keel_pml_test(&request, NULL, NULL), bad);
    ck_assert_int_eq(keel_pml_waitany(1, NULL, &number, NULL), bad);
    ck_assert_int_eq(keel_pml_waitsome(1, &request, &number, NULL, NULL), bad);
    ck_assert_int_eq(keel_pml_cancel(NULL), bad);
    ck_assert_int_eq(keel_pml_callback(NULL, tell, NULL), bad);
    ck_assert_int_eq(keel_pml_request_free(NULL), bad);
    ck_assert_ptr_null(request);
    ck_assert_uint_eq(world.counts.packets, 0);
    request = irecv(0, 1, 0, 8);
    ck_assert_int_eq(keel_pml_start(request), bad);
    ck_assert_int_eq(keel_pml_request_free(&request), OPAL_SUCCESS);
    stop();
}
END_TEST

/* ---- shortages, memory, numbers ---- */

static void flood(const struct world_rules *rules)
{
    enum { MANY = 200 };
    struct keel_pml_request *sends[MANY];
    start(rules);
    for (int i = 0; i < MANY; i++) {
        sends[i] = isend(0, 1, i, (size_t) i % 3 ? 8 : LONG, STANDARD);
    }
    for (int i = 0; i < MANY; i++) {
        struct keel_pml_status status;
        opal_convertor_t to = of(target, LONG);
        ck_assert_int_eq(keel_pml_recv(ctx[1], &to, 0, ANY_TAG, &status), OPAL_SUCCESS);
        expect(&status, 0, i, (size_t) i % 3 ? 8 : LONG);
    }
    ck_assert_int_eq(keel_pml_waitall(MANY, sends, NULL), OPAL_SUCCESS);
    stop();
}

START_TEST(after_a_shortage_messages_go_on_in_order)
{
    struct world_rules rules = calm;
    rules.room = 3;
    flood(&rules);
    ck_assert_uint_gt(world.counts.short_calls, 100);
    rules.immediate = true;
    flood(&rules);
    ck_assert_uint_gt(world.counts.short_calls, 100);
    rules.refuses = 30;
    rules.flags |= MCA_PTL_GET;
    flood(&rules);
    rules.flags = 0; /* nobody tells that it is over */
    flood(&rules);
    ck_assert_uint_gt(world.counts.short_calls, 100);
}
END_TEST

static uint64_t counter(int me, int32_t rank, const char *name)
{
    struct keel_pml_stat stats[16];
    const size_t count = keel_pml_stats(ctx[me], rank, stats, 16);
    ck_assert_uint_le(count, 16);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(stats[i].name, name) == 0) {
            return stats[i].value;
        }
    }
    ck_abort_msg("no counter %s", name);
    return 0;
}

START_TEST(a_receiver_with_too_much_asks_for_no_more_data)
{
    enum { MANY = 200 };
    struct keel_pml_request *sends[MANY], *more;
    setenv("KEEL_MCA_pml_unexpected_size", "10000", 1);
    start(&calm);
    for (int i = 0; i < MANY; i++) {
        sends[i] = isend(0, 1, i, 50, STANDARD);
        world_progress();
    }
    ck_assert(!is_done(&sends[MANY - 1], NULL)); /* it waits to be matched */
    ck_assert(is_done(&sends[0], NULL));
    const uint64_t most = counter(1, 0, "unexpected_most");
    ck_assert_uint_gt(counter(1, 0, "unexpected_now"), 10000);
    for (int i = 0; i < MANY; i++) {
        struct keel_pml_request *recv = irecv(1, 0, i, 50);
        struct keel_pml_status status = ends(&recv, OPAL_SUCCESS);
        expect(&status, 0, i, 50);
    }
    ck_assert_int_eq(keel_pml_waitall(MANY, sends, NULL), OPAL_SUCCESS);
    ck_assert_uint_eq(counter(1, 0, "unexpected_now"), 0);
    ck_assert_uint_ge(counter(1, KEEL_PML_ANY_SOURCE, "unexpected_most"), most);
    ck_assert_uint_eq(counter(0, 1, "unexpected_most"), 0);
    /* It has room again. */
    world_progress();
    world_progress();
    more = isend(0, 1, 0, 50, STANDARD);
    ends(&more, OPAL_SUCCESS);
    more = irecv(1, 0, 0, 50);
    ends(&more, OPAL_SUCCESS);
    stop();
}
END_TEST

/* Receives so many messages with tags that count up. */
static void receive_in_order(int32_t first, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        struct keel_pml_status status;
        opal_convertor_t to = of(target, 8);
        ck_assert_int_eq(keel_pml_recv(ctx[1], &to, 0, ANY_TAG, &status), OPAL_SUCCESS);
        ck_assert_int_eq(status.tag, first + i);
    }
}

/* A message comes last, behind more than its number can tell apart: the others' sender waits. */
static void wrap_behind(int32_t before)
{
    enum { MANY = 100000 };
    static struct keel_pml_request *sends[MANY];
    start(&calm);
    for (int32_t i = 0; i < before; i++) {
        opal_convertor_t from = of(source, 0);
        ck_assert_int_eq(keel_pml_send(ctx[0], &from, 1, i, KEEL_PML_STANDARD), OPAL_SUCCESS);
    }
    receive_in_order(0, before);
    world.holds = true;
    world.held_tag = before;
    size_t packets = world.counts.packets;
    for (int32_t i = 0; i < MANY; i++) {
        sends[i] = isend(0, 1, before + i, 0, STANDARD);
    }
    for (int i = 0; i < 100; i++) {
        world_progress();
    }
    ck_assert_uint_lt(world.counts.packets - packets, 20000);
    world.holds = false;
    receive_in_order(before, MANY);
    ck_assert_int_eq(keel_pml_waitall(MANY, sends, NULL), OPAL_SUCCESS);
    stop();
}

START_TEST(numbers_wrap)
{
    wrap_behind(0);
    wrap_behind(60000);
}
END_TEST

START_TEST(requests_are_kept_for_modules)
{
    struct world_rules rules = calm;
    struct keel_pml_request *sends[10];
    rules.cache_size = 4;
    rules.cache_bytes = 100;
    start(&rules);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 10; i++) {
            sends[i] = isend(0, 1, 5, 8, STANDARD);
        }
        ck_assert_int_eq(keel_pml_waitall(10, sends, NULL), OPAL_SUCCESS);
        ck_assert_uint_eq(world.counts.cached, 4u * (unsigned) (round + 1));
        ck_assert_uint_eq(world.counts.kept, 4);
    }
    stop();
}
END_TEST

static struct keel_pml_request *inner;
static int answers[4], hooks;

static void wait_inside(int rank)
{
    if (rank == 0) {
        bool there = false;
        hooks++;
        answers[0] = keel_pml_wait(&inner, NULL);
        answers[1] = keel_pml_send(ctx[0], NULL, 1, 5, KEEL_PML_STANDARD);
        answers[2] = keel_pml_probe(ctx[0], ANY, 5, NULL);
        answers[3] = keel_pml_iprobe(ctx[0], ANY, 5, &there, NULL);
    }
}

START_TEST(nobody_waits_inside_of_progress)
{
    start(&calm);
    inner = irecv(0, 1, 5, 8);
    world.hook = wait_inside;
    (void) pml_progress(world.pml[0]);
    ck_assert_int_eq(hooks, 1);
    ck_assert_int_eq(answers[0], OPAL_ERR_RESOURCE_BUSY);
    ck_assert_int_eq(answers[1], OPAL_ERR_RESOURCE_BUSY);
    ck_assert_int_eq(answers[2], OPAL_ERR_RESOURCE_BUSY);
    ck_assert_int_eq(answers[3], OPAL_SUCCESS);
    ck_assert_int_eq(pml_close(world.pml[0]), OPAL_ERR_RESOURCE_BUSY);
    world.hook = NULL;
    ck_assert_int_eq(keel_pml_request_free(&inner), OPAL_SUCCESS);
    stop();
}
END_TEST

START_TEST(a_context_counts_its_messages)
{
    struct keel_pml_stat stats[16];
    start(&calm);
    struct keel_pml_request *first = irecv(1, 0, 5, 8);
    struct keel_pml_request *sends[] = {isend(0, 1, 5, 8, STANDARD), isend(0, 1, 6, 16, STANDARD),
                                        isend(0, 1, 7, 8 * FIRST, STANDARD)};
    for (int i = 0; i < 5; i++) {
        world_progress();
    }
    struct keel_pml_request *second = irecv(1, 0, 6, 16), *third = irecv(1, 0, 7, 8 * FIRST);
    ends(&first, OPAL_SUCCESS);
    ends(&second, OPAL_SUCCESS);
    ends(&third, OPAL_SUCCESS);
    for (int i = 0; i < 3; i++) {
        ends(&sends[i], OPAL_SUCCESS);
    }
    for (int i = 0; i < 2; i++) {
        const int32_t rank = i == 0 ? 1 : KEEL_PML_ANY_SOURCE;
        ck_assert_uint_eq(counter(0, rank, "messages_sent"), 3);
        ck_assert_uint_eq(counter(0, rank, "bytes_sent"), 24 + 8 * FIRST);
        ck_assert_uint_eq(counter(0, rank, "announced"), 1);
        ck_assert_uint_eq(counter(0, rank, "messages_received"), 0);
    }
    ck_assert_uint_eq(counter(0, 0, "messages_sent"), 0);
    ck_assert_uint_eq(counter(1, 0, "messages_received"), 3);
    ck_assert_uint_eq(counter(1, 0, "bytes_received"), 24 + 8 * FIRST);
    ck_assert_uint_eq(counter(1, 0, "unexpected"), 2);
    stats[1].name = "untouched";
    ck_assert_uint_gt(keel_pml_stats(ctx[0], 1, stats, 1), 1);
    ck_assert_str_eq(stats[1].name, "untouched");
    ck_assert_uint_eq(keel_pml_stats(ctx[0], world.rules.ranks, stats, 16), 0);
    ck_assert_uint_eq(keel_pml_stats(NULL, 0, stats, 16), 0);
    stop();
}
END_TEST

static struct keel_pml_request *nested;

static void send_inside(void)
{
    nested = isend(0, 1, 5, 16, STANDARD);
}

static void send_inside_of_a_send(const struct world_rules *rules)
{
    struct keel_pml_status status;
    size_t bytes = 0;
    start(rules);
    world.inner = send_inside;
    struct keel_pml_request *outer = isend(0, 1, 5, 8, STANDARD);
    ck_assert_ptr_nonnull(nested);
    for (int i = 0; i < 2; i++) {
        struct keel_pml_request *recv = irecv(1, 0, 5, 16);
        bool done = false;
        for (int round = 0; round < 10 && !done; round++) {
            world_progress();
            ck_assert_int_eq(keel_pml_test(&recv, &done, &status), OPAL_SUCCESS);
        }
        ck_assert(done);
        bytes += status.bytes;
    }
    ck_assert_uint_eq(bytes, 8 + 16);
    ends(&outer, OPAL_SUCCESS);
    ends(&nested, OPAL_SUCCESS);
    stop();
}

/* As a callback of the data plane does that a module calls before its function returns. */
START_TEST(a_send_inside_of_a_send_has_a_number_of_its_own)
{
    send_inside_of_a_send(&calm);
    send_inside_of_a_send(&immediate);
}
END_TEST

/* ---- peers that end ---- */

static void unreachable(int from, int to)
{
    struct keel_pml_request *request = NULL;
    bool there;
    world_progress();
    ck_assert_int_eq(keel_pml_isend(ctx[from], NULL, to, 5, KEEL_PML_STANDARD, &request),
                     OPAL_ERR_UNREACH);
    ck_assert_int_eq(keel_pml_irecv(ctx[from], NULL, to, 5, &request), OPAL_ERR_UNREACH);
    ck_assert_int_eq(keel_pml_iprobe(ctx[from], to, 5, &there, NULL), OPAL_ERR_UNREACH);
    ck_assert_int_eq(keel_pml_probe(ctx[from], to, 5, NULL), OPAL_ERR_UNREACH);
    ck_assert_ptr_null(request);
}

START_TEST(sends_end_with_their_peer)
{
    for (int mode = STANDARD; mode < BUFFERED; mode++) {
        start(&calm);
        struct keel_pml_request *unmatched = isend(0, 1, 5, 8, SYNC);
        struct keel_pml_request *longer = isend(0, 1, 5, LONG, mode);
        world_progress();
        world.halted = true;
        struct keel_pml_request *under_way = isend(0, 1, 6, LONG, mode);
        world_kill(1);
        ends(&unmatched, OPAL_ERR_UNREACH);
        ends(&longer, OPAL_ERR_UNREACH);
        ends(&under_way, OPAL_ERR_UNREACH);
        unreachable(0, 1);
        stop();
    }
}
END_TEST

START_TEST(sends_that_wait_for_room_end_with_their_peer)
{
    struct world_rules rules = calm;
    struct keel_pml_request *sends[10];
    rules.room = 1;
    start(&rules);
    world.halted = true;
    for (int i = 0; i < 10; i++) {
        sends[i] = isend(0, 1, i, i % 2 ? 8 : LONG, i % 4 == 3 ? BUFFERED : STANDARD);
    }
    world_kill(1);
    for (int i = 0; i < 10; i++) {
        ends(&sends[i], i % 4 == 3 ? OPAL_SUCCESS : OPAL_ERR_UNREACH);
    }
    stop();
}
END_TEST

START_TEST(sends_whose_rest_is_under_way_end_with_their_peer)
{
    struct world_rules rules = calm;
    rules.late = true;
    for (int room = 0; room < 4; room++) {
        rules.room = (size_t) room;
        start(&rules);
        struct keel_pml_request *recv = irecv(1, 0, 5, LONG);
        struct keel_pml_request *send = isend(0, 1, 5, LONG, STANDARD);
        world.stuck = WORLD_FRAG;
        never_ends(&send);
        world_kill(1);
        ends(&send, OPAL_ERR_UNREACH);
        (void) recv;
        stop();
    }
}
END_TEST

static void receive_from_a_peer_that_ends(const struct world_rules *rules, int stuck)
{
    start(rules);
    struct keel_pml_request *recv = irecv(0, 1, 5, LONG);
    struct keel_pml_request *send = isend(1, 0, 5, LONG, STANDARD);
    world.stuck = stuck;
    never_ends(&recv);
    world_kill(1);
    ends(&recv, OPAL_ERR_UNREACH);
    (void) send;
    stop();
}

START_TEST(receives_end_with_their_peer)
{
    receive_from_a_peer_that_ends(&calm, WORLD_FIRST);
    receive_from_a_peer_that_ends(&calm, WORLD_ACK);
    receive_from_a_peer_that_ends(&calm, WORLD_FRAG);
    receive_from_a_peer_that_ends(&fetching, WORLD_FETCHED);
}
END_TEST

START_TEST(what_has_arrived_is_received_first)
{
    struct keel_pml_status status;
    start(&calm);
    struct keel_pml_request *send = isend(1, 0, 5, 8, STANDARD);
    struct keel_pml_request *lost = isend(1, 0, 6, LONG, STANDARD);
    struct keel_pml_request *other = irecv(0, 1, 7, 8);
    struct keel_pml_request *any = irecv(0, ANY, 7, 8);
    world_progress();
    world_kill(1);
    ends(&other, OPAL_ERR_UNREACH);
    never_ends(&any);
    struct keel_pml_request *recv = irecv(0, 1, 5, 8);
    status = ends(&recv, OPAL_SUCCESS);
    expect(&status, 1, 5, 8);
    recv = irecv(0, 1, 6, LONG); /* all of it that came */
    status = ends(&recv, OPAL_ERR_UNREACH);
    ck_assert_int_eq(status.tag, 6);
    unreachable(0, 1);
    send = isend(0, 0, 7, 8, STANDARD);
    status = ends(&any, OPAL_SUCCESS);
    expect(&status, 0, 7, 8);
    ends(&send, OPAL_SUCCESS);
    (void) lost;
    stop();
}
END_TEST

/* A message ahead of one that was lost will never have its turn. */
START_TEST(what_came_ahead_of_its_turn_is_given_back)
{
    start(&calm);
    world.holds = true;
    world.held_tag = 5;
    struct keel_pml_request *first = isend(1, 0, 5, 8, STANDARD);
    struct keel_pml_request *second = isend(1, 0, 6, 8, STANDARD);
    struct keel_pml_request *recv = irecv(0, 1, ANY_TAG, LONG);
    never_ends(&recv);
    ck_assert_uint_eq(world.waiting, 1);
    world_kill(1);
    ends(&recv, OPAL_ERR_UNREACH);
    ck_assert_uint_eq(world.waiting, 0);
    (void) first, (void) second;
    stop();
}
END_TEST

START_TEST(blocking_calls_end_with_their_peer)
{
    for (int call = 0; call < 4; call++) {
        struct keel_pml_message *message;
        opal_convertor_t data = of(source, LONG);
        start(&calm);
        world.doom = 10;
        world.doomed = 1;
        int status = call == 0   ? keel_pml_send(ctx[0], &data, 1, 5, KEEL_PML_STANDARD)
                     : call == 1 ? keel_pml_recv(ctx[0], &data, 1, 5, NULL)
                     : call == 2 ? keel_pml_probe(ctx[0], 1, 5, NULL)
                                 : keel_pml_mprobe(ctx[0], 1, 5, &message, NULL);
        ck_assert_int_eq(status, OPAL_ERR_UNREACH);
        stop();
    }
}
END_TEST

START_TEST(a_persistent_request_outlives_its_peer)
{
    struct keel_pml_request *send, *recv;
    opal_convertor_t data = of(source, 8);
    start(&calm);
    ck_assert_int_eq(keel_pml_send_init(ctx[0], &data, 1, 5, KEEL_PML_STANDARD, &send),
                     OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_recv_init(ctx[0], &data, 1, 5, &recv), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_start(recv), OPAL_SUCCESS);
    world_kill(1);
    ck_assert_int_eq(keel_pml_wait(&recv, NULL), OPAL_ERR_UNREACH);
    ck_assert_int_eq(keel_pml_start(send), OPAL_ERR_UNREACH);
    ck_assert_int_eq(keel_pml_start(recv), OPAL_ERR_UNREACH);
    ck_assert_int_eq(keel_pml_request_free(&send), OPAL_SUCCESS);
    ck_assert_int_eq(keel_pml_request_free(&recv), OPAL_SUCCESS);
    stop();
}
END_TEST

START_TEST(others_go_on_when_a_peer_ends)
{
    struct world_rules rules = calm;
    rules.ranks = 3;
    start(&rules);
    struct keel_pml_request *send = isend(0, 2, 5, LONG, STANDARD);
    struct keel_pml_request *lost = isend(0, 1, 5, LONG, STANDARD);
    struct keel_pml_request *recv = irecv(2, 0, 5, LONG);
    struct keel_pml_request *from = irecv(2, 1, 5, LONG);
    world_disturb(2); /* it is still there */
    world_progress();
    world_kill(1);
    ends(&lost, OPAL_ERR_UNREACH);
    ends(&from, OPAL_ERR_UNREACH);
    struct keel_pml_status status = ends(&recv, OPAL_SUCCESS);
    expect(&status, 0, 5, LONG);
    ends(&send, OPAL_SUCCESS);
    stop();
}
END_TEST

/* A message was lost meanwhile: what waits for it must not wait for ever. */
START_TEST(a_way_that_was_away_is_lost)
{
    start(&calm);
    world.halted = true;
    struct keel_pml_request *send = isend(1, 0, 5, 8, STANDARD);
    struct keel_pml_request *recv = irecv(0, 1, 5, 8);
    world_flap(1);
    world.halted = false;
    ends(&send, OPAL_SUCCESS);
    ends(&recv, OPAL_ERR_UNREACH);
    unreachable(0, 1);
    stop();
}
END_TEST

/* The receiver has sent nothing to its sender, nor asked for anything of its. */
START_TEST(an_announced_message_ends_with_its_sender)
{
    start(&calm);
    struct keel_pml_request *send = isend(1, 0, 5, LONG, STANDARD);
    world_progress();
    world_flap(1);
    world_flap(0);
    struct keel_pml_request *recv = irecv(0, 1, 5, LONG);
    ends(&recv, OPAL_ERR_UNREACH);
    ends(&send, OPAL_ERR_UNREACH);
    stop();
}
END_TEST

START_TEST(a_module_that_takes_nothing_is_an_error)
{
    opal_convertor_t data = of(source, 8);
    struct keel_pml_request *request = NULL;
    start(&calm);
    world.send_status = OPAL_ERR_FATAL;
    ck_assert_int_eq(keel_pml_isend(ctx[0], &data, 1, 5, KEEL_PML_STANDARD, &request),
                     OPAL_ERR_FATAL);
    ck_assert_int_eq(keel_pml_isend(ctx[0], &data, 1, 5, KEEL_PML_BUFFERED, &request),
                     OPAL_ERR_FATAL);
    ck_assert_ptr_null(request);
    world.send_status = OPAL_SUCCESS;
    /* It counts for nothing: the next message has its number. */
    struct keel_pml_request *send = isend(0, 1, 5, 8, STANDARD);
    request = irecv(1, 0, 5, 8);
    ends(&request, OPAL_SUCCESS);
    ends(&send, OPAL_SUCCESS);
    world.put_status = OPAL_ERR_FATAL;
    request = irecv(1, 0, 6, LONG);
    send = isend(0, 1, 6, LONG, STANDARD);
    ends(&send, OPAL_ERR_FATAL);
    world_kill(0);
    ends(&request, OPAL_ERR_UNREACH);
    stop();
}
END_TEST

/* Pieces of it are still under way. */
START_TEST(a_send_that_has_failed_is_told_no_more)
{
    struct world_rules rules = calm;
    rules.late = true;
    rules.room = 2;
    start(&rules);
    struct keel_pml_request *recv = irecv(1, 0, 6, LONG);
    struct keel_pml_request *send = isend(0, 1, 6, LONG, STANDARD);
    world.stuck = WORLD_FRAG;
    never_ends(&send);
    ck_assert_uint_ge(world.counts.packets, 4);
    world.put_status = OPAL_ERR_FATAL;
    world.rules.room = 0;
    ends(&send, OPAL_ERR_FATAL);
    world.put_status = OPAL_SUCCESS;
    send = isend(0, 1, 7, 8, SYNC); /* in the place of the other one */
    world.stuck = 0;
    never_ends(&send);
    world_kill(1);
    ends(&send, OPAL_ERR_UNREACH);
    (void) recv;
    stop();
}
END_TEST

START_TEST(a_fetch_that_fails_is_an_error)
{
    start(&fetching);
    world.put_status = OPAL_ERR_FATAL;
    struct keel_pml_request *recv = irecv(1, 0, 6, LONG);
    struct keel_pml_request *send = isend(0, 1, 6, LONG, STANDARD);
    ends(&recv, OPAL_ERR_FATAL);
    ends(&send, OPAL_SUCCESS);
    stop();
}
END_TEST

UNIT_MAIN("pml", a_short_message_is_sent_at_once, a_whole_message_goes_the_short_way,
          the_short_way_ends_in_a_small_or_scattered_buffer, others_do_not_go_the_short_way,
          blocking_calls_wait, a_process_sends_to_itself, a_message_that_does_not_fit_is_cut,
          a_synchronous_send_ends_when_it_is_matched, a_buffered_send_ends_at_once,
          buffered_sends_hold_so_much_and_no_more,
          messages_go_to_the_oldest_receive_that_wants_them, a_probe_tells_and_leaves,
          a_message_is_taken_by_a_probe, a_request_is_started_again, a_receive_is_cancelled,
          a_callback_comes_once, a_callback_waits_for_what_has_ended_with_it,
          any_some_and_all_are_waited_for, contexts_keep_their_messages_apart,
          members_have_ranks_of_their_own, messages_wait_until_their_context_is_opened,
          so_many_early_messages_wait_and_no_more, a_context_gives_back_what_nobody_received,
          bad_arguments_change_nothing, after_a_shortage_messages_go_on_in_order,
          a_receiver_with_too_much_asks_for_no_more_data, numbers_wrap,
          requests_are_kept_for_modules, nobody_waits_inside_of_progress,
          a_send_inside_of_a_send_has_a_number_of_its_own, a_context_counts_its_messages,
          sends_end_with_their_peer, sends_that_wait_for_room_end_with_their_peer,
          sends_whose_rest_is_under_way_end_with_their_peer, receives_end_with_their_peer,
          what_has_arrived_is_received_first, what_came_ahead_of_its_turn_is_given_back,
          blocking_calls_end_with_their_peer, a_persistent_request_outlives_its_peer,
          others_go_on_when_a_peer_ends, a_way_that_was_away_is_lost,
          an_announced_message_ends_with_its_sender, a_module_that_takes_nothing_is_an_error,
          a_send_that_has_failed_is_told_no_more, a_fetch_that_fails_is_an_error)
