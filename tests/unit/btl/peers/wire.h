/* A transport that only notes what it is told, its module and its host, for tests of peers. */
#ifndef TESTS_UNIT_BTL_PEERS_WIRE_H
#define TESTS_UNIT_BTL_PEERS_WIRE_H

#include <btl/peers/peer.h>

struct mca_btl_base_endpoint_t {
    struct btl_peer peer; /* first */
    bool flushed, answered;
};

struct wire {
    char did[200]; /* what the transport was told, a word each */
    bool card_here, card_good;
    keel_card_fn done; /* of a question that is open */
    void *done_arg;
    int reports, returns;
    opal_proc_t *reported;
    uint64_t now_us;
    bool retries, elsewhere;
    int polls, ended, asked;
    struct btl_peer *dead; /* its process has ended, as the host is to hear */
};
extern struct wire wire;

extern struct btl_peers peers;
extern mca_btl_base_module_t module;
extern opal_proc_t procs[3]; /* the first is this process */
extern const struct btl_peer_hooks hooks;

/* Begins with the peer procs[1], which was added, or came by itself. */
struct btl_peer *start(bool added);
void stop(void);
/* Brings an idle peer to a state. */
void lead_to(struct btl_peer *peer, enum btl_peer_state state);
/* These words were noted since the last call. */
void expect(const char *words);
/* Answers the question for a card that is open. */
void host_answer(void);
struct mca_btl_base_endpoint_t *endpoint_of(struct btl_peer *peer);

#endif
