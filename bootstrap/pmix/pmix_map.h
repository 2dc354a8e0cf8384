/* What a PMIx server says of a job, as a job map. Pure. */
#ifndef BOOTSTRAP_PMIX_PMIX_MAP_H
#define BOOTSTRAP_PMIX_PMIX_MAP_H

#include <bootstrap/pmix/module.h>
#include <wireup/job_map.h>

/* All of the map but the key. The job's number is made of its namespace, the same in all ranks; its
 * id of namespace and server, the same in the ranks of a node. Ranks on the same host share a node;
 * one whose host is not known has a node of its own. */
int pmix_job_map(struct job_map *map, const struct pmix_view *view, const char *server,
                 char *reason, size_t reason_size) KEEL_MUST_CHECK;

#endif
