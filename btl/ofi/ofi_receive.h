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
/* Bytes of the fabric's memory that they take. */
size_t ofi_receive_room(size_t count, size_t bytes);
/* Posts all of them to another endpoint of the provider's. */
void ofi_receive_again(struct ofi_module *ofi);
void ofi_receive_close(struct ofi_module *ofi);
/* A buffer was filled with size bytes. */
void ofi_received(struct ofi_module *ofi, struct ofi_rx *rx, size_t size);
/* Gives a buffer back to the provider. */
void ofi_receive_post(struct ofi_module *ofi, struct ofi_rx *rx);
/* Those that the provider had no room for. */
void ofi_receive_repost(struct ofi_module *ofi);
/* Gives back what came early from a peer, whose next frame is the first of a session. */
void ofi_receive_drop(struct ofi_module *ofi, ofi_endpoint *peer);

#endif
