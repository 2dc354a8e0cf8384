/* Does the other end of a link still live? Decided by when something was heard of it, and by
 * whether this process itself was running meanwhile. Pure: the time, of one monotonic clock in
 * microseconds, is the caller's, who looks once in a while (a turn). */
#ifndef OOB_PULSE_H
#define OOB_PULSE_H

#include <stdbool.h>
#include <stdint.h>

struct pulse_limits {
    uint64_t suspect_us; /* of silence; 0: never suspected */
    uint64_t fail_us;    /* 0: never failed */
};

struct pulse {
    uint64_t heard_us; /* when something came, put off by the time that this process stood still */
    bool heard;        /* since the last look */
    bool suspected;
};

enum pulse_verdict {
    PULSE_WELL,
    PULSE_ASK,     /* nothing came for half a turn: ask it to answer */
    PULSE_SUSPECT, /* silent for too long; said once, until it is heard again */
    PULSE_AGAIN,   /* it was suspected, and was heard */
    PULSE_FAILED,
};

/* A turn of the loop that looks; last_us is when the one before began. The time that this process
 * stood still since then: stopped, swapped out, or busy with something else. None when the turn
 * came less than twice a turn's time after the one before. */
uint64_t pulse_stall(uint64_t last_us, uint64_t turn_us, uint64_t now_us);
void pulse_begin(struct pulse *pulse, uint64_t now_us);
/* Something came from the peer. */
void pulse_hear(struct pulse *pulse, uint64_t now_us);
/* What the peer could not be heard for does not count against it. */
void pulse_credit(struct pulse *pulse, uint64_t stall_us, uint64_t now_us);
enum pulse_verdict pulse_look(struct pulse *pulse, const struct pulse_limits *limits,
                              uint64_t turn_us, uint64_t now_us);

#endif
