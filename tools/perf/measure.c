#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <tools/perf/measure.h>

enum { SAMPLES_MAX = 100000, BATCH_MAX = 1000000 };
enum { P99_SAMPLES = 100 }; /* of which one is above it */
enum { STREAM_BYTES = 512 << 20 };

/* Reading the clock costs some 30 ns: a batch makes that small beside what is measured. */
static const double warm_up_s = 0.02, latency_batch_s = 10e-6, stream_batch_s = 1e-3;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

/* A stream's batch fills the window twice, but for messages that take long by themselves. */
static unsigned least_batch(const struct pair *pair, const struct perf_test *test, size_t size)
{
    unsigned most = (unsigned) (STREAM_BYTES / (size + 1)) + 1;
    unsigned wanted = test->kind == TEST_LATENCY ? 1 : 2 * pair->window;
    return wanted < most ? wanted : most;
}

/* Connects, touches all memory, lets the processors reach their speed. *batch is how many
 * operations a sample should have, by the fastest run: others may have been interrupted. */
static int warm_up(struct pair *pair, const struct perf_test *test, size_t size, unsigned *batch)
{
    double length = test->kind == TEST_LATENCY ? latency_batch_s : stream_batch_s;
    int status = test->run(pair, size, 1); /* which may wait long until the other end is there */
    double begin = now_s(), start, end = begin;
    unsigned count = 1;
    double per_operation = warm_up_s;
    while (status == OPAL_SUCCESS && end - begin < warm_up_s) {
        start = end;
        status = test->run(pair, size, count);
        end = now_s();
        per_operation = fmin(per_operation, (end - start) / count);
        count = count < BATCH_MAX / 2 && end - start < length ? 2 * count : count;
    }
    double wanted = length / per_operation;
    *batch = wanted < 1 ? 1 : wanted > BATCH_MAX ? BATCH_MAX : (unsigned) wanted;
    unsigned least = least_batch(pair, test, size);
    *batch = *batch < least ? least : *batch;
    return status;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *) a, right = *(const double *) b;
    return (left > right) - (left < right);
}

/* Sorts the samples; the value below which so many per cent of them lie. */
static double percentile(double *samples, size_t count, double percent)
{
    qsort(samples, count, sizeof(*samples), compare);
    size_t index = (size_t) (percent / 100 * (double) count);
    return samples[index < count ? index : count - 1];
}

static bool is_enough(const struct effort *effort, uint64_t iterations, size_t samples, double past)
{
    if (samples >= SAMPLES_MAX) {
        return true;
    }
    return effort->iterations > 0 ? iterations >= effort->iterations : past >= effort->seconds;
}

int measure(struct pair *pair, const struct perf_test *test, size_t size,
            const struct effort *effort, struct result *result)
{
    unsigned batch = 1;
    uint64_t iterations = 0;
    size_t count = 0;
    int status = warm_up(pair, test, size, &batch);
    double *samples = malloc(SAMPLES_MAX * sizeof(*samples));
    if (!samples) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (effort->iterations > 0 && batch > effort->iterations) {
        batch = (unsigned) effort->iterations;
    }
    double cpu_before = 0, cpu_after = 0;
    if (status == OPAL_SUCCESS) {
        status = pair_use(pair, &cpu_before);
    }
    double begin = now_s(), start, end = begin;
    while (status == OPAL_SUCCESS && !is_enough(effort, iterations, count, end - begin)) {
        start = now_s();
        status = test->run(pair, size, batch);
        end = now_s();
        samples[count++] = (end - start) / batch / test->trips;
        iterations += batch;
    }
    if (status == OPAL_SUCCESS) {
        status = pair_use(pair, &cpu_after);
    }
    if (status == OPAL_SUCCESS) {
        double median = percentile(samples, count, 50);
        *result = (struct result){
            .test = test,
            .size = size,
            .iterations = iterations,
            .min_us = 1e6 * samples[0],
            .median_us = 1e6 * median,
            .mean_us = 1e6 * (end - begin) / (double) iterations / test->trips,
            .p99_us = count < P99_SAMPLES ? -1 : 1e6 * percentile(samples, count, 99),
            .megabytes_per_s = 1e-6 * (double) size / median,
            .messages_per_s = 1 / median,
            .cpu_us = cpu_after < 0 ? -1 : 1e6 * (cpu_after - cpu_before) / (double) iterations,
        };
    }
    free(samples);
    return status;
}
