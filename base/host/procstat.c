#include <config.h>

#include <base/host/procstat.h>

#include <base/text/sysfile.h>
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
    (void) sysfile_text(path, line, sizeof(line));
    const char *name_end = strrchr(line, ')'); /* the name may hold anything */
    uint64_t user, system, pages;
    if (!name_end ||
        sscanf(name_end + 1,
               " %c %d %d %*d %*d %*d %u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %*d %*d %*d %*d "
               "%*d %*d %" SCNu64 " %*u %" SCNu64,
               &stat->state, &stat->parent, &stat->group, &stat->flags, &user, &system,
               &stat->start_time, &pages) != 8) {
        return false;
    }
    stat->cpu_ms = (user + system) * 1000u / (uint64_t) sysconf(_SC_CLK_TCK);
    stat->memory_bytes = pages * (uint64_t) sysconf(_SC_PAGESIZE);
    return true;
}

bool process_is_ending(pid_t process)
{
    struct procstat stat;
    return !procstat_read(&stat, process, 0) || stat.state == 'Z' || stat.state == 'X' ||
           (stat.flags & FLAG_EXITING);
}
