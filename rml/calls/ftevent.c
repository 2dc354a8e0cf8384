/* orte_rml.ft_event: a process that is about to be checkpointed, goes on, or was restarted.
 *
 * What is under way towards another process stays in its sender's memory until it has arrived, so a
 * checkpoint loses nothing whenever it is taken. Quiescing makes it cheap: what was accepted has
 * arrived, as far as that goes within a time, and nothing more of the application's leaves. */
#include <config.h>

#include <base/data/clock.h>
#include <base/data/crypto.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <rml/calls/calls.h>
#include <rml/state/state.h>
#include <rml/traffic/outgoing.h>
#include <stdlib.h>
#include <string.h>

#define HOME_US 5000000u /* for the link to the daemon to be made again, beyond its own time */

static struct param quiesce_timeout =
    PARAM_INT("rml_quiesce_timeout_ms", "5000", 0, 3600000, "ms",
              "How long ft_event waits at a checkpoint for accepted messages to arrive");
PARAM_ROWS("rml", quiesce_timeout);

/* --- holding --- */

static int quiesce(struct rml *rml)
{
    uint64_t deadline = clock_us() + (uint64_t) param_int(&quiesce_timeout) * 1000u;
    rml_hurry(rml);
    pthread_mutex_lock(&rml->lock);
    while (rml->sends_open > 0 && !rml->held && clock_us() < deadline) {
        rml_sleep_locked(rml, deadline);
    }
    rml->held = true;
    size_t left = rml->sends_open;
    pthread_mutex_unlock(&rml->lock);
    if (left > 0) {
        log_info(LOG_RML, "%zu messages are under way at the checkpoint; they are kept", left);
    }
    return ORTE_SUCCESS;
}

static void resume_locked(struct rml *rml)
{
    if (rml->held) {
        rml->held = false;
        rml_poke_all_locked(rml);
    }
}

void rml_resume(struct rml *rml)
{
    pthread_mutex_lock(&rml->lock);
    resume_locked(rml);
    pthread_mutex_unlock(&rml->lock);
}

/* --- beginning anew --- */

/* The links there are, taken under the lock to be broken without it. */
struct links {
    struct rml *rml;
    struct oob_link **links;
    size_t count;
};

static void restart_peer(struct rml_peer *peer, void *arg)
{
    struct links *links = arg;
    struct list ended = LIST_INIT(ended);
    if (peer->session) {
        rml_session_restart(peer->session, links->rml->config.epoch, &ended);
        rml_send_ended_locked(links->rml, &ended, ORTE_ERR_COMM_FAILURE);
    }
    for (int class = 0; class < OOB_CLASSES; class ++) {
        rml_assembly_abandon(&peer->assembly[class]);
    }
    peer->path = RML_PATH_NONE;
    if (peer->link) {
        links->links[links->count++] = oob_link_ref(peer->link);
    }
}

/* On the loop. Links break, and are made again by whoever made them, with the new incarnation.
 * Returns something to be freed; NULL: no memory, and nothing has happened. */
static char *begin_anew(struct rml *rml)
{
    struct links links = {.rml = rml};
    uint64_t epoch;
    crypto_random(&epoch, sizeof(epoch));
    char *done = strdup("done");
    pthread_mutex_lock(&rml->lock);
    links.links = calloc(rml->peers.table.count + 1, sizeof(*links.links));
    bool can = links.links && done;
    if (can) {
        rml->config.epoch = epoch | 1; /* never 0 */
        oob_renew(rml->oob, rml->config.epoch);
        rml_peers_each(&rml->peers, restart_peer, &links);
        resume_locked(rml);
    }
    pthread_mutex_unlock(&rml->lock);
    for (size_t i = 0; i < links.count; i++) {
        oob_link_break(links.links[i]);
        oob_link_unref(links.links[i]);
    }
    free(links.links);
    if (!can) {
        free(done);
        return NULL;
    }
    return done;
}

static void announce_peer(struct rml_peer *peer, void *arg)
{
    if (peer->session && rml_session_announce(peer->session, clock_us())) {
        rml_poke_locked(arg, peer);
    }
}

/* Those with whom messages were exchanged learn that this is another incarnation. */
static void announce(struct rml *rml)
{
    pthread_mutex_lock(&rml->lock);
    rml_peers_each(&rml->peers, announce_peer, rml);
    rml_care_for_posted_locked(rml);
    pthread_mutex_unlock(&rml->lock);
}

/* Waits for the link to the daemon, where there is one. */
static int wait_for_home(struct rml *rml)
{
    int status = ORTE_SUCCESS;
    uint64_t deadline = clock_us() + rml->reconnect_us + HOME_US;
    pthread_mutex_lock(&rml->lock);
    const struct rml_peer *home =
        rml->route.has_upstream ? rml_peer_find(&rml->peers, &rml->route.upstream) : NULL;
    while (home && home->state == RML_PEER_NEW && clock_us() < deadline) {
        rml_sleep_locked(rml, deadline);
    }
    if (home && home->state != RML_PEER_UP) {
        status = ORTE_ERR_COMM_FAILURE;
    }
    pthread_mutex_unlock(&rml->lock);
    return status;
}

static int restart(struct rml *rml)
{
    if (rml->reconnect_us == 0) {
        return ORTE_ERR_NOT_SUPPORTED; /* links are not made again */
    }
    char *done = rml_ask_loop(rml, begin_anew);
    if (!done) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    free(done);
    int status = wait_for_home(rml);
    announce(rml);
    return status;
}

int rml_call_ft_event(struct rml *rml, int state)
{
    if (state < OPAL_CRS_NONE || state > OPAL_CRS_ERROR) {
        return ORTE_ERR_BAD_PARAM;
    }
    if (rml->config.dispatch == RML_DISPATCH_LOOP) {
        return ORTE_ERR_NOT_SUPPORTED;
    }
    switch (state) {
    case OPAL_CRS_CHECKPOINT:
        return quiesce(rml);
    case OPAL_CRS_CONTINUE:
    case OPAL_CRS_RUNNING:
    case OPAL_CRS_ERROR:
        rml_resume(rml);
        return ORTE_SUCCESS;
    case OPAL_CRS_RESTART:
        return restart(rml);
    default:
        return ORTE_SUCCESS;
    }
}
