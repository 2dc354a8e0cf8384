/* A process's card ("btl.ofi"): the address of its endpoint.
 *
 *   version 1, zero 1, address size 2, address format 4, largest message 4, zero 4, provider 32,
 *   address
 *
 * Little-endian; the provider's name is padded with zeros. Pure functions. An address goes to the
 * provider, which trusts it: ofi_address_check lets through only what has the form of its own. */
#ifndef BTL_OFI_CARD_H
#define BTL_OFI_CARD_H

#include <btl/sessions/fabric_address.h>

enum {
    OFI_CARD_VERSION = 1,
    OFI_PROVIDER_BYTES = 32,
    OFI_CARD_HEADER = 16 + OFI_PROVIDER_BYTES,
    OFI_CARD_BYTES = OFI_CARD_HEADER + FABRIC_ADDRESS_MAX /* the longest */
};

struct ofi_card {
    char provider[OFI_PROVIDER_BYTES]; /* ends with a zero */
    uint32_t max_message;              /* bytes of a frame that its receive buffers hold */
    struct fabric_address address;
};

size_t ofi_card_encode(uint8_t out[OFI_CARD_BYTES], const struct ofi_card *card);
/* OPAL_ERR_UNPACK_FAILURE; OPAL_ERR_NOT_SUPPORTED: another version. */
int ofi_card_decode(struct ofi_card *card, const void *data, size_t size) KEEL_MUST_CHECK;

/* Whether an address that came from a wire can be one of a peer of mine, by its format and size,
 * and for socket addresses and texts by their content. */
bool ofi_address_check(const struct fabric_address *address, const struct fabric_address *mine);

#endif
