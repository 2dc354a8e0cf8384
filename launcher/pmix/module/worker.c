/* The thread that calls libpmix for the daemon. libpmix's calls wait for its own thread, which a
 * client can bring to a standstill; the daemon's loop must not wait with them. */
#include <config.h>

#include <launcher/pmix/module/pmix_module_internal.h>

#include <pthread.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct list queue; /* guarded by lock, as are these */
    bool running, ending;
    pthread_t thread;
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

int worker_start(void)
{
    worker.ending = false;
    int error = pthread_create(&worker.thread, NULL, run, NULL);
    worker.running = error == 0;
    return error;
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
    task->run(task, status == PMIX_SUCCESS);
}

/* Taking back a registration that was never made does nothing but this. */
static void go_inside(struct work *work)
{
    pmix_proc_t nobody;
    PMIX_LOAD_PROCID(&nobody, "keel.nobody", 0);
    PMIx_server_deregister_client(&nobody, run_inside,
                                  container_of(work, struct inside_task, work));
}

void worker_do_inside(struct inside_task *task)
{
    task->work.run = go_inside;
    worker_do(&task->work);
}
