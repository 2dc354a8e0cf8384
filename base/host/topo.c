#include <config.h>

#include <base/host/cgroup.h>
#include <base/host/paths.h>
#include <base/host/topo.h>
#include <base/host/topo_module.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { CPUS_MAX = 1 << 20 };

/* The affinity mask, for CPU_FREE; NULL: it cannot be had. The kernel refuses a mask that is
 * shorter than its own. */
static cpu_set_t *affinity_read(size_t *size)
{
    int error = EINVAL;
    for (size_t cpus = CPU_SETSIZE; cpus <= CPUS_MAX && error == EINVAL; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        *size = CPU_ALLOC_SIZE(cpus);
        if (set && sched_getaffinity(0, *size, set) == 0) {
            return set;
        }
        error = set ? errno : ENOMEM;
        CPU_FREE(set);
    }
    return NULL;
}

static unsigned affinity_cpus(void)
{
    size_t size;
    cpu_set_t *set = affinity_read(&size);
    int count = set ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    return count > 0 ? (unsigned) count : 1;
}

unsigned topo_usable_cpus(void)
{
    unsigned cpus = affinity_cpus();
    unsigned quota = cpus > 1 ? cgroup_cpus() : 0;
    return quota && quota < cpus ? quota : cpus;
}

bool topo_list_meets(const char *list, const cpu_set_t *set, size_t size)
{
    char *at = (char *) list;
    while (isdigit((unsigned char) *at)) {
        unsigned long cpu = strtoul(at, &at, 10), last = cpu;
        if (*at == '-') {
            last = strtoul(at + 1, &at, 10);
        }
        for (; cpu <= last && cpu < size * CHAR_BIT; cpu++) {
            if (CPU_ISSET_S(cpu, size, set)) {
                return true;
            }
        }
        at += *at == ',';
    }
    return false;
}

bool topo_node_is_near(int node)
{
    char path[64], list[4096];
    size_t size;
    snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", node);
    FILE *file = fopen(path, "re");
    bool known = file && fgets(list, sizeof(list), file);
    if (file) {
        fclose(file);
    }
    cpu_set_t *set = known ? affinity_read(&size) : NULL;
    bool near = !set || topo_list_meets(list, set, size);
    CPU_FREE(set);
    return near;
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
