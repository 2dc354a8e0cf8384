#include <config.h>

#include <bench/series.h>
#include <stdio.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static void sort(struct series *series)
{
    if (series->count > 0) {
        qsort(series->values, series->count, sizeof(*series->values), compare);
    }
}

void series_add(struct series *series, double value)
{
    if (series->count == series->capacity) {
        series->capacity = series->capacity ? series->capacity * 2 : 16;
        series->values = realloc(series->values, series->capacity * sizeof(*series->values));
        if (!series->values) {
            fputs("no memory for a measurement\n", stderr);
            exit(2);
        }
    }
    series->values[series->count++] = value;
}

double series_median(struct series *series)
{
    size_t middle = series->count / 2;
    sort(series);
    if (series->count == 0) {
        return 0;
    }
    return series->count % 2 ? series->values[middle]
                             : (series->values[middle - 1] + series->values[middle]) / 2;
}

double series_min(struct series *series)
{
    sort(series);
    return series->count > 0 ? series->values[0] : 0;
}

double series_ratio(const struct series *a, const struct series *b)
{
    struct series ratios = {.count = 0};
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        if (a->values[i] > 0 && b->values[i] > 0) {
            series_add(&ratios, a->values[i] / b->values[i]);
        }
    }
    double median = series_median(&ratios);
    series_fini(&ratios);
    return median;
}

void series_fini(struct series *series)
{
    free(series->values);
    *series = (struct series){0};
}
