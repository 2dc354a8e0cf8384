/* What topo.c and its loadable module share. The module holds everything that needs hwloc, which
 * only a process that asks for cores has to load. */
#ifndef BASE_HOST_TOPO_MODULE_H
#define BASE_HOST_TOPO_MODULE_H

#include <base/host/topo.h>

#define TOPO_MODULE "keel-hwloc.so"
#define TOPO_MODULE_CORES "keel_hwloc_cores"

/* As topo_cores. */
typedef int topo_module_cores_fn(struct topo_core **cores, size_t *count, char *reason,
                                 size_t reason_size);
KEEL_EXPORT topo_module_cores_fn keel_hwloc_cores;

#endif
