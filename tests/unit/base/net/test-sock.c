#include <config.h>

#include <base/data/clock.h>
#include <base/net/sock.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static const char *print(const struct sock_addr *addr)
{
    static char text[160];
    return sock_addr_print(addr, text, sizeof(text));
}

START_TEST(addresses_parse_and_print)
{
    struct sock_addr addr;
    ck_assert_int_eq(sock_addr_ip(&addr, AF_INET, "10.1.2.3", 4567), 0);
    ck_assert_str_eq(print(&addr), "tcp://10.1.2.3:4567");
    ck_assert_uint_eq(sock_addr_port(&addr), 4567);
    ck_assert_int_eq(sock_addr_ip(&addr, AF_INET6, "fd00:0:0::1", 65535), 0);
    ck_assert_str_eq(print(&addr), "tcp6://[fd00::1]:65535");
    ck_assert_uint_eq(sock_addr_port(&addr), 65535);
    ck_assert_int_eq(sock_addr_unix(&addr, "/tmp/x"), 0);
    ck_assert_str_eq(print(&addr), "unix:///tmp/x");
    ck_assert_uint_eq(sock_addr_port(&addr), 0);
    char small[8];
    ck_assert_str_eq(sock_addr_print(&addr, small, sizeof(small)), "unix://");
}
END_TEST

START_TEST(only_numeric_addresses)
{
    static const char *const bad[] = {"localhost", "",         "1.2.3", "1.2.3.4.5", "1.2.3.256",
                                      " 1.2.3.4",  "1.2.3.4 ", "::1",   "0x7f.0.0.1"};
    struct sock_addr addr;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        ck_assert_int_eq(sock_addr_ip(&addr, AF_INET, bad[i], 1), -EINVAL);
    }
    ck_assert_int_eq(sock_addr_ip(&addr, AF_INET6, "1.2.3.4", 1), -EINVAL);
    ck_assert_int_eq(sock_addr_ip(&addr, AF_INET6, "fe80::1%lo", 1), -EINVAL);
    ck_assert_int_eq(sock_addr_ip(&addr, AF_UNIX, "1.2.3.4", 1), -EAFNOSUPPORT);
}
END_TEST

START_TEST(unix_paths_are_bounded)
{
    struct sock_addr addr;
    char path[sizeof(((struct sockaddr_un *) 0)->sun_path) + 1];
    memset(path, 'p', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    ck_assert_int_eq(sock_addr_unix(&addr, path), -ENAMETOOLONG);
    path[sizeof(path) - 2] = '\0';
    ck_assert_int_eq(sock_addr_unix(&addr, path), 0);
    ck_assert_int_eq(sock_addr_unix(&addr, ""), -EINVAL);
}
END_TEST

static void check_flags(int fd)
{
    ck_assert_int_ge(fd, 0);
    ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    ck_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

static void wait_for(int fd, short events)
{
    struct pollfd wait = {.fd = fd, .events = events};
    ck_assert_int_eq(poll(&wait, 1, 5000), 1);
}

/* Connects to a listener; the two ends. */
static void connect_pair(int listener, const struct sock_addr *addr, int ends[2])
{
    struct sock_addr peer;
    ends[0] = sock_connect(addr);
    check_flags(ends[0]);
    wait_for(listener, POLLIN);
    ends[1] = sock_accept(listener, &peer);
    check_flags(ends[1]);
    ck_assert_int_eq(peer.storage.ss_family, addr->storage.ss_family);
    wait_for(ends[0], POLLOUT);
    ck_assert_int_eq(sock_error(ends[0]), 0);
    ck_assert_int_eq(write(ends[0], "hello", 5), 5);
    wait_for(ends[1], POLLIN);
    char data[8];
    ck_assert_int_eq(read(ends[1], data, sizeof(data)), 5);
    ck_assert(memcmp(data, "hello", 5) == 0);
}

static void check_tcp(int family, const char *host)
{
    struct sock_addr any, addr;
    int ends[2];
    uid_t uid;
    pid_t pid;
    ck_assert_int_eq(sock_addr_ip(&any, family, host, 0), 0);
    int listener = sock_listen(&any, 8);
    if (listener == -EADDRNOTAVAIL || listener == -EAFNOSUPPORT) {
        return; /* a host without IPv6 */
    }
    check_flags(listener);
    ck_assert_int_eq(sock_accept(listener, NULL), -EAGAIN);
    ck_assert_int_eq(sock_local_addr(listener, &addr), 0);
    ck_assert_uint_ne(sock_addr_port(&addr), 0);
    connect_pair(listener, &addr, ends);
    ck_assert_int_eq(sock_nodelay(ends[0]), 0);
    ck_assert(sock_is_local(ends[0]) && sock_is_local(ends[1]));
    ck_assert(!sock_is_local(listener));
    ck_assert_uint_eq(sock_round_trip_us(listener), 0);
    ck_assert_int_eq(sock_peer(ends[1], &uid, &pid), -EOPNOTSUPP);
    fd_close(&ends[0]);
    wait_for(ends[1], POLLIN);
    ck_assert_uint_gt(sock_round_trip_us(ends[1]), 0);
    ck_assert_uint_lt(sock_round_trip_us(ends[1]), 30 * 1000000);
    fd_close(&ends[1]);
    fd_close(&listener);

    int fd = sock_connect(&addr); /* nobody listens any more */
    if (fd >= 0) {
        wait_for(fd, POLLOUT);
        ck_assert_int_eq(sock_error(fd), ECONNREFUSED);
        fd_close(&fd);
    } else {
        ck_assert_int_eq(fd, -ECONNREFUSED);
    }
}

/* A datagram socket gets its peer without a packet; 192.0.2.1 is nobody's address. */
START_TEST(another_host_is_not_local)
{
    struct sock_addr there;
    ck_assert_int_eq(sock_addr_ip(&there, AF_INET, "192.0.2.1", 9), 0);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert(!sock_is_local(fd));
    if (connect(fd, (struct sockaddr *) &there.storage, there.length) == 0) {
        ck_assert(!sock_is_local(fd));
    } else {
        ck_assert_int_eq(errno, ENETUNREACH); /* a host without a way out */
    }
    fd_close(&fd);
}
END_TEST

UNIT_CASE(tcp_connects, check_tcp(AF_INET, "127.0.0.1"))

START_TEST(a_connect_goes_out_from_an_address)
{
    struct sock_addr addr, from, peer;
    char text[64];
    ck_assert_int_eq(sock_addr_ip(&addr, AF_INET, "127.0.0.1", 0), 0);
    int listener = sock_listen(&addr, 8);
    ck_assert_int_ge(listener, 0);
    ck_assert_int_eq(sock_local_addr(listener, &addr), 0);
    ck_assert_int_eq(sock_addr_ip(&from, AF_INET, "127.0.0.2", 0), 0);
    int fd = sock_connect_from(&from, &addr);
    check_flags(fd);
    wait_for(listener, POLLIN);
    int accepted = sock_accept(listener, &peer);
    ck_assert_int_ge(accepted, 0);
    ck_assert_ptr_nonnull(strstr(sock_addr_print(&peer, text, sizeof(text)), "127.0.0.2:"));
    ck_assert_int_eq(sock_addr_ip(&from, AF_INET, "203.0.113.9", 0), 0); /* nobody's */
    ck_assert_int_eq(sock_connect_from(&from, &addr), -EADDRNOTAVAIL);
    close(accepted);
    close(fd);
    close(listener);
}
END_TEST

UNIT_CASE(tcp6_connects, check_tcp(AF_INET6, "::1"))

START_TEST(unix_connects_and_names_the_peer)
{
    char folder[] = "/tmp/keel-test-sock-XXXXXX", path[64];
    struct sock_addr addr;
    struct stat status;
    int ends[2];
    uid_t uid;
    pid_t pid;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/s", folder);
    ck_assert_int_eq(sock_addr_unix(&addr, path), 0);
    ck_assert_int_eq(sock_connect(&addr), -ENOENT);
    umask(0);
    int listener = sock_listen(&addr, 8);
    check_flags(listener);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(status.st_mode & 07777, 0600);
    ck_assert_int_eq(sock_listen(&addr, 8), -EADDRINUSE);
    connect_pair(listener, &addr, ends);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(sock_peer(ends[i], &uid, &pid), 0);
        ck_assert_uint_eq(uid, getuid());
        ck_assert_int_eq(pid, getpid());
    }
    fd_close(&ends[0]);
    fd_close(&ends[1]);
    fd_close(&listener);
    ck_assert_int_eq(sock_connect(&addr), -ECONNREFUSED);
    unlink(path);
    rmdir(folder);
}
END_TEST

START_TEST(pairs_close_on_exec)
{
    int fds[2];
    ck_assert_int_eq(fd_socketpair(fds, SOCK_SEQPACKET), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
        fd_close(&fds[i]);
    }
    errno = EPIPE;
    fd_close(&fds[0]); /* -1 is left alone */
    ck_assert_int_eq(errno, EPIPE);
}
END_TEST

enum { BIG = 3 * 1024 * 1024 };

static void *drain(void *arg)
{
    static char data[64 * 1024];
    size_t total = 0;
    int fd = *(int *) arg;
    for (;;) {
        ssize_t got = read(fd, data, sizeof(data));
        if (got <= 0) {
            return (void *) total;
        }
        total += (size_t) got;
    }
}

START_TEST(write_all_writes_all)
{
    for (int nonblock = 0; nonblock < 2; nonblock++) {
        int fds[2];
        pthread_t reader;
        void *total;
        char *data = calloc(1, BIG);
        ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
        ck_assert_int_eq(fcntl(fds[1], F_SETFL, nonblock ? O_NONBLOCK : 0), 0);
        ck_assert_int_eq(pthread_create(&reader, NULL, drain, &fds[0]), 0);
        ck_assert_int_eq(fd_write_all(fds[1], data, BIG), 0);
        fd_close(&fds[1]);
        pthread_join(reader, &total);
        ck_assert_uint_eq((size_t) total, BIG);
        fd_close(&fds[0]);
        free(data);
    }
    ck_assert_int_eq(fd_write_all(-1, "x", 1), -EBADF);
    ck_assert_int_eq(fd_write_all(-1, "x", 0), 0);
}
END_TEST

START_TEST(limit_is_raised)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = 64;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    fd_raise_limit();
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_uint_eq(limit.rlim_cur, limit.rlim_max);
}
END_TEST

UNIT_MAIN("sock")
