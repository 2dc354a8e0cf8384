/* A lossy network: links between processes, first in, first out while they are up; when one breaks,
 * what is on it is lost, also what is sent before an end has noticed. A link that is made again
 * begins with new credit. Relays hold what the next link's credit (rml/delivery/credit.h) does not
 * let through. The owner says which way frames go, and when links break, come and go. */
#ifndef TESTS_LIB_SIM_NETWORK_H
#define TESTS_LIB_SIM_NETWORK_H

#include <base/data/list.h>
#include <rml/delivery/credit.h>
#include <rml/delivery/sender.h>
#include <tests/lib/sim/queue.h>

enum { SIM_NODES_MAX = 12 };

struct sim_frame {
    struct list link; /* waiting for credit, or free */
    struct rml_stamp stamp;
    uint8_t origin, dest, hops;
    uint8_t carrier;     /* the class that it travels in */
    int16_t way;         /* that it is on, or waits for; -1: none */
    uint32_t generation; /* of that way; UINT32_MAX: it is lost */
    int16_t came_way;    /* by which it came to the relay that holds it; -1: it began here */
    uint32_t came_generation;
    bool lost;           /* by its relay */
    struct rml_out *out; /* its first process's, until it has left that process */
    void *cargo;
};

/* As the end at which a way begins sees it. */
enum sim_way_state {
    SIM_DOWN,    /* what would go by it is dropped */
    SIM_OPENING, /* what would go by it waits */
    SIM_UP,
};

/* One direction of a link. */
struct sim_way {
    enum sim_way_state state;
    bool cut;            /* the link is broken, whether or not this end has noticed */
    uint32_t generation; /* grows whenever what is on the way is lost */
    uint32_t number;     /* how often the link was made */
    uint64_t free_at;    /* when the last frame on it arrives */
    uint64_t told_at;    /* when the last word about its credit arrives at its beginning */
    struct rml_credit credit[OOB_CLASSES];
    struct rml_grant grant[OOB_CLASSES];
    struct list waiting[OOB_CLASSES];
};

struct sim_network {
    int nodes;
    uint32_t hops_max;
    uint32_t latency_us;      /* the longest; a frame may overtake none of its way */
    uint32_t slow_us, slow_1; /* one in slow_1 frames may take so long; 0: none */
    struct sim_queue *queue;
    struct sim_random *random;
    struct sim_way ways[SIM_NODES_MAX * SIM_NODES_MAX]; /* sim_way_number */
    struct list spare;                                  /* frames */
    int frame_event, credit_event; /* kinds of events that the owner hands back */
    /* The node to which a frame goes next; -1: it is dropped. */
    int (*next)(void *arg, int node, int dest);
    /* A frame has left its first process, or is lost. */
    void (*left)(void *arg, int node, struct rml_out *out);
    void *arg;
    const char *broken; /* an invariant that did not hold */
    uint32_t drop_next; /* so many frames to go until one is dropped; 0: none will */
};

/* All links are down. The settings are the owner's. */
void sim_network_begin(struct sim_network *network, int nodes);
void sim_network_fini(struct sim_network *network);
/* A frame of a session, in the class that production carries it in. */
struct sim_frame *sim_frame_new(struct sim_network *network, int origin, int dest,
                                const struct rml_stamp *stamp);
/* Sends a frame on from a node; takes it over. */
void sim_route(struct sim_network *network, int node, struct sim_frame *frame);
/* frame_event came: the node at which the frame has arrived, or -1: it was lost. */
int sim_arrived(struct sim_network *network, struct sim_frame *frame);
/* The frame's destination is done with it. */
void sim_frame_end(struct sim_network *network, struct sim_frame *frame);
/* credit_event came. */
void sim_credit(struct sim_network *network, int way, void *what);

/* Both ends have the link from now on; what waited for it goes. */
void sim_link_make(struct sim_network *network, int a, int b);
/* The link breaks; its ends have yet to notice. */
void sim_link_cut(struct sim_network *network, int a, int b);
/* An end notices; what waited there is lost. */
void sim_way_end(struct sim_network *network, int from, int to, enum sim_way_state state);

static inline int sim_way_number(int from, int to)
{
    return from * SIM_NODES_MAX + to;
}

static inline struct sim_way *sim_way(struct sim_network *network, int from, int to)
{
    return &network->ways[sim_way_number(from, to)];
}

#endif
