/* A daemon's own ranks: their environment, their start, their end. */
#include <config.h>

#include <base/data/array.h>
#include <launcher/node/daemon.h>
#include <launcher/node/explain/tracer.h>
#include <launcher/node/hosted.h>
#include <launcher/node/service.h>
#include <launcher/shepherd/crash.h>
#include <launcher/shepherd/program.h>

#include <base/data/clock.h>
#include <base/host/cgroup.h>
#include <base/host/corefile.h>
#include <base/host/paths.h>
#include <base/host/procstat.h>
#include <base/settings/fault.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wireup/proto.h>

static struct param library_path =
    PARAM_BOOL("library_path", "1",
               "The folder of keelrun's libkeel stands at the end of the ranks' LD_LIBRARY_PATH "
               "(--noprefix: it does not)");
PARAM_ROWS("launcher", library_path);

enum local_state { LOCAL_NONE, LOCAL_STARTING, LOCAL_RUNNING, LOCAL_ENDED };

/* What is found out about a rank that failed. */
struct failure {
    struct doing doing; /* when it ended */
    char *core;         /* owned: its core file; NULL: none that is found */
    bool oom_kill;      /* the control group has counted one since the last that failed */
};

struct local_rank {
    enum local_state state;
    bool joined;             /* by keel_init, MPI_Init or the like */
    bool member, left;       /* keel_init, keel_finalize */
    bool crashed;            /* it has stopped for a debugger */
    pid_t pid;               /* the process that has linked under its name */
    pid_t process;           /* the one that was started */
    uint64_t began_us;       /* when it was */
    int wait_status;         /* of one that has ended */
    uint32_t peak_kib;       /* the most memory that it had */
    uint32_t unheard;        /* services that have not handled all it said */
    struct failure *failure; /* owned; NULL: none, or not known */
};

bool local_is_here(const struct daemon *daemon, uint32_t rank)
{
    const struct job_map *map = &daemon->launch.map;
    return rank < map->size && map->daemon_of_node[map->node_of[rank]] == daemon->name.vpid;
}

/* --- reports --- */

/* missing: a call that should have come before its end; NULL: none. */
static void report_exited(struct daemon *daemon, uint32_t rank, const char *missing)
{
    static const struct failure nothing;
    const struct local_rank *local = &daemon->ranks[rank];
    const struct failure *failure = local->failure ? local->failure : &nothing;
    bool in_call = strncmp(failure->doing.what, "in ", 3) == 0;
    daemon_report(daemon, proto_new(REPORT_EXITED, "uuuicsssc", rank, (uint32_t) local->process,
                                    local->peak_kib, (int32_t) local->wait_status, local->joined,
                                    missing ? missing : "", in_call ? failure->doing.what : "",
                                    failure->core ? failure->core : "", failure->oom_kill));
}

/* One of those that were to start has, or has not; after the last, the HNP is told. */
static void start_settled(struct daemon *daemon)
{
    if (--daemon->progress.starting > 0) {
        return;
    }
    if (!daemon->progress.launched) {
        daemon_report(daemon, proto_new(REPORT_LAUNCHED, "u", daemon->progress.started));
    }
    daemon->progress.launched = true;
    for (; daemon->progress.spawns_settled < daemon->progress.spawns;
         daemon->progress.spawns_settled++) {
        daemon_report(daemon, proto_new(REPORT_SPAWNED, "uis", daemon->progress.spawns_settled + 1,
                                        (int32_t) ORTE_SUCCESS, ""));
    }
}

/* The end of a rank that never ran. */
static void not_started(struct daemon *daemon, uint32_t rank, enum start_stage stage, int error)
{
    const struct launch_app *app = &daemon->launch.apps[daemon->launch.app_of[rank]];
    const char *what = stage == START_WDIR && app->wdir ? app->wdir : app->argv[0];
    daemon->ranks[rank].state = LOCAL_ENDED;
    daemon_report(daemon,
                  proto_new(REPORT_FAILED, "ucis", rank, (uint8_t) stage, (int32_t) error, what));
    start_settled(daemon);
}

/* --- environment --- */

/* What the launcher says about the job and this node. */
static void add_job_vars(struct vars *vars, const struct daemon *daemon)
{
    const struct job_map *map = &daemon->launch.map;
    uint32_t local_size = 0, node_id = 0;
    for (uint32_t rank = 0; rank < map->size; rank++) {
        if (local_is_here(daemon, rank)) {
            local_size++;
            node_id = map->node_of[rank];
        }
    }
    vars_format(vars, ENV_JOB "=%s", map->uuid);
    vars_format(vars, ENV_JOBID "=%u", map->jobid);
    vars_format(vars, ENV_SIZE "=%u", map->size);
    vars_format(vars, ENV_LOCAL_SIZE "=%u", local_size);
    vars_format(vars, ENV_NODE "=%s", daemon->node);
    vars_format(vars, ENV_NODE_ID "=%u", node_id);
    vars_format(vars, ENV_DAEMON "=%s", daemon->contact);
    vars_format(vars, ENV_HNP "=%s", daemon->hnp_contact ? daemon->hnp_contact : daemon->contact);
    vars_format(vars, ENV_SESSION_DIR "=%s", daemon->session);
    vars_format(vars, ENV_YIELD "=%d", daemon->launch.yield);
}

/* A rank finds the libkeel of its keelrun, and before that whatever the user has set. The loader's
 * own folders stay where they are: behind a program's run path. */
static void add_library(struct vars *vars)
{
    static const char *const loaders[] = {"/lib",       "/lib64",         "/usr/lib",
                                          "/usr/lib64", "/lib/*-linux-*", "/usr/lib/*-linux-*"};
    char *folder = param_bool(&library_path) ? paths_library() : NULL;
    bool wanted = folder && !strchr(folder, ':');
    for (size_t i = 0; wanted && i < sizeof(loaders) / sizeof(*loaders); i++) {
        wanted = fnmatch(loaders[i], folder, FNM_PATHNAME) != 0;
    }
    if (wanted) {
        vars_add_folder(vars, "LD_LIBRARY_PATH", folder);
    }
    free(folder);
}

/* What has a rank stop when it crashes: malloc'd. The loader takes a blank or a colon in its path
 * for the end of a name. NULL: why says why there is none. */
static char *find_crash_module(const char **why)
{
    char *module = paths_module(CRASH_MODULE);
    *why = CRASH_MODULE " is not installed";
    if (module && strpbrk(module, " :")) {
        *why = "the path of " CRASH_MODULE " has a blank or a colon, which LD_PRELOAD cannot have";
        free(module);
        module = NULL;
    }
    return module;
}

static void add_crash(struct vars *vars, const struct daemon *daemon)
{
    const char *why;
    char *module = tracer_wants_crashes() ? find_crash_module(&why) : NULL;
    if (module) {
        vars_format(vars, CRASH_ENV "=%d", (int) shepherd_pid(daemon->shepherd));
        vars_add_folder(vars, "LD_PRELOAD", module);
    }
    free(module);
}

/* The daemon's own environment without an outer launcher's, the user's settings, and what the job
 * and its services add. */
static void make_vars(const struct daemon *daemon, uint32_t app, struct vars *vars)
{
    for (char **variable = environ; *variable; variable++) {
        if (!vars_is_foreign(*variable)) {
            vars_append(vars, strdup(*variable));
        }
    }
    for (char **variable = daemon->launch.apps[app].env; *variable; variable++) {
        vars_set(vars, strdup(*variable));
    }
    add_library(vars);
    add_crash(vars, daemon);
    add_job_vars(vars, daemon);
    vars_format(vars, ENV_APP "=%u", app);
    services_app_vars(daemon->services, app, vars);
}

/* --- start --- */

/* Tells the shepherd about a program. 0 or an errno. */
static int define_app(struct daemon *daemon, uint32_t index)
{
    const struct launch_app *app = &daemon->launch.apps[index];
    char program[4096];
    struct vars vars = {0};
    make_vars(daemon, index, &vars);
    int found = vars.failed ? -ENOMEM
                            : program_find(app->argv[0], app->wdir, app->path, vars.strings,
                                           program, sizeof(program));
    if (found == 0) {
        struct start_app spec = {
            .kind = PROC_RANK,
            .program = program,
            .argv = app->argv,
            .env = vars.strings,
            .wdir = app->wdir,
            .out = daemon->launch.pty ? STDIO_PTY : STDIO_PIPE,
            .err = daemon->launch.merge_stderr ? STDIO_MERGED : STDIO_PIPE,
            .window = daemon->launch.window,
            .socket = services_want_socket(daemon->services, index),
        };
        shepherd_define_app(daemon->shepherd, index, &spec);
    }
    vars_fini(&vars);
    return -found;
}

static void start_rank(struct daemon *daemon, uint32_t rank)
{
    const struct launch *launch = &daemon->launch;
    const char *cpus = launch->cpus[rank][0] ? launch->cpus[rank] : NULL;
    struct vars vars = {0};
    vars_format(&vars, ENV_RANK "=%u", rank);
    vars_format(&vars, ENV_LOCAL_RANK "=%u", daemon->launch.map.local_rank_of[rank]);
    vars_format(&vars, ENV_BOUND "=%d", cpus != NULL);
    services_rank_vars(daemon->services, rank, &vars);
    if (vars.failed) {
        vars_fini(&vars);
        not_started(daemon, rank, START_FORK, ENOMEM);
        return;
    }
    struct start_proc proc = {
        .id = rank,
        .env = vars.strings,
        .cpus = cpus,
        .in = rank - launch->input_first < launch->input_count ? STDIO_PIPE : STDIO_NULL,
    };
    shepherd_start_proc(daemon->shepherd, daemon->launch.app_of[rank], &proc);
    vars_fini(&vars);
}

enum { NOT_DEFINED = -1 }; /* no rank of the program was to start here yet */

/* Those from first on. */
static void start_ranks(struct daemon *daemon, uint32_t first)
{
    const struct launch *launch = &daemon->launch;
    int *errors = malloc(launch->app_count * sizeof(*errors)); /* by app; 0: it can be started */
    for (uint32_t app = 0; errors && app < launch->app_count; app++) {
        errors[app] = NOT_DEFINED;
    }
    for (uint32_t rank = first; rank < launch->map.size; rank++) {
        if (!local_is_here(daemon, rank)) {
            continue;
        }
        uint32_t app = launch->app_of[rank];
        daemon->ranks[rank].state = LOCAL_STARTING;
        if (errors && errors[app] == NOT_DEFINED) {
            errors[app] = define_app(daemon, app);
        }
        if (errors && errors[app] == 0) {
            start_rank(daemon, rank);
            continue;
        }
        not_started(daemon, rank, START_EXEC, errors ? errors[app] : ENOMEM);
    }
    free(errors);
}

/* Makes the job known here: its routes, its server, its ranks. On success the launch is taken. */
static int adopt_job(struct daemon *daemon, const struct launch *launch)
{
    const struct job_map *map = &launch->map;
    uint32_t *daemon_of = calloc(map->size, sizeof(*daemon_of));
    struct local_rank *ranks = calloc(map->size, sizeof(*ranks));
    int status = ORTE_ERR_OUT_OF_RESOURCE;
    if (daemon_of && ranks && fault_at("launcher.launch").action != FAULT_ERROR) {
        for (uint32_t rank = 0; rank < map->size; rank++) {
            daemon_of[rank] = map->daemon_of_node[map->node_of[rank]];
        }
        status = rml_route_job(daemon->rml, map->jobid, map->size, daemon_of);
    }
    if (status == ORTE_SUCCESS) {
        status = server_add_job(daemon->server, map);
    }
    free(daemon_of);
    if (status != ORTE_SUCCESS) {
        free(ranks);
        return status;
    }
    daemon->launch = *launch;
    daemon->ranks = ranks;
    for (uint32_t rank = 0; rank < map->size; rank++) {
        daemon->progress.starting += local_is_here(daemon, rank);
    }
    return ORTE_SUCCESS;
}

int local_launch(struct daemon *daemon, struct launch *launch)
{
    int status = daemon->launch.map.size > 0 ? ORTE_EXISTS : adopt_job(daemon, launch);
    if (status != ORTE_SUCCESS) {
        launch_fini(launch);
        return status;
    }
    daemon->services = services_start(daemon); /* ranks may come here later */
    if (daemon->progress.starting == 0) {
        daemon->progress.starting = 1;
        start_settled(daemon);
        return ORTE_SUCCESS;
    }
    daemon->progress.oom_kills = cgroup_oom_kills();
    start_ranks(daemon, 0);
    return ORTE_SUCCESS;
}

int local_spawn(struct daemon *daemon, struct spawned *spawned)
{
    uint32_t size = daemon->launch.map.size;
    bool able = size > 0 && fault_at("launcher.spawn").action != FAULT_ERROR;
    if (!able || !array_extend(&daemon->ranks, size, (size_t) size + spawned->count,
                               sizeof(*daemon->ranks))) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    int status = launch_extend(&daemon->launch, spawned);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    status = services_spawned(daemon->services, spawned);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    daemon->progress.starting++; /* so that nothing is settled before all are on their way */
    daemon->progress.spawns++;
    for (uint32_t i = 0; i < spawned->count; i++) {
        daemon->progress.starting += local_is_here(daemon, spawned->first + i);
    }
    start_ranks(daemon, spawned->first);
    start_settled(daemon);
    return ORTE_SUCCESS;
}

/* --- the shepherd's events --- */

static void started(void *arg, uint32_t id, pid_t pid, int fds[PROC_FDS])
{
    struct daemon *daemon = arg;
    if (hosted_started(daemon, id, fds[RANK_SOCKET], fds[2])) {
        return;
    }
    if (id >= AGENT_ID(0)) {
        daemon->agents.ops->started(daemon->agents.arg, id, fds[0], fds[2]);
        return;
    }
    if (tracer_started(daemon, id, fds)) {
        return;
    }
    log_info(LOG_LAUNCHER, "rank %u is process %d", id, (int) pid);
    daemon->ranks[id].state = LOCAL_RUNNING;
    daemon->ranks[id].process = pid;
    daemon->ranks[id].began_us = clock_us();
    daemon->progress.started++;
    daemon->progress.living++;
    if (fds[0] >= 0) {
        iof_add_input(daemon->iof, fds[0]);
    }
    for (int stream = 1; stream <= 2; stream++) {
        if (fds[stream] >= 0) {
            iof_add_output(daemon->iof, id, pid, stream, fds[stream]);
        }
    }
    services_rank_started(daemon->services, id, pid, fds[RANK_SOCKET]);
    start_settled(daemon);
}

static void failed(void *arg, uint32_t id, enum start_stage stage, int error)
{
    struct daemon *daemon = arg;
    if (hosted_failed(daemon, id, error)) {
        return;
    }
    if (id >= AGENT_ID(0)) {
        daemon->agents.ops->failed(daemon->agents.arg, id, error);
        return;
    }
    if (tracer_failed(daemon, id, error)) {
        return;
    }
    not_started(daemon, id, stage, error);
}

/* All that the rank said has been handled. */
static void settle_end(struct daemon *daemon, uint32_t rank)
{
    const struct local_rank *local = &daemon->ranks[rank];
    orte_process_name_t name = {daemon->launch.map.jobid, rank};
    const char *missing = services_rank_ended(daemon->services, rank, local->wait_status);
    if (!missing && local->member && !local->left) {
        missing = "keel_finalize";
    }
    report_exited(daemon, rank, missing);
    server_rank_gone(daemon->server, &name);
    rml_peer_ended(daemon->rml, &name);
}

void local_heard(struct daemon *daemon, uint32_t rank)
{
    if (--daemon->ranks[rank].unheard == 0) {
        settle_end(daemon, rank);
    }
}

static char *find_core(const struct daemon *daemon, uint32_t rank, int signal)
{
    const struct local_rank *local = &daemon->ranks[rank];
    const char *wdir = daemon->launch.apps[daemon->launch.app_of[rank]].wdir;
    char *folder = realpath(wdir ? wdir : ".", NULL), *path = NULL;
    if (folder) {
        time_t age = (time_t) ((clock_us() - local->began_us) / 1000000u);
        struct core_dump dump = {folder, local->process, signal, time(NULL) - age - 1};
        path = corefile_find(&dump);
    }
    free(folder);
    return path;
}

/* While it counts as running. */
static struct failure *examine(struct daemon *daemon, uint32_t rank, int wait_status)
{
    struct failure *failure = calloc(1, sizeof(*failure));
    uint64_t oom_kills = cgroup_oom_kills();
    if (!failure) {
        return NULL;
    }
    (void) local_doing(daemon, rank, &failure->doing);
    failure->oom_kill = oom_kills > daemon->progress.oom_kills;
    daemon->progress.oom_kills = oom_kills;
    if (WIFSIGNALED(wait_status) && WCOREDUMP(wait_status)) {
        failure->core = find_core(daemon, rank, WTERMSIG(wait_status));
    }
    return failure;
}

static void crashed(void *arg, uint32_t id)
{
    struct daemon *daemon = arg;
    if (id < daemon->launch.map.size && tracer_wants_crashes()) {
        daemon->ranks[id].crashed = true;
        tracer_crashed(daemon, id);
    } else {
        shepherd_signal(daemon->shepherd, id, SIGCONT);
    }
}

void local_continue_crashed(struct daemon *daemon)
{
    for (uint32_t rank = 0; rank < daemon->launch.map.size; rank++) {
        const struct local_rank *local = &daemon->ranks[rank];
        if (local->crashed && local->state == LOCAL_RUNNING) {
            shepherd_signal(daemon->shepherd, rank, SIGCONT);
        }
    }
}

/* Has it crashed, unseen? */
static void tell_missed(struct daemon *daemon, uint32_t rank, int wait_status)
{
    const char *why;
    if (tracer_wants_crashes() && !daemon->ranks[rank].crashed && WIFSIGNALED(wait_status) &&
        crash_has(WTERMSIG(wait_status))) {
        char *module = find_crash_module(&why);
        tracer_missed(daemon, rank,
                      module ? "it did not stop for a debugger: its program is statically linked, "
                               "has a handler of its own, or may not be traced"
                             : why);
        free(module);
    }
}

static void exited(void *arg, uint32_t id, int wait_status, uint32_t peak_kib)
{
    struct daemon *daemon = arg;
    if (hosted_exited(daemon, id, wait_status)) {
        return;
    }
    if (id >= AGENT_ID(0)) {
        daemon->agents.ops->exited(daemon->agents.arg, id, wait_status);
        return;
    }
    if (tracer_exited(daemon, id)) {
        return;
    }
    struct local_rank *local = &daemon->ranks[id];
    tell_missed(daemon, id, wait_status);
    if (wait_status != 0) {
        local->failure = examine(daemon, id, wait_status);
    }
    local->state = LOCAL_ENDED;
    local->wait_status = wait_status;
    local->peak_kib = peak_kib;
    local->unheard = services_rank_unheard(daemon->services, id, wait_status);
    daemon->progress.living--;
    if (local->unheard == 0) {
        settle_end(daemon, id);
    }
}

static void shepherd_lost(void *arg)
{
    struct daemon *daemon = arg;
    daemon->ops->shepherd_lost(daemon->arg);
}

const struct shepherd_ops local_shepherd_ops = {
    .started = started,
    .failed = failed,
    .exited = exited,
    .lost = shepherd_lost,
    .crashed = crashed,
};

/* --- the rest --- */

void local_signal(struct daemon *daemon, int signal)
{
    if (signal == SIGKILL && daemon->launch.map.size > 0) {
        shepherd_kill_ranks(daemon->shepherd);
        return;
    }
    for (uint32_t rank = 0; rank < daemon->launch.map.size; rank++) {
        enum local_state state = daemon->ranks[rank].state;
        if (state == LOCAL_STARTING || state == LOCAL_RUNNING) {
            shepherd_signal(daemon->shepherd, rank, signal);
        }
    }
}

/* A member of the job: what its daemon has heard from it. */
static void member_doing(struct daemon *daemon, uint32_t rank, struct doing *doing)
{
    const struct local_rank *local = &daemon->ranks[rank];
    orte_process_name_t name = {daemon->launch.map.jobid, rank};
    struct server_view view;
    (void) server_view(daemon->server, &name, &view);
    doing->pid = (uint32_t) local->pid;
    doing->moved_us = view.moved_us ? view.moved_us : doing->moved_us;
    doing->counters = view.counters;
    if (view.in_fence) {
        snprintf(doing->what, sizeof(doing->what), "in fence %u", view.operation);
    } else {
        snprintf(doing->what, sizeof(doing->what), "%s",
                 view.waits[0] ? view.waits
                 : local->left ? "finalized, in or after keel_finalize"
                               : "running, after keel_init");
    }
}

/* What the kernel knows of it. */
static void add_process(struct doing *doing)
{
    struct procstat process;
    size_t used = strlen(doing->what);
    if (!doing->pid || !procstat_read(&process, (pid_t) doing->pid, 0)) {
        return;
    }
    doing->cpu_ms = process.cpu_ms;
    doing->memory_bytes = process.memory_bytes;
    if (process.state == 'T' || process.state == 't') {
        snprintf(doing->what + used, sizeof(doing->what) - used, ", stopped %s",
                 process.state == 'T' ? "by a signal" : "by a debugger");
    }
}

bool local_doing(struct daemon *daemon, uint32_t rank, struct doing *doing)
{
    const struct local_rank *local = &daemon->ranks[rank];
    if (local->state != LOCAL_STARTING && local->state != LOCAL_RUNNING) {
        return false;
    }
    *doing = (struct doing){.pid = (uint32_t) local->process,
                            .crashed = local->crashed,
                            .moved_us = local->began_us,
                            .began_us = local->began_us};
    snprintf(doing->what, sizeof(doing->what), "%s",
             local->state == LOCAL_STARTING ? "starting"
                                            : "started, and has not called keel_init or MPI_Init");
    if (local->member) {
        member_doing(daemon, rank, doing);
    } else if (local->state == LOCAL_RUNNING) {
        services_rank_doing(daemon->services, rank, doing);
    }
    add_process(doing);
    return true;
}

void local_resize(struct daemon *daemon, struct window window)
{
    daemon->launch.window = window;
    iof_set_window(daemon->iof, window);
    local_signal(daemon, SIGWINCH); /* the kernel tells only whom the terminal controls */
}

/* A member's name is its process's alone: a child that has inherited the environment may not link
 * under it; the process itself may link again when its link broke. */
bool local_may_link(struct daemon *daemon, const struct oob_peer *peer)
{
    const struct job_map *map = &daemon->launch.map;
    const orte_process_name_t *rank = &peer->name;
    if (map->size == 0 || rank->jobid != map->jobid || rank->vpid >= map->size ||
        !local_is_here(daemon, rank->vpid)) {
        return false;
    }
    struct local_rank *local = &daemon->ranks[rank->vpid];
    if (local->member) {
        return local->state != LOCAL_ENDED && !local->left && local->pid == peer->pid;
    }
    local->pid = peer->pid;
    return local->state != LOCAL_ENDED;
}

void local_joined(struct daemon *daemon, uint32_t rank, const char *call)
{
    if (!daemon->progress.any_joined) {
        daemon_report(daemon, proto_new(REPORT_JOINED, "s", call));
    }
    daemon->progress.any_joined = true;
    daemon->ranks[rank].joined = true;
}

void local_broken(struct daemon *daemon, uint32_t rank, const char *reason)
{
    daemon_report(daemon, proto_new(REPORT_BROKEN, "uus", rank,
                                    (uint32_t) daemon->ranks[rank].process, reason));
}

void local_aborted(struct daemon *daemon, uint32_t rank, int status, const char *reason)
{
    daemon_report(daemon,
                  proto_new(REPORT_ABORT, "uuis", rank, (uint32_t) daemon->ranks[rank].process,
                            (int32_t) status, reason));
}

void local_welcomed(struct daemon *daemon, uint32_t rank)
{
    daemon->ranks[rank].member = true;
    local_joined(daemon, rank, "keel_init");
}

void local_left(struct daemon *daemon, uint32_t rank)
{
    daemon->ranks[rank].left = true;
}

bool local_end_services(struct daemon *daemon)
{
    bool whole = services_end(daemon->services);
    daemon->services = NULL;
    return whole;
}

void local_destroy(struct daemon *daemon)
{
    for (uint32_t rank = 0; daemon->ranks && rank < daemon->launch.map.size; rank++) {
        if (daemon->ranks[rank].failure) {
            free(daemon->ranks[rank].failure->core);
        }
        free(daemon->ranks[rank].failure);
    }
    free(daemon->ranks);
    daemon->ranks = NULL;
}
