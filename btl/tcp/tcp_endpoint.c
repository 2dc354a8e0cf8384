#include <config.h>

#include <base/clock.h>
#include <base/log.h>
#include <base/name.h>
#include <btl/tcp/tcp_lane.h>
#include <btl/tcp/tcp_rdma.h>
#include <stdlib.h>

/* Addresses that are silent are tried again, turn after turn: the network may have lost what was
 * said. MORE_TIMES: as long as so many further addresses would take. */
enum { ROUND_PAUSE_US = 100000, REFUSALS_MAX = 1, MORE_TIMES = 3 };

static const char *const state_names[] = {"idle", "card",   "waiting", "connecting",
                                          "up",   "broken", "closed"};

static void set_state(tcp_endpoint *ep, enum ep_state state)
{
    if (ep->state != state) {
        log_debug(LOG_BTL, "tcp: %s: %s -> %s", ORTE_NAME_PRINT(&ep->name), state_names[ep->state],
                  state_names[state]);
    }
    ep->state = state;
    list_remove(&ep->waiting);
}

/* ---- life ---- */

static void endpoint_init(struct tcp_module *tcp, tcp_endpoint *ep, const orte_process_name_t *name,
                          opal_proc_t *proc)
{
    uint32_t start;

    ep->tcp = tcp;
    ep->name = *name;
    ep->own_proc = (opal_proc_t){.proc_name = *name, .node = UINT32_MAX, .hostname = ""};
    ep->proc = proc ? proc : &ep->own_proc;
    ep->added = proc != NULL;
    list_init(&ep->waiting);
    list_init(&ep->small);
    list_init(&ep->bulk);
    list_init(&ep->done);
    list_init(&ep->ops);
    rdma_am_peer_init(&ep->am, ep);
    crypto_random(&start, sizeof(start));
    for (unsigned i = 0; i < TCP_SLOTS; i++) {
        ep->slots[i].generation = start + i;
    }
    list_append(&tcp->endpoints, &ep->link);
}

void tcp_endpoint_rouse_now(struct tcp_module *tcp, tcp_endpoint *ep)
{
    const struct roster_entry *entry = roster_entry(tcp->roster, ep);

    endpoint_init(tcp, ep, &entry->name, entry->proc);
}

/* Of a peer that came by itself. */
static tcp_endpoint *endpoint_create(struct tcp_module *tcp, const orte_process_name_t *name)
{
    tcp_endpoint *ep = roster_add(tcp->roster, name, NULL);

    if (ep) {
        tcp_endpoint_rouse(tcp, ep);
    }
    return ep;
}

static tcp_endpoint *deputy_create(struct tcp_module *tcp, tcp_endpoint *of)
{
    tcp_endpoint *ep = calloc(1, sizeof(*ep));

    if (ep) {
        endpoint_init(tcp, ep, &tcp->me, NULL);
        ep->deputy = of;
        ep->am.known_as = of;
        tcp->deputy = ep;
    }
    return ep;
}

tcp_endpoint *tcp_endpoint_face(tcp_endpoint *ep)
{
    return ep->deputy ? ep->deputy : ep;
}

static void endpoint_release(struct tcp_ended *ended)
{
    tcp_endpoint *ep = container_of(ended, tcp_endpoint, ended);

    if (ep->deputy) {
        free(ep);
    } else {
        roster_remove(ep->tcp->roster, ep, true);
    }
}

/* Closes the sockets and calls back everything in flight. */
static void endpoint_cut(tcp_endpoint *ep, enum ep_state state, int status)
{
    if (ep->conn) {
        tcp_conn_close(ep->conn);
        ep->conn = NULL;
    }
    if (ep->tcp_link) {
        tcp_link_close(ep->tcp_link);
        ep->tcp_link = NULL;
    }
    tcp_lanes_close(ep);
    set_state(ep, state);
    tcp_send_fail(ep, status);
    tcp_rdma_fail(ep, status);
    rdma_am_cancel(ep->tcp->am, &ep->am, status);
}

void tcp_endpoint_end(tcp_endpoint *ep)
{
    struct tcp_module *tcp = ep->tcp;

    if (ep->state == EP_CLOSED) {
        return; /* by a callback of this very end */
    }
    endpoint_cut(ep, EP_CLOSED, OPAL_ERR_UNREACH);
    btl_pending_end(&tcp->super, ep);
    btl_card_cancel(&ep->question);
    list_remove(&ep->link);
    tcp_end(tcp, &ep->ended, endpoint_release);
    if (ep->deputy) {
        tcp->deputy = NULL;
        return;
    }
    roster_forget(tcp->roster, ep);
    if (tcp->deputy && tcp->deputy->deputy == ep) {
        tcp_endpoint_end(tcp->deputy);
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

    if (ep->state == EP_CLOSED || ep->state == EP_BROKEN) {
        return;
    }
    tcp_enter(tcp);
    endpoint_cut(ep, EP_BROKEN, status);
    if (!tcp->closing && ep->state == EP_BROKEN && !ep->deputy) {
        btl_report_error(&tcp->super, MCA_BTL_ERROR_FLAGS_NONFATAL, ep->added ? ep->proc : NULL,
                         "tcp link to %s: %s", ORTE_NAME_PRINT(&ep->name), why);
    }
    tcp_leave(tcp);
}

void tcp_endpoint_left(tcp_endpoint *ep)
{
    if (in_flight(ep)) {
        tcp_endpoint_break(ep, OPAL_ERR_UNREACH, "the peer left");
        return;
    }
    endpoint_cut(ep, EP_IDLE, OPAL_ERR_UNREACH);
}

/* ---- reaching a peer ---- */

static void pair_addresses(tcp_endpoint *ep)
{
    ep->card_known = true;
    ep->order_count = netcard_order(ep->order, &ep->tcp->card.net, &ep->card.net);
}

static void endpoint_wait(tcp_endpoint *ep, uint64_t wake_us)
{
    set_state(ep, EP_WAITING);
    ep->wake_us = wake_us;
    list_append(&ep->tcp->waiting, &ep->waiting);
}

static void take_card(void *arg, int status, const void *data, size_t size)
{
    tcp_endpoint *ep = arg;

    if (status == OPAL_SUCCESS) {
        status = tcp_card_decode(&ep->card, data, size);
    }
    if (status == OPAL_SUCCESS) {
        pair_addresses(ep);
    } else {
        log_info(LOG_BTL, "tcp: no card of %s: %s", ORTE_NAME_PRINT(&ep->name),
                 opal_strerror(status));
        if (ep->state == EP_CARD) {
            tcp_endpoint_break(ep, OPAL_ERR_UNREACH, "it has no card");
        }
        return;
    }
    if (ep->state == EP_CARD) {
        endpoint_wait(ep, 0);
    }
}

/* Asks the host, which may answer before this returns. */
static int card_ask(tcp_endpoint *ep)
{
    if (name_equal(&ep->name, &ep->tcp->me)) {
        ep->card = ep->tcp->card;
        pair_addresses(ep);
        return OPAL_SUCCESS;
    }
    return btl_card_ask(&ep->tcp->cards, ep->proc, &ep->question, take_card, ep);
}

static int card_judge(void *arg, const void *data, size_t size)
{
    struct tcp_module *tcp = arg;
    size_t order[NETCARD_ADDRESSES];
    struct tcp_card card;
    int status = tcp_card_decode(&card, data, size);

    if (status == OPAL_SUCCESS && netcard_order(order, &tcp->card.net, &card.net) == 0) {
        status = OPAL_ERR_UNREACH;
    }
    return status;
}

/* Whether one of a peer's addresses may lead to it, as far as is known before its first use. */
static bool may_reach(struct tcp_module *tcp, const opal_proc_t *proc)
{
    size_t order[NETCARD_ADDRESSES];

    return name_equal(&proc->proc_name, &tcp->me)
               ? netcard_order(order, &tcp->card.net, &tcp->card.net) > 0
               : btl_card_may_lead(&tcp->cards, proc, card_judge, tcp);
}

/* A peer that came by itself is added. */
static tcp_endpoint *endpoint_adopt(struct tcp_module *tcp, tcp_endpoint *ep, opal_proc_t *proc)
{
    if (ep->state != EP_UP && !may_reach(tcp, proc)) {
        return NULL;
    }
    roster_entry(tcp->roster, ep)->proc = proc;
    ep->proc = proc;
    ep->added = true;
    if (ep->state == EP_BROKEN) {
        set_state(ep, EP_IDLE);
    }
    return ep;
}

tcp_endpoint *tcp_endpoint_add(mca_btl_base_module_t *btl, opal_proc_t *proc)
{
    struct tcp_module *tcp = tcp_of(btl);
    tcp_endpoint *ep = roster_find(tcp->roster, &proc->proc_name);

    if (!ep) {
        return may_reach(tcp, proc) ? roster_add(tcp->roster, &proc->proc_name, proc) : NULL;
    }
    if (!roster_entry(tcp->roster, ep)->proc) {
        return endpoint_adopt(tcp, ep, proc);
    }
    return ep->state == EP_BROKEN ? NULL : ep;
}

void tcp_endpoint_want(tcp_endpoint *ep)
{
    if (ep->state == EP_UP) {
        tcp_link_wake(ep->tcp_link);
        tcp_lanes_wake(ep);
    } else if (ep->state == EP_IDLE) {
        ep->patience.count = 0; /* it has not begun */
        ep->peer_tried = false;
        ep->give_up_us = clock_us() + ep->tcp->params.hello_us;
        endpoint_wait(ep, 0);
    }
}

static void patience_start(tcp_endpoint *ep)
{
    uint64_t full_us = ep->tcp->params.connect_us;
    uint64_t limit_us = (ep->order_count + MORE_TIMES) * full_us;

    patience_begin(&ep->patience, ep->order_count, full_us, limit_us, REFUSALS_MAX, clock_us());
}

/* No address is left. Where I cannot get through, the peer may. */
static void endpoint_despair(tcp_endpoint *ep)
{
    uint64_t now = clock_us();

    if (ep->peer_tried && now < ep->give_up_us) {
        patience_start(ep);
        endpoint_wait(ep, now + ROUND_PAUSE_US);
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
        endpoint_despair(ep);
    } else if (next == PATIENCE_WAIT) {
        endpoint_wait(ep, now + wait_us);
    }
    return next == PATIENCE_GO;
}

/* Tries the addresses from the one on whose turn it is. */
static void endpoint_connect(tcp_endpoint *ep)
{
    if (ep->order_count == 0) {
        endpoint_despair(ep);
        return;
    }
    if (ep->patience.count == 0) {
        patience_start(ep);
    }
    do {
        uint64_t time_us = patience_time(&ep->patience, clock_us());
        ep->conn = tcp_conn_start(ep, 0, ep->order[ep->patience.at], time_us);
        if (ep->conn) {
            set_state(ep, EP_CONNECTING);
            return;
        }
    } while (next_address(ep, PATIENCE_REFUSED));
}

void tcp_endpoint_wake(tcp_endpoint *ep)
{
    set_state(ep, EP_IDLE);
    if (!ep->card_known && !ep->question && card_ask(ep) != OPAL_SUCCESS) {
        tcp_endpoint_break(ep, OPAL_ERR_OUT_OF_RESOURCE, "out of memory");
        return;
    }
    if (ep->question) {
        set_state(ep, EP_CARD);
        return;
    }
    endpoint_connect(ep);
}

void tcp_endpoint_conn_failed(tcp_endpoint *ep, enum patience_outcome outcome, uint64_t pause_us,
                              const char *why)
{
    uint64_t now = clock_us();

    ep->conn = NULL;
    log_info(LOG_BTL, "tcp: %s: %s", ORTE_NAME_PRINT(&ep->name), why);
    if (outcome == PATIENCE_FAILED && now < ep->give_up_us) {
        endpoint_wait(ep, now + pause_us);
    } else if (next_address(ep, outcome)) {
        endpoint_connect(ep);
    }
}

/* ---- a peer that comes ---- */

/* Whether a peer's connect may become the endpoint's link. */
static enum tcp_verdict endpoint_judge(tcp_endpoint *ep, uint64_t incarnation)
{
    struct tcp_module *tcp = ep->tcp;

    if (ep->state == EP_UP) {
        if (ep->incarnation == incarnation) {
            return TCP_VERDICT_AGAIN;
        }
        tcp_endpoint_break(ep, OPAL_ERR_UNREACH, "the peer was started anew");
    }
    if (ep->state == EP_BROKEN && !ep->added) {
        set_state(ep, EP_IDLE);
    }
    if (ep->state == EP_BROKEN || ep->state == EP_CLOSED) {
        return TCP_VERDICT_REFUSE;
    }
    /* Both connect at once: the lower name's hello decides, once it is sent. If it is not, it never
     * will be, so that the two sides cannot choose differently. */
    if (ep->state == EP_CONNECTING && ep->conn->phase == CONN_WELCOME &&
        orte_util_compare_name_fields(ORTE_NS_CMP_ALL, &tcp->me, &ep->name) ==
            OPAL_VALUE2_GREATER) {
        ep->peer_tried = true;
        return TCP_VERDICT_CROSS;
    }
    return TCP_VERDICT_ACCEPT;
}

enum tcp_verdict tcp_endpoint_judge(struct tcp_module *tcp, const struct tcp_hello *hello,
                                    tcp_endpoint **found)
{
    bool self = name_equal(&hello->from, &tcp->me);
    tcp_endpoint *listed = roster_find(tcp->roster, &hello->from);
    tcp_endpoint *ep = self ? tcp->deputy : listed;

    if ((tcp->closing && !(ep && ep->promised > 0)) || (self && !listed)) {
        return TCP_VERDICT_REFUSE;
    }
    if (!ep) {
        ep = self ? deputy_create(tcp, listed) : endpoint_create(tcp, &hello->from);
        if (!ep) {
            return TCP_VERDICT_AGAIN;
        }
    }
    tcp_endpoint_rouse(tcp, ep);
    enum tcp_verdict verdict = endpoint_judge(ep, hello->incarnation);
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
    struct tcp_link *link = tcp_link_create(ep, fd, 0);
    if (!link) {
        fd_close(&fd);
        tcp_endpoint_break(ep, OPAL_ERR_OUT_OF_RESOURCE, "out of memory");
        return;
    }
    ep->tcp_link = link;
    ep->incarnation = incarnation;
    set_state(ep, EP_UP);
    tcp_link_wake(link);
}

/* ---- checkpoint and restart ---- */

bool tcp_endpoint_is_quiet(const tcp_endpoint *ep)
{
    return !in_flight(ep) && list_empty(&ep->done) && tcp_links_all(ep, tcp_link_is_acknowledged);
}

/* The peer, when it still runs, is told that the link ends on purpose. */
static void endpoint_restart(tcp_endpoint *ep)
{
    if (!in_flight(ep)) {
        (void) tcp_links_all(ep, tcp_link_say_bye);
    }
    endpoint_cut(ep, EP_IDLE, OPAL_ERR_UNREACH);
    btl_card_cancel(&ep->question);
    ep->card_known = false;
    ep->order_count = 0;
    if (!ep->added) {
        tcp_endpoint_end(ep);
    }
}

void tcp_endpoints_restart(struct tcp_module *tcp)
{
    tcp_endpoint *ep;

    tcp_enter(tcp);
    if (tcp->deputy) {
        tcp_endpoint_end(tcp->deputy);
    }
    list_for_each (ep, &tcp->endpoints, tcp_endpoint, link) {
        endpoint_restart(ep);
    }
    tcp_leave(tcp);
}

void tcp_endpoint_dump(const tcp_endpoint *ep)
{
    size_t ops = 0;

    for (const struct list *link = ep->ops.next; link != &ep->ops; link = link->next) {
        ops++;
    }
    log_write(LOG_BTL, LOG_INFO,
              "tcp: %s: %s, address %zu of %zu, %zu bytes queued, %zu puts and gets, %u pieces "
              "in flight, %u answers owed",
              ORTE_NAME_PRINT(&ep->name), state_names[ep->state], ep->patience.at + 1,
              ep->order_count, ep->queued_bytes, ops, ep->slots_used, ep->answers);
}
