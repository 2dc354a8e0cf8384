#include <config.h>

#include <bootstrap/pmix/client.h>

#include <base/data/clock.h>
#include <base/host/paths.h>
#include <base/host/session.h>
#include <base/loop/handover.h>
#include <base/settings/log.h>
#include <bootstrap/backend.h>
#include <bootstrap/pmix/pmix_map.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAVE_US 10000000u
#define ABORT_US 2000000u

/* --- the module --- */

static const struct pmix_calls *load(char *reason, size_t reason_size)
{
    char why[512];
    void *entry = paths_load(PMIX_CLIENT_FILE, PMIX_CLIENT_ENTRY, why, sizeof(why));
    if (!entry) {
        snprintf(reason, reason_size, "a PMIx server started this process, but %s", why);
        return NULL;
    }
    return ((pmix_calls_entry *) entry)();
}

/* --- calls that block, for a limited time --- */

struct joining {
    const struct pmix_calls *calls;
    struct pmix_view view;
    char reason[256];
};

static int run_join(void *arg)
{
    struct joining *joining = arg;
    return joining->calls->join(&joining->view, joining->reason, sizeof(joining->reason));
}

static void joining_free(void *arg)
{
    struct joining *joining = arg;
    pmix_view_fini(&joining->view);
    free(joining);
}

/* *view is the caller's on success. */
static int join(const struct pmix_calls *calls, struct pmix_view *view, char *reason,
                size_t reason_size)
{
    struct joining *joining = calloc(1, sizeof(*joining));
    if (!joining) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    joining->calls = calls;
    int status =
        handover_thread(run_join, joining, joining_free, clock_us() + backend_timeout_us());
    if (status == ORTE_ERR_TIMEOUT) {
        snprintf(reason, reason_size, "the PMIx server does not answer");
        return status;
    }
    snprintf(reason, reason_size, "%s", joining->reason);
    if (status == ORTE_SUCCESS) {
        *view = joining->view;
        joining->view = (struct pmix_view){.size = 0};
    }
    joining_free(joining);
    return status;
}

struct aborting {
    const struct pmix_calls *calls;
    int status;
    char reason[1024];
};

static int run_abort(void *arg)
{
    struct aborting *aborting = arg;
    aborting->calls->abort(aborting->status, aborting->reason);
    return ORTE_SUCCESS;
}

void pmix_client_abort(const struct pmix_client *client, int status, const char *reason)
{
    struct aborting *aborting = calloc(1, sizeof(*aborting));
    if (!aborting) {
        return;
    }
    aborting->calls = client->calls;
    aborting->status = status;
    snprintf(aborting->reason, sizeof(aborting->reason), "%s", reason);
    if (handover_thread(run_abort, aborting, free, clock_us() + ABORT_US) != ORTE_ERR_TIMEOUT) {
        free(aborting);
    }
}

static int run_leave(void *arg)
{
    const struct pmix_calls *const *calls = arg;
    (*calls)->leave();
    return ORTE_SUCCESS;
}

static void leave(const struct pmix_calls *calls)
{
    const struct pmix_calls **copy = malloc(sizeof(*copy));
    if (!copy) {
        return;
    }
    *copy = calls;
    if (handover_thread(run_leave, copy, free, clock_us() + LEAVE_US) == ORTE_ERR_TIMEOUT) {
        log_warn(LOG_BOOTSTRAP, "the PMIx server does not say goodbye");
        return;
    }
    free(copy);
}

/* --- the session folder --- */

/* The server's address tells apart jobs of the same name, of which one may have left a folder. */
static const char *server_address(void)
{
    static const char *const names[] = {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3",
                                        "PMIX_SERVER_URI2", "PMIX_SERVER_URI21"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *value = getenv(names[i]);
        if (value) {
            return value;
        }
    }
    return "";
}

/* keelrun's own server: its folder is removed with the job. */
static const char *keelruns_folder(const char *nspace)
{
    const char *job = getenv(ENV_JOB), *folder = getenv(ENV_SESSION_DIR);
    size_t length = job ? strlen(job) : 0;
    bool mine = length > 0 && strncmp(nspace, "keel-", 5) == 0 &&
                strncmp(nspace + 5, job, length) == 0 &&
                (nspace[5 + length] == '\0' || nspace[5 + length] == '.');
    return mine ? folder : NULL;
}

/* The server removes the job's folder with all in it, also when its ranks were killed. */
static void make_session(struct pmix_client *client, uint32_t node)
{
    char reason[512] = "";
    char *job;
    if (session_share(&client->session, client->map.uuid, node, reason, sizeof(reason)) !=
        ORTE_SUCCESS) {
        client->session = NULL;
        log_warn(LOG_BOOTSTRAP, "no session folder, and so no unix socket: %s", reason);
        return;
    }
    job = strdup(client->session);
    if (job) {
        *strrchr(job, '/') = '\0';
        client->calls->clean(job);
        free(job);
    }
}

/* The ranks of this node have mapped what is there; who has not comes too late. */
void pmix_client_orphaned(const struct pmix_client *client)
{
    if (client->session) {
        session_remove(client->session);
    }
}

/* --- joining --- */

static int fill(struct pmix_client *client, const struct pmix_view *view, struct self *self,
                char *reason, size_t reason_size)
{
    struct job_map *map = &client->map;
    int status = pmix_job_map(map, view, server_address(), reason, reason_size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    uint32_t node = map->node_of[view->rank];
    client->node = strdup(map->node_names[node]);
    if (!client->node) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    const char *folder = keelruns_folder(view->nspace);
    if (!folder) {
        make_session(client, node);
        folder = client->session;
    }
    self->name = (orte_process_name_t){map->jobid, view->rank};
    self->size = map->size;
    memcpy(self->uuid, map->uuid, sizeof(self->uuid));
    self->session_dir = folder;
    self->node = client->node;
    return ORTE_SUCCESS;
}

int pmix_client_join(struct pmix_client **out, struct self *self, char *reason, size_t reason_size)
{
    struct pmix_view view;
    const struct pmix_calls *calls = load(reason, reason_size);
    if (!calls) {
        return ORTE_ERR_NOT_FOUND;
    }
    int status = join(calls, &view, reason, reason_size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    struct pmix_client *client = calloc(1, sizeof(*client));
    if (client) {
        client->calls = calls;
        status = fill(client, &view, self, reason, reason_size);
    } else {
        leave(calls);
        status = ORTE_ERR_OUT_OF_RESOURCE;
    }
    pmix_view_fini(&view);
    if (status != ORTE_SUCCESS) {
        pmix_client_leave(client);
        return status;
    }
    *out = client;
    return ORTE_SUCCESS;
}

void pmix_client_leave(struct pmix_client *client)
{
    if (!client) {
        return;
    }
    leave(client->calls);
    if (client->session) {
        session_leave(client->session);
    }
    job_map_fini(&client->map);
    free(client->session);
    free(client->node);
    free(client);
}
