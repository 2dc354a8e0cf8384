/* What arrives: buffers, and frames in their order.
 *
 * The provider fills buffers in the order of a sender's messages, but may complete a small one
 * before a large one. A buffer that completes early is held until its turn; it holds up nobody
 * else, for the ones before it have theirs. */
#ifndef BTL_OFI_RECEIVE_H
#define BTL_OFI_RECEIVE_H

#include <btl/ofi/ofi_peer.h>

/* Makes the buffers, which lie in the fabric's memory, and posts them. */
int ofi_receive_open(struct ofi_module *ofi, size_t count, size_t bytes) KEEL_MUST_CHECK;
/* A buffer was filled with size bytes. */
void ofi_received(struct ofi_module *ofi, struct fabric_rx *received, size_t size);
/* Gives back what came early from a peer, whose next frame is the first of a session. */
void ofi_receive_drop(struct ofi_module *ofi, ofi_endpoint *peer);

#endif
