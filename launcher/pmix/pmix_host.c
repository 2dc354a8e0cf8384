/* What the module asks of the daemon. */
#include <config.h>

#include <launcher/pmix/pmix_service_internal.h>

#include <base/data/clock.h>
#include <base/settings/log.h>
#include <string.h>

static void host_post(void *arg, struct loop_task *task)
{
    struct pmix_service *service = arg;
    loop_post(service->daemon->loop, task);
}

static void host_log(void *arg, bool error, const char *text)
{
    (void) arg;
    log_at(LOG_LAUNCHER, error ? LOG_ERROR : LOG_INFO, "PMIx: %s", text);
}

static void host_connected(void *arg, const pmix_proc_t *rank)
{
    struct pmix_service *service = arg;
    uint32_t number;
    if (pmix_service_find_local(service, rank->nspace, rank->rank, &number)) {
        service->ranks[number].connected = true;
        service->ranks[number].finalized = false;
        service->ranks[number].connected_us = clock_us();
        local_joined(service->daemon, number, "MPI_Init");
    }
}

static void host_finalized(void *arg, const pmix_proc_t *rank, void (*answer)(void *),
                           void *answer_arg)
{
    struct pmix_service *service = arg;
    uint32_t number;
    if (pmix_service_find_local(service, rank->nspace, rank->rank, &number)) {
        const struct rank_state *state = &service->ranks[number];
        pmix_service_rank_finalized(service, number);
        finalizes_answer(service->finalizes, state->pid, state->connected_us, answer, answer_arg);
    } else {
        answer(answer_arg);
    }
}

static pmix_status_t host_abort(void *arg, const pmix_proc_t *rank, int status, const char *reason)
{
    struct pmix_service *service = arg;
    uint32_t number;
    if (!pmix_service_find_local(service, rank->nspace, rank->rank, &number)) {
        return PMIX_ERR_NOT_SUPPORTED; /* a tool: it has job control */
    }
    local_aborted(service->daemon, number, status,
                  strcmp(reason, "N/A") == 0 ? "MPI_Abort" : reason);
    return PMIX_SUCCESS;
}

static void host_gather(void *arg, const struct pmix_meeting *meeting, const void *data,
                        size_t size, pmix_done_fn *done, void *done_arg)
{
    struct pmix_service *service = arg;
    exchange_gather(service->exchange, meeting, data, size, done, done_arg);
}

static void host_modex(void *arg, const pmix_proc_t *rank, pmix_done_fn *done, void *done_arg)
{
    struct pmix_service *service = arg;
    exchange_modex(service->exchange, rank, done, done_arg);
}

static void host_publish(void *arg, const pmix_proc_t *publisher, struct pmix_scope scope,
                         const struct pmix_item *items, size_t count, pmix_done_fn *done,
                         void *done_arg)
{
    struct pmix_service *service = arg;
    exchange_publish(service->exchange, publisher, scope, items, count, done, done_arg);
}

static void host_lookup(void *arg, const pmix_proc_t *seeker, pmix_data_range_t range, char **keys,
                        uint32_t wait, uint32_t timeout_s, pmix_done_fn *done, void *done_arg)
{
    struct pmix_service *service = arg;
    exchange_lookup(service->exchange, seeker, range, keys, wait, timeout_s, done, done_arg);
}

static void host_unpublish(void *arg, const pmix_proc_t *publisher, char **keys, pmix_done_fn *done,
                           void *done_arg)
{
    struct pmix_service *service = arg;
    exchange_unpublish(service->exchange, publisher, keys, done, done_arg);
}

static void host_spawn(void *arg, const pmix_proc_t *parent, const struct pmix_program *programs,
                       size_t count, pmix_done_fn *done, void *done_arg)
{
    struct pmix_service *service = arg;
    uint32_t number;
    if (!pmix_service_find_local(service, parent->nspace, parent->rank, &number)) {
        done(done_arg, PMIX_ERR_NOT_SUPPORTED, NULL, 0); /* a tool */
        return;
    }
    exchange_spawn(service->exchange, number, programs, count, done, done_arg);
}

static void host_states(void *arg, const pmix_proc_t *procs, size_t count, pmix_done_fn *done,
                        void *done_arg)
{
    struct pmix_service *service = arg;
    exchange_rank_op(service->exchange, RANK_OP_STATES, 0, procs, count, done, done_arg);
}

static void host_signal(void *arg, const pmix_proc_t *procs, size_t count, int signal,
                        pmix_done_fn *done, void *done_arg)
{
    struct pmix_service *service = arg;
    exchange_rank_op(service->exchange, RANK_OP_SIGNAL, signal, procs, count, done, done_arg);
}

static pmix_status_t host_write(void *arg, const pmix_proc_t *proc, int stream, const char *text)
{
    struct pmix_service *service = arg;
    uint32_t number;
    if (!pmix_service_find_local(service, proc->nspace, proc->rank, &number)) {
        daemon_tell(service->daemon, "%s", text);
        return PMIX_SUCCESS;
    }
    return iof_write(service->daemon->iof, number, stream, text, strlen(text))
               ? PMIX_SUCCESS
               : PMIX_ERR_OUT_OF_RESOURCE;
}

static void host_notify(void *arg, const void *event, size_t size)
{
    struct pmix_service *service = arg;
    exchange_notify(service->exchange, event, size);
}

const struct pmix_host pmix_service_host = {
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
