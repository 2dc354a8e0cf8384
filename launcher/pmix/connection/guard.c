#undef _FORTIFY_SOURCE /* fortified headers wrap the functions that are defined here */
#include <config.h>

#include <base/data/array.h>
#include <errno.h>
#include <fcntl.h>
#include <launcher/pmix/connection/guard.h>
#include <launcher/pmix/connection/hangups.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Visible in the program's dynamic symbol table, so that libraries bind to them. */
#define INTERPOSED __attribute__((visibility("default"), used))

static struct {
    int listener;        /* ours; -1: closed */
    int wakeup;          /* counts what waits in the queue */
    atomic_int stand_in; /* libpmix's descriptor for wakeup; -1: not yet */
    pthread_mutex_t lock;
    int *queue; /* guarded by lock */
    size_t count;
} guard = {.listener = -1, .wakeup = -1, .stand_in = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool armed;
/* A bit for each descriptor that libpmix has accepted and not closed. */
static _Atomic uint64_t marked[HANGUPS_MAX / 64];
static atomic_uint ends[HANGUPS_MAX]; /* by descriptor */
static struct hangups hangups;
static _Atomic(struct asked *) asked; /* by descriptor; NULL: no connection yet, or no memory */

/* --- the queue --- */

int guard_open(int listener)
{
    guard.wakeup = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC | EFD_NONBLOCK);
    if (guard.wakeup < 0) {
        return -errno;
    }
    guard.listener = listener;
    atomic_store(&guard.stand_in, -1);
    return 0;
}

void guard_arm(void)
{
    armed = true;
}

bool guard_disarm(void)
{
    armed = false;
    return atomic_load(&guard.stand_in) >= 0;
}

static int append(int connection)
{
    if (!array_add(&guard.queue, guard.count, sizeof(*guard.queue))) {
        return -ENOMEM;
    }
    guard.queue[guard.count++] = connection;
    return 0;
}

int guard_push(int connection)
{
    uint64_t one = 1;
    pthread_mutex_lock(&guard.lock);
    int error = append(connection);
    pthread_mutex_unlock(&guard.lock);
    if (error == 0 && write(guard.wakeup, &one, sizeof(one)) < 0) {
        /* the counter cannot be full: it has 64 bits */
        abort();
    }
    return error;
}

static void count_end(int fd)
{
    atomic_fetch_add(&ends[fd], 1);
}

unsigned guard_ends(int connection)
{
    return connection < HANGUPS_MAX ? atomic_load(&ends[connection]) : 0;
}

/* NULL: what it asks is not known. */
static struct asked *asked_by(int connection)
{
    struct asked *all = atomic_load(&asked);
    return all && connection < HANGUPS_MAX ? &all[connection] : NULL;
}

struct asked_view guard_asked(int connection)
{
    struct asked *by = asked_by(connection);
    return by ? asked_look(by) : (struct asked_view){0};
}

static int pop(void)
{
    int connection = -1;
    uint64_t one;
    if (syscall(SYS_read, guard.wakeup, &one, sizeof(one)) != (long) sizeof(one)) {
        return -1;
    }
    pthread_mutex_lock(&guard.lock);
    if (guard.count > 0) {
        connection = guard.queue[0];
        guard.count--;
        for (size_t i = 0; i < guard.count; i++) {
            guard.queue[i] = guard.queue[i + 1];
        }
    }
    pthread_mutex_unlock(&guard.lock);
    return connection;
}

void guard_close(void)
{
    for (size_t i = 0; i < guard.count; i++) {
        close(guard.queue[i]);
    }
    free(guard.queue);
    guard.queue = NULL;
    guard.count = 0;
    if (guard.wakeup >= 0) {
        close(guard.wakeup);
    }
    guard.wakeup = guard.listener = -1;
    atomic_store(&guard.stand_in, -1);
}

/* --- what libpmix calls --- */

INTERPOSED int bind(int fd, const struct sockaddr *addr, socklen_t length)
{
    if (!armed || atomic_load(&guard.stand_in) >= 0 || !addr || addr->sa_family != AF_INET) {
        return (int) syscall(SYS_bind, fd, addr, length);
    }
    if (fd >= FD_SETSIZE) { /* libpmix waits for it with select */
        errno = EMFILE;
        return -1;
    }
    if (dup3(guard.wakeup, fd, O_CLOEXEC) < 0) {
        return -1;
    }
    atomic_store(&guard.stand_in, fd);
    return 0;
}

static bool is_stand_in(int fd)
{
    return fd >= 0 && fd == atomic_load(&guard.stand_in);
}

INTERPOSED int listen(int fd, int backlog)
{
    return is_stand_in(fd) ? 0 : (int) syscall(SYS_listen, fd, backlog);
}

INTERPOSED int getsockname(int fd, struct sockaddr *restrict addr, socklen_t *restrict length)
{
    return (int) syscall(SYS_getsockname, is_stand_in(fd) ? guard.listener : fd, addr, length);
}

INTERPOSED int accept(int fd, struct sockaddr *restrict addr, socklen_t *restrict length)
{
    if (!is_stand_in(fd)) {
        return (int) syscall(SYS_accept4, fd, addr, length, 0);
    }
    int connection = pop();
    if (connection < 0) {
        errno = EAGAIN;
        return -1;
    }
    if (addr && getpeername(connection, addr, length) < 0) {
        close(connection);
        errno = ECONNABORTED;
        return -1;
    }
    if (!atomic_load(&asked)) {
        atomic_store(&asked,
                     calloc(HANGUPS_MAX, sizeof(struct asked))); /* this thread alone accepts */
    }
    if (asked_by(connection)) {
        asked_begin(asked_by(connection));
    }
    if (connection < HANGUPS_MAX) {
        atomic_fetch_or(&marked[connection / 64], 1ull << (connection % 64));
    }
    return connection;
}

static bool is_marked(int fd)
{
    return fd >= 0 && fd < HANGUPS_MAX &&
           (atomic_load_explicit(&marked[fd / 64], memory_order_relaxed) >> (fd % 64) & 1) != 0;
}

INTERPOSED int close(int fd)
{
    if (is_marked(fd)) {
        count_end(fd);
        hangups_forget(&hangups, fd);
        atomic_fetch_and(&marked[fd / 64], ~(1ull << (fd % 64)));
    }
    return (int) syscall(SYS_close, fd);
}

/* libpmix's clients send several small messages without waiting, and leave Nagle's algorithm on: an
 * acknowledgement that is not sent at once costs them 40 ms in each finalize. */
static void acknowledge(int fd)
{
    int on = 1, error = errno;
    setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
    errno = error;
}

INTERPOSED ssize_t read(int fd, void *buffer, size_t size)
{
    ssize_t got = syscall(SYS_read, fd, buffer, size);
    if (!is_marked(fd) || size == 0) {
        return got;
    }
    if (got > 0) {
        acknowledge(fd);
        if (asked_by(fd)) {
            asked_read(asked_by(fd), buffer, (size_t) got);
        }
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        if (!hangups_show(&hangups, fd)) {
            errno = EAGAIN;
            return -1;
        }
        count_end(fd);
    }
    return got;
}

/* What cannot be sent, for the other side is gone, passes for sent: libpmix shall see every end in
 * read. After a failed answer to a connection's first message (sent with send and no flags) it
 * would even release what it does not hold: the program crashes or hangs. */
static bool is_gone(ssize_t sent)
{
    return sent < 0 && (errno == EPIPE || errno == ECONNRESET);
}

INTERPOSED ssize_t send(int fd, const void *buffer, size_t size, int flags)
{
    bool answer = flags == 0 && is_marked(fd);
    ssize_t sent = syscall(SYS_sendto, fd, buffer, size, answer ? MSG_NOSIGNAL : flags, NULL, 0);
    return answer && is_gone(sent) ? (ssize_t) size : sent;
}

static size_t size_of(const struct iovec *parts, int count)
{
    size_t size = 0;
    for (int i = 0; i < count; i++) {
        size += parts[i].iov_len;
    }
    return size;
}

INTERPOSED ssize_t writev(int fd, const struct iovec *parts, int count)
{
    ssize_t sent = syscall(SYS_writev, fd, parts, count);
    if (!is_marked(fd)) {
        return sent;
    }
    size_t size = size_of(parts, count);
    sent = is_gone(sent) ? (ssize_t) size : sent;
    if (sent > 0 && asked_by(fd)) {
        asked_written(asked_by(fd), parts[0].iov_base, parts[0].iov_len, size - (size_t) sent);
    }
    return sent;
}
