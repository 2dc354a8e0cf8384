/* Messages for contexts that are not open yet, in the order in which they came. Not allocated:
 * items are the caller's, and borrowed while they wait. */
#ifndef PML_EARLY_H
#define PML_EARLY_H

#include <pml/match/match.h>

struct early_message {
    size_t bytes;              /* what it counts for, here and with its peer */
    struct match_quota *quota; /* the peer's; borrowed */
    struct queue_link link;
    struct list all;
};

struct early {
    struct queues contexts;
    struct list all;
    size_t bytes, most;
};

/* At most so many bytes wait. The struct may not move before early_fini. */
void early_init(struct early *early, size_t most);
/* What waits is forgotten: take it before. */
void early_fini(struct early *early);
/* False: no room; nothing has changed. */
bool early_put(struct early *early, uint64_t context,
               struct early_message *message) KEEL_MUST_CHECK;
/* The oldest message for this context; it is the caller's. NULL: none. */
struct early_message *early_take(struct early *early, uint64_t context);
/* This one waits no more; it is the caller's. */
void early_remove(struct early *early, struct early_message *message);
/* The oldest of all. */
struct early_message *early_drop(struct early *early);

#endif
