#include <config.h>

#include <errno.h>
#include <launcher/newsbox.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void batch_clear(struct newsbox_batch *batch)
{
    for (size_t i = 0; i < batch->fd_count; i++) {
        close(batch->fds[i]);
    }
    batch->count = batch->fd_count = 0;
}

void newsbox_open(struct newsbox *box, int sock)
{
    *box = (struct newsbox){.sock = sock};
}

void newsbox_close(struct newsbox *box)
{
    box->closed = true;
    batch_clear(&box->batches[0]);
    batch_clear(&box->batches[1]);
    box->unsent_bytes = 0;
}

/* --- collecting --- */

bool newsbox_fits(const struct newsbox *box, size_t fds)
{
    const struct newsbox_batch *batch = &box->batches[box->collecting];
    return box->closed || (batch->count < NEWSBOX_NEWS && batch->fd_count + fds <= NEWSBOX_FDS);
}

void newsbox_add(struct newsbox *box, struct news news)
{
    struct newsbox_batch *batch = &box->batches[box->collecting];
    if (!box->closed) {
        batch->news[++batch->count] = news;
    }
}

void newsbox_add_start(struct newsbox *box, uint32_t id, pid_t pid, const int fds[SPAWN_FDS])
{
    struct news news = {NEWS_STARTED, id, pid, 0};
    struct newsbox_batch *batch = &box->batches[box->collecting];
    for (int i = 0; i < SPAWN_FDS; i++) {
        if (fds[i] >= 0 && box->closed) {
            close(fds[i]);
        } else if (fds[i] >= 0) {
            news.detail |= 1u << i;
            batch->fds[batch->fd_count++] = fds[i];
        }
    }
    newsbox_add(box, news);
}

/* --- sending --- */

bool newsbox_is_blocked(const struct newsbox *box)
{
    return box->unsent_bytes > 0;
}

/* Makes the collected batch the one being sent, if that is free. False: nothing is to be sent. */
static bool batch_turn(struct newsbox *box)
{
    struct newsbox_batch *batch = &box->batches[box->collecting];
    if (box->unsent_bytes > 0) {
        return true;
    }
    if (batch->count == 0) {
        return false;
    }
    const struct news *first = &batch->news[1];
    if (batch->fd_count > 0) {
        batch->news[0] = (struct news){.type = NEWS_FDS, .value = (int32_t) batch->fd_count};
        first = &batch->news[0];
    }
    box->unsent = (const char *) first;
    box->unsent_bytes = (size_t) ((const char *) &batch->news[batch->count + 1] - box->unsent);
    box->collecting ^= 1;
    return true;
}

static ssize_t send_some(const struct newsbox *box, const struct newsbox_batch *batch)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(batch->fds))];
    } control;
    struct iovec part = {(void *) (uintptr_t) box->unsent, box->unsent_bytes};
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
    return sendmsg(box->sock, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* What passes by itself, without an end of the daemon's. */
static bool is_passing(int error)
{
    return error == EAGAIN || error == EINTR || error == ETOOMANYREFS || error == ENOBUFS ||
           error == ENOMEM;
}

bool newsbox_flush(struct newsbox *box)
{
    while (!box->closed && batch_turn(box)) {
        struct newsbox_batch *batch = &box->batches[box->collecting ^ 1];
        ssize_t sent = send_some(box, batch);
        if (sent < 0) {
            return is_passing(errno);
        }
        box->unsent += sent;
        box->unsent_bytes -= (size_t) sent;
        for (size_t i = 0; i < batch->fd_count; i++) { /* they went with the first byte */
            close(batch->fds[i]);
        }
        batch->fd_count = 0;
        if (box->unsent_bytes == 0) {
            batch_clear(batch);
        }
    }
    return true;
}
