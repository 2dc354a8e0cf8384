#include <config.h>

#include <base/loop/handover.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void handover_init(struct handover *handover)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&handover->lock, NULL);
    pthread_cond_init(&handover->given, &attributes);
    pthread_condattr_destroy(&attributes);
    handover->done = false;
    handover->status = ORTE_SUCCESS;
    handover->reason[0] = '\0';
}

void handover_fini(struct handover *handover)
{
    pthread_cond_destroy(&handover->given);
    pthread_mutex_destroy(&handover->lock);
}

void handover_give(struct handover *handover, int status, const char *reason)
{
    pthread_mutex_lock(&handover->lock);
    if (!handover->done) {
        handover->done = true;
        handover->status = status;
        snprintf(handover->reason, sizeof(handover->reason), "%s", reason ? reason : "");
        pthread_cond_signal(&handover->given);
    }
    pthread_mutex_unlock(&handover->lock);
}

int handover_take(struct handover *handover, uint64_t deadline_us)
{
    struct timespec until = {(time_t) (deadline_us / 1000000u),
                             (long) (deadline_us % 1000000u) * 1000};
    pthread_mutex_lock(&handover->lock);
    int waited = 0;
    while (!handover->done && waited == 0) {
        waited = deadline_us ? pthread_cond_timedwait(&handover->given, &handover->lock, &until)
                             : pthread_cond_wait(&handover->given, &handover->lock);
    }
    int status = handover->done ? handover->status : ORTE_ERR_TIMEOUT;
    pthread_mutex_unlock(&handover->lock);
    return status;
}

struct call {
    struct loop_task task;
    struct handover handover;
    int (*fn)(void *arg);
    void *arg;
};

static void run_call(struct loop_task *task)
{
    struct call *call = container_of(task, struct call, task);
    handover_give(&call->handover, call->fn(call->arg), NULL);
}

int handover_call(struct loop *loop, int (*fn)(void *arg), void *arg)
{
    struct call call = {.task = {.run = run_call}, .fn = fn, .arg = arg};
    handover_init(&call.handover);
    loop_post(loop, &call.task);
    int status = handover_take(&call.handover, 0);
    handover_fini(&call.handover);
    return status;
}

struct work {
    struct handover handover;
    int (*fn)(void *arg);
    void *arg;
    void (*discard)(void *arg);
    bool abandoned; /* guarded by the handover's lock */
};

static void work_end(struct work *work)
{
    handover_fini(&work->handover);
    free(work);
}

static void *run_work(void *arg)
{
    struct work *work = arg;
    int status = work->fn(work->arg);
    pthread_mutex_lock(&work->handover.lock);
    bool abandoned = work->abandoned;
    work->handover.done = true;
    work->handover.status = status;
    pthread_cond_signal(&work->handover.given);
    pthread_mutex_unlock(&work->handover.lock);
    if (abandoned) {
        if (work->discard) {
            work->discard(work->arg);
        }
        work_end(work);
    }
    return NULL;
}

static int start_thread(pthread_t *thread, struct work *work)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, run_work, work);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error ? ORTE_ERR_OUT_OF_RESOURCE : ORTE_SUCCESS;
}

int handover_thread(int (*fn)(void *arg), void *arg, void (*discard)(void *arg),
                    uint64_t deadline_us)
{
    pthread_t thread;
    struct work *work = calloc(1, sizeof(*work));
    if (!work) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *work = (struct work){.fn = fn, .arg = arg, .discard = discard};
    handover_init(&work->handover);
    int status = start_thread(&thread, work);
    if (status != ORTE_SUCCESS) {
        work_end(work);
        return status;
    }
    (void) handover_take(&work->handover, deadline_us);
    pthread_mutex_lock(&work->handover.lock);
    bool done = work->handover.done;
    status = done ? work->handover.status : ORTE_ERR_TIMEOUT;
    work->abandoned = !done;
    pthread_mutex_unlock(&work->handover.lock);
    if (done) {
        pthread_join(thread, NULL);
        work_end(work);
    } else {
        pthread_detach(thread);
    }
    return status;
}
