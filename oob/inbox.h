/* The receiving half of a link, without its socket: bytes go in, frames come out. Pure; memory
 * grows with the bytes that came, never with the lengths they claim. */
#ifndef OOB_INBOX_H
#define OOB_INBOX_H

#include <oob/record.h>

enum inbox_event {
    INBOX_MORE, /* bytes are needed */
    INBOX_FRAME,
    INBOX_PING,
    INBOX_PONG,
    INBOX_CLOSE, /* the peer's orderly end */
    INBOX_BAD,   /* the stream cannot be read on: a record or frame against the rules */
    INBOX_MEMORY,
};

struct inbox {
    bool sealed;
    struct record_key key;
    uint8_t *buffer;             /* what was read: RECORD_SIZE_MAX bytes */
    size_t begin, end;           /* of what was read and not opened */
    size_t open_begin, open_end; /* the part of the frame stream that is open in buffer */
    /* A frame that did not lie whole in the buffer, its head included. */
    uint8_t *frame;
    size_t frame_size, frame_capacity;
    bool frame_given; /* it was returned by the last call */
};

/* RECORD_PLAIN: key is not used. */
int inbox_init(struct inbox *inbox, enum record_cipher cipher, bool encrypt,
               const uint8_t key[KEY_BYTES]) KEEL_MUST_CHECK;
void inbox_fini(struct inbox *inbox);
/* Where the next bytes go and how many fit, at least one once inbox_next has returned INBOX_MORE.
 */
size_t inbox_room(struct inbox *inbox, uint8_t **room);
void inbox_filled(struct inbox *inbox, size_t size);
/* The next thing in the stream. A frame's bytes last until the next call. */
enum inbox_event inbox_next(struct inbox *inbox, const uint8_t **data, size_t *size);

#endif
