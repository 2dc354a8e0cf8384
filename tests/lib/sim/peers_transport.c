#include <stdlib.h>
#include <string.h>
#include <tests/lib/sim/peers_state.h>

/* ---- the wire ---- */

static void frame_put(const struct frame *frame)
{
    bool lost = !sim_peers.calm && below(8) == 0;
    int copies = lost ? 0 : !sim_peers.calm && below(16) == 0 ? 2 : 1;
    sim_peers.report->lost += lost;
    for (int i = 0; i < copies; i++) {
        struct frame *copy = malloc(sizeof(*copy));
        *copy = *frame;
        later(50 + below(!sim_peers.calm && below(10) == 0 ? 400000 : 300), ON_FRAME, frame->to,
              copy);
    }
    if (frame->word == HELLO) {
        sim_peers.old[sim_peers.old_count++ % OLD] = *frame;
    }
}

void sim_peers_say(struct node *node, endpoint *ep, enum word word, uint32_t number, int message)
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
    sim_peers_say(node_of(peer->peers), ep, HELLO, 0, -1);
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
    struct message *message = &sim_peers.message[number];
    if (message->completed) {
        sim_peers_violated("message %d calls back twice", number);
    }
    if (success && !message->arrived) {
        sim_peers_violated("message %d completes, and has not arrived", number);
    }
    message->completed = true;
    sim_peers.report->failed += !success;
}

static void hook_cut(struct btl_peer *peer, int status)
{
    endpoint *ep = endpoint_of(peer);
    struct node *node = node_of(peer->peers);
    (void) status;
    if (peer->state == PEER_BROKEN && ep->session.proven && node->alive) {
        sim_peers_say(node, ep, BYE, ep->next_out, -1);
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
    if (sim_peers.abrupt) {
        list_append(&node->lingering, &peer->link);
    } else {
        btl_peer_free(peer);
    }
}

static bool hook_is_flushed(struct btl_peer *peer)
{
    return endpoint_of(peer)->flight_count == 0;
}

static bool hook_say_bye(struct btl_peer *peer)
{
    endpoint *ep = endpoint_of(peer);
    if (ep->session.proven && !ep->bye_said) {
        ep->bye_said = true;
        sim_peers_say(node_of(peer->peers), ep, BYE, ep->next_out, -1);
    }
    return true;
}

static bool hook_is_answered(struct btl_peer *peer)
{
    endpoint *ep = endpoint_of(peer);
    return !ep->bye_said || ep->bye_answered;
}

const struct btl_peer_hooks sim_peers_hooks = {
    .begin = hook_begin,
    .judge = hook_judge,
    .locate = hook_locate,
    .connect = hook_connect,
    .cut = hook_cut,
    .forget = hook_forget,
    .end = hook_end,
    .is_flushed = hook_is_flushed,
    .say_bye = hook_say_bye,
    .is_answered = hook_is_answered,
};

const struct btl_peer_hooks sim_peers_abrupt_hooks = {
    .begin = hook_begin,
    .judge = hook_judge,
    .locate = hook_locate,
    .connect = hook_connect,
    .cut = hook_cut,
    .forget = hook_forget,
    .end = hook_end,
};

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
        sim_peers_violated("%d believes an old hello of %d", number_of(node), frame->from);
    }
    ep->highest = frame->epoch;
    bool owed = btl_session_hear(&ep->session, frame->epoch, frame->echo, &agreed);
    btl_peer_came(&ep->life);
    if (agreed && btl_peer_up(&ep->life, frame->from_life)) {
        sim_peers.report->sessions++;
    }
    if (owed) {
        btl_peer_wait(&ep->life, 0);
    }
    tick_soon(node);
}

static void data(struct node *node, endpoint *ep, const struct frame *frame)
{
    struct message *message = &sim_peers.message[frame->message];
    if (frame->number > ep->next_in) {
        return; /* one before it is missing */
    }
    if (frame->number == ep->next_in) {
        ep->next_in++;
        if (message->arrived) {
            sim_peers_violated("message %d arrives twice", frame->message);
        }
        if (message->to_life != node->life || message->from_life != frame->from_life) {
            sim_peers_violated("message %d survives an incarnation", frame->message);
        }
        message->arrived = true;
    }
    sim_peers_say(node, ep, ACK, ep->next_in, -1);
}

static void acknowledged(endpoint *ep, uint32_t next)
{
    while (ep->flight_count > 0 && sim_peers.message[ep->flight[0]].number < next) {
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
    sim_peers_say(node, ep, BYE_ACK, 0, -1);
    if (ep->life.state == PEER_CLOSING) {
        ep->bye_answered = true;
    } else if (ep->flight_count > 0) {
        btl_peer_break(&ep->life, OPAL_ERR_UNREACH, "it left");
    } else {
        btl_peer_left(&ep->life);
    }
}

void sim_peers_take(struct node *node, const struct frame *frame)
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
