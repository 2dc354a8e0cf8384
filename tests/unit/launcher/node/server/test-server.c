/* Daemons in a chain, each with its server, and ranks that join through the native back end, each
 * in a thread: all in one process. */
#include <config.h>

#include <base/data/clock.h>
#include <base/settings/param.h>
#include <bootstrap/backend.h>
#include <launcher/node/server/server.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <tests/unit/rml/cluster.h>
#include <unistd.h>
#include <wireup/proto.h>

enum { DAEMONS = 3, RANKS = 4, JOBID = 0x50001 };

static uint32_t node_of[RANKS] = {0, 1, 2, 2}; /* node and daemon have the same number */

struct host {
    struct node node;
    struct allgather *allgather;
    struct server *server;
};

struct member {
    struct node node;
    struct backend *backend;
    pthread_t thread;
    uint32_t rank;
    int status; /* of the first thing that went wrong */
    char reason[256];
};

static struct host hosts[DAEMONS];
static struct member members[RANKS];
static struct job_map map;
static _Atomic int joined, left, aborted;

static void has_joined(void *arg, const orte_process_name_t *rank)
{
    (void) arg;
    (void) rank;
    joined++;
}

static void has_left(void *arg, const orte_process_name_t *rank)
{
    (void) arg;
    (void) rank;
    left++;
}

static void has_aborted(void *arg, const orte_process_name_t *rank, int status, const char *reason)
{
    (void) arg;
    (void) rank;
    aborted += status == 5 && strcmp(reason, "why") == 0;
}

static _Atomic int looked;

static void has_looked(void *arg)
{
    (void) arg;
    looked++;
}

static const struct server_ops ops = {
    .joined = has_joined, .left = has_left, .abort = has_aborted, .looked = has_looked};

static void make_map(void)
{
    static uint32_t daemons[DAEMONS] = {0, 1, 2}, local_ranks[RANKS] = {0, 0, 0, 1};
    static char names[DAEMONS][8];
    static char *pointers[DAEMONS];
    for (int i = 0; i < DAEMONS; i++) {
        snprintf(names[i], sizeof(names[i]), "node%d", i);
        pointers[i] = names[i];
    }
    map = (struct job_map){.jobid = JOBID,
                           .uuid = "0123456789abcdef0123456789abcdef",
                           .size = RANKS,
                           .node_count = DAEMONS,
                           .node_names = pointers,
                           .daemon_of_node = daemons,
                           .node_of = node_of,
                           .local_rank_of = local_ranks};
}

static void open_server(struct node *node, void *arg)
{
    struct host *host = arg;
    ck_assert_int_eq(allgather_create(&host->allgather, node->rml, &node->name, 1), ORTE_SUCCESS);
    ck_assert_int_eq(
        server_create(&host->server, node->rml, host->allgather, node->name.vpid, &ops, NULL),
        ORTE_SUCCESS);
    rml_route_tree(node->rml, DAEMONS);
    ck_assert_int_eq(rml_route_job(node->rml, JOBID, RANKS, node_of), ORTE_SUCCESS);
}

static void add_job(struct node *node, void *arg)
{
    (void) node;
    struct host *host = arg;
    ck_assert_int_eq(server_add_job(host->server, &map), ORTE_SUCCESS);
}

static void close_server(struct node *node, void *arg)
{
    (void) node;
    struct host *host = arg;
    server_destroy(host->server);
    allgather_destroy(host->allgather);
}

static void begin(void)
{
    cluster_begin();
    make_map();
    for (uint32_t vpid = 0; vpid < DAEMONS; vpid++) {
        node_open(&hosts[vpid].node, NODE_DAEMON, DAEMON(vpid), 1);
        node_on_loop(&hosts[vpid].node, open_server, &hosts[vpid]);
        if (vpid > 0) {
            node_link(&hosts[vpid].node, &hosts[vpid - 1].node);
        }
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        members[rank].rank = rank;
        node_open(&members[rank].node, NODE_RANK, RANK(rank), 1);
    }
}

static void add_jobs(void)
{
    for (int i = 0; i < DAEMONS; i++) {
        node_on_loop(&hosts[i].node, add_job, &hosts[i]);
    }
}

static void end(void)
{
    for (int i = 0; i < RANKS; i++) {
        node_close(&members[i].node);
    }
    for (int i = 0; i < DAEMONS; i++) {
        node_on_loop(&hosts[i].node, close_server, &hosts[i]);
    }
    for (int i = DAEMONS - 1; i >= 0; i--) {
        node_close(&hosts[i].node);
    }
    cluster_end();
}

static bool went(struct member *member, int status, const char *what)
{
    if (status != ORTE_SUCCESS && member->status == ORTE_SUCCESS) {
        member->status = status;
        snprintf(member->reason, sizeof(member->reason), "%s", what);
    }
    return status == ORTE_SUCCESS;
}

static bool join(struct member *member)
{
    char reason[256] = "";
    struct self self = {.name = RANK(member->rank),
                        .size = RANKS,
                        .daemon = hosts[node_of[member->rank]].node.contact};
    memcpy(self.uuid, map.uuid, sizeof(self.uuid));
    return went(member,
                native_create(&member->backend, member->node.rml, &self, reason, sizeof(reason)),
                reason);
}

static int fence(struct member *member)
{
    return member->backend->ops->fence(member->backend, clock_us() + WAIT_S * 1000000u, NULL, NULL);
}

static void leave(struct member *member)
{
    if (member->backend) {
        member->backend->ops->leave(member->backend);
        member->backend = NULL;
    }
}

static void run_all(void *(*work)(void *arg))
{
    for (int i = 0; i < RANKS; i++) {
        ck_assert_int_eq(pthread_create(&members[i].thread, NULL, work, &members[i]), 0);
    }
    for (int i = 0; i < RANKS; i++) {
        pthread_join(members[i].thread, NULL);
    }
    for (int i = 0; i < RANKS; i++) {
        ck_assert_msg(members[i].status == ORTE_SUCCESS, "rank %d: %s: %s", i, members[i].reason,
                      opal_strerror(members[i].status));
    }
}

/* --- cards --- */

static int publish(struct member *member, const char *key, uint32_t number)
{
    uint32_t data[2] = {member->rank, number};
    return backend_put_card(member->backend, key, data, sizeof(data));
}

struct answer {
    bool done;
    int status;
    uint32_t data[2];
};

static void answered(void *arg, int status, const void *data, size_t size)
{
    struct answer *answer = arg;
    answer->status = status;
    if (status == ORTE_SUCCESS && size == sizeof(answer->data)) {
        memcpy(answer->data, data, size);
    }
    answer->done = true;
}

/* The card of a rank must hold its rank and the number, or be missing (expected is an error). */
static int look_up(struct member *member, uint32_t rank, const char *key, uint32_t number,
                   int expected)
{
    struct answer answer = {0};
    backend_get_card(member->backend, rank, key, answered, &answer);
    int status =
        rml_wait(member->node.rml, &answer.done, clock_us() + WAIT_S * 1000000u, NULL, NULL);
    if (status == ORTE_SUCCESS && answer.status != expected) {
        status = answer.status == ORTE_SUCCESS ? ORTE_EXISTS : answer.status;
    }
    bool right = expected != ORTE_SUCCESS || (answer.data[0] == rank && answer.data[1] == number);
    return status == ORTE_SUCCESS && !right ? ORTE_ERROR : status;
}

static void *exchange(void *arg)
{
    struct member *member = arg;
    if (!join(member) || !went(member, publish(member, "first", 1), "publish") ||
        !went(member, fence(member), "first fence") ||
        !went(member, publish(member, "second", 2), "publish again") ||
        !went(member, fence(member), "second fence")) {
        return NULL;
    }
    went(member, publish(member, "first", 1) == ORTE_EXISTS ? ORTE_SUCCESS : ORTE_ERROR,
         "a card is put twice");
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        went(member, look_up(member, rank, "first", 1, ORTE_SUCCESS), "first card");
        went(member, look_up(member, rank, "second", 2, ORTE_SUCCESS), "second card");
        went(member, look_up(member, rank, "none", 0, ORTE_ERR_NOT_FOUND), "a card that is not");
    }
    went(member, look_up(member, RANKS, "first", 1, ORTE_ERR_NOT_FOUND), "a rank that is not");
    went(member, fence(member), "last fence"); /* nobody leaves while somebody asks */
    leave(member);
    return NULL;
}

START_TEST(test_cards_are_collected)
{
    begin();
    add_jobs();
    run_all(exchange);
    ck_assert_int_eq(joined, RANKS);
    ck_assert_int_eq(left, RANKS);
    end();
}
END_TEST

START_TEST(test_cards_come_on_demand)
{
    ck_assert_int_eq(param_override("modex_collect_max", "0"), ORTE_SUCCESS);
    begin();
    add_jobs();
    run_all(exchange);
    ck_assert_int_eq(left, RANKS);
    end();
}
END_TEST

/* The others ask for rank 0's card before they, and perhaps it, have come to the fence. */
static void *ask_early(void *arg)
{
    struct member *member = arg;
    struct answer answer = {0};
    if (!join(member)) {
        return NULL;
    }
    if (member->rank == 0) {
        went(member, publish(member, "late", 3), "publish");
    } else {
        backend_get_card(member->backend, 0, "late", answered, &answer);
    }
    went(member, fence(member), "fence");
    if (member->rank != 0) {
        went(member,
             rml_wait(member->node.rml, &answer.done, clock_us() + WAIT_S * 1000000u, NULL, NULL),
             "the answer");
        went(member, answer.status, "its status");
        went(member, answer.data[1] == 3 ? ORTE_SUCCESS : ORTE_ERROR, "its data");
    }
    went(member, fence(member), "last fence");
    leave(member);
    return NULL;
}

START_TEST(test_who_asks_early_is_answered_later)
{
    ck_assert_int_eq(param_override("modex_collect_max", "0"), ORTE_SUCCESS);
    begin();
    add_jobs();
    run_all(ask_early);
    end();
}
END_TEST

/* --- what ranks do --- */

static void ask_ranks(struct node *node, void *arg)
{
    (void) node;
    server_look(((struct host *) arg)->server, JOBID);
}

struct seen {
    uint32_t awaited;
    bool in_fence;
    size_t counters; /* bytes of them */
};
static struct seen seen;

/* Of rank 0. */
static void see(struct node *node, void *arg)
{
    struct server_view view;
    struct server *server = ((struct host *) arg)->server;
    orte_process_name_t name = RANK(0);
    (void) node;
    ck_assert(server_view(server, &name, &view));
    seen = (struct seen){server_looks(server, JOBID), view.in_fence, view.counters->size};
}

/* Rank 0 waits in a fence; the last one comes there when it has seen what that rank answers. */
static void *be_seen(void *arg)
{
    struct member *member = arg;
    struct host *host = &hosts[node_of[0]];
    uint64_t until_us = clock_us() + WAIT_S * 1000000u;
    if (!join(member)) {
        return NULL;
    }
    while (member->rank == RANKS - 1 && clock_us() < until_us &&
           (seen.counters == 0 || !seen.in_fence)) {
        node_on_loop(&host->node, ask_ranks, host);
        do {
            node_on_loop(&host->node, see, host);
        } while (seen.awaited > 0 && clock_us() < until_us);
    }
    went(member, fence(member), "fence");
    leave(member);
    return NULL;
}

START_TEST(test_a_rank_in_a_fence_says_what_it_has_counted)
{
    begin();
    add_jobs();
    run_all(be_seen);
    ck_assert(seen.in_fence);
    ck_assert_uint_gt(seen.counters, 0);
    ck_assert_uint_eq(seen.awaited, 0);
    ck_assert_int_gt(looked, 0);
    end();
}
END_TEST

/* --- fences --- */

static _Atomic int passed;

static void *many_fences(void *arg)
{
    struct member *member = arg;
    if (!join(member)) {
        return NULL;
    }
    for (int i = 1; i <= 200; i++) {
        passed++;
        if (!went(member, fence(member), "fence")) {
            break;
        }
        /* everybody has come to it before anybody goes on */
        went(member, passed >= i * RANKS ? ORTE_SUCCESS : ORTE_ERROR, "somebody went ahead");
    }
    leave(member);
    return NULL;
}

START_TEST(test_nobody_passes_a_fence_before_all_have_come)
{
    begin();
    add_jobs();
    run_all(many_fences);
    ck_assert_int_eq(passed, 200 * RANKS);
    end();
}
END_TEST

static uint32_t lost;

static void lose_rank(struct node *node, void *arg)
{
    (void) node;
    orte_process_name_t rank = RANK(lost);
    server_rank_gone(((struct host *) arg)->server, &rank);
}

/* A rank ends while the others wait for it. */
static void *wait_for_the_lost(void *arg)
{
    struct member *member = arg;
    if (!join(member) || !went(member, fence(member), "first fence")) {
        return NULL;
    }
    if (member->rank == lost) {
        leave(member);
        node_on_loop(&hosts[node_of[lost]].node, lose_rank, &hosts[node_of[lost]]);
    } else {
        int status = fence(member);
        went(member, status == ORTE_ERR_COMM_FAILURE ? ORTE_SUCCESS : ORTE_ERROR,
             opal_strerror(status));
        status = fence(member);
        went(member, status == ORTE_ERR_COMM_FAILURE ? ORTE_SUCCESS : ORTE_ERROR, "the next");
        leave(member);
    }
    return NULL;
}

static void lose(uint32_t rank)
{
    lost = rank;
    begin();
    add_jobs();
    run_all(wait_for_the_lost);
    ck_assert_int_eq(left, RANKS);
    end();
}

UNIT_CASE(test_a_fence_fails_when_a_rank_is_lost, lose(3))
UNIT_CASE(test_a_fence_fails_when_a_rank_of_the_root_is_lost, lose(0))

/* Rank 3 comes only when rank 2, of the same daemon, has been told. */
static _Atomic bool neighbour_told;

static void hang_up(struct node *node, void *arg)
{
    struct member *member = arg;
    rml_disconnect(node->rml, &hosts[node_of[member->rank]].node.name, false);
}

/* Without a goodbye. */
static void vanish(struct member *member)
{
    node_on_loop(&hosts[node_of[lost]].node, lose_rank, &hosts[node_of[lost]]);
    node_on_loop(&member->node, hang_up, member);
    leave(member);
}

static void *wait_beside_one_who_does_not_come(void *arg)
{
    struct member *member = arg;
    if (!join(member) || !went(member, fence(member), "first fence")) {
        return NULL;
    }
    if (member->rank == lost) {
        vanish(member);
        return NULL;
    }
    for (int i = 0; member->rank == 3 && !neighbour_told && i < WAIT_S * 1000; i++) {
        usleep(1000);
    }
    went(member, member->rank != 3 || neighbour_told ? ORTE_SUCCESS : ORTE_ERROR, "not told");
    int status = fence(member);
    neighbour_told = neighbour_told || member->rank == 2;
    went(member, status == ORTE_ERR_COMM_FAILURE ? ORTE_SUCCESS : ORTE_ERROR,
         opal_strerror(status));
    leave(member);
    return NULL;
}

START_TEST(test_a_failed_fence_does_not_wait_for_neighbours)
{
    lost = 0;
    begin();
    add_jobs();
    run_all(wait_beside_one_who_does_not_come);
    ck_assert_int_eq(left, RANKS - 1);
    end();
}
END_TEST

static void lose_daemon(struct node *node, void *arg)
{
    (void) node;
    server_daemon_lost(((struct host *) arg)->server, 0);
}

static void *wait_while_a_daemon_is_lost(void *arg)
{
    struct member *member = arg;
    if (!join(member) || !went(member, fence(member), "first fence")) {
        return NULL;
    }
    if (member->rank == 2) {
        int status = fence(member);
        went(member, status == ORTE_ERR_COMM_FAILURE ? ORTE_SUCCESS : ORTE_ERROR,
             opal_strerror(status));
        neighbour_told = true;
    }
    if (member->rank == 3) {
        node_on_loop(&hosts[2].node, lose_daemon, &hosts[2]);
    }
    for (int i = 0; !neighbour_told && i < WAIT_S * 1000; i++) {
        usleep(1000);
    }
    leave(member);
    return NULL;
}

START_TEST(test_a_fence_fails_when_a_daemon_is_lost)
{
    begin();
    add_jobs();
    run_all(wait_while_a_daemon_is_lost);
    ck_assert_int_eq(left, RANKS);
    end();
}
END_TEST

/* --- hostile ranks --- */

static void say(struct member *member, opal_buffer_t *buffer)
{
    orte_process_name_t daemon = DAEMON(node_of[member->rank]);
    ck_assert_ptr_nonnull(buffer);
    went(member,
         rml_send(member->node.rml, &daemon, OOB_CONTROL, RML_TAG_SERVER, &buffer, NULL, NULL),
         "send");
}

static void say_nonsense(struct member *member)
{
    say(member, proto_new(0, ""));
    say(member, proto_new(200, "s", "noise"));
    say(member, proto_new(SERVER_HELLO, ""));          /* again */
    say(member, proto_new(SERVER_FENCE, ""));          /* without its values */
    say(member, proto_new(SERVER_FENCE, "uc", 77, 1)); /* not the next, and cut off */
    say(member, proto_new(SERVER_FENCE, "ucb", 77, 1, "x", (size_t) 1));
    say(member, proto_new(SERVER_CARDS, "qu", UINT64_MAX, UINT32_MAX));
    say(member, proto_new(SERVER_ABORT, "i", 5));
    say(member, OBJ_NEW(opal_buffer_t));
}

static void *misbehave(void *arg)
{
    struct member *member = arg;
    if (!join(member)) {
        return NULL;
    }
    if (member->rank == 3) {
        say_nonsense(member);
    }
    went(member, publish(member, "card", 4), "publish");
    went(member, fence(member), "fence");
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        went(member, look_up(member, rank, "card", 4, ORTE_SUCCESS), "card");
    }
    went(member, fence(member), "last fence");
    leave(member);
    return NULL;
}

START_TEST(test_nonsense_disturbs_nobody)
{
    begin();
    add_jobs();
    run_all(misbehave);
    ck_assert_int_eq(joined, RANKS);
    ck_assert_int_eq(left, RANKS);
    ck_assert_int_eq(aborted, 0);
    end();
}
END_TEST

START_TEST(test_cards_that_are_none_do_not_spread)
{
    begin();
    add_jobs();
    struct member *member = &members[0];
    ck_assert_msg(join(member), "%s", member->reason);
    /* its next fence, with a set that is none: refused */
    say(member, proto_new(SERVER_FENCE, "ucb", 0, 1, "\x05garbage", (size_t) 8));
    say(member, proto_new(SERVER_ABORT, "is", 5, "why"));
    uint64_t deadline = clock_us() + WAIT_S * 1000000u;
    while (aborted == 0 && clock_us() < deadline) {
        rml_progress(member->node.rml);
    }
    ck_assert_int_eq(aborted, 1); /* heard after the fence */
    leave(member);
    ck_assert_int_eq(left, 1);
    end();
}
END_TEST

START_TEST(test_a_rank_of_another_daemon_is_not_welcome)
{
    begin();
    add_jobs();
    char reason[256] = "";
    struct self self = {.name = RANK(1), .size = RANKS, .daemon = hosts[0].node.contact};
    memcpy(self.uuid, map.uuid, sizeof(self.uuid));
    ck_assert_int_eq(param_override("bootstrap_timeout_s", "1"), ORTE_SUCCESS);
    ck_assert_int_ne(
        native_create(&members[1].backend, members[1].node.rml, &self, reason, sizeof(reason)),
        ORTE_SUCCESS);
    ck_assert(reason[0] != 0);
    ck_assert_int_eq(joined, 0);
    end();
}
END_TEST

UNIT_MAIN("server")
