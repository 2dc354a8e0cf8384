/* What the OOB's own files share: the endpoint, and what each file does for the others. Everything
 * here belongs to the loop's thread unless it says otherwise. */
#ifndef OOB_ENDPOINT_H
#define OOB_ENDPOINT_H

#include <base/loop/backoff.h>
#include <oob/contact.h>
#include <oob/greeting.h>
#include <oob/inbox.h>
#include <oob/oob.h>
#include <oob/outbox.h>
#include <oob/pulse.h>
#include <pthread.h>
#include <stdatomic.h>

#define OOB_NAME_BUCKETS 256 /* a power of two */

enum link_state {
    LINK_NEW,
    LINK_UP,
    LINK_CLOSING, /* what is queued leaves; what comes is dropped */
    LINK_DOWN,
};

/* lock guards the members behind it against senders in other threads; state and fd are written by
 * the loop alone, which may therefore read them without it. */
struct oob_link {
    struct oob *oob; /* borrowed; not used when down */
    struct oob_peer peer;
    bool is_unix;
    bool unheard; /* the peer has made it, and has said nothing over it yet */
    atomic_uint refs;
    struct list by_name;
    struct loop_io io;
    struct loop_timer close_timer;
    struct inbox inbox;
    bool watch_write;
    struct list watched; /* in oob->watched, or alone */
    struct pulse pulse;  /* these two: while it is watched */
    struct pulse_limits limits;

    pthread_mutex_t lock;
    enum link_state state;
    int fd;
    struct outbox outbox;
    bool armed;        /* the loop writes the rest: senders only append */
    int broken;        /* errno of a failed write */
    uint64_t burst_at; /* when the senders' burst began; and its frames */
    unsigned burst;
    struct loop_task rest; /* tells the loop that it is armed or broken */
};

struct oob {
    struct loop *loop;
    struct backoff_chance chance;
    orte_process_name_t name;
    uint64_t epoch;
    const struct oob_ops *ops;
    void *arg;
    enum oob_security tcp_security, unix_security;
    uint64_t connect_timeout_us, accept_timeout_us;
    bool held[OOB_KEYS];
    uint8_t keys[OOB_KEYS][KEY_BYTES];
    struct list links[OOB_NAME_BUCKETS]; /* by name; up or closing */
    struct list connects;
    struct list pings;
    struct list listeners;
    struct list pendings; /* accepted and not proved, the oldest first */
    struct list parked;   /* proved; they wait for the outcome of a connect to their name */
    unsigned pending_count;
    bool accept_paused; /* until backoff fires, or a pending has ended */
    int reserve_fd;     /* given up to refuse a connection when there are no descriptors */
    struct loop_timer backoff;
    struct list watched;    /* links whose silence counts */
    struct loop_timer beat; /* every beat_us, while there are any */
    uint64_t beat_us;       /* 0: no link is watched */
    uint64_t beat_last_us;  /* when it was due last */
    uint64_t stalled_us;    /* when this process went on after it had stood still; 0: never */
};

/* --- oob.c --- */
struct oob_link *oob_find(const struct oob *oob, const orte_process_name_t *name);
/* What this process brings to a handshake. */
struct handshake_self oob_self(const struct oob *oob, bool is_unix);
/* What a finished greeting has proved. */
struct oob_peer oob_peer_of(const struct greeting *greeting);
/* Brings up the link that a greeting has proved, and tells whoever waits for it. */
void oob_link_made(struct oob *oob, struct oob_link *link);

/* --- link.c --- */
/* A link with the keys of a finished handshake, not up yet; link_attach takes the greeting's
 * socket. */
int link_create(struct oob_link **link, struct oob *oob, const struct handshake *handshake,
                const struct oob_peer *peer) KEEL_MUST_CHECK;
void link_attach(struct oob_link *link, struct greeting *greeting);
/* Reading begins. */
void link_start(struct oob_link *link);
/* Reads what has come; a link whose peer is gone is down afterwards. */
void link_read(struct oob_link *link);
/* Ends the link now, with whatever is queued; down follows when it was up. */
void link_end(struct oob_link *link, int status);

/* Answers, or asks, whether the peer is there. */
void link_beat(struct oob_link *link, enum outbox_beat kind);

/* --- watch.c --- */
void watch_init(struct oob *oob);
void watch_end(struct oob *oob);
/* Has this link, if it is watched, been silent for half of its suspect_us? Then the peer may have
 * given it up. */
bool watch_is_silent(const struct oob_link *link);

/* --- connect.c --- */
/* Is a connect to this name on its way, or waiting? */
bool connect_under_way(const struct oob *oob, const orte_process_name_t *name);
/* A link to this name is up: all connects to it are done. */
void connect_settle(struct oob *oob, struct oob_link *link);
void connect_end_all(struct oob *oob);

/* --- ping.c --- */
void ping_end_all(struct oob *oob);

/* --- door.c --- */
/* May one more come in? In a full door a stranger makes way, one at random of the source that has
 * most there. False: all who are there are own processes. */
bool door_make_room(struct oob *oob);
bool door_is_full(const struct oob *oob);
/* The handshake with an accepted socket begins; takes fd. */
void door_open(struct oob *oob, int fd, const struct sock_addr *source, bool is_unix);
/* Looks again at the connections from this name that wait for the outcome of a connect to it. */
void door_unpark(struct oob *oob, const orte_process_name_t *name);
/* Warns of whom there is no link for: one line a second for each source (NULL: nobody in
 * particular). */
void door_log(const struct sock_addr *source, const char *address, const char *text);
void door_end_all(struct oob *oob);

/* --- listener.c --- */
void listener_end_all(struct oob *oob);
/* Accepts again after a pause. */
void listener_resume(struct oob *oob);
/* Adds the addresses of all listeners, unix first. */
void listener_contact(const struct oob *oob, struct contact *contact);

#endif
