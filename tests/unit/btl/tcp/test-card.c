/* The tcp card: bytes, and the pairs of interfaces that reach a peer. */
#include <arpa/inet.h>
#include <btl/tcp/wire/card.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <tests/unit/btl/peers/netcard.h>

static const uint8_t golden[] = {
    2, 0,    0,    0, 0, 0, 0,   0,   8, 7, 6,  5,    4,    3,    2,    1, 1, 0,    0, 0, 0, 0, 0,
    0, 0xef, 0xbe, 0, 0, 0, 0,   0,   0, 4, 24, 0x39, 0x30, 0x10, 0x27, 0, 0, 0xdc, 5, 0, 0, 3, 0,
    0, 0,    0,    0, 0, 0, 192, 168, 7, 9, 0,  0,    0,    0,    0,    0, 0, 0,    0, 0, 0, 0,
};

START_TEST(card_has_these_bytes)
{
    struct tcp_card card = {.incarnation = 0x0102030405060708, .net = {.netstack = 0xbeef}}, back;
    uint8_t bytes[TCP_CARD_BYTES];

    netcard_with(&card.net, "192.168.7.9", 24, 10000, 3)->port = 12345;
    card.net.addresses[0].mtu_bytes = 1500;
    ck_assert_uint_eq(tcp_card_encode(bytes, &card), sizeof(golden));
    ck_assert_mem_eq(bytes, golden, sizeof(golden));
    ck_assert_int_eq(tcp_card_decode(&back, golden, sizeof(golden)), OPAL_SUCCESS);
    ck_assert_uint_eq(back.incarnation, card.incarnation);
    ck_assert_uint_eq(back.net.netstack, 0xbeef);
    ck_assert_uint_eq(back.net.count, 1);
    ck_assert_mem_eq(back.net.addresses, card.net.addresses, sizeof(*card.net.addresses));
}
END_TEST

static void check_refused(size_t at, uint8_t value, int status)
{
    uint8_t bytes[sizeof(golden)];
    struct tcp_card card;

    memcpy(bytes, golden, sizeof(golden));
    bytes[at] = value;
    ck_assert_int_eq(tcp_card_decode(&card, bytes, sizeof(bytes)), status);
}

START_TEST(hostile_cards_are_refused)
{
    struct tcp_card card;
    uint8_t longer[sizeof(golden) + 1] = {0};

    for (size_t size = 0; size < sizeof(golden); size++) {
        uint8_t *exact = malloc(size + !size); /* so that a read beyond it shows */
        memcpy(exact, golden, size);
        ck_assert_int_eq(tcp_card_decode(&card, exact, size), OPAL_ERR_UNPACK_FAILURE);
        free(exact);
    }
    memcpy(longer, golden, sizeof(golden));
    ck_assert_int_eq(tcp_card_decode(&card, longer, sizeof(longer)), OPAL_ERR_UNPACK_FAILURE);
    check_refused(0, 1, OPAL_ERR_NOT_SUPPORTED);
    check_refused(1, 1, OPAL_ERR_UNPACK_FAILURE);
    check_refused(7, 1, OPAL_ERR_UNPACK_FAILURE);
    check_refused(16, 2, OPAL_ERR_UNPACK_FAILURE);
}
END_TEST

START_TEST(port_zero_is_refused)
{
    uint8_t bytes[sizeof(golden)];
    struct tcp_card card;

    memcpy(bytes, golden, sizeof(golden));
    bytes[34] = bytes[35] = 0;
    ck_assert_int_eq(tcp_card_decode(&card, bytes, sizeof(bytes)), OPAL_ERR_UNPACK_FAILURE);
}
END_TEST

/* The pair of an interface of mine, seen from both sides; peer -1: it has none, for this reason. */
static void check_pair(struct tcp_card *mine, struct tcp_card *peer, uint32_t interface, int wanted,
                       bool in_subnet, int reason)
{
    struct netcard_pair pair, back;
    bool subnet;

    for (unsigned turn = 0; turn < 2; turn++) {
        mine->incarnation = 5 + turn; /* who is first decides nothing */
        peer->incarnation = 6 - turn;
        int status = tcp_card_pair(&pair, &subnet, mine, peer, interface);
        if (wanted < 0) {
            ck_assert_int_eq(status, reason);
            continue;
        }
        ck_assert_int_eq(status, OPAL_SUCCESS);
        ck_assert_uint_eq(pair.peer, (size_t) wanted);
        ck_assert_int_eq(subnet, in_subnet);
        uint32_t other = peer->net.addresses[pair.peer].interface;
        ck_assert_int_eq(tcp_card_pair(&back, &subnet, peer, mine, other), OPAL_SUCCESS);
        ck_assert_uint_eq(back.mine, pair.peer);
        ck_assert_uint_eq(back.peer, pair.mine);
    }
}

START_TEST(interfaces_in_a_subnet_serve_in_pairs)
{
    struct tcp_card mine = {.net = {.netstack = 1}}, peer = {.net = {.netstack = 2}};

    netcard_with(&mine.net, "10.1.0.1", 24, 1000, 2);
    netcard_with(&mine.net, "10.2.0.1", 24, 1000, 3);
    netcard_with(&mine.net, "fd00::1", 64, 1000, 2); /* of the first interface, too */
    netcard_with(&mine.net, "10.3.0.1", 24, 1000, 4);
    netcard_with(&peer.net, "10.2.0.2", 24, 1000, 8);
    netcard_with(&peer.net, "10.1.0.2", 24, 1000, 7);
    netcard_with(&peer.net, "10.9.0.2", 24, 1000, 9); /* in no subnet of mine */
    check_pair(&mine, &peer, 2, 1, true, 0);
    check_pair(&mine, &peer, 3, 0, true, 0);
    check_pair(&mine, &peer, 4, -1, false, OPAL_ERR_NOT_AVAILABLE);
    check_pair(&peer, &mine, 9, -1, false, OPAL_ERR_NOT_AVAILABLE);
}
END_TEST

static void check_order(const struct tcp_card *mine, const struct tcp_card *peer,
                        uint32_t interface, size_t count, const size_t *wanted)
{
    size_t order[NETCARD_ADDRESSES];

    ck_assert_uint_eq(tcp_card_order(order, mine, peer, interface), count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(order[i], wanted[i]);
    }
}

START_TEST(an_interface_leaves_alone_what_another_is_paired_with)
{
    struct tcp_card mine = {.net = {.netstack = 1}}, peer = {.net = {.netstack = 2}};

    netcard_with(&mine.net, "10.1.0.1", 24, 1000, 2);
    netcard_with(&peer.net, "10.1.0.2", 24, 1000, 7);
    netcard_with(&peer.net, "10.2.0.2", 24, 1000, 8);
    netcard_with(&peer.net, "10.3.0.2", 24, 1000, 7); /* of the first interface, too */
    netcard_with(&peer.net, "10.4.0.2", 24, 1000, 9);
    check_order(&mine, &peer, 2, 4, (const size_t[]){0, 1, 2, 3});
    netcard_with(&mine.net, "10.2.0.1", 24, 1000, 3);
    check_order(&mine, &peer, 2, 3, (const size_t[]){0, 2, 3});
    check_order(&mine, &peer, 3, 2, (const size_t[]){1, 3});
}
END_TEST

/* All four in one subnet: what one pair has, the other does not share. */
START_TEST(two_pairs_in_one_subnet_share_no_interface)
{
    struct tcp_card mine = {.net = {.netstack = 1}}, peer = {.net = {.netstack = 2}};

    netcard_with(&mine.net, "10.1.0.1", 24, 1000, 2);
    netcard_with(&mine.net, "10.1.0.2", 24, 10000, 3);
    netcard_with(&peer.net, "10.1.0.3", 24, 10000, 2);
    netcard_with(&peer.net, "10.1.0.4", 24, 1000, 3);
    check_pair(&mine, &peer, 2, 1, true, 0);
    check_pair(&mine, &peer, 3, 0, true, 0);
}
END_TEST

START_TEST(elsewhere_the_best_pair_serves_alone)
{
    struct tcp_card mine = {.net = {.netstack = 1}}, peer = {.net = {.netstack = 2}};
    struct tcp_card here = {.net = {.netstack = 1}}, none = {.net = {.netstack = 3}};

    netcard_with(&mine.net, "10.1.0.1", 24, 1000, 2);
    netcard_with(&mine.net, "10.2.0.1", 24, 10000, 3);
    netcard_with(&peer.net, "10.8.0.2", 24, 1000, 7);
    netcard_with(&peer.net, "10.9.0.2", 24, 10000, 8);
    check_pair(&mine, &peer, 2, -1, false, OPAL_ERR_NOT_AVAILABLE);
    check_pair(&mine, &peer, 3, 1, false, 0);
    /* within one network stack the wire is memory, and one rail is as good */
    netcard_with(&here.net, "10.1.0.1", 24, 1000, 2);
    netcard_with(&here.net, "10.2.0.1", 24, 10000, 3);
    check_pair(&mine, &here, 2, -1, false, OPAL_ERR_NOT_AVAILABLE);
    check_pair(&mine, &here, 3, 1, false, 0);
    check_pair(&mine, &mine, 3, 1, false, 0); /* a process and itself */
    netcard_with(&none.net, "fd00::7", 64, 1000, 2);
    check_pair(&mine, &none, 2, -1, false, OPAL_ERR_UNREACH);
}
END_TEST

UNIT_MAIN("tcp-card")
