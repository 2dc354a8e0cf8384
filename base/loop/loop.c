#include <config.h>

#include <base/loop/loop.h>
#include <base/settings/log.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define TIMER_MAX_US (UINT64_C(365) * 24 * 3600 * 1000000)

struct loop {
    struct event_base *base;
    struct event wake;       /* reads wake_fd */
    int wake_fd;             /* an eventfd: others posted, or asked to stop */
    _Atomic uintptr_t owner; /* the thread (see this_thread) that the loop belongs to; 0: any */
    atomic_bool stop;
    bool running; /* the owner is inside loop_run or loop_poll. Written by the owner under lock */

    pthread_mutex_t lock;
    /* Guarded by lock. */
    struct list posted; /* tasks since the last batch */
    struct list batch;  /* tasks being run, the oldest ones */
    bool woken;         /* wake_fd was written since the last batch */
    bool has_thread;
    pthread_t thread;
};

static uintptr_t this_thread(void)
{
    return (uintptr_t) pthread_self();
}

void loop_wake(struct loop *loop)
{
    const uint64_t one = 1;
    while (write(loop->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    struct loop *loop = arg;
    uint64_t count;
    (void) what;
    while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR) {
    }
    if (atomic_load(&loop->stop)) {
        event_base_loopbreak(loop->base);
    }
}

/* libevent ends the process when it gets no pipe: its descriptors, an epoll's and a pipe's, are
 * tried before. */
static bool descriptors_are_left(void)
{
    int fds[2] = {-1, -1};
    int one = eventfd(0, EFD_CLOEXEC);
    bool left = one >= 0 && pipe2(fds, O_CLOEXEC) == 0;
    for (int i = 0; i < 2 && left; i++) {
        close(fds[i]);
    }
    if (one >= 0) {
        close(one);
    }
    return left;
}

static struct event_base *make_base(void)
{
    struct event_config *config = descriptors_are_left() ? event_config_new() : NULL;
    if (!config) {
        return NULL;
    }
    event_config_avoid_method(config, "select");
    event_config_avoid_method(config, "poll");
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV |
                                      EVENT_BASE_FLAG_NO_CACHE_TIME);
    struct event_base *base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

int loop_create(struct loop **loop)
{
    struct loop *made = calloc(1, sizeof(*made));
    if (!made) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    made->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (made->wake_fd < 0) {
        goto free_loop;
    }
    made->base = make_base();
    if (!made->base) {
        goto close_wake;
    }
    event_assign(&made->wake, made->base, made->wake_fd, EV_READ | EV_PERSIST, on_wake, made);
    if (event_add(&made->wake, NULL) < 0) {
        goto free_base;
    }
    pthread_mutex_init(&made->lock, NULL);
    list_init(&made->posted);
    list_init(&made->batch);
    *loop = made;
    return ORTE_SUCCESS;

free_base:
    event_base_free(made->base);
close_wake:
    close(made->wake_fd);
free_loop:
    free(made);
    return ORTE_ERR_OUT_OF_RESOURCE;
}

void loop_destroy(struct loop *loop)
{
    if (!loop) {
        return;
    }
    loop_stop(loop);
    event_del(&loop->wake);
    event_base_free(loop->base);
    close(loop->wake_fd);
    pthread_mutex_destroy(&loop->lock);
    free(loop);
}

/* ---- tasks ---- */

static struct loop_task *next_task(struct loop *loop)
{
    struct loop_task *task = NULL;
    pthread_mutex_lock(&loop->lock);
    struct list *link = list_pop(&loop->batch);
    if (link) {
        task = container_of(link, struct loop_task, link);
        task->posted = false;
    }
    pthread_mutex_unlock(&loop->lock);
    return task;
}

/* Runs what was posted until now; what these tasks post waits for the next call, so that a task
 * which always posts itself again does not keep the watchers waiting. A task may free itself. */
static void run_tasks(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    list_splice(&loop->batch, &loop->posted);
    loop->woken = false;
    pthread_mutex_unlock(&loop->lock);

    struct loop_task *task;
    while (!atomic_load(&loop->stop) && (task = next_task(loop))) {
        task->run(task);
    }
}

static bool tasks_wait(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    bool wait = !list_empty(&loop->posted) || !list_empty(&loop->batch);
    pthread_mutex_unlock(&loop->lock);
    return wait;
}

bool loop_is_calling(const struct loop *loop)
{
    return atomic_load(&loop->owner) == this_thread() && loop->running;
}

bool loop_post_quietly(struct loop *loop, struct loop_task *task)
{
    pthread_mutex_lock(&loop->lock);
    bool must_wake = false;
    if (!task->posted) {
        task->posted = true;
        list_append(&loop->posted, &task->link);
        /* The loop's own callbacks need no wake-up: the loop looks before it sleeps. */
        must_wake = !loop->woken && !loop_is_calling(loop);
        loop->woken |= must_wake;
    }
    pthread_mutex_unlock(&loop->lock);
    return must_wake;
}

void loop_post(struct loop *loop, struct loop_task *task)
{
    if (loop_post_quietly(loop, task)) {
        loop_wake(loop);
    }
}

bool loop_cancel(struct loop *loop, struct loop_task *task)
{
    pthread_mutex_lock(&loop->lock);
    bool posted = task->posted;
    if (posted) {
        list_remove(&task->link);
        task->posted = false;
    }
    pthread_mutex_unlock(&loop->lock);
    return posted;
}

/* ---- running ---- */

static void set_running(struct loop *loop, bool running)
{
    pthread_mutex_lock(&loop->lock);
    if (running) {
        atomic_store(&loop->owner, this_thread());
    }
    loop->running = running;
    pthread_mutex_unlock(&loop->lock);
}

void loop_run(struct loop *loop)
{
    set_running(loop, true);
    while (!atomic_load(&loop->stop)) {
        run_tasks(loop);
        if (!atomic_load(&loop->stop)) {
            event_base_loop(loop->base, EVLOOP_ONCE | (tasks_wait(loop) ? EVLOOP_NONBLOCK : 0));
        }
    }
    set_running(loop, false);
    atomic_store(&loop->stop, false);
}

void loop_poll(struct loop *loop)
{
    if (loop->running) {
        return; /* called by one of the loop's own callbacks */
    }
    set_running(loop, true);
    run_tasks(loop);
    event_base_loop(loop->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    run_tasks(loop);
    set_running(loop, false);
    atomic_store(&loop->stop, false);
}

static void *thread_main(void *arg)
{
    struct loop *loop = arg;
    loop_run(loop);
    return NULL;
}

int loop_start_thread(struct loop *loop)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_mutex_lock(&loop->lock);
    int error = pthread_create(&loop->thread, NULL, thread_main, loop);
    if (!error) {
        loop->has_thread = true;
        atomic_store(&loop->owner, (uintptr_t) loop->thread);
    }
    pthread_mutex_unlock(&loop->lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        log_error(LOG_BASE, "cannot start the loop's thread: %s", strerror(error));
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    pthread_setname_np(loop->thread, "keel-loop");
    return ORTE_SUCCESS;
}

void loop_stop(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    bool self = pthread_equal(loop->thread, pthread_self()) && loop->has_thread;
    bool join = loop->has_thread && !self;
    if (join) {
        loop->has_thread = false;
    }
    atomic_store(&loop->stop, true);
    pthread_mutex_unlock(&loop->lock);
    loop_wake(loop);
    if (join) {
        pthread_join(loop->thread, NULL);
        atomic_store(&loop->owner, 0);
        atomic_store(&loop->stop, false);
    }
}

bool loop_is_current(const struct loop *loop)
{
    uintptr_t owner = atomic_load(&loop->owner);
    return owner == 0 || owner == this_thread();
}

/* ---- watchers ---- */

/* The watcher may be gone when its callback returns; the loop is not. */
static void on_io(evutil_socket_t fd, short what, void *arg)
{
    struct loop_io *io = arg;
    struct loop *loop = io->loop;
    (void) fd;
    io->ready(io, what & (EV_READ | EV_WRITE));
    if (atomic_load(&loop->stop)) {
        event_base_loopbreak(loop->base);
    }
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct loop_timer *timer = arg;
    struct loop *loop = timer->loop;
    (void) fd;
    (void) what;
    timer->started = false;
    timer->fired(timer);
    if (atomic_load(&loop->stop)) {
        event_base_loopbreak(loop->base);
    }
}

void loop_io_init(struct loop_io *io, struct loop *loop, int fd,
                  void (*ready)(struct loop_io *io, short events))
{
    *io = (struct loop_io){.loop = loop, .fd = fd, .ready = ready};
}

void loop_io_watch(struct loop_io *io, short events)
{
    if (events == io->events) {
        return;
    }
    if (io->events) {
        event_del(&io->event);
    }
    io->events = 0;
    if (!events) {
        return;
    }
    event_assign(&io->event, io->loop->base, io->fd, (short) (events | EV_PERSIST), on_io, io);
    if (event_add(&io->event, NULL) < 0) {
        log_error(LOG_BASE, "cannot watch descriptor %d: %s", io->fd, strerror(errno));
        return;
    }
    io->events = events;
}

void loop_timer_init(struct loop_timer *timer, struct loop *loop,
                     void (*fired)(struct loop_timer *timer))
{
    *timer = (struct loop_timer){.loop = loop, .fired = fired};
    evtimer_assign(&timer->event, loop->base, on_timer, timer);
}

void loop_timer_start(struct loop_timer *timer, uint64_t delay_us)
{
    uint64_t delay = delay_us < TIMER_MAX_US ? delay_us : TIMER_MAX_US;
    struct timeval wait = {.tv_sec = (time_t) (delay / 1000000),
                           .tv_usec = (suseconds_t) (delay % 1000000)};
    if (event_add(&timer->event, &wait) < 0) {
        log_error(LOG_BASE, "cannot start a timer: out of memory");
        return;
    }
    timer->started = true;
}

void loop_timer_stop(struct loop_timer *timer)
{
    if (timer->started) {
        event_del(&timer->event);
        timer->started = false;
    }
}
