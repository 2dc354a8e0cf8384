/* Requests of put and get are claimed once, in every interleaving of both sides' steps: each access
 * to the word is a point where the other side may do all that it has to do. */
#include <config.h>

#include <btl/sm/segment/board.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static void step(void);

#undef atomic_load_explicit
#define atomic_load_explicit(object, order) (step(), *(object))
#undef atomic_store_explicit
#define atomic_store_explicit(object, value, order) (step(), (void) (*(object) = (value)))
#undef atomic_compare_exchange_weak_explicit
#define atomic_compare_exchange_weak_explicit(object, expected, value, success, failure) \
    (step(), atomic_compare_exchange_strong(object, expected, value))
#include <btl/sm/segment/board.c>

enum { REQUESTS = 3 };

static struct {
    struct sm_board *board;
    struct sm_claim claim;
    uint32_t first;                /* the number before the first request */
    unsigned made;                 /* how many the producer has made */
    unsigned claimed_of[REQUESTS]; /* how often each was claimed */
    void (*other)(void);           /* what the other side has to do yet; NULL: nothing */
    int steps;                     /* from now on until then */
} run;

static void step(void)
{
    void (*other)(void) = run.other;
    if (other && run.steps-- == 0) {
        run.other = NULL;
        other();
    }
}

static void owner(void)
{
    for (unsigned i = 0; i < run.made; i++) {
        run.claimed_of[i] += sm_board_claim_request(run.board, 0, run.first + 1 + i);
    }
}

static void producer(void)
{
    uint32_t before;
    ck_assert(sm_claim_requests(&run.claim, run.first + run.made, &before));
    for (uint32_t number = before; number != run.first + run.made; number++) {
        run.claimed_of[number - run.first]++;
    }
}

static void start(uint32_t first, unsigned made)
{
    size_t size = sizeof(struct sm_board) + sizeof(struct sm_cell);
    struct sm_announcement announcement = {.jobid = 1, .claimed = first};
    memset(&run, 0, sizeof(run));
    run.board = aligned_alloc(64, size);
    ck_assert_ptr_nonnull(run.board);
    memset((void *) run.board, 0, size);
    ck_assert_int_eq(sm_board_announce(run.board, 1, 0, &announcement, &run.claim), ORTE_SUCCESS);
    run.first = first;
    run.made = made;
}

/* One side, and after so many steps the other. False: it has fewer steps. */
static bool interleave(uint32_t first, unsigned made, void (*one)(void), void (*other)(void),
                       int steps)
{
    start(first, made);
    run.other = other;
    run.steps = steps;
    one();
    bool both = !run.other;
    for (unsigned i = 0; both && i < made; i++) {
        ck_assert_uint_eq(run.claimed_of[i], 1);
    }
    free(run.board);
    return both;
}

START_TEST(each_request_is_claimed_once)
{
    static const uint32_t firsts[] = {0, UINT32_MAX - 1, INT32_MAX}; /* numbers wrap */
    unsigned runs = 0;
    for (size_t i = 0; i < sizeof(firsts) / sizeof(*firsts); i++) {
        for (unsigned made = 1; made <= REQUESTS; made++) {
            for (int steps = 0; interleave(firsts[i], made, owner, producer, steps); steps++) {
                runs++;
            }
            for (int steps = 0; interleave(firsts[i], made, producer, owner, steps); steps++) {
                runs++;
            }
        }
    }
    ck_assert_uint_gt(runs, 40);
}
END_TEST

START_TEST(a_word_that_cannot_be_is_found_out)
{
    uint32_t before;
    start(7, 1);
    run.board->cells[0].claimed = 9;
    ck_assert(!sm_claim_requests(&run.claim, 8, &before));
    free(run.board);
}
END_TEST

UNIT_MAIN("sm-claims")
