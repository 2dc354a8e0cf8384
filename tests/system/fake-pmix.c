/* A libpmix that lies, for tests/system/foreign.sh: loaded in place of the real one, with a job of
 * one rank unless FAKE_PMIX, a list of words, says otherwise. What it answers comes before the call
 * that asked has returned. */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int initialized;

static bool asked_for(const char *word)
{
    const char *words = getenv("FAKE_PMIX");
    size_t length = strlen(word);
    for (const char *at = words; at && (at = strstr(at, word)); at += length) {
        bool begins = at == words || at[-1] == ' ';
        if (begins && (at[length] == '\0' || at[length] == ' ')) {
            return true;
        }
    }
    return false;
}

static void hang_for(const char *word)
{
    while (asked_for(word)) {
        pause();
    }
}

pmix_status_t PMIx_Init(pmix_proc_t *proc, pmix_info_t info[], size_t count)
{
    (void) info;
    (void) count;
    hang_for("init-hangs");
    if (asked_for("init-fails")) {
        return PMIX_ERR_UNREACH;
    }
    memset(proc, 0, sizeof(*proc));
    snprintf(proc->nspace, sizeof(proc->nspace), "fake");
    proc->rank = asked_for("rank-1") ? 1 : 0;
    initialized = 1;
    return PMIX_SUCCESS;
}

int PMIx_Initialized(void)
{
    return initialized;
}

pmix_status_t PMIx_Finalize(const pmix_info_t info[], size_t count)
{
    (void) info;
    (void) count;
    hang_for("finalize-hangs");
    initialized = 0;
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Abort(int status, const char reason[], pmix_proc_t procs[], size_t count)
{
    (void) reason;
    (void) procs;
    (void) count;
    hang_for("abort-hangs");
    fprintf(stderr, "fake: abort with %d\n", status);
    return PMIX_SUCCESS;
}

const char *PMIx_Error_string(pmix_status_t status)
{
    return status == PMIX_SUCCESS ? "FAKE-SUCCESS" : "FAKE-ERROR";
}

pmix_status_t PMIx_Info_load(pmix_info_t *info, const char *key, const void *data,
                             pmix_data_type_t type)
{
    (void) data;
    memset(info, 0, sizeof(*info));
    snprintf(info->key, sizeof(info->key), "%s", key);
    info->value.type = type;
    return PMIX_SUCCESS;
}

void PMIx_Value_destruct(pmix_value_t *value)
{
    if (value->type == PMIX_STRING) {
        free(value->data.string);
    }
}

static pmix_value_t *text_value(const char *text)
{
    pmix_value_t *value = calloc(1, sizeof(*value));
    value->type = PMIX_STRING;
    value->data.string = text ? strdup(text) : NULL;
    return value;
}

static pmix_status_t job_size(pmix_value_t **value)
{
    if (asked_for("size-none")) {
        return PMIX_ERR_NOT_FOUND;
    }
    if (asked_for("size-text")) {
        *value = text_value("1");
        return PMIX_SUCCESS;
    }
    *value = calloc(1, sizeof(**value));
    (*value)->type = PMIX_UINT32;
    (*value)->data.uint32 = asked_for("size-0")      ? 0
                            : asked_for("size-huge") ? UINT32_MAX
                            : asked_for("size-2")    ? 2
                                                     : 1;
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Get(const pmix_proc_t *proc, const char key[], const pmix_info_t info[],
                       size_t count, pmix_value_t **value)
{
    (void) proc;
    (void) info;
    (void) count;
    if (strcmp(key, PMIX_JOB_SIZE) == 0) {
        return job_size(value);
    }
    if (strcmp(key, PMIX_HOSTNAME) == 0 && !asked_for("host-none")) {
        *value = text_value(asked_for("host-null")  ? NULL
                            : asked_for("host-bad") ? "a host\n"
                                                    : "fake");
        return PMIX_SUCCESS;
    }
    if (strcmp(key, PMIX_LOCAL_PEERS) == 0 && asked_for("peers-bad")) {
        *value = text_value("0,4294967295,99999999999999999999,-1,,x");
        return PMIX_SUCCESS;
    }
    return PMIX_ERR_NOT_FOUND;
}

pmix_status_t PMIx_Get_nb(const pmix_proc_t *proc, const char key[], const pmix_info_t info[],
                          size_t count, pmix_value_cbfunc_t done, void *arg)
{
    (void) proc;
    (void) key;
    (void) info;
    (void) count;
    if (asked_for("get-fails")) {
        return PMIX_ERR_BAD_PARAM;
    }
    pmix_value_t value;
    memset(&value, 0, sizeof(value));
    if (asked_for("get-text")) {
        value.type = PMIX_STRING;
        value.data.string = (char *) "text";
    } else {
        value.type = PMIX_BYTE_OBJECT;
        value.data.bo.size = asked_for("get-null") ? 1000000 : 0;
    }
    done(PMIX_SUCCESS, asked_for("get-nothing") ? NULL : &value, arg);
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[], pmix_value_t *value)
{
    (void) scope;
    (void) key;
    (void) value;
    return asked_for("put-fails") ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
}

pmix_status_t PMIx_Commit(void)
{
    return asked_for("commit-fails") ? PMIX_ERR_UNREACH : PMIX_SUCCESS;
}

pmix_status_t PMIx_Fence_nb(const pmix_proc_t procs[], size_t proc_count, const pmix_info_t info[],
                            size_t count, pmix_op_cbfunc_t done, void *arg)
{
    (void) procs;
    (void) proc_count;
    (void) info;
    (void) count;
    if (asked_for("fence-silent")) {
        return PMIX_SUCCESS;
    }
    if (asked_for("fence-at-once")) {
        return PMIX_OPERATION_SUCCEEDED;
    }
    done(asked_for("fence-fails") ? PMIX_ERR_TIMEOUT : PMIX_SUCCESS, arg);
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Job_control_nb(const pmix_proc_t targets[], size_t target_count,
                                  const pmix_info_t directives[], size_t count,
                                  pmix_info_cbfunc_t done, void *arg)
{
    (void) targets;
    (void) target_count;
    (void) directives;
    (void) count;
    (void) done;
    (void) arg;
    return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Register_event_handler(pmix_status_t codes[], size_t code_count,
                                          pmix_info_t info[], size_t count,
                                          pmix_notification_fn_t handler,
                                          pmix_hdlr_reg_cbfunc_t done, void *arg)
{
    (void) codes;
    (void) code_count;
    (void) info;
    (void) count;
    (void) handler;
    (void) done;
    (void) arg;
    return PMIX_ERR_NOT_SUPPORTED;
}
