/* Questions about the job: each key of each query is answered in turn; those about processes ask
 * their daemons first. */
#include <config.h>

#include <launcher/pmix/module/pmix_module_internal.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_MAX = 64 };

struct known_job {
    struct list link;
    const struct pmix_job *job;
};

static struct list jobs = LIST_INIT(jobs); /* in the order of their ranks */

void query_add_job(const struct pmix_job *job)
{
    struct known_job *known = calloc(1, sizeof(*known));
    if (known) {
        known->job = job;
        list_append(&jobs, &known->link);
    }
}

struct question {
    struct loop_task task;
    struct inside_task answer;
    const pmix_query_t *queries; /* libpmix's, until it is answered */
    size_t count;
    size_t query, key;          /* the next to be answered */
    pmix_info_t *info;          /* owned, one for each key */
    size_t asked, told;         /* how many; how many of them are filled */
    const struct pmix_job *job; /* of the table that is being made */
    bool local;                 /* of this node only */
    pmix_status_t status;       /* of what cannot be answered */
    pmix_info_cbfunc_t done;
    void *cbdata;
};

/* --- texts --- */

static void tell(struct question *question, const char *key, const void *value,
                 pmix_data_type_t type)
{
    PMIX_INFO_LOAD(&question->info[question->told], key, value, type);
    question->told++;
}

static void tell_array(struct question *question, const char *key, pmix_data_array_t *array)
{
    pmix_info_t *info = &question->info[question->told++];
    PMIX_LOAD_KEY(info->key, key);
    info->value.type = PMIX_DATA_ARRAY;
    info->value.data.darray = array;
}

static void tell_namespaces(struct question *question, const char *key)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    struct known_job *known;
    list_for_each (known, &jobs, struct known_job, link) {
        if (stream) {
            fprintf(stream, "%s%s", known->link.prev == &jobs ? "" : ",", known->job->nspace);
        }
    }
    if (stream && fclose(stream) == 0) {
        tell(question, key, text, PMIX_STRING);
    }
    free(text);
}

static char *join_words(char *const *words)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    for (size_t i = 0; stream && words[i]; i++) {
        fprintf(stream, "%s%s", i == 0 ? "" : " ", words[i]);
    }
    if (stream && fclose(stream) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* An array of arrays: each a namespace and the command line of its first program. */
static void tell_namespace_info(struct question *question, const char *key)
{
    size_t count = 0, used = 0;
    struct known_job *known;
    list_for_each (known, &jobs, struct known_job, link) {
        count++;
    }
    pmix_data_array_t *all;
    PMIX_DATA_ARRAY_CREATE(all, count, PMIX_INFO);
    list_for_each (known, &jobs, struct known_job, link) {
        pmix_data_array_t *one;
        char *line = join_words(known->job->apps[0].argv);
        PMIX_DATA_ARRAY_CREATE(one, 2, PMIX_INFO);
        PMIX_INFO_LOAD(&((pmix_info_t *) one->array)[0], PMIX_NSPACE, known->job->nspace,
                       PMIX_STRING);
        PMIX_INFO_LOAD(&((pmix_info_t *) one->array)[1], PMIX_CMD_LINE, line, PMIX_STRING);
        free(line);
        pmix_info_t *info = &((pmix_info_t *) all->array)[used++];
        PMIX_LOAD_KEY(info->key, key);
        info->value.type = PMIX_DATA_ARRAY;
        info->value.data.darray = one;
    }
    tell_array(question, key, all);
}

/* --- tables of processes --- */

/* With what is known without asking anybody. */
static void fill_process(pmix_proc_info_t *process, const struct pmix_job *job, uint32_t rank)
{
    PMIX_PROC_INFO_CONSTRUCT(process);
    PMIX_LOAD_PROCID(&process->proc, job->nspace, rank);
    process->hostname = strdup(job->map->node_names[job->map->node_of[rank]]);
    process->executable_name = strdup(job->apps[job->app_of[rank]].argv[0]);
    process->state = PMIX_PROC_STATE_UNDEF;
}

static pmix_data_array_t *make_table(const struct pmix_job *job, bool local)
{
    size_t count = 0, used = 0;
    for (uint32_t rank = 0; rank < job->map->size; rank++) {
        count += !local || module_is_local(job, rank);
    }
    pmix_data_array_t *array;
    PMIX_DATA_ARRAY_CREATE(array, count, PMIX_PROC_INFO);
    for (uint32_t rank = 0; rank < job->map->size; rank++) {
        if (!local || module_is_local(job, rank)) {
            fill_process(&((pmix_proc_info_t *) array->array)[used++], job, rank);
        }
    }
    return array;
}

static void add_states(pmix_data_array_t *table, const struct pmix_job *job, const void *data,
                       size_t size)
{
    const uint8_t *at = data;
    struct pmix_state state;
    while (pmix_state_next(&at, &size, &state)) {
        for (size_t i = 0; i < table->size; i++) {
            pmix_proc_info_t *process = &((pmix_proc_info_t *) table->array)[i];
            if (process->proc.rank == state.number - job->first) {
                process->pid = state.pid;
                process->state = state.state;
                process->exit_code = state.exit_code;
            }
        }
    }
}

static void proceed(struct question *question);

static void table_came(void *arg, pmix_status_t status, const void *data, size_t size)
{
    struct question *question = arg;
    pmix_data_array_t *table = make_table(question->job, question->local);
    if (status == PMIX_SUCCESS) {
        add_states(table, question->job, data, size);
    }
    tell_array(question, question->local ? PMIX_QUERY_LOCAL_PROC_TABLE : PMIX_QUERY_PROC_TABLE,
               table);
    proceed(question);
}

/* The job that a query is about: the one it names, or the user's. */
static const struct pmix_job *find_job(const pmix_query_t *query)
{
    const char *nspace = NULL;
    struct known_job *known;
    for (size_t i = 0; i < query->nqual; i++) {
        const pmix_info_t *qualifier = &query->qualifiers[i];
        if (PMIX_CHECK_KEY(qualifier, PMIX_NSPACE)) {
            nspace = qualifier->value.data.string;
        } else if (PMIX_CHECK_KEY(qualifier, PMIX_PROCID)) {
            nspace = qualifier->value.data.proc->nspace;
        }
    }
    list_for_each (known, &jobs, struct known_job, link) {
        if (!nspace || strcmp(known->job->nspace, nspace) == 0) {
            return known->job;
        }
    }
    return NULL;
}

/* table_came goes on. */
static void ask_for_table(struct question *question, const struct pmix_job *job, bool local)
{
    pmix_proc_t *procs = calloc(job->map->size, sizeof(*procs));
    size_t count = 0;
    for (uint32_t rank = 0; procs && rank < job->map->size; rank++) {
        if (!local || module_is_local(job, rank)) {
            PMIX_LOAD_PROCID(&procs[count], job->nspace, rank);
            count++;
        }
    }
    question->job = job;
    question->local = local;
    if (count > 0) {
        pmix_host->states(pmix_host->arg, procs, count, table_came, question);
    } else {
        table_came(question, PMIX_ERR_NOT_FOUND, NULL, 0);
    }
    free(procs);
}

/* --- keys --- */

static const char supported_keys[] = PMIX_QUERY_NAMESPACES
    "," PMIX_QUERY_NAMESPACE_INFO "," PMIX_QUERY_PROC_TABLE "," PMIX_QUERY_LOCAL_PROC_TABLE
    "," PMIX_QUERY_SPAWN_SUPPORT "," PMIX_QUERY_DEBUG_SUPPORT "," PMIX_QUERY_NUM_PSETS
    "," PMIX_QUERY_PSET_NAMES "," PMIX_JOB_SIZE "," PMIX_QUERY_SUPPORTED_KEYS;

/* Those that need nobody else; the rest is PMIX_ERR_NOT_SUPPORTED. */
static void tell_key(struct question *question, const char *key, const struct pmix_job *job)
{
    size_t none = 0;
    if (strcmp(key, PMIX_QUERY_NAMESPACES) == 0) {
        tell_namespaces(question, key);
    } else if (strcmp(key, PMIX_QUERY_NAMESPACE_INFO) == 0) {
        tell_namespace_info(question, key);
    } else if (strcmp(key, PMIX_QUERY_SPAWN_SUPPORT) == 0) {
        tell(question, key, PMIX_WDIR, PMIX_STRING);
    } else if (strcmp(key, PMIX_QUERY_DEBUG_SUPPORT) == 0 ||
               strcmp(key, PMIX_QUERY_PSET_NAMES) == 0) {
        tell(question, key, "", PMIX_STRING);
    } else if (strcmp(key, PMIX_QUERY_NUM_PSETS) == 0) {
        tell(question, key, &none, PMIX_SIZE);
    } else if (strcmp(key, PMIX_QUERY_SUPPORTED_KEYS) == 0) {
        tell(question, key, supported_keys, PMIX_STRING);
    } else if (strcmp(key, PMIX_JOB_SIZE) == 0) {
        tell(question, key, &job->map->size, PMIX_UINT32);
    } else {
        question->status = PMIX_ERR_NOT_SUPPORTED;
    }
}

static void answer_question(struct inside_task *task, bool alive)
{
    struct question *question = container_of(task, struct question, answer);
    bool told = question->told > 0;
    pmix_status_t status = question->told == question->asked ? PMIX_SUCCESS
                           : told                            ? PMIX_QUERY_PARTIAL_SUCCESS
                                                             : question->status;
    if (alive) {
        question->done(status, told ? question->info : NULL, question->told, question->cbdata, NULL,
                       NULL);
    }
    PMIX_INFO_FREE(question->info, question->asked);
    free(question);
}

/* The next key; NULL: there is none. */
static const char *take_key(struct question *question, const pmix_query_t **query)
{
    while (question->query < question->count) {
        *query = &question->queries[question->query];
        const char *key = (*query)->keys ? (*query)->keys[question->key] : NULL;
        if (key) {
            question->key++;
            return key;
        }
        question->query++;
        question->key = 0;
    }
    return NULL;
}

static void proceed(struct question *question)
{
    const pmix_query_t *query;
    for (const char *key; (key = take_key(question, &query));) {
        const struct pmix_job *job = find_job(query);
        bool local = strcmp(key, PMIX_QUERY_LOCAL_PROC_TABLE) == 0;
        if (!job) {
            question->status = PMIX_ERR_NOT_FOUND;
        } else if (local || strcmp(key, PMIX_QUERY_PROC_TABLE) == 0) {
            ask_for_table(question, job, local);
            return;
        } else {
            tell_key(question, key, job);
        }
    }
    worker_do_inside(&question->answer);
}

static void run_question(struct loop_task *task)
{
    proceed(container_of(task, struct question, task));
}

static size_t count_keys(const pmix_query_t *queries, size_t count)
{
    size_t keys = 0;
    for (size_t i = 0; i < count; i++) {
        for (char **key = queries[i].keys; key && *key; key++) {
            keys++;
        }
    }
    return keys;
}

/* Qualifiers are what they should be: query_check.c has seen them. rank is this server. */
pmix_status_t up_query(pmix_proc_t *rank, pmix_query_t *queries, size_t count,
                       pmix_info_cbfunc_t done, void *cbdata)
{
    (void) rank;
    size_t asked = count_keys(queries, count);
    if (asked == 0 || asked > KEYS_MAX) {
        return PMIX_ERR_BAD_PARAM;
    }
    struct question *question = calloc(1, sizeof(*question));
    if (!question) {
        return PMIX_ERR_NOMEM;
    }
    PMIX_INFO_CREATE(question->info, asked);
    if (!question->info) {
        free(question);
        return PMIX_ERR_NOMEM;
    }
    question->task.run = run_question;
    question->answer.run = answer_question;
    question->queries = queries;
    question->count = count;
    question->asked = asked;
    question->status = PMIX_ERR_NOT_SUPPORTED;
    question->done = done;
    question->cbdata = cbdata;
    module_post(&question->task);
    return PMIX_SUCCESS;
}
