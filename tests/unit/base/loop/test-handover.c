/* Calls in a thread of their own, with a deadline. */
#include <config.h>

#include <base/data/clock.h>
#include <base/loop/handover.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <tests/lib/unit.h>

static sem_t go, discarded;

static int blocks_signals(void *arg)
{
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    *(bool *) arg = sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGCHLD);
    return 42;
}

static int wait_for_go(void *arg)
{
    sem_wait(&go);
    return *(int *) arg;
}

static void discard(void *arg)
{
    free(arg);
    sem_post(&discarded);
}

START_TEST(a_result_comes_back)
{
    bool blocked = false;
    sigset_t mine;
    ck_assert_int_eq(handover_thread(blocks_signals, &blocked, NULL, 0), 42);
    ck_assert(blocked);
    pthread_sigmask(SIG_SETMASK, NULL, &mine);
    ck_assert(!sigismember(&mine, SIGTERM));
    blocked = false;
    ck_assert_int_eq(handover_thread(blocks_signals, &blocked, NULL, clock_us() + 5000000u), 42);
    ck_assert(blocked);
}
END_TEST

START_TEST(what_takes_too_long_is_left_alone)
{
    sem_init(&go, 0, 0);
    sem_init(&discarded, 0, 0);
    int *arg = malloc(sizeof(*arg));
    *arg = 7;
    ck_assert_int_eq(handover_thread(wait_for_go, arg, discard, clock_us() + 20000u),
                     ORTE_ERR_TIMEOUT);
    sem_post(&go);
    sem_wait(&discarded);
}
END_TEST

UNIT_MAIN("bootstrap/handover")
