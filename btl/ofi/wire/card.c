#include <config.h>

#include <base/data/le.h>
#include <btl/ofi/wire/card.h>
#include <netinet/in.h>
#include <rdma/fabric.h>

size_t ofi_card_encode(uint8_t out[OFI_CARD_BYTES], const struct ofi_card *card)
{
    memset(out, 0, OFI_CARD_HEADER);
    out[0] = OFI_CARD_VERSION;
    put_le16(out + 2, (uint16_t) card->address.size);
    put_le32(out + 4, card->address.format);
    put_le32(out + 8, card->max_message);
    memcpy(out + 16, card->provider, strnlen(card->provider, OFI_PROVIDER_BYTES - 1));
    memcpy(out + OFI_CARD_HEADER, card->address.bytes, card->address.size);
    return OFI_CARD_HEADER + card->address.size;
}

int ofi_card_decode(struct ofi_card *card, const void *data, size_t size)
{
    const uint8_t *in = data;

    if (size > 0 && in[0] != OFI_CARD_VERSION) {
        return OPAL_ERR_NOT_SUPPORTED;
    }
    if (size < OFI_CARD_HEADER || in[1] != 0 || get_le32(in + 12) != 0) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    size_t length = get_le16(in + 2);
    if (length == 0 || length > FABRIC_ADDRESS_MAX || length != size - OFI_CARD_HEADER ||
        in[16] == 0 || in[OFI_CARD_HEADER - 1] != 0) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    memset(card, 0, sizeof(*card));
    memcpy(card->provider, in + 16, OFI_PROVIDER_BYTES);
    card->max_message = get_le32(in + 8);
    card->address.format = get_le32(in + 4);
    card->address.size = length;
    memcpy(card->address.bytes, in + OFI_CARD_HEADER, length);
    return OPAL_SUCCESS;
}

/* Printable up to its only zero, which ends it, and of the kind of mine up to "://". */
static bool is_text_like(const struct fabric_address *address, const struct fabric_address *mine)
{
    size_t length = strnlen((const char *) address->bytes, address->size);

    if (length + 1 != address->size) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (address->bytes[i] <= ' ' || address->bytes[i] > '~') {
            return false;
        }
    }
    const char *colon = memchr(mine->bytes, ':', mine->size);
    size_t prefix = colon ? (size_t) (colon - (const char *) mine->bytes) + 3 : 0;
    return prefix < length && memcmp(address->bytes, mine->bytes, prefix) == 0 &&
           !memchr(address->bytes + prefix, '/', length - prefix);
}

static bool is_socket_address(const struct fabric_address *address)
{
    sa_family_t family;
    in_port_t port;

    memcpy(&family, address->bytes, sizeof(family));
    memcpy(&port, address->bytes + offsetof(struct sockaddr_in, sin_port), sizeof(port));
    return port != 0 && ((family == AF_INET && address->size == sizeof(struct sockaddr_in)) ||
                         (family == AF_INET6 && address->size == sizeof(struct sockaddr_in6)));
}

bool ofi_address_check(const struct fabric_address *address, const struct fabric_address *mine)
{
    if (address->format != mine->format || address->size == 0 ||
        address->size > FABRIC_ADDRESS_MAX) {
        return false;
    }
    if (mine->format == FI_ADDR_STR) {
        return is_text_like(address, mine);
    }
    if (address->size != mine->size) {
        return false;
    }
    bool is_socket = mine->format == FI_SOCKADDR_IN || mine->format == FI_SOCKADDR_IN6 ||
                     mine->format == FI_SOCKADDR;
    return !is_socket || (is_socket_address(address) &&
                          memcmp(address->bytes, mine->bytes, sizeof(sa_family_t)) == 0);
}
