#include <config.h>

#include <bootstrap/env.h>

#include <base/settings/log.h>
#include <base/settings/param.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHOICE_AUTO, CHOICE_NATIVE, CHOICE_PMIX, CHOICE_SINGLETON };
static const char *const choices[] = {"auto", "native", "pmix", "singleton", NULL};
static struct param bootstrap_choice =
    PARAM_ENUM("bootstrap", "auto", choices,
               "How a process joins its job: by keelrun's daemon, by a PMIx server, alone, or "
               "(auto) by what its environment offers");
PARAM_ROWS("bootstrap", bootstrap_choice);

static int read_number(const char *name, int64_t max, uint32_t *number, char *reason,
                       size_t reason_size)
{
    const char *text = getenv(name);
    int64_t value;
    if (!text || param_parse_int(text, false, 0, max, &value) != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "%s is %s%s%s: this process was not started by keelrun", name,
                 text ? "'" : "", text ? text : "not set",
                 text ? "', which is no number in range" : "");
        return ORTE_ERR_BAD_PARAM;
    }
    *number = (uint32_t) value;
    return ORTE_SUCCESS;
}

static int read_uuid(char uuid[JOB_UUID_TEXT], char *reason, size_t reason_size)
{
    const char *text = getenv(ENV_JOB);
    if (!text || !job_uuid_ok(text)) {
        snprintf(reason, reason_size, ENV_JOB " is not 32 hex digits");
        return ORTE_ERR_BAD_PARAM;
    }
    memcpy(uuid, text, JOB_UUID_TEXT);
    return ORTE_SUCCESS;
}

static void become_singleton(struct self *self)
{
    *self = (struct self){.kind = SELF_SINGLETON, .size = 1};
    self->name.jobid = job_uuid_make(self->uuid) | 1; /* a family of its own */
}

void self_become_tool(struct self *self)
{
    become_singleton(self);
    self->kind = SELF_TOOL;
    self->name = *ORTE_NAME_INVALID;
}

/* Is the PMIx server in the environment another one than that of the keelrun there? Its ranks
 * inherit keelrun's variables when keelrun started it. */
static bool pmix_is_inner(void)
{
    const char *nspace = getenv(ENV_PMIX_NSPACE), *uuid = getenv(ENV_JOB);
    return nspace && getenv(ENV_PMIX_RANK) &&
           !(uuid && strncmp(nspace, "keel-", 5) == 0 &&
             strncmp(nspace + 5, uuid, strlen(uuid)) == 0);
}

static enum self_kind choose(void)
{
    switch (param_int(&bootstrap_choice)) {
    case CHOICE_NATIVE:
        return SELF_NATIVE;
    case CHOICE_PMIX:
        return SELF_PMIX;
    case CHOICE_SINGLETON:
        return SELF_SINGLETON;
    default:
        return pmix_is_inner() ? SELF_PMIX : getenv(ENV_DAEMON) ? SELF_NATIVE : SELF_SINGLETON;
    }
}

static int read_native(struct self *self, char *reason, size_t reason_size)
{
    struct self read = {.kind = SELF_NATIVE, .daemon = getenv(ENV_DAEMON)};
    if (!read.daemon) {
        snprintf(reason, reason_size, ENV_DAEMON " is not set: keelrun did not start this process");
        return ORTE_ERR_BAD_PARAM;
    }
    int status = read_uuid(read.uuid, reason, reason_size);
    if (status == ORTE_SUCCESS) {
        status =
            read_number(ENV_JOBID, ORTE_JOBID_WILDCARD - 1, &read.name.jobid, reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        status = read_number(ENV_SIZE, 1 << 20, &read.size, reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        status =
            read_number(ENV_RANK, (int64_t) read.size - 1, &read.name.vpid, reason, reason_size);
    }
    if (status == ORTE_SUCCESS && getenv(ENV_APP)) {
        status = read_number(ENV_APP, UINT32_MAX, &read.app, reason, reason_size);
    }
    if (status != ORTE_SUCCESS) {
        return status;
    }
    const char *yield = getenv(ENV_YIELD);
    read.hnp = getenv(ENV_HNP);
    read.yield = yield && strcmp(yield, "1") == 0;
    read.session_dir = getenv(ENV_SESSION_DIR);
    read.node = getenv(ENV_NODE);
    *self = read;
    return ORTE_SUCCESS;
}

static int read_pmix(struct self *self, char *reason, size_t reason_size)
{
    if (!getenv(ENV_PMIX_NSPACE) || !getenv(ENV_PMIX_RANK)) {
        snprintf(reason, reason_size,
                 ENV_PMIX_NSPACE " or " ENV_PMIX_RANK
                                 " is not set: no PMIx server started this process");
        return ORTE_ERR_BAD_PARAM;
    }
    *self = (struct self){.kind = SELF_PMIX};
    return ORTE_SUCCESS;
}

/* Tasks of one srun that are to be one job know nothing of each other without a PMIx server. Who
 * wants jobs of one sets the parameter. */
static void warn_of_srun(void)
{
    const char *task = getenv("SLURM_PROCID"), *tasks = getenv("SLURM_STEP_NUM_TASKS");
    if (param_int(&bootstrap_choice) == CHOICE_AUTO && task && strcmp(task, "0") == 0 && tasks &&
        strcmp(tasks, "1") != 0) {
        log_warn(LOG_BOOTSTRAP,
                 "srun started %.10s tasks without a PMIx server: each is a job of its own; srun "
                 "--mpi=pmix makes them one (KEEL_MCA_bootstrap=singleton silences this)",
                 tasks);
    }
}

int self_read(struct self *self, char *reason, size_t reason_size)
{
    if (crypto_open() != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "libsodium does not start");
        return ORTE_ERROR;
    }
    switch (choose()) {
    case SELF_NATIVE:
        return read_native(self, reason, reason_size);
    case SELF_PMIX:
        return read_pmix(self, reason, reason_size);
    default:
        warn_of_srun();
        become_singleton(self);
        return ORTE_SUCCESS;
    }
}
