/* Whether a peer's host answers is known when the peer is connected, so that one which is cut off
 * at once is missed. */
#include <config.h>

#include <arpa/inet.h>
#include <btl/ofi/ofi_peer.h>
#include <string.h>
#include <sys/socket.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static struct ofi_module ofi;
static ofi_endpoint peer;

static struct fabric_address address_of(const char *text)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct fabric_address address = {.format = FI_SOCKADDR_IN, .size = sizeof(in)};
    ck_assert_int_eq(inet_pton(AF_INET, text, &in.sin_addr), 1);
    memcpy(address.bytes, &in, sizeof(in));
    return address;
}

static void setup(void)
{
    memset(&ofi, 0, sizeof(ofi));
    memset(&peer, 0, sizeof(peer));
    ofi.params.silence_us = UINT64_C(3600) * 1000 * 1000;
    ofi.card.address = address_of("127.0.0.1");
    peer.at = address_of("127.0.0.2");
    peer.life.state = PEER_HANDSHAKE;
    list_init(&ofi.peers.used);
    list_append(&ofi.peers.used, &peer.life.link);
    host_probe_init(&peer.silence.first);
    host_probe_init(&peer.silence.probe);
}

START_TEST(a_hello_asks_the_host)
{
    setup();
    ofi_silence_handshake(&ofi, &peer);
    ck_assert_uint_eq(peer.silence.probes, 1);
    peer.life.state = PEER_UP; /* and is cut off: no question after this one is answered */
    ofi_silence_check(&ofi);
    ck_assert(peer.silence.answers);
    ck_assert_uint_eq(peer.silence.probes, 1);
    ofi_silence_clear(&peer.silence);
}
END_TEST

START_TEST(a_host_that_answered_is_not_asked_again)
{
    setup();
    ofi_silence_handshake(&ofi, &peer);
    ofi_silence_handshake(&ofi, &peer);
    ofi_silence_handshake(&ofi, &peer);
    ck_assert_uint_eq(peer.silence.probes, 1);
    ck_assert(peer.silence.answers);
    ofi_silence_clear(&peer.silence);
}
END_TEST

START_TEST(no_host_is_asked_where_silence_is_allowed)
{
    setup();
    ofi.params.silence_us = 0;
    ofi_silence_handshake(&ofi, &peer);
    ck_assert_uint_eq(peer.silence.probes, 0);
    ck_assert_int_lt(peer.silence.probe.fd, 0);
}
END_TEST

/* An eighth of the time has passed, without an answer. */
static void look_in_vain(void)
{
    host_probe_clear(&peer.silence.probe);
    peer.silence.probe.answer = HOST_NO_ANSWER;
    ofi.look_us = 0;
    ofi_silence_check(&ofi);
}

static void connect_to_host(void)
{
    setup();
    list_init(&ofi.peers.failing);
    list_init(&peer.life.waiting);
    ofi.peers.name = "ofi";
    peer.life.peers = &ofi.peers;
    ofi_silence_handshake(&ofi, &peer);
    peer.life.state = PEER_UP;
}

START_TEST(a_host_that_falls_silent_is_missed)
{
    connect_to_host();
    ofi_silence_check(&ofi); /* takes the answer */
    ck_assert(peer.silence.answers);
    for (int i = 0; i < 8 && peer.life.state == PEER_UP; i++) {
        look_in_vain();
    }
    ck_assert_int_eq(peer.life.state, PEER_FAILING);
    ofi_silence_clear(&peer.silence);
}
END_TEST

/* A socket that is not ready to be written before the other one is read. */
static void connect_slowly(int ends[2])
{
    char byte = 0;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    while (write(ends[0], &byte, 1) == 1) {
    }
}

static void answer_now(int fd)
{
    char bytes[4096];
    while (read(fd, bytes, sizeof(bytes)) > 0) {
    }
}

START_TEST(a_host_whose_answer_takes_longer_than_a_look_is_not_missed)
{
    int ends[2];
    connect_to_host();
    ofi_silence_check(&ofi);
    connect_slowly(ends);
    host_probe_clear(&peer.silence.probe);
    peer.silence.probe = (struct host_probe){ends[0], HOST_NO_ANSWER};
    ofi.look_us = 0;
    ofi_silence_check(&ofi);
    for (int i = 0; i < 4; i++) {
        look_in_vain();
    }
    answer_now(ends[1]);
    for (int i = 0; i < 3; i++) {
        look_in_vain();
    }
    ck_assert_int_eq(peer.life.state, PEER_UP);
    ofi_silence_clear(&peer.silence);
    close(ends[1]);
}
END_TEST

/* Else it could be cut off unnoticed, once something had come from it. */
START_TEST(a_frame_that_comes_first_leaves_the_question_open)
{
    int ends[2];
    connect_to_host();
    connect_slowly(ends);
    host_probe_clear(&peer.silence.probe);
    peer.silence.probe = (struct host_probe){ends[0], HOST_NO_ANSWER};
    peer.order.expected++;
    ofi_silence_check(&ofi);
    for (int i = 0; i < 4; i++) {
        peer.order.expected++;
        look_in_vain();
        ck_assert(!peer.silence.answers);
    }
    answer_now(ends[1]);
    look_in_vain();
    ck_assert(peer.silence.answers);
    ofi_silence_clear(&peer.silence);
    close(ends[1]);
}
END_TEST

START_TEST(a_host_that_never_answered_is_not_judged)
{
    connect_to_host();
    for (int i = 0; i < 20; i++) {
        look_in_vain();
    }
    ck_assert_int_eq(peer.life.state, PEER_UP);
    ofi_silence_clear(&peer.silence);
}
END_TEST

UNIT_MAIN("ofi-silence")
