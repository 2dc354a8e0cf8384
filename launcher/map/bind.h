/* --bind-to core: which core each rank of a node gets. */
#ifndef LAUNCHER_MAP_BIND_H
#define LAUNCHER_MAP_BIND_H

#include <base/host/topo.h>
#include <keel/types.h>

struct bind_map {
    struct topo_core *cores; /* owned */
    size_t count;            /* at least 1 */
};

/* Finds the cores (loads the hwloc module). On error, reason says why binding is not possible. */
int bind_map_make(struct bind_map *map, char *reason, size_t reason_size) KEEL_MUST_CHECK;
void bind_map_fini(struct bind_map *map);
/* The processors of the rank with this local rank: core by core; more ranks than cores share them
 * in turn. Borrowed from the map. */
const cpu_set_t *bind_choose(const struct bind_map *map, uint32_t local_rank);
/* One line of --report-bindings, without its newline; map NULL: not bound. Returns text. */
const char *bind_report(const struct bind_map *map, uint32_t rank, const char *node,
                        uint32_t local_rank, char *text, size_t size);

#endif
