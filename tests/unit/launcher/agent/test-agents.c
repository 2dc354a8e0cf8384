/* Several agents of one node, as real processes of a shepherd: shell scripts, which find the host
 * in $0 and the daemon's command in "$@". */
#include <config.h>

#include <base/data/clock.h>
#include <base/data/strings.h>
#include <launcher/agent/agents.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static struct loop *loop;
static struct shepherd *shepherd;
static struct agents *agents;
static unsigned started, ended, failures, refusals;
static char why[1024], passed[1024];
static size_t said_count;

static char *home(void *arg, uint32_t vpid, size_t *size, char *reason, size_t reason_size)
{
    char *text = NULL;
    ck_assert_ptr_eq(arg, &loop);
    if (vpid == 13) {
        snprintf(reason, reason_size, "no home");
        refusals++;
        return NULL;
    }
    int length = asprintf(&text, "you are %u\n", vpid);
    *size = (size_t) length;
    return text;
}

static void failed(void *arg, uint32_t vpid, const char *reason, char *const *said)
{
    ck_assert_ptr_eq(arg, &loop);
    snprintf(why, sizeof(why), "%u: %s", vpid, reason);
    said_count = strings_count(said);
    failures++;
}

static void says(void *arg, const char *line)
{
    ck_assert_ptr_eq(arg, &loop);
    strcat(strcat(passed, line), "|");
}

static const struct agents_owner owner = {home, failed, says};

static void on_started(void *arg, uint32_t id, pid_t pid, int fds[PROC_FDS])
{
    (void) arg;
    ck_assert_int_gt(pid, 0);
    agents_ops.started(agents, id, fds[0], fds[2]);
    started++;
}

static void on_failed(void *arg, uint32_t id, enum start_stage stage, int error)
{
    (void) arg;
    (void) stage;
    agents_ops.failed(agents, id, error);
}

static void on_exited(void *arg, uint32_t id, int wait_status, uint32_t peak_kib)
{
    (void) peak_kib;
    (void) arg;
    agents_ops.exited(agents, id, wait_status);
    ended++;
}

static void on_lost(void *arg)
{
    (void) arg;
}

static const struct shepherd_ops shepherd_ops = {on_started, on_failed, on_exited, on_lost, NULL};

static void open_agents(const char *script, uint32_t max, uint32_t retries, uint64_t limit_us)
{
    char *words[] = {(char *) "/bin/sh", (char *) "-c", (char *) (uintptr_t) script, NULL};
    char *program[] = {(char *) "keeld", NULL};
    struct agents_config config = {words, program, max, retries, limit_us};
    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(shepherd_start(&shepherd), 0);
    ck_assert_int_eq(loop_create(&loop), ORTE_SUCCESS);
    ck_assert_int_eq(shepherd_attach(shepherd, loop, &shepherd_ops, NULL), ORTE_SUCCESS);
    ck_assert_int_eq(agents_create(&agents, loop, shepherd, &config, &owner, &loop), ORTE_SUCCESS);
}

static void close_agents(void)
{
    agents_destroy(agents);
    agents = NULL;
    shepherd_end(shepherd);
    loop_destroy(loop);
}

static void run_until(const unsigned *counter, unsigned number)
{
    for (uint64_t limit_us = clock_us() + 20000000; *counter < number; usleep(200)) {
        ck_assert_msg(clock_us() < limit_us, "%u of %u; %s", *counter, number, why);
        loop_poll(loop);
    }
}

static void run_for(unsigned ms)
{
    for (uint64_t end_us = clock_us() + ms * UINT64_C(1000); clock_us() < end_us; usleep(200)) {
        loop_poll(loop);
    }
}

static void begin(uint32_t vpid)
{
    ck_assert_int_eq(agents_start(agents, vpid, "u@far"), ORTE_SUCCESS);
}

START_TEST(test_how_it_is_called)
{
    open_agents("read line; echo \"$0 $*; $line\" >&2; exit 3", 0, 5, 0);
    begin(7);
    ck_assert_int_eq(agents_start(agents, 7, "far"), ORTE_EXISTS);
    run_until(&failures, 1);
    ck_assert_str_eq(why, "7: u@far keeld --vpid 7; you are 7 (the agent ended with code 3 before "
                          "the daemon called home)");
    ck_assert_uint_eq(said_count, 1);
    close_agents();
}
END_TEST

START_TEST(test_so_many_at_a_time)
{
    open_agents("sleep 60", 2, 0, 0);
    for (uint32_t vpid = 1; vpid <= 5; vpid++) {
        begin(vpid);
    }
    run_until(&started, 2);
    run_for(100);
    ck_assert_uint_eq(started, 2);
    agents_home(agents, 2);
    agents_home(agents, 2); /* twice is once */
    run_until(&started, 3);
    agents_home(agents, 5); /* before it was started: it is not */
    agents_home(agents, 77);
    agents_home(agents, 1);
    run_until(&started, 4);
    run_for(50);
    ck_assert_uint_eq(started, 4);
    ck_assert_uint_eq(failures, 0);
    close_agents();
}
END_TEST

START_TEST(test_one_that_fails_makes_room)
{
    open_agents("exit 1", 1, 5, 0);
    for (uint32_t vpid = 1; vpid <= 4; vpid++) {
        begin(vpid);
    }
    run_until(&failures, 4);
    ck_assert_uint_eq(started, 4);
    close_agents();
}
END_TEST

START_TEST(test_again_when_there_was_no_way)
{
    char folder[] = "/tmp/test-agents.XXXXXX", script[256];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(script, sizeof(script),
             "echo not yet >&2; mkdir %s/1 2>/dev/null && exit 255; rmdir %s/1; echo here >&2; "
             "sleep 60",
             folder, folder);
    open_agents(script, 1, 1, 0);
    begin(1);
    run_until(&started, 2);
    ck_assert_uint_eq(ended, 1);
    run_for(300);
    agents_home(agents, 1);
    ck_assert_str_eq(passed, "not yet|here|"); /* of the last try alone */
    ck_assert_uint_eq(failures, 0);
    close_agents();
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

START_TEST(test_not_for_ever)
{
    open_agents("echo no way >&2; exit 255", 1, 2, 0);
    begin(1);
    run_until(&failures, 1);
    ck_assert_uint_eq(started, 3);
    ck_assert_str_eq(why,
                     "1: no way (the agent ended with code 255 before the daemon called home)");
    close_agents();
}
END_TEST

/* The pauses double from half a second: there is no time for them all. */
START_TEST(test_not_beyond_its_limit)
{
    open_agents("echo no way >&2; exit 255", 1, 1000, 2500000);
    begin(1);
    run_until(&failures, 1);
    ck_assert_uint_le(started, 4);
    ck_assert_str_eq(why,
                     "1: no way (the agent ended with code 255 before the daemon called home)");
    close_agents();
}
END_TEST

START_TEST(test_too_late)
{
    open_agents("trap '' TERM; echo on my way >&2; while :; do sleep 1; done", 1, 1, 1500000);
    begin(1);
    uint64_t begin_us = clock_us();
    run_until(&failures, 1);
    ck_assert_str_eq(why, "1: on my way: the daemon has not called home within 1 s");
    ck_assert_uint_ge(clock_us() - begin_us, 1500000);
    ck_assert_uint_eq(ended, 1);
    close_agents();
}
END_TEST

START_TEST(test_no_home)
{
    open_agents("cat", 1, 0, 0);
    begin(13);
    begin(1);
    run_until(&failures, 1);
    ck_assert_str_eq(why, "13: no home");
    ck_assert_uint_eq(refusals, 1);
    run_until(&failures, 2); /* cat has read its text, and ends */
    ck_assert_uint_eq(started, 2);
    close_agents();
}
END_TEST

START_TEST(test_stopped)
{
    open_agents("exit 255", 1, 100, 0);
    begin(1);
    begin(2);
    run_until(&ended, 2);
    agents_stop(agents);
    run_for(1500);
    ck_assert_uint_eq(started, 2);
    ck_assert_uint_eq(failures, 0);
    close_agents();
}
END_TEST

START_TEST(test_children)
{
    char *program[] = {(char *) "/bin/sh", (char *) "-c", (char *) "exit 4", NULL};
    struct agents_config config = {.program = program};
    open_agents("", 0, 0, 0);
    agents_destroy(agents);
    ck_assert_int_eq(agents_create(&agents, loop, shepherd, &config, &owner, &loop), ORTE_SUCCESS);
    begin(1);
    run_until(&failures, 1);
    ck_assert_str_eq(why, "1: the agent ended with code 4 before the daemon called home");
    close_agents();
}
END_TEST

START_TEST(test_nothing_to_run)
{
    char *words[] = {(char *) "/nowhere/ssh", NULL}, *program[] = {(char *) "keeld", NULL};
    struct agents_config config = {.words = words, .program = program};
    open_agents("", 0, 0, 0);
    agents_destroy(agents);
    ck_assert_int_eq(agents_create(&agents, loop, shepherd, &config, &owner, &loop), ORTE_SUCCESS);
    begin(1);
    ck_assert_uint_eq(failures, 1);
    ck_assert_str_eq(why, "1: /nowhere/ssh: No such file or directory");
    close_agents();
}
END_TEST

UNIT_MAIN("agents")
