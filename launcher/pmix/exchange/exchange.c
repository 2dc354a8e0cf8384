#include <config.h>

#include <launcher/pmix/exchange/exchange_internal.h>

#include <base/settings/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <wireup/proto.h>

/* --- pending requests --- */

/* Whoever is to answer does so later. */
static void late(struct loop_timer *timer)
{
    struct pending *pending = container_of(timer, struct pending, timer);
    pmix_done_fn *done = pending->done;
    pending->done = NULL;
    done(pending->done_arg, PMIX_ERR_TIMEOUT, NULL, 0);
}

struct pending *exchange_pending(struct exchange *exchange, pmix_done_fn *done, void *done_arg)
{
    struct pending *pending = exchange->closed ? NULL : calloc(1, sizeof(*pending));
    if (!pending) {
        done(done_arg, exchange->closed ? PMIX_ERR_UNREACH : PMIX_ERR_NOMEM, NULL, 0);
        return NULL;
    }
    pending->exchange = exchange;
    pending->request = ++exchange->daemon->requests.last_number;
    pending->done = done;
    pending->done_arg = done_arg;
    loop_timer_init(&pending->timer, exchange->daemon->loop, late);
    list_append(&exchange->pending, &pending->link);
    return pending;
}

void exchange_pending_end(struct pending *pending, pmix_status_t status, const void *data,
                          size_t size)
{
    list_remove(&pending->link);
    loop_timer_stop(&pending->timer);
    if (pending->done) {
        pending->done(pending->done_arg, status, data, size);
    }
    free(pending);
}

/* Takes the buffer, which may be NULL (no memory). That a daemon is lost, the HNP says. */
static int send_to(struct daemon *daemon, uint32_t vpid, opal_buffer_t *buffer)
{
    orte_process_name_t peer = {daemon->name.jobid, vpid};
    int status = rml_give(daemon->rml, &peer, OOB_CONTROL, RML_TAG_PMIX, buffer);
    if (status != ORTE_SUCCESS) {
        bool lost = status == ORTE_ERR_COMM_FAILURE || status == ORTE_ERR_UNREACH;
        log_at(LOG_LAUNCHER, lost ? LOG_DEBUG : LOG_ERROR, "PMIx: cannot send to daemon %u: %s",
               vpid, opal_strerror(status));
    }
    return status;
}

void exchange_answer(struct daemon *daemon, uint32_t vpid, uint64_t request, pmix_status_t status,
                     const void *data, size_t size)
{
    (void) send_to(daemon, vpid,
                   proto_new(MESSAGE_ANSWER, "qib", request, (int32_t) status, data, size));
}

void exchange_ask(struct pending *pending, uint32_t vpid, opal_buffer_t *buffer)
{
    if (send_to(pending->exchange->daemon, vpid, buffer) != ORTE_SUCCESS) {
        exchange_pending_end(pending, PMIX_ERR_UNREACH, NULL, 0);
    }
}

/* No-op when nobody waits for it any more. */
static void answer_pending(struct exchange *exchange, uint64_t request, pmix_status_t status,
                           const void *data, size_t size)
{
    struct pending *pending;
    list_for_each (pending, &exchange->pending, struct pending, link) {
        if (pending->request == request) {
            exchange_pending_end(pending, status, data, size);
            return;
        }
    }
}

static int take_answer(struct exchange *exchange, opal_buffer_t *buffer)
{
    uint64_t request;
    int32_t outcome;
    uint8_t *data;
    size_t size;
    int status = proto_unpack(buffer, "qib", &request, &outcome, &data, &size);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    answer_pending(exchange, request, outcome, data, size);
    free(data);
    return ORTE_SUCCESS;
}

/* --- data of single ranks --- */

void exchange_modex(struct exchange *exchange, const pmix_proc_t *rank, pmix_done_fn *done,
                    void *done_arg)
{
    const struct job_map *map = &exchange->daemon->launch.map;
    uint32_t first, size;
    if (!exchange->ops->find(exchange->arg, rank->nspace, &first, &size) || rank->rank >= size) {
        done(done_arg, PMIX_ERR_NOT_FOUND, NULL, 0);
        return;
    }
    struct pending *pending = exchange_pending(exchange, done, done_arg);
    if (pending) {
        exchange_ask(pending, map->daemon_of_node[map->node_of[first + rank->rank]],
                     proto_new(MESSAGE_MODEX, "qu", pending->request, first + rank->rank));
    }
}

/* Another daemon's question, while my server looks for the answer. */
struct question {
    struct exchange *exchange;
    uint32_t asker;
    uint64_t request;
};

static void modex_known(void *arg, pmix_status_t status, const void *data, size_t size)
{
    struct question *question = arg;
    exchange_answer(question->exchange->daemon, question->asker, question->request, status, data,
                    size);
    free(question);
}

static int take_modex(struct exchange *exchange, uint32_t asker, opal_buffer_t *buffer)
{
    uint64_t request;
    uint32_t rank;
    int status = proto_unpack(buffer, "qu", &request, &rank);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    struct question *question = calloc(1, sizeof(*question));
    if (!question || exchange->closed || !local_is_here(exchange->daemon, rank)) {
        free(question);
        exchange_answer(exchange->daemon, asker, request, PMIX_ERR_NOT_FOUND, NULL, 0);
        return ORTE_SUCCESS;
    }
    *question = (struct question){exchange, asker, request};
    exchange->ops->modex(exchange->arg, rank, modex_known, question);
    return ORTE_SUCCESS;
}

/* --- spawn --- */

void exchange_spawn(struct exchange *exchange, uint32_t parent, const struct pmix_program *programs,
                    size_t count, pmix_done_fn *done, void *done_arg)
{
    struct pending *pending = exchange_pending(exchange, done, done_arg);
    struct spawn_wish *wishes = pending ? calloc(count + 1, sizeof(*wishes)) : NULL;
    if (!pending) {
        return;
    }
    for (size_t i = 0; wishes && i < count; i++) { /* borrowed, all of it */
        wishes[i] = (struct spawn_wish){.app = {.argv = (char **) (uintptr_t) programs[i].argv,
                                                .env = (char **) (uintptr_t) programs[i].env,
                                                .wdir = (char *) (uintptr_t) programs[i].wdir,
                                                .path = (char *) (uintptr_t) programs[i].path},
                                        .count = programs[i].count,
                                        .info = programs[i].info};
    }
    int status =
        wishes ? daemon_ask_spawn(exchange->daemon, pending->request, parent, NULL, wishes, count)
               : ORTE_ERR_OUT_OF_RESOURCE;
    free(wishes);
    if (status != ORTE_SUCCESS) {
        exchange_pending_end(pending, PMIX_ERR_NOMEM, NULL, 0);
    }
}

/* The HNP's answer: the namespace is made of the job's and the number. */
static void spawned(void *arg, uint64_t request, int status, uint32_t number)
{
    struct exchange *exchange = arg;
    char nspace[PMIX_MAX_NSLEN + 1];
    int length =
        snprintf(nspace, sizeof(nspace), "keel-%s.%u", exchange->daemon->launch.map.uuid, number);
    answer_pending(exchange, request,
                   status == ORTE_SUCCESS ? PMIX_SUCCESS : PMIX_ERR_PROC_FAILED_TO_START, nspace,
                   (size_t) length);
}

/* --- events --- */

void exchange_notify(struct exchange *exchange, const void *event, size_t size)
{
    const struct job_map *map = &exchange->daemon->launch.map;
    for (uint32_t node = 0; node < map->node_count && !exchange->closed; node++) {
        bool used = false;
        for (uint32_t rank = 0; rank < map->size && !used; rank++) {
            used = map->node_of[rank] == node;
        }
        if (used && map->daemon_of_node[node] != exchange->daemon->name.vpid) {
            (void) send_to(exchange->daemon, map->daemon_of_node[node],
                           proto_new(MESSAGE_EVENT, "b", event, size));
        }
    }
}

static int take_event(struct exchange *exchange, opal_buffer_t *buffer)
{
    uint8_t *event;
    size_t size;
    int status = proto_unpack(buffer, "b", &event, &size);
    if (status == OPAL_SUCCESS && !exchange->closed) {
        exchange->ops->event(exchange->arg, event, size);
    }
    free(event);
    return status;
}

/* --- messages --- */

static int take(struct exchange *exchange, uint32_t from, uint8_t message, opal_buffer_t *buffer)
{
    switch (message) {
    case MESSAGE_MODEX:
        return take_modex(exchange, from, buffer);
    case MESSAGE_ANSWER:
        return take_answer(exchange, buffer);
    case MESSAGE_EVENT:
        return take_event(exchange, buffer);
    case MESSAGE_RANK_OP:
        return exchange_take_rank_op(exchange, from, buffer);
    default:
        return exchange->data_server
                   ? data_server_take(exchange->data_server, from, message, buffer)
                   : ORTE_ERR_BAD_PARAM;
    }
}

static void from_daemon(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    struct exchange *exchange = arg;
    uint8_t message = 0;
    int status = proto_unpack(*buffer, "c", &message);
    if (status == OPAL_SUCCESS) {
        status = info->origin.jobid == exchange->daemon->name.jobid
                     ? take(exchange, info->origin.vpid, message, *buffer)
                     : ORTE_ERR_PERM;
    }
    if (status != ORTE_SUCCESS) {
        log_error(LOG_LAUNCHER, "PMIx: message %u of %s: %s", message,
                  ORTE_NAME_PRINT(&info->origin), opal_strerror(status));
    }
}

/* --- life --- */

int exchange_create(struct exchange **out, struct daemon *daemon, const struct exchange_ops *ops,
                    void *arg)
{
    struct exchange *exchange = calloc(1, sizeof(*exchange));
    if (!exchange) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    exchange->daemon = daemon;
    exchange->ops = ops;
    exchange->arg = arg;
    list_init(&exchange->pending);
    list_init(&exchange->meetings);
    if (data_server_vpid(exchange) == daemon->name.vpid) {
        int status = data_server_create(&exchange->data_server, daemon);
        if (status != ORTE_SUCCESS) {
            free(exchange);
            return status;
        }
    }
    rml_handle(daemon->rml, RML_TAG_PMIX, from_daemon, exchange);
    exchange->spawned = (struct spawned_watcher){.fn = spawned, .arg = exchange};
    daemon_watch_spawned(daemon, &exchange->spawned);
    *out = exchange;
    return ORTE_SUCCESS;
}

void exchange_close(struct exchange *exchange)
{
    if (exchange->closed) {
        return;
    }
    exchange->closed = true;
    char prefix[64];
    snprintf(prefix, sizeof(prefix), "pmix/%s/", exchange->daemon->launch.map.uuid);
    allgather_forget(exchange->daemon->allgather, prefix);
    struct list *link;
    while (!list_empty(&exchange->pending)) {
        link = exchange->pending.next;
        exchange_pending_end(container_of(link, struct pending, link), PMIX_ERR_UNREACH, NULL, 0);
    }
}

void exchange_destroy(struct exchange *exchange)
{
    if (!exchange) {
        return;
    }
    exchange_close(exchange);
    rml_handle(exchange->daemon->rml, RML_TAG_PMIX, NULL, NULL);
    list_remove(&exchange->spawned.link);
    gather_forget(exchange);
    data_server_destroy(exchange->data_server);
    free(exchange);
}
