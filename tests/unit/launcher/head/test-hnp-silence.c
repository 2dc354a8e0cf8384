/* What the user is told of daemons that do not answer: one line for all of them, when it lasts, and
 * at most once a minute. */
#include <config.h>

#include <base/data/clock.h>
#include <launcher/head/hnp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>
#include <wireup/proto.h>

enum { NODES = 4, STEP_MS = 200, SOON_MS = 2000, LASTING_MS = 4000, MINUTE_MS = 60000 };

static struct loop *loop;
static struct channel_end *front, *back;
static struct hnp *hnp;
static char told[1024]; /* each line ends with '|' */

static void hear(void *arg, opal_buffer_t *buffer)
{
    uint8_t kind;
    char *line = NULL;
    (void) arg;
    ck_assert_int_eq(proto_unpack(buffer, "cs", &kind, &line), ORTE_SUCCESS);
    ck_assert_int_eq(kind, FRONT_TEXT);
    ck_assert_uint_lt(strlen(told) + strlen(line) + 1, sizeof(told));
    strcat(strcat(told, line), "|");
    free(line);
}

/* A job that runs on n0, where keelrun is, to n3. */
static void open_job(void)
{
    ck_assert_int_eq(loop_create(&loop), ORTE_SUCCESS);
    ck_assert_int_eq(channel_create(loop, &front, &back), ORTE_SUCCESS);
    channel_receive(front, hear, NULL);
    ck_assert_int_eq(hnp_create(&hnp, loop, NULL, NULL, back), ORTE_SUCCESS);
    hnp->phase = PHASE_RUNNING;
    hnp->peers = calloc(NODES, sizeof(*hnp->peers));
    ck_assert_ptr_nonnull(hnp->peers);
    for (; hnp->peer_count < NODES; hnp->peer_count++) {
        struct peer *peer = &hnp->peers[hnp->peer_count];
        peer->state = PEER_LAUNCHED;
        ck_assert_int_gt(asprintf(&peer->node, "n%u", hnp->peer_count), 0);
    }
}

static void close_job(void)
{
    hnp_destroy(hnp);
    channel_destroy(front);
    channel_destroy(back);
    loop_destroy(loop);
}

/* Time passes; the user has heard these lines in it. */
static void after(unsigned ms, const char *lines)
{
    told[0] = '\0';
    for (uint64_t end_us = clock_us() + ms * UINT64_C(1000); clock_us() < end_us;) {
        usleep(STEP_MS * 1000);
        loop_poll(loop);
    }
    ck_assert_str_eq(told, lines);
}

static void falls_silent(uint32_t vpid)
{
    hnp_peer_silent(hnp, vpid, true);
}

static void answers(uint32_t vpid)
{
    hnp_peer_silent(hnp, vpid, false);
}

START_TEST(what_is_soon_over_is_no_news)
{
    open_job();
    falls_silent(1);
    after(SOON_MS, "");
    answers(1);
    after(MINUTE_MS, "");
    close_job();
}
END_TEST

START_TEST(a_short_silence_does_not_count_for_the_next)
{
    open_job();
    falls_silent(1);
    after(SOON_MS, "");
    answers(1);
    falls_silent(2);
    after(SOON_MS, "");
    after(LASTING_MS - SOON_MS, "the daemon of node n2 does not answer|");
    close_job();
}
END_TEST

START_TEST(one_line_for_all)
{
    open_job();
    falls_silent(1);
    after(SOON_MS, "");
    falls_silent(2);
    after(SOON_MS, "the daemons of nodes n[1-2] do not answer|");
    answers(1);
    after(SOON_MS, "");
    falls_silent(1); /* the user still thinks so */
    after(LASTING_MS, "");
    answers(1);
    answers(2);
    after(STEP_MS, "the daemons of nodes n[1-2] answer again|");
    close_job();
}
END_TEST

START_TEST(at_most_once_a_minute)
{
    open_job();
    falls_silent(1);
    after(LASTING_MS, "the daemon of node n1 does not answer|");
    answers(1);
    after(STEP_MS, "the daemon of node n1 answers again|");
    falls_silent(2);
    after(LASTING_MS, "");
    answers(2);
    after(LASTING_MS, "");
    falls_silent(3);
    after(MINUTE_MS - 4 * LASTING_MS, "");
    after(2 * LASTING_MS, "the daemon of node n3 does not answer|");
    close_job();
}
END_TEST

START_TEST(a_lost_daemon_answers_no_more)
{
    open_job();
    falls_silent(1);
    falls_silent(2);
    after(LASTING_MS, "the daemons of nodes n[1-2] do not answer|");
    answers(1);
    after(STEP_MS, "");
    hnp->peers[2].state = PEER_LOST;
    hnp_silence_over(hnp);
    after(STEP_MS, "the daemon of node n1 answers again|");
    falls_silent(2);
    falls_silent(3);
    hnp->peers[3].state = PEER_LOST;
    after(2 * MINUTE_MS, "");
    close_job();
}
END_TEST

START_TEST(nothing_behind_the_end)
{
    open_job();
    falls_silent(1);
    after(SOON_MS, "");
    hnp->phase = PHASE_DONE;
    falls_silent(2);
    after(LASTING_MS, "");
    close_job();
}
END_TEST

UNIT_MAIN("what is said of silent daemons", what_is_soon_over_is_no_news,
          a_short_silence_does_not_count_for_the_next, one_line_for_all, at_most_once_a_minute,
          a_lost_daemon_answers_no_more, nothing_behind_the_end)
