#include <config.h>

#include <launcher/pmix/exchange_internal.h>

#include <base/log.h>
#include <bootstrap/proto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pending {
    struct list link;
    struct exchange *exchange;
    uint64_t request;
    struct loop_timer timer;
    pmix_done_fn *done; /* NULL: it was told that this takes too long */
    void *done_arg;
};

/* How often the same processes have met for the same purpose. */
struct meeting {
    struct list link;
    char *signature; /* owned */
    uint64_t count;
};

/* --- pending requests --- */

/* Whoever is to answer does so later. */
static void late(struct loop_timer *timer)
{
    struct pending *pending = container_of(timer, struct pending, timer);
    pmix_done_fn *done = pending->done;
    pending->done = NULL;
    done(pending->done_arg, PMIX_ERR_TIMEOUT, NULL, 0);
}

static struct pending *pending_add(struct exchange *exchange, pmix_done_fn *done, void *done_arg)
{
    struct pending *pending = exchange->closed ? NULL : calloc(1, sizeof(*pending));
    if (!pending) {
        done(done_arg, exchange->closed ? PMIX_ERR_UNREACH : PMIX_ERR_NOMEM, NULL, 0);
        return NULL;
    }
    pending->exchange = exchange;
    pending->request = ++exchange->last_request;
    pending->done = done;
    pending->done_arg = done_arg;
    loop_timer_init(&pending->timer, exchange->daemon->loop, late);
    list_append(&exchange->pending, &pending->link);
    return pending;
}

struct pending *exchange_pending(struct exchange *exchange, pmix_done_fn *done, void *done_arg,
                                 uint64_t *request)
{
    struct pending *pending = pending_add(exchange, done, done_arg);
    *request = pending ? pending->request : 0;
    return pending;
}

static void pending_end(struct pending *pending, pmix_status_t status, const void *data,
                        size_t size)
{
    list_remove(&pending->link);
    loop_timer_stop(&pending->timer);
    if (pending->done) {
        pending->done(pending->done_arg, status, data, size);
    }
    free(pending);
}

int exchange_send(struct daemon *daemon, uint32_t vpid, opal_buffer_t *buffer)
{
    orte_process_name_t peer = {daemon->name.jobid, vpid};
    int status = rml_give(daemon->rml, &peer, OOB_CONTROL, RML_TAG_PMIX, buffer);
    if (status != ORTE_SUCCESS) {
        log_error(LOG_LAUNCHER, "PMIx: cannot send to daemon %u: %s", vpid, opal_strerror(status));
    }
    return status;
}

void exchange_answer(struct daemon *daemon, uint32_t vpid, uint64_t request, pmix_status_t status,
                     const void *data, size_t size)
{
    (void) exchange_send(daemon, vpid,
                         proto_new(MESSAGE_ANSWER, "qib", request, (int32_t) status, data, size));
}

void exchange_ask(struct pending *pending, uint32_t vpid, opal_buffer_t *buffer)
{
    if (exchange_send(pending->exchange->daemon, vpid, buffer) != ORTE_SUCCESS) {
        pending_end(pending, PMIX_ERR_UNREACH, NULL, 0);
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
    struct pending *pending;
    list_for_each (pending, &exchange->pending, struct pending, link) {
        if (pending->request == request) {
            pending_end(pending, outcome, data, size);
            break;
        }
    }
    free(data);
    return ORTE_SUCCESS;
}

/* --- collectives --- */

static int compare_ranks(const void *a, const void *b)
{
    const uint32_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

/* How many ranks these are; 0: somebody who is not of this job. */
static uint32_t count_ranks(const struct exchange *exchange, const pmix_proc_t *procs, size_t count)
{
    const uint64_t most = 2 * (uint64_t) exchange->daemon->launch.map.size; /* some may be twice */
    uint64_t total = 0;
    uint32_t first, size;
    for (size_t i = 0; i < count; i++) {
        if (!exchange->ops->find(exchange->arg, procs[i].nspace, &first, &size) ||
            (procs[i].rank != PMIX_RANK_WILDCARD && procs[i].rank >= size)) {
            return 0;
        }
        total += procs[i].rank == PMIX_RANK_WILDCARD ? size : 1;
    }
    return total <= most ? (uint32_t) total : 0;
}

uint32_t *exchange_numbers(const struct exchange *exchange, const pmix_proc_t *procs, size_t count,
                           uint32_t *rank_count)
{
    uint32_t total = count_ranks(exchange, procs, count), used = 0, first, size;
    uint32_t *ranks = total > 0 ? calloc(total, sizeof(*ranks)) : NULL;
    for (size_t i = 0; ranks && i < count; i++) {
        (void) exchange->ops->find(exchange->arg, procs[i].nspace, &first, &size);
        bool all = procs[i].rank == PMIX_RANK_WILDCARD;
        for (uint32_t j = 0; j < (all ? size : 1); j++) {
            ranks[used++] = first + (all ? j : procs[i].rank);
        }
    }
    if (ranks) {
        qsort(ranks, total, sizeof(*ranks), compare_ranks);
    }
    *rank_count = total;
    return ranks;
}

static char *make_signature(const struct exchange *exchange, const struct pmix_meeting *meeting,
                            const uint32_t *ranks, uint32_t count)
{
    struct crypto_hash hash;
    uint8_t digest[32];
    char hex[2 * sizeof(digest) + 1], *signature = NULL;
    crypto_hash_begin(&hash);
    crypto_hash_update(&hash, meeting->id, strlen(meeting->id) + 1);
    crypto_hash_update(&hash, ranks, count * sizeof(*ranks));
    crypto_hash_end(&hash, digest);
    crypto_to_hex(hex, digest, sizeof(digest));
    if (asprintf(&signature, "pmix/%s/%s/%s", exchange->daemon->launch.map.uuid, meeting->purpose,
                 hex) < 0) {
        return NULL;
    }
    return signature;
}

/* Takes the signature. How many times these have met, this one included; 0: no memory. */
static uint64_t count_meeting(struct exchange *exchange, char *signature)
{
    struct meeting *meeting;
    list_for_each (meeting, &exchange->meetings, struct meeting, link) {
        if (strcmp(meeting->signature, signature) == 0) {
            free(signature);
            return ++meeting->count;
        }
    }
    meeting = calloc(1, sizeof(*meeting));
    if (!meeting) {
        free(signature);
        return 0;
    }
    meeting->signature = signature;
    meeting->count = 1;
    list_append(&exchange->meetings, &meeting->link);
    return 1;
}

static void gathered(void *arg, int status, const uint8_t *data, size_t size)
{
    pending_end(arg, status == ORTE_SUCCESS ? PMIX_SUCCESS : PMIX_ERR_LOST_CONNECTION, data, size);
}

static int join(struct pending *pending, const char *key, const uint32_t *ranks, uint32_t count,
                const void *data, size_t size)
{
    struct daemon *daemon = pending->exchange->daemon;
    const struct job_map *map = &daemon->launch.map;
    uint32_t *daemons = calloc(count, sizeof(*daemons));
    if (!daemons) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t i = 0; i < count; i++) {
        daemons[i] = map->daemon_of_node[map->node_of[ranks[i]]];
    }
    int status = allgather_join(daemon->allgather, key, daemons, count, ORTE_SUCCESS, data, size,
                                gathered, pending);
    free(daemons);
    return status;
}

/* The name of this meeting for the daemons; NULL: no memory. */
static char *make_key(struct exchange *exchange, const struct pmix_meeting *meeting,
                      const uint32_t *ranks, uint32_t count)
{
    char *signature = make_signature(exchange, meeting, ranks, count), *key = NULL;
    char *copy = signature ? strdup(signature) : NULL;
    uint64_t turn = copy ? count_meeting(exchange, copy) : 0;
    if (turn == 0 || asprintf(&key, "%s/%llu", signature, (unsigned long long) turn) < 0) {
        key = NULL;
    }
    free(signature);
    return key;
}

void exchange_gather(struct exchange *exchange, const struct pmix_meeting *meeting,
                     const void *data, size_t size, pmix_done_fn *done, void *done_arg)
{
    uint32_t rank_count;
    uint32_t *ranks = exchange_numbers(exchange, meeting->procs, meeting->count, &rank_count);
    if (!ranks) {
        done(done_arg, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
        return;
    }
    char *key = make_key(exchange, meeting, ranks, rank_count);
    struct pending *pending = pending_add(exchange, done, done_arg);
    if (pending && meeting->timeout_ms > 0) {
        loop_timer_start(&pending->timer, meeting->timeout_ms * 1000u);
    }
    if (pending) {
        int status =
            key ? join(pending, key, ranks, rank_count, data, size) : ORTE_ERR_OUT_OF_RESOURCE;
        if (status != ORTE_SUCCESS) {
            pending_end(pending, PMIX_ERROR, NULL, 0);
        }
    }
    free(ranks);
    free(key);
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
    struct pending *pending = pending_add(exchange, done, done_arg);
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

/* --- names --- */

static uint32_t keeper_of(const struct exchange *exchange)
{
    const struct job_map *map = &exchange->daemon->launch.map;
    return map->daemon_of_node[map->node_of[0]];
}

/* Adds the keys to the message, or drops it: no memory. */
static opal_buffer_t *with_keys(opal_buffer_t *buffer, char **keys)
{
    uint32_t count = 0;
    while (keys && keys[count]) {
        count++;
    }
    int status = buffer ? proto_pack(buffer, "u", count) : ORTE_ERR_OUT_OF_RESOURCE;
    for (uint32_t i = 0; i < count && status == ORTE_SUCCESS; i++) {
        status = proto_pack(buffer, "s", keys[i]);
    }
    return proto_whole(buffer, status);
}

void exchange_publish(struct exchange *exchange, const pmix_proc_t *publisher,
                      struct pmix_scope scope, const struct pmix_item *items, size_t count,
                      pmix_done_fn *done, void *done_arg)
{
    struct pending *pending = pending_add(exchange, done, done_arg);
    if (!pending) {
        return;
    }
    opal_buffer_t *buffer =
        proto_new(MESSAGE_PUBLISH, "qsuccu", pending->request, publisher->nspace, publisher->rank,
                  (int) scope.range, (int) scope.persistence, (uint32_t) count);
    int status = buffer ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
    for (size_t i = 0; i < count && status == ORTE_SUCCESS; i++) {
        status = proto_pack(buffer, "sb", items[i].key, items[i].value, items[i].size);
    }
    exchange_ask(pending, keeper_of(exchange), proto_whole(buffer, status));
}

void exchange_lookup(struct exchange *exchange, const pmix_proc_t *seeker, pmix_data_range_t range,
                     char **keys, uint32_t wait, uint32_t timeout_s, pmix_done_fn *done,
                     void *done_arg)
{
    struct pending *pending = pending_add(exchange, done, done_arg);
    if (pending) {
        exchange_ask(pending, keeper_of(exchange),
                     with_keys(proto_new(MESSAGE_LOOKUP, "qsucuu", pending->request, seeker->nspace,
                                         seeker->rank, (int) range, wait, timeout_s),
                               keys));
    }
}

void exchange_unpublish(struct exchange *exchange, const pmix_proc_t *publisher,
                        pmix_data_range_t range, char **keys, pmix_done_fn *done, void *done_arg)
{
    (void) range; /* a process published a key once at most that it can name */
    struct pending *pending = pending_add(exchange, done, done_arg);
    if (pending) {
        exchange_ask(pending, keeper_of(exchange),
                     with_keys(proto_new(MESSAGE_UNPUBLISH, "qsu", pending->request,
                                         publisher->nspace, publisher->rank),
                               keys));
    }
}

/* --- spawn --- */

static int pack_program(opal_buffer_t *buffer, const struct pmix_program *program)
{
    struct launch_app app = {.argv = (char **) (uintptr_t) program->argv,
                             .env = (char **) (uintptr_t) program->env,
                             .wdir = (char *) (uintptr_t) program->wdir};
    int status = launch_app_pack(buffer, &app);
    return status == ORTE_SUCCESS ? proto_pack(buffer, "u", program->count) : status;
}

void exchange_spawn(struct exchange *exchange, uint32_t parent, const struct pmix_program *programs,
                    size_t count, pmix_done_fn *done, void *done_arg)
{
    struct pending *pending = pending_add(exchange, done, done_arg);
    if (!pending) {
        return;
    }
    opal_buffer_t *report =
        proto_new(REPORT_SPAWN, "quu", pending->request, parent, (uint32_t) count);
    int status = report ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
    for (size_t i = 0; i < count && status == ORTE_SUCCESS; i++) {
        status = pack_program(report, &programs[i]);
    }
    report = proto_whole(report, status);
    if (report) {
        daemon_report(exchange->daemon, report);
    } else {
        pending_end(pending, PMIX_ERR_NOMEM, NULL, 0);
    }
}

/* The HNP's answer: the namespace is made of the job's and the number. */
static void spawned(void *arg, uint64_t request, int status, uint32_t number)
{
    struct exchange *exchange = arg;
    char nspace[PMIX_MAX_NSLEN + 1];
    int length =
        snprintf(nspace, sizeof(nspace), "keel-%s.%u", exchange->daemon->launch.map.uuid, number);
    struct pending *pending;
    list_for_each (pending, &exchange->pending, struct pending, link) {
        if (pending->request == request) {
            pending_end(pending,
                        status == ORTE_SUCCESS ? PMIX_SUCCESS : PMIX_ERR_PROC_FAILED_TO_START,
                        nspace, (size_t) length);
            return;
        }
    }
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
            (void) exchange_send(exchange->daemon, map->daemon_of_node[node],
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
    case MESSAGE_ERRAND:
        return exchange_take_errand(exchange, from, buffer);
    default:
        return exchange->keeper ? keeper_take(exchange->keeper, from, message, buffer)
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
    if (keeper_of(exchange) == daemon->name.vpid) {
        int status = keeper_create(&exchange->keeper, daemon);
        if (status != ORTE_SUCCESS) {
            free(exchange);
            return status;
        }
    }
    rml_handle(daemon->rml, RML_TAG_PMIX, from_daemon, exchange);
    daemon_on_spawned(daemon, spawned, exchange);
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
        pending_end(container_of(link, struct pending, link), PMIX_ERR_UNREACH, NULL, 0);
    }
}

void exchange_destroy(struct exchange *exchange)
{
    if (!exchange) {
        return;
    }
    exchange_close(exchange);
    rml_handle(exchange->daemon->rml, RML_TAG_PMIX, NULL, NULL);
    daemon_on_spawned(exchange->daemon, NULL, NULL);
    struct meeting *meeting;
    list_for_each (meeting, &exchange->meetings, struct meeting, link) {
        list_remove(&meeting->link);
        free(meeting->signature);
        free(meeting);
    }
    keeper_destroy(exchange->keeper);
    free(exchange);
}
