/* Links that break and come again, processes that begin anew, receivers that are slow: what the
 * simulation shows of the protocol, with real links. */
#include "cluster.h"
#include <base/data/clock.h>
#include <base/settings/fault.h>
#include <base/settings/param.h>
#include <oob/endpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

enum { TAG = 200, STREAM = 3000 };

static struct node daemons[3], a, b;

static size_t size_of(uint32_t number)
{
    return number % 100 == 0 ? 700000 : number * 2654435761u % 3000;
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

START_TEST(streams_through_resets)
{
    pthread_t threads[4];
    ck_assert_int_eq(param_override("rml_reconnect_ms", "20000"), ORTE_SUCCESS);
    ck_assert_int_eq(fault_set("oob.recv:error=ECONNRESET:p=0.01:seed=7:after=100"), ORTE_SUCCESS);
    chain_open(daemons, &a, &b);
    pthread_create(&threads[0], NULL, send_stream, &a);
    pthread_create(&threads[1], NULL, send_stream, &b);
    pthread_create(&threads[2], NULL, receive_stream, &a);
    pthread_create(&threads[3], NULL, receive_stream, &b);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    uint32_t links = 0;
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&daemons[1].rml->lock);
        const struct rml_peer *peer = rml_peer_find(&daemons[1].rml->peers, &daemons[i].name);
        links += peer ? peer->link_number : 0;
        pthread_mutex_unlock(&daemons[1].rml->lock);
    }
    ck_assert_uint_gt(links, 4);                         /* they broke */
    ck_assert_int_ne(sem_trywait(&daemons[1].downs), 0); /* and nobody was told */
    chain_close(daemons, &a, &b);
}
END_TEST

/* --- resets of the sockets themselves --- */

enum { MANY = 100000, RESET_EVERY_US = 100000 };

static size_t small_size(uint32_t number)
{
    return number % 5000 == 0 ? 300000 : number * 2654435761u % 60;
}

static void *send_many(void *arg)
{
    struct node *from = arg, *to = from == &a ? &b : &a;
    static _Thread_local uint8_t data[300000];
    for (uint32_t i = 0; i < MANY; i++) {
        struct iovec part = {data, small_size(i)};
        fill(data, small_size(i), i);
        ck_assert_int_eq(rml_call_send(from->rml, &to->name, &part, 1, TAG, 0),
                         (int) small_size(i));
    }
    return NULL;
}

static void *receive_many(void *arg)
{
    struct node *at = arg, *from = at == &a ? &b : &a;
    static _Thread_local uint8_t data[300000];
    for (uint32_t i = 0; i < MANY; i++) {
        struct iovec part = {data, sizeof(data)};
        int got = rml_call_recv(at->rml, &from->name, &part, 1, TAG, 0);
        ck_assert_msg(got == (int) small_size(i) && filled(data, small_size(i), i),
                      "message %u: %d bytes", i, got);
    }
    return NULL;
}

/* A connected TCP socket that is disconnected sends a reset. */
static void reset_links(struct node *node, void *arg)
{
    static const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    unsigned *resets = arg;
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&node->rml->lock);
        const struct rml_peer *peer = rml_peer_find(&node->rml->peers, &daemons[i].name);
        if (peer && peer->link && !peer->link->is_unix) {
            *resets += connect(peer->link->fd, &nowhere, sizeof(nowhere)) == 0;
        }
        pthread_mutex_unlock(&node->rml->lock);
    }
}

/* The relay in the middle loses both its links ten times a second. */
START_TEST(a_hundred_thousand_messages_each_way_through_resets)
{
    pthread_t threads[4];
    void *(*const jobs[])(void *) = {send_many, send_many, receive_many, receive_many};
    ck_assert_int_eq(param_override("rml_reconnect_ms", "20000"), ORTE_SUCCESS);
    chain_open(daemons, &a, &b);
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, jobs[i], i % 2 ? &b : &a);
    }
    unsigned resets = 0;
    uint32_t both = 2; /* receivers that are not done */
    while (both > 0) {
        usleep(RESET_EVERY_US);
        node_on_loop(&daemons[1], reset_links, &resets);
        while (both > 0 && pthread_tryjoin_np(threads[4 - both], NULL) == 0) {
            both--;
        }
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("# %u resets\n", resets);
    ck_assert_uint_gt(resets, 4);
    ck_assert_int_ne(sem_trywait(&daemons[1].downs), 0);
    chain_close(daemons, &a, &b);
}
END_TEST

/* --- a star: ranks at one daemon --- */

struct sent {
    int status;
    bool done;
};

static void on_sent(int status, orte_process_name_t *peer, struct iovec *msg, int count,
                    orte_rml_tag_t tag, void *cbdata)
{
    struct sent *sent = cbdata;
    (void) peer;
    (void) msg;
    (void) count;
    (void) tag;
    sent->status = status;
    __atomic_store_n(&sent->done, true, __ATOMIC_RELEASE);
}

static void send_delivered(uint32_t *number, struct sent *sent)
{
    struct iovec part = {number, sizeof(*number)};
    *sent = (struct sent){.status = 1};
    ck_assert_int_eq(
        rml_call_send_nb(a.rml, &b.name, &part, 1, TAG, KEEL_RML_DELIVERED, on_sent, sent),
        ORTE_SUCCESS);
}

/* The first incarnation does not hear the message any more; the second never sees it. */
START_TEST(a_successor_gets_nothing_that_was_not_for_it)
{
    uint32_t number = 1;
    struct sent first, second;
    ck_assert_int_eq(param_override("rml_reconnect_ms", "20000"), ORTE_SUCCESS);
    star_open(&daemons[0], &a, &b);
    send_delivered(&number, &first);
    wait_done(&a, &first.done);
    ck_assert_int_eq(first.status, 4);
    loop_stop(b.loop);
    number = 2;
    send_delivered(&number, &second);
    node_close(&b);
    node_open(&b, NODE_RANK, RANK(1), 64);
    node_link(&b, &daemons[0]);
    wait_done(&a, &second.done);
    ck_assert_int_eq(second.status, ORTE_ERR_COMM_FAILURE);
    number = 3;
    send_delivered(&number, &first);
    uint32_t got = 0;
    struct iovec in = {&got, sizeof(got)};
    ck_assert_int_eq(rml_call_recv(b.rml, &a.name, &in, 1, TAG, 0), 4);
    ck_assert_uint_eq(got, 3);
    wait_done(&a, &first.done);
    ck_assert_int_eq(first.status, 4);
    chain_close(daemons, &a, &b);
}
END_TEST

/* The first of two frames has come. */
static void hear_half(struct node *node, void *arg)
{
    static uint8_t half[100];
    struct rml_message *message = NULL;
    struct rml_header header = {
        .stamp = {.kind = RML_DATA, .class = OOB_APP, .length = sizeof(half)},
        .tag = TAG,
        .total = 2 * sizeof(half),
        .origin = *(orte_process_name_t *) arg};
    struct rml_peer *peer = rml_peer_find(&node->rml->peers, &header.origin);
    ck_assert_int_eq(rml_assemble(&peer->assembly[OOB_APP], &header, half, &message),
                     RML_ASSEMBLED_MORE);
}

static void on_number(int status, orte_process_name_t *peer, struct iovec *msg, int count,
                      orte_rml_tag_t tag, void *cbdata)
{
    (void) peer;
    (void) msg;
    (void) count;
    (void) tag;
    ck_assert_int_eq(status, 4);
    sem_post(cbdata);
}

/* Its successor's first message comes over a new link, which tells of it before any frame. */
START_TEST(who_ends_within_a_message)
{
    uint32_t number = 3, got = 0;
    struct iovec part = {&number, sizeof(number)}, into = {&got, sizeof(got)};
    sem_t came;
    sem_init(&came, 0, 0);
    star_open(&daemons[0], &a, &b);
    node_on_loop(&daemons[0], hear_half, &b.name);
    node_close(&b);
    wait_sem(&daemons[0].downs);
    node_open(&b, NODE_RANK, RANK(1), 64);
    node_link(&b, &daemons[0]);
    ck_assert_int_eq(rml_call_recv_nb(daemons[0].rml, &b.name, &into, 1, TAG, 0, on_number, &came),
                     ORTE_SUCCESS);
    ck_assert_int_eq(rml_call_send(b.rml, &daemons[0].name, &part, 1, TAG, 0), 4);
    wait_sem(&came);
    ck_assert_uint_eq(got, 3);
    ck_assert_uint_eq(count_of(&daemons[0], &daemons[0].rml->counters.out_of_order), 0);
    chain_close(daemons, &a, &b);
    sem_destroy(&came);
}
END_TEST

START_TEST(a_receive_from_one_who_ended)
{
    uint32_t number = 1;
    struct iovec part = {&number, sizeof(number)};
    star_open(&daemons[0], &a, &b);
    ck_assert_int_eq(rml_call_send(b.rml, &a.name, &part, 1, TAG, KEEL_RML_DELIVERED), 4);
    node_close(&b);
    orte_process_name_t gone = RANK(1);
    wait_sem(&daemons[0].downs);
    struct sent sent = {.status = 1};
    ck_assert_int_eq(
        rml_call_send_nb(a.rml, &gone, &part, 1, TAG, KEEL_RML_DELIVERED, on_sent, &sent),
        ORTE_SUCCESS);
    wait_done(&a, &sent.done);
    ck_assert_int_eq(sent.status, ORTE_ERR_COMM_FAILURE);
    ck_assert_int_eq(rml_call_recv(a.rml, &gone, &part, 1, TAG, 0), 4); /* what it sent before */
    ck_assert_int_eq(rml_call_recv(a.rml, &gone, &part, 1, TAG, 0), ORTE_ERR_COMM_FAILURE);
    chain_close(daemons, &a, &b);
}
END_TEST

static void break_link(struct node *node, void *arg)
{
    pthread_mutex_lock(&node->rml->lock);
    struct oob_link *link = rml_peer_find(&node->rml->peers, arg)->link;
    pthread_mutex_unlock(&node->rml->lock);
    oob_link_break(link);
}

static uint32_t link_number(struct node *node, const orte_process_name_t *peer)
{
    pthread_mutex_lock(&node->rml->lock);
    uint32_t number = rml_peer_find(&node->rml->peers, peer)->link_number;
    pthread_mutex_unlock(&node->rml->lock);
    return number;
}

static void be_short(void)
{
    ck_assert_int_eq(param_override("rml_reconnect_ms", "100"), ORTE_SUCCESS);
    ck_assert_int_eq(param_override("oob_heartbeat_ms", "100"), ORTE_SUCCESS);
}

/* keelrun is suspended, and the link to it breaks: it is mended when keelrun goes on. */
START_TEST(a_suspended_hnp_is_waited_for)
{
    be_short();
    chain_open(daemons, &a, &b);
    loop_stop(daemons[0].loop);
    node_on_loop(&daemons[1], break_link, &daemons[0].name);
    usleep(1500000);
    ck_assert_int_ne(sem_trywait(&daemons[1].downs), 0);
    ck_assert_int_eq(loop_start_thread(daemons[0].loop), ORTE_SUCCESS);
    for (int i = 0; i < WAIT_S * 100 && link_number(&daemons[1], &daemons[0].name) < 2; i++) {
        usleep(10000);
    }
    ck_assert_uint_eq(link_number(&daemons[1], &daemons[0].name), 2);
    usleep(300000);
    ck_assert_int_ne(sem_trywait(&daemons[1].downs), 0);
    ck_assert_int_ne(sem_trywait(&daemons[0].downs), 0);
    uint32_t number = 3;
    struct iovec part = {&number, sizeof(number)};
    ck_assert_int_eq(rml_call_send(a.rml, &b.name, &part, 1, TAG, KEEL_RML_DELIVERED), 4);
    chain_close(daemons, &a, &b);
}
END_TEST

START_TEST(a_suspended_hnp_is_waited_for_no_longer_than_its_grace)
{
    be_short();
    ck_assert_int_eq(param_override("lifeline_grace", "1"), ORTE_SUCCESS);
    ck_assert_int_eq(param_override("oob_connect_timeout_ms", "200"), ORTE_SUCCESS);
    chain_open(daemons, &a, &b);
    loop_stop(daemons[0].loop);
    uint64_t begin = clock_us();
    node_on_loop(&daemons[1], break_link, &daemons[0].name);
    wait_sem(&daemons[1].downs);
    ck_assert_uint_ge(clock_us() - begin, 1000000);
    ck_assert_int_eq(loop_start_thread(daemons[0].loop), ORTE_SUCCESS);
    chain_close(daemons, &a, &b);
}
END_TEST

START_TEST(an_hnp_that_is_gone_is_not_waited_for)
{
    be_short();
    chain_open(daemons, &a, &b);
    uint64_t begin = clock_us();
    node_close(&daemons[0]);
    wait_sem(&daemons[1].downs);
    ck_assert_uint_lt(clock_us() - begin, 5000000);
    chain_close(daemons, &a, &b);
}
END_TEST

START_TEST(another_daemon_is_not_waited_for_so_long)
{
    be_short();
    ck_assert_int_eq(param_override("oob_connect_timeout_ms", "2000"), ORTE_SUCCESS);
    chain_open(daemons, &a, &b);
    loop_stop(daemons[1].loop);
    node_on_loop(&daemons[2], break_link, &daemons[1].name);
    wait_sem(&daemons[2].downs);
    ck_assert_int_eq(loop_start_thread(daemons[1].loop), ORTE_SUCCESS);
    chain_close(daemons, &a, &b);
}
END_TEST

static void *send_megabytes(void *arg)
{
    static uint8_t data[60000];
    uint32_t count = *(uint32_t *) arg;
    for (uint32_t i = 0; i < count; i++) {
        struct iovec part = {data, sizeof(data)};
        ck_assert_int_eq(rml_call_send(a.rml, &b.name, &part, 1, TAG, 0), (int) sizeof(data));
    }
    return NULL;
}

/* 60 MB towards somebody who takes nothing for a while: neither end nor the relay holds more than
 * its windows. */
START_TEST(a_slow_receiver_is_waited_for)
{
    pthread_t thread;
    uint32_t count = 1000;
    static uint8_t data[60000];
    ck_assert_int_eq(param_override("rml_unexpected_max", "1m"), ORTE_SUCCESS);
    ck_assert_int_eq(param_override("rml_window", "1m"), ORTE_SUCCESS);
    star_open(&daemons[0], &a, &b);
    pthread_create(&thread, NULL, send_megabytes, &count);
    const uint64_t *held = &b.rml->match.unexpected_bytes;
    while (count_of(&b, held) < (1u << 20) - sizeof(data)) {
        struct timespec little = {0, 1000000};
        nanosleep(&little, NULL);
    }
    uint64_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct iovec part = {data, sizeof(data)};
        uint64_t now = count_of(&b, held);
        most = now > most ? now : most;
        ck_assert_int_eq(rml_call_recv(b.rml, &a.name, &part, 1, TAG, 0), (int) sizeof(data));
    }
    pthread_join(thread, NULL);
    ck_assert_uint_le(most, 3u << 20); /* the limit, a window, and their messages' heads */
    chain_close(daemons, &a, &b);
}
END_TEST

/* Tag 201 would come behind what fills the queue. */
START_TEST(who_waits_behind_a_full_queue_is_told)
{
    pthread_t thread;
    uint32_t count = 60;
    uint8_t byte;
    struct iovec in = {&byte, 1};
    ck_assert_int_eq(param_override("rml_unexpected_max", "1m"), ORTE_SUCCESS);
    ck_assert_int_eq(param_override("rml_window", "1m"), ORTE_SUCCESS);
    star_open(&daemons[0], &a, &b);
    char path[] = "/tmp/keel-test-log-XXXXXX";
    int log = mkstemp(path), old = dup(STDERR_FILENO);
    ck_assert(log >= 0 && old >= 0);
    dup2(log, STDERR_FILENO);
    struct sent got = {.status = 1};
    ck_assert_int_eq(rml_call_recv_nb(b.rml, &a.name, &in, 1, TAG + 1, 0, on_sent, &got),
                     ORTE_SUCCESS);
    pthread_create(&thread, NULL, send_megabytes, &count);
    char text[4096] = "";
    for (int i = 0; i < 70 && !strstr(text, "waits behind"); i++) {
        struct timespec little = {0, 100000000};
        nanosleep(&little, NULL);
        ck_assert_int_ge(pread(log, text, sizeof(text) - 1, 0), 0);
    }
    dup2(old, STDERR_FILENO);
    unlink(path);
    ck_assert_msg(strstr(text, "a receive of tag 201 waits behind") && strstr(text, "[[5,1],0]"),
                  "%s", text);
    for (uint32_t i = 0; i < count; i++) {
        struct iovec part = {NULL, 0};
        ck_assert_int_eq(rml_call_recv(b.rml, &a.name, &part, 1, TAG, ORTE_RML_ALLOC), 60000);
        free(part.iov_base);
    }
    pthread_join(thread, NULL);
    chain_close(daemons, &a, &b);
}
END_TEST

UNIT_MAIN("rml/mend")
