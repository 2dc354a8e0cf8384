/* Which way of copying is faster with a peer: its own, which it is asked for (help.h), or the
 * kernel's (cma.h), by this side alone or, where the peer polls, by both.
 *
 * That depends on the size, on which caches the two processors share, on what the peer does, and on
 * the kernel, so it is measured. Puts and gets of each size class have a way of their own.
 * Operations that end one after the other are a run, of a millisecond or so. After two runs the
 * other way is tried for one, and is taken if it was faster by a sixteenth. The next trials come
 * when operations have taken 4 times as long as the last one, then 8 times and so on, up to 64:
 * what was measured first, while neither side was warm, is soon put right, and later on trials take
 * at most a 64th of the time.
 *
 * Operations are carried out one after the other, so one takes the time since the last one ended:
 * what the caller does between them may go on beside a peer's copying, and not beside one's own.
 * Where it does much more than that, so that no way matters, its time is left out. */
#ifndef BTL_SM_PACE_H
#define BTL_SM_PACE_H

#include <keel/types.h>

enum sm_way { SM_ASK, SM_COPY, SM_WAYS };

enum {
    SM_PACE_BITS_MIN = 16, /* of the smallest size that is measured: a clock costs less than 1 % */
    SM_PACE_CLASSES = 11,  /* by powers of two; the last one has no end */
    SM_PACE_RUN_NS = 1000000,
    SM_PACE_RUN_MIN = 2, /* operations */
    SM_PACE_SHARE_FIRST = 4,
    SM_PACE_SHARE = 64,
    /* So many times an operation's own time may be what the caller does before it. */
    SM_PACE_GAP = 16
};
#define SM_PACE_MIN ((size_t) 1 << SM_PACE_BITS_MIN)

/* Of puts or gets of one size class. */
struct sm_course {
    float cost[SM_WAYS]; /* ns for 1 KiB; 0: not known */
    uint8_t way;         /* of new operations */
    bool tries;          /* it is on trial */
    bool lost;           /* the last trial brought nothing */
    bool warm;           /* a run has ended: the first one meets memory that was never touched */
    uint8_t share;       /* of the next trial; 0: there was none yet */
    uint32_t ended;      /* operations of this run */
    float ns, kib;       /* of them */
    float wait_ns;       /* before the next trial */
};

struct sm_pace {
    uint64_t ended_ns; /* when the last operation ended */
    struct sm_course courses[2][SM_PACE_CLASSES];
};

/* An operation that was measured. */
struct sm_timed {
    bool put;
    size_t size; /* at least SM_PACE_MIN */
    uint64_t began_ns, ended_ns;
};

/* How the next one is to go. */
enum sm_way sm_pace_way(const struct sm_pace *pace, bool put, size_t size);
/* One that was to go this way, whoever copied it, has ended well. */
void sm_pace_count(struct sm_pace *pace, enum sm_way way, const struct sm_timed *timed);

#endif
