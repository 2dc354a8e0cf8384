#include <config.h>

#include <base/data/clock.h>
#include <base/settings/log.h>
#include <base/types/name.h>
#include <btl/tcp/tcp_lane.h>
#include <btl/tcp/tcp_rdma.h>
#include <stdio.h>
#include <stdlib.h>

/* Addresses that are silent are tried again, turn after turn: the network may have lost what was
 * said. MORE_TIMES: as long as so many further addresses would take. */
enum { ROUND_PAUSE_US = 100000, REFUSALS_MAX = 1, MORE_TIMES = 3 };
/* How long a connect to a lost peer may take, since the kernel's own next try may be seconds away:
 * the longer of the two. The round trip is the last that was measured. */
enum { RETRY_CONNECT_US = 500000, RETRY_ROUND_TRIPS = 3 };

static tcp_endpoint *endpoint_of(struct btl_peer *peer)
{
    return (tcp_endpoint *) (void *) peer;
}

static void endpoint_begin(struct btl_peer *peer)
{
    tcp_endpoint *ep = endpoint_of(peer);
    uint32_t start;

    ep->tcp = tcp_of(peer->peers->module);
    list_init(&ep->small);
    list_init(&ep->bulk);
    list_init(&ep->done);
    list_init(&ep->ops);
    rdma_am_peer_init(&ep->am, ep);
    crypto_random(&start, sizeof(start));
    for (unsigned i = 0; i < TCP_SLOTS; i++) {
        ep->slots[i].generation = start + i;
    }
}

/* A link to myself goes to an address of mine that pairs with the interface. */
static bool endpoint_suits(const struct btl_peers *peers, const opal_proc_t *proc)
{
    const struct tcp_module *tcp = tcp_of(peers->module);
    const struct tcp_card *card = &tcp->process->card;
    struct netcard_pair pair;
    bool subnet;

    return !name_equal(&proc->proc_name, &peers->me) ||
           tcp_card_pair(&pair, &subnet, card, card, tcp->interface) == OPAL_SUCCESS;
}

static tcp_endpoint *loopback_create(struct tcp_module *tcp, tcp_endpoint *of)
{
    tcp_endpoint *ep = calloc(1, sizeof(*ep));

    if (ep) {
        btl_peer_init_hidden(&tcp->peers, &ep->peer, &tcp->peers.me);
        ep->loopback_of = of;
        ep->am.known_as = of;
        tcp->loopback = ep;
    }
    return ep;
}

tcp_endpoint *tcp_endpoint_known_as(tcp_endpoint *ep)
{
    return ep->loopback_of ? ep->loopback_of : ep;
}

static void endpoint_release(struct tcp_ended *ended)
{
    tcp_endpoint *ep = container_of(ended, tcp_endpoint, ended);

    if (ep->loopback_of) {
        free(ep);
    } else {
        btl_peer_free(&ep->peer);
    }
}

/* Closes the sockets and calls back everything in flight. */
static void endpoint_cut(struct btl_peer *peer, int status)
{
    tcp_endpoint *ep = endpoint_of(peer);

    if (ep->conn) {
        tcp_conn_close(ep->conn);
        ep->conn = NULL;
    }
    if (ep->tcp_link) {
        tcp_link_close(ep->tcp_link);
        ep->tcp_link = NULL;
    }
    tcp_lanes_close(ep);
    ep->patience.count = 0; /* the next connect begins anew */
    ep->peer_tried = false;
    tcp_send_fail(ep, status);
    tcp_rdma_fail(ep, status);
    rdma_am_cancel(ep->tcp->am, &ep->am, status);
}

static void endpoint_end(struct btl_peer *peer)
{
    tcp_endpoint *ep = endpoint_of(peer);
    struct tcp_module *tcp = ep->tcp;

    tcp_end(tcp, &ep->ended, endpoint_release);
    if (ep->loopback_of) {
        tcp->loopback = NULL;
    } else if (tcp->loopback && tcp->loopback->loopback_of == ep) {
        btl_peer_end(&tcp->loopback->peer);
    }
}

static bool in_flight(const tcp_endpoint *ep)
{
    return !list_empty(&ep->small) || !list_empty(&ep->bulk) || !list_empty(&ep->ops) ||
           rdma_am_peer_active(&ep->am) || !tcp_links_all(ep, tcp_link_is_flushed);
}

void tcp_endpoint_break(tcp_endpoint *ep, int status, const char *why)
{
    struct tcp_module *tcp = ep->tcp;

    tcp_enter(tcp);
    btl_peer_break(&ep->peer, status, why);
    tcp_leave(tcp);
}

void tcp_endpoint_left(tcp_endpoint *ep)
{
    if (in_flight(ep)) {
        tcp_endpoint_break(ep, OPAL_ERR_UNREACH, "the peer left");
    } else {
        btl_peer_left(&ep->peer);
    }
}

/* ---- reaching a peer ---- */

static int card_read(const struct tcp_module *tcp, struct tcp_card *card, struct netcard_pair *pair,
                     bool *subnet, const void *data, size_t size)
{
    int status = tcp_card_decode(card, data, size);

    return status == OPAL_SUCCESS
               ? tcp_card_pair(pair, subnet, &tcp->process->card, card, tcp->interface)
               : status;
}

static int card_judge(void *peers, const void *data, size_t size)
{
    struct tcp_card card;
    struct netcard_pair pair;
    bool subnet;

    return card_read(tcp_of(((struct btl_peers *) peers)->module), &card, &pair, &subnet, data,
                     size);
}

static void try_first(tcp_endpoint *ep, size_t at)
{
    size_t address = ep->order[at];

    ep->order[at] = ep->order[0];
    ep->order[0] = address;
}

void tcp_endpoint_led(tcp_endpoint *ep)
{
    try_first(ep, ep->patience.at);
}

/* The pair's address comes first, then those that no other module leads to: which of them leads to
 * the peer, only trying shows. */
static int endpoint_locate(struct btl_peer *peer, const void *data, size_t size)
{
    tcp_endpoint *ep = endpoint_of(peer);
    int status = card_read(ep->tcp, &ep->card, &ep->pair, &ep->bound, data, size);

    if (status != OPAL_SUCCESS) {
        return status;
    }
    ep->order_count =
        tcp_card_order(ep->order, &ep->tcp->process->card, &ep->card, ep->tcp->interface);
    for (size_t i = 0; i < ep->order_count; i++) {
        if (ep->order[i] == ep->pair.peer) {
            try_first(ep, i);
        }
    }
    return OPAL_SUCCESS;
}

int tcp_endpoint_takes_before_up(tcp_endpoint *ep)
{
    bool unsure = !ep->peer.located && ep->tcp->process->users > 1;

    if (unsure && ep->peer.state < PEER_UP) {
        btl_peer_want(&ep->peer); /* its card may be here at once */
    }
    if (ep->peer.state >= PEER_FAILING) {
        return OPAL_ERR_UNREACH;
    }
    return unsure && !ep->peer.located ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_SUCCESS;
}

void tcp_endpoint_want(tcp_endpoint *ep)
{
    if (ep->peer.state == PEER_UP) {
        tcp_link_wake(ep->tcp_link);
        tcp_lanes_wake(ep);
    } else {
        btl_peer_want(&ep->peer);
    }
}

/* Of its addresses. A lost peer is tried where it was: a rail over one interface does not return
 * over another. */
static size_t tries(const tcp_endpoint *ep)
{
    return ep->peer.state == PEER_RETRYING && ep->bound ? 1 : ep->order_count;
}

/* How long one address may be silent. */
static uint64_t connect_us(const tcp_endpoint *ep)
{
    uint64_t trips_us = RETRY_ROUND_TRIPS * ep->round_trip_us;

    if (ep->peer.state != PEER_RETRYING) {
        return ep->tcp->params.connect_us;
    }
    return trips_us > RETRY_CONNECT_US ? trips_us : RETRY_CONNECT_US;
}

/* How long all addresses may be silent. */
static uint64_t silence_limit_us(const tcp_endpoint *ep)
{
    size_t more = ep->peer.state == PEER_RETRYING ? 0 : MORE_TIMES;

    return (tries(ep) + more) * connect_us(ep);
}

static void patience_start(tcp_endpoint *ep)
{
    patience_begin(&ep->patience, tries(ep), connect_us(ep), silence_limit_us(ep), REFUSALS_MAX,
                   clock_us());
}

/* No address is left. Where I cannot get through, the peer may. */
static void endpoint_exhausted(tcp_endpoint *ep)
{
    uint64_t now = clock_us();

    if (ep->peer_tried && now < ep->peer.give_up_us) {
        patience_start(ep);
        btl_peer_wait(&ep->peer, now + ROUND_PAUSE_US);
        return;
    }
    tcp_endpoint_break(ep, OPAL_ERR_UNREACH, "none of its addresses leads to it");
}

/* The attempt at this address is over. False: nothing is to be done now. */
static bool next_address(tcp_endpoint *ep, enum patience_outcome outcome)
{
    uint64_t now = clock_us(), wait_us;
    enum patience_next next =
        patience_ended(&ep->patience, outcome, &ep->tcp->chance, now, &wait_us);

    if (next == PATIENCE_OVER) {
        endpoint_exhausted(ep);
    } else if (next == PATIENCE_WAIT) {
        btl_peer_wait(&ep->peer, now + wait_us);
    }
    return next == PATIENCE_GO;
}

/* Tries the addresses from the one on whose turn it is. */
static void endpoint_connect(struct btl_peer *peer)
{
    tcp_endpoint *ep = endpoint_of(peer);

    if (ep->patience.count == 0) {
        patience_start(ep);
    }
    do {
        uint64_t time_us = patience_time(&ep->patience, clock_us());
        ep->conn = tcp_conn_start(ep, 0, ep->order[ep->patience.at], time_us);
        if (ep->conn) {
            list_remove(&peer->waiting); /* for it */
            return;
        }
    } while (next_address(ep, PATIENCE_REFUSED));
}

void tcp_endpoint_silent(tcp_endpoint *ep, uint64_t limit_us)
{
    ep->peer_tried = false; /* the peer's own connect is silent, too */
    patience_renew(&ep->patience, limit_us, clock_us());
}

void tcp_endpoint_conn_failed(tcp_endpoint *ep, enum patience_outcome outcome, uint64_t pause_us,
                              const char *why)
{
    uint64_t now = clock_us();

    ep->conn = NULL;
    log_info(LOG_BTL, "%s: %s: %s", ep->tcp->name, ORTE_NAME_PRINT(&ep->peer.name), why);
    if (!btl_peer_connects(&ep->peer)) {
        return;
    }
    if (outcome == PATIENCE_FAILED && now < ep->peer.give_up_us) {
        patience_renew(&ep->patience, silence_limit_us(ep), now);
        btl_peer_wait(&ep->peer, now + pause_us);
    } else if (next_address(ep, outcome)) {
        endpoint_connect(&ep->peer);
    }
}

/* ---- a peer that comes ---- */

/* Both connect at once: the lower name's hello decides, once it is sent. If it is not, it never
 * will be, so that the two sides cannot choose differently. */
static bool mine_wins(const tcp_endpoint *ep)
{
    return ep->conn && ep->conn->phase == CONN_WELCOME &&
           orte_util_compare_name_fields(ORTE_NS_CMP_ALL, &ep->peer.peers->me, &ep->peer.name) ==
               OPAL_VALUE2_GREATER;
}

/* Why the peer no longer has its end of the link; NULL: it may have it. hello answers a challenge
 * of asked_us, and says whether the peer lost a link rather than left it. If the link came up after
 * that, the peer means an earlier one. */
static const char *why_gone(const tcp_endpoint *ep, const struct tcp_hello *hello,
                            uint64_t asked_us)
{
    if (ep->peer.incarnation != hello->incarnation) {
        return "the peer was started anew";
    }
    return hello->lost && asked_us > ep->up_since_us ? "the peer has lost the connection" : NULL;
}

/* Whether the peer's connect may become the endpoint's link. */
static enum tcp_verdict endpoint_judge(tcp_endpoint *ep, const struct tcp_hello *hello,
                                       uint64_t asked_us)
{
    if (ep->peer.state == PEER_UP) {
        const char *why = why_gone(ep, hello, asked_us);
        if (!why) {
            return TCP_VERDICT_AGAIN;
        }
        tcp_endpoint_break(ep, OPAL_ERR_UNREACH, why);
    }
    if (!btl_peer_takes(&ep->peer)) {
        return TCP_VERDICT_REFUSE;
    }
    if (mine_wins(ep)) {
        ep->peer_tried = true;
        return TCP_VERDICT_CROSS;
    }
    return TCP_VERDICT_ACCEPT;
}

enum tcp_verdict tcp_endpoint_judge(struct tcp_module *tcp, const struct tcp_hello *hello,
                                    uint64_t asked_us, tcp_endpoint **found)
{
    bool again = false;
    tcp_endpoint *ep = roster_find(tcp->peers.roster, &hello->from);

    if (name_equal(&hello->from, &tcp->peers.me)) {
        ep = !ep || tcp->loopback ? tcp->loopback : loopback_create(tcp, ep);
    } else {
        ep = (tcp_endpoint *) (void *) btl_peer_meet(&tcp->peers, &hello->from, &again);
    }
    if (!ep || (tcp->peers.closing && ep->promised == 0)) {
        return again ? TCP_VERDICT_AGAIN : TCP_VERDICT_REFUSE;
    }
    enum tcp_verdict verdict = endpoint_judge(ep, hello, asked_us);
    if (verdict == TCP_VERDICT_ACCEPT) {
        *found = ep;
    }
    return verdict;
}

void tcp_endpoint_up(tcp_endpoint *ep, int fd, uint64_t incarnation)
{
    if (ep->conn) {
        tcp_conn_close(ep->conn);
        ep->conn = NULL;
    }
    ep->up_since_us = clock_us();
    ep->round_trip_us = sock_round_trip_us(fd);
    struct tcp_link *link = tcp_link_create(ep, fd, 0);
    if (!link) {
        fd_close(&fd);
        tcp_endpoint_break(ep, OPAL_ERR_OUT_OF_RESOURCE, "out of memory");
        return;
    }
    ep->tcp_link = link;
    if (btl_peer_up(&ep->peer, incarnation)) {
        tcp_link_wake(link);
    } else { /* what was judged before was broken then */
        tcp_link_close(link);
        ep->tcp_link = NULL;
    }
}

/* ---- checkpoint and restart ---- */

bool tcp_endpoint_is_quiet(const tcp_endpoint *ep)
{
    return !in_flight(ep) && list_empty(&ep->done) && tcp_links_all(ep, tcp_link_is_acknowledged);
}

void tcp_endpoints_restart(struct tcp_module *tcp)
{
    tcp_endpoint *ep;

    tcp_enter(tcp);
    list_for_each (ep, &tcp->peers.used, tcp_endpoint, peer.link) {
        if (!in_flight(ep)) { /* a peer that still runs is told that the link ends on purpose */
            (void) tcp_links_all(ep, tcp_link_say_bye);
        }
    }
    btl_peers_restart(&tcp->peers);
    tcp_leave(tcp);
}

void tcp_endpoint_describe(const tcp_endpoint *ep, char *text, size_t size)
{
    size_t ops = 0;

    for (const struct list *link = ep->ops.next; link != &ep->ops; link = link->next) {
        ops++;
    }
    snprintf(text, size,
             "address %zu of %zu, %zu bytes queued, %zu puts and gets, %u pieces in flight, "
             "%u answers owed",
             ep->patience.at + 1, ep->order_count, ep->queued_bytes, ops, ep->slots_used,
             ep->answers);
}

/* ---- the end, in the steps of btl/peers/closing.c: what counts as sent is written out, BYE is
 * said, and the peer's kernel has it all, before the sockets close ---- */

static bool endpoint_is_flushed(struct btl_peer *peer)
{
    const tcp_endpoint *ep = endpoint_of(peer);

    return ep->promised == 0 && tcp_links_all(ep, tcp_link_is_flushed);
}

static bool is_awake(struct tcp_link *link)
{
    tcp_link_wake(link);
    return true;
}

/* From now on what comes is read and forgotten. */
static void endpoint_leave(struct btl_peer *peer)
{
    const tcp_endpoint *ep = endpoint_of(peer);

    if (ep->promised > 0) {
        log_warn(LOG_BTL, "%s: %s does not read: %zu messages for it were dropped", ep->tcp->name,
                 ORTE_NAME_PRINT(&peer->name), ep->promised);
    }
    (void) tcp_links_all(ep, is_awake);
}

static bool endpoint_say_bye(struct btl_peer *peer)
{
    return tcp_links_all(endpoint_of(peer), tcp_link_say_bye);
}

/* Closing a socket with bytes unread resets it, and what the peer has not got by then is lost; so
 * reading goes on until it has. */
static bool endpoint_is_answered(struct btl_peer *peer)
{
    return tcp_links_all(endpoint_of(peer), tcp_link_is_acknowledged);
}

void tcp_endpoints_end(mca_btl_base_module_t *btl, tcp_endpoint **endpoints, size_t count)
{
    struct tcp_module *tcp = tcp_of(btl);

    tcp_enter(tcp);
    btl_peers_end(&tcp->peers, endpoints, count);
    tcp_leave(tcp);
}

const struct btl_peer_hooks tcp_peer_hooks = {
    .suits = endpoint_suits,
    .begin = endpoint_begin,
    .judge = card_judge,
    .locate = endpoint_locate,
    .connect = endpoint_connect,
    .cut = endpoint_cut,
    .end = endpoint_end,
    .is_flushed = endpoint_is_flushed,
    .leave = endpoint_leave,
    .say_bye = endpoint_say_bye,
    .is_answered = endpoint_is_answered,
    .notices_ends = true,
    .over_links = true,
};
