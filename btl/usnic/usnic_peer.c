#include <config.h>

#include <base/settings/log.h>
#include <btl/usnic/usnic_control.h>
#include <btl/usnic/usnic_path.h>
#include <btl/usnic/usnic_send.h>
#include <string.h>

/* ---- life ---- */

/* Nobody, where the sockets were closed for good. */
static bool peer_suits(const struct btl_peers *peers, const opal_proc_t *proc)
{
    (void) proc;
    return !usnic_port_is_shut(&usnic_of(peers->module)->port);
}

/* No session: nothing that comes proves anything. */
static void session_clear(usnic_endpoint *peer)
{
    if (peer->hello.session.theirs != 0) {
        peer->over = (struct usnic_over){.token = peer->hello.token,
                                         .their_token = peer->hello.their_token,
                                         .their_index = peer->hello.their_index};
    }
    btl_handshake_clear(&peer->hello);
    peer->end = (struct usnic_end){0};
    usnic_path_end(peer);
    list_remove(&peer->leaving);
}

static void peer_begin(struct btl_peer *life)
{
    usnic_endpoint *peer = usnic_endpoint_of(life);

    peer->usnic = usnic_of(life->peers->module);
    peer->hello.index = roster_number(life->peers->roster, peer);
    list_init(&peer->outs);
    list_init(&peer->checking);
    list_init(&peer->leaving);
    rdma_am_peer_init(&peer->am, peer);
    session_clear(peer);
}

/* ---- finding a peer ---- */

static int card_read(const struct usnic_module *usnic, struct usnic_place *place, const void *data,
                     size_t size)
{
    struct usnic_card card;
    int status = usnic_card_decode(&card, data, size);

    return status == OPAL_SUCCESS
               ? usnic_card_pair(place, &usnic->process->card, &card, usnic->interface)
               : status;
}

static int card_judge(void *peers, const void *data, size_t size)
{
    struct usnic_place place;

    return card_read(usnic_of(((struct btl_peers *) peers)->module), &place, data, size);
}

static int card_locate(struct btl_peer *life, const void *data, size_t size)
{
    usnic_endpoint *peer = usnic_endpoint_of(life);
    struct usnic_place place;
    int status = card_read(peer->usnic, &place, data, size);

    return status == OPAL_SUCCESS && !peer->way.known ? usnic_peer_locate(peer, &place) : status;
}

static bool is_same_place(const struct usnic_place *a, const struct usnic_place *b)
{
    return a->family == b->family && a->port == b->port && a->priority_port == b->priority_port &&
           a->packet_bytes == b->packet_bytes && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

int usnic_peer_locate(usnic_endpoint *peer, const struct usnic_place *place)
{
    if (peer->way.known && is_same_place(place, &peer->at)) {
        return OPAL_SUCCESS;
    }
    peer->life.located = false;
    int status = usnic_port_locate(&peer->usnic->port, &peer->way, place);
    if (status == OPAL_SUCCESS) {
        peer->life.located = true;
        peer->at = *place;
    }
    return status;
}

/* ---- the session ---- */

static int hello_send(struct btl_peer *life, const uint8_t *bytes, size_t size)
{
    return usnic_control_hello(usnic_endpoint_of(life), bytes, size);
}

static int hello_locate(struct btl_peer *life, const struct fabric_address *address)
{
    usnic_endpoint *peer = usnic_endpoint_of(life);
    struct usnic_place place;
    int status = usnic_place_decode(&place, address->bytes, address->size);

    if (status == OPAL_SUCCESS) {
        status = usnic_peer_locate(peer, &place);
        peer->at.checksum = place.checksum;
    }
    return status;
}

/* All that was sent has come. */
static bool is_flushed(const usnic_endpoint *peer)
{
    return list_empty(&peer->outs) && (!peer->flows || usnic_flow_is_flushed(&peer->flow));
}

/* Whether something is lost if the session ends now. Once BYE is said, it alone is not
 * acknowledged. */
static bool is_in_flight(const struct btl_peer *life)
{
    const usnic_endpoint *peer = (const usnic_endpoint *) (const void *) life;

    return rdma_am_peer_active(&peer->am) || (!peer->end.said && !is_flushed(peer));
}

static void session_begun(struct btl_peer *life)
{
    usnic_endpoint *peer = usnic_endpoint_of(life);
    const struct usnic_flow_params params = {
        .index = peer->hello.their_index,
        .token = peer->hello.token,
        .first_send = (uint32_t) peer->hello.token,
        .first_receive = (uint32_t) peer->hello.their_token,
        .mtu = USNIC_SMALL_PACKET,
        .checksum = peer->usnic->params.checksum || peer->at.checksum,
    };

    peer->end.patience_us = peer->usnic->peers.flush_us;
    usnic_flow_open(&peer->usnic->engine, &peer->flow, &params, usnic_clock(peer->usnic));
    peer->flows = true;
    usnic_path_begin(peer);
}

static void session_repeats(struct btl_peer *life)
{
    usnic_say_here(usnic_endpoint_of(life));
}

const struct btl_greeter_ops usnic_greeter_ops = {
    .format = USNIC_HELLO_FORMAT,
    .handshake_at = offsetof(usnic_endpoint, hello),
    .send = hello_send,
    .locate = hello_locate,
    .in_flight = is_in_flight,
    .repeats = session_repeats,
    .begun = session_begun,
};

static void handshake(struct btl_peer *life)
{
    (void) btl_hello_say(&usnic_endpoint_of(life)->usnic->greeter, life, false);
}

/* Of a peer that this side leaves; not of one that has failed, as whose process has ended.
 * Messages that are in packets call nobody back. */
static void tell_loss(const usnic_endpoint *peer)
{
    const struct usnic_backlog left = usnic_flow_backlog(&peer->flow);

    if (peer->life.state == PEER_ENDED && !peer->end.said && left.messages > 0) {
        log_warn(LOG_BTL,
                 "%s: %s: %zu messages (%zu bytes) were not acknowledged, and are given up "
                 "(btl_usnic_flush_timeout_ms)",
                 peer->usnic->name, ORTE_NAME_PRINT(&peer->life.name), left.messages, left.bytes);
    }
}

/* A session that fails is told so: its other end would wait for me, and for my hello. */
static void peer_cut(struct btl_peer *life, int status)
{
    usnic_endpoint *peer = usnic_endpoint_of(life);
    struct usnic_module *usnic = peer->usnic;
    bool says = life->state == PEER_BROKEN && peer->hello.session.proven;

    /* what is done is told before what fails */
    (void) desc_set_finish(&usnic->super, &usnic->descs, peer);
    if (peer->flows) {
        tell_loss(peer);
        peer->flows = false;
        usnic_flow_close(&usnic->engine, &peer->flow);
    }
    session_clear(peer);
    if (says) {
        usnic_say_over(peer);
    }
    usnic_send_fail(peer, status);
    rdma_am_cancel(usnic->am, &peer->am, status);
}

/* ---- the end ---- */

void usnic_bye_received(usnic_endpoint *peer)
{
    struct usnic_module *usnic = peer->usnic;

    if (!peer->end.heard) {
        peer->end.heard = true;
        peer->end.give_up_us = usnic->now_us + usnic->peers.flush_us;
        list_append(&usnic->leaving, &peer->leaving);
        btl_peer_leaves(&peer->life);
    }
}

/* What it has not answered by now never will be. */
static void session_over(usnic_endpoint *peer)
{
    list_remove(&peer->leaving);
    btl_hello_bye(&peer->usnic->greeter, &peer->life, is_in_flight(&peer->life));
}

void usnic_over_received(usnic_endpoint *peer)
{
    if (peer->end.heard) {
        session_over(peer);
    } else {
        btl_hello_lost(&peer->usnic->greeter, &peer->life);
    }
}

/* One step. The session may be gone after it, and the peer. */
static void end_go_on(usnic_endpoint *peer)
{
    const bool leaves = peer->life.state == PEER_CLOSING;
    const enum usnic_end_step step =
        usnic_end_next(&peer->end, &peer->flow, leaves, peer->usnic->now_us);

    switch (step) {
    case USNIC_END_SAY_BYE:
        peer->end.said = usnic_send_bye(peer) == OPAL_SUCCESS;
        break;
    case USNIC_END_OVER:
        usnic_say_over(peer);
        session_over(peer);
        break;
    case USNIC_END_GIVE_UP: /* OVER is said as of any session that fails */
        session_over(peer);
        break;
    default:
        break;
    }
}

void usnic_ends_progress(struct usnic_module *usnic)
{
    struct list round;

    /* They move back one by one, so that a callback may end any of them. */
    list_init(&round);
    list_splice(&round, &usnic->leaving);
    for (struct list *link; (link = list_pop(&round));) {
        list_append(&usnic->leaving, link);
        end_go_on(container_of(link, usnic_endpoint, leaving));
    }
}

static bool peer_is_flushed(struct btl_peer *life)
{
    usnic_endpoint *peer = usnic_endpoint_of(life);

    return is_flushed(peer) && list_empty(&peer->usnic->descs.done);
}

/* From here on nothing new is begun. */
static void peer_leave(struct btl_peer *life)
{
    usnic_endpoint *peer = usnic_endpoint_of(life);

    rdma_am_cancel(peer->usnic->am, &peer->am, OPAL_ERR_UNREACH);
}

/* There is none, or it has ended. One that is half open ends as any: the other side may count on
 * it. */
static bool has_no_session(const usnic_endpoint *peer)
{
    return !peer->flows || peer->hello.bye_answered;
}

static bool peer_say_bye(struct btl_peer *life)
{
    usnic_endpoint *peer = usnic_endpoint_of(life);

    if (!has_no_session(peer) && !peer->end.said) {
        end_go_on(peer);
    }
    return has_no_session(peer) || peer->end.said;
}

static bool peer_is_answered(struct btl_peer *life)
{
    usnic_endpoint *peer = usnic_endpoint_of(life);

    if (!has_no_session(peer) && peer->end.said) {
        end_go_on(peer);
    }
    return has_no_session(peer) || !peer->end.said;
}

static void peer_forget(struct btl_peer *life)
{
    usnic_endpoint *peer = usnic_endpoint_of(life);

    usnic_port_forget(&peer->usnic->port, &peer->way);
    peer->over = (struct usnic_over){0};
}

static void peer_end(struct btl_peer *life)
{
    usnic_port_forget(&usnic_endpoint_of(life)->usnic->port, &usnic_endpoint_of(life)->way);
    btl_peer_free(life);
}

const struct btl_peer_hooks usnic_peer_hooks = {
    .suits = peer_suits,
    .begin = peer_begin,
    .judge = card_judge,
    .locate = card_locate,
    .connect = handshake,
    .cut = peer_cut,
    .forget = peer_forget,
    .end = peer_end,
    .is_flushed = peer_is_flushed,
    .leave = peer_leave,
    .say_bye = peer_say_bye,
    .is_answered = peer_is_answered,
    .over_links = true,
};
