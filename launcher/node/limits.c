#include <config.h>

#include <base/host/cgroup.h>
#include <launcher/node/limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    RANK_DESCRIPTORS = 3,   /* stdout, stderr, the socket of PMI-1 */
    DAEMON_DESCRIPTORS = 1, /* its agent's standard input, later its link */
    AGENT_DESCRIPTORS = 1,  /* its stderr */
    JOB_DESCRIPTORS = 5     /* opened later for any job, by the PMIx server, too */
};

static uint64_t read_limit(const char *path)
{
    unsigned long long value = UINT64_MAX;
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%llu", &value) != 1) {
        value = UINT64_MAX;
    }
    if (file) {
        fclose(file);
    }
    return value;
}

/* RLIM_INFINITY is as good as UINT64_MAX. */
static uint64_t resource_limit(int resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 ? limit.rlim_cur : UINT64_MAX;
}

int limits_processes(uint64_t count, char *reason, size_t reason_size)
{
    const struct {
        const char *name;
        uint64_t value;
    } limits[] = {
        {"kernel.pid_max", read_limit("/proc/sys/kernel/pid_max")},
        {"kernel.threads-max", read_limit("/proc/sys/kernel/threads-max")},
        {"pids.max of the control group", cgroup_pids()},
        {"ulimit -u", geteuid() == 0 ? UINT64_MAX : resource_limit(RLIMIT_NPROC)},
    };
    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
        if (count > limits[i].value) {
            snprintf(reason, reason_size, "%llu processes are too many: the limit is %llu (%s)",
                     (unsigned long long) count, (unsigned long long) limits[i].value,
                     limits[i].name);
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
    }
    return ORTE_SUCCESS;
}

/* The number of descriptors below the first free one; inherited ones above it are not counted. */
static uint64_t open_below(uint64_t limit)
{
    int lowest = dup(STDERR_FILENO);
    if (lowest < 0) {
        return limit;
    }
    close(lowest);
    return (uint64_t) lowest;
}

static int descriptors(uint64_t count, const char *what, uint64_t each, char *reason,
                       size_t reason_size)
{
    uint64_t limit = resource_limit(RLIMIT_NOFILE);
    uint64_t need = open_below(limit) + JOB_DESCRIPTORS + each * count;
    if (count == 0 || need <= limit) { /* strangers may have them all for a while */
        return ORTE_SUCCESS;
    }
    snprintf(reason, reason_size,
             "%llu %s%s need%s %llu open files at the same time, and the limit is %llu (ulimit -n)",
             (unsigned long long) count, what, count == 1 ? "" : "s", count == 1 ? "s" : "",
             (unsigned long long) need, (unsigned long long) limit);
    return ORTE_ERR_OUT_OF_RESOURCE;
}

int limits_ranks(uint64_t ranks, char *reason, size_t reason_size)
{
    return descriptors(ranks, "rank", RANK_DESCRIPTORS, reason, reason_size);
}

int limits_daemons(uint64_t daemons, bool agents, char *reason, size_t reason_size)
{
    return descriptors(daemons, "daemon", DAEMON_DESCRIPTORS + (agents ? AGENT_DESCRIPTORS : 0),
                       reason, reason_size);
}
