/* Who only waits is told of the end of whom it waits for, behind daemons: once what that one sent
 * has been taken, whether it said anything before or not, and when a whole daemon is lost. */
#include "cluster.h"
#include <base/data/clock.h>
#include <base/types/name.h>
#include <oob/endpoint.h>
#include <stdlib.h>
#include <tests/lib/unit.h>
#include <unistd.h>

enum { TAG = 200, WORDS = 100, BYTES = 700 };

static struct node daemons[3], a, b;
static int exceptions;

static void count_exception(const orte_process_name_t *peer, orte_rml_exception_t exception)
{
    ck_assert(name_equal(peer, &RANK(1)));
    ck_assert_int_eq(exception, ORTE_RML_PEER_DISCONNECTED);
    exceptions++;
}

struct waiter {
    bool done;
    int status;
};

static void got(int status, orte_process_name_t *peer, opal_buffer_t *buffer, orte_rml_tag_t tag,
                void *arg)
{
    struct waiter *waiter = arg;
    (void) peer;
    (void) buffer;
    (void) tag;
    waiter->status = status;
    __atomic_store_n(&waiter->done, true, __ATOMIC_RELEASE);
}

static void wait_for(const orte_process_name_t *peer, struct waiter *waiter)
{
    *waiter = (struct waiter){.status = 1};
    ck_assert_int_eq(rml_call_recv_buffer_nb(a.rml, peer, TAG, 0, got, waiter), ORTE_SUCCESS);
}

static void expect_end(struct waiter *waiter, int told)
{
    wait_done(&a, &waiter->done);
    ck_assert_int_eq(waiter->status, ORTE_ERR_COMM_FAILURE);
    for (int i = 0; i < 100; i++) {
        (void) rml_progress(a.rml);
    }
    ck_assert_int_eq(exceptions, told);
}

/* The case's last words. */
static void end_with(struct waiter *waiter, int told)
{
    expect_end(waiter, told);
    chain_close(daemons, &a, &b);
}

static void open_chain(void)
{
    chain_open(daemons, &a, &b);
    ck_assert_int_eq(rml_call_add_exception_handler(a.rml, count_exception), ORTE_SUCCESS);
}

static void hear_from_b(void)
{
    uint8_t byte = 1;
    struct iovec part = {&byte, 1};
    ck_assert_int_eq(rml_call_send(b.rml, &a.name, &part, 1, TAG, KEEL_RML_DELIVERED), 1);
    ck_assert_int_eq(rml_call_recv(a.rml, &b.name, &part, 1, TAG, 0), 1);
}

/* a waits for b, from which it has heard. */
static void open_and_wait(struct waiter *waiter)
{
    open_chain();
    hear_from_b();
    wait_for(&b.name, waiter);
}

static bool cares_for(struct node *daemon, const orte_process_name_t *who)
{
    pthread_mutex_lock(&daemon->rml->lock);
    const struct rml_peer *peer = rml_peer_find(&daemon->rml->peers, who);
    bool cares = peer && peer->circle.count > 0;
    pthread_mutex_unlock(&daemon->rml->lock);
    return cares;
}

/* Until the daemon knows that somebody waits for the process. */
static void wait_until_cared(struct node *daemon, const orte_process_name_t *who)
{
    uint64_t deadline = clock_us() + WAIT_S * 1000000u;
    while (!cares_for(daemon, who)) {
        ck_assert_uint_lt(clock_us(), deadline);
        usleep(1000);
    }
}

/* --- one process --- */

START_TEST(one_that_had_been_heard)
{
    struct waiter waiter;
    open_and_wait(&waiter);
    node_close(&b);
    expect_end(&waiter, 1);
    wait_for(&RANK(1), &waiter); /* nobody comes any more */
    end_with(&waiter, 1);
}
END_TEST

START_TEST(one_that_only_heard)
{
    uint8_t byte = 1;
    struct iovec part = {&byte, 1};
    struct waiter waiter;
    open_chain();
    ck_assert_int_eq(rml_call_send(a.rml, &b.name, &part, 1, TAG, KEEL_RML_DELIVERED), 1);
    wait_for(&b.name, &waiter);
    node_close(&b);
    end_with(&waiter, 1);
}
END_TEST

START_TEST(one_with_which_nothing_was_exchanged)
{
    struct waiter waiter;
    open_chain();
    wait_for(&b.name, &waiter);
    wait_until_cared(&daemons[2], &b.name);
    node_close(&b);
    end_with(&waiter, 0);
}
END_TEST

START_TEST(one_that_had_ended_before)
{
    struct waiter waiter;
    open_chain();
    node_close(&b);
    wait_sem(&daemons[2].downs);
    wait_for(&RANK(1), &waiter);
    end_with(&waiter, 0);
}
END_TEST

static void ended_on_loop(struct node *node, void *arg)
{
    rml_peer_ended(node->rml, arg);
}

START_TEST(one_that_never_joined)
{
    struct waiter waiter;
    orte_process_name_t name = RANK(1);
    open_chain();
    node_close(&b);
    wait_sem(&daemons[2].downs);
    node_close(&daemons[2]);
    wait_sem(&daemons[1].downs);
    node_open(&daemons[2], NODE_DAEMON_TCP, DAEMON(2), 1);
    static const uint32_t daemon_of[] = {0, 2};
    rml_route_tree(daemons[2].rml, 3);
    ck_assert_int_eq(rml_route_job(daemons[2].rml, 0x50001, 2, daemon_of), ORTE_SUCCESS);
    node_link(&daemons[2], &daemons[1]);
    wait_for(&name, &waiter);
    wait_until_cared(&daemons[2], &name);
    node_on_loop(&daemons[2], ended_on_loop, &name);
    end_with(&waiter, 0);
}
END_TEST

/* Its link stays, as when a child of it has inherited the socket. */
START_TEST(one_whose_link_stays)
{
    struct waiter waiter;
    orte_process_name_t name = RANK(1);
    open_chain();
    hear_from_b();
    wait_for(&name, &waiter);
    node_on_loop(&daemons[2], ended_on_loop, &name);
    end_with(&waiter, 1);
}
END_TEST

static bool has_written_all(struct oob_link *link)
{
    pthread_mutex_lock(&link->lock);
    bool all = outbox_empty(&link->outbox);
    pthread_mutex_unlock(&link->lock);
    return all;
}

START_TEST(what_it_said_last_comes_first)
{
    static uint8_t data[BYTES];
    struct waiter waiter;
    open_chain();
    hear_from_b();
    for (uint32_t i = 0; i < WORDS; i++) {
        struct iovec part = {data, BYTES};
        fill(data, BYTES, i);
        ck_assert_int_eq(rml_call_send(b.rml, &a.name, &part, 1, TAG, 0), BYTES);
    }
    pthread_mutex_lock(&b.rml->lock);
    struct oob_link *link = oob_link_ref(rml_peer_find(&b.rml->peers, &daemons[2].name)->link);
    pthread_mutex_unlock(&b.rml->lock);
    while (!has_written_all(link)) {
        usleep(1000);
    }
    oob_link_unref(link);
    node_close(&b);
    for (uint32_t i = 0; i < WORDS; i++) {
        struct iovec part = {data, BYTES};
        ck_assert_int_eq(rml_call_recv(a.rml, &RANK(1), &part, 1, TAG, 0), BYTES);
        ck_assert(filled(data, BYTES, i));
    }
    wait_for(&RANK(1), &waiter);
    end_with(&waiter, 1);
}
END_TEST

START_TEST(others_are_waited_for_on)
{
    struct waiter waiter, wild, self;
    orte_process_name_t anybody = {0x50001, ORTE_VPID_WILDCARD};
    open_chain();
    hear_from_b();
    wait_for(&a.name, &self);
    wait_for(&b.name, &waiter);
    wait_for(&anybody, &wild);
    node_close(&b);
    expect_end(&waiter, 1);
    ck_assert(!wild.done && !self.done);
    chain_close(daemons, &a, &b);
}
END_TEST

/* All of a job leave together: nobody needs to be told, and nobody is. */
START_TEST(one_that_leaves_with_all_others)
{
    struct waiter waiter;
    open_and_wait(&waiter);
    rml_peer_parts(daemons[2].rml, &b.name);
    node_close(&b);
    wait_sem(&daemons[2].downs);
    uint64_t until = clock_us() + 200000;
    while (clock_us() < until) {
        (void) rml_progress(a.rml);
        usleep(1000);
    }
    ck_assert(!waiter.done);
    ck_assert_int_eq(exceptions, 0);
    chain_close(daemons, &a, &b);
}
END_TEST

/* --- a daemon --- */

static void lose_on_loop(struct node *node, void *arg)
{
    ck_assert_int_eq(rml_lose_daemon(node->rml, *(uint32_t *) arg), ORTE_SUCCESS);
}

static void lose_last_daemon(void)
{
    uint32_t vpid = 2;
    for (int i = 0; i < 2; i++) {
        node_on_loop(&daemons[i], lose_on_loop, &vpid);
    }
}

static void open_chain_with_repair(void)
{
    open_chain();
    for (int i = 0; i < 3; i++) {
        rml_repair_routes(daemons[i].rml);
    }
}

START_TEST(behind_a_lost_daemon)
{
    struct waiter waiter;
    open_chain_with_repair();
    hear_from_b();
    wait_for(&b.name, &waiter);
    node_close(&daemons[2]);
    wait_sem(&daemons[1].downs);
    ck_assert(!waiter.done);
    lose_last_daemon();
    end_with(&waiter, 1);
}
END_TEST

START_TEST(behind_a_lost_daemon_and_never_heard)
{
    struct waiter waiter;
    open_chain_with_repair();
    wait_for(&b.name, &waiter);
    wait_until_cared(&daemons[0], &a.name);
    node_close(&daemons[2]);
    wait_sem(&daemons[1].downs);
    lose_last_daemon();
    expect_end(&waiter, 0);
    wait_for(&RANK(1), &waiter);
    end_with(&waiter, 0);
}
END_TEST

START_TEST(behind_a_daemon_that_was_lost_before)
{
    struct waiter waiter;
    open_chain_with_repair();
    node_close(&daemons[2]);
    wait_sem(&daemons[1].downs);
    lose_last_daemon();
    wait_for(&RANK(1), &waiter);
    end_with(&waiter, 0);
}
END_TEST

UNIT_MAIN("rml/ends")
