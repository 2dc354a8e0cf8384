#include <config.h>

#include <bootstrap/backend.h>

#include <base/data/clock.h>
#include <base/loop/handover.h>
#include <base/settings/param.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct param modex_collect_max =
    PARAM_INT("modex_collect_max", "1024", 0, 1 << 20, "ranks",
              "Jobs of up to this many ranks collect all cards in keel_init; larger ones fetch a "
              "peer's on demand");
PARAM_ROWS("bootstrap", modex_collect_max);
static struct param bootstrap_timeout =
    PARAM_INT("bootstrap_timeout_s", "60", 1, 86400, "s",
              "How long keel_init waits for a link to its daemon and its welcome, and a process "
              "for what a PMIx server answers at once");
PARAM_ROWS("bootstrap", bootstrap_timeout);
static struct param init_timeout = PARAM_INT("init_timeout_s", "300", 1, 86400, "s",
                                             "How long keel_init waits for the other ranks");
PARAM_ROWS("bootstrap", init_timeout);

uint32_t backend_collect_max(void)
{
    return (uint32_t) param_int(&modex_collect_max);
}

uint64_t backend_timeout_us(void)
{
    return (uint64_t) param_int(&bootstrap_timeout) * 1000000u;
}

uint64_t backend_init_deadline(void)
{
    return clock_us() + (uint64_t) param_int(&init_timeout) * 1000000u;
}

int backend_map_alone(struct job_map *map, const struct self *self)
{
    char host[256] = "localhost";
    gethostname(host, sizeof(host) - 1);
    map->jobid = self->name.jobid;
    memcpy(map->uuid, self->uuid, sizeof(map->uuid));
    crypto_random(map->app_key, sizeof(map->app_key));
    map->size = map->node_count = 1;
    map->node_names = calloc(1, sizeof(*map->node_names));
    map->daemon_of_node = calloc(1, sizeof(*map->daemon_of_node));
    map->node_of = calloc(1, sizeof(*map->node_of));
    map->local_rank_of = calloc(1, sizeof(*map->local_rank_of));
    if (!map->node_names || !map->daemon_of_node || !map->node_of || !map->local_rank_of ||
        !(map->node_names[0] = strdup(host))) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    return ORTE_SUCCESS;
}

int backend_init(struct backend *backend)
{
    backend->sets = calloc(backend->map.size, sizeof(*backend->sets));
    return backend->sets ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

void backend_fini(struct backend *backend)
{
    for (uint32_t rank = 0; backend->sets && rank < backend->map.size; rank++) {
        blob_fini(&backend->sets[rank]);
    }
    free(backend->sets);
    blob_fini(&backend->pending);
    job_map_fini(&backend->map);
}

int backend_put_card(struct backend *backend, const char *key, const void *data, size_t size)
{
    const uint8_t *known;
    size_t known_size;
    if (key &&
        cards_find(&backend->sets[backend->rank], key, &known, &known_size) == ORTE_SUCCESS) {
        return ORTE_EXISTS;
    }
    return cards_add(&backend->pending, key, data, size);
}

void backend_get_card(struct backend *backend, uint32_t rank, const char *key, keel_card_fn done,
                      void *arg)
{
    if (rank >= backend->map.size) {
        done(arg, ORTE_ERR_NOT_FOUND, NULL, 0);
        return;
    }
    const uint8_t *data;
    size_t size;
    int status = cards_find(&backend->sets[rank], key, &data, &size);
    if (status == ORTE_SUCCESS) {
        done(arg, ORTE_SUCCESS, data, size);
    } else if (status == ORTE_ERR_NOT_FOUND && rank != backend->rank) {
        backend->ops->fetch(backend, rank, key, done, arg);
    } else {
        done(arg, status, NULL, 0);
    }
}

int backend_peek_card(struct backend *backend, uint32_t rank, const char *key, const void **data,
                      size_t *size)
{
    const uint8_t *found;
    if (rank >= backend->map.size) {
        return ORTE_ERR_NOT_FOUND;
    }
    int status = cards_find(&backend->sets[rank], key, &found, size);
    if (status == ORTE_SUCCESS) {
        *data = found;
        return ORTE_SUCCESS;
    }
    bool all_known = backend->map.size <= backend_collect_max() || rank == backend->rank;
    return status == ORTE_ERR_NOT_FOUND && !all_known ? ORTE_ERR_NOT_AVAILABLE : status;
}

int backend_publish_own(struct backend *backend)
{
    int status =
        blob_append(&backend->sets[backend->rank], backend->pending.data, backend->pending.size);
    if (status == ORTE_SUCCESS) {
        blob_fini(&backend->pending);
    }
    return status;
}

int backend_fence_alone(struct backend *backend, uint64_t deadline_us, int (*poll)(void *arg),
                        void *arg)
{
    (void) deadline_us, (void) poll, (void) arg;
    return backend_publish_own(backend);
}

void backend_fetch_nothing(struct backend *backend, uint32_t rank, const char *key,
                           keel_card_fn done, void *arg)
{
    (void) backend, (void) rank, (void) key;
    done(arg, ORTE_ERR_NOT_FOUND, NULL, 0);
}

static void connected(void *arg, int status, const char *reason)
{
    handover_give(arg, status, reason);
}

int backend_connect(struct rml *rml, const char *contact, enum oob_key key, uint64_t limit_us,
                    const char *whom, char *reason, size_t reason_size)
{
    struct handover handover;
    handover_init(&handover);
    int status = rml_connect(rml, contact, key, limit_us, connected, &handover);
    if (status == ORTE_SUCCESS) {
        status = handover_take(&handover, 0); /* the connect has its limit, or each address has */
    }
    if (status != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "no link to %s %s: %s%s%s", whom, contact,
                 opal_strerror(status), handover.reason[0] ? ": " : "", handover.reason);
    }
    handover_fini(&handover);
    return status;
}
