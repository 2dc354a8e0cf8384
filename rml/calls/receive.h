/* A receive that was posted, or a handler of one of the runtime's tags: shared by
 * rml/calls/receive.c, rml/calls/recv.c (the calls) and rml/calls/cancel.c. */
#ifndef RML_RECEIVE_H
#define RML_RECEIVE_H

#include <rml/state/state.h>

enum rml_receive_kind {
    RML_RECEIVE_WAIT, /* a blocking call: it takes the message itself */
    RML_RECEIVE_IOV,
    RML_RECEIVE_BUFFER,
    RML_RECEIVE_HANDLER, /* rml_handle */
};

struct rml_receive {
    struct rml_posted posted;
    struct rml_completion failure; /* completes without a message, with status */
    enum rml_receive_kind kind;
    int status;

    /* guarded by the RML's lock */
    unsigned refs; /* the queue's (then: who waits), and one for each message that is due to it */
    struct rml_message *message; /* RML_RECEIVE_WAIT: owned, once done */
    bool done;

    orte_rml_callback_fn_t iov_fn;
    orte_rml_buffer_callback_fn_t buffer_fn;
    rml_handler_fn handler_fn;
    void *arg;
    int count;
    struct iovec parts[]; /* copy of the caller's array */
};

static inline struct rml_receive *rml_receive_of(struct rml_posted *posted)
{
    return container_of(posted, struct rml_receive, posted);
}

/* Can there be messages from such a peer, with such a tag? */
bool rml_receive_valid(const orte_process_name_t *peer, orte_rml_tag_t tag);
/* Copies the parts; the caller adds what is called at its end. NULL: no memory. */
struct rml_receive *rml_receive_create(enum rml_receive_kind kind, const orte_process_name_t *peer,
                                       orte_rml_tag_t tag, int flags, const struct iovec *parts,
                                       int count);
/* Queues it, or completes it at once: with a message that is there, or with an error where none can
 * come. */
void rml_receive_post(struct rml *rml, struct rml_receive *receive);
/* Takes it off its queue and completes it with an error. */
void rml_receive_fail_locked(struct rml *rml, struct rml_receive *receive, int status);
void rml_receive_unref_locked(struct rml_receive *receive);
/* The receive that a due completion belongs to; NULL: it is a send's. *message: what it brings. */
struct rml_receive *rml_receive_due(struct rml_completion *completion,
                                    struct rml_message **message);

/* Takes one back, with what is due to it (rml/calls/cancel.c). */
void rml_cancel_locked(struct rml *rml, const struct rml_receive *receive);

#endif
