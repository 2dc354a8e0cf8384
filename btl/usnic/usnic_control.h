/* Control frames (wire/frame.h): which are said, and what comes of those that are heard. */
#ifndef BTL_USNIC_CONTROL_H
#define BTL_USNIC_CONTROL_H

#include <btl/usnic/usnic_peer.h>
#include <btl/usnic/wire/frame.h>

/* Bytes of a hello. */
int usnic_control_hello(usnic_endpoint *peer, const uint8_t *bytes, size_t size);
/* Lost without harm, if there is no room. */
void usnic_say_probe(usnic_endpoint *peer, size_t size);
void usnic_say_here(usnic_endpoint *peer);
/* That the session which was here is over. */
void usnic_say_over(usnic_endpoint *peer);
/* The token is that of the peer's packets in the session before this one. */
bool usnic_is_over(const usnic_endpoint *peer, uint64_t token);
/* The same of that session, whatever has begun since. */
void usnic_say_over_again(usnic_endpoint *peer);
/* Counts a packet that is dropped, and logs it now and then. */
void usnic_drop(struct usnic_module *usnic, uint64_t *count, const char *why);
/* A frame whose first byte says that it is one of these. */
void usnic_control_received(struct usnic_module *usnic, const uint8_t *data, size_t size);

#endif
