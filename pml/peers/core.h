/* What the files of the PML share: the PML of a process, its peers and contexts. */
#ifndef PML_CORE_H
#define PML_CORE_H

#include <base/data/pool.h>
#include <pml/interface/base.h>
#include <pml/match/early.h>
#include <pml/match/match.h>
#include <pml/peers/stats.h>
#include <pml/pieces/rate.h>

enum {
    /* Messages of a member that may be ahead of one that has not come. A sender stalls before: it
     * is told, each SEEN_EVERY messages, what has come. */
    SEQUENCE_AHEAD = 16384,
    SEQUENCE_SEEN_EVERY = 4096,
    CONTEXT_PAGES = 256,
    CONTEXT_PAGE = 256
};

/* One of the rails that a peer's messages are divided among. */
struct peer_rail {
    const mca_ptl_base_module_t *ptl; /* borrowed; NULL: this place is free */
    struct rate rate;
    bool lost; /* no path leads over it now */
};

/* All of them: made with the first message that is. */
struct peer_rails {
    struct list turns; /* requests that wait until they have less to do, by link, in order */
    size_t striped;    /* bytes under way over them */
    size_t count;
    struct peer_rail rail[]; /* in the order of their first use */
};

/* Of a process, made when it is first needed. */
struct peer {
    struct queue_link by_proc;
    struct list all;    /* of pml.all_peers */
    struct list due;    /* on pml.due or pml.short_of_room; else on none */
    struct list change; /* on pml.changed; else on none */
    struct pml *pml;
    opal_proc_t *proc; /* borrowed */
    struct ptl_paths paths;
    struct peer_rails *rails; /* owned; NULL: one path was enough so far */
    struct match_quota quota;
    struct list pending;   /* requests that wait for room or their turn, by link, in order */
    struct list sending;   /* sends that did not end at once, by struct send.sending */
    struct list receiving; /* receives whose messages are not whole, by struct recv.receiving */
    int gone;              /* why nothing goes there any more; OPAL_SUCCESS: it does */
    int doubt;             /* the status that it is to be given up with; OPAL_SUCCESS: none */
    bool calling;          /* a module is being given a first fragment to it */
    bool asked;            /* it asked for no data before a receive is matched */
    bool asks;             /* it was asked for that */
};

/* Of a context; all zero before it is first needed. */
struct member {
    struct keel_pml_context *context; /* NULL: not used yet */
    struct peer *peer;                /* NULL: there was no memory */
    uint16_t next;                    /* number of the next message to it */
    uint16_t seen;                    /* those to it before this one have come, it said */
    uint16_t told;                    /* those from it before this one have come, it was told */
    struct pml_stats stats;
    struct match_source source;
    struct list tell; /* on pml.tells; else on none */
};

struct keel_pml_context {
    struct pml *pml;
    struct list all; /* of pml.all_contexts */
    uint16_t id;
    int32_t rank; /* this process's */
    size_t size;
    opal_proc_t **procs; /* owned; NULL: the job's */
    struct member *members;
    struct match match;
    size_t requests; /* that the user has */
    size_t freed;    /* that are under way, and the user has no more */
    size_t taken;    /* messages taken by probes */
};

/* 256 numbers of contexts. */
struct context_page {
    struct keel_pml_context *contexts[CONTEXT_PAGE];
    bool lost[CONTEXT_PAGE]; /* a message for it was dropped */
};

/* Of a PTL module; ptl_base leads to it. */
struct mca_pml_base_ptl_t {
    struct pml *pml;
    mca_ptl_base_module_t *ptl;
    struct pool sends; /* with ptl_cache_bytes; limit 0: the module has none kept */
};

struct pml {
    struct pml_host host;
    struct ptl_set *ptls;
    struct mca_pml_base_ptl_t *modules; /* owned */
    size_t module_count;
    struct context_page *pages[CONTEXT_PAGES]; /* owned, made when needed */
    struct list all_contexts;
    struct early early;  /* messages for contexts that are not open */
    struct queues peers; /* by process */
    struct list all_peers;
    struct match_quota stray;       /* of peers for which there was no memory */
    struct list due;                /* peers whose pending requests may be tried again */
    struct list short_of_room;      /* peers of which a module will say when that is */
    struct list changed;            /* peers whose paths may have changed */
    struct list tells;              /* members that are to be told something */
    struct list ended;              /* requests whose callbacks are due, by link */
    struct pool sends, recvs;       /* struct send, struct recv */
    struct pool ended_sends;        /* struct keel_pml_request: of sends that ended at once */
    size_t unexpected_most;         /* bytes, of each peer */
    size_t striped_most;            /* bytes under way to a peer over several rails */
    size_t buffered, buffered_most; /* bytes of buffered sends */
    uint64_t ends;      /* requests that have ended, ever, but for those of ended_sends */
    unsigned waits;     /* that ended after a pass, ever; wraps */
    uint64_t spin_ns;   /* so long a call that waits polls in vain before it sleeps; */
    uint64_t sleep_ns;  /* then not longer than this at a time */
    unsigned resting;   /* threads that sleep */
    bool tells_time;    /* to modules of PTL 1.0, in each pass */
    bool settling;      /* in pml_settle */
    bool unsettled;     /* due, changed or tells may have something; or those who sleep, news */
    unsigned callbacks; /* of users, that run: all on one thread */
};

/* Around all that touches a PML but in the PTLs' calls, which come with the lock. No callback of a
 * user's is called in between. */
static inline void pml_lock(const struct pml *pml)
{
    if (pml->host.lock) {
        pml->host.lock();
    }
}
void pml_unlock_shared(struct pml *pml);
static inline void pml_unlock(struct pml *pml)
{
    if (pml->host.lock) {
        pml_unlock_shared(pml);
    }
}

/* Puts a link on the PML's due, changed or tells. */
static inline void pml_queue(struct pml *pml, struct list *list, struct list *link)
{
    list_remove(link);
    list_append(list, link);
    pml->unsettled = true;
}

/* Something has happened that a thread may wait for: those that sleep are woken. */
static inline void pml_has_news(struct pml *pml)
{
    if (pml->resting > 0) {
        pml->unsettled = true;
    }
}

/* That of a module that calls. */
static inline struct pml *pml_of(const mca_ptl_base_module_t *ptl)
{
    return ptl->ptl_base->pml;
}

#endif
