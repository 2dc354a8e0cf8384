/* What topo.c and its loadable module share. The module holds everything that needs hwloc, which
 * only a process that reads a topology has to load. */
#ifndef BASE_TOPO_MODULE_H
#define BASE_TOPO_MODULE_H

#include <base/host/topo.h>
#include <string.h>

/* Is this source of topo_describe a file's name? Else it is a description. */
static inline bool topo_is_file(const char *source)
{
    const char *end = strrchr(source, '.');
    return end && strcmp(end, ".xml") == 0;
}

#define TOPO_MODULE "keel-hwloc.so"
#define TOPO_MODULE_READ "keel_hwloc_read"
/* source NULL: as topo_read; else as topo_describe, in the calling process. */
typedef int topo_module_read_fn(struct topo *topo, const char *source, char *reason,
                                size_t reason_size);
KEEL_EXPORT topo_module_read_fn keel_hwloc_read;

#endif
