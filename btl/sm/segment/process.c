#include <config.h>

#include <btl/sm/segment/process.h>

#include <base/data/clock.h>
#include <base/host/procstat.h>
#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LATELY_NS 1000000u

int sm_process_start_time(pid_t pid, uint64_t *start_time)
{
    struct procstat stat;
    if (!procstat_read(&stat, pid, 0)) {
        return ORTE_ERR_NOT_FOUND;
    }
    *start_time = stat.start_time;
    return ORTE_SUCCESS;
}

void sm_process_init(struct sm_process *process, pid_t pid, uint64_t start_time)
{
    *process = (struct sm_process){.pid = pid, .start_time = start_time, .pidfd = -1};
}

static bool is_another(const struct sm_process *process)
{
    uint64_t start_time;
    return sm_process_start_time(process->pid, &start_time) < 0 ||
           start_time != process->start_time;
}

bool sm_process_gone(struct sm_process *process)
{
    if (process->gone) {
        return true;
    }
    if (process->pidfd < 0) {
        process->pidfd = (int) syscall(SYS_pidfd_open, process->pid, 0);
        process->gone = (process->pidfd < 0 && errno == ESRCH) || is_another(process);
        if (process->gone) {
            return true;
        }
    }
    if (process->pidfd >= 0) {
        struct pollfd ended = {.fd = process->pidfd, .events = POLLIN};
        process->gone = poll(&ended, 1, 0) > 0;
    }
    return process->gone;
}

bool sm_process_gone_lately(struct sm_process *process)
{
    const uint64_t now_ns = clock_ns();
    if (now_ns - process->seen_ns > LATELY_NS && !sm_process_gone(process)) {
        process->seen_ns = now_ns;
    }
    return process->gone;
}

bool sm_process_held(const struct sm_process *process)
{
    return process->pidfd >= 0 && !process->gone;
}

void sm_process_fini(struct sm_process *process)
{
    if (process->pidfd >= 0) {
        close(process->pidfd);
        process->pidfd = -1;
    }
}
