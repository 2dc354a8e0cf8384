/* State machines as tables: a row says what an event does in a state. An event without a row in the
 * present state changes nothing. */
#ifndef LAUNCHER_JOB_FSM_H
#define LAUNCHER_JOB_FSM_H

#include <base/settings/log.h>

struct fsm_row {
    uint8_t state, event, next, action;
};

struct fsm {
    const char *of;         /* whose states these are: in the log, in front of the owner's name */
    enum log_level changes; /* how a change is logged */
    const char *const *states, *const *events, *const *actions; /* names, by number */
    const struct fsm_row *rows;
    uint32_t row_count;
};

/* Somebody who is told of each change, after it. */
struct fsm_watch {
    /* state: the one that has changed; owner: as in fsm_take. */
    void (*changed)(struct fsm_watch *watch, const struct fsm *fsm, const uint8_t *state,
                    uint8_t before, uint8_t event, const char *owner);
};

/* The row of this state and event; NULL: there is none. */
const struct fsm_row *fsm_row(const struct fsm *fsm, uint8_t state, uint8_t event);
/* Sets the state by the row of this event, logs the change and tells the watch (NULL: nobody).
 * Returns the row's action, which is the caller's to do; -1: there is no row. */
int fsm_take(const struct fsm *fsm, uint8_t *state, uint8_t event, const char *owner,
             struct fsm_watch *watch);

#endif
