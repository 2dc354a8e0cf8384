/* Simulated nodes' daemons are children of the shepherd; the rest are started by an agent each
 * (ssh, or what the parameter plm_rsh_agent names), called as AGENT HOST PROGRAM ARGUMENTS. As ssh
 * does, it gives the words behind HOST to a shell: PROGRAM is quoted where it has to be. */
#include <config.h>

#include <launcher/plm/plm.h>

#include <base/clock.h>
#include <base/param.h>
#include <base/paths.h>
#include <launcher/request/hostlist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static struct param rsh_agent =
    PARAM_STRING("plm_rsh_agent", "ssh -x -o BatchMode=yes -o ConnectTimeout=10",
                 "The command that starts a daemon on another host: AGENT HOST PROGRAM ARGUMENTS, "
                 "the last two quoted for a shell");

#define WORDS_MAX 32
/* How long others may still fail: as long as the first one took, and at least this. */
#define AGENTS_WAIT_US 1000000u

static struct peer *peer_of(const struct hnp *hnp, uint32_t id)
{
    return &hnp->peers[id - AGENT_ID(0)];
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

/* --- agents that end before their daemons have called home --- */

/* What a shell returns for a program that it does not find, or that cannot be executed. */
enum { CODE_NOT_FOUND = 127, CODE_NOT_EXECUTABLE = 126 };

/* Does some agent still run whose daemon has not called home? */
static bool any_runs(const struct hnp *hnp)
{
    for (uint32_t vpid = 1; vpid < hnp->peer_count; vpid++) {
        if (hnp->peers[vpid].state == PEER_STARTING && hnp->peers[vpid].agent == AGENT_RUNS) {
            return true;
        }
    }
    return false;
}

static void explain_end(char *text, size_t size, int wait_status, bool several)
{
    char how[64];
    int code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;
    char *keeld = paths_program("keeld");
    plm_describe_end(how, sizeof(how), wait_status);
    if (keeld && code == CODE_NOT_FOUND) {
        snprintf(
            text, size,
            "keeld is not at %s there, or a library that it needs is missing (code %d): it has "
            "to be installed at the same place",
            keeld, code);
    } else if (keeld && code == CODE_NOT_EXECUTABLE) {
        snprintf(text, size, "%s cannot be executed there (code %d)", keeld, code);
    } else {
        snprintf(text, size, "%s agent %s before %s daemon called home", several ? "each" : "its",
                 how, several ? "its" : "the");
    }
    free(keeld);
}

/* The next node, from this one on, whose agent has ended before its daemon called home, which the
 * user does not know yet. UINT32_MAX: none. */
static uint32_t next_failed(const struct hnp *hnp, uint32_t vpid)
{
    for (; vpid < hnp->peer_count; vpid++) {
        const struct peer *peer = &hnp->peers[vpid];
        if (peer->state == PEER_STARTING && peer->agent == AGENT_ENDED) {
            return vpid;
        }
    }
    return UINT32_MAX;
}

/* A line for this node and all others whose agents have ended as its has. names: room for all. */
static void describe_failed(struct hnp *hnp, uint32_t first, const char **names, char *text,
                            size_t size)
{
    int wait_status = hnp->peers[first].agent_status;
    uint32_t count = 0;
    for (uint32_t vpid = first; vpid != UINT32_MAX; vpid = next_failed(hnp, vpid + 1)) {
        struct peer *peer = &hnp->peers[vpid];
        if (peer->agent_status == wait_status) {
            names[count++] = peer->node;
            peer->agent = AGENT_REPORTED;
        }
    }
    char why[512];
    char *nodes = hostlist_print(names, count);
    explain_end(why, sizeof(why), wait_status, count > 1);
    snprintf(text, size, "node%s %s: %s", count > 1 ? "s" : "", nodes ? nodes : "?", why);
    free(nodes);
}

/* All bad nodes are named, a line for each way to fail. */
static void fail_for_agents(struct hnp *hnp)
{
    const char **names = calloc(hnp->peer_count, sizeof(*names));
    uint32_t vpid = names ? next_failed(hnp, 1) : UINT32_MAX;
    while (vpid != UINT32_MAX) {
        char text[1024];
        describe_failed(hnp, vpid, names, text, sizeof(text));
        vpid = next_failed(hnp, vpid + 1);
        if (vpid == UINT32_MAX) {
            hnp_fail(hnp, EXIT_RUNTIME, "%s", text);
        } else {
            hnp_tell(hnp, "%s", text);
        }
    }
    if (!names) {
        hnp_fail(hnp, EXIT_RUNTIME, "some daemons cannot be started");
    }
    free(names);
}

static void waited_for_agents(struct loop_timer *timer)
{
    fail_for_agents(container_of(timer, struct hnp, timers.agents));
}

/* An agent may end when its daemon runs, not before. The others get a moment to fail as well. */
static void exited(struct hnp *hnp, uint32_t id, int wait_status)
{
    struct peer *peer = peer_of(hnp, id);
    if (peer->state != PEER_STARTING || hnp->end.failing) {
        return;
    }
    bool first = next_failed(hnp, 1) == UINT32_MAX;
    peer->agent = AGENT_ENDED;
    peer->agent_status = wait_status;
    if (!any_runs(hnp)) {
        fail_for_agents(hnp);
    } else if (first) {
        uint64_t took_us = clock_us() - hnp->agents_started_us;
        loop_timer_start(&hnp->timers.agents, took_us > AGENTS_WAIT_US ? took_us : AGENTS_WAIT_US);
    }
}

static void came_home(struct hnp *hnp)
{
    if (!hnp->end.failing && next_failed(hnp, 1) != UINT32_MAX && !any_runs(hnp)) {
        fail_for_agents(hnp);
    }
}

/* --- start --- */

/* A path as a word of the command that the agent gives to a shell; malloc'd, NULL: no memory. */
static char *shell_word(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";
    char *word = malloc(4 * strlen(path) + 3), *end = word;
    if (!word || !path[strspn(path, plain)]) {
        return word ? strcpy(word, path) : NULL;
    }
    *end++ = '\'';
    for (; *path; path++) {
        if (*path == '\'') {
            end = stpcpy(end, "'\\''");
        } else {
            *end++ = *path;
        }
    }
    strcpy(end, "'");
    return word;
}

/* Starts the daemon of one node: agent and program are the words of its command. */
static bool start_one(struct hnp *hnp, uint32_t vpid, char *const *agent, char *program)
{
    char *words[WORDS_MAX + 5] = {0};
    char option[] = "--vpid", number[16];
    size_t count = 0;
    for (; agent[count]; count++) {
        words[count] = agent[count];
    }
    if (count > 0) {
        words[count++] = hnp->peers[vpid].node;
    }
    snprintf(number, sizeof(number), "%u", vpid);
    words[count++] = program;
    words[count++] = option;
    words[count++] = number;
    return plm_spawn(hnp, AGENT_ID(vpid), SPAWN_AGENT, words, NULL);
}

static bool start_all(struct hnp *hnp, char *const *agent, char *program)
{
    bool started = true;
    for (uint32_t vpid = 1; started && vpid < hnp->peer_count; vpid++) {
        started = start_one(hnp, vpid, agent, program);
    }
    return started;
}

/* Daemons of simulated nodes need no agent. */
static bool start(struct hnp *hnp, char *keeld)
{
    char *words[WORDS_MAX + 1] = {0};
    bool started = false;
    loop_timer_init(&hnp->timers.agents, hnp->loop, waited_for_agents);
    hnp->agents_started_us = clock_us();
    if (hnp->request.simulate_nodes > 0) {
        return start_all(hnp, words, keeld);
    }
    char *agent = strdup(param_string(&rsh_agent)), *program = shell_word(keeld);
    if (!agent || !program) {
        hnp_fail(hnp, EXIT_RUNTIME, "cannot start the daemons: out of memory");
    } else if (plm_split(agent, words, WORDS_MAX) == 0) {
        hnp_fail(hnp, EXIT_USAGE,
                 "plm_rsh_agent is empty: the command that starts a daemon on "
                 "another host is needed, as ssh -x");
    } else {
        started = start_all(hnp, words, program);
    }
    free(agent);
    free(program);
    return started;
}

const struct plm_ops plm_rsh = {
    .start = start,
    .whom = whom,
    .fill = fill,
    .exited = exited,
    .came_home = came_home,
};
