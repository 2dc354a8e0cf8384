/* What no job shows, for it would end: peers that are lost, and calls inside daemons. Two ranks and
 * their daemon in one process; orte_rml speaks of the first rank, or of the daemon. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/rml/call.h>
#include <tests/conformance/rml/cells.h>
#include <tests/lib/unit.h>
#include <tests/unit/rml/cluster.h>

orte_process_name_t me, left, right;
uint32_t ranks = 2;
static struct node daemon_, a, b;

void must_hold(bool holds, const char *condition, const char *file, int line)
{
    ck_assert_msg(holds, "%s, %s, %s: not so: %s (%s:%d)", current ? fn_names[current->fn] : "",
                  current ? flag_names[current->flag] : "",
                  current ? outcome_names[current->outcome] : "", condition, file, line);
}

void wait_until(const bool *done)
{
    wait_done(&a, done);
}

void all_together(void)
{
}

void wait_idly(void)
{
    for (int i = 0; i < 50; i++) {
        (void) rml_progress(a.rml);
    }
}

static void setup(void)
{
    star_open(&daemon_, &a, &b);
    rml_install(a.rml);
    ck_assert_int_eq(orte_rml.enable_comm(), ORTE_SUCCESS);
    me = left = RANK(0);
    right = RANK(1);
}

static void teardown(void)
{
    rml_install(NULL);
    star_close(&daemon_, &a, &b);
}

/* --- peers that end --- */

/* What ends only when it has arrived: large, or DELIVERED. */
static int send_surely(const struct cell *cell, const orte_process_name_t *peer)
{
    static uint8_t data[100000];
    bool delivered = flag_values[cell->flag] & KEEL_RML_DELIVERED;
    struct call call = {.cell = cell};
    int result = call_send(&call, cell, peer, cell_tag(cell), data, delivered ? 1 : sizeof(data));
    if (result >= 0 && is_nonblocking(cell->fn)) {
        call_wait(&call);
        result = call.status;
    }
    must(call.ended <= 1);
    call_fini(&call);
    return result;
}

/* Completes with COMM_FAILURE, once; a persistent receive is not posted any more. */
static void check_failed(struct call *call, const orte_process_name_t *peer)
{
    call_wait(call);
    wait_idly();
    must(call->status == ORTE_ERR_COMM_FAILURE && call->ended == 1 && call->size == 0);
    if (is_nonblocking(call->cell->fn)) {
        must(call->peer.vpid == peer->vpid);
        must(!is_of_buffers(call->cell->fn) || call->nothing);
        must(orte_rml.recv_cancel((orte_process_name_t *) peer, call->tag) == ORTE_ERR_NOT_FOUND);
    }
    call_fini(call);
}

static void receive_fails(const struct cell *cell, const orte_process_name_t *peer)
{
    struct call call = {.cell = cell};
    int result = call_receive(&call, cell, peer, cell_tag(cell), 10);
    must(result == (is_nonblocking(cell->fn) ? ORTE_SUCCESS : ORTE_ERR_COMM_FAILURE));
    check_failed(&call, peer);
}

/* The first message brings the news; who sends on then is told at once, small messages included. */
static void sends_to_one_who_goes(const struct cell *cell)
{
    struct call small = {.cell = cell};
    setup();
    node_close(&b);
    wait_sem(&daemon_.downs);
    must(send_surely(cell, &right) == ORTE_ERR_COMM_FAILURE);
    must(send_surely(cell, &right) == ORTE_ERR_ADDRESSEE_UNKNOWN);
    int result = call_send(&small, cell, &right, cell_tag(cell), "x", 1);
    must(result == (is_nonblocking(cell->fn) ? ORTE_SUCCESS : ORTE_ERR_ADDRESSEE_UNKNOWN));
    call_wait(&small);
    must(small.status == ORTE_ERR_ADDRESSEE_UNKNOWN);
    call_fini(&small);
    teardown();
}

/* Receives that are posted, and those that come later; but what the peer sent is there. */
static void receives_from_one_who_goes(const struct cell *cell)
{
    struct call posted = {.cell = cell};
    bool posts = is_nonblocking(cell->fn);
    struct iovec last = {(void *) "last", 4};
    setup();
    must(rml_call_send(b.rml, &me, &last, 1, 77, KEEL_RML_DELIVERED) == 4);
    if (posts) {
        must(call_receive(&posted, cell, &right, cell_tag(cell), 10) == ORTE_SUCCESS);
    }
    node_close(&b);
    wait_sem(&daemon_.downs);
    if (posts) {
        check_failed(&posted, &right);
    }
    hear(&right, 77, false, "last", 4);
    receive_fails(cell, &right);
    teardown();
}

static void the_daemon_goes(const struct cell *cell)
{
    setup();
    node_close(&daemon_);
    wait_sem(&a.downs);
    if (is_send(cell->fn)) {
        must(send_surely(cell, &right) == ORTE_ERR_COMM_FAILURE);
    } else {
        receive_fails(cell, &right);
    }
    say(&me, 78, true, "me", 2); /* myself I reach */
    hear(&me, 78, true, "me", 2);
    teardown();
}

static void restart_without_a_daemon(void)
{
    setup();
    node_close(&daemon_);
    must(orte_rml.ft_event(OPAL_CRS_RESTART) == ORTE_ERR_COMM_FAILURE);
    say(&me, 78, true, "me", 2);
    hear(&me, 78, true, "me", 2);
    teardown();
}

static void peer_ended(const struct cell *cell)
{
    if (cell->fn == FT_EVENT) {
        restart_without_a_daemon();
        return;
    }
    (is_send(cell->fn) ? sends_to_one_who_goes : receives_from_one_who_goes)(cell);
    the_daemon_goes(cell);
}

/* --- in a daemon --- */

static void ping_in_a_daemon(const struct cell *cell)
{
    (void) cell;
    setup();
    rml_install(daemon_.rml);
    must(orte_rml.ping("1.2;tcp://127.0.0.1:1", NULL) == ORTE_ERR_NOT_SUPPORTED);
    teardown();
}

static void checkpoint_in_a_daemon(void)
{
    setup();
    rml_install(daemon_.rml);
    must(orte_rml.enable_comm() == ORTE_SUCCESS);
    must(orte_rml.ft_event(OPAL_CRS_CHECKPOINT) == ORTE_ERR_NOT_SUPPORTED);
    must(orte_rml.ft_event(OPAL_CRS_RESTART) == ORTE_ERR_NOT_SUPPORTED);
    teardown();
}

static void blocking_in_a_daemon(const struct cell *cell)
{
    if (cell->fn == FT_EVENT) {
        checkpoint_in_a_daemon();
        return;
    }
    if (cell->fn == PING) {
        ping_in_a_daemon(cell);
        return;
    }
    uint8_t byte = 0;
    struct iovec part = {&byte, 1};
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    orte_process_name_t rank = RANK(0);
    setup();
    rml_install(daemon_.rml);
    must(orte_rml.enable_comm() == ORTE_SUCCESS);
    must(call_raw(cell->fn, (struct arguments){.peer = &rank,
                                               .msg = &part,
                                               .count = 1,
                                               .buffer = buffer,
                                               .tag = cell_tag(cell),
                                               .flags = flag_values[cell->flag]}) ==
         ORTE_ERR_NOT_SUPPORTED);
    OBJ_RELEASE(buffer);
    teardown();
}

/* --- the tests --- */

static enum fn chosen; /* of two: the blocking one, and the other behind it */

static void run(const struct cell *cell)
{
    if (cell->fn == chosen || cell->fn == chosen + 1) {
        current = cell;
        (cell->outcome == COMM_FAILURE ? peer_ended : blocking_in_a_daemon)(cell);
    }
}

static void run_failures(enum fn fn)
{
    chosen = fn;
    ck_assert_int_eq(table_faults(), 0);
    ck_assert_int_gt(each_cell(IN_CLUSTER, COMM_FAILURE, run), 0);
}

UNIT_CASE(sends_of_bytes, run_failures(SEND))
UNIT_CASE(sends_of_buffers, run_failures(SEND_BUFFER))
UNIT_CASE(receives_of_bytes, run_failures(RECV))
UNIT_CASE(receives_of_buffers, run_failures(RECV_BUFFER))
UNIT_CASE(restarts, run_failures(FT_EVENT))

START_TEST(daemons_do_not_block)
{
    chosen = FT_EVENT;
    each_cell(IN_CLUSTER, NOT_SUPPORTED, run);
    for (chosen = PING; chosen <= RECV_BUFFER_NB; chosen += 2) {
        each_cell(IN_CLUSTER, NOT_SUPPORTED, run);
    }
}
END_TEST

UNIT_MAIN("rml/failures")
