#include <config.h>

#include <launcher/job/dvm_parts.h>

#include <base/data/array.h>
#include <launcher/request/nodes/hostlist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- a daemon --- */

enum daemon_action {
    DAEMON_NOTHING,
    DAEMON_COME_HOME,
    DAEMON_LEAD,
    DAEMON_LOSE,
    DAEMON_LOSE_FOR_NOW,
    DAEMON_TELL_LOSS,
};

static const char *const daemon_states[] = {"starting", "home",        "wired",
                                            "growing",  "unexplained", "lost"};
static const char *const daemon_events[] = {"calls home",     "links",         "lost",
                                            "lost for now",   "lost with all", "explained",
                                            "told of growth", "has grown"};
static const char *const daemon_actions[] = {"",
                                             "tell the plm",
                                             "added ones below it join",
                                             "repair the tree, tell jobs",
                                             "repair the tree, jobs wait",
                                             "tell jobs"};
static const struct fsm_row daemon_rows[] = {
    {DAEMON_STARTING, DAEMON_CALLS_HOME, DAEMON_HOME, DAEMON_COME_HOME},
    {DAEMON_STARTING, DAEMON_IS_LOST, DAEMON_LOST, DAEMON_LOSE},
    {DAEMON_STARTING, DAEMON_IS_LOST_WITH_ALL, DAEMON_LOST, DAEMON_NOTHING},
    {DAEMON_HOME, DAEMON_LINKS, DAEMON_WIRED, DAEMON_LEAD},
    {DAEMON_HOME, DAEMON_IS_LOST, DAEMON_LOST, DAEMON_LOSE},
    {DAEMON_HOME, DAEMON_IS_LOST_WITH_ALL, DAEMON_LOST, DAEMON_NOTHING},
    {DAEMON_WIRED, DAEMON_IS_LOST, DAEMON_LOST, DAEMON_LOSE},
    {DAEMON_WIRED, DAEMON_IS_LOST_FOR_NOW, DAEMON_UNEXPLAINED, DAEMON_LOSE_FOR_NOW},
    {DAEMON_WIRED, DAEMON_IS_TOLD, DAEMON_GROWING, DAEMON_NOTHING},
    {DAEMON_GROWING, DAEMON_HAS_GROWN, DAEMON_WIRED, DAEMON_NOTHING},
    {DAEMON_GROWING, DAEMON_IS_LOST, DAEMON_LOST, DAEMON_LOSE},
    {DAEMON_GROWING, DAEMON_IS_LOST_FOR_NOW, DAEMON_UNEXPLAINED, DAEMON_LOSE_FOR_NOW},
    {DAEMON_UNEXPLAINED, DAEMON_IS_EXPLAINED, DAEMON_LOST, DAEMON_TELL_LOSS},
};
const struct fsm dvm_daemon_fsm = {
    .of = "daemon of ",
    .changes = LOG_DEBUG,
    .states = daemon_states,
    .events = daemon_events,
    .actions = daemon_actions,
    .rows = daemon_rows,
    .row_count = sizeof(daemon_rows) / sizeof(*daemon_rows),
};

static void come_home(struct dvm *dvm, uint32_t vpid)
{
    dvm->ops->came_home(dvm->arg, vpid);
}

/* --- all of them --- */

enum dvm_action {
    DVM_AWAIT,
    DVM_ASK,
    DVM_WIRE,
    DVM_STAND,
    DVM_EXIT_EACH,
    DVM_EXIT_TREE,
    DVM_EXAMINE,
    DVM_ANNOUNCE,
    DVM_JOIN,
    DVM_GROWN,
};

static const char *const dvm_phases[] = {"down",   "starting",  "topologies", "wiring",  "stands",
                                         "adding", "examining", "announcing", "joining", "over"};
static const char *const dvm_events[] = {"start", "all home", "topologies known", "all wired",
                                         "close", "grow",     "all have grown",   "late"};
static const char *const dvm_actions[] = {
    "wait for daemons", "ask topologies", "wire",     "launch jobs", "end each",
    "end by the tree",  "ask topologies", "announce", "join",        "tell jobs"};
static const struct fsm_row dvm_rows[] = {
    {DVM_DOWN, DVM_START, DVM_STARTING, DVM_AWAIT},
    {DVM_DOWN, DVM_CLOSE, DVM_OVER, DVM_EXIT_EACH},
    {DVM_STARTING, DVM_ALL_HOME, DVM_TOPOLOGIES, DVM_ASK},
    {DVM_STARTING, DVM_CLOSE, DVM_OVER, DVM_EXIT_EACH},
    {DVM_TOPOLOGIES, DVM_KNOWN, DVM_WIRING, DVM_WIRE},
    {DVM_TOPOLOGIES, DVM_CLOSE, DVM_OVER, DVM_EXIT_EACH},
    {DVM_WIRING, DVM_ALL_WIRED, DVM_STANDS, DVM_STAND},
    {DVM_WIRING, DVM_CLOSE, DVM_OVER, DVM_EXIT_EACH},
    {DVM_STANDS, DVM_CLOSE, DVM_OVER, DVM_EXIT_TREE},
    {DVM_STANDS, DVM_GROW, DVM_ADDING, DVM_AWAIT},
    {DVM_ADDING, DVM_ALL_HOME, DVM_EXAMINING, DVM_EXAMINE},
    {DVM_ADDING, DVM_CLOSE, DVM_OVER, DVM_EXIT_TREE},
    {DVM_EXAMINING, DVM_KNOWN, DVM_ANNOUNCING, DVM_ANNOUNCE},
    {DVM_EXAMINING, DVM_LATE, DVM_STANDS, DVM_GROWN},
    {DVM_EXAMINING, DVM_CLOSE, DVM_OVER, DVM_EXIT_TREE},
    {DVM_ANNOUNCING, DVM_ALL_GROWN, DVM_JOINING, DVM_JOIN},
    {DVM_ANNOUNCING, DVM_LATE, DVM_STANDS, DVM_GROWN},
    {DVM_ANNOUNCING, DVM_CLOSE, DVM_OVER, DVM_EXIT_TREE},
    {DVM_JOINING, DVM_ALL_WIRED, DVM_STANDS, DVM_GROWN},
    {DVM_JOINING, DVM_CLOSE, DVM_OVER, DVM_EXIT_TREE},
};
const struct fsm dvm_fsm = {
    .of = "daemons",
    .changes = LOG_INFO,
    .states = dvm_phases,
    .events = dvm_events,
    .actions = dvm_actions,
    .rows = dvm_rows,
    .row_count = sizeof(dvm_rows) / sizeof(*dvm_rows),
};

void dvm_check(struct dvm *dvm)
{
    if (dvm->in_state[DAEMON_STARTING] == 0) {
        dvm_take(dvm, DVM_ALL_HOME);
    }
    if (dvm->in_state[DAEMON_GROWING] == 0) {
        dvm_take(dvm, DVM_ALL_GROWN);
    }
    if (dvm->in_state[DAEMON_STARTING] + dvm->in_state[DAEMON_HOME] == 0) {
        dvm_take(dvm, DVM_ALL_WIRED);
    }
}

void dvm_take_daemon(struct dvm *dvm, uint32_t vpid, enum daemon_event event)
{
    static void (*const actions[])(struct dvm *, uint32_t) = {
        [DAEMON_COME_HOME] = come_home,
        [DAEMON_NOTHING] = NULL,
        [DAEMON_LEAD] = dvm_lead,
        [DAEMON_LOSE] = dvm_lose,
        [DAEMON_LOSE_FOR_NOW] = dvm_lose_for_now,
        [DAEMON_TELL_LOSS] = dvm_tell_loss,
    };
    struct dvm_daemon *daemon = &dvm->daemons[vpid];
    uint8_t before = daemon->state;
    int action =
        fsm_take(dvm->daemon_fsm, &daemon->state, (uint8_t) event, daemon->node, dvm->watch);
    if (action < 0) {
        return;
    }
    dvm->in_state[before]--;
    dvm->in_state[daemon->state]++;
    if (actions[action]) {
        actions[action](dvm, vpid);
    }
    dvm_check(dvm);
}

static void fail_all(struct dvm *dvm, const char *text)
{
    struct dvm_user *user;
    list_for_each (user, &dvm->users, struct dvm_user, link) {
        user->ops->failed(user, text);
    }
}

static void await(struct dvm *dvm)
{
    dvm->ops->set_timer(dvm->arg, DVM_TIMER_START, dvm->limits.home_us);
}

/* All have been at home; is nobody lost since? */
static void ask(struct dvm *dvm)
{
    char text[512];
    for (uint32_t vpid = 1; vpid < dvm->count; vpid++) {
        if (dvm_is_lost(dvm, vpid)) {
            snprintf(text, sizeof(text), "lost the daemon of node %s", dvm->daemons[vpid].node);
            fail_all(dvm, text);
            return;
        }
    }
    dvm->ops->ask_topologies(dvm->arg);
}

/* The children of this process are linked to it by calling home. */
static void wire(struct dvm *dvm)
{
    for (uint32_t vpid = 1; vpid < dvm->count; vpid++) {
        uint32_t parent = dvm->ops->parent(dvm->arg, vpid);
        if (parent == 0) {
            dvm_take_daemon(dvm, vpid, DAEMON_LINKS);
        } else {
            dvm->ops->wire(dvm->arg, vpid, parent);
        }
    }
}

static void stand(struct dvm *dvm)
{
    struct dvm_user *user;
    dvm->ops->stop_timer(dvm->arg, DVM_TIMER_START);
    list_for_each (user, &dvm->users, struct dvm_user, link) {
        user->ops->stands(user);
    }
}

static void end(struct dvm *dvm, bool by_tree)
{
    for (int timer = 0; timer < DVM_TIMERS; timer++) {
        dvm->ops->stop_timer(dvm->arg, (enum dvm_timer) timer);
    }
    dvm->ops->exit(dvm->arg, by_tree);
}

static void exit_each(struct dvm *dvm)
{
    end(dvm, false);
}

static void exit_tree(struct dvm *dvm)
{
    end(dvm, true);
}

static void examine(struct dvm *dvm)
{
    dvm->ops->ask_topologies(dvm->arg);
}

void dvm_take(struct dvm *dvm, enum dvm_event event)
{
    static void (*const actions[])(struct dvm *) = {
        [DVM_AWAIT] = await,         [DVM_ASK] = ask,
        [DVM_WIRE] = wire,           [DVM_STAND] = stand,
        [DVM_EXIT_EACH] = exit_each, [DVM_EXIT_TREE] = exit_tree,
        [DVM_EXAMINE] = examine,     [DVM_ANNOUNCE] = dvm_announce,
        [DVM_JOIN] = dvm_join,       [DVM_GROWN] = dvm_grown,
    };
    int action = fsm_take(dvm->fsm, &dvm->phase, (uint8_t) event, "", dvm->watch);
    if (action >= 0) {
        actions[action](dvm);
    }
}

/* --- events --- */

void dvm_start(struct dvm *dvm, const struct dvm_limits *limits)
{
    dvm->limits = *limits;
    dvm_take(dvm, DVM_START);
    dvm_check(dvm);
}

void dvm_home(struct dvm *dvm, uint32_t vpid)
{
    if (dvm->daemons[vpid].state != DAEMON_STARTING) {
        log_warn(LOG_LAUNCHER, "daemon %u calls home twice", vpid);
    }
    dvm_take_daemon(dvm, vpid, DAEMON_CALLS_HOME);
}

void dvm_topologies_known(struct dvm *dvm)
{
    dvm_take(dvm, DVM_KNOWN);
    dvm_check(dvm);
}

void dvm_wired(struct dvm *dvm, uint32_t vpid)
{
    dvm_take_daemon(dvm, vpid, DAEMON_LINKS);
}

void dvm_close(struct dvm *dvm)
{
    dvm_take(dvm, DVM_CLOSE);
}

/* Has it not done what it has to do in this phase? */
static bool is_late(const void *arg, uint32_t vpid)
{
    const struct dvm *dvm = arg;
    return dvm->daemons[vpid].state < (dvm->phase == DVM_STARTING ? DAEMON_HOME : DAEMON_WIRED);
}

/* Starting takes too long: who is late, and with what? */
static void late(struct dvm *dvm)
{
    char text[1024];
    unsigned limit_s = (unsigned) (dvm->limits.home_us / 1000000u);
    if (dvm->phase == DVM_TOPOLOGIES) {
        snprintf(text, sizeof(text),
                 "a daemon has not reported its node's processors within %u s "
                 "(plm_start_timeout_s)",
                 limit_s);
        fail_all(dvm, text);
        return;
    }
    uint32_t count;
    char *nodes = dvm_name_nodes(dvm, is_late, dvm, &count);
    snprintf(text, sizeof(text), "node%s %s: %s %s within %u s (plm_start_timeout_s)",
             count == 1 ? "" : "s", nodes ? nodes : "?",
             count == 1 ? "its daemon has not" : "none of their daemons has",
             dvm->phase == DVM_STARTING ? "called home" : "found its place in the tree", limit_s);
    free(nodes);
    fail_all(dvm, text);
}

void dvm_timer(struct dvm *dvm, enum dvm_timer timer, uint64_t now_us)
{
    if (timer == DVM_TIMER_REPAIR) {
        dvm_repair_due(dvm, now_us);
    } else if (timer == DVM_TIMER_SILENCE) {
        dvm_silence_due(dvm, now_us);
    } else if (dvm_grows(dvm)) {
        dvm_grow_late(dvm, now_us);
    } else if (dvm->phase < DVM_STANDS) {
        late(dvm);
    }
}

/* --- questions --- */

bool dvm_lives(const struct dvm *dvm, uint32_t vpid)
{
    uint8_t state = dvm->daemons[vpid].state;
    return state >= DAEMON_HOME && state < DAEMON_UNEXPLAINED;
}

bool dvm_stands(const struct dvm *dvm)
{
    return dvm->phase >= DVM_STANDS && dvm->phase < DVM_OVER;
}

bool dvm_is_lost(const struct dvm *dvm, uint32_t vpid)
{
    return dvm->daemons[vpid].state >= DAEMON_UNEXPLAINED;
}

char *dvm_name_nodes(const struct dvm *dvm, bool (*chosen)(const void *arg, uint32_t vpid),
                     const void *arg, uint32_t *count)
{
    const char **names = calloc((size_t) dvm->count + 1, sizeof(*names));
    *count = 0;
    for (uint32_t vpid = 0; names && vpid < dvm->count; vpid++) {
        if (chosen(arg, vpid)) {
            names[(*count)++] = dvm->daemons[vpid].node;
        }
    }
    char *text = names ? hostlist_print(names, *count) : NULL;
    free(names);
    return text;
}

/* --- life --- */

void dvm_init(struct dvm *dvm, const struct dvm_ops *ops, void *arg)
{
    *dvm = (struct dvm){.fsm = &dvm_fsm, .daemon_fsm = &dvm_daemon_fsm, .ops = ops, .arg = arg};
    list_init(&dvm->users);
}

int dvm_add(struct dvm *dvm, const char *node)
{
    char *name = strdup(node);
    if (!name || !array_add(&dvm->daemons, dvm->count, sizeof(*dvm->daemons))) {
        free(name);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    enum daemon_state state = dvm->count == 0 ? DAEMON_WIRED : DAEMON_STARTING;
    dvm->daemons[dvm->count++] = (struct dvm_daemon){.state = (uint8_t) state, .node = name};
    dvm->in_state[state]++;
    return ORTE_SUCCESS;
}

void dvm_fini(struct dvm *dvm)
{
    for (uint32_t vpid = 0; vpid < dvm->count; vpid++) {
        free(dvm->daemons[vpid].node);
        free(dvm->daemons[vpid].why);
        free(dvm->daemons[vpid].said);
    }
    free(dvm->daemons);
    dvm->daemons = NULL;
    dvm->count = 0;
}
