/* Named fault points: places where a test or a user can make Keel fail on purpose.
 *
 *   --mca fault "POINT:ACTION[=VALUE][:p=P][:seed=N][:after=N]; ..."
 *
 * Actions: error=NAME (an errno's name), drop, delay=MILLISECONDS, short=BYTES, duplicate, early
 * (a callback before its call returns), reorder (behind the next), corrupt (a bit), kill (this
 * process). p: the probability (default 1), drawn
 * from a generator seeded with seed; after: the number of passes that do nothing first. A point
 * that is not named costs one predictable branch.
 */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <keel/types.h>

enum fault_action {
    FAULT_NONE,
    FAULT_ERROR,
    FAULT_DROP,
    FAULT_DELAY,
    FAULT_SHORT,
    FAULT_KILL,
    FAULT_DUPLICATE,
    FAULT_EARLY,
    FAULT_REORDER,
    FAULT_CORRUPT
};

struct fault {
    enum fault_action action;
    int64_t value; /* errno, milliseconds or bytes */
};

extern bool fault_enabled; /* some point is named; set by fault_open */

/* Reads the parameter "fault". An error in it, such as a point that base/settings/fault_points.h
 * does not have, is ORTE_ERR_BAD_PARAM with the reason. */
int fault_open(char *reason, size_t size) KEEL_MUST_CHECK;
/* For tests: sets the rules from a text instead, whose points may be any; NULL removes them. */
int fault_set(const char *rules) KEEL_MUST_CHECK;
struct fault fault_draw(const char *point);
struct fault fault_draw_unslept(const char *point);
/* Whether a rule names a point with this prefix. */
bool fault_names(const char *prefix);

/* At a point: what to do on this pass. DELAY has been slept and KILL done when it returns. */
static inline struct fault fault_at(const char *point)
{
    return fault_enabled ? fault_draw(point) : (struct fault){FAULT_NONE, 0};
}

/* The same for a point that delays by itself: nothing was slept. */
static inline struct fault fault_ask(const char *point)
{
    return fault_enabled ? fault_draw_unslept(point) : (struct fault){FAULT_NONE, 0};
}

#endif
