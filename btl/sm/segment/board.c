#include <config.h>

#include <btl/sm/segment/board.h>

_Static_assert(sizeof(struct sm_cell) == 128, "a cell is two cache lines");
_Static_assert(sizeof(struct sm_board) == 64, "the doorbell has its own line");

#define STATE_BITS 8
#define DOORBELL_CLOSED ((uint64_t) 1 << 63)

static uint64_t word_of(uint64_t epoch, enum sm_cell_state state)
{
    return (uint64_t) (uint32_t) epoch << STATE_BITS | state;
}

static enum sm_cell_state state_of(uint64_t word)
{
    return (enum sm_cell_state)(word & 0xff);
}

/* Between a cell's producer and its owner, both ways: whoever observes a state sees all that the
 * other wrote, and has done reading, before it changed the cell to that state. */
static bool cell_change(struct sm_cell *cell, uint64_t from, uint64_t to)
{
    return atomic_compare_exchange_strong_explicit(&cell->word, &from, to, memory_order_acq_rel,
                                                   memory_order_acquire);
}

static uint64_t cell_observe(const struct sm_cell *cell)
{
    return atomic_load_explicit(&cell->word, memory_order_acquire);
}

bool sm_board_ring(struct sm_board *board)
{
    return !(atomic_fetch_add_explicit(&board->doorbell, 1, memory_order_acq_rel) &
             DOORBELL_CLOSED);
}

void sm_board_close(struct sm_board *board, uint32_t cells)
{
    atomic_fetch_or_explicit(&board->doorbell, DOORBELL_CLOSED, memory_order_acq_rel);
    for (uint32_t cell = 0; cell < cells; cell++) {
        sm_board_drop(board, cell, false);
    }
}

int sm_board_announce(struct sm_board *board, uint32_t cells, uint32_t hint,
                      const struct sm_announcement *announcement, struct sm_claim *claim)
{
    for (uint32_t i = 0; i < cells; i++) {
        uint32_t index = (hint + i) % cells;
        struct sm_cell *cell = &board->cells[index];
        uint64_t word = cell_observe(cell);
        uint64_t epoch = word >> STATE_BITS;
        if (state_of(word) != SM_CELL_FREE ||
            !cell_change(cell, word, word_of(epoch, SM_CELL_CLAIMED))) {
            continue;
        }
        cell->announcement = *announcement;
        atomic_store_explicit(&cell->claimed, announcement->claimed, memory_order_relaxed);
        atomic_store_explicit(&cell->word, word_of(epoch, SM_CELL_OPEN), memory_order_release);
        *claim = (struct sm_claim){.board = board, .index = index, .epoch = (uint32_t) epoch};
        return sm_board_ring(board) ? ORTE_SUCCESS : ORTE_ERR_UNREACH;
    }
    return ORTE_ERR_OUT_OF_RESOURCE;
}

bool sm_claim_alive(const struct sm_claim *claim)
{
    uint64_t word = cell_observe(&claim->board->cells[claim->index]);
    return word >> STATE_BITS == claim->epoch && state_of(word) < SM_CELL_REFUSED;
}

bool sm_claim_left(const struct sm_claim *claim)
{
    return cell_observe(&claim->board->cells[claim->index]) == word_of(claim->epoch, SM_CELL_LEFT);
}

void sm_claim_close(struct sm_claim *claim)
{
    struct sm_cell *cell = &claim->board->cells[claim->index];
    uint64_t open = word_of(claim->epoch, SM_CELL_OPEN);
    uint64_t taken = word_of(claim->epoch, SM_CELL_TAKEN);
    uint64_t closed = word_of(claim->epoch, SM_CELL_CLOSED);
    uint64_t freed = word_of(claim->epoch + (uint64_t) 1, SM_CELL_FREE);
    /* The owner may turn OPEN into TAKEN between the two attempts, never back. */
    if (cell_change(cell, open, closed) || cell_change(cell, taken, closed)) {
        (void) sm_board_ring(claim->board);
        return;
    }
    (void) (cell_change(cell, word_of(claim->epoch, SM_CELL_REFUSED), freed) ||
            cell_change(cell, word_of(claim->epoch, SM_CELL_LEFT), freed));
}

/* Raises a cell's second word to a number. What was copied for a request that one side has claimed
 * is seen by the other once it hears so: by the reply, or by what the producer sends later.
 * *before: what it was. False: it is there already. */
static bool requests_claim(struct sm_cell *cell, uint32_t number, uint32_t *before)
{
    *before = atomic_load_explicit(&cell->claimed, memory_order_acquire);
    while ((int32_t) (number - *before) > 0) {
        if (atomic_compare_exchange_weak_explicit(&cell->claimed, before, number,
                                                  memory_order_acq_rel, memory_order_acquire)) {
            return true;
        }
    }
    return false;
}

bool sm_claim_requests(struct sm_claim *claim, uint32_t last, uint32_t *claimed)
{
    return requests_claim(&claim->board->cells[claim->index], last, claimed) || *claimed == last;
}

bool sm_board_claim_request(struct sm_board *board, uint32_t index, uint32_t number)
{
    uint32_t before;
    return requests_claim(&board->cells[index], number, &before);
}

enum sm_cell_state sm_board_look(const struct sm_board *board, uint32_t index,
                                 struct sm_announcement *announcement)
{
    const struct sm_cell *cell = &board->cells[index];
    enum sm_cell_state state = state_of(cell_observe(cell));
    if (state == SM_CELL_OPEN || state == SM_CELL_CLOSED) {
        *announcement = cell->announcement;
    }
    return state;
}

bool sm_board_take(struct sm_board *board, uint32_t index)
{
    struct sm_cell *cell = &board->cells[index];
    uint64_t word = cell_observe(cell);
    return state_of(word) == SM_CELL_OPEN &&
           cell_change(cell, word, word_of(word >> STATE_BITS, SM_CELL_TAKEN));
}

void sm_board_drop(struct sm_board *board, uint32_t index, bool refuses)
{
    struct sm_cell *cell = &board->cells[index];
    for (int attempt = 0; attempt < 4; attempt++) { /* a sane producer closes only once */
        uint64_t word = cell_observe(cell);
        uint64_t epoch = word >> STATE_BITS;
        enum sm_cell_state state = state_of(word);
        if (state == SM_CELL_CLOSED) {
            if (cell_change(cell, word, word_of(epoch + 1, SM_CELL_FREE))) {
                return;
            }
        } else if (state == SM_CELL_OPEN || state == SM_CELL_TAKEN) {
            if (cell_change(cell, word, word_of(epoch, refuses ? SM_CELL_REFUSED : SM_CELL_LEFT))) {
                return;
            }
        } else {
            return;
        }
    }
}
