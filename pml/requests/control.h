/* What one PML tells another, by messages without data whose tags are no user's: which messages of
 * a member have come, and whether it is to send data before a receive is matched. */
#ifndef PML_CONTROL_H
#define PML_CONTROL_H

#include <pml/requests/recv.h>

/* A header with such a tag. */
static inline bool control_is(const mca_ptl_base_match_header_t *header)
{
    return header->hdr_tag < KEEL_PML_TAG_MIN;
}
/* What it says of all messages to the peer (NULL: nothing), in whichever context. */
void control_of_peer(struct peer *peer, const mca_ptl_base_match_header_t *header);
/* Of an open context and one of its ranks. */
void control_arrived(struct member *member, const mca_ptl_base_match_header_t *header);

/* Progress has to tell the member something. */
static inline bool control_is_due(const struct member *member)
{
    const struct match_quota *quota = member->source.quota;
    const bool asks = member->peer && member->peer->asks;

    return (uint16_t) (member->source.order.expected - member->told) >= SEQUENCE_SEEN_EVERY ||
           (asks ? quota->bytes <= quota->most / 2 : match_quota_is_over(quota));
}
void control_queue(struct member *member);
/* A message of this member has come, or has left the queue. */
static inline void control_came(struct member *member)
{
    if (control_is_due(member)) {
        control_queue(member);
    }
}
static inline void control_left(struct member *member)
{
    control_came(member);
}
/* Tells it. */
void control_tell(struct member *member);

#endif
