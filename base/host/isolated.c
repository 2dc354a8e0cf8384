#include <config.h>

#include <base/host/isolated.h>

#include <base/data/clock.h>
#include <base/text/text_file.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the child --- */

/* The parent's handlers would write to the parent's descriptors. */
static void default_signals(void)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* What this process has mapped; a sanitizer maps terabytes. */
static uint64_t mapped_bytes(void)
{
    unsigned long long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    if (statm) {
        (void) !fscanf(statm, "%llu", &pages);
        fclose(statm);
    }
    return (uint64_t) pages * (uint64_t) sysconf(_SC_PAGESIZE);
}

static bool limit(int resource, uint64_t value)
{
    struct rlimit old;
    if (getrlimit(resource, &old) < 0) {
        return false;
    }
    rlim_t lower = value < old.rlim_max ? value : old.rlim_max;
    return setrlimit(resource, &(struct rlimit){lower, lower}) == 0;
}

/* Nothing of the parent's is left but its memory, and where the kernel does not know close_range,
 * or forbids it, descriptors. */
static bool confine(const struct isolated *isolated, pid_t parent)
{
    uint64_t mapped = mapped_bytes();
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0) {
        return false;
    }
    (void) close_range(STDERR_FILENO + 1, ~0u, 0);
    alarm(isolated->time_s);
    errno = ESRCH; /* of what sets none */
    return prctl(PR_SET_DUMPABLE, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
           getppid() == parent && limit(RLIMIT_CPU, isolated->cpu_s) && mapped > 0 &&
           limit(RLIMIT_AS, mapped + isolated->memory_bytes);
}

_Noreturn static void run_child(const struct isolated *isolated, int out, pid_t parent)
{
    default_signals();
    if (dup2(out, STDOUT_FILENO) < 0 || !confine(isolated, parent)) {
        dprintf(STDOUT_FILENO, "cannot confine %s: %s", isolated->name, strerror(errno));
        _exit(-ORTE_ERROR);
    }
    FILE *stream = fdopen(STDOUT_FILENO, "w");
    int status = stream ? isolated->work(stream, isolated->arg) : ORTE_ERR_OUT_OF_RESOURCE;
    _exit(!stream || fclose(stream) == 0 ? -status : -ORTE_ERROR);
}

/* --- the parent --- */

/* All signals wait meanwhile: the child has to come back to its own first. */
static pid_t fork_child(const struct isolated *isolated, int out)
{
    sigset_t all, before;
    pid_t parent = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t child = fork();
    if (child == 0) {
        run_child(isolated, out, parent);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return child;
}

/* Why the child's work is worth nothing; "": it is what it wrote. error: of the reading. */
static void explain(const struct isolated *isolated, int error, size_t used, int wait_status,
                    char *why, size_t size)
{
    *why = '\0';
    if (error == ETIMEDOUT || (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGALRM)) {
        snprintf(why, size, "%s has not finished within %u s", isolated->name, isolated->time_s);
    } else if (error) {
        snprintf(why, size, "%s", strerror(error));
    } else if (used > isolated->text_max) {
        snprintf(why, size, "%s wrote more than %zu bytes", isolated->name, isolated->text_max);
    } else if (WIFSIGNALED(wait_status)) {
        snprintf(why, size, "%s was ended by signal %d (%s)", isolated->name, WTERMSIG(wait_status),
                 strsignal(WTERMSIG(wait_status)));
    } else if (WEXITSTATUS(wait_status) != 0 && used == 0) {
        snprintf(why, size, "%s ended with status %d", isolated->name, WEXITSTATUS(wait_status));
    }
}

/* Reads what comes from the child, and waits for its end. */
static int finish(const struct isolated *isolated, pid_t child, int in, char *text, char *reason,
                  size_t reason_size)
{
    uint64_t deadline_us = clock_us() + isolated->time_s * UINT64_C(1000000);
    int wait_status = 0;
    size_t used = 0;
    int error = text_file_fill(in, text, isolated->text_max + 1, &used, deadline_us);
    if (error || used > isolated->text_max) {
        kill(child, SIGKILL);
    }
    while (waitpid(child, &wait_status, 0) < 0 && error != ECHILD) {
        error = errno == EINTR ? error : errno;
    }
    text[used <= isolated->text_max ? used : 0] = '\0';
    explain(isolated, error, used, wait_status, reason, reason_size);
    if (*reason) {
        return ORTE_ERR_BAD_PARAM;
    }
    if (WEXITSTATUS(wait_status) != 0) {
        snprintf(reason, reason_size, "%s", text);
    }
    return -WEXITSTATUS(wait_status);
}

int isolated_run(const struct isolated *isolated, char **text, char *reason, size_t reason_size)
{
    int ends[2], status = ORTE_ERR_OUT_OF_RESOURCE;
    char *bytes = malloc(isolated->text_max + 1);
    if (!bytes || pipe2(ends, O_CLOEXEC) < 0) {
        snprintf(reason, reason_size, "%s", strerror(errno));
        goto no_pipe;
    }
    pid_t child = fork_child(isolated, ends[1]);
    close(ends[1]);
    if (child < 0) {
        snprintf(reason, reason_size, "%s", strerror(errno));
    } else {
        status = finish(isolated, child, ends[0], bytes, reason, reason_size);
    }
    close(ends[0]);
no_pipe:
    if (status == ORTE_SUCCESS) {
        *text = bytes;
    } else {
        free(bytes);
    }
    return status;
}
