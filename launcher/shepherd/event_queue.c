#include <config.h>

#include <errno.h>
#include <launcher/shepherd/event_queue.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void batch_clear(struct event_batch *batch)
{
    for (size_t i = 0; i < batch->fd_count; i++) {
        close(batch->fds[i]);
    }
    batch->count = batch->fd_count = 0;
}

void event_queue_open(struct event_queue *queue, int sock)
{
    *queue = (struct event_queue){.sock = sock};
}

void event_queue_close(struct event_queue *queue)
{
    queue->closed = true;
    batch_clear(&queue->batches[0]);
    batch_clear(&queue->batches[1]);
    queue->unsent_bytes = 0;
}

/* --- collecting --- */

bool event_queue_fits(const struct event_queue *queue, size_t fds)
{
    const struct event_batch *batch = &queue->batches[queue->collecting];
    return queue->closed ||
           (batch->count < EVENT_BATCH_MAX && batch->fd_count + fds <= EVENT_BATCH_FDS);
}

void event_queue_add(struct event_queue *queue, struct shepherd_event event)
{
    struct event_batch *batch = &queue->batches[queue->collecting];
    if (!queue->closed) {
        batch->events[++batch->count] = event;
    }
}

void event_queue_add_start(struct event_queue *queue, uint32_t id, pid_t pid,
                           const int fds[PROC_FDS])
{
    struct shepherd_event event = {EVENT_STARTED, id, pid, 0};
    struct event_batch *batch = &queue->batches[queue->collecting];
    for (int i = 0; i < PROC_FDS; i++) {
        if (fds[i] >= 0 && queue->closed) {
            close(fds[i]);
        } else if (fds[i] >= 0) {
            event.detail |= 1u << i;
            batch->fds[batch->fd_count++] = fds[i];
        }
    }
    event_queue_add(queue, event);
}

/* --- sending --- */

bool event_queue_is_blocked(const struct event_queue *queue)
{
    return queue->unsent_bytes > 0;
}

/* Makes the collected batch the one being sent, if that is free. False: nothing is to be sent. */
static bool batch_turn(struct event_queue *queue)
{
    struct event_batch *batch = &queue->batches[queue->collecting];
    if (queue->unsent_bytes > 0) {
        return true;
    }
    if (batch->count == 0) {
        return false;
    }
    const struct shepherd_event *first = &batch->events[1];
    if (batch->fd_count > 0) {
        batch->events[0] =
            (struct shepherd_event){.type = EVENT_FDS, .value = (int32_t) batch->fd_count};
        first = &batch->events[0];
    }
    queue->unsent = (const char *) first;
    queue->unsent_bytes =
        (size_t) ((const char *) &batch->events[batch->count + 1] - queue->unsent);
    queue->collecting ^= 1;
    return true;
}

static ssize_t send_some(const struct event_queue *queue, const struct event_batch *batch)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(batch->fds))];
    } control;
    struct iovec part = {(void *) (uintptr_t) queue->unsent, queue->unsent_bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    size_t size = batch->fd_count * sizeof(int);
    if (size > 0) {
        memset(&control, 0, sizeof(control));
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(size);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(&control.header), batch->fds, size);
    }
    return sendmsg(queue->sock, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* What passes by itself, without an end of the daemon's. */
static bool is_passing(int error)
{
    return error == EAGAIN || error == EINTR || error == ETOOMANYREFS || error == ENOBUFS ||
           error == ENOMEM;
}

bool event_queue_flush(struct event_queue *queue)
{
    while (!queue->closed && batch_turn(queue)) {
        struct event_batch *batch = &queue->batches[queue->collecting ^ 1];
        ssize_t sent = send_some(queue, batch);
        if (sent < 0) {
            return is_passing(errno);
        }
        queue->unsent += sent;
        queue->unsent_bytes -= (size_t) sent;
        for (size_t i = 0; i < batch->fd_count; i++) { /* they went with the first byte */
            close(batch->fds[i]);
        }
        batch->fd_count = 0;
        if (queue->unsent_bytes == 0) {
            batch_clear(batch);
        }
    }
    return true;
}
