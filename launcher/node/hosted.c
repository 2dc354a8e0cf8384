#include <config.h>

#include <launcher/node/hosted.h>

#include <base/data/strings.h>
#include <base/host/paths.h>
#include <base/net/sock.h>
#include <launcher/agent/agent.h>
#include <launcher/agent/said.h>
#include <launcher/node/daemon.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wireup/proto.h>

/* Ids of the shepherd above those of agents, for there are no more daemons than that. */
#define HOSTED_FIRST 0xc0000000u
#define END_US 5000000u  /* when their job is over: to end by themselves */
#define KILL_US 1000000u /* SIGTERM was not enough */

/* A daemon of another job. */
struct hosted {
    struct list link; /* in daemon->hosted */
    struct daemon *daemon;
    uint64_t job;
    uint32_t vpid, id;
    char *text; /* owned: what it is to be told; NULL: it was */
    size_t size;
    struct said said;
    struct loop_timer timer; /* its job is over */
    bool ended;              /* by SIGTERM; SIGKILL is next */
};

static struct hosted *find(const struct daemon *daemon, uint32_t id)
{
    struct hosted *hosted;
    list_for_each (hosted, &daemon->hosted, struct hosted, link) {
        if (hosted->id == id) {
            return hosted;
        }
    }
    return NULL;
}

/* One that no living one has. */
static uint32_t new_id(struct daemon *daemon)
{
    do {
        daemon->last_hosted = (daemon->last_hosted + 1) & ~HOSTED_FIRST;
    } while (find(daemon, HOSTED_FIRST | daemon->last_hosted));
    return HOSTED_FIRST | daemon->last_hosted;
}

static void destroy(struct hosted *hosted)
{
    if (!hosted) {
        return;
    }
    list_remove(&hosted->link);
    loop_timer_stop(&hosted->timer);
    said_fini(&hosted->said);
    if (hosted->text) {
        crypto_wipe(hosted->text, hosted->size);
        free(hosted->text);
    }
    free(hosted);
}

static void report_end(struct daemon *daemon, uint64_t job, uint32_t vpid, const char *why)
{
    daemon_report(daemon, proto_new(REPORT_UNHOSTED, "qus", job, vpid, why));
}

static void pass(struct said *said, const char *line)
{
    const struct hosted *hosted = container_of(said, struct hosted, said);
    daemon_report(hosted->daemon, proto_new(REPORT_HOSTED, "qs", hosted->job, line));
}

static void timer_fired(struct loop_timer *timer)
{
    struct hosted *hosted = container_of(timer, struct hosted, timer);
    shepherd_signal(hosted->daemon->shepherd, hosted->id, hosted->ended ? SIGKILL : SIGTERM);
    hosted->ended = true;
    loop_timer_start(timer, KILL_US);
}

/* --- the shepherd's events --- */

bool hosted_started(struct daemon *daemon, uint32_t id, int input, int errors)
{
    struct hosted *hosted = find(daemon, id);
    if (!hosted) {
        return false;
    }
    char *text = hosted->text;
    hosted->text = NULL;
    said_open(&hosted->said, errors);
    if (agent_tell(input, text, hosted->size) < 0) {
        shepherd_signal(daemon->shepherd, id, SIGTERM); /* its end is reported */
    }
    return true;
}

bool hosted_failed(struct daemon *daemon, uint32_t id, int error)
{
    struct hosted *hosted = find(daemon, id);
    char why[128];
    if (hosted) {
        snprintf(why, sizeof(why), "keeld cannot be started: %s", strerror(error));
        report_end(daemon, hosted->job, hosted->vpid, why);
        destroy(hosted);
    }
    return hosted != NULL;
}

bool hosted_exited(struct daemon *daemon, uint32_t id, int wait_status)
{
    struct hosted *hosted = find(daemon, id);
    char how[64], why[96];
    if (hosted) {
        said_close(&hosted->said);
        agent_describe_end(how, sizeof(how), wait_status);
        snprintf(why, sizeof(why), "its daemon %s", how);
        report_end(daemon, hosted->job, hosted->vpid, why);
        destroy(hosted);
    }
    return hosted != NULL;
}

/* --- orders --- */

static int run(struct hosted *hosted, uint32_t mask, char *const *env)
{
    static char vpid_option[] = "--vpid", mask_option[] = "--umask";
    char vpid[16], digits[16];
    char *keeld = paths_program("keeld");
    snprintf(vpid, sizeof(vpid), "%u", hosted->vpid);
    snprintf(digits, sizeof(digits), "%03o", mask);
    char *words[] = {keeld, vpid_option, vpid, mask_option, digits, NULL};
    struct agent_command command = {
        .kind = PROC_AGENT, .words = words, .env = env, .err = STDIO_PIPE};
    int error = keeld ? agent_run(hosted->daemon->shepherd, hosted->id, &command) : -ENOENT;
    free(keeld);
    return error;
}

static struct hosted *add(struct daemon *daemon, uint64_t job, uint32_t vpid)
{
    struct hosted *hosted = calloc(1, sizeof(*hosted));
    if (!hosted) {
        return NULL;
    }
    *hosted = (struct hosted){.daemon = daemon, .job = job, .vpid = vpid};
    hosted->id = new_id(daemon);
    said_init(&hosted->said, daemon->loop, pass);
    said_pass(&hosted->said);
    loop_timer_init(&hosted->timer, daemon->loop, timer_fired);
    list_append(&daemon->hosted, &hosted->link);
    return hosted;
}

/* What an order says behind the job and the vpid. */
static int take_order(struct hosted *hosted, uint32_t *mask, char ***env, opal_buffer_t *buffer)
{
    uint8_t *text = NULL;
    int status = proto_unpack(buffer, "ub", mask, &text, &hosted->size);
    hosted->text = (char *) text;
    if (status == OPAL_SUCCESS) {
        status = proto_unpack_strings(buffer, env);
    }
    if (status == OPAL_SUCCESS &&
        (hosted->size == 0 || hosted->size > HOME_SIZE_MAX || *mask > 0777)) {
        status = ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    return status;
}

int hosted_start(struct daemon *daemon, opal_buffer_t *buffer)
{
    uint64_t job;
    uint32_t vpid, mask = 0;
    char **env = NULL;
    int status = proto_unpack(buffer, "qu", &job, &vpid);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    struct hosted *hosted = add(daemon, job, vpid);
    status = hosted ? take_order(hosted, &mask, &env, buffer) : ORTE_ERR_OUT_OF_RESOURCE;
    if (status != ORTE_SUCCESS) {
        report_end(daemon, job, vpid, opal_strerror(status));
        destroy(hosted);
    } else {
        int error = run(hosted, mask, env);
        if (error < 0) {
            (void) hosted_failed(daemon, hosted->id, -error);
        }
    }
    strings_free(env);
    return status;
}

int hosted_over(struct daemon *daemon, opal_buffer_t *buffer)
{
    uint64_t job;
    struct hosted *hosted;
    int status = proto_unpack(buffer, "q", &job);
    list_for_each (hosted, &daemon->hosted, struct hosted, link) {
        if (status == OPAL_SUCCESS && hosted->job == job) {
            loop_timer_start(&hosted->timer, END_US);
        }
    }
    return status;
}

void hosted_destroy(struct daemon *daemon)
{
    struct hosted *hosted;
    list_for_each (hosted, &daemon->hosted, struct hosted, link) {
        destroy(hosted);
    }
}
