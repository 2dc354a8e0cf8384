/* Matching of messages and receives. Both queues are first in, first out: a message goes to the
 * oldest posted receive that wants it, a receive takes the oldest message that fits.
 *
 * Pure bookkeeping without a lock: the owner's lock guards it, and matched is called with it held.
 */
#ifndef RML_MATCH_H
#define RML_MATCH_H

#include <rml/message/message.h>

struct rml_posted {
    struct list link;
    orte_process_name_t peer; /* either field may be a wildcard */
    orte_rml_tag_t tag;
    int flags; /* PEEK and PERSISTENT count here */
};

struct rml_match {
    struct list posted;
    struct list unexpected;
    size_t unexpected_bytes; /* their memory */
    uint64_t arrivals;
    /* Takes the message over (NULL: there was no memory for a copy to peek at). The receive is off
     * the queue, unless it is persistent. */
    void (*matched)(void *arg, struct rml_posted *posted, struct rml_message *message);
    void *arg;
};

void rml_match_init(struct rml_match *match,
                    void (*matched)(void *arg, struct rml_posted *posted,
                                    struct rml_message *message),
                    void *arg);
/* Destroys the messages; receives are the owner's to take off before. */
void rml_match_fini(struct rml_match *match);

/* Takes the message over. Receives that peek get copies. */
void rml_match_arrive(struct rml_match *match, struct rml_message *message);
/* Destroys the message that arrived last, if it waits; only the pointer's value is looked at. */
bool rml_match_drop_newest(struct rml_match *match, const struct rml_message *message);
/* Borrows the receive until it is matched or removed. A persistent one takes all messages that wait
 * for it; a peeking one a copy. */
void rml_match_post(struct rml_match *match, struct rml_posted *posted);
void rml_match_remove(struct rml_posted *posted);
/* A matched message whose receive was cancelled: it is matched anew, else waits where its arrival
 * puts it. */
void rml_match_return(struct rml_match *match, struct rml_message *message);

/* Is this one process among those that mask names? */
bool rml_name_matches(const orte_process_name_t *mask, const orte_process_name_t *name);

#endif
