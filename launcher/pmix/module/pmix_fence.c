/* Collectives without a result of their own: fence, connect, disconnect. */
#include <config.h>

#include <launcher/pmix/module/pmix_module_internal.h>

#include <stdlib.h>

struct collective {
    struct loop_task task;
    struct work work;
    struct pmix_meeting meeting; /* its processes are libpmix's, until it is answered */
    char *data;                  /* owned */
    size_t size;
    pmix_modex_cbfunc_t fenced; /* one of these two */
    pmix_op_cbfunc_t done;
    void *cbdata;
    struct answer answer; /* data only of a fence: libpmix frees them */
};

static void collective_free(struct collective *collective)
{
    free(collective->data);
    free(collective);
}

static void answer_collective(struct work *work)
{
    struct collective *collective = container_of(work, struct collective, work);
    const struct answer *answer = &collective->answer;
    if (collective->done) {
        collective->done(answer->status, collective->cbdata);
    } else {
        collective->fenced(answer->status, answer->data, answer->size, collective->cbdata, free,
                           answer->data);
    }
    collective_free(collective);
}

static void gathered(void *arg, pmix_status_t status, const void *data, size_t size)
{
    struct collective *collective = arg;
    collective->answer = module_copy(status, data, collective->fenced ? size : 0);
    worker_do(&collective->work);
}

static void run(struct loop_task *task)
{
    struct collective *collective = container_of(task, struct collective, task);
    pmix_host->gather(pmix_host->arg, &collective->meeting, collective->data, collective->size,
                      gathered, collective);
}

uint64_t module_timeout_ms(const pmix_info_t info[], size_t count)
{
    uint32_t seconds = 0;
    const pmix_info_t *timeout = module_find(info, count, PMIX_TIMEOUT);
    if (timeout) {
        (void) module_number(&timeout->value, &seconds);
    }
    return (uint64_t) seconds * 1000;
}

/* Takes what is set of template, data included; the upcall's status. */
static pmix_status_t post(const struct collective *template)
{
    struct collective *collective = malloc(sizeof(*collective));
    if (!collective) {
        free(template->data);
        return PMIX_ERR_NOMEM;
    }
    *collective = *template;
    collective->task.run = run;
    collective->work.run = answer_collective;
    module_post(&collective->task);
    return PMIX_SUCCESS;
}

static struct pmix_meeting meeting_of(const char *purpose, const pmix_proc_t procs[], size_t count,
                                      const pmix_info_t info[], size_t info_count)
{
    return (struct pmix_meeting){.purpose = purpose,
                                 .id = "",
                                 .procs = procs,
                                 .count = count,
                                 .timeout_ms = module_timeout_ms(info, info_count)};
}

pmix_status_t up_fence(const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
                       size_t info_count, char *data, size_t size, pmix_modex_cbfunc_t done,
                       void *cbdata)
{
    struct collective fence = {.meeting = meeting_of("fence", procs, count, info, info_count),
                               .data = data,
                               .size = size,
                               .fenced = done,
                               .cbdata = cbdata};
    return post(&fence);
}

pmix_status_t up_connect(const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
                         size_t info_count, pmix_op_cbfunc_t done, void *cbdata)
{
    struct collective connect = {.meeting = meeting_of("connect", procs, count, info, info_count),
                                 .done = done,
                                 .cbdata = cbdata};
    return post(&connect);
}

pmix_status_t up_disconnect(const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
                            size_t info_count, pmix_op_cbfunc_t done, void *cbdata)
{
    struct collective disconnect = {.meeting =
                                        meeting_of("disconnect", procs, count, info, info_count),
                                    .done = done,
                                    .cbdata = cbdata};
    return post(&disconnect);
}
