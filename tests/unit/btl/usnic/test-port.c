/* A device as libfabric has it, on the loopback interface: packets go and come, both sockets, kept
 * buffers, a restart. */
#include <base/data/clock.h>
#include <btl/usnic/port/port.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <tests/lib/unit.h>

enum { RECEIVES = 32, SENDS = 8, LIMIT_US = 10000000 };

struct end {
    struct usnic_port port;
    struct usnic_way way; /* to the other */
    uint8_t *memory;
    struct fabric_rx *kept[RECEIVES];
    size_t keeps, kept_count, count, last_size;
    uint8_t last[USNIC_PACKET_MOST];
};

static bool received(void *arg, struct fabric_rx *rx, uint8_t *bytes, size_t size)
{
    struct end *end = arg;

    end->count++;
    end->last_size = size;
    memcpy(end->last, bytes, size);
    if (end->kept_count < end->keeps) {
        end->kept[end->kept_count++] = rx;
        return true;
    }
    return false;
}

static void sent(void *arg, void *owner)
{
    (void) arg, (void) owner;
}

static const struct usnic_port_user user = {.received = received, .sent = sent};

static struct usnic_port_config config_of(size_t sockets)
{
    return (struct usnic_port_config){.provider = "udp",
                                      .domain = "lo",
                                      .address = "127.0.0.1",
                                      .sockets = sockets,
                                      .receives = RECEIVES,
                                      .element_bytes = sizeof(struct fabric_rx),
                                      .sends = SENDS};
}

static void end_open(struct end *end, size_t sockets)
{
    struct usnic_port_config config = config_of(sockets);
    char reason[300] = "";

    memset(end, 0, sizeof(*end));
    if (usnic_port_open(&end->port, &config, &user, end, reason, sizeof(reason)) != ORTE_SUCCESS) {
        ck_abort_msg("%s", reason);
    }
    end->memory = usnic_port_carve(&end->port, SENDS) + end->port.prefix;
}

static void locate(struct end *from, const struct end *to)
{
    struct usnic_place place = {.family = AF_INET,
                                .bytes = {127, 0, 0, 1},
                                .port = usnic_port_number(&to->port, USNIC_SOCKET_DATA),
                                .priority_port =
                                    usnic_port_number(&to->port, USNIC_SOCKET_PRIORITY),
                                .packet_bytes = USNIC_PACKET_LEAST};

    ck_assert_int_eq(usnic_port_locate(&from->port, &from->way, &place), OPAL_SUCCESS);
}

static void until(struct end *end, size_t count)
{
    uint64_t give_up_us = clock_us() + LIMIT_US;

    while (end->count < count && clock_us() < give_up_us) {
        usnic_port_poll(&end->port, 16);
    }
    ck_assert_uint_eq(end->count, count);
}

static void say(struct end *end, enum usnic_socket socket, uint8_t what, size_t size)
{
    memset(end->memory, what, size);
    ck_assert_int_ge(usnic_port_transmit(&end->port, &end->way, socket, end->memory, size, end), 0);
}

START_TEST(packets_of_all_sizes_pass)
{
    static struct end a, b;

    end_open(&a, 1);
    end_open(&b, 1);
    locate(&a, &b);
    ck_assert_uint_ge(a.port.packet_bytes, USNIC_PACKET_LEAST);
    for (size_t size = 1; size <= a.port.packet_bytes; size += 97) {
        say(&a, USNIC_SOCKET_PRIORITY, (uint8_t) size, size);
        until(&b, b.count + 1);
        ck_assert_uint_eq(b.last_size, size);
        ck_assert_uint_eq(b.last[size - 1], (uint8_t) size);
    }
    say(&a, USNIC_SOCKET_DATA, 7, a.port.packet_bytes);
    until(&b, b.count + 1);
    ck_assert_uint_eq(b.last_size, a.port.packet_bytes);
    usnic_port_close(&a.port);
    usnic_port_close(&b.port);
}
END_TEST

START_TEST(sockets_differ)
{
    static struct end a, b;

    end_open(&a, 2);
    end_open(&b, 2);
    locate(&a, &b);
    ck_assert_uint_ne(usnic_port_number(&b.port, USNIC_SOCKET_DATA),
                      usnic_port_number(&b.port, USNIC_SOCKET_PRIORITY));
    say(&a, USNIC_SOCKET_DATA, 1, 100);
    until(&b, 1);
    say(&a, USNIC_SOCKET_PRIORITY, 2, 50);
    until(&b, 2);
    ck_assert_uint_eq(b.last[0], 2);
    /* Of a peer with one socket, both channels lead there. */
    static struct end c;
    end_open(&c, 1);
    ck_assert_uint_eq(usnic_port_number(&c.port, USNIC_SOCKET_PRIORITY), 0);
    locate(&a, &c);
    say(&a, USNIC_SOCKET_PRIORITY, 3, 50);
    until(&c, 1);
    usnic_port_close(&a.port);
    usnic_port_close(&b.port);
    usnic_port_close(&c.port);
}
END_TEST

START_TEST(kept_buffers_are_not_written_to)
{
    static struct end a, b;

    end_open(&a, 1);
    end_open(&b, 1);
    locate(&a, &b);
    b.keeps = RECEIVES / 2;
    for (size_t round = 1; round <= 4 * RECEIVES; round++) {
        say(&a, USNIC_SOCKET_DATA, (uint8_t) round, 64);
        until(&b, round);
    }
    for (size_t i = 0; i < b.kept_count; i++) {
        ck_assert_uint_eq(b.kept[i]->bytes[b.port.prefix], i + 1);
        usnic_port_release(&b.port, b.kept[i]);
    }
    ck_assert_uint_eq(b.port.counts.packets_in, 4 * RECEIVES);
    usnic_port_close(&a.port);
    usnic_port_close(&b.port);
}
END_TEST

START_TEST(a_restart_has_other_sockets)
{
    static struct end a, b;
    char reason[300] = "";

    end_open(&a, 2);
    end_open(&b, 2);
    locate(&a, &b);
    struct usnic_port_config config = config_of(2);
    usnic_port_stop(&b.port);
    ck_assert(usnic_port_is_shut(&b.port));
    ck_assert_int_eq(usnic_port_reopen(&b.port, &config, reason, sizeof(reason)), ORTE_SUCCESS);
    locate(&a, &b);
    say(&a, USNIC_SOCKET_DATA, 9, 200);
    until(&b, 1);
    usnic_port_forget(&a.port, &a.way);
    ck_assert_int_eq(usnic_port_transmit(&a.port, &a.way, USNIC_SOCKET_DATA, a.memory, 10, &a), 1);
    ck_assert_uint_eq(a.port.counts.refused, 1); /* nobody is there: lost */
    usnic_port_close(&a.port);
    usnic_port_close(&b.port);
}
END_TEST

START_TEST(what_there_is_not_is_told)
{
    struct usnic_port port;
    struct usnic_port_config config = config_of(1);
    char reason[300] = "";

    config.provider = "no such";
    ck_assert_int_eq(usnic_port_open(&port, &config, &user, NULL, reason, sizeof(reason)),
                     ORTE_ERR_NOT_AVAILABLE);
    ck_assert_ptr_nonnull(strstr(reason, "no such"));
    usnic_port_close(&port);
}
END_TEST

/* 0: as many receive buffers as the provider takes; 1: one more. */
UNIT_LOOP(too_many_receive_buffers_are_told_with_the_limit, 0, 2)
{
    struct usnic_port port;
    struct usnic_port_config config = config_of(1);
    char reason[300] = "", limit[64];

    config.receives = 1024 + (size_t) _i;
    snprintf(limit, sizeof(limit), "btl_usnic_rx_buffers is %zu, ", config.receives);
    ck_assert_int_eq(usnic_port_open(&port, &config, &user, NULL, reason, sizeof(reason)),
                     _i ? ORTE_ERR_OUT_OF_RESOURCE : ORTE_SUCCESS);
    ck_assert_msg(!_i || (strstr(reason, limit) && strstr(reason, "\"udp\" takes 1024")), "%s",
                  reason);
    usnic_port_close(&port);
}
END_TEST

START_TEST(the_room_of_a_socket_is_known)
{
    ck_assert_uint_ge(usnic_port_room(), 4096);
}
END_TEST

UNIT_MAIN("usnic-port")
