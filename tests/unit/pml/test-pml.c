/* What keel/pml.h promises of messages, probes and requests, over tests/unit/pml/world.h. */
#include <config.h>

#include <base/settings/log.h>
#include <stdlib.h>
#include <string.h>
#include <tests/unit/pml/ranks.h>

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

UNIT_MAIN("pml")
