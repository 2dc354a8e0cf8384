/* What the ranks of a job do, as their daemons say it, and as text for the user: ranks that do the
 * same are told together. Pure: no input and output, no time. */
#ifndef LAUNCHER_HEAD_RANK_STATES_H
#define LAUNCHER_HEAD_RANK_STATES_H

#include <base/data/bytes.h>
#include <keel/types.h>

enum {
    RANK_STATE_BYTES = 128,  /* of what a rank does; the rest is cut */
    RANK_STATES_LINES = 128, /* ranks that get a line of their own */
    RANK_STATES_GROUPS = 64, /* that are told; more differ only where a daemon makes things up */
};

/* What a daemon says of a rank. */
struct rank_state_told {
    uint32_t pid;    /* 0: there is no process, and nothing to be told of it alone */
    uint64_t for_ms; /* it has not moved on for so long */
    const char *what;
    const char *node; /* borrowed until the states are destroyed */
    uint64_t age_ms, cpu_ms, memory_bytes;
    struct blob counters; /* borrowed; kept: a copy (wireup/look.h) */
};

struct rank_states;
typedef void rank_states_say(void *arg, const char *line);

int rank_states_create(struct rank_states **states, uint32_t rank_count) KEEL_MUST_CHECK;
void rank_states_destroy(struct rank_states *states); /* NULL is allowed */
/* ORTE_ERR_VALUE_OUT_OF_BOUNDS: there is no such rank; ORTE_EXISTS: it was told before. */
int rank_states_tell(struct rank_states *states, uint32_t rank,
                     const struct rank_state_told *told) KEEL_MUST_CHECK;
/* What was told of a rank; NULL: nothing. Borrowed. */
const struct rank_state_told *rank_states_find(const struct rank_states *states, uint32_t rank);
/* All of it, line by line; the largest number of ranks that do the same first. */
void rank_states_print(const struct rank_states *states, rank_states_say *say, void *arg);

#endif
