#include <config.h>

#include <base/net/sock.h>
#include <btl/lock/lock.h>
#include <btl/lock/wake.h>
#include <btl/modules/entry.h>
#include <btl/progress/progress.h>
#include <btl/progress/sleep.h>
#include <btl/progress/thread.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    EMPTY_PASSES = 16, /* before it rests */
    NAP_MIN_US = 20,
    NAP_MAX_US = 1000,
    STAND_BACK_US = 1000,
};

/* What the lock guards, other threads read and write. */
static struct {
    bool runs; /* written while there is no such thread */
    pthread_t thread;
    struct pollfd *watch; /* owned; the thread's: wake, then the modules' */
    bool stops;           /* guarded by the lock */
} thread;

bool btl_thread_runs(void)
{
    return thread.runs;
}

/* ---- on the thread ---- */

/* As btl_sleep_arm; *count of watch counts then. With the lock held. */
static bool arm_locked(nfds_t *count)
{
    bool armed = btl_sleep_arm(thread.watch + 1);
    *count = armed ? 1 + btl_sleep_count() : 1;
    return armed;
}

/* Sleeps until something is due; us: not longer than that, 0: without end. */
static void rest(nfds_t count, unsigned us)
{
    const struct timespec time = {.tv_nsec = (long) us * 1000};
    uint64_t rung;
    thread.watch[0] = (struct pollfd){.fd = btl_wake.fd, .events = POLLIN};
    if (ppoll(thread.watch, count, us ? &time : NULL, NULL) > 0 && thread.watch[0].revents) {
        ssize_t got = read(btl_wake.fd, &rung, sizeof(rung));
        (void) got; /* another count than before, that is all */
    }
}

/* What it does between passes that found nothing. */
struct idleness {
    unsigned long polls; /* as last seen */
    unsigned passes;     /* that found nothing, in a row */
    unsigned nap_us;
};

/* One pass, and what follows from it: true, and how to rest; false: go on at once. */
static bool pass(struct idleness *idle, nfds_t *count, unsigned *us)
{
    btl_lock_take();
    btl_wake.sleeps = false;
    bool others_poll = btl_wake.polls != idle->polls;
    idle->polls = btl_wake.polls;
    bool rests = false;
    *count = 1;
    if (others_poll) {
        *us = STAND_BACK_US;
        rests = true;
    } else if (btl_pass_locked(idle->passes == 0) > 0) {
        *idle = (struct idleness){.polls = idle->polls, .nap_us = NAP_MIN_US};
    } else if (++idle->passes >= EMPTY_PASSES) {
        idle->passes = 0;
        btl_wake.sleeps = arm_locked(count);
        *us = btl_wake.sleeps ? 0 : idle->nap_us;
        idle->nap_us = btl_wake.sleeps                 ? NAP_MIN_US
                       : idle->nap_us * 2 < NAP_MAX_US ? idle->nap_us * 2
                                                       : NAP_MAX_US;
        rests = true;
    }
    rests = rests && !thread.stops;
    btl_wake.sleeps = btl_wake.sleeps && rests;
    btl_lock_drop();
    return rests;
}

static bool stops(void)
{
    btl_lock_take();
    bool yes = thread.stops;
    btl_lock_drop();
    return yes;
}

static void *run(void *arg)
{
    struct idleness idle = {.nap_us = NAP_MIN_US};
    nfds_t count;
    unsigned us;
    (void) arg;
    do {
        if (pass(&idle, &count, &us)) {
            rest(count, us);
        } else {
            btl_lock_give_way();
        }
    } while (!stops());
    return NULL;
}

/* ---- its life ---- */

/* Signals are the application's own threads' affair. */
static int start_without_signals(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread.thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void clean_up(void)
{
    fd_close(&btl_wake.fd);
    free(thread.watch);
    thread.watch = NULL;
    thread.runs = false;
}

int btl_thread_start(char *reason, size_t reason_size)
{
    size_t modules;
    (void) btl_entries(&modules);
    thread.stops = btl_wake.sleeps = false;
    thread.watch = calloc(modules + 1, sizeof(*thread.watch));
    btl_wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    thread.runs = true; /* for the callbacks that it runs at once */
    int error = !thread.watch ? ENOMEM : btl_wake.fd < 0 ? errno : start_without_signals();
    if (error != 0) {
        snprintf(reason, reason_size, "no progress thread: %s", strerror(error));
        clean_up();
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    pthread_setname_np(thread.thread, "keel-progress");
    return ORTE_SUCCESS;
}

void btl_thread_stop(void)
{
    if (!thread.runs) {
        return;
    }
    btl_lock_take();
    thread.stops = true;
    btl_wake.sleeps = false;
    btl_wake_ring();
    btl_lock_drop();
    pthread_join(thread.thread, NULL);
    clean_up();
}
