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

void rank_end_print(const struct rank_end *end, char *text, size_t size)
{
    int status = end->wait_status;
    const char *in = end->call[0] ? " " : "";
    char signal[96];
    if (WIFSIGNALED(status)) {
        print_signal(WTERMSIG(status), signal, sizeof(signal));
        snprintf(text, size, "was killed by %s%s%s%s", signal, in, end->call,
                 WCOREDUMP(status) ? ", core dumped" : "");
    } else if (WEXITSTATUS(status) != 0) {
        snprintf(text, size, "exited with code %d%s%s", WEXITSTATUS(status), in, end->call);
    } else {
        snprintf(text, size, "exited without %s", end->missing);
    }
}
