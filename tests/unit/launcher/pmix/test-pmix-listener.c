/* The port: who gets through, who does not, and who must not be waited for; then the guard, with
 * this program in libpmix's place. */
#include <config.h>

#include <arpa/inet.h>
#include <base/data/clock.h>
#include <base/settings/log.h>
#include <errno.h>
#include <fcntl.h>
#include <launcher/pmix/connection/guard.h>
#include <launcher/pmix/connection/pmix_listener.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static struct loop *loop;
static struct listener *listener;
static int arrived_fd = -1, arrivals, lines;
static uint32_t arrived_rank;
static char last_line[512];

static const char *check(void *arg, const struct vet_hello *hello)
{
    (void) arg;
    return hello->uid != geteuid()                 ? "another user"
           : strcmp(hello->nspace, "keeljob") != 0 ? "another job"
                                                   : NULL;
}

static void arrived(void *arg, const struct vet_hello *hello, int connection)
{
    (void) arg;
    if (arrived_fd >= 0) {
        close(arrived_fd);
    }
    arrived_fd = connection;
    arrived_rank = hello->rank;
    arrivals++;
}

static const struct listener_ops ops = {check, arrived};

static void count_line(void *arg, enum log_level level, const char *line)
{
    (void) arg;
    (void) level;
    lines++;
    snprintf(last_line, sizeof(last_line), "%s", line);
}

static void begin(uint32_t ranks)
{
    char reason[256] = "";
    log_set_sink(count_line, NULL);
    ck_assert_int_eq(loop_create(&loop), ORTE_SUCCESS);
    ck_assert_int_eq(listener_create(&listener, loop, ranks, &ops, NULL, reason, sizeof(reason)),
                     ORTE_SUCCESS);
}

static void end(void)
{
    listener_destroy(listener);
    loop_destroy(loop);
    if (arrived_fd >= 0) {
        close(arrived_fd);
    }
}

static int dial(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {htonl(INADDR_LOOPBACK)},
                                  .sin_port = htons(listener_port(listener))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *) &address, sizeof(address)), 0);
    return fd;
}

static size_t make_hello(uint8_t *to, uint32_t uid, const char *nspace, uint8_t rank)
{
    static const uint8_t head[] = "\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\0"
                                  "native\0\0\0\0\x08";
    static const uint8_t tail[] = "4.2.2rc2\0v41\0\x01hash\0";
    uint32_t gid = getegid();
    size_t at = sizeof(head) - 1;
    memcpy(to, head, at);
    memcpy(to + at, &uid, 4);
    memcpy(to + at + 4, &gid, 4);
    to[at + 8] = 0;
    at += 9;
    memcpy(to + at, nspace, strlen(nspace) + 1);
    at += strlen(nspace) + 1;
    memset(to + at, 0, 4);
    to[at + 3] = rank;
    at += 4;
    memcpy(to + at, tail, sizeof(tail));
    at += sizeof(tail);
    to[8] = (uint8_t) (at - VET_HEADER_BYTES);
    return at;
}

static void say(int fd, const void *data, size_t size)
{
    ck_assert_int_eq(send(fd, data, size, MSG_NOSIGNAL), (ssize_t) size);
}

/* Runs the loop until so many have arrived, or for at most a while. */
static void turn(int wanted, unsigned limit_ms)
{
    uint64_t deadline = clock_us() + limit_ms * 1000u;
    while (arrivals < wanted && clock_us() < deadline) {
        loop_poll(loop);
        usleep(500);
    }
}

/* Has the other side closed it? */
static bool is_closed(int fd)
{
    char byte;
    uint64_t deadline = clock_us() + 5000000;
    while (clock_us() < deadline) {
        ssize_t got = recv(fd, &byte, 1, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno == ECONNRESET)) {
            return true;
        }
        loop_poll(loop);
        usleep(500);
    }
    return false;
}

START_TEST(a_rank)
{
    uint8_t hello[256], seen[256];
    begin(1);
    int fd = dial();
    size_t size = make_hello(hello, geteuid(), "keeljob", 3);
    say(fd, hello, size);
    turn(1, 5000);
    ck_assert_int_eq(arrivals, 1);
    ck_assert_uint_eq(arrived_rank, 3);
    ck_assert_int_eq(fcntl(arrived_fd, F_GETFL) & O_NONBLOCK, 0);
    ck_assert_int_eq(recv(arrived_fd, seen, sizeof(seen), 0), (ssize_t) size); /* all unread */
    ck_assert_mem_eq(seen, hello, size);
    ck_assert_int_eq(lines, 0);
    close(fd);
    end();
}
END_TEST

START_TEST(byte_by_byte)
{
    uint8_t hello[256];
    begin(1);
    int fd = dial();
    size_t size = make_hello(hello, geteuid(), "keeljob", 1);
    for (size_t i = 0; i < size; i++) {
        ck_assert_int_eq(arrivals, 0);
        say(fd, hello + i, 1);
        turn(1, 2);
    }
    turn(1, 5000);
    ck_assert_int_eq(arrivals, 1);
    close(fd);
    end();
}
END_TEST

/* Strangers of every kind, before and while a rank comes. */
START_TEST(strangers)
{
    uint8_t hello[256], noise[300];
    int idle[50];
    begin(1);
    for (int i = 0; i < 50; i++) {
        idle[i] = dial();
    }
    int byte = dial(), http = dial(), random = dial(), user = dial(), job = dial(), half = dial();
    say(byte, "\xff", 1);
    say(http, "GET / HTTP/1.0\r\n\r\n", 18);
    memset(noise, 0x5a, sizeof(noise));
    say(random, noise, sizeof(noise));
    say(user, hello, make_hello(hello, geteuid() + 1, "keeljob", 0));
    say(job, hello, make_hello(hello, geteuid(), "other", 0));
    size_t size = make_hello(hello, geteuid(), "keeljob", 2);
    say(half, hello, size / 2);
    shutdown(half, SHUT_WR);
    int fd = dial();
    say(fd, hello, size);
    turn(1, 5000);
    ck_assert_int_eq(arrivals, 1);
    ck_assert(is_closed(http) && is_closed(random) && is_closed(user) && is_closed(job) &&
              is_closed(half));
    ck_assert_int_ge(lines, 1); /* one a second */
    ck_assert_int_le(lines, 3);
    ck_assert_ptr_nonnull(strstr(last_line, "refused a connection to the PMIx port"));
    for (int i = 0; i < 50; i++) {
        close(idle[i]);
    }
    close(byte);
    end();
}
END_TEST

START_TEST(too_late)
{
    setenv("KEEL_MCA_pmix_handshake_ms", "50", 1);
    begin(1);
    int fd = dial();
    say(fd, "\xff\xff", 2);
    ck_assert(is_closed(fd));
    ck_assert_ptr_nonnull(strstr(last_line, "in time"));
    end();
}
END_TEST

START_TEST(too_many)
{
    int idle[80];
    uint8_t hello[256];
    begin(1); /* and 64 more */
    for (int i = 0; i < 80; i++) {
        idle[i] = dial();
        turn(1, 1);
    }
    ck_assert(is_closed(idle[0])); /* the oldest */
    char byte;
    ck_assert_int_eq(recv(idle[79], &byte, 1, MSG_DONTWAIT), -1);
    int fd = dial();
    say(fd, hello, make_hello(hello, geteuid(), "keeljob", 2));
    turn(1, 5000);
    ck_assert_int_eq(arrivals, 1);
    end();
}
END_TEST

/* What libpmix does, in its order. */
START_TEST(guarded)
{
    uint8_t hello[256], seen[256];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof(address);
    begin(1);
    ck_assert_int_eq(guard_open(listener_fd(listener)), 0);
    int other = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(other, (struct sockaddr *) &address, sizeof(address)), 0);
    ck_assert(!guard_disarm()); /* nobody has asked for it */
    guard_arm();
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
    ck_assert(guard_disarm());
    ck_assert_int_eq(listen(fd, 8), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *) &address, &length), 0);
    ck_assert_uint_eq(ntohs(address.sin_port), listener_port(listener));

    fd_set set;
    struct timeval now = {0};
    FD_ZERO(&set);
    FD_SET(fd, &set);
    ck_assert_int_eq(select(fd + 1, &set, NULL, NULL, &now), 0);
    ck_assert_int_eq(accept(fd, NULL, NULL), -1);
    ck_assert_int_eq(errno, EAGAIN);

    int client = dial();
    size_t size = make_hello(hello, geteuid(), "keeljob", 0);
    say(client, hello, size);
    turn(1, 5000);
    ck_assert_int_eq(guard_push(arrived_fd), 0);
    int pushed = arrived_fd;
    arrived_fd = -1;
    FD_SET(fd, &set);
    ck_assert_int_eq(select(fd + 1, &set, NULL, NULL, &now), 1);
    length = sizeof(address);
    ck_assert_int_eq(accept(fd, (struct sockaddr *) &address, &length), pushed);
    ck_assert_uint_eq(length, sizeof(address));
    ck_assert_int_eq(read(pushed, seen, sizeof(seen)), (ssize_t) size);
    ck_assert_int_eq(accept(fd, NULL, NULL), -1);

    /* the client is gone before it was answered: libpmix must not hear of it here */
    struct linger reset = {.l_onoff = 1};
    ck_assert_int_eq(setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
    close(client);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(send(pushed, seen, 100, 0), 100);
    }
    ck_assert_int_eq(send(pushed, seen, 100, MSG_NOSIGNAL), -1);
    ck_assert_int_eq(errno, EPIPE);
    unsigned ends = guard_ends(pushed);
    ck_assert_int_eq(read(pushed, seen, sizeof(seen)), -1);
    ck_assert_uint_eq(guard_ends(pushed), ends); /* not at the first look */
    ck_assert_int_le(read(pushed, seen, sizeof(seen)), 0);
    ck_assert_uint_eq(guard_ends(pushed), ends + 1);
    close(pushed);
    close(fd);
    guard_close();
    end();
}
END_TEST

UNIT_MAIN("pmix-listener")
