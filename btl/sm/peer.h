/* A peer's segment of shared memory, as seen from here. Whatever it says is hostile until checked.
 */
#ifndef BTL_SM_PEER_H
#define BTL_SM_PEER_H

#include <btl/sm/segment/layout.h>

struct sm_peer {
    unsigned char *base; /* read-only, but for the board */
    struct sm_shape shape;
    struct sm_layout layout;
    const struct sm_header *header;
    struct sm_board *board;
    const struct sm_line *lines;
    struct sm_ringer ringer;
    size_t committed[SM_AREAS]; /* as last read: bytes of the area that are there */
    uint64_t nonce_address;     /* where its owner has the nonce: hostile */
};

/* Whether the card is that of a process whose segment can be opened from here; costs a system call.
 */
bool sm_peer_reachable(const struct sm_card *card, const char *session_dir);
/* Opens and maps a peer's segment and compares the nonce. */
int sm_peer_attach(struct sm_peer **peer, const struct sm_card *card, const char *session_dir,
                   char *reason, size_t reason_size) KEEL_MUST_CHECK;
void sm_peer_detach(struct sm_peer *peer);
/* length bytes at an offset of the segment, if they lie in that area and are committed; else NULL.
 * Both numbers come from the peer. */
const void *sm_peer_span(struct sm_peer *peer, enum sm_area area, uint64_t offset, uint64_t length);

#endif
