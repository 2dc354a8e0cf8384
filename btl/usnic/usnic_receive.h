/* What arrives: packets to their flows, messages to the layers above. */
#ifndef BTL_USNIC_RECEIVE_H
#define BTL_USNIC_RECEIVE_H

#include <btl/usnic/usnic_peer.h>

extern const struct usnic_port_user usnic_port_user;
extern const struct usnic_user usnic_engine_user;

/* A packet, whatever came. True: the buffer is kept. */
bool usnic_receive(struct usnic_module *usnic, struct usnic_rx *rx, uint8_t *bytes, size_t size);

#endif
