/* Passes over all open modules, and who runs them. */
#include <config.h>

#include <base/settings/param.h>
#include <btl/lock/lock.h>
#include <btl/lock/wake.h>
#include <btl/modules/entry.h>
#include <btl/progress/pending.h>
#include <btl/progress/progress.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* An idle module whose polls cost system calls is polled once in this many passes. */
#define LAZY_PASSES 64
/* With btl_yield, this many empty passes in a row come before the first yield. */
#define YIELD_PASSES 64

static struct param yield_param =
    PARAM_BOOL("btl_yield", "0",
               "Give up the processor after some empty polls; set when ranks outnumber cores.");
PARAM_ROWS("btl", yield_param);

/* What a pass reads lies together. */
struct polled {
    int (*progress)(mca_btl_base_module_t *module);
    mca_btl_base_module_t *module;
    bool (*active)(mca_btl_base_module_t *module); /* NULL: polled in every pass */
    unsigned idle_passes;                          /* since its last poll */
};

/* From btl_progress_open to btl_progress_close. One thread at a time: where several use it, it is
 * guarded by the lock. */
static struct {
    struct polled *polled; /* owned */
    size_t count;
    unsigned empty_passes;
    bool yield;
    bool open; /* a pass runs */
    void (*after_pass)(void);
} progress;

/* Where the lock is used: that pass is up the stack of this thread. */
static _Thread_local bool passes_here;

int btl_progress_open(void)
{
    size_t count;
    struct btl_module_entry **entries = btl_entries(&count);
    progress.polled = calloc(count, sizeof(*progress.polled));
    if (!progress.polled) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (size_t i = 0; i < count; i++) {
        const struct btl_component *component = entries[i]->component;
        progress.polled[i] = (struct polled){.progress = component->progress,
                                             .module = entries[i]->module,
                                             .active = component->active};
    }
    progress.count = count;
    progress.yield = param_bool(&yield_param);
    return ORTE_SUCCESS;
}

void btl_progress_close(void)
{
    free(progress.polled);
    memset(&progress, 0, sizeof(progress));
}

/* Whether this pass polls a module. Passes that others made busy count too, so that an idle module
 * is never starved. */
static bool is_due(struct polled *polled, bool thorough)
{
    if (!polled->active || thorough || polled->active(polled->module) ||
        ++polled->idle_passes >= LAZY_PASSES) {
        polled->idle_passes = 0;
        return true;
    }
    return false;
}

/* One pass over everything; returns the number of events. */
static inline int poll_all(bool thorough)
{
    int events = 0;
    struct polled *end = progress.polled + progress.count;
    for (struct polled *polled = progress.polled; polled < end; polled++) {
        if (is_due(polled, thorough)) {
            events += polled->progress(polled->module);
        }
    }
    events += btl_tapped ? btl_taps_progress() : 0;
    if (btl_pending_count > 0) {
        events += btl_pending_call();
    }
    return events;
}

static bool is_yielding(void)
{
    return progress.yield && progress.empty_passes >= YIELD_PASSES;
}

static void count_pass(int events)
{
    progress.empty_passes = events > 0 ? 0 : progress.empty_passes + 1;
}

int btl_pass_locked(bool thorough)
{
    if (progress.open) {
        return 0;
    }
    progress.open = passes_here = true;
    int events = poll_all(thorough);
    progress.open = passes_here = false;
    if (progress.after_pass && btl_lock_holds() == 1) { /* else it is inside another call */
        progress.after_pass();
    }
    return events;
}

int btl_poll_alone(mca_btl_base_module_t *module)
{
    bool outer = progress.open, outer_here = passes_here;
    progress.open = passes_here = true;
    int events = btl_component_of(module)->progress(module);
    progress.open = outer;
    passes_here = outer_here;
    return events;
}

void btl_progress_look_everywhere(void)
{
    for (size_t i = 0; i < progress.count; i++) {
        progress.polled[i].idle_passes = LAZY_PASSES;
    }
}

void btl_after_pass(void (*after)(void))
{
    progress.after_pass = after;
}

static int progress_among_threads(void)
{
    if (!btl_lock_try()) {
        sched_yield();
        return 0;
    }
    bool yielding = is_yielding();
    btl_wake_note_poll();
    int events = btl_pass_locked(yielding);
    count_pass(events);
    btl_lock_drop();
    if (events == 0 && yielding) {
        sched_yield();
    } else {
        btl_lock_give_way();
    }
    return events;
}

int btl_progress(void)
{
    if (btl_lock_used) {
        return progress_among_threads();
    }
    if (progress.open) {
        return 0;
    }
    progress.open = true;
    bool yielding = is_yielding();
    int events = poll_all(yielding);
    progress.open = false;
    if (events == 0 && yielding) {
        sched_yield();
    }
    count_pass(events);
    return events;
}

bool btl_progressing(void)
{
    return btl_lock_used ? passes_here : progress.open;
}

bool btl_progress_is_open(void)
{
    return progress.open;
}

/* Without the lock: another thread may be in a callback, and wait for it. */
int btl_host_progress(void)
{
    const struct btl_host *host = btl_host();
    unsigned holds = btl_lock_leave();
    int events = host->ops->progress ? host->ops->progress(host->arg) : 0;
    btl_lock_give_way();
    btl_lock_return(holds);
    return events;
}

static bool ending; /* apart from progress, which is closed before the modules are */

void btl_progress_end(bool begun)
{
    ending = begun;
}

int btl_host_progress_at_end(void)
{
    return ending ? btl_host_progress() : 0;
}
