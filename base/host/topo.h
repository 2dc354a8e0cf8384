/* Processors: how many this process may use, and (through hwloc, loaded on first use) which cores
 * there are. */
#ifndef BASE_HOST_TOPO_H
#define BASE_HOST_TOPO_H

#include <keel/types.h>
#include <sched.h>

/* Usable processors: affinity mask and cgroup CPU quota (v1 and v2), at least 1. No hwloc. */
unsigned topo_usable_cpus(void);

/* Whether this process may use a processor of a NUMA node; true for one that is not known. */
bool topo_node_is_near(int node);
/* Whether a list as the kernel writes it ("0-3,8") names a processor of a set of size bytes. */
bool topo_list_meets(const char *list, const cpu_set_t *set, size_t size);

struct topo_core {
    cpu_set_t cpus;         /* the hardware threads of this core that the process may use */
    unsigned package, core; /* logical numbers, as hwloc counts */
};
/* The cores that this process may use, in logical order; malloc'd. reason gets the text of an
 * error: ORTE_ERR_NOT_AVAILABLE when the hwloc module is not installed. */
int topo_cores(struct topo_core **cores, size_t *count, char *reason,
               size_t reason_size) KEEL_MUST_CHECK;

#endif
