/* Keel's data plane in a process of somebody else's: what its BTL modules ask of the process that
 * hosts them (struct keel_host_ops), and the calls by which a host opens and uses them. keel_init
 * is such a host, over the RML or PMIx; a process has one data plane, so it uses either keel_init
 * or keel_host_open. keel_host_open(3) has an example. */
#ifndef KEEL_HOST_H
#define KEEL_HOST_H

#include <keel/btl.h>

BEGIN_C_DECLS

/* A peer's card, or the reason why there is none (status < 0: data NULL). data is borrowed, for the
 * time of the call. */
typedef void (*keel_card_fn)(void *arg, int status, const void *data, size_t size);

/* Calls come from the threads that may call the BTL. A host outlives the modules opened with it. */
struct keel_host_ops {
    /* My own process, with my name and node; lives as long as the host. */
    const opal_proc_t *(*me)(void *host);
    /* Publishes a card under a key ("btl.tcp"). It is copied, and seen by peers that ask after the
     * modex. OPAL_EXISTS for a key already used. Limit: 64 KiB. */
    int (*put_card)(void *host, const char *key, const void *data, size_t size);
    /* Asks for a peer's card; done is called exactly once, perhaps before this returns, by a thread
     * that may call the BTL. A peer that published no such card: OPAL_ERR_NOT_FOUND. */
    void (*get_card)(void *host, const opal_proc_t *peer, const char *key, keel_card_fn done,
                     void *arg);
    /* A key that only processes of the job can derive, another one for each pair of them and each
     * purpose (a text of at most 8 characters); the same bytes on both sides. OPAL_ERR_BAD_PARAM:
     * not a peer, or a longer purpose. */
    int (*pair_key)(void *host, const orte_process_name_t *peer, const char *purpose,
                    uint8_t key[32]);
    /* A folder of this process's job and node, 0700, removed when the job ends; or NULL, which the
     * function may be, too. */
    const char *(*session_dir)(void *host);
    /* Drives the host's own work, answers to get_card among it, without waiting; returns the number
     * of events. For a BTL that waits in a call of its user's. NULL: there is nothing to drive. */
    int (*progress)(void *host);
    /* A card that is known here: OPAL_SUCCESS, *data is borrowed until the next call of the host.
     * OPAL_ERR_NOT_FOUND: the peer published none; OPAL_ERR_NOT_AVAILABLE: get_card would have to
     * ask for it. NULL: always the latter. */
    int (*peek_card)(void *host, const opal_proc_t *peer, const char *key, const void **data,
                     size_t *size);
};

/* One way to a peer's data plane. */
struct keel_rail {
    mca_btl_base_module_t *btl;
    struct mca_btl_base_endpoint_t *endpoint;
    double weight; /* this rail's share of bulk bytes; those of a peer sum to 1 */
    bool eager;    /* among the lowest latency: for first fragments */
    bool send;     /* carries active messages */
    bool rdma;     /* carries put or get */
};
/* The rails to this peer have changed. */
typedef void (*keel_rails_fn)(const orte_process_name_t *peer, void *arg);

struct keel_host_options {
    size_t size;          /* sizeof(struct keel_host_options); another one is refused */
    bool thread_multiple; /* any thread may call the data plane at any time */
    bool progress_thread; /* a thread drives it while the program does not; implies the above */
};

/* Opens the modules that the parameter btl names, over this host, which may get calls at once: each
 * module publishes its card. options NULL: none of them. The host sees to it that every process has
 * opened before any asks for cards. reason (it may be NULL) gets the text of an error.
 * OPAL_ERR_BAD_PARAM: a function that has to be there is NULL, me returned NULL, or a parameter's
 * value does not fit; OPAL_EXISTS: open already, by this call or keel_init; OPAL_ERR_NOT_AVAILABLE:
 * no module. */
int keel_host_open(const struct keel_host_ops *ops, void *host,
                   const struct keel_host_options *options, char *reason,
                   size_t reason_size) KEEL_EXPORT;
/* Names peers, which may include this process: each has its rails chosen by the first
 * keel_host_rails, and is connected on first use. The procs belong to the host and stay until
 * keel_host_close; those that were added are passed over.
 * All processes have opened by then; before any sends, all have added their peers.
 * OPAL_ERR_UNREACH: no module reaches some of them, the first of which reason names; the others
 * were added all the same. OPAL_ERR_BAD_PARAM: an entry is NULL, and nothing happened;
 * OPAL_ERR_OUT_OF_RESOURCE; OPAL_ERROR: not open. */
int keel_host_add_procs(opal_proc_t *const *procs, size_t count, char *reason,
                        size_t reason_size) KEEL_EXPORT;
/* As keel_rails, for a peer that was added; valid until keel_host_close. */
const struct keel_rail *keel_host_rails(const opal_proc_t *peer, size_t *count) KEEL_EXPORT;
/* As keel_rails_watch, before keel_host_open or after it, until keel_host_close. */
int keel_host_rails_watch(keel_rails_fn changed, void *arg) KEEL_EXPORT;
/* Drives the data plane and runs the callbacks that are due, without waiting; returns the number of
 * events. The host's own work is its own. Inside a callback: 0. */
int keel_host_progress(void) KEEL_EXPORT;
/* The host knows that a peer's process has ended: what is under way to it ends with an error, from
 * progress, and its rails go. Any thread, where there are several; else not inside a module, but
 * for calls of the host's progress. */
void keel_host_proc_ended(const opal_proc_t *peer) KEEL_EXPORT;
/* As keel_ft_event, of the data plane of this process alone: the host sees to it that all come
 * together, and after OPAL_CRS_RESTART that all have published before any asks for a card, and all
 * have the cards before any sends. OPAL_ERR_TIMEOUT: at a checkpoint something was still under way;
 * OPAL_ERR_RESOURCE_BUSY: a callback calls this, or another thread is in it; OPAL_ERROR: not open.
 */
int keel_host_ft_event(int state) KEEL_EXPORT;
/* Ends what is under way with an error and closes the modules. The host sees to it that no peer
 * sends any more. Not from a callback, which gets OPAL_ERR_NOT_SUPPORTED, and nothing
 * happened. OPAL_ERROR: not open. */
int keel_host_close(void) KEEL_EXPORT;

END_C_DECLS
#endif
