/* Simulated nodes' daemons are children of the shepherd; the rest are started by an agent each
 * (ssh, or what the parameter plm_rsh_agent names), called as AGENT HOST PROGRAM ARGUMENTS. As ssh
 * does, it gives the words behind HOST to a shell: PROGRAM is quoted where it has to be.
 *
 * Where there are many, keelrun starts some, which start the others (start_tree.h). A daemon that
 * another could not start is started by keelrun: what counts is what happens then. */
#include <config.h>

#include <launcher/plm/plm.h>

#include <base/data/array.h>
#include <base/data/clock.h>
#include <base/data/strings.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <launcher/node/daemon.h>
#include <launcher/node/onward.h>
#include <launcher/plm/start_tree.h>
#include <launcher/request/nodes/hostlist.h>
#include <launcher/request/run_request.h>
#include <launcher/standing/submitter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wireup/proto.h>

static struct {
    struct param tree, max, retries;
} params = {
    .tree = PARAM_INT("plm_tree", "32", 0, 65536, "hosts",
                      "From so many other hosts on, daemons that keelrun has started start the "
                      "rest (0: never)"),
    .max = PARAM_INT("plm_agents_max", "64", 1, 65536, "agents",
                     "How many agents on a node may be starting their daemons at a time"),
    .retries = PARAM_INT("plm_ssh_retries", "0", 0, 1000, "",
                         "How often an agent that ends with code 255, as ssh does when it does not "
                         "get to the host, is started again, each time after a longer pause"),
};
PARAM_ROWS("launcher", params);

/* When one has failed: how long nothing may be heard of the others before they are bad as well. It
 * is longer than ssh's ConnectTimeout, for ssh's reason says more. */
#define QUIET_US 12000000u
/* Of the time that all have: what a start by another daemon may take, so that keelrun can try. */
#define ONWARD_SHARE 3u
#define NAMES_BYTES 400u /* of nodes in one line, so that the reason has room behind them */

static bool is_failing(const struct plm *plm)
{
    return plm->owner->is_failing(plm->arg);
}

/* --- daemons that cannot be started --- */

/* The next, from this one on, which the user does not know of. 0: none. */
static uint32_t next_failed(const struct plm *plm, uint32_t vpid)
{
    for (; vpid < plm->config.count; vpid++) {
        const struct rsh_start *start = &plm->rsh.starts[vpid];
        if (!plm_is_home(plm, vpid) && start->why && !start->told) {
            return vpid;
        }
    }
    return 0;
}

/* May the daemon of some node still come? */
static bool any_comes(const struct plm *plm)
{
    for (uint32_t vpid = 1; vpid < plm->config.count; vpid++) {
        if (!plm_is_home(plm, vpid) && !plm->rsh.starts[vpid].why) {
            return true;
        }
    }
    return false;
}

/* A line for the first of them and others that failed for the same reason. names: room for all. */
static void describe_failed(const struct plm *plm, const char **names, char *text, size_t size)
{
    uint32_t first = next_failed(plm, 1), count = 0;
    const char *why = plm->rsh.starts[first].why;
    size_t bytes = 0;
    for (uint32_t vpid = first; vpid != 0 && bytes < NAMES_BYTES;
         vpid = next_failed(plm, vpid + 1)) {
        if (strcmp(plm->rsh.starts[vpid].why, why) == 0) {
            names[count++] = plm_node(plm, vpid);
            bytes += strlen(plm_node(plm, vpid)) + 1;
            plm->rsh.starts[vpid].told = true;
        }
    }
    char *nodes = hostlist_print(names, count);
    snprintf(text, size, "node%s %s: %s", count > 1 ? "s" : "", nodes ? nodes : "?", why);
    free(nodes);
}

static void note_failure(struct plm *plm, uint32_t vpid, const char *why)
{
    struct rsh_start *start = &plm->rsh.starts[vpid];
    start->why = start->why ? start->why : strdup(why);
}

/* Who is not home by now is bad as well. */
static void give_up_waiting(struct plm *plm)
{
    char why[80];
    snprintf(why, sizeof(why), "its daemon has not called home within %u s",
             (unsigned) ((clock_us() - plm->rsh.started_us) / 1000000u));
    for (uint32_t vpid = 1; vpid < plm->config.count; vpid++) {
        if (!plm_is_home(plm, vpid)) {
            note_failure(plm, vpid, why);
        }
    }
}

/* All bad nodes are named, a line for each way to fail; a last one sums up. */
static void fail(struct plm *plm)
{
    const char **names = calloc(plm->config.count, sizeof(*names));
    char text[1024] = "some daemons cannot be started";
    uint32_t lines = 0, bad = 0;
    for (uint32_t vpid = 1; vpid < plm->config.count; vpid++) {
        bad += !plm_is_home(plm, vpid) && plm->rsh.starts[vpid].why;
    }
    while (names && next_failed(plm, 1) != 0) {
        if (lines++ > 0) {
            plm->owner->tell(plm->arg, text);
        }
        describe_failed(plm, names, text, sizeof(text));
    }
    if (lines > 1) {
        plm->owner->tell(plm->arg, text);
        snprintf(text, sizeof(text), "%u of %u nodes cannot be started", bad,
                 plm->config.count - 1);
    }
    free(names);
    plm_fail(plm, EXIT_RUNTIME, "%s", text);
}

static void waited(struct loop_timer *timer)
{
    struct plm *plm = container_of(timer, struct plm, rsh.patience);
    give_up_waiting(plm);
    fail(plm);
}

/* Not to the end of the time that all have: behind that, nobody asks for reasons any more. */
static uint64_t patience_us(const struct rsh *rsh)
{
    uint64_t took_us = clock_us() - rsh->started_us, limit_us = home_limit_us();
    uint64_t left_us = took_us < limit_us ? limit_us - took_us : 0;
    return QUIET_US < left_us ? QUIET_US : left_us / 2;
}

/* Something was heard. When one has failed, the others get time to come or to fail as well, as long
 * as something is heard. */
static void settle(struct plm *plm)
{
    if (is_failing(plm) || next_failed(plm, 1) == 0) {
        return;
    }
    if (any_comes(plm)) {
        loop_timer_start(&plm->rsh.patience, patience_us(&plm->rsh));
    } else {
        fail(plm);
    }
}

/* --- starting them --- */

/* "USER@HOST", or the host alone; malloc'd, NULL: no memory. */
static char *whereto(const struct plm *plm, uint32_t vpid)
{
    const char *user = plm->owner->user(plm->arg, vpid);
    char *text = NULL;
    return asprintf(&text, "%s%s%s", user ? user : "", user ? "@" : "", plm_node(plm, vpid)) < 0
               ? NULL
               : text;
}

/* It does not come. */
static void give_up_on(struct plm *plm, uint32_t vpid, const char *why)
{
    if (!plm->owner->goes_on(plm->arg, vpid, why)) {
        note_failure(plm, vpid, why);
        settle(plm);
    }
}

/* By a standing DVM, which has a daemon there. */
static int start_hosted(struct plm *plm, uint32_t vpid)
{
    size_t size = 0;
    char why[256];
    char *text = plm_home(plm, vpid, &size, why, sizeof(why));
    bool asked =
        text && submitter_start(plm->config.submitter, vpid, plm_node(plm, vpid), text, size);
    if (text) {
        crypto_wipe(text, size);
        free(text);
    }
    return asked ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

static int start_agent(struct plm *plm, uint32_t vpid)
{
    char *host = whereto(plm, vpid);
    int status = host ? agents_start(plm->rsh.agents, vpid, host) : ORTE_ERR_OUT_OF_RESOURCE;
    free(host);
    return status;
}

static void start_here(struct plm *plm, uint32_t vpid)
{
    plm->rsh.starts[vpid].starter = HNP_VPID;
    int status = plm->config.submitter ? start_hosted(plm, vpid) : start_agent(plm, vpid);
    if (status != ORTE_SUCCESS) {
        give_up_on(plm, vpid, opal_strerror(status));
    }
}

/* Who starts this one, of those that are started together; itself: keelrun does. */
static uint32_t head_of(const struct plm *plm, uint32_t vpid)
{
    uint32_t before = plm->config.first - 1;
    return vpid > before ? before + start_tree_head(plm->rsh.block, vpid - before) : vpid;
}

/* Those that a daemon is to start are vpid + 1 to this one, which is not among them. */
static uint32_t end_of_block(const struct plm *plm, uint32_t vpid)
{
    uint32_t end = vpid;
    while (end < plm->config.count && head_of(plm, end) == vpid) {
        end++;
    }
    return end;
}

/* Is it to start others, which are not started yet? */
static bool has_block(const struct plm *plm, uint32_t vpid)
{
    return vpid + 1 < plm->config.count && plm->rsh.starts[vpid + 1].starter == vpid;
}

static int fill_order(const struct plm *plm, uint32_t head, struct start_order *order)
{
    uint32_t end = end_of_block(plm, head);
    *order = (struct start_order){
        .words = strings_copy(plm->rsh.remote.agent),
        .program = strings_copy(plm->rsh.remote.program),
        .max = (uint32_t) param_int(&params.max),
        .retries = (uint32_t) param_int(&params.retries),
        .limit_ms = (uint32_t) (home_limit_us() / 1000u / ONWARD_SHARE),
        .nodes = calloc(end - head, sizeof(*order->nodes)),
    };
    bool whole = order->words && order->program && order->nodes;
    for (uint32_t vpid = head + 1; whole && vpid < end; vpid++) {
        struct start_node *node = &order->nodes[order->count++];
        *node = (struct start_node){vpid, strdup(plm_node(plm, vpid)), whereto(plm, vpid)};
        whole = node->node && node->host;
    }
    return whole ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

/* Has a daemon start the others of its block. */
static int start_onward(struct plm *plm, uint32_t head)
{
    struct start_order order;
    int status = fill_order(plm, head, &order);
    opal_buffer_t *buffer = status == ORTE_SUCCESS ? proto_new(ORDER_START, "") : NULL;
    if (buffer) {
        buffer = proto_whole(buffer, start_order_pack(buffer, &order));
    }
    start_order_fini(&order);
    return buffer ? plm->owner->order(plm->arg, head, buffer) : ORTE_ERR_OUT_OF_RESOURCE;
}

/* Keelrun starts what this daemon was to start. */
static void start_block_here(struct plm *plm, uint32_t head, const char *why)
{
    uint32_t end = end_of_block(plm, head);
    for (uint32_t vpid = head + 1; vpid < end; vpid++) {
        log_info(LOG_LAUNCHER, "node %s is started by keelrun, not by node %s: %s",
                 plm_node(plm, vpid), plm_node(plm, head), why);
        start_here(plm, vpid);
    }
}

void rsh_came_home(struct plm *plm, uint32_t vpid)
{
    uint32_t starter = plm->rsh.starts[vpid].starter;
    if (starter == HNP_VPID) {
        agents_home(plm->rsh.agents, vpid);
    }
    if (is_failing(plm)) {
        return;
    }
    if (starter != HNP_VPID) {
        (void) plm->owner->order(plm->arg, starter, proto_new(ORDER_STARTED, "u", vpid));
    }
    if (has_block(plm, vpid)) {
        int status = start_onward(plm, vpid);
        if (status != ORTE_SUCCESS) {
            start_block_here(plm, vpid, opal_strerror(status));
        }
    }
    settle(plm);
}

static void failed(void *arg, uint32_t vpid, const char *why, char *const *said);

static void unstarted(struct plm *plm, uint32_t starter, uint32_t vpid, const char *why)
{
    if (starter == HNP_VPID) { /* there is nobody else to try it */
        failed(plm, vpid, why, NULL);
        return;
    }
    if (plm->rsh.starts[vpid].starter != starter || plm_is_home(plm, vpid) || is_failing(plm)) {
        return;
    }
    log_info(LOG_LAUNCHER, "node %s is started by keelrun, not by node %s: %s", plm_node(plm, vpid),
             plm_node(plm, starter), why);
    start_here(plm, vpid);
}

/* --- the agents' owner --- */

static void says(void *arg, const char *line)
{
    const struct plm *plm = arg;
    channel_send(plm->front, proto_new(FRONT_PLAIN, "cs", (uint8_t) STDERR_FILENO, line));
}

/* Of agents that said more than the reason, the first is shown: most will have said the same. */
static void show_said(struct plm *plm, char *const *said)
{
    size_t count = strings_count(said);
    for (size_t i = 0; !plm->rsh.shown && i + 1 < count; i++) {
        says(plm, said[i]);
    }
    plm->rsh.shown = plm->rsh.shown || count > 1;
}

static void failed(void *arg, uint32_t vpid, const char *why, char *const *said)
{
    struct plm *plm = arg;
    if (is_failing(plm) || plm_is_home(plm, vpid)) {
        return;
    }
    show_said(plm, said);
    start_block_here(plm, vpid, "it does not run");
    give_up_on(plm, vpid, why);
}

static char *home_of(void *arg, uint32_t vpid, size_t *size, char *reason, size_t reason_size)
{
    return plm_home(arg, vpid, size, reason, reason_size);
}

static const struct agents_owner agents_owner = {.home = home_of, .failed = failed, .says = says};

/* --- start --- */

/* False: the job has failed. */
static bool make_remote(struct plm *plm, const char *keeld)
{
    char reason[512];
    int status = remote_make(&plm->rsh.remote, keeld, reason, sizeof(reason));
    if (status != ORTE_SUCCESS) {
        plm_fail(plm, status == ORTE_ERR_BAD_PARAM ? EXIT_USAGE : EXIT_RUNTIME, "%s", reason);
    }
    return status == ORTE_SUCCESS;
}

bool rsh_open(struct plm *plm, char *const *words, char *const *program)
{
    bool simulated = plm->config.simulated;
    struct agents_config config = {
        .words = words,
        .program = program,
        .max = simulated ? 0 : (uint32_t) param_int(&params.max),
        .retries = (uint32_t) param_int(&params.retries),
    };
    loop_timer_init(&plm->rsh.patience, plm->loop, waited);
    int status =
        agents_create(&plm->rsh.agents, plm->loop, plm->shepherd, &config, &agents_owner, plm);
    if (status != ORTE_SUCCESS) {
        plm_fail(plm, EXIT_RUNTIME, "cannot start the daemons: %s", opal_strerror(status));
    }
    return status == ORTE_SUCCESS;
}

static bool reserve(struct rsh *rsh, uint32_t count)
{
    bool room = array_extend(&rsh->starts, rsh->size, count, sizeof(*rsh->starts));
    rsh->size = room ? count : rsh->size;
    return room;
}

/* Daemons of simulated nodes need no tree. */
bool rsh_start_added(struct plm *plm)
{
    struct rsh *rsh = &plm->rsh;
    uint32_t first = plm->config.first, count = plm->config.count;
    bool direct = plm->config.simulated || plm->config.submitter;
    uint32_t threshold = direct ? 0 : (uint32_t) param_int(&params.tree);
    if (!reserve(rsh, count)) {
        plm_fail(plm, EXIT_RUNTIME, "cannot start the daemons: out of memory");
        return false;
    }
    rsh->started_us = clock_us();
    rsh->block = start_tree_block(count - first, threshold);
    agents_go_on(rsh->agents);
    for (uint32_t vpid = first; vpid < count; vpid++) {
        uint32_t head = head_of(plm, vpid);
        rsh->starts[vpid].starter = head == vpid ? HNP_VPID : head;
    }
    for (uint32_t vpid = first; !is_failing(plm) && vpid < count; vpid += rsh->block) {
        start_here(plm, vpid);
    }
    return !is_failing(plm);
}

/* Daemons of simulated nodes need no agent. */
static bool start(struct plm *plm, char *keeld)
{
    char *children[] = {keeld, NULL};
    bool direct = plm->config.simulated || plm->config.submitter;
    bool open = (direct || make_remote(plm, keeld)) &&
                rsh_open(plm, plm->rsh.remote.agent, direct ? children : plm->rsh.remote.program);
    return open && rsh_start_added(plm);
}

static bool grow(struct plm *plm, char *keeld)
{
    return plm->rsh.agents ? rsh_start_added(plm) : start(plm, keeld);
}

void rsh_lost(struct plm *plm, uint32_t vpid)
{
    agents_end(plm->rsh.agents, vpid);
}

void rsh_stop(struct plm *plm)
{
    loop_timer_stop(&plm->rsh.patience);
    agents_stop(plm->rsh.agents);
}

void rsh_fini(struct plm *plm)
{
    struct rsh *rsh = &plm->rsh;
    for (uint32_t vpid = 0; vpid < rsh->size; vpid++) {
        free(rsh->starts[vpid].why);
    }
    free(rsh->starts);
    agents_destroy(rsh->agents);
    remote_fini(&rsh->remote);
}

bool rsh_fill(const struct plm *plm, uint32_t vpid, struct home *home)
{
    home->vpid = vpid;
    home->agent = !plm->config.simulated;
    home->node = strdup(plm_node(plm, vpid));
    return home->node != NULL;
}

const struct plm_ops plm_rsh = {
    .start = start,
    .grow = grow,
    .lost = rsh_lost,
    .fill = rsh_fill,
    .came_home = rsh_came_home,
    .unstarted = unstarted,
    .stop = rsh_stop,
    .fini = rsh_fini,
};
