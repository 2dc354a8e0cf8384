/* The names that the ranks of a job publish. One daemon keeps them for all: how the others ask it,
 * and how it answers. */
#include <config.h>

#include <launcher/pmix/exchange/exchange_internal.h>

#include <base/data/strings.h>
#include <launcher/node/orders/orders.h>
#include <launcher/pmix/exchange/published.h>
#include <stdlib.h>
#include <wireup/proto.h>

/* --- asking --- */

uint32_t data_server_vpid(const struct exchange *exchange)
{
    const struct job_map *map = &exchange->daemon->launch.map;
    return map->daemon_of_node[map->node_of[0]];
}

/* Adds the keys to the message, or drops it: no memory. */
static opal_buffer_t *with_keys(opal_buffer_t *buffer, char **keys)
{
    return buffer ? proto_whole(buffer, proto_pack_strings(buffer, keys)) : NULL;
}

void exchange_publish(struct exchange *exchange, const pmix_proc_t *publisher,
                      struct pmix_scope scope, const struct pmix_item *items, size_t count,
                      pmix_done_fn *done, void *done_arg)
{
    struct pending *pending = exchange_pending(exchange, done, done_arg);
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
    exchange_ask(pending, data_server_vpid(exchange), proto_whole(buffer, status));
}

void exchange_lookup(struct exchange *exchange, const pmix_proc_t *seeker, pmix_data_range_t range,
                     char **keys, uint32_t wait, uint32_t timeout_s, pmix_done_fn *done,
                     void *done_arg)
{
    struct pending *pending = exchange_pending(exchange, done, done_arg);
    if (pending) {
        exchange_ask(pending, data_server_vpid(exchange),
                     with_keys(proto_new(MESSAGE_LOOKUP, "qsucuu", pending->request, seeker->nspace,
                                         seeker->rank, (int) range, wait, timeout_s),
                               keys));
    }
}

void exchange_unpublish(struct exchange *exchange, const pmix_proc_t *publisher, char **keys,
                        pmix_done_fn *done, void *done_arg)
{
    struct pending *pending = exchange_pending(exchange, done, done_arg);
    if (pending) {
        exchange_ask(pending, data_server_vpid(exchange),
                     with_keys(proto_new(MESSAGE_UNPUBLISH, "qsu", pending->request,
                                         publisher->nspace, publisher->rank),
                               keys));
    }
}

/* --- keeping --- */

struct data_server {
    struct daemon *daemon;
    struct published *published;
    struct list waiting; /* struct lookup */
};

/* A lookup that waits for names. */
struct lookup {
    struct list link;
    struct data_server *data_server;
    struct publish_party seeker;
    uint64_t request;
    uint8_t range;
    uint32_t wait; /* how many must be found */
    uint32_t timeout_s;
    char **keys; /* owned */
    struct loop_timer timer;
};

/* q request, s namespace, u rank: who asks. */
static int read_asker(opal_buffer_t *buffer, uint32_t daemon, uint64_t *request,
                      struct publish_party *who)
{
    char *nspace;
    uint32_t rank;
    int status = proto_unpack(buffer, "qsu", request, &nspace, &rank);
    if (status == OPAL_SUCCESS) {
        *who = (struct publish_party){.daemon = daemon};
        PMIX_LOAD_PROCID(&who->rank, nspace, rank);
    }
    free(nspace);
    return status;
}

/* --- lookup --- */

static void lookup_free(struct lookup *lookup)
{
    loop_timer_stop(&lookup->timer);
    list_remove(&lookup->link);
    strings_free(lookup->keys);
    free(lookup);
}

static uint32_t count_found(const struct lookup *lookup, size_t *size)
{
    uint32_t count = 0;
    struct pmix_found found;
    *size = 0;
    for (char **key = lookup->keys; *key; key++) {
        if (published_find(lookup->data_server->published, &lookup->seeker, lookup->range, *key,
                           &found)) {
            *size += pmix_found_put(NULL, &found);
            count++;
        }
    }
    return count;
}

/* Answers with what is there, and ends the lookup. */
static void lookup_answer(struct lookup *lookup, uint32_t count, size_t size)
{
    struct data_server *data_server = lookup->data_server;
    uint8_t *data = malloc(size + 1);
    size_t used = 0;
    struct pmix_found found;
    for (char **key = lookup->keys; data && *key; key++) {
        if (published_find(data_server->published, &lookup->seeker, lookup->range, *key, &found)) {
            used += pmix_found_put(data + used, &found);
            published_was_read(data_server->published, &found);
        }
    }
    pmix_status_t status = !data ? PMIX_ERR_NOMEM : count > 0 ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
    exchange_answer(data_server->daemon, lookup->seeker.daemon, lookup->request, status, data,
                    data ? used : 0);
    free(data);
    lookup_free(lookup);
}

static void lookup_try(struct lookup *lookup)
{
    size_t size;
    uint32_t count = count_found(lookup, &size);
    if (count >= lookup->wait) {
        lookup_answer(lookup, count, size);
    }
}

static void lookup_late(struct loop_timer *timer)
{
    struct lookup *lookup = container_of(timer, struct lookup, timer);
    exchange_answer(lookup->data_server->daemon, lookup->seeker.daemon, lookup->request,
                    PMIX_ERR_TIMEOUT, NULL, 0);
    lookup_free(lookup);
}

static int take_lookup(struct data_server *data_server, uint32_t daemon, opal_buffer_t *buffer)
{
    struct lookup *lookup = calloc(1, sizeof(*lookup));
    if (!lookup) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    list_init(&lookup->link);
    loop_timer_init(&lookup->timer, data_server->daemon->loop, lookup_late);
    lookup->data_server = data_server;
    int status = read_asker(buffer, daemon, &lookup->request, &lookup->seeker);
    if (status == OPAL_SUCCESS) {
        status = proto_unpack(buffer, "cuu", &lookup->range, &lookup->wait, &lookup->timeout_s);
    }
    if (status == OPAL_SUCCESS) {
        status = proto_unpack_strings(buffer, &lookup->keys);
    }
    if (status != ORTE_SUCCESS) {
        lookup_free(lookup);
        return status;
    }
    list_append(&data_server->waiting, &lookup->link);
    if (lookup->timeout_s > 0) {
        loop_timer_start(&lookup->timer, (uint64_t) lookup->timeout_s * 1000000u);
    }
    lookup_try(lookup);
    return ORTE_SUCCESS;
}

/* --- publish, unpublish --- */

static pmix_status_t publish_all(struct data_server *data_server,
                                 const struct publish_party *publisher, struct pmix_scope scope,
                                 uint32_t count, opal_buffer_t *buffer)
{
    pmix_status_t outcome = PMIX_SUCCESS;
    for (uint32_t i = 0; i < count && outcome == PMIX_SUCCESS; i++) {
        char *key;
        uint8_t *value;
        size_t size;
        if (proto_unpack(buffer, "sb", &key, &value, &size) != OPAL_SUCCESS) {
            return PMIX_ERR_UNPACK_FAILURE;
        }
        struct pmix_item item = {key, value, size};
        outcome = published_add(data_server->published, publisher, scope, &item);
        free(key);
        free(value);
    }
    return outcome;
}

static int take_publish(struct data_server *data_server, uint32_t daemon, opal_buffer_t *buffer)
{
    uint64_t request;
    uint32_t count;
    uint8_t range, persistence;
    struct publish_party publisher;
    int status = read_asker(buffer, daemon, &request, &publisher);
    if (status == OPAL_SUCCESS) {
        status = proto_unpack(buffer, "ccu", &range, &persistence, &count);
    }
    if (status != OPAL_SUCCESS) {
        return status;
    }
    pmix_status_t outcome = publish_all(data_server, &publisher,
                                        (struct pmix_scope){range, persistence}, count, buffer);
    exchange_answer(data_server->daemon, daemon, request, outcome, NULL, 0);
    struct lookup *lookup;
    list_for_each (lookup, &data_server->waiting, struct lookup, link) {
        lookup_try(lookup);
    }
    return ORTE_SUCCESS;
}

static int take_unpublish(struct data_server *data_server, uint32_t daemon, opal_buffer_t *buffer)
{
    uint64_t request;
    char **keys = NULL;
    struct publish_party publisher;
    int status = read_asker(buffer, daemon, &request, &publisher);
    if (status == OPAL_SUCCESS) {
        status = proto_unpack_strings(buffer, &keys);
    }
    if (status != ORTE_SUCCESS) {
        return status;
    }
    if (!*keys) {
        published_remove(data_server->published, &publisher.rank, NULL);
    }
    for (char **key = keys; *key; key++) {
        published_remove(data_server->published, &publisher.rank, *key);
    }
    strings_free(keys);
    exchange_answer(data_server->daemon, daemon, request, PMIX_SUCCESS, NULL, 0);
    return ORTE_SUCCESS;
}

int data_server_take(struct data_server *data_server, uint32_t daemon, uint8_t message,
                     opal_buffer_t *buffer)
{
    switch (message) {
    case MESSAGE_PUBLISH:
        return take_publish(data_server, daemon, buffer);
    case MESSAGE_LOOKUP:
        return take_lookup(data_server, daemon, buffer);
    case MESSAGE_UNPUBLISH:
        return take_unpublish(data_server, daemon, buffer);
    default:
        return ORTE_ERR_BAD_PARAM;
    }
}

int data_server_create(struct data_server **out, struct daemon *daemon)
{
    struct data_server *data_server = calloc(1, sizeof(*data_server));
    if (!data_server) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    data_server->daemon = daemon;
    data_server->published = published_create();
    list_init(&data_server->waiting);
    if (!data_server->published) {
        free(data_server);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *out = data_server;
    return ORTE_SUCCESS;
}

void data_server_destroy(struct data_server *data_server)
{
    if (!data_server) {
        return;
    }
    struct lookup *lookup;
    list_for_each (lookup, &data_server->waiting, struct lookup, link) {
        lookup_free(lookup);
    }
    published_destroy(data_server->published);
    free(data_server);
}
