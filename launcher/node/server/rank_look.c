/* What ranks do: they are asked, and those that are inside Keel answer. */
#include <config.h>

#include <launcher/node/server/server_internal.h>

#include <stdlib.h>
#include <wireup/look.h>

static void forget(struct local_rank *local)
{
    local->looking = false;
    free(local->waits);
    local->waits = NULL;
    blob_fini(&local->counters);
}

void server_look(struct server *server, orte_jobid_t jobid)
{
    struct job *job = server_find_job(server, jobid);
    if (!job) {
        return;
    }
    job->look++;
    for (uint32_t rank = 0; rank < job->map.size; rank++) {
        orte_process_name_t name = {jobid, rank};
        forget(&job->ranks[rank]);
        job->ranks[rank].looking =
            job->ranks[rank].state == RANK_JOINED &&
            server_send_rank(server, name, proto_new(CLIENT_LOOK, "u", job->look)) == ORTE_SUCCESS;
    }
}

uint32_t server_looks(struct server *server, orte_jobid_t jobid)
{
    const struct job *job = server_find_job(server, jobid);
    uint32_t count = 0;
    for (uint32_t rank = 0; job && rank < job->map.size; rank++) {
        count += job->ranks[rank].looking;
    }
    return count;
}

int look_from_rank(struct server *server, struct job *job, uint32_t rank, opal_buffer_t *buffer)
{
    struct local_rank *local = &job->ranks[rank];
    uint32_t number;
    char *waits;
    uint8_t *counters;
    size_t size;
    int status = proto_unpack(buffer, "usb", &number, &waits, &counters, &size);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (number == job->look && local->looking) {
        local->looking = false;
        local->waits = waits;
        waits = NULL;
        status = size <= LOOK_COUNTERS_BYTES ? blob_append(&local->counters, counters, size)
                                             : ORTE_ERR_VALUE_OUT_OF_BOUNDS;
        server->ops->looked(server->arg);
    }
    free(waits);
    free(counters);
    return status;
}

void look_rank_gone(struct server *server, struct job *job, uint32_t rank)
{
    bool awaited = job->ranks[rank].looking;
    forget(&job->ranks[rank]);
    if (awaited) {
        server->ops->looked(server->arg);
    }
}

bool server_view(struct server *server, const orte_process_name_t *name, struct server_view *view)
{
    static const struct blob none;
    struct job *job = server_find_job(server, name->jobid);
    *view = (struct server_view){.waits = "", .counters = &none};
    if (!job || !job_is_local(server, job, name->vpid)) {
        return false;
    }
    const struct local_rank *local = &job->ranks[name->vpid];
    view->in_fence = fence_holds(job, name->vpid, &view->operation);
    view->moved_us = local->moved_us;
    view->waits = local->waits ? local->waits : "";
    view->counters = &local->counters;
    return true;
}
