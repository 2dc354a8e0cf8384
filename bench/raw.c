/* What the machine can do without any library: two processes, each on a processor of its own.
 *
 *   raw SIZE SECONDS cacheline    half trip: one cache line a direction, acquire and release
 *   raw SIZE SECONDS memcpy       a copy within one process
 *   raw SIZE SECONDS cma          the same from another process's memory, which sleeps
 *   raw SIZE SECONDS tcp_trip     half trip over a socket that both ends poll
 *   raw SIZE SECONDS tcp_stream   one direction, the best of several buffers and write sizes
 *
 * Prints the seconds of one: the median of its batches, the mean, and the processor time of both
 * processes. With rotate behind it, copies take their buffers in turn from 256 MiB. */
#include <config.h>

#include <bench/pair.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <tools/buffer.h>
#include <unistd.h>

enum { LINE = 64, SIZE_MOST = 256 << 20 };

struct line {
    _Alignas(LINE) _Atomic uint64_t number;
    unsigned char rest[LINE - sizeof(uint64_t)];
};

/* What both processes see. */
struct shared {
    struct line there, back;
    uint64_t memory; /* of the other process, for cma */
    pid_t pid;
    int buffer; /* bytes in the kernel of each of the next connection's ends; 0: as it thinks fit */
    uint16_t port;
    _Atomic int ready;
};

static struct shared *shared;

static void die(const char *what)
{
    fprintf(stderr, "raw: %s: %s\n", what, strerror(errno));
    _exit(1);
}

/* --- memory --- */

static uint64_t trips; /* so far */

static void ping_lines(void *arg, unsigned count)
{
    (void) arg;
    for (unsigned i = 0; i < count; i++) {
        atomic_store_explicit(&shared->there.number, ++trips, memory_order_release);
        while (atomic_load_explicit(&shared->back.number, memory_order_acquire) != trips) {
        }
    }
}

static void pong_lines(void)
{
    for (uint64_t next = 1;; next++) {
        while (atomic_load_explicit(&shared->there.number, memory_order_acquire) < next) {
        }
        atomic_store_explicit(&shared->back.number, next, memory_order_release);
    }
}

struct copy {
    unsigned char *from, *to;
    size_t size;
    size_t rotate, at; /* bytes to take buffers from in turn; 0: one */
};

/* The offset of the next copy's buffers. */
static size_t turn(struct copy *copy)
{
    size_t here = copy->at + copy->size <= copy->rotate ? copy->at : 0;
    copy->at = here + (copy->size + LINE - 1) / LINE * LINE;
    return here;
}

static void copy_memory(void *arg, unsigned count)
{
    struct copy *copy = arg;
    for (unsigned i = 0; i < count; i++) {
        size_t at = turn(copy);
        memcpy(copy->to + at, copy->from + at, copy->size);
        __asm__ volatile("" : : "r"(copy->to) : "memory");
    }
}

static void copy_other(void *arg, unsigned count)
{
    struct copy *copy = arg;
    for (unsigned i = 0; i < count; i++) {
        size_t at = turn(copy);
        struct iovec local = {copy->to + at, copy->size};
        struct iovec remote = {(void *) (uintptr_t) (shared->memory + at), copy->size};
        if (process_vm_readv(shared->pid, &local, 1, &remote, 1, 0) != (ssize_t) copy->size) {
            die("process_vm_readv");
        }
    }
}

static unsigned char *touched(size_t size)
{
    unsigned char *memory = buffer_create(size, 1);
    if (!memory) {
        die("no memory");
    }
    return memory;
}

/* --- sockets --- */

static void full_send(int fd, const unsigned char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent < 0) {
            die("send");
        }
        bytes += sent;
        size -= (size_t) sent;
    }
}

/* Polls: does not sleep. False: the other end closed. */
static bool full_recv(int fd, unsigned char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t got = recv(fd, bytes, size, MSG_DONTWAIT);
        if (got == 0) {
            return false;
        }
        if (got < 0 && errno != EAGAIN && errno != EINTR) {
            die("recv");
        }
        bytes += got > 0 ? got : 0;
        size -= got > 0 ? (size_t) got : 0;
    }
    return true;
}

struct stream {
    int fd;
    unsigned char *bytes;
    size_t size, write_size;
};

static void ping_socket(void *arg, unsigned count)
{
    struct stream *stream = arg;
    for (unsigned i = 0; i < count; i++) {
        full_send(stream->fd, stream->bytes, stream->size);
        if (!full_recv(stream->fd, stream->bytes, stream->size)) {
            die("the other end closed");
        }
    }
}

/* Says how many bytes come; the batch ends with the other end's word that it has all of them. */
static void stream_socket(void *arg, unsigned count)
{
    struct stream *stream = arg;
    uint64_t total = (uint64_t) count * stream->size;
    full_send(stream->fd, (unsigned char *) &total, sizeof(total));
    for (unsigned i = 0; i < count; i++) {
        for (size_t sent = 0; sent < stream->size; sent += stream->write_size) {
            size_t left = stream->size - sent;
            full_send(stream->fd, stream->bytes + sent,
                      left < stream->write_size ? left : stream->write_size);
        }
    }
    unsigned char word;
    if (!full_recv(stream->fd, &word, 1)) {
        die("the other end closed");
    }
}

static int listen_here(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *) &address, size) < 0 || listen(fd, 1) < 0 ||
        getsockname(fd, (struct sockaddr *) &address, &size) < 0) {
        die("listen");
    }
    shared->port = address.sin_port;
    return fd;
}

static int prepare(int fd)
{
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (shared->buffer > 0) {
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &shared->buffer, sizeof(shared->buffer));
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &shared->buffer, sizeof(shared->buffer));
    }
    return fd;
}

static int connect_there(void)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = shared->port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *) &address, sizeof(address)) < 0) {
        die("connect");
    }
    return prepare(fd);
}

static void answer_trips(int fd, unsigned char *bytes, size_t size)
{
    while (full_recv(fd, bytes, size)) {
        full_send(fd, bytes, size);
    }
}

static void answer_streams(int fd, unsigned char *bytes, size_t size)
{
    uint64_t total;
    while (full_recv(fd, (unsigned char *) &total, sizeof(total))) {
        for (uint64_t left = total; left > 0;) {
            size_t part = left < size ? (size_t) left : size;
            if (!full_recv(fd, bytes, part)) {
                return;
            }
            left -= part;
        }
        full_send(fd, bytes, 1);
    }
}

static struct figure best_stream(struct stream *stream, double seconds)
{
    static const int buffers[] = {0, 256 << 10, 1 << 20, 4 << 20};
    static const size_t write_sizes[] = {64 << 10, 256 << 10, 1 << 20};
    struct figure best = {.mean = 0};
    for (size_t i = 0; i < 12; i++) {
        shared->buffer = buffers[i / 3];
        stream->write_size = write_sizes[i % 3];
        stream->fd = connect_there();
        struct figure figure = pair_measure(shared->pid, stream_socket, stream, seconds / 4);
        best = best.mean == 0 || figure.mean < best.mean ? figure : best;
        close(stream->fd);
    }
    return best;
}

static struct figure half_trip(void (*run)(void *arg, unsigned count), void *arg, double seconds)
{
    struct figure trip = pair_measure(shared->pid, run, arg, seconds);
    return (struct figure){trip.median / 2, trip.mean / 2, trip.cpu / 2};
}

/* --- the two processes --- */

enum test { CACHELINE, MEMCPY, CMA, TCP_TRIP, TCP_STREAM, TESTS };
static const char *const names[TESTS] = {"cacheline", "memcpy", "cma", "tcp_trip", "tcp_stream"};

static void other(enum test test, int listener, size_t size)
{
    unsigned char *bytes = touched(size);
    pair_bind(1);
    shared->memory = (uint64_t) (uintptr_t) bytes;
    shared->pid = getpid();
    atomic_store(&shared->ready, 1);
    if (test == CACHELINE) {
        pong_lines();
    }
    while (test == TCP_TRIP || test == TCP_STREAM) {
        int fd = prepare(accept(listener, NULL, NULL));
        test == TCP_TRIP ? answer_trips(fd, bytes, size) : answer_streams(fd, bytes, size);
        close(fd);
    }
    pause(); /* until it is killed */
}

static struct figure lead(enum test test, size_t size, size_t rotate, double seconds)
{
    size_t room = size < rotate ? rotate : size;
    struct copy copy = {.size = size, .rotate = rotate, .from = touched(room), .to = touched(room)};
    struct stream stream = {.bytes = copy.to, .size = size};
    pair_bind(0);
    while (!atomic_load(&shared->ready)) {
        sched_yield();
    }
    switch (test) {
    case CACHELINE:
        return half_trip(ping_lines, NULL, seconds);
    case MEMCPY:
        return pair_measure(shared->pid, copy_memory, &copy, seconds);
    case CMA:
        return pair_measure(shared->pid, copy_other, &copy, seconds);
    case TCP_TRIP:
        stream.fd = connect_there();
        return half_trip(ping_socket, &stream, seconds);
    default:
        return best_stream(&stream, seconds);
    }
}

int main(int argc, char **argv)
{
    enum test test = 0;
    while (argc > 3 && test < TESTS && strcmp(argv[3], names[test]) != 0) {
        test++;
    }
    size_t size = argc > 3 ? strtoul(argv[1], NULL, 10) : 0;
    size_t rotate = argc == 5 && (test == MEMCPY || test == CMA) ? SIZE_MOST : 0;
    if (argc < 4 || test == TESTS || size == 0 || size > SIZE_MOST) {
        fprintf(stderr, "Usage: raw SIZE SECONDS cacheline|memcpy|cma|tcp_trip|tcp_stream "
                        "[rotate]\n");
        return 2;
    }
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        die("mmap");
    }
    int listener = listen_here();
    pid_t child = fork();
    if (child < 0) {
        die("fork");
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it spins, or sleeps, until it is killed */
        other(test, listener, size < rotate ? rotate : size);
        _exit(0);
    }
    close(listener);
    struct figure figure = lead(test, size, rotate, atof(argv[2]));
    printf("%.6g %.6g %.6g\n", figure.median, figure.mean, figure.cpu);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}
