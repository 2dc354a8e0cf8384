/* Who gets in at the tcp module: strangers, forgers, and a peer in another life. */
#include <config.h>

#include <tests/unit/btl/tcp/peer.h>

#include <base/data/clock.h>
#include <dirent.h>
#include <tests/lib/unit.h>
#include <unistd.h>

START_TEST(a_peer_not_yet_added_is_heard)
{
    tcp_peer_start(0);
    int fd = raw_open_accepted(1, 1);
    raw_send_am(fd, 42);
    tcp_host_until(&tcp_peer.received, 1);
    ck_assert_uint_eq(tcp_peer.last_number, 42);
    close(fd);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

static void check_no_entry(const uint8_t *hello, size_t size, int fd)
{
    raw_write(fd, hello, size);
    ck_assert(raw_ended(fd));
    close(fd);
    ck_assert_ptr_null(roster_find(((struct tcp_module *) tcp_peer.host.btl)->peers.roster,
                                   &tcp_peer.host.procs[1].proc_name));
}

START_TEST(a_wrong_key_does_not_get_in)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];
    uint8_t key[KEY_BYTES] = {1};
    struct tcp_hello words = {.from = {TCP_HOST_JOB, 1}, .to = {TCP_HOST_JOB, 0}};

    tcp_peer_start(0);
    int fd = raw_connect(&tcp_peer.host, challenge);
    tcp_hello_encode(hello, &words, challenge, key);
    check_no_entry(hello, sizeof(hello), fd);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

START_TEST(a_changed_hello_does_not_get_in)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];

    tcp_peer_start(0);
    for (size_t at = 0; at < TCP_HELLO_BYTES; at++) {
        int fd = raw_connect(&tcp_peer.host, challenge);
        raw_hello(hello, &tcp_peer.host, 1, 1, challenge);
        hello[at] ^= (uint8_t) (1 << at % 8);
        check_no_entry(hello, sizeof(hello), fd);
    }
    tcp_host_close(&tcp_peer.host);
}
END_TEST

START_TEST(a_replayed_hello_does_not_get_in)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];

    tcp_peer_start(0);
    int fd = raw_connect(&tcp_peer.host, challenge);
    raw_hello(hello, &tcp_peer.host, 1, 1, challenge);
    int second = raw_connect(&tcp_peer.host, challenge);
    check_no_entry(hello, sizeof(hello), second);
    close(fd);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

START_TEST(a_hello_to_somebody_else_does_not_get_in)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];
    struct tcp_hello words = {.from = {TCP_HOST_JOB, 1}, .to = {TCP_HOST_JOB, 2}};

    tcp_peer_start(0);
    int fd = raw_connect(&tcp_peer.host, challenge);
    tcp_hello_encode(hello, &words, challenge, tcp_host_key);
    check_no_entry(hello, sizeof(hello), fd);
    words = (struct tcp_hello){.from = {TCP_HOST_JOB + 1, 1}, .to = {TCP_HOST_JOB, 0}};
    fd = raw_connect(&tcp_peer.host, challenge);
    tcp_hello_encode(hello, &words, challenge, tcp_host_key);
    check_no_entry(hello, sizeof(hello), fd);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

static unsigned open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;

    while (readdir(dir)) {
        count++;
    }
    closedir(dir);
    return count;
}

START_TEST(strangers_block_nobody)
{
    enum { STRANGERS = 200 };
    int fds[STRANGERS];

    tcp_peer_start(0);
    unsigned before = open_descriptors();
    for (unsigned i = 0; i < STRANGERS; i++) {
        fds[i] = raw_connect(&tcp_peer.host, NULL);
        btl_progress();
    }
    tcp_host_polls(50);
    ck_assert_uint_le(open_descriptors() - before, STRANGERS + TCP_PENDING_MAX);
    uint64_t begin = clock_us();
    int fd = raw_open_accepted(1, 1);
    raw_send_am(fd, 1);
    tcp_host_until(&tcp_peer.received, 1);
    ck_assert_uint_lt(clock_us() - begin, 2000000);
    for (unsigned i = 0; i < STRANGERS; i++) {
        close(fds[i]);
    }
    close(fd);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

START_TEST(silence_ends_in_time)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];

    tcp_peer_param("btl_tcp_pending_timeout_ms", "300");
    tcp_peer_start(0);
    uint64_t begin = clock_us();
    int idle = raw_connect(&tcp_peer.host, challenge);
    raw_hello(hello, &tcp_peer.host, 1, 1, challenge);
    int half = raw_connect(&tcp_peer.host, challenge);
    raw_write(half, hello, sizeof(hello) - 1);
    ck_assert(raw_ended(idle));
    ck_assert(raw_ended(half));
    ck_assert_uint_ge(clock_us() - begin, 300000);
    close(idle);
    close(half);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

START_TEST(garbage_ends_at_once)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES];

    tcp_peer_start(0);
    uint64_t begin = clock_us();
    int fd = raw_connect(&tcp_peer.host, challenge);
    check_no_entry((const uint8_t *) "GET / HTTP/1.1\r\n\r\n", 18, fd);
    ck_assert_uint_lt(clock_us() - begin, 3000000);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

START_TEST(a_new_life_of_a_peer_waits_for_del_procs)
{
    enum tcp_verdict verdict;

    tcp_peer_start(0);
    int listener = raw_listen(&tcp_peer.host, 1, 5);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&tcp_peer.host, 1);
    ck_assert_ptr_nonnull(ep);
    int old = raw_open_accepted(1, 5);
    int same = raw_open(&tcp_peer.host, 1, 5, &verdict);
    ck_assert_int_eq(verdict, TCP_VERDICT_AGAIN);
    ck_assert_uint_eq(tcp_peer.host.reports, 0);
    int new = raw_open(&tcp_peer.host, 1, 6, &verdict);
    ck_assert_int_eq(verdict, TCP_VERDICT_REFUSE);
    ck_assert_uint_eq(tcp_peer.host.reports, 1);
    ck_assert_int_eq(tcp_host_send(&tcp_peer.host, ep, TCP_PEER_TAG, 8, 1), OPAL_ERR_UNREACH);
    tcp_host_del(&tcp_peer.host, 1, ep);
    close(new);
    new = raw_open_accepted(1, 6);
    raw_send_am(new, 3);
    tcp_host_until(&tcp_peer.received, 1);
    close(old), close(same), close(new), close(listener);
    tcp_host_close(&tcp_peer.host);
}
END_TEST

UNIT_MAIN("tcp-door")
