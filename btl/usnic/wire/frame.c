#include <config.h>

#include <base/data/crc32c.h>
#include <base/data/le.h>
#include <btl/usnic/wire/frame.h>

enum { CRC_AT = 16 };

void usnic_control_encode(uint8_t out[USNIC_CONTROL_HEADER],
                          const struct usnic_control_frame *frame)
{
    out[0] = frame->kind;
    out[1] = USNIC_CONTROL_VERSION;
    put_le16(out + 2, frame->size);
    put_le32(out + 4, frame->index);
    put_le64(out + 8, frame->token);
    put_le32(out + CRC_AT, crc32c(0, out, CRC_AT));
}

int usnic_control_decode(struct usnic_control_frame *frame, const uint8_t *data, size_t size)
{
    if (size < USNIC_CONTROL_HEADER || data[0] < USNIC_OVER || data[0] > USNIC_HERE) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    if (data[1] != USNIC_CONTROL_VERSION) {
        return OPAL_ERR_NOT_SUPPORTED;
    }
    *frame = (struct usnic_control_frame){.kind = data[0],
                                          .size = get_le16(data + 2),
                                          .index = get_le32(data + 4),
                                          .token = get_le64(data + 8)};
    return size == (frame->kind == USNIC_PROBE ? frame->size : USNIC_CONTROL_HEADER) &&
                   get_le32(data + CRC_AT) == crc32c(0, data, CRC_AT)
               ? OPAL_SUCCESS
               : OPAL_ERR_UNPACK_FAILURE;
}
