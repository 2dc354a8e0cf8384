/* What the user is told of daemons that do not answer: one line for all of them, when it lasts, and
 * at most once a minute. */
#include <config.h>

#include <launcher/job/job.h>
#include <stdio.h>
#include <string.h>
#include <tests/lib/unit.h>

enum { NODES = 4, STEP_MS = 200, SOON_MS = 2000, LASTING_MS = 4000, MINUTE_MS = 60000 };

static struct dvm dvm;
static uint64_t now_us, due_us; /* due_us: when the timer of silence is over; 0: it does not run */
static char told[1024];         /* each line ends with '|' */

static void set_timer(void *arg, enum dvm_timer timer, uint64_t wait_us)
{
    (void) arg;
    if (timer == DVM_TIMER_SILENCE) {
        due_us = now_us + wait_us;
    }
}

static void stop_timer(void *arg, enum dvm_timer timer)
{
    (void) arg;
    if (timer == DVM_TIMER_SILENCE) {
        due_us = 0;
    }
}

static void tell(void *arg, const char *line)
{
    (void) arg;
    ck_assert_uint_lt(strlen(told) + strlen(line) + 1, sizeof(told));
    strcat(strcat(told, line), "|");
}

static uint32_t parent(void *arg, uint32_t vpid)
{
    (void) arg;
    return vpid > 0 ? 0 : UINT32_MAX;
}

static void forget(void *arg, uint32_t vpid)
{
    (void) arg;
    (void) vpid;
}

static void do_nothing(void *arg)
{
    (void) arg;
}

static void exit_all(void *arg, bool by_tree)
{
    (void) arg;
    (void) by_tree;
}

static bool no_reason(void *arg, bool wait)
{
    (void) arg;
    return wait && false;
}

static const char *explain(void *arg, uint32_t vpid, const char *why, char *text, size_t size)
{
    (void) arg;
    (void) vpid;
    (void) text;
    (void) size;
    return why;
}

static bool start_together(void *arg)
{
    (void) arg;
    return false;
}

static const struct dvm_ops ops = {
    .set_timer = set_timer,
    .stop_timer = stop_timer,
    .tell = tell,
    .came_home = forget,
    .ask_topologies = do_nothing,
    .parent = parent,
    .forget = forget,
    .exit = exit_all,
    .start_together = start_together,
    .read_reasons = do_nothing,
    .awaits_reason = no_reason,
    .explain = explain,
};

/* Daemons on n0, where keelrun is, to n3. */
static void open_dvm(void)
{
    static const struct dvm_limits limits = {.suspicion_us = 12000000};
    now_us = 1000000;
    dvm_init(&dvm, &ops, NULL);
    for (uint32_t vpid = 0; vpid < NODES; vpid++) {
        char name[8];
        snprintf(name, sizeof(name), "n%u", vpid);
        ck_assert_int_eq(dvm_add(&dvm, name), ORTE_SUCCESS);
    }
    dvm_start(&dvm, &limits);
    for (uint32_t vpid = 1; vpid < NODES; vpid++) {
        dvm_home(&dvm, vpid);
    }
    dvm_topologies_known(&dvm);
    ck_assert_int_eq(dvm.phase, DVM_STANDS);
}

static void close_dvm(void)
{
    dvm_fini(&dvm);
}

/* Time passes; the user has heard these lines since the last call. */
static void after(unsigned ms, const char *lines)
{
    for (uint64_t end_us = now_us + ms * UINT64_C(1000); now_us < end_us;) {
        now_us += STEP_MS * 1000;
        if (due_us > 0 && due_us <= now_us) {
            due_us = 0;
            dvm_timer(&dvm, DVM_TIMER_SILENCE, now_us);
        }
    }
    ck_assert_str_eq(told, lines);
    told[0] = '\0';
}

static void falls_silent(uint32_t vpid)
{
    dvm_silent(&dvm, vpid, true, now_us);
}

static void answers(uint32_t vpid)
{
    dvm_silent(&dvm, vpid, false, now_us);
}

START_TEST(what_is_soon_over_is_no_news)
{
    open_dvm();
    falls_silent(1);
    after(SOON_MS, "");
    answers(1);
    after(MINUTE_MS, "");
    close_dvm();
}
END_TEST

START_TEST(a_short_silence_does_not_count_for_the_next)
{
    open_dvm();
    falls_silent(1);
    after(SOON_MS, "");
    answers(1);
    falls_silent(2);
    after(SOON_MS, "");
    after(LASTING_MS - SOON_MS, "the daemon of node n2 does not answer|");
    close_dvm();
}
END_TEST

START_TEST(one_line_for_all)
{
    open_dvm();
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
    close_dvm();
}
END_TEST

START_TEST(at_most_once_a_minute)
{
    open_dvm();
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
    close_dvm();
}
END_TEST

START_TEST(a_lost_daemon_answers_no_more)
{
    open_dvm();
    falls_silent(1);
    falls_silent(2);
    after(LASTING_MS, "the daemons of nodes n[1-2] do not answer|");
    answers(1);
    after(STEP_MS, "");
    dvm_lost(&dvm, 2, "it is gone", now_us);
    after(STEP_MS, "the daemon of node n1 answers again|");
    falls_silent(2);
    falls_silent(3);
    dvm_lost(&dvm, 3, "it is gone", now_us);
    after(2 * MINUTE_MS, "");
    close_dvm();
}
END_TEST

START_TEST(nothing_behind_the_end)
{
    open_dvm();
    falls_silent(1);
    after(SOON_MS, "");
    dvm_close(&dvm);
    falls_silent(2);
    after(LASTING_MS, "");
    close_dvm();
}
END_TEST

UNIT_MAIN("what is said of silent daemons")
