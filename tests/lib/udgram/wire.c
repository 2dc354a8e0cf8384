#include <config.h>

#include <tests/lib/udgram/wire.h>

size_t udgram_card_encode(uint8_t out[UDGRAM_CARD_BYTES], const struct udgram_card *card)
{
    size_t length = strlen(card->path);

    put_le64(out, card->netstack);
    memcpy(out + 8, card->path, length);
    return 8 + length;
}

int udgram_card_decode(struct udgram_card *card, const void *data, size_t size)
{
    const uint8_t *in = data;

    if (size <= 8 || size >= UDGRAM_CARD_BYTES || in[8] != '/' || memchr(in + 8, '\0', size - 8)) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    *card = (struct udgram_card){.netstack = get_le64(in)};
    memcpy(card->path, in + 8, size - 8);
    return OPAL_SUCCESS;
}

void udgram_header_encode(uint8_t out[UDGRAM_HEADER_BYTES], const struct udgram_header *header)
{
    out[0] = (uint8_t) (header->kind | header->channel << 4);
    out[1] = header->tag;
    put_le16(out + 2, 0);
    put_le32(out + 4, header->index);
}

struct udgram_header udgram_header_decode(const uint8_t *in)
{
    return (struct udgram_header){
        .kind = in[0] & 0x0f, .channel = in[0] >> 4, .tag = in[1], .index = get_le32(in + 4)};
}

static void mac_of(uint8_t mac[MAC_BYTES], const uint8_t *hello, const char *path,
                   const uint8_t key[KEY_BYTES])
{
    static char purpose[] = "keel udgram hello";
    const struct iovec parts[] = {{purpose, sizeof(purpose)},
                                  {(void *) hello, UDGRAM_HELLO_BYTES - MAC_BYTES},
                                  {(void *) path, strlen(path)}};

    crypto_mac(mac, key, parts, 3);
}

void udgram_hello_encode(uint8_t out[UDGRAM_HELLO_BYTES], const struct udgram_hello *hello,
                         const char *path, const uint8_t key[KEY_BYTES])
{
    out[0] = UDGRAM_HELLO;
    out[1] = UDGRAM_VERSION;
    put_le16(out + 2, 0);
    put_le32(out + 4, hello->index);
    name_put(out + 8, &hello->from);
    name_put(out + 16, &hello->to);
    put_le64(out + 24, hello->epoch);
    put_le64(out + 32, hello->echo);
    mac_of(out + 40, out, path, key);
}

int udgram_hello_decode(struct udgram_hello *hello, const uint8_t *in, size_t size)
{
    if (size != UDGRAM_HELLO_BYTES || in[0] != UDGRAM_HELLO || in[1] != UDGRAM_VERSION ||
        get_le64(in + 24) == 0) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    *hello = (struct udgram_hello){.index = get_le32(in + 4),
                                   .from = name_get(in + 8),
                                   .to = name_get(in + 16),
                                   .epoch = get_le64(in + 24),
                                   .echo = get_le64(in + 32)};
    return OPAL_SUCCESS;
}

int udgram_hello_check(const uint8_t in[UDGRAM_HELLO_BYTES], const char *path,
                       const uint8_t key[KEY_BYTES])
{
    uint8_t mac[MAC_BYTES];

    mac_of(mac, in, path, key);
    return crypto_equal(mac, in + 40, MAC_BYTES) ? OPAL_SUCCESS : OPAL_ERR_PERM;
}
