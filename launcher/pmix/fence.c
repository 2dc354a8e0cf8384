/* Collectives without a result of their own: fence, connect, disconnect. */
#include <config.h>

#include <launcher/pmix/module_internal.h>

#include <stdlib.h>
#include <string.h>

struct collective {
    struct loop_task task;
    struct work work;
    struct pmix_meeting meeting; /* its processes are libpmix's, until it is answered */
    char *data;                  /* owned */
    size_t size;
    pmix_modex_cbfunc_t fenced; /* one of these two */
    pmix_op_cbfunc_t done;
    void *cbdata;
    pmix_status_t status;
    char *result; /* of a fence: libpmix frees it */
    size_t result_size;
};

static void collective_free(struct collective *collective)
{
    free(collective->data);
    free(collective);
}

static void answer(struct work *work)
{
    struct collective *collective = container_of(work, struct collective, work);
    if (collective->done) {
        collective->done(collective->status, collective->cbdata);
    } else {
        collective->fenced(collective->status, collective->result, collective->result_size,
                           collective->cbdata, free, collective->result);
    }
    collective_free(collective);
}

static void gathered(void *arg, pmix_status_t status, const void *data, size_t size)
{
    struct collective *collective = arg;
    collective->status = status;
    if (collective->fenced && status == PMIX_SUCCESS && size > 0) {
        collective->result = malloc(size);
        if (collective->result) {
            memcpy(collective->result, data, size);
            collective->result_size = size;
        } else {
            collective->status = PMIX_ERR_NOMEM;
        }
    }
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
    for (size_t i = 0; i < count; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_TIMEOUT)) {
            (void) module_number(&info[i].value, &seconds);
        }
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
    collective->work.run = answer;
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
