/* Simulated nodes' daemons are children of the shepherd; the rest are started by an agent each
 * (ssh, or what the parameter plm_rsh_agent names), called as AGENT HOST PROGRAM ARGUMENTS. */
#include <config.h>

#include <launcher/plm.h>

#include <base/param.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct param rsh_agent = {
    .name = "plm_rsh_agent",
    .type = PARAM_STRING,
    .default_text = "ssh -x -o BatchMode=yes -o ConnectTimeout=10",
    .unit = "",
    .help = "The command that starts a daemon on another host: AGENT HOST PROGRAM ARGUMENTS"};

#define WORDS_MAX 32

static struct peer *peer_of(const struct hnp *hnp, uint32_t id)
{
    return &hnp->peers[id - AGENT_ID(0)];
}

/* Starts the daemon of one node, through an agent unless the node is simulated. */
static bool start_one(struct hnp *hnp, uint32_t vpid, char *keeld)
{
    char *words[WORDS_MAX + 5] = {0};
    char option[] = "--vpid", number[16];
    char *agent = strdup(param_string(&rsh_agent));
    size_t count = 0;
    if (!agent) {
        hnp_fail(hnp, EXIT_RUNTIME, "cannot start the daemon of node %s: out of memory",
                 hnp->peers[vpid].node);
        return false;
    }
    if (hnp->request.simulate_nodes == 0) {
        count = plm_split(agent, words, WORDS_MAX);
        words[count++] = hnp->peers[vpid].node;
    }
    snprintf(number, sizeof(number), "%u", vpid);
    words[count++] = keeld;
    words[count++] = option;
    words[count++] = number;
    bool started = plm_spawn(hnp, AGENT_ID(vpid), SPAWN_AGENT, words, NULL);
    free(agent);
    return started;
}

static bool start(struct hnp *hnp, char *keeld)
{
    bool started = true;
    for (uint32_t vpid = 1; started && vpid < hnp->peer_count; vpid++) {
        started = start_one(hnp, vpid, keeld);
    }
    return started;
}

static char *whom(const struct hnp *hnp, uint32_t id)
{
    char *text = NULL;
    return asprintf(&text, "daemon of node %s", peer_of(hnp, id)->node) < 0 ? NULL : text;
}

static bool fill(const struct hnp *hnp, uint32_t id, struct home *home)
{
    home->vpid = id - AGENT_ID(0);
    home->node = strdup(peer_of(hnp, id)->node);
    return home->node != NULL;
}

/* An agent may end when its daemon runs, not before. */
static void exited(struct hnp *hnp, uint32_t id, int wait_status)
{
    const struct peer *peer = peer_of(hnp, id);
    if (peer->state != PEER_STARTING) {
        return;
    }
    char how[64];
    plm_describe_end(how, sizeof(how), wait_status);
    hnp_fail(hnp, EXIT_RUNTIME, "node %s: its agent %s before the daemon called home", peer->node,
             how);
}

const struct plm_ops plm_rsh = {
    .start = start,
    .whom = whom,
    .fill = fill,
    .exited = exited,
};
