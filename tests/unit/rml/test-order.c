/* Order and content of many messages, over one daemon and over a chain of three. */
#include "cluster.h"
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

enum { TAG = 200, TAGS = 3, MESSAGES = 10000, HUGE_AT = 5000, WINDOW = 64 };

static struct node daemons[3], a, b;

/* Mostly small, some empty, some of several frames, one of 64 MiB. */
static size_t size_of(uint32_t number, bool huge)
{
    if (huge && number == HUGE_AT) {
        return 64u << 20;
    }
    if (number % 150 == 0) {
        return (1u << 20) - number % 7;
    }
    return number % 10 == 0 ? 0 : number * 2654435761u % 4000;
}

struct stream {
    struct node *from, *to;
    uint32_t count;
    bool huge;
    pthread_mutex_t lock; /* any of the node's threads may run the callbacks */
    uint32_t under_way;
    uint32_t window;
    bool ready; /* the window has room */
};

/* A window of WINDOW while the stream runs, 0 at its end; negative: as it is. */
static void count(struct stream *stream, int change, int window)
{
    pthread_mutex_lock(&stream->lock);
    stream->under_way += (uint32_t) change;
    stream->window = window < 0 ? stream->window : (uint32_t) window;
    __atomic_store_n(&stream->ready, stream->under_way <= stream->window, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&stream->lock);
}

static void sent(int status, orte_process_name_t *peer, struct iovec *msg, int parts,
                 orte_rml_tag_t tag, void *cbdata)
{
    struct stream *stream = cbdata;
    (void) peer;
    (void) parts;
    (void) tag;
    ck_assert_int_eq(status, (int) msg[0].iov_len);
    free(msg[0].iov_base);
    count(stream, -1, -1);
}

/* Alternates between blocking and non-blocking sends, and between tags. */
static void *send_stream(void *arg)
{
    struct stream *stream = arg;
    for (uint32_t i = 0; i < stream->count; i++) {
        size_t size = size_of(i, stream->huge);
        if (i % 3 == 0) {
            send_filled(stream->from, stream->to, TAG + i % TAGS, size, i);
            continue;
        }
        struct iovec part = {malloc(size + 1), size};
        fill(part.iov_base, size, i);
        count(stream, 1, WINDOW);
        ck_assert_int_eq(rml_call_send_nb(stream->from->rml, &stream->to->name, &part, 1,
                                          TAG + i % TAGS, 0, sent, stream),
                         ORTE_SUCCESS);
        wait_done(stream->from, &stream->ready);
    }
    count(stream, 0, 0);
    wait_done(stream->from, &stream->ready);
    return NULL;
}

static void *receive_stream(void *arg)
{
    struct stream *stream = arg;
    for (uint32_t i = 0; i < stream->count; i++) {
        receive_filled(stream->to, &stream->from->name, TAG + i % TAGS, size_of(i, stream->huge),
                       i);
    }
    return NULL;
}

static void run_streams(struct stream *streams, int streams_count)
{
    pthread_t threads[4];
    for (int i = 0; i < streams_count; i++) {
        pthread_mutex_init(&streams[i].lock, NULL);
        pthread_create(&threads[2 * i], NULL, send_stream, &streams[i]);
        pthread_create(&threads[2 * i + 1], NULL, receive_stream, &streams[i]);
    }
    for (int i = 0; i < 2 * streams_count; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < 3; i++) {
        if (daemons[i].rml) {
            ck_assert_uint_eq(count_of(&daemons[i], &daemons[i].rml->counters.misrouted), 0);
        }
    }
    ck_assert_uint_eq(count_of(&b, &b.rml->counters.lost), 0);
    ck_assert_uint_eq(count_of(&b, &b.rml->counters.out_of_order), 0);
}

START_TEST(ten_thousand_over_a_daemon)
{
    star_open(&daemons[0], &a, &b);
    struct stream streams[] = {{.from = &a, .to = &b, .count = MESSAGES, .huge = true}};
    run_streams(streams, 1);
    chain_close(daemons, &a, &b);
}
END_TEST

START_TEST(both_ways_over_a_chain)
{
    chain_open(daemons, &a, &b);
    struct stream streams[] = {{.from = &a, .to = &b, .count = 2000},
                               {.from = &b, .to = &a, .count = 2000}};
    run_streams(streams, 2);
    chain_close(daemons, &a, &b);
}
END_TEST

/* A wildcard receive sees the messages of all tags' senders in each sender's order. */
static uint32_t next_of[3];
static uint32_t seen;
static bool all_seen;

static void in_order(int status, orte_process_name_t *peer, opal_buffer_t *buffer,
                     orte_rml_tag_t tag, void *cbdata)
{
    uint32_t number = 0;
    int32_t one = 1;
    (void) tag;
    (void) cbdata;
    ck_assert_int_eq(status, ORTE_SUCCESS);
    ck_assert_int_eq(opal_dss.unpack(buffer, &number, &one, OPAL_UINT32), OPAL_SUCCESS);
    ck_assert_uint_eq(number, next_of[peer->vpid]++);
    all_seen = ++seen == 2000;
}

static void *send_numbers(void *arg)
{
    struct node *from = arg;
    for (uint32_t i = 0; i < 1000; i++) {
        opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
        ck_assert_int_eq(opal_dss.pack(buffer, &i, 1, OPAL_UINT32), OPAL_SUCCESS);
        ck_assert_int_eq(rml_call_send_buffer(from->rml, &b.name, buffer, TAG, 0), 8);
        OBJ_RELEASE(buffer);
    }
    return NULL;
}

START_TEST(wildcards_keep_each_senders_order)
{
    pthread_t threads[2];
    star_open(&daemons[0], &a, &b);
    ck_assert_int_eq(rml_call_recv_buffer_nb(b.rml, ORTE_NAME_WILDCARD, TAG, ORTE_RML_PERSISTENT,
                                             in_order, NULL),
                     ORTE_SUCCESS);
    pthread_create(&threads[0], NULL, send_numbers, &a);
    pthread_create(&threads[1], NULL, send_numbers, &b);
    wait_done(&b, &all_seen);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    ck_assert(next_of[0] == 1000 && next_of[1] == 1000);
    chain_close(daemons, &a, &b);
}
END_TEST

UNIT_MAIN("rml/order")
