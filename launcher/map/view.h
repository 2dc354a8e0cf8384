/* A node's topology as the mapping sees it: the objects of each level that have a usable processor.
 */
#ifndef LAUNCHER_MAP_VIEW_H
#define LAUNCHER_MAP_VIEW_H

#include <launcher/request/placement.h>

struct view_level {
    uint32_t count;   /* of objects; 0: the node has none */
    uint32_t *number; /* owned: the logical number of each */
    uint32_t *size;   /* owned: how many processors each has */
    uint32_t *of;     /* owned, by thread: the index of the object that it is in, or TOPO_NONE */
};

struct view {
    const struct topo *topo;                   /* borrowed */
    struct view_level levels[TOPO_LEVELS + 1]; /* the last, LEVEL_NODE, has one object: the node */
    unsigned processors;                       /* the level that processors are: core or hwthread */
};

/* cpu_set: as in struct placement. ORTE_ERR_BAD_PARAM, ORTE_ERR_NOT_FOUND: nothing of it may be
 * used; reason says so without naming the node. */
int view_make(struct view *view, const struct topo *topo, const char *cpu_set, bool hwthreads,
              char *reason, size_t reason_size) KEEL_MUST_CHECK;
void view_fini(struct view *view);

/* The object of the level outer that all of the object (level, index) lies in; TOPO_NONE: there is
 * none. */
uint32_t view_container(const struct view *view, unsigned level, uint32_t index, unsigned outer);
/* The kernel's numbers of the threads in some objects of a level, "0,2-5"; malloc'd, NULL: no
 * memory. chosen: by index. */
char *view_cpus(const struct view *view, unsigned level, const bool *chosen);

#endif
