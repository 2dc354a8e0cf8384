/* The simulated wire: its ports, buffers and shared lines. test-impair.c has the impairments. */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <tests/lib/sim/wire.h>
#include <tests/lib/unit.h>

enum { PACKET_EVENT = 1 };

static struct sim_queue queue;
static struct sim_wire wire;

static void begin(int ports, uint64_t seed)
{
    sim_queue_reset(&queue);
    sim_wire_init(&wire, &queue, PACKET_EVENT, ports, seed);
}

static void carry_all(void)
{
    struct sim_event event;
    while (sim_next(&queue, &event)) {
        ck_assert_int_eq(event.kind, PACKET_EVENT);
        sim_wire_arrived(&wire, event.what);
    }
}

static void end(void)
{
    carry_all();
    sim_wire_fini(&wire);
    sim_queue_fini(&queue);
}

START_TEST(test_packets_arrive_as_they_were_sent)
{
    begin(3, 1);
    sim_wire_way(&wire, 0, 2)->settings.delay_ns = 500;
    sim_wire_send(&wire, 0, 2, "late", 5);
    sim_wire_send(&wire, 1, 2, "early", 6);
    carry_all();
    ck_assert_uint_eq(queue.now, 500);
    struct sim_packet *packet = sim_wire_take(&wire, 2);
    ck_assert_int_eq(packet->from, 1);
    ck_assert_str_eq((char *) packet->data, "early");
    free(packet);
    packet = sim_wire_take(&wire, 2);
    ck_assert_int_eq(packet->from, 0);
    ck_assert_uint_eq(packet->size, 5);
    ck_assert_str_eq((char *) packet->data, "late");
    free(packet);
    ck_assert_ptr_null(sim_wire_take(&wire, 2));
    ck_assert_ptr_null(sim_wire_take(&wire, 0));
    end();
}
END_TEST

START_TEST(test_a_wrong_bit_is_one_bit)
{
    const uint8_t zeros[100] = {0};
    begin(2, 1);
    sim_wire_way(&wire, 0, 1)->settings.corrupt = 1;
    sim_wire_send(&wire, 0, 1, zeros, sizeof(zeros));
    carry_all();
    struct sim_packet *packet = sim_wire_take(&wire, 1);
    int bits = 0;
    for (size_t i = 0; i < sizeof(zeros); i++) {
        bits += __builtin_popcount(packet->data[i]);
    }
    ck_assert_int_eq(bits, 1);
    free(packet);
    end();
}
END_TEST

/* Three senders share what leads to the fourth port. */
START_TEST(test_a_line_is_shared)
{
    const uint8_t data[1000] = {0};
    begin(4, 1);
    for (int from = 0; from < 3; from++) {
        sim_wire_way(&wire, from, 3)->settings.rate = 1000000000;
    }
    for (int i = 0; i < 30; i++) {
        sim_wire_send(&wire, i % 3, 3, data, sizeof(data));
    }
    carry_all();
    ck_assert_uint_eq(queue.now, 30000);
    end();
}
END_TEST

/* As the kernel does: a buffer holds so many bytes, and each packet costs more than its own. */
START_TEST(test_a_buffer_that_nobody_reads_overflows)
{
    const uint8_t data[1472] = {0};
    begin(2, 1);
    wire.packet_overhead = 832;
    wire.ports[1].buffer_bytes = 212992;
    for (int i = 0; i < 200; i++) {
        sim_wire_send(&wire, 0, 1, data, sizeof(data));
    }
    carry_all();
    ck_assert_uint_eq(wire.ports[1].overflows, 200 - 92);
    free(sim_wire_take(&wire, 1));
    sim_wire_send(&wire, 0, 1, data, sizeof(data));
    sim_wire_send(&wire, 0, 1, data, sizeof(data));
    carry_all();
    ck_assert_uint_eq(wire.ports[1].overflows, 200 - 92 + 1);
    end();
}
END_TEST

/* What arrives of many packets, in which order, as one number. */
static uint64_t history(uint64_t seed)
{
    uint64_t sum = 0;
    begin(2, seed);
    struct impair_settings *settings = &sim_wire_way(&wire, 0, 1)->settings;
    *settings = (struct impair_settings){
        .loss = 0.1, .duplicate = 0.1, .reorder = 0.1, .reorder_ns = 5000, .corrupt = 0.1};
    for (uint32_t i = 0; i < 1000; i++) {
        sim_wire_send(&wire, 0, 1, &i, sizeof(i));
    }
    carry_all();
    for (struct sim_packet *packet; (packet = sim_wire_take(&wire, 1)); free(packet)) {
        uint32_t value;
        memcpy(&value, packet->data, sizeof(value));
        sum = (sum ^ value) * UINT64_C(0x100000001b3);
    }
    end();
    return sum;
}

START_TEST(test_a_seed_decides)
{
    uint64_t first = history(3);
    ck_assert_uint_eq(history(3), first);
    ck_assert_uint_ne(history(4), first);
}
END_TEST

UNIT_MAIN("sim/wire")
