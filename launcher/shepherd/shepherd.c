#include <config.h>

#include <base/data/clock.h>
#include <base/data/strings.h>
#include <base/host/procstat.h>
#include <base/host/session.h>
#include <base/net/sock.h>
#include <base/settings/log.h>
#include <errno.h>
#include <fcntl.h>
#include <launcher/shepherd/shepherd.h>
#include <launcher/shepherd/shepherd_main.h>
#include <launcher/shepherd/shepherd_wire.h>
#include <launcher/shepherd/sweep.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wireup/frame.h>
#include <wireup/proto.h>

enum {
    EVENTS_A_READ = 64,
    GROUP_FDS = 253, /* the kernel passes no more with one write */
    WRITE_SOON_BYTES = 16 * 1024,
    END_LIMIT_US = 2000000,
    AGENT_GRACE_US = 500000,
    ANSWER_US = 250000,
    ANSWER_STEP_MS = 50,
    SPARED_MAX = 64,
};

/* Descriptors that came with one write of the shepherd's, until its EVENT_FDS is handled. */
struct group {
    struct list link;
    size_t count, used;
    int fds[GROUP_FDS]; /* owned */
};

struct shepherd {
    pid_t pid; /* 0: ended and reaped */
    int sock;
    struct loop *loop; /* borrowed; NULL: not attached */
    struct loop_io io;
    struct loop_task flush;
    struct loop_timer answer_timer;
    struct shepherd_ops ops;
    void *arg;
    struct bytes out; /* commands that wait */
    struct bytes in;  /* events, the last perhaps in part */
    struct list groups;
    struct group *current;    /* owned: whose descriptors come next; NULL: nobody's */
    size_t missing;           /* descriptors of the current group that did not arrive */
    char **folders;           /* owned, guarded */
    pid_t spared[SPARED_MAX]; /* children that this process had before: strangers */
    size_t spared_count;
    bool has_agents;
    bool lost;
    uint64_t starts;             /* commands to start so far */
    _Atomic uint64_t *cancelled; /* owned; shared with the process: so many of them are void */
};

/* Above the standard descriptors, that a shepherd may want to fill. */
static int lift_fd(int fd)
{
    if (fd > 2) {
        return fd;
    }
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    int error = errno;
    close(fd);
    return high < 0 ? -error : high;
}

static int make_sockets(int fds[2])
{
    int rc = fd_socketpair(fds, SOCK_STREAM);
    for (int i = 0; i < 2 && rc == 0; i++) {
        fds[i] = lift_fd(fds[i]);
        if (fds[i] < 0) {
            rc = fds[i];
            fd_close(&fds[!i]);
        }
    }
    return rc;
}

/* With all signals blocked in the child: until it leaves the daemon's group it would get theirs. */
static pid_t fork_masked(void)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pid_t pid = fork();
    if (pid != 0) {
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    return pid;
}

int shepherd_start(struct shepherd **out)
{
    return shepherd_start_with(out, NULL);
}

int shepherd_start_with(struct shepherd **out, int (*entry)(void))
{
    int fds[2];
    struct shepherd *shepherd = calloc(1, sizeof(*shepherd));
    int rc = shepherd ? make_sockets(fds) : -ENOMEM;
    if (rc < 0) {
        goto free_shepherd;
    }
    shepherd->cancelled = mmap(NULL, sizeof(*shepherd->cancelled), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shepherd->cancelled == MAP_FAILED) {
        rc = -errno;
        goto close_sockets;
    }
    list_init(&shepherd->groups);
    shepherd->spared_count = sweep_children(shepherd->spared, SPARED_MAX);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    shepherd->pid = fork_masked();
    if (shepherd->pid < 0) {
        rc = -errno;
        goto unmap;
    }
    if (shepherd->pid == 0) {
        shepherd_main(fds[1], shepherd->cancelled, entry);
    }
    close(fds[1]);
    shepherd->sock = fds[0];
    fcntl(shepherd->sock, F_SETFL, O_NONBLOCK);
    *out = shepherd;
    return 0;

unmap:
    munmap(shepherd->cancelled, sizeof(*shepherd->cancelled));
close_sockets:
    close(fds[0]);
    close(fds[1]);
free_shepherd:
    free(shepherd);
    return rc;
}

/* Commands. */

static void watch(struct shepherd *shepherd)
{
    if (shepherd->loop && !shepherd->lost) {
        short events = bytes_waiting(&shepherd->out) > 0 ? EV_READ | EV_WRITE : EV_READ;
        if (events != shepherd->io.events) {
            loop_io_watch(&shepherd->io, events);
        }
    }
}

/* Writes what the socket takes. An error is left to the reading side: it sees the same end. */
static void flush_commands(struct shepherd *shepherd)
{
    struct bytes *out = &shepherd->out;
    while (bytes_waiting(out) > 0 && !shepherd->lost) {
        ssize_t sent = send(shepherd->sock, out->data + out->head, bytes_waiting(out),
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EINTR) {
            break;
        }
        bytes_consume(out, sent < 0 ? 0 : (size_t) sent);
    }
    watch(shepherd);
}

static void flush_task(struct loop_task *task)
{
    flush_commands(container_of(task, struct shepherd, flush));
}

/* Takes the command; NULL: no memory. Many small ones go together when the loop comes round. */
static bool send_command(struct shepherd *shepherd, opal_buffer_t *command)
{
    bool put = command && frame_put(&shepherd->out, command, COMMAND_BYTES_MAX) == ORTE_SUCCESS;
    if (command) {
        OBJ_RELEASE(command);
    }
    if (!put) {
        log_error(LOG_LAUNCHER, "a command to the shepherd is lost: out of memory");
    }
    if (!shepherd->loop || bytes_waiting(&shepherd->out) > WRITE_SOON_BYTES) {
        flush_commands(shepherd);
    } else {
        loop_post(shepherd->loop, &shepherd->flush);
    }
    return put;
}

void shepherd_define_app(struct shepherd *shepherd, uint32_t app, const struct start_app *spec)
{
    shepherd->has_agents = shepherd->has_agents || spec->kind != PROC_RANK;
    (void) send_command(shepherd, command_app(app, spec));
}

void shepherd_start_proc(struct shepherd *shepherd, uint32_t app, const struct start_proc *proc)
{
    shepherd->starts += send_command(shepherd, command_start(app, proc));
}

void shepherd_cancel_starts(struct shepherd *shepherd)
{
    atomic_store(shepherd->cancelled, shepherd->starts);
}

void shepherd_signal(struct shepherd *shepherd, uint32_t id, int signal)
{
    (void) send_command(shepherd, proto_new(COMMAND_SIGNAL, "uu", id, (uint32_t) signal));
}

void shepherd_umask(struct shepherd *shepherd, mode_t mask)
{
    (void) send_command(shepherd, proto_new(COMMAND_UMASK, "u", (uint32_t) mask));
}

void shepherd_kill_ranks(struct shepherd *shepherd)
{
    shepherd_cancel_starts(shepherd);
    (void) send_command(shepherd, proto_new(COMMAND_KILL_RANKS, ""));
}

void shepherd_kill_all(struct shepherd *shepherd)
{
    shepherd_cancel_starts(shepherd);
    (void) send_command(shepherd, proto_new(COMMAND_KILL_ALL, ""));
}

void shepherd_guard(struct shepherd *shepherd, const char *folder)
{
    if (!strings_add(&shepherd->folders, strdup(folder))) {
        log_warn(LOG_LAUNCHER, "out of memory: %s stays behind if the shepherd is lost", folder);
    }
    (void) send_command(shepherd, proto_new(COMMAND_GUARD, "s", folder));
    flush_commands(shepherd); /* at once: the caller is about to make it */
}

/* Events. */

static void group_free(struct group *group)
{
    for (size_t i = group ? group->used : 0; group && i < group->count; i++) {
        close(group->fds[i]);
    }
    free(group);
}

static void groups_free(struct shepherd *shepherd)
{
    struct list *link;
    while ((link = list_pop(&shepherd->groups)) != NULL) {
        group_free(container_of(link, struct group, link));
    }
    group_free(shepherd->current);
    shepherd->current = NULL;
}

/* Keeps the descriptors of a message; a truncated one counts as a group even when it is empty.
 * False: no memory, and no way to know whose descriptors these are. */
static bool keep_group(struct shepherd *shepherd, struct msghdr *message)
{
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    if (!header && !(message->msg_flags & MSG_CTRUNC)) {
        return true;
    }
    struct group *group = calloc(1, sizeof(*group));
    if (!group) {
        return false;
    }
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        size_t size = header->cmsg_len - CMSG_LEN(0);
        group->count = size / sizeof(int);
        memcpy(group->fds, CMSG_DATA(header), group->count * sizeof(int));
    }
    list_append(&shepherd->groups, &group->link);
    return true;
}

/* Reads some events: the bytes, 0: none there, -1: the end. */
static ssize_t read_some(struct shepherd *shepherd)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(GROUP_FDS * sizeof(int))];
    } control;
    struct bytes *in = &shepherd->in;
    size_t size = EVENTS_A_READ * sizeof(struct shepherd_event);
    if (!bytes_reserve(in, size)) {
        return -1;
    }
    struct iovec part = {in->data + in->tail, size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ssize_t got = recvmsg(shepherd->sock, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0) {
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    }
    if (got == 0 || !keep_group(shepherd, &message)) {
        return -1;
    }
    in->tail += (size_t) got;
    return got;
}

static void begin_group(struct shepherd *shepherd, int32_t announced)
{
    struct list *link = list_pop(&shepherd->groups);
    group_free(shepherd->current);
    shepherd->current = link ? container_of(link, struct group, link) : NULL;
    size_t arrived = shepherd->current ? shepherd->current->count : 0;
    size_t count = announced > 0 ? (size_t) announced : 0;
    shepherd->missing = count > arrived ? count - arrived : 0;
}

static int take_fd(struct shepherd *shepherd)
{
    struct group *group = shepherd->current;
    return group && group->used < group->count ? group->fds[group->used++] : -1;
}

/* False: descriptors of this process are missing, and the process is of no use. */
static bool take_fds(struct shepherd *shepherd, uint32_t which, int fds[PROC_FDS])
{
    bool all = true;
    for (int i = 0; i < PROC_FDS; i++) {
        fds[i] = which & (1u << i) ? take_fd(shepherd) : -1;
        all = all && (fds[i] >= 0 || !(which & (1u << i)));
    }
    return all;
}

static void handle_started(struct shepherd *shepherd, const struct shepherd_event *event)
{
    int fds[PROC_FDS];
    if (!take_fds(shepherd, event->detail, fds)) {
        log_error(LOG_LAUNCHER,
                  "process %d is killed: its pipes do not fit the limit of open files (ulimit -n)",
                  (int) event->value);
        shepherd_signal(shepherd, event->id, SIGKILL);
    }
    shepherd->ops.started(shepherd->arg, event->id, event->value, fds);
}

static void handle_one(struct shepherd *shepherd, const struct shepherd_event *event)
{
    switch (event->type) {
    case EVENT_FDS:
        begin_group(shepherd, event->value);
        break;
    case EVENT_STARTED:
        handle_started(shepherd, event);
        break;
    case EVENT_FAILED:
        shepherd->ops.failed(shepherd->arg, event->id, (enum start_stage) event->detail,
                             event->value);
        break;
    case EVENT_CRASHED:
        if (shepherd->ops.crashed) {
            shepherd->ops.crashed(shepherd->arg, event->id);
        } else {
            shepherd_signal(shepherd, event->id, SIGCONT);
        }
        break;
    case EVENT_EXITED:
        shepherd->ops.exited(shepherd->arg, event->id, event->value, event->detail);
        break;
    default:
        break;
    }
}

static void handle_events(struct shepherd *shepherd)
{
    struct shepherd_event event;
    while (bytes_waiting(&shepherd->in) >= sizeof(event)) {
        memcpy(&event, shepherd->in.data + shepherd->in.head, sizeof(event));
        bytes_consume(&shepherd->in, sizeof(event));
        handle_one(shepherd, &event);
    }
}

static void lose(struct shepherd *shepherd)
{
    shepherd->lost = true;
    loop_io_watch(&shepherd->io, 0);
    loop_timer_stop(&shepherd->answer_timer);
    shepherd->ops.lost(shepherd->arg);
}

pid_t shepherd_pid(const struct shepherd *shepherd)
{
    return shepherd->pid;
}

bool shepherd_is_stopped(const struct shepherd *shepherd)
{
    struct procstat stat;
    return shepherd->pid > 0 && procstat_read(&stat, shepherd->pid, 0) &&
           (stat.state == 'T' || stat.state == 't');
}

static bool has_unread_commands(const struct shepherd *shepherd)
{
    int unread = 0;
    return bytes_waiting(&shepherd->out) > 0 ||
           (ioctl(shepherd->sock, SIOCOUTQ, &unread) == 0 && unread > 0);
}

/* A shepherd that is late, but not stopped, gets more time. */
static void answer_due(struct loop_timer *timer)
{
    struct shepherd *shepherd = container_of(timer, struct shepherd, answer_timer);
    if (!has_unread_commands(shepherd)) {
        return;
    }
    if (shepherd_is_stopped(shepherd)) {
        lose(shepherd);
    } else {
        loop_timer_start(timer, ANSWER_US);
    }
}

void shepherd_must_answer(struct shepherd *shepherd)
{
    if (shepherd->loop && !shepherd->lost && !shepherd->answer_timer.started) {
        loop_timer_start(&shepherd->answer_timer, ANSWER_US);
    }
}

static void on_ready(struct loop_io *io, short events)
{
    struct shepherd *shepherd = container_of(io, struct shepherd, io);
    if (events & EV_WRITE) {
        flush_commands(shepherd);
    }
    if (!(events & EV_READ)) {
        return;
    }
    ssize_t got;
    while ((got = read_some(shepherd)) > 0) {
        handle_events(shepherd);
    }
    if (got < 0) {
        lose(shepherd);
    }
}

int shepherd_attach(struct shepherd *shepherd, struct loop *loop, const struct shepherd_ops *ops,
                    void *arg)
{
    if (shepherd->loop) {
        return ORTE_EXISTS;
    }
    shepherd->loop = loop;
    shepherd->ops = *ops;
    shepherd->arg = arg;
    shepherd->flush.run = flush_task;
    loop_io_init(&shepherd->io, loop, shepherd->sock, on_ready);
    loop_timer_init(&shepherd->answer_timer, loop, answer_due);
    flush_commands(shepherd);
    return ORTE_SUCCESS;
}

/* The end. */

static void detach(struct shepherd *shepherd)
{
    if (shepherd->loop) {
        loop_io_watch(&shepherd->io, 0);
        loop_timer_stop(&shepherd->answer_timer);
        loop_cancel(shepherd->loop, &shepherd->flush);
        shepherd->loop = NULL;
    }
}

/* Drops the events that have come. True: the one that all is cleared was among them. */
static bool drop_events(struct shepherd *shepherd)
{
    struct shepherd_event event;
    bool cleared = false;
    while (bytes_waiting(&shepherd->in) >= sizeof(event)) {
        memcpy(&event, shepherd->in.data + shepherd->in.head, sizeof(event));
        bytes_consume(&shepherd->in, sizeof(event));
        cleared = cleared || (event.type == EVENT_CLEARED && event.value == 0);
    }
    groups_free(shepherd);
    return cleared;
}

/* Tells it, and waits until it has ended, or has cleared everything. False: it is stopped, or not
 * in time. */
static bool finish(struct shepherd *shepherd, enum command_type type)
{
    uint64_t deadline_us = clock_us() + END_LIMIT_US;
    shepherd_cancel_starts(shepherd);
    bool told = send_command(shepherd, proto_new((uint8_t) type, "")), cleared = false;
    while (told && !shepherd->lost && !(cleared && type == COMMAND_CLEAR)) {
        flush_commands(shepherd);
        uint64_t now = clock_us();
        struct pollfd poll_fd = {.fd = shepherd->sock, .events = POLLIN};
        poll_fd.events |= bytes_waiting(&shepherd->out) > 0 ? POLLOUT : 0;
        int ready = now < deadline_us ? poll(&poll_fd, 1, ANSWER_STEP_MS) : -1;
        if (now >= deadline_us || (ready < 0 && errno != EINTR) ||
            (ready == 0 && shepherd_is_stopped(shepherd))) {
            return false;
        }
        ssize_t got;
        while ((got = read_some(shepherd)) > 0) {
            cleared = drop_events(shepherd) || cleared;
        }
        shepherd->lost = got < 0;
    }
    return told;
}

/* Whether it ended as it was told. */
static bool reap_shepherd(struct shepherd *shepherd)
{
    int status = -1;
    while (waitpid(shepherd->pid, &status, 0) < 0 && errno == EINTR) {
    }
    shepherd->pid = 0;
    return status == 0;
}

static void remove_folders(const struct shepherd *shepherd)
{
    for (char **folder = shepherd->folders; folder && *folder; folder++) {
        session_remove(*folder);
    }
}

static void forget_folders(struct shepherd *shepherd)
{
    strings_free(shepherd->folders);
    shepherd->folders = NULL;
}

void shepherd_reap_orphans(struct shepherd *shepherd)
{
    uint64_t now = clock_us();
    if (shepherd->pid > 0) {
        kill(shepherd->pid, SIGKILL);
        reap_shepherd(shepherd);
    }
    shepherd->lost = true;
    uint64_t grace_us = shepherd->has_agents ? AGENT_GRACE_US : 0; /* SIGTERM they have already */
    if (!sweep_until(shepherd->spared, shepherd->spared_count, now + grace_us,
                     now + END_LIMIT_US)) {
        log_error(LOG_LAUNCHER, "some processes did not end within %d s of SIGKILL",
                  END_LIMIT_US / 1000000);
    }
    remove_folders(shepherd);
}

bool shepherd_clear(struct shepherd *shepherd)
{
    detach(shepherd);
    if (shepherd->pid == 0 || !finish(shepherd, COMMAND_CLEAR) || shepherd->lost) {
        return false;
    }
    forget_folders(shepherd);
    shepherd->has_agents = false;
    return true;
}

void shepherd_end(struct shepherd *shepherd)
{
    if (!shepherd) {
        return;
    }
    detach(shepherd);
    if (shepherd->pid > 0) {
        bool ended = finish(shepherd, COMMAND_END);
        if (!ended && shepherd_is_stopped(shepherd)) {
            log_warn(LOG_LAUNCHER, "the shepherd of this node is stopped, and is killed");
        }
        if (!ended || !reap_shepherd(shepherd)) {
            shepherd_reap_orphans(shepherd);
        }
    } else {
        remove_folders(shepherd); /* those that were made after it was lost */
    }
    groups_free(shepherd);
    forget_folders(shepherd);
    bytes_fini(&shepherd->in);
    bytes_fini(&shepherd->out);
    close(shepherd->sock);
    munmap(shepherd->cancelled, sizeof(*shepherd->cancelled));
    free(shepherd);
}
