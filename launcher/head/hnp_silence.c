/* Daemons that do not answer. The user is told in one line for all of them, when a third of the
 * time from suspicion to loss is over, and at most once a minute: a machine that is busy for a
 * while, or a link that is made again over another network, is no news. */
#include <config.h>

#include <launcher/head/hnp.h>

#include <base/data/clock.h>
#include <launcher/request/nodes/hostlist.h>
#include <stdlib.h>

#define LASTS_US 5000000u /* at most this long before the user is told */
#define TELL_AGAIN_US 60000000u

static bool is_news(const struct peer *peer, bool is_silent)
{
    return peer->state != PEER_LOST && peer->silent == is_silent && peer->told_silent != is_silent;
}

/* One line about all whose state the user does not know. False: there are none. */
static bool tell(struct hnp *hnp, bool is_silent)
{
    static const char *const verbs[2][2] = {{"answer again", "answers again"},
                                            {"do not answer", "does not answer"}};
    const char **names = calloc(hnp->peer_count, sizeof(*names));
    uint32_t count = 0;
    for (uint32_t vpid = 0; names && vpid < hnp->peer_count; vpid++) {
        struct peer *peer = &hnp->peers[vpid];
        if (is_news(peer, is_silent)) {
            names[count++] = peer->node;
            peer->told_silent = is_silent;
        }
    }
    char *nodes = count > 0 ? hostlist_print(names, count) : NULL;
    if (count > 0) {
        bool one = count == 1;
        hnp_tell(hnp, "the daemon%s of node%s %s %s", one ? "" : "s", one ? "" : "s",
                 nodes ? nodes : "?", verbs[is_silent][one]);
    }
    free(nodes);
    free(names);
    return count > 0;
}

static void on_silence_timer(struct loop_timer *timer)
{
    struct hnp *hnp = container_of(timer, struct hnp, timers.silence);
    if (hnp->phase != PHASE_DONE && tell(hnp, true)) {
        hnp->silence_told_us = clock_us();
    }
}

void hnp_silence_init(struct hnp *hnp)
{
    loop_timer_init(&hnp->timers.silence, hnp->loop, on_silence_timer);
}

static void tell_later(struct hnp *hnp)
{
    uint64_t wait_us = rml_suspicion_us() / 3, now_us = clock_us();
    uint64_t next_us = hnp->silence_told_us ? hnp->silence_told_us + TELL_AGAIN_US : 0;
    wait_us = wait_us < LASTS_US ? wait_us : LASTS_US;
    wait_us = next_us > now_us + wait_us ? next_us - now_us : wait_us;
    if (!hnp->timers.silence.started) {
        loop_timer_start(&hnp->timers.silence, wait_us);
    }
}

void hnp_silence_over(struct hnp *hnp)
{
    for (uint32_t vpid = 0; vpid < hnp->peer_count; vpid++) {
        const struct peer *peer = &hnp->peers[vpid];
        if (peer->state != PEER_LOST && peer->silent && peer->told_silent) {
            return; /* the line waits for all */
        }
    }
    (void) tell(hnp, false);
}

static bool all_answer(const struct hnp *hnp)
{
    for (uint32_t vpid = 0; vpid < hnp->peer_count; vpid++) {
        if (hnp->peers[vpid].state != PEER_LOST && hnp->peers[vpid].silent) {
            return false;
        }
    }
    return true;
}

void hnp_peer_silent(struct hnp *hnp, uint32_t vpid, bool is_silent)
{
    struct peer *peer = &hnp->peers[vpid];
    if (peer->state == PEER_LOST || peer->silent == is_silent || hnp->phase == PHASE_DONE) {
        return;
    }
    peer->silent = is_silent;
    if (is_silent) {
        tell_later(hnp);
        return;
    }
    if (all_answer(hnp)) {
        loop_timer_stop(&hnp->timers.silence);
    }
    hnp_silence_over(hnp);
}
