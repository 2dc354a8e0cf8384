/* Links that are watched: questions and answers over real sockets, peers that fall silent, and
 * processes that stand still themselves. */
#include "side.h"

#include <base/data/clock.h>
#include <base/settings/param.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <time.h>
#include <unistd.h>

#define BEAT_MS 20

static struct side a, b;

struct limits {
    uint64_t suspect_ms, fail_ms;
};

static void do_watch(struct side *side, void *arg)
{
    const struct limits *limits = arg;
    oob_link_watch(side->link, limits->suspect_ms * 1000, limits->fail_ms * 1000);
}

static void do_sleep(struct side *side, void *arg)
{
    (void) side;
    usleep(*(unsigned *) arg * 1000);
}

static void open_pair(enum side_transport transport)
{
    ck_assert_int_eq(param_override("oob_heartbeat_ms", "20"), ORTE_SUCCESS);
    side_pair(&a, &b, transport);
}

static void close_pair(void)
{
    side_close(&a);
    side_close(&b);
}

static int silences(struct side *side)
{
    pthread_mutex_lock(&side->lock);
    int silences = side->silences + side->downs;
    pthread_mutex_unlock(&side->lock);
    return silences;
}

/* Both ends ask, only one asks; with every kind of stream. */
START_TEST(who_lives_stays)
{
    for (int transport = 0; transport < SIDE_TRANSPORTS; transport++) {
        struct limits limits = {1000, 3000};
        open_pair((enum side_transport) transport);
        side_call(&a, do_watch, &limits);
        if (transport % 2) {
            side_call(&b, do_watch, &limits);
        }
        usleep(30 * BEAT_MS * 1000);
        ck_assert_int_eq(silences(&a) + silences(&b), 0);
        side_send(a.link, OOB_CONTROL, "x", 1);
        side_wait_size(&b, &b.frames, 1);
        ck_assert_uint_eq(a.frames, 0); /* nobody sees the beats */
        close_pair();
    }
}
END_TEST

/* Beats between frames that come in parts. */
START_TEST(beats_do_not_disturb_frames)
{
    static uint8_t data[200000];
    struct limits limits = {5000, 15000};
    open_pair(SIDE_TCP);
    side_call(&a, do_watch, &limits);
    side_call(&b, do_watch, &limits);
    for (size_t i = 0; i < 300; i++) {
        side_send(i % 2 ? a.link : b.link, (enum oob_class)(i % OOB_CLASSES), data, 1 + i * 600);
        usleep(1000);
    }
    side_wait_size(&a, &a.frames, 150);
    side_wait_size(&b, &b.frames, 150);
    close_pair();
}
END_TEST

START_TEST(silence_is_told_and_ends_the_link)
{
    struct limits limits = {200, 600};
    unsigned ms = 1000;
    open_pair(SIDE_TCP);
    side_call(&a, do_watch, &limits);
    uint64_t begin = clock_us();
    side_call(&b, do_sleep, &ms);
    side_wait_int(&a, &a.downs, 1);
    ck_assert_int_eq(a.silences, 1);
    ck_assert_int_eq(a.down_status, ORTE_ERR_TIMEOUT);
    ck_assert_uint_ge(clock_us() - begin, 600000);
    close_pair();
}
END_TEST

START_TEST(who_comes_back_in_time_loses_nothing)
{
    struct limits limits = {200, 20000};
    unsigned ms = 600;
    open_pair(SIDE_TCP);
    side_call(&a, do_watch, &limits);
    side_send(a.link, OOB_APP, "before", 6);
    side_call(&b, do_sleep, &ms);
    side_send(a.link, OOB_APP, "after", 5);
    side_wait_size(&b, &b.frames, 2);
    side_wait_int(&a, &a.again, 1);
    ck_assert_int_eq(a.silences, 1);
    ck_assert_int_eq(a.downs, 0);
    close_pair();
}
END_TEST

/* The watching end stands still for longer than its own limit, many times. */
START_TEST(own_stalls_are_nobodys_fault)
{
    struct limits limits = {200, 400};
    unsigned ms = 700;
    open_pair(SIDE_UNIX);
    side_call(&a, do_watch, &limits);
    for (int i = 0; i < 3; i++) {
        side_call(&a, do_sleep, &ms);
        usleep(3 * BEAT_MS * 1000);
    }
    ck_assert_int_eq(silences(&a), 0);
    close_pair();
}
END_TEST

START_TEST(without_beats_nothing_is_watched)
{
    struct limits limits = {50, 100};
    unsigned ms = 400;
    ck_assert_int_eq(param_override("oob_heartbeat_ms", "0"), ORTE_SUCCESS);
    side_pair(&a, &b, SIDE_TCP);
    side_call(&a, do_watch, &limits);
    side_call(&b, do_sleep, &ms);
    ck_assert_int_eq(silences(&a), 0);
    close_pair();
}
END_TEST

UNIT_MAIN("watch")
