/* Work that was put aside: when it runs, and what runs while it blocks. */
#include "cluster.h"
#include <base/data/clock.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

enum { TAG = 300, OTHER_TAG = 301 };

static struct node me;

static void setup(void)
{
    cluster_begin();
    node_open(&me, NODE_RANK, RANK(0), 64);
}

static void teardown(void)
{
    node_close(&me);
    cluster_end();
}

/* What has run, a letter for each, and what each does. */
static char ran[32];

static void note(char letter)
{
    size_t used = strlen(ran);
    ck_assert_uint_lt(used + 1, sizeof(ran));
    ran[used] = letter;
    ran[used + 1] = 0;
}

static void say(void *arg)
{
    note(*(const char *) arg);
}

static void drop(void *arg)
{
    note('-');
    say(arg);
}

static void defer(const char *letter)
{
    ck_assert_int_eq(rml_defer(me.rml, say, drop, (void *) letter), ORTE_SUCCESS);
}

static void send_to_myself(orte_rml_tag_t tag)
{
    struct iovec none = {NULL, 0};
    ck_assert_int_eq(rml_call_send(me.rml, &me.name, &none, 1, tag, 0), 0);
}

static void on_message(int status, orte_process_name_t *peer, opal_buffer_t *buffer,
                       orte_rml_tag_t tag, void *cbdata)
{
    ck_assert_int_eq(status, ORTE_SUCCESS);
    (void) peer;
    (void) buffer;
    (void) tag;
    say(cbdata);
}

static void post(orte_rml_tag_t tag, orte_rml_buffer_callback_fn_t fn, const char *letter)
{
    ck_assert_int_eq(rml_call_recv_buffer_nb(me.rml, &me.name, tag, 0, fn, (void *) letter),
                     ORTE_SUCCESS);
}

START_TEST(what_is_deferred_keeps_its_turn)
{
    setup();
    defer("1");
    post(TAG, on_message, "m");
    send_to_myself(TAG);
    defer("2");
    ck_assert_str_eq(ran, "");
    ck_assert_int_eq(rml_progress(me.rml), 3);
    ck_assert_str_eq(ran, "1m2");
    ck_assert_int_eq(rml_progress(me.rml), 0);
    teardown();
}
END_TEST

static void defer_and_block(int status, orte_process_name_t *peer, opal_buffer_t *buffer,
                            orte_rml_tag_t tag, void *cbdata)
{
    struct iovec none = {NULL, 0};
    defer("d");
    send_to_myself(OTHER_TAG);
    ck_assert_int_eq(rml_call_recv(me.rml, &me.name, &none, 1, OTHER_TAG, 0), 0);
    ck_assert_int_eq(rml_progress(me.rml), 0);
    on_message(status, peer, buffer, tag, cbdata);
}

START_TEST(nothing_deferred_runs_inside_a_callback)
{
    setup();
    post(TAG, defer_and_block, "c");
    send_to_myself(TAG);
    ck_assert_int_eq(rml_progress(me.rml), 1); /* what it added waits for the next call */
    ck_assert_str_eq(ran, "c");
    ck_assert_int_eq(rml_progress(me.rml), 1);
    ck_assert_str_eq(ran, "cd");
    teardown();
}
END_TEST

static bool heard;

static void hear(int status, orte_process_name_t *peer, opal_buffer_t *buffer, orte_rml_tag_t tag,
                 void *cbdata)
{
    on_message(status, peer, buffer, tag, cbdata);
    ck_assert_int_eq(rml_progress(me.rml), 0); /* a callback, whatever it runs in */
    heard = true;
}

/* Waits for a plain callback, both ways that there are. */
static void wait_for_callbacks(void *arg)
{
    ck_assert(rml_in_callback(me.rml));
    heard = false;
    post(TAG, hear, "x");
    send_to_myself(TAG);
    wait_done(&me, &heard);
    heard = false;
    post(TAG, hear, "y");
    defer("z");
    send_to_myself(TAG);
    while (!heard) {
        rml_progress(me.rml);
    }
    ck_assert(rml_in_callback(me.rml));
    say(arg);
}

START_TEST(callbacks_run_while_what_is_deferred_blocks)
{
    setup();
    ck_assert_int_eq(rml_defer(me.rml, wait_for_callbacks, drop, (void *) "w"), ORTE_SUCCESS);
    ck_assert_int_eq(rml_progress(me.rml), 1);
    ck_assert_str_eq(ran, "xzyw");
    ck_assert(!rml_in_callback(me.rml));
    teardown();
}
END_TEST

START_TEST(a_blocking_call_runs_what_is_deferred)
{
    setup();
    struct iovec none = {NULL, 0};
    defer("1");
    send_to_myself(TAG);
    ck_assert_int_eq(rml_call_recv(me.rml, &me.name, &none, 1, TAG, 0), 0);
    defer("2");
    bool never = false;
    ck_assert_int_eq(rml_wait(me.rml, &never, clock_us() + 1000, NULL, NULL), ORTE_ERR_TIMEOUT);
    ck_assert_ptr_nonnull(strchr(ran, '2'));
    teardown();
}
END_TEST

START_TEST(the_end_drops_what_is_deferred)
{
    setup();
    defer("1");
    defer("2");
    teardown();
    ck_assert_str_eq(ran, "-1-2");
}
END_TEST

START_TEST(resting_ends_with_work_or_time)
{
    setup();
    rml_rest(me.rml, clock_us() + 20000, NULL, 0);
    defer("1");
    uint64_t begin = clock_us();
    rml_rest(me.rml, begin + (uint64_t) WAIT_S * 1000000u, NULL, 0);
    ck_assert_uint_lt(clock_us() - begin, (uint64_t) WAIT_S * 500000u);
    ck_assert_str_eq(ran, "");
    teardown();
}
END_TEST

/* Again and again, as the rest may not have begun. */
static void *wake_a_rest(void *ended)
{
    while (!atomic_load((atomic_bool *) ended)) {
        rml_wake(me.rml);
        usleep(1000);
    }
    return NULL;
}

START_TEST(resting_on_descriptors_ends_with_work_time_or_one_of_them)
{
    setup();
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    struct pollfd watch[2] = {{.fd = -1}, {.fd = ends[0], .events = POLLIN}};
    rml_rest(me.rml, clock_us() + 20000, watch, 2);
    ck_assert_int_eq(write(ends[1], "", 1), 1);
    uint64_t begin = clock_us(), end = begin + (uint64_t) WAIT_S * 1000000u;
    rml_rest(me.rml, end, watch, 2);
    ck_assert_int_eq(watch[1].revents, POLLIN);
    watch[1].fd = -1;
    pthread_t waker;
    atomic_bool ended = false;
    ck_assert_int_eq(pthread_create(&waker, NULL, wake_a_rest, &ended), 0);
    rml_rest(me.rml, end, watch, 2);
    atomic_store(&ended, true);
    ck_assert_int_eq(pthread_join(waker, NULL), 0);
    defer("1");
    rml_rest(me.rml, end, watch, 2);
    ck_assert_uint_lt(clock_us() - begin, (uint64_t) WAIT_S * 500000u);
    close(ends[0]);
    close(ends[1]);
    teardown();
}
END_TEST

UNIT_MAIN("rml/defer")
