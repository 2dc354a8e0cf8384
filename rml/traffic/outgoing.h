/* A message that is being sent: its frames point into the sender's memory or into a copy, and stay
 * until the destination has acknowledged them (rml/delivery). It completes when its memory may be
 * used again: at once when the bytes are the RML's own, else, or when the sender asked for it, once
 * it was delivered. */
#ifndef RML_OUTGOING_H
#define RML_OUTGOING_H

#include <rml/delivery/sender.h>
#include <rml/interface/completion.h>
#include <rml/message/rml_wire.h>

struct rml_peer;

/* Messages up to here are copied instead of keeping their sender waiting. */
#define RML_COPY_MAX (64u * 1024u)

struct rml_send_frame {
    struct oob_tx tx;
    struct rml_out out;
    struct rml_send *send;
    uint32_t offset;
    bool left; /* a link took it once */
};

struct rml_send {
    struct rml_completion completion;
    struct rml *rml;
    struct rml_peer *dest; /* borrowed; NULL: this process itself */
    orte_process_name_t peer;
    orte_rml_tag_t tag;
    enum oob_class class;
    enum rml_format format;
    size_t size;
    bool owned;     /* the bytes are the RML's own */
    bool delivered; /* completes when it was delivered */

    /* guarded by the RML's lock */
    unsigned refs;  /* the frames', and the completion's */
    bool accepted;  /* owned, and there was room for it */
    size_t unacked; /* frames */
    size_t unsent;  /* frames that no link took yet */
    size_t lent;    /* frames that a link has */
    int status;     /* the first error */
    int result;     /* status, when it completed */
    bool told;      /* it completed */
    bool released;  /* nothing of its frames is needed any more */
    bool done;      /* for a blocking call */

    /* How it completes: a blocking call waits for done, else the one callback that is set. */
    bool blocking;
    orte_rml_callback_fn_t iov_fn;
    orte_rml_buffer_callback_fn_t buffer_fn;
    void (*core_fn)(void *arg, int status);
    void *arg;
    struct iovec *parts; /* owned copy of the caller's array */
    int count;
    opal_buffer_t *buffer; /* a reference */

    size_t frame_count;
    struct rml_send_frame frames[];
};

/* What is sent, and how. */
struct rml_request {
    const orte_process_name_t *peer;
    orte_rml_tag_t tag;
    int flags;
    enum oob_class class;
    enum rml_format format;
    const struct iovec *parts;
    size_t count;
    bool owned; /* the bytes will stay: they need no copy */
};

/* With one reference, the completion's; size is that of the parts. */
int rml_send_create(struct rml_send **send, struct rml *rml, const struct rml_request *request,
                    size_t size) KEEL_MUST_CHECK;
void rml_send_unref_locked(struct rml_send *send);
/* Queues its frames with the session of its destination, which is set. */
void rml_send_queue_locked(struct rml *rml, struct rml_send *send, uint64_t now);
/* Something about it changed: it may complete, and end with that. */
void rml_send_settle_locked(struct rml *rml, struct rml_send *send);
/* What a blocking call returns, once it completed. */
int rml_send_result(const struct rml_send *send);

/* The frame that a session hands out, ready for a link. */
struct oob_tx *rml_send_tx_locked(struct rml *rml, struct rml_out *out, struct rml_stamp *stamp);
/* Frames that a session gave back: acknowledged (ORTE_SUCCESS) or failed. */
void rml_send_ended_locked(struct rml *rml, struct list *outs, int status);

#endif
