/* The frames of one sender in the order of their sequence numbers: what comes before its turn is
 * kept until then. Numbers have 16 or 32 bits, and wrap. Nothing is allocated: a frame is kept in
 * the object that it is a part of. */
#ifndef BASE_REORDER_H
#define BASE_REORDER_H

#include <base/data/list.h>
#include <keel/types.h>

/* Initialised by list_init(&frame.link). */
struct reorder_frame {
    struct list link;
    uint32_t sequence; /* while it is kept */
};

struct reorder {
    uint32_t last;     /* of the numbers: UINT16_MAX or UINT32_MAX */
    uint32_t most;     /* how far ahead of its turn a frame may be */
    uint32_t expected; /* whose turn it is */
    struct list early; /* frames that are kept, in order */
};

enum reorder_verdict {
    REORDER_NOW,    /* its turn has come, and the next one's with it; it is not kept */
    REORDER_KEPT,   /* early */
    REORDER_AGAIN,  /* it, or one of its number, came before */
    REORDER_TOO_FAR /* ahead by more than most */
};

/* most is cut to what the numbers can tell from old ones: half of them. */
void reorder_init(struct reorder *reorder, uint32_t last, uint32_t most, uint32_t first);
/* Nothing is kept; the next number is first. */
void reorder_restart(struct reorder *reorder, uint32_t first);

/* Is it this frame's turn, with no frame kept that could follow it? */
static inline bool reorder_is_next_alone(const struct reorder *reorder, uint32_t sequence)
{
    return sequence == reorder->expected && list_empty(&reorder->early);
}
/* Takes such a frame, in place of reorder_put. */
static inline void reorder_step(struct reorder *reorder)
{
    reorder->expected = (reorder->expected + 1) & reorder->last;
}
/* After NOW, take what reorder_next returns, until NULL. */
enum reorder_verdict reorder_put(struct reorder *reorder, struct reorder_frame *frame,
                                 uint32_t sequence);
/* The kept frame whose turn has come; it is no longer kept. NULL: none. */
struct reorder_frame *reorder_next(struct reorder *reorder);
/* Any frame that is kept, for who gives the sender up; it is no longer kept. NULL: none. */
struct reorder_frame *reorder_drop(struct reorder *reorder);

#endif
