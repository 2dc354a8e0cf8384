/* The tcp card and the choice of addresses. */
#include <arpa/inet.h>
#include <base/crypto.h>
#include <btl/tcp/tcp_card.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static void add(struct tcp_card *card, const char *host, unsigned prefix, uint16_t port,
                uint32_t speed)
{
    struct tcp_address *address = &card->addresses[card->count++];

    *address = (struct tcp_address){.family = strchr(host, ':') ? AF_INET6 : AF_INET,
                                    .prefix = prefix,
                                    .port = port,
                                    .speed_mbps = speed};
    ck_assert_int_eq(inet_pton(address->family, host, address->bytes), 1);
}

static const uint8_t golden[] = {
    1, 2,  0,    0,    0,    0,    0, 0, 8,    7,   6, 5, 4, 3, 2, 1, 0xef, 0xbe, 0, 0, 0, 0, 0, 0,
    4, 24, 0x39, 0x30, 0x10, 0x27, 0, 0, 192,  168, 7, 9, 0, 0, 0, 0, 0,    0,    0, 0, 0, 0, 0, 0,
    6, 64, 0x3a, 0x30, 0,    0,    0, 0, 0xfd, 0,   0, 0, 0, 0, 0, 0, 0,    0,    0, 0, 0, 0, 0, 1,
};

START_TEST(card_has_these_bytes)
{
    struct tcp_card card = {.incarnation = 0x0102030405060708, .netstack = 0xbeef}, back;
    uint8_t bytes[TCP_CARD_BYTES];

    add(&card, "192.168.7.9", 24, 12345, 10000);
    add(&card, "fd00::1", 64, 12346, 0);
    ck_assert_uint_eq(tcp_card_encode(bytes, &card), sizeof(golden));
    ck_assert_mem_eq(bytes, golden, sizeof(golden));
    ck_assert_int_eq(tcp_card_decode(&back, golden, sizeof(golden)), OPAL_SUCCESS);
    ck_assert_uint_eq(back.count, 2);
    ck_assert_uint_eq(back.incarnation, card.incarnation);
    ck_assert_uint_eq(back.netstack, 0xbeef);
    ck_assert_mem_eq(back.addresses, card.addresses, 2 * sizeof(*card.addresses));

    struct sock_addr addr;
    char text[80];
    tcp_address_sock(&addr, &back.addresses[0]);
    ck_assert_str_eq(sock_addr_print(&addr, text, sizeof(text)), "tcp://192.168.7.9:12345");
    tcp_address_sock(&addr, &back.addresses[1]);
    ck_assert_str_eq(sock_addr_print(&addr, text, sizeof(text)), "tcp6://[fd00::1]:12346");
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
    uint8_t longer[sizeof(golden) + 1];

    for (size_t size = 0; size < sizeof(golden); size++) {
        uint8_t *exact = malloc(size + !size); /* so that a read beyond it shows */
        memcpy(exact, golden, size);
        ck_assert_int_eq(tcp_card_decode(&card, exact, size), OPAL_ERR_UNPACK_FAILURE);
        free(exact);
    }
    memcpy(longer, golden, sizeof(golden));
    longer[sizeof(golden)] = 0;
    ck_assert_int_eq(tcp_card_decode(&card, longer, sizeof(longer)), OPAL_ERR_UNPACK_FAILURE);
    check_refused(0, 2, OPAL_ERR_NOT_SUPPORTED);
    check_refused(1, 1, OPAL_ERR_UNPACK_FAILURE);
    check_refused(1, 3, OPAL_ERR_UNPACK_FAILURE);
    check_refused(1, 255, OPAL_ERR_UNPACK_FAILURE);
    check_refused(5, 1, OPAL_ERR_UNPACK_FAILURE);
    check_refused(24, 5, OPAL_ERR_UNPACK_FAILURE);
    check_refused(25, 33, OPAL_ERR_UNPACK_FAILURE);
    check_refused(47, 1, OPAL_ERR_UNPACK_FAILURE); /* behind an IPv4 address */
    check_refused(49, 129, OPAL_ERR_UNPACK_FAILURE);
}
END_TEST

START_TEST(port_zero_is_refused)
{
    uint8_t bytes[sizeof(golden)];
    struct tcp_card card;

    memcpy(bytes, golden, sizeof(golden));
    bytes[26] = bytes[27] = 0;
    ck_assert_int_eq(tcp_card_decode(&card, bytes, sizeof(bytes)), OPAL_ERR_UNPACK_FAILURE);
}
END_TEST

static void check_order(const struct tcp_card *mine, const struct tcp_card *peer, size_t count,
                        const size_t *wanted)
{
    size_t order[TCP_CARD_ADDRESSES];

    ck_assert_uint_eq(tcp_pair(order, mine, peer), count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(order[i], wanted[i]);
    }
}

START_TEST(same_subnet_comes_first)
{
    struct tcp_card mine = {.netstack = 1}, peer = {.netstack = 2};

    add(&mine, "10.1.2.3", 16, 1, 1000);
    add(&mine, "192.168.5.1", 26, 1, 1000);
    add(&peer, "8.8.8.8", 24, 1, 100000);     /* public, mine are not */
    add(&peer, "10.2.0.1", 16, 1, 1000);      /* private */
    add(&peer, "192.168.5.63", 26, 1, 100);   /* my subnet, slow */
    add(&peer, "192.168.5.64", 26, 1, 10000); /* the next subnet */
    add(&peer, "10.1.200.1", 16, 1, 1000);    /* my subnet, fast */
    check_order(&mine, &peer, 5, (const size_t[]){4, 2, 1, 3, 0});
}
END_TEST

START_TEST(families_do_not_mix)
{
    struct tcp_card mine = {.netstack = 1}, peer = {.netstack = 2};

    add(&mine, "10.0.0.1", 24, 1, 0);
    add(&peer, "fd00::2", 64, 1, 0);
    check_order(&mine, &peer, 0, NULL);
    add(&peer, "10.0.0.2", 24, 1, 0);
    check_order(&mine, &peer, 1, (const size_t[]){1});
    add(&mine, "fd00::1", 64, 1, 0);
    check_order(&mine, &peer, 2, (const size_t[]){0, 1});
}
END_TEST

START_TEST(loopback_stays_in_its_network_stack)
{
    struct tcp_card mine = {.netstack = 1}, peer = {.netstack = 1};

    add(&mine, "127.0.0.1", 8, 1, 0);
    add(&peer, "127.0.0.1", 8, 2, 0);
    add(&mine, "::1", 128, 1, 0);
    add(&peer, "::1", 128, 2, 0);
    check_order(&mine, &peer, 2, (const size_t[]){0, 1});
    peer.netstack = 2;
    check_order(&mine, &peer, 0, NULL);
}
END_TEST

START_TEST(an_address_of_mine_is_not_another_hosts)
{
    struct tcp_card mine = {.netstack = 1}, peer = {.netstack = 2};

    add(&mine, "172.17.0.1", 16, 1, 0);
    add(&mine, "10.0.0.1", 24, 1, 0);
    add(&peer, "172.17.0.1", 16, 2, 0); /* the bridge that every host has */
    add(&peer, "10.0.0.2", 24, 2, 0);
    check_order(&mine, &peer, 1, (const size_t[]){1});
    peer.netstack = 1; /* a simulated node */
    check_order(&mine, &peer, 2, (const size_t[]){0, 1});
}
END_TEST

static void check_more(const struct tcp_card *mine, const struct tcp_card *peer, size_t first,
                       size_t wanted, size_t count, const size_t *expected)
{
    size_t more[TCP_LANES];

    ck_assert_uint_eq(tcp_pair_more(more, mine, peer, first, wanted), count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(more[i], expected[i]);
    }
}

START_TEST(more_links_take_other_interfaces)
{
    struct tcp_card mine = {.netstack = 1}, peer = {.netstack = 2}, here = {.netstack = 1};

    add(&mine, "10.1.0.1", 24, 1, 1000);
    add(&mine, "10.2.0.1", 24, 1, 1000);
    add(&mine, "fd00::1", 64, 1, 1000); /* of the first interface, too */
    add(&mine, "10.3.0.1", 24, 1, 1000);
    mine.addresses[0].interface = mine.addresses[2].interface = 2;
    mine.addresses[1].interface = 3;
    mine.addresses[3].interface = 4;
    add(&peer, "10.1.0.2", 24, 1, 1000);
    add(&peer, "10.2.0.2", 24, 1, 1000);
    add(&peer, "fd00::2", 64, 1, 1000);
    add(&peer, "10.9.0.2", 24, 1, 1000); /* in no subnet of mine */
    check_more(&mine, &peer, 0, 0, 1, (const size_t[]){1});
    check_more(&mine, &peer, 1, 0, 1, (const size_t[]){0});
    check_more(&mine, &peer, 2, 0, 1, (const size_t[]){1});
    check_more(&mine, &peer, 0, 1, 0, NULL);
    check_more(&mine, &peer, 0, 4, 3, (const size_t[]){1, 0, 1});
    check_more(&mine, &peer, 0, 100, TCP_LANES, (const size_t[]){1, 0, 1, 0, 1, 0, 1});
    /* within one network stack the wire is memory, and one link is as good */
    add(&here, "10.1.0.1", 24, 2, 1000);
    add(&here, "10.2.0.1", 24, 2, 1000);
    check_more(&mine, &here, 0, 0, 0, NULL);
    check_more(&mine, &here, 0, 3, 2, (const size_t[]){1, 0});
}
END_TEST

START_TEST(netstack_is_stable)
{
    ck_assert_int_eq(crypto_open(), ORTE_SUCCESS);
    ck_assert_uint_eq(tcp_netstack(), tcp_netstack());
}
END_TEST

UNIT_MAIN("tcp-card", card_has_these_bytes, hostile_cards_are_refused, port_zero_is_refused,
          same_subnet_comes_first, families_do_not_mix, loopback_stays_in_its_network_stack,
          an_address_of_mine_is_not_another_hosts, more_links_take_other_interfaces,
          netstack_is_stable)
