/* Ten thousand connects: two processes that dial each other at the same moment, again and again;
 * and many that dial one listener at once. */
#include "side.h"

#include <base/data/clock.h>
#include <base/settings/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static struct side a, b;

/* --- both at once --- */

enum { ROUNDS = 10000, ROUNDS_LEAST = 300, ROUNDS_S = 12 };

static atomic_uint crossed;

/* The lower name is told that the other connection was kept. */
static void count_crossed(void *arg, enum log_level level, const char *line)
{
    (void) arg;
    (void) level;
    if (strstr(line, "its own connection was kept")) {
        atomic_fetch_add(&crossed, 1);
    }
}

struct dial {
    struct loop_task task;
    struct side *side;
    const char *contact;
};

static void connected(void *arg, int status, struct oob_link *link, const char *reason)
{
    struct side *side = arg;
    ck_assert_msg(status == ORTE_SUCCESS && link, "%s", reason);
    pthread_mutex_lock(&side->lock);
    side->connects_done++;
    pthread_cond_broadcast(&side->changed);
    pthread_mutex_unlock(&side->lock);
}

static void run_dial(struct loop_task *task)
{
    struct dial *dial = container_of(task, struct dial, task);
    ck_assert_int_eq(
        oob_connect(dial->side->oob, dial->contact, OOB_KEY_APP, 0, connected, dial->side),
        ORTE_SUCCESS);
}

static void close_now(struct side *side, void *arg)
{
    (void) arg;
    oob_link_close(side->link, true);
}

/* One link, both know it, and frames that were sent at once arrive. */
static void meet(int round, struct dial *to_b, struct dial *to_a)
{
    loop_post(a.loop, &to_b->task);
    loop_post(b.loop, &to_a->task);
    side_wait_int(&a, &a.connects_done, round);
    side_wait_int(&b, &b.connects_done, round);
    side_send(a.link, OOB_APP, "from a", 6);
    side_send(b.link, OOB_APP, "from b", 6);
    side_wait_size(&a, &a.frames, (size_t) round);
    side_wait_size(&b, &b.frames, (size_t) round);
    ck_assert_int_eq(a.ups, round);
    ck_assert_int_eq(b.ups, round);
    side_call(round % 2 ? &a : &b, close_now, NULL);
    side_wait_int(&a, &a.downs, round);
    side_wait_int(&b, &b.downs, round);
}

static void meet_often(enum side_transport transport)
{
    int fds = side_count_fds(), round = 0;
    log_set_verbosity(LOG_OOB, LOG_DEBUG);
    log_set_sink(count_crossed, NULL);
    side_open(&a, 1, transport);
    side_open(&b, 2, transport);
    char *contact_a = side_listen(&a, transport), *contact_b = side_listen(&b, transport);
    struct dial to_b = {.task.run = run_dial, .side = &a, .contact = contact_b};
    struct dial to_a = {.task.run = run_dial, .side = &b, .contact = contact_a};
    side_run(&a);
    side_run(&b);
    uint64_t until = clock_us() + ROUNDS_S * UINT64_C(1000000);
    while (round < ROUNDS / 2 && (round < ROUNDS_LEAST || clock_us() < until)) {
        meet(++round, &to_b, &to_a);
    }
    side_close(&a);
    side_close(&b);
    log_set_sink(NULL, NULL);
    free(contact_a);
    free(contact_b);
    printf("# %d rounds, %u connections crossed\n", round, atomic_load(&crossed));
    ck_assert_uint_gt(atomic_load(&crossed), 0);
    ck_assert_int_eq(side_count_fds(), fds);
}

UNIT_CASE(both_dial_at_once_over_unix_sockets, meet_often(SIDE_UNIX))
UNIT_CASE(both_dial_at_once_over_tcp, meet_often(SIDE_TCP))

/* --- many at once --- */

enum { CROWD = 10000, CROWD_TCP = 1000, CROWD_FDS = 3, FDS_KEPT = 200 };

static const uint8_t app_key[KEY_BYTES] = {1, 2, 3};

/* Endpoints of processes of their own, on side a's loop. */
static struct member {
    struct oob *oob;
    struct loop_task task;
} members[CROWD];
static const char *crowd_contact;
static atomic_int joined, failed;
static char first_reason[640];

static void member_up(void *arg, struct oob_link *link, const struct oob_peer *peer)
{
    static _Thread_local uint8_t data[4];
    (void) arg;
    (void) peer;
    side_send(link, OOB_APP, data, sizeof data);
}

static void member_frame(void *arg, struct oob_link *link, const void *data, size_t size)
{
    (void) arg;
    (void) link;
    (void) data;
    (void) size;
}

static void member_down(void *arg, struct oob_link *link, int status)
{
    (void) arg;
    (void) link;
    (void) status;
}

static const struct oob_ops member_ops = {
    .up = member_up, .frame = member_frame, .down = member_down};

static void member_connected(void *arg, int status, struct oob_link *link, const char *reason)
{
    (void) arg;
    (void) link;
    if (status == ORTE_SUCCESS) {
        atomic_fetch_add(&joined, 1);
    } else {
        if (atomic_fetch_add(&failed, 1) == 0) {
            snprintf(first_reason, sizeof first_reason, "%s", reason);
        }
    }
}

static void member_dial(struct loop_task *task)
{
    struct member *member = container_of(task, struct member, task);
    ck_assert_int_eq(
        oob_connect(member->oob, crowd_contact, OOB_KEY_APP, 0, member_connected, member),
        ORTE_SUCCESS);
}

static int crowd_size(int wanted)
{
    struct rlimit limit;
    fd_raise_limit();
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    rlim_t room = (limit.rlim_cur - FDS_KEPT) / CROWD_FDS;
    return room < (rlim_t) wanted ? (int) room : wanted;
}

static void open_crowd(int count)
{
    for (int i = 0; i < count; i++) {
        struct oob_config config = {
            .loop = a.loop, .name = {65536, 100 + (uint32_t) i}, .epoch = 7, .ops = &member_ops};
        char reason[200];
        ck_assert_int_eq(oob_create(&members[i].oob, &config, reason, sizeof reason), ORTE_SUCCESS);
        oob_set_key(members[i].oob, OOB_KEY_APP, app_key);
        members[i].oob->connect_timeout_us = 25000000;
        members[i].task.run = member_dial;
    }
}

/* A link is made twice when its maker's time was over before it heard that it has it. */
static void expect_links(struct side *side, int count)
{
    pthread_mutex_lock(&side->lock);
    int twice = side->ups - count;
    pthread_mutex_unlock(&side->lock);
    ck_assert_int_ge(twice, 0);
    side_wait_int(side, &side->downs, twice);
    ck_assert_int_eq(side->ups - side->downs, count);
}

/* Everybody gets in, from one source, past the limits for strangers; and says one thing. */
static void crowd_in(enum side_transport transport, int wanted)
{
    int count = crowd_size(wanted);
    char *contact = side_open_two(&a, &b, transport);
    crowd_contact = contact;
    open_crowd(count);
    side_run(&b);
    side_run(&a);
    uint64_t begin = clock_us();
    for (int i = 0; i < count; i++) {
        loop_post(a.loop, &members[i].task);
    }
    while (atomic_load(&joined) + atomic_load(&failed) < count) {
        usleep(1000);
    }
    printf("# %d of %d joined in %.2f s\n", atomic_load(&joined), count,
           (double) (clock_us() - begin) / 1e6);
    ck_assert_msg(atomic_load(&failed) == 0, "%d failed: %s", atomic_load(&failed), first_reason);
    side_wait_size(&b, &b.frames, (size_t) count);
    expect_links(&b, count);
    loop_stop(a.loop);
    for (int i = 0; i < count; i++) {
        oob_destroy(members[i].oob);
    }
    side_wait_int(&b, &b.downs, b.ups);
    side_close_two(&a, &b, contact);
}

UNIT_CASE(a_crowd_at_a_unix_socket, crowd_in(SIDE_UNIX, CROWD))
UNIT_CASE(a_crowd_at_a_tcp_port, crowd_in(SIDE_TCP, CROWD_TCP))

UNIT_MAIN("crowd")
