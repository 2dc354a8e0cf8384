/* A module that breaks the contract on request, behind the checking tap, and what that reports.
 */
#ifndef CHECK_MOCK_H
#define CHECK_MOCK_H

#include <btl/memory/region.h>
#include <btl/modules/tap.h>

/* What the mock does wrong; NOTHING: it is good. */
enum mock_fault {
    NOTHING,
    /* send */
    CALLS_UNASKED,
    CALLS_NOT_THOUGH_ASKED,
    CALLS_TWICE,
    CALLS_LATE_AND_TWICE,
    CALLS_AND_REFUSES,
    REFUSES_AND_CHANGES_FLAGS,
    RETURNS_TWO,
    NAMES_ANOTHER_ENDPOINT,
    HAS_POSITIVE_STATUS,
    CALLS_ON_A_THREAD,
    NESTS_WITHOUT_END,
    /* sendi */
    SENDI_MOVES_AND_FAILS,
    SENDI_TAKES_TOO_MUCH,
    SENDI_LEAVES_A_DESCRIPTOR,
    SENDI_LEAVES_TOO_LITTLE,
    SENDI_RETURNS_ONE,
    /* put, get, atomics */
    RDMA_CALLS_TWICE,
    RDMA_CALLS_AND_REFUSES,
    RDMA_RETURNS_ONE,
    RDMA_CHANGES_ADDRESS,
    RDMA_HAS_POSITIVE_STATUS,
    RDMA_NEVER_CALLS,
    RDMA_TAKES_ALL,
    RDMA_REFUSES_THE_HANDLE,
    ATOMIC_CALLS_AND_RETURNS_ONE,
    /* alloc, prepare_src */
    GIVES_TOO_LITTLE,
    GIVES_IT_TWICE,
    GIVES_WITH_CALLBACK,
    GIVES_TOO_MUCH,
    GIVES_TWO_SEGMENTS,
    PREPARE_MOVES_TOO_FAR,
    PREPARE_FAILS_AND_MOVES,
    PREPARE_LEAVES_IN_PLACE,
    /* register, register_mem, deregister_mem */
    REGISTERS_NO_TAG,
    GIVES_ONE_HANDLE,
    REFUSES_TO_DEREGISTER,
    /* add_procs, del_procs, finalize, errors */
    SETS_NO_BIT,
    GIVES_ONE_ENDPOINT,
    FORGETS_CALLBACKS,
    CALLS_AFTER_DEL_PROCS,
    FAILS_BEFORE_CALLBACKS,
    /* keel_btl_ext */
    FORGETS_REQUESTS,
};

struct mock {
    mca_btl_base_module_t super; /* first */
    struct btl_taps taps;
    enum mock_fault fault;
    mca_btl_base_descriptor_t
        *queued; /* sends that a good one calls back in progress or at the end */
    mca_btl_base_descriptor_t *last;  /* what alloc gave */
    struct keel_btl_pending *request; /* waits for room */
    unsigned sends, frees;
    void *made[64]; /* freed by mock_end alone: what was freed is still used on purpose */
    unsigned made_count;
};

/* One mock behind one checking tap; lines of the log are kept. */
struct bench {
    struct mock *mock;
    mca_btl_base_module_t *btl; /* the mock's */
    struct mca_btl_base_endpoint_t *endpoint;
    opal_proc_t proc;
};

/* Puts the checking tap before a mock whose table is there; finalizes and frees it. */
void mock_begin(struct mock *mock);
void mock_end(struct mock *mock);

void bench_open(struct bench *bench, enum mock_fault fault);
/* del_procs, unless it was done, and finalize. */
void bench_close(struct bench *bench);
/* A remote handle that leads everywhere. */
extern struct region_handle mock_handle;
/* Calls back what is queued. */
void mock_progress(struct mock *mock);

/* How many lines were reported since the last call; the last one has these words, all of them after
 * one another. */
extern char last_report[512];
unsigned reports(void);

#endif
