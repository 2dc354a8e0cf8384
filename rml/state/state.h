/* struct rml and what the files of this room share.
 *
 * Locks. `lock` guards everything below that does not say otherwise; it is never held over a
 * callback or over a call into the OOB that can call back. `send_lock` keeps the order of messages:
 * who numbers messages and gives their frames to a link, or moves waiting frames to a new link,
 * holds it over both steps, oob_send included. Order: send_lock, then lock. The frames' done
 * callbacks, which oob_send may call, take only lock. */
#ifndef RML_STATE_H
#define RML_STATE_H

#include <base/loop/backoff.h>
#include <pthread.h>
#include <rml/interface/completion.h>
#include <rml/interface/core.h>
#include <rml/message/match.h>
#include <rml/state/peer.h>
#include <rml/tree/route.h>
#include <stdatomic.h>

enum { RML_WATCHERS_MAX = 8 };

enum rml_phase { RML_QUIET, RML_ENABLED, RML_FINALIZED };

/* What was refused or lost, by reason. */
struct rml_counters {
    uint64_t malformed;    /* frames that do not decode */
    uint64_t forged;       /* origin or incarnation is not the link's */
    uint64_t refused_tags; /* a runtime tag from somebody who may not */
    uint64_t misrouted;    /* no way on, or too many hops */
    uint64_t link_down;    /* towards a link that went down */
    uint64_t overflow;     /* a queue was full */
    uint64_t out_of_order; /* frames against the protocol */
    uint64_t lost;         /* messages that came and that there was no memory for */
};

struct rml_watcher {
    void (*changed)(void *arg, const struct oob_peer *peer, int status);
    void *arg;
};

struct rml {
    struct rml_config config;
    char *unix_dir; /* owned; NULL: none */
    struct oob *oob;
    pthread_mutex_t send_lock;
    pthread_mutex_t lock;

    enum rml_phase phase;
    bool ending; /* rml_destroy: nobody is told any more */
    struct rml_peers peers;
    struct rml_route route;
    struct rml_match match;
    struct rml_counters counters;
    bool upstream_down; /* ranks and tools: the link to the daemon was up and went down */
    struct rml_receive *handlers[ORTE_RML_TAG_MAX + 1];
    size_t sends_open;       /* accepted, and not all acknowledged */
    struct list dials;       /* struct dial: under way */
    struct rml_xcast *xcast; /* owned; rml/broadcast/xcast.c */
    bool repairs;            /* daemons: the launcher says who is lost */

    /* rml/links/ends.c */
    struct list farewells; /* struct farewell: who is yet to be told of ends */
    struct loop_task farewell_task;
    struct loop_timer last_words_timer; /* the loop's own */

    /* rml/traffic/frames.c */
    bool ranks_known;
    struct list early; /* struct rml_completion: frames for a job that is not known yet */
    struct loop_timer early_timer; /* the loop's own */

    /* rml/links/mend.c */
    struct list breaks;           /* struct rml_break */
    struct loop_timer mend_timer; /* the loop's own */
    uint64_t reconnect_us;        /* 0: a link that breaks is down */
    struct backoff_chance chance;

    /* rml/traffic/flow.c */
    struct list timed; /* struct rml_peer: sessions that wait for a time */
    uint64_t tick_at;  /* the earliest of these */
    struct list poked; /* struct rml_peer: may have something to send */
    struct list full;  /* struct rml_peer: what they sent fills their queues */
    struct loop_task tick_task;
    struct loop_task poke_task;
    struct loop_timer tick_timer; /* the loop's own */
    uint64_t window;
    uint64_t give_up_us; /* 0: never */
    bool held;           /* a checkpoint: the application's frames stay here */

    /* rml/state/dispatch.c */
    struct list due;         /* struct rml_completion, in the order of completion */
    atomic_size_t due_count; /* written under the lock; rml_progress looks without it */
    bool draining;           /* a thread is inside a callback, or what was deferred */
    pthread_t drainer;       /* that thread */
    bool in_callback;        /* it is inside a callback, which holds others back */
    unsigned sleepers;
    pthread_cond_t wake;
    struct {
        int fd;             /* an eventfd; -1: not made yet */
        unsigned sleepers;  /* on it, of all sleepers */
    } news;                 /* for those that sleep on more than the RML */
    struct loop_task waker; /* the loop's wakes, put off until it is done with what it has read */
    unsigned put_off;       /* that many since the last */
    struct loop_task drain;
    int (*poll)(void *arg); /* data plane progress while orte_rml blocks */
    void *poll_arg;
    bool polling;

    /* rml/calls/exception.c */
    struct list exception_handlers;
    uint64_t exception_serial; /* of the last handler */
    bool exceptions_off;       /* this process leaves */

    struct rml_watcher watchers[RML_WATCHERS_MAX];
    size_t watcher_count;
    void (*resolve)(void *arg, const orte_process_name_t *name); /* NULL: nobody to ask */
    void *resolve_arg;
    struct list unresolved; /* struct rml_peer: not yet asked for */
    struct loop_task ask;
    bool naming; /* a thread is in config.ask_name */

    bool listening; /* the loop's own */
    size_t pending_max;
    size_t unexpected_max;
    size_t compress_min; /* 0: nothing is packed */
    size_t unpack_max;
};

/* --- links.c --- */

extern const struct oob_ops rml_oob_ops;
bool rml_is_daemon(const struct rml *rml);
/* The peer that holds the link, or will hold it, towards dest. ORTE_ERR_ADDRESSEE_UNKNOWN,
 * ORTE_ERR_COMM_FAILURE (the link went down) or ORTE_ERR_OUT_OF_RESOURCE. */
int rml_next_hop_locked(struct rml *rml, const orte_process_name_t *dest,
                        struct rml_peer **hop) KEEL_MUST_CHECK;
/* Begins to connect to a peer whose contact is known. */
int rml_dial_locked(struct rml *rml, struct rml_peer *peer) KEEL_MUST_CHECK;
/* Makes the link that a hop needs, if there is a way to make it. */
int rml_make_link_locked(struct rml *rml, struct rml_peer *hop) KEEL_MUST_CHECK;
/* May so many more bytes wait for a peer's link? Logs the refusal. */
bool rml_pend_room_locked(struct rml *rml, const struct rml_peer *hop, size_t bytes);
/* A frame waits for its link. */
void rml_pend_locked(struct rml_peer *hop, struct oob_tx *tx);
/* Takes the waiting frames of a peer into a list of the caller's: all, or what credit allows. */
void rml_unpend_locked(struct rml_peer *peer, struct list *frames);
void rml_unpend_credited_locked(struct rml_peer *peer, struct list *frames);
void rml_fail_frames(struct list *frames, int status);
void rml_dials_fini(struct rml *rml);
/* A hop's link cannot be made: what would go over it fails. frames gets what waits for it. */
void rml_unreachable_locked(struct rml *rml, struct rml_peer *hop, struct list *frames);

/* Makes a link anew where it was made before; while it is up but silent, over the peer's other
 * addresses. */
int rml_dial_home_locked(struct rml *rml, struct rml_peer *peer) KEEL_MUST_CHECK;
/* A link does not come again. On the loop. */
void rml_link_is_down(struct rml *rml, struct rml_peer *peer, const struct oob_peer *info,
                      int status);

/* --- mend.c --- */

void rml_mend_init(struct rml *rml);
void rml_mend_fini(struct rml *rml);
/* Would a link to this peer that broke be made again? */
bool rml_mends_locked(const struct rml *rml, const struct rml_peer *peer);
/* The link to a peer broke. False: it is down. */
bool rml_mend_locked(struct rml *rml, struct rml_peer *peer, const struct oob_peer *info,
                     int status);
/* An attempt to make it again failed. False: it is not broken. */
bool rml_mend_failed_locked(struct rml *rml, struct rml_peer *peer, int status);
void rml_mend_forget_locked(struct rml_peer *peer);
/* A broken link does not come again. */
void rml_mend_give_up_locked(struct rml *rml, struct rml_peer *peer);

/* --- repair.c --- */

/* A daemon whose link may be down, but that was not said to be lost: there may be another way soon.
 */
bool rml_awaits_repair_locked(const struct rml *rml, const orte_process_name_t *name);

/* --- ends.c --- */

void rml_ends_init(struct rml *rml);
void rml_ends_fini(struct rml *rml);
/* Daemons: a process is gone, or a daemon with all behind it is lost: those who had to do with them
 * are told. */
void rml_tell_end_locked(struct rml *rml, struct rml_peer *peer);
void rml_tell_lost_locked(struct rml *rml, uint32_t daemon);
/* Daemons: a frame that came by a peer's link goes to a hop. True: its origin had nothing to do
 * with its destination, which is linked here, before. */
bool rml_note_locked(struct rml *rml, const struct rml_header *header, struct rml_peer *came,
                     struct rml_peer *hop);
/* Ranks and tools: a receive waits for messages of this process, and is to end with it. */
void rml_care_locked(struct rml *rml, const orte_process_name_t *name);

/* --- silence.c --- */

bool rml_is_hnp(const struct rml *rml, const orte_process_name_t *name);
/* A link came up: is its silence a fault? On the loop. */
void rml_silence_watch(struct rml *rml, struct oob_link *link, const struct oob_peer *info,
                       bool upstream);
void rml_hear_silence(void *arg, struct oob_link *link, bool is_silent);
void rml_tell_silence(struct rml *rml, const struct oob_peer *info, bool is_silent);

/* --- resolve.c --- */

void rml_resolve_init(struct rml *rml);
void rml_resolve_fini(struct rml *rml);
/* Is there somebody who may know how to reach this process? */
bool rml_can_resolve_locked(const struct rml *rml, const orte_process_name_t *name);
/* Begins to ask for a peer's contact; rml_resolved goes on. */
void rml_resolve_locked(struct rml *rml, struct rml_peer *peer);

/* --- frames.c --- */

void rml_frames_init(struct rml *rml);
void rml_frames_fini(struct rml *rml);
/* The ranks' job is known now: frames that came before that go on. */
void rml_pass_early_locked(struct rml *rml);
void rml_on_frame(void *arg, struct oob_link *link, const void *data, size_t size);
/* A frame that continues its stream: the message is assembled, and delivered when it is whole. */
void rml_take(struct rml *rml, const struct oob_peer *from, struct rml_peer *peer,
              const struct rml_header *header, const uint8_t *payload);

/* --- flow.c --- */

void rml_flow_init(struct rml *rml);
void rml_flow_fini(struct rml *rml);
/* True: the frame goes on *link (a reference), which the caller does without the lock. Else it
 * waits at the hop. */
bool rml_way_open_locked(struct rml_peer *hop, struct oob_tx *tx, struct oob_link **link);
/* The link came up, or may carry more: what waits at the hop goes. On the loop. */
void rml_pass_waiting(struct rml *rml, struct rml_peer *hop);
/* NULL: no memory. */
struct rml_session *rml_session_locked(struct rml *rml, struct rml_peer *peer);
/* What is pending towards a peer fails: delivery gives up. The second raises no exception, and says
 * whether anything was pending. */
void rml_fail_session_locked(struct rml *rml, struct rml_peer *peer, int status);
bool rml_end_session_locked(struct rml *rml, struct rml_peer *peer, int status);
void rml_fail_sessions(struct rml *rml, int status); /* of all peers */
/* The session waits for its time. */
void rml_schedule_locked(struct rml *rml, struct rml_peer *peer);
/* Sends what a session may send now; the second with the send lock held. */
void rml_pump(struct rml *rml, struct rml_peer *peer);
void rml_pump_ordered(struct rml *rml, struct rml_peer *peer);
/* Has the loop pump a session soon; and all that have something pending. */
void rml_poke_locked(struct rml *rml, struct rml_peer *peer);
void rml_poke_all_locked(struct rml *rml);
/* Asks for, and gives, all outstanding acknowledgements. */
void rml_hurry(struct rml *rml);
/* A peer's queue is full now, or is not any more: who waits behind it is told. */
void rml_note_full_locked(struct rml *rml, struct rml_peer *peer);

/* --- words.c --- */

/* Words are frames without payload; they are collected under the lock and sent without it. This one
 * is collected, waits for its link's credit, or is lost where there is no way. */
void rml_say_locked(struct rml *rml, const orte_process_name_t *dest, const struct rml_stamp *stamp,
                    struct list *words);
/* All that a session has to say now. */
void rml_speak_locked(struct rml *rml, struct rml_peer *peer, uint64_t now, struct list *words);
/* Sends what was collected. Without `lock`. */
void rml_send_words(struct list *words);
/* A frame that came by a peer's link number such has left this process. */
void rml_left(struct rml *rml, struct rml_peer *came, uint32_t number, enum oob_class class,
              uint64_t cost);
/* Tells a frame's origin why it goes no further. */
void rml_say_unreachable(struct rml *rml, const struct rml_header *about, int status);

/* --- hear.c --- */

/* The peer ended: what is pending fails with ORTE_ERR_COMM_FAILURE (ORTE_ERR_ADDRESSEE_UNKNOWN: it
 * was sent when the end was known), and so do receives that name the peer. */
void rml_gone_locked(struct rml *rml, struct rml_peer *peer);
/* A handshake proved a peer's incarnation. */
void rml_know_locked(struct rml *rml, struct rml_peer *peer, uint64_t epoch);
/* Frames for this process. On the loop. */
void rml_hear(struct rml *rml, const struct oob_peer *from, const struct rml_header *header,
              const uint8_t *payload);
void rml_hear_unreachable(struct rml *rml, const struct rml_header *header);
/* A message takes of its origin's credit until it is consumed. */
void rml_hold_locked(struct rml *rml, struct rml_peer *peer, struct rml_message *message);
void rml_consumed_locked(struct rml *rml, struct rml_message *message);

/* --- ftevent.c --- */

/* What was held back at a checkpoint goes. */
void rml_resume(struct rml *rml);

/* --- exception.c --- */

void rml_exceptions_init(struct rml *rml);
void rml_exceptions_fini(struct rml *rml);
/* Has the handlers called in their turn. */
void rml_raise_locked(struct rml *rml, const orte_process_name_t *peer,
                      orte_rml_exception_t exception);

/* --- send.c --- */

/* The packed bytes of a large buffer; NULL: it stays as it is. */
opal_buffer_t *rml_pack_buffer(const struct rml *rml, const opal_buffer_t *buffer);

/* --- receive.c --- */

/* A receive found its message; NULL: no memory for a copy. What struct rml_match calls. */
void rml_matched(void *arg, struct rml_posted *posted, struct rml_message *message);
/* A whole message for this process. */
void rml_deliver_locked(struct rml *rml, struct rml_message *message);
/* The tag of a receive that waits for messages of a peer; ORTE_RML_TAG_INVALID: there is none. */
orte_rml_tag_t rml_waiting_tag_locked(const struct rml *rml, const struct rml_peer *peer);
/* Rank or tool: the way to others is known now, or begins anew (rml_care_locked). */
void rml_care_for_posted_locked(struct rml *rml);
/* Receives that name a peer complete with ORTE_ERR_COMM_FAILURE: nothing more will come. */
void rml_fail_receives_from_locked(struct rml *rml, const struct rml_peer *peer);
/* The link to the daemon went down: receives that cannot be served any more complete. */
void rml_fail_receives_locked(struct rml *rml);
/* Ends all of them without callbacks, handlers included. */
void rml_receives_fini(struct rml *rml);

/* --- dispatch.c --- */

void rml_dispatch_init(struct rml *rml);
void rml_dispatch_fini(struct rml *rml);
void rml_due_locked(struct rml *rml, struct rml_completion *completion);
void rml_undue_locked(struct rml *rml, struct rml_completion *completion);
/* Whoever sleeps in a wait looks again. */
void rml_wake_locked(struct rml *rml);
/* Until somebody wakes, or the time has come (clock_us; 0: never). */
void rml_sleep_locked(struct rml *rml, uint64_t until_us);
/* Blocks until *done, which is written under the lock, running callbacks meanwhile. */
int rml_block(struct rml *rml, const bool *done, uint64_t deadline_us) KEEL_MUST_CHECK;
/* What work, run on the loop, returns: a malloc'd text, or NULL. Waits for a bounded time. */
char *rml_ask_loop(struct rml *rml, char *(*work)(struct rml *rml));

#endif
