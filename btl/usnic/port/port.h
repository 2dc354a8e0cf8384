/* A device as libfabric has it: one endpoint of datagrams (FI_EP_DGRAM) for each channel, or one
 * for both; its receive buffers, and the memory that packets are sent from. This file alone knows
 * libfabric. Sizes, the prefix and what has to be registered are the provider's. A packet that it
 * refuses for another reason than want of room is lost, as on any wire of datagrams.
 *
 * One thread at a time. */
#ifndef BTL_USNIC_PORT_H
#define BTL_USNIC_PORT_H

#include <base/data/pool.h>
#include <btl/fabric/fabric_receive.h>
#include <btl/usnic/wire/card.h>

enum usnic_socket { USNIC_SOCKET_DATA, USNIC_SOCKET_PRIORITY, USNIC_SOCKETS };

struct usnic_port_config {
    const char *provider, *domain, *address; /* exact names; the address of the device */
    size_t sockets;                          /* 1: one for both channels; 2 */
    size_t receives;                         /* buffers of each socket */
    size_t element_bytes;                    /* of what the module knows of a receive buffer */
    size_t sends;                            /* packets to send from: usnic_port_carve */
    size_t packet_bytes; /* of the largest packet, at most; 0: as the provider has it */
};

struct usnic_port_user {
    /* A packet. True: its buffer is kept until usnic_port_release. */
    bool (*received)(void *arg, struct fabric_rx *rx, uint8_t *bytes, size_t size);
    /* The bytes of a packet that usnic_port_transmit returned 0 for may change. */
    void (*sent)(void *arg, void *owner);
};

/* For btl/framework/stats.h. */
struct usnic_port_counts {
    uint64_t packets_out, packets_in;
    uint64_t busy;    /* packets that the provider had no room for */
    uint64_t refused; /* that it refused for another reason: lost */
    uint64_t receive_errors;
    uint64_t reposts; /* receive buffers that it had no room for */
};

struct usnic_port {
    struct fabric fabrics[USNIC_SOCKETS];
    struct fabric_receives receives[USNIC_SOCKETS];
    bool found[USNIC_SOCKETS]; /* the last poll has found something */
    size_t sockets;
    struct fabric_mr *send_mr; /* of the memory to send from, for the second socket */
    size_t prefix, inject; /* the provider's; inject: bytes of a packet that need no completion */
    size_t packet_bytes;   /* of the largest packet */
    struct pool txs;       /* transmissions that the provider has not ended */
    struct list in_flight;
    const struct usnic_port_user *user; /* borrowed */
    void *arg;
    struct usnic_port_counts counts;
};

/* Where a peer's sockets are, as libfabric knows them. */
struct usnic_way {
    fi_addr_t at[USNIC_SOCKETS];
    bool known;
};

/* NOT_AVAILABLE with the reason. To be closed in any case. */
int usnic_port_open(struct usnic_port *port, const struct usnic_port_config *config,
                    const struct usnic_port_user *user, void *arg, char *reason,
                    size_t reason_size) KEEL_MUST_CHECK;
/* For a restart: other endpoints, on an address that may be another, for packets of the same size.
 * Ways are void. */
int usnic_port_reopen(struct usnic_port *port, const struct usnic_port_config *config, char *reason,
                      size_t reason_size) KEEL_MUST_CHECK;
/* Closes the endpoints: nothing comes any more, and no bytes are the provider's; sent is called for
 * those that were. */
void usnic_port_stop(struct usnic_port *port);
void usnic_port_close(struct usnic_port *port);

/* Memory to send count packets from, each size bytes, stride apart; each begins with room for the
 * provider's prefix, behind which the packet begins. */
size_t usnic_port_stride(const struct usnic_port *port);
uint8_t *usnic_port_carve(struct usnic_port *port, size_t count);
/* The port number of a socket; 0: there is none. */
uint16_t usnic_port_number(const struct usnic_port *port, enum usnic_socket socket);

int usnic_port_locate(struct usnic_port *port, struct usnic_way *way,
                      const struct usnic_place *place) KEEL_MUST_CHECK;
void usnic_port_forget(struct usnic_port *port, struct usnic_way *way);

/* A packet from memory that was carved. 1: its bytes may change; 0: not before sent is called for
 * its owner; OUT_OF_RESOURCE: it was not taken. */
int usnic_port_transmit(struct usnic_port *port, const struct usnic_way *way,
                        enum usnic_socket socket, uint8_t *bytes, size_t size, void *owner);
/* Takes up to so many packets; returns the events. */
int usnic_port_poll(struct usnic_port *port, int most);
void usnic_port_release(struct usnic_port *port, struct fabric_rx *rx);
/* Nothing can go or come: a restart failed. */
static inline bool usnic_port_is_shut(const struct usnic_port *port)
{
    return !port->fabrics[USNIC_SOCKET_DATA].ep;
}
/* Bytes of the kernel's buffer that the packets of one socket have until they are received. */
size_t usnic_port_room(void);

#endif
