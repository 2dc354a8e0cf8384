#include <config.h>

#include <base/host/cgroup.h>
#include <base/host/isolated.h>
#include <base/host/paths.h>
#include <base/host/topo.h>
#include <base/host/topo_module.h>
#include <base/text/number.h>
#include <base/text/reason.h>
#include <base/text/sysfile.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MASK_MAX = 1 << 20 };

/* The kernel refuses a mask that is shorter than its own. */
cpu_set_t *topo_affinity(size_t *size)
{
    int error = EINVAL;
    for (size_t cpus = CPU_SETSIZE; cpus <= MASK_MAX && error == EINVAL; cpus *= 2) {
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
    cpu_set_t *set = topo_affinity(&size);
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

/* Whether cores may have several hardware threads online: true where the kernel does not tell. */
static bool has_siblings(void)
{
    char active[16];
    return !sysfile_line("/sys/devices/system/cpu/smt/active", active, sizeof(active)) ||
           strcmp(active, "0") != 0;
}

/* Marks the hardware threads of a processor's core; itself alone where the kernel does not tell. */
static void mark_core(unsigned cpu, bool *seen, unsigned cpus)
{
    char path[96], list[256];
    const char *wrong;
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list",
             cpu);
    if (sysfile_line(path, list, sizeof(list))) {
        (void) topo_list_parse(list, seen, cpus, &wrong); /* up to there it has marked them */
    }
    seen[cpu] = true;
}

static unsigned count_cores(const cpu_set_t *set, size_t size)
{
    unsigned cpus = (unsigned) size * CHAR_BIT, cores = 0;
    bool *seen = calloc(cpus, sizeof(*seen));
    for (unsigned cpu = 0; seen && cpu < cpus; cpu++) {
        if (CPU_ISSET_S(cpu, size, set) && !seen[cpu]) {
            mark_core(cpu, seen, cpus);
            cores++;
        }
    }
    free(seen);
    return cores;
}

unsigned topo_usable_cores(void)
{
    size_t size;
    cpu_set_t *set = topo_affinity(&size);
    unsigned cpus = set ? (unsigned) CPU_COUNT_S(size, set) : 0;
    unsigned cores = cpus > 1 && has_siblings() ? count_cores(set, size) : cpus;
    CPU_FREE(set);
    unsigned quota = cores > 1 ? cgroup_cpus() : 0;
    cores = quota && quota < cores ? quota : cores;
    return cores ? cores : 1;
}

bool topo_list_set(const char *list, cpu_set_t *set, size_t size)
{
    uint32_t first, last, cpus = (uint32_t) size * CHAR_BIT;
    CPU_ZERO_S(size, set);
    while ((list = range_read(list, cpus - 1, &first, &last)) != NULL) {
        for (uint32_t cpu = first; cpu <= last; cpu++) {
            CPU_SET_S(cpu, size, set);
        }
        if (*list != ',') {
            return *list == '\0';
        }
        list++;
    }
    return false;
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
    cpu_set_t *set = sysfile_line(path, list, sizeof(list)) ? topo_affinity(&size) : NULL;
    bool near = !set || topo_list_meets(list, set, size);
    CPU_FREE(set);
    return near;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
/* Written inside once. */
static topo_module_read_fn *module_read;
static char module_error[512];

static void load_module(void)
{
    module_read = (topo_module_read_fn *) paths_load(TOPO_MODULE, TOPO_MODULE_READ, module_error,
                                                     sizeof(module_error));
}

static int read_topo(struct topo *topo, const char *source, char *reason, size_t reason_size)
{
    pthread_once(&once, load_module);
    if (!module_read) {
        snprintf(reason, reason_size, "%s", module_error);
        return ORTE_ERR_NOT_AVAILABLE;
    }
    return module_read(topo, source, reason, reason_size);
}

int topo_read(struct topo *topo, char *reason, size_t reason_size)
{
    int status = read_topo(topo, NULL, reason, reason_size);
    if (status == ORTE_SUCCESS) {
        topo->quota = cgroup_cpus();
    }
    return status;
}

static int describe(FILE *out, const void *source)
{
    struct topo topo = {0};
    char reason[512];
    int status = read_topo(&topo, source, reason, sizeof(reason));
    char *text = status == ORTE_SUCCESS ? topo_print(&topo) : reason;
    fputs(text ? text : "out of memory", out);
    return text ? status : ORTE_ERR_OUT_OF_RESOURCE;
}

/* hwloc crashes on files that no hwloc has written. */
int topo_describe(struct topo *topo, const char *source, char *reason, size_t reason_size)
{
    const struct isolated isolated = {.name = "hwloc",
                                      .work = describe,
                                      .arg = source,
                                      .memory_bytes = 1 << 30,
                                      .cpu_s = 30,
                                      .time_s = 60,
                                      .text_max = 1 << 20}; /* TOPO_CPUS_MAX lines are shorter */
    char *text, why[512];
    int status = topo_source_check(source, reason, reason_size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    status = isolated_run(&isolated, &text, why, sizeof(why));
    if (status == ORTE_SUCCESS) {
        snprintf(why, sizeof(why),
                 "a node of 1 to %d processors, with different numbers, is needed", TOPO_CPUS_MAX);
        status = topo_parse(topo, text);
        free(text);
    }
    return status == ORTE_SUCCESS
               ? status
               : reason_set(status, reason, reason_size, "'%s': %s", source, why);
}
