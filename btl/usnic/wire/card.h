/* A process's card ("btl.usnic"), which tells of all its devices; and a place, the part of a hello
 * that tells where the speaker's module is.
 *
 *   card    version 1, zero 7, incarnation 8, then for each address
 *           port of the other channel 2, zero 2, packet 4
 *           then the interfaces (btl/peers/netcard.h), whose ports are those of the data channel
 *   place   family 1 (4 or 6), checksum 1 (0 or 1), ports of the channels 2 + 2, zero 2, packet 4,
 *           zero 4, address 16 (IPv4: the first 4, the rest zero)
 *
 * Little-endian, the address alone in network order. A port of 0 is that of no socket: the process
 * has one for both channels. packet: bytes of the largest one that the device takes. Pure
 * functions. */
#ifndef BTL_USNIC_CARD_H
#define BTL_USNIC_CARD_H

#include <btl/peers/netcard.h>
#include <btl/sessions/fabric_address.h>

enum {
    USNIC_CARD_VERSION = 1,
    USNIC_CARD_BYTES = 16 + NETCARD_ADDRESSES * 8 + NETCARD_BYTES, /* the longest */
    USNIC_PLACE_BYTES = 32,
    USNIC_PACKET_LEAST = 512, /* of every device */
    USNIC_PACKET_MOST = 64 << 10,
};

/* Where a module receives. */
struct usnic_place {
    int family; /* AF_INET or AF_INET6 */
    uint8_t bytes[16];
    uint16_t port, priority_port; /* priority_port 0: the same socket */
    uint32_t packet_bytes;
    bool checksum; /* the speaker wants packets to have one; only a hello tells */
};

struct usnic_card {
    uint64_t incarnation; /* random, new in each life of the process */
    struct netcard net;   /* ports are those of the data channel; none is 0 */
    uint16_t priority_ports[NETCARD_ADDRESSES];
    uint32_t packet_bytes[NETCARD_ADDRESSES];
};

size_t usnic_card_encode(uint8_t out[USNIC_CARD_BYTES], const struct usnic_card *card);
/* OPAL_ERR_UNPACK_FAILURE; OPAL_ERR_NOT_SUPPORTED: another version. */
int usnic_card_decode(struct usnic_card *card, const void *data, size_t size) KEEL_MUST_CHECK;

/* Where the peer's module is with which the interface of mine is paired: as netcard_pair_of. */
int usnic_card_pair(struct usnic_place *peers, const struct usnic_card *mine,
                    const struct usnic_card *peer, uint32_t interface) KEEL_MUST_CHECK;

struct usnic_place usnic_card_place(const struct usnic_card *card, size_t address);
void usnic_place_encode(uint8_t out[USNIC_PLACE_BYTES], const struct usnic_place *place);
int usnic_place_decode(struct usnic_place *place, const void *data, size_t size) KEEL_MUST_CHECK;
/* The socket of a channel there, as libfabric has it. */
struct fabric_address usnic_place_address(const struct usnic_place *place, bool priority);

#endif
