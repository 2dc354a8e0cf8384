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
    list_init(&call.task.link);
    handover_init(&call.handover);
    loop_post(loop, &call.task);
    int status = handover_take(&call.handover, 0);
    handover_fini(&call.handover);
    return status;
}

struct errand {
    struct handover handover;
    int (*fn)(void *arg);
    void *arg;
    void (*discard)(void *arg);
    bool abandoned; /* guarded by the handover's lock */
};

static void errand_end(struct errand *errand)
{
    handover_fini(&errand->handover);
    free(errand);
}

static void *run_errand(void *arg)
{
    struct errand *errand = arg;
    int status = errand->fn(errand->arg);
    pthread_mutex_lock(&errand->handover.lock);
    bool abandoned = errand->abandoned;
    errand->handover.done = true;
    errand->handover.status = status;
    pthread_cond_signal(&errand->handover.given);
    pthread_mutex_unlock(&errand->handover.lock);
    if (abandoned) {
        if (errand->discard) {
            errand->discard(errand->arg);
        }
        errand_end(errand);
    }
    return NULL;
}

static int start_thread(pthread_t *thread, struct errand *errand)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, run_errand, errand);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error ? ORTE_ERR_OUT_OF_RESOURCE : ORTE_SUCCESS;
}

int handover_thread(int (*fn)(void *arg), void *arg, void (*discard)(void *arg),
                    uint64_t deadline_us)
{
    pthread_t thread;
    struct errand *errand = calloc(1, sizeof(*errand));
    if (!errand) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *errand = (struct errand){.fn = fn, .arg = arg, .discard = discard};
    handover_init(&errand->handover);
    int status = start_thread(&thread, errand);
    if (status != ORTE_SUCCESS) {
        errand_end(errand);
        return status;
    }
    (void) handover_take(&errand->handover, deadline_us);
    pthread_mutex_lock(&errand->handover.lock);
    bool done = errand->handover.done;
    status = done ? errand->handover.status : ORTE_ERR_TIMEOUT;
    errand->abandoned = !done;
    pthread_mutex_unlock(&errand->handover.lock);
    if (done) {
        pthread_join(thread, NULL);
        errand_end(errand);
    } else {
        pthread_detach(thread);
    }
    return status;
}
