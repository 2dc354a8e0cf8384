#include <config.h>

#include <launcher/job/rank_end.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

int rank_end_code(const struct rank_end *end)
{
    int code = WIFSIGNALED(end->wait_status) ? 128 + WTERMSIG(end->wait_status)
                                             : WEXITSTATUS(end->wait_status);
    return code == 0 && end->missing[0] ? 1 : code;
}

/* "signal 11 (SIGSEGV, Segmentation fault)"; real-time signals have no name of their own. */
static void print_signal(int signal, char *text, size_t size)
{
    const char *name = sigabbrev_np(signal);
    snprintf(text, size, "signal %d (%s%s%s%s)", signal, name ? "SIG" : "", name ? name : "",
             name ? ", " : "", strsignal(signal));
}

/* What is known beyond the status. */
static void print_more(const struct rank_end *end, char *text, size_t size)
{
    bool dumped = WIFSIGNALED(end->wait_status) && WCOREDUMP(end->wait_status);
    snprintf(text, size, "%s%s%s%s%s", end->call[0] ? " " : "", end->call,
             end->oom_kill ? " while the cgroup counted an out-of-memory kill" : "",
             !dumped        ? ""
             : end->core[0] ? ", core file "
                            : ", core dumped",
             dumped ? end->core : "");
}

void rank_end_print(const struct rank_end *end, char *text, size_t size)
{
    char signal[96], more[768];
    print_more(end, more, sizeof(more));
    if (WIFSIGNALED(end->wait_status)) {
        print_signal(WTERMSIG(end->wait_status), signal, sizeof(signal));
        snprintf(text, size, "was killed by %s%s", signal, more);
    } else if (WEXITSTATUS(end->wait_status) != 0) {
        snprintf(text, size, "exited with code %d%s", WEXITSTATUS(end->wait_status), more);
    } else {
        snprintf(text, size, "exited without %s", end->missing);
    }
}
