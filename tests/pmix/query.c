/* Questions that rank 0 asks. */
#include "pmix_test.h"

/* One key, for a namespace or none. The caller frees the results. */
static pmix_status_t ask(const char *key, const char *nspace, pmix_info_t **results, size_t *count)
{
    pmix_query_t query;
    pmix_status_t status;
    bool refresh = true;
    PMIX_QUERY_CONSTRUCT(&query);
    PMIX_ARGV_APPEND(status, query.keys, key);
    PMIX_QUERY_QUALIFIERS_CREATE(&query, nspace ? 2 : 1);
    PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_QUERY_REFRESH_CACHE, &refresh, PMIX_BOOL);
    if (nspace) {
        PMIX_INFO_LOAD(&query.qualifiers[1], PMIX_NSPACE, nspace, PMIX_STRING);
    }
    status = PMIx_Query_info(&query, 1, results, count);
    PMIX_QUERY_DESTRUCT(&query);
    return status;
}

static const char *ask_text(const char *key)
{
    pmix_info_t *results = NULL;
    size_t count = 0;
    expect(PMIX_SUCCESS, ask(key, NULL, &results, &count), key);
    check(count == 1 && results[0].value.type == PMIX_STRING, key);
    return results[0].value.data.string; /* kept */
}

static void ask_for_namespaces(void)
{
    pmix_info_t *results = NULL;
    size_t count = 0;
    check(strcmp(ask_text(PMIX_QUERY_NAMESPACES), me.nspace) == 0, "the namespaces");
    expect(PMIX_SUCCESS, ask(PMIX_QUERY_NAMESPACE_INFO, NULL, &results, &count), "namespace info");
    check(count == 1 && results[0].value.type == PMIX_DATA_ARRAY, "an array of namespaces");
    pmix_data_array_t *all = results[0].value.data.darray;
    check(all->type == PMIX_INFO && all->size == 1, "one namespace");
    pmix_data_array_t *one = ((pmix_info_t *) all->array)[0].value.data.darray;
    check(one->type == PMIX_INFO && one->size == 2, "what is told of it");
    pmix_info_t *info = one->array;
    check(PMIX_CHECK_KEY(&info[0], PMIX_NSPACE) &&
              strcmp(info[0].value.data.string, me.nspace) == 0,
          "its name");
    check(PMIX_CHECK_KEY(&info[1], PMIX_CMD_LINE) && strstr(info[1].value.data.string, "query"),
          "its command");
}

static void ask_for_processes(const char *key, uint32_t wanted, pid_t (*pids)[64])
{
    pmix_info_t *results = NULL;
    size_t count = 0;
    expect(PMIX_SUCCESS, ask(key, me.nspace, &results, &count), key);
    check(count == 1 && results[0].value.type == PMIX_DATA_ARRAY, key);
    pmix_data_array_t *table = results[0].value.data.darray;
    check(table->type == PMIX_PROC_INFO && table->size == wanted, "as many processes as wanted");
    for (uint32_t i = 0; i < wanted; i++) {
        const pmix_proc_info_t *process = &((pmix_proc_info_t *) table->array)[i];
        char key_of_pid[64];
        snprintf(key_of_pid, sizeof(key_of_pid), "test.pid");
        check(process->proc.rank == i && strcmp(process->proc.nspace, me.nspace) == 0, "its name");
        check(process->pid == (*pids)[i], "its pid");
        check(process->state == PMIX_PROC_STATE_CONNECTED, "its state");
        check(process->hostname && process->executable_name, "where and what it is");
    }
}

static void ask_for_what_is_not_served(void)
{
    pmix_info_t *results = NULL;
    size_t count = 0;
    expect(PMIX_ERR_NOT_SUPPORTED, ask(PMIX_QUERY_MEMORY_USAGE, NULL, &results, &count), "memory");
    expect(PMIX_ERR_NOT_SUPPORTED, ask("test.nonsense", NULL, &results, &count), "nonsense");
    expect(PMIX_ERR_NOT_FOUND, ask(PMIX_QUERY_PROC_TABLE, "nobody", &results, &count),
           "another namespace");
}

int main(void)
{
    bool yes = true;
    pid_t pids[64];
    uint32_t pid = (uint32_t) getpid();
    pmix_info_t collect;
    pmix_value_t value;
    begin();
    check(size <= 64, "at most 64 ranks");
    PMIX_VALUE_LOAD(&value, &pid, PMIX_UINT32);
    expect(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "test.pid", &value), "PMIx_Put");
    expect(PMIX_SUCCESS, PMIx_Commit(), "PMIx_Commit");
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    expect(PMIX_SUCCESS, PMIx_Fence(NULL, 0, &collect, 1), "PMIx_Fence");
    for (uint32_t rank = 0; rank < size; rank++) {
        pids[rank] = (pid_t) get_number("test.pid", rank);
    }
    if (me.rank == 0) {
        ask_for_namespaces();
        ask_for_processes(PMIX_QUERY_PROC_TABLE, size, &pids);
        ask_for_processes(PMIX_QUERY_LOCAL_PROC_TABLE,
                          get_number(PMIX_LOCAL_SIZE, PMIX_RANK_WILDCARD), &pids);
        check(strstr(ask_text(PMIX_QUERY_SPAWN_SUPPORT), PMIX_WDIR), "spawn support");
        check(strstr(ask_text(PMIX_QUERY_SUPPORTED_KEYS), PMIX_QUERY_PROC_TABLE), "what is served");
        ask_for_what_is_not_served();
    }
    return end("query");
}
