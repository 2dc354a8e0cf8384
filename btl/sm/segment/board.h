/* The board of a segment: where other processes announce the rings that they write for its owner.
 *
 * It is the one part of a segment that others write. A producer claims a free cell for as long as
 * its ring lives, fills it in and adds one to the doorbell. The owner scans the cells when the
 * doorbell has another value than at its last scan. A producer that dies between two of these steps
 * leaves a cell claimed and stops nobody.
 *
 * The cell's word is epoch * 256 + state:
 *   FREE -> CLAIMED   a producer, by compare-and-swap: the cell's other words are its own now
 *   CLAIMED -> OPEN   that producer: they are complete
 *   OPEN -> TAKEN     the owner: it reads the ring
 *   OPEN, TAKEN -> CLOSED   the producer: nothing more will come
 *   OPEN, TAKEN -> REFUSED  the owner: it does not read the ring, or no longer
 *   OPEN, TAKEN -> LEFT     the owner: no longer, but it would read another ring
 *   CLOSED -> FREE, with the next epoch         the owner: it has read all it wants
 *   REFUSED, LEFT -> FREE, with the next epoch  the producer
 * A changed epoch, REFUSED or LEFT tells the producer that its ring is no longer read.
 *
 * The cell has a second word: up to which number somebody has claimed the producer's requests of
 * put and get (help.h). It only rises, by compare-and-swap, and whoever raises it over a request
 * carries that one out. */
#ifndef BTL_SM_BOARD_H
#define BTL_SM_BOARD_H

#include <btl/sm/segment/card.h>
#include <stdatomic.h>

enum sm_cell_state {
    SM_CELL_FREE = 0,
    SM_CELL_CLAIMED = 1,
    SM_CELL_OPEN = 2,
    SM_CELL_TAKEN = 3,
    SM_CELL_CLOSED = 4,
    SM_CELL_REFUSED = 5,
    SM_CELL_LEFT = 6,
};

/* What a producer says of its ring. The owner copies it out and checks every field. */
struct sm_announcement {
    uint32_t jobid, vpid;
    uint64_t ring_offset; /* in the producer's segment */
    uint32_t ring_slots;
    uint32_t claimed;            /* before the first request */
    uint8_t card[SM_CARD_BYTES]; /* the producer's */
};

struct sm_cell {
    _Atomic uint64_t word;
    struct sm_announcement announcement;
    _Atomic uint32_t claimed;
    uint8_t pad[28];
};

struct sm_board {
    /* A counter, whose upper bit is set when the owner has closed the board. Whoever wants the
     * owner to scan the cells, and to look whether its own rings are still read, adds one: a
     * producer that has announced or closed its ring, and a process that has dropped a ring of the
     * owner's. It wakes nobody; that is the bell (bell.h). */
    _Atomic uint64_t doorbell;
    uint8_t pad[56];
    struct sm_cell cells[];
};

/* A producer's hold on a cell of a peer's board. */
struct sm_claim {
    struct sm_board *board; /* borrowed; NULL: none */
    uint32_t index;
    uint32_t epoch;
};

/* Takes a free cell, looking first at hint, fills and opens it. OUT_OF_RESOURCE: none is free;
 * UNREACH: the owner has closed the board. */
int sm_board_announce(struct sm_board *board, uint32_t cells, uint32_t hint,
                      const struct sm_announcement *announcement,
                      struct sm_claim *claim) KEEL_MUST_CHECK;
/* The owner may still read the ring. */
bool sm_claim_alive(const struct sm_claim *claim);
/* The owner no longer reads the ring, and would read another one. */
bool sm_claim_left(const struct sm_claim *claim);
/* Nothing more will come. The ring's memory stays in use while the claim is alive. */
void sm_claim_close(struct sm_claim *claim);
/* All requests up to the last are the producer's to carry out from now on, but those up to
 * *claimed, which the owner has claimed. False: it has claimed more than there are. */
bool sm_claim_requests(struct sm_claim *claim, uint32_t last, uint32_t *claimed) KEEL_MUST_CHECK;

/* Adds one to the doorbell. An owner that sees the new count sees the cell changed before it.
 * False: the owner has closed the board, and looks at it no more; else it closes it later, and sees
 * the cell then. */
bool sm_board_ring(struct sm_board *board);

/* The owner's side. */
static inline uint64_t sm_board_doorbell(const struct sm_board *board)
{
    return atomic_load_explicit(&board->doorbell, memory_order_acquire);
}
/* The state of a cell, and its announcement when it is OPEN or CLOSED. */
enum sm_cell_state sm_board_look(const struct sm_board *board, uint32_t index,
                                 struct sm_announcement *announcement);
/* OPEN to TAKEN; false: the producer closed it meanwhile, which is as good. */
bool sm_board_take(struct sm_board *board, uint32_t index);
/* True: this request is the owner's to carry out, which claims them in their order. */
bool sm_board_claim_request(struct sm_board *board, uint32_t index, uint32_t number);
/* The ring is no longer read: frees a CLOSED cell; one that is OPEN or TAKEN is LEFT, or where the
 * producer does what none may do REFUSED. */
void sm_board_drop(struct sm_board *board, uint32_t index, bool refuses);
/* Leaves all rings, and takes none any more: nobody is to wait for an answer. */
void sm_board_close(struct sm_board *board, uint32_t cells);

#endif
