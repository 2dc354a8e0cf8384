/* A daemon that is lost: the others learn of it, those below it find a new parent, and the jobs are
 * told. */
#include <config.h>

#include <launcher/job/dvm_parts.h>

#include <stdlib.h>
#include <string.h>

/* --- the tree --- */

static void look_later(struct dvm *dvm, uint64_t now_us)
{
    uint64_t first = UINT64_MAX;
    for (uint32_t vpid = 1; vpid < dvm->count; vpid++) {
        uint64_t until = dvm->daemons[vpid].homeless_until;
        first = until > 0 && until < first ? until : first;
    }
    if (first < UINT64_MAX) {
        dvm->ops->set_timer(dvm->arg, DVM_TIMER_REPAIR, first > now_us ? first - now_us : 0);
    } else {
        dvm->ops->stop_timer(dvm->arg, DVM_TIMER_REPAIR);
    }
}

/* Is it linked to its parent, or to be? Those that are added have none before they join. */
static bool has_parent(const struct dvm *dvm, uint32_t vpid)
{
    uint8_t state = dvm->daemons[vpid].state;
    return state == DAEMON_WIRED || state == DAEMON_GROWING ||
           (state == DAEMON_HOME && dvm->phase == DVM_JOINING);
}

/* Its children are to find another parent. */
static void repair(struct dvm *dvm, uint32_t lost)
{
    if (lost == 0 || !dvm_stands(dvm)) {
        return;
    }
    dvm->daemons[lost].homeless_until = 0;
    for (uint32_t vpid = lost + 1; vpid < dvm->count; vpid++) {
        if (has_parent(dvm, vpid) && dvm->ops->parent(dvm->arg, vpid) == lost) {
            dvm->daemons[vpid].homeless_until = dvm->now_us + dvm->limits.repair_us;
        }
    }
    dvm->ops->forget(dvm->arg, lost);
    look_later(dvm, dvm->now_us);
}

/* Whoever was to find a parent by then is lost as well. */
static void lose_homeless(struct dvm *dvm, uint64_t by_us, uint64_t now_us)
{
    for (uint32_t vpid = 1; vpid < dvm->count; vpid++) {
        uint64_t until = dvm->daemons[vpid].homeless_until;
        if (until > 0 && until <= by_us) {
            dvm_lost(dvm, vpid,
                     "its parent in the tree was lost, and it has found no other in time "
                     "(routed_repair_timeout_ms)",
                     now_us);
        }
    }
    if (dvm_stands(dvm)) {
        look_later(dvm, now_us);
    }
}

void dvm_repair_due(struct dvm *dvm, uint64_t now_us)
{
    lose_homeless(dvm, now_us, now_us);
}

void dvm_lose_homeless(struct dvm *dvm, uint64_t now_us)
{
    lose_homeless(dvm, UINT64_MAX, now_us);
}

void dvm_rehomed(struct dvm *dvm, uint32_t vpid, uint64_t now_us)
{
    dvm->daemons[vpid].homeless_until = 0;
    dvm_silent(dvm, vpid, false, now_us); /* whoever said that it was is lost */
}

/* --- what jobs are told --- */

static void tell(struct dvm *dvm, uint32_t vpid, const char *why)
{
    struct dvm_user *user;
    list_for_each (user, &dvm->users, struct dvm_user, link) {
        user->ops->lost(user, vpid, why);
    }
}

void dvm_tell_loss(struct dvm *dvm, uint32_t vpid)
{
    const char *why = dvm->daemons[vpid].why;
    char text[256];
    tell(dvm, vpid, dvm->ops->explain(dvm->arg, vpid, why ? why : "", text, sizeof(text)));
}

void dvm_lose(struct dvm *dvm, uint32_t vpid)
{
    dvm_silence_over(dvm);
    repair(dvm, vpid);
    dvm_tell_loss(dvm, vpid);
}

void dvm_lose_for_now(struct dvm *dvm, uint32_t vpid)
{
    dvm_silence_over(dvm);
    repair(dvm, vpid);
    tell(dvm, vpid, NULL);
}

void dvm_explained(struct dvm *dvm)
{
    for (uint32_t vpid = 0; vpid < dvm->count; vpid++) {
        dvm_take_daemon(dvm, vpid, DAEMON_IS_EXPLAINED);
    }
}

/* --- the event --- */

static bool any_runs(const struct dvm *dvm)
{
    const struct dvm_user *user;
    list_for_each (user, &dvm->users, struct dvm_user, link) {
        if (user->ops->runs(user)) {
            return true;
        }
    }
    return false;
}

/* Which loss is it? A job that has not begun, or ends already, waits for no reasons. Where one
 * agent starts all daemons, it ends them when one of them cannot start, and says which: that is the
 * reason, not the loss of those that had come home. */
static enum daemon_event loss(struct dvm *dvm, uint32_t vpid)
{
    bool starting = dvm->phase == DVM_STARTING && dvm->in_state[DAEMON_STARTING] > 0;
    if (vpid > 0 && starting && dvm->ops->start_together(dvm->arg)) {
        return DAEMON_IS_LOST_WITH_ALL;
    }
    bool wait = dvm->daemons[vpid].state >= DAEMON_WIRED && any_runs(dvm);
    return dvm->ops->awaits_reason(dvm->arg, wait) ? DAEMON_IS_LOST_FOR_NOW : DAEMON_IS_LOST;
}

uint32_t dvm_first_said(const struct dvm *dvm)
{
    for (uint32_t vpid = 1; vpid < dvm->count; vpid++) {
        if (dvm->daemons[vpid].said && dvm_lives(dvm, vpid)) {
            return vpid;
        }
    }
    return 0;
}

void dvm_said(struct dvm *dvm, uint32_t vpid, const char *how)
{
    struct dvm_daemon *daemon = &dvm->daemons[vpid];
    daemon->said = daemon->said ? daemon->said : strdup(how);
}

void dvm_lost(struct dvm *dvm, uint32_t vpid, const char *why, uint64_t now_us)
{
    dvm->ops->read_reasons(dvm->arg);
    uint32_t first = dvm->daemons[vpid].said ? 0 : dvm_first_said(dvm);
    if (first > 0) { /* this one was ended because of it, and its link is still tried */
        dvm_lost(dvm, first, "", now_us);
    }
    if (dvm_is_lost(dvm, vpid) || dvm->phase == DVM_OVER) {
        return;
    }
    log_info(LOG_LAUNCHER, "lost the daemon of node %s: %s", dvm->daemons[vpid].node, why);
    enum daemon_event event = loss(dvm, vpid);
    free(dvm->daemons[vpid].why);
    dvm->daemons[vpid].why = strdup(why);
    dvm->now_us = now_us;
    dvm_take_daemon(dvm, vpid, event);
}

/* Only my children in the tree keep a link to me; the others close theirs when they are linked to
 * their parents, which may be before they say so. A daemon that has not called home yet tries
 * again. */
bool dvm_needs_link(const struct dvm *dvm, uint32_t vpid, bool closed)
{
    bool links = dvm->phase == DVM_WIRING || dvm->phase == DVM_JOINING;
    uint8_t state = dvm->daemons[vpid].state;
    return (state != DAEMON_STARTING && dvm->ops->parent(dvm->arg, vpid) == 0) ||
           (state == DAEMON_HOME && !(links && closed));
}
