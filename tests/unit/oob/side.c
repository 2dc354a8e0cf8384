#include "side.h"

#include <base/data/clock.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_S = 20 };

atomic_size_t sent_ok, sent_failed;

static const uint8_t app_key[KEY_BYTES] = {1, 2, 3};

/* --- what the endpoint tells --- */

static int admit(void *arg, const struct oob_peer *peer)
{
    struct side *side = arg;
    (void) peer;
    return side->admit_status;
}

static void up(void *arg, struct oob_link *link, const struct oob_peer *peer)
{
    struct side *side = arg;
    pthread_mutex_lock(&side->lock);
    struct oob_link *old = side->link;
    side->link = oob_link_ref(link);
    side->peer = *peer;
    side->ups++;
    pthread_cond_broadcast(&side->changed);
    pthread_mutex_unlock(&side->lock);
    oob_link_unref(old);
}

static void frame(void *arg, struct oob_link *link, const void *data, size_t size)
{
    struct side *side = arg;
    if (side->on_frame) {
        side->on_frame(side, link, data, size);
    }
    pthread_mutex_lock(&side->lock);
    side->frames++;
    side->bytes += size;
    pthread_cond_broadcast(&side->changed);
    pthread_mutex_unlock(&side->lock);
}

static void down(void *arg, struct oob_link *link, int status)
{
    struct side *side = arg;
    (void) link;
    pthread_mutex_lock(&side->lock);
    side->downs++;
    side->down_status = status;
    pthread_cond_broadcast(&side->changed);
    pthread_mutex_unlock(&side->lock);
}

static void silent(void *arg, struct oob_link *link, bool is_silent)
{
    struct side *side = arg;
    (void) link;
    pthread_mutex_lock(&side->lock);
    side->silences += is_silent && !side->is_silent;
    side->again += !is_silent;
    side->is_silent = is_silent;
    pthread_cond_broadcast(&side->changed);
    pthread_mutex_unlock(&side->lock);
}

static const struct oob_ops ops = {admit, up, frame, down, silent};

static void connected(void *arg, int status, struct oob_link *link, const char *reason)
{
    struct side *side = arg;
    ck_assert((status == ORTE_SUCCESS) == (link != NULL));
    pthread_mutex_lock(&side->lock);
    side->connects_done++;
    side->connect_status = status;
    snprintf(side->connect_reason, sizeof side->connect_reason, "%s", reason);
    pthread_cond_broadcast(&side->changed);
    pthread_mutex_unlock(&side->lock);
}

/* --- life --- */

void side_open(struct side *side, uint32_t vpid, enum side_transport transport)
{
    setenv("KEEL_MCA_oob_tcp_if_include", "lo", 1);
    memset(side, 0, sizeof *side);
    pthread_mutex_init(&side->lock, NULL);
    pthread_cond_init(&side->changed, NULL);
    ck_assert_int_eq(loop_create(&side->loop), ORTE_SUCCESS);
    struct oob_config config = {
        .loop = side->loop, .name = {65536, vpid}, .epoch = 1000 + vpid, .ops = &ops, .arg = side};
    char reason[200];
    ck_assert_int_eq(oob_create(&side->oob, &config, reason, sizeof reason), ORTE_SUCCESS);
    oob_set_key(side->oob, OOB_KEY_APP, app_key);
    if (transport == SIDE_UNIX_ENCRYPT) {
        side->oob->unix_security = OOB_SECURITY_ENCRYPT;
    } else if (transport == SIDE_TCP_AUTH) {
        side->oob->tcp_security = OOB_SECURITY_AUTH;
    } else if (transport == SIDE_TCP_NONE) {
        side->oob->tcp_security = OOB_SECURITY_NONE;
    }
}

void side_run(struct side *side)
{
    ck_assert_int_eq(loop_start_thread(side->loop), ORTE_SUCCESS);
}

void side_close(struct side *side)
{
    loop_stop(side->loop);
    oob_destroy(side->oob);
    ck_assert_int_eq(side->ups, side->downs);
    oob_link_unref(side->link);
    loop_destroy(side->loop);
    pthread_mutex_destroy(&side->lock);
    pthread_cond_destroy(&side->changed);
}

char *side_listen(struct side *side, enum side_transport transport)
{
    char reason[200] = "", path[64];
    int status;
    if (transport == SIDE_UNIX || transport == SIDE_UNIX_ENCRYPT) {
        snprintf(path, sizeof path, "/tmp/keel-test-oob-%d-%u", (int) getpid(),
                 side->oob->name.vpid);
        status = oob_listen_unix(side->oob, path, reason, sizeof reason);
    } else {
        status = oob_listen_tcp(side->oob, reason, sizeof reason);
    }
    ck_assert_msg(status == ORTE_SUCCESS, "%s", reason);
    char *contact = oob_contact(side->oob);
    ck_assert_ptr_nonnull(contact);
    return contact;
}

struct call {
    struct loop_task task;
    struct side *side;
    void (*fn)(struct side *side, void *arg);
    void *arg;
    bool done;
};

static void run_call(struct loop_task *task)
{
    struct call *call = container_of(task, struct call, task);
    call->fn(call->side, call->arg);
    pthread_mutex_lock(&call->side->lock);
    call->done = true;
    pthread_cond_broadcast(&call->side->changed);
    pthread_mutex_unlock(&call->side->lock);
}

void side_call(struct side *side, void (*fn)(struct side *side, void *arg), void *arg)
{
    struct call call = {.task = {.run = run_call}, .side = side, .fn = fn, .arg = arg};
    loop_post(side->loop, &call.task);
    pthread_mutex_lock(&side->lock);
    while (!call.done) {
        pthread_cond_wait(&side->changed, &side->lock);
    }
    pthread_mutex_unlock(&side->lock);
}

struct connect_call {
    const char *contact;
    enum oob_key key;
    int status;
};

static void do_connect(struct side *side, void *arg)
{
    struct connect_call *call = arg;
    call->status =
        oob_connect(side->oob, call->contact, call->key, side->limit_us, connected, side);
}

static void do_detour(struct side *side, void *arg)
{
    struct connect_call *call = arg;
    call->status = oob_detour(side->oob, call->contact, call->key, connected, side);
}

int side_connect(struct side *side, const char *contact, enum oob_key key)
{
    struct connect_call call = {contact, key, ORTE_ERROR};
    side_call(side, do_connect, &call);
    return call.status;
}

int side_detour(struct side *side, const char *contact)
{
    struct connect_call call = {contact, OOB_KEY_APP, ORTE_ERROR};
    side_call(side, do_detour, &call);
    return call.status;
}

char *side_open_two(struct side *a, struct side *b, enum side_transport transport)
{
    side_open(a, 1, transport);
    side_open(b, 2, transport);
    return side_listen(b, transport);
}

void side_close_two(struct side *a, struct side *b, char *contact)
{
    free(contact);
    side_close(a);
    side_close(b);
}

void side_pair(struct side *a, struct side *b, enum side_transport transport)
{
    char *contact = side_open_two(a, b, transport);
    side_run(a);
    side_run(b);
    ck_assert_int_eq(side_connect(a, contact, OOB_KEY_APP), ORTE_SUCCESS);
    free(contact);
    side_wait_int(a, &a->connects_done, 1);
    ck_assert_msg(a->connect_status == ORTE_SUCCESS, "%s", a->connect_reason);
    side_wait_int(b, &b->ups, 1);
    ck_assert_int_eq(a->ups, 1);
}

/* --- waiting --- */

static void wait_more(struct side *side)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    int error = pthread_cond_timedwait(&side->changed, &side->lock, &until);
    ck_assert_msg(error == 0, "waited in vain");
}

void side_wait_int(struct side *side, const int *counter, int value)
{
    pthread_mutex_lock(&side->lock);
    while (*counter < value) {
        wait_more(side);
    }
    pthread_mutex_unlock(&side->lock);
}

void side_wait_size(struct side *side, const size_t *counter, size_t value)
{
    pthread_mutex_lock(&side->lock);
    while (*counter < value) {
        wait_more(side);
    }
    pthread_mutex_unlock(&side->lock);
}

int side_count_fds(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

/* --- meeting --- */

uint16_t side_port_of(const char *contact)
{
    static const char loopback[] = "tcp://127.0.0.1:";
    return (uint16_t) atoi(strstr(contact, loopback) + sizeof loopback - 1);
}

void side_expect_failure(struct side *side, const char *contact, enum oob_key key, int status,
                         const char *reason)
{
    int done = side->connects_done;
    ck_assert_int_eq(side_connect(side, contact, key), ORTE_SUCCESS);
    side_wait_int(side, &side->connects_done, done + 1);
    ck_assert_msg(side->connect_status == status, "status %d: %s", side->connect_status,
                  side->connect_reason);
    ck_assert_msg(strstr(side->connect_reason, reason), "reason: %s", side->connect_reason);
}

void side_expect_link(struct side *side, const char *contact, enum oob_key key)
{
    int done = side->connects_done;
    ck_assert_int_eq(side_connect(side, contact, key), ORTE_SUCCESS);
    side_wait_int(side, &side->connects_done, done + 1);
    ck_assert_msg(side->connect_status == ORTE_SUCCESS, "%s", side->connect_reason);
}

const char *side_with_name(const char *contact, unsigned vpid, const char *front)
{
    static char text[CONTACT_TEXT_MAX];
    snprintf(text, sizeof text, "65536.%u%s%s", vpid, front, strchr(contact, ';'));
    return text;
}

void side_talk(struct side *from, struct side *to)
{
    size_t frames = to->frames;
    side_send(from->link, OOB_CONTROL, "are you there", 13);
    side_wait_size(to, &to->frames, frames + 1);
}

/* --- sending --- */

struct packet {
    struct oob_tx tx;
    uint8_t data[];
};

static void sent(struct oob_tx *tx, int status)
{
    free(container_of(tx, struct packet, tx));
    atomic_fetch_add(status == ORTE_SUCCESS ? &sent_ok : &sent_failed, 1);
}

/* The bytes leave as a header and up to three pieces. */
void side_send(struct oob_link *link, enum oob_class class, const void *data, size_t size)
{
    struct packet *packet = malloc(sizeof *packet + size);
    ck_assert_ptr_nonnull(packet);
    memcpy(packet->data, data, size);
    struct oob_tx *tx = &packet->tx;
    tx->class = class;
    tx->header_size = size < 12 ? size : 12;
    memcpy(tx->header, packet->data, tx->header_size);
    tx->iov_count = 0;
    for (size_t at = tx->header_size; at < size;) {
        size_t piece = tx->iov_count < 2 ? (size - at) / 3 + 1 : size - at;
        tx->iov[tx->iov_count++] = (struct iovec){packet->data + at, piece};
        at += piece;
    }
    tx->done = sent;
    oob_send(link, tx);
}

void side_wait_sent(size_t count)
{
    uint64_t until = clock_us() + PATIENCE_S * UINT64_C(1000000);
    while (atomic_load(&sent_ok) + atomic_load(&sent_failed) < count) {
        ck_assert_msg(clock_us() < until, "sends do not complete");
        usleep(200);
    }
}
