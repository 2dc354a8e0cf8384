#include <config.h>

#include <base/host/procstat.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FLAG_EXITING = 0x4 }; /* PF_EXITING of the kernel */

bool procstat_read(struct procstat *stat, pid_t process, pid_t thread)
{
    char path[64], line[1024];
    if (thread > 0) {
        snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int) process, (int) thread);
    } else {
        snprintf(path, sizeof(path), "/proc/%d/stat", (int) process);
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t size = read(fd, line, sizeof(line) - 1);
    close(fd);
    line[size > 0 ? size : 0] = '\0';
    const char *name_end = strrchr(line, ')'); /* the name may hold anything */
    return name_end &&
           sscanf(name_end + 1,
                  " %c %d %d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                  "%*d %*d %" SCNu64,
                  &stat->state, &stat->parent, &stat->group, &stat->flags, &stat->start_time) == 5;
}

bool process_is_ending(pid_t process)
{
    struct procstat stat;
    return !procstat_read(&stat, process, 0) || stat.state == 'Z' || stat.state == 'X' ||
           (stat.flags & FLAG_EXITING);
}
