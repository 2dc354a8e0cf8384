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

void rank_end_print_signal(int signal, char *text, size_t size)
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

void rank_end_print(const struct rank_end *end, uint32_t count, char *text, size_t size)
{
    char signal[96], more[768];
    print_more(end, more, sizeof(more));
    if (WIFSIGNALED(end->wait_status)) {
        rank_end_print_signal(WTERMSIG(end->wait_status), signal, sizeof(signal));
        snprintf(text, size, "%s killed by %s%s", count == 1 ? "was" : "were", signal, more);
    } else if (WEXITSTATUS(end->wait_status) != 0) {
        int code = WEXITSTATUS(end->wait_status);
        const char *name = code > 128 ? sigabbrev_np(code - 128) : NULL;
        snprintf(text, size, "exited with code %d%s%s%s%s", code, name ? " (128 + SIG" : "",
                 name ? name : "", name ? ")" : "", more);
    } else {
        snprintf(text, size, "exited without %s", end->missing);
    }
}
