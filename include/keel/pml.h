/* Messages by source and tag, of any size, between the members of a context. keel_pml(7) is the
 * overview, with examples.
 *
 * Order: the messages of one member to another in one context are matched in the order in which
 * they were sent; a message goes to the oldest receive that wants it.
 * Threads: one thread at a time, while no other is inside a call of Keel's that waits. Where the
 * data plane has threads (keel_threads(7)) there are no messages: keel_pml_context_open returns
 * OPAL_ERROR.
 * Progress: messages move inside these functions and keel_progress. send, recv, probe, mprobe,
 * wait, waitany, waitall, waitsome and context_free wait without a time limit; if the peer ends,
 * they return an error. Called from a callback of the data plane, or while the host's progress
 * function runs, they return OPAL_ERR_RESOURCE_BUSY and change nothing. Errors: 0 is success.
 * OPAL_ERR_BAD_PARAM: a pointer that may not be NULL is NULL, the rank is not in the context, or
 * the tag or mode is invalid. Nothing has changed then.
 */
#ifndef KEEL_PML_H
#define KEEL_PML_H

#include <keel/convertor.h>
#include <keel/host.h>
#include <keel/types.h>

BEGIN_C_DECLS

struct keel_pml_context; /* a group of processes, whose messages are apart from all others' */
struct keel_pml_request; /* a send or a receive */
struct keel_pml_message; /* one that was taken by a probe and not yet received */

#define KEEL_PML_ANY_SOURCE (-1)
/* The tags from 0 on. Those below are for libraries, whose messages a program's ANY does not take.
 */
#define KEEL_PML_ANY_TAG INT32_MIN
#define KEEL_PML_TAG_MIN (INT32_MIN + 16)
#define KEEL_PML_CONTEXT_MAX 65535

typedef enum {
    KEEL_PML_STANDARD,    /* ends when the buffer may be used again */
    KEEL_PML_SYNCHRONOUS, /* ends when a receive was matched, and the buffer may be used again */
    KEEL_PML_READY,       /* as standard; the caller guarantees that the receive is posted */
    KEEL_PML_BUFFERED     /* the data is copied: ends at once */
} keel_pml_mode_t;

struct keel_pml_status {
    int32_t source, tag; /* of what was received; of a send its destination and tag */
    size_t bytes;        /* in the buffer; of a probe: of the message */
    bool truncated;      /* the message had more bytes than the buffer */
    int error; /* OPAL_SUCCESS; OPAL_ERR_UNPACK_INADEQUATE_SPACE: truncated; OPAL_ERR_INTERUPTED:
                  cancelled; OPAL_ERR_UNREACH and others: the peer or the way to it failed */
};

/* ---- the process ---- */

/* Opens messages over the data plane of a host that has called keel_host_open with the same
 * operations, of which me and progress are used, and without threads of its own. A context's
 * members are named when it is opened.
 * OPAL_EXISTS: open already; OPAL_ERR_NOT_AVAILABLE: no transport; OPAL_ERR_OUT_OF_RESOURCE. */
int keel_pml_open_on(const struct keel_host_ops *ops, void *host) KEEL_EXPORT;
/* OPAL_ERR_RESOURCE_BUSY: a context is open, and nothing happened. OPAL_ERROR: not open. */
int keel_pml_close(void) KEEL_EXPORT;
/* Moves messages and runs the callbacks that are due, without waiting. Returns how many requests
 * ended; 0 inside of the host's progress function. */
int keel_pml_progress(void) KEEL_EXPORT;

/* ---- contexts ---- */

/* Opens a context: a number (0 to KEEL_PML_CONTEXT_MAX) and its members in the order of their
 * ranks, the same in all of them; my_rank is this process's. The array is copied, the processes are
 * borrowed until keel_pml_close or keel_finalize. members NULL: the processes of the job, all size
 * of them. Nothing is sent. A message that comes before its context is opened waits. OPAL_EXISTS:
 * the number is in use; OPAL_ERR_OUT_OF_RESOURCE: no memory, or so many messages came for it before
 * that some had to be dropped; OPAL_ERROR: not open. */
int keel_pml_context_open(uint32_t id, opal_proc_t *const *members, size_t size, int32_t my_rank,
                          struct keel_pml_context **context) KEEL_EXPORT;
/* Waits until buffered sends and freed requests have ended, drops messages that nobody received,
 * and sets *context to NULL. Its number may be used again when all members have freed it and no
 * message of it is on its way.
 * OPAL_ERR_RESOURCE_BUSY: a request of it, or a message taken by a probe, is still there. */
int keel_pml_context_free(struct keel_pml_context **context) KEEL_EXPORT;

/* ---- messages ----
 * The convertor is copied. The memory and the iovec array that it names belong to the library until
 * the request ends (buffered: until the call returns). All bytes count, whatever the position. data
 * NULL: no bytes. */

/* Starts a send to a rank. *request is the caller's until wait, test or free takes it.
 * OPAL_ERR_UNREACH: the process is gone, or cannot be reached; OPAL_ERR_OUT_OF_RESOURCE: no memory,
 * or buffered sends hold too much. Then nothing was sent. */
int keel_pml_isend(struct keel_pml_context *context, const opal_convertor_t *data, int32_t dest,
                   int32_t tag, keel_pml_mode_t mode,
                   struct keel_pml_request **request) KEEL_EXPORT;
/* The same, and waits. */
int keel_pml_send(struct keel_pml_context *context, const opal_convertor_t *data, int32_t dest,
                  int32_t tag, keel_pml_mode_t mode) KEEL_EXPORT;
/* Posts a receive of a rank's message, or of any. OPAL_ERR_UNREACH: the process is gone, and
 * nothing of it waits. */
int keel_pml_irecv(struct keel_pml_context *context, const opal_convertor_t *data, int32_t source,
                   int32_t tag, struct keel_pml_request **request) KEEL_EXPORT;
/* The same, and waits; returns the status's error. status may be NULL. */
int keel_pml_recv(struct keel_pml_context *context, const opal_convertor_t *data, int32_t source,
                  int32_t tag, struct keel_pml_status *status) KEEL_EXPORT;

/* Tells, in *there, whether a receive would find a message now, and which; it stays. Drives
 * progress when there is none. status may be NULL. OPAL_ERR_UNREACH: the source is gone, and
 * nothing of it waits. */
int keel_pml_iprobe(struct keel_pml_context *context, int32_t source, int32_t tag, bool *there,
                    struct keel_pml_status *status) KEEL_EXPORT;
/* Waits for one. */
int keel_pml_probe(struct keel_pml_context *context, int32_t source, int32_t tag,
                   struct keel_pml_status *status) KEEL_EXPORT;
/* The same two; the message is taken from the others, for keel_pml_imrecv alone. *message NULL:
 * none. */
int keel_pml_improbe(struct keel_pml_context *context, int32_t source, int32_t tag,
                     struct keel_pml_message **message, struct keel_pml_status *status) KEEL_EXPORT;
int keel_pml_mprobe(struct keel_pml_context *context, int32_t source, int32_t tag,
                    struct keel_pml_message **message, struct keel_pml_status *status) KEEL_EXPORT;
/* Receives it and sets *message to NULL. */
int keel_pml_imrecv(struct keel_pml_message **message, const opal_convertor_t *data,
                    struct keel_pml_request **request) KEEL_EXPORT;

/* ---- requests ---- */

/* Make requests that keel_pml_start starts, again and again; wait and test do not free them. */
int keel_pml_send_init(struct keel_pml_context *context, const opal_convertor_t *data, int32_t dest,
                       int32_t tag, keel_pml_mode_t mode,
                       struct keel_pml_request **request) KEEL_EXPORT;
int keel_pml_recv_init(struct keel_pml_context *context, const opal_convertor_t *data,
                       int32_t source, int32_t tag, struct keel_pml_request **request) KEEL_EXPORT;
/* Errors as of isend and irecv; OPAL_ERR_RESOURCE_BUSY: it is under way, or its end was not yet
 * taken by wait or test; OPAL_ERR_BAD_PARAM: it is not such a request. */
int keel_pml_start(struct keel_pml_request *request) KEEL_EXPORT;

/* A request has ended; status is valid during the call. It comes once for each start, from
 * keel_pml_progress or a call that tests or waits, before these show that it has ended. It may
 * start, free and wait for requests. */
typedef void (*keel_pml_done_fn)(struct keel_pml_request *request,
                                 const struct keel_pml_status *status, void *arg);
/* Asks for that, of a request that has ended as well; done NULL: for it no more. The request is
 * waited for, tested or freed all the same. */
int keel_pml_callback(struct keel_pml_request *request, keel_pml_done_fn done,
                      void *arg) KEEL_EXPORT;

/* Cancels a receive that no message has matched: it ends with OPAL_ERR_INTERUPTED.
 * OPAL_ERR_NOT_FOUND: too late, it ends by itself; OPAL_ERR_NOT_SUPPORTED: a send. */
int keel_pml_cancel(struct keel_pml_request *request) KEEL_EXPORT;
/* Gives the request up, without its callback, and sets *request to NULL. What is under way goes on
 * to its end; a receive that no message has matched is cancelled. *request NULL: nothing. */
int keel_pml_request_free(struct keel_pml_request **request) KEEL_EXPORT;

/* All of these take the ends of requests: the status is copied (it may be NULL), and the request is
 * freed and set to NULL, or may be started again if it was made for that. Requests that are NULL or
 * not started are passed over; one alone has ended, with an empty status. The result is the error
 * of what they took. test: *done tells whether there was anything to take, after one round of
 * progress if need be. */
int keel_pml_test(struct keel_pml_request **request, bool *done,
                  struct keel_pml_status *status) KEEL_EXPORT;
int keel_pml_wait(struct keel_pml_request **request, struct keel_pml_status *status) KEEL_EXPORT;
/* One of them: *index; count if there was none to wait for. */
int keel_pml_testany(size_t count, struct keel_pml_request **requests, size_t *index, bool *done,
                     struct keel_pml_status *status) KEEL_EXPORT;
int keel_pml_waitany(size_t count, struct keel_pml_request **requests, size_t *index,
                     struct keel_pml_status *status) KEEL_EXPORT;
/* All of them, or none yet; the result is the first error. */
int keel_pml_testall(size_t count, struct keel_pml_request **requests, bool *done,
                     struct keel_pml_status *statuses) KEEL_EXPORT;
int keel_pml_waitall(size_t count, struct keel_pml_request **requests,
                     struct keel_pml_status *statuses) KEEL_EXPORT;
/* Those that have ended, at least one: *ended, and for each its index and its status in order. 0:
 * there was none to wait for, or (testsome) none has ended. */
int keel_pml_testsome(size_t count, struct keel_pml_request **requests, size_t *ended,
                      size_t *indices, struct keel_pml_status *statuses) KEEL_EXPORT;
int keel_pml_waitsome(size_t count, struct keel_pml_request **requests, size_t *ended,
                      size_t *indices, struct keel_pml_status *statuses) KEEL_EXPORT;

END_C_DECLS
#endif
