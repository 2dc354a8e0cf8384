#include <config.h>

#include <base/data/le.h>
#include <btl/usnic/wire/card.h>
#include <netinet/in.h>

enum { CARD_HEAD = 16, CARD_ENTRY = 8 };

static bool is_zero(const uint8_t *bytes, size_t size)
{
    static const uint8_t zero[16];

    return memcmp(bytes, zero, size) == 0;
}

static bool is_packet(uint32_t bytes)
{
    return bytes >= USNIC_PACKET_LEAST && bytes <= USNIC_PACKET_MOST;
}

/* ---- cards ---- */

size_t usnic_card_encode(uint8_t out[USNIC_CARD_BYTES], const struct usnic_card *card)
{
    memset(out, 0, CARD_HEAD);
    out[0] = USNIC_CARD_VERSION;
    out[1] = (uint8_t) card->net.count;
    put_le64(out + 8, card->incarnation);
    uint8_t *at = out + CARD_HEAD;
    for (size_t i = 0; i < card->net.count; i++, at += CARD_ENTRY) {
        put_le16(at, card->priority_ports[i]);
        put_le16(at + 2, 0);
        put_le32(at + 4, card->packet_bytes[i]);
    }
    return (size_t) (at - out) + netcard_encode(at, &card->net);
}

static int entry_decode(struct usnic_card *card, size_t i, const uint8_t *in)
{
    card->priority_ports[i] = get_le16(in);
    card->packet_bytes[i] = get_le32(in + 4);
    return get_le16(in + 2) == 0 && is_packet(card->packet_bytes[i]) &&
                   card->net.addresses[i].port != 0
               ? OPAL_SUCCESS
               : OPAL_ERR_UNPACK_FAILURE;
}

int usnic_card_decode(struct usnic_card *card, const void *data, size_t size)
{
    const uint8_t *in = data;
    struct usnic_card out = {0};

    if (size < 1 || in[0] != USNIC_CARD_VERSION) {
        return size < 1 ? OPAL_ERR_UNPACK_FAILURE : OPAL_ERR_NOT_SUPPORTED;
    }
    if (size < CARD_HEAD || in[1] > NETCARD_ADDRESSES || !is_zero(in + 2, 6)) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    size_t head = CARD_HEAD + (size_t) in[1] * CARD_ENTRY;
    if (size < head || netcard_decode(&out.net, in + head, size - head) != OPAL_SUCCESS ||
        out.net.count != in[1]) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    for (size_t i = 0; i < out.net.count; i++) {
        int status = entry_decode(&out, i, in + CARD_HEAD + i * CARD_ENTRY);
        if (status != OPAL_SUCCESS) {
            return status;
        }
    }
    out.incarnation = get_le64(in + 8);
    *card = out;
    return OPAL_SUCCESS;
}

int usnic_card_pair(struct usnic_place *peers, const struct usnic_card *mine,
                    const struct usnic_card *peer, uint32_t interface)
{
    struct netcard_pair pair;
    bool subnet;
    int status = netcard_pair_of(&pair, &subnet, &mine->net, &peer->net,
                                 mine->incarnation < peer->incarnation, interface);

    if (status == OPAL_SUCCESS) {
        *peers = usnic_card_place(peer, pair.peer);
    }
    return status;
}

/* ---- places ---- */

struct usnic_place usnic_card_place(const struct usnic_card *card, size_t address)
{
    const struct netcard_address *from = &card->net.addresses[address];
    struct usnic_place place = {.family = from->family,
                                .port = from->port,
                                .priority_port = card->priority_ports[address],
                                .packet_bytes = card->packet_bytes[address]};

    memcpy(place.bytes, from->bytes, sizeof(place.bytes));
    return place;
}

static size_t address_bytes(const struct usnic_place *place)
{
    return place->family == AF_INET ? 4 : 16;
}

void usnic_place_encode(uint8_t out[USNIC_PLACE_BYTES], const struct usnic_place *place)
{
    memset(out, 0, USNIC_PLACE_BYTES);
    out[0] = place->family == AF_INET ? 4 : 6;
    out[1] = place->checksum;
    put_le16(out + 2, place->port);
    put_le16(out + 4, place->priority_port);
    put_le32(out + 8, place->packet_bytes);
    memcpy(out + 16, place->bytes, address_bytes(place));
}

int usnic_place_decode(struct usnic_place *place, const void *data, size_t size)
{
    const uint8_t *in = data;

    if (size != USNIC_PLACE_BYTES || (in[0] != 4 && in[0] != 6) || in[1] > 1 ||
        !is_zero(in + 6, 2) || !is_zero(in + 12, 4)) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    struct usnic_place out = {.family = in[0] == 4 ? AF_INET : AF_INET6,
                              .port = get_le16(in + 2),
                              .priority_port = get_le16(in + 4),
                              .packet_bytes = get_le32(in + 8),
                              .checksum = in[1]};
    size_t used = address_bytes(&out);
    if (out.port == 0 || !is_packet(out.packet_bytes) || !is_zero(in + 16 + used, 16 - used)) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    memcpy(out.bytes, in + 16, used);
    *place = out;
    return OPAL_SUCCESS;
}

struct fabric_address usnic_place_address(const struct usnic_place *place, bool priority)
{
    in_port_t port = htons(priority && place->priority_port ? place->priority_port : place->port);
    struct fabric_address address = {.size = sizeof(struct sockaddr_in)};

    if (place->family == AF_INET) {
        struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = port};
        memcpy(&in.sin_addr, place->bytes, sizeof(in.sin_addr));
        memcpy(address.bytes, &in, sizeof(in));
    } else {
        struct sockaddr_in6 in = {.sin6_family = AF_INET6, .sin6_port = port};
        memcpy(&in.sin6_addr, place->bytes, sizeof(in.sin6_addr));
        memcpy(address.bytes, &in, sizeof(in));
        address.size = sizeof(in);
    }
    return address;
}
