/* What keel-perf was asked to do. */
#ifndef TOOLS_PERF_OPTIONS_H
#define TOOLS_PERF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_test;

struct options {
    const char *rails;              /* borrowed: modules' names, with commas; NULL: the best */
    const struct perf_test **tests; /* owned: test_count of them */
    size_t test_count;
    size_t first_size, last_size; /* bytes; doubled from one to the next */
    unsigned window;              /* operations under way in a stream */
    double seconds;               /* for each size of each test */
    uint64_t iterations;          /* 0: as many as fit in the seconds */
    unsigned posted, unexpected;  /* receives and messages of other tags that wait */
    bool any;                     /* receives are for any source and tag */
    size_t rotate;                /* bytes that buffers are taken from in turn; 0: one buffer */
    unsigned compute_us;          /* of the answering end, between two polls */
    bool progress_thread;         /* the ends sleep */
    bool json;
    bool stats;       /* the rail counts */
    const char *plot; /* borrowed; NULL: none */
};

/* Returns 0; 1 when --help or --version was asked for and printed; -1 after a complaint on
 * stderr (if loud: one rank of a job is enough). options_free, always. */
int options_read(struct options *options, int argc, char **argv, bool loud);

void options_free(struct options *options);

#endif
