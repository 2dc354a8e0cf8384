/* A series of measurements. */
#ifndef BENCH_SERIES_H
#define BENCH_SERIES_H

#include <stddef.h>

struct series {
    double *values; /* owned */
    size_t count, capacity;
};

/* Ends the program when there is no memory. */
void series_add(struct series *series, double value);
/* 0 for an empty series. Both sort. */
double series_median(struct series *series);
double series_min(struct series *series);
/* The median of the ratios a / b of the values in the same places, which are not sorted; those of
 * which one is 0 do not count. 0: there is none. */
double series_ratio(const struct series *a, const struct series *b);
void series_fini(struct series *series);

#endif
