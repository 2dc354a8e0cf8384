/* The stacks of a job's ranks, as their daemons say them, and as text for the user: each distinct
 * one once, with the ranks that have it. Pure: no input and output, no time. */
#ifndef LAUNCHER_HEAD_RANK_STACKS_H
#define LAUNCHER_HEAD_RANK_STACKS_H

#include <launcher/head/explain/rank_states.h>
#include <launcher/node/explain/stacks.h>

enum {
    RANK_STACKS_MAX = 256,      /* distinct ones that are kept */
    RANK_STACKS_WHY_BYTES = 256 /* why there is none; the rest is cut */
};

struct rank_stacks;

/* by_call: first threads that wait in one call at one place of the program are told together, with
 * the stack of the first: one polls, and another sleeps a little. */
int rank_stacks_create(struct rank_stacks **stacks, uint32_t rank_count,
                       bool by_call) KEEL_MUST_CHECK;
void rank_stacks_destroy(struct rank_stacks *stacks); /* NULL is allowed */
/* A thread of a rank, with frames as in struct stack. ORTE_ERR_VALUE_OUT_OF_BOUNDS: there is no
 * such rank, the frames are too long, or it has too many threads. */
int rank_stacks_tell(struct rank_stacks *stacks, uint32_t rank, bool main,
                     const char *frames) KEEL_MUST_CHECK;
/* The rank has no stack. */
int rank_stacks_fail(struct rank_stacks *stacks, uint32_t rank, const char *why) KEEL_MUST_CHECK;
/* All, line by line: first threads first, the largest number of ranks first. verb: "are", or what
 * else they do there. */
void rank_stacks_print(const struct rank_stacks *stacks, const char *verb, rank_states_say *say,
                       void *arg);
/* The call that a program waits in: the outermost function of MPI, PMIx or Keel, else the
 * innermost. */
void rank_stacks_call(char *call, size_t size, const char *frames);

#endif
