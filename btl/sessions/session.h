/* The session of two processes over a wire without connections: who says hello to whom, and which
 * hellos are those of a session that is over. A pure machine but for btl_session_open, which looks
 * at the wall clock; the transport proves the hellos.
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
/* Sets my epoch, where there is none: later than *last and than those of an earlier process. */
void btl_session_open(struct btl_session *session, uint64_t *last);
/* Ends the session: hellos of its epoch are old ones from here on. */
void btl_session_clear(struct btl_session *session);
/* A hello with this epoch of theirs has come. */
enum btl_session_verdict btl_session_judge(const struct btl_session *session, uint64_t epoch);
/* My epoch in another session of theirs, whose hello echoes this. It stays if they echo it: else
 * each side would make the other begin anew, for ever. 0: a new one is needed. */
uint64_t btl_session_keeps(const struct btl_session *session, uint64_t echo);
/* Takes a hello of the session, in which my epoch is set; the first one begins it. Returns whether
 * I owe them a hello: I have not echoed their epoch yet, or they never echoed mine. *agreed: this
 * hello does. One that does not is a late one, or a replay, once another has. */
bool btl_session_hear(struct btl_session *session, uint64_t epoch, uint64_t echo, bool *agreed);

#endif
