#include <config.h>

#include <launcher/map/show.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

/* Two packages of two cores; the first core has two hardware threads, the last may not be used. */
static const char cores[] = "topology 1\nquota 0\n"
                            "0 + 0 0 - - 0 0\n"
                            "4 + 0 0 - - 0 0\n"
                            "1 + 1 1 - - 0 0\n"
                            "2 + 2 2 - - - 1\n"
                            "3 - 3 3 - - - 1\n";

static struct topo topo;
static struct map_node nodes[2];
static uint32_t node_of[3] = {1, 0, 1}, app_of[3] = {0, 0, 1}, local_rank_of[3] = {0, 0, 1};
static char *cpus[] = {(char *) "0,4", (char *) "", (char *) "2", NULL};
static char *first_argv[] = {(char *) "first", NULL}, *second_argv[] = {(char *) "second", NULL};
static struct app_request apps[2] = {{.argv = first_argv}, {.argv = second_argv}};
static struct job_plan plan;
static struct run_request request;

static void begin(uint32_t display, bool json)
{
    ck_assert_int_eq(topo_parse(&topo, cores), ORTE_SUCCESS);
    nodes[0] = (struct map_node){.name = (char *) "alpha", .slots = 4, .topo = &topo};
    nodes[1] = (struct map_node){
        .name = (char *) "beta", .slots = 1, .slots_max = 3, .slots_explicit = true, .topo = &topo};
    plan = (struct job_plan){.nodes = nodes,
                             .node_count = 2,
                             .rank_count = 3,
                             .node_of = node_of,
                             .app_of = app_of,
                             .local_rank_of = local_rank_of,
                             .cpus = cpus};
    request = (struct run_request){.apps = apps, .app_count = 2, .display = display, .json = json};
}

static void end_from(uint32_t first, const char *expected)
{
    char *text = plan_show(&plan, &request, first);
    ck_assert_ptr_nonnull(text);
    ck_assert_str_eq(text, expected);
    free(text);
    topo_fini(&topo);
}

static void end_with(const char *expected)
{
    end_from(0, expected);
}

START_TEST(test_nodes_and_the_map)
{
    begin(DISPLAY_ALLOCATION | DISPLAY_MAP, false);
    end_with("Nodes: 2\n"
             "    alpha: 4 slots, counted\n"
             "    beta: 1 slot, given, at most 3 ranks\n"
             "Map: 3 ranks on 2 nodes\n"
             "    alpha:\n"
             "        rank 1: local rank 0, program 0, first\n"
             "    beta:\n"
             "        rank 0: local rank 0, program 0, first\n"
             "        rank 2: local rank 1, program 1, second\n");
}
END_TEST

START_TEST(test_the_map_has_only_nodes_with_ranks)
{
    begin(DISPLAY_MAP, false);
    plan.rank_count = 1;
    end_with("Map: 1 rank on 1 node\n"
             "    beta:\n"
             "        rank 0: local rank 0, program 0, first\n");
}
END_TEST

START_TEST(test_a_program_has_one_line_whatever_its_name)
{
    char *argv[] = {(char *) "\033[31mred\nrank 7", NULL};
    begin(DISPLAY_MAP, false);
    plan.rank_count = 1;
    apps[0].argv = argv;
    end_with("Map: 1 rank on 1 node\n"
             "    beta:\n"
             "        rank 0: local rank 0, program 0, ?[31mred?rank 7\n");
    apps[0].argv = first_argv;
}
END_TEST

START_TEST(test_ranks_that_were_added)
{
    begin(DISPLAY_MAP | DISPLAY_BIND, false);
    end_from(1, "Map: 2 ranks on 2 nodes\n"
                "    alpha:\n"
                "        rank 1: local rank 0, program 0, first\n"
                "    beta:\n"
                "        rank 2: local rank 1, program 1, second\n"
                "rank 1 on alpha: not bound\n"
                "rank 2 on beta: bound to processors 2 [../.][B/~]\n");
    begin(DISPLAY_MAP, true);
    end_from(2, "{\"ranks\": [\n"
                "  {\"rank\": 2, \"node\": \"beta\", \"local_rank\": 1, \"program\": 1, "
                "\"command\": \"second\"}]}\n");
}
END_TEST

START_TEST(test_bindings_have_pictures)
{
    begin(DISPLAY_BIND, false);
    end_with("rank 0 on beta: bound to processors 0,4 [BB/.][./~]\n"
             "rank 1 on alpha: not bound\n"
             "rank 2 on beta: bound to processors 2 [../.][B/~]\n");
}
END_TEST

START_TEST(test_a_topology_is_shown_once)
{
    begin(DISPLAY_TOPO, false);
    end_with("Topology of alpha, beta:\n"
             "    package 0 numa 0 l1cache 0 core 0 hwthread 0: processor 0\n"
             "    package 0 numa 0 l1cache 0 core 0 hwthread 1: processor 4\n"
             "    package 0 numa 0 l1cache 1 core 1 hwthread 2: processor 1\n"
             "    package 1 l1cache 2 core 2 hwthread 3: processor 2\n"
             "    package 1 l1cache 3 core 3 hwthread 4: processor 3, may not be used\n");
}
END_TEST

START_TEST(test_a_job_that_is_not_bound)
{
    char *not_bound[] = {(char *) "", NULL};
    begin(DISPLAY_BIND, false);
    plan.cpus = not_bound;
    plan.rank_count = 1;
    end_with("rank 0 on beta: not bound\n");
    begin(DISPLAY_BIND, true);
    plan.cpus = not_bound;
    plan.rank_count = 1;
    end_with("{\"ranks\": [\n"
             "  {\"rank\": 0, \"node\": \"beta\", \"local_rank\": 0, \"program\": 0, "
             "\"command\": \"first\", \"processors\": \"\"}]}\n");
}
END_TEST

START_TEST(test_json_has_all_keys)
{
    begin(DISPLAY_ALLOCATION | DISPLAY_TOPO | DISPLAY_MAP | DISPLAY_BIND, true);
    plan.node_count = 1;
    plan.rank_count = 1;
    topo.count = 2;
    node_of[0] = 0;
    end_with("{\"nodes\": [\n"
             "  {\"name\": \"alpha\", \"slots\": 4, \"given\": false, \"max_slots\": 0, "
             "\"threads\": [{\"processor\": 0, \"usable\": true, \"hwthread\": 0, \"core\": 0, "
             "\"l1cache\": 0, \"numa\": 0, \"package\": 0}, {\"processor\": 4, \"usable\": true, "
             "\"hwthread\": 1, \"core\": 0, \"l1cache\": 0, \"numa\": 0, \"package\": 0}]}],\n"
             " \"ranks\": [\n"
             "  {\"rank\": 0, \"node\": \"alpha\", \"local_rank\": 0, \"program\": 0, "
             "\"command\": \"first\", \"processors\": \"0,4\"}]}\n");
}
END_TEST

UNIT_MAIN("show")
