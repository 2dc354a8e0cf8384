/* Exceptions: who is told of which end, how often, where and in what order. */
#include "cluster.h"
#include <base/settings/fault.h>
#include <base/settings/param.h>
#include <base/types/name.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

enum { TAG = 200, SEEN_MAX = 16 };

static struct node daemons[3], a, b;
static pthread_t application;

static struct {
    char handler;
    orte_process_name_t peer;
    orte_rml_exception_t exception;
} seen[SEEN_MAX];
static int seen_count;
static bool something;

static void see(char handler, const orte_process_name_t *peer, orte_rml_exception_t exception)
{
    ck_assert(pthread_equal(pthread_self(), application));
    ck_assert_int_lt(seen_count, SEEN_MAX);
    seen[seen_count].handler = handler;
    seen[seen_count].peer = *peer;
    seen[seen_count++].exception = exception;
    something = true;
}

static void first(const orte_process_name_t *peer, orte_rml_exception_t exception)
{
    see('1', peer, exception);
}

static void second(const orte_process_name_t *peer, orte_rml_exception_t exception)
{
    see('2', peer, exception);
}

/* Takes itself and the next away, and brings another. */
static void changing(const orte_process_name_t *peer, orte_rml_exception_t exception)
{
    see('c', peer, exception);
    ck_assert_int_eq(rml_call_del_exception_handler(a.rml, changing), ORTE_SUCCESS);
    ck_assert_int_eq(rml_call_del_exception_handler(a.rml, second), ORTE_SUCCESS);
    ck_assert_int_eq(rml_call_add_exception_handler(a.rml, second), ORTE_SUCCESS);
}

/* A handler may block like any callback. */
static void blocking(const orte_process_name_t *peer, orte_rml_exception_t exception)
{
    uint8_t byte = 7;
    struct iovec part = {&byte, 1};
    see('b', peer, exception);
    ck_assert_int_eq(rml_call_send(a.rml, &a.name, &part, 1, TAG + 5, 0), 1);
    ck_assert_int_eq(rml_call_recv(a.rml, &a.name, &part, 1, TAG + 5, 0), 1);
}

static void add(orte_rml_exception_callback_t fn)
{
    ck_assert_int_eq(rml_call_add_exception_handler(a.rml, fn), ORTE_SUCCESS);
}

static void wait_for_exception(void)
{
    wait_done(&a, &something);
    something = false;
}

/* Those that came are these handlers in this order, all for one peer and reason; none is left. */
static void expect(const char *handlers, const orte_process_name_t *peer,
                   orte_rml_exception_t exception)
{
    for (int i = 0; i < 100; i++) {
        (void) rml_progress(a.rml);
    }
    ck_assert_int_eq(seen_count, (int) strlen(handlers));
    for (int i = 0; i < seen_count; i++) {
        ck_assert_int_eq(seen[i].handler, handlers[i]);
        ck_assert(name_equal(&seen[i].peer, peer));
        ck_assert_int_eq(seen[i].exception, exception);
    }
    seen_count = 0;
    something = false;
}

static void open_star(void)
{
    application = pthread_self();
    star_open(&daemons[0], &a, &b);
}

static int send_to(const orte_process_name_t *peer, int flags)
{
    uint8_t byte = 1;
    struct iovec part = {&byte, 1};
    return rml_call_send(a.rml, peer, &part, 1, TAG, flags);
}

static void hear_from_b(void)
{
    uint8_t byte = 1;
    struct iovec part = {&byte, 1};
    ck_assert_int_eq(rml_call_send(b.rml, &a.name, &part, 1, TAG, KEEL_RML_DELIVERED), 1);
    ck_assert_int_eq(rml_call_recv(a.rml, &b.name, &part, 1, TAG, 0), 1);
}

/* b has spoken to a, which has a handler. */
static void open_star_heard(void)
{
    open_star();
    add(first);
    hear_from_b();
}

/* b is gone, and its daemon knows. */
static orte_process_name_t end_b(void)
{
    orte_process_name_t name = b.name;
    node_close(&b);
    wait_sem(&daemons[0].downs);
    return name;
}

START_TEST(a_list_of_handlers)
{
    open_star();
    ck_assert_int_eq(rml_call_add_exception_handler(a.rml, NULL), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(rml_call_del_exception_handler(a.rml, NULL), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(rml_call_del_exception_handler(a.rml, first), ORTE_ERR_NOT_FOUND);
    add(first);
    add(second);
    add(first);
    ck_assert_int_eq(rml_call_del_exception_handler(a.rml, first), ORTE_SUCCESS);
    add(second); /* 2 1 2 */
    ck_assert_int_eq(rml_call_del_exception_handler(a.rml, changing), ORTE_ERR_NOT_FOUND);
    hear_from_b();
    orte_process_name_t gone = end_b();
    wait_for_exception();
    expect("212", &gone, ORTE_RML_PEER_DISCONNECTED);
    chain_close(daemons, &a, &b);
}
END_TEST

START_TEST(handlers_that_change_the_list)
{
    open_star();
    add(first);
    add(changing);
    add(second); /* removed before its turn; what is added meanwhile is for the next exception */
    add(blocking);
    hear_from_b();
    orte_process_name_t gone = end_b();
    wait_for_exception();
    expect("1cb", &gone, ORTE_RML_PEER_DISCONNECTED);
    /* It was told. What is sent to it now cannot be delivered, which is another matter. */
    ck_assert_int_eq(send_to(&gone, 0), ORTE_ERR_ADDRESSEE_UNKNOWN);
    wait_for_exception();
    expect("1b2", &gone, ORTE_RML_PEER_UNREACH);
    chain_close(daemons, &a, &b);
}
END_TEST

START_TEST(one_with_whom_nothing_was_exchanged)
{
    open_star();
    add(first);
    orte_process_name_t gone = end_b();
    expect("", &gone, ORTE_RML_PEER_DISCONNECTED);
    ck_assert_int_eq(send_to(&gone, KEEL_RML_DELIVERED), ORTE_ERR_COMM_FAILURE);
    wait_for_exception();
    expect("1", &gone, ORTE_RML_PEER_UNREACH);
    chain_close(daemons, &a, &b);
}
END_TEST

START_TEST(a_successor)
{
    open_star_heard();
    node_close(&b);
    node_open(&b, NODE_RANK, RANK(1), 64);
    node_link(&b, &daemons[0]);
    hear_from_b(); /* proves that it is another one */
    expect("1", &b.name, ORTE_RML_PEER_DISCONNECTED);
    hear_from_b();
    expect("", &b.name, ORTE_RML_PEER_DISCONNECTED);
    chain_close(daemons, &a, &b);
}
END_TEST

/* The end and the successor are one loss. */
START_TEST(a_successor_of_one_that_is_known_to_be_gone)
{
    open_star_heard();
    (void) end_b();
    wait_for_exception();
    node_open(&b, NODE_RANK, RANK(1), 64);
    node_link(&b, &daemons[0]);
    hear_from_b();
    expect("1", &b.name, ORTE_RML_PEER_DISCONNECTED);
    chain_close(daemons, &a, &b);
}
END_TEST

START_TEST(the_daemon)
{
    open_star();
    add(first);
    ck_assert_int_eq(send_to(&daemons[0].name, KEEL_RML_DELIVERED), 1);
    orte_process_name_t gone = daemons[0].name;
    node_close(&daemons[0]);
    wait_sem(&a.downs);
    wait_for_exception();
    expect("1", &gone, ORTE_RML_PEER_DISCONNECTED);
    chain_close(daemons, &a, &b);
}
END_TEST

START_TEST(a_link_that_resumes)
{
    uint8_t data[1000] = "";
    struct iovec part = {data, sizeof(data)};
    ck_assert_int_eq(param_override("rml_reconnect_ms", "20000"), ORTE_SUCCESS);
    open_star();
    add(first);
    ck_assert_int_eq(fault_set("oob.recv:error=ECONNRESET:p=0.02:seed=5:after=20"), ORTE_SUCCESS);
    for (int i = 0; i < 300; i++) {
        ck_assert_int_eq(rml_call_send(a.rml, &b.name, &part, 1, TAG, KEEL_RML_DELIVERED), 1000);
        ck_assert_int_eq(rml_call_recv(b.rml, &a.name, &part, 1, TAG, 0), 1000);
    }
    ck_assert_int_eq(fault_set(""), ORTE_SUCCESS);
    pthread_mutex_lock(&a.rml->lock);
    uint32_t links = rml_peer_find(&a.rml->peers, &daemons[0].name)->link_number;
    pthread_mutex_unlock(&a.rml->lock);
    ck_assert_uint_gt(links, 1); /* it broke */
    expect("", &b.name, ORTE_RML_PEER_DISCONNECTED);
    chain_close(daemons, &a, &b);
}
END_TEST

START_TEST(nobody_at_an_address)
{
    orte_process_name_t nobody = {0x60001, 3};
    open_star();
    add(first);
    ck_assert_int_eq(rml_call_set_contact_info(a.rml, "393217.3;tcp://127.0.0.1:1"), ORTE_SUCCESS);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(send_to(&nobody, KEEL_RML_DELIVERED), ORTE_ERR_UNREACH);
        wait_for_exception();
        expect("1", &nobody, ORTE_RML_PEER_UNREACH);
    }
    orte_process_name_t stranger = {0x50001, 9};
    ck_assert_int_eq(send_to(&stranger, KEEL_RML_DELIVERED), ORTE_ERR_ADDRESSEE_UNKNOWN);
    wait_for_exception();
    expect("1", &stranger, ORTE_RML_PEER_UNREACH);
    chain_close(daemons, &a, &b);
}
END_TEST

START_TEST(one_who_does_not_answer)
{
    ck_assert_int_eq(param_override("rml_give_up_s", "1"), ORTE_SUCCESS);
    open_star_heard();
    loop_stop(b.loop);
    ck_assert_int_eq(send_to(&b.name, KEEL_RML_DELIVERED), ORTE_ERR_UNREACH);
    wait_for_exception();
    expect("1", &b.name, ORTE_RML_PEER_UNREACH);
    chain_close(daemons, &a, &b);
}
END_TEST

START_TEST(not_at_the_end)
{
    open_star_heard();
    orte_process_name_t gone = end_b();
    ck_assert_int_lt(send_to(&gone, KEEL_RML_DELIVERED), 0);
    rml_end_exceptions(a.rml); /* it was raised, and is taken back */
    ck_assert_int_eq(send_to(&gone, 0), ORTE_ERR_ADDRESSEE_UNKNOWN);
    expect("", &gone, ORTE_RML_PEER_DISCONNECTED);
    chain_close(daemons, &a, &b);
}
END_TEST

/* What is due when everything ends is freed. */
START_TEST(raised_and_never_run)
{
    open_star_heard();
    orte_process_name_t gone = end_b();
    (void) send_to(&gone, KEEL_RML_DELIVERED);
    chain_close(daemons, &a, &b);
    ck_assert_int_le(seen_count, 1);
}
END_TEST

UNIT_MAIN("rml/exception")
