#include <config.h>

#include <base/data/clock.h>
#include <base/settings/fault.h>
#include <base/settings/log.h>
#include <btl/tcp/tcp_conn.h>
#include <btl/tcp/tcp_lane.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum {
    AGAIN_PAUSE_US = 20000,
    SILENT_PROBES = 4, /* of the kernel's, until the peer's host counts as silent */
    CROSS_PAUSE_US = 1000000,
    RETRY_HELLO_US = 5000000, /* a lost peer's: the link may be lost again meanwhile */
};

static struct tcp_conn *conn_create(struct tcp_module *tcp, int fd, enum conn_phase phase,
                                    uint64_t time_us)
{
    struct tcp_conn *conn = calloc(1, sizeof(*conn));

    if (!conn) {
        return NULL;
    }
    conn->source = (struct tcp_source){.kind = TCP_SOURCE_CONN, .fd = fd};
    conn->tcp = tcp;
    conn->phase = phase;
    list_init(&conn->timer.link);
    uint32_t events = phase == CONN_CONNECTING ? EPOLLOUT : EPOLLIN;
    if (tcp_watch(tcp, &conn->source, events) != OPAL_SUCCESS) {
        free(conn);
        return NULL;
    }
    wheel_start(&tcp->conns.timeouts, &conn->timer, clock_us() + time_us);
    list_append(&tcp->conns.by_age, &conn->link);
    tcp->conns.pending += phase == CONN_HELLO;
    return conn;
}

static void conn_release(struct tcp_ended *ended)
{
    free(container_of(ended, struct tcp_conn, ended));
}

/* Takes the conn off the lists; returns its descriptor, which epoll has forgotten. */
static int conn_detach(struct tcp_conn *conn)
{
    struct tcp_module *tcp = conn->tcp;
    int fd = conn->source.fd;

    tcp_unwatch(tcp, &conn->source);
    conn->source.fd = -1;
    wheel_stop(&conn->timer);
    list_remove(&conn->link);
    tcp->conns.pending -= conn->phase == CONN_HELLO;
    tcp_end(tcp, &conn->ended, conn_release);
    return fd;
}

void tcp_conn_close(struct tcp_conn *conn)
{
    int fd = conn_detach(conn);

    fd_close(&fd);
}

void tcp_conns_close(struct tcp_module *tcp)
{
    while (!list_empty(&tcp->conns.by_age)) {
        tcp_conn_close(container_of(tcp->conns.by_age.next, struct tcp_conn, link));
    }
}

/* ---- both sides ---- */

/* How soon the kernel notices that the other end has gone. unacknowledged_ms: what has been sent
 * may wait so long for its acknowledgement; 0: as long as the kernel tries. */
static void notice_end(int fd, int idle_s, int interval_s, unsigned unacknowledged_ms)
{
    const int on = 1, probes = 6;

    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof(unacknowledged_ms));
}

static void socket_options(const struct tcp_params *params, int fd)
{
    (void) sock_nodelay(fd);
    notice_end(fd, 30, 10, 0);
    if (params->sndbuf > 0) {
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &params->sndbuf, sizeof(params->sndbuf));
    }
    if (params->rcvbuf > 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &params->rcvbuf, sizeof(params->rcvbuf));
    }
}

/* A few bytes into a socket's empty buffer: all or an error. */
static bool send_message(struct tcp_conn *conn, const void *bytes, size_t size)
{
    return send(conn->source.fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t) size;
}

/* 1: the message of size bytes is whole; 0: not yet; a negative errno: the stream is at its end.
 * Never reads beyond the message. */
static int read_message(struct tcp_conn *conn, uint8_t *bytes, size_t size)
{
    while (conn->got < size) {
        ssize_t read = recv(conn->source.fd, bytes + conn->got, size - conn->got, MSG_DONTWAIT);
        if (read < 0 && errno == EINTR) {
            continue;
        }
        if (read < 0) {
            return errno == EAGAIN ? 0 : -errno;
        }
        if (read == 0) {
            return -ECONNRESET;
        }
        conn->got += (size_t) read;
    }
    conn->got = 0;
    return 1;
}

static int pair_key(struct tcp_module *tcp, const orte_process_name_t *peer, uint8_t key[KEY_BYTES])
{
    return tcp->peers.cards.host->ops->pair_key(tcp->peers.cards.host->arg, peer, "btl.tcp", key);
}

/* ---- the initiator ---- */

/* FAILED: the peer may take me a little later; SLOW: the address may lead to it another time;
 * REFUSED: it does not. */
static void attempt_failed(struct tcp_conn *conn, enum patience_outcome outcome, uint64_t pause_us,
                           const char *why)
{
    tcp_endpoint *ep = conn->ep;
    char place[80], text[200];
    struct sock_addr addr;

    netcard_sock(&addr, &ep->card.net.addresses[conn->address]);
    snprintf(text, sizeof(text), "%s: %s", sock_addr_print(&addr, place, sizeof(place)), why);
    tcp_conn_close(conn);
    if (conn->lane > 0) {
        tcp_lane_conn_failed(ep, conn->lane, text);
    } else {
        tcp_endpoint_conn_failed(ep, outcome, pause_us, text);
    }
}

struct tcp_conn *tcp_conn_start(tcp_endpoint *ep, unsigned lane, size_t address, uint64_t time_us)
{
    struct tcp_module *tcp = ep->tcp;
    bool bound = ep->bound && address == ep->pair.peer;
    struct sock_addr addr, mine;
    char place[80];

    netcard_sock(&addr, &ep->card.net.addresses[address]);
    if (bound) {
        struct netcard_address from = tcp->process->card.net.addresses[ep->pair.mine];
        from.port = 0;
        netcard_sock(&mine, &from);
    }
    struct fault fault = fault_at("btl.tcp.connect");
    int fd = fault.action == FAULT_ERROR ? -(int) fault.value
                                         : sock_connect_from(bound ? &mine : NULL, &addr);
    if (fd < 0) {
        log_info(LOG_BTL, "%s: %s: %s: %s", tcp->name, ORTE_NAME_PRINT(&ep->peer.name),
                 sock_addr_print(&addr, place, sizeof(place)), strerror(-fd));
        return NULL;
    }
    socket_options(&tcp->params, fd);
    struct tcp_conn *conn = conn_create(tcp, fd, CONN_CONNECTING, time_us);
    if (!conn) {
        fd_close(&fd);
        return NULL;
    }
    conn->ep = ep;
    conn->lane = lane;
    conn->address = address;
    return conn;
}

/* A neighbour's address is found out over the network, which may lose that too. */
static enum patience_outcome outcome_of(int error)
{
    return error == ETIMEDOUT || error == EHOSTUNREACH ? PATIENCE_SLOW : PATIENCE_REFUSED;
}

/* Half of what makes a link a failed one: in the other half the peer's host may accept anew. */
static uint64_t silence_us(const struct tcp_params *params)
{
    return params->silence_us > 0 ? params->silence_us / 2 : patience_grown(params->connect_us);
}

/* The kernel ends the socket when the peer's is silent. An acceptor that has given up says so, and
 * a network that loses much may lose that. */
static void notice_silence(const struct tcp_conn *conn)
{
    int fd = conn->source.fd;
    uint64_t us = silence_us(&conn->tcp->params);
    uint64_t longest_us = patience_after_round_trip(sock_round_trip_us(fd), us, patience_grown(us));
    int probe_s = (int) (longest_us / SILENT_PROBES / 1000000);

    probe_s = probe_s > 0 ? probe_s : 1;
    notice_end(fd, probe_s, probe_s, (unsigned) (longest_us / 1000) + 1);
}

/* The socket has ended during the handshake. */
static void broke(struct tcp_conn *conn, int error, const char *why)
{
    if (error != -ETIMEDOUT) {
        attempt_failed(conn, PATIENCE_FAILED, AGAIN_PAUSE_US, why);
        return;
    }
    if (conn->lane == 0) {
        tcp_endpoint_silent(conn->ep, silence_us(&conn->tcp->params));
    }
    attempt_failed(conn, PATIENCE_SLOW, 0, "silent since it accepted");
}

static void connected(struct tcp_conn *conn)
{
    int error = sock_error(conn->source.fd);

    if (error != 0) {
        attempt_failed(conn, outcome_of(error), 0, strerror(error));
        return;
    }
    conn->phase = CONN_CHALLENGE;
    notice_silence(conn);
    uint64_t hello_us =
        conn->ep->peer.state == PEER_RETRYING ? RETRY_HELLO_US : conn->tcp->params.hello_us;
    wheel_start(&conn->tcp->conns.timeouts, &conn->timer, clock_us() + hello_us);
    if (tcp_watch(conn->tcp, &conn->source, EPOLLIN) != OPAL_SUCCESS) {
        attempt_failed(conn, PATIENCE_FAILED, AGAIN_PAUSE_US, "epoll failed");
    }
}

static void challenged(struct tcp_conn *conn)
{
    struct tcp_module *tcp = conn->tcp;
    struct tcp_hello hello = {
        .lane = (uint8_t) conn->lane,
        .lost = conn->ep->peer.state == PEER_RETRYING,
        .address = (uint8_t) conn->ep->pair.peer,
        .from = tcp->peers.me,
        .to = conn->ep->peer.name,
        .incarnation = tcp->process->card.incarnation,
    };
    uint8_t key[KEY_BYTES];
    int got = read_message(conn, conn->challenge, sizeof(conn->challenge));

    if (got <= 0) {
        if (got < 0) {
            broke(conn, got, "closed before its challenge");
        }
        return;
    }
    if (tcp_challenge_check(conn->challenge) != OPAL_SUCCESS ||
        pair_key(tcp, &hello.to, key) != OPAL_SUCCESS) {
        attempt_failed(conn, PATIENCE_REFUSED, 0, "no challenge of ours, or no key for it");
        return;
    }
    crypto_random(hello.nonce, sizeof(hello.nonce));
    tcp_hello_encode(conn->hello, &hello, conn->challenge, key);
    crypto_wipe(key, sizeof(key));
    conn->phase = CONN_WELCOME;
    if (!send_message(conn, conn->hello, sizeof(conn->hello))) {
        attempt_failed(conn, PATIENCE_FAILED, AGAIN_PAUSE_US, "closed before my hello");
    }
}

static int welcome_decode(struct tcp_conn *conn, struct tcp_welcome *welcome)
{
    uint8_t key[KEY_BYTES];
    int status = pair_key(conn->tcp, &conn->ep->peer.name, key);

    if (status == OPAL_SUCCESS) {
        status = tcp_welcome_decode(welcome, conn->welcome, conn->challenge, conn->hello, key);
    }
    crypto_wipe(key, sizeof(key));
    return status;
}

static void accepted(struct tcp_conn *conn, uint64_t incarnation)
{
    tcp_endpoint *ep = conn->ep;

    if (incarnation != ep->card.incarnation) {
        attempt_failed(conn, PATIENCE_REFUSED, 0, "another life of the process than its card's");
        return;
    }
    int fd = conn_detach(conn);
    notice_end(fd, 30, 10, 0);
    if (conn->lane > 0) {
        tcp_lane_up(ep, conn->lane, fd);
        return;
    }
    ep->conn = NULL;
    tcp_endpoint_led(ep);
    tcp_endpoint_up(ep, fd, incarnation);
    if (ep->peer.state == PEER_UP) {
        tcp_lanes_open(ep);
    }
}

static void welcomed(struct tcp_conn *conn)
{
    struct tcp_welcome welcome;
    int got = read_message(conn, conn->welcome, sizeof(conn->welcome));

    if (got <= 0) {
        if (got < 0) {
            broke(conn, got, "closed before its welcome");
        }
        return;
    }
    if (welcome_decode(conn, &welcome) != OPAL_SUCCESS) {
        attempt_failed(conn, PATIENCE_REFUSED, 0, "a welcome that does not prove the key");
        return;
    }
    switch (welcome.verdict) {
    case TCP_VERDICT_ACCEPT:
        accepted(conn, welcome.incarnation);
        break;
    case TCP_VERDICT_CROSS:
        attempt_failed(conn, PATIENCE_FAILED, CROSS_PAUSE_US, "its own connect is on the way");
        break;
    case TCP_VERDICT_AGAIN:
        attempt_failed(conn, PATIENCE_FAILED, AGAIN_PAUSE_US, "not ready for me yet");
        break;
    case TCP_VERDICT_REFUSE:
        attempt_failed(conn, PATIENCE_REFUSED, 0, "it closed this rail");
        break;
    }
}

/* ---- the acceptor ---- */

static void drop_oldest_pending(struct tcp_module *tcp)
{
    struct tcp_conn *conn;

    list_for_each (conn, &tcp->conns.by_age, struct tcp_conn, link) {
        if (conn->phase == CONN_HELLO) {
            tcp_conn_close(conn);
            return;
        }
    }
}

static void accept_one(struct tcp_module *tcp, int fd)
{
    uint8_t nonce[TCP_NONCE_BYTES];

    if (tcp->conns.pending >= TCP_PENDING_MAX) {
        drop_oldest_pending(tcp);
    }
    socket_options(&tcp->params, fd);
    uint64_t time_us = tcp->params.pending_us;
    time_us = patience_after_round_trip(sock_round_trip_us(fd), time_us, patience_grown(time_us));
    struct tcp_conn *conn = conn_create(tcp, fd, CONN_HELLO, time_us);
    if (!conn) {
        fd_close(&fd);
        return;
    }
    conn->asked_us = clock_us();
    crypto_random(nonce, sizeof(nonce));
    tcp_challenge_encode(conn->challenge, nonce);
    if (!send_message(conn, conn->challenge, sizeof(conn->challenge))) {
        tcp_conn_close(conn);
    }
}

int tcp_conn_accept(struct tcp_module *tcp, int listener)
{
    int count = 0;

    while (count < TCP_PENDING_MAX) {
        int fd = sock_accept(listener, NULL);
        if (fd < 0) {
            unsigned held = 0;
            if (fd != -EAGAIN && log_rate_ok("tcp accept", &held)) {
                log_warn(LOG_BTL, "%s: accept: %s (%u more)", tcp->name, strerror(-fd), held);
            }
            break;
        }
        accept_one(tcp, fd);
        count++;
    }
    return count;
}

static void unauthenticated(struct tcp_conn *conn, const char *why)
{
    unsigned held = 0;

    if (log_rate_ok("tcp unauthenticated", &held)) {
        log_info(LOG_BTL, "%s: dropped a connection that proved nothing: %s (%u more)",
                 conn->tcp->name, why, held);
    }
    tcp_conn_close(conn);
}

/* Proves the name that the hello claims. key is for the answer. */
static int hello_prove(struct tcp_conn *conn, struct tcp_hello *hello, uint8_t key[KEY_BYTES])
{
    struct tcp_module *tcp = conn->tcp;
    int status = tcp_hello_decode(hello, conn->hello);

    if (status == OPAL_SUCCESS &&
        (hello->to.jobid != tcp->peers.me.jobid || hello->to.vpid != tcp->peers.me.vpid)) {
        status = OPAL_ERR_NOT_FOUND;
    }
    if (status == OPAL_SUCCESS) {
        status = pair_key(tcp, &hello->from, key);
    }
    if (status == OPAL_SUCCESS) {
        status = tcp_hello_check(conn->hello, conn->challenge, key);
    }
    return status;
}

/* The initiator may have given up since; then its hello must not displace a better link. */
static bool still_there(const struct tcp_conn *conn)
{
    uint8_t byte;

    return recv(conn->source.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/* The peer may have come in on another interface than that of the module it means. */
static enum tcp_verdict judge(const struct tcp_conn *conn, struct tcp_module *meant,
                              const struct tcp_hello *hello, tcp_endpoint **ep)
{
    if (!meant) {
        return TCP_VERDICT_REFUSE;
    }
    return hello->lane > 0 ? tcp_lane_judge(meant, hello, ep)
                           : tcp_endpoint_judge(meant, hello, conn->asked_us, ep);
}

static void answer(struct tcp_conn *conn, struct tcp_module *meant, const struct tcp_hello *hello,
                   const uint8_t key[KEY_BYTES])
{
    tcp_endpoint *ep = NULL;
    struct tcp_welcome welcome = {
        .verdict = judge(conn, meant, hello, &ep),
        .incarnation = conn->tcp->process->card.incarnation,
    };

    tcp_welcome_encode(conn->welcome, &welcome, conn->challenge, conn->hello, key);
    bool sent = send_message(conn, conn->welcome, sizeof(conn->welcome));
    if (!sent || welcome.verdict != TCP_VERDICT_ACCEPT) {
        tcp_conn_close(conn);
        return;
    }
    if (hello->lane > 0) {
        tcp_lane_up(ep, hello->lane, conn_detach(conn));
    } else {
        tcp_endpoint_up(ep, conn_detach(conn), hello->incarnation);
    }
}

static void hello_came(struct tcp_conn *conn)
{
    struct tcp_hello hello;
    uint8_t key[KEY_BYTES];
    int got = read_message(conn, conn->hello, sizeof(conn->hello));

    if (got < 0 || !tcp_hello_plausible(conn->hello, got ? sizeof(conn->hello) : conn->got)) {
        unauthenticated(conn, got < 0 ? "hung up" : "not our protocol");
        return;
    }
    if (got == 0) {
        return;
    }
    if (hello_prove(conn, &hello, key) != OPAL_SUCCESS) {
        unauthenticated(conn, "could not prove its name");
    } else if (!still_there(conn)) {
        tcp_conn_close(conn);
    } else {
        struct tcp_module *meant = tcp_module_at(conn->tcp->process, hello.address);
        tcp_enter(meant ? meant : conn->tcp); /* it frees nothing meanwhile either */
        answer(conn, meant, &hello, key);
        tcp_leave(meant ? meant : conn->tcp);
    }
    crypto_wipe(key, sizeof(key));
}

/* ---- both again ---- */

void tcp_conn_ready(struct tcp_conn *conn)
{
    if (conn->phase == CONN_CONNECTING) {
        connected(conn);
    }
    if (conn->source.fd >= 0 && conn->phase == CONN_CHALLENGE) {
        challenged(conn);
    }
    if (conn->source.fd >= 0 && conn->phase == CONN_WELCOME) {
        welcomed(conn);
    } else if (conn->source.fd >= 0 && conn->phase == CONN_HELLO) {
        hello_came(conn);
    }
}

void tcp_conn_expire(struct tcp_module *tcp)
{
    uint64_t now_us = clock_us();

    for (struct wheel_timer *timer; (timer = wheel_expire(&tcp->conns.timeouts, now_us));) {
        struct tcp_conn *conn = container_of(timer, struct tcp_conn, timer);
        if (conn->ep) {
            attempt_failed(conn, PATIENCE_SLOW, 0, "no answer in time");
        } else {
            unauthenticated(conn, "silent");
        }
    }
}
