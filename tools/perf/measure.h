/* From operations to figures: how many at a time, for how long, and the percentiles. */
#ifndef TOOLS_PERF_MEASURE_H
#define TOOLS_PERF_MEASURE_H

#include <stdint.h>
#include <tools/perf/test.h>

/* One line of the table. Latencies are of one operation (one way), each averaged over a batch. */
struct result {
    const struct perf_test *test;
    size_t size; /* bytes of an operation */
    uint64_t iterations;
    double min_us, median_us, mean_us;
    double p99_us;                          /* negative: there are too few samples for it */
    double megabytes_per_s, messages_per_s; /* from the median; 1 MB = 10^6 bytes */
    double cpu_us; /* of both ends, for an operation; negative: not known */
};

struct effort {
    double seconds;      /* at most, without the warm-up */
    uint64_t iterations; /* at least; 0: as many as the seconds allow */
};

/* Runs the test against an answering peer. Returns 0, or a status of the rail's and then no
 * result. */
int measure(struct pair *pair, const struct perf_test *test, size_t size,
            const struct effort *effort, struct result *result);

#endif
