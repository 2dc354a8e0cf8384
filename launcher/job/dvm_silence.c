/* Daemons that do not answer. The user is told in one line for all of them, when a third of the
 * time from suspicion to loss is over, and at most once a minute: a machine that is busy for a
 * while, or a link that is made again over another network, is no news. */
#include <config.h>

#include <launcher/job/dvm_parts.h>

#include <stdio.h>
#include <stdlib.h>

#define LASTS_US 5000000u /* at most this long before the user is told */
#define TELL_AGAIN_US 60000000u

static bool is_silent_now(const struct dvm *dvm, uint32_t vpid)
{
    return !dvm_is_lost(dvm, vpid) && dvm->daemons[vpid].silent;
}

static bool is_news(const struct dvm *dvm, uint32_t vpid, bool is_silent)
{
    const struct dvm_daemon *daemon = &dvm->daemons[vpid];
    return !dvm_is_lost(dvm, vpid) && daemon->silent == is_silent &&
           daemon->told_silent != is_silent;
}

static bool is_newly_silent(const void *arg, uint32_t vpid)
{
    return is_news(arg, vpid, true);
}

static bool is_newly_heard(const void *arg, uint32_t vpid)
{
    return is_news(arg, vpid, false);
}

/* One line about all whose state the user does not know. False: there are none. */
static bool tell(struct dvm *dvm, bool is_silent)
{
    static const char *const verbs[2][2] = {{"answer again", "answers again"},
                                            {"do not answer", "does not answer"}};
    uint32_t count;
    char *nodes = dvm_name_nodes(dvm, is_silent ? is_newly_silent : is_newly_heard, dvm, &count);
    char text[1024];
    bool one = count == 1;
    snprintf(text, sizeof(text), "the daemon%s of node%s %s %s", one ? "" : "s", one ? "" : "s",
             nodes ? nodes : "?", verbs[is_silent][one]);
    free(nodes);
    for (uint32_t vpid = 0; vpid < dvm->count; vpid++) {
        if (is_news(dvm, vpid, is_silent)) {
            dvm->daemons[vpid].told_silent = is_silent;
        }
    }
    if (count > 0) {
        dvm->ops->tell(dvm->arg, text);
    }
    return count > 0;
}

void dvm_silence_due(struct dvm *dvm, uint64_t now_us)
{
    dvm->silence_due = false;
    if (dvm->phase != DVM_OVER && tell(dvm, true)) {
        dvm->silence_told_us = now_us;
    }
}

static void tell_later(struct dvm *dvm, uint64_t now_us)
{
    uint64_t wait_us = dvm->limits.suspicion_us / 3;
    uint64_t next_us = dvm->silence_told_us ? dvm->silence_told_us + TELL_AGAIN_US : 0;
    wait_us = wait_us < LASTS_US ? wait_us : LASTS_US;
    wait_us = next_us > now_us + wait_us ? next_us - now_us : wait_us;
    if (!dvm->silence_due) {
        dvm->ops->set_timer(dvm->arg, DVM_TIMER_SILENCE, wait_us);
    }
    dvm->silence_due = true;
}

void dvm_silence_over(struct dvm *dvm)
{
    for (uint32_t vpid = 0; vpid < dvm->count; vpid++) {
        if (is_silent_now(dvm, vpid) && dvm->daemons[vpid].told_silent) {
            return; /* the line waits for all */
        }
    }
    (void) tell(dvm, false);
}

static bool all_answer(const struct dvm *dvm)
{
    for (uint32_t vpid = 0; vpid < dvm->count; vpid++) {
        if (is_silent_now(dvm, vpid)) {
            return false;
        }
    }
    return true;
}

void dvm_silent(struct dvm *dvm, uint32_t vpid, bool is_silent, uint64_t now_us)
{
    struct dvm_daemon *daemon = &dvm->daemons[vpid];
    if (dvm_is_lost(dvm, vpid) || daemon->silent == is_silent || dvm->phase == DVM_OVER) {
        return;
    }
    daemon->silent = is_silent;
    if (is_silent) {
        tell_later(dvm, now_us);
        return;
    }
    if (all_answer(dvm)) {
        dvm->silence_due = false;
        dvm->ops->stop_timer(dvm->arg, DVM_TIMER_SILENCE);
    }
    dvm_silence_over(dvm);
}
