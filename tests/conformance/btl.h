/* The conformance program of the BTL interface: what its files share. It uses the module table and
 * the framework's open, close and progress, nothing of any module's own.
 *
 * With enable_progress_threads or enable_thread_multiple another thread polls, too, so callbacks
 * come on it. They come one at a time. What they count for the main thread is atomic, and counted
 * after the rest is written; what the main thread changes as well, it changes between freeze and
 * thaw. */
#ifndef TESTS_CONFORMANCE_BTL_H
#define TESTS_CONFORMANCE_BTL_H

#include <btl/interface/base.h>
#include <stdatomic.h>
#include <tests/lib/minihost.h>
#include <tests/lib/pattern.h>

/* What each rank shows the others in the minihost's shared memory. */
#define DATA_BYTES ((size_t) 8 << 20)
struct board {
    unsigned char handle[MCA_BTL_REG_HANDLE_MAX_SIZE];
    unsigned char handle2[MCA_BTL_REG_HANDLE_MAX_SIZE];
    uint64_t base, size;
    atomic_ulong received;
    atomic_ulong done;
    unsigned char data[DATA_BYTES] __attribute__((aligned(4096)));
};

struct test_case;

struct test {
    struct minihost *host;
    mca_btl_base_module_t *btl;
    struct mca_btl_base_endpoint_t *endpoints[16]; /* by rank; NULL: not reached */
    int rank, size;
    int right,
        left; /* whom I send to, and who sends to me; myself where a module reaches only that */
    const char *module;
    const struct test_case *test_case;
    bool checked; /* the checking module stands before the module */
    char last_breach[512];
    atomic_uint breaches; /* of this case's own, that were reported */
    void *state;          /* the case's */
};

struct test_case {
    const char *name;
    void (*run)(struct test *test);
    int min_size; /* processes that it needs, counted without a self module */
    bool late_cards;
    bool alone;         /* needs no peer: runs also where the module reaches nobody */
    bool no_procs;      /* adds its peers itself */
    bool others;        /* not for a module that reaches only its own process */
    bool undisturbed;   /* not with faults on purpose: it counts what is left */
    bool asks_too_much; /* asks for what must be refused: the checking module says so, too */
};

extern const struct test_case table_cases[], send_cases[], stream_cases[], rdma_cases[],
    atomics_cases[], breach_cases[], fault_cases[], load_cases[], end_cases[], ext_cases[],
    ftevent_cases[], flags_cases[], inside_cases[], sleep_cases[], channel_cases[];

/* Fails the test with the place and the condition, unless it holds. */
#define must(test, condition) minihost_must((test)->host, condition)

struct board *board_of(struct test *test, int rank);
/* One round of progress; returns events. Ends the process when another one failed. */
int pump(struct test *test);
/* Until *count reaches wanted. */
void pump_until(struct test *test, const atomic_ulong *count, unsigned long wanted);
/* Some rounds more, for what must not come. */
void pump_idle(struct test *test);
/* From here on no other thread of this process polls, and no callback comes but from the calling
 * one's calls, until thaw. They nest. */
void freeze(struct test *test);
void thaw(struct test *test);
/* What this thread did so far happened before the callbacks that come, and those that have come
 * before what it does next: where it knows of them, or they of it, only through other ranks. */
void synchronize(struct test *test);
/* Waits for all ranks. meet drives progress, and synchronizes; stop does not. Between halt and
 * resume nobody polls but by itself. */
void meet(struct test *test);
void stop(struct test *test);
void halt(struct test *test);
void resume(struct test *test);
/* Adds all ranks; endpoints of those not reached are NULL. */
void add_all(struct test *test);
/* Sets right and left, once endpoints are there. */
void find_neighbours(struct test *test);

/* Opens the first bytes of this rank's data to all, for what flags allow, and shows base and
 * handle. The caller meets the others before it uses theirs. */
mca_btl_base_registration_handle_t *show_data(struct test *test, size_t size, uint32_t flags);

bool is_shortage(int status);
/* alloc, with progress while it is short of descriptors. */
mca_btl_base_descriptor_t *alloc_wait(struct test *test, int to, size_t size, uint32_t flags);
/* send of a descriptor that the module is to free, with progress while it is short. */
void send_wait(struct test *test, int to, mca_btl_base_descriptor_t *descriptor, uint8_t tag);
/* A copy of these bytes. */
void send_bytes(struct test *test, int to, const void *data, size_t size, uint8_t tag);
/* All bytes of a received descriptor, in memory that lasts until the next call; *size their number.
 */
const unsigned char *received(struct test *test, const mca_btl_base_descriptor_t *descriptor,
                              size_t *size);
/* Every module has one. */
const struct keel_btl_ext *ext_of(struct test *test);
void on_tag(struct test *test, uint8_t tag, mca_btl_base_module_recv_cb_fn_t received_fn);

#endif
