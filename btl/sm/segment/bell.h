/* The bell of a process that sleeps in the kernel until somebody writes to it: a pipe, which peers
 * open through /proc, as they do its segment.
 *
 * The alarm, in the owner's segment and written by it alone, says how often the owner has gone to
 * sleep; while that has not changed, it is all that a sender looks at. Before it sleeps, the owner
 * counts one more, and then looks whether anything has come; a sender publishes, and then looks at
 * the count. A full barrier lies between the two on each side, so one of them sees the other. The
 * owner makes it for both, in the kernel (base/host/barrier.h). Where that cannot be done the
 * alarm says so, and senders make their own for each message. A sender rings once for each count,
 * however often the owner is awake again by then. */
#ifndef BTL_SM_BELL_H
#define BTL_SM_BELL_H

#include <keel/types.h>
#include <stdatomic.h>

struct sm_alarm {
    _Atomic uint32_t sleeps;
    uint32_t fd;     /* of the owner's: the pipe */
    uint64_t inode;  /* of the pipe */
    uint32_t fences; /* senders make a barrier of their own */
};

/* The owner's. */
struct sm_bell {
    struct sm_alarm *alarm; /* borrowed; NULL: there is no bell */
    int ends[2];            /* of the pipe */
};

/* A peer's. */
struct sm_ringer {
    const struct sm_alarm *alarm; /* borrowed; hostile */
    uint32_t pid;
    bool fences;   /* the owner's barrier does not do for this process */
    int fd;        /* -1: not open */
    uint32_t rung; /* the count for which it was rung last */
};

/* Makes the bell and tells it in the alarm, before any peer sees it. NOT_SUPPORTED: others could
 * not open it, or would have to make barriers, and fences does not allow that. */
int sm_bell_open(struct sm_bell *bell, struct sm_alarm *alarm, bool fences) KEEL_MUST_CHECK;
void sm_bell_close(struct sm_bell *bell);
/* Readable when it was rung. */
int sm_bell_fd(const struct sm_bell *bell);
/* It was heard: not readable any more. */
void sm_bell_quiet(struct sm_bell *bell);
/* Whatever is published from now on, and not seen by who looks after this call, rings.
 * NOT_SUPPORTED: there was no barrier. */
int sm_bell_sleep(struct sm_bell *bell) KEEL_MUST_CHECK;

void sm_ringer_init(struct sm_ringer *ringer, const struct sm_alarm *alarm, uint32_t pid);
void sm_ringer_fini(struct sm_ringer *ringer);
/* After a message was published for an owner that may sleep. */
void sm_ringer_ring(struct sm_ringer *ringer);
/* What sends look at: while the word has this value, nobody needs to be rung for. */
const _Atomic uint32_t *sm_ringer_word(const struct sm_ringer *ringer);
/* The value as it is now; a ring changes it. */
uint32_t sm_ringer_hush(const struct sm_ringer *ringer);

/* After a message was published: whether to ring. */
static inline bool sm_hush_ends(const _Atomic uint32_t *word, uint32_t hush)
{
    atomic_signal_fence(memory_order_seq_cst); /* the rest of a barrier is the owner's */
    return atomic_load_explicit(word, memory_order_relaxed) != hush;
}

#endif
