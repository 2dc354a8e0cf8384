/* Links: a socket with an inbox and an outbox, between the loop and the senders of any thread. */
#include <config.h>

#include <oob/endpoint.h>

#include <assert.h>
#include <base/data/clock.h>
#include <base/settings/fault.h>
#include <base/settings/log.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

enum {
    READS_A_TURN = 8, /* then the loop's other watchers have their turn */
    WRITES_A_TURN = 8,
    BURST_FRAMES = 4, /* a sender of so many small frames in so long leaves more to the loop */
    BURST_US = 100,
    SMALL_BYTES = 8192,
    CLOSE_DEADLINE_US = 1000000,
};

static void on_ready(struct loop_io *io, short events);
static void on_rest(struct loop_task *task);
static void on_close_deadline(struct loop_timer *timer);

/* --- life --- */

static void link_free(struct oob_link *link)
{
    inbox_fini(&link->inbox);
    outbox_fini(&link->outbox);
    pthread_mutex_destroy(&link->lock);
    free(link);
}

int link_create(struct oob_link **link, struct oob *oob, const struct handshake *handshake,
                const struct oob_peer *peer)
{
    struct oob_link *made = aligned_alloc(_Alignof(struct oob_link), sizeof *made);
    if (!made) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    memset(made, 0, sizeof *made);
    made->oob = oob;
    made->peer = *peer;
    made->fd = -1;
    made->rest.run = on_rest;
    atomic_init(&made->refs, 1);
    list_init(&made->by_name);
    list_init(&made->watched);
    pthread_mutex_init(&made->lock, NULL);
    bool encrypt = handshake->self.security == OOB_SECURITY_ENCRYPT;
    if (inbox_init(&made->inbox, handshake->cipher, encrypt, handshake->rx_key) != ORTE_SUCCESS ||
        outbox_init(&made->outbox, handshake->cipher, encrypt, handshake->tx_key) != ORTE_SUCCESS) {
        link_free(made);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *link = made;
    return ORTE_SUCCESS;
}

/* Small frames leave at once; a peer that has silently gone is noticed. A refused option costs
 * speed or a later notice, no more. */
static void tune_tcp(int fd)
{
    const int on = 1;
    const int idle_s = 5, interval_s = 2, probes = 5, user_timeout_ms = 15000;
    sock_nodelay(fd);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout_ms, sizeof user_timeout_ms);
}

void link_attach(struct oob_link *link, struct greeting *greeting)
{
    link->is_unix = greeting->is_unix;
    link->fd = greeting_take_fd(greeting);
    if (!link->is_unix) {
        tune_tcp(link->fd);
    }
    loop_io_init(&link->io, link->oob->loop, link->fd, on_ready);
    loop_timer_init(&link->close_timer, link->oob->loop, on_close_deadline);
}

struct oob_link *oob_link_ref(struct oob_link *link)
{
    atomic_fetch_add_explicit(&link->refs, 1, memory_order_relaxed);
    return link;
}

void oob_link_unref(struct oob_link *link)
{
    if (link && atomic_fetch_sub_explicit(&link->refs, 1, memory_order_acq_rel) == 1) {
        link_free(link);
    }
}

const struct oob_peer *oob_link_peer(const struct oob_link *link)
{
    return &link->peer;
}

/* Never with the lock held. */
static void complete(struct list *frames, int status)
{
    struct list *first;
    while ((first = list_pop(frames))) {
        struct oob_tx *tx = container_of(first, struct oob_tx, link);
        tx->done(tx, status);
    }
}

/* The state and all that senders see of it change at once; returns the state before. */
static enum link_state set_down(struct oob_link *link, struct list *failed)
{
    loop_io_watch(&link->io, 0);
    pthread_mutex_lock(&link->lock);
    enum link_state before = link->state;
    link->state = LINK_DOWN;
    outbox_take(&link->outbox, failed);
    link->peer.round_trip_us = sock_round_trip_us(link->fd);
    fd_close(&link->fd);
    pthread_mutex_unlock(&link->lock);
    return before;
}

void link_end(struct oob_link *link, int status)
{
    if (link->state == LINK_DOWN) {
        return;
    }
    struct oob *oob = link->oob;
    assert(loop_is_current(oob->loop));
    struct list failed = LIST_INIT(failed);
    enum link_state before = set_down(link, &failed);
    loop_timer_stop(&link->close_timer);
    loop_cancel(oob->loop, &link->rest);
    list_remove(&link->by_name);
    list_remove(&link->watched);
    complete(&failed, ORTE_ERR_COMM_FAILURE);
    if (before != LINK_NEW) {
        log_info(LOG_OOB, "link to %s is down: %s", ORTE_NAME_PRINT(&link->peer.name),
                 opal_strerror(status));
        oob->ops->down(oob->arg, link, status);
    }
    oob_link_unref(link);
}

/* --- writing --- */

static void watch(struct oob_link *link)
{
    if (link->state == LINK_UP || link->state == LINK_CLOSING) {
        loop_io_watch(&link->io, (short) (EV_READ | (link->watch_write ? EV_WRITE : 0)));
    }
}

/* A write failed: what the peer sent before it went is read first. */
static void on_broken(struct oob_link *link)
{
    log_debug(LOG_OOB, "writing to %s: %s", ORTE_NAME_PRINT(&link->peer.name),
              strerror(link->broken));
    if (link->state == LINK_UP) {
        link_read(link);
    }
    link_end(link, ORTE_ERR_COMM_FAILURE);
}

/* All is written. On TCP the end waits for the peer's: a socket that is closed while bytes come in
 * would throw away what the peer has not read yet. */
static void on_written(struct oob_link *link)
{
    if (link->state != LINK_CLOSING) {
        return;
    }
    if (link->is_unix) {
        link_end(link, ORTE_SUCCESS);
    } else {
        shutdown(link->fd, SHUT_WR);
    }
}

/* What the loop writes next. False: nothing is left, and the loop is not armed any more. */
static bool choose(struct oob_link *link)
{
    pthread_mutex_lock(&link->lock);
    link->armed = outbox_choose(&link->outbox);
    bool more = link->armed;
    pthread_mutex_unlock(&link->lock);
    return more;
}

/* The loop's own writing, while armed: senders append meanwhile, and wait for no system call. */
static void write_rest(struct oob_link *link)
{
    struct list completed = LIST_INIT(completed);
    int status = 1, writes = 0;
    bool more = true;
    while (status == 1 && writes++ < WRITES_A_TURN && (more = choose(link))) {
        status = outbox_push(&link->outbox, link->fd, &completed);
        complete(&completed, ORTE_SUCCESS);
        if (link->state == LINK_DOWN) {
            return;
        }
    }
    link->watch_write = status == 0;
    if (status < 0) {
        link->broken = -status;
        on_broken(link);
    } else if (!more) {
        on_written(link);
    } else if (status == 1) {
        loop_post(link->oob->loop, &link->rest);
    }
    watch(link);
}

static void on_rest(struct loop_task *task)
{
    struct oob_link *link = oob_link_ref(container_of(task, struct oob_link, rest));
    if (link->broken) {
        on_broken(link);
    } else {
        write_rest(link);
    }
    oob_link_unref(link);
}

/* True: the loop is to be woken, once the lock is given back. */
static bool arm_locked(struct oob_link *link)
{
    link->armed = true;
    return loop_post_quietly(link->oob->loop, &link->rest);
}

/* Writes what is queued, unless the loop is at it; what the kernel does not take is left to the
 * loop. True: that is to be woken. */
static bool write_now_locked(struct oob_link *link, struct list *completed)
{
    int status = link->armed ? 1 : outbox_write(&link->outbox, link->fd, completed);
    if (status == 1) {
        return false;
    }
    link->broken = status < 0 ? -status : 0;
    return arm_locked(link);
}

/* A single frame leaves soonest when its sender writes it. Many small ones leave sooner when the
 * loop does, with one system call, and one record, for all that have come by then. */
static bool in_burst_locked(struct oob_link *link, const struct oob_tx *tx)
{
    if (link->armed || outbox_frame_size(tx) > SMALL_BYTES) {
        return false;
    }
    uint64_t now = clock_us();
    if (now - link->burst_at > BURST_US) {
        link->burst_at = now;
        link->burst = 0;
    }
    return ++link->burst > BURST_FRAMES;
}

void oob_send(struct oob_link *link, struct oob_tx *tx)
{
    if (!outbox_prepare(tx)) {
        tx->done(tx, ORTE_ERR_BAD_PARAM);
        return;
    }
    struct list completed = LIST_INIT(completed);
    struct loop *loop = NULL;
    pthread_mutex_lock(&link->lock);
    bool up = link->state == LINK_UP;
    if (up) {
        outbox_append(&link->outbox, tx);
        bool burst = in_burst_locked(link, tx);
        bool wakes = burst ? arm_locked(link) : write_now_locked(link, &completed);
        loop = wakes ? link->oob->loop : NULL; /* the link may end before it is woken */
    }
    pthread_mutex_unlock(&link->lock);
    if (loop) {
        loop_wake(loop);
    }
    if (!up) {
        tx->done(tx, ORTE_ERR_COMM_FAILURE);
    }
    complete(&completed, ORTE_SUCCESS);
}

void link_beat(struct oob_link *link, enum outbox_beat kind)
{
    struct list completed = LIST_INIT(completed);
    bool wakes = false;
    pthread_mutex_lock(&link->lock);
    if (link->state == LINK_UP) {
        outbox_append_beat(&link->outbox, kind);
        wakes = write_now_locked(link, &completed);
    }
    pthread_mutex_unlock(&link->lock);
    if (wakes) {
        loop_wake(link->oob->loop);
    }
    complete(&completed, ORTE_SUCCESS);
}

/* --- reading --- */

/* Hands up the frames that are there. False: nothing more can be read for now. */
static bool deliver(struct oob_link *link)
{
    while (link->state == LINK_UP) {
        const uint8_t *data;
        size_t size;
        switch (inbox_next(&link->inbox, &data, &size)) {
        case INBOX_FRAME:
            link->oob->ops->frame(link->oob->arg, link, data, size);
            break;
        case INBOX_PING:
            link_beat(link, OUTBOX_PONG);
            break;
        case INBOX_PONG:
            break; /* it was heard */
        case INBOX_MORE:
            return true;
        case INBOX_CLOSE:
            link_end(link, ORTE_SUCCESS);
            return false;
        case INBOX_BAD:
            log_warn(LOG_OOB, "%s (%s) sent a record or frame against the rules",
                     ORTE_NAME_PRINT(&link->peer.name), link->peer.address);
            link_end(link, ORTE_ERR_COMM_FAILURE);
            return false;
        case INBOX_MEMORY:
            log_error(LOG_OOB, "no memory for a frame from %s", ORTE_NAME_PRINT(&link->peer.name));
            link_end(link, ORTE_ERR_OUT_OF_RESOURCE);
            return false;
        }
    }
    return false;
}

static ssize_t receive(int fd, void *room, size_t size)
{
    struct fault fault = fault_at("oob.recv");
    if (fault.action == FAULT_ERROR) {
        errno = (int) fault.value;
        return -1;
    }
    if (fault.action == FAULT_SHORT && fault.value > 0 && (size_t) fault.value < size) {
        size = (size_t) fault.value;
    }
    return recv(fd, room, size, MSG_DONTWAIT);
}

/* The socket's end: orderly only when this side was closing it. */
static void on_socket_end(struct oob_link *link, int error)
{
    if (error) {
        log_debug(LOG_OOB, "reading from %s: %s", ORTE_NAME_PRINT(&link->peer.name),
                  strerror(error));
    }
    bool finished = link->state == LINK_CLOSING && outbox_empty(&link->outbox);
    link_end(link, finished ? ORTE_SUCCESS : ORTE_ERR_COMM_FAILURE);
}

/* One read. False: no more for now, or the link has ended. While closing, what comes is dropped. */
static bool read_once(struct oob_link *link)
{
    uint8_t dropped[4096];
    uint8_t *room = dropped;
    size_t size = sizeof dropped;
    if (link->state == LINK_UP) {
        size = inbox_room(&link->inbox, &room);
    }
    ssize_t got = receive(link->fd, room, size);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    if (got <= 0) {
        on_socket_end(link, got < 0 ? errno : 0);
        return false;
    }
    link->unheard = false;
    if (link->state == LINK_CLOSING) {
        return true;
    }
    if (!list_empty(&link->watched)) {
        pulse_hear(&link->pulse, clock_us());
    }
    inbox_filled(&link->inbox, (size_t) got);
    return deliver(link) && (size_t) got == size;
}

void link_read(struct oob_link *link)
{
    oob_link_ref(link);
    for (int i = 0; i < READS_A_TURN && read_once(link); i++) {
    }
    oob_link_unref(link);
}

static void on_ready(struct loop_io *io, short events)
{
    struct oob_link *link = oob_link_ref(container_of(io, struct oob_link, io));
    if (events & EV_WRITE) {
        write_rest(link);
    }
    if (events & EV_READ && link->state != LINK_DOWN) {
        link_read(link);
    }
    oob_link_unref(link);
}

void link_start(struct oob_link *link)
{
    watch(link);
}

/* --- closing --- */

static void on_close_deadline(struct loop_timer *timer)
{
    struct oob_link *link = container_of(timer, struct oob_link, close_timer);
    link_end(link, outbox_empty(&link->outbox) ? ORTE_SUCCESS : ORTE_ERR_COMM_FAILURE);
}

void oob_link_break(struct oob_link *link)
{
    if (link->state == LINK_UP) {
        link_end(link, ORTE_ERR_COMM_FAILURE);
    }
}

void oob_link_close(struct oob_link *link, bool flush)
{
    if (link->state != LINK_UP) {
        if (!flush) {
            link_end(link, ORTE_SUCCESS);
        }
        return;
    }
    oob_link_ref(link);
    struct list completed = LIST_INIT(completed);
    bool wakes = false;
    pthread_mutex_lock(&link->lock);
    link->state = LINK_CLOSING;
    if (flush || outbox_empty(&link->outbox)) {
        outbox_append_close(&link->outbox);
        wakes = write_now_locked(link, &completed);
    }
    bool written = outbox_empty(&link->outbox);
    pthread_mutex_unlock(&link->lock);
    if (wakes) {
        loop_wake(link->oob->loop);
    }
    complete(&completed, ORTE_SUCCESS);

    if (!flush) {
        link_end(link, ORTE_SUCCESS);
    } else {
        loop_timer_start(&link->close_timer, CLOSE_DEADLINE_US);
        watch(link);
        if (written) {
            on_written(link);
        }
    }
    oob_link_unref(link);
}
