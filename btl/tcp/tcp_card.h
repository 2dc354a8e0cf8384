/* A process's card ("btl.tcp"): where it listens; and the addresses of a peer that further links go
 * to.
 *
 *   version 1, zero 7, incarnation 8, then the interfaces (btl/netcard.h)
 *
 * Little-endian. Pure functions. */
#ifndef BTL_TCP_CARD_H
#define BTL_TCP_CARD_H

#include <btl/netcard.h>
#include <btl/tcp/tcp_wire.h>

enum {
    TCP_CARD_VERSION = 2,
    TCP_CARD_BYTES = 16 + NETCARD_BYTES, /* the longest */
};

struct tcp_card {
    uint64_t incarnation; /* random, new in each life of the process */
    struct netcard net;   /* no port is 0 */
};

size_t tcp_card_encode(uint8_t out[TCP_CARD_BYTES], const struct tcp_card *card);
/* OPAL_ERR_UNPACK_FAILURE; OPAL_ERR_NOT_SUPPORTED: another version. */
int tcp_card_decode(struct tcp_card *card, const void *data, size_t size) KEEL_MUST_CHECK;

/* The peer's addresses for links beside the one to the address first: one of each further pair of
 * interfaces in a subnet together; wanted links in all go around those and the first. wanted 0: as
 * many as there are such pairs, but none within a network stack. lower: my name is below the
 * peer's. Returns how many indices it wrote. */
size_t tcp_card_more(size_t more[TCP_LANES], const struct netcard *mine, const struct netcard *peer,
                     size_t first, size_t wanted, bool lower);

#endif
