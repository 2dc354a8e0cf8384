/* What the module asks of the daemon. */
#include <config.h>

#include <launcher/pmix/offer_internal.h>

#include <base/clock.h>
#include <base/log.h>
#include <string.h>
#include <wireup/proto.h>

static void host_post(void *arg, struct loop_task *task)
{
    struct offer *offer = arg;
    loop_post(offer->daemon->loop, task);
}

static void host_log(void *arg, bool error, const char *text)
{
    (void) arg;
    log_at(LOG_LAUNCHER, error ? LOG_ERROR : LOG_INFO, "PMIx: %s", text);
}

static void host_connected(void *arg, const pmix_proc_t *rank)
{
    struct offer *offer = arg;
    uint32_t number;
    if (offer_find_local(offer, rank->nspace, rank->rank, &number)) {
        offer->ranks[number].connected = true;
        offer->ranks[number].finalized = false;
        offer->ranks[number].connected_us = clock_us();
        local_joined(offer->daemon, number, "MPI_Init");
    }
}

static void host_finalized(void *arg, const pmix_proc_t *rank, void (*answer)(void *),
                           void *answer_arg)
{
    struct offer *offer = arg;
    uint32_t number;
    if (offer_find_local(offer, rank->nspace, rank->rank, &number)) {
        const struct rank_state *state = &offer->ranks[number];
        offer_rank_finalized(offer, number);
        goodbyes_say(offer->goodbyes, state->pid, state->connected_us, answer, answer_arg);
    } else {
        answer(answer_arg);
    }
}

static pmix_status_t host_abort(void *arg, const pmix_proc_t *rank, int status, const char *reason)
{
    struct offer *offer = arg;
    uint32_t number;
    if (!offer_find_local(offer, rank->nspace, rank->rank, &number)) {
        return PMIX_ERR_NOT_SUPPORTED; /* a tool: it has job control */
    }
    daemon_report(offer->daemon, proto_new(REPORT_ABORT, "uis", number, (int32_t) status,
                                           strcmp(reason, "N/A") == 0 ? "MPI_Abort" : reason));
    return PMIX_SUCCESS;
}

static void host_gather(void *arg, const struct pmix_meeting *meeting, const void *data,
                        size_t size, pmix_done_fn *done, void *done_arg)
{
    struct offer *offer = arg;
    exchange_gather(offer->exchange, meeting, data, size, done, done_arg);
}

static void host_modex(void *arg, const pmix_proc_t *rank, pmix_done_fn *done, void *done_arg)
{
    struct offer *offer = arg;
    exchange_modex(offer->exchange, rank, done, done_arg);
}

static void host_publish(void *arg, const pmix_proc_t *publisher, struct pmix_scope scope,
                         const struct pmix_item *items, size_t count, pmix_done_fn *done,
                         void *done_arg)
{
    struct offer *offer = arg;
    exchange_publish(offer->exchange, publisher, scope, items, count, done, done_arg);
}

static void host_lookup(void *arg, const pmix_proc_t *seeker, pmix_data_range_t range, char **keys,
                        uint32_t wait, uint32_t timeout_s, pmix_done_fn *done, void *done_arg)
{
    struct offer *offer = arg;
    exchange_lookup(offer->exchange, seeker, range, keys, wait, timeout_s, done, done_arg);
}

static void host_unpublish(void *arg, const pmix_proc_t *publisher, char **keys, pmix_done_fn *done,
                           void *done_arg)
{
    struct offer *offer = arg;
    exchange_unpublish(offer->exchange, publisher, keys, done, done_arg);
}

static void host_spawn(void *arg, const pmix_proc_t *parent, const struct pmix_program *programs,
                       size_t count, pmix_done_fn *done, void *done_arg)
{
    struct offer *offer = arg;
    uint32_t number;
    if (!offer_find_local(offer, parent->nspace, parent->rank, &number)) {
        done(done_arg, PMIX_ERR_NOT_SUPPORTED, NULL, 0); /* a tool */
        return;
    }
    exchange_spawn(offer->exchange, number, programs, count, done, done_arg);
}

static void host_states(void *arg, const pmix_proc_t *procs, size_t count, pmix_done_fn *done,
                        void *done_arg)
{
    struct offer *offer = arg;
    exchange_errand(offer->exchange, ERRAND_STATES, 0, procs, count, done, done_arg);
}

static void host_signal(void *arg, const pmix_proc_t *procs, size_t count, int signal,
                        pmix_done_fn *done, void *done_arg)
{
    struct offer *offer = arg;
    exchange_errand(offer->exchange, ERRAND_SIGNAL, signal, procs, count, done, done_arg);
}

static pmix_status_t host_write(void *arg, const pmix_proc_t *proc, int stream, const char *text)
{
    struct offer *offer = arg;
    uint32_t number;
    if (!offer_find_local(offer, proc->nspace, proc->rank, &number)) {
        daemon_tell(offer->daemon, "%s", text);
        return PMIX_SUCCESS;
    }
    return iof_write(offer->daemon->iof, number, stream, text, strlen(text))
               ? PMIX_SUCCESS
               : PMIX_ERR_OUT_OF_RESOURCE;
}

static void host_notify(void *arg, const void *event, size_t size)
{
    struct offer *offer = arg;
    exchange_notify(offer->exchange, event, size);
}

const struct pmix_host offer_host = {
    .post = host_post,
    .log = host_log,
    .connected = host_connected,
    .finalized = host_finalized,
    .abort = host_abort,
    .gather = host_gather,
    .modex = host_modex,
    .publish = host_publish,
    .lookup = host_lookup,
    .unpublish = host_unpublish,
    .spawn = host_spawn,
    .states = host_states,
    .signal = host_signal,
    .write = host_write,
    .notify = host_notify,
};
