#include <config.h>

#include <launcher/agent/agents.h>

#include <base/data/array.h>
#include <base/data/clock.h>
#include <base/data/crypto.h>
#include <base/data/strings.h>
#include <base/loop/backoff.h>
#include <base/net/sock.h>
#include <launcher/agent/said.h>
#include <launcher/shepherd/program.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define RETRY_BASE_US 500000u
#define RETRY_CAP_US 8000000u
#define KILL_AFTER_US 1000000u /* SIGTERM was not enough */

enum { CODE_NO_WAY = 255 }; /* ssh's own, when it did not get there */

enum agent_state {
    AGENT_QUEUED, /* there is no room for it yet */
    AGENT_TRIES,  /* it runs, or is about to; the daemon has not called home */
    AGENT_RESTS,  /* it has ended, and is tried again */
    AGENT_HOME,   /* its daemon has called home */
    AGENT_FAILED,
};

struct agent {
    struct list link; /* in agents->queue while it is QUEUED */
    struct agents *agents;
    uint32_t vpid;
    char *host; /* owned */
    enum agent_state state;
    uint32_t retries;
    uint64_t until_us; /* it may try; 0: it has not begun, or there is no limit */
    bool late;         /* it was ended because it took too long */
    struct backoff backoff;
    struct loop_timer timer; /* TRIES: the limit; RESTS: the next try */
    struct said said;
};

struct agents {
    struct loop *loop;         /* borrowed */
    struct shepherd *shepherd; /* borrowed */
    const struct agents_owner *owner;
    void *arg;
    char **words, **program; /* owned */
    char command[256];       /* the program's words, for messages */
    uint32_t max, retries;
    uint64_t limit_us;
    struct agent **by_vpid; /* owned, as are they; NULL: not started here */
    uint32_t size;          /* of by_vpid */
    struct list queue;
    uint32_t trying;
    struct backoff_chance chance;
    bool stopped;
};

static struct agent *find(const struct agents *agents, uint32_t vpid)
{
    return agents && vpid < agents->size ? agents->by_vpid[vpid] : NULL;
}

/* The one place where a state changes. */
static void enter(struct agent *agent, enum agent_state state)
{
    agent->agents->trying -= agent->state == AGENT_TRIES;
    agent->agents->trying += state == AGENT_TRIES;
    agent->state = state;
    loop_timer_stop(&agent->timer);
    if (state == AGENT_QUEUED) {
        list_append(&agent->agents->queue, &agent->link);
    } else {
        list_remove(&agent->link);
    }
}

/* Its process has ended, or there is none. */
static void give_up(struct agent *agent, const char *why)
{
    struct agents *agents = agent->agents;
    enter(agent, AGENT_FAILED);
    if (!agents->stopped) {
        agents->owner->failed(agents->arg, agent->vpid, why, agent->said.kept);
    }
    said_fini(&agent->said);
}

/* --- start --- */

/* The words are borrowed, but for the array itself. NULL: no memory. */
static char **make_words(const struct agents *agents, const struct agent *agent, char *number)
{
    static char option[] = "--vpid";
    size_t count = strings_count(agents->words), more = strings_count(agents->program);
    char **words = calloc(count + more + 4, sizeof(*words));
    if (!words) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        words[i] = agents->words[i];
    }
    if (count > 0) {
        words[count++] = agent->host;
    }
    for (size_t i = 0; i < more; i++) {
        words[count++] = agents->program[i];
    }
    words[count++] = option;
    words[count] = number;
    return words;
}

static void run(struct agent *agent)
{
    struct agents *agents = agent->agents;
    char number[16], why[512];
    snprintf(number, sizeof(number), "%u", agent->vpid);
    char **words = make_words(agents, agent, number);
    struct agent_command command = {
        .kind = PROC_AGENT,
        .words = words,
        .err = agents->words ? STDIO_PIPE : STDIO_INHERIT,
    };
    enter(agent, AGENT_TRIES);
    if (agents->limit_us > 0) {
        uint64_t now = clock_us();
        agent->until_us = agent->until_us ? agent->until_us : now + agents->limit_us;
        loop_timer_start(&agent->timer, agent->until_us > now ? agent->until_us - now : 0);
    }
    int error = words ? agent_run(agents->shepherd, AGENT_ID(agent->vpid), &command) : -ENOMEM;
    if (error < 0) {
        snprintf(why, sizeof(why), "%s: %s", words ? words[0] : "the agent", strerror(-error));
        give_up(agent, why);
    }
    free(words);
}

static void start_queued(struct agents *agents)
{
    while (!agents->stopped && !list_empty(&agents->queue) &&
           (agents->max == 0 || agents->trying < agents->max)) {
        run(container_of(agents->queue.next, struct agent, link));
    }
}

/* --- what becomes of it --- */

static void pass(struct said *said, const char *line)
{
    struct agents *agents = container_of(said, struct agent, said)->agents;
    agents->owner->says(agents->arg, line);
}

static void end_late(struct agent *agent)
{
    shepherd_signal(agent->agents->shepherd, AGENT_ID(agent->vpid),
                    agent->late ? SIGKILL : SIGTERM);
    agent->late = true;
    loop_timer_start(&agent->timer, KILL_AFTER_US);
}

static void timer_fired(struct loop_timer *timer)
{
    struct agent *agent = container_of(timer, struct agent, timer);
    if (agent->state == AGENT_TRIES) {
        end_late(agent);
    } else {
        enter(agent, AGENT_QUEUED);
        start_queued(agent->agents);
    }
}

static bool may_retry(const struct agent *agent, int wait_status)
{
    return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == CODE_NO_WAY && !agent->late &&
           !agent->agents->stopped && agent->retries < agent->agents->retries;
}

/* False: its time would be over. */
static bool retry(struct agent *agent)
{
    uint64_t pause_us = backoff_next(&agent->backoff, &agent->agents->chance);
    if (agent->until_us > 0 && clock_us() + pause_us >= agent->until_us) {
        return false;
    }
    agent->retries++;
    said_fini(&agent->said);
    enter(agent, AGENT_RESTS);
    loop_timer_start(&agent->timer, pause_us);
    return true;
}

static void explain(const struct agent *agent, int wait_status, char *why, size_t size)
{
    char *last = said_last(&agent->said);
    if (agent->late) {
        snprintf(why, size, "%s%sthe daemon has not called home within %u s", last ? last : "",
                 last ? ": " : "", (unsigned) (agent->agents->limit_us / 1000000u));
    } else {
        agent_explain_end(why, size, wait_status, agent->agents->command, last);
    }
    free(last);
}

/* False: it cannot be told; reason says why. Takes the descriptor. */
static bool tell_home(struct agents *agents, uint32_t vpid, int input, char *reason, size_t size)
{
    char why[256] = "";
    size_t text_size = 0;
    char *text = agents->owner->home(agents->arg, vpid, &text_size, why, sizeof(why));
    if (!text) {
        fd_close(&input);
        snprintf(reason, size, "%s", why);
        return false;
    }
    int error = agent_tell(input, text, text_size);
    snprintf(reason, size, "the agent takes no input: %s", strerror(-error));
    return error == 0;
}

static void started(void *arg, uint32_t id, int input, int errors)
{
    struct agents *agents = arg;
    struct agent *agent = find(agents, id - AGENT_ID(0));
    char why[320];
    if (!agent) {
        fd_close(&input);
        fd_close(&errors);
        return;
    }
    said_open(&agent->said, errors);
    if (!tell_home(agents, agent->vpid, input, why, sizeof(why))) {
        shepherd_signal(agents->shepherd, id, SIGTERM);
        give_up(agent, why);
        start_queued(agents);
    }
}

static void failed(void *arg, uint32_t id, int error)
{
    struct agents *agents = arg;
    struct agent *agent = find(agents, id - AGENT_ID(0));
    char why[256];
    if (agent && agent->state == AGENT_TRIES) {
        snprintf(why, sizeof(why), "the agent cannot be started: %s", program_strerror(error));
        give_up(agent, why);
        start_queued(agents);
    }
}

static void exited(void *arg, uint32_t id, int wait_status)
{
    struct agents *agents = arg;
    struct agent *agent = find(agents, id - AGENT_ID(0));
    char why[1024];
    if (!agent) {
        return;
    }
    said_close(&agent->said);
    if (agent->state != AGENT_TRIES) {
        return;
    }
    if (!may_retry(agent, wait_status) || !retry(agent)) {
        explain(agent, wait_status, why, sizeof(why));
        give_up(agent, why);
    }
    start_queued(agents);
}

const struct agent_ops agents_ops = {.started = started, .failed = failed, .exited = exited};

void agents_home(struct agents *agents, uint32_t vpid)
{
    struct agent *agent = find(agents, vpid);
    if (agent && agent->state != AGENT_HOME) {
        enter(agent, AGENT_HOME);
        said_pass(&agent->said);
        start_queued(agents);
    }
}

/* --- life --- */

/* Room for this vpid. */
static bool reserve(struct agents *agents, uint32_t vpid)
{
    if (vpid < agents->size) {
        return true;
    }
    uint32_t size = vpid + 1 > 2 * agents->size ? vpid + 1 : 2 * agents->size;
    bool room = array_extend(&agents->by_vpid, agents->size, size, sizeof(struct agent *));
    agents->size = room ? size : agents->size;
    return room;
}

int agents_start(struct agents *agents, uint32_t vpid, const char *host)
{
    if (find(agents, vpid)) {
        return ORTE_EXISTS;
    }
    struct agent *agent = reserve(agents, vpid) ? calloc(1, sizeof(*agent)) : NULL;
    char *copy = agent ? strdup(host) : NULL;
    if (!copy) {
        free(agent);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *agent = (struct agent){.agents = agents, .vpid = vpid, .host = copy};
    agent->backoff = (struct backoff){.base_us = RETRY_BASE_US, .cap_us = RETRY_CAP_US};
    list_init(&agent->link);
    loop_timer_init(&agent->timer, agents->loop, timer_fired);
    said_init(&agent->said, agents->loop, pass);
    agents->by_vpid[vpid] = agent;
    enter(agent, AGENT_QUEUED);
    start_queued(agents);
    return ORTE_SUCCESS;
}

void agents_stop(struct agents *agents)
{
    for (uint32_t vpid = 0; agents && vpid < agents->size; vpid++) {
        if (agents->by_vpid[vpid]) {
            loop_timer_stop(&agents->by_vpid[vpid]->timer);
        }
    }
    if (agents) {
        agents->stopped = true;
    }
}

void agents_go_on(struct agents *agents)
{
    agents->stopped = false;
}

void agents_end(struct agents *agents, uint32_t vpid)
{
    struct agent *agent = find(agents, vpid);
    if (agent && agent->state == AGENT_TRIES && !agent->late) {
        end_late(agent);
    } else if (agent && (agent->state == AGENT_QUEUED || agent->state == AGENT_RESTS)) {
        enter(agent, AGENT_FAILED);
    }
}

static void print_command(struct agents *agents)
{
    size_t used = 0;
    for (char **word = agents->program; *word && used < sizeof(agents->command); word++) {
        used += (size_t) snprintf(agents->command + used, sizeof(agents->command) - used, "%s%s",
                                  used > 0 ? " " : "", *word);
    }
}

int agents_create(struct agents **out, struct loop *loop, struct shepherd *shepherd,
                  const struct agents_config *config, const struct agents_owner *owner, void *arg)
{
    struct agents *agents = calloc(1, sizeof(*agents));
    if (!agents) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *agents = (struct agents){
        .loop = loop,
        .shepherd = shepherd,
        .owner = owner,
        .arg = arg,
        .words = strings_count(config->words) > 0 ? strings_copy(config->words) : NULL,
        .program = strings_copy(config->program),
        .max = config->max,
        .retries = config->retries,
        .limit_us = config->limit_us,
    };
    crypto_random(&agents->chance.state, sizeof(agents->chance.state));
    list_init(&agents->queue);
    if (!agents->program || (strings_count(config->words) > 0 && !agents->words)) {
        agents_destroy(agents);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    print_command(agents);
    *out = agents;
    return ORTE_SUCCESS;
}

static void destroy_one(struct agent *agent)
{
    loop_timer_stop(&agent->timer);
    said_fini(&agent->said);
    free(agent->host);
    free(agent);
}

void agents_destroy(struct agents *agents)
{
    for (uint32_t vpid = 0; agents && vpid < agents->size; vpid++) {
        if (agents->by_vpid[vpid]) {
            destroy_one(agents->by_vpid[vpid]);
        }
    }
    if (agents) {
        strings_free(agents->words);
        strings_free(agents->program);
        free(agents->by_vpid);
        free(agents);
    }
}
