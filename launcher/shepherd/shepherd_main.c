#include <config.h>

#include <base/data/array.h>
#include <base/data/strings.h>
#include <base/host/session.h>
#include <base/host/topo.h>
#include <base/settings/log.h>
#include <errno.h>
#include <fcntl.h>
#include <launcher/shepherd/crash.h>
#include <launcher/shepherd/event_queue.h>
#include <launcher/shepherd/exec.h>
#include <launcher/shepherd/procs.h>
#include <launcher/shepherd/shepherd_main.h>
#include <launcher/shepherd/shepherd_wire.h>
#include <launcher/shepherd/sweep.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wireup/frame.h>
#include <wireup/proto.h>

enum {
    STARTS_A_PASS = 16, /* so that ends are noticed while many processes are started */
    READ_BYTES = 64 * 1024,
    APPS_MAX = 65536,
    KILL_STEP_MS = 5,
    SEND_STEP_MS = 5,
};

struct herd {
    int sock, signals, null_fd;
    struct bytes in;
    struct event_queue events; /* closed: the daemon is gone */
    struct procs procs;
    struct wire_app *apps; /* owned, by number; without argv: not defined */
    size_t app_count;
    char **folders; /* owned, NULL-ended */
    char **envp;    /* scratch: the environment of the process being started */
    size_t envp_capacity;
    bool ending;                       /* this process ends when the last descendant has */
    bool clearing;                     /* the daemon is told when the last descendant has ended */
    uint64_t starts;                   /* commands to start so far */
    const _Atomic uint64_t *cancelled; /* the daemon's: so many of them are void */
    int (*entry)(void);                /* of processes without a program; NULL: there are none */
};

static void daemon_gone(struct herd *herd)
{
    event_queue_close(&herd->events);
    herd->ending = true;
    procs_kill(&herd->procs, KILL_ALL);
}

static void flush_events(struct herd *herd)
{
    if (!event_queue_flush(&herd->events)) {
        daemon_gone(herd);
    }
}

/* Starting. */

static bool same_name(const char *a, const char *b)
{
    while (*a == *b && *a != '=' && *a) {
        a++;
        b++;
    }
    return *a == '=' && *b == '=';
}

/* The app's environment with the process's own entries, in herd->envp. */
static bool make_env(struct herd *herd, const struct wire_app *app, const struct wire_proc *proc)
{
    const size_t app_count = strings_count(app->env);
    size_t room = app_count + strings_count(proc->env) + 1;
    if (room > herd->envp_capacity) {
        if (!array_resize(&herd->envp, room, sizeof(*herd->envp))) {
            return false;
        }
        herd->envp_capacity = room;
    }
    size_t count = app_count;
    memcpy(herd->envp, app->env, count * sizeof(*herd->envp));
    for (char **entry = proc->env; *entry; entry++) {
        size_t at = 0;
        while (at < app_count && !same_name(app->env[at], *entry)) {
            at++;
        }
        herd->envp[at < app_count ? at : count++] = *entry;
    }
    herd->envp[count] = NULL;
    return true;
}

/* 0 or -errno. */
static int open_pipe(int descriptor, int *child_fd, int *ours)
{
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) < 0) {
        return -errno;
    }
    *child_fd = descriptor == 0 ? pair[0] : pair[1];
    *ours = descriptor == 0 ? pair[1] : pair[0];
    fcntl(*ours, F_SETFL, O_NONBLOCK);
    return 0;
}

/* What the child gets as descriptor and, for pipes and ptys, the daemon's end in ours. 0 or -errno.
 */
static int open_one(const struct herd *herd, int descriptor, enum proc_stdio kind,
                    struct window window, int child_fds[PROC_FDS], int *ours)
{
    int *child_fd = &child_fds[descriptor];
    switch (kind) {
    case STDIO_NULL:
        *child_fd = herd->null_fd;
        return 0;
    case STDIO_INHERIT:
        *child_fd = -1;
        return 0;
    case STDIO_MERGED:
        *child_fd = fcntl(child_fds[1] >= 0 ? child_fds[1] : STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        return *child_fd < 0 ? -errno : 0;
    case STDIO_PTY:
        if (pty_open(window, ours, child_fd) == 0) {
            return 0;
        }
        break;
    case STDIO_PIPE:
        break;
    }
    return open_pipe(descriptor, child_fd, ours);
}

static int open_stdio(const struct herd *herd, const enum proc_stdio kinds[3], struct window window,
                      int child_fds[PROC_FDS], int ours[PROC_FDS])
{
    int rc = 0;
    for (int i = 0; i < 3 && rc == 0; i++) {
        rc = open_one(herd, i, kinds[i], window, child_fds, &ours[i]);
    }
    return rc;
}

static int open_socket(int child_fds[PROC_FDS], int ours[PROC_FDS])
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        return -errno;
    }
    child_fds[RANK_SOCKET] = pair[0];
    ours[RANK_SOCKET] = pair[1];
    fcntl(ours[RANK_SOCKET], F_SETFL, O_NONBLOCK);
    return 0;
}

static void close_fds(const struct herd *herd, int fds[PROC_FDS])
{
    for (int i = 0; i < PROC_FDS; i++) {
        if (fds[i] >= 0 && fds[i] != herd->null_fd) {
            close(fds[i]);
        }
        fds[i] = -1;
    }
}

/* Starts a process; the daemon's ends of its pipes, pty and socket go to ours. */
static pid_t start(struct herd *herd, const struct wire_app *app, const struct wire_proc *proc,
                   int ours[PROC_FDS], struct exec_error *error)
{
    const enum proc_stdio kinds[3] = {proc->in, app->out, app->err};
    cpu_set_t cpus[TOPO_CPUS_MAX / CPU_SETSIZE];
    struct exec_plan plan = {.program = app->program,
                             .entry = herd->entry,
                             .wdir = app->wdir,
                             .argv = app->argv,
                             .cpus = proc->cpus ? cpus : NULL,
                             .cpus_size = sizeof(cpus),
                             .traceable = app->kind == PROC_RANK,
                             .death_signal = app->kind == PROC_RANK ? SIGKILL : SIGTERM,
                             .fds = {-1, -1, -1, -1}};
    if (proc->cpus && !topo_list_set(proc->cpus, cpus, sizeof(cpus))) {
        *error = (struct exec_error){START_BIND, EINVAL};
        return -1;
    }
    *error = (struct exec_error){START_FORK, ENOMEM};
    if (!make_env(herd, app, proc) || !procs_reserve(&herd->procs)) {
        return -1;
    }
    plan.env = herd->envp;
    pid_t pid = -1;
    int rc = open_stdio(herd, kinds, app->window, plan.fds, ours);
    if (rc == 0 && app->socket) {
        rc = open_socket(plan.fds, ours);
    }
    if (rc < 0) {
        error->error = -rc;
    } else {
        pid = exec_process(&plan, error);
    }
    close_fds(herd, plan.fds);
    if (pid < 0) {
        close_fds(herd, ours);
    }
    return pid;
}

static void report_failure(struct herd *herd, uint32_t id, struct exec_error error)
{
    event_queue_add(&herd->events,
                    (struct shepherd_event){EVENT_FAILED, id, error.error, (uint32_t) error.stage});
}

/* Why it is not even tried. */
static struct exec_error refuse(const struct herd *herd, const struct wire_proc *proc,
                                const struct wire_app *app, bool cancelled)
{
    if (herd->procs.killing || herd->ending || cancelled) {
        return (struct exec_error){START_FORK, ECANCELED};
    }
    int error = EINVAL;
    if (!app) {
        error = proc->app == UINT32_MAX ? E2BIG : EINVAL;
    } else if (app->error || app->program || herd->entry) {
        error = (int) app->error;
    }
    return (struct exec_error){START_EXEC, error};
}

/* Commands. */

static int do_start(struct herd *herd, opal_buffer_t *command)
{
    struct wire_proc proc;
    int status = command_read_start(command, &proc);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    bool defined = proc.app < herd->app_count && herd->apps[proc.app].argv;
    const struct wire_app *app = defined ? &herd->apps[proc.app] : NULL;
    bool cancelled = ++herd->starts <= atomic_load(herd->cancelled);
    struct exec_error error = refuse(herd, &proc, app, cancelled);
    int ours[PROC_FDS] = {-1, -1, -1, -1};
    pid_t pid = error.error ? -1 : start(herd, app, &proc, ours, &error);
    if (pid < 0) {
        report_failure(herd, proc.id, error);
    } else {
        procs_add(&herd->procs, (struct proc){pid, proc.id, app->kind});
        event_queue_add_start(&herd->events, proc.id, pid, ours);
    }
    wire_proc_fini(&proc);
    return ORTE_SUCCESS;
}

static int do_app(struct herd *herd, opal_buffer_t *command)
{
    struct wire_app app;
    int status = command_read_app(command, &app);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    if (app.app >= herd->app_count && app.app < APPS_MAX &&
        array_extend(&herd->apps, herd->app_count, app.app + 1, sizeof(*herd->apps))) {
        herd->app_count = app.app + 1;
    }
    if (app.app >= herd->app_count) {
        wire_app_fini(&app); /* its processes will fail: not defined */
        return ORTE_SUCCESS;
    }
    wire_app_fini(&herd->apps[app.app]);
    herd->apps[app.app] = app;
    return ORTE_SUCCESS;
}

static int do_signal(struct herd *herd, opal_buffer_t *command)
{
    uint32_t id, signal;
    int status = proto_unpack(command, "uu", &id, &signal);
    if (status == OPAL_SUCCESS && signal >= NSIG) {
        status = ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    if (status == OPAL_SUCCESS) {
        procs_signal(&herd->procs, id, (int) signal);
    }
    return status;
}

static int do_umask(opal_buffer_t *command)
{
    uint32_t mask;
    int status = proto_unpack(command, "u", &mask);
    if (status == OPAL_SUCCESS && mask > 0777) {
        status = ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    if (status == OPAL_SUCCESS) {
        umask((mode_t) mask);
    }
    return status;
}

static int do_guard(struct herd *herd, opal_buffer_t *command)
{
    char *folder;
    int status = proto_unpack(command, "s", &folder);
    if (status == OPAL_SUCCESS && folder[0] != '/') {
        free(folder);
        return ORTE_ERR_BAD_PARAM;
    }
    if (status == OPAL_SUCCESS && !strings_add(&herd->folders, folder)) {
        log_warn(LOG_LAUNCHER, "out of memory: a folder stays behind if the daemon is lost");
    }
    return status;
}

static int do_kill(struct herd *herd, enum killing whom)
{
    procs_kill(&herd->procs, whom);
    return ORTE_SUCCESS;
}

static int do_command(struct herd *herd, opal_buffer_t *command)
{
    uint8_t type = 0;
    int status = proto_unpack(command, "c", &type);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    herd->clearing = herd->clearing || type == COMMAND_CLEAR;
    herd->ending = herd->ending || type == COMMAND_END;
    switch (type) {
    case COMMAND_APP:
        return do_app(herd, command);
    case COMMAND_START:
        return do_start(herd, command);
    case COMMAND_SIGNAL:
        return do_signal(herd, command);
    case COMMAND_UMASK:
        return do_umask(command);
    case COMMAND_GUARD:
        return do_guard(herd, command);
    case COMMAND_KILL_RANKS:
        return do_kill(herd, KILL_RANKS);
    case COMMAND_KILL_ALL:
    case COMMAND_CLEAR:
    case COMMAND_END:
        return do_kill(herd, KILL_ALL);
    default:
        return ORTE_ERR_BAD_PARAM;
    }
}

static bool command_fits(const struct herd *herd)
{
    return event_queue_fits(&herd->events, PROC_FDS);
}

/* Returns whether commands may be left over. */
static bool do_commands(struct herd *herd)
{
    opal_buffer_t *command = NULL;
    for (int i = 0; i < STARTS_A_PASS; i++) {
        if (!command_fits(herd)) {
            flush_events(herd);
        }
        if (!command_fits(herd)) {
            return false;
        }
        int status = frame_next(&herd->in, COMMAND_BYTES_MAX, &command);
        if (status == ORTE_SUCCESS && !command) {
            return false;
        }
        if (command) {
            status = do_command(herd, command);
            status =
                status == ORTE_SUCCESS && proto_left(command) > 0 ? ORTE_ERR_BAD_PARAM : status;
            OBJ_RELEASE(command);
        }
        if (status != ORTE_SUCCESS) {
            daemon_gone(herd); /* one that speaks like this, or for whose words there is no memory,
                                * is as good as gone */
            return false;
        }
    }
    return true;
}

static void read_commands(struct herd *herd)
{
    if (!bytes_reserve(&herd->in, READ_BYTES)) {
        daemon_gone(herd);
        return;
    }
    ssize_t got = recv(herd->sock, herd->in.data + herd->in.tail, READ_BYTES, MSG_DONTWAIT);
    if (got > 0) {
        herd->in.tail += (size_t) got;
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        daemon_gone(herd);
    }
}

/* Children. */

static void report_exit(struct herd *herd, pid_t pid, int status, const struct rusage *used)
{
    uint32_t id;
    if (procs_remove(&herd->procs, pid, &id)) {
        event_queue_add(&herd->events, (struct shepherd_event){EVENT_EXITED, id, status,
                                                               (uint32_t) used->ru_maxrss});
    }
}

/* A process that has let itself be traced stops before each signal, and at an execve: it is let go.
 * One that asks for it (crash.h) stays stopped. */
static void let_go(struct herd *herd, pid_t thread, int number)
{
    uint32_t id;
    siginfo_t info = {0};
    (void) ptrace(PTRACE_GETSIGINFO, thread, NULL, &info);
    bool at_exec = number == SIGTRAP && info.si_code == SI_USER;
    bool crashed = crash_has(number) && info.si_code == SI_QUEUE &&
                   info.si_value.sival_int == CRASH_VALUE &&
                   procs_find(&herd->procs, getsid(thread), &id);
    int passed = crashed ? SIGSTOP : at_exec ? 0 : number;
    ptrace(PTRACE_DETACH, thread, NULL, (void *) (uintptr_t) passed);
    if (crashed) {
        event_queue_add(&herd->events, (struct shepherd_event){EVENT_CRASHED, id, number, 0});
    }
}

/* Reaps while the ends can be reported. */
static void reap(struct herd *herd)
{
    for (;;) {
        if (!event_queue_fits(&herd->events, 0)) {
            flush_events(herd);
        }
        int status;
        struct rusage used;
        pid_t pid = event_queue_fits(&herd->events, 0) ? wait4(-1, &status, WNOHANG, &used) : 0;
        if (pid > 0 && WIFSTOPPED(status)) {
            let_go(herd, pid, WSTOPSIG(status));
        } else if (pid > 0) {
            report_exit(herd, pid, status, &used);
        } else if (pid == 0 || errno != EINTR) {
            return;
        }
    }
}

/* The process. */

static void wait_for_events(struct herd *herd, bool commands_left)
{
    struct pollfd fds[2] = {{.fd = herd->events.closed ? -1 : herd->sock},
                            {herd->signals, POLLIN, 0}};
    bool blocked = event_queue_is_blocked(&herd->events);
    fds[0].events = blocked ? POLLOUT : POLLIN;
    int timeout = -1;
    if (herd->procs.killing) {
        timeout = KILL_STEP_MS;
    } else if (blocked) {
        timeout = SEND_STEP_MS; /* some shortages raise no event when they are over */
    }
    if (poll(fds, 2, commands_left ? 0 : timeout) <= 0) {
        return;
    }
    if (fds[1].revents) {
        struct signalfd_siginfo info[8];
        while (read(herd->signals, info, sizeof(info)) == (ssize_t) sizeof(info)) {
        }
    }
    if (fds[0].revents & (POLLIN | POLLHUP | POLLERR)) {
        read_commands(herd);
    }
}

static void remove_folders(struct herd *herd)
{
    for (char **folder = herd->folders; folder && *folder; folder++) {
        session_remove(*folder);
    }
    strings_free(herd->folders);
    herd->folders = NULL;
}

static void cleared(struct herd *herd)
{
    struct shepherd_event event = {.type = EVENT_CLEARED, .value = (int32_t) herd->procs.count};
    herd->clearing = false;
    remove_folders(herd);
    while (herd->app_count > 0) {
        wire_app_fini(&herd->apps[--herd->app_count]);
    }
    event_queue_add(&herd->events, event);
}

static void run(struct herd *herd)
{
    bool commands_left = false;
    while (!herd->ending || herd->procs.killing) {
        wait_for_events(herd, commands_left);
        commands_left = do_commands(herd);
        reap(herd);
        if (herd->procs.killing) {
            procs_kill_step(&herd->procs);
        }
        if (herd->clearing && !herd->procs.killing && event_queue_fits(&herd->events, 0)) {
            cleared(herd);
        }
        flush_events(herd);
    }
}

/* Own session, so that no terminal reaches it; the only descriptors are the standard ones, of which
 * the input is its daemon's alone, and the socket; every signal is at its default for the children,
 * and blocked here. */
static int set_up(struct herd *herd, int sock, const _Atomic uint64_t *cancelled,
                  int (*entry)(void))
{
    sigset_t all, child;
    setsid();
    prctl(PR_SET_NAME, SHEPHERD_NAME);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (int i = 1; i < NSIG; i++) {
        signal(i, SIG_DFL);
    }
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (null_fd >= 0 && null_fd <= 2) { /* a standard descriptor was closed */
        fcntl(null_fd, F_SETFD, 0);
        null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    }
    dup2(null_fd, STDIN_FILENO);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    *herd = (struct herd){.sock = sock,
                          .null_fd = null_fd,
                          .cancelled = cancelled,
                          .entry = entry,
                          .signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK)};
    event_queue_open(&herd->events, sock);
    return null_fd >= 0 && herd->signals >= 0 ? 0 : -errno;
}

/* Closes what the daemon had open before it made this process. */
static int close_others(int sock)
{
    if (sock != 3) {
        sock = dup3(sock, 3, O_CLOEXEC);
    }
    close_range(4, ~0u, 0);
    return sock;
}

void shepherd_main(int sock, const _Atomic uint64_t *cancelled, int (*entry)(void))
{
    struct herd herd;
    if (sock <= 2 || (sock = close_others(sock)) < 0 || set_up(&herd, sock, cancelled, entry) < 0) {
        _exit(1);
    }
    run(&herd);
    remove_folders(&herd);
    flush_events(&herd);
    _exit(0);
}
