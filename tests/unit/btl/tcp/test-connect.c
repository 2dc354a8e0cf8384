/* The tcp module connects: addresses that do not answer, forged welcomes, and both sides at once.
 */
#include <config.h>

#include <tests/unit/btl/tcp/peer.h>

#include <base/data/clock.h>
#include <sys/socket.h>
#include <tests/lib/unit.h>
#include <unistd.h>

START_TEST(the_next_address_is_tried)
{
    struct tcp_card card, two;

    tcp_peer_param("btl_tcp_hello_timeout_ms", "200");
    tcp_peer_start(0);
    int listener = raw_listen(&tcp_peer.host, 1, 5);
    tcp_host_card(&tcp_peer.host, 1, &card);
    int silent = raw_listen(&tcp_peer.host, 2, 5); /* accepts and says nothing */
    tcp_host_card(&tcp_peer.host, 2, &two);
    int gone = raw_listen(&tcp_peer.host, 3, 5);
    struct tcp_card three;
    tcp_host_card(&tcp_peer.host, 3, &three);
    close(gone); /* refuses */
    card.net.addresses[2] = card.net.addresses[0];
    card.net.addresses[1] = two.net.addresses[0];
    card.net.addresses[0] = three.net.addresses[0];
    card.net.count = 3;
    tcp_host_set_card(&tcp_peer.host, 1, &card);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    ck_assert_int_eq(tcp_host_send(&tcp_peer.host, ep, TCP_PEER_TAG, 8, 99), OPAL_SUCCESS);
    int fd = raw_serve(listener, 5);
    raw_expect_am(fd, 99);
    ck_assert_uint_eq(tcp_peer.host.reports, 0);
    close(fd), close(silent), close(listener);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

START_TEST(no_address_is_an_error_once)
{
    tcp_peer_start(0);
    int listener = raw_listen(&tcp_peer.host, 1, 5);
    close(listener);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    ck_assert_int_eq(tcp_peer_send(ep, 8), OPAL_SUCCESS);
    ck_assert_int_eq(tcp_peer_send(ep, 100000), OPAL_SUCCESS);
    tcp_host_until(&tcp_peer.failed, 2);
    ck_assert_uint_eq(tcp_peer.completed, 0);
    tcp_host_until(&tcp_peer.host.reports, 1);
    ck_assert_int_eq(tcp_peer_send(ep, 8), OPAL_ERR_UNREACH);
    tcp_host_polls(20);
    ck_assert_uint_eq(tcp_peer.failed, 2);
    ck_assert_uint_eq(tcp_peer.host.reports, 1);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

/* A full backlog drops what comes, as a network does that loses packets. */
START_TEST(an_address_that_drops_a_connect_is_tried_again)
{
    struct tcp_card card;
    struct sock_addr addr;

    tcp_peer_param("btl_tcp_connect_timeout_ms", "200");
    tcp_peer_start(0);
    int listener = raw_listen(&tcp_peer.host, 1, 5);
    ck_assert_int_eq(listen(listener, 0), 0);
    tcp_host_card(&tcp_peer.host, 1, &card);
    netcard_sock(&addr, &card.net.addresses[0]);
    int filler = sock_connect(&addr);
    ck_assert_int_ge(filler, 0);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    ck_assert_int_eq(tcp_host_send(&tcp_peer.host, ep, TCP_PEER_TAG, 8, 99), OPAL_SUCCESS);
    for (uint64_t begin_us = clock_us(); clock_us() < begin_us + 300000;) {
        tcp_host_polls(1);
    }
    close(sock_accept(listener, NULL));
    int fd = raw_serve(listener, 5);
    raw_expect_am(fd, 99);
    ck_assert_uint_eq(tcp_peer.host.reports, 0);
    close(fd), close(filler), close(listener);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

/* ... for four times the time of an address. */
START_TEST(a_silent_address_is_an_error_in_the_end)
{
    struct tcp_card card;
    struct sock_addr addr;

    tcp_peer_param("btl_tcp_connect_timeout_ms", "50");
    tcp_peer_start(0);
    int listener = raw_listen(&tcp_peer.host, 1, 5);
    ck_assert_int_eq(listen(listener, 0), 0);
    tcp_host_card(&tcp_peer.host, 1, &card);
    netcard_sock(&addr, &card.net.addresses[0]);
    int filler = sock_connect(&addr);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    uint64_t begin_us = clock_us();
    ck_assert_int_eq(tcp_peer_send(ep, 8), OPAL_SUCCESS);
    tcp_host_until(&tcp_peer.failed, 1);
    ck_assert_uint_ge(clock_us() - begin_us, 150000);
    ck_assert_uint_eq(tcp_peer.host.reports, 1);
    close(filler), close(listener);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

static void check_bad_welcome(size_t flip, uint64_t incarnation)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES], bytes[TCP_WELCOME_BYTES];

    tcp_peer_start(0);
    int listener = raw_listen(&tcp_peer.host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    ck_assert_int_eq(tcp_peer_send(ep, 8), OPAL_SUCCESS);
    int fd = raw_accept(listener, challenge, hello);
    tcp_welcome_encode(bytes, &(struct tcp_welcome){TCP_VERDICT_ACCEPT, incarnation}, challenge,
                       hello, tcp_host_key);
    bytes[flip / 8] ^= (uint8_t) (flip % 8 ? 1 << flip % 8 : 0);
    raw_write(fd, bytes, sizeof(bytes));
    tcp_host_until(&tcp_peer.failed, 1);
    ck_assert_uint_eq(tcp_peer.host.reports, 1);
    close(fd), close(listener);
    tcp_host_close(&tcp_peer.host);
}

UNIT_CASE(a_forged_welcome_is_not_believed, check_bad_welcome(20 * 8 + 1, 5))
UNIT_CASE(another_life_than_the_cards_is_not_believed, check_bad_welcome(0, 6))

START_TEST(a_closed_door_is_tried_again)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];

    tcp_peer_start(0);
    int listener = raw_listen(&tcp_peer.host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    ck_assert_int_eq(tcp_host_send(&tcp_peer.host, ep, TCP_PEER_TAG, 8, 7), OPAL_SUCCESS);
    int fd = raw_accept(listener, challenge, hello);
    close(fd); /* too slow for its patience, say */
    fd = raw_accept(listener, challenge, hello);
    raw_welcome(fd, TCP_VERDICT_AGAIN, 5, challenge, hello);
    int second = raw_serve(listener, 5);
    raw_expect_am(second, 7);
    close(fd), close(second), close(listener);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

/* Both connect at once, and both hellos are sent. */
START_TEST(the_lower_name_wins)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];
    enum tcp_verdict verdict;

    tcp_peer_start(0);
    int listener = raw_listen(&tcp_peer.host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    ck_assert_int_eq(tcp_host_send(&tcp_peer.host, ep, TCP_PEER_TAG, 8, 7), OPAL_SUCCESS);
    int mine = raw_accept(listener, challenge, hello);
    int theirs = raw_open(&tcp_peer.host, 1, 5, &verdict);
    ck_assert_int_eq(verdict, TCP_VERDICT_CROSS);
    raw_welcome(mine, TCP_VERDICT_ACCEPT, 5, challenge, hello);
    raw_expect_am(mine, 7);
    raw_send_am(mine, 8);
    tcp_host_until(&tcp_peer.received, 1);
    close(mine), close(theirs), close(listener);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

START_TEST(the_higher_name_gives_way)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];

    tcp_peer_start(1);
    int listener = raw_listen(&tcp_peer.host, 0, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 0);
    ck_assert_int_eq(tcp_host_send(&tcp_peer.host, ep, TCP_PEER_TAG, 8, 7), OPAL_SUCCESS);
    int mine = raw_accept(listener, challenge, hello);
    int theirs = raw_open_accepted(0, 5);
    raw_expect_am(theirs, 7);
    ck_assert(raw_ended(mine));
    close(mine), close(theirs), close(listener);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

/* The lower name's hello is not sent yet: the higher one's connect is as good. */
START_TEST(the_first_hello_wins_otherwise)
{
    tcp_peer_start(0);
    int listener = raw_listen(&tcp_peer.host, 1, 5); /* never answers */
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    ck_assert_int_eq(tcp_host_send(&tcp_peer.host, ep, TCP_PEER_TAG, 8, 7), OPAL_SUCCESS);
    tcp_host_polls(10);
    int fd = raw_open_accepted(1, 5);
    raw_expect_am(fd, 7);
    ck_assert_uint_eq(tcp_peer.host.reports, 0);
    close(fd), close(listener);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

START_TEST(crossed_out_means_wait)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];

    tcp_peer_start(1);
    int listener = raw_listen(&tcp_peer.host, 0, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 0);
    ck_assert_int_eq(tcp_host_send(&tcp_peer.host, ep, TCP_PEER_TAG, 8, 7), OPAL_SUCCESS);
    int mine = raw_accept(listener, challenge, hello);
    raw_welcome(mine, TCP_VERDICT_CROSS, 5, challenge, hello);
    tcp_host_polls(100);
    ck_assert_int_lt(sock_accept(listener, NULL), 0); /* it does wait */
    int fd = raw_open_accepted(0, 5);
    raw_expect_am(fd, 7);
    close(mine), close(fd), close(listener);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

/* It accepts, and will never say a word. */
START_TEST(a_peer_that_the_host_knows_to_be_dead_is_not_waited_for)
{
    tcp_peer_start(0);
    int listener = raw_listen(&tcp_peer.host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    ck_assert_int_eq(tcp_peer_send(ep, 8), OPAL_SUCCESS);
    tcp_host_polls(20);
    ck_assert_uint_eq(tcp_peer.failed, 0);
    btl_peer_ended(tcp_peer.host.btl, &btl_peer_of(ep)->name, ep);
    ck_assert_uint_eq(tcp_peer.failed, 0); /* progress tells */
    tcp_host_polls(1);
    ck_assert_uint_eq(tcp_peer.failed, 1);
    ck_assert_uint_eq(tcp_peer.host.reports, 1);
    ck_assert_int_eq(tcp_peer_send(ep, 8), OPAL_ERR_UNREACH);
    close(listener);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

/* What it has sent is in the socket, and so is its end. */
START_TEST(what_a_dead_peer_sent_before_is_read)
{
    tcp_peer_start(0);
    int listener = raw_listen(&tcp_peer.host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    int fd = raw_open_accepted(1, 5);
    raw_send_am(fd, 42);
    btl_peer_ended(tcp_peer.host.btl, &btl_peer_of(ep)->name, ep);
    tcp_host_until(&tcp_peer.received, 1);
    ck_assert_uint_eq(tcp_peer.last_number, 42);
    close(fd), close(listener);
    tcp_host_until(&tcp_peer.host.reports, 1);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

UNIT_MAIN("tcp-connect")
