/* What a BTL may ask of the process that hosts it: its name, its peers, and how to pass them cards
 * and keys. bootstrap implements this table over the RML; any other host can.
 *
 * Calls come from the threads that may call the BTL. A host outlives the BTLs opened with it. */
#ifndef KEEL_HOST_H
#define KEEL_HOST_H

#include <keel/types.h>

BEGIN_C_DECLS

/* A peer's card, or the reason why there is none (status < 0: data NULL). data is borrowed, for the
 * time of the call. */
typedef void (*keel_card_fn)(void *arg, int status, const void *data, size_t size);
typedef void (*keel_postbox_fn)(void *arg, const orte_process_name_t *from, const void *data,
                                size_t size);

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
    /* A folder of this process's job and node, 0700, removed when the job ends; or NULL. */
    const char *(*session_dir)(void *host);
    /* Small messages (at most 4 KiB) over the control plane. Both NULL where the host has none. */
    int (*post)(void *host, const orte_process_name_t *to, const void *data, size_t size);
    int (*on_post)(void *host, keel_postbox_fn received, void *arg);
    /* Drives the host's own work, answers to get_card among it, without waiting; returns the number
     * of events. For a BTL that waits in a call of its user's. NULL: there is nothing to drive. */
    int (*progress)(void *host);
    /* A card that is known here: OPAL_SUCCESS, *data is borrowed until the next call of the host.
     * OPAL_ERR_NOT_FOUND: the peer published none; OPAL_ERR_NOT_AVAILABLE: get_card would have to
     * ask for it. NULL: always the latter. */
    int (*peek_card)(void *host, const opal_proc_t *peer, const char *key, const void **data,
                     size_t *size);
};

END_C_DECLS
#endif
