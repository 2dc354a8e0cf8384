/* Collectives: fence, connect, disconnect. */
#include <config.h>

#include <launcher/pmix/module_internal.h>

#include <stdlib.h>
#include <string.h>

struct collective {
    struct loop_task task;
    const char *purpose;      /* static */
    const pmix_proc_t *procs; /* libpmix's, until it is answered */
    size_t count;
    char *data; /* owned */
    size_t size;
    pmix_modex_cbfunc_t fenced; /* one of these two */
    pmix_op_cbfunc_t done;
    void *cbdata;
};

static void collective_free(struct collective *collective)
{
    free(collective->data);
    free(collective);
}

static void gathered(void *arg, pmix_status_t status, const void *data, size_t size)
{
    struct collective *collective = arg;
    if (collective->done) {
        collective->done(status, collective->cbdata);
        collective_free(collective);
        return;
    }
    char *copy = NULL;
    if (status == PMIX_SUCCESS && size > 0) {
        copy = malloc(size);
        status = copy ? status : PMIX_ERR_NOMEM;
    }
    if (copy) {
        memcpy(copy, data, size);
    }
    collective->fenced(status, copy, copy ? size : 0, collective->cbdata, free, copy);
    collective_free(collective);
}

static void run(struct loop_task *task)
{
    struct collective *collective = container_of(task, struct collective, task);
    pmix_host->gather(pmix_host->arg, collective->purpose, collective->procs, collective->count,
                      collective->data, collective->size, gathered, collective);
}

/* Takes data. */
static pmix_status_t post(const char *purpose, const pmix_proc_t procs[], size_t count, char *data,
                          size_t size, pmix_modex_cbfunc_t fenced, pmix_op_cbfunc_t done,
                          void *cbdata)
{
    struct collective *collective = calloc(1, sizeof(*collective));
    if (!collective) {
        free(data);
        return PMIX_ERR_NOMEM;
    }
    *collective = (struct collective){.task.run = run,
                                      .purpose = purpose,
                                      .procs = procs,
                                      .count = count,
                                      .data = data,
                                      .size = size,
                                      .fenced = fenced,
                                      .done = done,
                                      .cbdata = cbdata};
    module_post(&collective->task);
    return PMIX_SUCCESS;
}

pmix_status_t up_fence(const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
                       size_t info_count, char *data, size_t size, pmix_modex_cbfunc_t done,
                       void *cbdata)
{
    (void) info;
    (void) info_count;
    return post("fence", procs, count, data, size, done, NULL, cbdata);
}

pmix_status_t up_connect(const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
                         size_t info_count, pmix_op_cbfunc_t done, void *cbdata)
{
    (void) info;
    (void) info_count;
    return post("connect", procs, count, NULL, 0, NULL, done, cbdata);
}

pmix_status_t up_disconnect(const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
                            size_t info_count, pmix_op_cbfunc_t done, void *cbdata)
{
    (void) info;
    (void) info_count;
    return post("disconnect", procs, count, NULL, 0, NULL, done, cbdata);
}
