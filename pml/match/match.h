/* Matching of the messages and receives of one context, in MPI's order: a message goes to the
 * oldest posted receive that wants it, a receive takes the oldest message that fits, and the
 * messages of a source count in the order in which it numbered them, whichever rails brought them.
 *
 * Pure bookkeeping: it knows no network and calls nobody. Items are the caller's, and are borrowed
 * while they are queued; nothing is allocated for them. Every call costs the same however much is
 * queued, but for messages ahead of their turn (base/data/reorder.h). The caller's lock guards a
 * context and the quotas of its peers. */
#ifndef PML_MATCH_H
#define PML_MATCH_H

#include <base/data/reorder.h>
#include <pml/match/queues.h>

#define MATCH_ANY_SOURCE (-1)
#define MATCH_ANY_TAG INT32_MIN /* the tags from 0 on; messages never have this one */

/* The memory of one peer's messages that nobody has received, in all contexts together. */
struct match_quota {
    size_t bytes;   /* of messages that wait */
    size_t highest; /* that there ever were */
    size_t most;    /* above it the peer should send no more data without being asked */
};

static inline void match_quota_add(struct match_quota *quota, size_t bytes)
{
    quota->bytes += bytes;
    quota->highest = quota->bytes > quota->highest ? quota->bytes : quota->highest;
}

static inline bool match_quota_is_over(const struct match_quota *quota)
{
    return quota->bytes > quota->most;
}

/* One member of a context. */
struct match_source {
    int32_t rank;
    struct match_quota *quota; /* borrowed */
    struct reorder order;
};

struct match_message {
    int32_t tag;
    size_t bytes;                /* what the quota counts while the message waits */
    struct match_source *source; /* borrowed; set when it arrives */
    /* While it waits: */
    struct reorder_frame frame; /* for its turn; then on a list of match */
    struct queue_link exact, any_tag, any_source;
};

struct match_receive {
    int32_t source, tag;           /* or ANY */
    struct match_message *message; /* what it got */
    bool posted;
    uint64_t order; /* by time of posting */
    /* While it is posted; then link.queue is on the list of matches. */
    struct queue_link link;
};

struct match {
    struct queues receives; /* each on the queue of its source and tag, which may be ANY */
    struct queues messages; /* each on the queues that receives may ask for */
    struct list any;        /* all messages with tags from 0 on */
    struct list internal;   /* and the others */
    uint64_t posts;         /* ever */
    size_t posted[4];       /* receives, by what of them is ANY */
};

/* The struct may not move before match_fini. */
void match_init(struct match *match);
/* What is queued is forgotten: cancel and drop before. */
void match_fini(struct match *match);

/* A source whose messages are numbered from first on, modulo last + 1 (16 or 32 bits), and of which
 * at most `ahead` may be ahead of their turn. */
void match_source_init(struct match_source *source, int32_t rank, struct match_quota *quota,
                       uint32_t last, uint32_t ahead, uint32_t first);

/* Borrows the message if the verdict is NOW or KEPT; else nothing has changed. NOW: the receives
 * that it, and those that waited for it, were matched with are appended to matches in order by
 * link.queue, each with its message. The message's tag is not ANY. */
enum reorder_verdict match_arrive(struct match *match, struct match_source *source,
                                  struct match_message *message, uint32_t sequence,
                                  struct list *matches) KEEL_MUST_CHECK;

/* The shortest way of most messages, in place of match_arrive: this one's turn has come, none that
 * is kept follows, and a receive takes it, which is returned. NULL: nothing has changed. */
struct match_receive *match_at_once(struct match *match, struct match_source *source, int32_t tag,
                                    uint32_t sequence);

/* The message that the receive takes at once; NULL: the receive is borrowed until it is matched or
 * cancelled. */
struct match_message *match_post(struct match *match, struct match_receive *receive);
/* False: it was matched before. */
bool match_cancel(struct match *match, struct match_receive *receive);

/* Any receive of this source alone, which is posted no more; for who gives the source up. NULL:
 * none. It costs as much as there are sources and tags. */
struct match_receive *match_give_up(struct match *match, int32_t source);

/* The message that such a receive would take; it stays. */
const struct match_message *match_probe(struct match *match, int32_t source, int32_t tag);
/* The same; the message is the caller's. */
struct match_message *match_take(struct match *match, int32_t source, int32_t tag);

/* Any message that waits for a receive, for who closes the context; it is the caller's. NULL: none.
 */
struct match_message *match_drop(struct match *match);
/* The same with those that wait for their turn. */
struct match_message *match_source_drop(struct match_source *source);

#endif
