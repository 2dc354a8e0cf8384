/* What the parts of the simulated forest share. */
#ifndef TESTS_LIB_SIM_FOREST_STATE_H
#define TESTS_LIB_SIM_FOREST_STATE_H

#include <rml/broadcast/cast.h>
#include <rml/delivery/session.h>
#include <rml/tree/tree.h>
#include <tests/lib/sim/forest.h>
#include <tests/lib/sim/network.h>

enum {
    FOREST_CASTS_MAX = 32,
    FOREST_SENDS_MAX = 104,
    FOREST_MESSAGES_MAX = 4096, /* with what is said of broadcasts and of the repair */
};

enum forest_occasion {
    ON_FRAME,
    ON_CREDIT,
    ON_TIMER,
    ON_SEND,
    ON_CAST,
    ON_KILL,
    ON_BREAK,
    ON_NOTICE,  /* a daemon sees that a link of its broke */
    ON_AGAIN,   /* a broken link is made again */
    ON_GIVE_UP, /* a daemon takes a broken link for down */
    ON_CLOSED,  /* a daemon sees that a link was closed in order */
    ON_HOME,    /* a daemon without a parent reaches the root */
    ON_PARENT,  /* it reaches its new parent, or nobody */
    ON_LATE,    /* the root waited for one to find a parent for long enough */
};

enum forest_word { APP, UP, DOWN, JOIN, DONE, LOST, ORPHAN, REHOME, REHOMED };

/* A broadcast: an origin's n-th, or who is lost. */
struct forest_cast {
    int origin;
    uint32_t n;
    int lost; /* -1: nobody */
};

/* A message of a session. */
struct forest_message {
    struct rml_out out;
    enum forest_word word;
    uint8_t from, to, sends;
    uint8_t delivered, completed;
    bool failed;
    uint16_t lost_set;
    uint32_t n; /* of APP: in its order */
    uint64_t number, other;
    struct forest_cast cast;
};

enum forest_path { PATH_NONE, PATH_DIRECT, PATH_ROUTED };

struct forest_node {
    bool alive;
    bool homeless;
    bool late;      /* the root waits for it to find a parent */
    uint16_t dirty; /* sessions that may have something to send */
    struct rml_tree tree;
    struct rml_cast cast;
    struct rml_session session[SIM_NODES_MAX];
    uint64_t due[SIM_NODES_MAX], timer_at;
    uint8_t path[SIM_NODES_MAX];
    int8_t via[SIM_NODES_MAX]; /* the way that the session's frames took last; -1: none */
    uint32_t via_number[SIM_NODES_MAX];
    uint32_t cast_count, casts_got[SIM_NODES_MAX];
    uint32_t sent[SIM_NODES_MAX], got[SIM_NODES_MAX];
};

struct forest {
    struct sim_queue queue;
    struct sim_random random;
    struct sim_network network;
    int count;
    uint32_t largest; /* message */
    uint32_t dirty;   /* nodes */
    struct forest_node node[SIM_NODES_MAX];
    struct forest_cast order[FOREST_CASTS_MAX + SIM_NODES_MAX]; /* by number */
    uint32_t message_count;
    uint32_t kills; /* by chance, not by the repair */
    bool forsaken;  /* a link broke that does not come again */
    enum forest_without without;
    struct forest_report *report;
    struct forest_message message[FOREST_MESSAGES_MAX];
};

void forest_violated(struct forest *forest, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void forest_later(struct forest *forest, uint64_t wait_us, enum forest_occasion what, int who,
                  int other);

static inline uint32_t forest_below(struct forest *forest, uint32_t limit)
{
    return sim_below(&forest->random, limit);
}

static inline void forest_touch(struct forest *forest, int at, int peer)
{
    forest->node[at].dirty |= (uint16_t) (1u << peer);
    forest->dirty |= 1u << at;
}

static inline int forest_parent(const struct forest *forest, int at)
{
    return (int) rml_tree_parent(&forest->node[at].tree, (uint32_t) at);
}

/* --- forest_links.c: links, ways and sessions --- */

/* sim_network's next and left. */
int forest_next(void *arg, int at, int dest);
void forest_left(void *arg, int at, struct rml_out *out);
/* Makes a link, and tells both ends. */
void forest_link(struct forest *forest, int a, int b);
/* It breaks; the ends notice later. */
void forest_break(struct forest *forest, int a, int b);
/* One end closes it in order. */
void forest_close(struct forest *forest, int at, int other);
/* Somebody is lost: nothing goes to it any more, and what is pending fails. */
void forest_forget(struct forest *forest, int at, int lost);
/* NULL: there were too many, which is noted. */
struct forest_message *forest_say(struct forest *forest, int from, int to,
                                  const struct forest_message *what);
void forest_frame(struct forest *forest, struct sim_frame *frame);
/* Sends what may be sent now. */
void forest_pump(struct forest *forest);
void forest_tick(struct forest *forest, int at);
/* The link to other broke, or was given up or closed, as event says. */
void forest_link_event(struct forest *forest, enum forest_occasion event, int at, int other);

/* --- forest_daemons.c: broadcasts and the repair --- */

void forest_grow(struct forest *forest, int at, uint32_t radix);
void forest_fell(struct forest *forest, int at);
void forest_kill(struct forest *forest, int victim);
/* A link is down for good. */
void forest_link_is_down(struct forest *forest, int at, int other);
void forest_hear(struct forest *forest, int at, const struct forest_message *message);
void forest_broadcast(struct forest *forest, int from);
void forest_reach_home(struct forest *forest, int at);
void forest_reach_parent(struct forest *forest, int at);
void forest_is_late(struct forest *forest, int at);

#endif
