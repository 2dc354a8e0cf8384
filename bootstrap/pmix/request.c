#include <config.h>

#include <bootstrap/pmix/request.h>

#include <base/data/clock.h>
#include <base/loop/handover.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_US 1000000u
#define GRACE_S 2 /* beyond the server's own deadline */

/* On libpmix's thread. */
static void answered(void *arg, const struct pmix_answer *answer)
{
    struct request *request = arg;
    request->status = answer->status;
    request->text = answer->text;
    if (answer->status == ORTE_SUCCESS && answer->size > 0) {
        request->data = malloc(answer->size);
        if (request->data) {
            memcpy(request->data, answer->data, answer->size);
            request->size = answer->size;
        } else {
            request->status = ORTE_ERR_OUT_OF_RESOURCE;
        }
    }
    request->deliver(request);
}

static bool drop_locked(struct request *request)
{
    struct pmix_ticket *ticket = request->ticket;
    request->ticket = NULL;
    return ticket && request->desk->calls->drop(ticket);
}

/* --- deadlines --- */

static void wind(struct loop_task *task)
{
    struct request_desk *desk = container_of(task, struct request_desk, wind);
    if (!desk->timer.started) {
        loop_timer_start(&desk->timer, LOOK_US);
    }
}

static void look(struct loop_timer *timer)
{
    struct request_desk *desk = container_of(timer, struct request_desk, timer);
    uint64_t now = clock_us();
    struct request *request;
    pthread_mutex_lock(&desk->lock);
    list_for_each (request, &desk->open, struct request, link) {
        if (request->ticket && now >= request->deadline_us && drop_locked(request)) {
            request->status = ORTE_ERR_TIMEOUT;
            request->text = "no answer";
            request->deliver(request);
        }
    }
    bool more = !list_empty(&desk->open);
    pthread_mutex_unlock(&desk->lock);
    if (more) {
        loop_timer_start(timer, LOOK_US);
    }
}

/* --- life --- */

void request_desk_open(struct request_desk *desk, const struct pmix_calls *calls, struct loop *loop)
{
    *desk = (struct request_desk){.calls = calls, .loop = loop};
    pthread_mutex_init(&desk->lock, NULL);
    list_init(&desk->open);
    desk->wind.run = wind;
    loop_timer_init(&desk->timer, loop, look);
}

static int stop_on_loop(void *arg)
{
    struct request_desk *desk = arg;
    (void) loop_cancel(desk->loop, &desk->wind);
    loop_timer_stop(&desk->timer);
    return ORTE_SUCCESS;
}

void request_desk_close(struct request_desk *desk)
{
    (void) handover_call(desk->loop, stop_on_loop, desk);
    pthread_mutex_destroy(&desk->lock);
}

int request_begin(struct request *request, struct request_desk *desk, uint32_t rank,
                  const char *key, unsigned timeout_s)
{
    request->desk = desk;
    request->deadline_us = clock_us() + (uint64_t) (timeout_s + GRACE_S) * 1000000u;
    request->status = ORTE_ERROR;
    request->data = NULL;
    request->size = 0;
    pthread_mutex_lock(&desk->lock);
    list_append(&desk->open, &request->link);
    int status = desk->calls->get(rank, key, timeout_s, answered, request, &request->ticket);
    if (status != ORTE_SUCCESS) {
        list_remove(&request->link);
    }
    pthread_mutex_unlock(&desk->lock);
    if (status == ORTE_SUCCESS) {
        loop_post(desk->loop, &desk->wind);
    }
    return status;
}

bool request_give_up(struct request *request)
{
    pthread_mutex_lock(&request->desk->lock);
    bool silent = drop_locked(request);
    pthread_mutex_unlock(&request->desk->lock);
    return silent;
}

void request_end(struct request *request)
{
    pthread_mutex_lock(&request->desk->lock);
    (void) drop_locked(request);
    list_remove(&request->link);
    pthread_mutex_unlock(&request->desk->lock);
    free(request->data);
    request->data = NULL;
}
