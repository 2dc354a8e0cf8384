#include <config.h>

#include <launcher/pmix/connection/pmix_listener.h>

#include <arpa/inet.h>
#include <base/net/sock.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct param handshake_ms =
    PARAM_INT("pmix_handshake_ms", "60000", 1, 600000, "ms",
              "How long a connection to the PMIx port may take to say who it is");
PARAM_ROWS("launcher", handshake_ms);

enum {
    SPARE_PENDING = 64,
    ACCEPTS_A_TURN = 64,
    PAUSE_US = 100000,
    AGAIN_US = 10000,
    BACKLOG = 4096
};

struct listener {
    struct loop *loop;
    int fd;
    uint16_t port;
    struct loop_io io;
    struct loop_timer pause; /* while descriptors are short */
    const struct listener_ops *ops;
    void *arg;
    struct list pending; /* the oldest first */
    uint32_t count, limit;
};

/* A connection that has not said who it is. */
struct pending {
    struct list link;
    struct listener *listener;
    int fd;
    struct loop_io io;
    struct loop_timer deadline, again;
};

static void report(const char *why)
{
    unsigned more = 0;
    if (log_rate_ok("PMIx 127.0.0.1", &more)) {
        log_warn(LOG_LAUNCHER, "refused a connection to the PMIx port from 127.0.0.1: %s%s", why,
                 more > 0 ? " (and others before)" : "");
    }
}

/* Ends the watching; the connection is the caller's, unless why is given: then it is closed. */
static void settle(struct pending *pending, const char *why)
{
    loop_io_watch(&pending->io, 0);
    loop_timer_stop(&pending->deadline);
    loop_timer_stop(&pending->again);
    list_remove(&pending->link);
    pending->listener->count--;
    if (why) {
        report(why);
        close(pending->fd);
    }
    free(pending);
}

static void late(struct loop_timer *timer)
{
    settle(container_of(timer, struct pending, deadline), "it did not say who it is in time");
}

/* As libpmix expects it; should it have to wait after all, then not for long. */
static bool make_blocking(int fd)
{
    int one = 1, flags = fcntl(fd, F_GETFL);
    struct timeval limit = {.tv_sec = 1};
    return flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one)) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0;
}

static void welcome(struct pending *pending, const struct vet_hello *hello)
{
    struct listener *listener = pending->listener;
    const char *why = listener->ops->check(listener->arg, hello);
    if (!why && !make_blocking(pending->fd)) {
        why = "it broke";
    }
    int fd = pending->fd;
    settle(pending, why);
    if (!why) {
        listener->ops->arrived(listener->arg, hello, fd);
    }
}

static void watch_again(struct loop_timer *timer)
{
    loop_io_watch(&container_of(timer, struct pending, again)->io, EV_READ);
}

/* The kernel wakes us when enough is there, when the other side has ended, and when it is short of
 * memory: then it would do so again at once. */
static void wait_for_more(struct pending *pending, ssize_t got, int need)
{
    int before = 0;
    socklen_t length = sizeof(before);
    struct pollfd end = {.fd = pending->fd, .events = POLLRDHUP};
    if (poll(&end, 1, 0) != 0) {
        settle(pending, "it was closed in the midst of its first message");
    } else if (getsockopt(pending->fd, SOL_SOCKET, SO_RCVLOWAT, &before, &length) < 0 ||
               setsockopt(pending->fd, SOL_SOCKET, SO_RCVLOWAT, &need, sizeof(need)) < 0) {
        settle(pending, "it broke");
    } else if (got < before) {
        loop_io_watch(&pending->io, 0);
        loop_timer_start(&pending->again, AGAIN_US);
    }
}

/* Looks at what is there without taking it. */
static void readable(struct loop_io *io, short events)
{
    (void) events;
    struct pending *pending = container_of(io, struct pending, io);
    uint8_t bytes[VET_HELLO_MAX + 1];
    struct vet_hello hello;
    size_t need = 0;
    const char *why = NULL;
    ssize_t got = recv(pending->fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got <= 0) {
        settle(pending, "it was closed before it said who it is");
        return;
    }
    switch (vet_hello(bytes, (size_t) got, &hello, &need, &why)) {
    case VET_WELL:
        welcome(pending, &hello);
        return;
    case VET_BAD:
        settle(pending, why);
        return;
    case VET_MORE:
        break;
    }
    wait_for_more(pending, got, (int) need);
}

static void watch(struct listener *listener, int fd)
{
    int low = VET_HEADER_BYTES;
    struct pending *pending = calloc(1, sizeof(*pending));
    if (!pending || setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low)) < 0) {
        free(pending);
        close(fd);
        return;
    }
    if (listener->count >= listener->limit) {
        settle(container_of(listener->pending.next, struct pending, link),
               "too many that do not say who they are");
    }
    pending->listener = listener;
    pending->fd = fd;
    loop_io_init(&pending->io, listener->loop, fd, readable);
    loop_timer_init(&pending->deadline, listener->loop, late);
    loop_timer_init(&pending->again, listener->loop, watch_again);
    list_append(&listener->pending, &pending->link);
    listener->count++;
    loop_io_watch(&pending->io, EV_READ);
    loop_timer_start(&pending->deadline, (uint64_t) param_int(&handshake_ms) * 1000u);
}

static void incoming(struct loop_io *io, short events)
{
    (void) events;
    struct listener *listener = container_of(io, struct listener, io);
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        const char *why = NULL;
        int fd = sock_accept(listener->fd, NULL);
        if (sock_is_starved(fd)) {
            loop_io_watch(&listener->io, 0);
            loop_timer_start(&listener->pause, PAUSE_US);
            return;
        }
        if (fd == -EAGAIN) {
            return;
        }
        if (fd >= 0 && vet_owner(fd, geteuid(), &why) != 0) {
            report(why);
            close(fd);
        } else if (fd >= 0) {
            watch(listener, fd);
        }
    }
}

static void resume(struct loop_timer *timer)
{
    struct listener *listener = container_of(timer, struct listener, pause);
    loop_io_watch(&listener->io, EV_READ);
}

static int open_port(struct listener *listener)
{
    struct sock_addr addr;
    int error = sock_addr_ip(&addr, AF_INET, "127.0.0.1", 0);
    if (error != 0) {
        return error;
    }
    listener->fd = sock_listen(&addr, BACKLOG);
    if (listener->fd < 0) {
        return listener->fd;
    }
    error = sock_local_addr(listener->fd, &addr);
    listener->port = error == 0 ? sock_addr_port(&addr) : 0;
    return error;
}

int listener_create(struct listener **out, struct loop *loop, uint32_t ranks,
                    const struct listener_ops *ops, void *arg, char *reason, size_t reason_size)
{
    struct listener *listener = calloc(1, sizeof(*listener));
    if (!listener) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *listener = (struct listener){
        .loop = loop, .fd = -1, .ops = ops, .arg = arg, .limit = ranks + SPARE_PENDING};
    list_init(&listener->pending);
    loop_timer_init(&listener->pause, loop, resume);
    int error = open_port(listener);
    if (error != 0) {
        snprintf(reason, reason_size, "cannot listen on 127.0.0.1: %s", strerror(-error));
        listener_destroy(listener);
        return ORTE_ERR_IN_ERRNO;
    }
    loop_io_init(&listener->io, loop, listener->fd, incoming);
    loop_io_watch(&listener->io, EV_READ);
    *out = listener;
    return ORTE_SUCCESS;
}

int listener_fd(const struct listener *listener)
{
    return listener->fd;
}

uint16_t listener_port(const struct listener *listener)
{
    return listener->port;
}

void listener_destroy(struct listener *listener)
{
    if (!listener) {
        return;
    }
    struct pending *pending;
    list_for_each (pending, &listener->pending, struct pending, link) {
        int fd = pending->fd;
        settle(pending, NULL);
        close(fd);
    }
    loop_timer_stop(&listener->pause);
    if (listener->io.events) {
        loop_io_watch(&listener->io, 0);
    }
    fd_close(&listener->fd);
    free(listener);
}
