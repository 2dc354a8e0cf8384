#include <config.h>

#include <launcher/pmi1.h>

#include <base/log.h>
#include <base/param.h>
#include <base/sock.h>
#include <bootstrap/cards.h>
#include <bootstrap/proto.h>
#include <errno.h>
#include <launcher/daemon.h>
#include <launcher/kvs.h>
#include <launcher/names.h>
#include <launcher/pmi1_wire.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct param kvs_max = {
    .name = "pmi_kvs_max_bytes",
    .type = PARAM_SIZE,
    .default_text = "64m",
    .min = 4096,
    .max = INT32_MAX / 2,
    .unit = "bytes",
    .help = "How much the ranks of a job may put into the key-value space of PMI-1"};

#define LOST_GRACE_US 500000u /* an end of file is seen before the end of its process */
/* "cmd=lookup_result port= info=ok rc=0 msg=success" and a newline go with a port; a value that
 * came in a line always fits one */
#define PORT_MAX (PMI1_LINE_MAX - 64)
/* what a client that was told our limits has room for, and more would not be read whole */
#define MAPPING_MAX (PMI1_LINE_MAX - PMI1_KVSNAME_MAX - PMI1_KEY_MAX - 30)

enum client_state {
    CLIENT_NEW,  /* has not said anything */
    CLIENT_INIT, /* between init and finalize */
    CLIENT_FINAL,
};

/* A local rank. */
struct client {
    struct loop_io io;
    struct pmi1 *pmi1; /* borrowed */
    uint32_t rank;
    int fd; /* owned; -1: closed */
    enum client_state state;
    bool waiting;    /* for an answer that comes later: no request is read until then */
    bool in_barrier; /* that is what it waits for */
    bool spawning;   /* in the lines of an mcmd=spawn */
    bool lost;       /* end of file before finalize: the end of the process should follow */
    int spawns, spawns_so_far;
    enum names_command asked; /* what it waits for otherwise */
    size_t in_size, out_size;
    char in[PMI1_LINE_MAX];
    char out[PMI1_LINE_MAX];
};

struct pmi1 {
    uint32_t size; /* ranks that the user started: those that are spawned are not served */
    struct daemon *daemon;   /* borrowed */
    struct client **clients; /* owned, by rank; NULL: not local, not started, or ended */
    uint32_t local_count;    /* ranks that a barrier waits for */
    uint32_t arrived, gone;
    uint32_t barrier;  /* its number */
    bool joined;       /* this daemon has done its part of it */
    uint32_t *daemons; /* owned, by rank */
    struct kvs *kvs;   /* owned */
    struct blob puts;  /* since the last barrier: key, value, each with its end */
    char name[32];     /* of the key-value space */
    struct loop_task resume;
    struct loop_timer lost_timer;
};

static void client_serve(struct client *client);

/* --- the socket --- */

static void client_watch(struct client *client)
{
    short events = client->out_size > 0 ? EV_WRITE : 0;
    if (client->in_size < sizeof(client->in)) {
        events |= EV_READ;
    }
    if (client->fd >= 0 && events != client->io.events) {
        loop_io_watch(&client->io, events);
    }
}

static void client_close(struct client *client)
{
    if (client->fd >= 0) {
        loop_io_watch(&client->io, 0);
        fd_close(&client->fd);
    }
    client->in_size = client->out_size = 0;
}

/* It broke the rules. */
static void client_drop(struct client *client, const char *why)
{
    char reason[160];
    log_warn(LOG_LAUNCHER, "rank %u is no longer served over PMI-1: it %s", client->rank, why);
    client_close(client);
    if (client->state == CLIENT_INIT) {
        snprintf(reason, sizeof(reason), "misused its PMI-1 connection: it %s", why);
        local_broken(client->pmi1->daemon, client->rank, reason);
    }
}

/* Sends what waits. Errors show as an end of file. */
static void client_flush(struct client *client)
{
    if (client->fd < 0 || client->out_size == 0) {
        return;
    }
    ssize_t sent = send(client->fd, client->out, client->out_size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
        sent = errno == EAGAIN || errno == EINTR ? 0 : (ssize_t) client->out_size;
    }
    client->out_size -= (size_t) sent;
    memmove(client->out, client->out + sent, client->out_size);
}

/* The answer to its one request. */
static void reply(struct client *client, const char *format, ...) KEEL_PRINTF(2, 3);

static void reply(struct client *client, const char *format, ...)
{
    va_list arguments;
    client->waiting = client->in_barrier = false;
    va_start(arguments, format);
    int size = vsnprintf(client->out, sizeof(client->out), format, arguments);
    va_end(arguments);
    if (size < 0 || (size_t) size >= sizeof(client->out)) {
        client_drop(client, "asked for more than a line holds");
        return;
    }
    client->out[size] = '\n';
    client->out_size = (size_t) size + 1;
    client_flush(client);
    client_watch(client);
}

/* --- barriers and the key-value space --- */

/* What all daemons' ranks have put, this one's included: those are known already. */
static void merge_puts(struct pmi1 *pmi1, const uint8_t *data, size_t size)
{
    const char *at = (const char *) data, *end = at + size;
    while (at < end) {
        const char *key = at;
        const char *value = memchr(key, '\0', (size_t) (end - key));
        const char *last = value ? memchr(value + 1, '\0', (size_t) (end - value - 1)) : NULL;
        if (!last) {
            log_error(LOG_LAUNCHER, "a part of the PMI-1 key-value space is malformed");
            return;
        }
        int status = kvs_put(pmi1->kvs, key, value + 1);
        if (status != ORTE_SUCCESS && status != ORTE_EXISTS) {
            log_error(LOG_LAUNCHER, "PMI-1 key %s is lost: %s", key, opal_strerror(status));
        }
        at = last + 1;
    }
}

static uint32_t first_in_barrier(const struct pmi1 *pmi1)
{
    uint32_t rank = 0;
    while (!pmi1->clients[rank] || !pmi1->clients[rank]->in_barrier) {
        rank++;
    }
    return rank;
}

static void barrier_done(void *arg, int status, const uint8_t *data, size_t size)
{
    struct pmi1 *pmi1 = arg;
    if (status != ORTE_SUCCESS) {
        if (pmi1->arrived > 0) {
            local_broken(pmi1->daemon, first_in_barrier(pmi1),
                         status == ORTE_ERR_COMM_FAILURE
                             ? "waits in a barrier that some rank will never reach"
                             : "waits in a barrier that the daemons cannot carry out");
        }
        return; /* joined stays: there is no other barrier after it */
    }
    merge_puts(pmi1, data, size);
    pmi1->barrier++;
    pmi1->joined = false;
    pmi1->arrived = 0;
    for (uint32_t rank = 0; rank < pmi1->size; rank++) {
        if (pmi1->clients[rank] && pmi1->clients[rank]->in_barrier) {
            reply(pmi1->clients[rank], "cmd=barrier_out");
        }
    }
    loop_post(pmi1->daemon->loop, &pmi1->resume);
}

/* When all local ranks have come, or some never will. */
static void barrier_check(struct pmi1 *pmi1)
{
    bool complete = pmi1->arrived == pmi1->local_count;
    if (pmi1->joined || pmi1->arrived == 0 || (!complete && pmi1->gone == 0)) {
        return;
    }
    const struct job_map *map = &pmi1->daemon->launch.map;
    char key[64];
    snprintf(key, sizeof(key), "pmi1/%u/%u", map->jobid, pmi1->barrier);
    struct blob puts = pmi1->puts;
    pmi1->puts = (struct blob){0};
    pmi1->joined = true;
    int status = allgather_join(pmi1->daemon->allgather, key, pmi1->daemons, pmi1->size,
                                complete ? ORTE_SUCCESS : ORTE_ERR_COMM_FAILURE, puts.data,
                                puts.size, barrier_done, pmi1);
    blob_fini(&puts);
    if (status != ORTE_SUCCESS) {
        barrier_done(pmi1, status, NULL, 0);
    }
}

/* After an event that others must hear of first, and for requests that came too early. */
static void resume(struct loop_task *task)
{
    struct pmi1 *pmi1 = container_of(task, struct pmi1, resume);
    for (uint32_t rank = 0; rank < pmi1->size; rank++) {
        struct client *client = pmi1->clients[rank];
        if (client && client->in_size > 0) {
            client_serve(client);
        }
    }
    barrier_check(pmi1);
}

static bool names_my_kvs(const struct client *client, const struct pmi1_request *request)
{
    const char *name = pmi1_request_value(request, "kvsname");
    return name && strcmp(name, client->pmi1->name) == 0;
}

static void do_put(struct client *client, const struct pmi1_request *request)
{
    struct pmi1 *pmi1 = client->pmi1;
    const char *key = pmi1_request_value(request, "key");
    const char *value = pmi1_request_value(request, "value");
    const char *error = NULL;
    if (!names_my_kvs(client, request)) {
        error = "unknown_kvsname";
    } else if (!key || !*key || !value) {
        error = "key_or_value_missing";
    } else {
        size_t key_size = strlen(key) + 1, value_size = strlen(value) + 1;
        int status = kvs_put(pmi1->kvs, key, value);
        if (status == ORTE_SUCCESS &&
            (blob_append(&pmi1->puts, key, key_size) != ORTE_SUCCESS ||
             blob_append(&pmi1->puts, value, value_size) != ORTE_SUCCESS)) {
            status = ORTE_ERR_OUT_OF_RESOURCE;
            client_drop(client, "needs more memory than there is");
            return;
        }
        error = status == ORTE_EXISTS ? "duplicate_key" : status ? "no_space" : NULL;
    }
    if (error) {
        reply(client, "cmd=put_result rc=-1 msg=%s", error);
    } else {
        reply(client, "cmd=put_result rc=0 msg=success");
    }
}

static void do_get(struct client *client, const struct pmi1_request *request)
{
    const char *key = pmi1_request_value(request, "key");
    const char *value =
        key && names_my_kvs(client, request) ? kvs_get(client->pmi1->kvs, key) : NULL;
    if (value) {
        reply(client, "cmd=get_result rc=0 msg=success value=%s", value);
    } else {
        reply(client, "cmd=get_result rc=-1 msg=key_%.200s_not_found value=unknown",
              key ? key : "");
    }
}

/* --- published names --- */

static void name_answered(void *arg, int status, const char *port)
{
    struct client *client = arg;
    if (client->asked == NAMES_PUBLISH) {
        reply(client, "cmd=publish_result info=%s rc=%d msg=%s", status ? "fail" : "ok",
              status ? 1 : 0,
              status == ORTE_SUCCESS  ? "success"
              : status == ORTE_EXISTS ? "key_already_present"
                                      : "no_space");
    } else if (client->asked == NAMES_UNPUBLISH) {
        reply(client, "cmd=unpublish_result info=%s rc=%d msg=%s", status ? "fail" : "ok",
              status ? 1 : 0, status ? "service_not_found" : "success");
    } else if (status == ORTE_SUCCESS) {
        reply(client, "cmd=lookup_result port=%s info=ok rc=0 msg=success", port);
    } else {
        reply(client, "cmd=lookup_result info=fail rc=1 msg=service_not_found");
    }
    loop_post(client->pmi1->daemon->loop, &client->pmi1->resume);
}

static void do_name(struct client *client, const struct pmi1_request *request)
{
    const char *service = pmi1_request_value(request, "service");
    const char *port = pmi1_request_value(request, "port");
    client->asked = request->command == PMI1_PUBLISH_NAME  ? NAMES_PUBLISH
                    : request->command == PMI1_LOOKUP_NAME ? NAMES_LOOKUP
                                                           : NAMES_UNPUBLISH;
    client->waiting = true;
    int status = ORTE_ERR_BAD_PARAM;
    if (service && (client->asked != NAMES_PUBLISH || (port && strlen(port) <= PORT_MAX))) {
        status = names_ask(client->pmi1->daemon->names, client->asked, service, port, name_answered,
                           client);
    }
    if (status != ORTE_SUCCESS) {
        name_answered(client, status, "");
    }
}

/* --- requests --- */

static void do_init(struct client *client, const struct pmi1_request *request)
{
    int version = 0;
    bool known = pmi1_request_number(request, "pmi_version", &version) && version == 1;
    if (known) {
        client->state = CLIENT_INIT;
        local_joined(client->pmi1->daemon, client->rank, "MPI_Init");
    }
    reply(client, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d", known ? 0 : -1);
}

static void do_abort(struct client *client, const struct pmi1_request *request)
{
    int code = 1;
    (void) pmi1_request_number(request, "exitcode", &code);
    client->state = CLIENT_FINAL;
    daemon_report(client->pmi1->daemon,
                  proto_new(REPORT_ABORT, "uis", client->rank, (int32_t) code, "MPI_Abort"));
}

static void do_barrier(struct client *client)
{
    client->waiting = client->in_barrier = true;
    client->pmi1->arrived++;
    barrier_check(client->pmi1);
}

/* Between init and finalize. */
static void obey(struct client *client, const struct pmi1_request *request)
{
    const struct launch *launch = &client->pmi1->daemon->launch;
    switch (request->command) {
    case PMI1_GET_MAXES:
        reply(client, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d", PMI1_KVSNAME_MAX,
              PMI1_KEY_MAX, PMI1_VALUE_MAX);
        break;
    case PMI1_GET_APPNUM:
        reply(client, "cmd=appnum appnum=%u", launch->app_of[client->rank]);
        break;
    case PMI1_GET_MY_KVSNAME:
        reply(client, "cmd=my_kvsname kvsname=%s", client->pmi1->name);
        break;
    case PMI1_GET_UNIVERSE_SIZE:
        reply(client, "cmd=universe_size size=%u", launch->universe);
        break;
    case PMI1_PUT:
        do_put(client, request);
        break;
    case PMI1_GET:
        do_get(client, request);
        break;
    case PMI1_BARRIER_IN:
        do_barrier(client);
        break;
    case PMI1_FINALIZE:
        client->state = CLIENT_FINAL;
        reply(client, "cmd=finalize_ack");
        break;
    case PMI1_PUBLISH_NAME:
    case PMI1_LOOKUP_NAME:
    case PMI1_UNPUBLISH_NAME:
        do_name(client, request);
        break;
    case PMI1_SPAWN:
        client->spawning = true;
        client->spawns = client->spawns_so_far = 0;
        break;
    default:
        client_drop(client, "sent a command that PMI-1 does not have");
        break;
    }
}

/* A line of an mcmd=spawn; all is read, then refused. There is a block of lines for each program,
 * and one answer for all. */
static void take_spawn_line(struct client *client, const char *line)
{
    if (strncmp(line, "totspawns=", 10) == 0) {
        client->spawns = atoi(line + 10);
    } else if (strncmp(line, "spawnssofar=", 12) == 0) {
        client->spawns_so_far = atoi(line + 12);
    } else if (strcmp(line, "endcmd") == 0) {
        client->spawning = false;
        if (client->spawns_so_far >= client->spawns) {
            reply(client, "cmd=spawn_result rc=-1 msg=spawn_is_not_supported");
        }
    }
}

static void take_line(struct client *client, char *line, size_t size)
{
    struct pmi1_request request;
    if (client->spawning) {
        line[size] = '\0';
        take_spawn_line(client, line);
    } else if (pmi1_request_read(&request, line, size) != ORTE_SUCCESS) {
        client_drop(client, "sent a line that is not PMI-1");
    } else if (request.command == PMI1_ABORT) {
        do_abort(client, &request);
    } else if (request.command == PMI1_INIT && client->state != CLIENT_INIT) {
        do_init(client, &request);
    } else if (client->state == CLIENT_INIT) {
        obey(client, &request);
    } else {
        client_drop(client, "sent a request outside of init and finalize");
    }
}

/* Whether the next line may be taken: the one before was answered, or it is an abort. */
static bool may_take(const struct client *client, size_t size)
{
    static const char abort_line[] = "cmd=abort";
    size_t length = sizeof(abort_line) - 1;
    return (!client->waiting && client->out_size == 0) ||
           (size >= length && memcmp(client->in, abort_line, length) == 0);
}

/* Takes the whole lines that have come. */
static void client_serve(struct client *client)
{
    char *newline;
    char line[PMI1_LINE_MAX + 1];
    while (client->in_size > 0 && (newline = memchr(client->in, '\n', client->in_size))) {
        size_t size = (size_t) (newline - client->in);
        if (!may_take(client, size)) {
            return;
        }
        memcpy(line, client->in, size);
        client->in_size -= size + 1;
        memmove(client->in, newline + 1, client->in_size);
        take_line(client, line, size);
    }
    if (client->in_size == sizeof(client->in)) {
        client_drop(client, "sent a line that is too long");
    }
    client_watch(client);
}

/* Bytes read; 0: none there; -1: the end. */
static ssize_t client_read(struct client *client)
{
    size_t room = sizeof(client->in) - client->in_size;
    if (client->fd < 0 || room == 0) {
        return 0;
    }
    ssize_t got = recv(client->fd, client->in + client->in_size, room, MSG_DONTWAIT);
    if (got > 0) {
        client->in_size += (size_t) got;
        client_serve(client);
        return got;
    }
    return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

static void on_ready(struct loop_io *io, short events)
{
    struct client *client = container_of(io, struct client, io);
    if (events & EV_WRITE) {
        client_flush(client);
        client_serve(client);
        client_watch(client);
    }
    if ((events & EV_READ) && client_read(client) < 0) {
        client_close(client);
        client->lost = client->state == CLIENT_INIT;
        if (client->lost) {
            loop_timer_start(&client->pmi1->lost_timer, LOST_GRACE_US);
        }
    }
}

static void lost_over(struct loop_timer *timer)
{
    struct pmi1 *pmi1 = container_of(timer, struct pmi1, lost_timer);
    for (uint32_t rank = 0; rank < pmi1->size; rank++) {
        if (pmi1->clients[rank] && pmi1->clients[rank]->lost) {
            local_broken(pmi1->daemon, rank, "closed its PMI-1 connection without MPI_Finalize");
        }
    }
}

/* --- the service --- */

static void job_end(void *state)
{
    struct pmi1 *pmi1 = state;
    loop_timer_stop(&pmi1->lost_timer);
    loop_cancel(pmi1->daemon->loop, &pmi1->resume);
    allgather_forget(pmi1->daemon->allgather, "pmi1/");
    for (uint32_t rank = 0; pmi1->clients && rank < pmi1->size; rank++) {
        if (pmi1->clients[rank]) {
            names_drop(pmi1->daemon->names, pmi1->clients[rank]);
            client_close(pmi1->clients[rank]);
            free(pmi1->clients[rank]);
        }
    }
    free(pmi1->clients);
    free(pmi1->daemons);
    kvs_destroy(pmi1->kvs);
    blob_fini(&pmi1->puts);
    free(pmi1);
}

static int fill_job(struct pmi1 *pmi1)
{
    const struct job_map *map = &pmi1->daemon->launch.map;
    pmi1->size = map->size;
    pmi1->clients = calloc(map->size, sizeof(struct client *));
    pmi1->daemons = calloc(map->size, sizeof(*pmi1->daemons));
    int status = kvs_create(&pmi1->kvs, (size_t) param_int(&kvs_max));
    if (!pmi1->clients || !pmi1->daemons || status != ORTE_SUCCESS) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t rank = 0; rank < map->size; rank++) {
        pmi1->daemons[rank] = map->daemon_of_node[map->node_of[rank]];
        pmi1->local_count += local_is_here(pmi1->daemon, rank);
    }
    char mapping[MAPPING_MAX];
    pmi1_mapping(mapping, sizeof(mapping), map->node_of, map->size);
    /* without it, ranks find out by their host names */
    return mapping[0] ? kvs_put(pmi1->kvs, "PMI_process_mapping", mapping) : ORTE_SUCCESS;
}

static int job_start(void **state, struct daemon *daemon, char *reason, size_t reason_size)
{
    (void) reason;
    (void) reason_size;
    struct pmi1 *pmi1 = calloc(1, sizeof(*pmi1));
    if (!pmi1) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    pmi1->daemon = daemon;
    pmi1->resume.run = resume;
    loop_timer_init(&pmi1->lost_timer, daemon->loop, lost_over);
    snprintf(pmi1->name, sizeof(pmi1->name), "keel_%.8s", daemon->launch.map.uuid);
    int status = fill_job(pmi1);
    if (status != ORTE_SUCCESS) {
        job_end(pmi1);
        return status;
    }
    *state = pmi1;
    return ORTE_SUCCESS;
}

static void app_vars(void *state, uint32_t app, struct vars *vars)
{
    const struct pmi1 *pmi1 = state;
    (void) app;
    vars_format(vars, "PMI_FD=%d", RANK_SOCKET);
    vars_format(vars, "PMI_SIZE=%u", pmi1->size);
    vars_format(vars, "MPI_LOCALNRANKS=%u", pmi1->local_count);
}

static void rank_vars(void *state, uint32_t rank, struct vars *vars)
{
    const struct pmi1 *pmi1 = state;
    vars_format(vars, "PMI_RANK=%u", rank);
    vars_format(vars, "MPI_LOCALRANKID=%u", pmi1->daemon->launch.map.local_rank_of[rank]);
}

static void rank_started(void *state, uint32_t rank, pid_t pid, int fd)
{
    struct pmi1 *pmi1 = state;
    struct client *client = fd >= 0 ? calloc(1, sizeof(*client)) : NULL;
    (void) pid;
    if (!client) {
        log_error(LOG_LAUNCHER, "rank %u has no PMI-1 connection", rank);
        fd_close(&fd);
        return;
    }
    client->pmi1 = pmi1;
    client->rank = rank;
    client->fd = fd;
    loop_io_init(&client->io, pmi1->daemon->loop, fd, on_ready);
    pmi1->clients[rank] = client;
    client_watch(client);
}

static const char *rank_ended(void *state, uint32_t rank, int wait_status)
{
    struct pmi1 *pmi1 = state;
    struct client *client = pmi1->clients[rank];
    (void) wait_status;
    pmi1->gone++;
    loop_post(pmi1->daemon->loop, &pmi1->resume); /* when the end was reported */
    if (!client) {
        return NULL;
    }
    for (unsigned reads = 0; reads < 256 && client_read(client) > 0; reads++) {
        client->out_size = 0; /* nobody reads it */
        client_serve(client);
    }
    bool unfinished = client->state == CLIENT_INIT;
    pmi1->arrived -= client->in_barrier;
    names_drop(pmi1->daemon->names, client);
    client_close(client);
    free(client);
    pmi1->clients[rank] = NULL;
    return unfinished ? "MPI_Finalize" : NULL;
}

const struct service_ops pmi1_service = {
    .name = "PMI-1",
    .socket = true,
    .job_start = job_start,
    .app_vars = app_vars,
    .rank_vars = rank_vars,
    .rank_started = rank_started,
    .rank_ended = rank_ended,
    .job_end = job_end,
};
