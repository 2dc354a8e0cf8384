/* The session of two processes over a wire without connections: who says hello to whom, and which
 * hellos are those of a session that is over. A pure machine; the transport proves the hellos.
 *
 * Each side has an epoch, later than any that it had before, and believes in a session once the
 * other has echoed it: then it is no replay. Nothing of an earlier epoch of the other is taken any
 * more, whatever comes late. */
#ifndef BTL_SESSION_H
#define BTL_SESSION_H

#include <stdbool.h>
#include <stdint.h>

struct btl_session {
    uint64_t epoch;  /* mine; 0: none yet */
    uint64_t theirs; /* 0: I have heard none */
    uint64_t told;   /* of theirs, what I have echoed */
    uint64_t floor;  /* their last session's: this and older ones are over */
    bool proven;     /* they have echoed mine */
};

enum btl_session_verdict {
    SESSION_OVER,   /* it is an old one: to be dropped */
    SESSION_SAME,   /* the one that there is */
    SESSION_ANOTHER /* a new one: what there is of another has to be cleared first */
};

/* Later than *last, which it becomes; now_us: of a clock that goes on over restarts. */
uint64_t btl_epoch_next(uint64_t *last, uint64_t now_us);
/* There is none any more. */
void btl_session_clear(struct btl_session *session);
/* A hello with this epoch of theirs has come. */
enum btl_session_verdict btl_session_judge(const struct btl_session *session, uint64_t epoch);
/* What my epoch is to be in another session of theirs, whose hello echoes this: the same if that is
 * it, for else each would make the other begin anew, and so on; 0: a new one. */
uint64_t btl_session_keeps(const struct btl_session *session, uint64_t echo);
/* What a hello of this session, which has an epoch of mine, says: begins it where it is new. True:
 * they do not know yet what a hello of mine would tell them. *agreed: they have echoed my epoch. */
bool btl_session_hear(struct btl_session *session, uint64_t epoch, uint64_t echo, bool *agreed);

#endif
