#include <config.h>

#include <base/data/le.h>
#include <btl/tcp/wire/card.h>

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

int tcp_card_pair(struct netcard_pair *pair, bool *subnet, const struct tcp_card *mine,
                  const struct tcp_card *peer, uint32_t interface)
{
    return netcard_pair_of(pair, subnet, &mine->net, &peer->net,
                           mine->incarnation < peer->incarnation, interface);
}

size_t tcp_card_order(size_t order[NETCARD_ADDRESSES], const struct tcp_card *mine,
                      const struct tcp_card *peer, uint32_t interface)
{
    return netcard_order_of(order, &mine->net, &peer->net, mine->incarnation < peer->incarnation,
                            interface);
}
