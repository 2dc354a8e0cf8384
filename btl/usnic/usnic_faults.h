/* What the fault points btl.usnic.send and btl.usnic.recv do to packets. */
#ifndef BTL_USNIC_FAULTS_H
#define BTL_USNIC_FAULTS_H

#include <btl/usnic/usnic_peer.h>

/* Packets of the port's that copies are sent from; as many hold copies of what came. */
enum { USNIC_FAULT_PACKETS = 64 };

/* ORTE_SUCCESS also where no such point is named. */
int usnic_faults_open(struct usnic_module *usnic) KEEL_MUST_CHECK;
void usnic_faults_close(struct usnic_module *usnic);
/* As usnic_port_transmit. */
int usnic_faults_transmit(usnic_endpoint *peer, enum usnic_socket socket, uint8_t *bytes,
                          size_t size, void *owner);
/* As usnic_receive, of a buffer that has come; false: it is not kept. */
bool usnic_faults_receive(struct usnic_module *usnic, struct usnic_rx *rx, uint8_t *bytes,
                          size_t size);
/* What was held back and nothing has followed goes on now. */
void usnic_faults_flush(struct usnic_module *usnic);
/* True: the buffer was one of the faults' own. */
bool usnic_faults_release(struct usnic_module *usnic, struct usnic_rx *rx);

#endif
