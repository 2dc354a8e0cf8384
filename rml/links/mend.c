/* Links that broke: whoever made the link makes it again, the other end waits for that. Only when
 * neither comes to anything is the link down, and the peer perhaps gone. Everything here runs on
 * the loop.
 *
 * The HNP may be suspended: it answers nothing, and refuses nothing. It is waited for as long as it
 * may be silent. When it goes on, it gives the others the time to make their next attempt. */
#include <config.h>

#include <base/data/clock.h>
#include <base/data/crypto.h>
#include <base/loop/patience.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <rml/state/state.h>
#include <stdlib.h>

#define PATIENT_US UINT64_C(0x4000000000000000) /* for ever */
#define ROUND_TRIPS_MAX_US UINT64_C(15000000)   /* as silence by itself: then a peer has gone */

enum {
    LOOK_US = 10000,  /* between two looks at the broken links */
    REFUSALS_MAX = 3, /* in a row: nobody listens there any more */
};

/* Between attempts to make a link again. */
static const struct backoff between_attempts = {.base_us = 10000, .cap_us = 2000000};

static struct param reconnect = PARAM_INT(
    "rml_reconnect_ms", "500", 0, 3600000, "ms",
    "How long a link that broke may take to come again before it is down; eight of its round "
    "trips, if those are longer; that to keelrun: lifeline_grace, if that is longer");
PARAM_ROWS("rml", reconnect);

struct rml_break {
    struct list link; /* in rml->breaks */
    struct rml_peer *peer;
    struct oob_peer info;
    int status;
    uint64_t until_us;
    uint64_t again_us; /* the next attempt */
    struct backoff wait;
    unsigned refusals;
};

void rml_mend_forget_locked(struct rml_peer *peer)
{
    if (peer->broken) {
        list_remove(&peer->broken->link);
        free(peer->broken);
        peer->broken = NULL;
    }
}

/* How long a link may take to come again. To notice, connect and prove oneself takes about four
 * round trips. */
static uint64_t patience_locked(const struct rml *rml, const struct rml_peer *peer,
                                uint64_t round_trip_us)
{
    uint64_t patience =
        patience_after_round_trip(round_trip_us, rml->reconnect_us, ROUND_TRIPS_MAX_US);
    if (!peer->home && oob_stood_still(rml->oob, patience)) {
        patience += 2 * between_attempts.cap_us;
    }
    if (peer->home && rml_is_hnp(rml, &peer->name)) {
        uint64_t grace = rml_lifeline_grace_us();
        patience = grace == 0 ? PATIENT_US : grace > patience ? grace : patience;
    }
    return patience;
}

bool rml_mends_locked(const struct rml *rml, const struct rml_peer *peer)
{
    return rml->reconnect_us > 0 && !peer->ended && !rml->ending && rml->phase != RML_FINALIZED;
}

bool rml_mend_locked(struct rml *rml, struct rml_peer *peer, const struct oob_peer *info,
                     int status)
{
    if (status == ORTE_SUCCESS || status == ORTE_ERR_TIMEOUT || !rml_mends_locked(rml, peer)) {
        return false; /* an orderly end, a peer that answers nothing, or nobody who would mend */
    }
    struct rml_break *broken = calloc(1, sizeof(*broken));
    if (!broken) {
        return false;
    }
    uint64_t now = clock_us();
    broken->peer = peer;
    broken->info = *info;
    broken->status = status;
    broken->until_us = now + patience_locked(rml, peer, info->round_trip_us);
    broken->again_us = now;
    broken->wait = between_attempts;
    list_append(&rml->breaks, &broken->link);
    peer->broken = broken;
    peer->state = RML_PEER_NEW;
    loop_timer_start(&rml->mend_timer, 0);
    log_info(LOG_RML, "the link to %s broke: %s", ORTE_NAME_PRINT(&peer->name),
             opal_strerror(status));
    return true;
}

bool rml_mend_failed_locked(struct rml *rml, struct rml_peer *peer, int status)
{
    struct rml_break *broken = peer->broken;
    if (!broken) {
        return false;
    }
    broken->refusals = status == ORTE_ERR_CONNECTION_FAILED ? broken->refusals + 1 : 0;
    if (broken->refusals >= REFUSALS_MAX) {
        broken->until_us = 0;
    }
    broken->again_us = clock_us() + backoff_next(&broken->wait, &rml->chance);
    return true;
}

void rml_mend_give_up_locked(struct rml *rml, struct rml_peer *peer)
{
    peer->broken->until_us = 0;
    loop_timer_start(&rml->mend_timer, 0);
}

/* The next link whose time is over, off the list. */
static struct rml_break *take_over_locked(struct rml *rml, uint64_t now)
{
    struct rml_break *broken;
    list_for_each (broken, &rml->breaks, struct rml_break, link) {
        if (now >= broken->until_us && !broken->peer->dialing) {
            list_remove(&broken->link);
            broken->peer->broken = NULL;
            return broken;
        }
    }
    return NULL;
}

static void try_again_locked(struct rml *rml, uint64_t now)
{
    struct rml_break *broken;
    list_for_each (broken, &rml->breaks, struct rml_break, link) {
        struct rml_peer *peer = broken->peer;
        if (peer->home && !peer->dialing && now >= broken->again_us && now < broken->until_us &&
            rml_dial_home_locked(rml, peer) != ORTE_SUCCESS) {
            broken->again_us = now + backoff_next(&broken->wait, &rml->chance);
        }
    }
}

static void on_mend_timer(struct loop_timer *timer)
{
    struct rml *rml = container_of(timer, struct rml, mend_timer);
    uint64_t now = clock_us();
    struct rml_break *over;
    pthread_mutex_lock(&rml->lock);
    try_again_locked(rml, now);
    while ((over = take_over_locked(rml, now))) {
        pthread_mutex_unlock(&rml->lock);
        rml_link_is_down(rml, over->peer, &over->info, over->status);
        free(over);
        pthread_mutex_lock(&rml->lock);
    }
    if (!list_empty(&rml->breaks)) {
        loop_timer_start(&rml->mend_timer, LOOK_US);
    }
    pthread_mutex_unlock(&rml->lock);
}

void rml_mend_init(struct rml *rml)
{
    list_init(&rml->breaks);
    rml->reconnect_us = (uint64_t) param_int(&reconnect) * 1000u;
    crypto_random(&rml->chance, sizeof(rml->chance));
    loop_timer_init(&rml->mend_timer, rml->config.loop, on_mend_timer);
}

void rml_mend_fini(struct rml *rml)
{
    loop_timer_stop(&rml->mend_timer);
    for (struct list *link; (link = list_pop(&rml->breaks));) {
        free(container_of(link, struct rml_break, link));
    }
}
