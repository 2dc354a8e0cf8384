/* In a Slurm allocation one srun starts the daemons of all nodes, as a step of the job. Its
 * standard input, which srun gives to every task, tells all of them the same; each looks up its own
 * node. */
#include <config.h>

#include <launcher/plm/plm.h>

#include <base/data/strings.h>
#include <base/net/sock.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <launcher/node/daemon.h>
#include <launcher/request/nodes/hostlist.h>
#include <launcher/request/run_request.h>
#include <launcher/shepherd/program.h>
#include <launcher/shepherd/vars.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct param slurm_args =
    PARAM_STRING("plm_slurm_args", "--overlap --cpu-bind=none",
                 "More options for the srun that starts the daemons in a Slurm allocation");
PARAM_ROWS("launcher", slurm_args);

/* The names of all nodes but keelrun's, by vpid; malloc'd, NULL: no memory. */
static char *node_list(const struct plm *plm)
{
    const char **names = calloc(plm->step_count, sizeof(*names));
    for (uint32_t vpid = 1; names && vpid < plm->step_count; vpid++) {
        names[vpid - 1] = plm_node(plm, vpid);
    }
    char *list = names ? hostlist_print(names, plm->step_count - 1) : NULL;
    free(names);
    return list;
}

static bool all_are_home(const struct plm *plm)
{
    for (uint32_t vpid = 1; vpid < plm->step_count; vpid++) {
        if (!plm_is_home(plm, vpid)) {
            return false;
        }
    }
    return true;
}

/* The nodes whose daemons have not called home, in short; malloc'd, NULL: no memory. */
static char *nodes_not_home(const struct plm *plm, uint32_t *count)
{
    const char **names = calloc(plm->step_count, sizeof(*names));
    *count = 0;
    for (uint32_t vpid = 1; names && vpid < plm->step_count; vpid++) {
        if (!plm_is_home(plm, vpid)) {
            names[(*count)++] = plm_node(plm, vpid);
        }
    }
    char *text = names ? hostlist_print(names, *count) : NULL;
    free(names);
    return text;
}

/* What is said on the command line counts more than variables, so what the user's environment or
 * the site says of steps in general is overruled. One daemon for each of so many nodes, which gets
 * all that the job has there, beside other steps of the job. */
static void begin_command(struct vars *words, const struct plm *plm, uint32_t nodes)
{
    static const char *const fixed[] = {"srun",         "--ntasks-per-node=1", "--chdir=/",
                                        "--export=ALL", "--input=all",         "--mpi=none",
                                        "--quiet"};
    for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++) {
        vars_append(words, strdup(fixed[i]));
    }
    vars_format(words, "--jobid=%s", plm->config.slurm_job);
    vars_format(words, "--nodes=%u", nodes);
    vars_format(words, "--ntasks=%u", nodes);
}

/* The user's options, and the last word. */
static bool end_command(struct vars *words, const char *last)
{
    char **extra = NULL;
    bool whole = agent_split(&extra, param_string(&slurm_args));
    for (char **word = extra; word && *word; word++) {
        vars_append(words, strdup(*word));
    }
    vars_append(words, strdup(last));
    strings_free(extra);
    return whole && !words->failed;
}

/* A daemon that ends does not end the others before keelrun could. */
static bool make_command(struct vars *words, const struct plm *plm, const char *nodes,
                         const char *keeld)
{
    begin_command(words, plm, plm->step_count - 1);
    vars_append(words, strdup("--kill-on-bad-exit=0"));
    if (plm->config.outlives_daemons) { /* the step outlives nodes and daemons */
        vars_append(words, strdup("--no-kill"));
        vars_append(words, strdup("--wait=0"));
    } else {
        vars_format(words, "--wait=%u", 1 + plm->config.grace_s);
    }
    vars_format(words, "--nodelist=%s", nodes);
    return end_command(words, keeld);
}

/* Whom srun starts, for messages; malloc'd, NULL: no memory. */
static char *whom(const struct plm *plm)
{
    char *text = NULL, *nodes = node_list(plm);
    const char *form = plm->step_count == 2 ? "daemon of node %s" : "daemons of nodes %s";
    if (!nodes || asprintf(&text, form, nodes) < 0) {
        text = NULL;
    }
    free(nodes);
    return text;
}

static void cannot_start(struct plm *plm, const char *what, int error)
{
    char *text = whom(plm);
    plm_fail(plm, EXIT_RUNTIME, "cannot start the %s: %s%s", text ? text : "daemons", what,
             program_strerror(error));
    free(text);
}

/* False: the job has failed. */
static bool run_step(struct plm *plm, char *const *words, char *const *env)
{
    struct agent_command command = {PROC_STEP, words, env, STDIO_PIPE};
    int error = agent_run(plm->shepherd, STEP_ID, &command);
    if (error < 0) {
        cannot_start(plm, "srun: ", -error);
    }
    return error == 0;
}

static bool start(struct plm *plm, char *keeld)
{
    struct vars words = {0}, env = {0};
    plm->step_count = plm->config.count;
    char *nodes = node_list(plm);
    for (char **variable = environ; *variable; variable++) {
        if (!vars_is_srun_option(*variable)) {
            vars_append(&env, strdup(*variable));
        }
    }
    plm->step.kill_on_bad_exit = step_is_killed_on_bad_exit(param_string(&slurm_args));
    bool started = nodes && make_command(&words, plm, nodes, keeld) && !env.failed;
    if (!started) {
        plm_fail(plm, EXIT_RUNTIME, "cannot start the daemons: out of memory");
    } else {
        started = run_step(plm, words.strings, env.strings);
        plm->step_runs = started;
    }
    vars_fini(&words);
    vars_fini(&env);
    free(nodes);
    return started;
}

/* Daemons that are added have a step each: srun is their agent, and the node's name is its last
 * option. */
static bool open_agents(struct plm *plm, char *keeld)
{
    struct vars words = {0};
    char *program[] = {keeld, NULL};
    begin_command(&words, plm, 1);
    bool whole = end_command(&words, "--nodelist");
    bool open = whole && rsh_open(plm, words.strings, program);
    if (!whole) {
        plm_fail(plm, EXIT_RUNTIME, "cannot start the daemons: out of memory");
    }
    vars_fini(&words);
    return open;
}

static bool grow(struct plm *plm, char *keeld)
{
    return (plm->rsh.agents || open_agents(plm, keeld)) && rsh_start_added(plm);
}

static bool fill(const struct plm *plm, uint32_t vpid, struct home *home)
{
    if (vpid != HNP_VPID) {
        return rsh_fill(plm, vpid, home);
    }
    home->nodes = node_list(plm);
    return home->nodes != NULL;
}

static void step_started(void *arg, uint32_t id, int input, int errors)
{
    struct plm *plm = arg;
    size_t size = 0;
    char reason[256];
    (void) id;
    step_open(&plm->step, errors);
    char *text = plm_home(plm, HNP_VPID, &size, reason, sizeof(reason));
    int error = text ? agent_tell(input, text, size) : 0;
    if (!text) {
        fd_close(&input);
        plm_fail(plm, EXIT_RUNTIME, "cannot start the daemons: %s", reason);
    } else if (error < 0) {
        cannot_start(plm, "the agent takes no input: ", -error);
    }
}

/* srun ends with its daemons. Before they are there, its own words say why; when it is killed
 * later, they go on without it. */
static void step_exited(void *arg, uint32_t id, int wait_status)
{
    struct plm *plm = arg;
    (void) id;
    plm->step_runs = false;
    step_close(&plm->step);
    if (plm->ending) {
        plm->owner->ended(plm->arg);
        return;
    }
    char how[64];
    agent_describe_end(how, sizeof(how), wait_status);
    if (all_are_home(plm)) {
        log_at(LOG_LAUNCHER, plm->step.reason[0] ? LOG_INFO : LOG_WARN,
               "srun %s before its daemons", how);
        return;
    }
    uint32_t count;
    char *nodes = nodes_not_home(plm, &count);
    plm_fail(plm, EXIT_RUNTIME, "node%s %s: srun %s before %s called home", count == 1 ? "" : "s",
             nodes ? nodes : "?", how, count == 1 ? "the daemon" : "the daemons");
    free(nodes);
}

static void step_failed(void *arg, uint32_t id, int error)
{
    cannot_start(arg, "", error);
    step_exited(arg, id, 0);
}

static const struct agent_ops step_ops = {
    .started = step_started, .failed = step_failed, .exited = step_exited};

/* Daemons end by order; those that are still on their way cannot be told. */
static bool end(struct plm *plm)
{
    if (plm->step_runs && !all_are_home(plm)) {
        shepherd_signal(plm->shepherd, STEP_ID, SIGTERM);
    }
    return plm->step_runs;
}

static void came_home(struct plm *plm, uint32_t vpid)
{
    if (vpid >= plm->step_count) {
        rsh_came_home(plm, vpid);
    }
}

static void stop(struct plm *plm)
{
    if (plm->rsh.agents) {
        rsh_stop(plm);
    }
}

const struct plm_ops plm_slurm = {
    .start = start,
    .fill = fill,
    .step = &step_ops,
    .grow = grow,
    .lost = rsh_lost,
    .came_home = came_home,
    .stop = stop,
    .fini = rsh_fini,
    .end = end,
};
