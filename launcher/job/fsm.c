#include <config.h>

#include <launcher/job/fsm.h>

const struct fsm_row *fsm_row(const struct fsm *fsm, uint8_t state, uint8_t event)
{
    for (uint32_t i = 0; i < fsm->row_count; i++) {
        if (fsm->rows[i].state == state && fsm->rows[i].event == event) {
            return &fsm->rows[i];
        }
    }
    return NULL;
}

int fsm_take(const struct fsm *fsm, uint8_t *state, uint8_t event, const char *owner,
             struct fsm_watch *watch)
{
    const struct fsm_row *row = fsm_row(fsm, *state, event);
    if (!row) {
        log_trace(LOG_LAUNCHER, "%s%s: %s changes nothing in %s", fsm->of, owner,
                  fsm->events[event], fsm->states[*state]);
        return -1;
    }
    if (row->next != *state) {
        log_at(LOG_LAUNCHER, fsm->changes, "%s%s: %s -> %s (%s)", fsm->of, owner,
               fsm->states[*state], fsm->states[row->next], fsm->events[event]);
    }
    uint8_t before = *state;
    *state = row->next;
    if (watch && before != row->next) {
        watch->changed(watch, fsm, state, before, event, owner);
    }
    return row->action;
}
