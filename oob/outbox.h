/* The sending half of a link, without its threads: frames wait in a queue for each class and leave
 * in the order of the classes, as sealed records or plain. Beats leave before all of them. The
 * link's lock guards it. */
#ifndef OOB_OUTBOX_H
#define OOB_OUTBOX_H

#include <oob/oob.h>
#include <oob/record.h>

enum outbox_beat { OUTBOX_PING, OUTBOX_PONG, OUTBOX_BEATS };

struct outbox {
    /* Before and behind those of the classes: beats, and the closing frame. */
    struct list queue[OOB_CLASSES + 2];
    struct list writing; /* frames that have begun to leave, in their order */
    bool sealed;
    struct record_key key;
    uint8_t *record; /* sealed: RECORD_SIZE_MAX bytes */
    size_t record_size, record_sent;
    /* Sealed: the bytes of writing's last frame that are in records, while in_part says that some
     * are not. Plain: the bytes of writing's first frame that the kernel has. */
    size_t offset;
    bool in_part;
    struct oob_tx beats[OUTBOX_BEATS];
    bool beating[OUTBOX_BEATS]; /* it has not left yet */
    struct oob_tx close;
};

/* RECORD_PLAIN: key is not used. */
int outbox_init(struct outbox *outbox, enum record_cipher cipher, bool encrypt,
                const uint8_t key[KEY_BYTES]) KEEL_MUST_CHECK;
void outbox_fini(struct outbox *outbox);
/* Writes the frame's head. False: it is too large, or a field is out of range. No lock needed. */
bool outbox_prepare(struct oob_tx *tx);
/* Of a prepared frame, with its head. */
size_t outbox_frame_size(const struct oob_tx *tx);
void outbox_append(struct outbox *outbox, struct oob_tx *tx);
/* A beat of that kind, unless one has not left yet. */
void outbox_append_beat(struct outbox *outbox, enum outbox_beat kind);
/* The closing frame, behind all others. Once. */
void outbox_append_close(struct outbox *outbox);
bool outbox_empty(const struct outbox *outbox);
/* Writing has two steps. Choosing takes what leaves next out of the queues, and needs the lock;
 * false: nothing is left. Pushing writes that to the socket until it is done (1), or the socket
 * takes no more for now (0), or fails (-errno); it needs no lock where no other thread chooses or
 * pushes. Frames whose last byte the kernel has go to completed. */
bool outbox_choose(struct outbox *outbox);
int outbox_push(struct outbox *outbox, int fd, struct list *completed);
/* Both, until nothing is left (1), or the socket takes no more (0), or fails (-errno). */
int outbox_write(struct outbox *outbox, int fd, struct list *completed);
/* Empties it: every frame goes to taken. */
void outbox_take(struct outbox *outbox, struct list *taken);

#endif
