/* Questions about the job, and requests that need little: log, job control. */
#include <config.h>

#include <launcher/pmix/module_internal.h>

#include <stdlib.h>
#include <string.h>

static const struct pmix_job *asked_job;

void query_open(const struct pmix_job *job)
{
    asked_job = job;
}

/* --- query --- */

static bool answer_text(pmix_info_t *info, const char *key, const char *text)
{
    PMIX_INFO_LOAD(info, key, text, PMIX_STRING);
    return info->value.data.string != NULL;
}

static void fill_process(pmix_proc_info_t *process, uint32_t rank)
{
    const struct job_map *map = asked_job->map;
    PMIX_PROC_INFO_CONSTRUCT(process);
    PMIX_LOAD_PROCID(&process->proc, asked_job->nspace, rank);
    process->hostname = strdup(map->node_names[map->node_of[rank]]);
    process->executable_name = strdup(asked_job->apps[asked_job->app_of[rank]].argv[0]);
    process->state = PMIX_PROC_STATE_RUNNING;
}

static bool wanted(uint32_t rank, bool local_only)
{
    const struct job_map *map = asked_job->map;
    return !local_only || map->daemon_of_node[map->node_of[rank]] == asked_job->daemon;
}

static bool answer_processes(pmix_info_t *info, const char *key, bool local_only)
{
    size_t count = 0;
    for (uint32_t rank = 0; rank < asked_job->map->size; rank++) {
        count += wanted(rank, local_only);
    }
    pmix_data_array_t *array;
    PMIX_DATA_ARRAY_CREATE(array, count, PMIX_PROC_INFO);
    if (!array || !array->array) {
        return false;
    }
    pmix_proc_info_t *processes = array->array;
    for (uint32_t rank = 0; rank < asked_job->map->size; rank++) {
        if (wanted(rank, local_only)) {
            fill_process(processes++, rank);
        }
    }
    PMIX_LOAD_KEY(info->key, key);
    info->value.type = PMIX_DATA_ARRAY;
    info->value.data.darray = array;
    return true;
}

static bool answer(pmix_info_t *info, const char *key)
{
    bool no = false;
    if (strcmp(key, PMIX_QUERY_NAMESPACES) == 0) {
        return answer_text(info, key, asked_job->nspace);
    }
    if (strcmp(key, PMIX_QUERY_PROC_TABLE) == 0) {
        return answer_processes(info, key, false);
    }
    if (strcmp(key, PMIX_QUERY_LOCAL_PROC_TABLE) == 0) {
        return answer_processes(info, key, true);
    }
    if (strcmp(key, PMIX_QUERY_SPAWN_SUPPORT) == 0) {
        return answer_text(info, key, "");
    }
    if (strcmp(key, PMIX_QUERY_ALLOC_STATUS) == 0) {
        PMIX_INFO_LOAD(info, key, &no, PMIX_BOOL);
        return true;
    }
    return false;
}

struct answers {
    pmix_info_t *info;
    size_t count;
};

static void answers_free(void *arg)
{
    struct answers *answers = arg;
    PMIX_INFO_FREE(answers->info, answers->count);
    free(answers);
}

struct question {
    struct loop_task task;
    pmix_query_t *queries; /* libpmix's, until it is answered */
    size_t count;
    pmix_info_cbfunc_t done;
    void *cbdata;
};

static size_t count_keys(const struct question *question)
{
    size_t count = 0;
    for (size_t i = 0; i < question->count; i++) {
        for (char **key = question->queries[i].keys; key && *key; key++) {
            count++;
        }
    }
    return count;
}

static void run_question(struct loop_task *task)
{
    struct question *question = container_of(task, struct question, task);
    size_t asked = count_keys(question), told = 0;
    struct answers *answers = calloc(1, sizeof(*answers));
    if (answers) {
        PMIX_INFO_CREATE(answers->info, asked + 1);
        answers->count = asked + 1;
    }
    for (size_t i = 0; answers && answers->info && i < question->count; i++) {
        for (char **key = question->queries[i].keys; key && *key; key++) {
            told += answer(&answers->info[told], *key);
        }
    }
    pmix_status_t status = told == asked ? PMIX_SUCCESS
                           : told > 0    ? PMIX_QUERY_PARTIAL_SUCCESS
                                         : PMIX_ERR_NOT_SUPPORTED;
    if (told > 0) {
        question->done(status, answers->info, told, question->cbdata, answers_free, answers);
    } else {
        question->done(asked > 0 ? PMIX_ERR_NOT_SUPPORTED : PMIX_ERR_BAD_PARAM, NULL, 0,
                       question->cbdata, NULL, NULL);
        if (answers) {
            answers_free(answers);
        }
    }
    free(question);
}

pmix_status_t up_query(pmix_proc_t *rank, pmix_query_t *queries, size_t count,
                       pmix_info_cbfunc_t done, void *cbdata)
{
    (void) rank;
    struct question *question = calloc(1, sizeof(*question));
    if (!question) {
        return PMIX_ERR_NOMEM;
    }
    *question = (struct question){.task.run = run_question,
                                  .queries = queries,
                                  .count = count,
                                  .done = done,
                                  .cbdata = cbdata};
    module_post(&question->task);
    return PMIX_SUCCESS;
}

/* --- job control --- */

/* libpmix itself removes what ranks register for it, but only for a host that does not refuse. */
pmix_status_t up_job_control(const pmix_proc_t *requestor, const pmix_proc_t targets[],
                             size_t target_count, const pmix_info_t directives[],
                             size_t directive_count, pmix_info_cbfunc_t done, void *cbdata)
{
    (void) requestor;
    (void) targets;
    (void) target_count;
    (void) done;
    (void) cbdata;
    for (size_t i = 0; i < directive_count; i++) {
        const pmix_info_t *directive = &directives[i];
        if (!PMIX_CHECK_KEY(directive, PMIX_REGISTER_CLEANUP) &&
            !PMIX_CHECK_KEY(directive, PMIX_REGISTER_CLEANUP_DIR) &&
            !PMIX_CHECK_KEY(directive, PMIX_CLEANUP_RECURSIVE) &&
            !PMIX_CHECK_KEY(directive, PMIX_CLEANUP_IGNORE) &&
            !PMIX_CHECK_KEY(directive, PMIX_CLEANUP_EMPTY) &&
            !PMIX_CHECK_KEY(directive, PMIX_CLEANUP_LEAVE_TOPDIR)) {
            return PMIX_ERR_NOT_SUPPORTED;
        }
    }
    return PMIX_OPERATION_SUCCEEDED;
}

/* --- log --- */

struct record {
    struct loop_task task;
    const pmix_info_t *data; /* libpmix's, until it is answered */
    size_t count;
    pmix_op_cbfunc_t done;
    void *cbdata;
};

static void run_log(struct loop_task *task)
{
    struct record *record = container_of(task, struct record, task);
    size_t told = 0;
    for (size_t i = 0; i < record->count; i++) {
        const pmix_info_t *item = &record->data[i];
        if ((PMIX_CHECK_KEY(item, PMIX_LOG_STDERR) || PMIX_CHECK_KEY(item, PMIX_LOG_STDOUT)) &&
            item->value.type == PMIX_STRING && item->value.data.string) {
            pmix_host->tell(pmix_host->arg, item->value.data.string);
            told++;
        }
    }
    if (record->done) {
        record->done(told > 0 ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED, record->cbdata);
    }
    free(record);
}

/* libpmix holds a lock while it calls this, so the answer must come later. */
void up_log(const pmix_proc_t *client, const pmix_info_t data[], size_t count,
            const pmix_info_t directives[], size_t directive_count, pmix_op_cbfunc_t done,
            void *cbdata)
{
    (void) client;
    (void) directives;
    (void) directive_count;
    struct record *record = calloc(1, sizeof(*record));
    if (!record) {
        (void) answer_later(done, cbdata, PMIX_ERR_NOMEM);
        return;
    }
    *record = (struct record){
        .task.run = run_log, .data = data, .count = count, .done = done, .cbdata = cbdata};
    module_post(&record->task);
}
