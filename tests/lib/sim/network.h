/* A lossy network: processes on a ring, so that there are two ways between any two. Each link is
 * first in, first out while it is up; when it breaks, what was on it is lost. Relays hold what the
 * next link's credit (rml/credit.h) does not let through. */
#ifndef TESTS_LIB_SIM_NETWORK_H
#define TESTS_LIB_SIM_NETWORK_H

#include <base/list.h>
#include <rml/credit.h>
#include <rml/sender.h>
#include <tests/lib/sim/queue.h>

enum { SIM_NODES_MAX = 5, SIM_HOPS_MAX = 12 };

struct sim_frame {
    struct list link; /* waiting for credit, or free */
    struct rml_stamp stamp;
    uint8_t origin, dest, hops;
    uint8_t carrier;     /* the class that it travels in */
    int16_t way;         /* that it is on, or waits for; -1: none */
    uint32_t generation; /* of that way */
    int16_t came_way;    /* by which it came to the relay that holds it; -1: it began here */
    uint32_t came_generation;
    bool lost;
    struct rml_out *out; /* its first process's, until it has left that process */
    void *cargo;
};

/* One direction of a link: from node way / 2 to its neighbour, clockwise when way is even. */
struct sim_way {
    bool up;
    uint32_t generation; /* grows with each break */
    uint64_t free_at;    /* when the last frame on it arrives */
    uint64_t told_at;    /* when the last word about its credit arrives at its beginning */
    uint32_t in_flight;
    struct rml_credit credit[OOB_CLASSES];
    struct rml_grant grant[OOB_CLASSES];
    struct list waiting[OOB_CLASSES];
};

struct sim_network {
    int nodes;
    struct sim_queue *queue;
    struct sim_random *random;
    struct sim_way ways[2 * SIM_NODES_MAX];
    bool believes[SIM_NODES_MAX][SIM_NODES_MAX]; /* a node, of the link clockwise of a node: up */
    struct list spare;                           /* frames */
    int frame_event, credit_event;               /* kinds of events that the owner hands back */
    /* A frame has left its first process, or is lost. */
    void (*left)(void *arg, int node, struct rml_out *out);
    void *arg;
    const char *broken; /* an invariant that did not hold */
    uint32_t drop_next; /* so many frames to go until one is dropped; 0: none will */
};

void sim_network_begin(struct sim_network *network, int nodes);
void sim_network_fini(struct sim_network *network);
struct sim_frame *sim_frame_new(struct sim_network *network);
/* Sends a frame on from a node, by what it believes of the links; takes the frame over. */
void sim_route(struct sim_network *network, int node, struct sim_frame *frame);
/* frame_event came: the node at which the frame has arrived, or -1: it was lost. */
int sim_arrived(struct sim_network *network, struct sim_frame *frame);
/* The frame's destination is done with it. */
void sim_frame_end(struct sim_network *network, struct sim_frame *frame);
/* credit_event came. */
void sim_credit(struct sim_network *network, int way, void *what);
/* Breaks or makes the link clockwise of a node. */
void sim_set_link(struct sim_network *network, int node, bool up);

static inline int sim_way_to(const struct sim_network *network, int way)
{
    int step = way % 2 == 0 ? 1 : network->nodes - 1;
    return (way / 2 + step) % network->nodes;
}

#endif
