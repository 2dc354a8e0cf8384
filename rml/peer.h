/* What is known of another process: its link, if there is one, and how far the messages to and from
 * it have come. Peers are never forgotten before the table is. */
#ifndef RML_PEER_H
#define RML_PEER_H

#include <rml/assemble.h>

enum rml_peer_state { RML_PEER_NEW, RML_PEER_UP, RML_PEER_DOWN };

/* How messages to a peer went first: the way stays while it is open, so that none overtakes
 * another. */
enum rml_path { RML_PATH_NONE, RML_PATH_DIRECT, RML_PATH_ROUTED };

struct rml_peer {
    struct rml_peer *next; /* in its bucket */
    orte_process_name_t name;

    /* guarded by the RML's lock */
    enum rml_peer_state state; /* of the link */
    struct oob_link *link;     /* while UP; a reference */
    bool dialing;
    bool resolving;    /* its contact is asked for */
    struct list asked; /* in rml->unresolved, until then */
    bool upstream;     /* a daemon that this process chose to trust */
    char *contact;     /* owned; from set_contact_info, or NULL */
    enum rml_path path;
    struct list pending; /* struct oob_tx, waiting for the link */
    size_t pending_bytes;
    uint64_t epoch;             /* of the link's last incarnation */
    uint64_t sent[OOB_CLASSES]; /* the next message's sequence; written under the send lock too */

    /* the loop's own */
    uint64_t origin_epoch; /* of the messages that came from it */
    bool origin_known;
    struct rml_assembly assembly[OOB_CLASSES];
};

struct rml_peers {
    struct rml_peer **buckets;
    size_t bucket_count; /* a power of two, or 0 */
    size_t count;
};

struct rml_peer *rml_peer_find(const struct rml_peers *peers, const orte_process_name_t *name);
/* Finds or makes; NULL: no memory. */
struct rml_peer *rml_peer_get(struct rml_peers *peers, const orte_process_name_t *name);
/* Calls visit for every peer. */
void rml_peers_each(struct rml_peers *peers, void (*visit)(struct rml_peer *peer, void *arg),
                    void *arg);
void rml_peers_fini(struct rml_peers *peers);

#endif
