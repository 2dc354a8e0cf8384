/* One daemon's part in broadcasts down the daemons' tree: what it has taken, what it keeps, who
 * below it has what. Pure: no links, no clock; the owner guards it and sends.
 *
 * The root numbers the broadcasts from 1. A daemon takes them in that order, each once, and keeps
 * one until every daemon below has it: so whoever loses its parent finds at its new one, which was
 * above the lost, everything that it still lacks. It joins with its last number, and the new parent
 * goes on behind that. */
#ifndef RML_CAST_H
#define RML_CAST_H

#include <base/data/list.h>
#include <keel/types.h>

struct rml_cast_item {
    struct list link;
    uint64_t number;
    unsigned busy; /* local deliveries that are under way; the owner counts them */
};

struct rml_cast_child {
    uint32_t vpid;
    bool joined;   /* it has said what it has */
    bool early;    /* it came before this daemon knew it to be its child */
    uint64_t sent; /* the last that went to it */
    uint64_t done; /* it and all below it have everything up to here */
};

struct rml_cast {
    uint64_t last;                   /* taken */
    uint64_t told;                   /* what the parent was told to be done here and below */
    uint64_t floor;                  /* everything up to here is done here and below, and dropped */
    struct list items;               /* struct rml_cast_item, ascending; the owner's */
    struct rml_cast_child *children; /* owned */
    uint32_t child_count;
};

void rml_cast_init(struct rml_cast *cast);
/* The items go to the list. */
void rml_cast_fini(struct rml_cast *cast, struct list *items);

/* The daemons directly below, from now on; lost: one that no more is, whatever came from it. Those
 * that were there keep their state, and who came early stays. Newcomers get nothing before they
 * have joined, but for those of the first call: nothing was sent yet. */
int rml_cast_set_children(struct rml_cast *cast, const uint32_t *vpids, uint32_t count,
                          uint32_t lost) KEEL_MUST_CHECK;
/* This daemon is new in a tree that stands, and begins behind the broadcast of this number, as all
 * below it do; none of them has joined yet. */
void rml_cast_begin(struct rml_cast *cast, uint64_t last);
/* A daemon below has everything up to last, and all below it up to done. It may be one that this
 * daemon did not know to be its child, and one that is new may begin with what is still on its way
 * here. ORTE_ERR_BAD_PARAM: it cannot be. */
int rml_cast_join(struct rml_cast *cast, uint32_t vpid, uint64_t last,
                  uint64_t done) KEEL_MUST_CHECK;
/* A child and all below it have everything up to done. False: it cannot be. */
bool rml_cast_raise(struct rml_cast *cast, uint32_t vpid, uint64_t done);

/* Is it the next? All others were taken before, or will come again. */
bool rml_cast_is_next(const struct rml_cast *cast, uint64_t number);
/* Takes the next, and keeps it; numbers it. */
void rml_cast_take(struct rml_cast *cast, struct rml_cast_item *item);
/* What is to be sent next, and to which child; it counts as sent. NULL: nothing. */
struct rml_cast_item *rml_cast_due(struct rml_cast *cast, uint32_t *vpid);
/* What need not be kept any more goes to the list. */
void rml_cast_prune(struct rml_cast *cast, struct list *items);
/* What the parent is to be told; false: it knows. */
bool rml_cast_must_tell(struct rml_cast *cast, uint64_t *done) KEEL_MUST_CHECK;

#endif
