/* The tests: each moves a number of messages or makes a number of accesses, and says nothing about
 * time. */
#ifndef TOOLS_PERF_TEST_H
#define TOOLS_PERF_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <tools/perf/pair.h>

/* What a test is about. All but latency keep a window of operations under way. */
enum test_kind { TEST_LATENCY, TEST_BANDWIDTH, TEST_RATE, TEST_KINDS };

struct perf_test {
    const char *name, *what; /* for --help */
    enum test_kind kind;
    unsigned trips;    /* how often an operation crosses from one end to the other: 2 for there and
                          back, whose half is reported */
    size_t fixed_size; /* bytes; 0: any size */
    bool all_rails;    /* goes over all that are named, not the first alone */
    bool asleep;       /* needs pairs that sleep; the others need such that poll */
    /* Why this rail cannot, or NULL. */
    const char *(*refusal)(const struct pair *pair);
    /* Ends when count operations are complete. Returns 0 or a status of the rail's. */
    int (*run)(struct pair *pair, size_t size, unsigned count);
    /* The other end meanwhile; NULL: pair_answer. */
    int (*answer)(struct pair *pair, size_t size);
    /* After pair_end, of tests that have answer: waits until that is over. */
    int (*finish)(struct pair *pair);
};

extern const struct perf_test am_lat, am_rate, am_bw, put_lat, put_bw, get_lat, get_bw, atomic_lat,
    atomic32_lat, wake_lat, tag_lat, tag_rate, tag_bw, am2_lat, put2_lat, put2_bw;

/* For wake_lat, and for the tests of BTL 2.0, before the other end may send. */
void wake_open(struct pair *pair);
void btl2_open(struct pair *pair);

/* After the tests of messages by tag. */
void tagged_close(void);
/* What their context has counted, as keel_btl_stats; 0: there was none. */
size_t tagged_stats(struct keel_btl_stat *stats, size_t room);

/* All of them, in the order of --help; NULL ends the list. */
extern const struct perf_test *const all_tests[];

#endif
