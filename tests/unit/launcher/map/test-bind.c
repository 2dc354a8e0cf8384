#include <config.h>

#include <launcher/map/bind.h>
#include <string.h>
#include <tests/lib/unit.h>

/* Two packages with one core each; the second core has hardware threads 1, 2, 3 and 9. */
static void two_cores(struct topo_core cores[2])
{
    memset(cores, 0, 2 * sizeof(*cores));
    CPU_SET(0, &cores[0].cpus);
    CPU_SET(1, &cores[1].cpus);
    CPU_SET(2, &cores[1].cpus);
    CPU_SET(3, &cores[1].cpus);
    CPU_SET(9, &cores[1].cpus);
    cores[1].package = 1;
    cores[1].core = 4;
}

START_TEST(test_ranks_take_the_cores_in_turn)
{
    struct topo_core cores[2];
    two_cores(cores);
    struct bind_map map = {cores, 2};
    ck_assert_ptr_eq(bind_choose(&map, 0), &cores[0].cpus);
    ck_assert_ptr_eq(bind_choose(&map, 1), &cores[1].cpus);
    ck_assert_ptr_eq(bind_choose(&map, 2), &cores[0].cpus);
}
END_TEST

START_TEST(test_the_report_names_rank_node_and_processors)
{
    struct topo_core cores[2];
    char text[256];
    two_cores(cores);
    struct bind_map map = {cores, 2};
    ck_assert_str_eq(bind_report(&map, 10, "node1", 0, text, sizeof(text)),
                     "rank 10 on node1: bound to package 0 core 0 (processors 0)");
    ck_assert_str_eq(bind_report(&map, 11, "node1", 3, text, sizeof(text)),
                     "rank 11 on node1: bound to package 1 core 4 (processors 1-3,9)");
    ck_assert_str_eq(bind_report(NULL, 2, "node0", 0, text, sizeof(text)),
                     "rank 2 on node0: not bound");
    bind_report(&map, 11, "node1", 3, text, 8);
    ck_assert_str_eq(text, "rank 11");
}
END_TEST

/* On this machine, as far as hwloc is there: every core is one that we may use. */
START_TEST(test_the_cores_of_this_machine)
{
    struct bind_map map;
    char reason[256];
    cpu_set_t own, both;
    int rc = bind_map_make(&map, reason, sizeof(reason));
    if (rc != ORTE_SUCCESS) {
        ck_assert_int_eq(rc, ORTE_ERR_NOT_AVAILABLE);
        ck_assert_uint_gt(strlen(reason), 0);
        return;
    }
    ck_assert_int_eq(sched_getaffinity(0, sizeof(own), &own), 0);
    ck_assert_uint_ge(map.count, 1);
    for (uint32_t i = 0; i < map.count; i++) {
        const cpu_set_t *cpus = bind_choose(&map, i);
        CPU_AND(&both, cpus, &own);
        ck_assert(CPU_EQUAL(&both, cpus) && CPU_COUNT(cpus) > 0);
    }
    bind_map_fini(&map);
}
END_TEST

UNIT_MAIN("bind", test_ranks_take_the_cores_in_turn, test_the_report_names_rank_node_and_processors,
          test_the_cores_of_this_machine)
