#include <config.h>

#include <errno.h>
#include <launcher/bytes.h>
#include <launcher/stdio.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Locks: each writer and reader has one, held for its counters and flags only, never in a system
 * call that may wait and never in a callback. A thread can be cancelled only inside read, write or
 * poll, so it never takes the lock to the grave. */

enum { PIECE_BYTES = 64 * 1024, CANCEL_WAIT_MS = 200 };

/* What both sides have in common. */
struct worker {
    struct loop *loop; /* borrowed */
    int fd;            /* borrowed */
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void *(*body)(void *arg); /* the thread's */
    void *body_arg;
    pthread_t thread;
    bool has_thread;
    bool stop;             /* lock: the thread shall end */
    bool over;             /* lock: it has, or has nothing left to do */
    bool transfers;        /* lock: it is in a system call that may wait */
    bool ended;            /* lock: nothing can be read or written any more */
    int error;             /* lock: why, an errno; 0: end of file */
    bool told;             /* loop: so the owner knows */
    struct loop_task task; /* posted by the thread */
};

static int worker_init(struct worker *worker, struct loop *loop, int fd, void *arg,
                       void (*run)(struct loop_task *task))
{
    pthread_condattr_t attr;
    *worker = (struct worker){.loop = loop, .fd = fd, .arg = arg, .task = {.run = run}};
    if (pthread_mutex_init(&worker->lock, NULL) != 0) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&worker->changed, &attr);
    pthread_condattr_destroy(&attr);
    return ORTE_SUCCESS;
}

static void worker_fini(struct worker *worker)
{
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->lock);
}

static void worker_over(void *arg)
{
    struct worker *worker = arg;
    pthread_mutex_lock(&worker->lock);
    worker->over = true;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
}

static void *worker_thread(void *arg)
{
    struct worker *worker = arg;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cleanup_push(worker_over, worker);
    worker->body(worker->body_arg);
    pthread_cleanup_pop(1);
    return NULL;
}

/* Makes the thread, with all signals blocked and not to be cancelled. */
static bool worker_start(struct worker *worker, void *(*body)(void *arg), void *arg)
{
    sigset_t all, old;
    if (worker->has_thread) {
        return true;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    worker->body = body;
    worker->body_arg = arg;
    int rc = pthread_create(&worker->thread, NULL, worker_thread, worker);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    worker->has_thread = rc == 0;
    return rc == 0;
}

static struct timespec after_ms(unsigned ms)
{
    struct timespec when;
    clock_gettime(CLOCK_MONOTONIC, &when);
    when.tv_sec += ms / 1000;
    when.tv_nsec += (long) (ms % 1000) * 1000000;
    if (when.tv_nsec >= 1000000000) {
        when.tv_sec++;
        when.tv_nsec -= 1000000000;
    }
    return when;
}

/* Ends the thread; false: the kernel does not let it go, and it keeps the worker's memory. One that
 * waits for nothing is not cancelled: the C library would load another library for that. */
static bool worker_stop(struct worker *worker)
{
    if (worker->has_thread) {
        pthread_mutex_lock(&worker->lock);
        worker->stop = true;
        bool transfers = worker->transfers;
        pthread_cond_broadcast(&worker->changed);
        if (transfers) {
            pthread_cancel(worker->thread);
        }
        struct timespec limit = after_ms(CANCEL_WAIT_MS);
        while (!worker->over &&
               pthread_cond_timedwait(&worker->changed, &worker->lock, &limit) != ETIMEDOUT) {
        }
        bool over = worker->over;
        pthread_mutex_unlock(&worker->lock);
        if (!over) {
            pthread_detach(worker->thread);
            return false;
        }
        pthread_join(worker->thread, NULL);
    }
    loop_cancel(worker->loop, &worker->task);
    return true;
}

/* Returns whether the thread shall stop. */
static bool set_transfers(struct worker *worker, bool transfers)
{
    pthread_mutex_lock(&worker->lock);
    bool stop = worker->stop;
    worker->transfers = transfers;
    pthread_mutex_unlock(&worker->lock);
    return stop;
}

/* read or write, until it does something: bytes, 0 (end of file) or -errno; -ECANCELED: the thread
 * shall stop. A cancellation point. */
static ssize_t transfer(struct worker *worker, bool writing, char *data, size_t size)
{
    ssize_t done;
    int fd = worker->fd;
    if (set_transfers(worker, true)) {
        return -ECANCELED;
    }
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    for (;;) {
        done = writing ? write(fd, data, size) : read(fd, data, size);
        if (done >= 0 || (errno != EINTR && errno != EAGAIN)) {
            break;
        }
        struct pollfd wait = {.fd = fd, .events = writing ? POLLOUT : POLLIN};
        poll(&wait, 1, -1); /* another process has made it non-blocking */
    }
    int error = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    set_transfers(worker, false);
    return done < 0 ? -error : done;
}

/* The writer: the loop fills one queue while the thread writes the other. */

struct stdio_writer {
    struct worker worker;
    struct stdio_writer_ops ops;
    size_t limit;
    size_t waiting;       /* loop: put and not yet told as written */
    struct bytes filling; /* lock */
    size_t written;       /* lock: not yet told */
    size_t left;          /* lock: put and not yet written or dropped */
    struct bytes writing; /* thread */
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
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    loop_post(worker->loop, &worker->task);
}

/* Writes a whole queue; after an error it only counts. */
static void write_queue(struct stdio_writer *writer)
{
    struct bytes *queue = &writer->writing;
    int error = writer->worker.ended ? writer->worker.error : 0; /* only this thread sets it */
    while (bytes_waiting(queue) > 0) {
        size_t size = bytes_waiting(queue);
        size = size > PIECE_BYTES && !error ? PIECE_BYTES : size;
        if (!error) {
            ssize_t done = transfer(&writer->worker, true, queue->data + queue->head, size);
            error = done < 0 ? (int) -done : 0;
            size = done < 0 ? bytes_waiting(queue) : (size_t) done;
        }
        bytes_consume(queue, size);
        writer_count(writer, size, error);
    }
}

static void *writer_body(void *arg)
{
    struct stdio_writer *writer = arg;
    struct worker *worker = &writer->worker;
    for (;;) {
        pthread_mutex_lock(&worker->lock);
        while (!worker->stop && bytes_waiting(&writer->filling) == 0) {
            pthread_cond_wait(&worker->changed, &worker->lock);
        }
        bool stop = worker->stop;
        struct bytes filled = writer->filling;
        writer->filling = writer->writing;
        writer->writing = filled;
        pthread_mutex_unlock(&worker->lock);
        if (stop) {
            return NULL;
        }
        write_queue(writer);
    }
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

int stdio_writer_create(struct stdio_writer **out, struct loop *loop, int fd, size_t limit,
                        const struct stdio_writer_ops *ops, void *arg)
{
    struct stdio_writer *writer = calloc(1, sizeof(*writer));
    if (!writer || worker_init(&writer->worker, loop, fd, arg, writer_task) != ORTE_SUCCESS) {
        free(writer);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
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
    if (!worker_start(worker, writer_body, writer)) {
        return false;
    }
    pthread_mutex_lock(&worker->lock);
    bool taken = bytes_append(&writer->filling, data, size);
    writer->left += taken ? size : 0;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    writer->waiting += taken ? size : 0;
    return taken;
}

size_t stdio_writer_room(const struct stdio_writer *writer)
{
    return writer->limit - writer->waiting;
}

size_t stdio_writer_waiting(const struct stdio_writer *writer)
{
    return writer->waiting;
}

size_t stdio_writer_end(struct stdio_writer *writer, unsigned wait_ms)
{
    if (!writer) {
        return 0;
    }
    struct worker *worker = &writer->worker;
    struct timespec limit = after_ms(wait_ms);
    pthread_mutex_lock(&worker->lock);
    while (writer->left > 0 &&
           pthread_cond_timedwait(&worker->changed, &worker->lock, &limit) != ETIMEDOUT) {
    }
    size_t left = writer->left;
    pthread_mutex_unlock(&worker->lock);
    if (worker_stop(worker)) {
        bytes_fini(&writer->filling);
        bytes_fini(&writer->writing);
        worker_fini(worker);
        free(writer);
    }
    return left;
}

/* The reader: thread and loop take turns with one buffer. */

struct stdio_reader {
    struct worker worker;
    struct stdio_reader_ops ops;
    size_t window; /* lock: may still be read */
    size_t filled; /* lock: not 0: the buffer is the loop's, else the thread's */
    char buffer[PIECE_BYTES];
};

/* Waits for its turn: how many bytes to read, 0: none any more. */
static size_t reader_turn(struct stdio_reader *reader)
{
    struct worker *worker = &reader->worker;
    pthread_mutex_lock(&worker->lock);
    while (!worker->stop && (reader->window == 0 || reader->filled > 0)) {
        pthread_cond_wait(&worker->changed, &worker->lock);
    }
    size_t size = worker->stop ? 0 : reader->window;
    pthread_mutex_unlock(&worker->lock);
    return size < PIECE_BYTES ? size : PIECE_BYTES;
}

static void *reader_body(void *arg)
{
    struct stdio_reader *reader = arg;
    struct worker *worker = &reader->worker;
    size_t size;
    ssize_t got = 1;
    while (got > 0 && (size = reader_turn(reader)) > 0) {
        got = transfer(worker, false, reader->buffer, size);
        pthread_mutex_lock(&worker->lock);
        if (got > 0) {
            reader->filled = (size_t) got;
            reader->window -= (size_t) got;
        } else {
            /* EIO: a terminal, and we are in the background */
            worker->ended = true;
            worker->error = got == -EIO || got == -EBADF ? 0 : (int) -got;
        }
        pthread_mutex_unlock(&worker->lock);
        loop_post(worker->loop, &worker->task);
    }
    return NULL;
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
        pthread_cond_broadcast(&worker->changed);
        pthread_mutex_unlock(&worker->lock);
    }
    if (ended && !worker->told) {
        worker->told = true;
        reader->ops.ended(worker->arg, error);
    }
}

int stdio_reader_create(struct stdio_reader **out, struct loop *loop, int fd,
                        const struct stdio_reader_ops *ops, void *arg)
{
    struct stdio_reader *reader = calloc(1, sizeof(*reader));
    if (!reader || worker_init(&reader->worker, loop, fd, arg, reader_task) != ORTE_SUCCESS) {
        free(reader);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    reader->ops = *ops;
    *out = reader;
    return ORTE_SUCCESS;
}

void stdio_reader_allow(struct stdio_reader *reader, size_t bytes)
{
    struct worker *worker = &reader->worker;
    pthread_mutex_lock(&worker->lock);
    reader->window += bytes;
    pthread_cond_broadcast(&worker->changed);
    bool begin = bytes > 0 && !worker->ended;
    pthread_mutex_unlock(&worker->lock);
    if (begin && !worker_start(worker, reader_body, reader)) {
        worker->ended = true; /* there is no thread to share it with */
        worker->error = EAGAIN;
        loop_post(worker->loop, &worker->task);
    }
}

void stdio_reader_end(struct stdio_reader *reader)
{
    if (reader && worker_stop(&reader->worker)) {
        worker_fini(&reader->worker);
        free(reader);
    }
}
