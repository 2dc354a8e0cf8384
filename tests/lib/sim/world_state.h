/* What the parts of the simulated world share. */
#ifndef TESTS_LIB_SIM_WORLD_STATE_H
#define TESTS_LIB_SIM_WORLD_STATE_H

#include <tests/lib/sim/world.h>

enum {
    NODES_MAX = 5,
    MESSAGES_MAX = 100,
    FRAMES_MAX = 4, /* of a message */
    WINDOW = RML_WINDOW_MIN,
};

enum occasion {
    EVENT_FRAME = 1,
    EVENT_CREDIT,
    EVENT_TIMER,
    EVENT_SEND,
    EVENT_CONSUME,
    EVENT_FAULT,
    EVENT_LINK_UP,
    EVENT_BELIEVE,
    EVENT_START,
    EVENT_RESUME,
};

enum mishap { FAULT_LINK, FAULT_PARTITION, FAULT_RESTART, FAULT_DROP, FAULT_STOP, FAULT_GIVE_UP };

struct message;

struct part {
    struct rml_out out;
    struct message *message;
    uint32_t rest;
    uint32_t sends;
};

struct message {
    uint8_t from, to, class;
    uint32_t from_life;
    int32_t to_life; /* the incarnation it was first sent to; -1: none yet */
    uint32_t number; /* in its stream of messages */
    uint32_t bytes;
    int parts, parts_open;
    struct part part[FRAMES_MAX];
    int delivered, completed;
    bool failed, may_fail;
};

struct node {
    uint32_t life; /* its incarnation */
    bool running, stopped, dirty;
    uint64_t timer_at; /* of the event that will come; UINT64_MAX: none */
    struct rml_session session[NODES_MAX];
    uint32_t sent[NODES_MAX][OOB_CLASSES];             /* messages, by number */
    int64_t last[NODES_MAX][OOB_CLASSES];              /* number that arrived last */
    struct message *under_way[NODES_MAX][OOB_CLASSES]; /* assembled from these parts */
    int next_part[NODES_MAX][OOB_CLASSES];
    struct sim_frame *kept[64]; /* came while it was stopped */
    int kept_count;
};

struct sim_world {
    struct sim_queue queue;
    struct sim_random random;
    struct sim_network network;
    bool believes[NODES_MAX][NODES_MAX]; /* a node, of the link clockwise of a node: up */
    struct node node[NODES_MAX];
    struct message message[MESSAGES_MAX];
    uint32_t message_count, held_max, slowness_us;
    enum sim_without without;
    struct sim_report *report;
};

void world_violated(struct sim_world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline uint64_t world_now(const struct sim_world *world)
{
    return world->queue.now;
}

/* Unlike for each node and each of its lives. */
static inline uint64_t epoch_of(int node, uint32_t life)
{
    return ((uint64_t) (node + 1) << 32) | (life + 1);
}

static inline uint32_t life_of(uint64_t epoch)
{
    return (uint32_t) epoch - 1;
}

/* --- world_messages.c: what processes send and receive --- */

void world_send(struct sim_world *world);
/* sim_network's left. */
void world_left(void *arg, int node, struct rml_out *out);
void world_frame(struct sim_world *world, struct sim_frame *frame);
/* At its destination: not for those on their way. */
void world_receive(struct sim_world *world, int at, struct sim_frame *frame);
void world_consume(struct sim_world *world, int at, const struct message *message);
/* Completes the messages whose last parts these are. */
void world_end_parts(struct sim_world *world, struct list *parts, bool failed);
void world_forget_assembly(struct node *node, int from);
/* After each event: whoever was touched sends, until nobody has anything. */
void world_settle(struct sim_world *world);

/* --- world_faults.c: the ring, and what befalls links and processes --- */

/* sim_network's next: by what a node believes of the links. */
int world_next(void *arg, int node, int dest);
/* The link clockwise of a node; both ends know at once. */
void world_set_link(struct sim_world *world, int node, bool up);
void world_link_up(struct sim_world *world, int link);
/* A node hears how a link is; for its own it knows that frames may be lost. */
void world_believe(struct sim_world *world, int at, int link);
void world_begin_node(struct sim_world *world, int at);
void world_resume(struct sim_world *world, int at);
void world_drop_kept(struct sim_world *world, struct node *node);
void world_fault(struct sim_world *world, int kind);

#endif
