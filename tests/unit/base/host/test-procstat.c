/* What /proc tells of processes: of this one, of children by state, and of none. */
#include <base/host/procstat.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <unistd.h>

START_TEST(its_own)
{
    struct procstat stat, thread;
    prctl(PR_SET_NAME, "a) Z 1 1 (b");
    ck_assert(procstat_read(&stat, getpid(), 0));
    ck_assert_int_eq(stat.state, 'R');
    ck_assert_int_eq(stat.parent, getppid());
    ck_assert_int_eq(stat.group, getpgrp());
    ck_assert_uint_gt(stat.start_time, 0);
    ck_assert_uint_ge(stat.memory_bytes, 100 << 10);
    ck_assert_uint_lt(stat.memory_bytes, UINT64_C(1) << 44);
    ck_assert(procstat_read(&thread, getpid(), (pid_t) syscall(SYS_gettid)));
    ck_assert_uint_eq(thread.start_time, stat.start_time);
    ck_assert(!process_is_ending(getpid()));
}
END_TEST

START_TEST(its_work_is_counted)
{
    struct procstat stat;
    do {
        ck_assert(procstat_read(&stat, getpid(), 0));
    } while (stat.cpu_ms < 50); /* the case's time limit ends one that is not counted */
    ck_assert_uint_lt(stat.cpu_ms, 30000);
}
END_TEST

START_TEST(a_child_that_ends)
{
    struct procstat stat;
    siginfo_t info;
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    ck_assert(!process_is_ending(child));
    kill(child, SIGSTOP);
    ck_assert_int_eq(waitid(P_PID, (id_t) child, &info, WSTOPPED | WNOWAIT), 0);
    ck_assert(!process_is_ending(child));
    kill(child, SIGKILL);
    ck_assert_int_eq(waitid(P_PID, (id_t) child, &info, WEXITED | WNOWAIT), 0);
    ck_assert(procstat_read(&stat, child, 0));
    ck_assert_int_eq(stat.state, 'Z');
    ck_assert(process_is_ending(child));
    waitpid(child, NULL, 0);
    ck_assert(!procstat_read(&stat, child, 0));
    ck_assert(process_is_ending(child));
}
END_TEST

UNIT_MAIN("procstat")
