/* Hellos: how two peers come to believe in each other. */
#ifndef BTL_OFI_HELLO_H
#define BTL_OFI_HELLO_H

#include <btl/ofi/ofi_peer.h>

/* As connect of struct btl_peer_hooks: a hello is due. */
void ofi_handshake(struct btl_peer *life);
void ofi_hello_received(struct ofi_module *ofi, const uint8_t *data, size_t size);
/* A hello or bye did not get through. */
void ofi_control_failed(struct ofi_module *ofi, ofi_endpoint *peer, int error);

#endif
