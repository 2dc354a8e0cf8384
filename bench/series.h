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
/* 0 for an empty series. Both may sort. */
double series_median(struct series *series);
double series_min(struct series *series);
void series_fini(struct series *series);

#endif
