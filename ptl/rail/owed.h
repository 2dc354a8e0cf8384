/* What has come from a process is owed to it: each frame to it says that, or else one of its own
 * does after RAIL_SAY_FRAMES, RAIL_SAY_BYTES, 64 passes or a millisecond, over the best rail that
 * is connected. The clock is read every 8 passes, or more often where passes are rare. */
#ifndef PTL_RAIL_OWED_H
#define PTL_RAIL_OWED_H

#include <ptl/rail/link.h>

enum {
    RAIL_SAY_FRAMES = 256,     /* that have come are told of at once */
    RAIL_SAY_BYTES = 64 << 10, /* so are these */
};

void rail_owed_open(void);
/* Says all that is owed. */
void rail_owed_close(void);
/* By a frame of its own; or that the process was given up. */
void rail_owed_say(struct rail_link *link);

/* The process knows it, or nobody is there. */
static inline void rail_owed_told(struct rail_link *link)
{
    link->owed_frames = 0;
    link->owed_bytes = 0;
    list_remove(&link->owes);
}

/* A word, whatever has come. */
static inline void rail_owed_word(struct rail_link *link)
{
    if (list_empty(&link->owes)) {
        list_append(&rail.owing, &link->owes);
        rail.owes = true;
    }
}

/* A frame of so many bytes has come. */
static inline void rail_owed_frame(struct rail_link *link, size_t size)
{
    link->owed_frames++;
    link->owed_bytes += (uint32_t) size;
    rail_owed_word(link);
    if (link->owed_frames >= RAIL_SAY_FRAMES || link->owed_bytes >= RAIL_SAY_BYTES) {
        rail_owed_say(link);
    }
}

#endif
