/* A mapping in the making: what the files of this room hand from one to the next. plan.c begins and
 * ends it; place.c finds a place for each rank, ranking.c numbers them, binding.c binds them. */
#ifndef LAUNCHER_MAP_MAPPING_H
#define LAUNCHER_MAP_MAPPING_H

#include <launcher/map/plan.h>
#include <launcher/map/view.h>

/* A rank, in the order of mapping. */
struct place {
    uint32_t app, node;
    uint32_t turn;   /* the node's, among those of the program */
    uint32_t object; /* of the mapping's level: an index in the node's view; 0 for the whole node */
    uint32_t rank;
    char *cpus; /* owned: what it is bound to by PE=n or a rankfile; NULL: nothing yet */
};

struct node_state {
    const struct view *view; /* borrowed; NULL: its topology is not needed, or, where ranks are
                              * added, not known: then it is taken to have room */
    uint32_t limit;          /* ranks, at most */
    uint32_t placed;
    uint32_t turn;        /* among the nodes of the program that is being mapped */
    uint32_t of_app;      /* of them, those of the program that is being mapped */
    uint32_t app_limit;   /* ranks of this program, at most */
    uint32_t next_object; /* where --map-by OBJECT goes on */
    uint32_t *load;       /* owned, by object of the mapping's level: ranks that live; NULL: the
                           * job has none yet */
    bool *taken;          /* owned, by processor: by PE=n */
    uint32_t taken_count;
};

struct mapping {
    const struct run_request *request;
    const struct placement *placement; /* the request's */
    struct job_plan *plan;
    const struct plan_use
        *use;                 /* borrowed: ranks are added to those of the plan; NULL: a new job */
    unsigned map_level;       /* of places' objects; LEVEL_NODE: the whole node */
    struct node_state *nodes; /* owned, by node */
    struct view *views;       /* owned: one for each distinct topology */
    uint32_t view_count;
    bool needs_views;
    uint32_t *candidates; /* owned: the nodes of the program that is being mapped */
    uint32_t candidate_count;
    uint32_t per_node;    /* -N of that program; 0: none */
    struct place *places; /* owned */
    uint32_t count;
    char **cpus;      /* owned, NULL-ended, by number: as in the plan */
    uint32_t unbound; /* ranks that are not bound, for all processors have ranks */
    char *reason;
    size_t reason_size;
};

/* A node's processors are not known. */
int mapping_unknown(struct mapping *mapping, uint32_t node);
/* Sets the mapping's reason; returns status. */
int mapping_fail(struct mapping *mapping, int status, const char *format, ...) KEEL_PRINTF(3, 4);

/* extend.c: the slots and processors that the ranks of the plan have, as use says. */
int mapping_take_used(struct mapping *mapping) KEEL_MUST_CHECK;
/* Their number on each object of a level of a node, which are to be 0 before. */
int mapping_count_ranks(const struct mapping *mapping, uint32_t node, unsigned level,
                        uint32_t *ranks) KEEL_MUST_CHECK;
/* extend.c: have all nodes where ranks were placed a topology, if they need one? Where placing them
 * failed, for want of room: all that may have more than they were taken to have? use->unknown says
 * which have not. */
int mapping_expect_known(struct mapping *mapping, int status) KEEL_MUST_CHECK;
/* Is it below its limit? */
bool mapping_is_open(const struct node_state *state);

/* Finds places for every program's ranks. */
int mapping_place(struct mapping *mapping) KEEL_MUST_CHECK;
/* One rank more on a node; room was looked at. Takes cpus. */
int mapping_add(struct mapping *mapping, uint32_t app, uint32_t node, uint32_t object,
                char *cpus) KEEL_MUST_CHECK;
/* The same with the processors of PE=n. An error where there are none; where: of the rank in a
 * file, for its reason. */
int mapping_place_on(struct mapping *mapping, uint32_t app, uint32_t node,
                     const char *where) KEEL_MUST_CHECK;
/* The candidates of a program. */
int mapping_choose_nodes(struct mapping *mapping, uint32_t app) KEEL_MUST_CHECK;
/* Is it one of the nodes of the program that is being mapped? */
bool mapping_is_candidate(const struct mapping *mapping, uint32_t node);
/* seq and rankfile: one program's ranks, count of them (0: as many as are named). */
int mapping_place_sequence(struct mapping *mapping, uint32_t app, uint32_t count) KEEL_MUST_CHECK;
int mapping_place_rankfile(struct mapping *mapping, uint32_t app, uint32_t count) KEEL_MUST_CHECK;

/* Numbers the ranks. */
int mapping_number(struct mapping *mapping) KEEL_MUST_CHECK;
/* Binds those that have a number. */
int mapping_bind(struct mapping *mapping) KEEL_MUST_CHECK;

#endif
