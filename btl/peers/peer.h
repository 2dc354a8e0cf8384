/* Peers: the life of each, which is the same for every transport; the table is in peer.c.
 *
 *                 wanted          its card            connected
 *        IDLE --------------> CARD -----> HANDSHAKE ------------> UP
 *         ^ ^                  |  it came   ^   |                  |
 *         | '------------------+------------'   |                  |
 *         | it left, or a      '-------+--------'------------------+
 *         | restart                    | failed                    | lost
 *         |                            v        progress           v
 *         '------------------------ FAILING --------------------> BROKEN <---> RETRYING ---> UP
 *                                                                     retry on, off  connected
 *
 *        UP -- it says goodbye --> LEAVING -- it has all that was sent to it --> IDLE
 *        any but ENDED -- del_procs --> CLOSING -- said and answered --> ENDED
 *
 * A peer that connects leads to UP from every state before it. BROKEN lasts until del_procs or a
 * restart; where nobody added the peer, until it comes again; or until the choice of rails has it
 * tried again: RETRYING takes nothing either, connects every BTL_RETRY_US, and where a network link
 * comes up, and fails without a report. HANDSHAKE fails after give_way_us where another module has
 * connected to the peer. LEAVING takes nothing for the moment, and is lost as UP is; that its
 * process ends is no loss, since the transport bounds what is left of the session. One that is lost
 * while CLOSING is cut, and stays so. While a peer is FAILING, nothing was called back yet:
 * progress does it, and reports the error once, after all callbacks.
 *
 * A transport's endpoint begins with a struct btl_peer, and comes from a roster: a peer that is
 * never used costs its entry there. One thread at a time. */
#ifndef BTL_PEER_H
#define BTL_PEER_H

#include <base/data/list.h>
#include <base/net/linkwatch.h>
#include <btl/peers/card.h>
#include <btl/peers/roster.h>

enum btl_peer_state {
    PEER_IDLE,
    PEER_CARD,      /* the host looks for its card */
    PEER_HANDSHAKE, /* the transport connects, or waits until wake_us to try again */
    PEER_UP,
    PEER_LEAVING, /* it said goodbye: what was sent before still goes out */
    PEER_FAILING, /* from here on it takes nothing */
    PEER_BROKEN,
    PEER_RETRYING, /* as HANDSHAKE, for one that broke */
    PEER_CLOSING,
    PEER_ENDED,
    PEER_STATES
};

struct btl_peers;

/* First in an endpoint; all zero until it is first used. */
struct btl_peer {
    struct btl_peers *peers; /* NULL: not used yet */
    struct list link;        /* in used */
    struct list waiting;     /* in connecting, or in failing */
    orte_process_name_t name;
    opal_proc_t *proc; /* add_procs' (borrowed); NULL: it came by itself */
    enum btl_peer_state state;
    bool located;   /* its card was taken */
    bool departed;  /* it has left by itself, and did not come back since */
    bool hidden;    /* it is in no roster, and fails without a report */
    bool elsewhere; /* its card says that other modules reach it: this one never will */
    uint8_t looks;  /* at its handshake */
    struct btl_card_question *question; /* NULL: none is open */
    uint64_t wake_us, give_up_us;       /* HANDSHAKE, RETRYING */
    uint64_t incarnation;               /* of the process at the other end; the transport's */
    const char *why;                    /* FAILING; stays valid until it is reported */
};

/* What a transport does. begin, judge, locate and forget run no callback of the layers above. */
struct btl_peer_hooks {
    /* Whether the module can have this peer at all, whatever its card says. NULL: each. */
    bool (*suits)(const struct btl_peers *peers, const opal_proc_t *proc);
    /* The endpoint's first use. */
    void (*begin)(struct btl_peer *peer);
    /* Whether a card leads to its peer. */
    int (*judge)(void *peers, const void *data, size_t size);
    /* The same, and the way is remembered. NOT_AVAILABLE: other modules of the component reach the
     * peer, so that this one drops out, which is no error. With another error it may set peer->why,
     * in CARD. */
    int (*locate)(struct btl_peer *peer, const void *data, size_t size);
    /* HANDSHAKE or RETRYING, and wake_us has come: goes on with it, and calls btl_peer_wait,
     * btl_peer_up or btl_peer_break, or has something else do so. */
    void (*connect)(struct btl_peer *peer);
    /* Ends the session, if there is one; all in flight calls back with status. */
    void (*cut)(struct btl_peer *peer, int status);
    /* A restart: what leads to the peer is void. NULL: nothing else is. */
    void (*forget)(struct btl_peer *peer);
    /* Nobody finds it any more: its memory is given to btl_peer_free, at once or later. */
    void (*end)(struct btl_peer *peer);

    /* The steps of closing, each bounded by flush_us. All NULL: there is nothing to wait for. */
    bool (*is_flushed)(struct btl_peer *peer); /* what counts as sent is out */
    void (*leave)(struct btl_peer *peer);      /* nothing but the last word is sent from here on */
    bool (*say_bye)(struct btl_peer *peer);    /* it is said; false: not yet */
    bool (*is_answered)(struct btl_peer *peer);

    bool notices_ends; /* the wire tells when a peer's process ends, of one that is UP or CLOSING */
    bool fails_for_good; /* one that failed is not tried again */
    bool over_links;     /* of the network, so that one that comes up is worth a try at once */
};

struct btl_peers {
    const struct btl_peer_hooks *hooks;
    mca_btl_base_module_t *module; /* borrowed */
    struct btl_cards cards;
    const char *name; /* in texts: the module's, borrowed */
    orte_process_name_t me;
    uint64_t (*clock_us)(void);
    uint64_t handshake_us, flush_us; /* time for a handshake, and for each step of closing */
    uint64_t give_way_us;  /* time for a handshake where another module connects; 0: no limit */
    uint64_t look_us;      /* when the handshakes are next compared with it */
    struct roster *roster; /* owned; has those never used, too */
    struct list used;
    struct list connecting; /* HANDSHAKE or RETRYING, with wake_us */
    struct list failing;
    size_t retrying;        /* peers */
    size_t handshaking;     /* peers in HANDSHAKE */
    struct linkwatch links; /* open while there are any */
    uint64_t sessions;      /* that came up so far; for btl/framework/stats.h */
    bool closing;           /* the module ends: nobody gets in, nothing is reported */
};

/* Sets everything but handshake_us and flush_us; give_way_us by btl_base_connect_timeout_ms. name:
 * the component's, for cards, and for texts too unless the module has a name of its own. */
int btl_peers_init(struct btl_peers *peers, const struct btl_peer_hooks *hooks,
                   mca_btl_base_module_t *module, const char *name,
                   size_t endpoint_bytes) KEEL_MUST_CHECK;
/* A peer that is silent for so long has failed (0: never), so give_way_us is no longer than that.
 */
void btl_peers_limit(struct btl_peers *peers, uint64_t silence_us);
/* All peers were ended. */
void btl_peers_fini(struct btl_peers *peers);

/* As in struct btl_component: reaches, add, ended, retry and end. Those that end do so together:
 * what counts as sent goes out, each peer is told, and answers. */
bool btl_peers_reach(struct btl_peers *peers, const opal_proc_t *proc);
struct btl_peer *btl_peer_add(struct btl_peers *peers, opal_proc_t *proc);
void btl_peer_died(struct btl_peers *peers, struct btl_peer *peer);
void btl_peer_retry(struct btl_peer *peer, bool on);
void btl_peers_end(struct btl_peers *peers, struct mca_btl_base_endpoint_t **endpoints,
                   size_t count);
/* Those that there are, for finalize: nobody gets in any more, and nothing is reported. */
void btl_peers_end_all(struct btl_peers *peers);
/* Every call with an endpoint begins with this. */
void btl_peer_activate_now(struct btl_peers *peers, struct btl_peer *peer);
static inline void btl_peer_activate(struct btl_peers *peers, struct btl_peer *peer)
{
    if (!peer->peers) {
        btl_peer_activate_now(peers, peer);
    }
}
/* Whether it has a session; else it is wanted, and *status is that of an operation on it:
 * OUT_OF_RESOURCE, and it is on its way; UNREACH. Calls nothing back. */
bool btl_peer_connected(struct btl_peers *peers, struct btl_peer *peer, int *status);
/* For a peer in memory of the transport's own, which is hidden. */
void btl_peer_init_hidden(struct btl_peers *peers, struct btl_peer *peer,
                          const orte_process_name_t *name);
const char *btl_peer_state_name(const struct btl_peer *peer);

/* An endpoint begins with its peer. */
static inline struct btl_peer *btl_peer_of(struct mca_btl_base_endpoint_t *endpoint)
{
    return (struct btl_peer *) (void *) endpoint;
}
static inline struct mca_btl_base_endpoint_t *btl_peer_endpoint(struct btl_peer *peer)
{
    return (struct mca_btl_base_endpoint_t *) (void *) peer;
}
/* As the layers above know it: NULL where they have not added it. */
static inline struct mca_btl_base_endpoint_t *btl_peer_added(struct btl_peer *peer)
{
    return peer->proc ? btl_peer_endpoint(peer) : NULL;
}

/* Something is to be sent: asks for its card, then connects. Calls nothing back. */
void btl_peer_want(struct btl_peer *peer);
/* Of connect: again at that time. */
void btl_peer_wait(struct btl_peer *peer, uint64_t wake_us);
/* The peer of this name, which it has proved; made where there is none. NULL: the module closes, or
 * (*again) there is no memory now. */
struct btl_peer *btl_peer_meet(struct btl_peers *peers, const orte_process_name_t *name,
                               bool *again);
/* Whether it may have a session, now that it has come: one that broke may where nobody added it. */
bool btl_peer_takes(struct btl_peer *peer);
/* Its handshake begins, if there is none: it has spoken first. */
void btl_peer_came(struct btl_peer *peer);
/* The session with this incarnation of it is there. False: the peer takes none any more. */
bool btl_peer_up(struct btl_peer *peer, uint64_t incarnation) KEEL_MUST_CHECK;
/* It is about to end the session on purpose: nothing new is sent to it. */
void btl_peer_leaves(struct btl_peer *peer);
/* It ended the session on purpose, and nothing was under way. */
void btl_peer_left(struct btl_peer *peer);
/* Ends the session; everything in flight calls back with status, then the error is reported. The
 * peer may be gone after it. */
void btl_peer_break(struct btl_peer *peer, int status, const char *why);
/* The same with UNREACH, by progress. */
void btl_peer_fail(struct btl_peer *peer, const char *why);
/* It waits for its turn to connect, or connects. */
static inline bool btl_peer_connects(const struct btl_peer *peer)
{
    return peer->state == PEER_HANDSHAKE || peer->state == PEER_RETRYING;
}
/* Of closing: takes nothing any more. */
void btl_peer_close(struct btl_peer *peer);
/* Ends it at once: everything in flight calls back with UNREACH. */
void btl_peer_end(struct btl_peer *peer);
void btl_peer_free(struct btl_peer *peer);

/* Breaks those that failed, connects those whose time has come, fails those that connect for too
 * long; returns the events. */
int btl_peers_progress(struct btl_peers *peers);
static inline bool btl_peers_busy(const struct btl_peers *peers)
{
    return !list_empty(&peers->connecting) || !list_empty(&peers->failing);
}
/* Ends all operations with an error; every peer is idle and is not located, broken ones included;
 * those that nobody added are gone. */
void btl_peers_restart(struct btl_peers *peers);

#endif
