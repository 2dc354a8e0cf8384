#include <config.h>

#include <launcher/node/hosted.h>

#include <base/data/bytes.h>
#include <base/data/crypto.h>
#include <base/net/sock.h>
#include <errno.h>
#include <launcher/agent/agent.h>
#include <launcher/agent/said.h>
#include <launcher/node/daemon.h>
#include <launcher/node/orders/hosting.h>
#include <launcher/shepherd/program.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wireup/frame.h>
#include <wireup/proto.h>

/* Ids of the shepherd above those of agents, for there are no more daemons than that. */
#define HOSTED_FIRST 0xc0000000u
#define KILL_US 1000000u /* SIGTERM was not enough */
#define SPARE_US 100000u /* from the last start of one on: the next does not slow that down */

/* A daemon of another job, or the spare one. */
struct hosted {
    struct list link; /* in hosts->all */
    struct hosts *hosts;
    uint64_t job;
    uint32_t vpid, id;
    int line; /* owned: to its RANK_SOCKET (hosting.h); -1: it is not started yet, or ends */
    struct loop_io line_io;
    struct bytes text; /* what it is to be told; empty: nothing, or all is written */
    struct said said;
    struct loop_timer timer; /* it is to end */
    bool serves;             /* a job */
    bool spoke;              /* it has said something: it is not used again */
    bool ended;              /* by SIGTERM; SIGKILL is next */
};

struct hosts {
    struct daemon *daemon; /* borrowed */
    struct list all;
    struct hosted *spare; /* of them: waits for a job; NULL: none */
    struct loop_timer spare_timer;
    uint32_t last_number;
};

static struct hosted *find(const struct hosts *hosts, uint32_t id)
{
    struct hosted *hosted;
    if (!hosts) {
        return NULL;
    }
    list_for_each (hosted, &hosts->all, struct hosted, link) {
        if (hosted->id == id) {
            return hosted;
        }
    }
    return NULL;
}

/* One that no living one has. */
static uint32_t new_id(struct hosts *hosts)
{
    do {
        hosts->last_number = (hosts->last_number + 1) & ~HOSTED_FIRST;
    } while (find(hosts, HOSTED_FIRST | hosts->last_number));
    return HOSTED_FIRST | hosts->last_number;
}

static void forget_text(struct hosted *hosted)
{
    if (hosted->text.data) {
        crypto_wipe(hosted->text.data, hosted->text.capacity);
        bytes_fini(&hosted->text);
    }
}

/* It ends when it has no job. */
static void close_line(struct hosted *hosted)
{
    struct hosts *hosts = hosted->hosts;
    hosts->spare = hosts->spare == hosted ? NULL : hosts->spare;
    if (hosted->line >= 0) {
        loop_io_watch(&hosted->line_io, 0);
        fd_close(&hosted->line);
    }
    forget_text(hosted);
}

static void destroy(struct hosted *hosted)
{
    list_remove(&hosted->link);
    loop_timer_stop(&hosted->timer);
    said_fini(&hosted->said);
    close_line(hosted);
    free(hosted);
}

static void report_end(struct daemon *daemon, uint64_t job, uint32_t vpid, const char *why)
{
    daemon_report(daemon, proto_new(REPORT_UNHOSTED, "qus", job, vpid, why));
}

static void pass(struct said *said, const char *line)
{
    struct hosted *hosted = container_of(said, struct hosted, said);
    hosted->spoke = true;
    daemon_report(hosted->hosts->daemon, proto_new(REPORT_HOSTED, "qs", hosted->job, line));
}

static void timer_fired(struct loop_timer *timer)
{
    struct hosted *hosted = container_of(timer, struct hosted, timer);
    shepherd_signal(hosted->hosts->daemon->shepherd, hosted->id, hosted->ended ? SIGKILL : SIGTERM);
    hosted->ended = true;
    loop_timer_start(timer, KILL_US);
}

/* --- one --- */

/* A fork of the shepherd, which runs keeld_spare_main (keeld_main.c). */
static void run(struct hosted *hosted)
{
    struct shepherd *shepherd = hosted->hosts->daemon->shepherd;
    struct start_app app = {
        .kind = PROC_AGENT, .out = STDIO_NULL, .err = STDIO_PIPE, .socket = true};
    struct start_proc proc = {.id = hosted->id, .in = STDIO_NULL};
    shepherd_define_app(shepherd, AGENT_APP, &app);
    shepherd_start_proc(shepherd, AGENT_APP, &proc);
}

/* Writes what it takes. One that has closed its end ends, and how it ends says more. */
static void tell(struct hosted *hosted)
{
    struct bytes *text = &hosted->text;
    ssize_t written = 0;
    while (bytes_waiting(text) > 0 && (written >= 0 || errno == EINTR)) {
        written = write(hosted->line, text->data + text->head, bytes_waiting(text));
        bytes_consume(text, written > 0 ? (size_t) written : 0);
    }
    if (written < 0 && errno != EAGAIN) {
        close_line(hosted);
        return;
    }
    loop_io_watch(&hosted->line_io, bytes_waiting(text) > 0 ? EV_READ | EV_WRITE : EV_READ);
    if (bytes_waiting(text) == 0) {
        forget_text(hosted);
    }
}

/* It has nothing of its job any more, and takes the place of one that was started meanwhile. Where
 * it is not wanted again it ends, which is reported. */
static void job_done(struct hosted *hosted)
{
    struct hosts *hosts = hosted->hosts;
    lines_read(&hosted->said.lines);
    bool silent = !hosted->spoke && hosted->said.lines.used == 0;
    if (!hosted->serves || hosted->ended || !silent) {
        close_line(hosted);
        return;
    }
    loop_timer_stop(&hosted->timer);
    hosted->serves = false;
    report_end(hosts->daemon, hosted->job, hosted->vpid, "its daemon has ended its part");
    if (hosts->spare) {
        close_line(hosts->spare);
    }
    hosts->spare = hosted;
}

static void line_ready(struct loop_io *io, short events)
{
    struct hosted *hosted = container_of(io, struct hosted, line_io);
    char byte;
    ssize_t got = events & EV_READ ? read(hosted->line, &byte, 1) : 1;
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        close_line(hosted);
    } else if (got > 0 && events & EV_READ) {
        job_done(hosted);
    } else if (events & EV_WRITE) {
        tell(hosted);
    }
}

static struct hosted *start(struct hosts *hosts)
{
    struct hosted *hosted = calloc(1, sizeof(*hosted));
    if (!hosted) {
        return NULL;
    }
    *hosted = (struct hosted){.hosts = hosts, .id = new_id(hosts), .line = -1};
    said_init(&hosted->said, hosts->daemon->loop, pass);
    said_pass(&hosted->said);
    loop_timer_init(&hosted->timer, hosts->daemon->loop, timer_fired);
    list_append(&hosts->all, &hosted->link);
    run(hosted);
    return hosted;
}

/* Where it cannot be had, the next job tries again. */
static void start_spare(struct hosts *hosts)
{
    hosts->spare = hosts->spare ? hosts->spare : start(hosts);
}

static void spare_due(struct loop_timer *timer)
{
    start_spare(container_of(timer, struct hosts, spare_timer));
}

/* --- the shepherd's events --- */

bool hosted_started(struct daemon *daemon, uint32_t id, int line, int errors)
{
    struct hosted *hosted = find(daemon->hosts, id);
    if (!hosted) {
        return false;
    }
    hosted->line = line;
    loop_io_init(&hosted->line_io, daemon->loop, line, line_ready);
    said_open(&hosted->said, errors);
    if (hosted->serves || hosted == daemon->hosts->spare) {
        tell(hosted);
    } else { /* one that has ended its job has taken its place meanwhile */
        close_line(hosted);
    }
    return true;
}

bool hosted_failed(struct daemon *daemon, uint32_t id, int error)
{
    struct hosted *hosted = find(daemon->hosts, id);
    char why[128];
    if (!hosted) {
        return false;
    }
    if (hosted->serves) {
        snprintf(why, sizeof(why), "its daemon cannot be started: %s", program_strerror(error));
        report_end(daemon, hosted->job, hosted->vpid, why);
    }
    destroy(hosted);
    return true;
}

bool hosted_exited(struct daemon *daemon, uint32_t id, int wait_status)
{
    struct hosted *hosted = find(daemon->hosts, id);
    char how[64], why[96];
    if (!hosted) {
        return false;
    }
    if (hosted->serves) {
        said_close(&hosted->said);
        agent_describe_end(how, sizeof(how), wait_status);
        snprintf(why, sizeof(why), "its daemon %s", how);
        report_end(daemon, hosted->job, hosted->vpid, why);
    }
    destroy(hosted);
    return true;
}

/* --- orders --- */

static int open_hosts(struct daemon *daemon)
{
    struct hosts *hosts = calloc(1, sizeof(*hosts));
    if (!hosts) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    hosts->daemon = daemon;
    list_init(&hosts->all);
    loop_timer_init(&hosts->spare_timer, daemon->loop, spare_due);
    daemon->hosts = hosts;
    return ORTE_SUCCESS;
}

/* The spare daemon, or a new one, is of this job from now on. */
static int host(struct hosts *hosts, uint64_t job, uint32_t vpid, const opal_buffer_t *text)
{
    start_spare(hosts);
    struct hosted *hosted = hosts->spare;
    if (!hosted || frame_put(&hosted->text, text, HOSTING_SIZE_MAX) != ORTE_SUCCESS) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    hosts->spare = NULL;
    hosted->job = job;
    hosted->vpid = vpid;
    hosted->serves = true;
    loop_timer_start(&hosts->spare_timer, SPARE_US);
    if (hosted->line >= 0) {
        tell(hosted);
    }
    return ORTE_SUCCESS;
}

int hosted_start(struct daemon *daemon, opal_buffer_t *buffer)
{
    uint64_t job;
    uint32_t vpid;
    int status = proto_unpack(buffer, "qu", &job, &vpid);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (proto_left(buffer) == 0 || proto_left(buffer) > HOSTING_SIZE_MAX) {
        status = ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    } else if (!daemon->hosts) {
        status = open_hosts(daemon);
    }
    if (status == ORTE_SUCCESS) {
        status = host(daemon->hosts, job, vpid, buffer);
    }
    if (status != ORTE_SUCCESS) {
        report_end(daemon, job, vpid, opal_strerror(status));
    }
    return status;
}

int hosted_over(struct daemon *daemon, opal_buffer_t *buffer)
{
    uint64_t job;
    struct hosted *hosted;
    int status = proto_unpack(buffer, "q", &job);
    if (status != OPAL_SUCCESS || !daemon->hosts) {
        return status;
    }
    list_for_each (hosted, &daemon->hosts->all, struct hosted, link) {
        if (hosted->job == job && hosted->serves) {
            timer_fired(&hosted->timer);
        }
    }
    return status;
}

void hosted_destroy(struct daemon *daemon)
{
    struct hosted *hosted;
    if (!daemon->hosts) {
        return;
    }
    list_for_each (hosted, &daemon->hosts->all, struct hosted, link) {
        destroy(hosted);
    }
    loop_timer_stop(&daemon->hosts->spare_timer);
    free(daemon->hosts);
}
