/* A wire for datagrams in virtual time, in nanoseconds: ports that send to each other, over ways
 * that each have impairments of their own (impair.h), through one bottleneck and into one bounded
 * socket buffer at each port. The owner runs the queue, and hands packet_event back:
 *
 *   sim_wire_send(&wire, 0, 1, data, size);
 *   while (sim_next(&queue, &event)) {
 *       if (event.kind == wire.packet_event)
 *           sim_wire_arrived(&wire, event.what);    // now port 1 may take it
 *   }
 *   struct sim_packet *packet = sim_wire_take(&wire, 1); ... free(packet); */
#ifndef TESTS_LIB_SIM_WIRE_H
#define TESTS_LIB_SIM_WIRE_H

#include <base/data/list.h>
#include <tests/lib/impair.h>

struct sim_packet {
    struct list link;
    int from, to;
    size_t size;
    uint8_t data[];
};

struct sim_port {
    struct impair_line line; /* what all packets to this port pass */
    struct list buffer;      /* packets that have arrived, oldest first */
    size_t buffered;         /* bytes that they are charged with */
    size_t buffer_bytes;     /* more are dropped; SIZE_MAX: no limit */
    uint64_t overflows;      /* packets that were */
};

struct sim_wire {
    struct sim_queue *queue; /* borrowed */
    int packet_event;
    int count;
    struct sim_port *ports; /* owned */
    struct impair *ways;    /* owned; count * count: sim_wire_way */
    size_t packet_overhead; /* bytes that each packet in a buffer is charged with beside its own */
};

/* No impairments, buffers without limit, until the owner sets them. Aborts without memory. */
void sim_wire_init(struct sim_wire *wire, struct sim_queue *queue, int packet_event, int count,
                   uint64_t seed);
/* Packets on their way are the queue's, and the owner's to free. */
void sim_wire_fini(struct sim_wire *wire);
void sim_wire_send(struct sim_wire *wire, int from, int to, const void *data, size_t size);
/* packet_event came: what it is about goes to its port's buffer, or is dropped there. */
void sim_wire_arrived(struct sim_wire *wire, struct sim_packet *packet);
/* The oldest in a port's buffer, the caller's to free; NULL: there is none. */
struct sim_packet *sim_wire_take(struct sim_wire *wire, int port);

static inline struct impair *sim_wire_way(const struct sim_wire *wire, int from, int to)
{
    return &wire->ways[from * wire->count + to];
}

#endif
