/* Receive buffers of a fabric: memory of its own that it fills, kept apart from what is known of
 * each. What the provider has no room for is posted again later. */
#ifndef BTL_FABRIC_RECEIVE_H
#define BTL_FABRIC_RECEIVE_H

#include <btl/fabric/fabric.h>

/* First in an element of the transport's. */
struct fabric_rx {
    struct fi_context2 context; /* first: what a completion leads to */
    struct list link;           /* in unposted */
    uint8_t *bytes;
};

struct fabric_receives {
    struct fabric *fabric; /* borrowed */
    uint8_t *elements;     /* owned; NULL: not open */
    size_t element_bytes, count;
    size_t bytes; /* of each buffer */
    struct list unposted;
};

/* Bytes of the fabric's memory that so many take. */
size_t fabric_receive_room(size_t count, size_t bytes);
/* Makes elements, all zero but for their struct fabric_rx, and posts their buffers.
 * OUT_OF_RESOURCE: no memory, or more than the provider takes. To be closed in any case. */
int fabric_receive_open(struct fabric_receives *receives, struct fabric *fabric, size_t count,
                        size_t bytes, size_t element_bytes) KEEL_MUST_CHECK;
/* Posts all of them to another endpoint of the provider's. */
void fabric_receive_again(struct fabric_receives *receives);
/* The provider has let go of all. */
void fabric_receive_close(struct fabric_receives *receives);

struct fabric_rx *fabric_receive_at(const struct fabric_receives *receives, size_t number);
/* Whether a completion is of one of them. */
static inline bool fabric_receive_has(const struct fabric_receives *receives, const void *context)
{
    const uint8_t *at = context;
    return at >= receives->elements &&
           at < receives->elements + receives->count * receives->element_bytes;
}
/* Gives a buffer back to the provider, now or by fabric_receive_repost. */
void fabric_receive_post(struct fabric_receives *receives, struct fabric_rx *rx);
/* Those that the provider had no room for. */
void fabric_receive_repost(struct fabric_receives *receives);

#endif
