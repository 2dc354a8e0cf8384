/* What srun writes to its stderr reaches the user line by line, and Slurm's reason is kept. */
#include <config.h>

#include <base/data/clock.h>
#include <base/net/sock.h>
#include <fcntl.h>
#include <launcher/plm/step.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>
#include <wireup/proto.h>

static char reason[128];

static bool says(const char *line)
{
    reason[0] = '\0';
    return step_is_cancelled(line, reason, sizeof(reason));
}

START_TEST(test_slurms_reasons)
{
    ck_assert(says("slurmstepd-n1: error: *** STEP 4.0 ON n1 CANCELLED AT 2026-11-22T15:02:21 DUE "
                   "TO TIME LIMIT ***"));
    ck_assert_str_eq(reason, "Slurm has cancelled step 4.0: time limit");
    ck_assert(says("slurmstepd: error: *** STEP 3.11 ON n1 CANCELLED AT 2026-11-22T15:00:57 DUE TO "
                   "NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***"));
    ck_assert_str_eq(reason, "Slurm has cancelled step 3.11: node failure");
    ck_assert(says("*** STEP 1.0 ON n1 CANCELLED AT 2026-11-22T15:00:53 ***"));
    ck_assert_str_eq(reason, "Slurm has cancelled step 1.0");
}
END_TEST

START_TEST(test_other_lines)
{
    ck_assert(!says(""));
    ck_assert(!says("srun: error: n2: task 1: Exited with exit code 125"));
    ck_assert(!says("*** STEP 1.0 ON n1 FAILED (non-zero exit code or other failure mode) ***"));
    ck_assert(!says("error: CANCELLED AT noon *** STEP 1.0"));
    /* cut off, and longer than there is room */
    ck_assert(says("*** STEP  CANCELLED AT  DUE TO "));
    char line[600];
    memset(line, 'x', sizeof(line));
    memcpy(line, "*** STEP 1.0 ON n CANCELLED AT y DUE TO ", 40);
    line[sizeof(line) - 1] = '\0';
    ck_assert(says(line));
    ck_assert_uint_eq(strlen(reason), sizeof(reason) - 1);
}
END_TEST

static char nodes[STEP_LINE_MAX], how[STEP_REASON_MAX];

START_TEST(test_ends_of_tasks)
{
    ck_assert(step_is_end_of_tasks("srun: error: n1: task 0: Killed", nodes, how));
    ck_assert_str_eq(nodes, "n1");
    ck_assert_str_eq(how, "task 0: Killed");
    ck_assert(step_is_end_of_tasks(
        "srun: error: n[1-2,7]: tasks 0-2: Segmentation fault (core dumped)", nodes, how));
    ck_assert_str_eq(nodes, "n[1-2,7]");
    ck_assert_str_eq(how, "tasks 0-2: Segmentation fault (core dumped)");
    ck_assert(!step_is_end_of_tasks("srun: error: Node failure on n2", nodes, how));
    ck_assert(
        !step_is_end_of_tasks("srun: error: Unable to create step: Invalid node", nodes, how));
    ck_assert(!step_is_end_of_tasks("srun: error: : task 0: Killed", nodes, how));
    ck_assert(!step_is_end_of_tasks("0: srun: error: n1: task 0: Killed", nodes, how));
    ck_assert(!step_is_end_of_tasks("", nodes, how));
    /* more than there is room */
    char line[STEP_LINE_MAX + 200] = "srun: error: n1: task ";
    memset(line + 22, '1', sizeof(line) - 23);
    ck_assert(step_is_end_of_tasks(line, nodes, how));
    ck_assert_uint_eq(strlen(how), sizeof(how) - 1);
    memset(line + 13, 'n', sizeof(line) - 14);
    ck_assert(!step_is_end_of_tasks(line, nodes, how));
}
END_TEST

START_TEST(test_kill_on_bad_exit)
{
    static const char *const asks[] = {
        "--kill-on-bad-exit",
        "-K",
        "-K1",
        "--overlap --kill-on-bad-exit=1",
        " \t-l -K\t -l",
        "--kill-on-bad-exit=1",
        "-K0 -K",
        "--kill-on -l",
    };
    static const char *const does_not[] = {
        "",    "  ", "--overlap --cpu-bind=none",  "--kill-on-bad-exit=0",
        "-K0", "--", "-K --kill-on-bad-exit=0 -l", "--kill-on-bad-exits",
    };
    for (size_t i = 0; i < sizeof(asks) / sizeof(*asks); i++) {
        ck_assert_msg(step_is_killed_on_bad_exit(asks[i]), "%s", asks[i]);
        ck_assert_msg(!step_is_killed_on_bad_exit(does_not[i]), "%s", does_not[i]);
    }
}
END_TEST

static char heard[8192];
static unsigned lines;

static void hear(void *arg, opal_buffer_t *buffer)
{
    uint8_t kind, stream;
    char *line = NULL;
    (void) arg;
    ck_assert_int_eq(proto_unpack(buffer, "ccs", &kind, &stream, &line), ORTE_SUCCESS);
    ck_assert_int_eq(kind, FRONT_PLAIN);
    ck_assert_int_eq(stream, STDERR_FILENO);
    strcat(strcat(heard, line), "|");
    free(line);
    lines++;
}

static struct loop *loop;
static struct channel_end *front, *hnp;
static struct step step;
static int srun; /* its end of the pipe */
static unsigned settled;

/* All that has ended, as "n1 task 0: Killed|". */
static char ends[256];

static void ended(struct step *which, const char *where, const char *how_ended)
{
    ck_assert_ptr_eq(which, &step);
    size_t used = strlen(ends);
    snprintf(ends + used, sizeof(ends) - used, "%s %s|", where, how_ended);
}

static void count_settled(struct step *which)
{
    ck_assert(step_is_settled(which));
    settled++;
}

static void open_step(void)
{
    int fds[2];
    ck_assert_int_eq(loop_create(&loop), ORTE_SUCCESS);
    ck_assert_int_eq(channel_create(loop, &front, &hnp), ORTE_SUCCESS);
    channel_receive(front, hear, NULL);
    step_init(&step, loop, hnp);
    step_read(&step); /* nothing was opened */
    step_close(&step);
    step.daemons_ended = ended;
    step.settled = count_settled;
    ck_assert_int_eq(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    step_open(&step, fds[0]);
    srun = fds[1];
}

static void close_step(void)
{
    fd_close(&srun);
    step_fini(&step);
    channel_destroy(front);
    channel_destroy(hnp);
    loop_destroy(loop);
}

/* srun writes this, and it is taken in. */
static void writes(const char *text)
{
    ck_assert_int_eq(write(srun, text, strlen(text)), (ssize_t) strlen(text));
    step_read(&step);
}

static void wait_ms(unsigned ms)
{
    for (uint64_t end_us = clock_us() + ms * UINT64_C(1000); clock_us() < end_us;) {
        usleep(50000);
        loop_poll(loop);
    }
}

static const char killed[] = "srun: error: n1: task 0: Killed\n";
static const char cancelled[] = "*** STEP 7.1 ON n1 CANCELLED AT noon ***\n";

START_TEST(test_lines_go_on)
{
    char text[3000];
    open_step();
    ck_assert_int_eq(write(srun, "one\ntw", 6), 6);
    while (lines < 1) {
        loop_poll(loop);
    }
    writes("o\n");
    writes(cancelled);
    writes(killed);
    memset(text, 'p', sizeof(text));
    ck_assert_int_eq(write(srun, text, sizeof(text)), (ssize_t) sizeof(text));
    fd_close(&srun);
    while (lines < 7) {
        loop_poll(loop);
    }
    ck_assert_int_eq(step.lines.fd, -1);
    const char first[] = "one|two|*** STEP 7.1 ON n1 CANCELLED AT noon ***|"
                         "srun: error: n1: task 0: Killed|ppp";
    ck_assert_int_eq(strncmp(heard, first, sizeof(first) - 1), 0);
    ck_assert_uint_eq(strlen(strrchr(heard, 'p') - 2), 4); /* "ppp|" */
    close_step();
}
END_TEST

START_TEST(test_what_ends_in_a_cancelled_step_is_no_reason)
{
    open_step();
    writes(cancelled);
    ck_assert_str_eq(step.reason, "Slurm has cancelled step 7.1");
    writes(killed);
    wait_ms(2000);
    ck_assert_str_eq(ends, "");
    ck_assert_uint_eq(settled, 0); /* it always was */
    close_step();
}
END_TEST

START_TEST(test_a_cancellation_may_come_behind_what_it_ends)
{
    open_step();
    writes(killed);
    writes("srun: error: n2: task 1: Killed\n");
    ck_assert(!step_is_settled(&step));
    wait_ms(300);
    ck_assert(!step_is_settled(&step));
    writes(cancelled);
    ck_assert_str_eq(step.reason, "Slurm has cancelled step 7.1");
    ck_assert_uint_eq(settled, 1);
    wait_ms(2000);
    ck_assert_str_eq(ends, "");
    ck_assert_uint_eq(settled, 1);
    close_step();
}
END_TEST

START_TEST(test_an_end_without_cancellation_is_told_within_a_second)
{
    open_step();
    writes(killed);
    ck_assert_str_eq(ends, "");
    wait_ms(1000);
    ck_assert_str_eq(ends, "n1 task 0: Killed|");
    ck_assert_uint_eq(settled, 1);
    writes(cancelled); /* by srun, as a task has ended */
    ck_assert_str_eq(ends, "n1 task 0: Killed|");
    ck_assert_uint_eq(settled, 1);
    close_step();
}
END_TEST

START_TEST(test_nothing_comes_behind_the_end_of_srun)
{
    open_step();
    writes(killed);
    step_close(&step);
    ck_assert_str_eq(ends, "n1 task 0: Killed|");
    ck_assert_uint_eq(settled, 1);
    close_step();
}
END_TEST

START_TEST(test_with_kill_on_bad_exit_the_end_is_the_reason)
{
    open_step();
    step.kill_on_bad_exit = true;
    writes(killed);
    ck_assert(step_is_settled(&step));
    ck_assert_str_eq(ends, "n1 task 0: Killed|");
    writes(cancelled);
    ck_assert_str_eq(ends, "n1 task 0: Killed|");
    close_step();
}
END_TEST

START_TEST(test_nobody_hears_of_a_step_that_is_given_up)
{
    open_step();
    writes(killed);
    step_fini(&step);
    wait_ms(1000);
    ck_assert_str_eq(ends, "");
    ck_assert_uint_eq(settled, 0);
    close_step();
}
END_TEST

UNIT_MAIN("what srun says")
