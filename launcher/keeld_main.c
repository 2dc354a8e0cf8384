#include <config.h>

#include <launcher/keeld_main.h>

#include <base/data/clock.h>
#include <base/data/le.h>
#include <base/data/strings.h>
#include <base/host/hostname.h>
#include <base/net/sock.h>
#include <base/settings/fault.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <errno.h>
#include <launcher/node/daemon.h>
#include <launcher/node/orders/home.h>
#include <launcher/node/orders/hosting.h>
#include <launcher/node/tree_repair.h>
#include <launcher/services.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wireup/frame.h>
#include <wireup/proto.h>

#define INPUT_WAIT_US 30000000u
#define SPARE_NAME "keel-spare" /* while it has no job */
#define LAST_REPORT_US 50000u   /* for a report to leave, when a signal ends this process */
/* A keelrun that ends has given the reason, and ends its daemons by SIGTERM. A daemon that has lost
 * it waits this long for the signal before it writes a line of its own. */
#define LAST_ORDER_US 500000u

/* The process, and its job. */
struct keeld {
    struct loop *loop;
    struct shepherd *shepherd;
    char **own_env; /* borrowed: environ without a job's */
    struct home home;
    struct daemon *daemon;
    int signals;
    struct loop_io signal_io;
    struct loop_timer end_timer, order_timer;
    struct loop_io agent_io; /* standard error, until the link to the HNP is the lifeline */
    char *complaint;         /* owned: the line to write if no signal comes */
    char **strings;          /* owned: the submitter's environment */
    char **env;              /* owned: the same strings, where setenv may put others */
    bool parent_linked;
    uint32_t jobs; /* that it has served */
    int exit_code;
};

static void stop(struct keeld *keeld, int exit_code)
{
    keeld->exit_code = exit_code;
    loop_stop(keeld->loop);
}

/* --- what the daemon part says --- */

/* Whoever comes from below has this daemon for its parent, if perhaps before this daemon hears that
 * the one between them is lost. */
static bool is_below(const struct daemon *daemon, uint32_t vpid)
{
    uint32_t above = vpid < daemon->tree.count ? vpid : UINT32_MAX;
    while (above != UINT32_MAX && above > daemon->name.vpid) {
        above = rml_parent_of(daemon->rml, above);
    }
    return vpid != daemon->name.vpid && above == daemon->name.vpid;
}

/* The parent's link is the lifeline. Without it the HNP's is, until another parent is linked. A
 * child's end is the HNP's business. */
static void link_changed(void *arg, uint32_t vpid, const char *why, bool closed)
{
    struct keeld *keeld = arg;
    (void) closed;
    struct daemon *daemon = keeld->daemon;
    if (!daemon) {
        return;
    }
    bool parent = vpid == rml_parent_of(daemon->rml, daemon->name.vpid);
    bool lifeline = parent || daemon->tree.homeless || !keeld->parent_linked;
    if (!why) {
        keeld->parent_linked = keeld->parent_linked || parent;
    } else if (vpid == HNP_VPID && lifeline) {
        repair_hnp_gone(daemon, why);
    } else if (parent && !daemon->tree.homeless) {
        repair_begin(daemon, why);
    } else if (is_below(daemon, vpid) && !rml_is_lost(daemon->rml, vpid)) {
        daemon_report(daemon, proto_new(REPORT_LOST, "us", vpid, why));
    }
}

/* The HNP tells the user, unless it is the silent one. */
static void silence_changed(void *arg, uint32_t vpid, bool is_silent)
{
    struct keeld *keeld = arg;
    if (keeld->daemon && is_below(keeld->daemon, vpid)) {
        daemon_report(keeld->daemon, proto_new(REPORT_SILENT, "uc", vpid, (uint8_t) is_silent));
    }
}

/* After the last rank that is the end of the job: an order to exit may be on its way. */
static void cut_off(void *arg)
{
    struct keeld *keeld = arg;
    const struct local_progress *progress = &keeld->daemon->progress;
    bool over = progress->launched && progress->living == 0;
    stop(keeld, over ? 0 : EXIT_RUNTIME);
}

static void shepherd_lost(void *arg)
{
    struct keeld *keeld = arg;
    log_error(LOG_LAUNCHER, "the shepherd of this node %s",
              shepherd_is_stopped(keeld->shepherd) ? "is stopped, and is killed" : "was killed");
    shepherd_reap_orphans(keeld->shepherd);
    stop(keeld, EXIT_RUNTIME);
}

static void ordered_to_exit(void *arg)
{
    stop(arg, 0);
}

static const struct daemon_ops daemon_ops = {
    .link = link_changed,
    .silent = silence_changed,
    .shepherd_lost = shepherd_lost,
    .exit = ordered_to_exit,
    .cut_off = cut_off,
};

static void signal_ready(struct loop_io *io, short events)
{
    (void) events;
    struct keeld *keeld = container_of(io, struct keeld, signal_io);
    struct signalfd_siginfo info;
    if (read(keeld->signals, &info, sizeof(info)) == sizeof(info)) {
        loop_io_watch(&keeld->signal_io, 0);
        loop_timer_stop(&keeld->order_timer);
        if (keeld->daemon) {
            daemon_report(keeld->daemon,
                          proto_new(REPORT_SIGNALLED, "i", (int32_t) info.ssi_signo));
        }
        loop_timer_start(&keeld->end_timer, LAST_REPORT_US);
    }
}

static void signal_over(struct loop_timer *timer)
{
    stop(container_of(timer, struct keeld, end_timer), EXIT_RUNTIME);
}

/* Whoever has started this daemon has gone, and with it the reason to call home: an agent whose end
 * of standard error is closed has ended. */
static void agent_ready(struct loop_io *io, short events)
{
    (void) events;
    struct keeld *keeld = container_of(io, struct keeld, agent_io);
    struct pollfd output = {.fd = STDERR_FILENO};
    loop_io_watch(&keeld->agent_io, 0);
    if (poll(&output, 1, 0) > 0) {
        stop(keeld, EXIT_RUNTIME);
    }
}

static void watch_agent(struct keeld *keeld)
{
    struct stat status;
    loop_io_init(&keeld->agent_io, keeld->loop, STDERR_FILENO, agent_ready);
    if (keeld->home.agent && fstat(STDERR_FILENO, &status) == 0 &&
        (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))) {
        loop_io_watch(&keeld->agent_io, EV_READ);
    }
}

static void order_late(struct loop_timer *timer)
{
    struct keeld *keeld = container_of(timer, struct keeld, order_timer);
    fprintf(stderr, "keeld: node %s: %s\n", keeld->home.node, keeld->complaint);
    stop(keeld, EXIT_RUNTIME);
}

/* --- starting --- */

/* Reads standard input up to the line with a dot, or its end. Returns the bytes, or -1. */
static ssize_t read_input(char *text, size_t max)
{
    size_t used = 0;
    uint64_t deadline = clock_us() + INPUT_WAIT_US;
    while (used < max) {
        struct pollfd input = {.fd = 0, .events = POLLIN};
        uint64_t now = clock_us();
        if (now >= deadline || poll(&input, 1, (int) ((deadline - now) / 1000u) + 1) < 0) {
            return -1;
        }
        ssize_t got = input.revents ? read(0, text + used, max - used) : 0;
        if (got < 0 && errno != EINTR && errno != EAGAIN) {
            return -1;
        }
        if (got == 0 && input.revents) {
            return (ssize_t) used;
        }
        used += got > 0 ? (size_t) got : 0;
        if (used >= 3 && memcmp(text + used - 3, "\n.\n", 3) == 0) {
            return (ssize_t) used;
        }
    }
    return -1;
}

/* Of keeld. */
static int read_home(struct home *home, char *reason, size_t reason_size)
{
    char *text = malloc(HOME_SIZE_MAX);
    ssize_t size = text ? read_input(text, HOME_SIZE_MAX) : -1;
    int status = ORTE_ERR_FILE_READ_FAILURE;
    if (size > 0) {
        status = home_parse(home, text, (size_t) size, reason, reason_size);
    } else {
        usleep(LAST_ORDER_US); /* SIGTERM is not blocked yet: it ends this process */
        snprintf(reason, reason_size, "standard input: nothing from keelrun");
    }
    if (text) {
        crypto_wipe(text, HOME_SIZE_MAX);
        free(text);
    }
    return status;
}

/* Of several daemons that one agent started, told all the same, this is the one of its node. Slurm
 * says what it calls the node; that need not be the host's name. */
static int choose_node(struct home *home, char *reason, size_t reason_size)
{
    char own[256];
    host_name(own, sizeof(own));
    const char *slurm = getenv("SLURMD_NODENAME");
    const char *const names[] = {slurm ? slurm : own, own, NULL};
    return home->nodes ? home_choose(home, names, reason, reason_size) : ORTE_SUCCESS;
}

/* keelrun's parameters become this daemon's, and its ranks'. */
static void take_settings(char **settings)
{
    for (; settings && *settings; settings++) {
        char *equals = strchr(*settings, '=');
        *equals = '\0';
        setenv(*settings, equals + 1, 1);
        *equals = '=';
    }
}

static void complain_late(struct keeld *keeld, const char *reason)
{
    if (keeld->end_timer.started) {
        return;
    }
    if (asprintf(&keeld->complaint, "cannot reach keelrun at %s: %s", keeld->home.contact, reason) <
        0) {
        keeld->complaint = NULL;
        stop(keeld, EXIT_RUNTIME);
        return;
    }
    loop_timer_start(&keeld->order_timer, LAST_ORDER_US);
}

static void at_home(void *arg, int status, const char *reason)
{
    struct keeld *keeld = arg;
    loop_io_watch(&keeld->agent_io, 0);
    if (status != ORTE_SUCCESS) {
        complain_late(keeld, reason ? reason : opal_strerror(status));
        return;
    }
    char hash[TOPO_HASH_TEXT] = "";
    if (keeld->home.topology) {
        topology_read(keeld->daemon, hash);
    }
    daemon_report(keeld->daemon, proto_new(REPORT_HOME, "ss", keeld->daemon->contact, hash));
}

static int open_daemon(struct keeld *keeld, char *reason, size_t reason_size)
{
    const struct home *home = &keeld->home;
    struct daemon_config config = {
        .job = &home->job,
        .vpid = home->vpid,
        .count = home->count,
        .radix = home->radix,
        .node = home->node,
        .hnp_contact = home->contact,
        .shepherd = keeld->shepherd,
        .service_table = launcher_services,
        .home = home,
        .loop = keeld->loop,
    };
    int status = daemon_create(&keeld->daemon, &config, &daemon_ops, keeld, reason, reason_size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    uint32_t children[1];
    if (tree_children(home->radix, home->count, home->vpid, children, 1) > 0) {
        status = daemon_listen(keeld->daemon, reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        status = rml_connect(keeld->daemon->rml, home->contact, OOB_KEY_CONTROL, home_try_us(),
                             at_home, keeld);
    }
    return status;
}

/* how: SIG_BLOCK or SIG_UNBLOCK */
static void mask_signals(int how, sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGINT);
    pthread_sigmask(how, set, NULL);
}

static int open_signals(struct keeld *keeld)
{
    sigset_t set;
    mask_signals(SIG_BLOCK, &set);
    signal(SIGPIPE, SIG_IGN);
    keeld->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (keeld->signals < 0) {
        return ORTE_ERR_IN_ERRNO;
    }
    loop_timer_init(&keeld->end_timer, keeld->loop, signal_over);
    loop_timer_init(&keeld->order_timer, keeld->loop, order_late);
    loop_io_init(&keeld->signal_io, keeld->loop, keeld->signals, signal_ready);
    loop_io_watch(&keeld->signal_io, EV_READ);
    watch_agent(keeld);
    return ORTE_SUCCESS;
}

/* Frees what is the job's. False: something of it may be left in this process. */
static bool close_job(struct keeld *keeld)
{
    bool whole = daemon_destroy(keeld->daemon);
    if (keeld->signals >= 0) {
        loop_io_watch(&keeld->signal_io, 0);
        loop_io_watch(&keeld->agent_io, 0);
        loop_timer_stop(&keeld->end_timer);
        loop_timer_stop(&keeld->order_timer);
        fd_close(&keeld->signals);
    }
    free(keeld->complaint);
    environ = keeld->own_env;
    free(keeld->env);
    strings_free(keeld->strings);
    home_fini(&keeld->home);
    return whole;
}

static void close_process(struct keeld *keeld)
{
    shepherd_end(keeld->shepherd);
    loop_destroy(keeld->loop);
}

/* --- as a program, and as a fork --- */

/* From what it was told to the end of the job. status: of having been told. */
static void live(struct keeld *keeld, int status, char *reason, size_t reason_size)
{
    if (status == ORTE_SUCCESS) {
        take_settings(keeld->home.settings);
        log_open();
        status = fault_open(reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        status = open_signals(keeld);
    }
    if (status == ORTE_SUCCESS) {
        status = open_daemon(keeld, reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        loop_run(keeld->loop);
    } else {
        fprintf(stderr, "keeld: node %s: %s\n", keeld->home.node ? keeld->home.node : "?",
                reason[0] ? reason : opal_strerror(status));
    }
}

/* What needs to know nothing of a job. */
static bool open_keeld(struct keeld *keeld)
{
    *keeld = (struct keeld){.own_env = environ, .signals = -1, .exit_code = EXIT_RUNTIME};
    fd_fill_standard();
    int error = shepherd_start_with(&keeld->shepherd, keeld_spare_main);
    if (error != 0) {
        fprintf(stderr, "keeld: cannot fork: %s\n", strerror(-error));
        return false;
    }
    fd_raise_limit();
    int status = crypto_open();
    if (status == ORTE_SUCCESS) {
        status = loop_create(&keeld->loop);
    }
    if (status != ORTE_SUCCESS) {
        fprintf(stderr, "keeld: cannot start: %s\n", opal_strerror(status));
        close_process(keeld);
    }
    return status == ORTE_SUCCESS;
}

int keeld_main(void)
{
    struct keeld keeld;
    char reason[512] = "";
    if (!open_keeld(&keeld)) {
        return EXIT_RUNTIME;
    }
    int status = read_home(&keeld.home, reason, sizeof(reason));
    if (status == ORTE_SUCCESS) {
        status = choose_node(&keeld.home, reason, sizeof(reason));
    }
    live(&keeld, status, reason, sizeof(reason));
    (void) close_job(&keeld);
    close_process(&keeld);
    return keeld.exit_code;
}

/* --- a spare daemon --- */

/* Waits as long as the standing daemon lives, for its first byte. *got less than size: it ended. */
static int read_socket(void *data, size_t size, size_t *got)
{
    ssize_t some = 1;
    for (*got = 0; *got < size && some != 0; *got += some > 0 ? (size_t) some : 0) {
        some = read(RANK_SOCKET, (char *) data + *got, size - *got);
        if (some < 0 && errno != EINTR) {
            return ORTE_ERR_FILE_READ_FAILURE;
        }
    }
    return ORTE_SUCCESS;
}

/* The job's key is in it. */
static void release_hosting(opal_buffer_t *buffer)
{
    if (buffer && buffer->base_ptr) {
        crypto_wipe(buffer->base_ptr, buffer->bytes_used);
    }
    if (buffer) {
        OBJ_RELEASE(buffer);
    }
}

static int read_text(opal_buffer_t *buffer, size_t size)
{
    size_t got = 0;
    uint8_t *data = size > 0 && size <= HOSTING_SIZE_MAX ? malloc(size) : NULL;
    int status = data ? read_socket(data, size, &got) : ORTE_ERR_OUT_OF_RESOURCE;
    if (status == ORTE_SUCCESS) {
        status =
            got == size ? opal_dss.load(buffer, data, (int32_t) size) : ORTE_ERR_FILE_READ_FAILURE;
    }
    if (status != ORTE_SUCCESS && data) {
        crypto_wipe(data, got);
        free(data);
    }
    return status;
}

/* NULL: there is no standing daemon any more, and no job. */
static int read_hosting(opal_buffer_t **out)
{
    uint8_t header[FRAME_HEADER];
    size_t got;
    opal_buffer_t *buffer = NULL;
    int status = read_socket(header, sizeof(header), &got);
    if (status == ORTE_SUCCESS && got == sizeof(header)) {
        buffer = OBJ_NEW(opal_buffer_t);
        status = buffer ? read_text(buffer, get_le32(header)) : ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (status != ORTE_SUCCESS) {
        release_hosting(buffer);
        buffer = NULL;
    }
    *out = buffer;
    return status;
}

/* setenv may put strings of its own in place of some, and takes another array for more. */
static int take_environment(struct keeld *keeld, char **strings)
{
    size_t size = (strings_count(strings) + 1) * sizeof(*strings);
    keeld->strings = strings;
    keeld->env = calloc(1, size);
    if (!keeld->env) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (strings) {
        memcpy(keeld->env, strings, size);
    }
    environ = keeld->env;
    return ORTE_SUCCESS;
}

/* This process is the submitter's now. */
static int take_hosting(struct keeld *keeld, opal_buffer_t *buffer, char *reason,
                        size_t reason_size)
{
    struct hosting hosting;
    int status = hosting_unpack(buffer, &hosting);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    prctl(PR_SET_NAME, "keeld");
    umask((mode_t) hosting.mask);
    shepherd_umask(keeld->shepherd, (mode_t) hosting.mask);
    status = take_environment(keeld, hosting.env);
    hosting.env = NULL;
    if (status == ORTE_SUCCESS) {
        status = home_parse(&keeld->home, (const char *) hosting.text, hosting.size, reason,
                            reason_size);
    }
    hosting_fini(&hosting);
    return status;
}

static bool may_serve_on(const struct keeld *keeld)
{
    struct rusage used;
    return keeld->exit_code == 0 && !fault_enabled && getrusage(RUSAGE_SELF, &used) == 0 &&
           hosting_serves_on(keeld->jobs, used.ru_maxrss);
}

/* Its job has ended. True: nothing of it is left, as if there had been none. */
static bool renew(struct keeld *keeld)
{
    sigset_t set;
    keeld->jobs++;
    bool orderly = may_serve_on(keeld);
    if (!close_job(keeld) || !orderly || !shepherd_clear(keeld->shepherd)) {
        return false;
    }
    *keeld = (struct keeld){.loop = keeld->loop,
                            .shepherd = keeld->shepherd,
                            .own_env = keeld->own_env,
                            .signals = -1,
                            .jobs = keeld->jobs,
                            .exit_code = EXIT_RUNTIME};
    param_forget();
    log_set_identity(NULL, NULL);
    mask_signals(SIG_UNBLOCK, &set);
    return true;
}

/* Waits for a job, and serves it. True: for another one, too. */
static bool serve(struct keeld *keeld)
{
    char reason[512] = "";
    opal_buffer_t *buffer;
    prctl(PR_SET_NAME, SPARE_NAME);
    int status = read_hosting(&buffer);
    if (status == ORTE_SUCCESS && !buffer) {
        keeld->exit_code = 0;
        return false;
    }
    if (status == ORTE_SUCCESS) {
        status = take_hosting(keeld, buffer, reason, sizeof(reason));
    }
    release_hosting(buffer);
    live(keeld, status, reason, sizeof(reason));
    return renew(keeld);
}

int keeld_spare_main(void)
{
    struct keeld keeld;
    if (!open_keeld(&keeld)) {
        return EXIT_RUNTIME;
    }
    while (serve(&keeld)) {
        (void) !write(RANK_SOCKET, "", 1); /* whether anybody reads it is seen by the next read */
    }
    close_process(&keeld);
    return keeld.exit_code;
}
