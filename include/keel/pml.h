/* Messages by source and tag, of any size, between the members of a context. keel_pml(7) is the
 * overview, with examples.
 *
 * Order: the messages of one member to another in one context are matched in the order in which
 * they were sent; a message goes to the oldest receive that wants it.
 * Threads: one thread at a time, while no other is inside a call of Keel's that waits; with
 * thread_multiple (keel_threads(7)) any thread at any time. A request, and a message that a probe
 * has taken, belongs to one thread at a time; no other thread uses a context that is being freed.
 * Progress: messages move inside these functions, keel_progress, and the calls of Keel's that
 * block. send, recv, probe, mprobe, wait, waitany, waitall, waitsome and context_free wait without
 * a time limit: they poll for pml_spin_us, then they sleep between polls. If the peer ends, they
 * return an error.
 *
 * Errors: 0 is success. A call that is refused changes nothing. Beside the errors that are listed
 * with a function, each may return
 *  OPAL_ERR_BAD_PARAM      a pointer that may not be NULL is NULL, the rank is not in the context,
 *                          or the tag or mode is invalid
 *  OPAL_ERR_RESOURCE_BUSY  a function that waits was called from a callback of the data plane, or
 *                          inside the host's progress function
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

/* For receives and probes: any member of the context, this process included. */
#define KEEL_PML_ANY_SOURCE (-1)
/* For receives and probes: any tag from 0 on. A receive with a tag below 0 has to name it. */
#define KEEL_PML_ANY_TAG INT32_MIN
/* The least tag; the greatest is INT32_MAX. Programs use those from 0 on. Those below 0 are for
 * libraries that share a context with a program, as collective operations do: a receive of the
 * program's with ANY_TAG does not take their messages. */
#define KEEL_PML_TAG_MIN (INT32_MIN + 16)
/* The greatest number of a context. */
#define KEEL_PML_CONTEXT_MAX 65535

typedef enum {
    KEEL_PML_STANDARD,    /* ends when the buffer may be used again */
    KEEL_PML_SYNCHRONOUS, /* ends when a receive was matched, and the buffer may be used again */
    KEEL_PML_READY,       /* as standard; the caller says that the receive is posted */
    KEEL_PML_BUFFERED     /* the data is copied: ends at once */
} keel_pml_mode_t;

struct keel_pml_status {
    int32_t source, tag; /* of what was received; of a send its destination and tag */
    size_t bytes;        /* in the buffer; of a probe or a send: of the message */
    bool truncated;      /* the message had more bytes than the buffer */
    /* How it ended:
     *  OPAL_SUCCESS
     *  OPAL_ERR_UNPACK_INADEQUATE_SPACE  a receive: truncated
     *  OPAL_ERR_INTERUPTED               a receive: cancelled
     *  OPAL_ERR_NOT_FOUND                a send: the receiver has freed the context, or has given
     *                                    the message up
     *  OPAL_ERR_OUT_OF_RESOURCE          a receive: no memory
     *  OPAL_ERR_UNREACH, others          the peer or the way to it failed */
    int error;
};

/* ---- the process ---- */

/* keel_init opens messages and keel_finalize closes them. A process that opens the data plane by
 * keel_host_open opens and closes messages by the two functions below. */

/* Opens messages over the data plane of a host that has called keel_host_open with the same
 * operations. Of the operations, me and progress are used.
 * OPAL_EXISTS: open already, by this or by keel_init; OPAL_ERR_NOT_AVAILABLE: no module carries
 * messages; OPAL_ERR_OUT_OF_RESOURCE: no memory. */
int keel_pml_open_on(const struct keel_host_ops *ops, void *host) KEEL_EXPORT;
/* Closes what keel_pml_open_on opened, before keel_host_close. OPAL_ERR_RESOURCE_BUSY: a context is
 * open, or a callback calls this; OPAL_ERROR: nothing was opened by keel_pml_open_on. */
int keel_pml_close(void) KEEL_EXPORT;
/* Moves messages and runs the callbacks of requests that are due, without waiting. Returns how many
 * requests ended; 0 in a callback of the data plane, and inside the host's progress function. */
int keel_pml_progress(void) KEEL_EXPORT;

/* ---- contexts ---- */

/* Opens a context: a number (0 to KEEL_PML_CONTEXT_MAX) and its members in the order of their
 * ranks, the same in all of them; my_rank is this process's. The array is copied, the processes are
 * borrowed until keel_pml_close or keel_finalize. members NULL: the processes of the job, all size
 * of them; only after keel_init. Nothing is sent. A message that comes before its context is opened
 * waits. OPAL_EXISTS: the number is in use; OPAL_ERR_OUT_OF_RESOURCE: no memory, or so many
 * messages came for it before that some had to be dropped; OPAL_ERROR: messages are not open. */
int keel_pml_context_open(uint32_t id, opal_proc_t *const *members, size_t size, int32_t my_rank,
                          struct keel_pml_context **context) KEEL_EXPORT;
/* Drops messages that nobody received, waits until buffered sends and freed requests have ended, and
 * sets *context to NULL. Its number may be used again when all members have freed it and no
 * message of it is on its way. So a message that comes after its receiver has freed the context is
 * one of the next context of that number: a send that its receiver has to answer waits until that
 * is opened or the receiver ends.
 * OPAL_ERR_RESOURCE_BUSY also: a request of it, or a message taken by a probe, is still there. */
int keel_pml_context_free(struct keel_pml_context **context) KEEL_EXPORT;

/* ---- messages ----
 * The convertor is copied. The memory and the iovec array that it names belong to the library until
 * the request ends (buffered: until the call returns). All bytes count, whatever the position. data
 * NULL: no bytes. */

/* Starts a send to a rank. *request is the caller's until wait, test or request_free takes it.
 * OPAL_ERR_UNREACH: the process is gone, or cannot be reached; OPAL_ERR_OUT_OF_RESOURCE: no memory,
 * or buffered sends hold too much (pml_buffered_size). Then nothing was sent. */
int keel_pml_isend(struct keel_pml_context *context, const opal_convertor_t *data, int32_t dest,
                   int32_t tag, keel_pml_mode_t mode,
                   struct keel_pml_request **request) KEEL_EXPORT;
/* The same, and waits; returns the error of either. */
int keel_pml_send(struct keel_pml_context *context, const opal_convertor_t *data, int32_t dest,
                  int32_t tag, keel_pml_mode_t mode) KEEL_EXPORT;
/* Posts a receive of a rank's message, or with KEEL_PML_ANY_SOURCE of any member's. A message that
 * waits is taken at once. *request as of isend.
 * OPAL_ERR_UNREACH: the rank's process is gone, or cannot be reached, and no message of it waits;
 * OPAL_ERR_OUT_OF_RESOURCE: no memory. Then there is no request. */
int keel_pml_irecv(struct keel_pml_context *context, const opal_convertor_t *data, int32_t source,
                   int32_t tag, struct keel_pml_request **request) KEEL_EXPORT;
/* The same, and waits; returns the error of either. status may be NULL. */
int keel_pml_recv(struct keel_pml_context *context, const opal_convertor_t *data, int32_t source,
                  int32_t tag, struct keel_pml_status *status) KEEL_EXPORT;

/* Tells, in *there, whether a receive would find a message now, and in *status which; the message
 * stays. Drives one round of progress when there is none. status may be NULL. OPAL_ERR_UNREACH: the
 * source is gone, and no message of it waits. */
int keel_pml_iprobe(struct keel_pml_context *context, int32_t source, int32_t tag, bool *there,
                    struct keel_pml_status *status) KEEL_EXPORT;
/* The same, and waits for a message. */
int keel_pml_probe(struct keel_pml_context *context, int32_t source, int32_t tag,
                   struct keel_pml_status *status) KEEL_EXPORT;
/* As iprobe and probe; but the message is taken, so that only keel_pml_imrecv receives it. improbe
 * sets *message to NULL where there is none. */
int keel_pml_improbe(struct keel_pml_context *context, int32_t source, int32_t tag,
                     struct keel_pml_message **message, struct keel_pml_status *status) KEEL_EXPORT;
int keel_pml_mprobe(struct keel_pml_context *context, int32_t source, int32_t tag,
                    struct keel_pml_message **message, struct keel_pml_status *status) KEEL_EXPORT;
/* Starts to receive a message that was taken, and sets *message to NULL. *request as of isend.
 * OPAL_ERR_OUT_OF_RESOURCE: no memory; the message is still taken. */
int keel_pml_imrecv(struct keel_pml_message **message, const opal_convertor_t *data,
                    struct keel_pml_request **request) KEEL_EXPORT;

/* ---- requests ---- */

/* Make persistent requests, with the arguments of isend and irecv: keel_pml_start starts them,
 * again and again, and wait and test do not free them. OPAL_ERR_OUT_OF_RESOURCE: no memory;
 * OPAL_ERR_UNREACH, of send_init: the process is gone, or cannot be reached. Then there is no
 * request. */
int keel_pml_send_init(struct keel_pml_context *context, const opal_convertor_t *data, int32_t dest,
                       int32_t tag, keel_pml_mode_t mode,
                       struct keel_pml_request **request) KEEL_EXPORT;
int keel_pml_recv_init(struct keel_pml_context *context, const opal_convertor_t *data,
                       int32_t source, int32_t tag, struct keel_pml_request **request) KEEL_EXPORT;
/* Errors as of isend and irecv. OPAL_ERR_RESOURCE_BUSY also: it is under way, or its end was not
 * yet taken by wait or test; OPAL_ERR_BAD_PARAM also: the request is not persistent. */
int keel_pml_start(struct keel_pml_request *request) KEEL_EXPORT;

/* A request has ended; status is valid during the call. It is called once for each start, from
 * keel_progress, keel_pml_progress or a function that tests or waits, before these show that the
 * request has ended. With several threads: on any of them that calls these, one callback at a time,
 * but never on a progress thread. It may start, free and wait for requests. */
typedef void (*keel_pml_done_fn)(struct keel_pml_request *request,
                                 const struct keel_pml_status *status, void *arg);
/* Has done called when the request ends, or from the next progress if it has ended; done NULL takes
 * that back. The request is waited for, tested or freed all the same. */
int keel_pml_callback(struct keel_pml_request *request, keel_pml_done_fn done,
                      void *arg) KEEL_EXPORT;

/* Cancels a receive that no message has matched: it ends with OPAL_ERR_INTERUPTED, and its end is
 * taken as any other. OPAL_ERR_NOT_FOUND: it was matched, so it ends by itself, or it is not under
 * way; OPAL_ERR_NOT_SUPPORTED: it is a send. */
int keel_pml_cancel(struct keel_pml_request *request) KEEL_EXPORT;
/* Frees the request, whose callback does not come any more, and sets *request to NULL. What is
 * under way goes on to its end, and needs its memory until then; a receive that no message has
 * matched is cancelled. *request NULL: nothing happens. */
int keel_pml_request_free(struct keel_pml_request **request) KEEL_EXPORT;

/* All of these take the ends of requests: the status is copied, and the request is freed and set to
 * NULL, or if it is persistent may be started again. status and statuses may be NULL.
 * Requests that are NULL or not started are passed over. wait and test of such a request take at
 * once an empty status: no bytes, KEEL_PML_ANY_SOURCE, KEEL_PML_ANY_TAG, OPAL_SUCCESS.
 * The result is the error in the status of what was taken. The tests do not wait: they drive one
 * round of progress if need be. *done is true where the wait would return now. */
int keel_pml_test(struct keel_pml_request **request, bool *done,
                  struct keel_pml_status *status) KEEL_EXPORT;
int keel_pml_wait(struct keel_pml_request **request, struct keel_pml_status *status) KEEL_EXPORT;
/* One of them, whose place is *index; it is count if there was none to wait for. */
int keel_pml_testany(size_t count, struct keel_pml_request **requests, size_t *index, bool *done,
                     struct keel_pml_status *status) KEEL_EXPORT;
int keel_pml_waitany(size_t count, struct keel_pml_request **requests, size_t *index,
                     struct keel_pml_status *status) KEEL_EXPORT;
/* All of them, or none; the result is the first error. */
int keel_pml_testall(size_t count, struct keel_pml_request **requests, bool *done,
                     struct keel_pml_status *statuses) KEEL_EXPORT;
int keel_pml_waitall(size_t count, struct keel_pml_request **requests,
                     struct keel_pml_status *statuses) KEEL_EXPORT;
/* Those that have ended: *ended is their number, indices and statuses have the place and the status
 * of each. waitsome waits for at least one; *ended is 0 if there was none to wait for, and of
 * testsome also if none has ended. The result is the first error. */
int keel_pml_testsome(size_t count, struct keel_pml_request **requests, size_t *ended,
                      size_t *indices, struct keel_pml_status *statuses) KEEL_EXPORT;
int keel_pml_waitsome(size_t count, struct keel_pml_request **requests, size_t *ended,
                      size_t *indices, struct keel_pml_status *statuses) KEEL_EXPORT;

/* ---- counters ---- */

/* name, unit ("messages", "bytes") and help, one sentence, stay valid. */
struct keel_pml_stat {
    const char *name, *unit, *help;
    uint64_t value;
};
/* What a context has counted since it was opened, of the messages with one rank; KEEL_PML_ANY_SOURCE:
 * with all. Fills at most count of stats, and returns how many there are; 0: there is no such rank.
 * Does not block. */
size_t keel_pml_stats(struct keel_pml_context *context, int32_t rank, struct keel_pml_stat *stats,
                      size_t count) KEEL_EXPORT;

END_C_DECLS
#endif
