/* The daemon's side: one table of jobs, each with its local ranks; fences live in fence.c, cards on
 * demand in ask.c. */
#include <config.h>

#include <launcher/node/server/server_internal.h>

#include <base/data/clock.h>
#include <base/settings/log.h>
#include <stdlib.h>

struct job *server_find_job(struct server *server, orte_jobid_t jobid)
{
    struct job *job;
    list_for_each (job, &server->jobs, struct job, link) {
        if (job->map.jobid == jobid) {
            return job;
        }
    }
    return NULL;
}

bool job_is_local(const struct server *server, const struct job *job, uint32_t rank)
{
    return rank < job->map.size &&
           job->map.daemon_of_node[job->map.node_of[rank]] == server->daemon;
}

static int send_logged(struct server *server, const orte_process_name_t *peer, orte_rml_tag_t tag,
                       opal_buffer_t *buffer)
{
    int status = rml_give(server->rml, peer, OOB_CONTROL, tag, buffer);
    if (status != ORTE_SUCCESS) {
        log_warn(LOG_BOOTSTRAP, "cannot send to %s (tag %u): %s", ORTE_NAME_PRINT(peer), tag,
                 opal_strerror(status));
    }
    return status;
}

int server_send_rank(struct server *server, orte_process_name_t rank, opal_buffer_t *buffer)
{
    return send_logged(server, &rank, RML_TAG_CLIENT, buffer);
}

int server_send_daemon(struct server *server, orte_jobid_t jobid, uint32_t vpid, orte_rml_tag_t tag,
                       opal_buffer_t *buffer)
{
    orte_process_name_t daemon = {rml_daemon_job(jobid), vpid};
    return send_logged(server, &daemon, tag, buffer);
}

static int welcome(struct server *server, struct job *job, uint32_t rank)
{
    if (job->ranks[rank].state != RANK_EXPECTED) {
        log_warn(LOG_BOOTSTRAP, "rank %u says hello twice", rank);
        return ORTE_ERR_BAD_PARAM;
    }
    opal_buffer_t *answer = proto_new(CLIENT_WELCOME, "");
    if (answer) {
        answer = proto_whole(answer, job_map_pack(answer, &job->map));
    }
    orte_process_name_t name = {job->map.jobid, rank};
    int status = server_send_rank(server, name, answer);
    if (status == ORTE_SUCCESS) {
        job->ranks[rank].state = RANK_JOINED;
        server->ops->joined(server->arg, &name);
    }
    return status;
}

static int take_abort(struct server *server, struct job *job, uint32_t rank, opal_buffer_t *buffer)
{
    int32_t code;
    char *reason;
    int status = proto_unpack(buffer, "is", &code, &reason);
    if (status == OPAL_SUCCESS) {
        orte_process_name_t name = {job->map.jobid, rank};
        server->ops->abort(server->arg, &name, code, reason);
        free(reason);
    }
    return status;
}

static int take_bye(struct server *server, struct job *job, uint32_t rank, opal_buffer_t *buffer)
{
    orte_process_name_t name = {job->map.jobid, rank};
    uint8_t together;
    int status = proto_unpack(buffer, "c", &together);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (together) {
        rml_peer_parts(server->rml, &name);
    }
    if (job->ranks[rank].state == RANK_JOINED) {
        job->ranks[rank].state = RANK_LEFT;
        server->ops->left(server->arg, &name);
    }
    return server_send_rank(server, name, proto_new(CLIENT_BYE, ""));
}

static int take_command(struct server *server, struct job *job, uint32_t rank,
                        opal_buffer_t *buffer)
{
    uint8_t command;
    int status = proto_unpack(buffer, "c", &command);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (command == SERVER_LOOK) {
        return look_from_rank(server, job, rank, buffer);
    }
    job->ranks[rank].moved_us = clock_us();
    if (command == SERVER_HELLO) {
        return welcome(server, job, rank);
    }
    if (command == SERVER_ABORT) {
        return take_abort(server, job, rank, buffer);
    }
    if (job->ranks[rank].state != RANK_JOINED) {
        return ORTE_ERR_PERM;
    }
    switch (command) {
    case SERVER_FENCE:
        return fence_from_rank(server, job, rank, buffer);
    case SERVER_CARDS:
        return ask_from_rank(server, job, rank, buffer);
    case SERVER_BYE:
        return take_bye(server, job, rank, buffer);
    default:
        return ORTE_ERR_BAD_PARAM;
    }
}

static void from_rank(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    struct server *server = arg;
    struct job *job = server_find_job(server, info->origin.jobid);
    int status = ORTE_ERR_NOT_FOUND;
    if (job && job_is_local(server, job, info->origin.vpid)) {
        status = take_command(server, job, info->origin.vpid, *buffer);
    }
    if (status != ORTE_SUCCESS) {
        log_warn(LOG_BOOTSTRAP, "refused a request of %s: %s", ORTE_NAME_PRINT(&info->origin),
                 opal_strerror(status));
    }
}

/* Messages about a job that this daemon does not know yet: the launch message may be overtaken. */
struct early {
    struct list link;
    struct rml_info info;
    opal_buffer_t *buffer; /* owned */
};
#define EARLY_MAX 1024

bool server_keep_early(struct server *server, orte_jobid_t jobid, const struct rml_info *info,
                       opal_buffer_t **buffer)
{
    if (server_find_job(server, jobid) || server->early_count >= EARLY_MAX) {
        return false;
    }
    struct early *early = malloc(sizeof(*early));
    if (!early) {
        return false;
    }
    (*buffer)->unpack_ptr = (*buffer)->base_ptr;
    *early = (struct early){.info = *info, .buffer = *buffer};
    *buffer = NULL;
    list_append(&server->early, &early->link);
    server->early_count++;
    return true;
}

static void on_daemon_message(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    struct server *server = arg;
    int status = ORTE_SUCCESS;
    switch (info->tag) {
    case RML_TAG_MODEX_ASK:
        status = ask_from_daemon(server, info, buffer);
        break;
    default:
        status = ask_answered(server, *buffer);
        break;
    }
    if (status != ORTE_SUCCESS) {
        log_warn(LOG_BOOTSTRAP, "dropped a message of %s (tag %u): %s",
                 ORTE_NAME_PRINT(&info->origin), info->tag, opal_strerror(status));
    }
}

static void replay_early(struct server *server)
{
    struct list kept = LIST_INIT(kept);
    list_splice(&kept, &server->early);
    server->early_count = 0;
    for (struct list *link; (link = list_pop(&kept));) {
        struct early *early = container_of(link, struct early, link);
        on_daemon_message(server, &early->info, &early->buffer);
        if (early->buffer) {
            OBJ_RELEASE(early->buffer);
        }
        free(early);
    }
}

static void fences_begun(void *arg, const char *key)
{
    fence_begun(arg, key);
}

int server_create(struct server **out, struct rml *rml, struct allgather *allgather,
                  uint32_t daemon, const struct server_ops *ops, void *arg)
{
    struct server *server = calloc(1, sizeof(*server));
    if (!server) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *server = (struct server){
        .rml = rml,
        .allgather = allgather,
        .daemon = daemon,
        .ops = ops,
        .arg = arg,
    };
    list_init(&server->jobs);
    list_init(&server->early);
    allgather_watch(allgather, fences_begun, server);
    rml_handle(rml, RML_TAG_SERVER, from_rank, server);
    rml_handle(rml, RML_TAG_MODEX_ASK, on_daemon_message, server);
    rml_handle(rml, RML_TAG_MODEX_ANSWER, on_daemon_message, server);
    *out = server;
    return ORTE_SUCCESS;
}

static void job_destroy(struct server *server, struct job *job)
{
    fence_drop_all(server, job);
    ask_drop_all(job);
    for (uint32_t rank = 0; job->ranks && rank < job->map.size; rank++) {
        blob_fini(&job->ranks[rank].cards);
        blob_fini(&job->ranks[rank].counters);
        free(job->ranks[rank].waits);
    }
    free(job->ranks);
    free(job->daemons);
    job_map_fini(&job->map);
    free(job);
}

void server_destroy(struct server *server)
{
    if (!server) {
        return;
    }
    allgather_watch(server->allgather, NULL, NULL);
    static const orte_rml_tag_t tags[] = {RML_TAG_SERVER, RML_TAG_MODEX_ASK, RML_TAG_MODEX_ANSWER};
    for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++) {
        rml_handle(server->rml, tags[i], NULL, NULL);
    }
    for (struct list *link; (link = list_pop(&server->jobs));) {
        job_destroy(server, container_of(link, struct job, link));
    }
    for (struct list *link; (link = list_pop(&server->early));) {
        struct early *early = container_of(link, struct early, link);
        OBJ_RELEASE(early->buffer);
        free(early);
    }
    free(server);
}

static int copy_map(struct job_map *to, const struct job_map *from)
{
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    if (!buffer) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    int status = job_map_pack(buffer, from);
    if (status == ORTE_SUCCESS) {
        status = job_map_unpack(buffer, to);
    }
    OBJ_RELEASE(buffer);
    return status;
}

static int find_daemons(const struct server *server, struct job *job)
{
    job->daemons = calloc(job->map.size, sizeof(*job->daemons));
    if (!job->daemons) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t rank = 0; rank < job->map.size; rank++) {
        job->daemons[rank] = job->map.daemon_of_node[job->map.node_of[rank]];
        job->local_count += job->daemons[rank] == server->daemon;
    }
    return ORTE_SUCCESS;
}

int server_add_job(struct server *server, const struct job_map *map)
{
    if (server_find_job(server, map->jobid)) {
        return ORTE_EXISTS;
    }
    struct job *job = calloc(1, sizeof(*job));
    if (!job) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    list_init(&job->fences);
    list_init(&job->asks);
    int status = copy_map(&job->map, map);
    if (status != ORTE_SUCCESS) {
        goto undo;
    }
    job->ranks = calloc(map->size, sizeof(*job->ranks));
    if (!job->ranks) {
        status = ORTE_ERR_OUT_OF_RESOURCE;
        goto undo;
    }
    status = find_daemons(server, job);
    if (status != ORTE_SUCCESS) {
        goto undo;
    }
    list_append(&server->jobs, &job->link);
    replay_early(server);
    return ORTE_SUCCESS;
undo:
    job_destroy(server, job);
    return status;
}

void server_rank_gone(struct server *server, const orte_process_name_t *name)
{
    struct job *job = server_find_job(server, name->jobid);
    if (!job || !job_is_local(server, job, name->vpid)) {
        return;
    }
    bool early = job->ranks[name->vpid].state == RANK_JOINED;
    job->ranks[name->vpid].stranger = job->ranks[name->vpid].state == RANK_EXPECTED;
    job->ranks[name->vpid].state = RANK_GONE;
    fence_rank_gone(server, job, name->vpid, early);
    ask_rank_gone(server, job, name->vpid);
    look_rank_gone(server, job, name->vpid);
}

void server_daemon_lost(struct server *server, uint32_t vpid)
{
    struct job *job;
    list_for_each (job, &server->jobs, struct job, link) {
        bool concerns = false;
        for (uint32_t rank = 0; rank < job->map.size && !concerns; rank++) {
            concerns = job->daemons[rank] == vpid;
        }
        if (concerns) {
            fence_ranks_lost(job);
        }
    }
}

/* Those who failed before they joined will be waited for: where nobody here waits, too. */
static void fail_fences_of(struct server *server, struct job *job, const uint32_t *ranks,
                           uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct local_rank *local = ranks[i] < job->map.size ? &job->ranks[ranks[i]] : NULL;
        if (local && local->stranger) {
            local->stranger = false;
            fence_rank_gone(server, job, ranks[i], true);
        }
    }
}

void server_ranks_ended(struct server *server, orte_jobid_t jobid, const uint32_t *ranks,
                        uint32_t count)
{
    struct job *job = server_find_job(server, jobid);
    if (job) {
        fail_fences_of(server, job, ranks, count);
    }
    for (uint32_t rank = 0; job && rank < job->map.size; rank++) {
        if (job->ranks[rank].state != RANK_JOINED) {
            continue;
        }
        opal_buffer_t *news = proto_new(CLIENT_ENDED, "u", count);
        for (uint32_t i = 0; i < count && news; i++) {
            news = proto_whole(news, proto_pack(news, "u", ranks[i]));
        }
        /* behind what the ended have said, which came in this class */
        orte_process_name_t name = {jobid, rank};
        (void) !rml_give(server->rml, &name, OOB_APP, RML_TAG_CLIENT, news);
    }
}
