/* Idle nodes that become a job's, and those whose daemon is lost. */
#include <config.h>

#include <launcher/head/spawn/spawn_nodes.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

enum { NODES = 6, COUNT = 4 };

static char names[NODES][3] = {"n0", "n1", "n2", "n3", "n4", "n5"};
static uint32_t daemon_of_node[NODES], ranks_of[2] = {0, 0}, apps_of[2], local_ranks[2] = {0, 1};
static struct map_node nodes[NODES];
static struct dvm_daemon daemons[NODES];
static struct hnp hnp;

/* n0 and n1 have ranks; n3 has no daemon, and that of n5 is lost. */
static void set_up(void)
{
    hnp = (struct hnp){.plan = {.node_count = 2,
                                .idle_count = NODES - 2,
                                .rank_count = 2,
                                .node_of = ranks_of,
                                .app_of = apps_of,
                                .local_rank_of = local_ranks,
                                .nodes = nodes},
                       .dvm = {.daemons = daemons, .count = NODES},
                       .daemon_of_node = daemon_of_node};
    for (uint32_t i = 0; i < NODES; i++) {
        nodes[i] = (struct map_node){.name = names[i], .number = i};
        daemons[i] = (struct dvm_daemon){.state = DAEMON_WIRED, .node = names[i]};
        daemon_of_node[i] = i;
    }
    daemon_of_node[3] = NO_DAEMON;
    daemons[5].state = DAEMON_LOST;
    daemons[5].why = (char *) "no way";
    ck_assert_int_eq(job_plan_index(&hnp.plan), ORTE_SUCCESS);
}

static void tear_down(void)
{
    hash_fini(&hnp.plan.by_name);
    hash_fini(&hnp.plan.by_number);
}

static struct spawned spawned_on(const uint32_t on[COUNT])
{
    struct spawned spawned = {.count = COUNT, .node_of = calloc(COUNT, sizeof(uint32_t))};
    memcpy(spawned.node_of, on, COUNT * sizeof(uint32_t));
    return spawned;
}

START_TEST(test_the_new_ones_stand_behind_the_jobs)
{
    set_up();
    struct spawned spawned = spawned_on((const uint32_t[COUNT]){4, 1, 2, 4});
    ck_assert(!spawn_lacks_daemons(&hnp, &spawned));
    ck_assert_int_eq(spawn_name_nodes(&hnp, &spawned), ORTE_SUCCESS);
    uint32_t places[] = {2, 1, 3, 2};
    ck_assert_mem_eq(spawned.node_of, places, sizeof(places));
    ck_assert_uint_eq(spawned.node_first, 2);
    ck_assert_uint_eq(spawned.node_count, 2);
    ck_assert_str_eq(spawned.node_names[0], "n4");
    ck_assert_str_eq(spawned.node_names[1], "n2");
    ck_assert_uint_eq(spawned.daemon_of_node[0], 4);
    ck_assert_uint_eq(spawned.daemon_of_node[1], 2);
    ck_assert_uint_eq(hnp.plan.node_count, 2); /* they are not the job's yet */
    for (uint32_t i = 0; i < NODES; i++) {     /* each is found, and has its daemon */
        uint32_t place = (uint32_t) (job_plan_find(&hnp.plan, names[i]) - nodes);
        ck_assert_str_eq(nodes[place].name, names[i]);
        ck_assert_uint_eq(daemon_of_node[place], i == 3 ? NO_DAEMON : i);
    }
    spawned_fini(&spawned);
    tear_down();
}
END_TEST

START_TEST(test_none_are_new)
{
    set_up();
    struct spawned spawned = spawned_on((const uint32_t[COUNT]){1, 0, 1, 0});
    ck_assert_int_eq(spawn_name_nodes(&hnp, &spawned), ORTE_SUCCESS);
    ck_assert_uint_eq(spawned.node_first, 2);
    ck_assert_uint_eq(spawned.node_count, 0);
    spawned_fini(&spawned);
    tear_down();
}
END_TEST

START_TEST(test_nodes_without_daemons)
{
    char reason[64];
    set_up();
    struct spawned spawned = spawned_on((const uint32_t[COUNT]){0, 1, 2, 3});
    ck_assert(spawn_lacks_daemons(&hnp, &spawned));
    ck_assert(!spawn_drop_lost(&hnp, reason, sizeof(reason)));
    ck_assert_str_eq(reason, "node n5: no way");
    ck_assert_uint_eq(daemon_of_node[5], NO_DAEMON);
    ck_assert(spawn_drop_lost(&hnp, reason, sizeof(reason)));
    daemons[1].state = DAEMON_LOST; /* a node of the job keeps it */
    ck_assert(spawn_drop_lost(&hnp, reason, sizeof(reason)));
    ck_assert_uint_eq(daemon_of_node[1], 1);
    spawned_fini(&spawned);
    tear_down();
}
END_TEST

START_TEST(test_nodes_without_ranks_become_idle)
{
    set_up();
    struct map_node *owned = calloc(NODES, sizeof(*owned));
    uint32_t on[2] = {4, 1};
    memcpy(owned, nodes, sizeof(nodes));
    hnp.plan.nodes = owned;
    hnp.plan.node_count = NODES;
    hnp.plan.idle_count = 0;
    hnp.plan.node_of = on;
    ck_assert_int_eq(job_plan_set_idle(&hnp.plan), ORTE_SUCCESS);
    static const char *const order[] = {"n1", "n4", "n0", "n2", "n3", "n5"};
    ck_assert_uint_eq(hnp.plan.node_count, 2);
    ck_assert_uint_eq(hnp.plan.idle_count, NODES - 2);
    for (uint32_t i = 0; i < NODES; i++) {
        ck_assert_str_eq(hnp.plan.nodes[i].name, order[i]);
        ck_assert_ptr_eq(job_plan_find(&hnp.plan, order[i]), &hnp.plan.nodes[i]);
    }
    ck_assert(on[0] == 1 && on[1] == 0);
    tear_down();
    free(hnp.plan.nodes);
}
END_TEST

UNIT_MAIN("spawn_nodes")
