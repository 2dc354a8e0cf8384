#include <config.h>

#include <launcher/front/frontend.h>

#include <base/net/sock.h>
#include <base/settings/log.h>
#include <base/text/reason.h>
#include <base/text/sysfile.h>
#include <errno.h>
#include <fcntl.h>
#include <launcher/front/output.h>
#include <launcher/front/progress.h>
#include <launcher/front/stdio.h>
#include <launcher/request/submit.h>
#include <rml/interface/core.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <wireup/job_map.h>
#include <wireup/proto.h>

#define LATE_OUTPUT_US 5000000u /* for output that nobody reads, when the job has failed */

struct frontend {
    struct loop *loop;       /* borrowed */
    struct channel_end *hnp; /* borrowed */
    struct output *output;
    struct stdio_reader *reader; /* NULL: not asked for yet, or ended */
    bool input_over;             /* nothing more is to be read */
    struct progress progress;
    struct report_file *report; /* borrowed */
    bool pty;                   /* the ranks' output goes through ptys */
    int signals;                /* signalfd, owned */
    struct loop_io signal_io;
    struct loop_timer late_timer;
    bool ending;        /* the job is over; output is being written */
    bool stdout_closed; /* whoever read it has left */
    bool done;
    void (*stands)(void *arg); /* NULL: nobody waits for the DVM */
    void *stands_arg;
    int exit_code;
    char nspace[JOB_UUID_TEXT + 8];
};

static void finish(void *arg)
{
    struct frontend *frontend = arg;
    if (!frontend->done) {
        frontend->done = true;
        loop_stop(frontend->loop);
    }
}

/* --- signals --- */

static bool is_ignored(int signal)
{
    struct sigaction action;
    return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* Those that are handled here. */
static void handled(sigset_t *set)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};
    sigemptyset(set);
    if (!is_ignored(SIGHUP)) {
        sigaddset(set, SIGHUP); /* not under nohup */
    }
    if (!is_ignored(SIGTSTP)) {
        sigaddset(set, SIGTSTP);
    }
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
        sigaddset(set, signals[i]);
    }
}

void frontend_block_signals(void)
{
    sigset_t set;
    handled(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* who ignores it, as its parent may have, learns of no child's end */
    signal(SIGXFSZ, SIG_IGN); /* an output file that is too large is an error */
}

/* The user's Ctrl-Z: the ranks run on, and the other nodes wait for a while. This process stops as
 * by the signal itself: not at all where nobody could have it go on. */
static void suspend(struct frontend *frontend)
{
    char text[160], limit[64] = "";
    uint64_t grace_us = rml_lifeline_grace_us();
    sigset_t stop;
    if (grace_us > 0) {
        snprintf(limit, sizeof(limit), "; other nodes wait for it for %llu s",
                 (unsigned long long) (grace_us / 1000000));
    }
    snprintf(text, sizeof(text), "suspended: the job goes on without keelrun%s", limit);
    progress_clear(&frontend->progress);
    (void) output_line_now(text);
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    raise(SIGTSTP);
    pthread_sigmask(SIG_UNBLOCK, &stop, NULL); /* here it waits for SIGCONT */
    pthread_sigmask(SIG_BLOCK, &stop, NULL);
}

static void tell_window(struct frontend *frontend)
{
    struct window window = pty_window();
    if (frontend->pty) {
        channel_send(frontend->hnp, proto_new(FRONT_WINDOW, "uu", (uint32_t) window.rows,
                                              (uint32_t) window.columns));
    }
}

/* Who has sent a signal; "" for the kernel, as for a key on the terminal. */
static void name_sender(const struct signalfd_siginfo *info, char *text, size_t size)
{
    char path[64], name[32];
    text[0] = '\0';
    if (info->ssi_pid != 0) {
        snprintf(path, sizeof(path), "/proc/%u/comm", info->ssi_pid);
        bool named = sysfile_line(path, name, sizeof(name));
        reason_printable(name);
        snprintf(text, size, "process %u%s%s%s", info->ssi_pid, named ? " (" : "", name,
                 named ? ")" : "");
    }
}

static void signal_ready(struct loop_io *io, short events)
{
    (void) events;
    struct frontend *frontend = container_of(io, struct frontend, signal_io);
    struct signalfd_siginfo info;
    char sender[80];
    while (read(frontend->signals, &info, sizeof(info)) == sizeof(info)) {
        int32_t signal = (int32_t) info.ssi_signo;
        bool interrupt = signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
        if (signal == SIGCONT && frontend->reader) {
            stdio_reader_allow(frontend->reader, 0); /* perhaps in the background from now on */
        }
        if (signal == SIGTSTP) {
            suspend(frontend);
        } else if (signal == SIGWINCH) {
            tell_window(frontend);
        } else if (frontend->ending && interrupt) {
            finish(frontend); /* whoever reads the output does not want to */
        } else {
            name_sender(&info, sender, sizeof(sender));
            channel_send(frontend->hnp, proto_new(FRONT_SIGNAL, "is", signal, sender));
        }
    }
}

static int open_signals(struct frontend *frontend)
{
    sigset_t set;
    handled(&set);
    frontend->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (frontend->signals < 0) {
        return ORTE_ERR_IN_ERRNO;
    }
    loop_io_init(&frontend->signal_io, frontend->loop, frontend->signals, signal_ready);
    loop_io_watch(&frontend->signal_io, EV_READ);
    return ORTE_SUCCESS;
}

/* --- standard input --- */

static void input_data(void *arg, const void *data, size_t size)
{
    struct frontend *frontend = arg;
    channel_send(frontend->hnp, proto_new(FRONT_INPUT, "b", data, size));
}

static void input_ended(void *arg, int error)
{
    struct frontend *frontend = arg;
    if (error == EIO) { /* of a terminal: this job is in its background */
        log_info(LOG_LAUNCHER, "standard input cannot be read: %s", strerror(error));
    } else if (error) {
        log_warn(LOG_LAUNCHER, "standard input cannot be read: %s", strerror(error));
    }
    frontend->input_over = true;
    channel_send(frontend->hnp, proto_new(FRONT_INPUT, "b", NULL, (size_t) 0));
}

static void allow_input(struct frontend *frontend, uint32_t bytes)
{
    static const struct stdio_reader_ops ops = {.data = input_data, .ended = input_ended};
    if (!frontend->reader && !frontend->input_over &&
        stdio_reader_create(&frontend->reader, frontend->loop, 0, &ops, frontend) != ORTE_SUCCESS) {
        input_ended(frontend, ENOMEM);
    }
    if (frontend->reader) {
        stdio_reader_allow(frontend->reader, bytes);
    }
}

static void close_input(struct frontend *frontend)
{
    stdio_reader_end(frontend->reader);
    frontend->reader = NULL;
    frontend->input_over = true;
}

/* Nobody wants the rest: whoever writes it gets SIGPIPE, if it is a pipe that nobody else reads. */
static void leave_input(void)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) {
        (void) dup2(nothing, STDIN_FILENO);
        close(nothing);
    }
}

/* --- what the HNP says --- */

static void written(void *arg, uint32_t source, uint32_t bytes)
{
    struct frontend *frontend = arg;
    channel_send(frontend->hnp, proto_new(FRONT_WRITTEN, "uu", source, bytes));
}

/* Worth a line only when it is why keelrun fails. */
static void tell_closed(struct frontend *frontend)
{
    if (frontend->stdout_closed && frontend->ending && frontend->exit_code == 0) {
        output_line(frontend->output, "stdout: nobody reads it any more; some output is lost");
    }
}

static void tell_lost(struct frontend *frontend, uint8_t stream, int error)
{
    channel_send(frontend->hnp, proto_new(FRONT_OUTPUT_LOST, "ss",
                                          stream == 1 ? "stdout" : "stderr", strerror(error)));
}

/* Ranks whose output nobody reads learn of it as in any pipeline. What a full disk does not take is
 * dropped: a job that has run for days is not ended for it. */
static void output_failed(void *arg, uint8_t stream, int error)
{
    struct frontend *frontend = arg;
    char text[256];
    tell_lost(frontend, stream, error);
    if (error == EPIPE) {
        channel_send(frontend->hnp, proto_new(FRONT_OUTPUT_CLOSED, "c", stream));
        frontend->stdout_closed = frontend->stdout_closed || stream == 1;
        tell_closed(frontend);
    } else if (stream == 1) {
        snprintf(text, sizeof(text), "stdout: %s; the rest of the output is dropped",
                 strerror(error));
        output_line(frontend->output, text);
    }
}

static int take_output(struct frontend *frontend, opal_buffer_t *buffer)
{
    struct output_origin origin = {.nspace = frontend->nspace};
    char *node;
    uint8_t stream, *data;
    size_t size;
    int status = proto_unpack(buffer, "uuuscb", &origin.source, &origin.rank, &origin.pid, &node,
                              &stream, &data, &size);
    progress_end(&frontend->progress);
    if (status == OPAL_SUCCESS && (stream == 1 || stream == 2)) {
        origin.node = node;
        origin.number = stream;
        output_put(frontend->output, &origin, data, size);
    }
    free(node);
    free(data);
    return status;
}

/* As the PMIx server names it. */
static int take_job(struct frontend *frontend, opal_buffer_t *buffer)
{
    char *uuid;
    int status = proto_unpack(buffer, "s", &uuid);
    if (status == OPAL_SUCCESS) {
        snprintf(frontend->nspace, sizeof(frontend->nspace), "keel-%s", uuid);
        free(uuid);
    }
    return status;
}

static int take_text(struct frontend *frontend, opal_buffer_t *buffer)
{
    char *text;
    int status = proto_unpack(buffer, "s", &text);
    if (status == OPAL_SUCCESS) {
        progress_clear(&frontend->progress);
        output_line(frontend->output, text);
        free(text);
    }
    return status;
}

static int take_plain(struct frontend *frontend, opal_buffer_t *buffer)
{
    uint8_t stream;
    char *text;
    int status = proto_unpack(buffer, "cs", &stream, &text);
    if (status == OPAL_SUCCESS) {
        progress_clear(&frontend->progress);
        output_plain(frontend->output, stream, text);
        free(text);
    }
    return status;
}

static int take_report(struct frontend *frontend, opal_buffer_t *buffer)
{
    char *line, reason[512];
    int status = proto_unpack(buffer, "s", &line);
    if (status == OPAL_SUCCESS && !frontend->report->path) {
        output_plain(frontend->output, STDERR_FILENO, line);
    } else if (status == OPAL_SUCCESS &&
               !report_file_write(frontend->report, line, reason, sizeof(reason))) {
        output_line(frontend->output, reason);
    }
    free(line);
    return status;
}

static int take_progress(struct frontend *frontend, opal_buffer_t *buffer)
{
    uint8_t over;
    uint32_t total, waiting;
    char *nodes = NULL;
    int status = proto_unpack(buffer, "cuus", &over, &total, &waiting, &nodes);
    if (status == OPAL_SUCCESS && over) {
        progress_end(&frontend->progress);
    } else if (status == OPAL_SUCCESS) {
        progress_show(&frontend->progress, total, waiting, nodes);
    }
    free(nodes);
    return status;
}

static int take_exit(struct frontend *frontend, opal_buffer_t *buffer)
{
    int32_t code;
    char reason[512];
    int status = proto_unpack(buffer, "i", &code);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (!report_file_close(frontend->report, reason, sizeof(reason))) {
        output_line(frontend->output, reason);
    }
    progress_end(&frontend->progress);
    frontend->exit_code = code;
    frontend->ending = true;
    close_input(frontend);
    tell_closed(frontend);
    if (code != 0) {
        loop_timer_start(&frontend->late_timer, LATE_OUTPUT_US);
    }
    output_finish(frontend->output, finish);
    return ORTE_SUCCESS;
}

static void late(struct loop_timer *timer)
{
    struct frontend *frontend = container_of(timer, struct frontend, late_timer);
    log_warn(LOG_LAUNCHER, "nobody reads the rest of the output; it is dropped");
    finish(frontend);
}

static int take(struct frontend *frontend, uint8_t kind, opal_buffer_t *buffer)
{
    uint32_t bytes = 0;
    int status;
    switch (kind) {
    case FRONT_OUTPUT:
        return take_output(frontend, buffer);
    case FRONT_INPUT_CREDIT:
        status = proto_unpack(buffer, "u", &bytes);
        if (status == OPAL_SUCCESS) {
            allow_input(frontend, bytes);
        }
        return status;
    case FRONT_INPUT_CLOSED:
        close_input(frontend);
        leave_input();
        return ORTE_SUCCESS;
    case FRONT_JOB:
        return take_job(frontend, buffer);
    case FRONT_TEXT:
        return take_text(frontend, buffer);
    case FRONT_PLAIN:
        return take_plain(frontend, buffer);
    case FRONT_REPORT:
        return take_report(frontend, buffer);
    case FRONT_PROGRESS:
        return take_progress(frontend, buffer);
    case FRONT_STANDS:
        if (frontend->stands) {
            frontend->stands(frontend->stands_arg);
        }
        return ORTE_SUCCESS;
    case FRONT_EXIT:
        return take_exit(frontend, buffer);
    default:
        return ORTE_ERR_BAD_PARAM;
    }
}

static void from_hnp(void *arg, opal_buffer_t *buffer)
{
    uint8_t kind = 0;
    int status = proto_unpack(buffer, "c", &kind);
    if (status == OPAL_SUCCESS) {
        status = take(arg, kind, buffer);
    }
    if (status != ORTE_SUCCESS) {
        log_error(LOG_LAUNCHER, "message %u of the HNP makes no sense: %s", kind,
                  opal_strerror(status));
    }
}

/* --- life --- */

static int submit(struct frontend *frontend, const struct run_request *request)
{
    opal_buffer_t *buffer = proto_new(FRONT_SUBMIT, "");
    int status = buffer ? submit_pack(buffer, request) : ORTE_ERR_OUT_OF_RESOURCE;
    if (status != ORTE_SUCCESS && buffer) {
        OBJ_RELEASE(buffer);
        return status;
    }
    channel_send(frontend->hnp, buffer);
    return status;
}

static const struct output_ops output_ops = {.written = written, .failed = output_failed};

int frontend_create(struct frontend **out, struct loop *loop, struct channel_end *hnp,
                    const struct run_request *request, struct report_file *report)
{
    struct frontend *frontend = calloc(1, sizeof(*frontend));
    if (!frontend) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    frontend->loop = loop;
    frontend->hnp = hnp;
    frontend->report = report;
    frontend->pty = request->pty == PTY_ALWAYS;
    frontend->signals = -1;
    loop_timer_init(&frontend->late_timer, loop, late);
    progress_start(&frontend->progress, loop, hnp);
    channel_receive(hnp, from_hnp, frontend);
    int status = output_create(&frontend->output, loop, &request->output, &output_ops, frontend);
    if (status == ORTE_SUCCESS) {
        status = open_signals(frontend);
    }
    if (status == ORTE_SUCCESS) {
        status = submit(frontend, request);
    }
    if (status != ORTE_SUCCESS) {
        frontend_destroy(frontend);
        return status;
    }
    *out = frontend;
    return ORTE_SUCCESS;
}

void frontend_on_stands(struct frontend *frontend, void (*stands)(void *arg), void *arg)
{
    frontend->stands = stands;
    frontend->stands_arg = arg;
}

void frontend_destroy(struct frontend *frontend)
{
    if (!frontend) {
        return;
    }
    stdio_reader_end(frontend->reader);
    output_destroy(frontend->output);
    loop_timer_stop(&frontend->late_timer);
    progress_end(&frontend->progress);
    if (frontend->signals >= 0) {
        loop_io_watch(&frontend->signal_io, 0);
        fd_close(&frontend->signals);
    }
    free(frontend);
}

int frontend_exit_code(const struct frontend *frontend)
{
    bool lost = output_is_lost(frontend->output);
    return frontend->exit_code == 0 && lost ? EXIT_RUNTIME : frontend->exit_code;
}
