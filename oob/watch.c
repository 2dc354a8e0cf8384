/* Watched links: their peers are asked to answer once a beat, and links that stay silent end. */
#include <config.h>

#include <oob/endpoint.h>

#include <assert.h>
#include <base/data/clock.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

static struct param param_heartbeat = PARAM_INT(
    "oob_heartbeat_ms", "1000", 0, 3600000, "ms",
    "How often a watched control link is asked for a sign of life (0: silence is no fault)");
PARAM_ROWS("oob", param_heartbeat);

/* One link's turn; it may end. */
static void look(struct oob_link *link, uint64_t now_us)
{
    struct oob *oob = link->oob;
    enum pulse_verdict verdict = pulse_look(&link->pulse, &link->limits, oob->beat_us, now_us);
    switch (verdict) {
    case PULSE_WELL:
        return;
    case PULSE_FAILED:
        log_info(LOG_OOB, "%s has been silent for %.1f s", ORTE_NAME_PRINT(&link->peer.name),
                 (double) (now_us - link->pulse.heard_us) / 1e6);
        link_end(link, ORTE_ERR_TIMEOUT);
        return;
    case PULSE_SUSPECT:
    case PULSE_AGAIN:
    case PULSE_ASK:
        if (oob->ops->silent && (link->pulse.suspected || verdict == PULSE_AGAIN)) {
            oob->ops->silent(oob->arg, link, link->pulse.suspected);
        }
        break;
    }
    link_beat(link, OUTBOX_PING);
}

/* A callback may end any link: they are taken from the list one by one. */
static void on_beat(struct loop_timer *timer)
{
    struct oob *oob = container_of(timer, struct oob, beat);
    uint64_t now_us = clock_us();
    uint64_t stall_us = pulse_stall(oob->beat_last_us, oob->beat_us, now_us);
    oob->beat_last_us = now_us;
    oob->stalled_us = stall_us > 0 ? now_us : oob->stalled_us;
    struct list turn = LIST_INIT(turn), *first;
    list_splice(&turn, &oob->watched);
    while ((first = list_pop(&turn))) {
        struct oob_link *link = oob_link_ref(container_of(first, struct oob_link, watched));
        list_append(&oob->watched, &link->watched);
        pulse_credit(&link->pulse, stall_us, now_us);
        look(link, now_us);
        oob_link_unref(link);
    }
    if (stall_us > 0) {
        log_debug(LOG_OOB, "this process stood still for %.1f s", (double) stall_us / 1e6);
    }
    if (!list_empty(&oob->watched)) {
        loop_timer_start(&oob->beat, oob->beat_us);
    }
}

/* What is unacknowledged, or waits before a closed window, must not end the link sooner than
 * silence does. */
static void allow_silence(struct oob_link *link)
{
    uint64_t ms = link->limits.fail_us / 1000;
    const unsigned timeout_ms = ms < INT32_MAX ? (unsigned) ms : INT32_MAX;
    setsockopt(link->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms);
}

void oob_link_watch(struct oob_link *link, uint64_t suspect_us, uint64_t fail_us)
{
    struct oob *oob = link->oob;
    if (link->state != LINK_UP || oob->beat_us == 0) {
        return;
    }
    assert(loop_is_current(oob->loop));
    uint64_t now_us = clock_us();
    link->limits = (struct pulse_limits){suspect_us, fail_us};
    pulse_begin(&link->pulse, now_us);
    if (!link->is_unix) {
        allow_silence(link);
    }
    list_remove(&link->watched);
    list_append(&oob->watched, &link->watched);
    if (!oob->beat.started) {
        oob->beat_last_us = now_us;
        loop_timer_start(&oob->beat, oob->beat_us);
    }
}

bool watch_is_silent(const struct oob_link *link)
{
    uint64_t now_us = clock_us();
    return !list_empty(&link->watched) && link->limits.suspect_us > 0 &&
           now_us >= link->pulse.heard_us + link->limits.suspect_us / 2;
}

bool oob_stood_still(const struct oob *oob, uint64_t within_us)
{
    uint64_t now_us = clock_us();
    return (oob->beat.started && pulse_stall(oob->beat_last_us, oob->beat_us, now_us) > 0) ||
           (oob->stalled_us > 0 && now_us < oob->stalled_us + within_us);
}

void watch_init(struct oob *oob)
{
    list_init(&oob->watched);
    loop_timer_init(&oob->beat, oob->loop, on_beat);
    oob->beat_us = (uint64_t) param_int(&param_heartbeat) * 1000;
}

void watch_end(struct oob *oob)
{
    loop_timer_stop(&oob->beat);
}
