#include <config.h>

#include <base/data/crc32c.h>
#include <btl/usnic/wire/packet.h>

enum { FLAGS_AT = 38, WAITED_AT = 39, CRC_AT = 40 };

void usnic_header_encode(uint8_t out[USNIC_HEADER_BYTES], const struct usnic_header *header)
{
    out[0] = (uint8_t) (header->kind | USNIC_VERSION << 4);
    out[1] = header->ranges;
    put_le16(out + 2, header->credit);
    put_le32(out + 4, header->index);
    put_le64(out + 8, header->token);
    put_le32(out + 16, header->sequence);
    put_le32(out + 20, header->ack);
    put_le32(out + 24, header->stamp);
    put_le32(out + 28, header->echo);
    put_le32(out + 32, header->delay);
    put_le16(out + 36, header->length);
    out[FLAGS_AT] = header->flags;
    out[WAITED_AT] = header->waited;
    put_le32(out + CRC_AT, header->crc);
}

bool usnic_header_decode(struct usnic_header *header, const uint8_t *data, size_t size)
{
    if (size < USNIC_HEADER_BYTES || data[0] >> 4 != USNIC_VERSION) {
        return false;
    }
    *header = (struct usnic_header){.kind = data[0] & 0xf,
                                    .ranges = data[1],
                                    .credit = get_le16(data + 2),
                                    .index = get_le32(data + 4),
                                    .token = get_le64(data + 8),
                                    .sequence = get_le32(data + 16),
                                    .ack = get_le32(data + 20),
                                    .stamp = get_le32(data + 24),
                                    .echo = get_le32(data + 28),
                                    .delay = get_le32(data + 32),
                                    .length = get_le16(data + 36),
                                    .flags = data[FLAGS_AT],
                                    .waited = data[WAITED_AT],
                                    .crc = get_le32(data + CRC_AT)};
    size_t tail = (size_t) header->ranges * USNIC_RANGE_BYTES;
    bool known = header->kind == USNIC_PACKET ? header->length > 0
                                              : header->kind == USNIC_ACK && header->length == 0;
    return known && header->ranges <= USNIC_RANGES && header->flags <= USNIC_SUMMED &&
           header->waited <= USNIC_WAITED_MOST &&
           size - USNIC_HEADER_BYTES == header->length + tail;
}

void usnic_ranges_encode(uint8_t *out, uint32_t ack, const struct usnic_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++, out += USNIC_RANGE_BYTES) {
        put_le16(out, (uint16_t) (ranges[i].first - ack));
        put_le16(out + 2, (uint16_t) (ranges[i].end - ranges[i].first));
    }
}

struct usnic_range usnic_range_decode(const uint8_t *in, uint32_t ack)
{
    uint32_t first = ack + get_le16(in);

    return (struct usnic_range){first, first + get_le16(in + 2)};
}

/* The checksum's own bytes are at the end of the header. */
static uint32_t sum_of(const uint8_t *data, size_t size)
{
    uint32_t crc = crc32c(0, data, CRC_AT);

    return crc32c(crc, data + USNIC_HEADER_BYTES, size - USNIC_HEADER_BYTES);
}

void usnic_packet_sum(uint8_t *data, size_t size)
{
    data[FLAGS_AT] = USNIC_SUMMED;
    put_le32(data + CRC_AT, sum_of(data, size));
}

bool usnic_packet_is_sound(const uint8_t *data, size_t size, bool wanted)
{
    if (data[FLAGS_AT] & USNIC_SUMMED) {
        return get_le32(data + CRC_AT) == sum_of(data, size);
    }
    return !wanted;
}

size_t usnic_record_encode(uint8_t *out, const struct usnic_record *record)
{
    put_le16(out, record->size);
    out[2] = (uint8_t) (record->kind | record->channel << 4);
    out[3] = record->tag;
    if (record->kind == USNIC_WHOLE) {
        return USNIC_RECORD_BYTES;
    }
    put_le32(out + 4, record->offset);
    put_le32(out + 8, record->total);
    return USNIC_CHUNK_BYTES;
}

bool usnic_record_decode(struct usnic_record *record, const uint8_t *records, size_t length,
                         size_t *at, const uint8_t **data)
{
    const uint8_t *in = records + *at;
    size_t left = length - *at, header = USNIC_RECORD_BYTES;

    if (left < header) {
        return false;
    }
    *record = (struct usnic_record){
        .size = get_le16(in), .kind = in[2] & 0xf, .channel = in[2] >> 4, .tag = in[3]};
    if (record->kind == USNIC_CHUNK) {
        header = USNIC_CHUNK_BYTES;
        if (left < header) {
            return false;
        }
        record->offset = get_le32(in + 4);
        record->total = get_le32(in + 8);
    }
    if (record->kind == 0 || record->kind > USNIC_CHUNK ||
        usnic_record_bytes(header, record->size) > left) {
        return false;
    }
    *data = in + header;
    *at += usnic_record_bytes(header, record->size);
    return true;
}
