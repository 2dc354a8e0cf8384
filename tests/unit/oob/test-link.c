/* Links over real sockets: what is sent arrives, in order, once, and every send completes. */
#include "side.h"

#include <base/data/clock.h>
#include <base/settings/fault.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static struct side a, b;
static uint8_t bytes[OOB_FRAME_MAX + 1];

/* --- frames --- */

static uint8_t pattern(size_t size, size_t at)
{
    return (uint8_t) (size * 7 + at * 13 + (at >> 8));
}

static void check_pattern(struct side *side, struct oob_link *link, const uint8_t *data,
                          size_t size)
{
    (void) side;
    (void) link;
    bool same = true;
    for (size_t at = 0; at < size; at++) {
        same = same && data[at] == pattern(size, at);
    }
    ck_assert(same);
}

static void send_pattern(struct oob_link *link, size_t size)
{
    for (size_t at = 0; at < size; at++) {
        bytes[at] = pattern(size, at);
    }
    side_send(link, OOB_APP, bytes, size);
}

static const size_t frame_sizes[] = {0,     1,     4,      5,      11,           12,    13,
                                     100,   4091,  4096,   65530,  65531,        65536, 65537,
                                     65541, 70000, 131072, 262144, OOB_FRAME_MAX};
enum { FRAME_SIZES = sizeof frame_sizes / sizeof *frame_sizes };

static void exchange_all_sizes(void)
{
    a.on_frame = b.on_frame = check_pattern;
    size_t before = atomic_load(&sent_ok);
    for (int i = 0; i < FRAME_SIZES; i++) {
        send_pattern(a.link, frame_sizes[i]);
        send_pattern(b.link, frame_sizes[FRAME_SIZES - 1 - i]);
    }
    side_wait_size(&a, &a.frames, FRAME_SIZES);
    side_wait_size(&b, &b.frames, FRAME_SIZES);
    side_wait_sent(before + 2 * FRAME_SIZES);
    ck_assert_uint_eq(atomic_load(&sent_failed), 0);
}

START_TEST(frames_of_all_sizes)
{
    for (int transport = 0; transport < SIDE_TRANSPORTS; transport++) {
        side_pair(&a, &b, (enum side_transport) transport);
        ck_assert_int_eq(a.link->inbox.sealed,
                         transport != SIDE_UNIX && transport != SIDE_TCP_NONE);
        exchange_all_sizes();
        side_close(&a);
        side_close(&b);
    }
}
END_TEST

START_TEST(short_writes_and_reads_change_nothing)
{
    static const char *const rules[] = {
        "oob.send:short=1000:p=0.5:seed=3; oob.recv:short=700:p=0.5:seed=4",
        "oob.send:error=EAGAIN:p=0.4:seed=5; oob.recv:error=EINTR:p=0.3:seed=6",
    };
    for (size_t i = 0; i < 2; i++) {
        for (int transport = 0; transport < SIDE_TRANSPORTS; transport += 2) {
            ck_assert_int_eq(fault_set(NULL), ORTE_SUCCESS);
            side_pair(&a, &b, (enum side_transport) transport);
            ck_assert_int_eq(fault_set(rules[i]), ORTE_SUCCESS);
            exchange_all_sizes();
            side_close(&a);
            side_close(&b);
        }
    }
}
END_TEST

static void count_done(struct oob_tx *tx, int status)
{
    (void) tx;
    ck_assert_int_eq(status, ORTE_ERR_BAD_PARAM);
    atomic_fetch_add(&sent_failed, 1);
}

START_TEST(what_does_not_fit_is_refused)
{
    side_pair(&a, &b, SIDE_UNIX);
    struct oob_tx tx = {.class = OOB_APP, .done = count_done, .iov_count = 1};
    tx.iov[0] = (struct iovec){bytes, OOB_FRAME_MAX + 1};
    oob_send(a.link, &tx);
    tx.iov[0].iov_len = SIZE_MAX;
    oob_send(a.link, &tx);
    tx.iov[0].iov_len = OOB_FRAME_MAX;
    tx.header_size = 1;
    oob_send(a.link, &tx);
    tx.iov_count = OOB_TX_IOV + 1;
    oob_send(a.link, &tx);
    tx.iov_count = 0;
    tx.header_size = OOB_HEADER_MAX + 1;
    oob_send(a.link, &tx);
    tx.header_size = 0;
    tx.class = OOB_CLASSES;
    oob_send(a.link, &tx);
    ck_assert_uint_eq(atomic_load(&sent_failed), 6);
    send_pattern(a.link, 10);
    side_wait_size(&b, &b.frames, 1);
    side_close(&a);
    side_close(&b);
}
END_TEST

/* --- order --- */

struct label {
    uint32_t sender, number;
};

enum { SENDERS = 4, FRAMES_EACH = 25000 };

static uint32_t next_number[SENDERS];

static void check_order(struct side *side, struct oob_link *link, const uint8_t *data, size_t size)
{
    (void) side;
    (void) link;
    struct label label;
    ck_assert_uint_eq(size, sizeof label);
    memcpy(&label, data, sizeof label);
    ck_assert_uint_eq(label.number, next_number[label.sender]);
    next_number[label.sender]++;
}

static void *send_many(void *arg)
{
    for (uint32_t i = 0; i < FRAMES_EACH; i++) {
        struct label label = {(uint32_t) (uintptr_t) arg, i};
        side_send(a.link, OOB_APP, &label, sizeof label);
    }
    return NULL;
}

static void many_frames(enum side_transport transport)
{
    memset(next_number, 0, sizeof next_number);
    atomic_store(&sent_ok, 0);
    side_pair(&a, &b, transport);
    b.on_frame = check_order;
    pthread_t threads[SENDERS];
    for (uintptr_t i = 0; i < SENDERS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, send_many, (void *) i), 0);
    }
    for (int i = 0; i < SENDERS; i++) {
        pthread_join(threads[i], NULL);
    }
    side_wait_size(&b, &b.frames, SENDERS * FRAMES_EACH);
    side_wait_sent(SENDERS * FRAMES_EACH);
    ck_assert_uint_eq(atomic_load(&sent_ok), SENDERS * FRAMES_EACH);
    ck_assert_uint_eq(atomic_load(&sent_failed), 0);
    side_close(&a);
    side_close(&b);
}

UNIT_CASE(a_hundred_thousand_frames_of_four_threads_unix, many_frames(SIDE_UNIX))
UNIT_CASE(a_hundred_thousand_frames_of_four_threads_tcp, many_frames(SIDE_TCP))

static void no_work(struct side *side, void *arg)
{
    (void) side;
    (void) arg;
}

static void pause_reading(struct side *side, void *arg)
{
    loop_io_watch(&side->link->io, arg ? 0 : EV_READ);
}

/* Of so many sends since sent_ok and sent_failed were 0. */
static size_t uncompleted(size_t sends)
{
    return sends - atomic_load(&sent_ok) - atomic_load(&sent_failed);
}

static struct label seen[100000];
static size_t seen_count;

static void note_label(struct side *side, struct oob_link *link, const uint8_t *data, size_t size)
{
    (void) side;
    (void) link;
    (void) size;
    memcpy(&seen[seen_count++], data, sizeof *seen);
}

static void send_class(enum oob_class class, uint32_t number, size_t size)
{
    struct label label = {class, number};
    memset(bytes, 0, size);
    memcpy(bytes, &label, sizeof label);
    side_send(a.link, class, bytes, size);
}

/* The kernel takes no more: the loop had its turn, and nothing has left since. */
static bool is_stalled(size_t sends)
{
    size_t before = uncompleted(sends);
    struct pollfd room = {.fd = a.link->fd, .events = POLLOUT};
    side_call(&a, no_work, NULL);
    usleep(1000);
    return poll(&room, 1, 0) == 0 && uncompleted(sends) == before;
}

static void urgent_first(enum side_transport transport)
{
    atomic_store(&sent_ok, 0);
    side_pair(&a, &b, transport);
    seen_count = 0;
    b.on_frame = note_label;
    side_call(&b, pause_reading, &b);
    uint32_t stdio = 0;
    while (uncompleted(stdio) < 1000 || !is_stalled(stdio)) {
        for (int i = 0; i < 100; i++) {
            send_class(OOB_STDIO, stdio++, 1000);
        }
        ck_assert_uint_lt(stdio, 90000);
    }
    size_t left = uncompleted(stdio);
    for (uint32_t i = 0; i < 100; i++) {
        send_class(OOB_APP, i, 1000);
        send_class(OOB_CONTROL, i, 1000);
    }
    ck_assert_uint_eq(uncompleted(stdio + 200), left + 200);
    ck_assert_uint_eq(b.frames, 0);
    side_call(&b, pause_reading, NULL);
    side_wait_size(&b, &b.frames, stdio + 200);

    uint32_t next[OOB_CLASSES] = {0};
    size_t last_control = 0, last_app = 0;
    for (size_t i = 0; i < seen_count; i++) {
        ck_assert_uint_eq(seen[i].number, next[seen[i].sender]);
        next[seen[i].sender]++;
        last_control = seen[i].sender == OOB_CONTROL ? i : last_control;
        last_app = seen[i].sender == OOB_APP ? i : last_app;
    }
    ck_assert_uint_eq(next[OOB_CONTROL], 100);
    ck_assert_uint_eq(next[OOB_APP], 100);
    ck_assert_uint_lt(last_control, last_app);
    /* They overtook what was queued, but for what was already on its way to the kernel. */
    ck_assert_uint_lt(last_app, seen_count - left + 400);
    side_close(&a);
    side_close(&b);
}

START_TEST(urgent_classes_overtake_at_frame_boundaries)
{
    urgent_first(SIDE_UNIX);
    urgent_first(SIDE_TCP);
}
END_TEST

/* --- ends --- */

static void close_link(struct side *side, void *arg)
{
    oob_link_close(side->link, arg != NULL);
}

START_TEST(close_with_flush_loses_nothing)
{
    int fds = side_count_fds();
    for (int transport = 0; transport < SIDE_TRANSPORTS; transport++) {
        atomic_store(&sent_ok, 0);
        side_pair(&a, &b, (enum side_transport) transport);
        b.on_frame = check_pattern;
        for (int i = 0; i < 200; i++) {
            send_pattern(a.link, 40000);
            send_pattern(b.link, 400); /* what comes the other way must not break it */
        }
        side_call(&a, close_link, &a);
        side_wait_int(&a, &a.downs, 1);
        side_wait_int(&b, &b.downs, 1);
        ck_assert_uint_eq(b.frames, 200);
        ck_assert_int_eq(a.down_status, ORTE_SUCCESS);
        ck_assert_int_eq(b.down_status, ORTE_SUCCESS);
        ck_assert_uint_ge(atomic_load(&sent_ok), 200);
        /* From now on sends fail, at either end, at once. */
        size_t failed = atomic_load(&sent_failed);
        send_pattern(a.link, 1);
        send_pattern(b.link, 1);
        ck_assert_uint_eq(atomic_load(&sent_failed), failed + 2);
        side_close(&a);
        side_close(&b);
    }
    ck_assert_int_eq(side_count_fds(), fds);
}
END_TEST

START_TEST(close_with_flush_waits_a_second_at_most)
{
    side_pair(&a, &b, SIDE_TCP);
    side_call(&b, pause_reading, &b);
    size_t sends = 0;
    while (uncompleted(sends) < 20) {
        send_pattern(a.link, 200000);
        sends++;
    }
    uint64_t begin = clock_us();
    side_call(&a, close_link, &a);
    side_wait_int(&a, &a.downs, 1);
    ck_assert_uint_gt(clock_us() - begin, 900000);
    ck_assert_uint_lt(clock_us() - begin, 3000000);
    ck_assert_int_eq(a.down_status, ORTE_ERR_COMM_FAILURE);
    side_wait_sent(sends);
    ck_assert_uint_gt(atomic_load(&sent_failed), 0);
    side_close(&a);
    side_close(&b);
}
END_TEST

START_TEST(close_without_flush_is_orderly_when_nothing_waits)
{
    side_pair(&a, &b, SIDE_TCP);
    side_call(&a, close_link, NULL);
    side_wait_int(&b, &b.downs, 1);
    ck_assert_int_eq(a.downs, 1);
    ck_assert_int_eq(a.down_status, ORTE_SUCCESS);
    ck_assert_int_eq(b.down_status, ORTE_SUCCESS);
    side_close(&a);
    side_close(&b);
}
END_TEST

/* A process of its own that connects, says one frame and then waits to be killed. */
static pid_t start_victim(const char *contact, enum side_transport transport)
{
    pid_t pid = fork();
    if (pid == 0) {
        side_open(&a, 1, transport);
        side_run(&a);
        side_connect(&a, contact, OOB_KEY_APP);
        side_wait_int(&a, &a.ups, 1);
        side_call(&a, pause_reading, &a);
        send_pattern(a.link, 10);
        for (;;) {
            pause();
        }
    }
    return pid;
}

START_TEST(a_killed_peer_is_down_and_every_send_completes)
{
    for (int transport = 0; transport < SIDE_TRANSPORTS; transport++) {
        atomic_store(&sent_ok, 0);
        atomic_store(&sent_failed, 0);
        side_open(&b, 2, (enum side_transport) transport);
        char *contact = side_listen(&b, (enum side_transport) transport);
        pid_t pid = start_victim(contact, (enum side_transport) transport);
        side_run(&b);
        side_wait_size(&b, &b.frames, 1);
        size_t sends = 0;
        while (uncompleted(sends) < 20) {
            send_pattern(b.link, 100000);
            sends++;
        }
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        side_wait_int(&b, &b.downs, 1);
        ck_assert_int_eq(b.down_status, ORTE_ERR_COMM_FAILURE);
        side_wait_sent(sends);
        ck_assert_uint_eq(atomic_load(&sent_ok) + atomic_load(&sent_failed), sends);
        ck_assert_uint_gt(atomic_load(&sent_failed), 0);
        side_close(&b);
        free(contact);
    }
}
END_TEST

static atomic_bool stop_sending;

static void *send_until_stopped(void *arg)
{
    size_t *count = arg;
    while (!atomic_load(&stop_sending)) {
        uint8_t data[600] = {0};
        side_send(a.link, OOB_APP, data, sizeof data);
        ++*count;
    }
    return NULL;
}

START_TEST(senders_in_threads_survive_the_end)
{
    for (int round = 0; round < 20; round++) {
        atomic_store(&sent_ok, 0);
        atomic_store(&sent_failed, 0);
        atomic_store(&stop_sending, false);
        side_pair(&a, &b, round % 2 ? SIDE_TCP : SIDE_UNIX);
        size_t counts[SENDERS] = {0}, total = 0;
        pthread_t threads[SENDERS];
        for (int i = 0; i < SENDERS; i++) {
            ck_assert_int_eq(pthread_create(&threads[i], NULL, send_until_stopped, &counts[i]), 0);
        }
        side_wait_size(&b, &b.frames, 100);
        side_call(round % 4 < 2 ? &a : &b, close_link, round % 3 ? &a : NULL);
        side_wait_int(&a, &a.downs, 1);
        atomic_store(&stop_sending, true);
        for (int i = 0; i < SENDERS; i++) {
            pthread_join(threads[i], NULL);
            total += counts[i];
        }
        ck_assert_uint_eq(atomic_load(&sent_ok) + atomic_load(&sent_failed), total);
        side_close(&a);
        side_close(&b);
    }
}
END_TEST

START_TEST(destroy_ends_everything)
{
    side_pair(&a, &b, SIDE_UNIX);
    side_call(&b, pause_reading, &b);
    size_t sends = 0;
    while (uncompleted(sends) < 10) {
        send_pattern(a.link, 100000);
        sends++;
    }
    side_connect(&a, "65536.9;unix:///nobody/is/here", OOB_KEY_APP);
    loop_stop(a.loop);
    oob_destroy(a.oob);
    ck_assert_int_eq(a.downs, 1);
    ck_assert_int_eq(a.connects_done, 2);
    ck_assert_uint_eq(atomic_load(&sent_ok) + atomic_load(&sent_failed), sends);
    /* The reference outlives the endpoint. */
    send_pattern(a.link, 1);
    oob_link_close(a.link, false);
    ck_assert_int_eq(oob_link_peer(a.link)->name.vpid, 2);
    a.oob = NULL;
    side_close(&a);
    side_close(&b);
}
END_TEST

UNIT_MAIN("link")
