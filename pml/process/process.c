#include <config.h>

#include <base/data/clock.h>
#include <pml/peers/core.h>
#include <pml/process/process.h>
#include <pml/progress/progress.h>
#include <poll.h>
#include <pthread.h>
#include <ptl/components.h>
#include <stddef.h>

/* The PML of this process, and whether keel_pml_close may close it. */
static struct pml *the_pml;
static bool is_users;

static mca_ptl_base_component_t *const components[] = {&ptl_rail_component, NULL};

static void settle_pml(void *pml)
{
    pml_settle(pml);
}

/* In a child made by fork it is the parent's. */
static void forget(void)
{
    the_pml = NULL;
    ptl_rail_forget();
}

static void watch_forks(void)
{
    (void) pthread_atfork(NULL, NULL, forget);
}

/* Of a host that has nothing to sleep by. */
static void nap(void *unused, uint64_t until_us, struct pollfd *watch, size_t count)
{
    const uint64_t now_us = clock_us(), left_us = until_us > now_us ? until_us - now_us : 0;
    const struct timespec time = {(time_t) (left_us / 1000000u),
                                  (long) (left_us % 1000000u) * 1000};
    (void) unused;
    (void) ppoll(watch, count, &time, NULL);
}

/* What a PML needs to know of the rails. */
static struct pml_host over_rails(const struct pml_host *host)
{
    struct pml_host over = *host;
    over.is_busy = ptl_rail_is_busy;
    over.rest = host->rest ? host->rest : nap;
    /* Nothing would tell that a host that has to be polled has something to do. */
    over.rest_on_ptls = host->rest || !host->progress ? ptl_rail_rest : NULL;
    over.events = ptl_rail_events;
    over.has_thread = ptl_rail_has_thread();
    if (ptl_rail_is_shared()) {
        over.lock = ptl_rail_lock;
        over.unlock = ptl_rail_unlock;
    }
    return over;
}

/* With the lock, since a progress thread may bring messages at once. */
static int open_locked(const struct pml_host *host)
{
    struct pml *pml;
    if (the_pml) {
        return OPAL_EXISTS;
    }
    int status = pml_open(&pml, host, components);
    if (status == OPAL_SUCCESS) {
        the_pml = pml;
        is_users = false;
        ptl_rail_after_pass(&pml->unsettled, settle_pml, pml);
    }
    return status;
}

int pml_process_open(const struct pml_host *host)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const struct pml_host over = over_rails(host);
    (void) pthread_once(&once, watch_forks);
    ptl_rail_lock();
    int status = open_locked(&over);
    ptl_rail_unlock(false);
    return status;
}

void pml_process_end(void)
{
    ptl_rail_lock();
    if (the_pml && !is_users) {
        ptl_rail_after_pass(NULL, NULL, NULL);
        pml_abandon(the_pml);
        the_pml = NULL;
    }
    ptl_rail_unlock(false);
}

int pml_process_run_callbacks(void)
{
    return the_pml && !list_empty(&the_pml->ended) ? pml_run_callbacks(the_pml) : 0;
}

bool pml_process_in_callback(void)
{
    return pml_in_callback();
}

void pml_process_tell(char *text, size_t size)
{
    progress_tell(text, size);
}

size_t pml_process_stats(struct keel_pml_stat *stats, size_t count)
{
    return the_pml ? pml_stats_total(the_pml, stats, count) : 0;
}

int keel_pml_open_on(const struct keel_host_ops *ops, void *host)
{
    if (!ops || !ops->me) {
        return OPAL_ERR_BAD_PARAM;
    }
    const struct pml_host asked = {.me = ops->me(host), .progress = ops->progress, .arg = host};
    int status = pml_process_open(&asked);
    is_users = is_users || status == OPAL_SUCCESS;
    return status;
}

int keel_pml_close(void)
{
    if (!the_pml || !is_users) {
        return OPAL_ERROR;
    }
    ptl_rail_lock();
    int status = pml_close(the_pml);
    if (status == OPAL_SUCCESS) {
        ptl_rail_after_pass(NULL, NULL, NULL);
        the_pml = NULL;
    }
    ptl_rail_unlock(false);
    return status;
}

int keel_pml_progress(void)
{
    return the_pml ? pml_progress(the_pml) : 0;
}

int keel_pml_context_open(uint32_t id, opal_proc_t *const *members, size_t size, int32_t my_rank,
                          struct keel_pml_context **context)
{
    return the_pml ? pml_context_open(the_pml, id, members, size, my_rank, context) : OPAL_ERROR;
}
