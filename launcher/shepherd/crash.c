/* Loaded by the ranks (crash.h). The handler calls only what is safe in one; the program's own
 * handlers are not replaced. */
#include <config.h>

#include <errno.h>
#include <launcher/shepherd/crash.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STACK_BYTES = 64 * 1024 };

static pid_t shepherd;
static atomic_flag taken = ATOMIC_FLAG_INIT;

static void send_again(int number)
{
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

/* The first thread that crashes stops the process, and others wait for its end. When the debugger
 * has left, an instruction that failed fails again; a signal that was sent is sent again. */
__attribute__((visibility("default"))) void keel_crash(int number, siginfo_t *info, void *context);
void keel_crash(int number, siginfo_t *info, void *context)
{
    const struct sigaction fatal = {.sa_handler = SIG_DFL};
    int error = errno;
    (void) context;
    while (atomic_flag_test_and_set(&taken)) {
        pause();
    }
    if (getppid() == shepherd && ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0) {
        send_again(number); /* here it stops */
    }
    sigaction(number, &fatal, NULL);
    if (info->si_code <= 0) {
        send_again(number);
    }
    errno = error;
}

static void install(int number)
{
    struct sigaction before,
        action = {.sa_sigaction = keel_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL) {
        sigaction(number, &action, NULL);
    }
}

/* A rank's children have another parent. */
static __attribute__((constructor)) void load(void)
{
    static char stack[STACK_BYTES];
    const stack_t own = {.ss_sp = stack, .ss_size = sizeof(stack)};
    const char *pid = getenv(CRASH_ENV);
    shepherd = pid ? (pid_t) strtol(pid, NULL, 10) : 0;
    if (shepherd <= 0 || getppid() != shepherd) {
        return;
    }
    sigaltstack(&own, NULL);
    for (size_t i = 0; i < CRASH_SIGNALS; i++) {
        install(crash_signals[i]);
    }
}
