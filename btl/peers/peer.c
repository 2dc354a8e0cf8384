#include <config.h>

#include <base/data/clock.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <base/types/name.h>
#include <btl/peers/peer.h>

enum { LOOKS = 8 }; /* at handshakes, within give_way_us */

static struct param connect_timeout = PARAM_INT(
    "btl_base_connect_timeout_ms", "5000", 0, 3600000, "ms",
    "A rail to a peer that does not connect for so long, or until its module would take a "
    "silent peer for lost, is lost where another rail to the peer connects, and used "
    "again when it connects; 0: it is waited for.");
PARAM_ROWS("btl", connect_timeout);

enum event {
    WANTED,    /* something is to be sent */
    LOCATED,   /* its card was taken */
    CAME,      /* it has spoken first */
    CONNECTED, /* the session is there */
    LEAVES,    /* it is about to end the session on purpose */
    LEFT,      /* it has done so */
    FAILED,    /* progress is to break it */
    LOST,      /* it is broken now */
    READMIT,   /* one that broke may come again: nobody added it, or it is being added */
    RETRY,     /* one that broke is to be tried again */
    GIVE_UP,   /* no more */
    RESTART,
    CLOSE,
    END,
    EVENTS
};

/* What is done; the state that it leads to. */
enum step {
    STAY,   /* nothing */
    SEEK,   /* CARD: asks for it, or goes on at once where the peer is located */
    SHAKE,  /* HANDSHAKE: progress connects */
    JOIN,   /* UP */
    DRAIN,  /* LEAVING */
    QUEUE,  /* FAILING: progress breaks it */
    BREAK,  /* BROKEN: cut, then the error is reported */
    AGAIN,  /* RETRYING: cut, progress connects after a while */
    RETURN, /* UP: that it is back is reported */
    DROP,   /* BROKEN: cut */
    CUT,    /* IDLE: cut */
    RESET,  /* IDLE */
    LEAVE,  /* CLOSING */
    DOOM,   /* CLOSING still: progress cuts */
    SEVER,  /* CLOSING still: cut, so that nothing is left to wait for */
    REMOVE, /* ENDED: cut, and nobody finds it any more */
};

static const enum btl_peer_state leads_to[] = {
    [SEEK] = PEER_CARD,      [SHAKE] = PEER_HANDSHAKE, [JOIN] = PEER_UP,
    [QUEUE] = PEER_FAILING,  [BREAK] = PEER_BROKEN,    [CUT] = PEER_IDLE,
    [AGAIN] = PEER_RETRYING, [RETURN] = PEER_UP,       [DROP] = PEER_BROKEN,
    [RESET] = PEER_IDLE,     [DRAIN] = PEER_LEAVING,   [LEAVE] = PEER_CLOSING,
    [DOOM] = PEER_CLOSING,   [SEVER] = PEER_CLOSING,   [REMOVE] = PEER_ENDED,
};

/* clang-format off */
static const uint8_t table[EVENTS][PEER_STATES] = {
    /*              IDLE    CARD    HANDSHAKE  UP      LEAVING  FAILING  BROKEN  RETRYING  CLOSING  ENDED */
    [WANTED] =    {SEEK,   STAY,   STAY,      STAY,   STAY,    STAY,    STAY,   STAY,     STAY,    STAY},
    [LOCATED] =   {STAY,   SHAKE,  STAY,      STAY,   STAY,    STAY,    STAY,   STAY,     STAY,    STAY},
    [CAME] =      {SHAKE,  SHAKE,  STAY,      STAY,   STAY,    STAY,    STAY,   STAY,     STAY,    STAY},
    [CONNECTED] = {JOIN,   JOIN,   JOIN,      STAY,   STAY,    STAY,    STAY,   RETURN,   STAY,    STAY},
    [LEAVES] =    {STAY,   STAY,   STAY,      DRAIN,  STAY,    STAY,    STAY,   STAY,     STAY,    STAY},
    [LEFT] =      {STAY,   STAY,   CUT,       CUT,    CUT,     STAY,    STAY,   STAY,     STAY,    STAY},
    [FAILED] =    {QUEUE,  QUEUE,  QUEUE,     QUEUE,  QUEUE,   STAY,    STAY,   AGAIN,    DOOM,    STAY},
    [LOST] =      {BREAK,  BREAK,  BREAK,     BREAK,  BREAK,   BREAK,   STAY,   AGAIN,    SEVER,   STAY},
    [READMIT] =   {STAY,   STAY,   STAY,      STAY,   STAY,    STAY,    RESET,  STAY,     STAY,    STAY},
    [RETRY] =     {STAY,   STAY,   STAY,      STAY,   STAY,    STAY,    AGAIN,  STAY,     STAY,    STAY},
    [GIVE_UP] =   {STAY,   STAY,   STAY,      STAY,   STAY,    STAY,    STAY,   DROP,     STAY,    STAY},
    [RESTART] =   {CUT,    CUT,    CUT,       CUT,    CUT,     CUT,     CUT,    CUT,      STAY,    STAY},
    [CLOSE] =     {LEAVE,  LEAVE,  LEAVE,     LEAVE,  LEAVE,   DOOM,    LEAVE,  LEAVE,    STAY,    STAY},
    [END] =       {REMOVE, REMOVE, REMOVE,    REMOVE, REMOVE,  REMOVE,  REMOVE, REMOVE,   REMOVE,  STAY},
};
/* clang-format on */

static const char *const state_names[PEER_STATES] = {"idle",    "card",    "handshake", "up",
                                                     "leaving", "failing", "broken",    "retrying",
                                                     "closing", "ended"};

const char *btl_peer_state_name(const struct btl_peer *peer)
{
    return state_names[peer->state];
}

/* ---- what the steps do ---- */

static bool happened(struct btl_peer *peer, enum event event);

static void card_taken(void *arg, int status, const void *data, size_t size)
{
    struct btl_peer *peer = arg;

    peer->why = peer->state == PEER_CARD ? NULL : peer->why;
    if (status == OPAL_SUCCESS) {
        status = peer->peers->hooks->locate(peer, data, size);
    }
    if (status == OPAL_SUCCESS) {
        peer->located = true;
        happened(peer, LOCATED);
    } else if (peer->state == PEER_CARD && data && status == OPAL_ERR_NOT_AVAILABLE) {
        peer->elsewhere = true;
        btl_peer_fail(peer, "another module reaches it");
    } else if (peer->state == PEER_CARD && peer->why) {
        btl_peer_fail(peer, peer->why);
    } else if (peer->state == PEER_CARD) { /* else it has come by itself */
        log_info(LOG_BTL, "%s: %s has no card that leads to it: %s", peer->peers->name,
                 ORTE_NAME_PRINT(&peer->name), opal_strerror(status));
        btl_peer_fail(peer, "it has no card that leads to it");
    }
}

static int ask_for_card(struct btl_peer *peer)
{
    const opal_proc_t itself = {.proc_name = peer->name, .node = UINT32_MAX, .hostname = ""};

    return peer->question ? OPAL_SUCCESS
                          : btl_card_ask(&peer->peers->cards, peer->proc ? peer->proc : &itself,
                                         &peer->question, card_taken, peer);
}

static void seek(struct btl_peer *peer)
{
    if (peer->located) {
        happened(peer, LOCATED);
    } else if (ask_for_card(peer) != OPAL_SUCCESS) {
        btl_peer_fail(peer, "out of memory");
    }
}

static void shake(struct btl_peer *peer)
{
    peer->give_up_us = peer->peers->clock_us() + peer->peers->handshake_us;
    btl_peer_wait(peer, 0);
}

/* Nothing waits for it, so that an attempt is given up early. */
static void try_later(struct btl_peer *peer)
{
    peer->give_up_us = 0;
    btl_peer_wait(peer, peer->peers->clock_us() + BTL_RETRY_US);
}

static void report(struct btl_peer *peer, const char *why)
{
    const struct btl_peers *peers = peer->peers;

    if (peers->closing || peer->hidden || peer->state != PEER_BROKEN) {
        return;
    }
    if (peer->elsewhere) {
        btl_report_loss(peers->module, peer->proc);
    } else if (peer->departed) {
        btl_report_departed(peers->module, peer->proc, "%s: %s: %s", peers->name,
                            ORTE_NAME_PRINT(&peer->name), why);
    } else {
        btl_report_error(peers->module, MCA_BTL_ERROR_FLAGS_NONFATAL, peer->proc, "%s: %s: %s",
                         peers->name, ORTE_NAME_PRINT(&peer->name), why);
    }
}

static void remove_peer(struct btl_peer *peer)
{
    struct btl_peers *peers = peer->peers;

    peers->hooks->cut(peer, OPAL_ERR_UNREACH);
    btl_pending_end(peers->module, btl_peer_endpoint(peer));
    btl_card_cancel(&peer->question);
    list_remove(&peer->link);
    if (!peer->hidden) {
        roster_forget(peers->roster, peer);
    }
    peers->hooks->end(peer);
}

/* The one place where a state changes. */
static void enter_state(struct btl_peer *peer, enum btl_peer_state state)
{
    struct btl_peers *peers = peer->peers;
    const enum btl_peer_state before = peer->state;

    log_debug(LOG_BTL, "%s: %s: %s -> %s", peers->name, ORTE_NAME_PRINT(&peer->name),
              state_names[peer->state], state_names[state]);
    peer->state = state;
    peers->retrying -= before == PEER_RETRYING;
    peers->retrying += state == PEER_RETRYING;
    peers->handshaking -= before == PEER_HANDSHAKE;
    peers->handshaking += state == PEER_HANDSHAKE;
    peer->looks = 0;
    if (peers->retrying == 0) {
        linkwatch_close(&peers->links);
    }
    peers->sessions += state == PEER_UP;
    list_remove(&peer->waiting);
}

/* What a step does in the state that it has led to. */
static void carry_out(struct btl_peer *peer, enum step step, int status, const char *why)
{
    struct btl_peers *peers = peer->peers;

    switch (step) {
    case SEEK:
        seek(peer);
        break;
    case SHAKE:
        shake(peer);
        break;
    case QUEUE:
    case DOOM:
        peer->why = why;
        list_append(&peers->failing, &peer->waiting);
        break;
    case BREAK:
        peers->hooks->cut(peer, status);
        report(peer, why); /* after which the peer may be gone */
        break;
    case AGAIN:
        peers->hooks->cut(peer, OPAL_ERR_UNREACH);
        try_later(peer);
        break;
    case RETURN:
        log_info(LOG_BTL, "%s: reaches %s again", peers->name, ORTE_NAME_PRINT(&peer->name));
        btl_report_return(peers->module, peer->proc);
        break;
    case SEVER:
        peers->hooks->cut(peer, status);
        break;
    case CUT:
    case DROP:
        peers->hooks->cut(peer, OPAL_ERR_UNREACH);
        break;
    case LEAVE:
        if (peers->hooks->leave) {
            peers->hooks->leave(peer);
        }
        break;
    case REMOVE:
        remove_peer(peer);
        break;
    default:
        break;
    }
}

/* status: of LOST; why: of LOST and FAILED. */
static bool peer_step(struct btl_peer *peer, enum event event, int status, const char *why)
{
    enum step step = table[event][peer->state];

    if (step == STAY) {
        return false;
    }
    enter_state(peer, leads_to[step]);
    carry_out(peer, step, status, why);
    return true;
}

static bool happened(struct btl_peer *peer, enum event event)
{
    return peer_step(peer, event, OPAL_SUCCESS, NULL);
}

/* ---- what happens to a peer ---- */

void btl_peer_want(struct btl_peer *peer)
{
    happened(peer, WANTED);
}

void btl_peer_wait(struct btl_peer *peer, uint64_t wake_us)
{
    if (btl_peer_connects(peer) || peer->state == PEER_UP) {
        peer->wake_us = wake_us;
        list_remove(&peer->waiting);
        list_append(&peer->peers->connecting, &peer->waiting);
    }
}

void btl_peer_came(struct btl_peer *peer)
{
    happened(peer, CAME);
}

bool btl_peer_up(struct btl_peer *peer, uint64_t incarnation)
{
    bool up = happened(peer, CONNECTED);

    peer->incarnation = up ? incarnation : peer->incarnation;
    peer->departed &= !up;
    return up;
}

void btl_peer_leaves(struct btl_peer *peer)
{
    happened(peer, LEAVES);
}

void btl_peer_left(struct btl_peer *peer)
{
    peer->departed |= happened(peer, LEFT);
}

void btl_peer_break(struct btl_peer *peer, int status, const char *why)
{
    peer_step(peer, LOST, status, why);
}

void btl_peer_fail(struct btl_peer *peer, const char *why)
{
    peer_step(peer, FAILED, OPAL_SUCCESS, why);
}

static bool suits(const struct btl_peers *peers, const opal_proc_t *proc)
{
    return !peers->hooks->suits || peers->hooks->suits(peers, proc);
}

void btl_peer_retry(struct btl_peer *peer, bool on)
{
    struct btl_peers *peers = peer->peers;

    if (peers && peer->proc && !peer->elsewhere && !peers->hooks->fails_for_good) {
        happened(peer, on && suits(peers, peer->proc) ? RETRY : GIVE_UP);
    }
}

void btl_peer_died(struct btl_peers *peers, struct btl_peer *peer)
{
    bool open = peer->state == PEER_UP || peer->state == PEER_CLOSING;
    bool told = !peer->peers || peer->state == PEER_LEAVING || (open && peers->hooks->notices_ends);

    if (!told && peer->state != PEER_IDLE) {
        btl_peer_fail(peer, "its process ended");
    }
}

void btl_peer_close(struct btl_peer *peer)
{
    happened(peer, CLOSE);
}

void btl_peer_end(struct btl_peer *peer)
{
    happened(peer, END);
}

void btl_peer_free(struct btl_peer *peer)
{
    roster_remove(peer->peers->roster, peer, true);
}

/* ---- who there is ---- */

static void peer_begin(struct btl_peers *peers, struct btl_peer *peer,
                       const orte_process_name_t *name, opal_proc_t *proc)
{
    peer->peers = peers;
    peer->name = *name;
    peer->proc = proc;
    list_init(&peer->waiting);
    list_append(&peers->used, &peer->link);
    peers->hooks->begin(peer);
}

void btl_peer_activate_now(struct btl_peers *peers, struct btl_peer *peer)
{
    const struct roster_entry *entry = roster_entry(peers->roster, peer);

    peer_begin(peers, peer, &entry->name, entry->proc);
}

bool btl_peer_connected(struct btl_peers *peers, struct btl_peer *peer, int *status)
{
    if (peer->state == PEER_UP) {
        return true;
    }
    btl_peer_activate(peers, peer);
    bool wanted = peer->proc && suits(peers, peer->proc);
    if (wanted) {
        btl_peer_want(peer);
    }
    *status = wanted && peer->state < PEER_FAILING ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_ERR_UNREACH;
    return peer->state == PEER_UP;
}

void btl_peer_init_hidden(struct btl_peers *peers, struct btl_peer *peer,
                          const orte_process_name_t *name)
{
    peer->hidden = true;
    peer_begin(peers, peer, name, NULL);
}

bool btl_peers_reach(struct btl_peers *peers, const opal_proc_t *proc)
{
    return suits(peers, proc) &&
           (name_equal(&proc->proc_name, &peers->me) ||
            btl_card_may_lead(&peers->cards, proc, peers->hooks->judge, peers));
}

struct btl_peer *btl_peer_add(struct btl_peers *peers, opal_proc_t *proc)
{
    struct btl_peer *peer = roster_find(peers->roster, &proc->proc_name);
    bool up = peer && peer->state == PEER_UP;

    if (!suits(peers, proc)) {
        return NULL;
    }
    if (!peer || !roster_entry(peers->roster, peer)->proc) {
        if (!up && !btl_peers_reach(peers, proc)) {
            return NULL;
        }
        peer = peer ? peer : roster_add(peers->roster, &proc->proc_name, proc);
    } else if (peer->state >= PEER_FAILING) {
        return NULL;
    }
    if (peer && !roster_entry(peers->roster, peer)->proc) { /* it came by itself */
        roster_entry(peers->roster, peer)->proc = proc;
        peer->proc = proc;
        happened(peer, READMIT);
    }
    return peer;
}

struct btl_peer *btl_peer_meet(struct btl_peers *peers, const orte_process_name_t *name,
                               bool *again)
{
    struct btl_peer *peer = roster_find(peers->roster, name);

    *again = false;
    if (peers->closing && (!peer || !peer->peers)) {
        return NULL;
    }
    if (!peer) {
        peer = roster_add(peers->roster, name, NULL);
        *again = !peer;
    }
    if (peer) {
        btl_peer_activate(peers, peer);
    }
    if (peer && !peer->proc) {
        btl_met(peers->module, name);
    }
    return peer;
}

bool btl_peer_takes(struct btl_peer *peer)
{
    if (!peer->proc) {
        happened(peer, READMIT);
    }
    return peer->state < PEER_FAILING || peer->state == PEER_RETRYING;
}

/* ---- all of them ---- */

/* One that is tried again may have come by itself before. */
static void connect_to(struct btl_peer *peer)
{
    if (peer->state != PEER_RETRYING || peer->located) {
        peer->peers->hooks->connect(peer);
    } else {
        btl_peer_wait(peer, peer->peers->clock_us() + BTL_RETRY_US);
        (void) ask_for_card(peer); /* without memory the next time */
    }
}

static void wake(struct btl_peers *peers)
{
    uint64_t now_us = peers->clock_us();
    struct list round;

    /* They move back one by one, so that a callback may end any of them. */
    list_init(&round);
    list_splice(&round, &peers->connecting);
    for (struct list *link; (link = list_pop(&round));) {
        struct btl_peer *peer = container_of(link, struct btl_peer, waiting);
        list_append(&peers->connecting, link);
        if (now_us >= peer->wake_us) {
            connect_to(peer);
        }
    }
}

/* An attempt that is under way may have lost its first packets to the link that was down. */
static void retry_now(struct btl_peers *peers)
{
    struct btl_peer *peer;

    log_info(LOG_BTL, "%s: a network link came up: %zu lost peers are tried at once", peers->name,
             peers->retrying);
    list_for_each (peer, &peers->used, struct btl_peer, link) {
        if (peer->state == PEER_RETRYING) {
            happened(peer, LOST);
            btl_peer_wait(peer, 0);
        }
    }
}

/* What waits for them is to go by the module that connects. That may be one that nobody used. Looks
 * are counted, since time also passes while this process computes, and answers wait for it. */
static void let_give_way(struct btl_peers *peers)
{
    const uint64_t now_us = peers->clock_us(), limit_us = peers->give_way_us;
    struct btl_peer *peer;

    if (now_us < peers->look_us || limit_us == 0) {
        return;
    }
    peers->look_us = now_us + limit_us / LOOKS;
    list_for_each (peer, &peers->used, struct btl_peer, link) {
        if (peer->state != PEER_HANDSHAKE || !peer->proc || ++peer->looks <= LOOKS / 2) {
            continue;
        }
        if (!btl_connects_elsewhere(peers->module, peer->proc)) {
            peer->looks = LOOKS / 2;
        } else if (peer->looks > LOOKS) {
            btl_peer_fail(peer, "it does not connect, and another module does");
        }
    }
}

int btl_peers_progress(struct btl_peers *peers)
{
    int events = 0;

    for (struct list *link; (link = list_pop(&peers->failing)); events++) {
        struct btl_peer *peer = container_of(link, struct btl_peer, waiting);
        btl_peer_break(peer, OPAL_ERR_UNREACH, peer->why);
    }
    if (peers->retrying > 0 && peers->hooks->over_links &&
        linkwatch_rose(&peers->links, peers->clock_us())) {
        retry_now(peers);
    }
    if (!list_empty(&peers->connecting)) {
        wake(peers);
    }
    if (peers->handshaking > 0) {
        let_give_way(peers);
    }
    return events;
}

void btl_peers_restart(struct btl_peers *peers)
{
    struct btl_peer *peer;

    list_for_each (peer, &peers->used, struct btl_peer, link) {
        if (!peer->proc) {
            btl_peer_end(peer);
            continue;
        }
        btl_card_cancel(&peer->question);
        peer->located = peer->elsewhere = false;
        if (happened(peer, RESTART) && peers->hooks->forget) {
            peers->hooks->forget(peer);
        }
    }
}

int btl_peers_init(struct btl_peers *peers, const struct btl_peer_hooks *hooks,
                   mca_btl_base_module_t *module, const char *name, size_t endpoint_bytes)
{
    const struct btl_host *host = btl_host();

    *peers = (struct btl_peers){.hooks = hooks,
                                .module = module,
                                .cards = {.host = host, .name = name},
                                .name = name,
                                .me = host->ops->me(host->arg)->proc_name,
                                .clock_us = clock_us,
                                .give_way_us = (uint64_t) param_int(&connect_timeout) * 1000,
                                .roster = roster_create(endpoint_bytes)};
    list_init(&peers->used);
    list_init(&peers->connecting);
    list_init(&peers->failing);
    return peers->roster ? OPAL_SUCCESS : OPAL_ERR_OUT_OF_RESOURCE;
}

void btl_peers_limit(struct btl_peers *peers, uint64_t silence_us)
{
    if (silence_us > 0 && silence_us < peers->give_way_us) {
        peers->give_way_us = silence_us;
    }
}

void btl_peers_fini(struct btl_peers *peers)
{
    linkwatch_close(&peers->links);
    roster_destroy(peers->roster);
}
