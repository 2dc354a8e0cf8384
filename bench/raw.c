/* What the machine can do without any library: two processes, each on a processor of its own.
 *
 *   raw cacheline         half trip of 8 bytes, us: one cache line a direction, acquire and release
 *   raw memcpy SIZE       bytes per second of a copy within one process
 *   raw cma SIZE          the same from another process's memory
 *   raw tcp_trip SIZE     half trip over a socket that both ends poll, us
 *   raw tcp_stream SIZE   bytes per second in one direction, the best of several write sizes
 *
 * Prints one number: the median of its batches. */
#include <config.h>

#include <bench/series.h>
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
#include <unistd.h>

enum { BATCHES = 200, LINE = 64, SIZE_MOST = 64 << 20 };
static const double batch_s = 1e-3;

struct line {
    _Alignas(LINE) _Atomic uint64_t number;
    unsigned char rest[LINE - sizeof(uint64_t)];
};

/* What both processes see. */
struct shared {
    struct line there, back;
    uint64_t memory; /* of the other process, for cma */
    pid_t pid;
    uint16_t port;
    _Atomic int ready;
};

static struct shared *shared;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "raw: %s: %s\n", what, strerror(errno));
    _exit(1);
}

/* To the processor of this number among those that the program may use. */
static void bind_to(int number)
{
    cpu_set_t mine, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof(mine), &mine) < 0) {
        return;
    }
    number %= CPU_COUNT(&mine);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &mine) && number-- == 0) {
            CPU_SET(i, &one);
        }
    }
    (void) !sched_setaffinity(0, sizeof(one), &one);
}

/* The median time of one operation. */
static double measure(void (*run)(void *arg, unsigned count), void *arg)
{
    struct series times = {.count = 0};
    unsigned count = 1;
    for (;;) { /* warms up, and finds how many fill a batch */
        double start = now_s();
        run(arg, count);
        double length = now_s() - start;
        if (length >= batch_s || count > 1u << 24) {
            break;
        }
        count *= 2;
    }
    for (unsigned i = 0; i < BATCHES; i++) {
        double start = now_s();
        run(arg, count);
        series_add(&times, (now_s() - start) / count);
    }
    double median = series_median(&times);
    series_fini(&times);
    return median;
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
        uint64_t seen;
        while ((seen = atomic_load_explicit(&shared->there.number, memory_order_acquire)) < next) {
        }
        if (seen == UINT64_MAX) {
            return;
        }
        atomic_store_explicit(&shared->back.number, next, memory_order_release);
    }
}

struct copy {
    unsigned char *from, *to;
    size_t size;
};

static void copy_memory(void *arg, unsigned count)
{
    struct copy *copy = arg;
    for (unsigned i = 0; i < count; i++) {
        memcpy(copy->to, copy->from, copy->size);
        __asm__ volatile("" : : "r"(copy->to) : "memory");
    }
}

static void copy_other(void *arg, unsigned count)
{
    struct copy *copy = arg;
    struct iovec local = {copy->to, copy->size};
    struct iovec remote = {(void *) (uintptr_t) shared->memory, copy->size};
    for (unsigned i = 0; i < count; i++) {
        if (process_vm_readv(shared->pid, &local, 1, &remote, 1, 0) != (ssize_t) copy->size) {
            die("process_vm_readv");
        }
    }
}

static unsigned char *touched(size_t size)
{
    unsigned char *memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    if (!memory) {
        die("no memory");
    }
    memset(memory, 1, size);
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

static int no_delay(int fd)
{
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
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
    return no_delay(fd);
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

static double best_stream(struct stream *stream)
{
    static const size_t write_sizes[] = {64 << 10, 256 << 10, 1 << 20};
    double best = 0;
    for (size_t i = 0; i < sizeof(write_sizes) / sizeof(*write_sizes); i++) {
        stream->write_size = write_sizes[i];
        double rate = (double) stream->size / measure(stream_socket, stream);
        best = rate > best ? rate : best;
    }
    return best;
}

/* --- the two processes --- */

enum test { CACHELINE, MEMCPY, CMA, TCP_TRIP, TCP_STREAM, TESTS };
static const char *const names[TESTS] = {"cacheline", "memcpy", "cma", "tcp_trip", "tcp_stream"};

static void other(enum test test, int listener, size_t size)
{
    unsigned char *bytes = touched(size);
    bind_to(1);
    shared->memory = (uint64_t) (uintptr_t) bytes;
    shared->pid = getpid();
    atomic_store(&shared->ready, 1);
    if (test == CACHELINE) {
        pong_lines();
    } else if (test == TCP_TRIP || test == TCP_STREAM) {
        int fd = no_delay(accept(listener, NULL, NULL));
        test == TCP_TRIP ? answer_trips(fd, bytes, size) : answer_streams(fd, bytes, size);
    } else {
        pause(); /* until it is killed */
    }
}

static double lead(enum test test, size_t size)
{
    struct copy copy = {.size = size, .from = touched(size), .to = touched(size)};
    struct stream stream = {.bytes = copy.to, .size = size};
    bind_to(0);
    while (!atomic_load(&shared->ready)) {
        sched_yield();
    }
    double result;
    switch (test) {
    case CACHELINE:
        result = 1e6 * measure(ping_lines, NULL) / 2;
        atomic_store(&shared->there.number, UINT64_MAX);
        return result;
    case MEMCPY:
        return (double) size / measure(copy_memory, &copy);
    case CMA:
        return (double) size / measure(copy_other, &copy);
    default:
        stream.fd = connect_there();
        result = test == TCP_TRIP ? 1e6 * measure(ping_socket, &stream) / 2 : best_stream(&stream);
        close(stream.fd);
        return result;
    }
}

int main(int argc, char **argv)
{
    enum test test = 0;
    while (argc > 1 && test < TESTS && strcmp(argv[1], names[test]) != 0) {
        test++;
    }
    size_t size = argc > 2 ? strtoul(argv[2], NULL, 10) : 8;
    if (argc < 2 || test == TESTS || size == 0 || size > SIZE_MOST) {
        fprintf(stderr, "Usage: raw cacheline|memcpy|cma|tcp_trip|tcp_stream [SIZE]\n");
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
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it spins, or sleeps, until it is told */
        other(test, listener, size);
        _exit(0);
    }
    close(listener);
    printf("%.6g\n", lead(test, size));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}
