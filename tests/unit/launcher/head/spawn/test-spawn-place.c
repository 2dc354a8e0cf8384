/* Where spawned ranks go: on nodes that there are, as the info of MPI_Comm_spawn says. */
#include <config.h>

#include <base/data/strings.h>
#include <launcher/head/spawn/spawn_place.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

enum { NODES = 4 };

/* n0 has 3 slots and 2 ranks, one of which has ended; n1 2 and 1; n2 1 and 1; n3 9 and none: it is
 * lost.
 */
static const uint32_t slots[NODES] = {3, 2, 1, 9};
static uint32_t node_of[] = {0, 0, 1, 2};
static uint32_t app_of[] = {0, 0, 0, 0}, local_rank_of[] = {0, 1, 0, 0};
static bool ended[] = {true, false, false, false};
static char not_bound[] = "", *no_cpus[] = {not_bound, not_bound, not_bound, not_bound, NULL};
static struct app_request parent;
static uint32_t daemon_of_node[NODES] = {0, 1, 2, 3};
static struct map_node nodes[NODES];
static struct dvm_daemon daemons[NODES];
static char names[NODES][3] = {"n0", "n1", "n2", "n3"};
static struct hnp hnp;
static char lacks[NODES + 1]; /* the nodes that place() needs to know more of */
static char reason[256], hostfile[] = "/tmp/test-spawn-place.XXXXXX";

static void set_up(void)
{
    memset(nodes, 0, sizeof(nodes));
    for (uint32_t i = 0; i < NODES; i++) {
        nodes[i] = (struct map_node){.name = names[i], .slots = slots[i], .number = i};
        daemons[i].state = DAEMON_WIRED;
    }
    daemons[3].state = DAEMON_LOST;
    daemon_of_node[3] = 3;
    parent.per_node = 0;
    hnp = (struct hnp){.plan = {.nodes = nodes,
                                .node_count = NODES,
                                .rank_count = 4,
                                .node_of = node_of,
                                .app_of = app_of,
                                .local_rank_of = local_rank_of,
                                .cpus = no_cpus},
                       .request = {.apps = &parent, .app_count = 1},
                       .dvm = {.daemons = daemons, .count = NODES},
                       .daemon_of_node = daemon_of_node,
                       .job = {.ended = ended, .rank_count = 4}};
    ck_assert_int_eq(job_plan_index(&hnp.plan), ORTE_SUCCESS);
}

static void tear_down(void)
{
    hash_fini(&hnp.plan.by_name);
}

/* One character for the node of each rank; "": refused, and reason says why. Each string is what
 * one program's info says: its number of ranks, then KEY=VALUE. */
static const char *place(const char *first, const char *second)
{
    static char where[64];
    const char *wishes[] = {first, second};
    struct spawn_program programs[2] = {0};
    struct node_set unknown = {0};
    struct spawned spawned = {.first = 4, .app_first = 1};
    char text[256], *rest;
    for (; spawned.app_count < 2 && wishes[spawned.app_count]; spawned.app_count++) {
        struct spawn_program *program = &programs[spawned.app_count];
        snprintf(text, sizeof(text), "%s", wishes[spawned.app_count]);
        program->count = (uint32_t) atoi(strtok_r(text, " ", &rest));
        spawned.count += program->count;
        for (char *word; (word = strtok_r(NULL, " ", &rest)) != NULL;) {
            ck_assert(strings_add(&program->info, strdup(word)));
        }
    }
    spawned.apps = calloc(2, sizeof(*spawned.apps));
    reason[0] = '\0';
    memset(where, 0, sizeof(where));
    int status = spawn_place(&hnp, &spawned, programs, &unknown, reason, sizeof(reason));
    for (uint32_t i = 0; i < spawned.count && status == ORTE_SUCCESS; i++) {
        where[i] = (char) ('0' + spawned.node_of[i]);
        ck_assert_uint_eq(spawned.app_of[i], i < programs[0].count ? 1 : 2);
    }
    ck_assert(status == ORTE_SUCCESS || reason[0]);
    ck_assert_int_eq(status == ORTE_ERR_NOT_AVAILABLE, unknown.count > 0);
    lacks[0] = '\0';
    for (uint32_t i = 0; i < unknown.count; i++) {
        snprintf(lacks + i, 2, "%u", unknown.nodes[i]);
    }
    free(unknown.nodes);
    spawned_fini(&spawned);
    strings_free(programs[0].info);
    strings_free(programs[1].info);
    return where;
}

static void check(const char *expected, const char *words)
{
    ck_assert_msg(strcmp(place(words, NULL), expected) == 0, "%s: %s, not %s; %s", words,
                  place(words, NULL), expected, reason);
}

static void refused(const char *expected, const char *words)
{
    check("", words);
    ck_assert_msg(strstr(reason, expected), "%s: %s", words, reason);
}

START_TEST(test_by_slot)
{
    set_up();
    check("00001", "5"); /* two free ones, then one on n1; then as many as n0 has */
    ck_assert_str_eq(place("2", "2"), "0001");
    daemons[0].state = DAEMON_LOST;
    check("111", "3");
    nodes[1].slots_max = 2;
    check("122", "3");
    hnp.request.no_oversubscribe = true;
    check("1", "1");
    refused("there is room for 1 of 2 ranks", "2");
    tear_down();
}
END_TEST

START_TEST(test_map_by)
{
    set_up();
    check("00001", "5 map_by=SLOT");
    check("01010", "5 map_by=node");
    check("0011", "4 ppr=2:n");
    check("001122", "6 ppr=2:node");
    check("012", "3 map_by=ppr:1:NODE");
    check("012012", "6 map_by=node ppr=2:n");
    check("001122", "6 map_by=node ppr=2:n rank_by=slot");
    check("012012", "6 ppr=2:n rank_by=node");
    check("012012", "6 rank_by=node ppr=2:n add-host=n0,n3 bind_to=none");
    refused("there is room for 1 of 2 ranks", "2 host=n1 map_by=slot:NOOVERSUBSCRIBE");
    tear_down();
}
END_TEST

START_TEST(test_words_of_a_mapping)
{
    set_up();
    nodes[0].local = true;
    check("0", "1");
    check("1", "1 no-procs-on-head=true");
    check("1", "1 map_by=node no-procs-on-head=true");
    refused("there is room for 1 of 2 ranks", "2 host=n1 no-oversubscribe=true");
    refused("the processors of node n0 are not known", "1 cpus-per-proc=2");
    refused("cpus-per-proc=0: 'PE=0': a whole number", "1 cpus-per-proc=0");
    refused("cpus-per-proc=00000000000000000000000000000000: a number is needed",
            "1 cpus-per-proc=00000000000000000000000000000000");
    refused("no-procs-on-head=PMIX_UINT16: true is needed", "1 no-procs-on-head=PMIX_UINT16");
    refused("cpu-list=0-3: this info key is not supported", "1 cpu-list=0-3");
    tear_down();
}
END_TEST

START_TEST(test_the_jobs_mapping_is_inherited)
{
    set_up();
    hnp.request.placement.map_by = MAP_BY_NODE;
    check("01010", "5");
    check("001122", "6 ppr=2:n");
    check("00001", "5 map_by=slot");
    hnp.request.placement =
        (struct placement){.map_by = MAP_BY_PPR, .map_level = LEVEL_NODE, .per_object = 2};
    check("00001122", "8"); /* and again from the first */
    check("00001", "5 map_by=slot");
    hnp.request.placement = (struct placement){.map_by = MAP_BY_SEQ};
    check("00001", "5");
    hnp.request.placement = (struct placement){0};
    parent.per_node = 1;
    check("00112", "5"); /* numbered node by node */
    parent.per_node = 0;
    hnp.request.placement = (struct placement){.map_by = MAP_BY_SLOT, .rank_by = RANK_BY_NODE};
    check("01000", "5");
    check("01000", "5 map_by=:oversubscribe");
    check("00001", "5 map_by=slot");
    hnp.request.placement = (struct placement){0};
    parent.per_node = 1;
    hnp.request.placement.no_local = nodes[0].local = true;
    check("11122", "5");
    tear_down();
}
END_TEST

START_TEST(test_hosts)
{
    set_up();
    check("111", "3 host=n1");
    check("121", "3 host=+n1,n2 map_by=node");
    check("2121", "4 host=n2,n1 map_by=node ppr=2:node");
    check("00111", "5 host=n0:2,n1 map_by=slot");
    refused("there is room for 2 of 5 ranks", "5 host=n0:2");
    ck_assert_str_eq(place("2 host=n1", "2 host=n2"), "1122");
    refused("room for 1 of 2 ranks", "2 host=n2:1");
    refused("host n3 is lost, or not in the hostfile", "1 host=n3");
    refused("host other is none of the nodes of this job", "1 host=n0,other");
    daemons[1].state = DAEMON_LOST;
    refused("host n1 is lost", "1 host=n1");
    tear_down();
}
END_TEST

/* n3 has no daemon, or one and no ranks. */
START_TEST(test_idle_nodes)
{
    set_up();
    hnp.plan.node_count = NODES - 1;
    hnp.plan.idle_count = 1;
    for (uint32_t i = 0; i < 2; i++) {
        daemon_of_node[3] = i ? 3 : NO_DAEMON;
        daemons[3].state = DAEMON_WIRED;
        check("00133", "5");
        check("0130", "4 map_by=node"); /* n2 is full */
        check("33", "2 host=n3");
        refused("there is room for 4 of 5 ranks", "5 ppr=1:n");
    }
    daemons[3].state = DAEMON_LOST;
    refused("host n3 is lost", "1 host=n3");
    tear_down();
}
END_TEST

START_TEST(test_empty_nodes)
{
    set_up();
    refused("host +e: 0 nodes have no rank", "1 host=+e");
    ended[2] = true; /* n1's only one */
    check("11", "2 host=+e");
    check("0011", "4 host=n0:2,+e map_by=slot");
    refused("host +e:2: 1 node has no rank", "1 host=+e:2");
    refused("host +e: 0 nodes have no rank", "1 host=n1,+e");
    hnp.plan.node_count = NODES - 1;
    hnp.plan.idle_count = 1;
    daemons[3].state = DAEMON_WIRED;
    check("113", "3 host=+e"); /* two slots, and one of nine */
    check("131", "3 host=+e:2 map_by=node");
    check("11", "2 host=+e:1");
    ck_assert_str_eq(place("2 host=+e:1", "1 host=+e"), "113");
    refused("add-host=+e:x", "1 add-host=+e:x");
    refused("host +e is none of the nodes of this job", "1 add-host=+e");
    ended[2] = false;
    tear_down();
}
END_TEST

START_TEST(test_what_is_shown_changes_no_place)
{
    set_up();
    check("00001", "5 report-bindings=true display-map=TRUE display-allocation=true");
    refused("report-bindings=PMIX_UINT8: true is needed", "1 report-bindings=PMIX_UINT8");
    refused("display-map=: true is needed", "1 display-map=");
    refused("display-topology=node0: this info key is not supported; ", "1 display-topology=node0");
    tear_down();
}
END_TEST

START_TEST(test_hostfiles)
{
    char words[128];
    set_up();
    int fd = mkstemp(hostfile);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_gt(dprintf(fd, "n2 slots=1\nother\nn3\nn1 slots=2\n"), 0);
    close(fd);
    snprintf(words, sizeof(words), "3 map_by=node hostfile=%s", hostfile);
    check("211", words);
    snprintf(words, sizeof(words), "4 hostfile=%s", hostfile);
    refused("room for 3 of 4 ranks", words);
    snprintf(words, sizeof(words), "2 host=n1 hostfile=%s", hostfile);
    check("11", words);
    snprintf(words, sizeof(words), "2 host=n0 hostfile=%s", hostfile);
    refused("host n0 is lost, or not in the hostfile", words);
    ck_assert_int_eq(truncate(hostfile, 0), 0);
    refused("no host is in it", words);
    unlink(hostfile);
    refused("No such file", words);
    tear_down();
}
END_TEST

START_TEST(test_what_is_not_known_is_refused)
{
    set_up();
    refused("map_by=cor: 'cor': slot, node, hwthread, core, ", "1 map_by=cor");
    refused("map_by=slot:SPAN: --map-by slot:SPAN: SPAN goes with an object", "1 map_by=slot:SPAN");
    refused("map_by=seq: seq and rankfile are for keelrun alone", "1 map_by=seq");
    refused("map_by=Rankfile:FILE=/nonexistent: seq and rankfile are for keelrun alone",
            "1 map_by=Rankfile:FILE=/nonexistent");
    refused("map_by=sequ: 'sequ': slot, node, ", "1 map_by=sequ");
    refused("host=n0,,n1: '': NAME", "1 host=n0,,n1");
    refused("add-host=n0:x: 'n0:x': NAME", "1 add-host=n0:x");
    refused("host +n9 is none of the nodes", "1 host=+n9");
    refused("map_by=ppr:0:node: '0'", "1 map_by=ppr:0:node");
    refused("ppr=1:socke: 'socke': node, ", "1 ppr=1:socke");
    refused("ppr=x:n: 'x'", "1 ppr=x:n");
    refused(
        "ppr=1:core0000000000000000000000000000000000000000000000000000000000: N:OBJECT is needed",
        "1 ppr=1:core0000000000000000000000000000000000000000000000000000000000");
    refused("ppr=1:core: with map_by N:node is possible", "1 map_by=node ppr=1:core");
    refused("the processors of node n0 are not known", "1 bind_to=core");
    refused("bind_to=corr: 'corr': ", "1 bind_to=corr");
    refused("rank_by=nod: 'nod': ", "1 rank_by=nod");
    refused("mapper=x: this info key is not supported", "1 mapper=x");
    refused("host x is none of the nodes of this job, and no", "1 host=n1 add-host=x");
    refused("room for 3 of 4 ranks", "4 ppr=1:n");
    tear_down();
}
END_TEST

static void asks(const char *expected, const char *words)
{
    refused(expected[0] ? "are not known" : "", words);
    ck_assert_msg(strcmp(lacks, expected) == 0, "%s: %s, not %s", words, lacks, expected);
}

/* Only nodes that ranks go to are asked for their processors. */
START_TEST(test_nodes_that_are_asked)
{
    static const char four_cores[] =
        "topology 1\nquota 0\n0 + 0 0 0 0 0 0\n1 + 1 1 1 0 0 0\n2 + 2 2 2 0 0 0\n3 + 3 3 3 0 0 0\n";
    struct topo known;
    set_up();
    asks("0", "2 map_by=core");
    asks("01", "3 map_by=core");
    asks("01", "5 map_by=core"); /* then as many as n0 has */
    asks("1", "1 map_by=core host=n1");
    asks("01", "2 map_by=core:SPAN");
    asks("01", "2 map_by=node bind_to=core");
    asks("0", "5 map_by=ppr:1:core"); /* it may have five */
    asks("01", "5 map_by=ppr:1:core host=n0:4,n1,n2");
    asks("0", "2 map_by=PE=9");
    asks("", "2 map_by=core host=n2:1"); /* there is no room */
    ck_assert_int_eq(topo_parse(&known, four_cores), ORTE_SUCCESS);
    nodes[2].topo = &known; /* the others are as n2 */
    asks("01", "5 map_by=ppr:1:core");
    asks("1", "5 map_by=ppr:1:core host=n2,n1,n0");
    check("22222", "5 map_by=ppr:3:core host=n2,n1,n0");
    check("222", "3 map_by=core host=n2");
    asks("1", "3 map_by=PE=2 host=n2,n1");
    topo_fini(&known);
    tear_down();
}
END_TEST

/* All nodes have two cores; the ranks are bound to the first. */
static char first_core[][2] = {"0", "0", "0", "0"};
static char *bound_cpus[] = {first_core[0], first_core[1], first_core[2], first_core[3], NULL};
static struct topo topo;

static void set_up_bound(void)
{
    static const char two_cores[] = "topology 1\nquota 0\n0 + 0 0 0 0 0 0\n1 + 1 1 1 0 0 0\n";
    set_up();
    ck_assert_int_eq(topo_parse(&topo, two_cores), ORTE_SUCCESS);
    for (uint32_t i = 0; i < NODES; i++) {
        nodes[i].topo = &topo;
    }
    hnp.plan.cpus = bound_cpus;
    hnp.request.placement.bind = true;
    hnp.request.placement.bind_level = TOPO_CORE;
}

/* As many ranks as are expected, on n1. */
static void check_cpus(const char *expected, const char *words)
{
    struct spawned spawned = {.first = 4, .app_first = 1, .app_count = 1};
    char got[64] = "", **info = NULL, text[128], *rest;
    struct node_set unknown = {0};
    for (const char *at = expected; *at; at++) {
        spawned.count += *at == ';';
    }
    snprintf(text, sizeof(text), "host=n1 %s", words ? words : "");
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        ck_assert(strings_add(&info, strdup(word)));
    }
    struct spawn_program program = {.count = spawned.count, .info = info};
    spawned.apps = calloc(1, sizeof(*spawned.apps));
    ck_assert_msg(spawn_place(&hnp, &spawned, &program, &unknown, reason, sizeof(reason)) ==
                      ORTE_SUCCESS,
                  "%s: %s", words, reason);
    for (uint32_t i = 0; i < spawned.count; i++) {
        strcat(strcat(got, spawned.cpus[i]), ";");
    }
    ck_assert_msg(strcmp(got, expected) == 0, "%s: %s, not %s", words, got, expected);
    spawned_fini(&spawned);
    strings_free(info);
}

START_TEST(test_ranks_are_bound_to_free_objects)
{
    set_up_bound();
    check_cpus("1;;;", NULL);
    ck_assert_msg(strstr(reason, "2 of 3 ranks are not bound"), "%s", reason);
    hnp.request.placement.overload = true;
    check_cpus("1;0;1;", "map_by=core");
    ck_assert_str_eq(reason, "");
    check_cpus(";;;", "bind_to=none");
    check_cpus("0-1;0-1;0-1;", "bind_to=package:overload-allowed");
    hnp.request.placement.map_by = MAP_BY_RANKFILE;
    check_cpus(";;;", NULL);
    topo_fini(&topo);
    tear_down();
}
END_TEST

static void set_up_not_bound(void)
{
    set_up_bound();
    hnp.plan.cpus = no_cpus;
    hnp.request.placement.bind = false;
}

START_TEST(test_a_job_that_is_not_bound)
{
    set_up_not_bound();
    check_cpus(";;;", NULL);
    check_cpus("0;1;;", "bind_to=core");
    ck_assert_msg(strstr(reason, "1 of 3 ranks are not bound"), "%s", reason);
    check_cpus("0;1;0;", "bind_to=core:overload-allowed");
    check_cpus("0-1;0-1;0-1;", "map_by=PE=2 bind_to=core:overload-allowed");
    topo_fini(&topo);
    tear_down();
}
END_TEST

/* --bind-to none is keelrun's word for its own ranks; that of a spawn is the spawn's. */
START_TEST(test_processors_are_asked_for)
{
    set_up_not_bound();
    hnp.request.placement.bind_given = true;
    check_cpus("0-1;", "map_by=slot:PE=2");
    check_cpus("0-1;", "map_by=package:PE=2");
    check_cpus("0;1;", "map_by=PE=1");
    check_cpus(";", "map_by=PE=1 bind_to=none"); /* its other processor is the living rank's */
    refused("there is room for 1 of 2 ranks", "2 host=n1 map_by=PE=2");
    refused("bind_to=package: --bind-to package: with PE=2 ranks are bound",
            "1 host=n1 map_by=PE=2 bind_to=package");
    topo_fini(&topo);
    tear_down();
}
END_TEST

/* keelrun has said that the job is not bound, for it has more ranks than processors. */
START_TEST(test_a_job_whose_binding_was_dropped)
{
    set_up_not_bound();
    hnp.plan.binding_dropped = true;
    hnp.request.placement.bind = true;
    check_cpus(";;;", NULL);
    check_cpus(";", "map_by=core");
    check_cpus("0;1;", "bind_to=core");
    check_cpus("0-1;", "map_by=slot:PE=2");
    hnp.request.placement.cpus_per_rank = 1;
    check_cpus(";;;", NULL);
    topo_fini(&topo);
    tear_down();
}
END_TEST

START_TEST(test_processors_of_their_own)
{
    set_up_bound();
    hnp.request.placement.cpus_per_rank = 1;
    refused("there is room for 1 of 2 ranks", "2 host=n1");
    ended[2] = true; /* the rank of n1 */
    check("11", "2 host=n1");
    ended[2] = false;
    topo_fini(&topo);
    tear_down();
}
END_TEST

UNIT_MAIN("spawn_place")
