/* How the session of two peers begins and ends: hellos and byes. */
#ifndef BTL_OFI_HELLO_H
#define BTL_OFI_HELLO_H

#include <btl/ofi/ofi_peer.h>

/* As connect of struct btl_peer_hooks: a hello is due. */
void ofi_handshake(struct btl_peer *life);
extern const struct btl_greeter_ops ofi_greeter_ops;
/* A hello or bye did not get through. */
void ofi_control_failed(struct ofi_module *ofi, ofi_endpoint *peer, int error);

/* Everything that the peer sent before has been taken. */
void ofi_bye_received(struct ofi_module *ofi, ofi_endpoint *peer);

/* A session that fails here is about to be cleared: its other end is told, now or when the provider
 * has room. */
void ofi_say_lost(struct ofi_module *ofi, ofi_endpoint *peer);
/* To those for whom there was no room. */
void ofi_lost_flush(struct ofi_module *ofi);

/* Hooks of struct btl_peer_hooks. */
void ofi_peer_leave(struct btl_peer *life);
bool ofi_peer_say_bye(struct btl_peer *life);
bool ofi_peer_is_answered(struct btl_peer *life);

#endif
