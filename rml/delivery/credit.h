/* Credit of one link, one direction and one class: the sending end may put at most a window of
 * bytes on it that have not left the receiving process again. So a relay holds at most one window
 * for each of its links and classes, and what it cannot pass on waits where it came from. Pure
 * (rml/message/stamp.h). Both ends begin anew with each link. */
#ifndef RML_CREDIT_H
#define RML_CREDIT_H

#include <keel/types.h>
#include <stdbool.h>
#include <stdint.h>

/* Of both ends; more than the largest frame. */
#define RML_LINK_WINDOW (2u << 20)

/* The sending end. */
struct rml_credit {
    uint64_t used;
    uint64_t limit;
};

/* The receiving end. */
struct rml_grant {
    uint64_t came;
    uint64_t left;
    uint64_t told; /* the limit that the sending end knows */
};

void rml_credit_begin(struct rml_credit *credit);
/* True: a frame of cost bytes may go, and is counted. */
bool rml_credit_take(struct rml_credit *credit, uint64_t cost) KEEL_MUST_CHECK;
/* The receiving end's word. False: impossible; nothing happened. */
bool rml_credit_raise(struct rml_credit *credit, uint64_t limit) KEEL_MUST_CHECK;

void rml_grant_begin(struct rml_grant *grant);
/* A frame came. False: more than was granted. */
bool rml_grant_came(struct rml_grant *grant, uint64_t cost) KEEL_MUST_CHECK;
/* It has left this process, or was delivered in it. True: the sending end should be told. */
bool rml_grant_left(struct rml_grant *grant, uint64_t cost) KEEL_MUST_CHECK;
/* The limit to tell. */
uint64_t rml_grant_tell(struct rml_grant *grant);

#endif
