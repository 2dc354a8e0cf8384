/* Starts the other nodes' daemons: simulated ones are children of the shepherd, the rest are
 * started by an agent (ssh, or what the parameter plm_rsh_agent names), called as AGENT HOST
 * PROGRAM ARGUMENTS. What a daemon must know, the job's key first of all, goes to its standard
 * input. */
#include <config.h>

#include <launcher/hnp.h>
#include <launcher/home.h>

#include <base/log.h>
#include <base/param.h>
#include <base/paths.h>
#include <base/sock.h>
#include <bootstrap/proto.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static struct param rsh_agent = {
    .name = "plm_rsh_agent",
    .type = PARAM_STRING,
    .default_text = "ssh -x -o BatchMode=yes -o ConnectTimeout=10",
    .unit = "",
    .help = "The command that starts a daemon on another host: AGENT HOST PROGRAM ARGUMENTS"};
static struct param start_timeout = {.name = "plm_start_timeout_s",
                                     .type = PARAM_INT,
                                     .default_text = "60",
                                     .min = 1,
                                     .max = 86400,
                                     .unit = "s",
                                     .help = "How long the daemons may take to call home"};

#define WORDS_MAX 32

/* Adds the words of a command, split at spaces; text is changed. Returns how many there are. */
static size_t split_words(char *text, char **words, size_t max)
{
    size_t count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t", &rest); word && count < max;
         word = strtok_r(NULL, " \t", &rest)) {
        words[count++] = word;
    }
    return count;
}

/* Hands a daemon's command to the shepherd. 0 or -errno. */
static int spawn_agent(struct hnp *hnp, uint32_t vpid, char *const *words)
{
    char program[4096];
    int found = program_resolve(words[0], NULL, NULL, program, sizeof(program));
    if (found < 0) {
        return found;
    }
    struct spawn_app app = {
        .kind = SPAWN_AGENT,
        .program = program,
        .argv = words,
        .env = environ,
        .out = SPAWN_NULL,
        .err = SPAWN_INHERIT,
    };
    struct spawn_proc proc = {.id = AGENT_ID(vpid), .in = SPAWN_PIPE};
    uint32_t number = (uint32_t) hnp->request.app_count + vpid; /* behind the ranks' programs */
    shepherd_define_app(hnp->shepherd, number, &app);
    shepherd_spawn(hnp->shepherd, number, &proc);
    return 0;
}

/* Starts the daemon of one node, through an agent unless the node is simulated. False: the job has
 * failed. */
static bool start_one(struct hnp *hnp, uint32_t vpid, char *keeld)
{
    char *words[WORDS_MAX + 5] = {0};
    char option[] = "--vpid", number[16];
    char *agent = strdup(param_string(&rsh_agent));
    size_t count = 0;
    int error = agent ? 0 : -ENOMEM;
    if (agent && hnp->request.simulate_nodes == 0) {
        count = split_words(agent, words, WORDS_MAX);
        words[count++] = hnp->peers[vpid].node;
    }
    snprintf(number, sizeof(number), "%u", vpid);
    words[count++] = keeld;
    words[count++] = option;
    words[count++] = number;
    if (error == 0) {
        error = spawn_agent(hnp, vpid, words);
    }
    if (error != 0) {
        hnp_fail(hnp, EXIT_RUNTIME, "cannot start the daemon of node %s: %s: %s",
                 hnp->peers[vpid].node, words[0], strerror(-error));
    }
    free(agent);
    return error == 0;
}

void plm_start(struct hnp *hnp)
{
    char reason[256] = "";
    char *keeld = paths_program("keeld");
    int status = daemon_listen(hnp->daemon, reason, sizeof(reason));
    if (!keeld || status != ORTE_SUCCESS) {
        hnp_fail(hnp, EXIT_RUNTIME, "cannot start other nodes: %s",
                 keeld ? reason : "keeld is not beside keelrun");
        free(keeld);
        return;
    }
    hnp_enter(hnp, PHASE_DAEMONS);
    loop_timer_start(&hnp->start_timer, (uint64_t) param_int(&start_timeout) * 1000000u);
    for (uint32_t vpid = 1; vpid < hnp->peer_count; vpid++) {
        if (!start_one(hnp, vpid, keeld)) {
            break;
        }
    }
    free(keeld);
}

void plm_agent_started(struct hnp *hnp, uint32_t id, int input)
{
    uint32_t vpid = id - AGENT_ID(0);
    struct home home = {
        .family = hnp->family,
        .vpid = vpid,
        .count = hnp->peer_count,
        .radix = hnp->daemon->radix,
        .node = hnp->peers[vpid].node,
        .contact = hnp->daemon->contact,
        .settings = hnp->request.apps[0].env,
    };
    memcpy(home.uuid, hnp->uuid, sizeof(home.uuid));
    memcpy(home.key, hnp->control_key, sizeof(home.key));
    size_t size = 0;
    char *text = home_print(&home, &size);
    /* it fits a pipe, which is empty; an agent that has closed its end has ended, or will be late,
     * and the reason for that says more */
    int error = text ? fd_write_all(input, text, size) : -ENOMEM;
    if (error != 0 && error != -EPIPE) {
        hnp_fail(hnp, EXIT_RUNTIME, "the agent of node %s takes no input: %s", home.node,
                 strerror(-error));
    }
    if (text) {
        crypto_wipe(text, size);
    }
    crypto_wipe(&home, sizeof(home));
    free(text);
    fd_close(&input);
}

void plm_agent_failed(struct hnp *hnp, uint32_t id, int error)
{
    hnp_fail(hnp, EXIT_RUNTIME, "cannot start the daemon of node %s: %s",
             hnp->peers[id - AGENT_ID(0)].node, strerror(error));
}

/* An agent may end when its daemon runs, not before. */
void plm_agent_exited(struct hnp *hnp, uint32_t id, int wait_status)
{
    struct peer *peer = &hnp->peers[id - AGENT_ID(0)];
    if (peer->state != PEER_STARTING) {
        return;
    }
    if (WIFSIGNALED(wait_status)) {
        hnp_fail(hnp, EXIT_RUNTIME,
                 "node %s: its agent was killed by signal %d before the daemon called home",
                 peer->node, WTERMSIG(wait_status));
    } else {
        hnp_fail(hnp, EXIT_RUNTIME,
                 "node %s: its agent ended with code %d before the daemon called home", peer->node,
                 WEXITSTATUS(wait_status));
    }
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
    if (hnp->phase == PHASE_DAEMONS && hnp_peers_reached(hnp, PEER_HOME)) {
        wire(hnp);
    }
}
