/* control [terminate|kill]: job control. Rank 0 stops the last rank and wakes it, sends everybody a
 * signal, and asks for what is refused; then, if it is to, ends the job. */
#include "pmix_test.h"

#include <signal.h>

static volatile sig_atomic_t signals;
static bool required; /* mark the directives so */

static void count_signal(int number)
{
    (void) number;
    signals++;
}

static pmix_status_t control(const pmix_proc_t *targets, size_t count, const char *key, int number,
                             const char *second)
{
    pmix_info_t info[2], *results = NULL;
    size_t result_count = 0;
    bool yes = true;
    if (strcmp(key, PMIX_JOB_CTRL_SIGNAL) == 0) {
        PMIX_INFO_LOAD(&info[0], key, &number, PMIX_INT);
    } else {
        PMIX_INFO_LOAD(&info[0], key, &yes, PMIX_BOOL);
    }
    if (second) {
        PMIX_INFO_LOAD(&info[1], second, &yes, PMIX_BOOL);
    }
    if (required) {
        PMIX_INFO_REQUIRED(&info[0]);
    }
    return PMIx_Job_control(targets, count, info, second ? 2 : 1, &results, &result_count);
}

/* All ranks of these tests are on one machine. At most 20 s. */
static void await_state(pid_t pid, char wanted, bool is)
{
    char path[64], line[256], state = '?';
    snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
    for (int turn = 0; turn < 2000 && (state == wanted) != is; turn++) {
        usleep(10000);
        FILE *stat = fopen(path, "r");
        check(stat != NULL, path);
        const char *name_end = fgets(line, sizeof(line), stat) ? strrchr(line, ')') : NULL;
        fclose(stat);
        check(name_end != NULL, path);
        state = name_end[2];
    }
    check((state == wanted) == is, is ? "it is stopped" : "it goes on");
}

static void stop_and_wake(pid_t pid)
{
    pmix_proc_t last = proc_of(size - 1);
    expect(PMIX_SUCCESS, control(&last, 1, PMIX_JOB_CTRL_PAUSE, 0, NULL), "pause");
    await_state(pid, 'T', true);
    expect(PMIX_SUCCESS, control(&last, 1, PMIX_JOB_CTRL_RESUME, 0, NULL), "resume");
    await_state(pid, 'T', false);
}

static void ask_for_what_is_refused(void)
{
    pmix_proc_t all = proc_of(PMIX_RANK_WILDCARD), stranger, beyond = proc_of(size);
    PMIX_LOAD_PROCID(&stranger, "stranger", 0);
    expect(PMIX_ERR_NOT_FOUND, control(&stranger, 1, PMIX_JOB_CTRL_KILL, 0, NULL), "a stranger");
    expect(PMIX_ERR_NOT_FOUND, control(&beyond, 1, PMIX_JOB_CTRL_KILL, 0, NULL), "no such rank");
    expect(PMIX_ERR_BAD_PARAM, control(&all, 1, PMIX_JOB_CTRL_KILL, 0, PMIX_JOB_CTRL_PAUSE),
           "two at a time");
    expect(PMIX_ERR_BAD_PARAM, control(&all, 1, PMIX_JOB_CTRL_SIGNAL, 0, NULL), "signal 0");
    expect(PMIX_ERR_BAD_PARAM, control(&all, 1, PMIX_JOB_CTRL_SIGNAL, 1000, NULL), "signal 1000");
    expect(PMIX_ERR_BAD_PARAM, control(&all, 1, PMIX_JOB_CTRL_SIGNAL, -9, NULL), "signal -9");
    expect(PMIX_SUCCESS, control(&all, 1, PMIX_JOB_CTRL_PREEMPTIBLE, 0, NULL),
           "what is not served, and not required");
    required = true;
    expect(PMIX_ERR_NOT_SUPPORTED, control(&all, 1, PMIX_JOB_CTRL_PREEMPTIBLE, 0, NULL),
           "what is not served, and required");
    required = false;
}

int main(int argc, char **argv)
{
    bool yes = true;
    uint32_t pid = (uint32_t) getpid();
    pmix_info_t collect;
    pmix_value_t value;
    signal(SIGUSR1, count_signal);
    begin();
    PMIX_VALUE_LOAD(&value, &pid, PMIX_UINT32);
    expect(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "test.pid", &value), "PMIx_Put");
    expect(PMIX_SUCCESS, PMIx_Commit(), "PMIx_Commit");
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    expect(PMIX_SUCCESS, PMIx_Fence(NULL, 0, &collect, 1), "PMIx_Fence");
    if (me.rank == 0) {
        if (size > 1) {
            stop_and_wake((pid_t) get_number("test.pid", size - 1));
        }
        ask_for_what_is_refused();
        expect(PMIX_SUCCESS, control(NULL, 0, PMIX_JOB_CTRL_SIGNAL, SIGUSR1, NULL),
               "a signal for everybody");
    }
    for (int turn = 0; turn < 2000 && signals == 0; turn++) {
        usleep(10000);
    }
    check(signals == 1, "the signal");
    fence();
    if (argc > 1 && me.rank == 0) {
        const char *key =
            strcmp(argv[1], "kill") == 0 ? PMIX_JOB_CTRL_KILL : PMIX_JOB_CTRL_TERMINATE;
        (void) control(NULL, 0, key, 0, NULL); /* may not come back */
    }
    if (argc > 1) {
        sleep(20);
        return 1;
    }
    return end("control");
}
