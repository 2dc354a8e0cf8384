/* What srun writes to its stderr reaches the user line by line, and Slurm's reason is kept. */
#include <config.h>

#include <base/sock.h>
#include <bootstrap/proto.h>
#include <fcntl.h>
#include <launcher/step.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

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

static void ended(struct step *step, const char *where, const char *which)
{
    (void) step;
    snprintf(nodes, sizeof(nodes), "%s", where);
    snprintf(how, sizeof(how), "%s", which);
}

START_TEST(test_lines_go_on)
{
    struct loop *loop;
    struct channel_end *front, *hnp;
    struct step step;
    int fds[2];
    char text[3000];
    ck_assert_int_eq(loop_create(&loop), ORTE_SUCCESS);
    ck_assert_int_eq(channel_create(loop, &front, &hnp), ORTE_SUCCESS);
    channel_receive(front, hear, NULL);
    step_init(&step, loop, hnp);
    step_read(&step); /* nothing was opened */
    step_close(&step);
    ck_assert_int_eq(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    step_open(&step, fds[0]);
    ck_assert_int_eq(write(fds[1], "one\ntw", 6), 6);
    while (lines < 1) {
        loop_poll(loop);
    }
    step.daemons_ended = ended;
    ck_assert_int_eq(write(fds[1], "o\nsrun: error: n1: task 0: Killed\n", 34), 34);
    step_read(&step);
    ck_assert_str_eq(nodes, "n1");
    ck_assert_str_eq(how, "task 0: Killed");
    ck_assert_int_eq(write(fds[1], "*** STEP 7.1 ON n1 CANCELLED AT noon ***\n", 41), 41);
    ck_assert_int_eq(write(fds[1], "srun: error: n2: task 1: Killed\n", 32), 32);
    step_read(&step);
    ck_assert_str_eq(step.reason, "Slurm has cancelled step 7.1");
    ck_assert_str_eq(nodes, "n1"); /* n2's end is no reason */
    memset(text, 'x', sizeof(text));
    ck_assert_int_eq(write(fds[1], text, sizeof(text)), (ssize_t) sizeof(text));
    close(fds[1]);
    while (lines < 8) {
        loop_poll(loop);
    }
    ck_assert_int_eq(step.fd, -1);
    const char first[] = "one|two|srun: error: n1: task 0: Killed|"
                         "*** STEP 7.1 ON n1 CANCELLED AT noon ***|"
                         "srun: error: n2: task 1: Killed|xxx";
    ck_assert_int_eq(strncmp(heard, first, sizeof(first) - 1), 0);
    ck_assert_uint_eq(strlen(strrchr(heard, 'x') - 2), 4); /* "xxx|" */
    channel_destroy(front);
    channel_destroy(hnp);
    loop_destroy(loop);
}
END_TEST

UNIT_MAIN("what srun says", test_slurms_reasons, test_other_lines, test_ends_of_tasks,
          test_lines_go_on)
