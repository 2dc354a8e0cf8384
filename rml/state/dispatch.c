/* Where callbacks run. What completes is queued in the order of completion. In
 * RML_DISPATCH_PROGRESS mode the application's threads run the queue, one thread and one callback
 * at a time: the thread inside a callback is the drainer. While that callback blocks in a call of
 * ours, the drainer runs recursive completions only, and the others keep their order. What was put
 * aside (rml_defer) takes its turn in the same queue, but holds nothing back while it blocks. In
 * RML_DISPATCH_LOOP mode a task on the loop runs the queue. */
#include <config.h>

#include <base/data/clock.h>
#include <base/net/sock.h>
#include <poll.h>
#include <rml/state/state.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    SPINS = 1000,            /* polls without work before a waiting thread yields */
    YIELDS = 100,            /* and before it sleeps */
    NAP_US = 1000,           /* then it polls once per nap */
    LOOP_WAIT_US = 10000000, /* for work that another thread hands to the loop */
    PUT_OFF_MAX = 32,        /* wakes of the loop's */
};

static void drain_on_loop(struct loop_task *task);
static void wake_from_loop(struct loop_task *task);

void rml_dispatch_init(struct rml *rml)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&rml->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    rml->news.fd = -1;
    list_init(&rml->due);
    rml->drain.run = drain_on_loop;
    rml->waker.run = wake_from_loop;
}

void rml_dispatch_fini(struct rml *rml)
{
    loop_cancel(rml->config.loop, &rml->drain);
    loop_cancel(rml->config.loop, &rml->waker);
    for (struct list *link; (link = list_pop(&rml->due));) {
        struct rml_completion *completion = container_of(link, struct rml_completion, link);
        completion->drop(rml, completion);
    }
    fd_close(&rml->news.fd);
    pthread_cond_destroy(&rml->wake);
}

/* --- the queue --- */

/* news -1: nobody sleeps on it. */
static void wake_all(struct rml *rml, int news)
{
    const uint64_t one = 1;
    if (news >= 0) {
        ssize_t written = write(news, &one, sizeof(one));
        (void) written; /* full: it is readable */
    }
    pthread_cond_broadcast(&rml->wake);
}

static int watched_locked(const struct rml *rml)
{
    return rml->news.sleepers > 0 ? rml->news.fd : -1;
}

/* Who is woken takes the lock first. The loop holds it, and is often about to bring more: it wakes
 * when it has handled what it read, without the lock. */
void rml_wake_locked(struct rml *rml)
{
    if (rml->sleepers == 0) {
        return;
    }
    if (loop_is_calling(rml->config.loop) && ++rml->put_off < PUT_OFF_MAX) {
        loop_post(rml->config.loop, &rml->waker);
    } else {
        rml->put_off = 0;
        wake_all(rml, watched_locked(rml));
    }
}

static void wake_from_loop(struct loop_task *task)
{
    struct rml *rml = container_of(task, struct rml, waker);
    pthread_mutex_lock(&rml->lock);
    rml->put_off = 0;
    bool wakes = rml->sleepers > 0;
    int news = watched_locked(rml);
    pthread_mutex_unlock(&rml->lock);
    if (wakes) {
        wake_all(rml, news);
    }
}

void rml_wake(struct rml *rml)
{
    pthread_mutex_lock(&rml->lock);
    rml_wake_locked(rml);
    pthread_mutex_unlock(&rml->lock);
}

void rml_due_locked(struct rml *rml, struct rml_completion *completion)
{
    list_append(&rml->due, &completion->link);
    rml->due_count++;
    if (rml->config.dispatch == RML_DISPATCH_LOOP) {
        loop_post(rml->config.loop, &rml->drain);
    } else {
        rml_wake_locked(rml);
    }
}

void rml_post(struct rml *rml, struct rml_completion *completion)
{
    pthread_mutex_lock(&rml->lock);
    rml_due_locked(rml, completion);
    pthread_mutex_unlock(&rml->lock);
}

void rml_undue_locked(struct rml *rml, struct rml_completion *completion)
{
    list_remove(&completion->link);
    rml->due_count--;
}

static bool is_drainer(const struct rml *rml)
{
    return rml->draining && pthread_equal(rml->drainer, pthread_self());
}

bool rml_in_callback(struct rml *rml)
{
    pthread_mutex_lock(&rml->lock);
    bool inside = is_drainer(rml);
    pthread_mutex_unlock(&rml->lock);
    return inside;
}

/* The completion that the calling thread may run now; NULL: none. */
static struct rml_completion *choose_locked(struct rml *rml)
{
    if (rml->draining && !is_drainer(rml)) {
        return NULL;
    }
    bool nested = rml->draining && rml->in_callback;
    struct rml_completion *completion;
    list_for_each (completion, &rml->due, struct rml_completion, link) {
        if (!nested || completion->recursive) {
            return completion;
        }
    }
    return NULL;
}

static bool run_one_locked(struct rml *rml)
{
    struct rml_completion *completion = choose_locked(rml);
    if (!completion) {
        return false;
    }
    bool draining = rml->draining, in_callback = rml->in_callback;
    rml_undue_locked(rml, completion);
    rml->draining = true;
    rml->drainer = pthread_self();
    rml->in_callback = !completion->aside;
    pthread_mutex_unlock(&rml->lock);
    completion->run(rml, completion);
    pthread_mutex_lock(&rml->lock);
    rml->draining = draining;
    rml->in_callback = in_callback;
    rml_wake_locked(rml); /* the callback may have ended a wait; others may drain now */
    return true;
}

/* --- progress mode --- */

int rml_progress(struct rml *rml)
{
    int ran = 0;
    if (rml->config.dispatch == RML_DISPATCH_LOOP ||
        atomic_load_explicit(&rml->due_count, memory_order_relaxed) == 0) {
        return 0; /* the usual case costs no lock */
    }
    pthread_mutex_lock(&rml->lock);
    if (!rml->draining || (is_drainer(rml) && !rml->in_callback)) {
        /* What the callbacks add waits for the next call. */
        for (size_t left = rml->due_count; left > 0 && run_one_locked(rml); left--) {
            ran++;
        }
    }
    pthread_mutex_unlock(&rml->lock);
    return ran;
}

void rml_sleep_locked(struct rml *rml, uint64_t until_us)
{
    rml->sleepers++;
    if (until_us == 0) {
        pthread_cond_wait(&rml->wake, &rml->lock);
    } else {
        struct timespec until = {(time_t) (until_us / 1000000u),
                                 (long) (until_us % 1000000u) * 1000};
        pthread_cond_timedwait(&rml->wake, &rml->lock, &until);
    }
    rml->sleepers--;
}

/* Those who sleep on it make it. */
static void make_news_locked(struct rml *rml)
{
    if (rml->news.fd < 0) {
        rml->news.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
}

static struct timespec time_until(uint64_t until_us)
{
    const uint64_t now_us = clock_us(), left_us = until_us > now_us ? until_us - now_us : 0;
    return (struct timespec){(time_t) (left_us / 1000000u), (long) (left_us % 1000000u) * 1000};
}

/* Gives the lock up meanwhile. */
static void watch_locked(struct rml *rml, uint64_t until_us, struct pollfd *watch, size_t count)
{
    make_news_locked(rml);
    /* Without the eventfd it looks now and then. */
    uint64_t nap_us = clock_us() + NAP_US, written;
    const struct timespec time =
        time_until(rml->news.fd < 0 && nap_us < until_us ? nap_us : until_us);
    watch[0] = (struct pollfd){.fd = rml->news.fd, .events = POLLIN};
    rml->sleepers++;
    rml->news.sleepers++;
    pthread_mutex_unlock(&rml->lock);
    if (ppoll(watch, count, &time, NULL) > 0 && watch[0].revents) {
        ssize_t got = read(watch[0].fd, &written, sizeof(written));
        (void) got; /* another has read it */
    }
    pthread_mutex_lock(&rml->lock);
    rml->sleepers--;
    rml->news.sleepers--;
}

void rml_rest(struct rml *rml, uint64_t until_us, struct pollfd *watch, size_t count)
{
    pthread_mutex_lock(&rml->lock);
    bool due = choose_locked(rml);
    if (!due && watch) {
        watch_locked(rml, until_us, watch, count);
    } else if (!due) {
        rml_sleep_locked(rml, until_us);
    }
    pthread_mutex_unlock(&rml->lock);
}

struct waiter {
    const bool *done;     /* ends the wait; written before a wake, perhaps by another thread */
    uint64_t deadline_us; /* 0: none */
    int (*poll)(void *arg);
    void *arg;
    unsigned idle; /* polls without work, since the last work */
};

static bool is_over(const struct waiter *waiter)
{
    return __atomic_load_n(waiter->done, __ATOMIC_ACQUIRE);
}

/* Nothing is due: polls the data plane, and rests when that has been idle for some time. */
static void pass_time_locked(struct rml *rml, struct waiter *waiter)
{
    if (!waiter->poll) {
        rml_sleep_locked(rml, waiter->deadline_us);
        return;
    }
    pthread_mutex_unlock(&rml->lock);
    waiter->idle = waiter->poll(waiter->arg) > 0 ? 0 : waiter->idle + 1;
    if (waiter->idle > SPINS && waiter->idle <= SPINS + YIELDS) {
        sched_yield();
    }
    pthread_mutex_lock(&rml->lock);
    if (waiter->idle > SPINS + YIELDS && !is_over(waiter) && !choose_locked(rml)) {
        uint64_t until = clock_us() + NAP_US;
        bool bounded = waiter->deadline_us > 0 && waiter->deadline_us < until;
        rml_sleep_locked(rml, bounded ? waiter->deadline_us : until);
    }
}

static int wait_until(struct rml *rml, struct waiter *waiter)
{
    int status = ORTE_SUCCESS;
    pthread_mutex_lock(&rml->lock);
    while (!is_over(waiter)) {
        if (waiter->deadline_us > 0 && clock_us() >= waiter->deadline_us) {
            status = ORTE_ERR_TIMEOUT;
            break;
        }
        if (run_one_locked(rml)) {
            waiter->idle = 0;
        } else {
            pass_time_locked(rml, waiter);
        }
    }
    pthread_mutex_unlock(&rml->lock);
    return status;
}

int rml_wait(struct rml *rml, const bool *done, uint64_t deadline_us, int (*poll)(void *arg),
             void *arg)
{
    if (rml->config.dispatch == RML_DISPATCH_LOOP) {
        return ORTE_ERR_NOT_SUPPORTED;
    }
    struct waiter waiter = {.done = done, .deadline_us = deadline_us, .poll = poll, .arg = arg};
    unsigned held = rml->config.leave ? rml->config.leave() : 0;
    int status = wait_until(rml, &waiter);
    if (held > 0) {
        rml->config.back(held);
    }
    return status;
}

/* One thread polls the data plane at a time, and not from inside itself. */
static int poll_once(void *arg)
{
    struct rml *rml = arg;
    int (*poll)(void *) = NULL;
    void *poll_arg = NULL;
    pthread_mutex_lock(&rml->lock);
    if (!rml->polling && rml->poll) {
        rml->polling = true;
        poll = rml->poll;
        poll_arg = rml->poll_arg;
    }
    pthread_mutex_unlock(&rml->lock);
    if (!poll) {
        return 0;
    }
    int work = poll(poll_arg);
    pthread_mutex_lock(&rml->lock);
    rml->polling = false;
    pthread_mutex_unlock(&rml->lock);
    return work;
}

int rml_block(struct rml *rml, const bool *done, uint64_t deadline_us)
{
    pthread_mutex_lock(&rml->lock);
    bool polls = rml->poll != NULL;
    pthread_mutex_unlock(&rml->lock);
    return rml_wait(rml, done, deadline_us, polls ? poll_once : NULL, rml);
}

void rml_set_poll(struct rml *rml, int (*poll)(void *arg), void *arg)
{
    pthread_mutex_lock(&rml->lock);
    rml->poll = poll;
    rml->poll_arg = arg;
    pthread_mutex_unlock(&rml->lock);
}

/* --- what was put aside --- */

struct deferred {
    struct rml_completion completion;
    void (*run)(void *arg);
    void (*drop)(void *arg);
    void *arg;
};

static void run_deferred(struct rml *rml, struct rml_completion *completion)
{
    struct deferred deferred = *container_of(completion, struct deferred, completion);
    (void) rml;
    free(container_of(completion, struct deferred, completion));
    deferred.run(deferred.arg);
}

static void drop_deferred(struct rml *rml, struct rml_completion *completion)
{
    struct deferred *deferred = container_of(completion, struct deferred, completion);
    (void) rml;
    deferred->drop(deferred->arg);
    free(deferred);
}

int rml_defer(struct rml *rml, void (*run)(void *arg), void (*drop)(void *arg), void *arg)
{
    struct deferred *deferred = malloc(sizeof(*deferred));
    if (!deferred) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *deferred =
        (struct deferred){.completion = {.aside = true, .run = run_deferred, .drop = drop_deferred},
                          .run = run,
                          .drop = drop,
                          .arg = arg};
    pthread_mutex_lock(&rml->lock);
    rml_due_locked(rml, &deferred->completion);
    pthread_mutex_unlock(&rml->lock);
    return ORTE_SUCCESS;
}

/* --- loop mode --- */

static void drain_on_loop(struct loop_task *task)
{
    struct rml *rml = container_of(task, struct rml, drain);
    pthread_mutex_lock(&rml->lock);
    for (size_t left = rml->due_count; left > 0; left--) {
        (void) run_one_locked(rml);
    }
    if (rml->due_count > 0) {
        loop_post(rml->config.loop, &rml->drain);
    }
    pthread_mutex_unlock(&rml->lock);
}

/* --- queries: an answer from the loop --- */

struct query {
    struct loop_task task;
    struct rml *rml;
    char *(*work)(struct rml *rml);
    char *answer;   /* malloc'd or NULL */
    bool done;      /* guarded by the RML's lock, as abandoned is */
    bool abandoned; /* nobody waits any more: the task frees */
};

static void run_query(struct loop_task *task)
{
    struct query *query = container_of(task, struct query, task);
    struct rml *rml = query->rml;
    char *answer = query->work(rml);
    pthread_mutex_lock(&rml->lock);
    query->answer = answer;
    query->done = true;
    bool abandoned = query->abandoned;
    rml_wake_locked(rml);
    pthread_mutex_unlock(&rml->lock);
    if (abandoned) {
        free(answer);
        free(query);
    }
}

char *rml_ask_loop(struct rml *rml, char *(*work)(struct rml *rml))
{
    if (loop_is_current(rml->config.loop)) {
        return work(rml);
    }
    struct query *query = calloc(1, sizeof(*query));
    if (!query) {
        return NULL;
    }
    query->task.run = run_query;
    query->rml = rml;
    query->work = work;
    loop_post(rml->config.loop, &query->task);
    uint64_t deadline = clock_us() + LOOP_WAIT_US;
    pthread_mutex_lock(&rml->lock);
    while (!query->done && clock_us() < deadline) {
        rml_sleep_locked(rml, deadline);
    }
    bool done = query->done;
    char *answer = query->answer;
    query->abandoned = !done;
    pthread_mutex_unlock(&rml->lock);
    if (done) {
        free(query);
    }
    return answer;
}
