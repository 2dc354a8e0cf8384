/* Job control: signals for processes of this job. Whoever reaches the server may ask: it is a rank
 * of the job or a tool of the same user. */
#include <config.h>

#include <launcher/pmix/module/pmix_module_internal.h>

#include <signal.h>
#include <stdlib.h>

struct control {
    struct loop_task task;
    struct inside_task answer;
    pmix_proc_t everybody;      /* of the requestor's namespace, when it names no target */
    const pmix_proc_t *targets; /* this, or libpmix's, until it is answered */
    size_t count;
    int signal;
    pmix_status_t status;
    pmix_info_cbfunc_t done;
    void *cbdata;
};

static void answer_control(struct inside_task *task, bool alive)
{
    struct control *control = container_of(task, struct control, answer);
    if (alive) {
        control->done(control->status, NULL, 0, control->cbdata, NULL, NULL);
    }
    free(control);
}

static void signalled(void *arg, pmix_status_t status, const void *data, size_t size)
{
    struct control *control = arg;
    (void) data;
    (void) size;
    control->status = status;
    worker_do_inside(&control->answer);
}

static void run_control(struct loop_task *task)
{
    struct control *control = container_of(task, struct control, task);
    pmix_host->signal(pmix_host->arg, control->targets, control->count, control->signal, signalled,
                      control);
}

/* --- directives --- */

static const struct {
    const char *key;
    int signal;
} actions[] = {
    {PMIX_JOB_CTRL_PAUSE, SIGSTOP},
    {PMIX_JOB_CTRL_RESUME, SIGCONT},
    {PMIX_JOB_CTRL_TERMINATE, SIGTERM},
    {PMIX_JOB_CTRL_KILL, SIGKILL},
};

/* libpmix itself removes what ranks register for it, but only for a host that does not refuse;
 * required or not. */
static bool is_cleanup(const pmix_info_t *directive)
{
    static const char *const keys[] = {PMIX_REGISTER_CLEANUP,  PMIX_REGISTER_CLEANUP_DIR,
                                       PMIX_CLEANUP_RECURSIVE, PMIX_CLEANUP_IGNORE,
                                       PMIX_CLEANUP_EMPTY,     PMIX_CLEANUP_LEAVE_TOPDIR};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        if (PMIX_CHECK_KEY(directive, keys[i])) {
            return true;
        }
    }
    return false;
}

/* The signal that a directive means; 0: none. A directive that is not served is an error only
 * where the requestor requires it. */
static pmix_status_t read_action(const pmix_info_t *directive, int *signal)
{
    *signal = 0;
    if (PMIX_CHECK_KEY(directive, PMIX_JOB_CTRL_SIGNAL)) {
        uint32_t number;
        if (!module_number(&directive->value, &number) || number == 0 || number >= NSIG) {
            return PMIX_ERR_BAD_PARAM;
        }
        *signal = (int) number;
        return PMIX_SUCCESS;
    }
    for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++) {
        if (PMIX_CHECK_KEY(directive, actions[i].key)) {
            *signal = PMIX_INFO_TRUE(directive) ? actions[i].signal : 0;
            return PMIX_SUCCESS;
        }
    }
    return is_cleanup(directive) || PMIX_CHECK_KEY(directive, PMIX_JOB_CTRL_ID) ||
                   !PMIX_INFO_IS_REQUIRED(directive)
               ? PMIX_SUCCESS
               : PMIX_ERR_NOT_SUPPORTED;
}

/* One thing at a time; *signal is 0 when there is nothing to do. */
static pmix_status_t read_directives(const pmix_info_t directives[], size_t count, int *signal)
{
    pmix_status_t status = PMIX_SUCCESS;
    *signal = 0;
    for (size_t i = 0; i < count && status == PMIX_SUCCESS; i++) {
        int one;
        status = read_action(&directives[i], &one);
        if (one != 0 && *signal != 0) {
            return PMIX_ERR_BAD_PARAM;
        }
        *signal = one != 0 ? one : *signal;
    }
    return status;
}

pmix_status_t up_job_control(const pmix_proc_t *requestor, const pmix_proc_t targets[],
                             size_t target_count, const pmix_info_t directives[],
                             size_t directive_count, pmix_info_cbfunc_t done, void *cbdata)
{
    int signal;
    pmix_status_t status = read_directives(directives, directive_count, &signal);
    if (status != PMIX_SUCCESS || signal == 0) {
        return status == PMIX_SUCCESS ? PMIX_OPERATION_SUCCEEDED : status;
    }
    struct control *control = calloc(1, sizeof(*control));
    if (!control) {
        return PMIX_ERR_NOMEM;
    }
    *control = (struct control){.task.run = run_control,
                                .answer.run = answer_control,
                                .targets = targets,
                                .count = target_count,
                                .signal = signal,
                                .done = done,
                                .cbdata = cbdata};
    if (!targets || target_count == 0) {
        PMIX_LOAD_PROCID(&control->everybody, requestor->nspace, PMIX_RANK_WILDCARD);
        control->targets = &control->everybody;
        control->count = 1;
    }
    module_post(&control->task);
    return PMIX_SUCCESS;
}
