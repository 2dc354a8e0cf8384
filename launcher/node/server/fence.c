/* Fences: each daemon waits for its own ranks, then takes part in a collective of the daemons that
 * have ranks of the job. The n-th fence of every rank is operation n. */
#include <config.h>

#include <launcher/node/server/server_internal.h>

#include <base/data/clock.h>
#include <base/settings/log.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEY_MAX = 48 };

/* It is there until all local ranks have come and the result is known. */
struct fence {
    struct list link;
    struct server *server; /* borrowed, as is the job */
    struct job *job;
    uint32_t operation;
    uint32_t waiting;       /* local ranks that have not come yet */
    bool joined, over;      /* this daemon has done its part; the result is known */
    int status;             /* the first failure */
    struct blob collection; /* cards of the ranks that have come; then everybody's */
};

static void fence_destroy(struct fence *fence)
{
    list_remove(&fence->link);
    blob_fini(&fence->collection);
    free(fence);
}

static void print_key(char key[KEY_MAX], const struct job *job, uint32_t operation)
{
    snprintf(key, KEY_MAX, "fence/%u/%u", job->map.jobid, operation);
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
        fence->server = server;
        fence->job = job;
        fence->operation = operation;
        fence->waiting = job->local_count;
        fence->status = job->fence_status;
        if (misses_a_rank(server, job, operation)) {
            fence->status = ORTE_ERR_COMM_FAILURE;
        }
        list_append(&job->fences, &fence->link);
    }
    return fence;
}

static void answer(const struct fence *fence, uint32_t rank)
{
    orte_process_name_t name = {fence->job->map.jobid, rank};
    fence->job->ranks[rank].moved_us = clock_us();
    (void) server_send_rank(fence->server, name,
                            proto_new(CLIENT_FENCE, "uib", fence->operation,
                                      (int32_t) fence->status, fence->collection.data,
                                      fence->collection.size));
}

/* The result: for the local ranks that have come; the rest, after a failure, get it when they do.
 */
static void fence_done(void *arg, int status, const uint8_t *data, size_t size)
{
    struct fence *fence = arg;
    struct job *job = fence->job;
    blob_fini(&fence->collection);
    fence->over = true;
    fence->status = status;
    if (status == ORTE_SUCCESS) {
        fence->status = blob_append(&fence->collection, data, size);
    } else {
        job->fence_status = status; /* no later one can do better */
    }
    for (uint32_t rank = 0; rank < job->map.size; rank++) {
        const struct local_rank *local = &job->ranks[rank];
        if (local->state == RANK_JOINED && local->next_fence > fence->operation &&
            job_is_local(fence->server, job, rank)) {
            answer(fence, rank);
        }
    }
    if (fence->waiting == 0) {
        fence_destroy(fence);
    }
}

/* Takes part when all local ranks have come, or at once when it has failed. The fence may be gone
 * afterwards. */
static void advance(struct fence *fence)
{
    if (fence->joined || (fence->waiting > 0 && fence->status == ORTE_SUCCESS)) {
        return;
    }
    char key[KEY_MAX];
    print_key(key, fence->job, fence->operation);
    struct blob cards = fence->collection;
    fence->collection = (struct blob){0};
    fence->joined = true;
    int status =
        allgather_join(fence->server->allgather, key, fence->job->daemons, fence->job->map.size,
                       fence->status, cards.data, cards.size, fence_done, fence);
    blob_fini(&cards);
    if (status != ORTE_SUCCESS) {
        fence_done(fence, status, NULL, 0);
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
    if (status == OPAL_SUCCESS && !collect) {
        status = blob_append(&local->cards, set, size);
    } else if (status == OPAL_SUCCESS && !fence->joined) {
        status = cards_collect(&fence->collection, rank, set, size);
    }
    free(set);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    local->next_fence++;
    fence->waiting--;
    if (!collect) {
        local->committed = true;
        ask_rank_committed(server, job, rank);
    }
    if (!fence->over) {
        advance(fence);
        return ORTE_SUCCESS;
    }
    answer(fence, rank);
    if (fence->waiting == 0) {
        fence_destroy(fence);
    }
    return ORTE_SUCCESS;
}

void fence_begun(struct server *server, const char *key)
{
    uint32_t jobid, operation;
    if (sscanf(key, "fence/%u/%u", &jobid, &operation) != 2) {
        return;
    }
    struct job *job = server_find_job(server, jobid);
    struct fence *fence = NULL;
    bool failed = allgather_has_failed(server->allgather, key);
    if (job && (failed || misses_a_rank(server, job, operation))) {
        fence = get_fence(server, job, operation);
    }
    if (fence && failed) {
        fence->status =
            ORTE_ERR_COMM_FAILURE; /* those who have come need not wait for the others */
    }
    if (fence) {
        advance(fence);
    }
}

void fence_rank_gone(struct server *server, struct job *job, uint32_t rank, bool early)
{
    char key[KEY_MAX];
    print_key(key, job, job->ranks[rank].next_fence);
    /* the others' daemons are told even when nobody waits here */
    if ((early || allgather_is_begun(server->allgather, key)) &&
        !get_fence(server, job, job->ranks[rank].next_fence)) {
        log_error(LOG_BOOTSTRAP, "no memory to fail the fence of rank %u", rank);
    }
    struct fence *fence;
    list_for_each (fence, &job->fences, struct fence, link) {
        if (job->ranks[rank].next_fence <= fence->operation && !fence->joined) {
            fence->status = ORTE_ERR_COMM_FAILURE;
            advance(fence);
        }
    }
}

void fence_ranks_lost(struct job *job)
{
    struct fence *fence;
    job->fence_status = ORTE_ERR_COMM_FAILURE;
    list_for_each (fence, &job->fences, struct fence, link) {
        if (!fence->joined) {
            fence->status = ORTE_ERR_COMM_FAILURE;
            advance(fence);
        }
    }
}

bool fence_holds(struct job *job, uint32_t rank, uint32_t *operation)
{
    const struct local_rank *local = &job->ranks[rank];
    const struct fence *fence = local->next_fence ? find_fence(job, local->next_fence - 1) : NULL;
    bool holds = local->state == RANK_JOINED && fence && !fence->over;
    if (holds) {
        *operation = fence->operation;
    }
    return holds;
}

void fence_drop_all(struct server *server, struct job *job)
{
    char key[KEY_MAX];
    snprintf(key, sizeof(key), "fence/%u/", job->map.jobid);
    allgather_forget(server->allgather, key);
    while (!list_empty(&job->fences)) {
        fence_destroy(container_of(job->fences.next, struct fence, link));
    }
}
