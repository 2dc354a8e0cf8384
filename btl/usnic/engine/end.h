/* The end of a session: whoever leaves says BYE, the last message of its direction, and the other
 * side answers with one. Pure, as the engine is; docs/wire.md draws it.
 *
 * A side says BYE only once all else that it sent has been acknowledged. So when both have been
 * said and mine is acknowledged, each side has everything of the other, and knows it.
 *
 * A session is half open at a side to which nothing of it has come: the other side may have ended
 * before it heard this one's hello. It has queued nothing then, so its BYE is not waited for long.
 */
#ifndef BTL_USNIC_END_H
#define BTL_USNIC_END_H

#include <btl/usnic/engine/flow.h>

enum { USNIC_CHANNEL_BYE = 15 };

struct usnic_end {
    bool said, heard;     /* BYE: mine, theirs */
    uint64_t give_up_us;  /* once theirs was heard */
    uint64_t patience_us; /* how long one that leaves waits for progress; 0: for ever */
};

enum usnic_end_step {
    USNIC_END_WAIT,
    USNIC_END_SAY_BYE, /* now; it may be refused, and is tried again */
    USNIC_END_OVER,    /* all has come, both ways, or nobody is there: OVER is said */
    USNIC_END_GIVE_UP  /* what was sent is not acknowledged in time */
};

/* What is to be done now. leaves: this side ends the session, whatever the other one does. */
enum usnic_end_step usnic_end_next(const struct usnic_end *end, const struct usnic_flow *flow,
                                   bool leaves, uint64_t now_us);

#endif
