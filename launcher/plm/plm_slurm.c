/* In a Slurm allocation one srun starts the daemons of all nodes, as a step of the job. Its
 * standard input, which srun gives to every task, tells all of them the same; each looks up its own
 * node. */
#include <config.h>

#include <launcher/plm/plm.h>

#include <base/log.h>
#include <base/param.h>
#include <launcher/request/hostlist.h>
#include <launcher/shepherd/vars.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct param slurm_args =
    PARAM_STRING("plm_slurm_args", "--overlap --cpu-bind=none",
                 "More options for the srun that starts the daemons in a Slurm allocation");

#define STEP_ID AGENT_ID(HNP_VPID)
#define WORDS_MAX 64

/* The names of all nodes but keelrun's, by vpid; malloc'd, NULL: no memory. */
static char *node_list(const struct hnp *hnp)
{
    const char **names = calloc(hnp->peer_count, sizeof(*names));
    for (uint32_t vpid = 1; names && vpid < hnp->peer_count; vpid++) {
        names[vpid - 1] = hnp->peers[vpid].node;
    }
    char *list = names ? hostlist_print(names, hnp->peer_count - 1) : NULL;
    free(names);
    return list;
}

static bool is_listed(const struct hostlist *list, const char *node)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (strcmp(list->names[i], node) == 0) {
            return true;
        }
    }
    return false;
}

/* The first that srun names are the reason for the end of the others. */
static void daemons_ended(struct step *step, const char *nodes, const char *how)
{
    struct hnp *hnp = container_of(step, struct hnp, step);
    struct hostlist list;
    char reason[256];
    if (hnp_slurm_said(hnp) != HNP_VPID ||
        hostlist_expand(&list, nodes, reason, sizeof(reason)) != ORTE_SUCCESS) {
        return;
    }
    for (uint32_t vpid = 1; vpid < hnp->peer_count; vpid++) {
        struct peer *peer = &hnp->peers[vpid];
        if (!peer->slurm_said && is_listed(&list, peer->node)) {
            peer->slurm_said = strdup(how);
        }
    }
    hostlist_fini(&list);
}

/* What is said on the command line counts more than variables, so what the user's environment or
 * the site says of steps in general is overruled. One daemon for each node, which gets all that the
 * job has there, beside other steps of the job; a daemon that ends does not end the others before
 * keelrun could. */
static bool make_command(struct vars *words, const struct hnp *hnp, const char *nodes,
                         const char *keeld)
{
    uint32_t count = hnp->peer_count - 1;
    char *extra = strdup(param_string(&slurm_args)), *more[WORDS_MAX];
    size_t more_count = extra ? plm_split(extra, more, WORDS_MAX) : 0;
    static const char *const fixed[] = {
        "srun",       "--ntasks-per-node=1",  "--chdir=/", "--export=ALL", "--input=all",
        "--mpi=none", "--kill-on-bad-exit=0", "--quiet",
    };
    for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++) {
        vars_append(words, strdup(fixed[i]));
    }
    if (hnp_recovers()) { /* the step outlives nodes and daemons */
        vars_append(words, strdup("--no-kill"));
        vars_append(words, strdup("--wait=0"));
    } else {
        vars_format(words, "--wait=%u", 1 + hnp_grace_s());
    }
    vars_format(words, "--jobid=%s", hnp->allocation.job);
    vars_format(words, "--nodes=%u", count);
    vars_format(words, "--ntasks=%u", count);
    vars_format(words, "--nodelist=%s", nodes);
    for (size_t i = 0; i < more_count; i++) {
        vars_append(words, strdup(more[i]));
    }
    vars_append(words, strdup(keeld));
    free(extra);
    return extra && !words->failed;
}

static bool start(struct hnp *hnp, char *keeld)
{
    struct vars words = {0}, env = {0};
    char *nodes = node_list(hnp);
    for (char **variable = environ; *variable; variable++) {
        if (!vars_is_srun_option(*variable)) {
            vars_append(&env, strdup(*variable));
        }
    }
    hnp->step.daemons_ended = daemons_ended;
    hnp->step.kill_on_bad_exit = step_is_killed_on_bad_exit(param_string(&slurm_args));
    bool started = nodes && make_command(&words, hnp, nodes, keeld) && !env.failed;
    if (!started) {
        hnp_fail(hnp, EXIT_RUNTIME, "cannot start the daemons: out of memory");
    } else {
        started = plm_spawn(hnp, STEP_ID, SPAWN_STEP, words.strings, env.strings);
        hnp->step_runs = started;
    }
    vars_fini(&words);
    vars_fini(&env);
    free(nodes);
    return started;
}

static char *whom(const struct hnp *hnp, uint32_t id)
{
    (void) id;
    char *text = NULL, *nodes = node_list(hnp);
    const char *form = hnp->peer_count == 2 ? "daemon of node %s" : "daemons of nodes %s";
    if (!nodes || asprintf(&text, form, nodes) < 0) {
        text = NULL;
    }
    free(nodes);
    return text;
}

static bool fill(const struct hnp *hnp, uint32_t id, struct home *home)
{
    (void) id;
    home->nodes = node_list(hnp);
    return home->nodes != NULL;
}

/* srun ends with its daemons. Before they are there, its own words say why; when it is killed
 * later, they go on without it. */
static void exited(struct hnp *hnp, uint32_t id, int wait_status)
{
    (void) id;
    hnp->step_runs = false;
    step_close(&hnp->step);
    if (hnp->phase == PHASE_DONE) {
        hnp_finished(hnp);
        return;
    }
    char how[64];
    plm_describe_end(how, sizeof(how), wait_status);
    if (hnp_peers_reached(hnp, PEER_HOME)) {
        log_at(LOG_LAUNCHER, hnp->step.reason[0] ? LOG_INFO : LOG_WARN,
               "srun %s before its daemons", how);
        return;
    }
    uint32_t count;
    char *nodes = hnp_nodes_before(hnp, PEER_HOME, &count);
    hnp_fail(hnp, EXIT_RUNTIME, "node%s %s: srun %s before %s called home", count == 1 ? "" : "s",
             nodes ? nodes : "?", how, count == 1 ? "the daemon" : "the daemons");
    free(nodes);
}

/* Daemons end by order; those that are still on their way cannot be told. */
static bool end(struct hnp *hnp)
{
    if (hnp->step_runs && !hnp_peers_reached(hnp, PEER_HOME)) {
        shepherd_signal(hnp->shepherd, STEP_ID, SIGTERM);
    }
    return hnp->step_runs;
}

const struct plm_ops plm_slurm = {
    .start = start,
    .whom = whom,
    .fill = fill,
    .exited = exited,
    .end = end,
};
