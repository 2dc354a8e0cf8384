/* Control frames: hellos (btl/sessions/hello.h), and what is said outside of a session's sequence.
 *
 *   frame   kind 1, version 1, size 2, index 4, token 8, CRC-32C of them 4, then zeros up to size
 *
 * OVER: the session of this token is over at the speaker. PROBE: to be answered by an ECHO, which
 * has the size of the probe in its header, and no zeros. HERE: the speaker has the session, and has
 * said so before. Little-endian; pure functions. */
#ifndef BTL_USNIC_FRAME_H
#define BTL_USNIC_FRAME_H

#include <btl/sessions/hello.h>

enum usnic_control_kind { USNIC_HELLO = 0xe0, USNIC_OVER, USNIC_PROBE, USNIC_ECHO, USNIC_HERE };
enum { USNIC_CONTROL_FIRST = 0xe0, USNIC_CONTROL_VERSION = 2, USNIC_CONTROL_HEADER = 20 };

/* clang-format off */
#define USNIC_HELLO_FORMAT                                                              \
    {                                                                                   \
        .kind = USNIC_HELLO, .version = USNIC_CONTROL_VERSION,                          \
        .magic = {'K', 'L', 'u', 's'}, .key = "usnic",                              \
        .hello_mac = "keel usnic hello", .token_mac = "keel usnic token"                \
    }
/* clang-format on */

struct usnic_control_frame {
    uint8_t kind;
    uint16_t size;
    uint32_t index;
    uint64_t token;
};

void usnic_control_encode(uint8_t out[USNIC_CONTROL_HEADER],
                          const struct usnic_control_frame *frame);
int usnic_control_decode(struct usnic_control_frame *frame, const uint8_t *data,
                         size_t size) KEEL_MUST_CHECK;

#endif
