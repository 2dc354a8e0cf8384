#include <config.h>

#include <bootstrap/host.h>

#include <stdlib.h>
#include <string.h>

static const opal_proc_t *host_me(void *arg)
{
    struct host *host = arg;
    return &host->procs[host->backend->rank];
}

static int host_put_card(void *arg, const char *key, const void *data, size_t size)
{
    struct host *host = arg;
    return backend_put_card(host->backend, key, data, size);
}

static void host_get_card(void *arg, const opal_proc_t *peer, const char *key, keel_card_fn done,
                          void *done_arg)
{
    struct host *host = arg;
    backend_get_card(host->backend, peer->proc_name.vpid, key, done, done_arg);
}

/* Both sides name the pair in the same order: the lower rank first. */
static int host_pair_key(void *arg, const orte_process_name_t *peer, const char *purpose,
                         uint8_t key[32])
{
    struct host *host = arg;
    const struct job_map *map = &host->backend->map;
    size_t length = strlen(purpose);
    if (peer->jobid != map->jobid || peer->vpid >= map->size || length > 8) {
        return ORTE_ERR_BAD_PARAM;
    }
    uint32_t mine = host->backend->rank;
    uint32_t pair[2] = {mine < peer->vpid ? mine : peer->vpid,
                        mine < peer->vpid ? peer->vpid : mine};
    char padded[8] = {0};
    memcpy(padded, purpose, length);
    const struct iovec parts[] = {{padded, sizeof(padded)}, {pair, sizeof(pair)}};
    crypto_mac(key, map->app_key, parts, 2);
    return ORTE_SUCCESS;
}

static const char *host_session_dir(void *arg)
{
    return ((struct host *) arg)->session_dir;
}

static int host_peek_card(void *arg, const opal_proc_t *peer, const char *key, const void **data,
                          size_t *size)
{
    struct host *host = arg;
    return backend_peek_card(host->backend, peer->proc_name.vpid, key, data, size);
}

static int host_progress(void *arg)
{
    return rml_progress(((struct host *) arg)->backend->rml);
}

const struct keel_host_ops host_ops = {
    .me = host_me,
    .put_card = host_put_card,
    .get_card = host_get_card,
    .pair_key = host_pair_key,
    .session_dir = host_session_dir,
    .progress = host_progress,
    .peek_card = host_peek_card,
};

int host_init(struct host *host, struct backend *backend, const char *session_dir)
{
    const struct job_map *map = &backend->map;
    opal_proc_t *procs = calloc(map->size, sizeof(*procs));
    if (!procs) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t rank = 0; rank < map->size; rank++) {
        procs[rank] = (opal_proc_t){
            .proc_name = {map->jobid, rank},
            .node = map->node_of[rank],
            .local_rank = map->local_rank_of[rank],
            .hostname = map->node_names[map->node_of[rank]],
        };
    }
    *host = (struct host){.backend = backend, .procs = procs, .session_dir = session_dir};
    return ORTE_SUCCESS;
}

void host_fini(struct host *host)
{
    free(host->procs);
    *host = (struct host){0};
}
