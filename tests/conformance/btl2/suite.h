/* The conformance program of BTL 2.0 (keel/btl2.h) over one module of BTL 3.0: what its files
 * share. It uses the calls of the installed headers; only what is left at the end of a case is read
 * from the adapter itself. One thread polls, so nothing here is atomic but what several processes
 * see. */
#ifndef TESTS_CONFORMANCE_BTL2_SUITE_H
#define TESTS_CONFORMANCE_BTL2_SUITE_H

#include <btl2/adapter.h>
#include <stdatomic.h>
#include <tests/lib/minihost.h>
#include <tests/lib/pattern.h>

/* What each rank shows the others: how to reach its data, and the data, which they see. */
#define DATA_BYTES ((size_t) 8 << 20)
struct board {
    mca_btl2_base_segment_t segments[MCA_BTL2_DES_MAX_SEGMENTS];
    size_t segment_count;
    atomic_ulong count;
    unsigned char data[DATA_BYTES] __attribute__((aligned(4096)));
};

struct test_case;

struct test {
    struct minihost *host;
    const struct test_case *test_case;
    mca_btl2_base_module_t *btl;
    mca_btl_base_module_t *inner;                  /* the same module's 3.0 side */
    struct mca_btl2_base_endpoint_t *endpoints[4]; /* by rank; NULL: not reached */
    int rank, right, left; /* whom I send to, and who sends to me; myself over self */
    bool checked;          /* the checking module stands before the module */
};

struct test_case {
    const char *name;
    void (*run)(struct test *test);
    bool others;        /* not for a module that reaches only its own process */
    bool asks_too_much; /* the checking module says so, and is asked for it */
};

extern const struct test_case send_cases[], access_cases[];

/* Fails the test with the place and the condition, unless it holds. */
#define must(test, condition) minihost_must((test)->host, condition)

struct board *board_of(struct test *test, int rank);
/* One round of progress. Ends the process when another one failed. */
void pump(struct test *test);
/* Until *count is wanted; then some rounds more, in which it stays so. */
void pump_until(struct test *test, const unsigned *count, unsigned wanted);
/* Waits for all ranks: meet drives progress meanwhile, stop does not. */
void meet(struct test *test);
void stop(struct test *test);

/* Counts its calls in *des_cbdata, an unsigned, and fails unless the status is OPAL_SUCCESS. */
void count_success(mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
                   mca_btl2_base_descriptor_t *descriptor, int status);
/* With progress while the call is short of something. */
mca_btl2_base_descriptor_t *alloc_wait(struct test *test, size_t size, uint32_t flags);
mca_btl2_base_descriptor_t *prepare_wait(struct test *test, bool src, opal_convertor_t *convertor,
                                         size_t reserve, size_t *size, uint32_t flags);
void send_wait(struct test *test, mca_btl2_base_descriptor_t *descriptor, uint8_t tag);
int access_wait(struct test *test, mca_btl2_base_descriptor_t *descriptor, bool put);

#endif
