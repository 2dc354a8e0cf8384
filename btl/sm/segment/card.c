#include <config.h>

#include <base/data/le.h>
#include <btl/sm/segment/card.h>
#include <string.h>

/* Offsets: 0 version, 1 backing, 2 zero, 4 pid, 8 fd, 12 uid, 16 start time, 24 size, 32 nonce,
 * 48 file. */
_Static_assert(48 + SM_NONCE_BYTES == SM_CARD_BYTES, "the card is full");

void sm_card_encode(uint8_t bytes[SM_CARD_BYTES], const struct sm_card *card)
{
    memset(bytes, 0, SM_CARD_BYTES);
    bytes[0] = SM_CARD_VERSION;
    bytes[1] = (uint8_t) card->backing;
    put_le32(bytes + 4, card->pid);
    put_le32(bytes + 8, card->fd);
    put_le32(bytes + 12, card->uid);
    put_le64(bytes + 16, card->start_time);
    put_le64(bytes + 24, card->size);
    memcpy(bytes + 32, card->nonce, SM_NONCE_BYTES);
    memcpy(bytes + 48, card->file, SM_NONCE_BYTES);
}

int sm_card_decode(struct sm_card *card, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    if (size != SM_CARD_BYTES || bytes[0] != SM_CARD_VERSION || bytes[2] || bytes[3]) {
        return ORTE_ERR_BAD_PARAM;
    }
    struct sm_card read = {
        .backing = bytes[1],
        .pid = get_le32(bytes + 4),
        .fd = get_le32(bytes + 8),
        .uid = get_le32(bytes + 12),
        .start_time = get_le64(bytes + 16),
        .size = get_le64(bytes + 24),
    };
    bool known = read.backing == SM_BACKING_MEMFD || read.backing == SM_BACKING_FILE;
    if (!known || read.pid == 0 || read.pid > INT32_MAX || read.fd > INT32_MAX) {
        return ORTE_ERR_BAD_PARAM;
    }
    memcpy(read.nonce, bytes + 32, SM_NONCE_BYTES);
    memcpy(read.file, bytes + 48, SM_NONCE_BYTES);
    *card = read;
    return ORTE_SUCCESS;
}
