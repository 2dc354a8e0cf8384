#include <config.h>

#include <bench/pair.h>
#include <bench/series.h>
#include <sched.h>
#include <time.h>

enum { BATCHES_LEAST = 3 };
static const double batch_s = 1e-3;

static double clock_s(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

static double now_s(void)
{
    return clock_s(CLOCK_MONOTONIC);
}

/* Processor time of both processes. */
static double use_s(pid_t pid)
{
    clockid_t theirs;
    double other = clock_getcpuclockid(pid, &theirs) == 0 ? clock_s(theirs) : 0;
    return clock_s(CLOCK_PROCESS_CPUTIME_ID) + other;
}

void pair_bind(int number)
{
    cpu_set_t mine, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof(mine), &mine) < 0) {
        return;
    }
    number %= CPU_COUNT(&mine);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &mine) && number-- == 0) {
            CPU_SET(i, &one);
        }
    }
    (void) !sched_setaffinity(0, sizeof(one), &one);
}

struct figure pair_measure(pid_t other, void (*run)(void *arg, unsigned count), void *arg,
                           double seconds)
{
    struct series times = {.count = 0};
    unsigned count = 1;
    for (;;) { /* warms up, and finds how many fill a batch */
        double start = now_s();
        run(arg, count);
        double length = now_s() - start;
        if (length >= batch_s || count > 1u << 24) {
            break;
        }
        count *= 2;
    }
    double begin = now_s(), end = begin, before = use_s(other);
    while (end - begin < seconds || times.count < BATCHES_LEAST) {
        double start = end;
        run(arg, count);
        end = now_s();
        series_add(&times, (end - start) / count);
    }
    double operations = (double) count * (double) times.count;
    struct figure figure = {series_median(&times), (end - begin) / operations,
                            (use_s(other) - before) / operations};
    series_fini(&times);
    return figure;
}
