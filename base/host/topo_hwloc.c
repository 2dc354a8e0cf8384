/* The loadable module keel-hwloc.so: the cores that this process may use. */
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

static int load(hwloc_topology_t *topology, char *reason, size_t reason_size)
{
    hwloc_topology_t made;
    if (init_without_plugins(&made) < 0) {
        return fail(reason, reason_size, "cannot begin");
    }
    hwloc_topology_set_all_types_filter(made, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(made, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_type_filter(made, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(made) < 0) {
        int rc = fail(reason, reason_size, "cannot read the topology");
        hwloc_topology_destroy(made);
        return rc;
    }
    *topology = made;
    return ORTE_SUCCESS;
}

/* The hardware threads of a core that are in usable too. */
static void usable_threads(hwloc_obj_t core, const cpu_set_t *usable, cpu_set_t *cpus)
{
    CPU_ZERO(cpus);
    for (int cpu = hwloc_bitmap_first(core->cpuset); cpu >= 0 && cpu < CPU_SETSIZE;
         cpu = hwloc_bitmap_next(core->cpuset, cpu)) {
        if (CPU_ISSET(cpu, usable)) {
            CPU_SET(cpu, cpus);
        }
    }
}

/* Fills the list from objects of one type; the number of cores with a usable thread. */
static size_t collect(hwloc_topology_t topology, hwloc_obj_type_t type, const cpu_set_t *usable,
                      struct topo_core *list)
{
    size_t count = 0;
    for (hwloc_obj_t core = hwloc_get_next_obj_by_type(topology, type, NULL); core;
         core = hwloc_get_next_obj_by_type(topology, type, core)) {
        hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, core);
        usable_threads(core, usable, &list[count].cpus);
        list[count].core = core->logical_index;
        list[count].package = package ? package->logical_index : 0;
        count += CPU_COUNT(&list[count].cpus) > 0;
    }
    return count;
}

int keel_hwloc_cores(struct topo_core **cores, size_t *count, char *reason, size_t reason_size)
{
    hwloc_topology_t topology;
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof(usable), &usable) < 0) {
        return fail(reason, reason_size, "cannot read the affinity mask");
    }
    int rc = load(&topology, reason, reason_size);
    if (rc != ORTE_SUCCESS) {
        return rc;
    }
    /* Some virtual machines do not tell about cores; then every hardware thread is one. */
    hwloc_obj_type_t type = HWLOC_OBJ_CORE;
    if (hwloc_get_nbobjs_by_type(topology, type) <= 0) {
        type = HWLOC_OBJ_PU;
    }
    int all = hwloc_get_nbobjs_by_type(topology, type);
    struct topo_core *list = all > 0 ? calloc((size_t) all, sizeof(*list)) : NULL;
    size_t usable_cores = list ? collect(topology, type, &usable, list) : 0;
    hwloc_topology_destroy(topology);
    if (usable_cores == 0) {
        free(list);
        snprintf(reason, reason_size, "hwloc shows no core that this process may use");
        return ORTE_ERR_NOT_FOUND;
    }
    *cores = list;
    *count = usable_cores;
    return ORTE_SUCCESS;
}
