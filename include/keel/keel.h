/* Keel: from a started process to its rails.
 *
 * keel_init finds out who this process is, wires it up, and hands it the data plane. Then the
 * application uses orte_rml (keel/rml.h) for control messages, and for data the rails' BTL modules
 * (keel/btl.h) or messages by source and tag (keel/pml.h, which this header does not include).
 * Every call but keel_abort is made by one thread at a time unless its comment says otherwise;
 * keel_threads(7) tells what changes with thread_multiple. */
#ifndef KEEL_KEEL_H
#define KEEL_KEEL_H

#include <keel/btl.h>
#include <keel/btl_ext.h>
#include <keel/host.h>
#include <keel/rml.h>
#include <keel/types.h>

BEGIN_C_DECLS

struct keel_options {
    size_t size;      /* sizeof(struct keel_options); a library with another one refuses it */
    bool enable_comm; /* false: the RML stays as before enable_comm; no modex, no rails, no PML */
    bool data_plane;  /* false: the RML only, neither BTL nor PML is opened */
    /* Threads, see keel_threads(7). The parameters enable_thread_multiple and
     * enable_progress_threads may ask for them, too. */
    bool thread_multiple; /* any thread may call Keel, the data plane included, at any time */
    bool progress_thread; /* a thread drives the data plane while the program does not call Keel;
                             callbacks come on it, too; implies thread_multiple */
    /* Not NULL: a tool, which joins the job of the keelrun with this contact string ("file:PATH":
     * the first line of a file; see keelrun --report-uri). It has no data plane. */
    const char *contact;
};
/* In the order of the members, which C++ before 2020 asks for. */
#define KEEL_OPTIONS_DEFAULT                                        \
    {                                                               \
        sizeof(struct keel_options), true, true, false, false, NULL \
    }

/* Joins the job: under keelrun or a PMIx server as the rank it started, else alone as a job of one.
 * Blocks until all peers' cards are to be had, for at most a parameter's time. Then rails lead to
 * the peers, and messages by source and tag (keel/pml.h) are open. options NULL means the defaults.
 * Returns ORTE_SUCCESS or an error, with the reason logged and everything undone. A second call
 * without keel_finalize between: ORTE_EXISTS. */
int keel_init(const struct keel_options *options) KEEL_EXPORT;
/* Leaves the job: blocks until all ranks have called it (for at most a parameter's time), then
 * frees everything, also when it returns an error: a rank was lost, or the time is over. The
 * contexts of keel/pml.h that are still open go with the rest, and their requests without a
 * callback. Only ORTE_ERR_NOT_SUPPORTED (inside a callback), ORTE_ERR_RESOURCE_BUSY (another
 * thread, or this one up the stack, is in it, in keel_fence or in keel_ft_event) and ORTE_ERROR (no
 * keel_init) mean that nothing happened. No other call is allowed after it but keel_init, which a
 * rank of a launcher's is refused (ORTE_ERR_PERM): it has left. */
int keel_finalize(void) KEEL_EXPORT;

/* My name; the pointer is valid until keel_finalize. NULL before keel_init; invalid in a tool that
 * has none yet. Any thread. */
const orte_process_name_t *keel_my_name(void) KEEL_EXPORT;
/* A tool: the job that it has joined, whose ranks have the names {*job, 0} to {*job, *ranks - 1};
 * asks keelrun, so may block and run callbacks. ORTE_ERR_NOT_SUPPORTED: this is no tool. */
int keel_tool_job(orte_jobid_t *job, uint32_t *ranks) KEEL_EXPORT;
/* The number of ranks of my job; 0 before keel_init. Any thread. */
uint32_t keel_job_size(void) KEEL_EXPORT;
/* Drives control and data plane, messages by source and tag included, and runs the callbacks that
 * are due, without waiting; returns the number of events. Inside a callback of the RML or of a
 * module it runs no other callback of the plane that called it. With thread_multiple any thread; 0
 * while another one is just in the data plane. */
int keel_progress(void) KEEL_EXPORT;
/* Blocks until every rank of the job has called it, without a time limit; drives progress and runs
 * callbacks meanwhile, but for those of the requests of keel/pml.h. ORTE_ERR_COMM_FAILURE when a
 * rank is lost, from then on in every call; ORTE_ERR_COMM_DISABLED without communication;
 * ORTE_ERR_RESOURCE_BUSY: another thread, or this one up the stack, is in it, in keel_ft_event or
 * in keel_finalize. */
int keel_fence(void) KEEL_EXPORT;
/* A checkpoint or restart (states OPAL_CRS_*) of the data plane and the RML, by all ranks together.
 *
 * CHECKPOINT: what was accepted arrives or completes (as far as that goes within parameters' times:
 * ORTE_ERR_TIMEOUT); from then on the rails' send, put, get and atomics are short, and RML messages
 * wait. CONTINUE, RUNNING, ERROR: both planes go on. RESTART: what is in flight ends with an error,
 * links and rails are made anew, and cards are exchanged; endpoints, descriptors and registered
 * memory stay good.
 *
 * CHECKPOINT and RESTART block until all ranks have come, and run
 * callbacks. ORTE_ERR_NOT_SUPPORTED: inside a callback; ORTE_ERR_RESOURCE_BUSY: another thread is
 * in the data plane, in keel_fence, in keel_finalize or in this; ORTE_ERR_COMM_FAILURE: a rank is
 * lost; ORTE_ERR_COMM_DISABLED; ORTE_ERR_BAD_PARAM. */
int keel_ft_event(int state) KEEL_EXPORT;
/* Ends the whole job with a status (0 becomes 1) and a reason in printf's manner; does not
 * return. Any thread. */
void keel_abort(int status, const char *format, ...) KEEL_EXPORT KEEL_PRINTF(2, 3)
    __attribute__((noreturn));

/* The application's own cards: send before keel_fence, receive after it. send copies the data and
 * does not block; recv may block and run callbacks while the card comes, and *data is malloc'd
 * (NULL for an empty card) and the caller's. Keys: 1 to 63 printable characters, cards: at most 64
 * KiB, else ORTE_ERR_BAD_PARAM. ORTE_EXISTS: I have sent that key; ORTE_ERR_NOT_FOUND: the peer has
 * not. On an error nothing is written. */
int keel_modex_send(const char *key, const void *data, size_t size) KEEL_EXPORT;
int keel_modex_recv(const orte_process_name_t *peer, const char *key, void **data,
                    size_t *size) KEEL_EXPORT;

/* The rails to a peer of my job, best first; *count 0 and NULL when there are none. The first call
 * for a peer chooses them, and where none lead to it the log says why. Owned by Keel, valid until
 * keel_finalize, and up to date until keel_rails_watch tells of a change. */
const struct keel_rail *keel_rails(const orte_process_name_t *peer, size_t *count) KEEL_EXPORT;

/* From now on until keel_finalize, changed is called from progress after a rail failed, when others
 * took its place, or when it is back, by itself or by a restart; never inside a module's call. It
 * may call what a completion callback may. Descriptors in flight on a rail that failed have called
 * back with an error by then, and its endpoint refuses what comes until it is back. Several may
 * watch. ORTE_ERR_BAD_PARAM:
 * changed is NULL; ORTE_ERR_OUT_OF_RESOURCE; ORTE_ERROR: no keel_init. */
int keel_rails_watch(keel_rails_fn changed, void *arg) KEEL_EXPORT;

/* The process's entry for a peer, as BTL calls want it; NULL for a stranger. */
opal_proc_t *keel_proc(const orte_process_name_t *peer) KEEL_EXPORT;

END_C_DECLS
#endif
