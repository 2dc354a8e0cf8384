/* The mapping: what is asked for, on the nodes that there are. */
#ifndef LAUNCHER_MAP_PLAN_H
#define LAUNCHER_MAP_PLAN_H

#include <launcher/request/allocation.h>
#include <launcher/request/run_request.h>

struct map_node {
    char *name; /* owned */
    uint32_t slots;
    bool slots_explicit; /* given by the user: more ranks need --oversubscribe */
    bool local;          /* keelrun's own node: no keeld */
};

/* Where every rank goes. Node i is served by daemon daemon_of_node[i]; ranks are numbered app by
 * app. */
struct job_plan {
    struct map_node *nodes; /* owned */
    uint32_t node_count;
    uint32_t rank_count;
    uint32_t *node_of;       /* by rank */
    uint32_t *app_of;        /* by rank */
    uint32_t *local_rank_of; /* by rank */
    bool oversubscribed; /* more ranks than slots on some node, or than this machine has processors:
                          * ranks shall yield */
};

/* Places the ranks by slot: a node is filled before the next. Where the allocation has nodes, hosts
 * that were named must be among them. Pure, but for this machine's name, and its processors when no
 * slots are given. ORTE_ERR_OUT_OF_RESOURCE: more ranks than explicit slots; reason says how many
 * of each and how to allow it. ORTE_ERR_NOT_FOUND: a host that was not allocated. */
int job_plan_make(struct job_plan *plan, const struct run_request *request,
                  const struct allocation *allocation, char *reason,
                  size_t reason_size) KEEL_MUST_CHECK;
void job_plan_fini(struct job_plan *plan);

#endif
