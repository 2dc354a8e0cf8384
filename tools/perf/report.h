/* What is printed: a table for people, one JSON object for programs. */
#ifndef TOOLS_PERF_REPORT_H
#define TOOLS_PERF_REPORT_H

#include <stdio.h>
#include <tools/perf/measure.h>
#include <tools/perf/place.h>

struct report {
    FILE *out; /* borrowed */
    bool json;
    const char *rails;             /* borrowed; that were asked for; NULL: the best */
    const char *btl;               /* borrowed; the module that tests but those by tag measure */
    const struct perf_test *shown; /* the test whose heading is on the table */
    size_t count;
};

/* places: of the ranks that take part, place_count of them. */
void report_begin(struct report *report, const struct pair *pair, const struct place *places,
                  size_t place_count);
void report_result(struct report *report, const struct result *result);
/* A test that this rail cannot do. */
void report_refusal(struct report *report, const struct perf_test *test, const char *why);
/* With what the rail of the pair has counted; NULL: without. */
void report_end(struct report *report, const struct pair *counters);

#endif
