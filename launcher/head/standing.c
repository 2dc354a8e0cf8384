#include <config.h>

#include <launcher/head/standing_parts.h>

#include <base/data/array.h>
#include <base/data/strings.h>
#include <base/net/sock.h>
#include <base/settings/log.h>
#include <launcher/head/hnp.h>
#include <launcher/node/orders/home.h>
#include <launcher/node/orders/hosting.h>
#include <launcher/request/nodes/hostfile.h>
#include <launcher/standing/talk.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wireup/proto.h>

#define BACKLOG 1024
#define HELLO_US 30000000u  /* whoever connects has to say what it wants */
#define DAEMONS_US 5000000u /* the daemons of a job that is over end by themselves */
#define PAUSE_US 100000u    /* of accepting, when no descriptor is left */
#define END_US 15000000u    /* the jobs have when the DVM ends: longer than their own grace */

static struct submission *find_job(struct standing *standing, uint64_t job)
{
    struct submission *submission;
    list_for_each (submission, &standing->submissions, struct submission, link) {
        if (submission->job == job) {
            return submission;
        }
    }
    return NULL;
}

/* The daemons of one that has ended remove their folders. */
static bool has_jobs(const struct standing *standing)
{
    const struct submission *submission;
    list_for_each (submission, &standing->submissions, struct submission, link) {
        if (submission->state == TALKS_PLANS || submission->state == TALKS_RUNS ||
            submission->state == TALKS_ENDED) {
            return true;
        }
    }
    return false;
}

/* --- turns --- */

/* Two numbers for each node: slots, and how many of them are used. malloc'd; NULL: no memory. */
static uint32_t *count_slots(const struct standing *standing)
{
    const struct job_plan *plan = &standing->hnp->plan;
    uint32_t *numbers = calloc(2 * (size_t) plan->node_count, sizeof(*numbers));
    for (uint32_t i = 0; i < plan->node_count && numbers; i++) {
        numbers[2 * i] = standing_offers(standing, i) ? plan->nodes[i].slots : 0;
        numbers[2 * i + 1] = standing->used[i];
    }
    return numbers;
}

static opal_buffer_t *new_nodes(const struct standing *standing)
{
    const struct job_plan *plan = &standing->hnp->plan;
    opal_buffer_t *buffer = proto_new(TALK_NODES, "");
    uint32_t *numbers = count_slots(standing);
    char **names = NULL;
    bool whole = buffer && numbers;
    for (uint32_t i = 0; i < plan->node_count && whole; i++) {
        whole = strings_add(&names, strdup(plan->nodes[i].name));
    }
    int status = whole ? proto_pack_strings(buffer, names) : ORTE_ERR_OUT_OF_RESOURCE;
    if (status == OPAL_SUCCESS) {
        status = opal_dss.pack(buffer, numbers, (int32_t) (2 * plan->node_count), OPAL_UINT32);
    }
    strings_free(names);
    free(numbers);
    return proto_whole(buffer, status);
}

/* How long a submission may stay in a state; 0: for ever. To plan its job, a keelrun may start
 * daemons, which have their limit to come and once more to join. */
static uint64_t limit_us(enum submission_state state)
{
    return state == TALKS_NEW     ? HELLO_US
           : state == TALKS_PLANS ? 2 * home_limit_us()
           : state == TALKS_ENDED ? DAEMONS_US
                                  : 0;
}

/* The one place where a state changes. */
static void enter(struct submission *submission, enum submission_state state)
{
    struct standing *standing = submission->standing;
    if (state == TALKS_PLANS) {
        standing->planner = submission;
    } else if (standing->planner == submission) {
        standing->planner = NULL;
    }
    submission->state = state;
    loop_timer_stop(&submission->timer);
    if (limit_us(state) > 0) {
        loop_timer_start(&submission->timer, limit_us(state));
    }
}

/* The first that waits may plan. */
static void next_turn(struct standing *standing)
{
    struct submission *submission;
    list_for_each (submission, &standing->submissions, struct submission, link) {
        if (submission->state == TALKS_WAITS && !standing->planner && !standing->ending) {
            enter(submission, TALKS_PLANS);
            if (submission->hosts.count > 0) {
                standing_change(submission);
            } else {
                (void) talk_send(&submission->talk, new_nodes(standing));
            }
        }
    }
}

static void over(struct standing *standing)
{
    loop_timer_stop(&standing->end_timer);
    job_end_dry(&standing->hnp->job);
}

static void end_when_idle(struct standing *standing)
{
    if (standing->ending && !has_jobs(standing)) {
        over(standing);
    }
}

static void give_back(struct submission *submission)
{
    struct standing *standing = submission->standing;
    for (uint32_t i = 0; i < submission->slot_count; i++) {
        standing->used[i] -= submission->slots[i];
    }
    free(submission->slots);
    submission->slots = NULL;
    submission->slot_count = 0;
}

static void drop(struct submission *submission)
{
    list_remove(&submission->link);
    loop_timer_stop(&submission->timer);
    talk_close(&submission->talk);
    strings_free(submission->env);
    free(submission->slots);
    free(submission->daemons);
    node_list_fini(&submission->hosts);
    free(submission);
}

static void drop_ended(struct submission *submission)
{
    if (submission->state == TALKS_ENDED && submission->daemon_count == 0) {
        drop(submission);
    }
}

/* Its slots are free again. */
static void hung_up(void *arg)
{
    struct submission *submission = arg;
    struct standing *standing = submission->standing;
    give_back(submission);
    talk_close(&submission->talk);
    enter(submission, TALKS_ENDED);
    drop_ended(submission);
    next_turn(standing);
    end_when_idle(standing);
}

static void too_late(struct loop_timer *timer)
{
    struct submission *submission = container_of(timer, struct submission, timer);
    struct daemon *daemon = submission->standing->hnp->daemon;
    if (submission->state == TALKS_PLANS) {
        const char *why = submission->hosts.count > 0
                              ? "has not changed in time"
                              : "has waited too long for this job to be planned";
        (void) talk_send(&submission->talk, proto_new(TALK_OVER, "s", why));
    }
    if (submission->state != TALKS_ENDED) {
        hung_up(submission);
        return;
    }
    loop_timer_start(timer, DAEMONS_US); /* once more, where there was no memory for it */
    for (uint32_t i = 0; i < submission->daemon_count; i++) {
        (void) daemon_order(daemon, submission->daemons[i],
                            proto_new(ORDER_UNHOST, "q", submission->job));
    }
}

/* --- what a keelrun says --- */

/* It hangs up then, or its time is over. */
static int refuse(struct submission *submission, const char *why)
{
    (void) talk_send(&submission->talk, proto_new(TALK_OVER, "s", why));
    return ORTE_SUCCESS;
}

static int take_hello(struct submission *submission, opal_buffer_t *buffer)
{
    char *version = NULL;
    int status = proto_unpack(buffer, "su", &version, &submission->mask);
    if (status == OPAL_SUCCESS && strcmp(version, PACKAGE_VERSION) != 0) {
        free(version);
        return refuse(submission, "is of Keel " PACKAGE_VERSION ", and keelrun of another version");
    }
    free(version);
    if (status == OPAL_SUCCESS && submission->standing->ending) {
        return refuse(submission, "ends");
    }
    if (status == OPAL_SUCCESS) {
        status = proto_unpack_strings(buffer, &submission->env);
    }
    if (status == OPAL_SUCCESS && submission->mask > 0777) {
        status = ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    if (status == OPAL_SUCCESS) {
        enter(submission, TALKS_WAITS);
        next_turn(submission->standing);
    }
    return status;
}

/* It waits for its turn like a job that is planned. */
static int take_change(struct submission *submission, opal_buffer_t *buffer)
{
    uint8_t change;
    char *hosts = NULL, why[512] = "";
    int status = proto_unpack(buffer, "cs", &change, &hosts);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (change > TALK_ADD_FILE) {
        free(hosts);
        return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    status = change == TALK_ADD_FILE ? hostfile_parse(&submission->hosts, "the hostfile", hosts,
                                                      strlen(hosts), why, sizeof(why))
                                     : node_list_parse(&submission->hosts, hosts, strlen(hosts), 0,
                                                       0, why, sizeof(why));
    free(hosts);
    if (status != ORTE_SUCCESS || submission->standing->ending) {
        char text[600];
        snprintf(text, sizeof(text), status == ORTE_SUCCESS ? "ends" : "does not take it: %s", why);
        node_list_fini(&submission->hosts);
        return refuse(submission, text);
    }
    submission->adds = change != TALK_REMOVE;
    enter(submission, TALKS_WAITS);
    next_turn(submission->standing);
    return ORTE_SUCCESS;
}

/* In place of what it had: ranks that it spawns take some, too. */
static int take_slots(struct submission *submission, opal_buffer_t *buffer)
{
    struct standing *standing = submission->standing;
    uint32_t count, *taken = NULL;
    int status = proto_unpack(buffer, "u", &count);
    if (status == OPAL_SUCCESS && count > standing->hnp->plan.node_count) { /* some were added */
        status = ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    if (status == OPAL_SUCCESS) {
        status = proto_unpack_u32s(buffer, count, &taken);
    }
    if (status != OPAL_SUCCESS) {
        return status;
    }
    give_back(submission);
    submission->slots = taken;
    submission->slot_count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t room = UINT32_MAX - standing->used[i];
        taken[i] = taken[i] < room ? taken[i] : room;
        standing->used[i] += taken[i];
    }
    if (submission->state == TALKS_PLANS) {
        enter(submission, TALKS_RUNS);
        next_turn(standing);
    }
    return status;
}

/* That one has ended. Frees a submission that has only waited for it. */
static void forget_daemon(struct submission *submission, uint32_t vpid)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < submission->daemon_count; i++) {
        if (submission->daemons[i] != vpid) {
            submission->daemons[kept++] = submission->daemons[i];
        }
    }
    submission->daemon_count = kept;
    drop_ended(submission);
}

static int order_start(struct submission *submission, uint32_t daemon, uint32_t vpid, uint8_t *text,
                       size_t size)
{
    struct hnp *hnp = submission->standing->hnp;
    struct hosting hosting = {submission->mask, submission->env, text, size};
    opal_buffer_t *order =
        array_add(&submission->daemons, submission->daemon_count, sizeof(uint32_t))
            ? proto_new(ORDER_HOST, "qu", submission->job, vpid)
            : NULL;
    if (order) {
        order = proto_whole(order, hosting_pack(order, &hosting));
    }
    int status = order ? daemon_order(hnp->daemon, daemon, order) : ORTE_ERR_OUT_OF_RESOURCE;
    if (status == ORTE_SUCCESS) {
        submission->daemons[submission->daemon_count++] = daemon;
    }
    return status;
}

static int take_start(struct submission *submission, opal_buffer_t *buffer)
{
    struct standing *standing = submission->standing;
    uint32_t vpid, node;
    uint8_t *text = NULL;
    size_t size = 0;
    int status = proto_unpack(buffer, "uub", &vpid, &node, &text, &size);
    if (status == OPAL_SUCCESS && (node >= standing->hnp->plan.node_count || size == 0)) {
        status = ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    if (status == OPAL_SUCCESS) {
        uint32_t daemon = standing_daemon(standing, node);
        int sent = standing_offers(standing, node)
                       ? order_start(submission, daemon, vpid, text, size)
                       : ORTE_ERR_UNREACH;
        if (sent != ORTE_SUCCESS) {
            const char *why = sent != ORTE_ERR_UNREACH ? opal_strerror(sent)
                              : standing->hnp->plan.nodes[node].slots == 0
                                  ? "it was removed from the DVM"
                                  : "the DVM has lost its daemon";
            (void) talk_send(&submission->talk, proto_new(TALK_UNSTARTED, "us", vpid, why));
        }
    }
    if (text) {
        crypto_wipe(text, size);
        free(text);
    }
    return status;
}

static int heard(void *arg, uint8_t kind, opal_buffer_t *buffer)
{
    struct submission *submission = arg;
    enum submission_state state = submission->state;
    if (kind == TALK_HELLO && state == TALKS_NEW) {
        return take_hello(submission, buffer);
    }
    if (kind == TALK_TAKE && (state == TALKS_PLANS || state == TALKS_RUNS)) {
        return take_slots(submission, buffer);
    }
    if (kind == TALK_START && (state == TALKS_PLANS || state == TALKS_RUNS)) {
        return take_start(submission, buffer);
    }
    if (kind == TALK_CHANGE && state == TALKS_NEW) {
        return take_change(submission, buffer);
    }
    if (kind == TALK_STOP && state == TALKS_NEW) {
        enter(submission, TALKS_STOP);
        standing_end(submission->standing);
        return ORTE_SUCCESS;
    }
    return ORTE_ERR_BAD_PARAM;
}

/* --- those that come --- */

static void add(struct standing *standing, int fd)
{
    static const struct talk_ops ops = {.heard = heard, .ended = hung_up};
    struct submission *submission = calloc(1, sizeof(*submission));
    if (!submission) {
        close(fd);
        return;
    }
    submission->standing = standing;
    submission->job = ++standing->last_job;
    list_append(&standing->submissions, &submission->link);
    loop_timer_init(&submission->timer, standing->hnp->config.loop, too_late);
    enter(submission, TALKS_NEW);
    talk_open(&submission->talk, fd);
    talk_serve(&submission->talk, standing->hnp->config.loop, &ops, submission);
}

static void pause_over(struct loop_timer *timer)
{
    struct standing *standing = container_of(timer, struct standing, pause_timer);
    loop_io_watch(&standing->listener_io, EV_READ);
}

static void someone_comes(struct loop_io *io, short events)
{
    (void) events;
    struct standing *standing = container_of(io, struct standing, listener_io);
    uid_t uid = (uid_t) -1;
    pid_t pid = 0;
    int fd = sock_accept(standing->listener, NULL);
    if (sock_is_starved(fd)) {
        loop_io_watch(io, 0);
        loop_timer_start(&standing->pause_timer, PAUSE_US);
    }
    if (fd >= 0 && (sock_peer(fd, &uid, &pid) < 0 || uid != geteuid())) {
        log_warn(LOG_LAUNCHER, "process %d of user %u is not of this user: refused", (int) pid,
                 (unsigned) uid);
        fd_close(&fd);
    }
    if (fd >= 0) {
        add(standing, fd);
    }
}

static int listen_here(struct standing *standing, char *reason, size_t reason_size)
{
    char path[256];
    struct sock_addr addr;
    snprintf(path, sizeof(path), "%s/" TALK_SOCKET, standing->hnp->daemon->session);
    int error = sock_addr_unix(&addr, path);
    int fd = error == 0 ? sock_listen(&addr, BACKLOG) : error;
    if (fd < 0) {
        snprintf(reason, reason_size, "%s: %s", path, strerror(-fd));
        return ORTE_ERR_FILE_OPEN_FAILURE;
    }
    standing->listener = fd;
    loop_io_init(&standing->listener_io, standing->hnp->config.loop, fd, someone_comes);
    loop_io_watch(&standing->listener_io, EV_READ);
    return ORTE_SUCCESS;
}

/* --- what the dvm tells --- */

static void stands(struct dvm_user *user)
{
    struct standing *standing = container_of(user, struct standing, user);
    struct hnp *hnp = standing->hnp;
    char reason[512] = "out of memory";
    plm_started(&hnp->plm);
    standing->used = calloc(hnp->plan.node_count, sizeof(*standing->used));
    int status =
        standing->used ? listen_here(standing, reason, sizeof(reason)) : ORTE_ERR_OUT_OF_RESOURCE;
    if (status == ORTE_SUCCESS) {
        status = hnp_report_uri(hnp, reason, sizeof(reason));
    }
    if (status != ORTE_SUCCESS) {
        job_fail(&hnp->job, EXIT_RUNTIME, "%s", reason);
    } else {
        channel_send(hnp->config.front, proto_new(FRONT_STANDS, ""));
    }
}

static void failed(struct dvm_user *user, const char *text)
{
    struct standing *standing = container_of(user, struct standing, user);
    job_fail(&standing->hnp->job, EXIT_RUNTIME, "%s", text);
}

/* Reasons are waited for, which Slurm may have. */
static bool runs(const struct dvm_user *user)
{
    (void) user;
    return true;
}

/* Jobs that have ranks there lose a daemon of their own. */
static void lost(struct dvm_user *user, uint32_t vpid, const char *why)
{
    struct standing *standing = container_of(user, struct standing, user);
    struct hnp *hnp = standing->hnp;
    const char *node = hnp->dvm.daemons[vpid].node;
    struct submission *submission;
    list_for_each (submission, &standing->submissions, struct submission, link) {
        forget_daemon(submission, vpid);
    }
    if (why && !standing->used) {
        job_fail(&hnp->job, EXIT_RUNTIME, "lost the daemon of node %s: %s", node, why);
    } else if (why && !standing->ending && standing_has(standing, vpid)) {
        hnp_tell(hnp, "lost the daemon of node %s: %s; the DVM goes on without it", node, why);
    } else {
        end_when_idle(standing);
    }
}

static void grown(struct dvm_user *user)
{
    standing_grown(container_of(user, struct standing, user));
}

static const struct dvm_user_ops user_ops = {
    .stands = stands, .failed = failed, .runs = runs, .lost = lost, .grown = grown};

/* --- what daemons say --- */

int standing_hosted(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    (void) vpid;
    struct standing *standing = hnp->standing;
    uint64_t job;
    char *line = NULL;
    int status = standing ? proto_unpack(buffer, "qs", &job, &line) : ORTE_ERR_BAD_PARAM;
    struct submission *submission = status == OPAL_SUCCESS ? find_job(standing, job) : NULL;
    if (submission) {
        (void) talk_send(&submission->talk, proto_new(TALK_SAID, "s", line));
    }
    free(line);
    return status;
}

int standing_unhosted(struct hnp *hnp, uint32_t from, opal_buffer_t *buffer)
{
    struct standing *standing = hnp->standing;
    uint64_t job;
    uint32_t vpid;
    char *why = NULL;
    int status = standing ? proto_unpack(buffer, "qus", &job, &vpid, &why) : ORTE_ERR_BAD_PARAM;
    struct submission *submission = status == OPAL_SUCCESS ? find_job(standing, job) : NULL;
    if (submission) {
        (void) talk_send(&submission->talk, proto_new(TALK_UNSTARTED, "us", vpid, why));
        forget_daemon(submission, from);
        end_when_idle(standing);
    }
    free(why);
    return status;
}

/* --- life --- */

static void jobs_too_long(struct loop_timer *timer)
{
    over(container_of(timer, struct standing, end_timer));
}

void standing_end(struct standing *standing)
{
    struct submission *submission;
    if (standing->ending) {
        over(standing);
        return;
    }
    standing->ending = true;
    loop_timer_start(&standing->end_timer, END_US);
    list_for_each (submission, &standing->submissions, struct submission, link) {
        (void) talk_send(&submission->talk, proto_new(TALK_OVER, "s", "ends"));
    }
    end_when_idle(standing);
}

bool standing_ends(const struct standing *standing)
{
    return standing->ending;
}

int standing_create(struct standing **out, struct hnp *hnp)
{
    struct standing *standing = calloc(1, sizeof(*standing));
    if (!standing) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    standing->hnp = hnp;
    standing->listener = -1;
    standing->user.ops = &user_ops;
    list_init(&standing->submissions);
    loop_timer_init(&standing->pause_timer, hnp->config.loop, pause_over);
    loop_timer_init(&standing->end_timer, hnp->config.loop, jobs_too_long);
    list_append(&hnp->dvm.users, &standing->user.link);
    *out = standing;
    return ORTE_SUCCESS;
}

void standing_destroy(struct standing *standing)
{
    struct submission *submission;
    if (!standing) {
        return;
    }
    standing->ending = true;
    list_for_each (submission, &standing->submissions, struct submission, link) {
        drop(submission);
    }
    if (standing->listener >= 0) {
        loop_io_watch(&standing->listener_io, 0);
        fd_close(&standing->listener);
    }
    loop_timer_stop(&standing->pause_timer);
    loop_timer_stop(&standing->end_timer);
    list_remove(&standing->user.link);
    free(standing->used);
    free(standing->added.nodes);
    free(standing);
}
