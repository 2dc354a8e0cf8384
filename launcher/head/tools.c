#include <config.h>

#include <launcher/head/tools.h>

#include <base/data/clock.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wireup/proto.h>

#define COME_US 20000000u /* for a tool to come under the name that it was given */

static struct param tools_max = PARAM_INT(
    "tools_max", "64", 0, TOOLS_MAX, "",
    "How many tools, processes that keelrun did not start, may be joined to a job at once");
PARAM_ROWS("launcher", tools_max);

enum lease_state { LEASE_FREE, LEASE_GIVEN, LEASE_LINKED };

struct lease {
    enum lease_state state;
    uint64_t until_us; /* GIVEN: then it may go to another */
};

struct tools {
    struct rml *rml; /* borrowed */
    orte_jobid_t tool_job, guest_job, rank_job;
    const struct tools_ops *ops; /* borrowed */
    void *arg;
    uint32_t next; /* names go round, so that one that was just given back is not the next */
    struct lease leases[TOOLS_MAX];
    /* The incarnation of the guest that is linked under a name, or 0. */
    uint64_t guests[GUESTS_MAX];
};

/* --- names --- */

/* Also frees the names of those who did not come. */
static uint32_t count_leases(struct tools *tools)
{
    uint64_t now = clock_us();
    uint32_t count = 0;
    for (uint32_t vpid = 0; vpid < TOOLS_MAX; vpid++) {
        struct lease *lease = &tools->leases[vpid];
        if (lease->state == LEASE_GIVEN && now >= lease->until_us) {
            lease->state = LEASE_FREE;
        }
        count += lease->state != LEASE_FREE;
    }
    return count;
}

static int give_name(struct tools *tools, orte_process_name_t *name)
{
    *name = *ORTE_NAME_INVALID;
    if (count_leases(tools) >= (uint32_t) param_int(&tools_max)) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    while (tools->leases[tools->next].state != LEASE_FREE) {
        tools->next = (tools->next + 1) % TOOLS_MAX;
    }
    tools->leases[tools->next] = (struct lease){LEASE_GIVEN, clock_us() + COME_US};
    *name = (orte_process_name_t){tools->tool_job, tools->next};
    tools->next = (tools->next + 1) % TOOLS_MAX;
    return ORTE_SUCCESS;
}

static int admit_guest(const struct tools *tools, const struct oob_peer *peer)
{
    if (peer->name.vpid >= GUESTS_MAX) {
        return ORTE_ERR_PERM;
    }
    uint64_t there = tools->guests[peer->name.vpid];
    return there == 0 || there == peer->epoch ? ORTE_SUCCESS : ORTE_EXISTS;
}

int tools_admit(const struct tools *tools, const struct oob_peer *peer)
{
    if (peer->key != OOB_KEY_TOOL) {
        return ORTE_ERR_PERM;
    }
    if (peer->name.jobid == tools->guest_job) {
        return admit_guest(tools, peer);
    }
    return peer->name.jobid == tools->tool_job && peer->name.vpid < TOOLS_MAX &&
                   tools->leases[peer->name.vpid].state != LEASE_FREE
               ? ORTE_SUCCESS
               : ORTE_ERR_PERM;
}

static void link_changed(void *arg, const struct oob_peer *peer, int status)
{
    struct tools *tools = arg;
    if (peer->name.jobid == tools->tool_job && peer->name.vpid < TOOLS_MAX) {
        tools->leases[peer->name.vpid].state = status == ORTE_SUCCESS ? LEASE_LINKED : LEASE_FREE;
        log_info(LOG_LAUNCHER, "tool %s (%s) %s", ORTE_NAME_PRINT(&peer->name), peer->address,
                 status == ORTE_SUCCESS ? "has joined" : "has left");
    } else if (peer->name.jobid == tools->guest_job && peer->name.vpid < GUESTS_MAX) {
        tools->guests[peer->name.vpid] = status == ORTE_SUCCESS ? peer->epoch : 0;
    }
}

/* --- questions --- */

void tools_answer(struct tools *tools, const orte_process_name_t *tool, opal_buffer_t *buffer)
{
    int status = rml_give(tools->rml, tool, OOB_CONTROL, ORTE_RML_TAG_TOOL, buffer);
    if (status != ORTE_SUCCESS) {
        log_info(LOG_LAUNCHER, "no answer to %s: %s", ORTE_NAME_PRINT(tool), opal_strerror(status));
    }
}

static int take_question(struct tools *tools, const orte_process_name_t *tool,
                         opal_buffer_t *buffer, uint8_t *command)
{
    uint64_t number;
    uint8_t stacks = 0;
    orte_process_name_t name;
    int status = proto_unpack(buffer, "cq", command, &number);
    if (status == OPAL_SUCCESS && *command == TOOL_LOOK) {
        status = proto_unpack(buffer, "c", &stacks);
    }
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (*command == TOOL_NAME && tool->jobid == tools->guest_job) {
        status = give_name(tools, &name);
        tools_answer(tools, tool, proto_new(TOOL_NAME, "qin", number, status, name));
    } else if (*command == TOOL_JOB && tool->jobid == tools->tool_job) {
        tools_answer(tools, tool,
                     proto_new(TOOL_JOB, "qiuu", number, (int32_t) ORTE_SUCCESS, tools->rank_job,
                               tools->ops->count(tools->arg)));
    } else if (*command == TOOL_LOOK && tool->jobid == tools->tool_job) {
        tools->ops->look(tools->arg, tool, number, stacks != 0);
    } else {
        return ORTE_ERR_BAD_PARAM;
    }
    return ORTE_SUCCESS;
}

static void from_tool(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    uint8_t command = 0;
    int status = info->role == OOB_KEY_TOOL ? take_question(arg, &info->origin, *buffer, &command)
                                            : ORTE_ERR_PERM;
    if (status != ORTE_SUCCESS) {
        log_warn(LOG_LAUNCHER, "question %u of %s makes no sense", command,
                 ORTE_NAME_PRINT(&info->origin));
    }
}

/* --- life --- */

static int write_key(const char *session, const uint8_t key[KEY_BYTES], char *reason,
                     size_t reason_size)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/" TOOL_KEY_FILE, session) >= (int) sizeof(path)) {
        snprintf(reason, reason_size, "the session folder's path is too long for the tool key: %s",
                 session);
        return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool written = fd >= 0 && write(fd, key, KEY_BYTES) == KEY_BYTES;
    if (!written) {
        snprintf(reason, reason_size, "the tool key cannot be written to %s: %s", path,
                 strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    return written ? ORTE_SUCCESS : ORTE_ERR_FILE_WRITE_FAILURE;
}

int tools_create(struct tools **out, struct rml *rml, orte_jobid_t family, const char *session,
                 const struct tools_ops *ops, void *arg, char *reason, size_t reason_size)
{
    uint8_t key[KEY_BYTES];
    struct tools *tools = calloc(1, sizeof(*tools));
    if (!tools) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    crypto_random(key, sizeof(key));
    int status = write_key(session, key, reason, reason_size);
    if (status != ORTE_SUCCESS) {
        crypto_wipe(key, sizeof(key));
        free(tools);
        return status;
    }
    tools->rml = rml;
    tools->tool_job = family | TOOL_JOB_NUMBER;
    tools->guest_job = family | GUEST_JOB_NUMBER;
    tools->rank_job = family | 1;
    tools->ops = ops;
    tools->arg = arg;
    oob_set_key(rml_oob(rml), OOB_KEY_TOOL, key);
    crypto_wipe(key, sizeof(key));
    rml_handle(rml, ORTE_RML_TAG_TOOL, from_tool, tools);
    rml_watch_links(rml, link_changed, tools);
    *out = tools;
    return ORTE_SUCCESS;
}

void tools_destroy(struct tools *tools)
{
    if (!tools) {
        return;
    }
    rml_handle(tools->rml, ORTE_RML_TAG_TOOL, NULL, NULL);
    rml_watch_links(tools->rml, NULL, tools);
    free(tools);
}
