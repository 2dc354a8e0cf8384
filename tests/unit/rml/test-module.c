/* orte_rml itself: what it answers before, while and after communication is enabled. */
#include "cluster.h"
#include <base/settings/param.h>
#include <pthread.h>
#include <rml/state/state.h>
#include <string.h>
#include <tests/lib/unit.h>

enum { TAG = 200 };

static struct node a;
static int calls;

static void on_iov(int status, orte_process_name_t *peer, struct iovec *msg, int count,
                   orte_rml_tag_t tag, void *cbdata)
{
    (void) peer;
    (void) msg;
    (void) count;
    (void) tag;
    *(int *) cbdata = status;
    calls++;
}

static void on_buffer(int status, orte_process_name_t *peer, opal_buffer_t *buffer,
                      orte_rml_tag_t tag, void *cbdata)
{
    (void) peer;
    (void) buffer;
    (void) tag;
    *(int *) cbdata = status;
    calls++;
}

static void on_exception(const orte_process_name_t *peer, orte_rml_exception_t exception)
{
    (void) peer;
    (void) exception;
    calls++;
}

static void expect_disabled(void)
{
    char data[4];
    int status;
    struct iovec part = {data, sizeof(data)};
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    orte_process_name_t peer = RANK(0);
    const int disabled = ORTE_ERR_COMM_DISABLED;
    ck_assert_int_eq(orte_rml.send(&peer, &part, 1, TAG, 0), disabled);
    ck_assert_int_eq(orte_rml.send_nb(&peer, &part, 1, TAG, 0, on_iov, &status), disabled);
    ck_assert_int_eq(orte_rml.send_buffer(&peer, buffer, TAG, 0), disabled);
    ck_assert_int_eq(orte_rml.send_buffer_nb(&peer, buffer, TAG, 0, on_buffer, &status), disabled);
    ck_assert_int_eq(orte_rml.recv(&peer, &part, 1, TAG, 0), disabled);
    ck_assert_int_eq(orte_rml.recv_buffer(&peer, buffer, TAG, 0), disabled);
    ck_assert_ptr_null(orte_rml.get_contact_info());
    ck_assert_int_eq(orte_rml.ft_event(OPAL_CRS_CHECKPOINT), disabled);
    OBJ_RELEASE(buffer);
}

static void expect_deaf(void)
{
    char data[4];
    int status;
    struct iovec part = {data, sizeof(data)};
    orte_process_name_t peer = RANK(0);
    const int disabled = ORTE_ERR_COMM_DISABLED;
    ck_assert_int_eq(orte_rml.recv_nb(&peer, &part, 1, TAG, 0, on_iov, &status), disabled);
    ck_assert_int_eq(orte_rml.recv_buffer_nb(&peer, TAG, 0, on_buffer, &status), disabled);
    ck_assert_int_eq(orte_rml.recv_cancel(&peer, TAG), disabled);
    ck_assert_int_eq(orte_rml.set_contact_info("327681.5;tcp://127.0.0.1:9"), disabled);
    ck_assert_int_eq(orte_rml.enable_comm(), disabled);
    ck_assert_int_eq(orte_rml.finalize(), disabled);
    ck_assert_int_eq(orte_rml.add_exception_handler(on_exception), disabled);
    ck_assert_int_eq(orte_rml.del_exception_handler(on_exception), disabled);
}

static void expect_component(bool there)
{
    int priority = -7;
    ck_assert_ptr_eq(mca_rml_keel_component.rml_init(&priority), there ? &orte_rml : NULL);
    ck_assert_int_eq(priority > 0, there);
    ck_assert_ptr_null(mca_rml_keel_component.rml_init(NULL));
    ck_assert(there || priority == -7);
}

static void setup(void)
{
    cluster_begin();
    node_open(&a, NODE_RANK, RANK(0), 64);
    rml_install(a.rml);
}

static void teardown(void)
{
    rml_install(NULL);
    node_close(&a);
    cluster_end();
}

START_TEST(without_an_rml)
{
    expect_disabled();
    expect_deaf();
    expect_component(false);
}
END_TEST

START_TEST(the_component)
{
    const mca_base_component_t *base = &mca_rml_keel_component.rml_version;
    ck_assert_str_eq(base->mca_type_name, "rml");
    ck_assert_int_eq(base->mca_type_major_version, 2);
    ck_assert_int_eq(base->mca_type_minor_version, 0);
    ck_assert_int_eq(base->mca_type_release_version, 0);
    ck_assert_int_eq(base->mca_major_version, 2);
    ck_assert_str_eq(base->mca_component_name, "keel");
    setup();
    expect_component(true);
    ck_assert_int_eq(orte_rml.enable_comm(), ORTE_SUCCESS);
    expect_component(true);
    ck_assert_int_eq(orte_rml.finalize(), ORTE_SUCCESS);
    expect_component(false);
    teardown();
}
END_TEST

START_TEST(before_enable_comm)
{
    char data[4] = "";
    int status = 0;
    struct iovec in = {data, sizeof(data)};
    orte_process_name_t me = RANK(0);
    setup();
    expect_disabled();
    ck_assert_int_eq(orte_rml.recv_nb(&me, &in, 1, TAG, 0, on_iov, &status), ORTE_SUCCESS);
    ck_assert_int_eq(orte_rml.recv_buffer_nb(&me, TAG + 1, 0, on_buffer, &status), ORTE_SUCCESS);
    ck_assert_int_eq(orte_rml.recv_cancel(&me, TAG + 1), ORTE_SUCCESS);
    ck_assert_int_eq(orte_rml.add_exception_handler(on_exception), ORTE_SUCCESS);
    ck_assert_int_eq(orte_rml.del_exception_handler(on_exception), ORTE_SUCCESS);
    ck_assert_int_eq(orte_rml.set_contact_info("327681.5;tcp://127.0.0.1:9"), ORTE_SUCCESS);
    ck_assert_int_eq(orte_rml.enable_comm(), ORTE_SUCCESS);
    ck_assert(rml_is_enabled(a.rml));
    ck_assert_int_eq(orte_rml.enable_comm(), ORTE_SUCCESS); /* twice is once */
    struct iovec out = {(void *) "abc", 3};
    ck_assert_int_eq(orte_rml.send(&me, &out, 1, TAG, 0), 3);
    ck_assert_int_eq(rml_progress(a.rml), 1); /* what was posted before */
    ck_assert_int_eq(status, 3);
    teardown();
}
END_TEST

static int enabled_times;
static int enable_status;

static int enable(void *arg)
{
    ck_assert_ptr_eq(arg, &enabled_times);
    enabled_times++;
    return enable_status;
}

START_TEST(enabling_by_the_host)
{
    setup();
    a.rml->config.enable = enable;
    a.rml->config.arg = &enabled_times;
    enable_status = ORTE_ERR_UNREACH;
    ck_assert_int_eq(orte_rml.enable_comm(), ORTE_ERR_UNREACH);
    expect_disabled();
    enable_status = ORTE_SUCCESS;
    ck_assert_int_eq(orte_rml.enable_comm(), ORTE_SUCCESS);
    ck_assert_int_eq(orte_rml.enable_comm(), ORTE_SUCCESS);
    ck_assert_int_eq(enabled_times, 2);
    teardown();
}
END_TEST

START_TEST(a_rank_has_a_name)
{
    orte_process_name_t name;
    setup();
    for (int pass = 0; pass < 2; pass++) {
        ck_assert_int_eq(orte_rml.get_new_name(&name), ORTE_ERR_NOT_SUPPORTED);
        ck_assert_int_eq(orte_rml.get_new_name(NULL), ORTE_ERR_BAD_PARAM);
        ck_assert_int_eq(orte_rml.enable_comm(), ORTE_SUCCESS);
    }
    teardown();
}
END_TEST

START_TEST(the_end)
{
    int sent = 0, never = 77;
    struct node daemon;
    static const uint32_t daemon_of[] = {0, 0};
    ck_assert_int_eq(param_override("rml_finalize_timeout_ms", "100"), ORTE_SUCCESS);
    setup();
    node_open(&daemon, NODE_DAEMON, DAEMON(0), 64);
    ck_assert_int_eq(rml_route_job(daemon.rml, 0x50001, 2, daemon_of), ORTE_SUCCESS);
    node_link(&a, &daemon);
    ck_assert_int_eq(orte_rml.enable_comm(), ORTE_SUCCESS);
    orte_process_name_t other = RANK(1);
    static char data[1 << 20];
    struct iovec part = {data, sizeof(data)};
    ck_assert_int_eq(orte_rml.recv_buffer_nb(&other, TAG, 0, on_buffer, &never), ORTE_SUCCESS);
    ck_assert_int_eq(orte_rml.send_nb(&other, &part, 1, TAG, 0, on_iov, &sent), ORTE_SUCCESS);
    ck_assert_int_eq(calls, 0);
    ck_assert_int_eq(orte_rml.finalize(), ORTE_SUCCESS);
    ck_assert_int_eq(sent, ORTE_ERR_UNREACH); /* nobody is there to take it; told */
    expect_disabled();
    expect_deaf();
    ck_assert_int_eq(rml_progress(a.rml), 0);
    ck_assert_int_eq(never, 77);
    rml_install(NULL);
    node_close(&a);
    node_close(&daemon);
    cluster_end();
}
END_TEST

static void *receive(void *arg)
{
    char byte;
    struct iovec part = {&byte, 1};
    *(int *) arg = orte_rml.recv(ORTE_NAME_WILDCARD, &part, 1, TAG, 0);
    return NULL;
}

static void end_inside(int status, orte_process_name_t *peer, opal_buffer_t *buffer,
                       orte_rml_tag_t tag, void *cbdata)
{
    on_buffer(orte_rml.finalize() == ORTE_SUCCESS ? status : 88, peer, buffer, tag, cbdata);
}

START_TEST(the_end_of_blocked_receives)
{
    int got = 77, ended = 77, beside = 77;
    pthread_t thread;
    setup();
    ck_assert_int_eq(orte_rml.enable_comm(), ORTE_SUCCESS);
    orte_process_name_t me = RANK(0);
    struct iovec part = {&got, 0};
    ck_assert_int_eq(pthread_create(&thread, NULL, receive, &beside), 0);
    ck_assert_int_eq(orte_rml.recv_buffer_nb(&me, TAG + 1, 0, end_inside, &ended), ORTE_SUCCESS);
    ck_assert_int_eq(orte_rml.send(&me, &part, 1, TAG + 1, 0), 0);
    receive(&got); /* perhaps the other thread runs the callback */
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(got, ORTE_ERR_COMM_DISABLED);
    ck_assert_int_eq(beside, ORTE_ERR_COMM_DISABLED);
    ck_assert_int_eq(ended, ORTE_SUCCESS);
    teardown();
}
END_TEST

UNIT_MAIN("rml/module")
