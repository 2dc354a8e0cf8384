/* A second mapper: docs/mapping.md word by word, slow, and without a line of launcher/map. What it
 * has of the program are the request's structs. */
#ifndef TESTS_UNIT_LAUNCHER_MAP_NAIVE_H
#define TESTS_UNIT_LAUNCHER_MAP_NAIVE_H

#include <launcher/request/run_request.h>

enum { NAIVE_NODES = 8, NAIVE_RANKS = 512, NAIVE_THREADS = 64 };

struct naive_node {
    const char *name;
    bool local;
    uint32_t slots, slots_max; /* 0: not given */
    const struct topo *topo;   /* at most NAIVE_THREADS */
    /* The rest is the mapper's. */
    bool given;
    uint64_t usable; /* threads, as every mask here */
    uint64_t taken;
    uint32_t placed, of_program, program_limit;
    uint64_t last;                /* the object that was used last; 0: none */
    uint32_t load[NAIVE_THREADS]; /* living ranks, by object, where ranks are added by object */
};

struct naive_rank {
    uint32_t program, node;
    uint64_t object; /* that it was mapped to */
    uint64_t own;    /* of PE=n or a rankfile */
    uint64_t bound;  /* 0: it is not */
    bool numbered;
};

/* Ranks that are added: what is left of the job. */
struct naive_use {
    bool ended[NAIVE_RANKS], closed[NAIVE_NODES];
    uint32_t program;
    bool again; /* ppr goes on */
};

struct naive {
    const struct run_request *request;
    const struct naive_use *use;          /* NULL: a new job */
    struct naive_node nodes[NAIVE_NODES]; /* of the hostfile; naive_map leaves those of the job */
    uint32_t node_count;
    struct naive_rank placed[NAIVE_RANKS]; /* in the order of mapping */
    struct naive_rank ranks[NAIVE_RANKS];  /* by number */
    uint32_t count, numbered;
    bool dropped;            /* the ranks are not bound, for the job is oversubscribed by default */
    uint32_t first, unbound; /* of the ranks that are added */
};

/* False: it is an error. */
bool naive_map(struct naive *naive);
/* Adds the ranks of the request's one program to those of a job that was mapped. False: it is an
 * error, and naive is of no use any more. */
bool naive_extend(struct naive *naive);

#endif
