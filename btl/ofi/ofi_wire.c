#include <config.h>

#include <btl/ofi/ofi_wire.h>

static const uint8_t magic[4] = {'K', 'L', 'o', 'f'};

static void mac_of(uint8_t mac[MAC_BYTES], const uint8_t *data, size_t size,
                   const uint8_t key[KEY_BYTES])
{
    static char purpose[] = "keel ofi hello";
    const struct iovec parts[] = {{purpose, sizeof(purpose)}, {(void *) data, size}};

    crypto_mac(mac, key, parts, 2);
}

size_t ofi_hello_encode(uint8_t out[OFI_HELLO_MAX], const struct ofi_hello *hello,
                        const uint8_t key[KEY_BYTES])
{
    size_t size = OFI_HELLO_FIXED + hello->address.size;

    out[0] = OFI_HELLO;
    out[1] = OFI_WIRE_VERSION;
    put_le16(out + 2, (uint16_t) hello->address.size);
    put_le32(out + 4, hello->index);
    memcpy(out + 8, magic, sizeof(magic));
    put_le32(out + 12, hello->max_message);
    name_put(out + 16, &hello->from);
    name_put(out + 24, &hello->to);
    put_le64(out + 32, hello->epoch);
    put_le64(out + 40, hello->echo);
    memcpy(out + OFI_HELLO_FIXED, hello->address.bytes, hello->address.size);
    mac_of(out + size, out, size, key);
    return size + MAC_BYTES;
}

int ofi_hello_decode(struct ofi_hello *hello, const uint8_t *data, size_t size)
{
    if (size < OFI_HELLO_FIXED + MAC_BYTES || data[0] != OFI_HELLO ||
        memcmp(data + 8, magic, sizeof(magic)) != 0) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    if (data[1] != OFI_WIRE_VERSION) {
        return OPAL_ERR_NOT_SUPPORTED;
    }
    size_t length = get_le16(data + 2);
    if (length == 0 || length > FABRIC_ADDRESS_MAX ||
        length != size - OFI_HELLO_FIXED - MAC_BYTES || get_le64(data + 32) == 0) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    memset(hello, 0, sizeof(*hello));
    hello->index = get_le32(data + 4);
    hello->max_message = get_le32(data + 12);
    hello->from = name_get(data + 16);
    hello->to = name_get(data + 24);
    hello->epoch = get_le64(data + 32);
    hello->echo = get_le64(data + 40);
    hello->address.size = length;
    memcpy(hello->address.bytes, data + OFI_HELLO_FIXED, length);
    return OPAL_SUCCESS;
}

int ofi_hello_check(const uint8_t *data, size_t size, const uint8_t key[KEY_BYTES])
{
    uint8_t mac[MAC_BYTES];

    mac_of(mac, data, size - MAC_BYTES, key);
    return crypto_equal(mac, data + size - MAC_BYTES, MAC_BYTES) ? OPAL_SUCCESS : OPAL_ERR_PERM;
}

uint64_t ofi_token(const uint8_t key[KEY_BYTES], const orte_process_name_t *from,
                   const orte_process_name_t *to, uint64_t from_epoch, uint64_t to_epoch)
{
    static char purpose[] = "keel ofi token";
    uint8_t ends[32], mac[MAC_BYTES];
    const struct iovec parts[] = {{purpose, sizeof(purpose)}, {ends, sizeof(ends)}};

    name_put(ends, from);
    name_put(ends + 8, to);
    put_le64(ends + 16, from_epoch);
    put_le64(ends + 24, to_epoch);
    crypto_mac(mac, key, parts, 2);
    return get_le64(mac);
}
