/* Events: for all ranks, for one, and for nobody else. */
#include "pmix_test.h"

#include <pthread.h>
#include <time.h>

enum { CODE_ALL = PMIX_EXTERNAL_ERR_BASE - 1, CODE_ONE = PMIX_EXTERNAL_ERR_BASE - 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned all, one;
static pmix_proc_t source_of_all;
static uint32_t number;
static bool registered;

static void happened(size_t handler, pmix_status_t code, const pmix_proc_t *source,
                     pmix_info_t info[], size_t info_count, pmix_info_t results[],
                     size_t result_count, pmix_event_notification_cbfunc_fn_t done, void *cbdata)
{
    (void) handler;
    (void) results;
    (void) result_count;
    pthread_mutex_lock(&lock);
    if (code == CODE_ALL) {
        all++;
        source_of_all = *source;
        for (size_t i = 0; i < info_count; i++) {
            if (strcmp(info[i].key, "test.number") == 0) {
                number = info[i].value.data.uint32;
            }
        }
    } else if (code == CODE_ONE) {
        one++;
    }
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void is_registered(pmix_status_t status, size_t handler, void *cbdata)
{
    (void) handler;
    (void) cbdata;
    pthread_mutex_lock(&lock);
    registered = status == PMIX_SUCCESS;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

/* At most 20 s. */
static void await(const unsigned *count, const char *what)
{
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 20;
    pthread_mutex_lock(&lock);
    while (*count == 0 && pthread_cond_timedwait(&changed, &lock, &limit) == 0) {
    }
    bool came = *count > 0;
    pthread_mutex_unlock(&lock);
    check(came, what);
}

static void listen_to_events(void)
{
    pmix_status_t codes[] = {CODE_ALL, CODE_ONE};
    PMIx_Register_event_handler(codes, 2, NULL, 0, happened, is_registered, NULL);
    pthread_mutex_lock(&lock);
    while (!registered) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
}

static void notify_all(void)
{
    uint32_t value = 4711;
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, "test.number", &value, PMIX_UINT32);
    expect(PMIX_SUCCESS,
           PMIx_Notify_event(CODE_ALL, &me, PMIX_RANGE_NAMESPACE, &info, 1, NULL, NULL),
           "notify everybody");
}

static void notify_one(pmix_rank_t rank)
{
    pmix_proc_t target = proc_of(rank);
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_EVENT_CUSTOM_RANGE, &target, PMIX_PROC);
    expect(PMIX_SUCCESS, PMIx_Notify_event(CODE_ONE, &me, PMIX_RANGE_CUSTOM, &info, 1, NULL, NULL),
           "notify one");
}

int main(void)
{
    begin();
    listen_to_events();
    fence();
    if (me.rank == 0) {
        notify_all();
        notify_one(size - 1);
    }
    await(&all, "the event for everybody");
    check(source_of_all.rank == 0 && strcmp(source_of_all.nspace, me.nspace) == 0, "its source");
    check(number == 4711, "what came with it");
    if (me.rank == size - 1) {
        await(&one, "the event for one");
    }
    fence();
    pthread_mutex_lock(&lock);
    check(all == 1, "only once");
    check(one == (me.rank == size - 1), "nobody else");
    pthread_mutex_unlock(&lock);
    return end("events");
}
