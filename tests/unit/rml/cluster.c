#include "cluster.h"
#include <base/data/clock.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static char folder[64];
static const uint8_t control_key[KEY_BYTES] = {1, 2, 3};
static const uint8_t app_key[KEY_BYTES] = {4, 5, 6};

void cluster_begin(void)
{
    snprintf(folder, sizeof(folder), "/tmp/keel-test-rml-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(param_override("oob_tcp_if_include", "lo"), ORTE_SUCCESS);
    ck_assert_int_eq(opal_dss_open(), ORTE_SUCCESS);
    log_open();
}

void cluster_end(void)
{
    opal_dss_close();
    ck_assert_int_eq(rmdir(folder), 0);
}

static void changed(void *arg, const struct oob_peer *peer, int status)
{
    struct node *node = arg;
    (void) peer;
    node->link_status = status;
    sem_post(status == ORTE_SUCCESS ? &node->ups : &node->downs);
}

static void listen_for(struct node *node, enum node_kind kind)
{
    char path[128], reason[256] = "";
    struct oob *oob = rml_oob(node->rml);
    oob_set_key(oob, OOB_KEY_APP, app_key);
    if (kind == NODE_RANK) {
        return;
    }
    oob_set_key(oob, OOB_KEY_CONTROL, control_key);
    if (kind == NODE_DAEMON_TCP) {
        ck_assert_msg(oob_listen_tcp(oob, reason, sizeof(reason)) == ORTE_SUCCESS, "%s", reason);
    }
    snprintf(path, sizeof(path), "%s/%u.%u", folder, node->name.jobid, node->name.vpid);
    ck_assert_msg(oob_listen_unix(oob, path, reason, sizeof(reason)) == ORTE_SUCCESS, "%s", reason);
    node->contact = oob_contact(oob);
    ck_assert_ptr_nonnull(node->contact);
}

void node_open(struct node *node, enum node_kind kind, orte_process_name_t name, uint32_t radix)
{
    char reason[256] = "";
    *node = (struct node){.name = name};
    sem_init(&node->ups, 0, 0);
    sem_init(&node->downs, 0, 0);
    ck_assert_int_eq(loop_create(&node->loop), ORTE_SUCCESS);
    struct rml_config config = {
        .loop = node->loop,
        .name = name,
        .role = kind == NODE_RANK ? OOB_KEY_PEERCRED : OOB_KEY_CONTROL,
        .dispatch = kind == NODE_RANK ? RML_DISPATCH_PROGRESS : RML_DISPATCH_LOOP,
        .radix = radix,
        .unix_dir = folder,
    };
    ck_assert_int_eq(crypto_open(), ORTE_SUCCESS);
    crypto_random(&config.epoch, sizeof(config.epoch));
    ck_assert_msg(rml_create(&node->rml, &config, reason, sizeof(reason)) == ORTE_SUCCESS, "%s",
                  reason);
    rml_watch_links(node->rml, changed, node);
    listen_for(node, kind);
    ck_assert_int_eq(loop_start_thread(node->loop), ORTE_SUCCESS);
}

void node_close(struct node *node)
{
    if (!node->loop) {
        return;
    }
    loop_stop(node->loop);
    rml_destroy(node->rml);
    loop_destroy(node->loop);
    free(node->contact);
    sem_destroy(&node->ups);
    sem_destroy(&node->downs);
    *node = (struct node){0};
}

void wait_sem(sem_t *sem)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    ck_assert_msg(sem_timedwait(sem, &until) == 0, "waited for too long");
}

struct connecting {
    sem_t sem;
    int status;
    char reason[256];
};

static void connected(void *arg, int status, const char *reason)
{
    struct connecting *connecting = arg;
    connecting->status = status;
    snprintf(connecting->reason, sizeof(connecting->reason), "%s", reason);
    sem_post(&connecting->sem);
}

void node_link(struct node *from, struct node *to)
{
    struct connecting connecting = {.status = ORTE_ERROR};
    bool rank = !rml_is_daemon(from->rml);
    /* Ranks prove nothing but their user, and so need the unix socket; daemons take what is first.
     */
    sem_init(&connecting.sem, 0, 0);
    ck_assert_int_eq(rml_connect(from->rml, to->contact, rank ? OOB_KEY_PEERCRED : OOB_KEY_CONTROL,
                                 0, connected, &connecting),
                     ORTE_SUCCESS);
    wait_sem(&connecting.sem);
    ck_assert_msg(connecting.status == ORTE_SUCCESS, "%s", connecting.reason);
    wait_sem(&from->ups);
    wait_sem(&to->ups);
    sem_destroy(&connecting.sem);
    if (rank) {
        rml_route_default(from->rml, &to->name);
    }
}

struct work {
    struct loop_task task;
    struct node *node;
    void (*fn)(struct node *node, void *arg);
    void *arg;
    sem_t done;
};

static void run_work(struct loop_task *task)
{
    struct work *work = container_of(task, struct work, task);
    work->fn(work->node, work->arg);
    sem_post(&work->done);
}

void star_open(struct node *daemon, struct node *a, struct node *b)
{
    static const uint32_t daemon_of[] = {0, 0};
    cluster_begin();
    node_open(daemon, NODE_DAEMON, DAEMON(0), 64);
    ck_assert_int_eq(rml_route_job(daemon->rml, 0x50001, 2, daemon_of), ORTE_SUCCESS);
    node_open(a, NODE_RANK, RANK(0), 64);
    node_open(b, NODE_RANK, RANK(1), 64);
    node_link(a, daemon);
    node_link(b, daemon);
}

void star_close(struct node *daemon, struct node *a, struct node *b)
{
    node_close(a);
    node_close(b);
    node_close(daemon);
    cluster_end();
}

/* Its contact string without the unix socket, which would be taken first. */
static void leave_tcp(struct node *node)
{
    char *begin = strstr(node->contact, ";unix://");
    if (begin) {
        const char *end = strchr(begin + 1, ';');
        memmove(begin, end ? end : "", end ? strlen(end) + 1 : 1);
    }
}

void chain_open(struct node daemons[3], struct node *a, struct node *b)
{
    static const uint32_t daemon_of[] = {0, 2};
    cluster_begin();
    for (uint32_t i = 0; i < 3; i++) {
        node_open(&daemons[i], NODE_DAEMON_TCP, DAEMON(i), 1);
        rml_route_tree(daemons[i].rml, 3);
        ck_assert_int_eq(rml_route_job(daemons[i].rml, 0x50001, 2, daemon_of), ORTE_SUCCESS);
    }
    node_open(a, NODE_RANK, RANK(0), 1);
    node_open(b, NODE_RANK, RANK(1), 1);
    node_link(a, &daemons[0]);
    node_link(b, &daemons[2]);
    leave_tcp(&daemons[0]);
    leave_tcp(&daemons[1]);
    node_link(&daemons[1], &daemons[0]);
    node_link(&daemons[2], &daemons[1]);
}

void chain_close(struct node daemons[3], struct node *a, struct node *b)
{
    node_close(a);
    node_close(b);
    for (int i = 0; i < 3; i++) {
        node_close(&daemons[i]);
    }
    cluster_end();
}

void node_on_loop(struct node *node, void (*fn)(struct node *node, void *arg), void *arg)
{
    struct work work = {.task.run = run_work, .node = node, .fn = fn, .arg = arg};
    list_init(&work.task.link);
    sem_init(&work.done, 0, 0);
    loop_post(node->loop, &work.task);
    wait_sem(&work.done);
    sem_destroy(&work.done);
}

void wait_done(struct node *node, const bool *done)
{
    uint64_t deadline = clock_us() + WAIT_S * 1000000u;
    ck_assert_int_eq(rml_wait(node->rml, done, deadline, NULL, NULL), ORTE_SUCCESS);
}

uint64_t count_of(struct node *node, const uint64_t *counter)
{
    pthread_mutex_lock(&node->rml->lock);
    uint64_t value = *counter;
    pthread_mutex_unlock(&node->rml->lock);
    return value;
}

uint64_t bytes_to(struct node *node, const struct node *peer)
{
    pthread_mutex_lock(&node->rml->lock);
    const struct rml_session *session = rml_peer_find(&node->rml->peers, &peer->name)->session;
    const struct rml_sender *out = &session->out[OOB_APP];
    uint64_t bytes = out->end - out->acked;
    pthread_mutex_unlock(&node->rml->lock);
    return bytes;
}

void wait_count(struct node *node, const uint64_t *counter, uint64_t value)
{
    uint64_t deadline = clock_us() + WAIT_S * 1000000u;
    while (count_of(node, counter) != value) {
        ck_assert_msg(clock_us() < deadline, "the count is %llu",
                      (unsigned long long) count_of(node, counter));
        sched_yield();
    }
}

/* The eight bytes of a pattern at a place. */
static uint64_t pattern(uint32_t seed, size_t at)
{
    return (seed + at + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

void fill(void *data, size_t size, uint32_t seed)
{
    uint8_t *bytes = data;
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = pattern(seed, at);
        memcpy(bytes + at, &word, size - at < 8 ? size - at : 8);
    }
}

bool filled(const void *data, size_t size, uint32_t seed)
{
    const uint8_t *bytes = data;
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = pattern(seed, at);
        if (memcmp(bytes + at, &word, size - at < 8 ? size - at : 8) != 0) {
            return false;
        }
    }
    return true;
}

void send_filled(struct node *from, const struct node *to, orte_rml_tag_t tag, size_t size,
                 uint32_t seed)
{
    struct iovec part = {malloc(size + 1), size};
    orte_process_name_t name = to->name;
    fill(part.iov_base, size, seed);
    ck_assert_int_eq(rml_call_send(from->rml, &name, &part, 1, tag, 0), (int) size);
    free(part.iov_base);
}

void receive_filled(struct node *at, const orte_process_name_t *from, orte_rml_tag_t tag,
                    size_t size, uint32_t seed)
{
    struct iovec part = {NULL, 0};
    orte_process_name_t name = *from;
    int got = rml_call_recv(at->rml, &name, &part, 1, tag, ORTE_RML_ALLOC);
    ck_assert_msg(got == (int) size && filled(part.iov_base, size, seed),
                  "message %u of %s: %d bytes instead of %zu", seed, ORTE_NAME_PRINT(from), got,
                  size);
    free(part.iov_base);
}
