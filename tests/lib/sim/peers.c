#include <base/settings/log.h>
#include <btl/peers/peer.h>
#include <btl/sessions/session.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/sim/peers.h>
#include <tests/lib/sim/queue.h>

enum {
    NODES = 4,
    SENDS = 120,
    JOB = 7,
    TICK_US = 10000,
    HANDSHAKE_US = 2000000,
    PATIENCE_US = 1000000, /* for an acknowledgement */
    RESEND_US = 30000,
    FAULTS_US = 4000000, /* from then on nothing is lost, and nobody dies */
    ASK_US = FAULTS_US + 6000000,

    OLD = 32, /* hellos that an attacker remembers */
};

enum occasion { ON_FRAME, ON_TICK, ON_CARD, ON_SEND, ON_FAULT, ON_DEATH, ON_NOTHING };
enum word { HELLO, DATA, ACK, BYE, BYE_ACK };

struct frame {
    enum word word;
    uint8_t from, to;
    uint32_t from_life, to_life; /* its address has these */
    uint64_t epoch, echo;        /* of the sender's; of the receiver's */
    uint32_t number;
    int message;
};

struct message {
    uint8_t from, to;
    uint32_t from_life, to_life;
    uint32_t number;
    bool accepted, sent, arrived, completed;
};

struct question {
    keel_card_fn done;
    void *arg;
    int node, peer;
    uint32_t life;
};

struct mca_btl_base_endpoint_t {
    struct btl_peer life; /* first */
    struct btl_session session;
    uint32_t their_life; /* its address */
    bool known, bye_said, bye_answered;
    uint32_t next_out, next_in;
    int flight[SENDS]; /* messages, oldest first */
    int flight_count;
    uint64_t oldest_us, resend_us, pause_us;
    uint64_t highest; /* epoch of theirs that was believed */
};
typedef struct mca_btl_base_endpoint_t endpoint;

struct node {
    mca_btl_base_module_t module; /* first: what peers.module points to */
    struct btl_host host;
    struct btl_peers peers;
    opal_proc_t procs[NODES];
    endpoint *added[NODES];
    uint32_t life;
    uint64_t last_epoch;
    struct list lingering; /* endpoints that ended, by life.link */
    bool alive, busy, ticking;
    int begun, ended;
};

static struct {
    struct sim_queue queue;
    struct sim_random random;
    struct node node[NODES];
    int count;
    struct message message[SENDS + NODES * NODES];
    int message_count;
    struct frame old[OLD];
    int old_count, depth;
    bool calm;
    bool abrupt; /* the transport is as sm */
    struct sim_peers_report *report;
} world;

static void violated(const char *format, ...)
{
    va_list args;
    if (world.report->held) {
        va_start(args, format);
        vsnprintf(world.report->reason, sizeof(world.report->reason), format, args);
        va_end(args);
    }
    world.report->held = false;
}

static uint32_t below(uint32_t limit)
{
    return sim_below(&world.random, limit);
}

static uint64_t now_us(void)
{
    return world.queue.now;
}

static endpoint *endpoint_of(struct btl_peer *peer)
{
    return (endpoint *) (void *) peer;
}

static struct node *node_of(const struct btl_peers *peers)
{
    return (struct node *) (void *) peers->module;
}

static int number_of(const struct node *node)
{
    return (int) (node - world.node);
}

static void later(uint64_t wait_us, enum occasion what, int who, void *with)
{
    sim_at(&world.queue, now_us() + wait_us, what, who, with);
}

static void tick_soon(struct node *node)
{
    if (!node->ticking) {
        node->ticking = true;
        later(TICK_US, ON_TICK, number_of(node), NULL);
    }
}

/* ---- the wire ---- */

static void frame_put(const struct frame *frame)
{
    bool lost = !world.calm && below(8) == 0;
    int copies = lost ? 0 : !world.calm && below(16) == 0 ? 2 : 1;
    world.report->lost += lost;
    for (int i = 0; i < copies; i++) {
        struct frame *copy = malloc(sizeof(*copy));
        *copy = *frame;
        later(50 + below(!world.calm && below(10) == 0 ? 400000 : 300), ON_FRAME, frame->to, copy);
    }
    if (frame->word == HELLO) {
        world.old[world.old_count++ % OLD] = *frame;
    }
}

static void say(struct node *node, endpoint *ep, enum word word, uint32_t number, int message)
{
    const struct frame frame = {.word = word,
                                .from = (uint8_t) number_of(node),
                                .to = (uint8_t) ep->life.name.vpid,
                                .from_life = node->life,
                                .to_life = ep->their_life,
                                .epoch = ep->session.epoch,
                                .echo = ep->session.theirs,
                                .number = number,
                                .message = message};
    frame_put(&frame);
}

/* ---- the transport's hooks ---- */

static void hook_begin(struct btl_peer *peer)
{
    node_of(peer->peers)->begun++;
}

static int hook_judge(void *peers, const void *data, size_t size)
{
    (void) peers, (void) data;
    return size == sizeof(uint32_t) ? OPAL_SUCCESS : OPAL_ERR_BAD_PARAM;
}

static int hook_locate(struct btl_peer *peer, const void *data, size_t size)
{
    endpoint *ep = endpoint_of(peer);
    int status = hook_judge(NULL, data, size);
    if (status == OPAL_SUCCESS && !ep->known) {
        memcpy(&ep->their_life, data, size);
        ep->known = true;
    }
    return status;
}

static void epoch_begin(struct node *node, endpoint *ep)
{
    if (ep->session.epoch == 0) {
        ep->session.epoch = btl_epoch_next(&node->last_epoch, now_us() + 1);
    }
}

static void hook_connect(struct btl_peer *peer)
{
    endpoint *ep = endpoint_of(peer);
    if (peer->state == PEER_HANDSHAKE && now_us() >= peer->give_up_us) {
        btl_peer_break(peer, OPAL_ERR_UNREACH, "no answer");
        return;
    }
    epoch_begin(node_of(peer->peers), ep);
    say(node_of(peer->peers), ep, HELLO, 0, -1);
    ep->session.told = ep->session.theirs;
    if (peer->state == PEER_UP) {
        list_remove(&peer->waiting);
        return;
    }
    ep->pause_us = ep->pause_us ? ep->pause_us * 2 : TICK_US;
    btl_peer_wait(peer, now_us() + ep->pause_us);
}

static void complete(int number, bool success)
{
    struct message *message = &world.message[number];
    if (message->completed) {
        violated("message %d calls back twice", number);
    }
    if (success && !message->arrived) {
        violated("message %d completes, and has not arrived", number);
    }
    message->completed = true;
    world.report->failed += !success;
}

static void hook_cut(struct btl_peer *peer, int status)
{
    endpoint *ep = endpoint_of(peer);
    struct node *node = node_of(peer->peers);
    (void) status;
    if (peer->state == PEER_BROKEN && ep->session.proven && node->alive) {
        say(node, ep, BYE, ep->next_out, -1);
    }
    btl_session_clear(&ep->session);
    ep->bye_said = ep->bye_answered = false;
    ep->next_out = ep->next_in = 0;
    ep->pause_us = 0;
    while (ep->flight_count > 0) {
        complete(ep->flight[--ep->flight_count], false);
    }
}

static void hook_forget(struct btl_peer *peer)
{
    endpoint_of(peer)->known = false;
}

static void hook_end(struct btl_peer *peer)
{
    struct node *node = node_of(peer->peers);
    node->ended++;
    if (world.abrupt) {
        list_append(&node->lingering, &peer->link);
    } else {
        btl_peer_free(peer);
    }
}

static void free_lingering(struct node *node)
{
    for (struct list *link; (link = list_pop(&node->lingering));) {
        struct btl_peer *peer = container_of(link, struct btl_peer, link);
        if (peer->state != PEER_ENDED || endpoint_of(peer)->flight_count > 0) {
            violated("an endpoint that ended is used");
        }
        btl_peer_free(peer);
    }
}

static bool hook_is_flushed(struct btl_peer *peer)
{
    return endpoint_of(peer)->flight_count == 0;
}

static void hook_leave(struct btl_peer *peer)
{
    endpoint *ep = endpoint_of(peer);
    ep->session.proven = ep->session.proven && peer->before == PEER_UP;
}

static bool hook_say_bye(struct btl_peer *peer)
{
    endpoint *ep = endpoint_of(peer);
    if (ep->session.proven && !ep->bye_said) {
        ep->bye_said = true;
        say(node_of(peer->peers), ep, BYE, ep->next_out, -1);
    }
    return true;
}

static bool hook_is_answered(struct btl_peer *peer)
{
    endpoint *ep = endpoint_of(peer);
    return !ep->bye_said || ep->bye_answered;
}

static const struct btl_peer_hooks hooks = {
    .begin = hook_begin,
    .judge = hook_judge,
    .locate = hook_locate,
    .connect = hook_connect,
    .cut = hook_cut,
    .forget = hook_forget,
    .end = hook_end,
    .is_flushed = hook_is_flushed,
    .leave = hook_leave,
    .say_bye = hook_say_bye,
    .is_answered = hook_is_answered,
};

static const struct btl_peer_hooks abrupt_hooks = {
    .begin = hook_begin,
    .judge = hook_judge,
    .locate = hook_locate,
    .connect = hook_connect,
    .cut = hook_cut,
    .forget = hook_forget,
    .end = hook_end,
};

static void reported(void *arg, mca_btl_base_module_t *module, opal_proc_t *proc, bool back)
{
    struct node *node = (struct node *) (void *) module;
    (void) arg;
    endpoint *ep = proc ? node->added[proc->proc_name.vpid] : NULL;
    if (ep && !back && (ep->flight_count > 0 || ep->life.state != PEER_BROKEN)) {
        violated("an error is reported before all callbacks");
    }
}

/* ---- frames that come ---- */

static void hello(struct node *node, const struct frame *frame)
{
    bool again, agreed;
    endpoint *ep =
        endpoint_of(btl_peer_meet(&node->peers, &node->procs[frame->from].proc_name, &again));
    if (!ep) {
        return;
    }
    enum btl_session_verdict verdict = btl_session_judge(&ep->session, frame->epoch);
    if (!btl_peer_takes(&ep->life) || verdict == SESSION_OVER) {
        return;
    }
    if (verdict == SESSION_ANOTHER && ep->session.theirs != 0) {
        if (ep->flight_count > 0) {
            btl_peer_break(&ep->life, OPAL_ERR_UNREACH, "it began anew");
            return;
        }
        uint64_t mine = btl_session_keeps(&ep->session, frame->echo);
        ep->session.proven = false;
        btl_peer_left(&ep->life);
        ep->session.epoch = mine;
    }
    epoch_begin(node, ep);
    ep->their_life = frame->from_life;
    ep->known = ep->life.located = true;
    if (frame->epoch < ep->highest) {
        violated("%d believes an old hello of %d", number_of(node), frame->from);
    }
    ep->highest = frame->epoch;
    bool owed = btl_session_hear(&ep->session, frame->epoch, frame->echo, &agreed);
    btl_peer_came(&ep->life);
    if (agreed && btl_peer_up(&ep->life, frame->from_life)) {
        world.report->sessions++;
    }
    if (owed) {
        btl_peer_wait(&ep->life, 0);
    }
    tick_soon(node);
}

static void data(struct node *node, endpoint *ep, const struct frame *frame)
{
    struct message *message = &world.message[frame->message];
    if (frame->number > ep->next_in) {
        return; /* one before it is missing */
    }
    if (frame->number == ep->next_in) {
        ep->next_in++;
        if (message->arrived) {
            violated("message %d arrives twice", frame->message);
        }
        if (message->to_life != node->life || message->from_life != frame->from_life) {
            violated("message %d survives an incarnation", frame->message);
        }
        message->arrived = true;
    }
    say(node, ep, ACK, ep->next_in, -1);
}

static void acknowledged(endpoint *ep, uint32_t next)
{
    while (ep->flight_count > 0 && world.message[ep->flight[0]].number < next) {
        int number = ep->flight[0];
        ep->flight_count--;
        memmove(ep->flight, ep->flight + 1, (size_t) ep->flight_count * sizeof(*ep->flight));
        ep->oldest_us = now_us();
        complete(number, true);
    }
}

static void bye(struct node *node, endpoint *ep, const struct frame *frame)
{
    if (frame->number > ep->next_in) {
        return;
    }
    say(node, ep, BYE_ACK, 0, -1);
    if (ep->life.state == PEER_CLOSING) {
        ep->bye_answered = true;
    } else if (ep->flight_count > 0) {
        btl_peer_break(&ep->life, OPAL_ERR_UNREACH, "it left");
    } else {
        btl_peer_left(&ep->life);
    }
}

static void frame_come(struct node *node, const struct frame *frame)
{
    if (!node->alive || frame->to_life != node->life) {
        return; /* nobody is at this address */
    }
    if (frame->word == HELLO) {
        hello(node, frame);
        return;
    }
    endpoint *ep = roster_find(node->peers.roster, &node->procs[frame->from].proc_name);
    if (!ep || !ep->life.peers || ep->session.theirs == 0 || frame->epoch != ep->session.theirs ||
        frame->echo != ep->session.epoch) {
        return; /* it proves nothing */
    }
    switch (frame->word) {
    case DATA:
        data(node, ep, frame);
        break;
    case ACK:
        acknowledged(ep, frame->number);
        break;
    case BYE:
        bye(node, ep, frame);
        break;
    default:
        ep->bye_answered = ep->bye_said;
    }
}

/* ---- what processes do ---- */

static void resend(struct node *node, endpoint *ep)
{
    if (ep->flight_count > 0 && now_us() - ep->oldest_us > PATIENCE_US) {
        btl_peer_fail(&ep->life, "no acknowledgement");
    } else if (ep->life.state == PEER_UP && now_us() >= ep->resend_us) {
        for (int i = 0; i < ep->flight_count; i++) {
            say(node, ep, DATA, world.message[ep->flight[i]].number, ep->flight[i]);
        }
        ep->resend_us = now_us() + RESEND_US;
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
    if (ep->life.state != PEER_UP || world.message_count == SENDS + NODES * NODES ||
        ep->flight_count == SENDS) {
        return; /* not accepted */
    }
    int number = world.message_count++;
    world.message[number] = (struct message){.from = (uint8_t) number_of(node),
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
    world.report->messages++;
    say(node, ep, DATA, world.message[number].number, number);
}

/* ---- processes ---- */

static const opal_proc_t *host_me(void *arg)
{
    struct node *node = arg;
    return &node->procs[number_of(node)];
}

static void card_give(struct question *question)
{
    const struct node *peer = &world.node[question->peer];
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
    for (int i = 0; i < world.count; i++) {
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
        world.queue.now += TICK_US;
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
    if (btl_peers_init(&node->peers, world.abrupt ? &abrupt_hooks : &hooks, &node->module, "sim",
                       sizeof(endpoint)) != OPAL_SUCCESS) {
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
            violated("%d endpoints began, and %d ended", node->begun, node->ended);
        }
    }
    node->alive = false;
    list_for_each (peer, &node->peers.used, struct btl_peer, link) {
        btl_card_cancel(&peer->question);
        while (endpoint_of(peer)->flight_count > 0) {
            world.message[endpoint_of(peer)->flight[--endpoint_of(peer)->flight_count]].completed =
                true;
        }
    }
    btl_peers_fini(&node->peers);
}

/* Everybody's host hears of a death, sooner or later. */
static void death_known(struct node *node, int dead)
{
    if (node->alive && node->added[dead] && !world.node[dead].alive) {
        btl_peer_died(&node->peers, &node->added[dead]->life);
        tick_soon(node);
    }
}

static void kill(struct node *node)
{
    node_die(node, below(2) == 0);
    for (int i = 0; i < world.count; i++) {
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
    for (int i = 0; i < world.count; i++) {
        if (world.node[i].busy) {
            return;
        }
    }
    for (int i = 0; i < world.count; i++) {
        if (world.node[i].alive) {
            world.node[i].life++;
            btl_peers_restart(&world.node[i].peers);
        }
    }
}

static void fault(void)
{
    struct node *node = &world.node[below((uint32_t) world.count)];
    world.report->faults++;
    if (node->busy || world.depth > 2) {
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
        if (world.old_count > 0) { /* an attacker says what he has heard */
            struct frame *copy = malloc(sizeof(*copy));
            int known = world.old_count < OLD ? world.old_count : OLD;
            *copy = world.old[below((uint32_t) known)];
            copy->to_life = world.node[copy->to].life;
            later(0, ON_FRAME, copy->to, copy);
        }
        break;
    default:
        if (node->alive) {
            forget_and_add(node, (int) below((uint32_t) world.count));
        } else {
            node_start(node);
        }
    }
}

static void happen(const struct sim_event *event)
{
    struct node *node = &world.node[event->who];
    switch ((enum occasion) event->kind) {
    case ON_FRAME:
        frame_come(node, event->what);
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
        send_to(node, (int) below((uint32_t) world.count));
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
    if (!sim_next(&world.queue, &event)) {
        return false;
    }
    world.report->events++;
    world.calm = world.queue.now >= FAULTS_US;
    world.depth++;
    happen(&event);
    world.depth--;
    return true;
}

static void run_until(uint64_t end_us)
{
    sim_at(&world.queue, end_us, ON_NOTHING, 0, NULL); /* so that the clock gets there */
    while (world.queue.now < end_us && step() && world.report->held) {
    }
}

/* Once it is calm: broken peers are added anew, and everybody reaches everybody who lives. */
static void ask_all(void)
{
    for (int i = 0; i < world.count; i++) {
        for (int other = 0; world.node[i].alive && other < world.count; other++) {
            if (other != i) {
                forget_and_add(&world.node[i], other);
            }
        }
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < world.count; i++) {
            for (int other = 0; other < world.count; other++) {
                if (other != i) {
                    send_to(&world.node[i], other);
                }
            }
        }
        run_until(now_us() + 1000000);
    }
}

static void check_end(void)
{
    for (int i = 0; i < world.message_count; i++) {
        if (!world.message[i].completed) {
            const struct message *m = &world.message[i];
            const endpoint *ep = world.node[m->from].added[m->to];
            violated("message %d of %u to %u never calls back: %s, %d in flight", i, m->from, m->to,
                     ep ? btl_peer_state_name(&ep->life) : "nobody", ep ? ep->flight_count : 0);
        }
    }
    for (int i = 0; i < world.count; i++) {
        for (int other = 0; other < world.count; other++) {
            const endpoint *ep = world.node[i].alive ? world.node[i].added[other] : NULL;
            if (ep && world.node[other].alive && ep->life.state != PEER_UP) {
                violated("%d and %d live, and are %s", i, other, btl_peer_state_name(&ep->life));
            } else if (ep && ep->life.state < PEER_FAILING && ep->life.state > PEER_IDLE &&
                       !world.node[other].alive) {
                violated("%d waits for %d, which is dead", i, other);
            }
        }
    }
}

void sim_peers_run(uint64_t seed, struct sim_peers_report *report)
{
    const struct btl_host before = *btl_host();
    memset(&world.node, 0, sizeof(world.node));
    memset(report, 0, sizeof(*report));
    report->held = true;
    world.report = report;
    world.random.state = seed;
    world.abrupt = below(4) == 0;
    world.message_count = world.old_count = world.depth = 0;
    world.calm = false;
    sim_queue_reset(&world.queue);
    btl_watch_peers(reported, NULL);
    world.count = 2 + (int) below(NODES - 1);
    for (int i = 0; i < world.count; i++) {
        node_start(&world.node[i]);
    }
    for (int i = 0; i < SENDS; i++) {
        sim_at(&world.queue, below(FAULTS_US), ON_SEND, (int) below((uint32_t) world.count), NULL);
    }
    for (uint32_t i = 2 + below(12); i > 0; i--) {
        sim_at(&world.queue, below(FAULTS_US - 500000), ON_FAULT, 0, NULL);
    }
    run_until(ASK_US);
    ask_all();
    run_until(now_us() + 4000000);
    check_end();
    for (int i = 0; i < world.count; i++) {
        if (world.node[i].alive) {
            node_die(&world.node[i], true);
        }
    }
    for (struct sim_event event; sim_next(&world.queue, &event);) {
        if (event.kind == ON_CARD) {
            card_give(event.what);
        } else if (event.kind == ON_FRAME) {
            free(event.what);
        }
    }
    sim_queue_fini(&world.queue);
    btl_watch_peers(NULL, NULL);
    *(struct btl_host *) (uintptr_t) btl_host() = before;
}
