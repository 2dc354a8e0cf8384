/* Fences: each daemon waits for its own ranks and for the children that lead to more, then passes
 * one message up; the root sends the result down. The n-th fence of every rank is operation n. */
#include <config.h>

#include <bootstrap/server_internal.h>

#include <base/log.h>
#include <stdlib.h>

struct fence {
    struct list link;
    uint32_t operation;
    uint32_t waiting;       /* local ranks and children that have not come yet */
    int status;             /* the first failure */
    bool sent;              /* passed up: the result is awaited */
    struct blob collection; /* cards of the ranks that have come */
};

static void fence_destroy(struct fence *fence)
{
    list_remove(&fence->link);
    blob_fini(&fence->collection);
    free(fence);
}

static struct fence *find_fence(struct job *job, uint32_t operation)
{
    struct fence *fence;
    list_for_each (fence, &job->fences, struct fence, link) {
        if (fence->operation == operation) {
            return fence;
        }
    }
    return NULL;
}

/* Has some local rank ended that has not reached this fence? Then it never will. */
static bool misses_a_rank(const struct server *server, const struct job *job, uint32_t operation)
{
    for (uint32_t rank = 0; rank < job->map.size; rank++) {
        const struct local_rank *local = &job->ranks[rank];
        if ((local->state == RANK_GONE || local->state == RANK_LEFT) &&
            local->next_fence <= operation && job_is_local(server, job, rank)) {
            return true;
        }
    }
    return false;
}

static struct fence *get_fence(struct server *server, struct job *job, uint32_t operation)
{
    struct fence *fence = find_fence(job, operation);
    if (!fence && (fence = calloc(1, sizeof(*fence)))) {
        fence->operation = operation;
        fence->waiting = job->local_count + job->child_count;
        if (misses_a_rank(server, job, operation)) {
            fence->status = ORTE_ERR_COMM_FAILURE;
        }
        list_append(&job->fences, &fence->link);
    }
    return fence;
}

static opal_buffer_t *daemon_message(const struct job *job, const struct fence *fence)
{
    return proto_new_bare("uuib", job->map.jobid, fence->operation, fence->status,
                          fence->collection.data, fence->collection.size);
}

/* The result is known: tells the children and the local ranks, and ends the fence. */
static void finish(struct server *server, struct job *job, struct fence *fence)
{
    for (uint32_t i = 0; i < job->child_count; i++) {
        (void) server_send_daemon(server, job->map.jobid, job->children[i], RML_TAG_COLL_DOWN,
                                  daemon_message(job, fence));
    }
    for (uint32_t rank = 0; rank < job->map.size; rank++) {
        if (job_is_local(server, job, rank) && job->ranks[rank].state == RANK_JOINED) {
            orte_process_name_t name = {job->map.jobid, rank};
            (void) server_send_rank(server, name,
                                    proto_new(CLIENT_FENCE, "uib", fence->operation, fence->status,
                                              fence->collection.data, fence->collection.size));
        }
    }
    fence_destroy(fence);
}

/* Passes the fence on when all have come, or at once when it has failed. */
static void advance(struct server *server, struct job *job, struct fence *fence)
{
    if (fence->sent || (fence->waiting > 0 && fence->status == ORTE_SUCCESS)) {
        return;
    }
    if (server->daemon == 0) {
        finish(server, job, fence);
        return;
    }
    fence->sent = true;
    opal_buffer_t *buffer = daemon_message(job, fence);
    blob_fini(&fence->collection);
    uint32_t parent = tree_parent(server->radix, server->daemon);
    if (server_send_daemon(server, job->map.jobid, parent, RML_TAG_COLL_UP, buffer) !=
        ORTE_SUCCESS) {
        fence->status = ORTE_ERR_COMM_FAILURE;
        finish(server, job, fence);
    }
}

int fence_from_rank(struct server *server, struct job *job, uint32_t rank, opal_buffer_t *buffer)
{
    struct local_rank *local = &job->ranks[rank];
    uint32_t operation;
    uint8_t collect, *set;
    size_t size;
    int status = proto_unpack(buffer, "ucb", &operation, &collect, &set, &size);
    if (status == OPAL_SUCCESS &&
        (operation != local->next_fence || cards_check(set, size) != ORTE_SUCCESS)) {
        status = ORTE_ERR_BAD_PARAM;
    }
    struct fence *fence = NULL;
    if (status == OPAL_SUCCESS && !(fence = get_fence(server, job, operation))) {
        status = ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (status == OPAL_SUCCESS) {
        status = collect ? cards_collect(&fence->collection, rank, set, size)
                         : blob_append(&local->cards, set, size);
    }
    free(set);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    local->next_fence++;
    if (!collect) {
        local->committed = true;
        ask_rank_committed(server, job, rank);
    }
    if (fence->waiting > 0) {
        fence->waiting--;
    }
    advance(server, job, fence);
    return ORTE_SUCCESS;
}

struct tree_message {
    uint32_t jobid, operation;
    int32_t status;
    uint8_t *cards; /* malloc'd */
    size_t size;
};

/* Reads another daemon's message and finds its job; NULL: not known here yet, and the message is
 * kept for later or dropped. */
static int get_tree_message(struct server *server, const struct rml_info *info,
                            opal_buffer_t **buffer, struct tree_message *message, struct job **job)
{
    int status = proto_unpack(*buffer, "uuib", &message->jobid, &message->operation,
                              &message->status, &message->cards, &message->size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    *job = server_find_job(server, message->jobid);
    if (!*job) {
        free(message->cards);
        (void) server_keep_early(server, message->jobid, info, buffer);
    }
    return ORTE_SUCCESS;
}

static bool is_child(const struct job *job, uint32_t daemon)
{
    for (uint32_t i = 0; i < job->child_count; i++) {
        if (job->children[i] == daemon) {
            return true;
        }
    }
    return false;
}

int fence_from_child(struct server *server, const struct rml_info *info, opal_buffer_t **buffer)
{
    struct tree_message message;
    struct job *job = NULL;
    int status = get_tree_message(server, info, buffer, &message, &job);
    if (!job) {
        return status;
    }
    struct fence *fence = NULL;
    if (!is_child(job, info->origin.vpid)) {
        status = ORTE_ERR_PERM;
    } else if (!(fence = get_fence(server, job, message.operation))) {
        status = ORTE_ERR_OUT_OF_RESOURCE;
    } else {
        status = blob_append(&fence->collection, message.cards, message.size);
    }
    free(message.cards);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    if (fence->status == ORTE_SUCCESS) {
        fence->status = message.status;
    }
    if (fence->waiting > 0) {
        fence->waiting--;
    }
    advance(server, job, fence);
    return ORTE_SUCCESS;
}

int fence_from_parent(struct server *server, const struct rml_info *info, opal_buffer_t **buffer)
{
    struct tree_message message;
    struct job *job = NULL;
    int status = get_tree_message(server, info, buffer, &message, &job);
    if (!job) {
        return status;
    }
    struct fence *fence = get_fence(server, job, message.operation);
    if (!fence || server->daemon == 0 ||
        info->origin.vpid != tree_parent(server->radix, server->daemon)) {
        free(message.cards);
        return fence ? ORTE_ERR_PERM : ORTE_ERR_OUT_OF_RESOURCE;
    }
    blob_fini(&fence->collection);
    fence->collection = (struct blob){message.cards, message.size, message.size};
    fence->status = message.status;
    finish(server, job, fence);
    return ORTE_SUCCESS;
}

void fence_rank_gone(struct server *server, struct job *job, uint32_t rank)
{
    struct fence *fence;
    list_for_each (fence, &job->fences, struct fence, link) {
        if (job->ranks[rank].next_fence <= fence->operation && fence->status == ORTE_SUCCESS) {
            fence->status = ORTE_ERR_COMM_FAILURE;
            advance(server, job, fence);
        }
    }
}

void fence_drop_all(struct job *job)
{
    while (!list_empty(&job->fences)) {
        fence_destroy(container_of(job->fences.next, struct fence, link));
    }
}
