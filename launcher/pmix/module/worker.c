/* The thread that calls libpmix for the daemon. libpmix's calls wait for its own thread, which a
 * client can bring to a standstill; the daemon's loop must not wait with them. */
#include <config.h>

#include <launcher/pmix/module/pmix_module_internal.h>

#include <base/data/clock.h>

#include <pthread.h>
#include <time.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct list queue; /* guarded by lock, as are these */
    bool running, ending;
    pthread_t thread;
    _Atomic uint64_t answered_us; /* when something was last done on libpmix's thread; 0: never */
} worker = {.lock = PTHREAD_MUTEX_INITIALIZER,
            .changed = PTHREAD_COND_INITIALIZER,
            .queue = LIST_INIT(worker.queue)};

/* NULL: it is over. */
static struct work *next(void)
{
    pthread_mutex_lock(&worker.lock);
    while (list_empty(&worker.queue) && !worker.ending) {
        pthread_cond_wait(&worker.changed, &worker.lock);
    }
    struct list *link = list_pop(&worker.queue);
    pthread_mutex_unlock(&worker.lock);
    return link ? container_of(link, struct work, link) : NULL;
}

static void *run(void *arg)
{
    (void) arg;
    for (struct work *work; (work = next());) {
        work->run(work);
    }
    return NULL;
}

static pmix_proc_t name_of_nobody(void)
{
    pmix_proc_t nobody;
    PMIX_LOAD_PROCID(&nobody, "keel.nobody", 0);
    return nobody;
}

int worker_start(void)
{
    worker.ending = false;
    worker.answered_us = 0;
    int error = pthread_create(&worker.thread, NULL, run, NULL);
    worker.running = error == 0;
    return error;
}

/* An answer given on libpmix's thread reaches its socket some turns of its loop later. */
enum { ANSWER_TURNS = 4, TURN_US = 5000, SURELY_OUT_US = 200000 };

/* libpmix's end drops what its thread has not sent yet. Taking back a registration that was never
 * made blocks until that thread has come to it, and does nothing else; what is asked for while it
 * is busy with the one before belongs to the same turn. */
static void let_answers_out(void)
{
    const struct timespec pause = {.tv_nsec = TURN_US * 1000};
    pmix_proc_t nobody = name_of_nobody();
    const uint64_t asked_us = worker.answered_us;
    if (asked_us > 0) {
        PMIx_server_deregister_client(&nobody, NULL, NULL); /* what was asked for is done */
    }
    const bool fresh = asked_us > 0 && clock_us() - worker.answered_us < SURELY_OUT_US;
    for (int turn = 0; fresh && turn < ANSWER_TURNS; turn++) {
        nanosleep(&pause, NULL);
        PMIx_server_deregister_client(&nobody, NULL, NULL);
    }
}

void worker_end(void)
{
    if (!worker.running) {
        return;
    }
    pthread_mutex_lock(&worker.lock);
    worker.ending = true;
    pthread_cond_signal(&worker.changed);
    pthread_mutex_unlock(&worker.lock);
    pthread_join(worker.thread, NULL);
    worker.running = false;
    let_answers_out();
}

void worker_do(struct work *work)
{
    list_init(&work->link);
    pthread_mutex_lock(&worker.lock);
    list_append(&worker.queue, &work->link);
    pthread_cond_signal(&worker.changed);
    pthread_mutex_unlock(&worker.lock);
}

/* --- libpmix's thread --- */

static void run_inside(pmix_status_t status, void *arg)
{
    struct inside_task *task = arg;
    worker.answered_us = clock_us();
    task->run(task, status == PMIX_SUCCESS);
}

/* Taking back a registration that was never made does nothing but this. */
static void go_inside(struct work *work)
{
    pmix_proc_t nobody = name_of_nobody();
    worker.answered_us = clock_us();
    PMIx_server_deregister_client(&nobody, run_inside,
                                  container_of(work, struct inside_task, work));
}

void worker_do_inside(struct inside_task *task)
{
    task->work.run = go_inside;
    worker_do(&task->work);
}
