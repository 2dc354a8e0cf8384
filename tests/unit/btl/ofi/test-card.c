/* The ofi card, and which addresses are let through to the provider. */
#include <btl/ofi/wire/card.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static const uint8_t golden[OFI_CARD_HEADER + 4] = {
    1, 0, 4,   0,   0x78, 0x56, 0x34, 0x12, 0,   0,   1,   0,   0,   0,
    0, 0, 't', 'c', 'p',  ';',  'o',  'f',  'i', '_', 'r', 'x', 'm', [OFI_CARD_HEADER] = 9,
    8, 7, 6,
};

START_TEST(card_has_these_bytes)
{
    struct ofi_card card = {
        .provider = "tcp;ofi_rxm",
        .max_message = 65536,
        .address = {.format = 0x12345678, .size = 4, .bytes = {9, 8, 7, 6}},
    };
    struct ofi_card back;
    uint8_t bytes[OFI_CARD_BYTES];

    ck_assert_uint_eq(ofi_card_encode(bytes, &card), sizeof(golden));
    ck_assert_mem_eq(bytes, golden, sizeof(golden));
    ck_assert_int_eq(ofi_card_decode(&back, golden, sizeof(golden)), OPAL_SUCCESS);
    ck_assert_mem_eq(&back, &card, sizeof(card));
}
END_TEST

static void check_refused(size_t at, uint8_t value, int status)
{
    uint8_t bytes[sizeof(golden)];
    struct ofi_card card;

    memcpy(bytes, golden, sizeof(golden));
    bytes[at] = value;
    ck_assert_int_eq(ofi_card_decode(&card, bytes, sizeof(bytes)), status);
}

START_TEST(hostile_cards_are_refused)
{
    struct ofi_card card;

    for (size_t size = 0; size < sizeof(golden); size++) {
        uint8_t *bytes = malloc(size + 1);
        memcpy(bytes, golden, size);
        ck_assert_int_ne(ofi_card_decode(&card, bytes, size), OPAL_SUCCESS);
        free(bytes);
    }
    check_refused(0, 2, OPAL_ERR_NOT_SUPPORTED);
    check_refused(1, 1, OPAL_ERR_UNPACK_FAILURE);
    check_refused(2, 0, OPAL_ERR_UNPACK_FAILURE);                     /* no address */
    check_refused(2, 3, OPAL_ERR_UNPACK_FAILURE);                     /* bytes behind it */
    check_refused(2, 5, OPAL_ERR_UNPACK_FAILURE);                     /* longer than the card */
    check_refused(3, 1, OPAL_ERR_UNPACK_FAILURE);                     /* 260 bytes */
    check_refused(12, 1, OPAL_ERR_UNPACK_FAILURE);                    /* must be zero */
    check_refused(16, 0, OPAL_ERR_UNPACK_FAILURE);                    /* no provider */
    check_refused(OFI_CARD_HEADER - 1, 'x', OPAL_ERR_UNPACK_FAILURE); /* without end */
}
END_TEST

START_TEST(noise_makes_sense_or_is_refused)
{
    srand(7);
    for (int round = 0; round < 20000; round++) {
        uint8_t bytes[sizeof(golden)];
        struct ofi_card card;
        memcpy(bytes, golden, sizeof(golden));
        for (int i = 0; i < 3; i++) {
            bytes[(size_t) rand() % sizeof(bytes)] = (uint8_t) rand();
        }
        if (ofi_card_decode(&card, bytes, sizeof(bytes)) == OPAL_SUCCESS) {
            ck_assert_uint_le(card.address.size, FABRIC_ADDRESS_MAX);
            ck_assert_uint_lt(strlen(card.provider), OFI_PROVIDER_BYTES);
        }
    }
}
END_TEST

static struct fabric_address socket_address(uint32_t format, uint16_t family, uint16_t port,
                                            size_t size)
{
    struct fabric_address address = {.format = format, .size = size};
    struct sockaddr_in in = {.sin_family = family, .sin_port = htons(port)};

    memcpy(address.bytes, &in, sizeof(in));
    return address;
}

START_TEST(socket_addresses_are_of_my_kind)
{
    const size_t size = sizeof(struct sockaddr_in);
    struct fabric_address mine = socket_address(FI_SOCKADDR_IN, AF_INET, 5000, size);
    struct fabric_address peer = socket_address(FI_SOCKADDR_IN, AF_INET, 6000, size);

    ck_assert(ofi_address_check(&peer, &mine));
    peer = socket_address(FI_SOCKADDR_IN, AF_INET, 0, size);
    ck_assert(!ofi_address_check(&peer, &mine));
    peer = socket_address(FI_SOCKADDR_IN, AF_INET6, 6000, size);
    ck_assert(!ofi_address_check(&peer, &mine));
    peer = socket_address(FI_SOCKADDR_IN, AF_INET, 6000, size - 1);
    ck_assert(!ofi_address_check(&peer, &mine));
    peer = socket_address(FI_SOCKADDR_IN6, AF_INET, 6000, size);
    ck_assert(!ofi_address_check(&peer, &mine));
    peer = socket_address(FI_SOCKADDR_IN, AF_UNIX, 6000, size);
    mine = peer;
    ck_assert(!ofi_address_check(&peer, &mine));
}
END_TEST

static struct fabric_address text_address(const char *text, size_t size)
{
    struct fabric_address address = {.format = FI_ADDR_STR, .size = size};

    memcpy(address.bytes, text, strlen(text));
    return address;
}

START_TEST(text_addresses_are_clean)
{
    struct fabric_address mine = text_address("fi_shm://123", 13), peer;

    peer = text_address("fi_shm://9", 11);
    ck_assert(ofi_address_check(&peer, &mine));
    static const char *const bad[] = {"fi_shm://", "fi_ns://9", "fi_shm://../x", "fi_shm://a b",
                                      "fi_shm",    "",          "fi_shm://\x01"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        peer = text_address(bad[i], strlen(bad[i]) + 1);
        ck_assert_msg(!ofi_address_check(&peer, &mine), "%s", bad[i]);
    }
    peer = text_address("fi_shm://9", 10); /* without its zero */
    ck_assert(!ofi_address_check(&peer, &mine));
    peer = text_address("fi_shm://9", 12); /* with one too many */
    ck_assert(!ofi_address_check(&peer, &mine));
    peer.size = FABRIC_ADDRESS_MAX + 1;
    ck_assert(!ofi_address_check(&peer, &mine));
}
END_TEST

START_TEST(other_addresses_are_of_my_size)
{
    struct fabric_address mine = {.format = FI_ADDR_PSMX2, .size = 16}, peer = mine;

    ck_assert(ofi_address_check(&peer, &mine));
    peer.size = 15;
    ck_assert(!ofi_address_check(&peer, &mine));
    peer.size = 0;
    ck_assert(!ofi_address_check(&peer, &mine));
}
END_TEST

UNIT_MAIN("ofi-card")
