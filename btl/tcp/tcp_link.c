/* A socket that is up: its life, and what each poll of it does. */
#include <config.h>

#include <base/net/sock.h>
#include <btl/tcp/tcp_lane.h>
#include <btl/tcp/tcp_rdma.h>
#include <btl/tcp/tcp_silence.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum {
    IDLE_PASSES = 1024, /* then epoll watches the link instead */
    /* Within a host the kernel's own choice lets megabytes pile up before a reader that is a little
     * slower, and every byte has left the caches when it is read. It must hold several segments of
     * the loopback's 64 KiB, or the stream stops at each. */
    LOCAL_SNDBUF = 192 << 10,
};

struct tcp_link *tcp_link_create(tcp_endpoint *ep, int fd, unsigned lane)
{
    struct tcp_link *link = calloc(1, sizeof(*link));
    void *buffer;

    if (!link || posix_memalign(&buffer, 64, TCP_RX_BUFFER) != 0) {
        free(link);
        return NULL;
    }
    const int local_sndbuf = LOCAL_SNDBUF;
    if (ep->tcp->params.sndbuf == 0 && sock_is_local(fd)) {
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &local_sndbuf, sizeof(local_sndbuf));
    }
    link->source = (struct tcp_source){.kind = TCP_SOURCE_LINK, .fd = fd};
    link->ep = ep;
    link->lane = lane;
    link->rx.buffer = buffer;
    link->credit = TCP_TX_CREDIT;
    list_init(&link->active);
    list_init(&link->out);
    tcp_silence_link_begins(link);
    return link;
}

static void link_release(struct tcp_ended *ended)
{
    struct tcp_link *link = container_of(ended, struct tcp_link, ended);

    free(link->rx.buffer);
    free(link->rx.message);
    free(link);
}

void tcp_link_close(struct tcp_link *link)
{
    struct tcp_module *tcp = link->ep->tcp;

    /* What is being written goes back to the head of the queue, to end with the rest. */
    list_splice(&link->out, &link->ep->small);
    list_splice(&link->ep->small, &link->out);
    list_remove(&link->active);
    tcp_source_close(tcp, &link->source);
    tcp_silence_link_ends(link);
    tcp_end(tcp, &link->ended, link_release);
}

void tcp_link_wake(struct tcp_link *link)
{
    struct tcp_module *tcp = link->ep->tcp;

    link->idle = 0;
    if (list_empty(&link->active)) {
        tcp_unwatch(tcp, &link->source);
        list_append(&tcp->active, &link->active);
    }
}

void tcp_link_break(struct tcp_link *link, const char *why)
{
    if (link->source.fd >= 0) {
        tcp_endpoint_break(link->ep, OPAL_ERR_UNREACH, why);
    }
}

void tcp_link_ended(struct tcp_link *link, int error)
{
    if (link->lane > 0 && (link->bye || !link->used)) {
        tcp_lane_left(link);
    } else if (link->bye) {
        tcp_endpoint_left(link->ep);
    } else {
        tcp_link_break(link, error ? strerror(error) : "closed by the peer");
    }
}

/* A link on which nothing moved for long is left to epoll. */
static void link_rest(struct tcp_link *link)
{
    if (++link->idle > IDLE_PASSES && !tcp_link_busy(link) && link->ep->slots_used == 0 &&
        !rdma_am_peer_active(&link->ep->am) &&
        tcp_watch(link->ep->tcp, &link->source, EPOLLIN) == OPAL_SUCCESS) {
        list_remove(&link->active);
    }
}

static int link_flush(struct tcp_link *link)
{
    tcp_endpoint *ep = link->ep;

    if (ep->slots_used == 0 && !list_empty(&ep->ops)) {
        tcp_rdma_issue(ep);
    }
    if (tcp_link_busy(link) && (link->skip == 0 || --link->skip == 0)) {
        tcp_link_write(link);
    }
    return list_empty(&ep->done) ? 0 : tcp_send_complete(ep);
}

/* All that is here, and nothing of it counts. */
static void link_discard(struct tcp_link *link)
{
    ssize_t read;

    do {
        read = recv(link->source.fd, link->ep->tcp->scratch, TCP_SCRATCH_BYTES, MSG_DONTWAIT);
    } while (read > 0);
    if (read == 0 || (errno != EAGAIN && errno != EINTR)) {
        link->error = read == 0 ? ECONNRESET : errno;
    }
}

int tcp_link_poll(struct tcp_link *link)
{
    int events = 0;

    if (link->ep->peer.state == PEER_CLOSING) {
        if (link->error == 0) {
            link_discard(link);
        }
        return 0;
    }
    if (!link->reading) {
        link->reading = true;
        events = tcp_link_read(link);
        link->reading = false;
    }
    if (link->source.fd >= 0) {
        events += link_flush(link);
    }
    if (link->source.fd >= 0 && link->error != 0) {
        tcp_link_ended(link, link->error);
        events++;
    } else if (link->source.fd >= 0 && events == 0) {
        link_rest(link);
    } else {
        link->idle = 0;
    }
    return events;
}
