/* A process's card ("btl.tcp"): where it listens; and which of its interfaces reach a peer.
 *
 *   version 1, zero 7, incarnation 8, then the interfaces (btl/peers/netcard.h)
 *
 * Little-endian. Pure functions. */
#ifndef BTL_TCP_CARD_H
#define BTL_TCP_CARD_H

#include <btl/peers/netcard.h>
#include <btl/tcp/wire/wire.h>

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

/* As netcard_pair_of. */
int tcp_card_pair(struct netcard_pair *pair, bool *subnet, const struct tcp_card *mine,
                  const struct tcp_card *peer, uint32_t interface) KEEL_MUST_CHECK;
/* As netcard_order_of. */
size_t tcp_card_order(size_t order[NETCARD_ADDRESSES], const struct tcp_card *mine,
                      const struct tcp_card *peer, uint32_t interface);

#endif
