/* The path checker: whether packets pass to a peer and back, and up to which size. A pure machine:
 * time and events in, probes and a verdict out.
 *
 *   FULL     the largest size that both ends can take is asked
 *   SEARCH   bisection between the largest size that passed and the smallest that did not
 *   DONE     the size is found
 *
 * A probe is sent together with a small one. Which of the two is answered tells a size that does
 * not pass from a peer that is not there to answer, and from losses: a size is given up when it was
 * not answered so often that, at the rate at which the small one was, chance explains it no more.
 * Without losses that is after 10 tries. A peer that answers neither for some time (patience) is
 * cut off; whether one way is open shows in what else comes from it. The machine goes on asking
 * then. Only pauses after probes count as silence, not the time in which this process did not run.
 */
#ifndef BTL_USNIC_CHECK_H
#define BTL_USNIC_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum usnic_check_state { CHECK_IDLE, CHECK_FULL, CHECK_SEARCH, CHECK_DONE };
enum usnic_verdict {
    CHECK_OPEN,       /* none yet */
    CHECK_PASSES,     /* the full size */
    CHECK_SMALL_ONLY, /* up to passes bytes */
    CHECK_ONE_WAY,    /* from the peer something comes, and it answers nothing */
    CHECK_NOTHING     /* nothing comes */
};

struct usnic_check {
    enum usnic_check_state state;
    enum usnic_verdict verdict;
    size_t small, full;
    size_t passes, fails; /* the largest size that was answered; the smallest that was not */
    size_t asked;
    unsigned pauses;   /* since it was asked first */
    unsigned answered; /* answers to the small one since then, late ones included */
    unsigned doublings;
    bool small_due;    /* beside the probe that was just sent */
    bool small_passed; /* since then */
    bool heard;        /* something came from the peer since it answered last */
    bool known;        /* it has answered, ever: passes is no guess */
    bool met;          /* it is there for certain */
    uint64_t asked_us; /* when it was asked last, */
    uint64_t next_us;  /* and when it is again, or given up */
    uint64_t round_us; /* the least pause, by the round trip */
    uint64_t silent_us, patience_us;
};

/* Ends what there is of a check, and begins one. small: the size of packets that surely pass, if
 * any do. */
void usnic_check_begin(struct usnic_check *check, size_t small, size_t full, uint64_t round_trip_us,
                       uint64_t patience_us, uint64_t now_us);
/* The session is no longer half open. What was not answered before tells nothing: asks anew. */
void usnic_check_met(struct usnic_check *check, uint64_t now_us);
/* The size of a probe to be sent now; 0: none is due. To be asked until then. */
size_t usnic_check_probe(struct usnic_check *check, uint64_t now_us);
/* A probe of this size was answered, or a larger packet of data than passed before. */
void usnic_check_answered(struct usnic_check *check, size_t size, uint64_t now_us);
/* Something else has come from the peer. */
static inline void usnic_check_heard(struct usnic_check *check)
{
    check->heard = true;
}
static inline bool usnic_check_runs(const struct usnic_check *check)
{
    return check->state == CHECK_FULL || check->state == CHECK_SEARCH;
}

#endif
