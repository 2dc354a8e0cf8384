#include <config.h>

#include <base/settings/log.h>
#include <btl/tcp/tcp_conn.h>
#include <btl/tcp/tcp_link.h>
#include <btl/tcp/tcp_silence.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

enum {
    EPOLL_PASSES =
        16, /* passes from one look at the quiet sockets to the next, while others move */
    EPOLL_EVENTS = 64,
    EPOLL_ROUNDS = 64, /* the most in one pass */
};

void tcp_enter(struct tcp_module *tcp)
{
    tcp->depth++;
}

void tcp_leave(struct tcp_module *tcp)
{
    if (--tcp->depth > 0) {
        return;
    }
    for (struct list *link; (link = list_pop(&tcp->ended));) {
        struct tcp_ended *ended = container_of(link, struct tcp_ended, link);
        ended->release(ended);
    }
}

void tcp_end(struct tcp_module *tcp, struct tcp_ended *ended,
             void (*release)(struct tcp_ended *ended))
{
    ended->release = release;
    list_append(&tcp->ended, &ended->link);
}

int tcp_watch(struct tcp_module *tcp, struct tcp_source *source, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = source};
    int operation = source->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

    if (epoll_ctl(tcp->epoll, operation, source->fd, &event) != 0) {
        log_warn(LOG_BTL, "%s: epoll_ctl: %s", tcp->name, strerror(errno));
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    source->watched = true;
    return OPAL_SUCCESS;
}

void tcp_unwatch(struct tcp_module *tcp, struct tcp_source *source)
{
    if (source->watched) {
        epoll_ctl(tcp->epoll, EPOLL_CTL_DEL, source->fd, NULL);
        source->watched = false;
    }
}

void tcp_source_close(struct tcp_module *tcp, struct tcp_source *source)
{
    tcp_unwatch(tcp, source);
    fd_close(&source->fd);
}

static int source_ready(struct tcp_module *tcp, struct tcp_source *source)
{
    if (source->fd < 0) {
        return 0; /* closed by an event before this one */
    }
    switch (source->kind) {
    case TCP_SOURCE_LISTENER:
        return tcp_conn_accept(tcp, source->fd);
    case TCP_SOURCE_CONN:
        tcp_conn_ready((struct tcp_conn *) (void *) source);
        return 1;
    case TCP_SOURCE_LINK:
        tcp_link_wake((struct tcp_link *) (void *) source);
        return tcp_link_poll((struct tcp_link *) (void *) source);
    case TCP_SOURCE_TIMER:
        tcp_silence_check(tcp);
        return 0;
    }
    return 0;
}

static int poll_events(struct tcp_module *tcp)
{
    struct epoll_event list[EPOLL_EVENTS];
    int events = 0, count = EPOLL_EVENTS;

    for (int round = 0; round < EPOLL_ROUNDS && count == EPOLL_EVENTS; round++) {
        count = epoll_wait(tcp->epoll, list, EPOLL_EVENTS, 0);
        for (int i = 0; i < count; i++) {
            events += source_ready(tcp, list[i].data.ptr);
        }
    }
    return events;
}

static int poll_active(struct tcp_module *tcp)
{
    struct list round;
    int events = 0;

    /* Links move back one by one, so that a callback may close any of them, or poll itself. */
    list_init(&round);
    list_splice(&round, &tcp->active);
    for (struct list *link; (link = list_pop(&round));) {
        list_append(&tcp->active, link);
        events += tcp_link_poll(container_of(link, struct tcp_link, active));
    }
    return events;
}

int tcp_poll(mca_btl_base_module_t *btl)
{
    struct tcp_module *tcp = tcp_of(btl);

    tcp_enter(tcp);
    int events = poll_active(tcp);
    events += rdma_am_progress(tcp->am);
    bool setting_up = !list_empty(&tcp->conns.by_age) || btl_peers_busy(&tcp->peers);
    if (setting_up) {
        events += btl_peers_progress(&tcp->peers);
    }
    if (setting_up || list_empty(&tcp->active) || ++tcp->passes >= EPOLL_PASSES) {
        tcp->passes = 0;
        events += poll_events(tcp);
    }
    if (setting_up) {
        tcp_conn_expire(tcp);
    }
    tcp_leave(tcp);
    return events;
}
