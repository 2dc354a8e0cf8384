#include <config.h>

#include <bench/ends.h>
#include <bench/pair.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    WARM_UP_MS = 20,
    MEASURE_MS = 100,
    WINDOW_BYTES = 8 << 20, /* not confirmed; in messages: at most WINDOW_MAX, at least 2 */
    WINDOW_MAX = 1024,
    CONFIRM_BYTES = 8
};
enum kind { GO_ON, LAST };

static const size_t sizes[] = {8, 4096, 1 << 20};

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec * 1e6 + (double) now.tv_nsec / 1e3;
}

void ends_bind(unsigned end)
{
    const char *affinity = getenv("BENCH_AFFINITY");
    if (!affinity || strcmp(affinity, "free") != 0) {
        pair_bind((int) end);
    }
}

static void print_affinity(void)
{
    cpu_set_t set;
    sched_getaffinity(0, sizeof(set), &set);
    printf("affinity");
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &set)) {
            printf(" %d", cpu);
        }
    }
    printf("\n");
}

/* End 0 of messages to and fro for so long: half a round trip in us, 0: it failed. */
static double ping(const struct ends *ends, uint8_t *data, size_t size, int ms)
{
    double begin = now_us(), now = begin;
    unsigned rounds = 0;
    for (bool last = false; !last; now = now_us()) {
        last = now - begin >= ms * 1e3;
        data[0] = last ? LAST : GO_ON;
        if (!ends->send(ends->arg, data, size) || !ends->recv(ends->arg, data, size)) {
            return 0;
        }
        rounds++;
    }
    return (now - begin) / rounds / 2;
}

static bool pong(const struct ends *ends, uint8_t *data, size_t size)
{
    do {
        if (!ends->recv(ends->arg, data, size) || !ends->send(ends->arg, data, size)) {
            return false;
        }
    } while (data[0] != LAST);
    return true;
}

static unsigned window_of(size_t size)
{
    size_t window = WINDOW_BYTES / size;
    return window > WINDOW_MAX ? WINDOW_MAX : (unsigned) window;
}

/* End 0 of messages one way for so long: messages in a second until all are confirmed, 0: it
 * failed. Half a window is confirmed at a time. */
static double flow(const struct ends *ends, uint8_t *data, size_t size, int ms)
{
    unsigned half = window_of(size) / 2, unconfirmed = 0;
    uint8_t confirmation[CONFIRM_BYTES];
    double begin = now_us(), now = begin;
    uint64_t sent = 0;
    for (bool last = false; !last; now = now_us()) {
        last = now - begin >= ms * 1e3;
        for (unsigned i = 1; i <= half; i++) {
            data[0] = last && i == half ? LAST : GO_ON;
            if (!ends->send(ends->arg, data, size)) {
                return 0;
            }
        }
        sent += half;
        for (unconfirmed++; unconfirmed >= (last ? 1 : 2); unconfirmed--) {
            if (!ends->recv(ends->arg, confirmation, sizeof(confirmation))) {
                return 0;
            }
        }
    }
    return (double) sent / (now - begin) * 1e6;
}

static bool drain(const struct ends *ends, uint8_t *data, size_t size)
{
    unsigned half = window_of(size) / 2, count = 0;
    const uint8_t confirmation[CONFIRM_BYTES] = {0};
    do {
        if (!ends->recv(ends->arg, data, size)) {
            return false;
        }
        if (++count % half == 0 && !ends->send(ends->arg, confirmation, sizeof(confirmation))) {
            return false;
        }
    } while (data[0] != LAST);
    return true;
}

static bool measure(const struct ends *ends, uint8_t *data, size_t size)
{
    if (ends->end == 1) {
        return pong(ends, data, size) && pong(ends, data, size) && drain(ends, data, size) &&
               drain(ends, data, size);
    }
    if (ping(ends, data, size, WARM_UP_MS) == 0) {
        return false;
    }
    double half_trip = ping(ends, data, size, MEASURE_MS);
    if (flow(ends, data, size, WARM_UP_MS) == 0) {
        return false;
    }
    double rate = flow(ends, data, size, MEASURE_MS);
    printf("%zu %.3f %.0f %.3f\n", size, half_trip, rate, rate * (double) size / 1e6);
    return half_trip > 0 && rate > 0;
}

bool ends_run(const struct ends *ends)
{
    bool good = true;
    if (ends->end == 0) {
        print_affinity();
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes) && good; i++) {
        uint8_t *data = malloc(sizes[i]);
        if (data) {
            memset(data, 1, sizes[i]);
        }
        good = data && measure(ends, data, sizes[i]);
        free(data);
    }
    return good;
}
