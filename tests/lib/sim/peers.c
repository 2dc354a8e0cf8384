#include <base/settings/log.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/sim/peers_state.h>

struct sim_peers sim_peers;

void sim_peers_violated(const char *format, ...)
{
    va_list args;
    if (sim_peers.report->held) {
        va_start(args, format);
        vsnprintf(sim_peers.report->reason, sizeof(sim_peers.report->reason), format, args);
        va_end(args);
    }
    sim_peers.report->held = false;
}

/* ---- what processes do ---- */

static void resend(struct node *node, endpoint *ep)
{
    if (ep->flight_count > 0 && now_us() - ep->oldest_us > PATIENCE_US) {
        btl_peer_fail(&ep->life, "no acknowledgement");
    } else if (ep->life.state == PEER_UP && now_us() >= ep->resend_us) {
        for (int i = 0; i < ep->flight_count; i++) {
            sim_peers_say(node, ep, DATA, sim_peers.message[ep->flight[i]].number, ep->flight[i]);
        }
        ep->resend_us = now_us() + RESEND_US;
    }
}

static void free_lingering(struct node *node)
{
    for (struct list *link; (link = list_pop(&node->lingering));) {
        struct btl_peer *peer = container_of(link, struct btl_peer, link);
        if (peer->state != PEER_ENDED || endpoint_of(peer)->flight_count > 0) {
            sim_peers_violated("an endpoint that ended is used");
        }
        btl_peer_free(peer);
    }
}

static void tick(struct node *node)
{
    struct btl_peer *peer;
    bool waits = false;
    node->ticking = false;
    if (!node->alive) {
        return;
    }
    list_for_each (peer, &node->peers.used, struct btl_peer, link) {
        resend(node, endpoint_of(peer));
        waits = waits || endpoint_of(peer)->flight_count > 0;
    }
    (void) btl_peers_progress(&node->peers);
    free_lingering(node);
    if (waits || btl_peers_busy(&node->peers)) {
        tick_soon(node);
    }
}

static void send_to(struct node *node, int to)
{
    endpoint *ep = node->added[to];
    if (!node->alive || !ep) {
        return;
    }
    btl_peer_activate(&node->peers, &ep->life);
    btl_peer_want(&ep->life);
    tick_soon(node);
    if (ep->life.state != PEER_UP || sim_peers.message_count == SENDS + NODES * NODES ||
        ep->flight_count == SENDS) {
        return; /* not accepted */
    }
    int number = sim_peers.message_count++;
    sim_peers.message[number] = (struct message){.from = (uint8_t) number_of(node),
                                                 .to = (uint8_t) to,
                                                 .from_life = node->life,
                                                 .to_life = ep->their_life,
                                                 .number = ep->next_out++,
                                                 .accepted = true};
    if (ep->flight_count == 0) {
        ep->oldest_us = now_us();
    }
    ep->flight[ep->flight_count++] = number;
    ep->resend_us = now_us() + RESEND_US;
    sim_peers.report->messages++;
    sim_peers_say(node, ep, DATA, sim_peers.message[number].number, number);
}

/* ---- processes ---- */

static const opal_proc_t *host_me(void *arg)
{
    struct node *node = arg;
    return &node->procs[number_of(node)];
}

static void card_give(struct question *question)
{
    const struct node *peer = &sim_peers.node[question->peer];
    if (peer->alive) {
        question->done(question->arg, OPAL_SUCCESS, &peer->life, sizeof(peer->life));
    } else {
        question->done(question->arg, OPAL_ERR_NOT_FOUND, NULL, 0);
    }
    free(question);
}

static void host_get_card(void *arg, const opal_proc_t *peer, const char *key, keel_card_fn done,
                          void *done_arg)
{
    struct question *question = malloc(sizeof(*question));
    (void) key;
    *question =
        (struct question){.done = done, .arg = done_arg, .peer = (int) peer->proc_name.vpid};
    if (below(2) == 0) {
        card_give(question);
    } else {
        later(below(100000), ON_CARD, number_of(arg), question);
    }
}

static const struct keel_host_ops host_ops = {.me = host_me, .get_card = host_get_card};

static void add_all(struct node *node)
{
    for (int i = 0; i < sim_peers.count; i++) {
        if (i != number_of(node) && !node->added[i]) {
            node->added[i] = endpoint_of(btl_peer_add(&node->peers, &node->procs[i]));
        }
    }
}

static bool step(void);

/* Of a process that waits in a call. */
static int node_progress(mca_btl_base_module_t *module)
{
    tick_soon((struct node *) (void *) module);
    if (!step()) {
        sim_peers.queue.now += TICK_US;
    }
    return 1;
}

static struct btl_component component = {.progress = node_progress};

static void node_start(struct node *node)
{
    uint32_t life = node->life + 1;
    uint64_t last_epoch = node->last_epoch; /* the clock goes on */
    bool ticking = node->ticking;
    memset(node, 0, sizeof(*node));
    node->life = life;
    node->last_epoch = last_epoch;
    node->ticking = ticking;
    node->module.btl_component = &component.component;
    node->host = (struct btl_host){.ops = &host_ops, .arg = node};
    list_init(&node->lingering);
    for (int i = 0; i < NODES; i++) {
        node->procs[i].proc_name = (orte_process_name_t){JOB, (orte_vpid_t) i};
    }
    *(struct btl_host *) (uintptr_t) btl_host() = node->host;
    if (btl_peers_init(&node->peers, sim_peers.abrupt ? &sim_peers_abrupt_hooks : &sim_peers_hooks,
                       &node->module, "sim", sizeof(endpoint)) != OPAL_SUCCESS) {
        abort();
    }
    node->peers.cards.host = &node->host;
    node->peers.clock_us = now_us;
    node->peers.handshake_us = HANDSHAKE_US;
    node->peers.flush_us = PATIENCE_US / 2;
    node->alive = true;
    add_all(node);
}

/* The process's memory goes with it: nothing is said, and nobody hears its callbacks. */
static void node_die(struct node *node, bool quietly)
{
    struct btl_peer *peer;
    if (quietly) {
        node->busy = true;
        btl_peers_end_all(&node->peers);
        node->busy = false;
        free_lingering(node);
        if (node->begun != node->ended) {
            sim_peers_violated("%d endpoints began, and %d ended", node->begun, node->ended);
        }
    }
    node->alive = false;
    list_for_each (peer, &node->peers.used, struct btl_peer, link) {
        btl_card_cancel(&peer->question);
        while (endpoint_of(peer)->flight_count > 0) {
            sim_peers.message[endpoint_of(peer)->flight[--endpoint_of(peer)->flight_count]]
                .completed = true;
        }
    }
    btl_peers_fini(&node->peers);
}

/* Everybody's host hears of a death, sooner or later. */
static void death_known(struct node *node, int dead)
{
    if (node->alive && node->added[dead] && !sim_peers.node[dead].alive) {
        btl_peer_died(&node->peers, &node->added[dead]->life);
        tick_soon(node);
    }
}

static void kill(struct node *node)
{
    node_die(node, below(2) == 0);
    for (int i = 0; i < sim_peers.count; i++) {
        later(below(300000), ON_DEATH, i, (void *) (uintptr_t) number_of(node));
    }
}

static void forget_and_add(struct node *node, int other)
{
    struct mca_btl_base_endpoint_t *ep = node->added[other];
    if (ep) {
        node->added[other] = NULL;
        node->busy = true;
        btl_peers_end(&node->peers, &ep, 1);
        node->busy = false;
    }
    add_all(node);
}

/* All together, as ranks do. */
static void restart_all(void)
{
    for (int i = 0; i < sim_peers.count; i++) {
        if (sim_peers.node[i].busy) {
            return;
        }
    }
    for (int i = 0; i < sim_peers.count; i++) {
        if (sim_peers.node[i].alive) {
            sim_peers.node[i].life++;
            btl_peers_restart(&sim_peers.node[i].peers);
        }
    }
}

static void fault(void)
{
    struct node *node = &sim_peers.node[below((uint32_t) sim_peers.count)];
    sim_peers.report->faults++;
    if (node->busy || sim_peers.depth > 2) {
        return;
    }
    switch (below(5)) {
    case 0:
        if (node->alive) {
            kill(node);
        }
        break;
    case 1:
        restart_all();
        break;
    case 2:
        if (sim_peers.old_count > 0) { /* an attacker says what he has heard */
            struct frame *copy = malloc(sizeof(*copy));
            int known = sim_peers.old_count < OLD ? sim_peers.old_count : OLD;
            *copy = sim_peers.old[below((uint32_t) known)];
            copy->to_life = sim_peers.node[copy->to].life;
            later(0, ON_FRAME, copy->to, copy);
        }
        break;
    default:
        if (node->alive) {
            forget_and_add(node, (int) below((uint32_t) sim_peers.count));
        } else {
            node_start(node);
        }
    }
}

static void happen(const struct sim_event *event)
{
    struct node *node = &sim_peers.node[event->who];
    switch ((enum occasion) event->kind) {
    case ON_FRAME:
        sim_peers_take(node, event->what);
        free(event->what);
        break;
    case ON_TICK:
        tick(node);
        break;
    case ON_CARD:
        card_give(event->what);
        tick_soon(node);
        break;
    case ON_SEND:
        send_to(node, (int) below((uint32_t) sim_peers.count));
        break;
    case ON_FAULT:
        fault();
        break;
    case ON_DEATH:
        death_known(node, (int) (uintptr_t) event->what);
        break;
    case ON_NOTHING:
        break;
    }
}

static bool step(void)
{
    struct sim_event event;
    if (!sim_next(&sim_peers.queue, &event)) {
        return false;
    }
    sim_peers.report->events++;
    sim_peers.calm = sim_peers.queue.now >= FAULTS_US;
    sim_peers.depth++;
    happen(&event);
    sim_peers.depth--;
    return true;
}

static void run_until(uint64_t end_us)
{
    sim_at(&sim_peers.queue, end_us, ON_NOTHING, 0, NULL); /* so that the clock gets there */
    while (sim_peers.queue.now < end_us && step() && sim_peers.report->held) {
    }
}

/* Once it is calm: broken peers are added anew, and everybody reaches everybody who lives. */
static void ask_all(void)
{
    for (int i = 0; i < sim_peers.count; i++) {
        for (int other = 0; sim_peers.node[i].alive && other < sim_peers.count; other++) {
            if (other != i) {
                forget_and_add(&sim_peers.node[i], other);
            }
        }
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < sim_peers.count; i++) {
            for (int other = 0; other < sim_peers.count; other++) {
                if (other != i) {
                    send_to(&sim_peers.node[i], other);
                }
            }
        }
        run_until(now_us() + 1000000);
    }
}

static void check_end(void)
{
    for (int i = 0; i < sim_peers.message_count; i++) {
        if (!sim_peers.message[i].completed) {
            const struct message *m = &sim_peers.message[i];
            const endpoint *ep = sim_peers.node[m->from].added[m->to];
            sim_peers_violated("message %d of %u to %u never calls back: %s, %d in flight", i,
                               m->from, m->to, ep ? btl_peer_state_name(&ep->life) : "nobody",
                               ep ? ep->flight_count : 0);
        }
    }
    for (int i = 0; i < sim_peers.count; i++) {
        for (int other = 0; other < sim_peers.count; other++) {
            const endpoint *ep = sim_peers.node[i].alive ? sim_peers.node[i].added[other] : NULL;
            if (ep && sim_peers.node[other].alive && ep->life.state != PEER_UP) {
                sim_peers_violated("%d and %d live, and are %s", i, other,
                                   btl_peer_state_name(&ep->life));
            } else if (ep && ep->life.state < PEER_FAILING && ep->life.state > PEER_IDLE &&
                       !sim_peers.node[other].alive) {
                sim_peers_violated("%d waits for %d, which is dead", i, other);
            }
        }
    }
}

static void reported(void *arg, mca_btl_base_module_t *module, opal_proc_t *proc, bool back)
{
    struct node *node = (struct node *) (void *) module;
    (void) arg;
    endpoint *ep = proc ? node->added[proc->proc_name.vpid] : NULL;
    if (ep && !back && (ep->flight_count > 0 || ep->life.state != PEER_BROKEN)) {
        sim_peers_violated("an error is reported before all callbacks");
    }
}

void sim_peers_run(uint64_t seed, struct sim_peers_report *report)
{
    const struct btl_host before = *btl_host();
    memset(&sim_peers.node, 0, sizeof(sim_peers.node));
    memset(report, 0, sizeof(*report));
    report->held = true;
    sim_peers.report = report;
    sim_peers.random.state = seed;
    sim_peers.abrupt = below(4) == 0;
    sim_peers.message_count = sim_peers.old_count = sim_peers.depth = 0;
    sim_peers.calm = false;
    sim_queue_reset(&sim_peers.queue);
    btl_watch_peers(reported, NULL);
    sim_peers.count = 2 + (int) below(NODES - 1);
    for (int i = 0; i < sim_peers.count; i++) {
        node_start(&sim_peers.node[i]);
    }
    for (int i = 0; i < SENDS; i++) {
        sim_at(&sim_peers.queue, below(FAULTS_US), ON_SEND, (int) below((uint32_t) sim_peers.count),
               NULL);
    }
    for (uint32_t i = 2 + below(12); i > 0; i--) {
        sim_at(&sim_peers.queue, below(FAULTS_US - 500000), ON_FAULT, 0, NULL);
    }
    run_until(ASK_US);
    ask_all();
    run_until(now_us() + 4000000);
    check_end();
    for (int i = 0; i < sim_peers.count; i++) {
        if (sim_peers.node[i].alive) {
            node_die(&sim_peers.node[i], true);
        }
    }
    for (struct sim_event event; sim_next(&sim_peers.queue, &event);) {
        if (event.kind == ON_CARD) {
            card_give(event.what);
        } else if (event.kind == ON_FRAME) {
            free(event.what);
        }
    }
    sim_queue_fini(&sim_peers.queue);
    btl_watch_peers(NULL, NULL);
    *(struct btl_host *) (uintptr_t) btl_host() = before;
}
