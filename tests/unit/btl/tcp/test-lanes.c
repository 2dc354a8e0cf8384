/* Further links of the tcp module to a peer that the test plays itself. */
#include <config.h>

#include <tests/unit/btl/tcp/peer.h>

#include <base/data/clock.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

enum { LINKS = 3, PIECE = 64 << 10, PIECES = 32, LIFE = 5 };

static uint8_t memory[PIECES * PIECE];

/* The first link and the lanes, as a raw peer has them; -1: none. */
static int links[LINKS];
static unsigned pieces[LINKS]; /* that came over each */

static void start(void)
{
    tcp_peer_param("btl_tcp_links", "3");
    tcp_peer_param("btl_tcp_rdma_piece_size", "64k");
    tcp_peer_start(0);
    for (unsigned i = 0; i < LINKS; i++) {
        links[i] = -1;
        pieces[i] = 0;
    }
}

static void end(void)
{
    for (unsigned i = 0; i < LINKS; i++) {
        if (links[i] >= 0) {
            close(links[i]);
        }
    }
    tcp_host_close(&tcp_peer.host);
}

/* Takes the module's connects for its lanes. */
static void serve_lanes(int listener, enum tcp_verdict verdict)
{
    for (unsigned i = 1; i < LINKS; i++) {
        uint8_t challenge[TCP_CHALLENGE_BYTES], bytes[TCP_HELLO_BYTES];
        struct tcp_hello hello;
        int fd = raw_accept(listener, challenge, bytes);
        ck_assert_int_eq(tcp_hello_decode(&hello, bytes), OPAL_SUCCESS);
        ck_assert_uint_ge(hello.lane, 1);
        ck_assert_uint_lt(hello.lane, LINKS);
        ck_assert_int_eq(links[hello.lane], -1);
        raw_welcome(fd, verdict, LIFE, challenge, bytes);
        links[hello.lane] = fd;
    }
}

/* The module is the initiator of the first link, which has carried a message. */
static struct mca_btl_base_endpoint_t *start_as_initiator(enum tcp_verdict verdict)
{
    start();
    int listener = raw_listen(&tcp_peer.host, 1, LIFE);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    ck_assert_int_eq(tcp_host_send(&tcp_peer.host, ep, TCP_PEER_TAG, 8, 7), OPAL_SUCCESS);
    links[0] = raw_serve(listener, LIFE);
    raw_expect_am(links[0], 7);
    serve_lanes(listener, verdict);
    close(listener);
    return ep;
}

/* Answers one piece of a put, whichever link it comes over. */
static void answer_piece(void)
{
    static uint8_t data[PIECE];
    struct pollfd ready[LINKS];
    uint64_t limit = clock_us() + 5000000;
    int which = -1;

    while (which < 0) {
        ck_assert_uint_lt(clock_us(), limit);
        btl_progress();
        for (int i = 0; i < LINKS; i++) {
            ready[i] = (struct pollfd){.fd = links[i], .events = POLLIN};
        }
        if (poll(ready, LINKS, 0) > 0) {
            for (which = 0; !(ready[which].revents & POLLIN);) {
                which++;
            }
        }
    }
    struct tcp_frame frame;
    raw_read_frame(links[which], &frame);
    ck_assert_int_eq(frame.type, TCP_FRAME_PUT);
    ck_assert_uint_eq(frame.size, PIECE);
    raw_read(links[which], data, PIECE);
    ck_assert_int_eq(memcmp(data, memory + (frame.address - 4096), PIECE), 0);
    pieces[which]++;
    struct tcp_frame done = {.type = TCP_FRAME_DONE, .id = frame.id, .status = OPAL_SUCCESS};
    raw_frame(links[0], &done, NULL);
}

static void put_and_answer(struct mca_btl_base_endpoint_t *ep)
{
    for (size_t i = 0; i < sizeof(memory); i++) {
        memory[i] = (uint8_t) (i / PIECE + i);
    }
    ck_assert_int_eq(tcp_peer_access(ep, false, memory, sizeof(memory), NULL), OPAL_SUCCESS);
    for (unsigned i = 0; i < PIECES; i++) {
        answer_piece();
    }
    tcp_host_until(&tcp_peer.completed, 1);
}

START_TEST(pieces_go_over_all_links)
{
    struct mca_btl_base_endpoint_t *ep = start_as_initiator(TCP_VERDICT_ACCEPT);
    put_and_answer(ep);
    for (unsigned i = 0; i < LINKS; i++) {
        ck_assert_msg(pieces[i] > 0, "nothing came over link %u", i);
    }
    ck_assert_uint_eq(tcp_peer.failed + tcp_peer.host.reports, 0);
    end();
}
END_TEST

START_TEST(messages_stay_on_the_first_link)
{
    struct mca_btl_base_endpoint_t *ep = start_as_initiator(TCP_VERDICT_ACCEPT);
    for (uint32_t i = 0; i < 100; i++) {
        ck_assert_int_ge(tcp_host_send(&tcp_peer.host, ep, TCP_PEER_TAG, 8, i), 0);
    }
    for (uint32_t i = 0; i < 100; i++) {
        raw_expect_am(links[0], i);
    }
    end();
}
END_TEST

START_TEST(refused_lanes_are_done_without)
{
    struct mca_btl_base_endpoint_t *ep = start_as_initiator(TCP_VERDICT_REFUSE);
    for (unsigned i = 1; i < LINKS; i++) {
        ck_assert(raw_ended(links[i]));
        close(links[i]);
        links[i] = -1;
    }
    put_and_answer(ep);
    ck_assert_uint_eq(pieces[0], PIECES);
    ck_assert_uint_eq(tcp_peer.failed + tcp_peer.host.reports, 0);
    end();
}
END_TEST

START_TEST(a_lane_that_breaks_fails_all_once)
{
    struct mca_btl_base_endpoint_t *ep = start_as_initiator(TCP_VERDICT_ACCEPT);
    int status = OPAL_SUCCESS;

    ck_assert_int_eq(tcp_peer_access(ep, false, memory, sizeof(memory), &status), OPAL_SUCCESS);
    answer_piece();
    tcp_host_polls(5);
    close(links[2]);
    links[2] = -1;
    tcp_host_until(&tcp_peer.host.reports, 1);
    tcp_host_polls(20);
    ck_assert_uint_eq(tcp_peer.failed, 1);
    ck_assert_int_eq(status, OPAL_ERR_UNREACH);
    ck_assert_uint_eq(tcp_peer.host.reports, 1);
    ck_assert_int_eq(tcp_peer_send(ep, 8), OPAL_ERR_UNREACH);
    end();
}
END_TEST

/* The raw peer is the initiator of everything. */
static enum tcp_verdict open_lane(unsigned lane, uint64_t life)
{
    enum tcp_verdict verdict;
    int fd = raw_open_lane(&tcp_peer.host, 1, life, lane, &verdict);

    if (verdict == TCP_VERDICT_ACCEPT) {
        links[lane] = fd;
    } else {
        ck_assert(raw_ended(fd));
        close(fd);
    }
    return verdict;
}

START_TEST(a_lane_belongs_to_a_link)
{
    start();
    raw_listen(&tcp_peer.host, 1, LIFE);
    tcp_host_add(&tcp_peer.host, 1);
    ck_assert_int_eq(open_lane(1, LIFE), TCP_VERDICT_REFUSE);
    links[0] = raw_open_accepted(1, LIFE);
    ck_assert_int_eq(open_lane(1, LIFE + 1), TCP_VERDICT_REFUSE);
    ck_assert_int_eq(open_lane(1, LIFE), TCP_VERDICT_ACCEPT);
    ck_assert_int_eq(open_lane(1, LIFE), TCP_VERDICT_REFUSE);
    ck_assert_int_eq(open_lane(2, LIFE), TCP_VERDICT_ACCEPT);
    raw_send_am(links[0], 9);
    tcp_host_until(&tcp_peer.received, 1);
    ck_assert_uint_eq(tcp_peer.host.reports, 0);
    end();
}
END_TEST

START_TEST(a_lane_may_leave)
{
    start();
    raw_listen(&tcp_peer.host, 1, LIFE);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    links[0] = raw_open_accepted(1, LIFE);
    ck_assert_int_eq(open_lane(1, LIFE), TCP_VERDICT_ACCEPT);
    ck_assert_int_eq(open_lane(2, LIFE), TCP_VERDICT_ACCEPT);
    close(links[1]); /* it never carried anything */
    raw_frame(links[2], &(struct tcp_frame){.type = TCP_FRAME_BYE}, NULL);
    close(links[2]);
    links[1] = links[2] = -1;
    tcp_host_polls(20);
    put_and_answer(ep);
    ck_assert_uint_eq(pieces[0], PIECES);
    ck_assert_uint_eq(tcp_peer.failed + tcp_peer.host.reports, 0);
    end();
}
END_TEST

UNIT_MAIN("tcp-lanes")
