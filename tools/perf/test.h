/* The tests: each moves a number of messages or makes a number of accesses, and says nothing about
 * time. */
#ifndef TOOLS_PERF_TEST_H
#define TOOLS_PERF_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <tools/perf/pair.h>

/* What a test is about. All but latency keep a window of operations under way. */
enum test_kind { TEST_LATENCY, TEST_BANDWIDTH, TEST_RATE, TEST_KINDS };

/* Why this rail cannot, or NULL. */
typedef const char *perf_refusal_fn(const struct pair *pair);
/* Ends when count operations are complete. Returns 0 or a status of the rail's. */
typedef int perf_run_fn(struct pair *pair, size_t size, unsigned count);
/* The other end meanwhile. */
typedef int perf_answer_fn(struct pair *pair, size_t size);
/* After pair_end: waits until answer is over. */
typedef int perf_finish_fn(struct pair *pair);

struct perf_test {
    const char *name, *what; /* for --help */
    enum test_kind kind;
    unsigned trips;    /* how often an operation crosses from one end to the other: 2 for there and
                          back, whose half is reported */
    size_t fixed_size; /* bytes; 0: any size */
    bool all_rails;    /* goes over all that are named, not the first alone */
    bool asleep;       /* needs pairs that sleep; the others need such that poll */
    perf_refusal_fn *refusal;
    perf_run_fn *run;
    perf_answer_fn *answer; /* NULL: pair_answer */
    perf_finish_fn *finish; /* of tests that have answer */
};

perf_refusal_fn needs_put, needs_get, needs_fetch_and_add, needs_32_bit, needs_sends, needs_tagged,
    needs_btl2, needs_put2, needs_two;
perf_run_fn run_put, run_puts, run_get, run_gets, run_fetch_and_add, run_am, run_ams, run_tag,
    run_tags, run_am2, run_put2, run_puts2, run_wake;
perf_answer_fn answer_tag, answer_tags, answer_am2, answer_puts2;
perf_finish_fn finish_tag, finish_tags, finish_puts2;

/* For wake_lat, and for the tests of BTL 2.0, before the other end may send. */
void wake_open(struct pair *pair);
void btl2_open(struct pair *pair);

/* After the tests of messages by tag. */
void tagged_close(void);
/* What their context has counted, as keel_btl_stats; 0: there was none. */
size_t tagged_stats(struct keel_btl_stat *stats, size_t room);

/* All of them, in the order of --help; one without a name ends the list. */
extern const struct perf_test all_tests[];

#endif
