#include <config.h>

#include <launcher/node/daemon.h>

#include <base/host/leftovers.h>
#include <base/host/session.h>
#include <base/net/sock.h>
#include <base/settings/log.h>
#include <launcher/node/explain/explain.h>
#include <launcher/node/explain/tracer.h>
#include <launcher/node/hosted.h>
#include <launcher/node/limits.h>
#include <launcher/node/onward.h>
#include <launcher/node/orders/home.h>
#include <launcher/node/server/name_server.h>
#include <launcher/node/spawn_check.h>
#include <launcher/node/tree_growth.h>
#include <launcher/node/tree_repair.h>
#include <launcher/shepherd/sweep.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wireup/proto.h>

enum { SESSION_TRIES = 3 };

static int send_control(struct daemon *daemon, uint32_t vpid, orte_rml_tag_t tag,
                        opal_buffer_t *buffer)
{
    orte_process_name_t peer = {daemon->name.jobid, vpid};
    int status = rml_give(daemon->rml, &peer, OOB_CONTROL, tag, buffer);
    if (status != ORTE_SUCCESS) {
        log_error(LOG_LAUNCHER, "cannot send to daemon %u: %s", vpid, opal_strerror(status));
    }
    return status;
}

int daemon_order(struct daemon *daemon, uint32_t vpid, opal_buffer_t *buffer)
{
    return send_control(daemon, vpid, RML_TAG_LAUNCH, buffer);
}

int daemon_order_all(struct daemon *daemon, opal_buffer_t *buffer)
{
    int status = rml_xcast_give(daemon->rml, daemon->name.jobid, RML_TAG_LAUNCH, buffer);
    if (status != ORTE_SUCCESS) {
        log_error(LOG_LAUNCHER, "cannot send to the daemons: %s", opal_strerror(status));
    }
    return status;
}

void daemon_report(struct daemon *daemon, opal_buffer_t *buffer)
{
    (void) send_control(daemon, HNP_VPID, RML_TAG_REPORT, buffer);
}

void daemon_tell(struct daemon *daemon, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    daemon_report(daemon, proto_new(REPORT_TEXT, "s", text));
}

/* --- orders --- */

void daemon_report_unable(struct daemon *daemon, const char *what, const char *reason, int status)
{
    char why[512];
    snprintf(why, sizeof(why), "%s: %s", what, reason ? reason : opal_strerror(status));
    daemon_report(daemon, proto_new(REPORT_UNABLE, "s", why));
}

static void parent_linked(void *arg, int status, const char *reason)
{
    struct daemon *daemon = arg;
    if (status != ORTE_SUCCESS) {
        daemon_report_unable(daemon, "no link to its parent in the tree", reason, status);
        return;
    }
    /* the report is the last message over the direct link to the HNP */
    orte_process_name_t hnp = {daemon->name.jobid, HNP_VPID};
    rml_disconnect(daemon->rml, &hnp, true);
    daemon_report(daemon, proto_new(REPORT_WIRED, ""));
}

static int take_wireup(struct daemon *daemon, opal_buffer_t *buffer)
{
    char *parent;
    int status = proto_unpack(buffer, "s", &parent);
    if (status == OPAL_SUCCESS) {
        status =
            rml_connect(daemon->rml, parent, OOB_KEY_CONTROL, home_try_us(), parent_linked, daemon);
        free(parent);
    }
    if (status != ORTE_SUCCESS) {
        daemon_report_unable(daemon, "no link to its parent in the tree", NULL, status);
    }
    return status;
}

/* What cannot be is refused before anything is started. */
static int check_limits(const struct daemon *daemon, const struct job_map *map, char *reason,
                        size_t reason_size)
{
    uint64_t ranks = 0;
    for (uint32_t rank = 0; rank < map->size; rank++) {
        ranks += map->daemon_of_node[map->node_of[rank]] == daemon->name.vpid;
    }
    int status = limits_processes(ranks, reason, reason_size);
    return status == ORTE_SUCCESS ? limits_ranks(ranks, reason, reason_size) : status;
}

static int take_launch(struct daemon *daemon, opal_buffer_t *buffer)
{
    struct launch launch;
    char reason[256] = "";
    int status = launch_unpack(buffer, &launch);
    if (status == ORTE_SUCCESS &&
        check_limits(daemon, &launch.map, reason, sizeof(reason)) != ORTE_SUCCESS) {
        launch_fini(&launch);
        daemon_report(daemon, proto_new(REPORT_UNABLE, "s", reason));
        return ORTE_SUCCESS;
    }
    if (status == ORTE_SUCCESS) {
        status = local_launch(daemon, &launch);
    }
    if (status != ORTE_SUCCESS) {
        daemon_report_unable(daemon, "the launch cannot be followed", NULL, status);
    }
    return status;
}

static int take_signal(struct daemon *daemon, opal_buffer_t *buffer)
{
    int32_t signal;
    uint8_t ends;
    int status = proto_unpack(buffer, "ic", &signal, &ends);
    if (status == OPAL_SUCCESS && ends) {
        tracer_stop(daemon); /* who is being looked at takes no signals */
        shepherd_cancel_starts(daemon->shepherd);
    }
    if (status == OPAL_SUCCESS) {
        local_signal(daemon, signal);
    }
    if (status == OPAL_SUCCESS && ends) {
        shepherd_must_answer(daemon->shepherd);
    }
    return status;
}

static int take_window(struct daemon *daemon, opal_buffer_t *buffer)
{
    uint32_t rows, columns;
    struct window window;
    int status = proto_unpack(buffer, "uu", &rows, &columns);
    if (status == OPAL_SUCCESS && !window_make(&window, rows, columns)) {
        status = ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    if (status == OPAL_SUCCESS) {
        local_resize(daemon, window);
    }
    return status;
}

static int take_spawn(struct daemon *daemon, opal_buffer_t *buffer)
{
    struct spawned spawned = {0};
    int status = spawned_unpack(buffer, &spawned);
    if (status == ORTE_SUCCESS) {
        status = local_spawn(daemon, &spawned);
    }
    if (status != ORTE_SUCCESS) {
        daemon_report(daemon, proto_new(REPORT_SPAWNED, "uis", spawned.number, (int32_t) status,
                                        opal_strerror(status)));
    }
    spawned_fini(&spawned);
    return status;
}

static int take_spawn_check(struct daemon *daemon, opal_buffer_t *buffer)
{
    struct spawned spawned = {0};
    char why[1024] = "";
    int status = spawned_unpack(buffer, &spawned);
    if (status == ORTE_SUCCESS) {
        int found = spawn_check(daemon, &spawned, why, sizeof(why));
        daemon_report(daemon,
                      proto_new(REPORT_SPAWNED, "uis", spawned.number, (int32_t) found, why));
    }
    spawned_fini(&spawned);
    return status;
}

static int take_spawned(struct daemon *daemon, opal_buffer_t *buffer)
{
    uint64_t request;
    int32_t outcome;
    uint32_t number;
    int status = proto_unpack(buffer, "qiu", &request, &outcome, &number);
    struct spawned_watcher *watcher;
    list_for_each (watcher, &daemon->requests.watchers, struct spawned_watcher, link) {
        if (status == OPAL_SUCCESS) {
            watcher->fn(watcher->arg, request, outcome, number);
        }
    }
    return status;
}

void daemon_watch_spawned(struct daemon *daemon, struct spawned_watcher *watcher)
{
    list_append(&daemon->requests.watchers, &watcher->link);
}

int daemon_ask_spawn(struct daemon *daemon, uint64_t request, uint32_t parent, char *const *puts,
                     const struct spawn_wish *wishes, size_t count)
{
    struct codec codec = {.buffer = proto_new(REPORT_SPAWN, "qu", request, parent)};
    codec.status = codec.buffer ? proto_pack_strings(codec.buffer, puts) : ORTE_ERR_OUT_OF_RESOURCE;
    uint32_t wished = (uint32_t) count;
    codec_u32(&codec, &wished, UINT32_MAX);
    for (size_t i = 0; i < count; i++) {
        struct spawn_wish wish = wishes[i];
        spawn_wish_code(&codec, &wish);
    }
    opal_buffer_t *report = proto_whole(codec.buffer, codec.status);
    if (report) {
        daemon_report(daemon, report);
    }
    return codec.status;
}

typedef int take_order(struct daemon *daemon, opal_buffer_t *buffer);

static take_order *const orders[] = {
    [ORDER_WIREUP] = take_wireup,        [ORDER_LAUNCH] = take_launch,
    [ORDER_SIGNAL] = take_signal,        [ORDER_SPAWN] = take_spawn,
    [ORDER_SPAWNED] = take_spawned,      [ORDER_LOST] = repair_take_lost,
    [ORDER_REHOME] = repair_take_rehome, [ORDER_ENDED] = repair_take_ended,
    [ORDER_WINDOW] = take_window,        [ORDER_TOPOLOGY] = topology_report,
    [ORDER_CHECK] = take_spawn_check,    [ORDER_START] = onward_start,
    [ORDER_STARTED] = onward_started,    [ORDER_EXPLAIN] = explain_ranks,
    [ORDER_GROW] = growth_take,          [ORDER_JOIN] = growth_join,
    [ORDER_HOST] = hosted_start,         [ORDER_UNHOST] = hosted_over,
    [ORDER_CRASHED] = tracer_release,
};

/* Those that say nothing more come first. */
static int obey(struct daemon *daemon, uint8_t order, opal_buffer_t *buffer)
{
    switch (order) {
    case ORDER_KILL:
        local_signal(daemon, SIGKILL);
        return ORTE_SUCCESS;
    case ORDER_END:
        local_signal(daemon, SIGKILL);
        iof_drain(daemon->iof);
        return ORTE_SUCCESS;
    case ORDER_GONE:
        if (daemon->ops->cut_off) {
            repair_hnp_gone(daemon, "the parent daemon says so");
        }
        return ORTE_SUCCESS;
    case ORDER_EXIT:
        daemon->ops->exit(daemon->arg);
        return ORTE_SUCCESS;
    default:
        return order < sizeof(orders) / sizeof(orders[0]) && orders[order]
                   ? orders[order](daemon, buffer)
                   : ORTE_ERR_BAD_PARAM;
    }
}

static void from_hnp(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    struct daemon *daemon = arg;
    uint8_t order = 0;
    int status = proto_unpack(*buffer, "c", &order);
    if (status == OPAL_SUCCESS) {
        bool hnp = info->origin.vpid == HNP_VPID;
        bool parent = info->origin.vpid == rml_parent_of(daemon->rml, daemon->name.vpid);
        status =
            hnp || (parent && order == ORDER_GONE) ? obey(daemon, order, *buffer) : ORTE_ERR_PERM;
    }
    if (status != ORTE_SUCCESS) {
        log_error(LOG_LAUNCHER, "order %u of %s failed: %s", order, ORTE_NAME_PRINT(&info->origin),
                  opal_strerror(status));
    }
}

/* --- what the server and the links say --- */

static void rank_joined(void *arg, const orte_process_name_t *rank)
{
    local_welcomed(arg, rank->vpid);
}

static void rank_left(void *arg, const orte_process_name_t *rank)
{
    local_left(arg, rank->vpid);
}

static void rank_aborted(void *arg, const orte_process_name_t *rank, int code, const char *reason)
{
    local_aborted(arg, rank->vpid, code, reason);
}

static void rank_looked(void *arg)
{
    explain_looked(arg);
}

static const struct server_ops server_ops = {
    .joined = rank_joined,
    .left = rank_left,
    .abort = rank_aborted,
    .looked = rank_looked,
};

/* Daemons of this job, my own ranks, and in the HNP tools; nobody else is linked. */
static int admit(void *arg, const struct oob_peer *peer)
{
    struct daemon *daemon = arg;
    if (peer->key == OOB_KEY_CONTROL) {
        return peer->name.jobid == daemon->name.jobid && peer->name.vpid < daemon->tree.count &&
                       peer->name.vpid != daemon->name.vpid &&
                       !rml_is_lost(daemon->rml, peer->name.vpid)
                   ? ORTE_SUCCESS
                   : ORTE_ERR_PERM;
    }
    if (peer->key == OOB_KEY_PEERCRED) {
        return local_may_link(daemon, peer) ? ORTE_SUCCESS : ORTE_ERR_PERM;
    }
    return daemon->ops->admit ? daemon->ops->admit(daemon->arg, peer) : ORTE_ERR_PERM;
}

static void link_changed(void *arg, const struct oob_peer *peer, int status)
{
    struct daemon *daemon = arg;
    char why[LINK_WHY_BYTES];
    bool is_tcp = strncmp(peer->address, "tcp", 3) == 0;
    if (peer->name.jobid != daemon->name.jobid) {
        return;
    }
    snprintf(why, sizeof(why), "%sits link to node %s%s%s%s%s",
             status == ORTE_ERR_TIMEOUT ? "it has not answered for too long over " : "",
             daemon->node, is_tcp ? " (" : "", is_tcp ? peer->address : "", is_tcp ? ")" : "",
             status == ORTE_ERR_TIMEOUT ? "" : " broke");
    daemon->ops->link(daemon->arg, peer->name.vpid, status == ORTE_SUCCESS ? NULL : why,
                      status == ORTE_ERR_NOT_AVAILABLE);
}

static void silence_changed(void *arg, const struct oob_peer *peer, bool is_silent)
{
    struct daemon *daemon = arg;
    daemon->ops->silent(daemon->arg, peer->name.vpid, is_silent);
}

static void output_unread(void *arg, uint32_t rank)
{
    struct daemon *daemon = arg;
    shepherd_signal(daemon->shepherd, rank, SIGPIPE);
}

/* --- life --- */

/* One that is there belongs to another daemon of this number, and is not mine to guard. It is
 * guarded before it is made. The HNP's shepherd guards the whole job's: simulated nodes have theirs
 * in it, and may be killed before they clean up. */
static int guard_session(struct daemon *daemon, char *reason, size_t reason_size)
{
    if (access(daemon->session, F_OK) == 0) {
        snprintf(reason, reason_size, "the session folder %s exists already", daemon->session);
        return ORTE_EXISTS;
    }
    char *guarded = strdup(daemon->session);
    if (!guarded) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (daemon->name.vpid == HNP_VPID) {
        *strrchr(guarded, '/') = '\0';
    }
    shepherd_guard(daemon->shepherd, guarded);
    free(guarded);
    return ORTE_SUCCESS;
}

/* No daemon and no rank of the job is left. Kills the background processes of its ranks. */
static void job_over(const char *job)
{
    char variable[sizeof(ENV_JOB) + JOB_UUID_TEXT + 1];
    const char *own = getenv(ENV_JOB);
    snprintf(variable, sizeof(variable), ENV_JOB "=%s", job);
    if (!own || strcmp(own, job) != 0) { /* else this process is one of them */
        sweep_marked(variable);
    }
}

/* The first daemon of a job on this host removes the leftovers of other jobs. */
static void sweep_leftovers(const struct daemon *daemon)
{
    char job[PATH_MAX];
    snprintf(job, sizeof(job), "%.*s", (int) (strrchr(daemon->session, '/') - daemon->session),
             daemon->session);
    if (access(job, F_OK) != 0) {
        leftovers_sweep(job_over);
    }
}

static void hold_session(struct daemon *daemon)
{
    daemon->held = leftovers_hold(daemon->session);
    if (daemon->held < 0) {
        log_info(LOG_LAUNCHER, "%s is not held: %s", daemon->session, strerror(-daemon->held));
        daemon->held = -1;
    }
}

/* Another user may take the path between the look at it and the making: there are more. */
static int open_session(struct daemon *daemon, const char *uuid, char *reason, size_t reason_size)
{
    int status = ORTE_ERR_PERM;
    for (int tries = 0; tries < SESSION_TRIES && status == ORTE_ERR_PERM; tries++) {
        free(daemon->session);
        daemon->session = NULL;
        status = session_path(&daemon->session, uuid, daemon->name.vpid, reason, reason_size);
        if (status == ORTE_SUCCESS) {
            sweep_leftovers(daemon);
            status = guard_session(daemon, reason, reason_size);
        }
        if (status == ORTE_SUCCESS) {
            status = session_open(daemon->session, reason, reason_size);
        }
    }
    if (status == ORTE_SUCCESS) {
        hold_session(daemon);
    }
    return status;
}

static int open_listener(struct daemon *daemon, const char *uuid, char *reason, size_t reason_size)
{
    int status = open_session(daemon, uuid, reason, reason_size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    char path[256];
    snprintf(path, sizeof(path), "%s/" DAEMON_SOCKET, daemon->session);
    status = oob_listen_unix(rml_oob(daemon->rml), path, reason, reason_size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    daemon->contact = oob_contact(rml_oob(daemon->rml));
    return daemon->contact ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

static int open_rml(struct daemon *daemon, const struct daemon_config *config, char *reason,
                    size_t reason_size)
{
    struct rml_config rml = {
        .loop = config->loop,
        .name = daemon->name,
        .role = OOB_KEY_CONTROL,
        .dispatch = RML_DISPATCH_LOOP,
        .radix = config->radix,
        .arg = daemon,
        .admit = admit,
        .silent = silence_changed,
    };
    crypto_random(&rml.epoch, sizeof(rml.epoch));
    int status = rml_create(&daemon->rml, &rml, reason, reason_size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    oob_set_key(rml_oob(daemon->rml), OOB_KEY_CONTROL, config->job->control_key);
    rml_route_tree(daemon->rml, config->count);
    rml_repair_routes(daemon->rml);
    rml_watch_links(daemon->rml, link_changed, daemon);
    rml_handle(daemon->rml, RML_TAG_LAUNCH, from_hnp, daemon);
    if (daemon->name.vpid == HNP_VPID) {
        return ORTE_SUCCESS;
    }
    /* tools are reached over the HNP */
    return rml_route_whole_job(daemon->rml, daemon->name.jobid | TOOL_JOB_NUMBER, 0);
}

static int take_config(struct daemon *daemon, const struct daemon_config *config)
{
    daemon->name = (orte_process_name_t){config->job->family, config->vpid};
    daemon->tree.count = config->count;
    daemon->tree.radix = config->radix;
    daemon->loop = config->loop;
    list_init(&daemon->requests.watchers);
    daemon->shepherd = config->shepherd;
    daemon->service_table = config->service_table;
    daemon->home = config->home;
    daemon->node = strdup(config->node);
    daemon->hnp_contact = config->hnp_contact ? strdup(config->hnp_contact) : NULL;
    bool whole = daemon->node && (daemon->hnp_contact || !config->hnp_contact);
    return whole ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

static int open_parts(struct daemon *daemon, const struct daemon_config *config, char *reason,
                      size_t reason_size)
{
    orte_process_name_t hnp = {config->job->family, HNP_VPID};
    int status = shepherd_attach(config->shepherd, config->loop, &local_shepherd_ops, daemon);
    if (status == ORTE_SUCCESS) {
        status = open_rml(daemon, config, reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        status = open_listener(daemon, config->job->uuid, reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        status = allgather_create(&daemon->allgather, daemon->rml, &daemon->name, config->radix);
    }
    if (status == ORTE_SUCCESS) {
        status = server_create(&daemon->server, daemon->rml, daemon->allgather, config->vpid,
                               &server_ops, daemon);
    }
    if (status == ORTE_SUCCESS) {
        status = names_create(&daemon->names, daemon->rml, &daemon->name, &hnp);
    }
    return status == ORTE_SUCCESS ? iof_create(&daemon->iof, daemon->rml, config->loop, &hnp)
                                  : status;
}

int daemon_create(struct daemon **out, const struct daemon_config *config,
                  const struct daemon_ops *ops, void *arg, char *reason, size_t reason_size)
{
    struct daemon *daemon = calloc(1, sizeof(*daemon));
    if (!daemon) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    daemon->ops = ops;
    daemon->arg = arg;
    daemon->held = -1;
    int status = take_config(daemon, config);
    if (status == ORTE_SUCCESS) {
        log_set_identity(config->node, ORTE_NAME_PRINT(&daemon->name));
        status = open_parts(daemon, config, reason, reason_size);
    }
    if (status != ORTE_SUCCESS) {
        daemon_destroy(daemon);
        return status;
    }
    iof_on_unread(daemon->iof, output_unread, daemon);
    *out = daemon;
    return ORTE_SUCCESS;
}

int daemon_listen(struct daemon *daemon, char *reason, size_t reason_size)
{
    if (daemon->listens) {
        return ORTE_SUCCESS;
    }
    int status = oob_listen_tcp(rml_oob(daemon->rml), reason, reason_size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    daemon->listens = true;
    char *contact = oob_contact(rml_oob(daemon->rml));
    if (!contact) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    free(daemon->contact);
    daemon->contact = contact;
    return ORTE_SUCCESS;
}

bool daemon_destroy(struct daemon *daemon)
{
    if (!daemon) {
        return true;
    }
    bool whole = local_end_services(daemon);
    onward_destroy(daemon);
    hosted_destroy(daemon);
    tracer_destroy(daemon);
    iof_destroy(daemon->iof);
    names_destroy(daemon->names);
    explain_destroy(daemon);
    server_destroy(daemon->server);
    allgather_destroy(daemon->allgather);
    rml_destroy(daemon->rml);
    local_destroy(daemon);
    launch_fini(&daemon->launch);
    fd_close(&daemon->held);
    free(daemon->session);
    free(daemon->contact);
    free(daemon->hnp_contact);
    free(daemon->node);
    free(daemon->topology.text);
    free(daemon->topology.why);
    free(daemon);
    return whole;
}
