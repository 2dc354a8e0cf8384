#include <config.h>

#include <base/cgroup.h>
#include <base/paths.h>
#include <base/topo.h>
#include <base/topo_module.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { CPUS_MAX = 1 << 20 };

/* Processors in the affinity mask. The kernel refuses a mask that is shorter than its own. */
static unsigned affinity_cpus(void)
{
    for (size_t cpus = CPU_SETSIZE; cpus <= CPUS_MAX; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        size_t size = CPU_ALLOC_SIZE(cpus);
        if (!set) {
            break;
        }
        int error = sched_getaffinity(0, size, set) < 0 ? errno : 0;
        int count = error ? 0 : CPU_COUNT_S(size, set);
        CPU_FREE(set);
        if (error != EINVAL) {
            return count > 0 ? (unsigned) count : 1;
        }
    }
    return 1;
}

unsigned topo_usable_cpus(void)
{
    unsigned cpus = affinity_cpus();
    unsigned quota = cpus > 1 ? cgroup_cpus() : 0;
    return quota && quota < cpus ? quota : cpus;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
/* Written inside once. */
static topo_module_cores_fn *module_cores;
static char module_error[512];

static void load_module(void)
{
    module_cores = (topo_module_cores_fn *) paths_load(TOPO_MODULE, TOPO_MODULE_CORES, module_error,
                                                       sizeof(module_error));
}

int topo_cores(struct topo_core **cores, size_t *count, char *reason, size_t reason_size)
{
    pthread_once(&once, load_module);
    if (!module_cores) {
        snprintf(reason, reason_size, "%s", module_error);
        return ORTE_ERR_NOT_AVAILABLE;
    }
    return module_cores(cores, count, reason, reason_size);
}
