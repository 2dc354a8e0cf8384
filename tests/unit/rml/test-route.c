#include <base/types/name.h>
#include <rml/tree/route.h>
#include <tests/lib/unit.h>

/* Job family 5: the daemons are job 0x50000, the first job of ranks 0x50001. */
#define DAEMON(vpid) ((orte_process_name_t){0x50000, vpid})
#define RANK(vpid) ((orte_process_name_t){0x50001, vpid})

static struct rml_route route;

static void be_daemon(uint32_t vpid, uint32_t radix, uint32_t count)
{
    static const uint32_t daemon_of[] = {0, 1, 1, 2, 6};
    orte_process_name_t me = DAEMON(vpid);
    rml_route_init(&route, &me, true, radix);
    route.tree.count = count;
    ck_assert_int_eq(rml_route_set_job(&route, 0x50001, 5, daemon_of), ORTE_SUCCESS);
}

static void expect_target(orte_process_name_t dest, orte_process_name_t expected)
{
    orte_process_name_t target;
    ck_assert_int_eq(rml_route_target(&route, &dest, &target), ORTE_SUCCESS);
    ck_assert(name_equal(&target, &expected));
}

static void expect_hop(orte_process_name_t target, orte_process_name_t expected)
{
    orte_process_name_t hop;
    ck_assert_int_eq(rml_route_hop(&route, &target, &hop), ORTE_SUCCESS);
    ck_assert(name_equal(&hop, &expected));
}

static void expect_unknown(orte_process_name_t dest)
{
    orte_process_name_t target = {7, 7};
    ck_assert_int_eq(rml_route_target(&route, &dest, &target), ORTE_ERR_ADDRESSEE_UNKNOWN);
    ck_assert(target.jobid == 7 && target.vpid == 7);
}

START_TEST(a_rank_goes_by_its_daemon)
{
    orte_process_name_t me = RANK(1), daemon = DAEMON(1);
    rml_route_init(&route, &me, false, 64);
    expect_target(me, me);
    expect_unknown(RANK(2));
    route.upstream = daemon;
    route.has_upstream = true;
    expect_target(RANK(2), daemon);
    expect_target(DAEMON(0), daemon);
    expect_target((orte_process_name_t){0x50002, 4}, daemon); /* another job of the family */
    expect_unknown((orte_process_name_t){0x90001, 4});        /* another family */
    expect_hop(daemon, daemon);
    route.job_size = 3;
    expect_target(RANK(2), daemon);
    expect_unknown(RANK(3));
    rml_route_fini(&route);
}
END_TEST

START_TEST(a_daemon_serves_its_ranks)
{
    be_daemon(1, 2, 7);
    expect_target(RANK(1), RANK(1));
    expect_target(RANK(2), RANK(2));
    expect_hop(RANK(2), RANK(2));
    expect_target(RANK(3), DAEMON(2));
    expect_target(DAEMON(1), DAEMON(1));
    rml_route_fini(&route);
}
END_TEST

START_TEST(a_job_with_one_daemon)
{
    be_daemon(2, 2, 7);
    ck_assert_int_eq(rml_route_set_whole_job(&route, 0x5fff1, 0), ORTE_SUCCESS);
    expect_target((orte_process_name_t){0x5fff1, 0}, DAEMON(0));
    expect_target((orte_process_name_t){0x5fff1, 1023}, DAEMON(0));
    expect_target(RANK(1), DAEMON(1));
    ck_assert_int_eq(rml_route_set_job(&route, 0x5fff1, 0, NULL), ORTE_SUCCESS);
    expect_unknown((orte_process_name_t){0x5fff1, 0});
    rml_route_fini(&route);
}
END_TEST

START_TEST(the_tree_leads_on)
{
    be_daemon(1, 2, 7);
    expect_hop(DAEMON(2), DAEMON(0)); /* up and down again */
    expect_hop(DAEMON(0), DAEMON(0));
    expect_hop(DAEMON(5), DAEMON(5)); /* a child */
    expect_target(RANK(4), DAEMON(6));
    expect_hop(DAEMON(6), DAEMON(0));
    rml_route_fini(&route);
    be_daemon(0, 2, 7);
    expect_hop(DAEMON(6), DAEMON(2));
    rml_route_fini(&route);
    be_daemon(2, 1, 7); /* a chain */
    expect_hop(DAEMON(6), DAEMON(3));
    expect_hop(DAEMON(0), DAEMON(1));
    rml_route_fini(&route);
}
END_TEST

START_TEST(nobody_there)
{
    be_daemon(1, 2, 7);
    expect_unknown(RANK(5));                           /* beyond the job */
    expect_unknown((orte_process_name_t){0x50002, 0}); /* no such job */
    expect_unknown((orte_process_name_t){0x60000, 0}); /* another family's daemon */
    expect_unknown(DAEMON(7));                         /* beyond the tree */
    orte_process_name_t hop, beyond = DAEMON(9);
    ck_assert_int_eq(rml_route_hop(&route, &beyond, &hop), ORTE_ERR_ADDRESSEE_UNKNOWN);
    rml_route_fini(&route);
}
END_TEST

START_TEST(before_the_tree_is_known)
{
    be_daemon(3, 2, 0);
    expect_target(DAEMON(9), DAEMON(9));
    expect_hop(DAEMON(9), DAEMON(9));
    rml_route_fini(&route);
}
END_TEST

START_TEST(jobs_are_replaced_and_removed)
{
    static const uint32_t elsewhere[] = {1, 0};
    be_daemon(1, 64, 3);
    expect_target(RANK(0), DAEMON(0));
    ck_assert_int_eq(rml_route_set_job(&route, 0x50001, 2, elsewhere), ORTE_SUCCESS);
    expect_target(RANK(0), RANK(0));
    expect_target(RANK(1), DAEMON(0));
    expect_unknown(RANK(2));
    ck_assert_int_eq(rml_route_set_job(&route, 0x50001, 0, NULL), ORTE_SUCCESS);
    expect_unknown(RANK(0));
    rml_route_fini(&route);
}
END_TEST

UNIT_MAIN("rml/route")
