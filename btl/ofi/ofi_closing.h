/* The end of peers: byes, and the steps in which endpoints end (btl/peer.h). */
#ifndef BTL_OFI_CLOSING_H
#define BTL_OFI_CLOSING_H

#include <btl/ofi/ofi_peer.h>

/* Everything that the peer sent before has been taken. */
void ofi_bye_received(struct ofi_module *ofi, ofi_endpoint *peer);

/* A session that fails here is about to be cleared: its other end is told, now or when the provider
 * has room. */
void ofi_say_lost(struct ofi_module *ofi, ofi_endpoint *peer);
/* To those for whom there was no room. */
void ofi_lost_flush(struct ofi_module *ofi);
void ofi_lost_received(struct ofi_module *ofi, ofi_endpoint *peer);

/* Hooks of struct btl_peer_hooks. */
void ofi_peer_leave(struct btl_peer *life);
bool ofi_peer_say_bye(struct btl_peer *life);
bool ofi_peer_is_answered(struct btl_peer *life);

#endif
