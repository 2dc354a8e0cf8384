#include <config.h>

#include <launcher/pmix/pmix_service.h>

#include <base/data/array.h>
#include <base/host/hostname.h>
#include <base/settings/log.h>
#include <errno.h>
#include <launcher/node/service.h>
#include <launcher/pmix/connection/guard.h>
#include <launcher/pmix/connection/rendezvous.h>
#include <launcher/pmix/pmix_service_internal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { NO_RANK = UINT32_MAX, ANNOUNCE_AFTER_US = 100000 };

/* A connection or another node's question that came before the server runs. */
struct waiting {
    struct list link;
    uint32_t number; /* NO_RANK: a tool's connection */
    int connection;  /* -1: a question */
    pmix_done_fn *done;
    void *done_arg;
};

/* The number of a rank of this node; false: it is not one. */
bool pmix_service_find_local(struct pmix_service *service, const char *name, uint32_t rank,
                             uint32_t *number)
{
    const struct nspace *nspace = nspace_find(&service->nspaces, name);
    if (!nspace || rank >= nspace->map.size ||
        !local_is_here(service->daemon, nspace->first + rank)) {
        return false;
    }
    *number = nspace->first + rank;
    return true;
}

/* --- what comes before and after the start --- */

static void local_modex(struct pmix_service *service, uint32_t number, pmix_done_fn *done,
                        void *done_arg)
{
    pmix_proc_t name = nspace_rank_name(&service->nspaces, number);
    service->module->local_modex(&name, done, done_arg);
}

static void hand_over(struct pmix_service *service, uint32_t number, int connection)
{
    if (number != NO_RANK) {
        service->ranks[number].connection = connection;
        service->ranks[number].ends_before = guard_ends(connection);
    }
    int error = guard_push(connection);
    if (error != 0) {
        close(connection);
        log_error(LOG_LAUNCHER, "PMIx: a connection (of rank %d) is lost: %s", (int) number,
                  strerror(-error));
    }
}

static void wait_for_server(struct pmix_service *service, const struct waiting *what)
{
    struct waiting *waiting = malloc(sizeof(*waiting));
    if (waiting) {
        *waiting = *what;
        list_append(&service->waiting, &waiting->link);
    } else if (what->connection >= 0) {
        close(what->connection);
    } else {
        what->done(what->done_arg, PMIX_ERR_NOMEM, NULL, 0);
    }
    starter_begin(service->starter);
}

/* The server runs, or never will. */
static void settle_waiting(struct pmix_service *service)
{
    struct waiting *waiting;
    list_for_each (waiting, &service->waiting, struct waiting, link) {
        list_remove(&waiting->link);
        bool running = service->state == SERVER_RUNNING;
        if (waiting->connection >= 0 && running) {
            hand_over(service, waiting->number, waiting->connection);
        } else if (waiting->connection >= 0) {
            close(waiting->connection);
        } else if (running) {
            local_modex(service, waiting->number, waiting->done, waiting->done_arg);
        } else {
            waiting->done(waiting->done_arg, PMIX_ERR_UNREACH, NULL, 0);
        }
        free(waiting);
    }
}

/* The job cannot go on. */
static void break_job(struct pmix_service *service, uint32_t number)
{
    char text[512];
    snprintf(text, sizeof(text), "called MPI_Init, but PMIx is not offered: %s", service->failure);
    local_broken(service->daemon, number, text);
}

static void start_failed(struct pmix_service *service, const char *reason)
{
    struct waiting *waiting;
    uint32_t number = NO_RANK; /* the first that waits */
    list_for_each (waiting, &service->waiting, struct waiting, link) {
        number = waiting->number < number ? waiting->number : number;
    }
    snprintf(service->failure, sizeof(service->failure), "%s", reason);
    log_error(LOG_LAUNCHER, "PMIx is not offered: %s", reason);
    if (number != NO_RANK) {
        break_job(service, number);
    }
}

/* Tells the running server about what was spawned. */
static bool introduce(struct pmix_service *service, const struct nspace *nspace)
{
    char reason[256] = "";
    if (service->module->add_job(&nspace->job, reason, sizeof(reason)) == 0) {
        return true;
    }
    log_error(LOG_LAUNCHER, "PMIx: what was spawned cannot be registered: %s", reason);
    return false;
}

static void started(void *arg, const struct pmix_module *module, const char *reason)
{
    struct pmix_service *service = arg;
    struct nspace *nspace;
    service->module = module;
    service->state = module ? SERVER_RUNNING : SERVER_FAILED;
    if (!module) {
        start_failed(service, reason);
    }
    list_for_each (nspace, &service->nspaces, struct nspace, link) {
        if (module && nspace->first > 0) {
            (void) introduce(service, nspace);
        }
    }
    settle_waiting(service);
}

static const char *check_hello(void *arg, const struct vet_hello *hello)
{
    struct pmix_service *service = arg;
    uint32_t number;
    if (hello->uid != geteuid() || hello->gid != getegid()) {
        return "its credential names another user or group";
    }
    if (hello->kind == VET_TOOL) {
        return NULL;
    }
    if (!nspace_find(&service->nspaces, hello->nspace)) {
        return "it names another job";
    }
    return !pmix_service_find_local(service, hello->nspace, hello->rank, &number) ||
                   service->ranks[number].ended
               ? "it names no living rank of this node"
               : NULL;
}

static void arrived(void *arg, const struct vet_hello *hello, int connection)
{
    struct pmix_service *service = arg;
    struct waiting waiting = {.number = NO_RANK, .connection = connection};
    if (hello->kind != VET_TOOL) {
        (void) pmix_service_find_local(service, hello->nspace, hello->rank, &waiting.number);
    }
    switch (service->state) {
    case SERVER_RUNNING:
        hand_over(service, waiting.number, connection);
        break;
    case SERVER_NOT_STARTED:
        wait_for_server(service, &waiting);
        break;
    case SERVER_FAILED:
        close(connection);
        if (hello->kind == VET_CLIENT) {
            break_job(service, waiting.number);
        }
        break;
    }
}

static const struct listener_ops listener_ops = {.check = check_hello, .arrived = arrived};

static void asked_for_modex(void *arg, uint32_t number, pmix_done_fn *done, void *done_arg)
{
    struct pmix_service *service = arg;
    struct waiting waiting = {
        .number = number, .connection = -1, .done = done, .done_arg = done_arg};
    switch (service->state) {
    case SERVER_RUNNING:
        local_modex(service, number, done, done_arg);
        break;
    case SERVER_FAILED:
        done(done_arg, PMIX_ERR_UNREACH, NULL, 0);
        break;
    case SERVER_NOT_STARTED:
        wait_for_server(service, &waiting);
        break;
    }
}

static void event_came(void *arg, const void *event, size_t size)
{
    struct pmix_service *service = arg;
    if (service->state == SERVER_RUNNING) {
        service->module->event(event, size);
    }
}

static bool find_numbers(void *arg, const char *name, uint32_t *first, uint32_t *count)
{
    struct pmix_service *service = arg;
    const struct nspace *nspace = nspace_find(&service->nspaces, name);
    if (nspace) {
        *first = nspace->first;
        *count = nspace->map.size;
    }
    return nspace != NULL;
}

static const struct exchange_ops exchange_ops = {.find = find_numbers,
                                                 .modex = asked_for_modex,
                                                 .event = event_came,
                                                 .rank_op = pmix_service_rank_op};

/* --- the job's start --- */

static uint32_t local_count(const struct daemon *daemon)
{
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < daemon->launch.map.size; rank++) {
        count += local_is_here(daemon, rank);
    }
    return count;
}

static void name_things(struct pmix_service *service)
{
    const struct daemon *daemon = service->daemon;
    const char *uuid = daemon->launch.map.uuid;
    snprintf(service->servers, sizeof(service->servers), "keel-%s-server", uuid);
    snprintf(service->tools, sizeof(service->tools), "keel-%s-tool", uuid);
}

/* What every rank's folders and files take, with room to spare. A full one would make MPI_Init fail
 * without saying where. */
enum { FILES_BASE = 16, FILES_A_RANK = 8, BYTES_BASE = 1 << 20, BYTES_A_RANK = 1 << 16 };

static bool has_room(const char *folder, uint32_t ranks)
{
    struct statvfs room;
    if (statvfs(folder, &room) < 0) {
        return false;
    }
    uint64_t bytes = (uint64_t) room.f_bavail * room.f_frsize;
    errno = ENOSPC; /* the reason for a false */
    return bytes >= BYTES_BASE + (uint64_t) ranks * BYTES_A_RANK &&
           (room.f_files == 0 || room.f_favail >= FILES_BASE + (uint64_t) ranks * FILES_A_RANK);
}

/* The HNP's shepherd removes those of the simulated nodes too, whose shepherds it may have to kill
 * before they have done so. */
static void guard_folder(const struct daemon *daemon, const char *path)
{
    char all[sizeof(SESSION_SHM) + JOB_UUID_TEXT + 2];
    if (daemon->name.vpid == HNP_VPID) {
        snprintf(all, sizeof(all), SESSION_SHM "%s-*", daemon->launch.map.uuid);
        path = all;
    }
    shepherd_guard(daemon->shepherd, path);
}

/* In memory: each rank makes folders and files in it, and would wait for a disk that others write
 * to. The shepherd removes it. Without room in /dev/shm the session folder has to do. */
static int make_folder(struct pmix_service *service)
{
    const struct daemon *daemon = service->daemon;
    char *path;
    if (asprintf(&path, SESSION_SHM "%s-%u", daemon->launch.map.uuid, daemon->name.vpid) < 0) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    guard_folder(daemon, path); /* before it is there */
    service->in_memory = has_room("/dev/shm", local_count(daemon)) && mkdir(path, 0700) == 0;
    if (!service->in_memory) {
        log_info(LOG_LAUNCHER, "cannot use %s: %s", path, strerror(errno));
        free(path);
        path = asprintf(&path, "%s/pmix", daemon->session) < 0 ? NULL : path;
    }
    service->folder = path;
    return path ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

static struct nspace *add_nspace(struct pmix_service *service, const struct spawned *what)
{
    struct nspace_setup setup = {
        .daemon = service->daemon, .spawned = what, .folder = service->folder};
    return nspace_add(&service->nspaces, &setup);
}

static int describe_job(struct pmix_service *service)
{
    struct daemon *daemon = service->daemon;
    service->ranks = calloc(daemon->launch.map.size, sizeof(*service->ranks));
    service->server = (struct pmix_server){.nspace = service->servers,
                                           .tools = service->tools,
                                           .daemon = daemon->name.vpid,
                                           .node = daemon->node,
                                           .folder = service->folder,
                                           .uid = geteuid(),
                                           .gid = getegid()};
    service->host = pmix_service_host;
    service->host.arg = service;
    return service->ranks && add_nspace(service, NULL) ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

/* The user's ranks. */
static struct nspace *first_nspace(struct pmix_service *service)
{
    return container_of(service->nspaces.next, struct nspace, link);
}

/* Tools look for the name of their host: keelrun's is told to all that run on it, another daemon's
 * only where its node has the host's name. After a while: a job that has ended by then would only
 * have waited for the disk, at its start and at its end. */
static void announce(struct loop_timer *timer)
{
    struct pmix_service *service = container_of(timer, struct pmix_service, announce);
    char host[256];
    const struct daemon *daemon = service->daemon;
    host_name(host, sizeof(host));
    struct rendezvous rendezvous = {.folder = daemon->session,
                                    .host = daemon->name.vpid == HNP_VPID ? host : daemon->node,
                                    .nspace = service->servers,
                                    .rank = daemon->name.vpid,
                                    .port = listener_port(service->listener)};
    int error = rendezvous_write(&rendezvous);
    if (error != 0) {
        log_warn(LOG_LAUNCHER, "PMIx: tools will not find this node: %s/pmix.%s.tool: %s",
                 rendezvous.folder, rendezvous.host, strerror(-error));
    }
}

static bool job_end(void *state);

static int job_start(void **state, struct daemon *daemon, char *reason, size_t reason_size)
{
    struct pmix_service *service = calloc(1, sizeof(*service));
    if (!service) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    service->daemon = daemon;
    list_init(&service->waiting);
    list_init(&service->nspaces);
    loop_timer_init(&service->finalize, daemon->loop, pmix_service_finalize_turn);
    loop_timer_init(&service->announce, daemon->loop, announce);
    name_things(service);
    int status = make_folder(service);
    if (status == ORTE_SUCCESS) {
        status = describe_job(service);
    }
    if (status == ORTE_SUCCESS) {
        status = listener_create(&service->listener, daemon->loop, local_count(daemon),
                                 &listener_ops, service, reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        status = starter_create(&service->starter, daemon->loop, listener_fd(service->listener),
                                &service->host, &service->server, &first_nspace(service)->job,
                                started, service);
    }
    if (status == ORTE_SUCCESS) {
        status = finalizes_create(&service->finalizes, daemon->loop);
    }
    if (status == ORTE_SUCCESS) {
        status = exchange_create(&service->exchange, daemon, &exchange_ops, service);
    }
    if (status != ORTE_SUCCESS) {
        if (status == ORTE_ERR_IN_ERRNO) {
            snprintf(reason, reason_size, "%s", strerror(errno));
        }
        job_end(service);
        return status;
    }
    loop_timer_start(&service->announce, ANNOUNCE_AFTER_US);
    *state = service;
    return ORTE_SUCCESS;
}

static bool job_end(void *state)
{
    struct pmix_service *service = state;
    loop_timer_stop(&service->finalize);
    loop_timer_stop(&service->announce);
    if (service->exchange) {
        exchange_close(service->exchange); /* while the server can take the answers */
    }
    finalizes_destroy(service->finalizes); /* as well */
    bool whole = starter_end(service->starter);
    listener_destroy(service->listener); /* a server that is just starting asks for its port */
    service->state = SERVER_FAILED;
    settle_waiting(service);
    exchange_destroy(service->exchange);
    free(service->folder);
    free(service->ranks);
    struct nspace *nspace;
    list_for_each (nspace, &service->nspaces, struct nspace, link) {
        list_remove(&nspace->link);
        nspace_destroy(nspace);
    }
    free(service);
    return whole;
}

/* --- ranks --- */

/* Makes room for more ranks, and makes them known, before they are started. */
static int spawned(void *state, const struct spawned *what)
{
    struct pmix_service *service = state;
    uint32_t size = what->first + what->count;
    if (!array_extend(&service->ranks, what->first, size, sizeof(*service->ranks))) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    const struct nspace *nspace = add_nspace(service, what);
    if (!nspace) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    return service->state != SERVER_RUNNING || introduce(service, nspace) ? ORTE_SUCCESS
                                                                          : ORTE_ERROR;
}

const struct service_ops pmix_service_ops = {
    .name = "PMIx",
    .job_start = job_start,
    .app_vars = pmix_service_app_vars,
    .rank_vars = pmix_service_rank_vars,
    .spawned = spawned,
    .rank_started = pmix_service_rank_started,
    .rank_heard = pmix_service_rank_heard,
    .rank_ended = pmix_service_rank_ended,
    .rank_doing = pmix_service_rank_doing,
    .job_end = job_end,
};
