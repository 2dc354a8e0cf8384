/* The loadable module keel-hwloc.so: topologies, of this machine and described ones. */
#include <config.h>

#include <base/host/topo_module.h>
#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLUGINS_PATH "HWLOC_PLUGINS_PATH"

static int fail(char *reason, size_t size, const char *what)
{
    snprintf(reason, size, "hwloc: %s: %s", what, strerror(errno));
    return ORTE_ERR_NOT_AVAILABLE;
}

/* hwloc_topology_init without hwloc's plug-ins, which find devices and take several milliseconds.
 * The environment is as before when it returns, so no other thread may read it meanwhile. */
static int init_without_plugins(hwloc_topology_t *topology)
{
    const char *set = getenv(PLUGINS_PATH);
    char *before = set ? strdup(set) : NULL;
    if (set && !before) {
        return -1;
    }
    setenv(PLUGINS_PATH, "/nonexistent", 1);
    int rc = hwloc_topology_init(topology);
    if (before) {
        setenv(PLUGINS_PATH, before, 1);
    } else {
        unsetenv(PLUGINS_PATH);
    }
    free(before);
    return rc;
}

/* Without groups, the NUMA nodes of one package would all have the processors of the package. */
static void filter_levels(hwloc_topology_t topology)
{
    static const hwloc_obj_type_t kept[] = {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_CORE, HWLOC_OBJ_L1CACHE,
                                            HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE};
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
        hwloc_topology_set_type_filter(topology, kept[i], HWLOC_TYPE_FILTER_KEEP_ALL);
    }
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
}

/* source NULL: this machine. */
static int load(hwloc_topology_t *topology, const char *source, char *reason, size_t size)
{
    hwloc_topology_t made;
    if (init_without_plugins(&made) < 0) {
        return fail(reason, size, "cannot begin");
    }
    filter_levels(made);
    errno = EINVAL;
    int rc = !source                ? 0
             : topo_is_file(source) ? hwloc_topology_set_xml(made, source)
                                    : hwloc_topology_set_synthetic(made, source);
    if (rc == 0) {
        rc = hwloc_topology_load(made);
    }
    if (rc < 0) {
        hwloc_topology_destroy(made);
        if (!source) {
            return fail(reason, size, "cannot read the topology");
        }
        snprintf(reason, size, "%s",
                 topo_is_file(source) ? "a file that hwloc wrote (lstopo x.xml) is needed"
                                      : "hwloc's description of a node is needed, as in "
                                        "\"package:2 core:4 pu:2\", or a file NAME.xml");
        return ORTE_ERR_BAD_PARAM;
    }
    *topology = made;
    return ORTE_SUCCESS;
}

static uint32_t number_of(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_obj_t thread,
                          uint32_t otherwise)
{
    hwloc_obj_t object = hwloc_get_ancestor_obj_by_type(topology, type, thread);
    return object ? object->logical_index : otherwise;
}

/* NUMA nodes are no ancestors of processors: they hang beside the tree. */
static uint32_t numa_of(hwloc_topology_t topology, unsigned cpu)
{
    hwloc_obj_t node = NULL;
    while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node))) {
        if (hwloc_bitmap_isset(node->cpuset, cpu)) {
            return node->logical_index;
        }
    }
    return TOPO_NONE;
}

static void fill_thread(hwloc_topology_t topology, hwloc_obj_t found, struct topo_thread *thread)
{
    uint32_t index = found->logical_index;
    thread->os = found->os_index;
    thread->usable = true;
    thread->object[TOPO_HWTHREAD] = index;
    /* Some virtual machines do not tell about cores; then every hardware thread is one. */
    thread->object[TOPO_CORE] = number_of(topology, HWLOC_OBJ_CORE, found, index);
    thread->object[TOPO_L1] = number_of(topology, HWLOC_OBJ_L1CACHE, found, TOPO_NONE);
    thread->object[TOPO_L2] = number_of(topology, HWLOC_OBJ_L2CACHE, found, TOPO_NONE);
    thread->object[TOPO_L3] = number_of(topology, HWLOC_OBJ_L3CACHE, found, TOPO_NONE);
    thread->object[TOPO_NUMA] = numa_of(topology, found->os_index);
    thread->object[TOPO_PACKAGE] = number_of(topology, HWLOC_OBJ_PACKAGE, found, 0);
}

/* Of this machine: those in the affinity mask. */
static int mark_usable(hwloc_topology_t topology, struct topo *topo)
{
    hwloc_bitmap_t mask = hwloc_bitmap_alloc();
    int rc = mask ? hwloc_get_cpubind(topology, mask, HWLOC_CPUBIND_THREAD) : -1;
    for (uint32_t i = 0; rc == 0 && i < topo->count; i++) {
        topo->threads[i].usable = hwloc_bitmap_isset(mask, topo->threads[i].os);
    }
    hwloc_bitmap_free(mask);
    return rc;
}

int keel_hwloc_read(struct topo *out, const char *source, char *reason, size_t reason_size)
{
    hwloc_topology_t topology;
    int status = load(&topology, source, reason, reason_size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    int count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
    struct topo topo = {.threads = calloc(count > 0 ? (size_t) count : 1, sizeof(*topo.threads))};
    for (hwloc_obj_t thread = NULL;
         topo.threads &&
         (thread = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, thread)) != NULL;) {
        fill_thread(topology, thread, &topo.threads[topo.count++]);
    }
    if (!topo.threads) {
        status = ORTE_ERR_OUT_OF_RESOURCE;
    } else if (!source && mark_usable(topology, &topo) != 0) {
        status = fail(reason, reason_size, "cannot read the affinity mask");
    }
    hwloc_topology_destroy(topology);
    if (status != ORTE_SUCCESS) {
        free(topo.threads);
        return status;
    }
    *out = topo;
    return ORTE_SUCCESS;
}
