#include <config.h>

#include <launcher/standing/talk.h>

#include <base/data/le.h>
#include <base/net/sock.h>
#include <base/settings/log.h>
#include <base/text/await.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <wireup/proto.h>

#define HEADER_BYTES 4u
#define READ_BYTES (64u << 10)

/* --- frames --- */

int talk_next(struct bytes *in, opal_buffer_t **buffer)
{
    size_t waiting = bytes_waiting(in);
    *buffer = NULL;
    if (waiting < HEADER_BYTES) {
        return ORTE_SUCCESS;
    }
    uint32_t size = get_le32((const uint8_t *) in->data + in->head);
    if (size == 0 || size > TALK_FRAME_MAX) {
        return ORTE_ERR_UNPACK_FAILURE;
    }
    if (waiting - HEADER_BYTES < size) {
        return ORTE_SUCCESS;
    }
    void *copy = malloc(size);
    opal_buffer_t *made = copy ? OBJ_NEW(opal_buffer_t) : NULL;
    if (!made) {
        free(copy);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    memcpy(copy, in->data + in->head + HEADER_BYTES, size);
    if (opal_dss.load(made, copy, (int32_t) size) != OPAL_SUCCESS) {
        free(copy);
        OBJ_RELEASE(made);
        return ORTE_ERR_UNPACK_FAILURE;
    }
    bytes_consume(in, HEADER_BYTES + size);
    *buffer = made;
    return ORTE_SUCCESS;
}

int talk_put(struct bytes *out, opal_buffer_t *buffer)
{
    uint8_t header[HEADER_BYTES];
    void *data = NULL;
    int32_t size = 0;
    int status = opal_dss.unload(buffer, &data, &size);
    if (status == OPAL_SUCCESS && (size <= 0 || (uint32_t) size > TALK_FRAME_MAX ||
                                   bytes_waiting(out) + (size_t) size > TALK_WAITING_MAX)) {
        status = ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (status == OPAL_SUCCESS) {
        put_le32(header, (uint32_t) size);
        bool room = bytes_reserve(out, HEADER_BYTES + (size_t) size) &&
                    bytes_append(out, header, HEADER_BYTES) &&
                    bytes_append(out, data, (size_t) size);
        status = room ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
    }
    free(data);
    return status;
}

/* --- the socket --- */

/* False: the other end is gone. */
static bool push(struct talk *talk)
{
    while (bytes_waiting(&talk->out) > 0) {
        ssize_t put = send(talk->fd, talk->out.data + talk->out.head, bytes_waiting(&talk->out),
                           MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            return errno == EAGAIN;
        }
        bytes_consume(&talk->out, (size_t) put);
    }
    return true;
}

/* False: the other end is gone. */
static bool pull(struct talk *talk)
{
    if (!bytes_reserve(&talk->in, READ_BYTES)) {
        return false;
    }
    ssize_t got = read(talk->fd, talk->in.data + talk->in.tail, READ_BYTES);
    talk->in.tail += got > 0 ? (size_t) got : 0;
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

static void watch(struct talk *talk)
{
    if (talk->ops && talk->fd >= 0) {
        bool waits = bytes_waiting(&talk->out) > 0;
        loop_io_watch(&talk->io, (short) (waits ? EV_READ | EV_WRITE : EV_READ));
    }
}

bool talk_send(struct talk *talk, opal_buffer_t *buffer)
{
    bool sent = buffer && talk->fd >= 0 && talk_put(&talk->out, buffer) == ORTE_SUCCESS;
    if (buffer) {
        OBJ_RELEASE(buffer);
    }
    if (sent) {
        (void) push(talk); /* that the other end is gone is seen when it is read from */
        watch(talk);
    }
    return sent;
}

/* --- on the loop --- */

static int hear(struct talk *talk, opal_buffer_t *buffer)
{
    uint8_t kind = 0;
    int status = proto_unpack(buffer, "c", &kind);
    if (status == OPAL_SUCCESS) {
        status = talk->ops->heard(talk->arg, kind, buffer);
    }
    if (status != ORTE_SUCCESS) {
        log_warn(LOG_LAUNCHER, "message %u between keelrun and the DVM makes no sense: %s", kind,
                 opal_strerror(status));
    }
    return status;
}

/* What is there, message by message. */
static int hear_all(struct talk *talk)
{
    opal_buffer_t *buffer;
    int status = talk_next(&talk->in, &buffer);
    while (status == ORTE_SUCCESS && buffer) {
        status = hear(talk, buffer);
        OBJ_RELEASE(buffer);
        if (status == ORTE_SUCCESS) {
            status = talk_next(&talk->in, &buffer);
        }
    }
    return status;
}

static void ready(struct loop_io *io, short events)
{
    struct talk *talk = container_of(io, struct talk, io);
    bool there = push(talk);
    if (events & EV_READ) {
        there = pull(talk) && there;
    }
    if (hear_all(talk) != ORTE_SUCCESS || !there) {
        loop_io_watch(&talk->io, 0);
        talk->ops->ended(talk->arg);
        return;
    }
    watch(talk);
}

void talk_serve(struct talk *talk, struct loop *loop, const struct talk_ops *ops, void *arg)
{
    talk->ops = ops;
    talk->arg = arg;
    loop_io_init(&talk->io, loop, talk->fd, ready);
    watch(talk);
}

/* --- without one --- */

int talk_wait(struct talk *talk, uint64_t until_us, opal_buffer_t **buffer)
{
    for (;;) {
        int status = talk_next(&talk->in, buffer);
        if (status != ORTE_SUCCESS || *buffer) {
            return status;
        }
        bool waits = bytes_waiting(&talk->out) > 0;
        struct pollfd both = {.fd = talk->fd,
                              .events = (short) (waits ? POLLIN | POLLOUT : POLLIN)};
        if (!await_ready(&both, until_us)) {
            return ORTE_ERR_TIMEOUT;
        }
        if (!push(talk) || !pull(talk)) {
            return ORTE_ERR_COMM_FAILURE;
        }
    }
}

void talk_open(struct talk *talk, int fd)
{
    *talk = (struct talk){.fd = fd};
}

void talk_close(struct talk *talk)
{
    if (talk->ops) {
        loop_io_watch(&talk->io, 0);
    }
    fd_close(&talk->fd);
    bytes_fini(&talk->in);
    bytes_fini(&talk->out);
}
