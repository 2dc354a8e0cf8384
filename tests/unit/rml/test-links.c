/* Links that are late, lost or dishonest; handlers of the runtime's tags. */
#include "cluster.h"
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <base/types/name.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

enum { TAG = 200 };

static struct node daemons[3], a, b;

static void open_ranks(enum node_kind kind)
{
    static const uint32_t daemon_of[] = {0, 0};
    cluster_begin();
    node_open(&daemons[0], kind, DAEMON(0), 64);
    ck_assert_int_eq(rml_route_job(daemons[0].rml, 0x50001, 2, daemon_of), ORTE_SUCCESS);
    node_open(&a, NODE_RANK, RANK(0), 64);
    node_open(&b, NODE_RANK, RANK(1), 64);
    node_link(&a, &daemons[0]);
}

static void close_all(void)
{
    node_close(&a);
    node_close(&b);
    for (int i = 0; i < 3; i++) {
        node_close(&daemons[i]);
    }
    cluster_end();
}

static int send_number(struct node *from, struct node *to, orte_rml_tag_t tag, uint32_t number)
{
    struct iovec part = {&number, sizeof(number)};
    return rml_call_send(from->rml, &to->name, &part, 1, tag, 0);
}

static void expect_number(struct node *at, const orte_process_name_t *from, orte_rml_tag_t tag,
                          uint32_t expected)
{
    uint32_t number = ~expected;
    struct iovec part = {&number, sizeof(number)};
    ck_assert_int_eq(rml_call_recv(at->rml, from, &part, 1, tag, 0), (int) sizeof(number));
    ck_assert_uint_eq(number, expected);
}

START_TEST(a_late_rank_gets_all_in_order)
{
    open_ranks(NODE_DAEMON);
    for (uint32_t i = 0; i < 500; i++) {
        ck_assert_int_eq(send_number(&a, &b, TAG, i), 4);
    }
    node_link(&b, &daemons[0]);
    for (uint32_t i = 500; i < 1000; i++) {
        ck_assert_int_eq(send_number(&a, &b, TAG, i), 4);
    }
    for (uint32_t i = 0; i < 1000; i++) {
        expect_number(&b, &a.name, TAG, i);
    }
    close_all();
}
END_TEST

static int send_bytes_core(struct node *from, struct node *to, size_t size)
{
    static uint8_t data[60000];
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(opal_dss.pack(buffer, data, (int32_t) size, OPAL_BYTE), OPAL_SUCCESS);
    int status = rml_send(from->rml, &to->name, OOB_APP, TAG, &buffer, NULL, NULL);
    if (buffer) {
        OBJ_RELEASE(buffer);
    }
    return status;
}

START_TEST(what_waits_for_a_link_is_bounded)
{
    ck_assert_int_eq(param_override("rml_pending_max", "100k"), ORTE_SUCCESS);
    open_ranks(NODE_DAEMON);
    ck_assert_int_eq(send_bytes_core(&daemons[0], &b, 60000), ORTE_SUCCESS);
    ck_assert_int_eq(send_bytes_core(&daemons[0], &b, 60000), ORTE_ERR_OUT_OF_RESOURCE);
    ck_assert_uint_eq(count_of(&daemons[0], &daemons[0].rml->counters.overflow), 1);
    node_link(&b, &daemons[0]);
    ck_assert_int_eq(send_bytes_core(&daemons[0], &b, 5), ORTE_SUCCESS);
    static const int sizes[] = {60000, 5};
    for (int i = 0; i < 2; i++) {
        opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
        ck_assert_int_ge(rml_call_recv_buffer(b.rml, &daemons[0].name, buffer, TAG, 0), sizes[i]);
        OBJ_RELEASE(buffer);
    }
    close_all();
}
END_TEST

static int delivered_status = 1;
static bool delivered;

static void on_delivered(int status, orte_process_name_t *peer, struct iovec *msg, int count,
                         orte_rml_tag_t tag, void *cbdata)
{
    (void) peer;
    (void) msg;
    (void) count;
    (void) tag;
    (void) cbdata;
    delivered_status = status;
    delivered = true;
}

START_TEST(what_waits_ends_with_the_job)
{
    uint32_t number = 1;
    struct iovec part = {&number, sizeof(number)};
    open_ranks(NODE_DAEMON);
    ck_assert_int_eq(send_number(&a, &b, TAG, 2), 4); /* it may be changed, but has not arrived */
    ck_assert_int_eq(
        rml_call_send_nb(a.rml, &b.name, &part, 1, TAG, KEEL_RML_DELIVERED, on_delivered, NULL),
        ORTE_SUCCESS);
    ck_assert_uint_gt(bytes_to(&a, &b), 8);
    struct rml_peer *peer = NULL;
    while (!peer) {
        pthread_mutex_lock(&daemons[0].rml->lock);
        peer = rml_peer_find(&daemons[0].rml->peers, &b.name);
        pthread_mutex_unlock(&daemons[0].rml->lock);
    }
    ck_assert_int_eq(rml_route_job(daemons[0].rml, 0x50001, 0, NULL), ORTE_SUCCESS);
    ck_assert_uint_eq(count_of(&daemons[0], &peer->pending_bytes), 0);
    wait_done(&a, &delivered);
    ck_assert_int_eq(delivered_status, ORTE_ERR_ADDRESSEE_UNKNOWN);
    ck_assert_uint_eq(bytes_to(&a, &b), 0);
    close_all();
}
END_TEST

START_TEST(delivered_is_when_it_has_arrived)
{
    uint32_t number = 7;
    struct iovec part = {&number, sizeof(number)};
    open_ranks(NODE_DAEMON);
    ck_assert_int_eq(
        rml_call_send_nb(a.rml, &b.name, &part, 1, TAG, KEEL_RML_DELIVERED, on_delivered, NULL),
        ORTE_SUCCESS);
    ck_assert_int_eq(send_number(&a, &daemons[0], TAG, 1), 4);
    ck_assert_int_eq(rml_progress(a.rml), 0); /* nobody has it yet */
    node_link(&b, &daemons[0]);
    wait_done(&a, &delivered);
    ck_assert_int_eq(delivered_status, 4);
    ck_assert_uint_eq(count_of(&b, &b.rml->match.unexpected_bytes) > 4, true);
    expect_number(&b, &a.name, TAG, 7);
    ck_assert_int_eq(rml_call_send(a.rml, &b.name, &part, 1, TAG, KEEL_RML_DELIVERED), 4);
    close_all();
}
END_TEST

/* --- handlers, roles --- */

static struct {
    sem_t came;
    struct rml_info info;
    size_t size;
} heard;

static void on_message(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    (void) arg;
    heard.info = *info;
    heard.size = (*buffer)->bytes_used;
    sem_post(&heard.came);
}

static void on_forbidden(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    (void) arg;
    (void) buffer;
    ck_abort_msg("tag %u of %s arrived", info->tag, ORTE_NAME_PRINT(&info->origin));
}

static opal_buffer_t *text_buffer(const char *text)
{
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(opal_dss.pack(buffer, &text, 1, OPAL_STRING), OPAL_SUCCESS);
    return buffer;
}

static int send_core(struct node *from, struct node *to, orte_rml_tag_t tag)
{
    opal_buffer_t *buffer = text_buffer("core");
    int status = rml_send(from->rml, &to->name, OOB_CONTROL, tag, &buffer, NULL, NULL);
    ck_assert((buffer == NULL) == (status == ORTE_SUCCESS));
    if (buffer) {
        OBJ_RELEASE(buffer);
    }
    return status;
}

START_TEST(runtime_tags_are_for_daemons)
{
    open_ranks(NODE_DAEMON);
    sem_init(&heard.came, 0, 0);
    struct rml *rml = daemons[0].rml;
    rml_handle(rml, RML_TAG_SERVER, on_message, NULL);
    rml_handle(rml, RML_TAG_LAUNCH, on_forbidden, NULL);
    ck_assert_int_eq(send_core(&a, &daemons[0], RML_TAG_LAUNCH), ORTE_SUCCESS);
    ck_assert_int_eq(send_core(&a, &daemons[0], ORTE_RML_TAG_MAX), ORTE_SUCCESS);
    ck_assert_int_eq(send_number(&a, &daemons[0], RML_TAG_REPORT, 1), 4);
    ck_assert_int_eq(send_core(&a, &daemons[0], RML_TAG_SERVER), ORTE_SUCCESS);
    wait_sem(&heard.came);
    ck_assert(name_equal(&heard.info.origin, &a.name));
    ck_assert_int_eq(heard.info.role, OOB_KEY_PEERCRED);
    ck_assert_int_eq(heard.info.class, OOB_CONTROL);
    wait_count(&daemons[0], &rml->counters.refused_tags, 3); /* one of them in another class */
    ck_assert_uint_eq(count_of(&daemons[0], &rml->counters.lost), 0); /* refused is not lost */
    close_all();
}
END_TEST

START_TEST(a_rank_cannot_play_the_daemon)
{
    open_ranks(NODE_DAEMON);
    node_link(&b, &daemons[0]);
    sem_init(&heard.came, 0, 0);
    rml_handle(b.rml, RML_TAG_CLIENT, on_message, NULL);
    ck_assert_int_eq(send_core(&a, &b, RML_TAG_CLIENT), ORTE_SUCCESS);
    wait_count(&b, &b.rml->counters.refused_tags, 1);
    ck_assert_int_eq(send_core(&daemons[0], &b, RML_TAG_CLIENT), ORTE_SUCCESS);
    while (sem_trywait(&heard.came) != 0) {
        (void) rml_progress(b.rml);
    }
    ck_assert_int_eq(heard.info.role, OOB_KEY_CONTROL);
    ck_assert_int_eq(send_core(&b, &b, RML_TAG_CLIENT), ORTE_SUCCESS); /* to itself it may */
    ck_assert_int_eq(rml_progress(b.rml), 1);
    ck_assert(name_equal(&heard.info.origin, &b.name));
    close_all();
}
END_TEST

START_TEST(handlers_come_and_go)
{
    open_ranks(NODE_DAEMON);
    sem_init(&heard.came, 0, 0);
    ck_assert_int_eq(send_core(&a, &a, RML_TAG_CLIENT), ORTE_SUCCESS); /* waits for its handler */
    ck_assert_int_eq(rml_progress(a.rml), 0);
    rml_handle(a.rml, RML_TAG_CLIENT, on_forbidden, NULL);
    rml_handle(a.rml, RML_TAG_CLIENT, NULL, NULL); /* due, and taken back */
    ck_assert_int_eq(rml_progress(a.rml), 0);
    rml_handle(a.rml, RML_TAG_CLIENT, on_message, NULL);
    ck_assert_int_eq(rml_call_recv_cancel(a.rml, ORTE_NAME_WILDCARD, RML_TAG_CLIENT),
                     ORTE_ERR_NOT_FOUND); /* handlers are not the application's */
    ck_assert_int_eq(rml_progress(a.rml), 1);
    ck_assert_uint_gt(heard.size, 0);
    close_all();
}
END_TEST

/* --- frames that a good peer would not send --- */

struct raw {
    struct oob_tx tx;
    sem_t done;
};

static void raw_done(struct oob_tx *tx, int status)
{
    ck_assert_int_eq(status, ORTE_SUCCESS);
    sem_post(&container_of(tx, struct raw, tx)->done);
}

static void send_raw(struct node *from, struct node *to, const void *header, size_t size)
{
    struct raw raw = {.tx = {.class = OOB_APP, .header_size = size, .done = raw_done}};
    list_init(&raw.tx.link);
    sem_init(&raw.done, 0, 0);
    memcpy(raw.tx.header, header, size);
    pthread_mutex_lock(&from->rml->lock);
    struct oob_link *link = oob_link_ref(rml_peer_find(&from->rml->peers, &to->name)->link);
    pthread_mutex_unlock(&from->rml->lock);
    oob_send(link, &raw.tx);
    oob_link_unref(link);
    wait_sem(&raw.done);
}

static void send_header(struct node *from, struct node *to, const struct rml_header *header)
{
    uint8_t bytes[RML_WIRE_SIZE];
    rml_header_encode(bytes, header);
    send_raw(from, to, bytes, sizeof(bytes));
}

START_TEST(forged_and_malformed_frames)
{
    open_ranks(NODE_DAEMON);
    node_link(&b, &daemons[0]);
    struct rml_counters *counters = &daemons[0].rml->counters;
    struct rml_header good = {.stamp = {.kind = RML_DATA,
                                        .class = OOB_APP,
                                        .epoch = a.rml->config.epoch,
                                        .dest_epoch = b.rml->config.epoch},
                              .role = OOB_KEY_CONTROL, /* a lie that the daemon overwrites */
                              .tag = TAG,
                              .origin = a.name,
                              .dest = b.name};
    struct rml_header bad = good;
    bad.origin = DAEMON(0);
    send_header(&a, &daemons[0], &bad);
    wait_count(&daemons[0], &counters->forged, 1);
    bad = good;
    bad.origin = b.name;
    send_header(&a, &daemons[0], &bad);
    bad = good;
    bad.stamp.epoch++;
    send_header(&a, &daemons[0], &bad);
    wait_count(&daemons[0], &counters->forged, 3);
    send_raw(&a, &daemons[0], "short", 5);
    wait_count(&daemons[0], &counters->malformed, 1);
    bad = good;
    bad.hops = 60000;
    send_header(&a, &daemons[0], &bad);
    bad = good;
    bad.dest = RANK(77);
    send_header(&a, &daemons[0], &bad);
    wait_count(&daemons[0], &counters->misrouted, 2);
    bad = good;
    bad.dest = daemons[0].name;
    bad.stamp.dest_epoch = daemons[0].rml->config.epoch;
    bad.tag = RML_TAG_LAUNCH;
    send_header(&a, &daemons[0], &bad); /* the claimed role does not help */
    wait_count(&daemons[0], &counters->refused_tags, 1);
    send_header(&a, &daemons[0], &good); /* and a good one still passes */
    char none[1];
    struct iovec in = {none, 1};
    ck_assert_int_eq(rml_call_recv(b.rml, &a.name, &in, 1, TAG, 0), 0);
    close_all();
}
END_TEST

START_TEST(unread_messages_in_a_daemon_are_bounded)
{
    ck_assert_int_eq(param_override("rml_unexpected_max", "100k"), ORTE_SUCCESS);
    static uint8_t data[30000];
    struct iovec part = {data, sizeof(data)};
    open_ranks(NODE_DAEMON);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(rml_call_send(a.rml, &daemons[0].name, &part, 1, TAG, 0),
                         (int) sizeof(data));
    }
    wait_count(&daemons[0], &daemons[0].rml->counters.overflow, 2);
    ck_assert_uint_le(count_of(&daemons[0], &daemons[0].rml->match.unexpected_bytes), 100 * 1024);
    close_all();
}
END_TEST

/* --- lost links --- */

static int failed_status;
static bool failed;

static void on_failed(int status, orte_process_name_t *peer, opal_buffer_t *buffer,
                      orte_rml_tag_t tag, void *cbdata)
{
    (void) peer;
    (void) tag;
    (void) cbdata;
    ck_assert_ptr_null(buffer);
    failed_status = status;
    failed = true;
}

static void *blocked(void *arg)
{
    uint32_t number;
    struct iovec part = {&number, sizeof(number)};
    int status = rml_call_recv(a.rml, &b.name, &part, 1, TAG, 0);
    *(int *) arg = status;
    return NULL;
}

START_TEST(the_daemon_goes)
{
    pthread_t thread;
    int status = 0;
    open_ranks(NODE_DAEMON);
    ck_assert_int_eq(send_number(&a, &a, TAG, 1), 4);
    ck_assert_int_eq(
        rml_call_recv_buffer_nb(a.rml, &b.name, TAG, ORTE_RML_PERSISTENT, on_failed, NULL),
        ORTE_SUCCESS);
    pthread_create(&thread, NULL, blocked, &status);
    node_close(&daemons[0]);
    wait_sem(&a.downs);
    pthread_join(thread, NULL);
    ck_assert_int_eq(status, ORTE_ERR_COMM_FAILURE);
    wait_done(&a, &failed);
    ck_assert_int_eq(failed_status, ORTE_ERR_COMM_FAILURE);
    /* later calls */
    ck_assert_int_eq(send_number(&a, &b, TAG, 1), ORTE_ERR_COMM_FAILURE);
    ck_assert_int_eq(send_core(&a, &b, RML_TAG_SERVER), ORTE_ERR_COMM_FAILURE);
    (void) blocked(&status);
    ck_assert_int_eq(status, ORTE_ERR_COMM_FAILURE);
    failed = false;
    ck_assert_int_eq(rml_call_recv_buffer_nb(a.rml, &b.name, TAG, 0, on_failed, NULL),
                     ORTE_SUCCESS);
    ck_assert(!failed);
    wait_done(&a, &failed);
    /* what is here, and what I say to myself, still comes */
    expect_number(&a, &a.name, TAG, 1);
    ck_assert_int_eq(send_number(&a, &a, TAG, 2), 4);
    expect_number(&a, ORTE_NAME_WILDCARD, TAG, 2);
    close_all();
}
END_TEST

START_TEST(a_rank_goes)
{
    open_ranks(NODE_DAEMON);
    node_link(&b, &daemons[0]);
    ck_assert_int_eq(send_number(&a, &b, TAG, 1), 4);
    expect_number(&b, &a.name, TAG, 1);
    node_close(&b);
    wait_sem(&daemons[0].downs);
    struct node gone = {.name = RANK(1)};
    ck_assert_int_eq(send_number(&a, &gone, TAG, 2), 4); /* it may be changed; then the news come */
    wait_count(&daemons[0], &daemons[0].rml->counters.link_down, 1);
    ck_assert_int_eq(send_core(&daemons[0], &gone, RML_TAG_CLIENT), ORTE_ERR_COMM_FAILURE);
    int status;
    while ((status = send_number(&a, &gone, TAG, 3)) == 4) {
    }
    ck_assert_int_eq(status, ORTE_ERR_ADDRESSEE_UNKNOWN);
    close_all();
}
END_TEST

START_TEST(nobody_knows_the_way)
{
    open_ranks(NODE_DAEMON);
    struct node stranger = {.name = {0x90001, 3}};
    ck_assert_int_eq(send_number(&b, &a, TAG, 1), ORTE_ERR_ADDRESSEE_UNKNOWN); /* no daemon yet */
    ck_assert_int_eq(send_core(&daemons[0], &stranger, RML_TAG_CLIENT), ORTE_ERR_ADDRESSEE_UNKNOWN);
    ck_assert_ptr_null(rml_peer_find(&daemons[0].rml->peers, &stranger.name));
    ck_assert_int_eq(send_number(&a, &stranger, TAG, 1), ORTE_ERR_ADDRESSEE_UNKNOWN);
    struct node no_job = {.name = {0x50009, 3}}; /* a job of this family may have been spawned */
    ck_assert_int_eq(send_number(&a, &no_job, TAG, 1), 4);
    wait_count(&daemons[0], &daemons[0].rml->counters.misrouted, 1);
    close_all();
}
END_TEST

START_TEST(a_message_given_is_taken_in_every_case)
{
    open_ranks(NODE_DAEMON);
    struct node stranger = {.name = {0x90001, 3}};
    opal_buffer_t *buffer = text_buffer("given");
    OBJ_RETAIN(buffer);
    ck_assert_int_eq(rml_give(daemons[0].rml, &stranger.name, OOB_CONTROL, RML_TAG_CLIENT, buffer),
                     ORTE_ERR_ADDRESSEE_UNKNOWN);
    ck_assert_int_eq(buffer->super.obj_reference_count, 1);
    OBJ_RELEASE(buffer);
    ck_assert_int_eq(rml_give(daemons[0].rml, &daemons[0].name, OOB_CONTROL, RML_TAG_CLIENT, NULL),
                     ORTE_ERR_OUT_OF_RESOURCE);
    close_all();
}
END_TEST

/* --- direct links --- */

START_TEST(contact_strings_lead_to_direct_links)
{
    open_ranks(NODE_DAEMON);
    char *contact = rml_contact(b.rml);
    ck_assert_ptr_nonnull(contact);
    ck_assert_ptr_nonnull(strstr(contact, "tcp://127.0.0.1:"));
    ck_assert_ptr_nonnull(strstr(contact, "unix://"));
    char *again = rml_contact(b.rml);
    ck_assert_str_eq(again, contact);
    ck_assert_int_eq(rml_call_set_contact_info(a.rml, contact), ORTE_SUCCESS);
    ck_assert_int_eq(rml_call_set_contact_info(a.rml, contact), ORTE_SUCCESS);
    for (uint32_t i = 0; i < 100; i++) { /* the first ones wait for the link */
        ck_assert_int_eq(send_number(&a, &b, TAG, i), 4);
    }
    for (uint32_t i = 0; i < 100; i++) {
        expect_number(&b, &a.name, TAG, i);
    }
    ck_assert_int_eq(send_number(&b, &a, TAG, 5), 4); /* b has no daemon: back by the same link */
    expect_number(&a, &b.name, TAG, 5);
    free(contact);
    free(again);
    close_all();
}
END_TEST

START_TEST(an_unreachable_contact)
{
    open_ranks(NODE_DAEMON);
    char *contact = rml_contact(b.rml);
    node_close(&b); /* nobody listens there any more */
    struct node gone = {.name = RANK(1)};
    ck_assert_int_eq(rml_call_set_contact_info(a.rml, contact), ORTE_SUCCESS);
    ck_assert_int_eq(send_number(&a, &gone, TAG, 1), ORTE_ERR_UNREACH);
    ck_assert_int_eq(send_number(&a, &gone, TAG, 1), ORTE_ERR_UNREACH); /* tries anew */
    free(contact);
    close_all();
}
END_TEST

START_TEST(a_direct_link_goes)
{
    open_ranks(NODE_DAEMON);
    char *contact = rml_contact(b.rml);
    ck_assert_int_eq(rml_call_set_contact_info(a.rml, contact), ORTE_SUCCESS);
    ck_assert_int_eq(send_number(&a, &b, TAG, 1), 4);
    expect_number(&b, &a.name, TAG, 1);
    wait_sem(&a.ups);
    node_close(&b);
    wait_sem(&a.downs);
    struct node gone = {.name = RANK(1)};
    ck_assert_int_eq(send_number(&a, &gone, TAG, 2), ORTE_ERR_COMM_FAILURE);
    free(contact);
    close_all();
}
END_TEST

/* --- daemons --- */

START_TEST(a_late_daemon_gets_all_in_order)
{
    static const uint32_t daemon_of[] = {0, 2};
    cluster_begin();
    for (uint32_t i = 0; i < 3; i++) {
        node_open(&daemons[i], NODE_DAEMON_TCP, DAEMON(i), 1);
        rml_route_tree(daemons[i].rml, 3);
        ck_assert_int_eq(rml_route_job(daemons[i].rml, 0x50001, 2, daemon_of), ORTE_SUCCESS);
    }
    node_open(&a, NODE_RANK, RANK(0), 1);
    node_open(&b, NODE_RANK, RANK(1), 1);
    node_link(&a, &daemons[0]);
    for (uint32_t i = 0; i < 100; i++) {
        ck_assert_int_eq(send_number(&a, &b, TAG, i), 4);
    }
    node_link(&daemons[1], &daemons[0]);
    ck_assert_int_eq(send_number(&a, &b, TAG, 100), 4);
    node_link(&b, &daemons[2]);
    node_link(&daemons[2], &daemons[1]);
    ck_assert_int_eq(send_number(&a, &b, TAG, 101), 4);
    for (uint32_t i = 0; i < 102; i++) {
        expect_number(&b, &a.name, TAG, i);
    }
    rml_flush(a.rml);
    ck_assert_uint_eq(bytes_to(&a, &b), 0);
    close_all();
}
END_TEST

static bool keeps_early(struct node *node)
{
    pthread_mutex_lock(&node->rml->lock);
    bool keeps = !list_empty(&node->rml->early);
    pthread_mutex_unlock(&node->rml->lock);
    return keeps;
}

/* A rank speaks to one whose daemon has not yet been told of the job. */
START_TEST(a_job_that_is_not_known_yet_is_waited_for)
{
    static const uint32_t daemon_of[] = {0, 1};
    cluster_begin();
    for (uint32_t i = 0; i < 2; i++) {
        node_open(&daemons[i], NODE_DAEMON_TCP, DAEMON(i), 1);
        rml_route_tree(daemons[i].rml, 2);
    }
    node_link(&daemons[1], &daemons[0]);
    ck_assert_int_eq(rml_route_job(daemons[0].rml, 0x50001, 2, daemon_of), ORTE_SUCCESS);
    node_open(&a, NODE_RANK, RANK(0), 1);
    node_open(&b, NODE_RANK, RANK(1), 1);
    node_link(&a, &daemons[0]);
    for (uint32_t i = 0; i < 10; i++) {
        ck_assert_int_eq(send_number(&a, &b, TAG, i), 4);
    }
    for (int i = 0; i < WAIT_S * 1000 && !keeps_early(&daemons[1]); i++) {
        usleep(1000);
    }
    ck_assert(keeps_early(&daemons[1]));
    ck_assert_int_eq(rml_route_job(daemons[1].rml, 0x50001, 2, daemon_of), ORTE_SUCCESS);
    node_link(&b, &daemons[1]);
    for (uint32_t i = 0; i < 10; i++) {
        expect_number(&b, &a.name, TAG, i);
    }
    ck_assert_uint_eq(daemons[1].rml->counters.misrouted, 0);
    close_all();
}
END_TEST

static sem_t sent_sem;
static int sent_status;

static void on_sent(void *arg, int status)
{
    (void) arg;
    sent_status = status;
    sem_post(&sent_sem);
}

START_TEST(daemons_talk_over_the_tree)
{
    cluster_begin();
    for (uint32_t i = 0; i < 3; i++) {
        node_open(&daemons[i], NODE_DAEMON_TCP, DAEMON(i), 1);
        rml_route_tree(daemons[i].rml, 3);
    }
    node_link(&daemons[1], &daemons[0]);
    node_link(&daemons[2], &daemons[1]);
    sem_init(&heard.came, 0, 0);
    sem_init(&sent_sem, 0, 0);
    rml_handle(daemons[0].rml, RML_TAG_REPORT, on_message, NULL);
    opal_buffer_t *buffer = text_buffer("report");
    ck_assert_int_eq(rml_send(daemons[2].rml, &daemons[0].name, OOB_CONTROL, RML_TAG_REPORT,
                              &buffer, on_sent, NULL),
                     ORTE_SUCCESS);
    wait_sem(&sent_sem);
    ck_assert_int_eq(sent_status, ORTE_SUCCESS);
    wait_sem(&heard.came);
    ck_assert(name_equal(&heard.info.origin, &daemons[2].name));
    ck_assert_int_eq(heard.info.role, OOB_KEY_CONTROL);
    node_close(&daemons[1]);
    wait_sem(&daemons[2].downs);
    ck_assert_int_eq(send_core(&daemons[2], &daemons[0], RML_TAG_REPORT), ORTE_ERR_COMM_FAILURE);
    close_all();
}
END_TEST

static void disconnect(struct node *node, void *arg)
{
    rml_disconnect(node->rml, arg, true);
}

START_TEST(disconnecting)
{
    open_ranks(NODE_DAEMON);
    node_link(&b, &daemons[0]);
    ck_assert_int_eq(send_number(&b, &a, TAG, 1), 4);
    expect_number(&a, &b.name, TAG, 1);
    orte_process_name_t rank = b.name;
    node_on_loop(&daemons[0], disconnect, &rank);
    wait_sem(&b.downs);
    ck_assert_int_eq(b.link_status, ORTE_ERR_NOT_AVAILABLE);
    ck_assert_int_eq(send_number(&b, &a, TAG, 1), ORTE_ERR_COMM_FAILURE);
    close_all();
}
END_TEST

UNIT_MAIN("rml/links")
