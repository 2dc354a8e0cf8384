/* One thread waits for what the loop's thread has to say. */
#ifndef BASE_HANDOVER_H
#define BASE_HANDOVER_H

#include <base/loop/loop.h>
#include <keel/types.h>
#include <pthread.h>

struct handover {
    pthread_mutex_t lock;
    pthread_cond_t given;
    bool done;
    int status;
    char reason[256];
};

void handover_init(struct handover *handover);
void handover_fini(struct handover *handover);
/* Any thread; reason may be NULL. */
void handover_give(struct handover *handover, int status, const char *reason);
/* The status given, or ORTE_ERR_TIMEOUT. deadline in clock_us, 0: none. */
int handover_take(struct handover *handover, uint64_t deadline_us);

/* Runs fn in a thread of its own, with all signals blocked, and waits for its result until the
 * deadline. ORTE_ERR_TIMEOUT: it still runs, arg is its own, and discard (NULL: nothing) is called
 * when it ends. */
int handover_thread(int (*fn)(void *arg), void *arg, void (*discard)(void *arg),
                    uint64_t deadline_us);

/* Runs fn on the loop and waits for its result; the loop has a thread, which is not this one. */
int handover_call(struct loop *loop, int (*fn)(void *arg), void *arg);

#endif
