/* The OOB: authenticated byte links between this process and others, over unix sockets and TCP.
 *
 * A link carries frames of at most OOB_FRAME_MAX bytes in three classes, each in order, the more
 * urgent class first. Everything runs on the loop but oob_send, which any thread may call: on an
 * idle link it seals and writes by itself and leaves only what the kernel did not take to the loop.
 *
 * Lifetimes: oob_ops.up hands out a link; it is valid until oob_ops.down has returned, and longer
 * for whoever holds a reference. Every up has its down. Sends on a link that is down fail with
 * ORTE_ERR_COMM_FAILURE. docs/wire.md draws handshake, records and frames. */
#ifndef OOB_OOB_H
#define OOB_OOB_H

#include <base/data/crypto.h>
#include <base/data/list.h>
#include <base/loop/loop.h>
#include <keel/types.h>

#define OOB_FRAME_MAX (256u * 1024u + 256u)
#define OOB_HEADER_MAX 96u
#define OOB_TX_IOV 8

struct oob;
struct oob_link;

enum oob_class { OOB_CONTROL, OOB_APP, OOB_STDIO, OOB_CLASSES };

/* What a process proves when a link is made, and so the role its peer gives it. */
enum oob_key {
    OOB_KEY_CONTROL,  /* daemons of one job: the control key */
    OOB_KEY_APP,      /* ranks: the application key */
    OOB_KEY_TOOL,     /* tools of the same user: the tool key */
    OOB_KEY_PEERCRED, /* unix sockets only: the kernel says that both ends have the same user */
    OOB_KEYS
};

struct oob_peer {
    orte_process_name_t name;
    uint64_t epoch;         /* incarnation: random for each process start */
    enum oob_key key;       /* what it proved */
    pid_t pid;              /* unix sockets: from the kernel; else 0 */
    char address[128];      /* printable */
    uint64_t round_trip_us; /* TCP, known when the link has ended; else 0 */
};

struct oob_ops {
    /* A peer has proved its key: may it have a link under this name? ORTE_SUCCESS or the reason;
     * with ORTE_EXISTS the peer may come again under another name. */
    int (*admit)(void *arg, const struct oob_peer *peer);
    void (*up)(void *arg, struct oob_link *link, const struct oob_peer *peer);
    /* data ends with the call. */
    void (*frame)(void *arg, struct oob_link *link, const void *data, size_t size);
    void (*down)(void *arg, struct oob_link *link, int status);
    /* A watched link has been silent for too long (told again at every beat), or was heard again.
     * May be NULL. */
    void (*silent)(void *arg, struct oob_link *link, bool silent);
};

struct oob_config {
    struct loop *loop; /* borrowed */
    orte_process_name_t name;
    uint64_t epoch;
    const struct oob_ops *ops; /* borrowed */
    void *arg;
};

/* The parameters oob_security, oob_tcp_if_include, oob_tcp_if_exclude and the deadlines are read
 * here. reason gets the text of an error. */
int oob_create(struct oob **oob, const struct oob_config *config, char *reason,
               size_t reason_size) KEEL_MUST_CHECK;
/* Closes everything; down is called for every link that is up, done for every connect. On the loop,
 * or after it stopped; not from a callback of this oob. */
void oob_destroy(struct oob *oob);
/* A key that this process holds; it is copied and wiped by oob_destroy. */
void oob_set_key(struct oob *oob, enum oob_key kind, const uint8_t key[KEY_BYTES]);

/* Another incarnation from now on; links that are up keep the old one. On the loop. */
void oob_renew(struct oob *oob, uint64_t epoch);
/* Another name from now on. There is no link, listener or connect yet. On the loop. */
void oob_rename(struct oob *oob, const orte_process_name_t *name);

int oob_listen_unix(struct oob *oob, const char *path, char *reason,
                    size_t reason_size) KEEL_MUST_CHECK;
int oob_listen_tcp(struct oob *oob, char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* The contact string of the listeners, malloc'd; NULL when there are none. */
char *oob_contact(struct oob *oob);

/* Connects to the name in a contact string, trying its addresses in turn, each with its deadline,
 * and proves the key. limit_us: how long it tries all of them again, unless all refuse or nobody
 * listens (0: each once, and once more if it was slow; UINT64_MAX: for ever). Exactly one of: up
 * (then done with ORTE_SUCCESS), or done with the error and its reason (text, for the time of the
 * call). Without done: ORTE_ERR_BAD_PARAM for a bad string, ORTE_ERR_UNREACH for one without an
 * address where the key can be proved. A link to that peer that is already up: done at once. */
typedef void (*oob_connect_fn)(void *arg, int status, struct oob_link *link, const char *reason);
int oob_connect(struct oob *oob, const char *contact, enum oob_key key, uint64_t limit_us,
                oob_connect_fn done, void *arg) KEEL_MUST_CHECK;

/* Where the link to that name is silent: connects over the other TCP addresses of the contact
 * string, each tried once, and once more if it was slow. The new link takes the silent one's place
 * (down, up, done), unless the peer has heard this process over it lately: ORTE_EXISTS.
 * ORTE_ERR_UNREACH at once, without done: there is no other address. On the loop. */
int oob_detour(struct oob *oob, const char *contact, enum oob_key key, oob_connect_fn done,
               void *arg) KEEL_MUST_CHECK;

/* Asks whether the process of a contact string is there and would have a link with this one: a
 * handshake, and no link. The addresses are tried in turn and share the time. done is called once,
 * later: ORTE_SUCCESS, ORTE_ERR_TIMEOUT when one did not answer in its time, else ORTE_ERR_UNREACH;
 * and the reason. ORTE_ERR_BAD_PARAM at once for a bad string, without done. */
typedef void (*oob_ping_fn)(void *arg, int status, const char *reason);
int oob_ping(struct oob *oob, const char *contact, uint64_t timeout_us, oob_ping_fn done,
             void *arg) KEEL_MUST_CHECK;

/* The parameter oob_connect_timeout_ms. Any thread. */
uint64_t oob_connect_timeout_us(const struct oob *oob);

/* One frame to send. The sender fills it and leaves it alone, with the payload's memory, until
 * done: called exactly once, in the calling thread before oob_send returns or later on the loop,
 * with ORTE_SUCCESS when the kernel has the last byte. */
struct oob_tx {
    struct list link;
    enum oob_class class;
    size_t header_size;
    uint8_t frame_[8];              /* the OOB's own; must lie before header */
    uint8_t header[OOB_HEADER_MAX]; /* goes first */
    int iov_count;
    struct iovec iov[OOB_TX_IOV]; /* then these; borrowed */
    void (*done)(struct oob_tx *tx, int status);
};
/* Any thread. */
void oob_send(struct oob_link *link, struct oob_tx *tx);

const struct oob_peer *oob_link_peer(const struct oob_link *link);
struct oob_link *oob_link_ref(struct oob_link *link);
void oob_link_unref(struct oob_link *link);
/* Was this process stopped, or busy with something else, at the last beat or since, at most so long
 * ago? False while no link is watched. On the loop. */
bool oob_stood_still(const struct oob *oob, uint64_t within_us);
/* Has the peer answer every oob_heartbeat_ms; any traffic will do. From suspect_us of silence on
 * oob_ops.silent is told, after fail_us the link ends with ORTE_ERR_TIMEOUT; 0: never. Time for
 * which this process itself did not run does not count. On the loop. */
void oob_link_watch(struct oob_link *link, uint64_t suspect_us, uint64_t fail_us);
/* Ends a link; what is queued is written first, for at most a second, when flush is set. On the
 * loop; down follows, perhaps before the call returns. */
void oob_link_close(struct oob_link *link, bool flush);
/* Ends a link as if it had broken: both ends' down get an error. On the loop. */
void oob_link_break(struct oob_link *link);

#endif
