/* Reading from a link: many frames from one read, and what each of them does. */
#include <config.h>

#include <base/settings/fault.h>
#include <btl/tcp/tcp_link.h>
#include <btl/tcp/tcp_rdma.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    RX_KEEP = 16 << 10, /* a message up to this waits in the buffer until it is whole */
    RX_AHEAD = 8 << 10, /* read past the end of data that is read in place */
    RX_READS = 8,       /* in one poll */
};

/* Where the next bytes of the current frame's data go; NULL: nowhere. */
static uint8_t *body_target(struct tcp_link *link)
{
    struct tcp_rx *rx = &link->rx;

    switch (rx->frame.type) {
    case TCP_FRAME_AM:
        return rx->message + rx->body_got;
    case TCP_FRAME_DATA:
        return rx->slot->local + rx->body_got;
    case TCP_FRAME_PUT:
        return rx->status != OPAL_SUCCESS
                   ? NULL
                   : tcp_rdma_put_target(link->ep, &rx->frame, rx->body_got, &rx->status);
    default:
        return NULL;
    }
}

/* One read: what is missing of the current data goes in place, what follows into the buffer. */
static ssize_t link_recv(struct tcp_link *link, size_t *asked)
{
    struct tcp_rx *rx = &link->rx;
    struct iovec iov[2];
    int count = 0;
    size_t room = TCP_RX_BUFFER - rx->tail;
    struct fault fault = fault_at("btl.tcp.recv");

    if (fault.action == FAULT_ERROR) {
        errno = (int) fault.value;
        return -1;
    }
    *asked = 0;
    if (rx->body_left > 0) {
        uint8_t *target = body_target(link);
        size_t size = rx->body_left;
        if (!target) {
            target = link->ep->tcp->scratch;
            size = size < TCP_SCRATCH_BYTES ? size : TCP_SCRATCH_BYTES;
        }
        iov[count++] = (struct iovec){target, size};
        *asked += size;
        room = size < rx->body_left ? 0 : room < RX_AHEAD ? room : RX_AHEAD;
    }
    if (room > 0) {
        iov[count++] = (struct iovec){rx->buffer + rx->tail, room};
        *asked += room;
    }
    if (fault.action == FAULT_SHORT && fault.value >= 0) {
        size_t most = fault.value > 0 ? (size_t) fault.value : 1;
        iov[0].iov_len = iov[0].iov_len < most ? iov[0].iov_len : most;
        count = 1;
    }
    struct msghdr message = {.msg_iov = iov, .msg_iovlen = (size_t) count};
    return recvmsg(link->source.fd, &message, MSG_DONTWAIT);
}

/* Data read in place comes first, so what is left of read went to the buffer. */
static void rx_account(struct tcp_rx *rx, size_t read)
{
    size_t body = read < rx->body_left ? read : rx->body_left;

    rx->body_left -= body;
    rx->body_got += body;
    rx->tail += read - body;
}

/* An error: the message on the framework's channel is no frame of its. */
static int deliver(struct tcp_link *link, uint8_t *data)
{
    tcp_endpoint *ep = link->ep;
    mca_btl_base_segment_t segment = {.seg_addr.pval = data, .seg_len = link->rx.frame.size};

    if (link->rx.frame.channel == BTL_CHANNEL_RDMA) {
        return rdma_am_receive(ep->tcp->am, &ep->am, &segment, 1);
    }
    if (!ep->tcp->peers.closing) {
        btl_deliver_on(&ep->tcp->super, btl_peer_added(&tcp_endpoint_known_as(ep)->peer),
                       link->rx.frame.channel, link->rx.frame.tag, &segment, 1);
    }
    return OPAL_SUCCESS;
}

/* Gives a message the alignment that upper layers' headers want; the header before it makes room.
 */
static uint8_t *align_down(uint8_t *data, size_t size)
{
    size_t odd = (uintptr_t) data % TCP_PREFIX_BYTES;

    return odd ? memmove(data - odd, data, size) : data;
}

static int message_reserve(struct tcp_rx *rx, size_t size)
{
    if (rx->message_size < size) {
        free(rx->message);
        rx->message = malloc(size);
        rx->message_size = rx->message ? size : 0;
    }
    return rx->message ? OPAL_SUCCESS : OPAL_ERR_OUT_OF_RESOURCE;
}

/* A frame with data that is not whole in the buffer, or goes elsewhere. */
static int body_begin(struct tcp_link *link)
{
    struct tcp_rx *rx = &link->rx;

    rx->body_left = rx->frame.size;
    rx->body_got = 0;
    rx->status = OPAL_SUCCESS;
    switch (rx->frame.type) {
    case TCP_FRAME_AM:
        return message_reserve(rx, rx->frame.size);
    case TCP_FRAME_DATA:
        rx->slot = tcp_rdma_data(link->ep, &rx->frame);
        return rx->slot ? OPAL_SUCCESS : OPAL_ERR_UNPACK_FAILURE;
    default:
        return OPAL_SUCCESS;
    }
}

/* The part of the data that lies in the buffer. */
static void body_copy(struct tcp_link *link)
{
    struct tcp_rx *rx = &link->rx;
    size_t there = rx->tail - rx->head;
    size_t size = there < rx->body_left ? there : rx->body_left;

    if (size == 0) {
        return;
    }
    uint8_t *target = body_target(link);
    if (target) {
        memcpy(target, rx->buffer + rx->head, size);
    }
    rx->head += size;
    rx->body_left -= size;
    rx->body_got += size;
}

static int body_end(struct tcp_link *link)
{
    struct tcp_rx *rx = &link->rx;

    switch (rx->frame.type) {
    case TCP_FRAME_AM:
        return deliver(link, rx->message);
    case TCP_FRAME_DATA:
        rx->slot->data_in = true;
        return OPAL_SUCCESS;
    default:
        return tcp_rdma_answer(link->ep, rx->frame.id, rx->status);
    }
}

/* A frame without data. */
static int frame_take(struct tcp_link *link)
{
    switch (link->rx.frame.type) {
    case TCP_FRAME_GET:
        return tcp_rdma_serve_get(link->ep, &link->rx.frame);
    case TCP_FRAME_DONE:
        return tcp_rdma_done(link->ep, &link->rx.frame);
    default:
        link->bye = true;
        return OPAL_SUCCESS;
    }
}

/* One frame's header at head, and the message behind it when it is whole. 1: something was taken;
 * 0: more bytes are needed. */
static int frame_parse(struct tcp_link *link)
{
    struct tcp_rx *rx = &link->rx;
    size_t there = rx->tail - rx->head;
    int header = tcp_frame_decode(&rx->frame, rx->buffer + rx->head, there);

    if (header <= 0 || link->bye) {
        return header > 0 ? OPAL_ERR_UNPACK_FAILURE : header;
    }
    if (rx->frame.sequence != rx->sequence) {
        rx->wrong = "a frame came out of its sequence: one is missing, or came twice";
        return OPAL_ERR_UNPACK_FAILURE;
    }
    enum tcp_frame_type type = rx->frame.type;
    int status;
    if (type == TCP_FRAME_AM && rx->frame.size <= there - (size_t) header) {
        uint8_t *data = rx->buffer + rx->head + header;
        rx->head += (size_t) header + rx->frame.size;
        rx->sequence++;
        status = deliver(link, align_down(data, rx->frame.size));
        return status == OPAL_SUCCESS ? 1 : OPAL_ERR_UNPACK_FAILURE;
    }
    if (type == TCP_FRAME_AM && rx->frame.size <= RX_KEEP) {
        return 0;
    }
    rx->head += (size_t) header;
    rx->sequence++;
    bool data = type == TCP_FRAME_AM || type == TCP_FRAME_PUT || type == TCP_FRAME_DATA;
    status = data ? body_begin(link) : frame_take(link);
    return status == OPAL_SUCCESS ? 1 : status;
}

static void rx_compact(struct tcp_rx *rx)
{
    if (rx->head == rx->tail) {
        rx->head = rx->tail = 0;
    } else if (rx->head > 0 && TCP_RX_BUFFER - rx->tail < TCP_RX_BUFFER / 2) {
        memmove(rx->buffer, rx->buffer + rx->head, rx->tail - rx->head);
        rx->tail -= rx->head;
        rx->head = 0;
    }
}

/* A callback may end the endpoint, or break it: then what has come counts no more. */
static bool link_reads(const struct tcp_link *link)
{
    return link->source.fd >= 0 && link->ep->peer.state == PEER_UP;
}

/* Takes all that is whole. */
static int rx_parse(struct tcp_link *link)
{
    struct tcp_rx *rx = &link->rx;
    int status = 1;
    bool body = rx->body_got > 0 || rx->body_left > 0;

    while (status > 0 && link_reads(link)) {
        if (body) {
            body_copy(link);
            if (rx->body_left > 0) {
                break;
            }
            rx->body_got = 0;
            body = false;
            status = body_end(link) == OPAL_SUCCESS ? 1 : OPAL_ERR_UNPACK_FAILURE;
        } else {
            status = frame_parse(link);
            body = rx->body_left > 0;
        }
    }
    rx_compact(rx);
    return status < 0 ? status : OPAL_SUCCESS;
}

int tcp_link_read(struct tcp_link *link)
{
    int events = 0;
    size_t asked = 0;
    ssize_t read = 0;

    for (int i = 0; i < RX_READS && link_reads(link); i++) {
        read = link_recv(link, &asked);
        if (read <= 0) {
            break;
        }
        events++;
        link->used = true;
        link->ep->tcp->counts.reads++;
        link->ep->tcp->counts.bytes_read += (uint64_t) read;
        rx_account(&link->rx, (size_t) read);
        if (rx_parse(link) != OPAL_SUCCESS) {
            tcp_link_break(link, link->rx.wrong ? link->rx.wrong : "sent what is no frame of ours");
            return events;
        }
        if ((size_t) read < asked) {
            break;
        }
    }
    if (link_reads(link) && (read == 0 || (read < 0 && errno != EAGAIN && errno != EINTR))) {
        tcp_link_ended(link, read < 0 ? errno : 0);
        events++;
    }
    return events;
}
