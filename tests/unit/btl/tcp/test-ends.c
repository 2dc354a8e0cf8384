/* Links of the tcp module that end: by a goodbye, in their midst, with all queues full. */
#include <config.h>

#include <tests/unit/btl/tcp/peer.h>

#include <base/data/le.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

START_TEST(bye_leaves_no_error)
{
    tcp_peer_start(0);
    int listener = raw_listen(&tcp_peer.host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    int fd = raw_open_accepted(1, 5);
    raw_frame(fd, &(struct tcp_frame){.type = TCP_FRAME_BYE}, NULL);
    close(fd);
    tcp_host_polls(20);
    ck_assert_uint_eq(tcp_peer.host.reports, 0);
    ck_assert_int_eq(tcp_host_send(&tcp_peer.host, ep, TCP_PEER_TAG, 8, 7), OPAL_SUCCESS);
    fd = raw_serve(listener, 5);
    raw_expect_am(fd, 7);
    close(fd), close(listener);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

/* More than sockets hold: messages, a put and a get are under way when the peer is gone. */
static void check_break(void (*end)(int fd))
{
    static uint8_t memory[8 << 20];
    unsigned accepted = 0;

    tcp_peer_start(0);
    raw_listen(&tcp_peer.host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    int fd = raw_open_accepted(1, 5);
    for (int status = 0; status >= 0; accepted += status >= 0) {
        status = tcp_peer_send(ep, 100000);
        ck_assert_uint_lt(accepted, 1000);
        ck_assert(status >= 0 || status == OPAL_ERR_OUT_OF_RESOURCE);
    }
    ck_assert_int_eq(tcp_peer_access(ep, false, memory, sizeof(memory), NULL), OPAL_SUCCESS);
    ck_assert_int_eq(tcp_peer_access(ep, true, memory, sizeof(memory), NULL), OPAL_SUCCESS);
    tcp_host_polls(5);
    ck_assert_uint_lt(tcp_peer.completed + tcp_peer.failed, accepted + 2);
    end(fd);
    tcp_host_until(&tcp_peer.host.reports, 1);
    ck_assert_uint_eq(tcp_peer.completed + tcp_peer.failed, accepted + 2);
    ck_assert_uint_ge(tcp_peer.failed, 3);
    ck_assert_int_eq(tcp_peer_send(ep, 8), OPAL_ERR_UNREACH);
    ck_assert_int_eq(tcp_peer_access(ep, false, memory, 8, NULL), OPAL_ERR_UNREACH);
    tcp_host_polls(20);
    ck_assert_uint_eq(tcp_peer.completed + tcp_peer.failed, accepted + 2);
    ck_assert_uint_eq(tcp_peer.host.reports, 1);
    ck_assert_uint_eq(tcp_of(tcp_peer.host.btl)->items.in_use, 0);
    tcp_host_close(&tcp_peer.host);
}

static void end_by_reset(int fd)
{
    const struct linger reset = {.l_onoff = 1};

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(fd);
}

static void end_by_half_frame(int fd)
{
    const struct tcp_frame frame = {.type = TCP_FRAME_AM, .sequence = raw_sequence(fd), .size = 16};
    uint8_t bytes[TCP_HEADER_MAX + 4] = {0};

    raw_write(fd, bytes, tcp_frame_encode(bytes, &frame) + 4);
    end_by_reset(fd);
}

static void end_by_nonsense(int fd)
{
    raw_write(fd, "nonsense", 8);
}

/* A message of 4 bytes with this place in the stream. */
static void raw_numbered(int fd, uint16_t sequence)
{
    const struct tcp_frame frame = {
        .type = TCP_FRAME_AM, .tag = TCP_PEER_TAG, .sequence = sequence, .size = 4};
    uint8_t bytes[TCP_HEADER_MAX + 4] = {0};

    raw_write(fd, bytes, tcp_frame_encode(bytes, &frame) + 4);
}

static void end_by_a_frame_twice(int fd)
{
    raw_numbered(fd, 0);
    raw_numbered(fd, 1);
    raw_numbered(fd, 1);
    tcp_host_until(&tcp_peer.host.reports, 1);
    ck_assert_uint_eq(tcp_peer.received, 2);
}

static void end_by_a_missing_frame(int fd)
{
    raw_numbered(fd, 0);
    raw_numbered(fd, 2);
    tcp_host_until(&tcp_peer.host.reports, 1);
    ck_assert_uint_eq(tcp_peer.received, 1);
}

UNIT_CASE(a_frame_twice_fails_all_once, check_break(end_by_a_frame_twice))
UNIT_CASE(a_missing_frame_fails_all_once, check_break(end_by_a_missing_frame))
UNIT_CASE(a_reset_fails_all_once, check_break(end_by_reset))
UNIT_CASE(an_end_within_a_frame_fails_all_once, check_break(end_by_half_frame))
UNIT_CASE(nonsense_fails_all_once, check_break(end_by_nonsense))

START_TEST(del_procs_fails_all_once)
{
    unsigned accepted = 0;

    tcp_peer_param("btl_tcp_flush_timeout_ms", "100");
    tcp_peer_start(0);
    raw_listen(&tcp_peer.host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    int fd = raw_open_accepted(1, 5);
    for (int status = 0; status >= 0; accepted += status >= 0) {
        status = tcp_peer_send(ep, 100000);
    }
    tcp_host_del(&tcp_peer.host, 1, ep);
    ck_assert_uint_eq(tcp_peer.completed + tcp_peer.failed, accepted);
    ck_assert_uint_ge(tcp_peer.failed, 1);
    ck_assert_uint_eq(tcp_peer.host.reports, 0);
    close(fd);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

START_TEST(finalize_writes_what_counts_as_sent)
{
    tcp_peer_start(0);
    raw_listen(&tcp_peer.host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    int fd = raw_open_accepted(1, 5);
    unsigned sent = 0;
    while (tcp_host_send(&tcp_peer.host, ep, TCP_PEER_TAG, 60, sent) >=
           0) { /* until the queue is full */
        sent++;
    }
    ck_assert_uint_gt(sent, 1000);
    pid_t child = fork();
    if (child == 0) {
        btl_close();
        _exit(0);
    }
    /* The child's module is a copy of mine, on the same socket; mine stays out of its way. */
    size_t size = sent * 68 + 8, got = 0;
    uint8_t *all = malloc(size + 1);
    for (ssize_t more = 1; more != 0 && got <= size;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        ck_assert_int_eq(poll(&wait, 1, 5000), 1);
        more = recv(fd, all + got, size + 1 - got, 0);
        ck_assert(more >= 0 || errno == EAGAIN);
        got += more > 0 ? (size_t) more : 0;
    }
    ck_assert_uint_eq(got, size);
    for (uint32_t i = 0; i < sent; i++) {
        ck_assert(memcmp(all + i * 68, "\1\115", 2) == 0);
        ck_assert_uint_eq(get_le16(all + i * 68 + 2), i % 65536);
        ck_assert_uint_eq(get_le32(all + i * 68 + 4), 60);
        ck_assert(memcmp(all + i * 68 + 8, &i, 4) == 0);
    }
    ck_assert_int_eq(all[size - 8], TCP_FRAME_BYE);
    free(all);
    close(fd);
}
END_TEST

START_TEST(the_queue_is_bounded_and_in_order)
{
    tcp_peer_param("btl_tcp_tx_queue_size", "64k");
    tcp_peer_start(0);
    raw_listen(&tcp_peer.host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    unsigned sent = 0;
    while (tcp_host_send(&tcp_peer.host, ep, TCP_PEER_TAG, 8, sent) >= 0) { /* no link yet */
        ck_assert_uint_lt(++sent, 1000);
    }
    int fd = raw_open_accepted(1, 5);
    for (unsigned i = 0; i < sent; i++) {
        raw_expect_am(fd, i);
    }
    ck_assert_int_ge(tcp_host_send(&tcp_peer.host, ep, TCP_PEER_TAG, 8, sent), 0);
    raw_expect_am(fd, sent);
    close(fd);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

UNIT_MAIN("tcp-ends")
