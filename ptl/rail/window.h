/* Which of the numbered frames of a process have come. Numbers have 32 bits, and wrap. */
#ifndef PTL_RAIL_WINDOW_H
#define PTL_RAIL_WINDOW_H

#include <keel/types.h>

/* Frames that a sender may have under way: so far may one be ahead of its turn. */
enum { RAIL_WINDOW = 2048 };

struct rail_window {
    uint32_t expected; /* the first that has not come */
    uint64_t *ahead;   /* owned; of those behind it which have, a bit each; NULL: none has so far */
};

enum rail_verdict {
    RAIL_NEW,
    RAIL_AGAIN,   /* it came before */
    RAIL_TOO_FAR, /* no sender is so far ahead */
    RAIL_NO_MEMORY
};

void rail_window_init(struct rail_window *window, uint32_t first);
void rail_window_fini(struct rail_window *window);
/* This frame comes. */
enum rail_verdict rail_window_take(struct rail_window *window, uint32_t number);

#endif
