#include <config.h>

#include <btl/sm/process.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define START_TIME_FIELD 22

/* Field n of a stat line, counted from 1; the second, in parentheses, may contain anything. */
static const char *stat_field(const char *line, int n)
{
    const char *at = strrchr(line, ')');
    for (int field = 2; at && field < n; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at;
}

int sm_process_start_time(pid_t pid, uint64_t *start_time)
{
    char path[64], line[1024];
    snprintf(path, sizeof(path), "/proc/%ld/stat", (long) pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return ORTE_ERR_NOT_FOUND;
    }
    ssize_t size = read(fd, line, sizeof(line) - 1);
    close(fd);
    if (size <= 0) {
        return ORTE_ERR_NOT_FOUND;
    }
    line[size] = '\0';
    const char *field = stat_field(line, START_TIME_FIELD);
    if (!field) {
        return ORTE_ERR_NOT_FOUND;
    }
    *start_time = strtoull(field, NULL, 10);
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
