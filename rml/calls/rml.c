/* One process's RML: making and ending it, its routes and its settings. */
#include <config.h>

#include <base/data/clock.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <rml/broadcast/xcast.h>
#include <rml/calls/calls.h>
#include <rml/state/state.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct param pending_max, unexpected_max, window, give_up, compress_min, unpack_max,
        finalize_timeout;
} params = {
    .pending_max =
        PARAM_SIZE("rml_pending_max", "64m", 0, INT64_C(1) << 40,
                   "Most bytes that wait in a daemon for one process whose link is not up yet"),
    .unexpected_max = PARAM_SIZE("rml_unexpected_max", "64m", 0, INT64_C(1) << 40,
                                 "Most bytes of one process's messages that wait unread, and in a "
                                 "daemon of all ranks' and tools'; then their senders wait"),
    .window = PARAM_SIZE(
        "rml_window", "4m", RML_WINDOW_MIN, INT64_C(1) << 30,
        "Most bytes that a process has sent to another in one class and that have not arrived"),
    .give_up = PARAM_INT("rml_give_up_s", "300", 0, 1000000, "s",
                         "How long a process that is reached over others may stay silent before "
                         "messages to it fail (0: for ever)"),
    .compress_min =
        PARAM_SIZE("rml_compress_min", "4k", 0, INT32_MAX,
                   "Control messages from this size on are compressed where that helps (0: none)"),
    .unpack_max = PARAM_SIZE("rml_unpack_max", "1g", 0, INT32_MAX,
                             "The largest size of a compressed control message that is believed; "
                             "of one that no daemon sent also rml_unexpected_max"),
    .finalize_timeout =
        PARAM_INT("rml_finalize_timeout_ms", "5000", 0, 3600000, "ms",
                  "How long the end of communication waits for accepted messages to arrive"),
};
PARAM_ROWS("rml", params);

/* --- life --- */

static struct rml *make(const struct rml_config *config)
{
    struct rml *rml = calloc(1, sizeof(*rml));
    if (!rml) {
        return NULL;
    }
    rml->config = *config;
    rml->config.unix_dir = NULL; /* the copy below is meant */
    if (config->unix_dir) {
        rml->unix_dir = strdup(config->unix_dir);
        if (!rml->unix_dir) {
            free(rml);
            return NULL;
        }
    }
    pthread_mutex_init(&rml->send_lock, NULL);
    pthread_mutex_init(&rml->lock, NULL);
    rml_dispatch_init(rml);
    rml_match_init(&rml->match, rml_matched, rml);
    rml_route_init(&rml->route, &config->name, rml_is_daemon(rml), config->radix);
    rml->route.job_size = config->job_size;
    list_init(&rml->dials);
    rml_resolve_init(rml);
    rml->pending_max = (size_t) param_int(&params.pending_max);
    rml->unexpected_max = (size_t) param_int(&params.unexpected_max);
    rml->window = (uint64_t) param_int(&params.window);
    rml->compress_min = (size_t) param_int(&params.compress_min);
    rml->unpack_max = (size_t) param_int(&params.unpack_max);
    rml->give_up_us = (uint64_t) param_int(&params.give_up) * 1000000u;
    rml_flow_init(rml);
    rml_exceptions_init(rml);
    rml_mend_init(rml);
    rml_ends_init(rml);
    rml_frames_init(rml);
    return rml;
}

static void fail_pending(struct rml_peer *peer, void *arg)
{
    struct list frames = LIST_INIT(frames);
    struct rml *rml = arg;
    pthread_mutex_lock(&rml->lock);
    rml_unpend_locked(peer, &frames);
    pthread_mutex_unlock(&rml->lock);
    rml_fail_frames(&frames, ORTE_ERR_COMM_FAILURE);
}

void rml_destroy(struct rml *rml)
{
    if (!rml) {
        return;
    }
    pthread_mutex_lock(&rml->lock);
    rml->watcher_count = 0;
    rml->ending = true;
    pthread_mutex_unlock(&rml->lock);
    oob_destroy(rml->oob);
    rml_dials_fini(rml);
    rml_mend_fini(rml);
    rml_ends_fini(rml);
    rml_frames_fini(rml);
    rml_resolve_fini(rml);
    rml_peers_each(&rml->peers, fail_pending, rml);
    rml_flow_fini(rml);
    rml_dispatch_fini(rml);
    rml_exceptions_fini(rml);
    rml_xcast_fini(rml);
    rml_receives_fini(rml);
    rml_route_fini(&rml->route);
    rml_peers_fini(&rml->peers);
    pthread_mutex_destroy(&rml->lock);
    pthread_mutex_destroy(&rml->send_lock);
    free(rml->unix_dir);
    free(rml);
}

int rml_create(struct rml **rml, const struct rml_config *config, char *reason, size_t size)
{
    struct rml *made = make(config);
    if (!made) {
        snprintf(reason, size, "no memory");
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    struct oob_config oob = {
        .loop = config->loop,
        .name = config->name,
        .epoch = config->epoch,
        .ops = &rml_oob_ops,
        .arg = made,
    };
    int status = oob_create(&made->oob, &oob, reason, size);
    if (status != ORTE_SUCCESS) {
        made->oob = NULL;
        rml_destroy(made);
        return status;
    }
    status = rml_xcast_init(made);
    if (status != ORTE_SUCCESS) {
        snprintf(reason, size, "no memory");
        rml_destroy(made);
        return status;
    }
    *rml = made;
    return ORTE_SUCCESS;
}

struct oob *rml_oob(struct rml *rml)
{
    return rml->oob;
}

/* --- routes --- */

void rml_route_default(struct rml *rml, const orte_process_name_t *daemon)
{
    pthread_mutex_lock(&rml->lock);
    rml->route.upstream = *daemon;
    rml->route.has_upstream = true;
    struct rml_peer *peer = rml_peer_get(&rml->peers, daemon);
    if (peer) {
        peer->upstream = true;
        rml->upstream_down = peer->state == RML_PEER_DOWN;
        if (rml->upstream_down) {
            rml_fail_receives_locked(rml);
        } else {
            rml_care_for_posted_locked(rml);
        }
    }
    rml_poke_all_locked(rml);
    pthread_mutex_unlock(&rml->lock);
}

void rml_cut_off(struct rml *rml)
{
    pthread_mutex_lock(&rml->lock);
    rml->upstream_down = true;
    rml_fail_receives_locked(rml);
    pthread_mutex_unlock(&rml->lock);
}

void rml_route_tree(struct rml *rml, uint32_t count)
{
    pthread_mutex_lock(&rml->lock);
    rml_tree_fini(&rml->route.tree);
    rml_tree_init(&rml->route.tree, rml->route.tree.radix, count);
    rml_poke_all_locked(rml);
    pthread_mutex_unlock(&rml->lock);
    rml_xcast_children(rml, UINT32_MAX);
}

int rml_grow_tree(struct rml *rml, uint32_t count)
{
    pthread_mutex_lock(&rml->lock);
    int status = rml_tree_grow(&rml->route.tree, count);
    rml_poke_all_locked(rml);
    pthread_mutex_unlock(&rml->lock);
    if (status == ORTE_SUCCESS) {
        rml_xcast_children(rml, UINT32_MAX);
    }
    return status;
}

/* Frames for ranks of a job that have never had a link. */
struct waiting {
    orte_jobid_t job;
    struct list frames;
};

static void take_waiting(struct rml_peer *peer, void *arg)
{
    struct waiting *waiting = arg;
    if (peer->name.jobid == waiting->job) {
        rml_unpend_locked(peer, &waiting->frames);
    }
}

int rml_route_job(struct rml *rml, orte_jobid_t job, uint32_t size, const uint32_t *daemon_of)
{
    struct waiting waiting = {.job = job};
    list_init(&waiting.frames);
    pthread_mutex_lock(&rml->lock);
    int status = rml_route_set_job(&rml->route, job, size, daemon_of);
    if (job == (rml_daemon_job(job) | 1)) {
        rml_pass_early_locked(rml);
    }
    if (!daemon_of) {
        rml_peers_each(&rml->peers, take_waiting, &waiting);
    }
    rml_poke_all_locked(rml);
    pthread_mutex_unlock(&rml->lock);
    rml_fail_frames(&waiting.frames, ORTE_ERR_COMM_FAILURE);
    return status;
}

int rml_route_whole_job(struct rml *rml, orte_jobid_t job, uint32_t daemon)
{
    pthread_mutex_lock(&rml->lock);
    int status = rml_route_set_whole_job(&rml->route, job, daemon);
    pthread_mutex_unlock(&rml->lock);
    return status;
}

/* --- settings --- */

void rml_watch_links(struct rml *rml,
                     void (*changed)(void *arg, const struct oob_peer *peer, int status), void *arg)
{
    bool full = false;
    pthread_mutex_lock(&rml->lock);
    if (changed) {
        full = rml->watcher_count == RML_WATCHERS_MAX;
        if (!full) {
            rml->watchers[rml->watcher_count++] = (struct rml_watcher){changed, arg};
        }
    } else {
        size_t kept = 0;
        for (size_t i = 0; i < rml->watcher_count; i++) {
            if (arg && rml->watchers[i].arg != arg) {
                rml->watchers[kept++] = rml->watchers[i];
            }
        }
        rml->watcher_count = kept;
    }
    pthread_mutex_unlock(&rml->lock);
    if (full) {
        log_error(LOG_RML, "too many watch the links");
    }
}

/* --- names --- */

void rml_rename(struct rml *rml, const orte_process_name_t *name)
{
    oob_rename(rml->oob, name);
    pthread_mutex_lock(&rml->lock);
    rml->config.name = *name;
    rml->route.me = *name;
    pthread_mutex_unlock(&rml->lock);
}

/* One thread asks; whoever comes meanwhile is told that a name is not to be had twice. */
int rml_call_get_new_name(struct rml *rml, orte_process_name_t *name)
{
    orte_process_name_t given;
    if (!name) {
        return ORTE_ERR_BAD_PARAM;
    }
    pthread_mutex_lock(&rml->lock);
    bool may = rml->config.ask_name && !rml->naming;
    rml->naming = rml->naming || may;
    pthread_mutex_unlock(&rml->lock);
    if (!may) {
        return ORTE_ERR_NOT_SUPPORTED;
    }
    int status = rml->config.ask_name(rml->config.arg, &given);
    pthread_mutex_lock(&rml->lock);
    rml->naming = false;
    if (status == ORTE_SUCCESS) {
        rml->config.ask_name = NULL;
    }
    pthread_mutex_unlock(&rml->lock);
    if (status == ORTE_SUCCESS) {
        *name = given;
    }
    return status;
}

/* --- enabling and ending --- */

static enum rml_phase phase_of(struct rml *rml)
{
    pthread_mutex_lock(&rml->lock);
    enum rml_phase phase = rml->phase;
    pthread_mutex_unlock(&rml->lock);
    return phase;
}

static void set_phase(struct rml *rml, enum rml_phase phase)
{
    pthread_mutex_lock(&rml->lock);
    rml->phase = phase;
    pthread_mutex_unlock(&rml->lock);
}

bool rml_is_enabled(struct rml *rml)
{
    return phase_of(rml) == RML_ENABLED;
}

bool rml_is_finalized(struct rml *rml)
{
    return phase_of(rml) == RML_FINALIZED;
}

int rml_call_enable_comm(struct rml *rml)
{
    enum rml_phase phase = phase_of(rml);
    if (phase == RML_FINALIZED) {
        return ORTE_ERR_COMM_DISABLED;
    }
    bool asks = phase == RML_QUIET && rml->config.enable;
    int status = asks ? rml->config.enable(rml->config.arg) : ORTE_SUCCESS;
    if (status == ORTE_SUCCESS) {
        set_phase(rml, RML_ENABLED);
    }
    return status;
}

void rml_flush(struct rml *rml)
{
    uint64_t deadline = clock_us() + (uint64_t) param_int(&params.finalize_timeout) * 1000u;
    if (loop_is_current(rml->config.loop)) {
        return; /* nobody else would write */
    }
    rml_resume(rml);
    rml_hurry(rml);
    pthread_mutex_lock(&rml->lock);
    while (rml->sends_open > 0 && clock_us() < deadline) {
        rml_sleep_locked(rml, deadline);
    }
    size_t left = rml->sends_open;
    pthread_mutex_unlock(&rml->lock);
    if (left > 0) {
        log_warn(LOG_RML, "%zu messages have not arrived at the end", left);
    }
}

int rml_call_finalize(struct rml *rml)
{
    set_phase(rml, RML_FINALIZED);
    rml_flush(rml);
    rml_fail_sessions(rml, ORTE_ERR_UNREACH); /* what has not arrived by now */
    rml_drop_receives(rml);
    (void) rml_progress(rml); /* the callbacks of what was flushed */
    return ORTE_SUCCESS;
}
