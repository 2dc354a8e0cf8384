#include <config.h>

#include <base/le.h>
#include <btl/tcp/tcp_card.h>

enum { CARD_HEAD = 16 };

size_t tcp_card_encode(uint8_t out[TCP_CARD_BYTES], const struct tcp_card *card)
{
    memset(out, 0, CARD_HEAD);
    out[0] = TCP_CARD_VERSION;
    put_le64(out + 8, card->incarnation);
    return CARD_HEAD + netcard_encode(out + CARD_HEAD, &card->net);
}

int tcp_card_decode(struct tcp_card *card, const void *data, size_t size)
{
    const uint8_t *in = data;
    static const uint8_t zero[7];
    struct tcp_card out;

    if (size < 1 || in[0] != TCP_CARD_VERSION) {
        return size < 1 ? OPAL_ERR_UNPACK_FAILURE : OPAL_ERR_NOT_SUPPORTED;
    }
    if (size < CARD_HEAD || memcmp(in + 1, zero, sizeof(zero)) != 0 ||
        netcard_decode(&out.net, in + CARD_HEAD, size - CARD_HEAD) != OPAL_SUCCESS) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    for (size_t i = 0; i < out.net.count; i++) {
        if (out.net.addresses[i].port == 0) {
            return OPAL_ERR_UNPACK_FAILURE;
        }
    }
    out.incarnation = get_le64(in + 8);
    *card = out;
    return OPAL_SUCCESS;
}

/* The address first, then one of each pair that is not of its interface. */
static size_t distinct_ways(size_t ways[NETCARD_ADDRESSES + 1], const struct netcard *mine,
                            const struct netcard *peer, size_t first, bool lower)
{
    struct netcard_pair pairs[NETCARD_ADDRESSES];
    size_t found = netcard_pair(pairs, mine, peer, NETCARD_SAME_SUBNET, lower), count = 1;

    ways[0] = first;
    for (size_t i = 0; i < found; i++) {
        if (peer->addresses[pairs[i].peer].interface != peer->addresses[first].interface) {
            ways[count++] = pairs[i].peer;
        }
    }
    return count;
}

size_t tcp_card_more(size_t more[TCP_LANES], const struct netcard *mine, const struct netcard *peer,
                     size_t first, size_t wanted, bool lower)
{
    size_t ways[NETCARD_ADDRESSES + 1];
    size_t found = distinct_ways(ways, mine, peer, first, lower);
    size_t count = wanted > 0 ? wanted : mine->netstack == peer->netstack ? 1 : found;

    count = count <= TCP_LANES ? count : TCP_LANES + 1;
    for (size_t i = 1; i < count; i++) {
        more[i - 1] = ways[i % found];
    }
    return count - 1;
}
