#include <config.h>

#include <base/data/clock.h>
#include <btl/tcp/tcp_lane.h>
#include <btl/tcp/tcp_silence.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44 /* Linux 6.15 */
#endif

/* Of the time that makes a link a failed one. */
enum {
    LOOKS = 16,      /* in it */
    IDLE_PARTS = 5,  /* an idle peer is asked that often */
    ASKED_PARTS = 4, /* for that part of it at least the peer must have been asked */
    QUIET_PARTS = 4, /* after that part without an acknowledgement its host is asked */
    PROBE_PARTS = 8, /* for that part a probe may wait for its answer */
};

enum {
    PERIOD_MIN_US = 10000,
    STALL_LOOKS = 2, /* as which a late look counts: whoever was kept from looking looks again */
    PROBES = 2,      /* that go unanswered: one may get lost */
    RTO_MAX_LEAST_MS = 1000,
    ROUND_TRIPS = 16,  /* at least pass before a link is silent */
    PROBE_TRIPS = 2,   /* likewise, before a probe has no answer */
    HOST_TIMES = 6,    /* as long a link has whose peer's host answers */
    PROBES_MAX = 256,  /* of a module */
    LOST_PER_TIME = 2, /* percent, for each of which it has as long again, */
    SEGMENTS = 200,    /* that a percentage is of, at least */
    MOST_TIMES = 12,   /* up to this: the kernel's tries lie ever further apart */
};

static uint64_t period_us(uint64_t timeout_us)
{
    uint64_t period = timeout_us / LOOKS;
    return period > PERIOD_MIN_US ? period : PERIOD_MIN_US;
}

/* Sees to it that the kernel asks an idle peer often enough, and that it goes on asking a full one.
 */
static void set_options(const struct tcp_params *params, int fd)
{
    const int on = 1, parts_s = (int) (params->silence_us / IDLE_PARTS / 1000000);
    const int idle_s = parts_s > 0 ? parts_s : 1, probes = 4 * IDLE_PARTS;
    const int part_ms = (int) (params->silence_us / IDLE_PARTS / 1000);
    const int rto_max_ms = part_ms > RTO_MAX_LEAST_MS ? part_ms : RTO_MAX_LEAST_MS;

    if (params->silence_us == 0) {
        return;
    }
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes)); /* I am earlier */
    /* Else each loss in a row doubles the time to the next try from the first one on. */
    setsockopt(fd, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, &on, sizeof(on));
    /* Else probes of a peer whose buffer is full come up to two minutes apart. */
    setsockopt(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, &rto_max_ms, sizeof(rto_max_ms));
}

/* ---- the judgement ---- */

/* Of few segments a loss or two tell nothing of the network. */
static unsigned percent(uint64_t part, uint64_t whole)
{
    return (unsigned) (part * 100 / (whole > SEGMENTS ? whole : SEGMENTS));
}

/* After so long without a sign from its host a link is silent. */
static uint64_t limit_us(const struct tcp_info *info, uint64_t timeout_us)
{
    uint64_t trips_us = ROUND_TRIPS * (uint64_t) info->tcpi_rtt;

    return timeout_us > trips_us ? timeout_us : trips_us;
}

/* A network that loses much keeps an acknowledgement away for longer. */
static uint64_t times_as_long(unsigned lost)
{
    unsigned grown = 1 + lost / LOST_PER_TIME;

    return grown < MOST_TIMES ? grown : MOST_TIMES;
}

bool tcp_silence_judge(struct tcp_silence *silence, const struct tcp_info *info, unsigned lost,
                       uint64_t elapsed_us, uint64_t timeout_us)
{
    uint64_t quiet_us = info->tcpi_last_ack_recv * UINT64_C(1000);
    uint64_t most_us = STALL_LOOKS * period_us(timeout_us), limit = limit_us(info, timeout_us);
    bool asked = info->tcpi_unacked > 0 || info->tcpi_probes >= PROBES;
    bool heard = quiet_us < elapsed_us;

    silence->host_quiet_us = heard ? quiet_us : silence->host_quiet_us + elapsed_us;
    if (heard) { /* what a cut adds does not count */
        silence->sent = info->tcpi_data_segs_out;
        silence->again = info->tcpi_total_retrans;
    }
    if (!asked || heard) {
        silence->asked_us = 0;
        return false;
    }
    unsigned own = percent(silence->again, silence->sent);
    silence->asked_us += elapsed_us < most_us ? elapsed_us : most_us;
    return quiet_us >= times_as_long(own > lost ? own : lost) * limit &&
           (silence->host_quiet_us >= limit || quiet_us >= HOST_TIMES * limit) &&
           silence->asked_us >= timeout_us / ASKED_PARTS;
}

/* ---- the host ---- */

static bool get_ends(const struct tcp_link *link, struct sock_addr *local, struct sock_addr *peer)
{
    *peer = (struct sock_addr){.length = sizeof(peer->storage)};
    return sock_local_addr(link->source.fd, local) == 0 &&
           getpeername(link->source.fd, (struct sockaddr *) &peer->storage, &peer->length) == 0;
}

/* Asks the host of a peer that should have acknowledged, time and again by a new connect: of those
 * in a row some come through where the link's own bytes got lost, which the kernel sends at ever
 * longer intervals. */
static void ask_host(struct tcp_link *link, const struct tcp_info *info, uint64_t now)
{
    struct tcp_module *tcp = link->ep->tcp;
    struct tcp_silence *silence = &link->silence;
    uint64_t timeout_us = tcp->params.silence_us, wait_us = timeout_us / PROBE_PARTS;
    uint64_t trips_us = PROBE_TRIPS * (uint64_t) info->tcpi_rtt;
    struct sock_addr local, peer;

    if (host_probe_answer(&silence->probe) == HOST_ANSWERS) {
        host_probe_clear(&silence->probe);
        silence->host_quiet_us = 0;
    }
    if (now - silence->probed_us >= (wait_us > trips_us ? wait_us : trips_us)) {
        host_probe_clear(&silence->probe);
        if (info->tcpi_last_ack_recv * UINT64_C(1000) >= timeout_us / QUIET_PARTS &&
            (info->tcpi_unacked > 0 || info->tcpi_probes > 0) && tcp->probes < PROBES_MAX &&
            get_ends(link, &local, &peer)) {
            host_probe_ask(&silence->probe, &local, &peer);
            silence->probed_us = now;
        }
    }
    tcp->probes += silence->probe.fd >= 0;
}

/* Asks the kernel about a link; false: it has failed. */
static bool look_at(struct tcp_link *link)
{
    struct tcp_module *tcp = link->ep->tcp;
    struct tcp_silence *silence = &link->silence, before = *silence;
    uint64_t now = clock_us();
    struct tcp_info info = {0}; /* an old kernel fills in less */
    socklen_t size = sizeof(info);

    if (getsockopt(link->source.fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
        return true;
    }
    silence->looked_us = now;
    ask_host(link, &info, now);
    silence->quiet_ms = info.tcpi_last_ack_recv;
    silence->failed = tcp_silence_judge(silence, &info, percent(tcp->again, tcp->sent),
                                        now - before.looked_us, tcp->params.silence_us);
    tcp->sent += silence->sent - before.sent;
    tcp->again += silence->again - before.again;
    return !silence->failed;
}

/* ---- breaking ---- */

static void fail_link(struct tcp_link *link)
{
    char from[64] = "", to[64] = "", why[256];
    struct sock_addr local, peer;

    if (get_ends(link, &local, &peer)) {
        sock_addr_print(&local, from, sizeof(from));
        sock_addr_print(&peer, to, sizeof(to));
    }
    snprintf(why, sizeof(why), "no acknowledgement from %s to %s for %.1f s", to, from,
             link->silence.quiet_ms * 1e-3);
    tcp_link_break(link, why);
}

static struct tcp_link *failed_link(const tcp_endpoint *ep)
{
    for (unsigned i = 0; ep->lanes && i < TCP_LANES; i++) {
        if (ep->lanes->links[i] && ep->lanes->links[i]->silence.failed) {
            return ep->lanes->links[i];
        }
    }
    return ep->tcp_link && ep->tcp_link->silence.failed ? ep->tcp_link : NULL;
}

static struct tcp_link *find_failed(const struct tcp_module *tcp)
{
    const tcp_endpoint *ep;

    list_for_each (ep, &tcp->peers.used, const tcp_endpoint, peer.link) {
        struct tcp_link *link = failed_link(ep);
        if (link) {
            return link;
        }
    }
    return NULL;
}

/* Callbacks may end any endpoint, so that each search begins anew. */
void tcp_silence_check(struct tcp_module *tcp)
{
    uint64_t times;
    bool all_heard = true;
    const tcp_endpoint *ep;

    if (read(tcp->timer.fd, &times, sizeof(times)) < 0) {
        return;
    }
    tcp->probes = 0;
    list_for_each (ep, &tcp->peers.used, const tcp_endpoint, peer.link) {
        all_heard = tcp_links_all(ep, look_at) && all_heard;
    }
    for (struct tcp_link *link; !all_heard && (link = find_failed(tcp));) {
        tcp->counts.silences++;
        fail_link(link);
    }
}

/* ---- the timer ---- */

int tcp_silence_open(struct tcp_module *tcp)
{
    if (tcp->params.silence_us == 0) {
        return OPAL_SUCCESS;
    }
    tcp->timer.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return tcp->timer.fd >= 0 ? tcp_watch(tcp, &tcp->timer, EPOLLIN) : OPAL_ERR_OUT_OF_RESOURCE;
}

/* us 0: it stands still. */
static void set_timer(const struct tcp_module *tcp, uint64_t us)
{
    const struct timespec period = {(time_t) (us / 1000000), (long) (us % 1000000 * 1000)};
    const struct itimerspec times = {period, period};

    if (tcp->timer.fd >= 0) {
        (void) timerfd_settime(tcp->timer.fd, 0, &times, NULL);
    }
}

void tcp_silence_link_begins(struct tcp_link *link)
{
    struct tcp_module *tcp = link->ep->tcp;

    link->silence.looked_us = clock_us();
    host_probe_init(&link->silence.probe);
    set_options(&tcp->params, link->source.fd);
    tcp->counts.links++;
    if (tcp->links++ == 0) {
        set_timer(tcp, period_us(tcp->params.silence_us));
    }
}

void tcp_silence_link_ends(struct tcp_link *link)
{
    struct tcp_module *tcp = link->ep->tcp;

    host_probe_clear(&link->silence.probe);
    if (--tcp->links == 0) {
        set_timer(tcp, 0);
    }
}
