/* Messages and packets on their way out. */
#ifndef BTL_USNIC_SEND_H
#define BTL_USNIC_SEND_H

#include <btl/usnic/usnic_peer.h>

int usnic_channel_send(mca_btl_base_module_t *btl, usnic_endpoint *endpoint,
                       mca_btl_base_descriptor_t *descriptor, uint8_t channel,
                       mca_btl_base_tag_t tag);
int usnic_channel_sendi(mca_btl_base_module_t *btl, usnic_endpoint *endpoint,
                        opal_convertor_t *convertor, void *header, size_t header_size,
                        size_t payload_size, uint8_t order, uint32_t flags, uint8_t channel,
                        mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor);
/* The last message of a session. */
int usnic_send_bye(usnic_endpoint *peer);
/* What was not packed calls back. */
void usnic_send_fail(usnic_endpoint *peer, int status);

/* A packet or control frame, as usnic_port_transmit. */
int usnic_bytes_transmit(usnic_endpoint *peer, enum usnic_socket socket, uint8_t *bytes,
                         size_t size, void *owner);
/* As struct usnic_user has them. */
int usnic_segment_transmit(void *arg, struct usnic_flow *flow, enum usnic_channel channel,
                           struct usnic_segment *segment);
void usnic_packed(void *arg, struct usnic_flow *flow, struct usnic_message *message);

#endif
