#include <config.h>

#include <base/types/name.h>
#include <rml/interface/core.h>
#include <rml/tree/route.h>
#include <stdlib.h>
#include <string.h>

struct route_job {
    struct list link;
    orte_jobid_t job;
    uint32_t size; /* UINT32_MAX: all are with the first daemon */
    uint32_t daemon_of[];
};

void rml_route_init(struct rml_route *route, const orte_process_name_t *me, bool daemon,
                    uint32_t radix)
{
    *route = (struct rml_route){.me = *me, .daemon = daemon};
    rml_tree_init(&route->tree, radix, 0);
    list_init(&route->jobs);
}

void rml_route_fini(struct rml_route *route)
{
    for (struct list *link; (link = list_pop(&route->jobs));) {
        free(container_of(link, struct route_job, link));
    }
    rml_tree_fini(&route->tree);
}

static struct route_job *find_job(const struct rml_route *route, orte_jobid_t jobid)
{
    struct route_job *job;
    list_for_each (job, &route->jobs, struct route_job, link) {
        if (job->job == jobid) {
            return job;
        }
    }
    return NULL;
}

int rml_route_set_job(struct rml_route *route, orte_jobid_t jobid, uint32_t size,
                      const uint32_t *daemon_of)
{
    struct route_job *job = NULL;
    if (daemon_of) {
        job = malloc(sizeof(*job) + (size_t) size * sizeof(*daemon_of));
        if (!job) {
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
        job->job = jobid;
        job->size = size;
        memcpy(job->daemon_of, daemon_of, (size_t) size * sizeof(*daemon_of));
    }
    struct route_job *old = find_job(route, jobid);
    if (old) {
        list_remove(&old->link);
        free(old);
    }
    if (job) {
        list_append(&route->jobs, &job->link);
    }
    return ORTE_SUCCESS;
}

int rml_route_set_whole_job(struct rml_route *route, orte_jobid_t job, uint32_t daemon)
{
    int status = rml_route_set_job(route, job, 1, &daemon);
    if (status == ORTE_SUCCESS) {
        find_job(route, job)->size = UINT32_MAX;
    }
    return status;
}

uint32_t rml_route_daemon_of(const struct rml_route *route, const orte_process_name_t *name)
{
    if (name->jobid == rml_daemon_job(route->me.jobid)) {
        return name->vpid;
    }
    const struct route_job *job = find_job(route, name->jobid);
    if (!job || name->vpid >= job->size) {
        return UINT32_MAX;
    }
    return job->daemon_of[job->size == UINT32_MAX ? 0 : name->vpid];
}

int rml_route_target(const struct rml_route *route, const orte_process_name_t *dest,
                     orte_process_name_t *target)
{
    if (name_equal(dest, &route->me)) {
        *target = *dest;
        return ORTE_SUCCESS;
    }
    if (!route->daemon) {
        bool beyond =
            dest->jobid == route->me.jobid && route->job_size > 0 && dest->vpid >= route->job_size;
        bool foreign = rml_daemon_job(dest->jobid) != rml_daemon_job(route->me.jobid);
        if (!route->has_upstream || beyond || foreign) {
            return ORTE_ERR_ADDRESSEE_UNKNOWN;
        }
        *target = route->upstream;
        return ORTE_SUCCESS;
    }
    if (dest->jobid == rml_daemon_job(route->me.jobid)) {
        if (route->tree.count > 0 && dest->vpid >= route->tree.count) {
            return ORTE_ERR_ADDRESSEE_UNKNOWN;
        }
        if (rml_tree_is_lost(&route->tree, dest->vpid)) {
            return ORTE_ERR_COMM_FAILURE;
        }
        *target = *dest;
        return ORTE_SUCCESS;
    }
    uint32_t daemon = rml_route_daemon_of(route, dest);
    if (daemon == UINT32_MAX) {
        return ORTE_ERR_ADDRESSEE_UNKNOWN;
    }
    if (rml_tree_is_lost(&route->tree, daemon)) {
        return ORTE_ERR_COMM_FAILURE;
    }
    *target = daemon == route->me.vpid
                  ? *dest
                  : (orte_process_name_t){rml_daemon_job(route->me.jobid), daemon};
    return ORTE_SUCCESS;
}

int rml_route_hop(const struct rml_route *route, const orte_process_name_t *target,
                  orte_process_name_t *hop)
{
    if (!route->daemon || target->jobid != rml_daemon_job(route->me.jobid) ||
        route->tree.count == 0 || target->vpid == route->me.vpid) {
        *hop = *target;
        return ORTE_SUCCESS;
    }
    if (target->vpid >= route->tree.count) {
        return ORTE_ERR_ADDRESSEE_UNKNOWN;
    }
    uint32_t next = rml_tree_towards(&route->tree, route->me.vpid, target->vpid);
    if (next == UINT32_MAX) {
        next = rml_tree_parent(&route->tree, route->me.vpid);
    }
    *hop = (orte_process_name_t){rml_daemon_job(route->me.jobid), next};
    return ORTE_SUCCESS;
}

uint32_t rml_route_local(const struct rml_route *route, orte_jobid_t jobid, uint32_t from)
{
    const struct route_job *job = find_job(route, jobid);
    for (uint32_t rank = from; job && rank < job->size; rank++) {
        if (job->daemon_of[rank] == route->me.vpid) {
            return rank;
        }
    }
    return UINT32_MAX;
}
