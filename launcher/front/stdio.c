#include <config.h>

#include <base/data/bytes.h>
#include <base/net/sock.h>
#include <errno.h>
#include <launcher/front/stdio.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Locks: each writer and reader has one, held for its counters and flags only, never in a system
 * call that may wait and never in a callback. */

enum { PIECE_BYTES = 64 * 1024, STACK_BYTES = 256 * 1024 };

enum worker_kind { WORKER_IDLE, WORKER_THREAD, WORKER_ON_LOOP };

/* What both sides have in common. */
struct worker {
    struct loop *loop; /* borrowed */
    int fd;            /* borrowed */
    void *arg;
    /* Does a piece of work; a thread waits until there is some. False: no more, or not now. */
    bool (*step)(struct worker *worker, bool in_thread);
    void (*destroy)(struct worker *worker);
    enum worker_kind kind; /* loop */
    pthread_t thread;
    int wake; /* eventfd, owned: ends the thread's wait; -1: no thread */
    pthread_mutex_t lock;
    bool stop;             /* lock: the thread shall end */
    bool transfers;        /* lock: the thread is in read or write, perhaps for ever */
    bool abandoned;        /* lock: the thread is the only owner */
    bool ended;            /* lock: nothing can be read or written any more */
    int error;             /* lock: why, an errno; 0: end of file */
    bool told;             /* loop: so the owner knows */
    struct loop_task task; /* posted by each step: the owner is told */
    struct loop_task more; /* on the loop: the next step */
    struct loop_io io;     /* on the loop: until the descriptor is ready */
};

static void step_on_loop(struct worker *worker)
{
    if (worker->step(worker, false)) {
        loop_post(worker->loop, &worker->more);
    }
}

static void more_task(struct loop_task *task)
{
    step_on_loop(container_of(task, struct worker, more));
}

static void descriptor_ready(struct loop_io *io, short events)
{
    (void) events;
    loop_io_watch(io, 0);
    step_on_loop(container_of(io, struct worker, io));
}

static int worker_init(struct worker *worker, struct loop *loop, int fd, void *arg)
{
    worker->loop = loop;
    worker->fd = fd;
    worker->arg = arg;
    worker->wake = -1;
    worker->more.run = more_task;
    loop_io_init(&worker->io, loop, fd, descriptor_ready);
    return pthread_mutex_init(&worker->lock, NULL) == 0 ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

static void worker_fini(struct worker *worker)
{
    fd_close(&worker->wake);
    pthread_mutex_destroy(&worker->lock);
}

static void *thread_main(void *arg)
{
    struct worker *worker = arg;
    while (worker->step(worker, true)) {
    }
    pthread_mutex_lock(&worker->lock);
    bool abandoned = worker->abandoned;
    pthread_mutex_unlock(&worker->lock);
    if (abandoned) {
        worker->destroy(worker);
    }
    return NULL;
}

/* All signals are blocked in it, and its stack is small: the address space may be limited. */
static bool make_thread(struct worker *worker)
{
    sigset_t all, old;
    pthread_attr_t attr;
    worker->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (worker->wake < 0) {
        return false;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    int rc = pthread_create(&worker->thread, &attr, thread_main, worker);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc == 0;
}

static void wake_thread(const struct worker *worker)
{
    const uint64_t one = 1;
    (void) !write(worker->wake, &one, sizeof(one)); /* it cannot be full: it has 64 bits */
}

/* There is work, or may be. */
static void worker_go(struct worker *worker)
{
    if (worker->kind == WORKER_IDLE) {
        worker->kind = make_thread(worker) ? WORKER_THREAD : WORKER_ON_LOOP;
    } else if (worker->kind == WORKER_THREAD) {
        wake_thread(worker);
    }
    if (worker->kind == WORKER_ON_LOOP) {
        loop_post(worker->loop, &worker->more);
    }
}

/* Ends the worker; its owner is not called any more. A thread in a system call that may never
 * return is left behind: it touches nothing but the worker, and destroys that. */
static void worker_end(struct worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    worker->stop = true;
    worker->abandoned = worker->transfers;
    bool abandoned = worker->abandoned;
    pthread_t thread = worker->thread;
    loop_io_watch(&worker->io, 0);
    loop_cancel(worker->loop, &worker->more);
    if (abandoned) {
        loop_cancel(worker->loop, &worker->task);
    }
    pthread_mutex_unlock(&worker->lock);
    if (abandoned) {
        pthread_detach(thread);
        return;
    }
    if (worker->kind == WORKER_THREAD) {
        wake_thread(worker);
        pthread_join(thread, NULL);
    }
    loop_cancel(worker->loop, &worker->task);
    worker->destroy(worker);
}

/* Whether there is something to read or write (POLLIN, POLLOUT); 0: there is not. A thread waits
 * for it, or until it is woken. */
static bool is_ready(struct worker *worker, short events, bool in_thread)
{
    struct pollfd fds[2] = {{.fd = events ? worker->fd : -1, .events = events},
                            {.fd = in_thread ? worker->wake : -1, .events = POLLIN}};
    uint64_t wakes;
    (void) !poll(fds, 2, in_thread ? -1 : 0);
    if (fds[1].revents) {
        (void) !read(worker->wake, &wakes, sizeof(wakes));
    }
    if (events && !in_thread && !fds[0].revents) {
        loop_io_watch(&worker->io, events == POLLIN ? EV_READ : EV_WRITE);
    }
    return fds[0].revents != 0;
}

/* Returns whether the thread shall stop. */
static bool set_transfers(struct worker *worker, bool transfers)
{
    pthread_mutex_lock(&worker->lock);
    bool stop = worker->stop;
    worker->transfers = transfers && !stop;
    pthread_mutex_unlock(&worker->lock);
    return stop;
}

/* read or write: bytes, 0 (end of file) or -errno. -EAGAIN: nothing was there after all;
 * -ECANCELED: the thread shall stop. */
static ssize_t transfer(struct worker *worker, bool writing, char *data, size_t size)
{
    if (set_transfers(worker, true)) {
        return -ECANCELED;
    }
    ssize_t done = writing ? write(worker->fd, data, size) : read(worker->fd, data, size);
    int error = done >= 0 ? 0 : errno == EINTR ? EAGAIN : errno;
    if (set_transfers(worker, false)) {
        return -ECANCELED;
    }
    return error ? -error : done;
}

/* The writer: the loop fills one queue while the other is written. */

struct stdio_writer {
    struct worker worker;
    struct stdio_writer_ops ops;
    size_t limit;
    size_t waiting;       /* loop: put and not yet told as written */
    struct bytes filling; /* lock */
    size_t written;       /* lock: not yet told */
    size_t left;          /* lock: put and not yet written or dropped */
    struct bytes writing; /* the worker's */
};

static void writer_count(struct stdio_writer *writer, size_t bytes, int error)
{
    struct worker *worker = &writer->worker;
    pthread_mutex_lock(&worker->lock);
    writer->written += bytes;
    writer->left -= bytes;
    if (error && !worker->ended) {
        worker->ended = true;
        worker->error = error;
    }
    pthread_mutex_unlock(&worker->lock);
    loop_post(worker->loop, &worker->task);
}

/* Returns what waits to be written; error: why it cannot be, or 0. */
static size_t writer_turn(struct stdio_writer *writer, int *error)
{
    struct worker *worker = &writer->worker;
    pthread_mutex_lock(&worker->lock);
    if (bytes_waiting(&writer->writing) == 0) {
        struct bytes filled = writer->filling;
        writer->filling = writer->writing;
        writer->writing = filled;
    }
    *error = worker->stop ? ECANCELED : worker->ended ? worker->error : 0;
    pthread_mutex_unlock(&worker->lock);
    return bytes_waiting(&writer->writing);
}

/* After an error it only counts. On the loop it writes no more than a pipe that is ready takes. */
static bool write_step(struct worker *worker, bool in_thread)
{
    struct stdio_writer *writer = container_of(worker, struct stdio_writer, worker);
    int error;
    size_t size = writer_turn(writer, &error), most = in_thread ? PIECE_BYTES : PIPE_BUF;
    if (error == ECANCELED) {
        return false;
    }
    if ((size == 0 || !error) && !is_ready(worker, size > 0 ? POLLOUT : 0, in_thread)) {
        return in_thread;
    }
    if (!error) {
        struct bytes *queue = &writer->writing;
        ssize_t done = transfer(worker, true, queue->data + queue->head, size < most ? size : most);
        if (done == -EAGAIN || done == -ECANCELED) {
            return done == -EAGAIN;
        }
        error = done < 0 ? (int) -done : 0;
        size = done < 0 ? size : (size_t) done;
    }
    bytes_consume(&writer->writing, size);
    writer_count(writer, size, error);
    return true;
}

static void writer_task(struct loop_task *task)
{
    struct worker *worker = container_of(task, struct worker, task);
    struct stdio_writer *writer = container_of(worker, struct stdio_writer, worker);
    pthread_mutex_lock(&worker->lock);
    size_t written = writer->written;
    int error = worker->ended ? worker->error : 0;
    writer->written = 0;
    pthread_mutex_unlock(&worker->lock);
    writer->waiting -= written;
    if (error && !worker->told) {
        worker->told = true;
        writer->ops.failed(worker->arg, error);
    }
    if (written > 0) {
        writer->ops.written(worker->arg, written);
    }
}

static void writer_destroy(struct worker *worker)
{
    struct stdio_writer *writer = container_of(worker, struct stdio_writer, worker);
    bytes_fini(&writer->filling);
    bytes_fini(&writer->writing);
    worker_fini(worker);
    free(writer);
}

int stdio_writer_create(struct stdio_writer **out, struct loop *loop, int fd, size_t limit,
                        const struct stdio_writer_ops *ops, void *arg)
{
    struct stdio_writer *writer = calloc(1, sizeof(*writer));
    if (!writer || worker_init(&writer->worker, loop, fd, arg) != ORTE_SUCCESS) {
        free(writer);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    writer->worker.step = write_step;
    writer->worker.task.run = writer_task;
    writer->worker.destroy = writer_destroy;
    writer->limit = limit;
    writer->ops = *ops;
    *out = writer;
    return ORTE_SUCCESS;
}

bool stdio_writer_put(struct stdio_writer *writer, const void *data, size_t size)
{
    struct worker *worker = &writer->worker;
    if (size > stdio_writer_room(writer)) {
        return false;
    }
    if (size == 0) {
        return true;
    }
    pthread_mutex_lock(&worker->lock);
    bool taken = bytes_append(&writer->filling, data, size);
    writer->left += taken ? size : 0;
    pthread_mutex_unlock(&worker->lock);
    if (taken) {
        writer->waiting += size;
        worker_go(worker);
    }
    return taken;
}

size_t stdio_writer_room(const struct stdio_writer *writer)
{
    return writer->limit - writer->waiting;
}

size_t stdio_writer_end(struct stdio_writer *writer)
{
    if (!writer) {
        return 0;
    }
    pthread_mutex_lock(&writer->worker.lock);
    size_t left = writer->left;
    pthread_mutex_unlock(&writer->worker.lock);
    worker_end(&writer->worker);
    return left;
}

/* The reader: worker and owner take turns with one buffer. */

struct stdio_reader {
    struct worker worker;
    struct stdio_reader_ops ops;
    size_t window; /* lock: may still be read */
    size_t filled; /* lock: not 0: the buffer is the owner's, else the worker's */
    char buffer[]; /* PIECE_BYTES */
};

/* How much may be read now. False: nothing any more. */
static bool reader_turn(struct stdio_reader *reader, size_t *size)
{
    struct worker *worker = &reader->worker;
    pthread_mutex_lock(&worker->lock);
    bool goes_on = !worker->stop && !worker->ended;
    size_t window = reader->filled > 0 ? 0 : reader->window;
    pthread_mutex_unlock(&worker->lock);
    *size = window < PIECE_BYTES ? window : PIECE_BYTES;
    return goes_on;
}

/* On our terminal, which is another group's at present: read fails there, and poll waits. */
static bool in_background(int fd)
{
    pid_t foreground = tcgetpgrp(fd);
    return foreground >= 0 && foreground != getpgrp();
}

static bool read_step(struct worker *worker, bool in_thread)
{
    struct stdio_reader *reader = container_of(worker, struct stdio_reader, worker);
    ssize_t got = -EIO;
    size_t size;
    if (!reader_turn(reader, &size)) {
        return false;
    }
    if (size == 0 || !in_background(worker->fd)) {
        if (!is_ready(worker, size > 0 ? POLLIN : 0, in_thread)) {
            return in_thread;
        }
        got = transfer(worker, false, reader->buffer, size);
    }
    if (got == -EAGAIN || got == -ECANCELED) {
        return got == -EAGAIN;
    }
    pthread_mutex_lock(&worker->lock);
    if (got > 0) {
        reader->filled = (size_t) got;
        reader->window -= (size_t) got;
    } else {
        worker->ended = true;
        worker->error = got == -EIO || got == -EBADF ? 0 : (int) -got;
    }
    pthread_mutex_unlock(&worker->lock);
    loop_post(worker->loop, &worker->task);
    return got > 0;
}

static void reader_task(struct loop_task *task)
{
    struct worker *worker = container_of(task, struct worker, task);
    struct stdio_reader *reader = container_of(worker, struct stdio_reader, worker);
    pthread_mutex_lock(&worker->lock);
    size_t filled = reader->filled;
    bool ended = worker->ended;
    int error = worker->error;
    pthread_mutex_unlock(&worker->lock);
    if (filled > 0) {
        reader->ops.data(worker->arg, reader->buffer, filled);
        pthread_mutex_lock(&worker->lock);
        reader->filled = 0;
        pthread_mutex_unlock(&worker->lock);
        worker_go(worker);
    }
    if (ended && !worker->told) {
        worker->told = true;
        reader->ops.ended(worker->arg, error);
    }
}

static void reader_destroy(struct worker *worker)
{
    worker_fini(worker);
    free(container_of(worker, struct stdio_reader, worker));
}

int stdio_reader_create(struct stdio_reader **out, struct loop *loop, int fd,
                        const struct stdio_reader_ops *ops, void *arg)
{
    struct stdio_reader *reader = malloc(sizeof(*reader) + PIECE_BYTES);
    if (!reader) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *reader = (struct stdio_reader){.ops = *ops};
    if (worker_init(&reader->worker, loop, fd, arg) != ORTE_SUCCESS) {
        free(reader);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    reader->worker.step = read_step;
    reader->worker.task.run = reader_task;
    reader->worker.destroy = reader_destroy;
    *out = reader;
    return ORTE_SUCCESS;
}

void stdio_reader_allow(struct stdio_reader *reader, size_t bytes)
{
    struct worker *worker = &reader->worker;
    pthread_mutex_lock(&worker->lock);
    reader->window += bytes;
    bool anything = reader->window > 0 && !worker->ended;
    pthread_mutex_unlock(&worker->lock);
    if (anything) {
        worker_go(worker);
    }
}

void stdio_reader_end(struct stdio_reader *reader)
{
    if (reader) {
        worker_end(&reader->worker);
    }
}
