#include <config.h>

#include <oob/outbox.h>

#include <base/data/le.h>
#include <base/settings/fault.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    FRAME_AT =
        offsetof(struct oob_tx, header) - FRAME_HEAD_SIZE, /* head and header, as one piece */
    QUEUE_BEATS = 0,                                       /* then one for each class */
    QUEUE_CLOSE = OOB_CLASSES + 1,
    QUEUES = OOB_CLASSES + 2,
    BATCH_FRAMES = 16,
    BATCH_IOV = BATCH_FRAMES * (1 + OOB_TX_IOV),
    BATCH_BYTES = 128 * 1024,
};

_Static_assert(offsetof(struct oob_tx, header) ==
                   offsetof(struct oob_tx, frame_) + sizeof(((struct oob_tx *) 0)->frame_),
               "the head lies right before the header");

/* Nobody waits for frames of the outbox's own. */
static void own_done(struct oob_tx *tx, int status)
{
    (void) tx;
    (void) status;
}

int outbox_init(struct outbox *outbox, enum record_cipher cipher, bool encrypt,
                const uint8_t key[KEY_BYTES])
{
    memset(outbox, 0, sizeof *outbox);
    for (int i = 0; i < QUEUES; i++) {
        list_init(&outbox->queue[i]);
    }
    list_init(&outbox->writing);
    outbox->sealed = cipher != RECORD_PLAIN;
    if (outbox->sealed) {
        outbox->record = malloc(RECORD_SIZE_MAX);
        if (!outbox->record) {
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
        record_key_init(&outbox->key, cipher, encrypt, key);
    }
    return ORTE_SUCCESS;
}

void outbox_fini(struct outbox *outbox)
{
    free(outbox->record);
    outbox->record = NULL;
    record_key_wipe(&outbox->key);
}

/* --- frames --- */

static uint8_t *head_of(struct oob_tx *tx)
{
    return (uint8_t *) tx + FRAME_AT;
}

size_t outbox_frame_size(const struct oob_tx *tx)
{
    return FRAME_HEAD_SIZE + get_le32((const uint8_t *) tx + FRAME_AT);
}

bool outbox_prepare(struct oob_tx *tx)
{
    if ((unsigned) tx->class >= OOB_CLASSES || tx->header_size > OOB_HEADER_MAX ||
        tx->iov_count < 0 || tx->iov_count > OOB_TX_IOV) {
        return false;
    }
    size_t size = tx->header_size;
    for (int i = 0; i < tx->iov_count; i++) {
        if (tx->iov[i].iov_len > OOB_FRAME_MAX - size) {
            return false;
        }
        size += tx->iov[i].iov_len;
    }
    put_le32(head_of(tx), (uint32_t) size);
    head_of(tx)[4] = (uint8_t) tx->class;
    return true;
}

void outbox_append(struct outbox *outbox, struct oob_tx *tx)
{
    list_append(&outbox->queue[1 + (int) tx->class], &tx->link);
}

static void append_own(struct outbox *outbox, struct oob_tx *tx, uint8_t kind, int queue)
{
    put_le32(head_of(tx), 0);
    head_of(tx)[4] = kind;
    tx->done = own_done;
    list_append(&outbox->queue[queue], &tx->link);
}

void outbox_append_beat(struct outbox *outbox, enum outbox_beat kind)
{
    static const uint8_t kinds[] = {[OUTBOX_PING] = FRAME_PING, [OUTBOX_PONG] = FRAME_PONG};
    if (!outbox->beating[kind]) {
        outbox->beating[kind] = true;
        append_own(outbox, &outbox->beats[kind], kinds[kind], QUEUE_BEATS);
    }
}

void outbox_append_close(struct outbox *outbox)
{
    append_own(outbox, &outbox->close, FRAME_CLOSE, QUEUE_CLOSE);
}

/* Moves the most urgent frame to the end of writing; NULL: none waits. */
static struct oob_tx *begin_frame(struct outbox *outbox)
{
    for (int i = 0; i < QUEUES; i++) {
        struct list *link = list_pop(&outbox->queue[i]);
        if (link) {
            list_append(&outbox->writing, link);
            return container_of(link, struct oob_tx, link);
        }
    }
    return NULL;
}

static void complete_first(struct outbox *outbox, struct list *completed)
{
    struct list *link = list_pop(&outbox->writing);
    struct oob_tx *tx = container_of(link, struct oob_tx, link);
    for (int i = 0; i < OUTBOX_BEATS; i++) {
        if (tx == &outbox->beats[i]) {
            outbox->beating[i] = false; /* it may be appended again at once: nobody is told */
            return;
        }
    }
    list_append(completed, link);
}

bool outbox_empty(const struct outbox *outbox)
{
    bool empty = list_empty(&outbox->writing);
    for (int i = 0; i < QUEUES; i++) {
        empty = empty && list_empty(&outbox->queue[i]);
    }
    return empty;
}

void outbox_take(struct outbox *outbox, struct list *taken)
{
    list_splice(taken, &outbox->writing);
    for (int i = 0; i < QUEUES; i++) {
        list_splice(taken, &outbox->queue[i]);
    }
    outbox->record_size = outbox->record_sent = outbox->offset = 0;
    outbox->in_part = false;
}

/* --- the socket --- */

static void shorten(struct msghdr *message, size_t limit)
{
    for (size_t i = 0; i < message->msg_iovlen; i++) {
        if (message->msg_iov[i].iov_len >= limit) {
            message->msg_iov[i].iov_len = limit;
            message->msg_iovlen = i + 1;
            return;
        }
        limit -= message->msg_iov[i].iov_len;
    }
}

/* Bytes written, or -errno. */
static ssize_t push(int fd, struct iovec *iov, size_t iov_count)
{
    struct msghdr message = {.msg_iov = iov, .msg_iovlen = iov_count};
    struct fault fault = fault_at("oob.send");
    if (fault.action == FAULT_ERROR) {
        return -fault.value;
    }
    if (fault.action == FAULT_SHORT && fault.value > 0) {
        shorten(&message, (size_t) fault.value);
    }
    ssize_t sent;
    do {
        sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

static bool is_blocked(ssize_t sent)
{
    return sent == -EAGAIN || sent == -EWOULDBLOCK || sent == -ENOBUFS;
}

/* --- sealed --- */

/* Copies a part of a frame, from an offset on; returns the bytes copied. */
static size_t copy_frame(struct oob_tx *tx, size_t offset, uint8_t *to, size_t room)
{
    struct iovec head = {head_of(tx), FRAME_HEAD_SIZE + tx->header_size};
    size_t copied = 0;
    for (int i = -1; i < tx->iov_count && copied < room; i++) {
        const struct iovec *piece = i < 0 ? &head : &tx->iov[i];
        if (offset >= piece->iov_len) {
            offset -= piece->iov_len;
            continue;
        }
        size_t left = piece->iov_len - offset;
        size_t take = left < room - copied ? left : room - copied;
        memcpy(to + copied, (const uint8_t *) piece->iov_base + offset, take);
        copied += take;
        offset = 0;
    }
    return copied;
}

/* Begins as many frames as fit into a record, the last perhaps in part. */
static void choose_for_record(struct outbox *outbox)
{
    size_t size = 0;
    struct oob_tx *tx;
    if (outbox->in_part) {
        tx = container_of(outbox->writing.prev, struct oob_tx, link);
        size = outbox_frame_size(tx) - outbox->offset;
    }
    while (size < RECORD_PAYLOAD_MAX && (tx = begin_frame(outbox))) {
        size += outbox_frame_size(tx);
    }
}

/* Seals what was chosen in one record. */
static void fill_record(struct outbox *outbox)
{
    size_t size = 0, offset = outbox->in_part ? outbox->offset : 0;
    struct oob_tx *tx;
    list_for_each (tx, &outbox->writing, struct oob_tx, link) {
        size_t copied = copy_frame(tx, offset, outbox->record + RECORD_HEAD_SIZE + size,
                                   RECORD_PAYLOAD_MAX - size);
        size += copied;
        outbox->offset = offset + copied;
        outbox->in_part = outbox->offset < outbox_frame_size(tx);
        offset = 0;
    }
    outbox->record_sent = 0;
    outbox->record_size = record_seal(&outbox->key, outbox->record, size);
}

static void complete_record(struct outbox *outbox, struct list *completed)
{
    const struct list *kept = outbox->in_part ? outbox->writing.prev : &outbox->writing;
    while (outbox->writing.next != kept) {
        complete_first(outbox, completed);
    }
    outbox->record_size = outbox->record_sent = 0;
}

static int push_sealed(struct outbox *outbox, int fd, struct list *completed)
{
    if (outbox->record_size == 0) {
        fill_record(outbox);
    }
    size_t left = outbox->record_size - outbox->record_sent;
    struct iovec iov = {outbox->record + outbox->record_sent, left};
    ssize_t sent = push(fd, &iov, 1);
    if (sent < 0) {
        return is_blocked(sent) ? 0 : (int) sent;
    }
    outbox->record_sent += (size_t) sent;
    if ((size_t) sent < left) {
        return 0;
    }
    complete_record(outbox, completed);
    return 1;
}

/* --- plain --- */

/* Lists what is left of the frames that are leaving; returns the number of pieces. */
static size_t gather(struct outbox *outbox, struct iovec iov[BATCH_IOV], size_t *bytes)
{
    size_t pieces = 0, skip = outbox->offset;
    struct oob_tx *tx;
    *bytes = 0;
    list_for_each (tx, &outbox->writing, struct oob_tx, link) {
        struct iovec head = {head_of(tx), FRAME_HEAD_SIZE + tx->header_size};
        for (int i = -1; i < tx->iov_count; i++) {
            struct iovec piece = i < 0 ? head : tx->iov[i];
            size_t skipped = skip < piece.iov_len ? skip : piece.iov_len;
            skip -= skipped;
            if (piece.iov_len > skipped) {
                iov[pieces++] =
                    (struct iovec){(uint8_t *) piece.iov_base + skipped, piece.iov_len - skipped};
                *bytes += piece.iov_len - skipped;
            }
        }
    }
    return pieces;
}

/* Begins more frames, up to a batch. */
static void choose_for_batch(struct outbox *outbox)
{
    size_t frames = 0, bytes = 0;
    struct oob_tx *tx;
    list_for_each (tx, &outbox->writing, struct oob_tx, link) {
        frames++;
        bytes += outbox_frame_size(tx);
    }
    while (frames < BATCH_FRAMES && bytes < BATCH_BYTES && (tx = begin_frame(outbox))) {
        frames++;
        bytes += outbox_frame_size(tx);
    }
}

static void complete_bytes(struct outbox *outbox, size_t sent, struct list *completed)
{
    outbox->offset += sent;
    while (!list_empty(&outbox->writing)) {
        size_t size = outbox_frame_size(container_of(outbox->writing.next, struct oob_tx, link));
        if (outbox->offset < size) {
            break;
        }
        outbox->offset -= size;
        complete_first(outbox, completed);
    }
}

static int push_plain(struct outbox *outbox, int fd, struct list *completed)
{
    struct iovec iov[BATCH_IOV];
    size_t bytes;
    size_t pieces = gather(outbox, iov, &bytes);
    ssize_t sent = push(fd, iov, pieces);
    if (sent < 0) {
        return is_blocked(sent) ? 0 : (int) sent;
    }
    complete_bytes(outbox, (size_t) sent, completed);
    return (size_t) sent == bytes;
}

bool outbox_choose(struct outbox *outbox)
{
    if (!outbox->sealed) {
        choose_for_batch(outbox);
    } else if (outbox->record_size == 0) {
        choose_for_record(outbox);
    }
    return !list_empty(&outbox->writing);
}

int outbox_push(struct outbox *outbox, int fd, struct list *completed)
{
    return outbox->sealed ? push_sealed(outbox, fd, completed) : push_plain(outbox, fd, completed);
}

int outbox_write(struct outbox *outbox, int fd, struct list *completed)
{
    int status = 1;
    while (status == 1 && outbox_choose(outbox)) {
        status = outbox_push(outbox, fd, completed);
    }
    return status;
}
