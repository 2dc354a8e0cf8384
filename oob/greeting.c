#include <config.h>

#include <oob/greeting.h>

#include <base/data/clock.h>
#include <base/loop/patience.h>
#include <base/settings/fault.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void greeting_fail(struct greeting *greeting, int status, const char *text)
{
    struct handshake *handshake = &greeting->handshake;
    handshake->state = HANDSHAKE_FAILED;
    handshake->status = status;
    snprintf(handshake->text, sizeof handshake->text, "%s", text);
}

int greeting_status_of(int error)
{
    switch (error) {
    case ECONNREFUSED:
    case ENOENT:
        return ORTE_ERR_CONNECTION_REFUSED; /* nobody listens there */
    case ETIMEDOUT:
        return ORTE_ERR_TIMEOUT;
    default:
        return ORTE_ERR_CONNECTION_FAILED;
    }
}

/* One short message on a socket whose buffer is empty: it fits, or the socket is broken. */
static bool send_out(struct greeting *greeting)
{
    struct handshake *handshake = &greeting->handshake;
    size_t size = handshake->out_size;
    handshake->out_size = 0;
    return size == 0 ||
           send(greeting->fd, handshake->out, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t) size;
}

static bool is_over(const struct greeting *greeting)
{
    enum handshake_state state = greeting->handshake.state;
    return state == HANDSHAKE_PROVED || state == HANDSHAKE_DONE || state == HANDSHAKE_FAILED;
}

/* Feeds what has come, never more than the handshake wants: what is behind it belongs to the link.
 */
static void read_messages(struct greeting *greeting)
{
    struct handshake *handshake = &greeting->handshake;
    while (!is_over(greeting)) {
        uint8_t data[WIRE_MESSAGE_MAX];
        ssize_t got = recv(greeting->fd, data, handshake_wants(handshake), MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (got < 0) {
            greeting_fail(greeting, ORTE_ERR_CONNECTION_FAILED, strerror(errno));
            return;
        }
        if (got == 0) {
            greeting_fail(greeting, ORTE_ERR_CONNECTION_FAILED, "closed during the handshake");
            return;
        }
        handshake_input(handshake, data, (size_t) got);
        if (!send_out(greeting) && handshake->state != HANDSHAKE_FAILED) {
            greeting_fail(greeting, ORTE_ERR_CONNECTION_FAILED, "cannot send the handshake");
        }
    }
}

/* The kernel's word on a unix socket's other end: Keel never talks to another user's. */
static bool attest(struct greeting *greeting)
{
    if (!greeting->is_unix) {
        return true;
    }
    uid_t uid;
    int error = sock_peer(greeting->fd, &uid, &greeting->pid);
    if (error == 0 && uid == geteuid()) {
        greeting->self.attested = true;
        return true;
    }
    greeting_fail(greeting, ORTE_ERR_PERM, "it belongs to another user");
    return false;
}

/* The connect took a round trip; a slow network has more time for the rest. */
static void follow_round_trip(struct greeting *greeting)
{
    uint64_t now = clock_us(), passed = now - greeting->begin_us;
    uint64_t left = greeting->until_us > now ? greeting->until_us - now : 0;
    uint64_t longest = greeting->longest_us > passed ? greeting->longest_us - passed : 0;
    uint64_t more = patience_after_round_trip(passed, left, longest);
    if (more > left) {
        loop_timer_start(&greeting->deadline, more);
    }
}

static void begin_hello(struct greeting *greeting)
{
    int error = sock_error(greeting->fd);
    if (error) {
        greeting_fail(greeting, greeting_status_of(error), strerror(error));
        return;
    }
    follow_round_trip(greeting);
    if (!attest(greeting)) {
        return;
    }
    struct handshake_random random;
    crypto_random(&random, sizeof random);
    handshake_connect(&greeting->handshake, &greeting->self, &random, &greeting->wanted,
                      greeting->key);
    crypto_wipe(&random, sizeof random);
    if (greeting->handshake.state != HANDSHAKE_FAILED && !send_out(greeting)) {
        greeting_fail(greeting, ORTE_ERR_CONNECTION_FAILED, "cannot send the hello");
    }
    loop_io_watch(&greeting->io, EV_READ);
}

static void conclude(struct greeting *greeting)
{
    if (is_over(greeting)) {
        loop_io_watch(&greeting->io, 0);
        greeting->step(greeting);
    }
}

static void on_ready(struct loop_io *io, short events)
{
    struct greeting *greeting = container_of(io, struct greeting, io);
    if (events & EV_WRITE) {
        begin_hello(greeting);
    } else {
        read_messages(greeting);
    }
    conclude(greeting);
}

static void on_deadline(struct loop_timer *timer)
{
    struct greeting *greeting = container_of(timer, struct greeting, deadline);
    greeting_fail(greeting, ORTE_ERR_TIMEOUT, "no answer in time");
    conclude(greeting);
}

void greeting_init(struct greeting *greeting, struct loop *loop, const struct handshake_self *self,
                   void (*step)(struct greeting *greeting))
{
    memset(greeting, 0, sizeof *greeting);
    greeting->fd = -1;
    greeting->self = *self;
    greeting->self.attested = false;
    greeting->step = step;
    loop_io_init(&greeting->io, loop, -1, on_ready);
    loop_timer_init(&greeting->deadline, loop, on_deadline);
}

static void begin(struct greeting *greeting, int fd, const struct sock_addr *addr,
                  uint64_t timeout_us)
{
    greeting->fd = greeting->io.fd = fd;
    greeting->is_unix = addr->storage.ss_family == AF_UNIX;
    sock_addr_print(addr, greeting->address, sizeof greeting->address);
    loop_timer_start(&greeting->deadline, timeout_us);
}

int greeting_accept(struct greeting *greeting, int fd, const struct sock_addr *addr,
                    uint64_t timeout_us)
{
    begin(
        greeting, fd, addr,
        patience_after_round_trip(sock_round_trip_us(fd), timeout_us, patience_grown(timeout_us)));
    if (!attest(greeting)) {
        return ORTE_ERR_PERM;
    }
    if (greeting->is_unix) {
        snprintf(greeting->address, sizeof greeting->address, "unix, process %ld",
                 (long) greeting->pid);
    }
    struct handshake_random random;
    crypto_random(&random, sizeof random);
    handshake_accept(&greeting->handshake, &greeting->self, &random);
    crypto_wipe(&random, sizeof random);
    loop_io_watch(&greeting->io, EV_READ);
    return ORTE_SUCCESS;
}

int greeting_connect(struct greeting *greeting, int fd, const struct sock_addr *addr,
                     const orte_process_name_t *wanted, enum oob_key key, uint64_t timeout_us)
{
    begin(greeting, fd, addr, timeout_us);
    greeting->connects = true;
    greeting->begin_us = clock_us();
    greeting->until_us = greeting->begin_us + timeout_us;
    struct fault fault = fault_at("oob.connect");
    if (fault.action == FAULT_ERROR) {
        int status = greeting_status_of((int) fault.value);
        greeting_fail(greeting, status, strerror((int) fault.value));
        return status;
    }
    greeting->wanted = *wanted;
    greeting->key = key;
    /* A fault that drops the connect leaves it to its deadline. */
    loop_io_watch(&greeting->io, fault.action == FAULT_DROP ? 0 : EV_WRITE);
    return ORTE_SUCCESS;
}

bool greeting_verdict(struct greeting *greeting, enum wire_reason reason, int status)
{
    handshake_verdict(&greeting->handshake, reason, status);
    if (!send_out(greeting) && greeting->handshake.state != HANDSHAKE_FAILED) {
        greeting_fail(greeting, ORTE_ERR_CONNECTION_FAILED, "cannot send the verdict");
    }
    return greeting->handshake.state == HANDSHAKE_DONE;
}

/* What has come is read first: closing over it would take the verdict back. */
void greeting_turn_away(int fd)
{
    uint8_t verdict[WIRE_VERDICT_SIZE], hello[WIRE_MESSAGE_MAX];
    handshake_busy(verdict);
    (void) !recv(fd, hello, sizeof hello, MSG_DONTWAIT);
    (void) !send(fd, verdict, sizeof verdict, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool greeting_gone(const struct greeting *greeting)
{
    char byte;
    ssize_t got = recv(greeting->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

int greeting_take_fd(struct greeting *greeting)
{
    int fd = greeting->fd;
    loop_io_watch(&greeting->io, 0);
    loop_timer_stop(&greeting->deadline);
    greeting->fd = -1;
    return fd;
}

/* A connector that gives up takes back what has not arrived: a proof that came later would make a
 * link that nobody has. */
static void forget_sent(int fd)
{
    const struct linger reset = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

void greeting_end(struct greeting *greeting)
{
    loop_io_watch(&greeting->io, 0);
    loop_timer_stop(&greeting->deadline);
    if (greeting->fd >= 0 && greeting->connects) {
        forget_sent(greeting->fd);
    }
    fd_close(&greeting->fd);
    handshake_wipe(&greeting->handshake);
}
