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

static pid_t shepherd, self;
static atomic_int owner; /* the thread that crashed first */

static void send_again(int number)
{
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

/* The shepherd takes the signal, and stops this process. */
static void stop(int number)
{
    siginfo_t info = {.si_code = SI_QUEUE};
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_int = CRASH_VALUE;
    syscall(SYS_rt_tgsigqueueinfo, info.si_pid, syscall(SYS_gettid), number, &info);
}

/* The first thread that crashes stops the process, and others wait for its end. It comes here again
 * where nobody looks at the process. */
static void stop_once(int number)
{
    int first = 0, thread = (int) syscall(SYS_gettid);
    while (!atomic_compare_exchange_strong(&owner, &first, thread)) {
        if (first == thread) {
            return;
        }
        first = 0;
        pause();
    }
    if (getppid() == shepherd && ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0) {
        stop(number);
    }
}

/* When the debugger has left, an instruction that failed fails again; a signal that was sent is
 * sent again. A process that a rank forked just ends. */
__attribute__((visibility("default"))) void keel_crash(int number, siginfo_t *info, void *context);
void keel_crash(int number, siginfo_t *info, void *context)
{
    const struct sigaction fatal = {.sa_handler = SIG_DFL};
    int error = errno;
    (void) context;
    if (getpid() == self) {
        stop_once(number);
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

/* In decimal; 0: it is none. Not strtol, whose symbol an older libc of the program's may lack. */
static pid_t read_pid(const char *text)
{
    pid_t pid = 0;
    for (; text && *text >= '0' && *text <= '9' && pid < 100000000; text++) {
        pid = 10 * pid + (*text - '0');
    }
    return pid;
}

/* A rank leads a session, and the shepherd is its parent. */
static __attribute__((constructor)) void load(void)
{
    static char stack[STACK_BYTES];
    const stack_t own = {.ss_sp = stack, .ss_size = sizeof(stack)};
    shepherd = read_pid(getenv(CRASH_ENV));
    self = getpid();
    if (shepherd <= 0 || getppid() != shepherd || getsid(0) != self) {
        return;
    }
    sigaltstack(&own, NULL);
    for (size_t i = 0; i < CRASH_SIGNALS; i++) {
        install(crash_signals[i]);
    }
}
