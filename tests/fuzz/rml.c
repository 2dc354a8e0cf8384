/* The RML's frames and broadcasts: what the headers' decoders take is what their encoders write,
 * and what the assembly makes of frames in any order is what they said. */
#include <config.h>

#include <limits.h>
#include <rml/broadcast/cast_wire.h>
#include <rml/message/assemble.h>
#include <rml/message/rml_wire.h>
#include <stdlib.h>
#include <string.h>
#include <tests/fuzz/fuzz.h>

/* A frame as it comes from a link. */
static void decode(const uint8_t *frame, size_t size, struct rml_header *header, bool *good)
{
    uint8_t again[RML_WIRE_SIZE];
    struct rml_header untouched;
    memset(header, 0x5a, sizeof(*header));
    untouched = *header;
    *good = rml_header_decode(header, frame, size) == ORTE_SUCCESS;
    if (*good) {
        rml_header_encode(again, header);
        fuzz_check(memcmp(again, frame, RML_WIRE_SIZE) == 0, "a header is written as it was read");
        fuzz_check(header->stamp.length == size - RML_WIRE_SIZE, "length is the payload's");
        fuzz_check(header->total <= INT_MAX &&
                       (uint64_t) header->offset + header->stamp.length <= header->total,
                   "a frame lies in its message");
    } else {
        fuzz_check(memcmp(header, &untouched, sizeof(*header)) == 0, "an error has no effect");
    }
}

/* The payload of a broadcast's messages. */
static void decode_cast(const struct rml_message *message)
{
    struct rml_cast_header header, untouched;
    uint8_t again[RML_CAST_SIZE];
    memset(&header, 0x5a, sizeof(header));
    untouched = header;
    if (rml_cast_decode(&header, message->data, message->size) == ORTE_SUCCESS) {
        rml_cast_encode(again, &header);
        fuzz_check(memcmp(again, message->data, RML_CAST_SIZE) == 0,
                   "a broadcast's header is written as it was read");
    } else {
        fuzz_check(memcmp(&header, &untouched, sizeof(header)) == 0, "an error has no effect");
    }
}

/* Delivers a whole message in two parts, then as a buffer. */
static void deliver(struct rml_message *message, uint8_t choice)
{
    size_t first = choice % 64;
    uint8_t *one = malloc(first), *other = malloc(message->size);
    struct iovec parts[] = {{one, first}, {other, message->size}};
    int flags = choice & 64 ? ORTE_RML_TRUNC : 0;
    int got = rml_message_scatter(message, parts, choice & 128 ? 1 : 2, flags);
    fuzz_check(got >= 0 && (size_t) got <= message->size, "no more than the message is delivered");
    free(one);
    free(other);
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    size_t size = message->size;
    fuzz_check(rml_message_load(message, buffer) == ORTE_SUCCESS && buffer->bytes_used == size,
               "a message is a buffer's bytes");
    OBJ_RELEASE(buffer);
    rml_message_destroy(message);
}

/* A frame of the stream: most of its header is right, so that the assembly sees it. */
static uint8_t *feed_frame(struct feed *feed, size_t *size)
{
    uint8_t choice = feed_byte(feed);
    uint8_t *frame = feed_copy(feed, RML_WIRE_SIZE + choice % 128, size);
    if (choice & 128 && *size >= RML_WIRE_SIZE) {
        struct rml_header header = {
            .stamp = {.kind = RML_DATA,
                      .class = OOB_APP,
                      .length = (uint32_t) (*size - RML_WIRE_SIZE),
                      .epoch = 1,
                      .dest_epoch = 2},
            .tag = 1u + (frame[0] & 1),
            .total = frame[1],
            .offset = frame[2],
            .origin = {1, 2},
            .dest = {1, 3},
        };
        rml_header_encode(frame, &header);
    }
    return frame;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed feed = {data, size};
    struct rml_assembly assembly = {.message = NULL};
    size_t came = 0;
    while (feed.left > 0) {
        size_t frame_size;
        uint8_t *frame = feed_frame(&feed, &frame_size);
        struct rml_header header;
        bool good;
        decode(frame, frame_size, &header, &good);
        if (good && header.stamp.kind == RML_DATA) {
            struct rml_message *message = NULL;
            came += header.stamp.length;
            enum rml_assembled outcome =
                rml_assemble(&assembly, &header, frame + RML_WIRE_SIZE, &message);
            fuzz_check((outcome == RML_ASSEMBLED_WHOLE) == (message != NULL),
                       "a message comes when it is whole");
            fuzz_check(assembly.capacity <= 2 * came, "memory follows the bytes that came");
            if (message) {
                fuzz_check(message->size == header.total, "a whole message has its total");
                decode_cast(message);
                deliver(message, feed_byte(&feed));
            }
        }
        free(frame);
    }
    rml_assembly_abandon(&assembly);
    return 0;
}
