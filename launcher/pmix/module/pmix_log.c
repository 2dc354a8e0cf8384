/* PMIx_Log: text for the user, as if the process that logs had written it. libpmix itself serves
 * the system's log. */
#include <config.h>

#include <launcher/pmix/module/pmix_module_internal.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct record {
    struct loop_task task;
    struct work work;
    pmix_proc_t source;
    const pmix_info_t *data; /* libpmix's, until it is answered */
    size_t count;
    pmix_status_t status;
    pmix_op_cbfunc_t done;
    void *cbdata;
};

/* 0: not a stream. */
static int stream_of(const pmix_info_t *item)
{
    if (item->value.type != PMIX_STRING || !item->value.data.string) {
        return 0;
    }
    return PMIX_CHECK_KEY(item, PMIX_LOG_STDOUT)   ? STDOUT_FILENO
           : PMIX_CHECK_KEY(item, PMIX_LOG_STDERR) ? STDERR_FILENO
                                                   : 0;
}

/* Whole lines, so that what others write does not begin in the midst of one. */
static pmix_status_t write_text(const pmix_proc_t *source, int stream, const char *text)
{
    size_t size = strlen(text);
    if (size > 0 && text[size - 1] == '\n') {
        return pmix_host->write(pmix_host->arg, source, stream, text);
    }
    char *line = malloc(size + 2);
    if (!line) {
        return PMIX_ERR_NOMEM;
    }
    memcpy(line, text, size);
    memcpy(line + size, "\n", 2);
    pmix_status_t status = pmix_host->write(pmix_host->arg, source, stream, line);
    free(line);
    return status;
}

static void answer(struct work *work)
{
    struct record *record = container_of(work, struct record, work);
    if (record->done) {
        record->done(record->status, record->cbdata);
    }
    free(record);
}

static void run_log(struct loop_task *task)
{
    struct record *record = container_of(task, struct record, task);
    for (size_t i = 0; i < record->count; i++) {
        int stream = stream_of(&record->data[i]);
        if (stream != 0) {
            record->status = write_text(&record->source, stream, record->data[i].value.data.string);
        }
    }
    worker_do(&record->work);
}

/* libpmix holds a lock while it calls this, so the answer must come later. */
void up_log(const pmix_proc_t *client, const pmix_info_t data[], size_t count,
            const pmix_info_t directives[], size_t directive_count, pmix_op_cbfunc_t done,
            void *cbdata)
{
    (void) directives;
    (void) directive_count;
    struct record *record = calloc(1, sizeof(*record));
    if (!record) {
        (void) answer_later(done, cbdata, PMIX_ERR_NOMEM);
        return;
    }
    *record = (struct record){.task.run = run_log,
                              .work.run = answer,
                              .source = *client,
                              .data = data,
                              .count = count,
                              .status = PMIX_ERR_NOT_SUPPORTED,
                              .done = done,
                              .cbdata = cbdata};
    module_post(&record->task);
}
