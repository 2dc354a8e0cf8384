#include <config.h>

#include <base/data/clock.h>
#include <base/host/procstat.h>
#include <dirent.h>
#include <errno.h>
#include <launcher/shepherd/sweep.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SWEEP_BATCH = 1024,
    PAUSE_US = 2000,
    SHEPHERD_GRACE_US = 500000,
    LIMITS_MAX = 5, /* while processes end, if slowly */
};

/* A file of pids: /proc/self/task/TID/children. False: the kernel has none. */
static bool read_children(const char *tid, pid_t *pids, size_t max, size_t *count)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%.20s/children", tid);
    FILE *file = fopen(path, "re");
    if (!file) {
        return false;
    }
    int pid;
    while (*count < max && fscanf(file, "%d", &pid) == 1) {
        pids[(*count)++] = pid;
    }
    fclose(file);
    return true;
}

static size_t scan_all(pid_t *pids, size_t max)
{
    size_t count = 0;
    pid_t self = getpid();
    DIR *dir = opendir("/proc");
    for (struct dirent *entry; dir && count < max && (entry = readdir(dir)) != NULL;) {
        struct procstat stat;
        pid_t pid = (pid_t) strtol(entry->d_name, NULL, 10);
        if (pid > 0 && procstat_read(&stat, pid, 0) && stat.parent == self) {
            pids[count++] = pid;
        }
    }
    if (dir) {
        closedir(dir);
    }
    return count;
}

size_t sweep_children(pid_t *pids, size_t max)
{
    size_t count = 0;
    bool known = false;
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.' && read_children(entry->d_name, pids, max, &count)) {
            known = true;
        }
    }
    if (dir) {
        closedir(dir);
    }
    return known ? count : scan_all(pids, max);
}

static bool is_among(pid_t pid, const pid_t *pids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (pids[i] == pid) {
            return true;
        }
    }
    return false;
}

/* By its name, which any process may give itself: that gains it some time, no more. */
static bool is_shepherd(pid_t pid)
{
    char path[64], name[32] = "";
    if (getsid(pid) != pid) {
        return false;
    }
    snprintf(path, sizeof(path), "/proc/%d/comm", (int) pid);
    FILE *file = fopen(path, "re");
    if (!file) {
        return false;
    }
    bool is = fgets(name, sizeof(name), file) && strcmp(name, SHEPHERD_NAME "\n") == 0;
    fclose(file);
    return is;
}

size_t sweep_kill(const pid_t *spared, size_t count, bool spare_shepherds)
{
    pid_t children[SWEEP_BATCH];
    size_t found = sweep_children(children, SWEEP_BATCH), left = 0;
    for (size_t i = 0; i < found; i++) {
        if (is_among(children[i], spared, count)) {
            continue;
        }
        left++;
        if (spare_shepherds && is_shepherd(children[i])) {
            continue;
        }
        if (getpgid(children[i]) == children[i]) {
            kill(-children[i], SIGKILL);
        }
        kill(children[i], SIGKILL);
    }
    return left;
}

/* Is the string in a file of zero-ended strings? */
static bool has_string(FILE *file, const char *string)
{
    char *text = NULL;
    size_t room = 0;
    bool found = false;
    while (!found && getdelim(&text, &room, '\0', file) > 0) {
        found = strcmp(text, string) == 0;
    }
    free(text);
    return found;
}

/* A pidfd is held while the environment is read, so that no other process gets the signal. */
static void kill_marked(pid_t pid, const char *variable)
{
    char path[64];
    int held = (int) syscall(SYS_pidfd_open, pid, 0);
    snprintf(path, sizeof(path), "/proc/%d/environ", (int) pid);
    FILE *file = held >= 0 ? fopen(path, "re") : NULL;
    if (file && has_string(file, variable)) {
        syscall(SYS_pidfd_send_signal, held, SIGKILL, NULL, 0);
    }
    if (file) {
        fclose(file);
    }
    if (held >= 0) {
        close(held);
    }
}

void sweep_marked(const char *variable)
{
    DIR *dir = opendir("/proc");
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        pid_t pid = (pid_t) strtol(entry->d_name, NULL, 10);
        if (pid > 1 && pid != getpid()) {
            kill_marked(pid, variable);
        }
    }
    if (dir) {
        closedir(dir);
    }
}

/* Reaps what has ended, the spared too, and counts it; false: there is no child at all. */
static bool reap(unsigned *count)
{
    pid_t pid;
    do {
        pid = waitpid(-1, NULL, WNOHANG);
        *count += pid > 0;
    } while (pid > 0 || (pid < 0 && errno == EINTR));
    return pid == 0;
}

/* Whether a child that is not spared is left. */
static bool any_left(const pid_t *spared, size_t count)
{
    pid_t children[16];
    if (count == 0) {
        return true; /* reap found one */
    }
    size_t max = sizeof(children) / sizeof(*children);
    size_t found = sweep_children(children, max);
    for (size_t i = 0; i < found; i++) {
        if (!is_among(children[i], spared, count)) {
            return true;
        }
    }
    return found == max;
}

bool sweep_until(const pid_t *spared, size_t count, uint64_t kill_us, uint64_t deadline_us)
{
    uint64_t begun_us = clock_us(), ended_us = begun_us;
    uint64_t limit_us = deadline_us > begun_us ? deadline_us - begun_us : 0;
    unsigned reaped = 0, before = 0;
    while (reap(&reaped) && any_left(spared, count)) {
        uint64_t now = clock_us();
        ended_us = reaped > before ? now : ended_us;
        before = reaped;
        if (now > ended_us + limit_us || now > begun_us + limit_us * LIMITS_MAX) {
            return false;
        }
        if (now >= kill_us) {
            sweep_kill(spared, count, now < kill_us + SHEPHERD_GRACE_US);
        }
        usleep(PAUSE_US);
    }
    return true;
}
