/* The event loop: libevent behind typed, embedded watchers and tasks.
 *
 * A loop belongs to the thread that runs it (loop_run, or the thread of loop_start_thread); before
 * it runs, to the thread that made it. Only loop_post, loop_stop and loop_is_current may be
 * called by other threads. Watchers and tasks are members of their owner's struct: the loop
 * borrows them from start or post until stop or run. */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <base/data/list.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <keel/types.h>

struct loop;

/* Zeroed but for run before its first post; it may be freed by its own run. */
struct loop_task {
    struct list link;
    void (*run)(struct loop_task *task);
    bool posted; /* guarded by the loop's lock */
};

struct loop_io {
    struct event event;
    struct loop *loop;
    int fd;       /* borrowed */
    short events; /* what is watched now: EV_READ, EV_WRITE or both; 0: not started */
    void (*ready)(struct loop_io *io, short events);
};

struct loop_timer {
    struct event event;
    struct loop *loop;
    bool started;
    void (*fired)(struct loop_timer *timer);
};

int loop_create(struct loop **loop) KEEL_MUST_CHECK;
/* Nothing may be started or posted any more. A loop that has a thread is stopped first. */
void loop_destroy(struct loop *loop);
/* Runs until loop_stop. */
void loop_run(struct loop *loop);
/* Makes a thread that runs the loop, with all signals blocked. */
int loop_start_thread(struct loop *loop) KEEL_MUST_CHECK;
/* Ends loop_run after the current callback, or the next one at once when none is running; a loop
 * with a thread is joined (not from itself). What was posted and did not run stays posted. */
void loop_stop(struct loop *loop);
/* True in the loop's thread, and everywhere before the loop first runs. */
bool loop_is_current(const struct loop *loop);
/* Handles what is due without waiting; for loops without a thread. A no-op in the loop's callbacks.
 */
void loop_poll(struct loop *loop);

/* Has task->run called soon on the loop; tasks run in the order of their posts. Posting a task that
 * is still waiting is a no-op. Any thread. */
void loop_post(struct loop *loop, struct loop_task *task);
/* The same in two steps, for callers with a lock that the task takes: post_quietly is called with
 * it, and wake behind it when that has returned true. */
bool loop_post_quietly(struct loop *loop, struct loop_task *task) KEEL_MUST_CHECK;
void loop_wake(struct loop *loop);
/* True inside the loop's own callbacks: what is posted there runs before the loop sleeps. */
bool loop_is_calling(const struct loop *loop);
/* Takes back a posted task; false: it ran or was never posted. Loop's thread. */
bool loop_cancel(struct loop *loop, struct loop_task *task);

void loop_io_init(struct loop_io *io, struct loop *loop, int fd,
                  void (*ready)(struct loop_io *io, short events));
/* Watches for these events from now on (persistent); 0 stops. A descriptor that cannot be watched
 * (a regular file) is logged and stays unwatched: events is 0 then. Stop before closing it. */
void loop_io_watch(struct loop_io *io, short events);
void loop_timer_init(struct loop_timer *timer, struct loop *loop,
                     void (*fired)(struct loop_timer *timer));
/* Fires once, to about 5 ms; starting again moves the time. */
void loop_timer_start(struct loop_timer *timer, uint64_t delay_us);
void loop_timer_stop(struct loop_timer *timer);

#endif
