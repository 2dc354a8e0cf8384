/* A program without Keel that ends by a signal, for the system tests:
 *
 *   crash segv|abrt|fpe|ill|kill|trap [threads]   crashes in tumble(), with "threads" in all of
 * four crash default     the same, when it has taken the default for SIGSEGV crash own         ends
 * with 3, by a handler of its own crash traced      has itself traced by its parent, and exits with
 * 4 crash traced HOW  has itself traced, and crashes crash traced exec  has itself traced, and
 * exits with 6 as another program crash orphan      a process that its child forked and left
 * crashes; then it exits with 5 crash detached    the same; the orphan leads a session
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int zero, one = 1, result;
static int *volatile nothing;

__attribute__((noinline)) static void tumble(const char *how)
{
    if (strcmp(how, "abrt") == 0) {
        abort();
    } else if (strcmp(how, "fpe") == 0) {
        result = one / zero;
    } else if (strcmp(how, "ill") == 0) {
        __builtin_trap();
    } else if (strcmp(how, "kill") == 0) {
        kill(getpid(), SIGSEGV);
    } else if (strcmp(how, "trap") == 0) {
        raise(SIGTRAP);
    } else {
        result = *nothing;
    }
    result++; /* so that the compiler keeps this function's frame */
}

static void *run(void *how)
{
    tumble(how);
    return NULL;
}

static void crash_in_threads(void *how)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, run, how);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void leave(int number)
{
    (void) number;
    _exit(3);
}

/* An end of the pipe closes when the orphan ends. */
static int leave_an_orphan(int detached)
{
    int ends[2];
    char byte;
    if (pipe(ends) != 0) {
        return 1;
    }
    pid_t child = fork();
    if (child == 0) {
        pid_t parent = getpid();
        if (fork() != 0) {
            _exit(0);
        }
        if (detached) {
            setsid();
        }
        while (getppid() == parent) {
            usleep(1000);
        }
        tumble("segv");
    }
    close(ends[1]);
    return waitpid(child, NULL, 0) == child && read(ends[0], &byte, 1) == 0 ? 5 : 1;
}

static int run_traced(const char *how)
{
    signal(SIGUSR1, SIG_IGN);
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    if (strcmp(how, "exec") == 0) {
        execl("/bin/sh", "sh", "-c", "exit 6", (char *) NULL);
    } else if (*how) {
        tumble(how);
    } else {
        raise(SIGUSR1);
    }
    return 4;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "own") == 0) {
        signal(SIGSEGV, leave);
    } else if (strcmp(how, "default") == 0) {
        signal(SIGSEGV, SIG_DFL);
    } else if (strcmp(how, "traced") == 0) {
        return run_traced(argc > 2 ? argv[2] : "");
    } else if (strcmp(how, "orphan") == 0 || strcmp(how, "detached") == 0) {
        return leave_an_orphan(how[0] == 'd');
    }
    if (argc > 2) {
        crash_in_threads(argv[1]);
    }
    tumble(how);
    return 0;
}
