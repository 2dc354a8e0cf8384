#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <tests/lib/sim/wire.h>

static void *need(void *memory)
{
    if (!memory) {
        abort();
    }
    return memory;
}

void sim_wire_init(struct sim_wire *wire, struct sim_queue *queue, int packet_event, int count,
                   uint64_t seed)
{
    struct sim_random seeds = {.state = seed};
    *wire = (struct sim_wire){
        .queue = queue,
        .packet_event = packet_event,
        .count = count,
        .ports = need(calloc((size_t) count, sizeof(*wire->ports))),
        .ways = need(calloc((size_t) count * (size_t) count, sizeof(*wire->ways))),
    };
    for (int to = 0; to < count; to++) {
        list_init(&wire->ports[to].buffer);
        wire->ports[to].buffer_bytes = SIZE_MAX;
        for (int from = 0; from < count; from++) {
            impair_init(sim_wire_way(wire, from, to), &wire->ports[to].line, sim_random(&seeds));
        }
    }
}

void sim_wire_fini(struct sim_wire *wire)
{
    for (int port = 0; port < wire->count; port++) {
        for (struct sim_packet *packet; (packet = sim_wire_take(wire, port));) {
            free(packet);
        }
    }
    free(wire->ports);
    free(wire->ways);
}

void sim_wire_send(struct sim_wire *wire, int from, int to, const void *data, size_t size)
{
    struct impair_copy copies[IMPAIR_COPIES];
    int count = impair_packet(sim_wire_way(wire, from, to), wire->queue->now, size, copies);
    for (int i = 0; i < count; i++) {
        const struct impair_copy *copy = &copies[i];
        struct sim_packet *packet = need(malloc(sizeof(*packet) + copy->size));
        *packet = (struct sim_packet){.from = from, .to = to, .size = copy->size};
        memcpy(packet->data, data, copy->size);
        if (copy->wrong_bit != IMPAIR_SOUND) {
            packet->data[copy->wrong_bit / 8] ^= (uint8_t) (1u << copy->wrong_bit % 8);
        }
        sim_at(wire->queue, copy->at_ns, wire->packet_event, to, packet);
    }
}

void sim_wire_arrived(struct sim_wire *wire, struct sim_packet *packet)
{
    struct sim_port *port = &wire->ports[packet->to];
    size_t charge = packet->size + wire->packet_overhead;
    if (charge > port->buffer_bytes - port->buffered) {
        port->overflows++;
        free(packet);
        return;
    }
    port->buffered += charge;
    list_append(&port->buffer, &packet->link);
}

struct sim_packet *sim_wire_take(struct sim_wire *wire, int number)
{
    struct sim_port *port = &wire->ports[number];
    struct list *link = list_pop(&port->buffer);
    if (!link) {
        return NULL;
    }
    struct sim_packet *packet = container_of(link, struct sim_packet, link);
    port->buffered -= packet->size + wire->packet_overhead;
    return packet;
}
