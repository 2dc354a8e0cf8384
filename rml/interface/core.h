/* The RML's own face towards Keel's other rooms: bootstrap and launcher. Applications see
 * keel/rml.h.
 *
 * One struct rml is one process's RML: names, links, routes, queues. Its functions may be called by
 * any thread unless they say otherwise. Callbacks run where the dispatch mode says: in ranks and
 * tools inside rml_progress and blocking calls; in daemons on the loop (where a blocking call is
 * refused with ORTE_ERR_NOT_SUPPORTED). */
#ifndef RML_CORE_H
#define RML_CORE_H

#include <base/loop/loop.h>
#include <keel/rml.h>
#include <oob/oob.h>

struct pollfd;

struct rml;
struct rml_completion;

enum rml_dispatch { RML_DISPATCH_PROGRESS, RML_DISPATCH_LOOP };

/* Tags of Keel's own protocols, inside the runtime's range. */
enum {
    RML_TAG_SERVER = 61,    /* rank -> its daemon: hello, modex, fence, abort, bye */
    RML_TAG_CLIENT = 62,    /* daemon -> rank: the answers */
    RML_TAG_ALLGATHER = 63, /* daemon -> daemon: fences, and collectives of any kind */
    RML_TAG_MODEX_ASK = 65, /* daemon -> daemon: a card on demand, and its answer */
    RML_TAG_MODEX_ANSWER = 66,
    RML_TAG_LAUNCH = 67, /* HNP -> daemons: launch, kill, end */
    RML_TAG_REPORT = 68, /* daemon -> HNP: states of ranks */
    RML_TAG_NAMES = 70,  /* daemon -> HNP: published names, and the answers */
    RML_TAG_PMIX = 71,   /* daemon -> daemon: what PMIx servers ask of each other */
    RML_TAG_XCAST = 72,  /* broadcasts (rml/broadcast/cast_wire.h) */
    RML_TAG_ENDED = 73,  /* daemon -> rank, tool: who has ended (rml/links/ends.c) */
};

/* What is known of a received message besides its bytes. */
struct rml_info {
    orte_process_name_t origin;
    enum oob_key role; /* what the origin proved to the first daemon on the way */
    orte_rml_tag_t tag;
    enum oob_class class;
};

struct rml_config {
    struct loop *loop; /* borrowed; runs or will run */
    orte_process_name_t name;
    uint64_t epoch;
    enum oob_key role; /* OOB_KEY_CONTROL for daemons */
    enum rml_dispatch dispatch;
    uint32_t radix;       /* of the daemons' tree */
    uint32_t job_size;    /* ranks: of their own job; 0: not known */
    const char *unix_dir; /* copied: where get_contact_info opens a unix socket; NULL: TCP only */

    /* The owner's, called with arg; each may be NULL. */
    void *arg;
    /* What orte_rml.enable_comm calls, in its caller's thread, to wire this process up (connect it
     * to its daemon); ORTE_SUCCESS: communication is enabled from then on. NULL: enable_comm just
     * enables. */
    int (*enable)(void *arg);
    /* What orte_rml.get_new_name calls, in its caller's thread, until it has named this process; it
     * calls rml_rename. NULL: this process has a name. */
    int (*ask_name)(void *arg, orte_process_name_t *name);
    /* Daemons: may this proved peer be linked? On the loop. NULL: every one may. */
    int (*admit)(void *arg, const struct oob_peer *peer);
    /* On the loop: a daemon that this process has a link to (ranks and tools: their own one) has
     * been silent for rml_suspect_ms, or is heard again. After rml_fail_ms of silence, for vpid 0
     * rather the lifeline's grace, the link is down: ORTE_ERR_TIMEOUT. */
    void (*silent)(void *arg, const struct oob_peer *peer, bool is_silent);
    /* Around each wait of rml_wait and of blocking calls, in the waiting thread: leave gives up
     * what the caller holds and others may need in the callbacks that it waits for, and returns how
     * much of it (0: nothing); then, after the wait, back takes it again. */
    unsigned (*leave)(void);
    void (*back)(unsigned held);
};

int rml_create(struct rml **rml, const struct rml_config *config, char *reason,
               size_t size) KEEL_MUST_CHECK;
/* Ends links and queues; pending operations complete with ORTE_ERR_COMM_FAILURE, except that
 * callbacks are no longer run. The loop must be stopped, or this its thread. */
void rml_destroy(struct rml *rml);
/* Makes this RML the one behind orte_rml; NULL: none. */
void rml_install(struct rml *rml);
bool rml_is_enabled(struct rml *rml);
/* On the loop, before there is a link or a message. */
void rml_rename(struct rml *rml, const orte_process_name_t *name);
struct oob *rml_oob(struct rml *rml); /* for keys, listeners and contact strings; on the loop */

/* Opens the listeners, if there are none, and returns the contact string, malloc'd; NULL: there is
 * no address. Any thread. */
char *rml_contact(struct rml *rml);

/* --- links and routes --- */

/* Makes a link to the name in a contact string; limit_us and done as in oob_connect, on the loop.
 * Any thread. In ranks and tools that peer may bring messages of others from then on: connect to
 * daemons only. */
int rml_connect(struct rml *rml, const char *contact, enum oob_key key, uint64_t limit_us,
                void (*done)(void *arg, int status, const char *reason), void *arg) KEEL_MUST_CHECK;
/* Ranks and tools: everything but self and direct links goes to this peer, my daemon. */
void rml_route_default(struct rml *rml, const orte_process_name_t *daemon);
/* Daemons: the tree of count daemons of my job family (vpids 0 to count - 1). */
void rml_route_tree(struct rml *rml, uint32_t count);
/* The same for one that stands, which grows to count daemons: who was there keeps its parent. On
 * the loop. */
int rml_grow_tree(struct rml *rml, uint32_t count) KEEL_MUST_CHECK;
/* Where the broadcasts over the tree are: the number of the last, for control and for application
 * messages. */
struct rml_casts {
    uint64_t control, app;
};
/* In vpid 0, on the loop. */
struct rml_casts rml_last_casts(const struct rml *rml);
/* Daemons, on the loop: this one is new in a tree that stands, and gets what comes behind these,
 * once it has a parent (rml_rejoin). */
void rml_begin_casts(struct rml *rml, const struct rml_casts *last);
/* Daemons: rank i of the job lives with daemon daemon_of[i] (copied). A NULL array removes it. */
int rml_route_job(struct rml *rml, orte_jobid_t job, uint32_t size,
                  const uint32_t *daemon_of) KEEL_MUST_CHECK;
/* Daemons: all processes of a job, whatever their number, are reached over this daemon, which links
 * them. */
int rml_route_whole_job(struct rml *rml, orte_jobid_t job, uint32_t daemon) KEEL_MUST_CHECK;
/* changed is called on the loop when a link to a peer comes up (status ORTE_SUCCESS) or goes down
 * (< 0; ORTE_ERR_NOT_AVAILABLE: one of its ends has closed it). At most 8 watchers; NULL ends those
 * with this arg, or all when that is NULL too. */
void rml_watch_links(struct rml *rml,
                     void (*changed)(void *arg, const struct oob_peer *peer, int status),
                     void *arg);
uint64_t rml_lifeline_grace_us(void); /* 0: for ever */
uint64_t rml_suspicion_us(void);      /* from rml_suspect_ms to rml_fail_ms; 0: there is none */
/* Ranks without a daemon: the first message to a rank of my job asks resolve, on the loop, for that
 * rank's contact string; rml_resolved answers, at once or later, by any thread. No string, or that
 * of another name: what waits for the rank fails with ORTE_ERR_UNREACH, and the next message asks
 * again. resolve NULL: nobody is asked any more. */
void rml_set_resolver(struct rml *rml, void (*resolve)(void *arg, const orte_process_name_t *name),
                      void *arg);
void rml_resolved(struct rml *rml, const orte_process_name_t *name, const char *contact);
/* Ranks without a daemon: the runtime is gone, as if the link to a daemon were down: receives that
 * no link can serve complete with ORTE_ERR_COMM_FAILURE, now and later. Any thread. */
void rml_cut_off(struct rml *rml);
/* Ends the link to a peer, if there is one. On the loop. */
void rml_disconnect(struct rml *rml, const orte_process_name_t *peer, bool flush);

/* Daemons, on the loop: from now on rml_lose_daemon says who is lost, and a link that is down means
 * nothing yet: what would go over it waits with its origin. */
void rml_repair_routes(struct rml *rml);
/* A daemon of the tree is lost: what is pending towards it and its ranks fails, the tree goes on
 * without it (rml/tree/tree.h), its link ends. ORTE_EXISTS: it was lost before. */
int rml_lose_daemon(struct rml *rml, uint32_t vpid) KEEL_MUST_CHECK;
/* The link to a new parent in the tree is up: it is told where broadcasts go on. On the loop. */
void rml_rejoin(struct rml *rml);
/* Daemons, on the loop: a process that this daemon links, or would, has ended, as those know who
 * started it. What it wrote last is still read; then those who had to do with it are told. */
void rml_peer_ended(struct rml *rml, const orte_process_name_t *name);
/* Daemons: this process leaves together with all of its job, and they need not be told. */
void rml_peer_parts(struct rml *rml, const orte_process_name_t *name);
/* Any thread: the parent in the tree as it is now (UINT32_MAX for the root); was it lost? */
uint32_t rml_parent_of(struct rml *rml, uint32_t vpid);
bool rml_is_lost(struct rml *rml, uint32_t vpid);

/* The daemons' job: number 0 of the family that a job belongs to. */
static inline orte_jobid_t rml_daemon_job(orte_jobid_t job)
{
    return job & 0xffff0000u;
}

/* The tree's arithmetic (rml/tree/tree.c), pure: parent of a vpid (UINT32_MAX for 0), and its
 * children (returns their number; fills at most max). Radix >= 1. */
uint32_t tree_parent(uint32_t radix, uint32_t vpid);
uint32_t tree_children(uint32_t radix, uint32_t count, uint32_t vpid, uint32_t *children,
                       uint32_t max);

/* The contact strings that set_contact_info recorded for the processes of a job (a wildcard: of all
 * jobs): malloc'd, like the array, which NULL ends. NULL: no memory. */
char **rml_contacts(struct rml *rml, orte_jobid_t job) KEEL_MUST_CHECK;

/* --- messages --- */

/* Sends the buffer's whole payload and takes the buffer (*buffer becomes NULL on success). done may
 * be NULL; it runs in the dispatch mode's place. */
int rml_send(struct rml *rml, const orte_process_name_t *peer, enum oob_class class,
             orte_rml_tag_t tag, opal_buffer_t **buffer, void (*done)(void *arg, int status),
             void *arg) KEEL_MUST_CHECK;
/* The same for messages whose end nobody waits for. Takes the buffer in every case; NULL stands for
 * one that there was no memory for: ORTE_ERR_OUT_OF_RESOURCE. */
int rml_give(struct rml *rml, const orte_process_name_t *peer, enum oob_class class,
             orte_rml_tag_t tag, opal_buffer_t *buffer) KEEL_MUST_CHECK;
/* Broadcasts the buffer's whole payload: every process of the job receives it once, as from this
 * process, those of one origin in their order. Daemons may speak to any job and with any tag; ranks
 * to their own and with tags above 100: keel_xcast(3). give takes the buffer, NULL as in rml_give.
 */
int rml_xcast(struct rml *rml, orte_jobid_t job, orte_rml_tag_t tag,
              opal_buffer_t *buffer) KEEL_MUST_CHECK;
int rml_xcast_give(struct rml *rml, orte_jobid_t job, orte_rml_tag_t tag,
                   opal_buffer_t *buffer) KEEL_MUST_CHECK;
/* A standing handler for a tag of the runtime's range, from any origin. The buffer ends with the
 * call, unless the handler takes it by setting *buffer NULL. One handler a tag; fn NULL removes it.
 * Daemons: of the runtime's tags, below 101, ranks may send RML_TAG_SERVER and RML_TAG_XCAST to one
 * that handles them, and tools ORTE_RML_TAG_TOOL; others are refused and counted. */
typedef void (*rml_handler_fn)(void *arg, const struct rml_info *info, opal_buffer_t **buffer);
void rml_handle(struct rml *rml, orte_rml_tag_t tag, rml_handler_fn fn, void *arg);

/* Has a completion (rml/interface/completion.h) run in its turn, where callbacks run. Any
 * thread. */
void rml_post(struct rml *rml, struct rml_completion *completion);
/* Runs the callbacks that are due; returns their number; 0 from inside a callback. */
int rml_progress(struct rml *rml);
/* Sleeps until a callback is due, but not beyond a time (clock_us). Where watch is not NULL, one of
 * its count descriptors ends the rest, too; the first is the RML's to fill in. */
void rml_rest(struct rml *rml, uint64_t until_us, struct pollfd *watch, size_t count);
/* Ends the rest of all threads that are in it. */
void rml_wake(struct rml *rml);
/* Is the calling thread inside a callback of this RML, or inside what was deferred? */
bool rml_in_callback(struct rml *rml);
/* Puts work aside: run is called in its turn, where callbacks run but never inside one; while it
 * blocks, callbacks go on. drop instead of run: the RML ends first. */
int rml_defer(struct rml *rml, void (*run)(void *arg), void (*drop)(void *arg),
              void *arg) KEEL_MUST_CHECK;
/* Runs callbacks until *done is true or the deadline (clock_us, 0: none) is over; sleeps in
 * between. ORTE_SUCCESS or ORTE_ERR_TIMEOUT. poll (may be NULL) is called between: data plane
 * progress; while it is given and returns work, the wait does not sleep. */
int rml_wait(struct rml *rml, const bool *done, uint64_t deadline_us, int (*poll)(void *arg),
             void *arg);
/* What blocking calls of orte_rml call while they wait, as rml_wait does with its own: data plane
 * progress. One thread at a time calls it. NULL: none. */
void rml_set_poll(struct rml *rml, int (*poll)(void *arg), void *arg);
/* No exception is raised from now on: this process leaves, and so may others. */
void rml_end_exceptions(struct rml *rml);
/* Waits until what was sent has arrived, for at most the parameter rml_finalize_timeout_ms. */
void rml_flush(struct rml *rml);
/* What this process does, for those who ask from outside. */
struct rml_look {
    bool receives; /* a blocking receive waits, the first of: */
    orte_process_name_t peer;
    orte_rml_tag_t tag;
    uint64_t waiting, waiting_bytes; /* messages that no receive has taken; their memory */
    uint64_t refused;                /* frames and messages that were refused or lost, in all */
};
void rml_look(struct rml *rml, struct rml_look *look);

#endif
