/* Starts the other nodes' daemons, through agents. What a daemon must know, the job's key first of
 * all, goes to its standard input. */
#include <config.h>

#include <launcher/plm/plm.h>

#include <base/data/strings.h>
#include <base/settings/param.h>
#include <launcher/node/daemon.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const choices[] = {"auto", "slurm", "rsh", "ssh", NULL};
static struct param choice =
    PARAM_ENUM("plm", "auto", choices,
               "How daemons are started: by srun (slurm), by plm_rsh_agent (rsh or ssh), or (auto) "
               "by srun within a Slurm allocation");
PARAM_ROWS("launcher", choice);

enum plm_choice plm_choice(void)
{
    return (enum plm_choice) param_int(&choice);
}

void plm_init(struct plm *plm, struct loop *loop, struct shepherd *shepherd,
              struct channel_end *front, const struct plm_owner *owner, void *arg)
{
    *plm = (struct plm){
        .loop = loop, .shepherd = shepherd, .front = front, .owner = owner, .arg = arg};
    step_init(&plm->step, loop, front);
}

void plm_fini(struct plm *plm)
{
    plm_started(plm);
    step_fini(&plm->step);
    if (plm->ops && plm->ops->fini) {
        plm->ops->fini(plm);
    }
    crypto_wipe(plm->config.job.control_key, sizeof(plm->config.job.control_key));
}

void plm_fail(struct plm *plm, int exit_code, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    plm->owner->fail(plm->arg, exit_code, text);
}

const char *plm_node(const struct plm *plm, uint32_t vpid)
{
    return plm->owner->node(plm->arg, vpid);
}

bool plm_is_home(const struct plm *plm, uint32_t vpid)
{
    return plm->owner->is_home(plm->arg, vpid);
}

bool plm_is_slurm(const struct plm *plm)
{
    return plm->ops == &plm_slurm;
}

uint32_t plm_starter(const struct plm *plm, uint32_t vpid)
{
    return vpid < plm->rsh.size ? plm->rsh.starts[vpid].starter : 0;
}

void plm_start(struct plm *plm, const struct plm_config *config, char *keeld)
{
    bool again = plm->ops != NULL;
    plm->config = *config;
    plm->ops = config->slurm_job && plm_choice() < PLM_RSH ? &plm_slurm : &plm_rsh;
    (void) (again ? plm->ops->grow(plm, keeld) : plm->ops->start(plm, keeld));
}

void plm_lost(struct plm *plm, uint32_t vpid)
{
    if (plm->ops) {
        plm->ops->lost(plm, vpid);
    }
}

void plm_started(struct plm *plm)
{
    if (plm->ops && plm->ops->stop) {
        plm->ops->stop(plm);
    }
}

bool plm_end(struct plm *plm)
{
    plm->ending = true;
    return plm->ops && plm->ops->end && plm->ops->end(plm);
}

char *plm_home(const struct plm *plm, uint32_t vpid, size_t *size, char *reason, size_t reason_size)
{
    const struct plm_config *config = &plm->config;
    char *text = NULL;
    snprintf(reason, reason_size, "out of memory");
    struct home home = {
        .job = config->job,
        .count = config->count,
        .radix = config->radix,
        .contact = strdup(config->contact),
        .topology = config->topology,
        .settings = strings_copy(config->settings),
    };
    if (home.contact && home.settings && plm->ops->fill(plm, vpid, &home)) {
        text = home_print(&home, size, reason, reason_size);
    }
    home_fini(&home);
    return text;
}

static struct agent_watcher watcher_of(struct plm *plm, uint32_t id)
{
    return id == STEP_ID ? (struct agent_watcher){plm->ops->step, plm}
                         : (struct agent_watcher){&agents_ops, plm->rsh.agents};
}

static void agent_started(void *arg, uint32_t id, int input, int errors)
{
    struct agent_watcher watcher = watcher_of(arg, id);
    watcher.ops->started(watcher.arg, id, input, errors);
}

static void agent_failed(void *arg, uint32_t id, int error)
{
    struct agent_watcher watcher = watcher_of(arg, id);
    watcher.ops->failed(watcher.arg, id, error);
}

static void agent_exited(void *arg, uint32_t id, int wait_status)
{
    struct agent_watcher watcher = watcher_of(arg, id);
    watcher.ops->exited(watcher.arg, id, wait_status);
}

const struct agent_ops plm_agents = {
    .started = agent_started, .failed = agent_failed, .exited = agent_exited};

void plm_came_home(struct plm *plm, uint32_t vpid)
{
    if (plm->ops->came_home) {
        plm->ops->came_home(plm, vpid);
    }
}

void plm_unstarted(struct plm *plm, uint32_t starter, uint32_t vpid, const char *why)
{
    if (plm->ops && plm->ops->unstarted) {
        plm->ops->unstarted(plm, starter, vpid, why);
    }
}
