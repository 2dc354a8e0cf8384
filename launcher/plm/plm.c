/* Starts the other nodes' daemons, through agents. What a daemon must know, the job's key first of
 * all, goes to its standard input. */
#include <config.h>

#include <launcher/plm/plm.h>

#include <base/log.h>
#include <base/param.h>
#include <base/paths.h>
#include <base/sock.h>
#include <base/strings.h>
#include <errno.h>
#include <launcher/node/limits.h>
#include <launcher/shepherd/program.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wireup/proto.h>

static const char *const choices[] = {"auto", "slurm", "rsh", "ssh", NULL};
static struct param choice =
    PARAM_ENUM("plm", "auto", choices,
               "How daemons are started: by srun (slurm), by plm_rsh_agent (rsh or ssh), or (auto) "
               "by srun within a Slurm allocation");

enum plm_choice plm_choice(void)
{
    return (enum plm_choice) param_int(&choice);
}

size_t plm_split(char *text, char **words, size_t max)
{
    size_t count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t", &rest); word && count < max;
         word = strtok_r(NULL, " \t", &rest)) {
        words[count++] = word;
    }
    return count;
}

void plm_describe_end(char *text, size_t size, int wait_status)
{
    if (WIFSIGNALED(wait_status)) {
        snprintf(text, size, "was killed by signal %d", WTERMSIG(wait_status));
    } else {
        snprintf(text, size, "ended with code %d", WEXITSTATUS(wait_status));
    }
}

static void cannot_start(struct hnp *hnp, uint32_t id, const char *program, int error)
{
    char *whom = hnp->plm->whom(hnp, id);
    hnp_fail(hnp, EXIT_RUNTIME, "cannot start the %s: %s%s%s", whom ? whom : "daemons",
             program ? program : "", program ? ": " : "", strerror(error));
    free(whom);
}

bool plm_spawn(struct hnp *hnp, uint32_t id, enum spawn_kind kind, char *const *words,
               char *const *env)
{
    char program[4096];
    int found = program_resolve(words[0], program, sizeof(program));
    if (found < 0) {
        cannot_start(hnp, id, words[0], -found);
        return false;
    }
    struct spawn_app app = {
        .kind = kind,
        .program = program,
        .argv = words,
        .env = env ? env : environ,
        .out = SPAWN_NULL,
        .err = kind == SPAWN_STEP ? SPAWN_PIPE : SPAWN_INHERIT,
    };
    struct spawn_proc proc = {.id = id, .in = SPAWN_PIPE};
    /* behind the ranks' programs */
    uint32_t number = (uint32_t) hnp->request.app_count + (id - AGENT_ID(0));
    shepherd_define_app(hnp->shepherd, number, &app);
    shepherd_spawn(hnp->shepherd, number, &proc);
    return true;
}

void plm_start(struct hnp *hnp)
{
    char reason[256] = "";
    char *keeld = paths_program("keeld");
    int status = daemon_listen(hnp->daemon, reason, sizeof(reason));
    if (status == ORTE_SUCCESS) {
        status = limits_daemons(hnp->peer_count - 1, reason, sizeof(reason));
    }
    if (!keeld || status != ORTE_SUCCESS) {
        hnp_fail(hnp, EXIT_RUNTIME, "cannot start other nodes: %s",
                 keeld ? reason : "keeld is not beside keelrun");
        free(keeld);
        return;
    }
    hnp->plm = hnp->allocation.count && plm_choice() < PLM_RSH ? &plm_slurm : &plm_rsh;
    hnp_enter(hnp, PHASE_DAEMONS);
    loop_timer_start(&hnp->timers.start, home_limit_us());
    (void) hnp->plm->start(hnp, keeld);
    free(keeld);
}

bool plm_end(struct hnp *hnp)
{
    return hnp->plm && hnp->plm->end && hnp->plm->end(hnp);
}

/* What the daemons of an agent are told; malloc'd. NULL: reason says why. */
static char *make_home(const struct hnp *hnp, uint32_t id, size_t *size, char *reason,
                       size_t reason_size)
{
    char *text = NULL;
    snprintf(reason, reason_size, "out of memory");
    struct home home = {
        .family = hnp->family,
        .count = hnp->peer_count,
        .radix = hnp->daemon->radix,
        .contact = strdup(hnp->daemon->contact),
        .settings = strings_copy(hnp->request.apps[0].env),
    };
    memcpy(home.uuid, hnp->uuid, sizeof(home.uuid));
    memcpy(home.key, hnp->control_key, sizeof(home.key));
    if (home.contact && home.settings && hnp->plm->fill(hnp, id, &home)) {
        text = home_print(&home, size, reason, reason_size);
    }
    home_fini(&home);
    return text;
}

void plm_agent_started(struct hnp *hnp, uint32_t id, int input, int errors)
{
    if (errors >= 0) {
        step_open(&hnp->step, errors);
    }
    size_t size = 0;
    char reason[256];
    char *text = make_home(hnp, id, &size, reason, sizeof(reason));
    /* it fits a pipe, which is empty; an agent that has closed its end has ended, or will be late,
     * and the reason for that says more */
    int error = text ? fd_write_all(input, text, size) : 0;
    if (!text || (error != 0 && error != -EPIPE)) {
        char *whom = hnp->plm->whom(hnp, id);
        hnp_fail(hnp, EXIT_RUNTIME, "cannot start the %s: %s%s", whom ? whom : "daemons",
                 text ? "the agent takes no input: " : "", text ? strerror(-error) : reason);
        free(whom);
    }
    if (text) {
        crypto_wipe(text, size);
    }
    free(text);
    fd_close(&input);
}

void plm_agent_failed(struct hnp *hnp, uint32_t id, int error)
{
    cannot_start(hnp, id, NULL, error);
    hnp->plm->exited(hnp, id, 0);
}

void plm_agent_exited(struct hnp *hnp, uint32_t id, int wait_status)
{
    hnp->plm->exited(hnp, id, wait_status);
}

/* A daemon whose parent is not the HNP is told where its parent is. */
static void wire(struct hnp *hnp)
{
    hnp_enter(hnp, PHASE_WIRING);
    for (uint32_t vpid = 1; vpid < hnp->peer_count; vpid++) {
        uint32_t parent = tree_parent(hnp->daemon->radix, vpid);
        if (parent == HNP_VPID) {
            hnp->peers[vpid].state = PEER_WIRED; /* by calling home */
            continue;
        }
        (void) daemon_order(hnp->daemon, vpid,
                            proto_new(ORDER_WIREUP, "s", hnp->peers[parent].contact));
    }
    if (hnp_peers_reached(hnp, PEER_WIRED)) {
        hnp_launch(hnp);
    }
}

/* All have been at home; is nobody lost since? */
static bool all_live(struct hnp *hnp)
{
    for (uint32_t vpid = 1; vpid < hnp->peer_count; vpid++) {
        if (!hnp_peer_lives(hnp, vpid)) {
            hnp_fail(hnp, EXIT_RUNTIME, "lost the daemon of node %s", hnp->peers[vpid].node);
            return false;
        }
    }
    return true;
}

void plm_home(struct hnp *hnp, uint32_t vpid, char *contact)
{
    struct peer *peer = &hnp->peers[vpid];
    if (peer->state != PEER_STARTING) {
        log_warn(LOG_LAUNCHER, "daemon %u calls home twice", vpid);
        free(contact);
        return;
    }
    peer->state = PEER_HOME;
    peer->contact = contact;
    if (hnp->plm->came_home) {
        hnp->plm->came_home(hnp);
    }
    if (hnp->phase == PHASE_DAEMONS && hnp_peers_reached(hnp, PEER_HOME) && all_live(hnp)) {
        wire(hnp);
    }
}
