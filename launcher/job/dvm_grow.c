/* Daemons that are added while jobs run: they call home like the first ones, then the tree grows in
 * all others, and they join it, parents before those below them. */
#include <config.h>

#include <launcher/job/dvm_parts.h>

#include <stdio.h>
#include <stdlib.h>

bool dvm_grows(const struct dvm *dvm)
{
    return dvm->phase > DVM_STANDS && dvm->phase < DVM_OVER;
}

/* --- begin --- */

static int reserve(struct dvm *dvm, uint32_t count)
{
    struct dvm_user *user;
    int status = ORTE_SUCCESS;
    list_for_each (user, &dvm->users, struct dvm_user, link) {
        if (status == ORTE_SUCCESS && user->ops->grows) {
            status = user->ops->grows(user, count);
        }
    }
    return status;
}

static void take_back(struct dvm *dvm, uint32_t count)
{
    while (dvm->count > count) {
        free(dvm->daemons[--dvm->count].node);
        dvm->in_state[DAEMON_STARTING]--;
    }
}

int dvm_grow(struct dvm *dvm, const char *const *nodes, uint32_t count)
{
    uint32_t before = dvm->count;
    if (dvm->phase != DVM_STANDS) {
        return ORTE_ERR_NOT_AVAILABLE;
    }
    int status = reserve(dvm, before + count);
    for (uint32_t i = 0; i < count && status == ORTE_SUCCESS; i++) {
        status = dvm_add(dvm, nodes[i]);
    }
    if (status != ORTE_SUCCESS) {
        take_back(dvm, before);
        return status;
    }
    dvm->added = before;
    dvm_take(dvm, DVM_GROW);
    dvm_check(dvm);
    return ORTE_SUCCESS;
}

/* --- the others --- */

void dvm_announce(struct dvm *dvm)
{
    for (uint32_t vpid = 0; vpid < dvm->added; vpid++) {
        dvm_take_daemon(dvm, vpid, DAEMON_IS_TOLD);
    }
    dvm->ops->announce(dvm->arg);
}

void dvm_has_grown(struct dvm *dvm, uint32_t vpid)
{
    dvm_take_daemon(dvm, vpid, DAEMON_HAS_GROWN);
}

/* --- they join --- */

static void join_below(struct dvm *dvm, uint32_t parent)
{
    for (uint32_t vpid = dvm->added; vpid < dvm->count; vpid++) {
        if (dvm->daemons[vpid].state == DAEMON_HOME && dvm->ops->parent(dvm->arg, vpid) == parent) {
            dvm->ops->join(dvm->arg, vpid);
        }
    }
}

void dvm_join(struct dvm *dvm)
{
    for (uint32_t vpid = 0; vpid < dvm->added; vpid++) {
        if (!dvm_is_lost(dvm, vpid)) {
            join_below(dvm, vpid);
        }
    }
}

void dvm_lead(struct dvm *dvm, uint32_t vpid)
{
    if (dvm->phase == DVM_JOINING) {
        join_below(dvm, vpid);
    }
}

void dvm_grown(struct dvm *dvm)
{
    struct dvm_user *user;
    dvm->ops->stop_timer(dvm->arg, DVM_TIMER_START);
    list_for_each (user, &dvm->users, struct dvm_user, link) {
        user->ops->grown(user);
    }
}

/* --- too late --- */

static void lose_late(struct dvm *dvm, const char *what, uint64_t now_us)
{
    char why[160];
    enum daemon_state least = dvm->phase == DVM_ADDING ? DAEMON_HOME : DAEMON_WIRED;
    snprintf(why, sizeof(why), "%s within %u s (plm_start_timeout_s)", what,
             (unsigned) (dvm->limits.home_us / 1000000u));
    for (uint32_t vpid = dvm->added; vpid < dvm->count; vpid++) {
        if (dvm->daemons[vpid].state < least) {
            dvm_lost(dvm, vpid, why, now_us);
        }
    }
}

/* Those that are home go on without those that are not, with as much time again; so do those that
 * are waited for no more because others are lost. */
void dvm_grow_late(struct dvm *dvm, uint64_t now_us)
{
    static const char *const whats[] = {
        [DVM_ADDING] = "its daemon has not called home",
        [DVM_EXAMINING] = "a daemon that was added has not reported its node's processors",
        [DVM_ANNOUNCING] = "the tree of daemons has not grown",
        [DVM_JOINING] = "its daemon has not found its place in the tree",
    };
    uint8_t phase = dvm->phase;
    lose_late(dvm, whats[phase], now_us);
    if (dvm_grows(dvm) && (phase == DVM_ADDING || dvm->phase != phase)) {
        dvm->ops->set_timer(dvm->arg, DVM_TIMER_START, dvm->limits.home_us);
    } else {
        dvm_take(dvm, DVM_LATE);
    }
}
