/* The virtual clock: events in the order of their times, and of their making where times are equal;
 * and the random numbers of a seed. */
#ifndef TESTS_LIB_SIM_QUEUE_H
#define TESTS_LIB_SIM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_event {
    uint64_t at;
    uint32_t number; /* of its making */
    uint16_t kind;
    uint16_t who;
    void *what;
};

struct sim_queue {
    struct sim_event *heap; /* owned */
    size_t count, capacity;
    uint32_t made;
    uint64_t now;
};

void sim_queue_reset(struct sim_queue *queue);
void sim_queue_fini(struct sim_queue *queue);
void sim_at(struct sim_queue *queue, uint64_t at, int kind, int who, void *what);
/* The next event; the clock moves to its time. False: there is none. */
bool sim_next(struct sim_queue *queue, struct sim_event *event);

struct sim_random {
    uint64_t state;
};

static inline uint64_t sim_random(struct sim_random *random)
{
    uint64_t z = (random->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 to limit - 1. */
static inline uint32_t sim_below(struct sim_random *random, uint32_t limit)
{
    return (uint32_t) (((sim_random(random) >> 32) * limit) >> 32);
}

#endif
