/* Ranks without daemons: contact strings are asked for, links are direct. */
#include <config.h>

#include "cluster.h"
#include <base/data/clock.h>
#include <base/types/name.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

enum { TAG = 200, JOB_SIZE = 3 };

static struct node a, b;

/* What the resolver was asked, and says. */
static struct {
    sem_t asked;
    const char *contact; /* NULL: nothing yet */
    bool answers;
    orte_process_name_t name;
} guide;

static void resolve(void *arg, const orte_process_name_t *name)
{
    struct node *node = arg;
    ck_assert(loop_is_current(node->loop));
    guide.name = *name;
    if (guide.answers) {
        rml_resolved(node->rml, name, guide.contact);
    }
    sem_post(&guide.asked);
}

static void open_rank(struct node *node, uint32_t rank)
{
    node_open(node, NODE_RANK, RANK(rank), 64);
    node->rml->config.job_size = node->rml->route.job_size = JOB_SIZE;
    node->contact = rml_contact(node->rml);
    ck_assert_ptr_nonnull(node->contact);
}

static void open_ranks(void)
{
    cluster_begin();
    sem_init(&guide.asked, 0, 0);
    open_rank(&a, 0);
    open_rank(&b, 1);
    guide.answers = true;
    guide.contact = b.contact;
    rml_set_resolver(a.rml, resolve, &a);
}

static void close_ranks(void)
{
    node_close(&a);
    node_close(&b);
    sem_destroy(&guide.asked);
    cluster_end();
}

static int send_number(struct node *from, const orte_process_name_t *to, uint32_t number)
{
    struct iovec part = {&number, sizeof(number)};
    return rml_call_send(from->rml, to, &part, 1, TAG, 0);
}

static void expect_number(struct node *at, const orte_process_name_t *from, uint32_t expected)
{
    uint32_t number = ~expected;
    struct iovec part = {&number, sizeof(number)};
    ck_assert_int_eq(rml_call_recv(at->rml, from, &part, 1, TAG, 0), (int) sizeof(number));
    ck_assert_uint_eq(number, expected);
}

START_TEST(the_first_message_asks)
{
    open_ranks();
    orte_process_name_t any = {a.name.jobid, ORTE_VPID_WILDCARD};
    for (uint32_t i = 0; i < 10; i++) {
        ck_assert_int_eq(send_number(&a, &b.name, i), 4);
    }
    for (uint32_t i = 0; i < 10; i++) {
        expect_number(&b, &any, i);
    }
    wait_sem(&guide.asked);
    ck_assert_int_ne(sem_trywait(&guide.asked), 0); /* once */
    ck_assert(name_equal(&guide.name, &b.name));
    ck_assert_int_eq(send_number(&b, &a.name, 77), 4); /* back on the same link */
    expect_number(&a, &b.name, 77);
    close_ranks();
}
END_TEST

START_TEST(nobody_is_asked_beyond_the_job)
{
    open_ranks();
    orte_process_name_t beyond = RANK(JOB_SIZE), other = {0x60001, 1};
    ck_assert_int_eq(send_number(&a, &beyond, 1), ORTE_ERR_ADDRESSEE_UNKNOWN);
    ck_assert_int_eq(send_number(&a, &other, 1), ORTE_ERR_ADDRESSEE_UNKNOWN);
    ck_assert_int_eq(send_number(&b, &a.name, 1), ORTE_ERR_ADDRESSEE_UNKNOWN); /* has no resolver */
    ck_assert_int_ne(sem_trywait(&guide.asked), 0);
    close_ranks();
}
END_TEST

START_TEST(no_answer_or_a_wrong_one_fails_what_waits)
{
    open_ranks();
    static const char *const wrong[] = {NULL, "", "no contact", "1.1;tcp://127.0.0.1:1"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        guide.contact = wrong[i];
        ck_assert_int_eq(send_number(&a, &b.name, 1), ORTE_ERR_UNREACH);
    }
    guide.contact = a.contact; /* of another name */
    ck_assert_int_eq(send_number(&a, &b.name, 1), ORTE_ERR_UNREACH);
    guide.contact = b.contact;
    ck_assert_int_eq(send_number(&a, &b.name, 5), 4); /* each message asks again */
    expect_number(&b, &a.name, 5);
    close_ranks();
}
END_TEST

static void sent(int status, struct orte_process_name_t *peer, struct iovec *msg, int count,
                 orte_rml_tag_t tag, void *cbdata)
{
    (void) peer;
    (void) msg;
    (void) count;
    (void) tag;
    *(int *) cbdata = status;
}

static bool is_sent(const int *status)
{
    uint64_t deadline = clock_us() + WAIT_S * 1000000u;
    while (*status == 1 && clock_us() < deadline) {
        (void) rml_progress(a.rml);
    }
    return *status != 1;
}

START_TEST(an_answer_may_come_late_or_never)
{
    uint32_t number = 9;
    struct iovec part = {&number, sizeof(number)};
    int first = 1, second = 1;
    open_ranks();
    guide.answers = false;
    ck_assert_int_eq(rml_call_send_nb(a.rml, &b.name, &part, 1, TAG, 0, sent, &first),
                     ORTE_SUCCESS);
    wait_sem(&guide.asked);
    ck_assert_int_eq(first, 1);
    rml_resolved(a.rml, &b.name, b.contact);
    rml_resolved(a.rml, &b.name, NULL); /* nobody asked */
    ck_assert(is_sent(&first));
    ck_assert_int_eq(first, 4);
    expect_number(&b, &a.name, 9);

    orte_process_name_t third = RANK(2);
    ck_assert_int_eq(rml_call_send_nb(a.rml, &third, &part, 1, TAG, 0, sent, &second),
                     ORTE_SUCCESS);
    wait_sem(&guide.asked);
    rml_set_resolver(a.rml, NULL, NULL);
    ck_assert(is_sent(&second));
    ck_assert_int_eq(second, ORTE_ERR_UNREACH);
    ck_assert_int_eq(send_number(&a, &third, 1), ORTE_ERR_ADDRESSEE_UNKNOWN);
    close_ranks();
}
END_TEST

START_TEST(without_the_runtime_receives_fail)
{
    uint32_t number = 3;
    struct iovec part = {&number, sizeof(number)};
    open_ranks();
    ck_assert_int_eq(send_number(&a, &b.name, 1), 4);
    wait_sem(&b.ups);
    rml_cut_off(b.rml);
    expect_number(&b, &a.name, 1);
    ck_assert_int_eq(send_number(&a, &b.name, 2), 4); /* the link is still up */
    expect_number(&b, &a.name, 2);
    orte_process_name_t third = RANK(2);
    ck_assert_int_eq(rml_call_recv(b.rml, &third, &part, 1, TAG, 0), ORTE_ERR_COMM_FAILURE);
    close_ranks();
}
END_TEST

UNIT_MAIN("rml/resolve")
