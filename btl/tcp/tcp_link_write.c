/* Writing to a link: many items in one sendmsg. */
#include <config.h>

#include <base/settings/fault.h>
#include <btl/tcp/tcp_link.h>
#include <btl/tcp/tcp_rdma.h>
#include <errno.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum {
    TX_IOV = 64,
    TX_BATCH = 512 << 10, /* bytes of one write, about */
    SKIP_MAX = 32,
};

/* Stands in for data whose region is gone. */
static const uint8_t zeros[4096];

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
    const void *data = tcp_rdma_answer_data(ep, item);
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
        link->credit = TCP_TX_CREDIT;
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
            link->ep->tcp->counts.blocked++;
            link->blocked++;
            link->skip = link->blocked < SKIP_MAX ? link->blocked : SKIP_MAX;
            return;
        }
        link->blocked = 0;
        link->used = true;
        link->ep->tcp->counts.writes++;
        link->ep->tcp->counts.bytes_written += (uint64_t) written;
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
