/* Links and handshakes whose bytes get lost: a filter drops them at the peer's socket, where
 * everything else comes in; the peer's host answers unless its listener drops what comes, too. */
#include <config.h>

#include <errno.h>
#include <linux/filter.h>
#include <tests/lib/unit.h>
#include <tests/unit/btl/tcp/peer.h>
#include <unistd.h>

enum { INCARNATION = 5 };

static struct mca_btl_base_endpoint_t *ep;
static int peer;

static int lose_all(int socket)
{
    struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
    const struct sock_fprog filter = {.len = 1, .filter = &drop};
    return setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
}

static const char *obstacle(void)
{
    int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool refused = lose_all(probe) != 0 && errno == EPERM;
    close(probe);
    return refused ? "this kernel lets root alone attach socket filters" : NULL;
}

/* The module has a link to a peer; what it sends there is lost from now on. */
static void start(const char *timeout_ms)
{
    tcp_peer_param("btl_tcp_timeout_ms", timeout_ms);
    tcp_peer_start(0);
    close(raw_listen(&tcp_peer.host, 1, INCARNATION)); /* for its card */
    ep = tcp_host_add(&tcp_peer.host, 1);
    peer = raw_open_accepted(1, INCARNATION);
    raw_send_am(peer, 1);
    tcp_host_until(&tcp_peer.received, 1);
    tcp_host_polls(100); /* the kernels have nothing more to say to each other */
    ck_assert_int_eq(lose_all(peer), 0);
    ck_assert_int_ge(tcp_host_send(&tcp_peer.host, ep, TCP_PEER_TAG, 8, 7), 0);
}

START_TEST(a_link_waits_while_the_host_answers)
{
    start("1000");
    tcp_host_polls(2500);
    ck_assert_uint_eq(tcp_peer.host.reports, 0);
    ck_assert_int_eq(setsockopt(peer, SOL_SOCKET, SO_DETACH_FILTER, &(int){0}, sizeof(int)), 0);
    raw_expect_am(peer, 7);
    tcp_host_polls(500);
    ck_assert_uint_eq(tcp_peer.host.reports, 0);
    close(peer);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

START_TEST(a_link_does_not_wait_for_ever)
{
    start("500");
    tcp_host_until(&tcp_peer.host.reports, 1);
    ck_assert_int_eq(tcp_peer_send(ep, 8), OPAL_ERR_UNREACH);
    close(peer);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

/* The module connects to a peer, which accepts; what it sends on that socket is lost from now on.
 */
static int start_handshake(const char *timeout_ms)
{
    tcp_peer_param("btl_tcp_timeout_ms", timeout_ms);
    tcp_peer_start(0);
    int listener = raw_listen(&tcp_peer.host, 1, INCARNATION);
    ep = tcp_host_add(&tcp_peer.host, 1);
    ck_assert_int_ge(tcp_host_send(&tcp_peer.host, ep, TCP_PEER_TAG, 8, 7), 0);
    while ((peer = sock_accept(listener, NULL)) < 0) {
        tcp_host_polls(1);
    }
    ck_assert_int_eq(lose_all(peer), 0);
    return listener;
}

static void expect_failure(int listener)
{
    ck_assert_int_eq(lose_all(listener), 0);
    tcp_host_until(&tcp_peer.host.reports, 1);
    ck_assert_int_eq(tcp_peer_send(ep, 8), OPAL_ERR_UNREACH);
    close(peer), close(listener);
    tcp_host_close(&tcp_peer.host);
}

START_TEST(a_cut_before_the_challenge_is_a_failed_rail)
{
    expect_failure(start_handshake("1500"));
}
END_TEST

START_TEST(a_cut_before_the_hello_is_a_failed_rail)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES];

    int listener = start_handshake("1500");
    tcp_challenge_encode(challenge, (uint8_t[TCP_NONCE_BYTES]){1});
    raw_write(peer, challenge, sizeof(challenge));
    expect_failure(listener);
}
END_TEST

START_TEST(a_handshake_that_got_lost_is_begun_anew)
{
    int listener = start_handshake("1500");
    int fd = raw_serve(listener, INCARNATION);
    raw_expect_am(fd, 7);
    ck_assert_uint_eq(tcp_peer.host.reports, 0);
    close(fd), close(peer), close(listener);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

UNIT_MAIN_UNLESS("tcp-lost", obstacle())
