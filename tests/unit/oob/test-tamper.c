/* Somebody between the ends of a connection: cuts it at every byte, flips a bit of each byte, sends
 * again what was recorded, swallows everything. Handshakes fail and are tried again, frames come
 * whole or not at all, and who is honest gets a link in between. All over real sockets. */
#include "side.h"

#include <arpa/inet.h>
#include <base/data/clock.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <errno.h>
#include <netinet/in.h>
#include <oob/oob_wire.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

enum way { TO_ACCEPTOR, TO_CONNECTOR, WAYS };

/* What is exchanged before frames. */
static const size_t handshake_size[WAYS] = {WIRE_HELLO_SIZE + WIRE_PROOF_SIZE,
                                            WIRE_ANSWER_SIZE + WIRE_VERDICT_SIZE};

/* A relay of one connection after another, in a thread of its own. */
static struct relay {
    pthread_t thread;
    int listener;
    uint16_t port, target;
    _Atomic bool stop;
    /* What it does to the next connections: at byte number at of a way (SIZE_MAX: nothing). */
    _Atomic size_t at;
    _Atomic int way;
    _Atomic bool flips;    /* a bit; else it cuts there */
    _Atomic bool swallows; /* all from now on */
    uint8_t recorded[WAYS][4096];
    size_t passed[WAYS]; /* of the connection, all told */
} relay;

static struct side a, b;

static int listen_somewhere(uint16_t *port)
{
    struct sock_addr addr;
    ck_assert_int_eq(sock_addr_ip(&addr, AF_INET, "127.0.0.1", 0), 0);
    int fd = sock_listen(&addr, 50);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(sock_local_addr(fd, &addr), 0);
    *port = sock_addr_port(&addr);
    return fd;
}

static int dial(uint16_t port)
{
    struct sockaddr_in addr = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *) &addr, sizeof addr) != 0) {
        fd_close(&fd);
    }
    return fd;
}

/* Passes on what is there. False: the connection has ended, or is to. */
static bool pass(int from, int to, enum way way)
{
    uint8_t data[4096];
    ssize_t got = recv(from, data, sizeof data, 0);
    if (got <= 0 || relay.swallows) {
        return got > 0;
    }
    size_t before = relay.passed[way], size = (size_t) got;
    bool here = relay.way == (int) way && relay.at >= before && relay.at < before + size;
    if (here && relay.flips) {
        data[relay.at - before] ^= (uint8_t) (1u << relay.at % 8);
    } else if (here) {
        size = relay.at - before;
    }
    for (size_t i = 0; i < size && before + i < sizeof relay.recorded[way]; i++) {
        relay.recorded[way][before + i] = data[i];
    }
    relay.passed[way] += size;
    bool sent = send(to, data, size, MSG_NOSIGNAL) == (ssize_t) size;
    return sent && !(here && !relay.flips);
}

static void carry(int connector, int acceptor)
{
    memset(relay.passed, 0, sizeof relay.passed);
    bool more = true;
    while (more && !relay.stop) {
        struct pollfd wait[WAYS] = {{.fd = connector, .events = POLLIN},
                                    {.fd = acceptor, .events = POLLIN}};
        if (poll(wait, WAYS, 20) > 0) {
            more = (!wait[0].revents || pass(connector, acceptor, TO_ACCEPTOR)) &&
                   (!wait[1].revents || pass(acceptor, connector, TO_CONNECTOR));
        }
    }
}

static void *run_relay(void *arg)
{
    (void) arg;
    while (!relay.stop) {
        struct pollfd wait = {.fd = relay.listener, .events = POLLIN};
        if (poll(&wait, 1, 20) <= 0) {
            continue;
        }
        int connector = accept(relay.listener, NULL, NULL);
        int acceptor = connector < 0 ? -1 : dial(relay.target);
        if (acceptor >= 0) {
            carry(connector, acceptor);
        }
        fd_close(&connector);
        fd_close(&acceptor);
    }
    return NULL;
}

/* The log's lines about strangers are many. */
static void no_log(void *arg, enum log_level level, const char *line)
{
    (void) arg;
    (void) level;
    (void) line;
}

static void begin(enum side_transport transport)
{
    log_set_sink(no_log, NULL);
    side_open(&a, 1, transport);
    side_open(&b, 2, transport);
    char *contact = side_listen(&b, transport);
    b.oob->accept_timeout_us = a.oob->connect_timeout_us = 2000000;
    relay.target = side_port_of(contact);
    relay.at = SIZE_MAX;
    relay.stop = relay.swallows = false;
    relay.listener = listen_somewhere(&relay.port);
    free(contact);
    side_run(&a);
    side_run(&b);
    ck_assert_int_eq(pthread_create(&relay.thread, NULL, run_relay, NULL), 0);
}

static void end(void)
{
    relay.stop = true;
    pthread_join(relay.thread, NULL);
    fd_close(&relay.listener);
    side_close(&a);
    side_close(&b);
    log_set_sink(NULL, NULL);
}

static void connect_by(uint16_t port)
{
    char contact[64];
    snprintf(contact, sizeof contact, "65536.2;tcp://127.0.0.1:%u", port);
    int done = a.connects_done;
    ck_assert_int_eq(side_connect(&a, contact, OOB_KEY_APP), ORTE_SUCCESS);
    side_wait_int(&a, &a.connects_done, done + 1);
}

static void close_now(struct side *side, void *arg)
{
    (void) arg;
    oob_link_close(side->link, false);
}

/* Who is honest has a link at once, by the relay and beside it. */
static void check_honest(uint16_t port)
{
    size_t frames = b.frames;
    relay.at = SIZE_MAX;
    connect_by(port);
    ck_assert_msg(a.connect_status == ORTE_SUCCESS, "%s", a.connect_reason);
    side_send(a.link, OOB_CONTROL, "honest", 6);
    side_wait_size(&b, &b.frames, frames + 1);
    side_call(&a, close_now, NULL);
    side_wait_int(&b, &b.downs, b.ups);
}

/* At every byte of both ways; the connector never believes that it has a link when the acceptor has
 * not proved it, and both have forgotten everything afterwards. */
static void spoil_handshakes(bool flips)
{
    int before = side_count_fds();
    begin(SIDE_TCP);
    for (int way = 0; way < WAYS; way++) {
        for (size_t at = 0; at < handshake_size[way]; at++) {
            relay.flips = flips;
            relay.way = way;
            relay.at = at;
            int ups = a.ups;
            connect_by(relay.port);
            ck_assert_msg(a.connect_status != ORTE_SUCCESS, "way %d, byte %zu: a link", way, at);
            ck_assert_int_eq(a.ups, ups);
            side_wait_int(&b, &b.downs, b.ups); /* the verdict was not seen: its link has ended */
            if (at % 50 == 0) {
                check_honest(at % 100 ? relay.port : relay.target);
            }
        }
    }
    check_honest(relay.port);
    end();
    ck_assert_int_eq(side_count_fds(), before);
}

UNIT_CASE(a_handshake_cut_at_every_byte, spoil_handshakes(false))
UNIT_CASE(a_bit_flipped_in_every_byte_of_a_handshake, spoil_handshakes(true))

/* --- a recorded handshake --- */

static bool is_closed_without_welcome(int fd)
{
    uint8_t answer[512];
    size_t size = 0;
    uint64_t until = clock_us() + 4000000;
    while (clock_us() < until) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (poll(&wait, 1, 100) <= 0) {
            continue;
        }
        ssize_t got = recv(fd, answer + size, sizeof answer - size, 0);
        if (got <= 0) {
            /* an answer, and a verdict that is no welcome */
            return size < WIRE_ANSWER_SIZE + WIRE_VERDICT_SIZE ||
                   answer[WIRE_ANSWER_SIZE + WIRE_AT_REASON] != WIRE_WELCOME;
        }
        size += (size_t) got;
    }
    return false;
}

START_TEST(what_was_recorded_is_of_no_use)
{
    begin(SIDE_TCP);
    check_honest(relay.port);
    int ups = b.ups;
    for (int i = 0; i < 20; i++) {
        int fd = dial(relay.target);
        size_t size = handshake_size[TO_ACCEPTOR] + (i % 2 ? 100 : 0); /* with its first records */
        ck_assert_int_eq((int) send(fd, relay.recorded[TO_ACCEPTOR], size, MSG_NOSIGNAL),
                         (int) size);
        ck_assert(is_closed_without_welcome(fd));
        close(fd);
    }
    ck_assert_int_eq(b.ups, ups);
    /* An acceptor's side that was recorded: it does not fit to a new HELLO. */
    int listener;
    uint16_t port;
    listener = listen_somewhere(&port);
    char contact[64];
    snprintf(contact, sizeof contact, "65536.2;tcp://127.0.0.1:%u", port);
    int done = a.connects_done;
    ck_assert_int_eq(side_connect(&a, contact, OOB_KEY_APP), ORTE_SUCCESS);
    struct pollfd wait = {.fd = listener, .events = POLLIN};
    ck_assert_int_eq(poll(&wait, 1, 5000), 1);
    int fd = accept(listener, NULL, NULL);
    ck_assert_int_gt(
        (int) send(fd, relay.recorded[TO_CONNECTOR], handshake_size[TO_CONNECTOR], MSG_NOSIGNAL),
        0);
    side_wait_int(&a, &a.connects_done, done + 1);
    ck_assert_msg(a.connect_status == ORTE_ERR_PERM, "%s", a.connect_reason);
    close(fd);
    close(listener);
    check_honest(relay.target);
    end();
}
END_TEST

/* --- frames --- */

enum { FRAMES = 3, FRAME_SIZE = 60 };

/* In the link's first records (sealed, authentic, plain): frames that were whole before the spoilt
 * byte have come, nothing behind it has; a link whose record or frame does not fit has ended. */
static void spoil_frames(enum side_transport transport, bool flips)
{
    static const uint8_t data[FRAME_SIZE] = {1, 2, 3};
    begin(transport);
    size_t record = FRAME_HEAD_SIZE + FRAME_SIZE +
                    (transport == SIDE_TCP_NONE ? 0 : RECORD_HEAD_SIZE + RECORD_TAG_SIZE);
    for (size_t at = 0; at < FRAMES * record; at++) {
        relay.flips = flips;
        relay.way = TO_ACCEPTOR;
        relay.at = handshake_size[TO_ACCEPTOR] + at;
        int ups = b.ups;
        connect_by(relay.port);
        ck_assert_msg(a.connect_status == ORTE_SUCCESS, "%s", a.connect_reason);
        side_wait_int(&b, &b.ups, ups + 1);
        size_t frames = b.frames, bytes = b.bytes;
        for (int i = 0; i < FRAMES; i++) {
            side_send(a.link, OOB_APP, data, sizeof data);
        }
        if (flips) { /* a length that was made larger waits for more */
            side_call(&a, close_now, NULL);
        }
        side_wait_int(&b, &b.downs, b.ups);
        side_wait_int(&a, &a.downs, a.ups);
        ck_assert_msg(b.frames == frames + at / record, "byte %zu: %zu frames", at,
                      b.frames - frames);
        ck_assert_uint_eq(b.bytes - bytes, at / record * sizeof data);
    }
    check_honest(relay.port);
    end();
}

START_TEST(frames_cut_at_every_byte)
{
    spoil_frames(SIDE_TCP, false);
    spoil_frames(SIDE_TCP_AUTH, false);
    spoil_frames(SIDE_TCP_NONE, false);
}
END_TEST

START_TEST(a_bit_flipped_in_every_byte_of_records)
{
    spoil_frames(SIDE_TCP, true);
    spoil_frames(SIDE_TCP_AUTH, true);
}
END_TEST

/* --- a network that fails while another works --- */

static void watch(struct side *side, void *arg)
{
    const unsigned *suspect_ms = arg;
    oob_link_watch(side->link, *suspect_ms * 1000, 20000000);
}

static char *link_by_relay(unsigned a_suspects_ms, unsigned b_suspects_ms)
{
    ck_assert_int_eq(param_override("oob_heartbeat_ms", "20"), ORTE_SUCCESS);
    begin(SIDE_TCP);
    connect_by(relay.port);
    ck_assert_msg(a.connect_status == ORTE_SUCCESS, "%s", a.connect_reason);
    side_wait_int(&b, &b.ups, 1);
    side_call(&a, watch, &a_suspects_ms);
    side_call(&b, watch, &b_suspects_ms);
    char *contact = malloc(100);
    ck_assert_ptr_nonnull(contact);
    snprintf(contact, 100, "65536.2;tcp://127.0.0.1:%u;tcp://127.0.0.1:%u", relay.port,
             relay.target);
    return contact;
}

START_TEST(a_silent_link_gives_way_to_one_over_another_address)
{
    char *contact = link_by_relay(200, 200);
    side_send(b.link, OOB_APP, "before", 6);
    side_wait_size(&a, &a.frames, 1);
    relay.swallows = true;
    side_wait_int(&a, &a.silences, 1);
    ck_assert_int_eq(side_detour(&a, contact), ORTE_SUCCESS);
    side_wait_int(&a, &a.connects_done, 2);
    ck_assert_msg(a.connect_status == ORTE_SUCCESS, "%s", a.connect_reason);
    side_wait_int(&b, &b.ups, 2);
    ck_assert(a.ups == 2 && a.downs == 1 && b.downs == 1);
    side_talk(&a, &b);
    side_talk(&b, &a);
    /* the new link has no other address but the relay's, and that swallows everything */
    a.oob->connect_timeout_us = 100000;
    ck_assert_int_eq(side_detour(&a, contact), ORTE_SUCCESS);
    side_wait_int(&a, &a.connects_done, 3);
    ck_assert_int_eq(a.connect_status, ORTE_ERR_TIMEOUT);
    side_talk(&a, &b);
    free(contact);
    end();
}
END_TEST

/* Who hears its peer keeps the link. */
START_TEST(a_link_that_works_gives_way_to_none)
{
    char *contact = link_by_relay(5000, 5000);
    side_talk(&a, &b);
    ck_assert_int_eq(side_detour(&a, contact), ORTE_SUCCESS);
    side_wait_int(&a, &a.connects_done, 2);
    ck_assert_int_eq(a.connect_status, ORTE_EXISTS);
    ck_assert(a.ups == 1 && a.downs == 0 && b.downs == 0);
    side_talk(&a, &b);
    *strrchr(contact, ';') = '\0';
    ck_assert_int_eq(side_detour(&a, contact), ORTE_ERR_UNREACH); /* the one that it uses */
    free(contact);
    end();
}
END_TEST

UNIT_MAIN("tamper")
