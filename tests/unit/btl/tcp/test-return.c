/* A peer that the tcp module lost is tried again, and comes back to the same endpoint. */
#include <config.h>

#include <tests/unit/btl/tcp/peer.h>

#include <tests/lib/unit.h>
#include <unistd.h>

enum { INCARNATION = 5 };

static struct mca_btl_base_endpoint_t *ep;
static int listener;
static unsigned returns, losses;

static void changed(void *arg, mca_btl_base_module_t *module, opal_proc_t *proc, bool back)
{
    (void) arg;
    ck_assert_ptr_eq(module, tcp_peer.host.btl);
    ck_assert_uint_eq(proc->proc_name.vpid, 1);
    returns += back;
    losses += !back;
}

/* Rank 1 has been there, and is lost. */
static void lose(void)
{
    const struct linger reset = {.l_onoff = 1};
    tcp_peer_start(0);
    listener = raw_listen(&tcp_peer.host, 1, INCARNATION);
    ep = tcp_host_add(&tcp_peer.host, 1);
    btl_watch_peers(changed, NULL);
    int fd = raw_open_accepted(1, INCARNATION);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(fd);
    tcp_host_until(&losses, 1);
    ck_assert_int_eq(tcp_peer_send(ep, 8), OPAL_ERR_UNREACH);
}

static void end(int fd)
{
    close(fd);
    close(listener);
    tcp_host_close(&tcp_peer.host);
    ck_assert_uint_eq(tcp_peer.host.reports, 1); /* that it was lost, and of no attempt */
}

static void assert_back(int fd)
{
    tcp_host_until(&returns, 1);
    ck_assert_int_ge(tcp_host_send(&tcp_peer.host, ep, TCP_PEER_TAG, 8, 7), 0);
    raw_expect_am(fd, 7);
    raw_send_am(fd, 9);
    tcp_host_until(&tcp_peer.received, 1);
    ck_assert_uint_eq(returns, 1);
    ck_assert_uint_eq(losses, 1);
}

START_TEST(it_is_tried_until_it_answers)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];
    lose();
    btl_retry(tcp_peer.host.btl, ep, true);
    for (int i = 0; i < 3; i++) { /* it closes in the midst of the handshake */
        close(raw_accept(listener, challenge, hello));
        ck_assert_int_eq(tcp_peer_send(ep, 8), OPAL_ERR_UNREACH);
    }
    int fd = raw_serve(listener, INCARNATION);
    assert_back(fd);
    end(fd);
}
END_TEST

START_TEST(its_own_connect_is_as_good)
{
    lose();
    btl_retry(tcp_peer.host.btl, ep, true);
    int fd = raw_open_accepted(1, INCARNATION);
    assert_back(fd);
    end(fd);
}
END_TEST

/* The link is whole at this end. A hello from before it came up tells nothing of it. */
START_TEST(the_peer_has_lost_it_first)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES];
    tcp_peer_start(0);
    listener = raw_listen(&tcp_peer.host, 1, INCARNATION);
    ep = tcp_host_add(&tcp_peer.host, 1);
    btl_watch_peers(changed, NULL);
    int early = raw_connect(&tcp_peer.host, challenge), old = raw_open_accepted(1, INCARNATION);
    ck_assert_int_eq(raw_say_lost(early, &tcp_peer.host, 1, INCARNATION, challenge),
                     TCP_VERDICT_AGAIN);
    ck_assert_uint_eq(losses, 0);
    int late = raw_connect(&tcp_peer.host, challenge);
    ck_assert_int_ne(raw_say_lost(late, &tcp_peer.host, 1, INCARNATION, challenge),
                     TCP_VERDICT_ACCEPT);
    tcp_host_until(&losses, 1);
    btl_retry(tcp_peer.host.btl, ep, true);
    int fd = raw_serve(listener, INCARNATION);
    assert_back(fd);
    close(early);
    close(late);
    close(old);
    end(fd);
}
END_TEST

START_TEST(it_says_that_it_has_lost_a_link)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], bytes[TCP_HELLO_BYTES];
    struct tcp_hello hello;
    lose();
    btl_retry(tcp_peer.host.btl, ep, true);
    close(raw_accept(listener, challenge, bytes));
    ck_assert_int_eq(tcp_hello_decode(&hello, bytes), OPAL_SUCCESS);
    ck_assert(hello.lost);
    ck_assert_uint_eq(hello.lane, 0);
    end(raw_serve(listener, INCARNATION));
}
END_TEST

START_TEST(nobody_asked_for_it)
{
    enum tcp_verdict verdict;
    lose();
    int fd = raw_open(&tcp_peer.host, 1, INCARNATION, &verdict);
    ck_assert_int_eq(verdict, TCP_VERDICT_REFUSE);
    close(fd);
    btl_retry(tcp_peer.host.btl, ep, true);
    btl_retry(tcp_peer.host.btl, ep, false);
    fd = raw_open(&tcp_peer.host, 1, INCARNATION, &verdict);
    ck_assert_int_eq(verdict, TCP_VERDICT_REFUSE);
    ck_assert_uint_eq(returns, 0);
    end(fd);
}
END_TEST

START_TEST(what_is_back_may_be_lost_again)
{
    lose();
    for (unsigned round = 1; round <= 3; round++) {
        btl_retry(tcp_peer.host.btl, ep, true);
        int fd = raw_serve(listener, INCARNATION);
        tcp_host_until(&returns, round);
        close(fd);
        tcp_host_until(&losses, round + 1);
    }
    close(listener);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

UNIT_MAIN("tcp-return")
