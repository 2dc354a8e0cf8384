#include <config.h>

#include <tests/lib/clock.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ThreadSanitizer has to see these calls itself. */
#ifndef __SANITIZE_THREAD__

enum { SLEEPERS = 64, SLICE_MS = 4, LOOK_EVERY_NS = 200000, LOOKS = 10 };
#define SECOND_NS INT64_C(1000000000)
#define NEVER INT64_MAX

static _Atomic int64_t skipped_ns;
static _Atomic int64_t deadlines[SLEEPERS]; /* of the threads that wait; 0: free */
static atomic_int watched_process;          /* the one that has a watcher */
static atomic_bool is_real;                 /* no jumps any more */

void clock_keep_real(void)
{
    atomic_store(&is_real, true);
}

static int64_t kernel_ns(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return now.tv_sec * SECOND_NS + now.tv_nsec;
}

static int64_t now_ns(void)
{
    return kernel_ns() + atomic_load(&skipped_ns);
}

static void kernel_sleep(int64_t ns)
{
    struct timespec time = {0, ns};
    syscall(SYS_nanosleep, &time, NULL);
}

/* --- the watcher: a thread that sees when all others sleep --- */

static bool sleeps(const char *thread)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return true; /* it has ended */
    }
    ssize_t got = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *name_end = strrchr(text, ')');
    return !name_end || strncmp(name_end, ") S", 3) == 0;
}

static bool all_sleep(long self)
{
    DIR *threads = opendir("/proc/self/task");
    bool all = threads != NULL;
    const struct dirent *entry;
    while (all && (entry = readdir(threads))) {
        all = entry->d_name[0] == '.' || atol(entry->d_name) == self || sleeps(entry->d_name);
    }
    if (threads) {
        closedir(threads);
    }
    return all;
}

static int64_t first_deadline(void)
{
    int64_t first = NEVER;
    for (int i = 0; i < SLEEPERS; i++) {
        int64_t deadline = atomic_load(&deadlines[i]);
        first = deadline > 0 && deadline < first ? deadline : first;
    }
    return first;
}

static void *watch(void *arg)
{
    long self = syscall(SYS_gettid);
    syscall(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE); /* tests count their descriptors */
    for (int looks = 0;;) {
        kernel_sleep(LOOK_EVERY_NS);
        looks = all_sleep(self) ? looks + 1 : 0;
        int64_t wait = first_deadline();
        if (looks < LOOKS || wait == NEVER || atomic_load(&is_real)) {
            continue;
        }
        looks = 0;
        wait -= now_ns();
        if (wait > 0) {
            atomic_fetch_add(&skipped_ns, wait);
        }
    }
    return arg;
}

static void start_watcher(void)
{
    int process = (int) syscall(SYS_getpid);
    if (atomic_exchange(&watched_process, process) == process) {
        return;
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, watch, NULL) == 0) {
        pthread_detach(thread);
    }
}

/* --- waiting --- */

static int wait_begin(int64_t deadline)
{
    start_watcher();
    for (int i = 0; i < SLEEPERS; i++) {
        int64_t none = 0;
        if (atomic_compare_exchange_strong(&deadlines[i], &none, deadline)) {
            return i;
        }
    }
    abort(); /* more threads than SLEEPERS */
}

static void wait_end(int sleeper)
{
    atomic_store(&deadlines[sleeper], 0);
}

/* How long to sleep at a time; 0: the deadline is over. */
static int64_t slice(int64_t deadline)
{
    int64_t left = deadline - now_ns();
    const int64_t most = SLICE_MS * INT64_C(1000000);
    return left <= 0 ? 0 : left < most ? left : most;
}

/* For the libraries too. */
#pragma GCC visibility push(default)

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock != CLOCK_MONOTONIC && clock != CLOCK_MONOTONIC_COARSE) {
        return (int) syscall(SYS_clock_gettime, clock, now);
    }
    int64_t ns = now_ns();
    *now = (struct timespec){ns / SECOND_NS, ns % SECOND_NS};
    return 0;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
    int64_t deadline = now_ns() + time->tv_sec * SECOND_NS + time->tv_nsec, step;
    int sleeper = wait_begin(deadline);
    while ((step = slice(deadline)) > 0) {
        kernel_sleep(step);
    }
    wait_end(sleeper);
    if (left) {
        *left = (struct timespec){0, 0};
    }
    return 0;
}

int usleep(useconds_t us)
{
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    return nanosleep(&time, NULL);
}

static int kernel_poll(struct pollfd *fds, nfds_t count, int64_t ns)
{
    struct timespec time = {0, ns};
    return (int) syscall(SYS_ppoll, fds, count, &time, NULL, 0);
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    if (timeout_ms < 0) {
        return (int) syscall(SYS_ppoll, fds, count, NULL, NULL, 0);
    }
    int64_t deadline = now_ns() + timeout_ms * INT64_C(1000000), step;
    int ready = kernel_poll(fds, count, 0);
    if (ready != 0 || timeout_ms == 0) {
        return ready;
    }
    int sleeper = wait_begin(deadline);
    while (ready == 0 && (step = slice(deadline)) > 0) {
        ready = kernel_poll(fds, count, step);
    }
    wait_end(sleeper);
    return ready;
}

static int kernel_epoll(int fd, struct epoll_event *events, int count, int timeout_ms)
{
    return (int) syscall(SYS_epoll_pwait, fd, events, count, timeout_ms, NULL, 0);
}

int epoll_wait(int fd, struct epoll_event *events, int count, int timeout_ms)
{
    if (timeout_ms <= 0) {
        return kernel_epoll(fd, events, count, timeout_ms);
    }
    int64_t deadline = now_ns() + timeout_ms * INT64_C(1000000);
    int sleeper = wait_begin(deadline), ready;
    do {
        ready = kernel_epoll(fd, events, count, SLICE_MS);
    } while (ready == 0 && slice(deadline) > 0);
    wait_end(sleeper);
    return ready;
}

/* On the monotonic clock it may return before its time, as it may anyway. */
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                           const struct timespec *until)
{
    struct timespec real;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &real);
    if (until->tv_sec >
        real.tv_sec / 2) { /* no machine runs for so long: it is no monotonic time */
        return pthread_cond_clockwait(cond, mutex, CLOCK_REALTIME, until);
    }
    int64_t deadline = until->tv_sec * SECOND_NS + until->tv_nsec, step = slice(deadline);
    if (step == 0) {
        return ETIMEDOUT;
    }
    int sleeper = wait_begin(deadline);
    int64_t end = kernel_ns() + step;
    struct timespec time = {end / SECOND_NS, end % SECOND_NS};
    int error = pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &time);
    wait_end(sleeper);
    return error == ETIMEDOUT && slice(deadline) > 0 ? 0 : error;
}

#pragma GCC visibility pop

#else

void clock_keep_real(void)
{
}

#endif
