/* Broadcasts through real daemons and links, and messages of all kinds while a relay is lost. */
#include "cluster.h"
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

enum { TAG = 300, PLAIN = 301, STREAM = 1000 };

static struct node daemons[3], a, b;

static size_t size_of(uint32_t number)
{
    return number % 100 == 0 ? 300000 : number * 2654435761u % 3000;
}

static opal_buffer_t *buffer_of(uint32_t number)
{
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    void *bytes = malloc(size_of(number) + 1);
    ck_assert(buffer && bytes);
    fill(bytes, size_of(number), number);
    ck_assert_int_eq(opal_dss.load(buffer, bytes, (int32_t) size_of(number)), OPAL_SUCCESS);
    return buffer;
}

static void *cast_stream(void *arg)
{
    struct node *from = arg;
    for (uint32_t i = 0; i < STREAM; i++) {
        opal_buffer_t *buffer = buffer_of(i);
        ck_assert_int_eq(rml_xcast(from->rml, from->name.jobid, TAG, buffer), ORTE_SUCCESS);
        OBJ_RELEASE(buffer);
    }
    return NULL;
}

static void *send_stream(void *arg)
{
    struct node *from = arg, *to = from == &a ? &b : &a;
    for (uint32_t i = 0; i < STREAM; i++) {
        send_filled(from, to, PLAIN, size_of(i), i);
    }
    return NULL;
}

/* What at receives of an origin. */
struct stream {
    struct node *at;
    orte_process_name_t origin;
    orte_rml_tag_t tag;
};

static void *receive_stream(void *arg)
{
    struct stream *stream = arg;
    for (uint32_t i = 0; i < STREAM; i++) {
        receive_filled(stream->at, &stream->origin, stream->tag, size_of(i), i);
    }
    return NULL;
}

/* Nothing more has come than what was received. */
static void expect_nothing_left(struct node *node)
{
    pthread_mutex_lock(&node->rml->lock);
    ck_assert(list_empty(&node->rml->match.unexpected));
    pthread_mutex_unlock(&node->rml->lock);
}

enum { THREADS = 10 };

static int start_streams(pthread_t threads[THREADS], struct stream streams[6])
{
    struct node *both[] = {&a, &b};
    int count = 0;
    for (int i = 0; i < 2; i++) {
        streams[3 * i] = (struct stream){both[i], a.name, TAG};
        streams[3 * i + 1] = (struct stream){both[i], b.name, TAG};
        streams[3 * i + 2] = (struct stream){both[i], both[1 - i]->name, PLAIN};
        pthread_create(&threads[count++], NULL, cast_stream, both[i]);
        pthread_create(&threads[count++], NULL, send_stream, both[i]);
        for (int j = 0; j < 3; j++) {
            pthread_create(&threads[count++], NULL, receive_stream, &streams[3 * i + j]);
        }
    }
    return count;
}

static void join_all(pthread_t *threads, int count)
{
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
}

START_TEST(each_process_gets_each_once_in_order)
{
    pthread_t threads[THREADS];
    struct stream streams[6];
    chain_open(daemons, &a, &b);
    join_all(threads, start_streams(threads, streams));
    expect_nothing_left(&a);
    expect_nothing_left(&b);
    ck_assert_uint_eq(count_of(&daemons[0], &daemons[0].rml->counters.malformed), 0);
    chain_close(daemons, &a, &b);
}
END_TEST

static void repairs(struct node *node, void *arg)
{
    (void) arg;
    rml_repair_routes(node->rml);
}

static void lose(struct node *node, void *arg)
{
    ck_assert_int_eq(rml_lose_daemon(node->rml, *(uint32_t *) arg), ORTE_SUCCESS);
    ck_assert_int_eq(rml_lose_daemon(node->rml, *(uint32_t *) arg), ORTE_EXISTS);
}

static void rejoin(struct node *node, void *arg)
{
    (void) arg;
    rml_rejoin(node->rml);
}

/* The relay ends in the middle; the daemons at its two sides hear so at different times. */
START_TEST(a_lost_relay_takes_nothing_along)
{
    pthread_t threads[THREADS];
    struct stream streams[6];
    uint32_t relay = 1;
    chain_open(daemons, &a, &b);
    node_on_loop(&daemons[0], repairs, NULL);
    node_on_loop(&daemons[2], repairs, NULL);
    int count = start_streams(threads, streams);
    usleep(30000);
    node_close(&daemons[1]);
    usleep(100000);
    node_on_loop(&daemons[0], lose, &relay);
    ck_assert(rml_is_lost(daemons[0].rml, 1) && !rml_is_lost(daemons[2].rml, 1));
    node_on_loop(&daemons[2], lose, &relay);
    ck_assert_uint_eq(rml_parent_of(daemons[2].rml, 2), 0);
    node_link(&daemons[2], &daemons[0]);
    node_on_loop(&daemons[2], rejoin, NULL);
    join_all(threads, count);
    expect_nothing_left(&a);
    expect_nothing_left(&b);
    chain_close(daemons, &a, &b);
}
END_TEST

/* --- daemons' own --- */

static struct {
    pthread_mutex_t lock;
    uint32_t got[3];
    bool wrong;
} heard = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_order(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    uint32_t *got = arg;
    pthread_mutex_lock(&heard.lock);
    heard.wrong = heard.wrong || info->origin.vpid != 0 || info->role != OOB_KEY_CONTROL ||
                  (*buffer)->bytes_used != size_of(*got) ||
                  !filled((*buffer)->base_ptr, size_of(*got), *got);
    ++*got;
    pthread_mutex_unlock(&heard.lock);
}

START_TEST(daemons_speak_to_daemons)
{
    chain_open(daemons, &a, &b);
    for (int i = 0; i < 3; i++) {
        rml_handle(daemons[i].rml, RML_TAG_LAUNCH, on_order, &heard.got[i]);
    }
    for (uint32_t i = 0; i < STREAM; i++) {
        ck_assert_int_eq(
            rml_xcast_give(daemons[0].rml, daemons[0].name.jobid, RML_TAG_LAUNCH, buffer_of(i)),
            ORTE_SUCCESS);
    }
    bool all = false;
    for (int i = 0; i < WAIT_S * 100 && !all; i++) {
        usleep(10000);
        pthread_mutex_lock(&heard.lock);
        all = heard.got[0] == STREAM && heard.got[1] == STREAM && heard.got[2] == STREAM;
        pthread_mutex_unlock(&heard.lock);
    }
    ck_assert(all && !heard.wrong);
    chain_close(daemons, &a, &b);
}
END_TEST

static void grow_to_three(struct node *node, void *arg)
{
    (void) arg;
    ck_assert_int_eq(rml_grow_tree(node->rml, 3), ORTE_SUCCESS);
}

static void note_casts(struct node *node, void *last)
{
    *(struct rml_casts *) last = rml_last_casts(node->rml);
}

static void begin_casts(struct node *node, void *last)
{
    rml_begin_casts(node->rml, last);
}

/* Of a stream of orders, those with these numbers. */
static void order_some(uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        ck_assert_int_eq(
            rml_xcast_give(daemons[0].rml, daemons[0].name.jobid, RML_TAG_LAUNCH, buffer_of(i)),
            ORTE_SUCCESS);
    }
}

static void wait_orders(int daemon, uint32_t count)
{
    bool all = false;
    for (int i = 0; i < WAIT_S * 100 && !all; i++) {
        usleep(10000);
        pthread_mutex_lock(&heard.lock);
        all = heard.got[daemon] == count;
        pthread_mutex_unlock(&heard.lock);
    }
    ck_assert(all && !heard.wrong);
}

/* Below a daemon that had nobody below it, while broadcasts are under way. */
START_TEST(a_daemon_joins_a_tree_that_stands)
{
    enum { MIDDLE = 200, END = 400 };
    struct rml_casts last;
    cluster_begin();
    for (uint32_t i = 0; i < 3; i++) {
        node_open(&daemons[i], NODE_DAEMON, DAEMON(i), 1);
        rml_route_tree(daemons[i].rml, i < 2 ? 2 : 3);
        rml_handle(daemons[i].rml, RML_TAG_LAUNCH, on_order, &heard.got[i]);
    }
    node_link(&daemons[1], &daemons[0]);
    order_some(0, MIDDLE);
    wait_orders(1, MIDDLE);
    node_on_loop(&daemons[0], grow_to_three, NULL);
    node_on_loop(&daemons[1], grow_to_three, NULL);
    node_on_loop(&daemons[0], note_casts, &last);
    ck_assert_uint_eq(last.control, MIDDLE);
    ck_assert_uint_eq(last.app, 0);
    heard.got[2] = MIDDLE; /* it is told what came before by other ways */
    order_some(MIDDLE, MIDDLE + 100);
    node_on_loop(&daemons[2], begin_casts, &last);
    node_link(&daemons[2], &daemons[1]);
    node_on_loop(&daemons[2], rejoin, NULL);
    order_some(MIDDLE + 100, END);
    for (int i = 0; i < 3; i++) {
        wait_orders(i, END);
    }
    for (int i = 0; i < 3; i++) {
        node_close(&daemons[i]);
    }
    cluster_end();
}
END_TEST

/* --- what is packed --- */

enum { LARGE = 3000000 };

static void on_large(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    uint32_t *got = arg, bad = 0;
    for (size_t i = 0; i < (*buffer)->bytes_used; i++) {
        bad += (*buffer)->base_ptr[i] != (char) (i >> 12);
    }
    pthread_mutex_lock(&heard.lock);
    heard.wrong =
        heard.wrong || bad > 0 || (*buffer)->bytes_used != LARGE || info->role != OOB_KEY_CONTROL;
    ++*got;
    pthread_mutex_unlock(&heard.lock);
}

static opal_buffer_t *large_buffer(void)
{
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    char *bytes = malloc(LARGE);
    ck_assert(buffer && bytes);
    for (size_t i = 0; i < LARGE; i++) {
        bytes[i] = (char) (i >> 12);
    }
    ck_assert_int_eq(opal_dss.load(buffer, bytes, LARGE), OPAL_SUCCESS);
    return buffer;
}

/* By its origin, over a relay, and in a broadcast. */
START_TEST(large_control_messages_are_packed)
{
    chain_open(daemons, &a, &b);
    rml_handle(daemons[2].rml, RML_TAG_LAUNCH, on_large, &heard.got[2]);
    opal_buffer_t *large = large_buffer(), *packed = rml_pack_buffer(daemons[0].rml, large);
    ck_assert(packed && packed->bytes_used < LARGE / 20);
    OBJ_RELEASE(packed);
    OBJ_RELEASE(large);
    ck_assert_int_eq(
        rml_give(daemons[0].rml, &daemons[2].name, OOB_CONTROL, RML_TAG_LAUNCH, large_buffer()),
        ORTE_SUCCESS);
    ck_assert_int_eq(
        rml_xcast_give(daemons[0].rml, daemons[0].name.jobid, RML_TAG_LAUNCH, large_buffer()),
        ORTE_SUCCESS);
    bool both = false;
    for (int i = 0; i < WAIT_S * 100 && !both; i++) {
        usleep(10000);
        pthread_mutex_lock(&heard.lock);
        both = heard.got[2] == 2;
        pthread_mutex_unlock(&heard.lock);
    }
    ck_assert(both && !heard.wrong);
    chain_close(daemons, &a, &b);
}
END_TEST

/* --- who answers at once --- */

#define SPAWNED 0x50002u

static struct {
    struct loop_task stop;
    sem_t answered;
} standstill;

static const uint32_t spawned_at[] = {2};

static void learn_job(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    const struct node *node = arg;
    (void) info;
    (void) buffer;
    ck_assert_int_eq(rml_route_job(node->rml, SPAWNED, 1, spawned_at), ORTE_SUCCESS);
}

static void learn_and_answer(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    const struct node *node = arg;
    orte_process_name_t spawned = {SPAWNED, 0};
    learn_job(arg, info, buffer);
    ck_assert_int_eq(rml_give(node->rml, &spawned, OOB_CONTROL, RML_TAG_LAUNCH, buffer_of(1)),
                     ORTE_SUCCESS);
    sem_post(&standstill.answered);
}

static void stand_still(struct loop_task *task)
{
    (void) task;
    wait_sem(&standstill.answered);
}

/* The root stands still when it has passed the broadcast on, until the answer is there. */
static void order(struct node *node, void *arg)
{
    (void) arg;
    ck_assert_int_eq(rml_xcast_give(node->rml, node->name.jobid, RML_TAG_LAUNCH, buffer_of(2)),
                     ORTE_SUCCESS);
    loop_post(node->loop, &standstill.stop);
}

START_TEST(a_daemon_hears_a_broadcast_before_what_comes_of_it)
{
    cluster_begin();
    sem_init(&standstill.answered, 0, 0);
    list_init(&standstill.stop.link);
    standstill.stop.run = stand_still;
    for (uint32_t i = 0; i < 2; i++) {
        node_open(&daemons[i], NODE_DAEMON, DAEMON(i), 64);
        rml_route_tree(daemons[i].rml, 3);
    }
    rml_handle(daemons[0].rml, RML_TAG_LAUNCH, learn_job, &daemons[0]);
    rml_handle(daemons[1].rml, RML_TAG_LAUNCH, learn_and_answer, &daemons[1]);
    node_link(&daemons[1], &daemons[0]);
    node_on_loop(&daemons[0], order, NULL);
    struct rml_peer *next = NULL; /* the answer waits for the link to daemon 2 */
    for (int i = 0; i < WAIT_S * 100 && !next; i++) {
        usleep(10000);
        pthread_mutex_lock(&daemons[0].rml->lock);
        ck_assert_uint_eq(daemons[0].rml->counters.misrouted, 0);
        next = rml_peer_find(&daemons[0].rml->peers, &DAEMON(2));
        next = next && next->pending_bytes > 0 ? next : NULL;
        pthread_mutex_unlock(&daemons[0].rml->lock);
    }
    ck_assert(next);
    chain_close(daemons, &a, &b);
    sem_destroy(&standstill.answered);
}
END_TEST

/* --- who may --- */

START_TEST(ranks_speak_to_their_own_with_their_own_tags)
{
    chain_open(daemons, &a, &b);
    opal_buffer_t *buffer = buffer_of(1);
    ck_assert_int_eq(rml_xcast(a.rml, a.name.jobid, RML_TAG_LAUNCH, buffer), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(rml_xcast(a.rml, daemons[0].name.jobid, TAG, buffer), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(rml_xcast(a.rml, ORTE_JOBID_WILDCARD, TAG, buffer), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(rml_xcast(a.rml, a.name.jobid, 0, buffer), ORTE_ERR_BAD_PARAM);
    OBJ_RELEASE(buffer);
    /* what the call would not send, by hand: the root refuses it */
    static uint8_t wrong[40] = {1, 0, 0, 0, RML_TAG_LAUNCH};
    wrong[24] = 1;
    for (int i = 0; i < 2; i++) {
        struct iovec part = {wrong, sizeof(wrong)};
        wrong[8] = i == 0 ? 1 : 0; /* its own job; the daemons' */
        wrong[10] = 5;
        wrong[4] = i == 0 ? RML_TAG_LAUNCH : 200;
        ck_assert_int_gt(rml_call_send(a.rml, &daemons[0].name, &part, 1, RML_TAG_XCAST, 0), 0);
        wait_count(&daemons[0], &daemons[0].rml->counters.malformed, (uint64_t) i + 1);
    }
    /* nor does a rank believe another */
    struct iovec part = {wrong, sizeof(wrong)};
    wrong[1] = 1;
    ck_assert_int_gt(rml_call_send(a.rml, &b.name, &part, 1, RML_TAG_XCAST, 0), 0);
    wait_count(&b, &b.rml->counters.refused_tags, 1);
    chain_close(daemons, &a, &b);
}
END_TEST

START_TEST(without_daemons_each_is_sent_to)
{
    cluster_begin();
    node_open(&a, NODE_RANK, RANK(0), 64);
    opal_buffer_t *buffer = buffer_of(7);
    ck_assert_int_eq(rml_xcast(a.rml, a.name.jobid, TAG, buffer), ORTE_SUCCESS);
    OBJ_RELEASE(buffer);
    struct iovec part = {NULL, 0};
    ck_assert_int_eq(rml_call_recv(a.rml, &a.name, &part, 1, TAG, ORTE_RML_ALLOC),
                     (int) size_of(7));
    ck_assert(filled(part.iov_base, size_of(7), 7));
    free(part.iov_base);
    node_close(&a);
    cluster_end();
}
END_TEST

UNIT_MAIN("rml/xcast")
