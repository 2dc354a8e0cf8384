/* Questions to the server that have a deadline of ours: the server may forget about its own.
 *
 * A desk belongs to one back end. Answers are copied where they come, on libpmix's thread, and
 * deliver passes them on to where they are wanted; there the request is looked at and ended. */
#ifndef BOOTSTRAP_PMIX_REQUEST_H
#define BOOTSTRAP_PMIX_REQUEST_H

#include <base/data/list.h>
#include <base/loop/loop.h>
#include <bootstrap/pmix/module.h>
#include <pthread.h>

struct request_desk {
    const struct pmix_calls *calls;
    struct loop *loop;
    pthread_mutex_t lock;
    struct list open; /* struct request: from begin to end; guarded by lock */
    struct loop_task wind;
    struct loop_timer timer;
};

struct request {
    struct list link;
    struct request_desk *desk;
    struct pmix_ticket *ticket; /* NULL: dropped; guarded by the desk's lock */
    uint64_t deadline_us;
    /* Called once, by any thread, unless request_give_up says that it is not: it may post, no more.
     */
    void (*deliver)(struct request *request);
    /* the answer, for whom it is delivered to */
    int status;
    const char *text;
    uint8_t *data; /* owned */
    size_t size;
};

void request_desk_open(struct request_desk *desk, const struct pmix_calls *calls,
                       struct loop *loop);
/* No request is open. The loop has a thread, which is not this one. */
void request_desk_close(struct request_desk *desk);

/* Asks for what rank has put, within a time; deliver is set. On an error nothing was asked, and
 * there is nothing to end. Any thread. */
int request_begin(struct request *request, struct request_desk *desk, uint32_t rank,
                  const char *key, unsigned timeout_s) KEEL_MUST_CHECK;
/* Before request_end: true when nothing was delivered, nor will be. */
bool request_give_up(struct request *request);
/* Frees the answer; the request's memory is its owner's again. */
void request_end(struct request *request);

#endif
