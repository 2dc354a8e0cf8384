/* Network cards: bytes, the order of addresses, and pairs. */
#include <base/data/crypto.h>
#include <stdlib.h>
#include <tests/lib/unit.h>
#include <tests/unit/btl/peers/netcard.h>

static const uint8_t golden[] = {
    2, 0, 0, 0, 0, 0, 0,    0, 0xef, 0xbe, 0, 0, 0, 0, 0,   0,   4,    24, 0x39, 0x30, 0x10, 0x27,
    0, 0, 0, 0, 1, 0, 3,    0, 0,    0,    1, 0, 0, 0, 192, 168, 7,    9,  0,    0,    0,    0,
    0, 0, 0, 0, 0, 0, 0,    0, 6,    64,   1, 0, 0, 0, 0,   0,   0xdc, 5,  0,    0,    4,    0,
    0, 0, 0, 0, 0, 0, 0xfd, 0, 0,    0,    0, 0, 0, 0, 0,   0,   0,    0,  0,    0,    0,    1,
};
enum { FIRST = 16, SECOND = FIRST + 36 };

START_TEST(card_has_these_bytes)
{
    struct netcard card = {.netstack = 0xbeef}, back;
    uint8_t bytes[NETCARD_BYTES];

    struct netcard_address *address = netcard_with(&card, "192.168.7.9", 24, 10000, 3);
    address->port = 12345;
    address->mtu_bytes = 65536;
    address->far = true;
    netcard_with(&card, "fd00::1", 64, 0, 4)->mtu_bytes = 1500;
    ck_assert_uint_eq(netcard_encode(bytes, &card), sizeof(golden));
    ck_assert_mem_eq(bytes, golden, sizeof(golden));
    ck_assert_int_eq(netcard_decode(&back, golden, sizeof(golden)), OPAL_SUCCESS);
    ck_assert_uint_eq(back.count, 2);
    ck_assert_uint_eq(back.netstack, 0xbeef);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_mem_eq(&back.addresses[i], &card.addresses[i], sizeof(*card.addresses));
    }

    struct sock_addr addr;
    char text[80];
    netcard_sock(&addr, &back.addresses[0]);
    ck_assert_str_eq(sock_addr_print(&addr, text, sizeof(text)), "tcp://192.168.7.9:12345");
    netcard_sock(&addr, &back.addresses[1]);
    ck_assert_str_eq(sock_addr_print(&addr, text, sizeof(text)), "tcp6://[fd00::1]:1");
}
END_TEST

static void check_refused(size_t at, uint8_t value)
{
    uint8_t bytes[sizeof(golden)];
    struct netcard card;

    memcpy(bytes, golden, sizeof(golden));
    bytes[at] = value;
    ck_assert_int_eq(netcard_decode(&card, bytes, sizeof(bytes)), OPAL_ERR_UNPACK_FAILURE);
}

START_TEST(hostile_cards_are_refused)
{
    struct netcard card;
    uint8_t longer[sizeof(golden) + 1] = {0};

    for (size_t size = 0; size < sizeof(golden); size++) {
        uint8_t *exact = malloc(size + !size); /* so that a read beyond it shows */
        memcpy(exact, golden, size);
        ck_assert_int_eq(netcard_decode(&card, exact, size), OPAL_ERR_UNPACK_FAILURE);
        free(exact);
    }
    memcpy(longer, golden, sizeof(golden));
    ck_assert_int_eq(netcard_decode(&card, longer, sizeof(longer)), OPAL_ERR_UNPACK_FAILURE);
    check_refused(0, 1);
    check_refused(0, 3);
    check_refused(0, 255);
    check_refused(5, 1);
    check_refused(FIRST, 5);
    check_refused(FIRST + 1, 33);
    check_refused(FIRST + 16, 2);
    check_refused(FIRST + 19, 1);
    check_refused(FIRST + 24, 1); /* behind an IPv4 address */
    check_refused(SECOND + 1, 129);
}
END_TEST

START_TEST(interfaces_of_this_host)
{
    struct netif netif = {
        .name = "x", .prefix = 8, .loopback = true, .index = 7, .mtu_bytes = 9000, .numa_node = -1};
    struct netcard card = {0};

    ck_assert_int_eq(sock_addr_ip(&netif.addr, AF_INET, "127.0.0.1", 0), 0);
    for (size_t i = 0; i < NETCARD_ADDRESSES; i++) {
        ck_assert(netcard_add(&card, &netif, 5));
    }
    ck_assert(!netcard_add(&card, &netif, 5));
    ck_assert_uint_eq(card.addresses[3].interface, 7);
    ck_assert_uint_eq(card.addresses[3].mtu_bytes, 9000);
    ck_assert_uint_eq(card.addresses[3].port, 5);
    ck_assert(card.addresses[3].speed_mbps > 0 && !card.addresses[3].far);
    card.count = 0;
    ck_assert_int_eq(sock_addr_ip(&netif.addr, AF_INET6, "fe80::1", 0), 0);
    ck_assert(!netcard_add(&card, &netif, 5));
    ck_assert_uint_eq(card.count, 0);
}
END_TEST

/* ---- the order of addresses ---- */

static void check_order(const struct netcard *mine, const struct netcard *peer, size_t count,
                        const size_t *wanted)
{
    size_t order[NETCARD_ADDRESSES];

    ck_assert_uint_eq(netcard_order(order, mine, peer), count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(order[i], wanted[i]);
    }
}

START_TEST(same_subnet_comes_first)
{
    struct netcard mine = {.netstack = 1}, peer = {.netstack = 2};

    netcard_with(&mine, "10.1.2.3", 16, 1000, 1);
    netcard_with(&mine, "192.168.5.1", 26, 1000, 2);
    netcard_with(&peer, "8.8.8.8", 24, 100000, 1);           /* public, mine are not */
    netcard_with(&peer, "10.2.0.1", 16, 1000, 2);            /* private */
    netcard_with(&peer, "192.168.5.63", 26, 100, 3);         /* my subnet, slow */
    netcard_with(&peer, "192.168.5.64", 26, 10000, 4);       /* the next subnet */
    netcard_with(&peer, "10.1.200.1", 16, 1000, 5)->far = 1; /* my subnet, fast, far */
    netcard_with(&peer, "10.1.200.2", 16, 1000, 6);          /* my subnet, fast, near */
    check_order(&mine, &peer, 6, (const size_t[]){5, 4, 2, 1, 3, 0});
}
END_TEST

START_TEST(families_do_not_mix)
{
    struct netcard mine = {.netstack = 1}, peer = {.netstack = 2};

    netcard_with(&mine, "10.0.0.1", 24, 0, 1);
    netcard_with(&peer, "fd00::2", 64, 0, 1);
    check_order(&mine, &peer, 0, NULL);
    netcard_with(&peer, "10.0.0.2", 24, 0, 2);
    check_order(&mine, &peer, 1, (const size_t[]){1});
    netcard_with(&mine, "fd00::1", 64, 0, 2);
    check_order(&mine, &peer, 2, (const size_t[]){0, 1});
}
END_TEST

START_TEST(loopback_stays_in_its_network_stack)
{
    struct netcard mine = {.netstack = 1}, peer = {.netstack = 1};

    netcard_with(&mine, "127.0.0.1", 8, 0, 1);
    netcard_with(&peer, "127.0.0.1", 8, 0, 1);
    netcard_with(&mine, "::1", 128, 0, 1);
    netcard_with(&peer, "::1", 128, 0, 1);
    check_order(&mine, &peer, 2, (const size_t[]){0, 1});
    peer.netstack = 2;
    check_order(&mine, &peer, 0, NULL);
}
END_TEST

START_TEST(an_address_of_mine_is_not_another_hosts)
{
    struct netcard mine = {.netstack = 1}, peer = {.netstack = 2};

    netcard_with(&mine, "172.17.0.1", 16, 0, 1);
    netcard_with(&mine, "10.0.0.1", 24, 0, 2);
    netcard_with(&peer, "172.17.0.1", 16, 0, 1); /* the bridge that every host has */
    netcard_with(&peer, "10.0.0.2", 24, 0, 2);
    check_order(&mine, &peer, 1, (const size_t[]){1});
    peer.netstack = 1; /* a simulated node */
    check_order(&mine, &peer, 2, (const size_t[]){0, 1});
}
END_TEST

/* ---- pairs ---- */

/* Both sides find these pairs, whichever of them is the first. */
static void check_pairs(const struct netcard *mine, const struct netcard *peer,
                        enum netcard_way least, size_t count, const struct netcard_pair *wanted)
{
    struct netcard_pair here[NETCARD_ADDRESSES], there[NETCARD_ADDRESSES];

    for (int first = 0; first < 2; first++) {
        ck_assert_uint_eq(netcard_pair(here, mine, peer, least, first), count);
        ck_assert_uint_eq(netcard_pair(there, peer, mine, least, !first), count);
        for (size_t i = 0; i < count; i++) {
            size_t at = 0;
            ck_assert_uint_eq(here[i].mine, wanted[i].mine);
            ck_assert_uint_eq(here[i].peer, wanted[i].peer);
            while (at < count && there[at].peer != wanted[i].mine) {
                at++;
            }
            ck_assert(at < count && there[at].mine == wanted[i].peer);
        }
    }
}

/* A fast and a slow interface each: the fast ones go together. */
START_TEST(pairs_are_of_equal_speed)
{
    struct netcard mine = {.netstack = 1}, peer = {.netstack = 2};

    netcard_with(&mine, "10.1.0.1", 16, 1000, 1);
    netcard_with(&mine, "10.1.0.2", 16, 10000, 2);
    netcard_with(&peer, "10.1.0.3", 16, 10000, 1);
    netcard_with(&peer, "10.1.0.4", 16, 1000, 2);
    check_pairs(&mine, &peer, NETCARD_SAME_SUBNET, 2,
                (const struct netcard_pair[]){{0, 1}, {1, 0}});
    /* as fast, but one of each host's is near */
    for (size_t i = 0; i < 2; i++) {
        mine.addresses[i].speed_mbps = peer.addresses[i].speed_mbps = 1000;
    }
    netcard_with(&mine, "10.1.0.5", 16, 1000, 3);
    mine.addresses[0].far = mine.addresses[2].far = true;
    peer.addresses[0].far = true;
    peer.count = 1;
    check_pairs(&mine, &peer, NETCARD_SAME_SUBNET, 1, (const struct netcard_pair[]){{1, 0}});
}
END_TEST

START_TEST(subnets_decide_before_speed)
{
    struct netcard mine = {.netstack = 1}, peer = {.netstack = 2};

    netcard_with(&mine, "10.1.0.1", 24, 100, 1);
    netcard_with(&mine, "10.2.0.1", 24, 100000, 2);
    netcard_with(&mine, "10.3.0.1", 24, 100000, 3);
    netcard_with(&peer, "10.3.0.2", 24, 100000, 1);
    netcard_with(&peer, "10.1.0.2", 24, 100000, 2);
    netcard_with(&peer, "fd00::2", 64, 100000, 2);
    netcard_with(&peer, "10.7.0.2", 24, 100, 3);
    check_pairs(&mine, &peer, NETCARD_SAME_SUBNET, 2,
                (const struct netcard_pair[]){{0, 1}, {2, 0}});
    check_pairs(&mine, &peer, NETCARD_SAME_KIND, 3,
                (const struct netcard_pair[]){{0, 1}, {1, 3}, {2, 0}});
}
END_TEST

/* Each interface has both kinds of addresses, in another order on each side. */
START_TEST(an_interface_is_paired_once)
{
    struct netcard mine = {.netstack = 1}, peer = {.netstack = 2};

    netcard_with(&mine, "10.1.0.1", 24, 1000, 4);
    netcard_with(&mine, "10.2.0.1", 24, 1000, 5);
    netcard_with(&mine, "fd01::1", 64, 1000, 4);
    netcard_with(&mine, "fd02::1", 64, 1000, 5);
    netcard_with(&peer, "10.1.0.2", 24, 1000, 9);
    netcard_with(&peer, "fd01::2", 64, 1000, 9);
    netcard_with(&peer, "10.2.0.2", 24, 1000, 8);
    netcard_with(&peer, "fd02::2", 64, 1000, 8);
    check_pairs(&mine, &peer, NETCARD_SAME_SUBNET, 2,
                (const struct netcard_pair[]){{0, 0}, {1, 2}});
}
END_TEST

START_TEST(what_both_have_leads_nowhere)
{
    struct netcard mine = {.netstack = 1}, peer = {.netstack = 2};

    netcard_with(&mine, "172.17.0.1", 16, 0, 1);
    netcard_with(&mine, "127.0.0.1", 8, 0, 2);
    netcard_with(&peer, "172.17.0.1", 16, 0, 1);
    netcard_with(&peer, "172.17.0.2", 16, 0, 2);
    netcard_with(&peer, "127.0.0.1", 8, 0, 3);
    check_pairs(&mine, &peer, NETCARD_OTHER_KIND, 0, NULL);
}
END_TEST

START_TEST(netstack_is_stable)
{
    ck_assert_int_eq(crypto_open(), ORTE_SUCCESS);
    ck_assert_uint_eq(netcard_netstack(), netcard_netstack());
}
END_TEST

UNIT_MAIN("netcard")
