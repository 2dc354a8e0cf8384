/* The back end under a PMIx server, with a server that the test controls: several ranks in threads
 * of one process, each with an RML of its own. */
#include <config.h>

#include "pmix-server.h"
#include <base/data/clock.h>
#include <base/settings/param.h>
#include <bootstrap/pmix/pmix.h>
#include <bootstrap/pmix/pmix_map.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <tests/unit/rml/cluster.h>

enum { TAG = 200, RANKS = 3 };

/* A rank: its thread runs work between joining and leaving. */
struct seat {
    uint32_t rank;
    pthread_t thread;
    struct node node;
    struct pmix_client client;
    struct backend *backend; /* NULL: it could not join */
    int status;              /* of joining */
    char reason[256];
    void (*work)(struct seat *seat);
};

static struct seat seats[RANKS];
static pthread_barrier_t all;

/* Ranks 0 and 1 are on one node, rank 2 on another. */
static void make_map(struct job_map *map)
{
    static const char *const hosts[RANKS] = {"near", "near", "far"};
    char reason[256];
    struct pmix_view view = {.nspace = "test", .size = RANKS};
    view.hosts = calloc(RANKS, sizeof(*view.hosts));
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        view.hosts[rank] = strdup(hosts[rank]);
    }
    ck_assert_int_eq(pmix_job_map(map, &view, "", reason, sizeof(reason)), ORTE_SUCCESS);
    map->jobid = RANK(0).jobid;
    pmix_view_fini(&view);
}

static void join(struct seat *seat)
{
    server_be(seat->rank);
    node_open(&seat->node, NODE_RANK, RANK(seat->rank), 64);
    seat->node.rml->config.job_size = seat->node.rml->route.job_size = RANKS;
    seat->client = (struct pmix_client){.calls = &server_calls};
    make_map(&seat->client.map);
    struct self self = {.kind = SELF_PMIX, .name = RANK(seat->rank), .size = RANKS};
    seat->status = pmix_create(&seat->backend, seat->node.rml, seat->node.loop, &seat->client,
                               &self, seat->reason, sizeof(seat->reason));
}

static void *run_seat(void *arg)
{
    struct seat *seat = arg;
    join(seat);
    if (seat->work) {
        seat->work(seat);
    }
    if (seat->backend) {
        seat->backend->ops->leave(seat->backend);
    }
    pthread_barrier_wait(&all); /* nobody's links break before */
    node_close(&seat->node);
    return NULL;
}

static void run_all(void (*work)(struct seat *seat))
{
    cluster_begin();
    ck_assert_int_eq(crypto_open(), ORTE_SUCCESS);
    pthread_barrier_init(&all, NULL, RANKS);
    server_begin(RANKS);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        seats[rank].rank = rank;
        seats[rank].work = work;
        ck_assert_int_eq(pthread_create(&seats[rank].thread, NULL, run_seat, &seats[rank]), 0);
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        pthread_join(seats[rank].thread, NULL);
    }
    server_end();
    pthread_barrier_destroy(&all);
    cluster_end();
}

/* --- helpers of the ranks --- */

static int fence(struct seat *seat)
{
    return seat->backend->ops->fence(seat->backend, clock_us() + WAIT_S * 1000000u, NULL, NULL);
}

static void must_pass(struct seat *seat)
{
    ck_assert_int_eq(fence(seat), ORTE_SUCCESS);
}

struct got {
    bool done;
    int status;
    char text[64];
};

static void on_card(void *arg, int status, const void *data, size_t size)
{
    struct got *got = arg;
    ck_assert(!got->done);
    got->status = status;
    if (status == ORTE_SUCCESS) {
        ck_assert_uint_lt(size, sizeof(got->text));
        memcpy(got->text, data, size);
    }
    got->done = true;
}

static struct got get(struct seat *seat, uint32_t rank, const char *key)
{
    struct got got = {0};
    backend_get_card(seat->backend, rank, key, on_card, &got);
    ck_assert_int_eq(
        rml_wait(seat->node.rml, &got.done, clock_us() + 3 * WAIT_S * 1000000u, NULL, NULL),
        ORTE_SUCCESS);
    return got;
}

static void expect_card(struct seat *seat, uint32_t rank, const char *key, const char *expected)
{
    struct got got = get(seat, rank, key);
    ck_assert_int_eq(got.status, ORTE_SUCCESS);
    ck_assert_str_eq(got.text, expected);
}

static void put(struct seat *seat, const char *key, const char *text)
{
    ck_assert_int_eq(backend_put_card(seat->backend, key, text, strlen(text)), ORTE_SUCCESS);
}

static void must_have_joined(struct seat *seat)
{
    ck_assert_msg(seat->status == ORTE_SUCCESS, "rank %u: %s", seat->rank, seat->reason);
}

static void exchange(struct seat *seat)
{
    static const char *const texts[RANKS] = {"zero", "one", "two"};
    must_have_joined(seat);
    put(seat, "name", texts[seat->rank]);
    must_pass(seat);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        expect_card(seat, rank, "name", texts[rank]);
    }
}

/* --- what works --- */

static void share(struct seat *seat)
{
    exchange(seat);
    pthread_barrier_wait(&all);
    ck_assert_mem_eq(seat->backend->map.app_key, seats[0].backend->map.app_key, KEY_BYTES);
    ck_assert_int_eq(get(seat, (seat->rank + 1) % RANKS, "none").status, ORTE_ERR_NOT_FOUND);
    pthread_barrier_wait(&all); /* the keys are looked at */
}

START_TEST(key_and_cards_are_shared)
{
    run_all(share);
    /* the key's fence, and the one that published; every card was there when it was asked for */
    ck_assert_uint_eq(server_fences(), 2);
    ck_assert_uint_eq(server_collecting(), 2);
}
END_TEST

START_TEST(cards_are_fetched_when_asked_for)
{
    ck_assert_int_eq(param_override("modex_collect_max", "0"), ORTE_SUCCESS);
    run_all(share);
    ck_assert_uint_eq(server_collecting(), 1); /* the key's */
}
END_TEST

/* Rank 1 publishes later than the others, twice; nobody else does. */
static void publish_late(struct seat *seat)
{
    exchange(seat);
    must_pass(seat);
    if (seat->rank == 1) {
        put(seat, "second", "2nd");
    }
    must_pass(seat);
    expect_card(seat, 1, "second", "2nd");
    pthread_barrier_wait(&all);
    unsigned gets = server_gets();
    pthread_barrier_wait(&all);
    ck_assert_int_eq(get(seat, 1, "third").status, ORTE_ERR_NOT_FOUND);
    pthread_barrier_wait(&all);
    ck_assert_uint_eq(server_gets(), gets); /* the last fence's cards are known */
    pthread_barrier_wait(&all);
    must_pass(seat);
    if (seat->rank == 1) {
        put(seat, "third", "3rd");
    }
    must_pass(seat);
    must_pass(seat);
    expect_card(seat, 1, "third", "3rd");
    expect_card(seat, 1, "second", "2nd");
    ck_assert_int_eq(get(seat, 0, "second").status, ORTE_ERR_NOT_FOUND);
    must_pass(seat);
}

UNIT_CASE(later_cards_are_found, run_all(publish_late))

START_TEST(a_server_may_time_out_for_what_is_not_there)
{
    server_set_missing(MISSING_TIMEOUT);
    run_all(publish_late);
}
END_TEST

/* Asked by several at once: all are answered, also those who ask from inside the answer. */
static struct got nested;

static void ask_again(void *arg, int status, const void *data, size_t size)
{
    struct seat *seat = arg;
    (void) data;
    (void) size;
    ck_assert_int_eq(status, ORTE_SUCCESS);
    backend_get_card(seat->backend, 2, "two", on_card, &nested);
}

static void ask_at_once(struct seat *seat)
{
    exchange(seat);
    if (seat->rank == 2) {
        put(seat, "one", "1");
    }
    must_pass(seat);
    if (seat->rank == 2) {
        put(seat, "two", "2");
    }
    must_pass(seat);
    if (seat->rank == 0) {
        struct got two = {0}, none = {0};
        backend_get_card(seat->backend, 2, "one", ask_again, seat);
        backend_get_card(seat->backend, 2, "two", on_card, &two);
        backend_get_card(seat->backend, 2, "none", on_card, &none);
        wait_done(&seat->node, &two.done);
        wait_done(&seat->node, &none.done);
        wait_done(&seat->node, &nested.done);
        ck_assert_str_eq(two.text, "2");
        ck_assert_str_eq(nested.text, "2");
        ck_assert_int_eq(none.status, ORTE_ERR_NOT_FOUND);
    }
    must_pass(seat);
}

UNIT_CASE(many_may_ask_for_the_same_rank, run_all(ask_at_once))

static void talk(struct seat *seat)
{
    uint32_t number = seat->rank, heard = 99;
    struct iovec out = {&number, sizeof(number)}, in = {&heard, sizeof(heard)};
    orte_process_name_t right = RANK((seat->rank + 1) % RANKS);
    orte_process_name_t left = RANK((seat->rank + RANKS - 1) % RANKS);
    exchange(seat);
    ck_assert_int_eq(rml_call_send(seat->node.rml, &right, &out, 1, TAG, 0), sizeof(number));
    ck_assert_int_eq(rml_call_recv(seat->node.rml, &left, &in, 1, TAG, 0), sizeof(heard));
    ck_assert_uint_eq(heard, left.vpid);
    must_pass(seat);
}

UNIT_CASE(ranks_talk_directly, run_all(talk))

/* --- bad servers --- */

static void must_not_join(struct seat *seat, uint32_t first, int status, const char *word)
{
    if (seat->rank >= first) {
        ck_assert_int_eq(seat->status, status);
        ck_assert_ptr_null(seat->backend);
        ck_assert_msg(strstr(seat->reason, word), "'%s' does not say '%s'", seat->reason, word);
    } else {
        must_have_joined(seat);
    }
}

static void no_key(struct seat *seat)
{
    must_not_join(seat, 1, ORTE_ERR_NOT_FOUND, "key");
}

START_TEST(a_key_that_is_not_there)
{
    server_replace(0, "keel.key", NULL, 0);
    run_all(no_key);
}
END_TEST

static void bad_key(struct seat *seat)
{
    must_not_join(seat, 1, ORTE_ERR_BAD_PARAM, "key");
}

START_TEST(a_key_that_is_none)
{
    server_replace(0, "keel.key", "\1short", 6);
    run_all(bad_key);
}
END_TEST

START_TEST(a_key_of_another_version)
{
    static const char key[33] = {2};
    server_replace(0, "keel.key", key, sizeof(key));
    run_all(bad_key);
}
END_TEST

static void silent_key(struct seat *seat)
{
    must_not_join(seat, 1, ORTE_ERR_TIMEOUT, "key");
}

START_TEST(a_key_that_is_never_answered)
{
    ck_assert_int_eq(param_override("bootstrap_timeout_s", "1"), ORTE_SUCCESS);
    server_replace(0, "keel.key", NULL, 0);
    server_set_missing(MISSING_SILENT);
    run_all(silent_key);
}
END_TEST

static void no_first_fence(struct seat *seat)
{
    must_not_join(seat, 0, ORTE_ERR_COMM_FAILURE, "fence");
}

START_TEST(a_first_fence_that_fails)
{
    server_fail_fence(0, ORTE_ERR_COMM_FAILURE);
    run_all(no_first_fence);
}
END_TEST

static void late_first_fence(struct seat *seat)
{
    must_not_join(seat, 0, ORTE_ERR_TIMEOUT, "fence");
}

START_TEST(a_first_fence_that_is_never_answered)
{
    ck_assert_int_eq(param_override("init_timeout_s", "1"), ORTE_SUCCESS);
    server_fail_fence(0, ORTE_ERROR);
    run_all(late_first_fence);
}
END_TEST

static void broken_fence(struct seat *seat)
{
    exchange(seat);
    ck_assert_int_eq(fence(seat), ORTE_ERR_COMM_FAILURE);
    ck_assert_int_eq(fence(seat), ORTE_ERR_COMM_FAILURE);
}

START_TEST(a_fence_that_failed_fails_for_good)
{
    server_fail_fence(2, ORTE_ERR_TIMEOUT);
    run_all(broken_fence);
    ck_assert_uint_eq(server_fences(), 3);
}
END_TEST

static void late_fence(struct seat *seat)
{
    exchange(seat);
    ck_assert_int_eq(seat->backend->ops->fence(seat->backend, clock_us() + 50000u, NULL, NULL),
                     ORTE_ERR_TIMEOUT);
    ck_assert_int_eq(fence(seat), ORTE_ERR_COMM_FAILURE);
}

START_TEST(a_fence_has_a_deadline)
{
    server_fail_fence(2, ORTE_ERROR);
    run_all(late_fence);
}
END_TEST

static void wrong_cards(struct seat *seat)
{
    must_have_joined(seat);
    ck_assert((fence(seat) == ORTE_SUCCESS) == (seat->rank == 1));
}

/* Whoever reads them says so; the one they are of does not. */
START_TEST(cards_that_make_no_sense)
{
    server_replace(1, "keel.cards.0", "\0\0\0\0\377key", 8);
    run_all(wrong_cards);
}
END_TEST

START_TEST(cards_without_a_number)
{
    server_replace(1, "keel.cards.0", "\0\0\0", 3);
    run_all(wrong_cards);
}
END_TEST

START_TEST(cards_that_are_not_there)
{
    server_replace(1, "keel.cards.0", NULL, 0);
    run_all(wrong_cards);
}
END_TEST

static void wrong_contact(struct seat *seat)
{
    uint32_t number = 0;
    struct iovec part = {&number, sizeof(number)};
    orte_process_name_t one = RANK(1);
    exchange(seat);
    if (seat->rank == 2) {
        ck_assert_int_eq(rml_call_send(seat->node.rml, &one, &part, 1, TAG, 0), ORTE_ERR_UNREACH);
    }
    must_pass(seat);
}

START_TEST(a_contact_that_is_none)
{
    server_replace(1, "keel.contact", "nowhere", 7);
    run_all(wrong_contact);
}
END_TEST

START_TEST(a_contact_with_an_end_inside)
{
    server_replace(1, "keel.contact", "327681.1;tcp://127.0.0.1:1\0x", 28);
    run_all(wrong_contact);
}
END_TEST

START_TEST(a_contact_that_is_not_there)
{
    server_replace(1, "keel.contact", NULL, 0);
    run_all(wrong_contact);
}
END_TEST

static void lose_server(struct seat *seat)
{
    uint32_t number = 0;
    struct iovec part = {&number, sizeof(number)};
    orte_process_name_t other = RANK((seat->rank + 1) % RANKS);
    exchange(seat);
    pthread_barrier_wait(&all);
    if (seat->rank == 0) {
        while (server_fences() < 2) {
        }
        server_lose(); /* the others may be in their fence, or before it */
        pthread_barrier_wait(&all);
    } else {
        ck_assert_int_eq(fence(seat), ORTE_ERR_COMM_FAILURE);
        pthread_barrier_wait(&all);
    }
    ck_assert_int_eq(fence(seat), ORTE_ERR_COMM_FAILURE);
    ck_assert_int_eq(rml_call_recv(seat->node.rml, &other, &part, 1, TAG, 0),
                     ORTE_ERR_COMM_FAILURE);
}

UNIT_CASE(a_server_that_is_lost, run_all(lose_server))

/* Cards, and a message for somebody whose contact is asked for, while the back end leaves. */
static struct got abandoned;

static void leave_with_questions(struct seat *seat)
{
    exchange(seat);
    must_pass(seat);
    if (seat->rank == 0) {
        static int status = 1;
        orte_process_name_t two = RANK(2);
        opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
        server_set_missing(MISSING_SILENT);
        backend_get_card(seat->backend, 1, "none", on_card, &abandoned);
        ck_assert_int_eq(rml_send(seat->node.rml, &two, OOB_APP, TAG, &buffer, NULL, &status),
                         ORTE_SUCCESS);
        ck_assert(!abandoned.done);
    }
}

START_TEST(questions_end_when_the_back_end_leaves)
{
    server_replace(2, "keel.contact", NULL, 0);
    run_all(leave_with_questions);
    ck_assert(abandoned.done);
    ck_assert_int_eq(abandoned.status, ORTE_ERR_COMM_FAILURE);
}
END_TEST

static void probe_in_vain(struct seat *seat)
{
    exchange(seat);
    must_pass(seat);
    if (seat->rank == 0) {
        server_set_missing(MISSING_SILENT);
        ck_assert_int_eq(get(seat, 1, "none").status, ORTE_ERR_NOT_FOUND);
        unsigned gets = server_gets();
        ck_assert_int_eq(get(seat, 1, "other").status, ORTE_ERR_NOT_FOUND);
        ck_assert_uint_eq(server_gets(), gets);
    }
}

/* A server that forgets its own time limit. */
UNIT_CASE(our_deadline_counts, run_all(probe_in_vain))

UNIT_MAIN("bootstrap/pmix")
