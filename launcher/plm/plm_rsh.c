/* Simulated nodes' daemons are children of the shepherd; the rest are started by an agent each
 * (ssh, or what the parameter plm_rsh_agent names), called as AGENT HOST PROGRAM ARGUMENTS. As ssh
 * does, it gives the words behind HOST to a shell: PROGRAM is quoted where it has to be. */
#include <config.h>

#include <launcher/plm/plm.h>

#include <base/data/clock.h>
#include <base/host/paths.h>
#include <base/settings/param.h>
#include <launcher/node/daemon.h>
#include <launcher/request/nodes/hostlist.h>
#include <launcher/request/run_request.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static struct param rsh_agent =
    PARAM_STRING("plm_rsh_agent", "ssh -x -o BatchMode=yes -o ConnectTimeout=10",
                 "The command that starts a daemon on another host: AGENT HOST PROGRAM ARGUMENTS, "
                 "the last two quoted for a shell");
PARAM_ROWS("launcher", rsh_agent);

#define WORDS_MAX 32
/* How long others may still fail: as long as the first one took, and at least this. */
#define AGENTS_WAIT_US 1000000u

static char *whom(const struct plm *plm, uint32_t id)
{
    char *text = NULL;
    return asprintf(&text, "daemon of node %s", plm_node(plm, id - AGENT_ID(0))) < 0 ? NULL : text;
}

static bool fill(const struct plm *plm, uint32_t id, struct home *home)
{
    home->vpid = id - AGENT_ID(0);
    home->node = strdup(plm_node(plm, id - AGENT_ID(0)));
    return home->node != NULL;
}

/* --- agents that end before their daemons have called home --- */

/* What a shell returns for a program that it does not find, or that cannot be executed. */
enum { CODE_NOT_FOUND = 127, CODE_NOT_EXECUTABLE = 126 };

/* Does some agent still run whose daemon has not called home? */
static bool any_runs(const struct plm *plm)
{
    for (uint32_t vpid = 1; vpid < plm->config.count; vpid++) {
        if (!plm_is_home(plm, vpid) && plm->agents[vpid].state == AGENT_RUNS) {
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
static uint32_t next_failed(const struct plm *plm, uint32_t vpid)
{
    for (; vpid < plm->config.count; vpid++) {
        if (!plm_is_home(plm, vpid) && plm->agents[vpid].state == AGENT_ENDED) {
            return vpid;
        }
    }
    return UINT32_MAX;
}

/* A line for this node and all others whose agents have ended as its has. names: room for all. */
static void describe_failed(struct plm *plm, uint32_t first, const char **names, char *text,
                            size_t size)
{
    int wait_status = plm->agents[first].wait_status;
    uint32_t count = 0;
    for (uint32_t vpid = first; vpid != UINT32_MAX; vpid = next_failed(plm, vpid + 1)) {
        struct agent *agent = &plm->agents[vpid];
        if (agent->wait_status == wait_status) {
            names[count++] = plm_node(plm, vpid);
            agent->state = AGENT_REPORTED;
        }
    }
    char why[512];
    char *nodes = hostlist_print(names, count);
    explain_end(why, sizeof(why), wait_status, count > 1);
    snprintf(text, size, "node%s %s: %s", count > 1 ? "s" : "", nodes ? nodes : "?", why);
    free(nodes);
}

/* All bad nodes are named, a line for each way to fail. */
static void fail_for_agents(struct plm *plm)
{
    const char **names = calloc(plm->config.count, sizeof(*names));
    uint32_t vpid = names ? next_failed(plm, 1) : UINT32_MAX;
    while (vpid != UINT32_MAX) {
        char text[1024];
        describe_failed(plm, vpid, names, text, sizeof(text));
        vpid = next_failed(plm, vpid + 1);
        if (vpid == UINT32_MAX) {
            plm_fail(plm, EXIT_RUNTIME, "%s", text);
        } else {
            plm->owner->tell(plm->arg, text);
        }
    }
    if (!names) {
        plm_fail(plm, EXIT_RUNTIME, "some daemons cannot be started");
    }
    free(names);
}

static void waited_for_agents(struct loop_timer *timer)
{
    fail_for_agents(container_of(timer, struct plm, patience));
}

/* An agent may end when its daemon runs, not before. The others get a moment to fail as well. */
static void exited(struct plm *plm, uint32_t id, int wait_status)
{
    uint32_t vpid = id - AGENT_ID(0);
    if (plm_is_home(plm, vpid) || plm->owner->is_failing(plm->arg)) {
        return;
    }
    bool first = next_failed(plm, 1) == UINT32_MAX;
    plm->agents[vpid] = (struct agent){AGENT_ENDED, wait_status};
    if (!any_runs(plm)) {
        fail_for_agents(plm);
    } else if (first) {
        uint64_t took_us = clock_us() - plm->started_us;
        loop_timer_start(&plm->patience, took_us > AGENTS_WAIT_US ? took_us : AGENTS_WAIT_US);
    }
}

static void came_home(struct plm *plm)
{
    if (!plm->owner->is_failing(plm->arg) && next_failed(plm, 1) != UINT32_MAX && !any_runs(plm)) {
        fail_for_agents(plm);
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

/* "USER@HOST", or the host alone; malloc'd, NULL: no memory. */
static char *whereto(const struct plm *plm, uint32_t vpid)
{
    const char *user = plm->owner->user(plm->arg, vpid);
    char *text = NULL;
    return asprintf(&text, "%s%s%s", user ? user : "", user ? "@" : "", plm_node(plm, vpid)) < 0
               ? NULL
               : text;
}

/* Starts the daemon of one node: agent and program are the words of its command. */
static bool start_one(struct plm *plm, uint32_t vpid, char *const *agent, char *program)
{
    char *words[WORDS_MAX + 5] = {0};
    char option[] = "--vpid", number[16];
    size_t count = 0;
    for (; agent[count]; count++) {
        words[count] = agent[count];
    }
    char *host = whereto(plm, vpid);
    if (!host) {
        return false;
    }
    if (count > 0) {
        words[count++] = host;
    }
    snprintf(number, sizeof(number), "%u", vpid);
    words[count++] = program;
    words[count++] = option;
    words[count++] = number;
    bool started = plm_start_agent(plm, AGENT_ID(vpid), PROC_AGENT, words, NULL);
    free(host);
    return started;
}

static bool start_all(struct plm *plm, char *const *agent, char *program)
{
    bool started = true;
    for (uint32_t vpid = 1; started && vpid < plm->config.count; vpid++) {
        started = start_one(plm, vpid, agent, program);
    }
    return started;
}

/* Daemons of simulated nodes need no agent. */
static bool start(struct plm *plm, char *keeld)
{
    char *words[WORDS_MAX + 1] = {0};
    bool started = false;
    plm->agents = calloc(plm->config.count, sizeof(*plm->agents));
    if (!plm->agents) {
        plm_fail(plm, EXIT_RUNTIME, "cannot start the daemons: out of memory");
        return false;
    }
    loop_timer_init(&plm->patience, plm->loop, waited_for_agents);
    plm->started_us = clock_us();
    if (plm->config.simulated) {
        return start_all(plm, words, keeld);
    }
    char *agent = strdup(param_string(&rsh_agent)), *program = shell_word(keeld);
    if (!agent || !program) {
        plm_fail(plm, EXIT_RUNTIME, "cannot start the daemons: out of memory");
    } else if (plm_split(agent, words, WORDS_MAX) == 0) {
        plm_fail(plm, EXIT_USAGE,
                 "plm_rsh_agent is empty: the command that starts a daemon on "
                 "another host is needed, as ssh -x");
    } else {
        started = start_all(plm, words, program);
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
