/* What is known of another process: its link, if there is one, and the session with it, if there
 * is one. Peers are never forgotten before the table is. */
#ifndef RML_PEER_H
#define RML_PEER_H

#include <base/data/hash.h>
#include <rml/delivery/credit.h>
#include <rml/delivery/session.h>
#include <rml/message/assemble.h>
#include <rml/state/circle.h>

enum rml_peer_state { RML_PEER_NEW, RML_PEER_UP, RML_PEER_DOWN };

/* How messages to a peer went first: the way stays while it is open, so that none overtakes
 * another (which would only be sent again). */
enum rml_path { RML_PATH_NONE, RML_PATH_DIRECT, RML_PATH_ROUTED };

struct rml_peer {
    struct hash_link in_table;
    orte_process_name_t name;

    /* guarded by the RML's lock */
    enum rml_peer_state state; /* of the link */
    struct oob_link *link;     /* while UP; a reference */
    uint32_t link_number;      /* of the links that there were */
    bool dialing;
    bool resolving;    /* its contact is asked for */
    struct list asked; /* in rml->unresolved, until then */
    bool upstream;     /* a daemon that this process chose to trust */
    char *contact;     /* owned; from set_contact_info, or NULL */
    char *home;        /* owned; where this process made the link that it has or had, or NULL */
    enum oob_key home_key;
    bool silent;              /* what rml_tell_silence said last of the link */
    struct rml_break *broken; /* the link broke and may come again; NULL: it did not */
    enum rml_path path;
    struct list pending[OOB_CLASSES]; /* struct oob_tx, waiting for the link or for its credit */
    size_t pending_bytes;
    struct rml_credit credit[OOB_CLASSES]; /* of the link: what it may carry to the peer */
    struct rml_grant grant[OOB_CLASSES];   /* and from it */
    struct rml_session *session;           /* owned; NULL: there is none yet */
    const struct rml_peer *via;            /* the next hop of the session's frames, ... */
    uint32_t via_number;                   /* ... and the number of its link */
    struct list timed;                     /* in rml->timed, while the session waits for a time */
    struct list poked;                     /* in rml->poked, until it is looked at */
    bool gone;                             /* it ended, as far as is known */
    bool ended;                            /* its process did: a link that ends is down */
    bool parting;                          /* it leaves together with all of its job */
    struct rml_circle circle;              /* in its daemon: who had to do with it */
    struct list full;                      /* in rml->full, while what it sent fills its queue */
    uint64_t full_since;                   /* or when that was told last */

    /* the loop's own */
    struct rml_assembly assembly[OOB_CLASSES];
};

struct rml_peers {
    struct hash_table table;
};

struct rml_peer *rml_peer_find(const struct rml_peers *peers, const orte_process_name_t *name);
/* Finds or makes; NULL: no memory. */
struct rml_peer *rml_peer_get(struct rml_peers *peers, const orte_process_name_t *name);
/* Calls visit for every peer. */
void rml_peers_each(struct rml_peers *peers, void (*visit)(struct rml_peer *peer, void *arg),
                    void *arg);
void rml_peers_fini(struct rml_peers *peers);

#endif
