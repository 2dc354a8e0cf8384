/* Silence on the edges of the daemons' tree, and between a rank and its daemon: which links are
 * watched, and how long each may be silent. A rank may be stopped, say by a debugger, for as long
 * as its user likes: its daemon, which knows its processes, does not mind. */
#include <config.h>

#include <base/log.h>
#include <base/param.h>
#include <rml/state.h>

static struct param suspect = {
    .name = "rml_suspect_ms",
    .type = PARAM_INT,
    .default_text = "5000",
    .min = 0,
    .max = 86400000,
    .unit = "ms",
    .help = "How long a daemon may be silent before it is suspected (0: it never is)",
};
static struct param fail = {
    .name = "rml_fail_ms",
    .type = PARAM_INT,
    .default_text = "15000",
    .min = 0,
    .max = 86400000,
    .unit = "ms",
    .help = "How long a daemon may be silent before it is lost (0: it never is)",
};
static struct param grace = {
    .name = "lifeline_grace",
    .type = PARAM_INT,
    .default_text = "60",
    .min = 0,
    .max = 86400,
    .unit = "s",
    .help = "How long keelrun may be silent, say suspended, before the job's other processes end",
};

uint64_t rml_lifeline_grace_us(void)
{
    return (uint64_t) param_int(&grace) * 1000000u;
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
    uint64_t fail_us = (uint64_t) param_int(&fail) * 1000u;
    if (rml_is_hnp(rml, &info->name)) {
        fail_us = later(fail_us, rml_lifeline_grace_us());
    }
    oob_link_watch(link, (uint64_t) param_int(&suspect) * 1000u, fail_us);
}

void rml_on_silence(struct rml *rml,
                    void (*silent)(void *arg, const struct oob_peer *peer, bool is_silent),
                    void *arg)
{
    pthread_mutex_lock(&rml->lock);
    rml->silent = silent;
    rml->silent_arg = arg;
    pthread_mutex_unlock(&rml->lock);
}

void rml_hear_silence(void *arg, struct oob_link *link, bool is_silent)
{
    struct rml *rml = arg;
    struct oob_peer info = *oob_link_peer(link);
    log_info(LOG_RML, "%s %s", ORTE_NAME_PRINT(&info.name),
             is_silent ? "is silent" : "is heard again");
    pthread_mutex_lock(&rml->lock);
    void (*silent)(void *, const struct oob_peer *, bool) = rml->ending ? NULL : rml->silent;
    void *silent_arg = rml->silent_arg;
    pthread_mutex_unlock(&rml->lock);
    if (silent) {
        silent(silent_arg, &info, is_silent);
    }
}
