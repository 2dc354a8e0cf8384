/* The network interfaces of a process, as a part of its card; and which of them two processes use
 * with each other.
 *
 *   count 1, zero 7, netstack 8, then for each address
 *   family 1 (4 or 6), prefix 1, port 2, speed 4, mtu 4, interface 4, far 1, zero 3,
 *   address 16 (IPv4: the first 4, the rest zero)
 *
 * Little-endian, the address and nothing else in network order. Pure functions but for netcard_add
 * and netcard_netstack. */
#ifndef BTL_NETCARD_H
#define BTL_NETCARD_H

#include <base/net/netif.h>
#include <base/net/sock.h>

enum {
    NETCARD_ADDRESSES = 16,
    NETCARD_BYTES = 16 + NETCARD_ADDRESSES * 36, /* the longest */
};

struct netcard_address {
    int family; /* AF_INET or AF_INET6 */
    unsigned prefix;
    uint16_t port;
    uint32_t speed_mbps; /* 0: unknown */
    uint32_t mtu_bytes;
    uint32_t interface; /* the kernel's number: addresses of one interface have the same */
    bool far;           /* from the processors that the process may use */
    uint8_t bytes[16];
};

struct netcard {
    uint64_t netstack; /* equal where loopback addresses mean the same host */
    size_t count;
    struct netcard_address addresses[NETCARD_ADDRESSES];
};

/* Returns how many bytes it wrote. */
size_t netcard_encode(uint8_t out[NETCARD_BYTES], const struct netcard *card);
/* OPAL_ERR_UNPACK_FAILURE. */
int netcard_decode(struct netcard *card, const void *data, size_t size) KEEL_MUST_CHECK;

/* Appends an interface's address, and where it listens. false: there is no room, or a card cannot
 * carry it (an IPv6 link-local one). */
bool netcard_add(struct netcard *card, const struct netif *netif, uint16_t port) KEEL_MUST_CHECK;
void netcard_sock(struct sock_addr *addr, const struct netcard_address *address);
/* A number for this host's network stack: from the boot and the network namespace. */
uint64_t netcard_netstack(void);

/* How likely an address of mine and one of the peer's lead to each other. */
enum netcard_way {
    NETCARD_NO_WAY,
    NETCARD_OTHER_KIND, /* one is public, one private */
    NETCARD_SAME_KIND,
    NETCARD_SAME_SUBNET,
};

/* The peer's addresses in the order to try them: those in a subnet of mine first, then those of the
 * same kind as one of mine, then the rest; among those the faster first (the slower end counts),
 * then those whose devices are near the processes. A loopback address, or one that is my own, leads
 * to the peer only within one network stack; elsewhere it is left out. Returns how many indices it
 * wrote. */
size_t netcard_order(size_t order[NETCARD_ADDRESSES], const struct netcard *mine,
                     const struct netcard *peer);

/* Pairs my interfaces with the peer's, each with one at most: as many as there can be of those
 * whose way is least or better, and then by the order above (base/net/pairing.h). pairs gets an
 * address of mine and one of the peer's of each, in the order of my interfaces. The peer's call,
 * with first the other way round, gives the same pairs. Returns how many there are. */
struct netcard_pair {
    size_t mine, peer;
};
size_t netcard_pair(struct netcard_pair pairs[NETCARD_ADDRESSES], const struct netcard *mine,
                    const struct netcard *peer, enum netcard_way least, bool first);
/* The addresses by which an interface of mine reaches a peer. Interfaces in a subnet together serve
 * in pairs (*subnet), each with one at most; where there are none, and within a network stack, the
 * best pair of all serves alone. The peer comes to the same pairs. NOT_AVAILABLE: other interfaces
 * reach it; UNREACH: none does. */
int netcard_pair_of(struct netcard_pair *pair, bool *subnet, const struct netcard *mine,
                    const struct netcard *peer, bool first, uint32_t interface) KEEL_MUST_CHECK;
/* As netcard_order, for an interface of mine: without the addresses of the peer's interfaces that
 * are paired with others of mine. */
size_t netcard_order_of(size_t order[NETCARD_ADDRESSES], const struct netcard *mine,
                        const struct netcard *peer, bool first, uint32_t interface);

#endif
