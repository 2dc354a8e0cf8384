/* How a rank ended, as text and as exit code. */
#include <config.h>

#include <launcher/job/rank_end.h>
#include <signal.h>
#include <stdio.h>
#include <tests/lib/unit.h>

enum { CORE_FLAG = 0x80 }; /* of a wait status */

static void assert_end(const struct rank_end *end, int code, const char *expected)
{
    char text[512];
    ck_assert_int_eq(rank_end_code(end), code);
    rank_end_print(end, 1, text, sizeof(text));
    ck_assert_str_eq(text, expected);
}

START_TEST(exits)
{
    struct rank_end end = {.wait_status = 3 << 8, .missing = "", .call = "", .core = ""};
    assert_end(&end, 3, "exited with code 3");
    end.call = "in fence 7";
    assert_end(&end, 3, "exited with code 3 in fence 7");
    end.wait_status = 0;
    ck_assert_int_eq(rank_end_code(&end), 0);
}
END_TEST

START_TEST(misses_a_call)
{
    const struct rank_end end = {.missing = "MPI_Finalize", .call = "", .core = ""};
    assert_end(&end, 1, "exited without MPI_Finalize");
}
END_TEST

START_TEST(several_are_killed)
{
    const struct rank_end end = {.wait_status = SIGKILL, .missing = "", .call = "", .core = ""};
    char text[512];
    rank_end_print(&end, 2, text, sizeof(text));
    ck_assert_str_eq(text, "were killed by signal 9 (SIGKILL, Killed)");
}
END_TEST

START_TEST(is_killed)
{
    struct rank_end end = {
        .wait_status = SIGKILL, .missing = "keel_finalize", .call = "", .core = ""};
    assert_end(&end, 137, "was killed by signal 9 (SIGKILL, Killed)");
    end.wait_status = SIGABRT | CORE_FLAG;
    end.call = "in fence 0";
    assert_end(&end, 134, "was killed by signal 6 (SIGABRT, Aborted) in fence 0, core dumped");
    end.core = "/tmp/core.1";
    end.call = "";
    assert_end(&end, 134, "was killed by signal 6 (SIGABRT, Aborted), core file /tmp/core.1");
}
END_TEST

START_TEST(want_of_memory)
{
    struct rank_end end = {.wait_status = 137 << 8, .missing = "", .call = "", .core = ""};
    end.oom_kill = 1;
    assert_end(
        &end, 137,
        "exited with code 137 (128 + SIGKILL) while the cgroup counted an out-of-memory kill");
    end.wait_status = SIGKILL;
    assert_end(&end, 137,
               "was killed by signal 9 (SIGKILL, Killed) while the cgroup counted an out-of-memory "
               "kill");
}
END_TEST

START_TEST(a_signal_without_a_name)
{
    char expected[64];
    const struct rank_end end = {
        .wait_status = SIGRTMIN + 3, .missing = "", .call = "", .core = ""};
    snprintf(expected, sizeof(expected), "was killed by signal %d (Real-time signal 3)",
             SIGRTMIN + 3);
    assert_end(&end, 128 + SIGRTMIN + 3, expected);
}
END_TEST

UNIT_MAIN("launcher: how a rank ended")
