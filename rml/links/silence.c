/* Silence on the edges of the daemons' tree, and between a rank and its daemon: which links are
 * watched, and how long each may be silent. A rank may be stopped, say by a debugger, for as long
 * as its user likes: its daemon, which knows its processes, does not mind. */
#include <config.h>

#include <base/settings/log.h>
#include <base/settings/param.h>
#include <rml/state/state.h>

static struct {
    struct param suspect, fail, grace;
} params = {
    .suspect = PARAM_INT("rml_suspect_ms", "5000", 0, 86400000, "ms",
                         "How long a daemon may be silent before it is suspected, and tried at its "
                         "other addresses (0: it never is)"),
    .fail = PARAM_INT("rml_fail_ms", "15000", 0, 86400000, "ms",
                      "How long a daemon may be silent before it is lost (0: it never is)"),
    .grace = PARAM_INT(
        "lifeline_grace", "60", 0, 86400, "s",
        "How long keelrun may be silent, say suspended, before the job's other processes end"),
};
PARAM_ROWS("rml", params);

uint64_t rml_lifeline_grace_us(void)
{
    return (uint64_t) param_int(&params.grace) * 1000000u;
}

uint64_t rml_suspicion_us(void)
{
    int64_t from_ms = param_int(&params.suspect), to_ms = param_int(&params.fail);
    return from_ms > 0 && to_ms > from_ms ? (uint64_t) (to_ms - from_ms) * 1000u : 0;
}

bool rml_is_hnp(const struct rml *rml, const orte_process_name_t *name)
{
    return name->jobid == rml_daemon_job(rml->config.name.jobid) && name->vpid == 0;
}

/* Of two limits, where 0 is none, the later one. */
static uint64_t later(uint64_t a_us, uint64_t b_us)
{
    return a_us == 0 || b_us == 0 ? 0 : a_us > b_us ? a_us : b_us;
}

void rml_silence_watch(struct rml *rml, struct oob_link *link, const struct oob_peer *info,
                       bool upstream)
{
    if (rml_is_daemon(rml) ? info->key != OOB_KEY_CONTROL : !upstream) {
        return;
    }
    uint64_t fail_us = (uint64_t) param_int(&params.fail) * 1000u;
    if (rml_is_hnp(rml, &info->name)) {
        fail_us = later(fail_us, rml_lifeline_grace_us());
    }
    oob_link_watch(link, (uint64_t) param_int(&params.suspect) * 1000u, fail_us);
}

void rml_tell_silence(struct rml *rml, const struct oob_peer *info, bool is_silent)
{
    log_info(LOG_RML, "%s %s", ORTE_NAME_PRINT(&info->name),
             is_silent ? "is silent" : "is heard again");
    pthread_mutex_lock(&rml->lock);
    bool tell = rml->config.silent && !rml->ending;
    pthread_mutex_unlock(&rml->lock);
    if (tell) {
        rml->config.silent(rml->config.arg, info, is_silent);
    }
}

/* Tries the peer's other addresses, for perhaps only one of several networks has failed. The end
 * that made the link does, which knows them. */
static void seek_detour_locked(struct rml *rml, struct rml_peer *peer)
{
    if (peer->home && !peer->dialing && rml_mends_locked(rml, peer) &&
        rml_dial_home_locked(rml, peer) != ORTE_SUCCESS) {
        log_debug(LOG_RML, "no memory for another link to %s", ORTE_NAME_PRINT(&peer->name));
    }
}

void rml_hear_silence(void *arg, struct oob_link *link, bool is_silent)
{
    struct rml *rml = arg;
    struct oob_peer info = *oob_link_peer(link);
    bool news = false;
    pthread_mutex_lock(&rml->lock);
    struct rml_peer *peer = rml_peer_find(&rml->peers, &info.name);
    if (peer && peer->link == link) {
        news = peer->silent != is_silent;
        peer->silent = is_silent;
        if (is_silent) {
            seek_detour_locked(rml, peer);
        }
    }
    pthread_mutex_unlock(&rml->lock);
    if (news) {
        rml_tell_silence(rml, &info, is_silent);
    }
}
