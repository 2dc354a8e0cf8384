/* Checkpoint, continue, restart: with traffic over three daemons. */
#include "cluster.h"
#include <base/data/clock.h>
#include <base/settings/param.h>
#include <base/types/name.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

enum { TAG = 200, STREAM = 3000 };

static struct node daemons[3], a, b;

static int ft(struct node *node, int state)
{
    return rml_call_ft_event(node->rml, state);
}

static int send_number(struct node *from, struct node *to, uint32_t number, int flags)
{
    struct iovec part = {&number, sizeof(number)};
    return rml_call_send(from->rml, &to->name, &part, 1, TAG, flags);
}

static int receive_number(struct node *at, struct node *from, uint32_t *number)
{
    struct iovec part = {number, sizeof(*number)};
    return rml_call_recv(at->rml, &from->name, &part, 1, TAG, 0);
}

static void expect_number(struct node *at, struct node *from, uint32_t expected)
{
    uint32_t number = ~expected;
    ck_assert_int_eq(receive_number(at, from, &number), 4);
    ck_assert_uint_eq(number, expected);
}

START_TEST(states)
{
    chain_open(daemons, &a, &b);
    ck_assert_int_eq(ft(&a, -1), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(ft(&a, OPAL_CRS_ERROR + 1), ORTE_ERR_BAD_PARAM);
    static const int none[] = {OPAL_CRS_NONE,    OPAL_CRS_RESTART_PRE, OPAL_CRS_TERM,
                               OPAL_CRS_RUNNING, OPAL_CRS_CONTINUE,    OPAL_CRS_ERROR};
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
        ck_assert_int_eq(ft(&a, none[i]), ORTE_SUCCESS);
    }
    ck_assert_int_eq(ft(&daemons[0], OPAL_CRS_CHECKPOINT), ORTE_ERR_NOT_SUPPORTED);
    ck_assert_int_eq(send_number(&a, &b, 1, KEEL_RML_DELIVERED), 4);
    expect_number(&b, &a, 1);
    chain_close(daemons, &a, &b);
}
END_TEST

/* --- checkpoints --- */

START_TEST(what_was_accepted_arrives_and_nothing_more)
{
    chain_open(daemons, &a, &b);
    for (uint32_t i = 0; i < 100; i++) {
        ck_assert_int_eq(send_number(&a, &b, i, 0), 4);
    }
    ck_assert_int_eq(ft(&a, OPAL_CRS_CHECKPOINT), ORTE_SUCCESS);
    ck_assert_uint_eq(bytes_to(&a, &b), 0); /* all is at b */
    ck_assert_int_eq(ft(&a, OPAL_CRS_CHECKPOINT), ORTE_SUCCESS);
    for (uint32_t i = 100; i < 200; i++) {
        ck_assert_int_eq(send_number(&a, &b, i, 0), 4); /* accepted, and kept */
    }
    ck_assert_int_eq(send_number(&b, &a, 7, KEEL_RML_DELIVERED), 4); /* the other way goes on */
    expect_number(&a, &b, 7);
    for (uint32_t i = 0; i < 100; i++) {
        expect_number(&b, &a, i);
    }
    struct timespec little = {0, 300000000};
    nanosleep(&little, NULL);
    ck_assert_uint_eq(count_of(&b, &b.rml->match.unexpected_bytes), 0);
    ck_assert_uint_gt(bytes_to(&a, &b), 100 * 4);
    ck_assert_int_eq(ft(&a, OPAL_CRS_CONTINUE), ORTE_SUCCESS);
    for (uint32_t i = 100; i < 200; i++) {
        expect_number(&b, &a, i);
    }
    chain_close(daemons, &a, &b);
}
END_TEST

/* The time for that is bounded, and what has not arrived is kept. */
START_TEST(a_receiver_that_stands_still)
{
    ck_assert_int_eq(param_override("rml_quiesce_timeout_ms", "200"), ORTE_SUCCESS);
    chain_open(daemons, &a, &b);
    ck_assert_int_eq(send_number(&a, &b, 1, KEEL_RML_DELIVERED), 4);
    loop_stop(b.loop);
    ck_assert_int_eq(send_number(&a, &b, 2, 0), 4);
    uint64_t begin = clock_us();
    ck_assert_int_eq(ft(&a, OPAL_CRS_CHECKPOINT), ORTE_SUCCESS);
    ck_assert_uint_ge(clock_us() - begin, 200000);
    ck_assert_int_eq(loop_start_thread(b.loop), ORTE_SUCCESS);
    ck_assert_int_eq(ft(&a, OPAL_CRS_CONTINUE), ORTE_SUCCESS);
    expect_number(&b, &a, 1);
    expect_number(&b, &a, 2);
    chain_close(daemons, &a, &b);
}
END_TEST

static size_t size_of(uint32_t i)
{
    return i % 100 == 0 ? 300000 : i * 2654435761u % 3000;
}

static void *send_stream(void *arg)
{
    struct node *from = arg, *to = from == &a ? &b : &a;
    for (uint32_t i = 0; i < STREAM; i++) {
        send_filled(from, to, TAG, size_of(i), i);
    }
    return NULL;
}

static void *receive_stream(void *arg)
{
    struct node *at = arg, *from = at == &a ? &b : &a;
    for (uint32_t i = 0; i < STREAM; i++) {
        receive_filled(at, &from->name, TAG, size_of(i), i);
    }
    return NULL;
}

/* Checkpoints of both ends come and go while messages flow both ways. */
START_TEST(checkpoints_in_a_stream)
{
    pthread_t threads[4];
    ck_assert_int_eq(param_override("rml_quiesce_timeout_ms", "50"), ORTE_SUCCESS);
    chain_open(daemons, &a, &b);
    pthread_create(&threads[0], NULL, send_stream, &a);
    pthread_create(&threads[1], NULL, send_stream, &b);
    pthread_create(&threads[2], NULL, receive_stream, &a);
    pthread_create(&threads[3], NULL, receive_stream, &b);
    for (int i = 0; i < 20; i++) {
        struct node *node = i % 2 ? &a : &b;
        struct timespec little = {0, 2000000};
        ck_assert_int_eq(ft(node, OPAL_CRS_CHECKPOINT), ORTE_SUCCESS);
        nanosleep(&little, NULL);
        ck_assert_int_eq(ft(node, i % 3 ? OPAL_CRS_CONTINUE : OPAL_CRS_ERROR), ORTE_SUCCESS);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    chain_close(daemons, &a, &b);
}
END_TEST

/* --- restarts --- */

static int lost;

static void on_exception(const orte_process_name_t *peer, orte_rml_exception_t exception)
{
    ck_assert(name_equal(peer, &b.name));
    ck_assert_int_eq(exception, ORTE_RML_PEER_DISCONNECTED);
    lost++;
}

static void watch_b(void)
{
    ck_assert_int_eq(rml_call_add_exception_handler(a.rml, on_exception), ORTE_SUCCESS);
}

/* Polls until b's end has been told so often. */
static void wait_lost(int times)
{
    uint64_t deadline = clock_us() + WAIT_S * 1000000u;
    while (lost < times) {
        ck_assert_uint_lt(clock_us(), deadline);
        (void) rml_progress(a.rml);
        usleep(1000);
    }
    ck_assert_int_eq(lost, times);
}

/* a hears of it without having asked, once for each; then both talk, and nobody else noticed. */
START_TEST(a_restart_is_told)
{
    chain_open(daemons, &a, &b);
    watch_b();
    ck_assert_int_eq(send_number(&a, &b, 1, KEEL_RML_DELIVERED), 4);
    for (int i = 1; i <= 3; i++) {
        uint64_t before = b.rml->config.epoch;
        ck_assert_int_eq(ft(&b, OPAL_CRS_RESTART), ORTE_SUCCESS);
        ck_assert(b.rml->config.epoch != before);
        wait_lost(i);
        ck_assert_int_eq(send_number(&a, &b, 2, KEEL_RML_DELIVERED), 4);
        ck_assert_int_eq(send_number(&b, &a, 3, KEEL_RML_DELIVERED), 4);
        expect_number(&a, &b, 3);
    }
    expect_number(&b, &a, 1); /* what had come is there */
    for (int i = 1; i <= 3; i++) {
        expect_number(&b, &a, 2);
    }
    ck_assert_int_ne(sem_trywait(&b.downs), 0); /* b's own link to its daemon resumed */
    wait_lost(3);
    chain_close(daemons, &a, &b);
}
END_TEST

static int ended_status;
static bool ended;

static void on_sent(int status, orte_process_name_t *peer, struct iovec *msg, int count,
                    orte_rml_tag_t tag, void *cbdata)
{
    (void) peer;
    (void) msg;
    (void) count;
    (void) tag;
    (void) cbdata;
    ended_status = status;
    __atomic_store_n(&ended, true, __ATOMIC_RELEASE);
}

static void send_large(struct node *from, struct node *to)
{
    static uint8_t data[8 << 20];
    struct iovec part = {data, sizeof(data)};
    ended = false;
    ck_assert_int_eq(rml_call_send_nb(from->rml, &to->name, &part, 1, TAG, 0, on_sent, NULL),
                     ORTE_SUCCESS);
}

/* Half of a large message is at b, which begins anew: it fails, and the next one arrives. */
START_TEST(what_is_pending_to_it_fails)
{
    ck_assert_int_eq(param_override("rml_unexpected_max", "1m"), ORTE_SUCCESS);
    chain_open(daemons, &a, &b);
    watch_b();
    static uint8_t data[1 << 20];
    struct iovec part = {data, sizeof(data)};
    ck_assert_int_eq(rml_call_send(a.rml, &b.name, &part, 1, TAG + 1, 0), (int) sizeof(data));
    send_large(&a, &b); /* waits behind what fills b's queue */
    ck_assert_int_eq(ft(&b, OPAL_CRS_RESTART), ORTE_SUCCESS);
    wait_done(&a, &ended);
    ck_assert_int_eq(ended_status, ORTE_ERR_COMM_FAILURE);
    wait_lost(1);
    struct iovec in = {data, sizeof(data)};
    ck_assert_int_eq(rml_call_recv(b.rml, &a.name, &in, 1, TAG + 1, 0), (int) sizeof(data));
    ck_assert_int_eq(send_number(&a, &b, 5, KEEL_RML_DELIVERED), 4);
    expect_number(&b, &a, 5);
    chain_close(daemons, &a, &b);
}
END_TEST

START_TEST(what_it_had_pending_fails)
{
    ck_assert_int_eq(param_override("rml_unexpected_max", "1m"), ORTE_SUCCESS);
    chain_open(daemons, &a, &b);
    static uint8_t data[1 << 20];
    struct iovec part = {data, sizeof(data)};
    ck_assert_int_eq(rml_call_send(b.rml, &a.name, &part, 1, TAG + 1, 0), (int) sizeof(data));
    send_large(&b, &a);
    ck_assert_int_eq(ft(&b, OPAL_CRS_RESTART), ORTE_SUCCESS);
    wait_done(&b, &ended);
    ck_assert_int_eq(ended_status, ORTE_ERR_COMM_FAILURE);
    struct iovec in = {data, sizeof(data)};
    ck_assert_int_eq(rml_call_recv(a.rml, &b.name, &in, 1, TAG + 1, 0), (int) sizeof(data));
    ck_assert_int_eq(send_number(&b, &a, 6, KEEL_RML_DELIVERED), 4);
    expect_number(&a, &b, 6); /* nothing of the large one came before it */
    chain_close(daemons, &a, &b);
}
END_TEST

static struct {
    bool stop;
    uint32_t sent, failed;
} flow;

static void *send_until_told(void *arg)
{
    (void) arg;
    for (uint32_t i = 0; !__atomic_load_n(&flow.stop, __ATOMIC_ACQUIRE); i++) {
        int status = send_number(&a, &b, i, KEEL_RML_DELIVERED);
        ck_assert_msg(status == 4 || status == ORTE_ERR_COMM_FAILURE, "message %u: %s", i,
                      opal_strerror(status));
        flow.sent += status == 4;
        flow.failed += status != 4;
    }
    return NULL;
}

/* Restarts in the middle of a stream: each message that was delivered is there once, in order. */
START_TEST(restarts_in_a_stream)
{
    pthread_t thread;
    chain_open(daemons, &a, &b);
    pthread_create(&thread, NULL, send_until_told, NULL);
    for (int i = 0; i < 5; i++) {
        struct timespec little = {0, 50000000};
        nanosleep(&little, NULL);
        ck_assert_int_eq(ft(&b, OPAL_CRS_RESTART), ORTE_SUCCESS);
    }
    __atomic_store_n(&flow.stop, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    int status; /* a may hear of the last restart only now */
    while ((status = send_number(&a, &b, UINT32_MAX, KEEL_RML_DELIVERED)) ==
           ORTE_ERR_COMM_FAILURE) {
    }
    ck_assert_int_eq(status, 4);
    uint32_t got = 0, last = 0, number = 0;
    ck_assert_int_eq(receive_number(&b, &a, &number), 4);
    for (; number != UINT32_MAX; got++) {
        ck_assert(got == 0 || number > last);
        last = number;
        ck_assert_int_eq(receive_number(&b, &a, &number), 4);
    }
    /* one that failed may have arrived before its acknowledgement was lost */
    ck_assert_uint_ge(got, flow.sent);
    ck_assert_uint_le(got, flow.sent + flow.failed);
    ck_assert_uint_gt(flow.sent, 0);
    chain_close(daemons, &a, &b);
}
END_TEST

START_TEST(both_ends_at_once)
{
    chain_open(daemons, &a, &b);
    ck_assert_int_eq(send_number(&a, &b, 1, KEEL_RML_DELIVERED), 4);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(ft(&a, OPAL_CRS_CHECKPOINT), ORTE_SUCCESS);
        ck_assert_int_eq(ft(&b, OPAL_CRS_CHECKPOINT), ORTE_SUCCESS);
        ck_assert_int_eq(ft(&a, OPAL_CRS_RESTART), ORTE_SUCCESS);
        ck_assert_int_eq(ft(&b, OPAL_CRS_RESTART), ORTE_SUCCESS);
        int status;
        while ((status = send_number(&a, &b, 2, KEEL_RML_DELIVERED)) == ORTE_ERR_COMM_FAILURE) {
        }
        ck_assert_int_eq(status, 4);
        ck_assert_int_eq(send_number(&b, &a, 3, KEEL_RML_DELIVERED), 4);
        expect_number(&a, &b, 3);
    }
    expect_number(&b, &a, 1);
    chain_close(daemons, &a, &b);
}
END_TEST

START_TEST(without_a_way_back)
{
    ck_assert_int_eq(param_override("rml_reconnect_ms", "200"), ORTE_SUCCESS);
    chain_open(daemons, &a, &b);
    node_close(&daemons[2]);
    uint64_t begin = clock_us();
    int status = ft(&b, OPAL_CRS_RESTART);
    ck_assert_int_eq(status, ORTE_ERR_COMM_FAILURE);
    ck_assert_uint_lt(clock_us() - begin, 8000000);
    chain_close(daemons, &a, &b);
}
END_TEST

UNIT_MAIN("rml/ftevent")
