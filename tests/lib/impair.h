/* What a bad network does to packets, and when: an object that knows neither a clock nor bytes. For
 * each packet that is sent it says how many copies arrive, at which times, and what is wrong with
 * them. The simulated wire (sim/wire.h) asks it in virtual time, the cable (cable.c) in real time.
 * The same seed, settings and packets make the same decisions. */
#ifndef TESTS_LIB_IMPAIR_H
#define TESTS_LIB_IMPAIR_H

#include <tests/lib/sim/queue.h>

/* All zero: a perfect network. Chances are from 0 to 1, for each packet. */
struct impair_settings {
    double loss;
    double burst;          /* that it begins a burst of losses, */
    uint64_t burst_length; /* of so many packets in the mean */
    double duplicate;
    double reorder;  /* that it is late by up to reorder_ns, so that later packets overtake it */
    double corrupt;  /* that one bit of it is wrong */
    double truncate; /* that its end is missing */
    uint64_t delay_ns;
    uint64_t jitter_ns; /* up to so much is added to the delay; order is kept */
    uint64_t reorder_ns;
    uint64_t mtu;         /* bytes; longer packets vanish; 0: none does */
    uint64_t rate;        /* bytes per second; 0: no limit */
    uint64_t queue_bytes; /* of packets that wait for the rate; more are dropped; 0: no limit */
    uint64_t cut;         /* 1: nothing arrives */
    uint64_t cut_after;   /* so many more packets pass, then cut becomes 1; 0: never */
};

/* What happened to packets, for tests to count. A packet may count several times. */
enum impair_event {
    IMPAIR_SENT,
    IMPAIR_CUT,
    IMPAIR_TOO_LONG,
    IMPAIR_QUEUE_FULL,
    IMPAIR_LOST,
    IMPAIR_BURST, /* lost in a burst */
    IMPAIR_DUPLICATED,
    IMPAIR_REORDERED,
    IMPAIR_CORRUPTED,
    IMPAIR_TRUNCATED,
    IMPAIR_EVENTS
};
extern const char *const impair_event_names[IMPAIR_EVENTS];

/* The bottleneck that packets pass one after the other; several ways may share one. */
struct impair_line {
    uint64_t free_ns; /* when the last packet has passed */
};

/* One way of the network, for one direction. */
struct impair {
    struct impair_settings settings; /* may change at any time */
    struct impair_line *line;        /* borrowed */
    struct sim_random random;
    bool in_burst;
    uint64_t last_ns; /* when the last packet that keeps its place arrives */
    uint64_t counts[IMPAIR_EVENTS];
};

#define IMPAIR_SOUND SIZE_MAX

struct impair_copy {
    uint64_t at_ns;
    size_t size;      /* what is left of it */
    size_t wrong_bit; /* which bit of it is flipped; IMPAIR_SOUND: none */
};

enum { IMPAIR_COPIES = 2 };

void impair_init(struct impair *impair, struct impair_line *line, uint64_t seed);
/* A packet is sent; times never go back. Returns how many copies arrive: 0, 1 or 2. */
int impair_packet(struct impair *impair, uint64_t now_ns, size_t size,
                  struct impair_copy copies[IMPAIR_COPIES]);
/* Changes one setting by a text "NAME=VALUE": chances in percent, delay, jitter and reorder_by in
 * milliseconds, rate in MB/s, the rest whole numbers. False: there is no such name or value. */
bool impair_set(struct impair_settings *settings, const char *text);

#endif
