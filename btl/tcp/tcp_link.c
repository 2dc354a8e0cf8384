#include <config.h>

#include <base/fault.h>
#include <base/log.h>
#include <base/sock.h>
#include <btl/tcp/tcp_lane.h>
#include <btl/tcp/tcp_rdma.h>
#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum {
    RX_BUFFER = 64 << 10,
    RX_KEEP = 16 << 10, /* a message up to this waits in the buffer until it is whole */
    RX_AHEAD = 8 << 10, /* read past the end of data that is read in place */
    RX_READS = 8,       /* in one poll */
    TX_IOV = 64,
    TX_BATCH = 512 << 10, /* bytes of one write, about */
    TX_CREDIT = 256 << 10,
    IDLE_PASSES = 1024, /* then epoll watches the link instead */
    SKIP_MAX = 32,
    /* Within a host the kernel's own choice lets megabytes pile up before a reader that is a little
     * slower, and every byte has left the caches when it is read. It must hold several segments of
     * the loopback's 64 KiB, or the stream stops at each. */
    LOCAL_SNDBUF = 192 << 10,
};

/* Stands in for data whose region is gone. */
static const uint8_t zeros[4096];

/* ---- life ---- */

struct tcp_link *tcp_link_create(tcp_endpoint *ep, int fd, unsigned lane)
{
    struct tcp_link *link = calloc(1, sizeof(*link));
    void *buffer;

    if (!link || posix_memalign(&buffer, 64, RX_BUFFER) != 0) {
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
    link->credit = TX_CREDIT;
    list_init(&link->active);
    list_init(&link->out);
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

bool tcp_link_busy(const struct tcp_link *link)
{
    return !list_empty(&link->out) || !list_empty(&link->ep->bulk) ||
           (link->lane == 0 && !list_empty(&link->ep->small));
}

bool tcp_link_is_flushed(struct tcp_link *link)
{
    return list_empty(&link->out);
}

bool tcp_link_is_acknowledged(struct tcp_link *link)
{
    int left = 0;

    return link->error != 0 || ioctl(link->source.fd, SIOCOUTQ, &left) != 0 || left == 0;
}

/* ---- writing ---- */

struct batch {
    struct iovec iov[TX_IOV];
    int count;
    size_t bytes;
};

/* Adds a part of an item but for its first *skip bytes, which are written. false: no room. */
static bool batch_add(struct batch *batch, const void *base, size_t size, size_t *skip)
{
    if (*skip >= size) {
        *skip -= size;
        return true;
    }
    if (batch->count == TX_IOV) {
        return false;
    }
    batch->iov[batch->count++] = (struct iovec){(void *) ((uintptr_t) base + *skip), size - *skip};
    batch->bytes += size - *skip;
    *skip = 0;
    return true;
}

/* The data of an answer lies in a region that may be gone since; its length was announced, so the
 * peer gets zeros, and hears of it in the trailer. */
static bool batch_add_answer(struct batch *batch, tcp_endpoint *ep, struct tcp_item *item,
                             size_t *skip)
{
    size_t size = item->data.seg_len;

    if (*skip >= size) {
        *skip -= size;
        return true;
    }
    const void *data = tcp_rdma_answer_data(ep, item, 0);
    if (data) {
        return batch_add(batch, data, size, skip);
    }
    size_t left = size - *skip, none = 0;
    bool last = left <= sizeof(zeros);
    *skip = 0;
    return batch_add(batch, zeros, last ? left : sizeof(zeros), &none) && last;
}

static bool batch_add_frames(struct batch *batch, tcp_endpoint *ep, struct tcp_item *item,
                             size_t *skip)
{
    if (!batch_add(batch, item->header, item->header_size, skip)) {
        return false;
    }
    if (item->from_region) {
        return batch_add_answer(batch, ep, item, skip) &&
               batch_add(batch, item->trailer, item->trailer_size, skip);
    }
    for (size_t i = 0; i < item->segment_count; i++) {
        const mca_btl_base_segment_t *segment = &item->segments[i];
        if (segment->seg_len > 0 &&
            !batch_add(batch, segment->seg_addr.pval, segment->seg_len, skip)) {
            return false;
        }
    }
    return true;
}

/* false: not all of it, so that nothing may follow in this batch. */
static bool batch_add_item(struct batch *batch, tcp_endpoint *ep, struct tcp_item *item)
{
    size_t skip = item->sent;

    return batch_add_frames(batch, ep, item, &skip) &&
           (!item->twice || batch_add_frames(batch, ep, item, &skip));
}

/* The item's frames take their places in the stream. */
static void item_number(struct tcp_link *link, struct tcp_item *item)
{
    item->sequence = link->sequence++;
    tcp_frame_number(item->header, item->sequence);
    if (item->trailer_size > 0) {
        tcp_frame_number(item->trailer, link->sequence++);
    }
}

/* The next item to be written: messages pass pieces of puts and gets, but never starve them. */
static struct tcp_item *next_item(struct tcp_link *link)
{
    tcp_endpoint *ep = link->ep;
    bool bulk = !list_empty(&ep->bulk);

    if (link->lane == 0 && !list_empty(&ep->small) && (!bulk || link->credit > 0)) {
        struct tcp_item *item = container_of(list_pop(&ep->small), struct tcp_item, link);
        link->credit -= item->total < link->credit ? item->total : link->credit;
        return item;
    }
    if (bulk) {
        link->credit = TX_CREDIT;
        return container_of(list_pop(&ep->bulk), struct tcp_item, link);
    }
    return NULL;
}

/* twice: the first item that joins is written twice. */
static void batch_build(struct batch *batch, struct tcp_link *link, bool twice)
{
    struct tcp_item *item;

    batch->count = 0;
    batch->bytes = 0;
    list_for_each (item, &link->out, struct tcp_item, link) {
        if (!batch_add_item(batch, link->ep, item)) {
            return;
        }
    }
    while (batch->count < TX_IOV && batch->bytes < TX_BATCH && (item = next_item(link))) {
        list_append(&link->out, &item->link);
        item_number(link, item);
        item->twice = twice;
        twice = false;
        if (!batch_add_item(batch, link->ep, item)) {
            return;
        }
    }
}

static void batch_cut(struct batch *batch, size_t most)
{
    size_t left = most > 0 ? most : 1;

    for (int i = 0; i < batch->count; i++) {
        if (batch->iov[i].iov_len >= left) {
            batch->iov[i].iov_len = left;
            batch->count = i + 1;
            return;
        }
        left -= batch->iov[i].iov_len;
    }
}

static ssize_t batch_send(struct batch *batch, struct tcp_link *link, struct fault fault)
{
    if (fault.action == FAULT_ERROR) {
        errno = (int) fault.value;
        return -1;
    }
    if (fault.action == FAULT_DROP) { /* as the kernel does: it takes bytes, and gives up later */
        link->error = ETIMEDOUT;
        return (ssize_t) batch->bytes;
    }
    if (fault.action == FAULT_SHORT) {
        batch_cut(batch, (size_t) fault.value);
    }
    struct msghdr message = {.msg_iov = batch->iov, .msg_iovlen = (size_t) batch->count};
    return sendmsg(link->source.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void out_advance(struct tcp_link *link, size_t written)
{
    while (written > 0) {
        struct tcp_item *item = container_of(link->out.next, struct tcp_item, link);
        size_t total = item->twice ? 2 * item->total : item->total;
        size_t left = total - item->sent;
        if (written < left) {
            item->sent += written;
            return;
        }
        written -= left;
        item->sent = total;
        list_remove(&item->link);
        tcp_item_written(link->ep, item);
    }
}

void tcp_link_write(struct tcp_link *link)
{
    struct batch batch;

    while (link->error == 0) {
        struct fault fault = fault_at("btl.tcp.send");
        batch_build(&batch, link, fault.action == FAULT_DUPLICATE);
        if (batch.count == 0) {
            break;
        }
        ssize_t written = batch_send(&batch, link, fault);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0 && errno != EAGAIN && errno != ENOBUFS) {
            link->error = errno;
        }
        if (written < 0) {
            link->blocked++;
            link->skip = link->blocked < SKIP_MAX ? link->blocked : SKIP_MAX;
            return;
        }
        link->blocked = 0;
        link->used = true;
        out_advance(link, (size_t) written);
        if ((size_t) written < batch.bytes || link->ep->lanes) {
            return; /* what is left may find room on another link */
        }
    }
}

bool tcp_link_say_bye(struct tcp_link *link)
{
    uint8_t bytes[TCP_HEADER_MAX];
    struct tcp_frame bye = {.type = TCP_FRAME_BYE, .sequence = link->sequence};

    if (link->bye_said || link->error != 0) {
        return true;
    }
    if (list_empty(&link->out)) {
        size_t size = tcp_frame_encode(bytes, &bye);
        if (send(link->source.fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
            errno == EAGAIN) {
            return false;
        }
    }
    link->bye_said = true;
    shutdown(link->source.fd, SHUT_WR);
    return true;
}

/* ---- reading ---- */

static void link_break(struct tcp_link *link, int status, const char *why)
{
    if (link->source.fd >= 0) {
        tcp_endpoint_break(link->ep, status, why);
    }
}

/* Where the next bytes of the current frame's data go; NULL: nowhere. */
static uint8_t *body_target(struct tcp_link *link)
{
    struct tcp_rx *rx = &link->rx;

    switch (rx->frame.type) {
    case TCP_FRAME_AM:
    case TCP_FRAME_FRAME:
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
    size_t room = RX_BUFFER - rx->tail;
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

static bool is_message(enum tcp_frame_type type)
{
    return type == TCP_FRAME_AM || type == TCP_FRAME_FRAME;
}

/* An error: the framework's frame is none. */
static int deliver(struct tcp_link *link, uint8_t *data)
{
    tcp_endpoint *ep = link->ep;
    mca_btl_base_segment_t segment = {.seg_addr.pval = data, .seg_len = link->rx.frame.size};

    if (link->rx.frame.type == TCP_FRAME_FRAME) {
        return rdma_am_receive(ep->tcp->am, &ep->am, &segment, 1);
    }
    if (!ep->tcp->closing) {
        tcp_endpoint *face = tcp_endpoint_face(ep);
        /* Who was not added is no endpoint of the caller's. */
        btl_deliver(&ep->tcp->super, face->added ? face : NULL, link->rx.frame.tag, &segment, 1);
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
    case TCP_FRAME_FRAME:
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
    case TCP_FRAME_FRAME:
        return deliver(link, rx->message);
    case TCP_FRAME_DATA:
        rx->slot->data_in = true;
        return OPAL_SUCCESS;
    default:
        return tcp_rdma_put_ended(link->ep, &rx->frame, rx->status);
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
    if (is_message(type) && rx->frame.size <= there - (size_t) header) {
        uint8_t *data = rx->buffer + rx->head + header;
        rx->head += (size_t) header + rx->frame.size;
        rx->sequence++;
        status = deliver(link, align_down(data, rx->frame.size));
        return status == OPAL_SUCCESS ? 1 : OPAL_ERR_UNPACK_FAILURE;
    }
    if (is_message(type) && rx->frame.size <= RX_KEEP) {
        return 0;
    }
    rx->head += (size_t) header;
    rx->sequence++;
    bool data = is_message(type) || type == TCP_FRAME_PUT || type == TCP_FRAME_DATA;
    status = data ? body_begin(link) : frame_take(link);
    return status == OPAL_SUCCESS ? 1 : status;
}

static void rx_compact(struct tcp_rx *rx)
{
    if (rx->head == rx->tail) {
        rx->head = rx->tail = 0;
    } else if (rx->head > 0 && RX_BUFFER - rx->tail < RX_BUFFER / 2) {
        memmove(rx->buffer, rx->buffer + rx->head, rx->tail - rx->head);
        rx->tail -= rx->head;
        rx->head = 0;
    }
}

/* Takes all that is whole. A callback may close the link. */
static int rx_parse(struct tcp_link *link)
{
    struct tcp_rx *rx = &link->rx;
    int status = 1;
    bool body = rx->body_got > 0 || rx->body_left > 0;

    while (status > 0 && link->source.fd >= 0) {
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

/* The stream ended, or the socket failed. */
static void link_ended(struct tcp_link *link, int error)
{
    if (link->lane > 0 && (link->bye || !link->used)) {
        tcp_lane_left(link);
    } else if (link->bye) {
        tcp_endpoint_left(link->ep);
    } else {
        link_break(link, OPAL_ERR_UNREACH, error ? strerror(error) : "closed by the peer");
    }
}

static int link_read(struct tcp_link *link)
{
    int events = 0;
    size_t asked = 0;
    ssize_t read = 0;

    for (int i = 0; i < RX_READS && link->source.fd >= 0; i++) {
        read = link_recv(link, &asked);
        if (read <= 0) {
            break;
        }
        events++;
        link->used = true;
        rx_account(&link->rx, (size_t) read);
        if (rx_parse(link) != OPAL_SUCCESS) {
            link_break(link, OPAL_ERR_UNREACH,
                       link->rx.wrong ? link->rx.wrong : "sent what is no frame of ours");
        }
        if ((size_t) read < asked) {
            break;
        }
    }
    if (link->source.fd >= 0 && (read == 0 || (read < 0 && errno != EAGAIN && errno != EINTR))) {
        link_ended(link, read < 0 ? errno : 0);
        events++;
    }
    return events;
}

/* ---- progress ---- */

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
static int link_discard(struct tcp_link *link)
{
    ssize_t read;

    do {
        read = recv(link->source.fd, link->ep->tcp->scratch, TCP_SCRATCH_BYTES, MSG_DONTWAIT);
    } while (read > 0);
    if (read == 0 || (errno != EAGAIN && errno != EINTR)) {
        link->error = read == 0 ? ECONNRESET : errno;
    }
    return 0;
}

int tcp_link_poll(struct tcp_link *link)
{
    int events = 0;

    if (link->ep->leaving) {
        return link->error ? 0 : link_discard(link);
    }
    if (!link->reading) {
        link->reading = true;
        events = link_read(link);
        link->reading = false;
    }
    if (link->source.fd >= 0) {
        events += link_flush(link);
    }
    if (link->source.fd >= 0 && link->error != 0) {
        link_ended(link, link->error);
        events++;
    } else if (link->source.fd >= 0 && events == 0) {
        link_rest(link);
    } else {
        link->idle = 0;
    }
    return events;
}
