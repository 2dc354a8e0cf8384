#include <config.h>

#include <bootstrap/env.h>

#include <base/param.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    *self = (struct self){.singleton = true, .size = 1};
    self->name.jobid = job_uuid_make(self->uuid) | 1; /* a family of its own */
}

int self_read(struct self *self, char *reason, size_t reason_size)
{
    if (crypto_open() != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "libsodium does not start");
        return ORTE_ERROR;
    }
    const char *daemon = getenv(ENV_DAEMON);
    if (!daemon) {
        become_singleton(self);
        return ORTE_SUCCESS;
    }
    struct self read = {.daemon = daemon};
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
    if (status != ORTE_SUCCESS) {
        return status;
    }
    const char *yield = getenv(ENV_YIELD);
    read.yield = yield && strcmp(yield, "1") == 0;
    read.session_dir = getenv(ENV_SESSION_DIR);
    read.node = getenv(ENV_NODE);
    *self = read;
    return ORTE_SUCCESS;
}
