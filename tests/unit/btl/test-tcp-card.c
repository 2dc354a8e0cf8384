/* The tcp card: bytes, and the addresses of further links. */
#include <arpa/inet.h>
#include <btl/tcp/tcp_card.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <tests/unit/btl/netcard.h>

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

static void check_more(const struct netcard *mine, const struct netcard *peer, size_t first,
                       size_t wanted, size_t count, const size_t *expected)
{
    size_t more[TCP_LANES];

    ck_assert_uint_eq(tcp_card_more(more, mine, peer, first, wanted, true), count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(more[i], expected[i]);
    }
}

START_TEST(more_links_take_other_interfaces)
{
    struct netcard mine = {.netstack = 1}, peer = {.netstack = 2}, here = {.netstack = 1};

    netcard_with(&mine, "10.1.0.1", 24, 1000, 2);
    netcard_with(&mine, "10.2.0.1", 24, 1000, 3);
    netcard_with(&mine, "fd00::1", 64, 1000, 2); /* of the first interface, too */
    netcard_with(&mine, "10.3.0.1", 24, 1000, 4);
    netcard_with(&peer, "10.1.0.2", 24, 1000, 7);
    netcard_with(&peer, "10.2.0.2", 24, 1000, 8);
    netcard_with(&peer, "fd00::2", 64, 1000, 7);
    netcard_with(&peer, "10.9.0.2", 24, 1000, 9); /* in no subnet of mine */
    check_more(&mine, &peer, 0, 0, 1, (const size_t[]){1});
    check_more(&mine, &peer, 1, 0, 1, (const size_t[]){0});
    check_more(&mine, &peer, 2, 0, 1, (const size_t[]){1});
    check_more(&mine, &peer, 3, 0, 2, (const size_t[]){0, 1});
    check_more(&mine, &peer, 0, 1, 0, NULL);
    check_more(&mine, &peer, 0, 4, 3, (const size_t[]){1, 0, 1});
    check_more(&mine, &peer, 0, 100, TCP_LANES, (const size_t[]){1, 0, 1, 0, 1, 0, 1});
    /* within one network stack the wire is memory, and one link is as good */
    netcard_with(&here, "10.1.0.1", 24, 1000, 2);
    netcard_with(&here, "10.2.0.1", 24, 1000, 3);
    check_more(&mine, &here, 0, 0, 0, NULL);
    check_more(&mine, &here, 0, 3, 2, (const size_t[]){1, 0});
}
END_TEST

/* All four in one subnet: what one pair has, the other does not share. */
START_TEST(two_links_in_one_subnet_share_no_interface)
{
    struct netcard mine = {.netstack = 1}, peer = {.netstack = 2};

    netcard_with(&mine, "10.1.0.1", 24, 1000, 2);
    netcard_with(&mine, "10.1.0.2", 24, 1000, 3);
    netcard_with(&peer, "10.1.0.3", 24, 1000, 2);
    netcard_with(&peer, "10.1.0.4", 24, 1000, 3);
    check_more(&mine, &peer, 0, 0, 1, (const size_t[]){1});
}
END_TEST

UNIT_MAIN("tcp-card", card_has_these_bytes, hostile_cards_are_refused, port_zero_is_refused,
          more_links_take_other_interfaces, two_links_in_one_subnet_share_no_interface)
