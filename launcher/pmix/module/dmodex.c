/* What single ranks have put, asked for by ranks of other nodes. */
#include <config.h>

#include <launcher/pmix/module/pmix_module_internal.h>

#include <stdlib.h>

/* --- a local rank asks for a remote one's --- */

struct ask {
    struct loop_task task;
    struct work work;
    pmix_proc_t rank;
    pmix_modex_cbfunc_t done;
    void *cbdata;
    struct answer answer; /* libpmix frees its data */
};

static void answer_ask(struct work *work)
{
    struct ask *ask = container_of(work, struct ask, work);
    const struct answer *answer = &ask->answer;
    ask->done(answer->status, answer->data, answer->size, ask->cbdata, free, answer->data);
    free(ask);
}

static void fetched(void *arg, pmix_status_t status, const void *data, size_t size)
{
    struct ask *ask = arg;
    ask->answer = module_copy(status, data, size);
    worker_do(&ask->work);
}

static void run_ask(struct loop_task *task)
{
    struct ask *ask = container_of(task, struct ask, task);
    pmix_host->modex(pmix_host->arg, &ask->rank, fetched, ask);
}

pmix_status_t up_direct_modex(const pmix_proc_t *rank, const pmix_info_t info[], size_t info_count,
                              pmix_modex_cbfunc_t done, void *cbdata)
{
    (void) info;
    (void) info_count;
    struct ask *ask = calloc(1, sizeof(*ask));
    if (!ask) {
        return PMIX_ERR_NOMEM;
    }
    *ask = (struct ask){
        .task.run = run_ask, .work.run = answer_ask, .rank = *rank, .done = done, .cbdata = cbdata};
    module_post(&ask->task);
    return PMIX_SUCCESS;
}

/* --- another daemon asks for a local rank's --- */

struct reply {
    struct work work;
    struct loop_task task;
    pmix_proc_t rank;
    struct answer answer; /* owned */
    pmix_done_fn *done;
    void *done_arg;
};

static void run_reply(struct loop_task *task)
{
    struct reply *reply = container_of(task, struct reply, task);
    reply->done(reply->done_arg, reply->answer.status, reply->answer.data, reply->answer.size);
    free(reply->answer.data);
    free(reply);
}

/* On libpmix's thread, once the rank has committed. */
static void committed(pmix_status_t status, char *data, size_t size, void *cbdata)
{
    struct reply *reply = cbdata;
    reply->answer = module_copy(status, data, size);
    module_post(&reply->task);
}

static void request(struct work *work)
{
    struct reply *reply = container_of(work, struct reply, work);
    pmix_status_t status = PMIx_server_dmodex_request(&reply->rank, committed, reply);
    if (status != PMIX_SUCCESS) {
        reply->answer.status = status;
        module_post(&reply->task);
    }
}

void local_modex(const pmix_proc_t *rank, pmix_done_fn *done, void *done_arg)
{
    struct reply *reply = calloc(1, sizeof(*reply));
    if (!reply) {
        done(done_arg, PMIX_ERR_NOMEM, NULL, 0);
        return;
    }
    *reply = (struct reply){.work.run = request,
                            .task.run = run_reply,
                            .rank = *rank,
                            .done = done,
                            .done_arg = done_arg};
    worker_do(&reply->work);
}
