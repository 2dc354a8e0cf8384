/* tool HOW WHAT [...]: a tool. It finds its server by uri URI, pid PID or nspace NSPACE, and then
 *   looks NSPACE RANKS   asks for the processes of the job, and aborts in vain
 *   kills NSPACE         ends it
 *   stays                stops itself, while it is connected
 *   names itself         brings a name of its own (refused) */
#include "pmix_test.h"

#include <pmix_tool.h>
#include <signal.h>

static pmix_status_t begin_tool(const char *how, const char *value, bool named)
{
    pmix_info_t info[3];
    pmix_rank_t rank = 0;
    pid_t pid = (pid_t) atoi(value);
    if (strcmp(how, "uri") == 0) {
        PMIX_INFO_LOAD(&info[0], PMIX_SERVER_URI, value, PMIX_STRING);
    } else if (strcmp(how, "pid") == 0) {
        PMIX_INFO_LOAD(&info[0], PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
    } else {
        PMIX_INFO_LOAD(&info[0], PMIX_SERVER_NSPACE, value, PMIX_STRING);
    }
    PMIX_INFO_LOAD(&info[1], PMIX_TOOL_NSPACE, "test", PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_TOOL_RANK, &rank, PMIX_PROC_RANK);
    return PMIx_tool_init(&me, info, named ? 3 : 1);
}

static void look(const char *nspace, uint32_t ranks)
{
    pmix_query_t query;
    pmix_status_t status;
    pmix_info_t *results = NULL;
    size_t count = 0;
    check(strstr(me.nspace, "-tool.") && me.rank == 0, "a tool's name");
    PMIX_QUERY_CONSTRUCT(&query);
    PMIX_ARGV_APPEND(status, query.keys, PMIX_QUERY_PROC_TABLE);
    PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
    PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_NSPACE, nspace, PMIX_STRING);
    status = PMIx_Query_info(&query, 1, &results, &count);
    expect(PMIX_SUCCESS, status, "the table of processes");
    pmix_data_array_t *table = results[0].value.data.darray;
    check(count == 1 && table->size == ranks, "its size");
    for (uint32_t i = 0; i < ranks; i++) {
        const pmix_proc_info_t *process = &((pmix_proc_info_t *) table->array)[i];
        check(kill(process->pid, 0) == 0, "its processes");
        check(process->state == PMIX_PROC_STATE_RUNNING, "their state");
    }
    PMIX_INFO_FREE(results, count);
    PMIX_QUERY_DESTRUCT(&query);
    (void) PMIx_Abort(1, "no", NULL, 0); /* which is nobody's end */
}

static void end_job(const char *nspace)
{
    pmix_proc_t all;
    pmix_info_t info, *results = NULL;
    size_t count = 0;
    bool yes = true;
    PMIX_LOAD_PROCID(&all, nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_TERMINATE, &yes, PMIX_BOOL);
    expect(PMIX_ERR_NOT_FOUND, PMIx_Job_control(NULL, 0, &info, 1, &results, &count),
           "a tool's own namespace");
    expect(PMIX_SUCCESS, PMIx_Job_control(&all, 1, &info, 1, &results, &count), "terminate");
}

int main(int argc, char **argv)
{
    check(argc >= 4, "arguments");
    bool named = strcmp(argv[3], "names") == 0;
    pmix_status_t status = begin_tool(argv[1], argv[2], named);
    if (named) {
        check(status != PMIX_SUCCESS, "refused");
        return 0;
    }
    expect(PMIX_SUCCESS, status, "PMIx_tool_init");
    if (strcmp(argv[3], "looks") == 0 && argc == 6) {
        look(argv[4], (uint32_t) atoi(argv[5]));
    } else if (strcmp(argv[3], "kills") == 0 && argc == 5) {
        end_job(argv[4]);
    } else if (strcmp(argv[3], "stays") == 0) {
        puts("connected");
        fflush(stdout);
        raise(SIGSTOP);
    }
    puts("tool: passed");
    PMIx_tool_finalize();
    return 0;
}
