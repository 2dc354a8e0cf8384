/* How many system calls messages of the tcp module take: many go with one, each way. */
#include <config.h>

#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <tests/lib/unit.h>
#include <tests/unit/btl/tcp/peer.h>
#include <unistd.h>

enum { MESSAGES = 320, LIFE = 5 };

static unsigned sends, receives;

/* In place of the C library's, for the module alone: the raw peer uses send and recv. */
ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    ssize_t sent = syscall(SYS_sendmsg, fd, message, flags);
    sends += sent > 0;
    return sent;
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    ssize_t got = syscall(SYS_recvmsg, fd, message, flags);
    receives += got > 0;
    return got;
}

START_TEST(queued_messages_leave_together)
{
    tcp_peer_start(0);
    int listener = raw_listen(&tcp_peer.host, 1, LIFE);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    for (uint32_t i = 0; i < MESSAGES; i++) { /* no link yet */
        ck_assert_int_eq(tcp_host_send(&tcp_peer.host, ep, TCP_PEER_TAG, 8, i), OPAL_SUCCESS);
    }
    int fd = raw_serve(listener, LIFE);
    sends = 0;
    for (uint32_t i = 0; i < MESSAGES; i++) {
        raw_expect_am(fd, i);
    }
    ck_assert_uint_ge(sends, 1);
    ck_assert_uint_le(sends, MESSAGES / 16);
    close(fd);
    close(listener);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

START_TEST(one_read_serves_many_messages)
{
    static uint8_t bytes[MESSAGES * (TCP_HEADER_MAX + 4)];
    size_t size = 0;
    tcp_peer_start(0);
    raw_listen(&tcp_peer.host, 1, LIFE);
    ck_assert_ptr_nonnull(tcp_host_add(&tcp_peer.host, 1));
    int fd = raw_open_accepted(1, LIFE);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct tcp_frame frame = {.type = TCP_FRAME_AM,
                                  .tag = TCP_PEER_TAG,
                                  .size = sizeof(i),
                                  .sequence = raw_sequence(fd)};
        size += tcp_frame_encode(bytes + size, &frame);
        memcpy(bytes + size, &i, sizeof(i));
        size += sizeof(i);
    }
    receives = 0;
    raw_write(fd, bytes, size);
    tcp_host_until(&tcp_peer.received, MESSAGES);
    ck_assert_uint_eq(tcp_peer.last_number, MESSAGES - 1);
    ck_assert_uint_ge(receives, 1);
    ck_assert_uint_le(receives, MESSAGES / 16);
    close(fd);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

UNIT_MAIN("tcp-calls")
