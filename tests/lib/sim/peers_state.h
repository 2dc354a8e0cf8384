/* What the transport and the processes of the simulated peers share. */
#ifndef TESTS_LIB_SIM_PEERS_STATE_H
#define TESTS_LIB_SIM_PEERS_STATE_H

#include <btl/peers/peer.h>
#include <btl/sessions/session.h>
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

struct sim_peers {
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
};
extern struct sim_peers sim_peers;

static inline uint32_t below(uint32_t limit)
{
    return sim_below(&sim_peers.random, limit);
}

static inline uint64_t now_us(void)
{
    return sim_peers.queue.now;
}

static inline endpoint *endpoint_of(struct btl_peer *peer)
{
    return (endpoint *) (void *) peer;
}

static inline struct node *node_of(const struct btl_peers *peers)
{
    return (struct node *) (void *) peers->module;
}

static inline int number_of(const struct node *node)
{
    return (int) (node - sim_peers.node);
}

static inline void later(uint64_t wait_us, enum occasion what, int who, void *with)
{
    sim_at(&sim_peers.queue, now_us() + wait_us, what, who, with);
}

static inline void tick_soon(struct node *node)
{
    if (!node->ticking) {
        node->ticking = true;
        later(TICK_US, ON_TICK, number_of(node), NULL);
    }
}

/* Something that may not be has happened. */
void sim_peers_violated(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- the transport (peers_transport.c) ---- */

extern const struct btl_peer_hooks sim_peers_hooks, sim_peers_abrupt_hooks;
/* Sends a frame, which may be lost, late or doubled. */
void sim_peers_say(struct node *node, endpoint *ep, enum word word, uint32_t number, int message);
/* A frame has come. */
void sim_peers_take(struct node *node, const struct frame *frame);

#endif
