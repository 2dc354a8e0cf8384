/* Where a message goes next: pure decisions on names, without links.
 *
 * Two questions are asked in turn. The target is the process to which the way leads: the
 * destination itself when it is served here or is a daemon, else the daemon that serves it. The hop
 * is the neighbour in the daemons' tree on the way to the target. Whoever has links of its own may
 * stop at the destination or the target. */
#ifndef RML_ROUTE_H
#define RML_ROUTE_H

#include <base/data/list.h>
#include <keel/types.h>
#include <rml/tree/tree.h>

struct rml_route {
    orte_process_name_t me;
    bool daemon;
    bool has_upstream;
    orte_process_name_t upstream; /* ranks and tools: my daemon */
    uint32_t job_size;            /* ranks: of my own job; 0: not known */
    struct rml_tree tree;         /* of the daemons */
    struct list jobs;             /* struct route_job */
};

void rml_route_init(struct rml_route *route, const orte_process_name_t *me, bool daemon,
                    uint32_t radix);
void rml_route_fini(struct rml_route *route);
/* The array is copied; NULL forgets the job. */
int rml_route_set_job(struct rml_route *route, orte_jobid_t job, uint32_t size,
                      const uint32_t *daemon_of) KEEL_MUST_CHECK;

/* All processes of the job, whatever their number, are with one daemon. */
int rml_route_set_whole_job(struct rml_route *route, orte_jobid_t job,
                            uint32_t daemon) KEEL_MUST_CHECK;

/* ORTE_ERR_ADDRESSEE_UNKNOWN: nothing is known of dest. ORTE_ERR_COMM_FAILURE: it was lost, or its
 * daemon. */
int rml_route_target(const struct rml_route *route, const orte_process_name_t *dest,
                     orte_process_name_t *target) KEEL_MUST_CHECK;
/* Daemons: the daemon that a process lives with, or that it is; UINT32_MAX: not known. */
uint32_t rml_route_daemon_of(const struct rml_route *route, const orte_process_name_t *name);
/* Daemons: the first of a job's ranks from this one on that lives here; UINT32_MAX: none. */
uint32_t rml_route_local(const struct rml_route *route, orte_jobid_t job, uint32_t from);
/* The next process on the way to a target: the target itself, or a neighbour in the tree. */
int rml_route_hop(const struct rml_route *route, const orte_process_name_t *target,
                  orte_process_name_t *hop) KEEL_MUST_CHECK;

#endif
