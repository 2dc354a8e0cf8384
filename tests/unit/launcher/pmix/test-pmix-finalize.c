/* PMIx_Finalize: when a process is busy, and when its PMIx_Finalize is answered. */
#include <config.h>

#include <base/data/clock.h>
#include <launcher/pmix/finalize.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static void spin(void)
{
    for (;;) {
    }
}

static void *sleep_in_thread(void *arg)
{
    for (;;) {
        pause();
    }
    return arg;
}

/* Its second thread sleeps: it is no process that only waits for another. */
static void sleep_with_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, sleep_in_thread, NULL);
    sleep_in_thread(NULL);
}

static void *spin_in_thread(void *arg)
{
    spin();
    return arg;
}

static void spin_with_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, spin_in_thread, NULL);
    sleep_in_thread(NULL);
}

/* As a shell that has started a program. */
static void wait_for_spinner(void)
{
    if (fork() == 0) {
        spin_with_thread();
    }
    waitpid(-1, NULL, 0);
    _exit(0);
}

static pid_t start(void (*body)(void))
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        setpgid(0, 0);
        body();
        _exit(0);
    }
    setpgid(pid, pid);
    return pid;
}

static void end(pid_t pid)
{
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* Starting takes a moment. */
static bool becomes(pid_t pid, bool busy)
{
    for (int i = 0; i < 2000; i++) {
        if (process_is_busy(pid) == busy) {
            return true;
        }
        usleep(1000);
    }
    return false;
}

START_TEST(sees_threads)
{
    pid_t sleeper = start(sleep_with_thread), spinner = start(spin_with_thread);
    ck_assert(becomes(spinner, true));
    ck_assert(becomes(sleeper, false));
    end(sleeper);
    end(spinner);
    ck_assert(!process_is_busy(spinner)); /* gone */
}
END_TEST

START_TEST(sees_what_a_shell_started)
{
    pid_t shell = start(wait_for_spinner);
    ck_assert(becomes(shell, true));
    usleep(20000); /* now it waits, and its child spins */
    for (int i = 0; i < 5; i++) {
        ck_assert(process_is_busy(shell));
        usleep(1000);
    }
    end(shell);
}
END_TEST

static int answers;

static void answered(void *arg)
{
    answers++;
    if (arg) {
        loop_stop(arg);
    }
}

START_TEST(idle_or_old_ones_are_answered_at_once)
{
    struct loop *loop;
    struct finalizes *finalizes;
    ck_assert_int_eq(loop_create(&loop), 0);
    ck_assert_int_eq(finalizes_create(&finalizes, loop), 0);
    pid_t sleeper = start(sleep_with_thread), spinner = start(spin_with_thread);
    ck_assert(becomes(spinner, true) && becomes(sleeper, false));
    finalizes_answer(finalizes, sleeper, clock_us(), answered, NULL);
    ck_assert_int_eq(answers, 1);
    finalizes_answer(finalizes, spinner, clock_us() - 2000000, answered, NULL);
    ck_assert_int_eq(answers, 2);
    finalizes_answer(finalizes, 0, clock_us(), answered, NULL);
    ck_assert_int_eq(answers, 3);
    end(sleeper);
    end(spinner);
    finalizes_destroy(finalizes);
    loop_destroy(loop);
    ck_assert_int_eq(answers, 3);
}
END_TEST

START_TEST(a_busy_one_waits)
{
    struct loop *loop;
    struct finalizes *finalizes;
    ck_assert_int_eq(loop_create(&loop), 0);
    ck_assert_int_eq(finalizes_create(&finalizes, loop), 0);
    pid_t spinner = start(spin_with_thread);
    ck_assert(becomes(spinner, true));
    uint64_t begin = clock_us();
    finalizes_answer(finalizes, spinner, begin, answered, loop);
    ck_assert_int_eq(answers, 0);
    loop_run(loop); /* until it is answered, busy or not */
    ck_assert_uint_ge(clock_us() - begin, 490000);
    ck_assert_int_eq(answers, 1);

    finalizes_answer(finalizes, spinner, clock_us(), answered, loop);
    end(spinner);
    begin = clock_us();
    loop_run(loop); /* it ended */
    ck_assert_int_eq(answers, 2);

    spinner = start(spin_with_thread);
    ck_assert(becomes(spinner, true));
    finalizes_answer(finalizes, spinner, clock_us(), answered, NULL);
    ck_assert_int_eq(answers, 2);
    finalizes_destroy(finalizes); /* answers what waits */
    ck_assert_int_eq(answers, 3);
    end(spinner);
    loop_destroy(loop);
}
END_TEST

UNIT_MAIN("finalize")
