/* The usnic card and the place in its hellos: bytes. */
#include <arpa/inet.h>
#include <btl/usnic/wire/card.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <tests/unit/btl/peers/netcard.h>

static const uint8_t golden[] = {
    1, 1,    0, 0,   0,    0,    0,    0,    8, 7, 6,    5, 4, 3,    2,    1, 0x31, 0xd4, 0,
    0, 0xc0, 5, 0,   0,    1,    0,    0,    0, 0, 0,    0, 0, 0xef, 0xbe, 0, 0,    0,    0,
    0, 0,    4, 24,  0x39, 0x30, 0x10, 0x27, 0, 0, 0xdc, 5, 0, 0,    3,    0, 0,    0,    0,
    0, 0,    0, 192, 168,  7,    9,    0,    0, 0, 0,    0, 0, 0,    0,    0, 0,    0,    0,
};

static struct usnic_card card_create(void)
{
    struct usnic_card card = {.incarnation = 0x0102030405060708, .net = {.netstack = 0xbeef}};

    netcard_with(&card.net, "192.168.7.9", 24, 10000, 3)->port = 12345;
    card.net.addresses[0].mtu_bytes = 1500;
    card.priority_ports[0] = 54321;
    card.packet_bytes[0] = 1472;
    return card;
}

START_TEST(cards_have_these_bytes)
{
    struct usnic_card card = card_create(), back;
    uint8_t bytes[USNIC_CARD_BYTES];

    ck_assert_uint_eq(usnic_card_encode(bytes, &card), sizeof(golden));
    ck_assert_mem_eq(bytes, golden, sizeof(golden));
    ck_assert_int_eq(usnic_card_decode(&back, golden, sizeof(golden)), OPAL_SUCCESS);
    ck_assert_uint_eq(back.incarnation, card.incarnation);
    ck_assert_uint_eq(back.priority_ports[0], 54321);
    ck_assert_uint_eq(back.packet_bytes[0], 1472);
    ck_assert_mem_eq(back.net.addresses, card.net.addresses, sizeof(*card.net.addresses));
}
END_TEST

static void check_refused(size_t at, uint8_t value, int status)
{
    uint8_t bytes[sizeof(golden)];
    struct usnic_card card;

    memcpy(bytes, golden, sizeof(golden));
    bytes[at] = value;
    ck_assert_int_eq(usnic_card_decode(&card, bytes, sizeof(bytes)), status);
}

START_TEST(hostile_cards_are_refused)
{
    struct usnic_card card;
    uint8_t longer[sizeof(golden) + 1] = {0};

    for (size_t size = 0; size < sizeof(golden); size++) {
        uint8_t *exact = malloc(size + !size); /* so that a read beyond it shows */
        memcpy(exact, golden, size);
        ck_assert_int_eq(usnic_card_decode(&card, exact, size), OPAL_ERR_UNPACK_FAILURE);
        free(exact);
    }
    memcpy(longer, golden, sizeof(golden));
    ck_assert_int_eq(usnic_card_decode(&card, longer, sizeof(longer)), OPAL_ERR_UNPACK_FAILURE);
    check_refused(0, 2, OPAL_ERR_NOT_SUPPORTED);
    check_refused(1, 2, OPAL_ERR_UNPACK_FAILURE);  /* more than the interfaces are */
    check_refused(1, 17, OPAL_ERR_UNPACK_FAILURE); /* more than a card has */
    check_refused(2, 1, OPAL_ERR_UNPACK_FAILURE);
    check_refused(18, 1, OPAL_ERR_UNPACK_FAILURE);
    check_refused(21, 0, OPAL_ERR_UNPACK_FAILURE); /* packets of 192 bytes */
    check_refused(23, 1, OPAL_ERR_UNPACK_FAILURE); /* of 16 MB */
}
END_TEST

START_TEST(a_pair_tells_where_the_peer_is)
{
    struct usnic_card mine = card_create(), peer = card_create();
    struct usnic_place place;

    peer.net.netstack = 1;
    peer.net.addresses[0].bytes[3] = 10;
    peer.net.addresses[0].port = 7;
    ck_assert_int_eq(usnic_card_pair(&place, &mine, &peer, 3), OPAL_SUCCESS);
    ck_assert_uint_eq(place.port, 7);
    ck_assert_uint_eq(place.priority_port, 54321);
    ck_assert_uint_eq(place.bytes[3], 10);
    ck_assert_int_eq(usnic_card_pair(&place, &mine, &peer, 4), OPAL_ERR_NOT_AVAILABLE);
}
END_TEST

START_TEST(places_come_back)
{
    struct usnic_card card = card_create();
    struct usnic_place place = usnic_card_place(&card, 0), back;
    uint8_t bytes[USNIC_PLACE_BYTES];

    place.checksum = true;
    usnic_place_encode(bytes, &place);
    ck_assert_int_eq(usnic_place_decode(&back, bytes, sizeof(bytes)), OPAL_SUCCESS);
    ck_assert(back.checksum);
    ck_assert_int_eq(back.family, place.family);
    ck_assert_mem_eq(back.bytes, place.bytes, sizeof(back.bytes));
    ck_assert_uint_eq(back.port, place.port);
    ck_assert_uint_eq(back.priority_port, place.priority_port);
    ck_assert_uint_eq(back.packet_bytes, place.packet_bytes);
    struct fabric_address data = usnic_place_address(&back, false);
    struct fabric_address priority = usnic_place_address(&back, true);
    struct sockaddr_in in;
    ck_assert_uint_eq(data.size, sizeof(in));
    memcpy(&in, data.bytes, sizeof(in));
    ck_assert_uint_eq(ntohs(in.sin_port), 12345);
    ck_assert_str_eq(inet_ntoa(in.sin_addr), "192.168.7.9");
    memcpy(&in, priority.bytes, sizeof(in));
    ck_assert_uint_eq(ntohs(in.sin_port), 54321);
}
END_TEST

START_TEST(hostile_places_are_refused)
{
    struct usnic_card card = card_create();
    struct usnic_place place = usnic_card_place(&card, 0), back;
    static const size_t wrong[] = {0, 1, 6, 7, 9, 11, 12, 20, 31};
    uint8_t bytes[USNIC_PLACE_BYTES];

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        usnic_place_encode(bytes, &place);
        bytes[wrong[i]] = wrong[i] == 9 ? 0 : 2;
        ck_assert_int_eq(usnic_place_decode(&back, bytes, sizeof(bytes)), OPAL_ERR_UNPACK_FAILURE);
    }
    usnic_place_encode(bytes, &place);
    ck_assert_int_ne(usnic_place_decode(&back, bytes, sizeof(bytes) - 1), OPAL_SUCCESS);
    bytes[2] = bytes[3] = 0;
    ck_assert_int_ne(usnic_place_decode(&back, bytes, sizeof(bytes)), OPAL_SUCCESS);
}
END_TEST

UNIT_MAIN("usnic-card")
