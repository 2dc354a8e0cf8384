/* Cards on demand: a rank asks its daemon, the daemon asks the one that hosts the peer; an ask
 * about a rank that has not published yet waits for its first fence. */
#include <config.h>

#include <launcher/node/server/server_internal.h>

#include <stdlib.h>

struct ask {
    struct list link;
    uint32_t rank;             /* whose cards */
    orte_process_name_t asker; /* the rank that wants them */
    uint32_t daemon;           /* of the asker */
    uint64_t request;
};

static void answer(struct server *server, const struct ask *ask, int32_t status,
                   const uint8_t *cards, size_t size)
{
    if (ask->daemon == server->daemon) {
        (void) server_send_rank(server, ask->asker,
                                proto_new(CLIENT_CARDS, "qib", ask->request, status, cards, size));
        return;
    }
    (void) server_send_daemon(
        server, ask->asker.jobid, ask->daemon, RML_TAG_MODEX_ANSWER,
        proto_new_bare("nqib", ask->asker, ask->request, status, cards, size));
}

/* About a rank of mine: answers now, or keeps the ask. */
static int serve(struct server *server, struct job *job, const struct ask *ask)
{
    struct local_rank *local = &job->ranks[ask->rank];
    if (local->committed) {
        answer(server, ask, ORTE_SUCCESS, local->cards.data, local->cards.size);
        return ORTE_SUCCESS;
    }
    if (local->state == RANK_GONE || local->state == RANK_LEFT) {
        answer(server, ask, ORTE_ERR_NOT_FOUND, NULL, 0);
        return ORTE_SUCCESS;
    }
    struct ask *kept = malloc(sizeof(*kept));
    if (!kept) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *kept = *ask;
    list_append(&job->asks, &kept->link);
    return ORTE_SUCCESS;
}

static int forward(struct server *server, const struct job *job, const struct ask *ask)
{
    uint32_t daemon = job->map.daemon_of_node[job->map.node_of[ask->rank]];
    return server_send_daemon(
        server, job->map.jobid, daemon, RML_TAG_MODEX_ASK,
        proto_new_bare("uunq", job->map.jobid, ask->rank, ask->asker, ask->request));
}

int ask_from_rank(struct server *server, struct job *job, uint32_t rank, opal_buffer_t *buffer)
{
    struct ask ask = {.asker = {job->map.jobid, rank}, .daemon = server->daemon};
    int status = proto_unpack(buffer, "qu", &ask.request, &ask.rank);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (ask.rank >= job->map.size) {
        answer(server, &ask, ORTE_ERR_NOT_FOUND, NULL, 0);
        return ORTE_SUCCESS;
    }
    status =
        job_is_local(server, job, ask.rank) ? serve(server, job, &ask) : forward(server, job, &ask);
    if (status != ORTE_SUCCESS) {
        answer(server, &ask, status, NULL, 0);
    }
    return ORTE_SUCCESS;
}

int ask_from_daemon(struct server *server, const struct rml_info *info, opal_buffer_t **buffer)
{
    struct ask ask = {.daemon = info->origin.vpid};
    uint32_t jobid;
    int status = proto_unpack(*buffer, "uunq", &jobid, &ask.rank, &ask.asker, &ask.request);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    struct job *job = server_find_job(server, jobid);
    if (!job && server_keep_early(server, jobid, info, buffer)) {
        return ORTE_SUCCESS;
    }
    if (!job || !job_is_local(server, job, ask.rank)) {
        answer(server, &ask, ORTE_ERR_NOT_FOUND, NULL, 0);
        return ORTE_SUCCESS;
    }
    return serve(server, job, &ask);
}

int ask_answered(struct server *server, opal_buffer_t *buffer)
{
    struct ask ask = {.daemon = server->daemon};
    int32_t outcome;
    uint8_t *cards;
    size_t size;
    int status = proto_unpack(buffer, "nqib", &ask.asker, &ask.request, &outcome, &cards, &size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    struct job *job = server_find_job(server, ask.asker.jobid);
    if (job && job_is_local(server, job, ask.asker.vpid)) {
        answer(server, &ask, outcome, cards, size);
    }
    free(cards);
    return ORTE_SUCCESS;
}

/* Answers everybody who waits for this rank. */
static void answer_all(struct server *server, struct job *job, uint32_t rank, int status,
                       const struct blob *cards)
{
    struct ask *ask;
    list_for_each (ask, &job->asks, struct ask, link) {
        if (ask->rank == rank) {
            list_remove(&ask->link);
            answer(server, ask, status, cards->data, cards->size);
            free(ask);
        }
    }
}

void ask_rank_committed(struct server *server, struct job *job, uint32_t rank)
{
    answer_all(server, job, rank, ORTE_SUCCESS, &job->ranks[rank].cards);
}

void ask_rank_gone(struct server *server, struct job *job, uint32_t rank)
{
    if (!job->ranks[rank].committed) {
        answer_all(server, job, rank, ORTE_ERR_NOT_FOUND, &(struct blob){0});
    }
}

void ask_drop_all(struct job *job)
{
    for (struct list *link; (link = list_pop(&job->asks));) {
        free(container_of(link, struct ask, link));
    }
}
