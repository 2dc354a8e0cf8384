/* Ranks of a PML in one process, over a PTL that is written against the installed headers alone and
 * does what a bad network does: delays, reorders and copies first fragments, takes fewer bytes than
 * asked for, is short of room, reports late, and loses ranks. One thread. */
#ifndef TESTS_UNIT_PML_WORLD_H
#define TESTS_UNIT_PML_WORLD_H

#include <pml/interface/base.h>

enum { WORLD_RANKS = 4, WORLD_RAILS = 3, WORLD_ROUND_NS = 10000 };

struct world_rules {
    int ranks;
    uint32_t flags;         /* of the modules: MCA_PTL_GET, MCA_PTL_FLAGS_EXTENDED */
    size_t first, min, max; /* sizes of fragments */
    size_t cache_size, cache_bytes;
    size_t room;               /* packets of a rank that may be under way; 0: any number */
    unsigned delay;            /* of a packet: at most so many rounds of progress */
    bool reorders;             /* packets pass each other */
    bool splits;               /* takes fewer bytes than asked for */
    bool late;                 /* tells that bytes are sent when they arrive */
    bool copies;               /* first fragments, some of those without acknowledgement */
    bool immediate;            /* extended modules have ptl_sendi, and call ptl_matchi */
    int rails;                 /* modules of a rank; 0: one */
    size_t speed[WORLD_RAILS]; /* of each, in bytes of data a round; 0: any number */
    uint32_t claims;           /* the bandwidth that all modules claim */
    unsigned refuses;          /* of a hundred calls so many are told of a shortage */
    unsigned seed;
};

/* What happened. */
struct world_counts {
    size_t packets, short_calls, waiting_most;
    size_t moved[WORLD_RAILS]; /* bytes behind first fragments that arrived */
    size_t kept, cached;       /* requests that the module knows; and sends of them */
    size_t sendis, matchis;    /* messages sent without a request, received without a fragment */
};

struct world {
    struct world_rules rules;
    struct world_counts counts;
    struct pml *pml[WORLD_RANKS];
    opal_proc_t procs[WORLD_RANKS];
    opal_proc_t *members[WORLD_RANKS];
    bool dead[WORLD_RANKS];
    size_t waiting; /* fragments that PMLs have */
    bool halted;    /* nothing is delivered */
    bool holds;     /* first fragments with this tag are not delivered */
    int32_t held_tag;
    int stuck;              /* type of packets that are not delivered; 0: none */
    int send_status;        /* what ptl_send returns; 0: it sends */
    int put_status;         /* what ptl_put and ptl_get return */
    int broken;             /* the rail that fetches nothing, as number + 1; 0: all do */
    int unplugged;          /* the rail that leads to nobody, as number + 1; 0: all do */
    void (*hook)(int rank); /* in the rank's progress; may be NULL */
    void (*inner)(void);    /* called by ptl_send or ptl_sendi, once; may be NULL */
    int doom, doomed; /* after so many rounds (0: never) this rank is killed, within progress */
};
extern struct world world;
extern mca_ptl_base_component_t world_component;
enum { WORLD_GRAVES = 64 };
extern struct pml *world_graveyard[WORLD_GRAVES]; /* the dead's, which nobody frees */
enum { WORLD_FIRST = 1, WORLD_FRAG, WORLD_ACK, WORLD_NACK, WORLD_FIN, WORLD_FETCHED };

/* Opens a PML for each rank, whose progress drives the others'. */
void world_open(const struct world_rules *rules);
/* The contexts of the living were freed: nothing is left of any fragment or request. */
void world_close(void);
/* One round of progress of each rank. */
void world_progress(void);
/* The rank ends: what it sent and was sent is lost, and the others are told. */
void world_kill(int rank);
/* What is on its way between the rank and the others is lost, and they are told; it is back at
 * once. */
void world_flap(int rank);
/* The others are told that their way to the rank may have changed; it has not. */
void world_disturb(int rank);
/* As PMLs see it, in nanoseconds. */
uint64_t world_time(void);
/* 0 to most - 1 */
unsigned world_random(unsigned most);

/* Between its parts: the rank whose modules are made; and frees what is on its way. */
extern int world_opening;
void world_clear(void);

#endif
