#include <config.h>

#include <bench/run.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CLEAN_UP_MS = 5000, CLEAN_UP_STEP_MS = 10 };

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

static double ms_of(const struct timeval *time)
{
    return (double) time->tv_sec * 1e3 + (double) time->tv_usec / 1e3;
}

void run_prepare(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

bool run_own_folder(char *folder, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", folder, size - 1);
    folder[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash) {
        *slash = '\0';
    }
    return slash != NULL;
}

bool run_find(char path[PATH_MAX], const char *name)
{
    const char *folder = getenv("PATH");
    for (folder = folder ? folder : "/usr/bin:/bin"; *folder; folder += *folder == ':') {
        int length = (int) strcspn(folder, ":");
        if (snprintf(path, PATH_MAX, "%.*s/%s", length, folder, name) < PATH_MAX &&
            access(path, X_OK) == 0) {
            return true;
        }
        folder += length;
    }
    *path = '\0';
    return false;
}

/* A group of its own, input from nowhere, output into the two files. 0 or an errno. */
static int start(const char *const argv[], int out, int err, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char *const *arguments = (char *const *) (uintptr_t) argv; /* left as they are */
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, err, 2);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    int error = posix_spawnp(pid, argv[0], &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Sleeps until the process has ended; false: it has not in time. */
static bool wait_for_end(pid_t pid, unsigned limit_ms)
{
    int fd = (int) syscall(SYS_pidfd_open, pid, 0);
    struct pollfd ended = {.fd = fd, .events = POLLIN};
    double deadline = now_ms() + limit_ms;
    int got;
    do {
        got = poll(&ended, 1, (int) (deadline - now_ms()) + 1);
    } while (got < 0 && errno == EINTR);
    close(fd);
    return got == 1;
}

static void kill_children(void)
{
    char path[64], line[4096];
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int) getpid());
    FILE *file = fopen(path, "re");
    if (!file) {
        return;
    }
    while (fgets(line, sizeof(line), file)) {
        char *rest = line;
        for (char *word; (word = strtok_r(rest, " \n", &rest));) {
            kill((pid_t) atoi(word), SIGKILL);
        }
    }
    fclose(file);
}

/* Nothing that a run leaves may share the processors with the next one. */
static void clean_up(bool by_force)
{
    double deadline = now_ms() + CLEAN_UP_MS;
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0 && now_ms() < deadline) {
        if (pid == 0) {
            if (by_force) {
                kill_children();
            }
            poll(NULL, 0, CLEAN_UP_STEP_MS);
        }
    }
    kill_children();
}

/* The number of lines, and the last one. */
static size_t read_lines(int fd, char *last, size_t last_size)
{
    FILE *file = fdopen(fd, "r");
    char *line = NULL;
    size_t capacity = 0, count = 0;
    rewind(file);
    while (getline(&line, &capacity, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        count++;
        if (*line) {
            snprintf(last, last_size, "%s", line);
        }
    }
    free(line);
    fclose(file);
    return count;
}

static void read_output(int fd, char *text, size_t size)
{
    ssize_t length = pread(fd, text, size - 1, 0);
    text[length > 0 ? length : 0] = '\0';
}

static void finish(struct run *run, int status, int out, int err)
{
    char last[sizeof(run->reason)] = "", ignored[sizeof(run->reason)];
    read_output(out, run->output, sizeof(run->output));
    run->lines = read_lines(out, ignored, sizeof(ignored));
    read_lines(err, last, sizeof(last));
    if (run->end == RUN_DID_NOT_END) {
        snprintf(run->reason, sizeof(run->reason), "did not end");
    } else if (WIFSIGNALED(status)) {
        run->end = RUN_FAILED;
        snprintf(run->reason, sizeof(run->reason), "signal %d", WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
        run->end = RUN_FAILED;
        snprintf(run->reason, sizeof(run->reason), "exit code %d: %.200s", WEXITSTATUS(status),
                 last);
    }
}

void run_command(const char *const argv[], unsigned limit_ms, struct run *run)
{
    int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC);
    struct rusage usage;
    pid_t pid;
    int status = 0;
    *run = (struct run){.end = RUN_PASSED};

    double begin = now_ms();
    int error = start(argv, out, err, &pid);
    if (error != 0) {
        close(out);
        close(err);
        run->end = RUN_FAILED;
        snprintf(run->reason, sizeof(run->reason), "%s: %s", argv[0], strerror(error));
        return;
    }
    if (!wait_for_end(pid, limit_ms)) {
        run->end = RUN_DID_NOT_END;
        kill(-pid, SIGKILL);
    }
    run->wall_ms = now_ms() - begin;
    while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    run->cpu_ms = ms_of(&usage.ru_utime) + ms_of(&usage.ru_stime);
    clean_up(run->end == RUN_DID_NOT_END);
    finish(run, status, out, err);
}
