#include <config.h>

#include <oob/inbox.h>

#include <base/data/bytes.h>
#include <base/data/le.h>
#include <oob/oob.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_CAPACITY_MIN = 4096, DIRECT_READ_MIN = 4096 };

int inbox_init(struct inbox *inbox, enum record_cipher cipher, bool encrypt,
               const uint8_t key[KEY_BYTES])
{
    memset(inbox, 0, sizeof *inbox);
    inbox->buffer = malloc(RECORD_SIZE_MAX);
    if (!inbox->buffer) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    inbox->sealed = cipher != RECORD_PLAIN;
    if (inbox->sealed) {
        record_key_init(&inbox->key, cipher, encrypt, key);
    }
    return ORTE_SUCCESS;
}

void inbox_fini(struct inbox *inbox)
{
    free(inbox->buffer);
    free(inbox->frame);
    record_key_wipe(&inbox->key);
    inbox->buffer = inbox->frame = NULL;
}

/* How many bytes the frame that is being assembled has: its head first, then all of it. */
static size_t frame_wants(const struct inbox *inbox)
{
    if (inbox->frame_size < FRAME_HEAD_SIZE) {
        return FRAME_HEAD_SIZE;
    }
    return FRAME_HEAD_SIZE + get_le32(inbox->frame);
}

/* Makes the frame's memory at least size bytes, by doubling it. */
static bool frame_grow(struct inbox *inbox, size_t size)
{
    uint8_t *frame = bytes_grow(inbox->frame, &inbox->frame_capacity, size, FRAME_CAPACITY_MIN,
                                FRAME_HEAD_SIZE + OOB_FRAME_MAX);
    if (!frame) {
        return false;
    }
    inbox->frame = frame;
    return true;
}

/* A large plain frame is read straight to its place. */
static bool direct_room(struct inbox *inbox, uint8_t **room, size_t *size)
{
    bool mid_frame = !inbox->frame_given && inbox->frame_size >= FRAME_HEAD_SIZE;
    bool nothing_else = inbox->open_begin == inbox->open_end && inbox->begin == inbox->end;
    if (inbox->sealed || !mid_frame || !nothing_else) {
        return false;
    }
    size_t left = frame_wants(inbox) - inbox->frame_size;
    if (left < DIRECT_READ_MIN || !frame_grow(inbox, inbox->frame_size + DIRECT_READ_MIN)) {
        return false;
    }
    size_t space = inbox->frame_capacity - inbox->frame_size;
    *room = inbox->frame + inbox->frame_size;
    *size = left < space ? left : space;
    return true;
}

size_t inbox_room(struct inbox *inbox, uint8_t **room)
{
    size_t size;
    if (direct_room(inbox, room, &size)) {
        return size;
    }
    if (inbox->open_begin == inbox->open_end && inbox->begin > 0) {
        memmove(inbox->buffer, inbox->buffer + inbox->begin, inbox->end - inbox->begin);
        inbox->end -= inbox->begin;
        inbox->begin = inbox->open_begin = inbox->open_end = 0;
    }
    *room = inbox->buffer + inbox->end;
    return RECORD_SIZE_MAX - inbox->end;
}

void inbox_filled(struct inbox *inbox, size_t size)
{
    uint8_t *room;
    size_t direct;
    if (direct_room(inbox, &room, &direct)) {
        inbox->frame_size += size;
    } else {
        inbox->end += size;
    }
}

/* Opens the next part of the frame stream. */
static enum inbox_event open_more(struct inbox *inbox)
{
    if (!inbox->sealed) {
        inbox->open_begin = inbox->begin;
        inbox->open_end = inbox->begin = inbox->end;
        return inbox->open_begin < inbox->open_end ? INBOX_FRAME : INBOX_MORE;
    }
    int size = record_open(&inbox->key, inbox->buffer + inbox->begin, inbox->end - inbox->begin);
    if (size <= 0) {
        return size == 0 ? INBOX_MORE : INBOX_BAD;
    }
    inbox->open_begin = inbox->begin + RECORD_HEAD_SIZE;
    inbox->begin += (size_t) size;
    inbox->open_end = inbox->begin - RECORD_TAG_SIZE;
    return INBOX_FRAME;
}

/* What a whole head announces. */
static enum inbox_event judge_head(const uint8_t *head)
{
    uint32_t length = get_le32(head);
    switch (head[4]) {
    case FRAME_CLOSE:
        return length == 0 ? INBOX_CLOSE : INBOX_BAD;
    case FRAME_PING:
        return length == 0 ? INBOX_PING : INBOX_BAD;
    case FRAME_PONG:
        return length == 0 ? INBOX_PONG : INBOX_BAD;
    default:
        break;
    }
    return length <= OOB_FRAME_MAX && head[4] < OOB_CLASSES ? INBOX_FRAME : INBOX_BAD;
}

static bool is_beat(enum inbox_event event)
{
    return event == INBOX_PING || event == INBOX_PONG;
}

/* Moves what is open to the frame that is being assembled, as much as it wants. INBOX_FRAME: so far
 * so good. */
static enum inbox_event assemble(struct inbox *inbox)
{
    size_t wants = frame_wants(inbox) - inbox->frame_size;
    size_t there = inbox->open_end - inbox->open_begin;
    size_t take = wants < there ? wants : there;
    if (!frame_grow(inbox, inbox->frame_size + take)) {
        return INBOX_MEMORY;
    }
    memcpy(inbox->frame + inbox->frame_size, inbox->buffer + inbox->open_begin, take);
    inbox->frame_size += take;
    inbox->open_begin += take;
    if (inbox->frame_size < FRAME_HEAD_SIZE) {
        return INBOX_FRAME;
    }
    enum inbox_event event = judge_head(inbox->frame);
    if (is_beat(event)) {
        inbox->frame_size = 0;
    }
    return event;
}

/* The frame that lies whole in the open part; INBOX_MORE: it does not. */
static enum inbox_event frame_in_place(struct inbox *inbox, const uint8_t **data, size_t *size)
{
    const uint8_t *head = inbox->buffer + inbox->open_begin;
    size_t there = inbox->open_end - inbox->open_begin;
    if (there < FRAME_HEAD_SIZE) {
        return INBOX_MORE;
    }
    enum inbox_event event = judge_head(head);
    if (event == INBOX_FRAME && there - FRAME_HEAD_SIZE < get_le32(head)) {
        return INBOX_MORE;
    }
    if (is_beat(event)) {
        inbox->open_begin += FRAME_HEAD_SIZE;
    }
    if (event == INBOX_FRAME) {
        *data = head + FRAME_HEAD_SIZE;
        *size = get_le32(head);
        inbox->open_begin += FRAME_HEAD_SIZE + *size;
    }
    return event;
}

static bool frame_is_whole(const struct inbox *inbox)
{
    return inbox->frame_size >= FRAME_HEAD_SIZE && inbox->frame_size == frame_wants(inbox);
}

enum inbox_event inbox_next(struct inbox *inbox, const uint8_t **data, size_t *size)
{
    if (inbox->frame_given) {
        inbox->frame_given = false;
        inbox->frame_size = 0;
    }
    for (;;) {
        if (frame_is_whole(inbox)) {
            inbox->frame_given = true;
            *data = inbox->frame + FRAME_HEAD_SIZE;
            *size = inbox->frame_size - FRAME_HEAD_SIZE;
            return INBOX_FRAME;
        }
        enum inbox_event event;
        if (inbox->open_begin == inbox->open_end) {
            event = open_more(inbox);
        } else {
            event = inbox->frame_size > 0 ? INBOX_MORE : frame_in_place(inbox, data, size);
            if (event == INBOX_FRAME) {
                return event;
            }
            event = event == INBOX_MORE ? assemble(inbox) : event;
        }
        if (event != INBOX_FRAME) {
            return event;
        }
    }
}
