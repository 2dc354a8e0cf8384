#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <launcher/shepherd/exec.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* False, always. */
static bool fail(volatile struct exec_error *error, enum start_stage stage)
{
    error->stage = stage;
    error->error = errno;
    return false;
}

/* What the child is before it runs anything. */
static bool child_settle(const struct exec_plan *plan, pid_t parent, const sigset_t *no_signals,
                         volatile struct exec_error *error)
{
    for (int i = 0; i < PROC_FDS; i++) {
        if (plan->fds[i] >= 0 && dup2(plan->fds[i], i) < 0) {
            return fail(error, START_FORK);
        }
    }
    setsid();
    prctl(PR_SET_PDEATHSIG, plan->death_signal);
    if (getppid() != parent) { /* it died before the line above */
        _exit(127);
    }
    if (plan->traceable) { /* an error where there is no Yama, and no need */
        prctl(PR_SET_PTRACER, (unsigned long) parent, 0, 0, 0);
    }
    if (plan->cpus && sched_setaffinity(0, plan->cpus_size, plan->cpus) < 0) {
        return fail(error, START_BIND);
    }
    if (plan->wdir && chdir(plan->wdir) < 0) {
        return fail(error, START_WDIR);
    }
    sigprocmask(SIG_SETMASK, no_signals, NULL);
    return true;
}

/* Runs in the child, on the memory of its suspended parent: system calls only, and nothing written
 * but *error. */
static __attribute__((noreturn)) void child_run(const struct exec_plan *plan, pid_t parent,
                                                const sigset_t *no_signals,
                                                volatile struct exec_error *error)
{
    if (child_settle(plan, parent, no_signals, error)) {
        execve(plan->program, plan->argv, plan->env);
        if (errno == ENOENT && access(plan->program, F_OK) == 0) {
            errno = ELIBACC; /* what runs it is missing */
        }
        fail(error, START_EXEC);
    }
    _exit(127);
}

/* A child with memory of its own, which tells its error through a pipe. */
static pid_t fork_entry(const struct exec_plan *plan, pid_t parent, const sigset_t *no_signals,
                        volatile struct exec_error *error)
{
    struct exec_error told = {START_FORK, 0};
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        if (!child_settle(plan, parent, no_signals, &told)) {
            (void) !write(pipe_fds[1], &told, sizeof(told));
            _exit(127);
        }
        close_range(plan->fds[RANK_SOCKET] < 0 ? RANK_SOCKET : PROC_FDS, ~0u, 0);
        exit(plan->entry());
    }
    close(pipe_fds[1]);
    if (pid > 0) {
        (void) !read(pipe_fds[0], &told, sizeof(told));
    }
    *error = told;
    close(pipe_fds[0]);
    return pid;
}

pid_t exec_process(const struct exec_plan *plan, struct exec_error *error)
{
    volatile struct exec_error from_child = {START_FORK, 0};
    sigset_t no_signals;
    pid_t parent = getpid();
    sigemptyset(&no_signals);

    pid_t pid = plan->program ? vfork() : fork_entry(plan, parent, &no_signals, &from_child);
    if (pid == 0) {
        child_run(plan, parent, &no_signals, &from_child);
    }
    if (pid < 0) {
        *error = (struct exec_error){START_FORK, errno};
        return -1;
    }
    if (from_child.error != 0) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
        *error = (struct exec_error){from_child.stage, from_child.error};
        return -1;
    }
    return pid;
}
