/* Hellos: how two peers come to believe in each other. */
#ifndef BTL_OFI_HELLO_H
#define BTL_OFI_HELLO_H

#include <btl/ofi/ofi_peer.h>

/* The peer's address is known: says hello, until it answers or the time is over. */
void ofi_greet_begin(struct ofi_module *ofi, struct ofi_peer *peer);
/* Hellos that are due. */
int ofi_greet(struct ofi_module *ofi);
void ofi_hello_received(struct ofi_module *ofi, const uint8_t *data, size_t size);
/* A hello or bye did not get through. */
void ofi_control_failed(struct ofi_module *ofi, struct ofi_peer *peer, int error);

#endif
