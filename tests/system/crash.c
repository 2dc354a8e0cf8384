/* A program without Keel that ends by a signal, for the system tests:
 *
 *   crash segv|abrt|fpe|ill|kill [threads]   crashes in tumble(), with "threads" in all of four
 * threads crash default                            the same, when it has taken the default for
 * SIGSEGV crash own                                ends with 3, by a handler of its own crash
 * traced                             has itself traced by its parent, and exits with 4
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
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

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "own") == 0) {
        signal(SIGSEGV, leave);
    } else if (strcmp(how, "default") == 0) {
        signal(SIGSEGV, SIG_DFL);
    } else if (strcmp(how, "traced") == 0) {
        signal(SIGUSR1, SIG_IGN);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGUSR1);
        return 4;
    }
    if (argc > 2) {
        crash_in_threads(argv[1]);
    }
    tumble(how);
    return 0;
}
