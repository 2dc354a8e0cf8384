#include <config.h>

#include <tests/unit/btl/usnic/schedule.h>

enum { MS = 1000000, US = 1000, NODES_MOST = 4, MOST_ACTIONS = 64, MOST_MESSAGES = 400 };

enum kind { SEND, FAULTS, HEAL, CUT, SLEEP, MTU, REOPEN, LEAVE, HALF_OPEN };

struct action {
    enum kind kind;
    int from, to;
    uint32_t count;
};

static struct {
    struct sim_random random;
    struct action actions[MOST_ACTIONS];
    int count;
    uint32_t messages;                         /* that may still be sent */
    uint64_t end_ns;                           /* of the faults */
    bool lively;                               /* messages are answered, and end sessions */
    uint8_t doublings[NODES_MOST][NODES_MOST]; /* of the sessions' timeouts, after the faults */
} plan;

static uint32_t below(uint32_t limit)
{
    return sim_below(&plan.random, limit);
}

static bool one_in(uint32_t count)
{
    return below(count) == 0;
}

static uint32_t pick(const uint32_t *values, size_t count)
{
    return values[below((uint32_t) count)];
}
#define PICK(...)                         \
    pick((const uint32_t[]){__VA_ARGS__}, \
         sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static double chance(double most)
{
    return most * below(1000) / 1000;
}

/* ---- what happens ---- */

static uint32_t first_number(void)
{
    return one_in(2) ? UINT32_MAX - below(30) : (uint32_t) sim_random(&plan.random);
}

static void open_pair(int a, int b)
{
    sim_session_close(sim_between(a, b));
    if (one_in(2)) {
        sim_session_close(sim_between(b, a));
    }
    sim_session_open(a, b, one_in(3) ? 0 : below(3 * MS), first_number(), first_number());
}

static void send_some(int from, int to, uint32_t count)
{
    for (uint32_t i = 0; i < count && plan.messages > 0; i++, plan.messages--) {
        sim_send(sim_between(from, to), one_in(3));
    }
}

static void set_faults(struct impair_settings *settings)
{
    uint64_t delay_ns = settings->delay_ns;

    *settings = (struct impair_settings){.delay_ns = delay_ns,
                                         .loss = one_in(2) ? chance(0.2) : 0,
                                         .burst = one_in(4) ? chance(0.05) : 0,
                                         .burst_length = 1 + below(20),
                                         .duplicate = one_in(3) ? chance(0.2) : 0,
                                         .reorder = one_in(3) ? chance(0.3) : 0,
                                         .reorder_ns = (uint64_t) PICK(10, 100, 1000, 5000) * US,
                                         .corrupt = one_in(4) ? chance(0.1) : 0,
                                         .truncate = one_in(4) ? chance(0.1) : 0,
                                         .jitter_ns = one_in(3) ? below(1 * MS) : 0};
}

static void heal(int from, int to)
{
    struct impair_settings *settings = &sim_wire_way(&sim.wire, from, to)->settings;

    *settings = (struct impair_settings){.delay_ns = settings->delay_ns};
}

static void reopen(int from, int to)
{
    open_pair(from, to);
    sim.over.reopened++;
}

/* One side, or both at once. */
static void leave(int a, int b)
{
    sim_session_leave(sim_between(a, b));
    if (one_in(2)) {
        sim_session_leave(sim_between(b, a));
    }
}

/* One side has heard of the other, and leaves; the other one has gone. */
static void half_open(int a, int b)
{
    sim_session_close(sim_between(a, b));
    sim_session_close(sim_between(b, a));
    sim_session_open(a, b, SIM_NEVER, first_number(), first_number());
    sim_session_leave(sim_between(a, b));
}

static void act(int who, void *what)
{
    const struct action *action = what;
    struct impair_settings *settings = &sim_wire_way(&sim.wire, action->from, action->to)->settings;

    (void) who;
    switch (action->kind) {
    case SEND:
        send_some(action->from, action->to, action->count);
        break;
    case FAULTS:
        set_faults(settings);
        break;
    case HEAL:
        heal(action->from, action->to);
        break;
    case CUT:
        settings->cut = 1;
        break;
    case SLEEP:
        if (sim.queue.now + action->count < plan.end_ns) {
            sim_sleep(action->from, action->count);
        }
        break;
    case MTU:
        if (sim_between(action->from, action->to)->open) {
            usnic_flow_set_mtu(&sim_between(action->from, action->to)->flow,
                               USNIC_MTU_LEAST +
                                   below((uint32_t) sim.settings.mtu - USNIC_MTU_LEAST + 1));
        }
        break;
    case LEAVE:
        leave(action->from, action->to);
        break;
    case HALF_OPEN:
        half_open(action->from, action->to);
        break;
    default:
        reopen(action->from, action->to);
        break;
    }
}

/* In the callback of a message. */
static void on_message(struct sim_session *session)
{
    if (!plan.lively || sim.queue.now >= plan.end_ns) {
        return;
    }
    if (one_in(10) && plan.messages > 0) {
        send_some(session->node, session->peer, 1);
    }
    if (one_in(200)) {
        sim_session_close(session);
        sim_wake(session->node, sim.queue.now);
    }
}

/* ---- the plan ---- */

static void add(enum kind kind, uint64_t span_ns)
{
    struct action *action = &plan.actions[plan.count++];

    action->kind = kind;
    action->from = (int) below((uint32_t) sim.settings.nodes);
    do {
        action->to = (int) below((uint32_t) sim.settings.nodes);
    } while (action->to == action->from);
    action->count = kind == SLEEP ? below(20 * MS) : 1 + below(PICK(2, 8, 30));
    sim_act_at(sim_random(&plan.random) % span_ns, 0, action);
}

static void make_plan(uint64_t span_ns)
{
    uint32_t faults = below(6), cuts = one_in(3) ? 1 : 0, ends = one_in(3) ? 1 + below(2) : 0;

    plan.count = 0;
    for (uint32_t i = 2 + below(14); i > 0; i--) {
        add(SEND, span_ns);
    }
    for (uint32_t i = 0; i < faults; i++) {
        add(FAULTS, span_ns);
    }
    for (uint32_t i = 0; i < cuts; i++) {
        add(CUT, span_ns);
        add(HEAL, span_ns);
    }
    for (uint32_t i = one_in(3) ? 1 + below(3) : 0; i > 0; i--) {
        add(SLEEP, span_ns);
    }
    for (uint32_t i = one_in(3) ? 1 + below(3) : 0; i > 0; i--) {
        add(MTU, span_ns);
    }
    for (uint32_t i = one_in(2) ? 1 + below(3) : 0; i > 0; i--) {
        add(LEAVE, span_ns);
    }
    if (one_in(4)) {
        add(HALF_OPEN, span_ns);
    }
    for (uint32_t i = 0; i < ends; i++) {
        add(REOPEN, span_ns);
        add(SEND, span_ns);
    }
}

static void begin(uint64_t seed)
{
    plan.random.state = seed;
    const struct sim_settings settings = {.nodes = one_in(2) ? 2 : 2 + (int) below(NODES_MOST - 1),
                                          .mtu = PICK(USNIC_MTU_LEAST, 576, 1000, 1472),
                                          .room = (size_t) PICK(0, 12, 30, 92) * 2304,
                                          .segments = PICK(16, 40, 256),
                                          .buffers = PICK(16, 64, 256),
                                          .pack_after = (const size_t[]){0, 1, 8, 32}[seed % 4],
                                          .delay_ns = (uint64_t) PICK(2, 10, 25, 100, 1000) * US,
                                          .deaf = one_in(2),
                                          .wire_full = one_in(4) ? chance(0.4) : 0,
                                          .sent_ns =
                                              one_in(3) ? 1 + below(PICK(2, 20, 200) * US) : 0,
                                          .seed = seed};

    sim_begin(&settings);
    sim.action = act;
    sim.delivered = on_message;
    plan.messages = MOST_MESSAGES;
    plan.lively = one_in(2);
    for (int a = 0; a < settings.nodes; a++) {
        for (int b = a + 1; b < settings.nodes; b++) {
            open_pair(a, b);
        }
    }
}

/* ---- the end ---- */

/* Packets that a session has yet to send, and has sent without an answer. */
static uint64_t backlog(const struct sim_session *session)
{
    uint64_t count = session->flow.window.next - session->flow.window.first + 1;
    const struct usnic_message *message;

    list_for_each (message, &session->flow.queue, struct usnic_message, link) {
        count += 1 + message->total / (sim.settings.mtu - 100);
    }
    return count;
}

static void note_doublings(void)
{
    for (int i = 0; i < sim.settings.nodes; i++) {
        for (int j = 0; j < sim.settings.nodes; j++) {
            plan.doublings[i][j] = sim_between(i, j)->flow.rtt.doublings;
        }
    }
}

/* As the session measures now, and with the doublings that the faults left. */
static uint64_t timeout_us(const struct sim_session *session)
{
    struct usnic_rtt rtt = session->flow.rtt;

    rtt.doublings = plan.doublings[session->node][session->peer];
    return usnic_rtt_timeout_us(&rtt);
}

/* When all has to be quiet, after the last fault: each session after 10 timeouts, and one round
 * trip for each packet that is left. Those of a last word begin when other sessions have left a
 * segment to it. */
static uint64_t quiet_by(uint64_t begin_ns)
{
    uint64_t last_ns = begin_ns;

    for (int i = 0; i < sim.settings.nodes; i++) {
        for (int j = 0; j < sim.settings.nodes; j++) {
            const struct sim_session *session = sim_between(i, j);
            if (session->open && !session->failed) {
                uint64_t from_ns = session->short_ns > begin_ns ? session->short_ns : begin_ns;
                uint64_t by_ns = from_ns + 10 * timeout_us(session) * US +
                                 backlog(session) * 2 * (sim.settings.delay_ns + 50 * US);
                last_ns = by_ns > last_ns ? by_ns : last_ns;
            }
        }
    }
    return last_ns;
}

/* As whoever hears of a failure does, at last, or has waited for long enough. */
static void close_failed(void)
{
    for (int i = 0; i < sim.settings.nodes; i++) {
        for (int j = 0; j < sim.settings.nodes; j++) {
            if (sim_between(i, j)->failed || sim_is_alone(sim_between(i, j))) {
                sim_session_close(sim_between(i, j));
                sim_session_close(sim_between(j, i));
            }
        }
    }
}

static void end_faults(void)
{
    sim.settings.wire_full = 0;
    close_failed();
    for (int i = 0; i < sim.settings.nodes; i++) {
        for (int j = 0; j < sim.settings.nodes; j++) {
            heal(i, j);
        }
    }
    for (int i = 0; i < sim.settings.nodes; i++) {
        for (int j = i + 1; j < sim.settings.nodes; j++) {
            const struct sim_session *one = sim_between(i, j), *other = sim_between(j, i);
            if (sim_is_half_open(one) || sim_is_half_open(other)) {
                continue;
            }
            if (one->number != other->number ||
                (one->open != other->open && !one->over && !other->over)) {
                open_pair(i, j);
                send_some(i, j, 1);
            }
        }
    }
}

static void settle(void)
{
    const uint64_t begin = sim.queue.now;

    note_doublings();
    for (uint64_t until = begin; !sim.broken && !sim_is_quiet();) {
        const uint64_t limit = quiet_by(begin);
        until = limit > until ? limit : until;
        if (sim.queue.now >= until || !sim_run_until(sim.queue.now + 200 * US)) {
            break;
        }
    }
    if (!sim.broken && !sim_is_quiet()) {
        sim_break("10 timeouts after the last fault something is not acknowledged");
    }
    /* What holds memory now is the wire alone. */
    close_failed();
    if (!sim.broken) {
        sim_run_until(sim.queue.now + 20 * MS);
        sim_check_quiet();
    }
}

const char *schedule_run(uint64_t seed, struct sim_totals *totals)
{
    begin(seed);
    uint64_t span_ns = one_in(100) ? (uint64_t) 6000 * MS : (uint64_t) (1 + below(60)) * MS;
    plan.end_ns = span_ns;
    make_plan(span_ns);
    sim_run_until(span_ns);
    if (!sim.broken) {
        sim.queue.now = sim.queue.now > span_ns ? sim.queue.now : span_ns;
        end_faults();
        settle();
    }
    if (totals) {
        sim_add_totals(totals);
    }
    sim_end();
    return sim.broken;
}
