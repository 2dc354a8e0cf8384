#include <config.h>

#include <launcher/standing/talk.h>

#include <base/net/sock.h>
#include <base/settings/log.h>
#include <base/text/await.h>
#include <errno.h>
#include <unistd.h>
#include <wireup/frame.h>
#include <wireup/proto.h>

#define READ_BYTES (64u << 10)

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
    bool sent = buffer && talk->fd >= 0 &&
                bytes_waiting(&talk->out) + buffer->bytes_used <= TALK_WAITING_MAX &&
                frame_put(&talk->out, buffer, TALK_FRAME_MAX) == ORTE_SUCCESS;
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
    int status = frame_next(&talk->in, TALK_FRAME_MAX, &buffer);
    while (status == ORTE_SUCCESS && buffer) {
        status = hear(talk, buffer);
        OBJ_RELEASE(buffer);
        if (status == ORTE_SUCCESS) {
            status = frame_next(&talk->in, TALK_FRAME_MAX, &buffer);
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
        int status = frame_next(&talk->in, TALK_FRAME_MAX, buffer);
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
