#include <config.h>

#include <base/host/topo.h>
#include <launcher/map/plan.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static struct job_plan plan;
static struct allocation allocation; /* empty, but for some tests */
static char reason[512];

/* A command line that is right, and the plan for it. */
static int make(const char *line)
{
    static char text[512];
    char *argv[32] = {(char *) "keelrun"};
    int argc = 1;
    struct run_request request;
    snprintf(text, sizeof(text), "%s", line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    ck_assert_msg(cmdline_parse(&request, argc, argv, reason, sizeof(reason)) == CMDLINE_RUN,
                  "%s: %s", line, reason);
    int rc = job_plan_nodes(&plan, &request, &allocation, reason, sizeof(reason));
    if (rc == ORTE_SUCCESS) {
        rc = job_plan_map(&plan, &request, reason, sizeof(reason));
    }
    if (rc != ORTE_SUCCESS) {
        job_plan_fini(&plan);
    }
    run_request_fini(&request);
    return rc;
}

/* "node.local_rank.app" of every rank. */
static const char *picture(void)
{
    static char text[1024];
    size_t used = 0;
    text[0] = 0;
    for (uint32_t rank = 0; rank < plan.rank_count && used < sizeof(text); rank++) {
        used += (size_t) snprintf(text + used, sizeof(text) - used, "%s%u.%u.%u", rank ? " " : "",
                                  plan.node_of[rank], plan.local_rank_of[rank], plan.app_of[rank]);
    }
    return text;
}

static void assert_plan(const char *line, const char *expected, bool oversubscribed)
{
    ck_assert_msg(make(line) == ORTE_SUCCESS, "%s: %s", line, reason);
    ck_assert_str_eq(picture(), expected);
    ck_assert_msg(plan.oversubscribed == oversubscribed, "%s: oversubscribed %d", line,
                  plan.oversubscribed);
    job_plan_fini(&plan);
}

static void assert_refused(const char *line, const char *word)
{
    ck_assert_int_ne(make(line), ORTE_SUCCESS);
    ck_assert_msg(strstr(reason, word), "%s: '%s' does not say '%s'", line, reason, word);
}

START_TEST(test_this_node_takes_as_many_as_are_asked_for)
{
    char name[256];
    gethostname(name, sizeof(name));
    unsigned cpus = topo_usable_cpus();
    ck_assert_int_eq(make("p"), ORTE_SUCCESS);
    ck_assert_uint_eq(plan.rank_count, cpus);
    ck_assert_uint_eq(plan.node_count, 1);
    ck_assert_str_eq(plan.nodes[0].name, name);
    ck_assert(plan.nodes[0].local && !plan.nodes[0].slots_explicit && !plan.oversubscribed);
    ck_assert_ptr_eq(job_plan_find(&plan, name), &plan.nodes[0]); /* as rankfiles do */
    job_plan_fini(&plan);
    job_plan_fini(&plan);
    ck_assert_int_eq(make("-n 500 p"), ORTE_SUCCESS);
    ck_assert_uint_eq(plan.rank_count, 500);
    ck_assert_uint_eq(plan.local_rank_of[499], 499);
    ck_assert_int_eq(plan.oversubscribed, cpus < 500);
    job_plan_fini(&plan);
    assert_plan("-n 1 p", "0.0.0", false);
}
END_TEST

START_TEST(test_nodes_are_filled_one_after_the_other)
{
    bool few = topo_usable_cpus() < 6;
    assert_plan("--simulate 3x2 -n 6 p", "0.0.0 0.1.0 1.0.0 1.1.0 2.0.0 2.1.0", few);
    assert_plan("--simulate 3x2 p", "0.0.0 0.1.0 1.0.0 1.1.0 2.0.0 2.1.0", few);
    assert_plan("--simulate 2x1 -n 1 p", "0.0.0", false);
    assert_plan("--host a:1,b:2 -n 3 p", "0.0.0 1.0.0 1.1.0", false);
    assert_plan("--host a,b p", "0.0.0 1.0.0", false);
}
END_TEST

START_TEST(test_simulated_nodes_have_names_and_daemons)
{
    ck_assert_int_eq(make("--simulate 2x1 p"), ORTE_SUCCESS);
    ck_assert_str_eq(plan.nodes[0].name, "node0");
    ck_assert_str_eq(plan.nodes[1].name, "node1");
    ck_assert(!plan.nodes[0].local && plan.nodes[0].slots_explicit);
    job_plan_fini(&plan);
}
END_TEST

START_TEST(test_programs_follow_each_other)
{
    bool few = topo_usable_cpus() < 4;
    assert_plan("--simulate 2x2 -n 1 p : -n 2 q : r", "0.0.0 0.1.1 1.0.1 1.1.2", few);
    assert_plan("--simulate 1x3 -n 1 p : q", "0.0.0 0.1.1 0.2.1", topo_usable_cpus() < 3);
}
END_TEST

START_TEST(test_given_slots_are_kept)
{
    assert_refused("--simulate 3x2 -n 7 p", "7 ranks are more than the 6 slots");
    assert_refused("--host localhost:2 -n 3 p", "--oversubscribe");
    assert_refused("--simulate 1x2 -n 2 p : q", "no slot is free for q");
    assert_refused("--simulate 2x1 -n 5 --map-by ppr:2:node --oversubscribe p",
                   "5 ranks are more than the 4 places of ppr:2:node");
    assert_refused("--simulate 2x1 -n 4 --map-by ppr:2:node p", "--oversubscribe allows it");
    assert_plan("--simulate 2x2 -n 7 --oversubscribe p",
                "0.0.0 0.1.0 0.2.0 0.3.0 1.0.0 1.1.0 1.2.0", true);
}
END_TEST

/* b has no number of slots, so what is too much goes there. */
START_TEST(test_only_nodes_without_given_slots_take_more)
{
    assert_plan("--host a:1,b -n 4 p", "0.0.0 1.0.0 1.1.0 1.2.0", true);
}
END_TEST

START_TEST(test_own_names_are_local)
{
    char name[256], line[512];
    gethostname(name, sizeof(name));
    snprintf(line, sizeof(line), "--host other:1,localhost:1,127.0.0.1:1,%s:1 -n 1 p", name);
    ck_assert_int_eq(make(line), ORTE_SUCCESS);
    ck_assert_uint_eq(plan.node_count, 2); /* they are one node */
    ck_assert(!plan.nodes[0].local && plan.nodes[1].local);
    ck_assert_uint_eq(plan.nodes[1].slots, 3);
    job_plan_fini(&plan);
}
END_TEST

START_TEST(test_a_host_named_again_adds_slots)
{
    assert_plan("--host a:1,b:1,a:1 -n 3 p", "0.0.0 0.1.0 1.0.0", false);
    assert_plan("--host a,a p", "0.0.0 0.1.0", false);
}
END_TEST

START_TEST(test_slots_follow_the_affinity)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_plan("p", "0.0.0", false);
    assert_plan("-n 2 p", "0.0.0 0.1.0", true);
    assert_plan("--host localhost:2 p", "0.0.0 0.1.0", true);
}
END_TEST

/* Three nodes of Slurm's job 7, none of which is this machine. */
static struct node_request given[] = {{.name = (char *) "n1", .slots = 2},
                                      {.name = (char *) "n2", .slots = 1},
                                      {.name = (char *) "n3", .slots = 2}};

static void allocate(void)
{
    allocation =
        (struct allocation){.manager = "Slurm", .job = (char *) "7", .nodes = given, .count = 3};
}

START_TEST(test_allocated_nodes_are_used)
{
    allocate();
    assert_plan("p", "0.0.0 0.1.0 1.0.0 2.0.0 2.1.0", false);
    assert_plan("-n 3 p", "0.0.0 0.1.0 1.0.0", false);
    assert_plan("-n 1 p : q", "0.0.0 0.1.1 1.0.1 2.0.1 2.1.1", false);
    assert_refused("-n 6 p", "6 ranks are more than the 5 slots");
    assert_plan("--simulate 1x2 p", "0.0.0 0.1.0", topo_usable_cpus() < 2);
    ck_assert_int_eq(make("p"), ORTE_SUCCESS);
    ck_assert_str_eq(plan.nodes[2].name, "n3");
    ck_assert(!plan.nodes[0].local && !plan.nodes[1].local && plan.nodes[2].slots_explicit);
    job_plan_fini(&plan);
}
END_TEST

START_TEST(test_hosts_are_chosen_of_those_allocated)
{
    allocate();
    assert_plan("--host n3,n2 p", "0.0.0 0.1.0 1.0.0", false);
    ck_assert_int_eq(make("--host n3.cluster:1,n1 p"), ORTE_SUCCESS);
    ck_assert_str_eq(picture(), "0.0.0 1.0.0 1.1.0");
    ck_assert_str_eq(plan.nodes[0].name, "n3");
    job_plan_fini(&plan);
    assert_plan("--host n1:1,n1.cluster:1 p", "0.0.0 0.1.0", false); /* one node, two names */
    assert_refused("--host n4 p", "host n4 is not in the allocation of Slurm's job 7");
    assert_refused("--host localhost p", "host localhost is not in the allocation");
    assert_refused("--host n2:2 p", "host n2: 2 slots are more than the 1 that Slurm's job 7");
    assert_refused("--host n1,n1.cluster p", "3 slots are more than the 2");
    assert_plan("--oversubscribe --host n2:2 p", "0.0.0 0.1.0", false);
}
END_TEST

/* A hostfile of the test's own; its name is "h". */
static void write_hostfile(const char *text)
{
    FILE *file = fopen("h", "we");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static void enter_a_folder(void)
{
    char path[] = "/tmp/keel-plan-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(path));
    ck_assert_int_eq(chdir(path), 0);
}

static void leave_the_folder(void)
{
    char path[PATH_MAX];
    ck_assert_ptr_nonnull(getcwd(path, sizeof(path)));
    ck_assert(unlink("h") == 0 && rmdir(path) == 0);
}

START_TEST(test_a_hostfile_gives_nodes)
{
    enter_a_folder();
    write_hostfile("n1 slots=2 max_slots=3\nn2\nn3 slots=1 max_slots=1\n");
    assert_plan("--hostfile h -n 3 p", "0.0.0 0.1.0 1.0.0", false);
    assert_plan("--hostfile h p", "0.0.0 0.1.0 1.0.0 2.0.0", false);
    assert_plan("--hostfile h -n 6 p", "0.0.0 0.1.0 1.0.0 1.1.0 1.2.0 2.0.0", true);
    assert_plan("--hostfile h --host n3,n1:1 p", "0.0.0 1.0.0", false);
    assert_plan("--hostfile h --host n1.cluster p", "0.0.0 0.1.0", false);
    assert_refused("--hostfile h --host n4 p", "host n4 is not in the hostfile h");
    assert_refused("--hostfile h --host n1:3 p",
                   "host n1: 3 slots are more than the 2 that the hostfile h has there");
    assert_refused("--oversubscribe --hostfile h --host n1:4 p",
                   "host n1: 4 slots are more than its max_slots, 3");
    write_hostfile("n1 slots=2 max_slots=3\nn3 slots=1 max_slots=1\n");
    assert_refused("--hostfile h -n 4 p", "4 ranks are more than the 3 slots");
    assert_plan("--oversubscribe --hostfile h -n 4 p", "0.0.0 0.1.0 0.2.0 1.0.0", true);
    assert_refused("--oversubscribe --hostfile h -n 5 p",
                   "5 ranks are more than the 4 that max_slots allows");
    leave_the_folder();
}
END_TEST

START_TEST(test_a_hostfile_may_name_this_machine_and_chooses_of_what_is_allocated)
{
    enter_a_folder();
    write_hostfile("localhost slots=1\nn1 slots=1\nlocalhost.localdomain slots=1\n");
    ck_assert_int_eq(make("-f h p"), ORTE_SUCCESS);
    ck_assert_uint_eq(plan.node_count, 2);
    ck_assert(plan.nodes[0].local && plan.nodes[0].slots == 2 && !plan.nodes[1].local);
    job_plan_fini(&plan);
    write_hostfile("localhost\nlocalhost.localdomain max_slots=1\n"); /* no limit but of both */
    ck_assert_int_eq(make("-f h p"), ORTE_SUCCESS);
    ck_assert_uint_eq(plan.nodes[0].slots_max, 0);
    job_plan_fini(&plan);
    write_hostfile("n1 max_slots=2\nn2\n");
    assert_refused("-f h --oversubscribe -N 4 -n 7 p",
                   "7 ranks are more than the 6 that max_slots allows");
    ck_assert_ptr_null(strstr(reason, "--oversubscribe"));
    write_hostfile("localhost\n");
    allocate();
    assert_refused("-f h p", "host localhost is not in the allocation of Slurm's job 7");
    write_hostfile("n3\nn1 slots=1\n");
    assert_plan("-f h p", "0.0.0 0.1.0 1.0.0", false);
    assert_refused("-f h --host n2 p", "host n2 is not in the hostfile h");
    write_hostfile("n2 slots=2\n");
    assert_refused("-f h p", "host n2: 2 slots are more than the 1 that Slurm's job 7");
    leave_the_folder();
}
END_TEST

START_TEST(test_ranks_of_a_node_have_a_number)
{
    assert_plan("--simulate 3x4 -N 2 p", "0.0.0 0.1.0 1.0.0 1.1.0 2.0.0 2.1.0",
                topo_usable_cpus() < 6);
    assert_plan("--host n1:2,n2:2 -ppn 1 p", "0.0.0 1.0.0", false);
    assert_plan("--host n1:2,n2:2 --pernode -n 1 p", "0.0.0", false);
    assert_plan("--host n1:4,n2:4 --npernode 2 -n 3 p", "0.0.0 0.1.0 1.0.0", false);
    assert_plan("--host n1,n2 -N 2 p", "0.0.0 0.1.0 1.0.0 1.1.0", true);
    assert_refused("--host n1:4,n2:4 -N 2 -n 5 p", "5 ranks are more than 2 on each of 2 nodes");
    assert_refused("--host n1:1,n2:4 -N 2 p",
                   "4 ranks are more than the 3 slots that were given and that -N counts");
    assert_plan("--oversubscribe --host n1:1,n2:4 -N 2 p", "0.0.0 0.1.0 1.0.0 1.1.0", true);
    assert_plan("--oversubscribe --host n1:2,n2:1,n3:1 -n 7 p",
                "0.0.0 0.1.0 0.2.0 1.0.0 1.1.0 2.0.0 2.1.0", true);
}
END_TEST

START_TEST(test_this_machine_may_be_allocated)
{
    char name[256];
    gethostname(name, sizeof(name));
    allocate();
    allocation.here = (char *) "n2"; /* as Slurm calls it */
    ck_assert_int_eq(make("p"), ORTE_SUCCESS);
    ck_assert(!plan.nodes[0].local && plan.nodes[1].local && !plan.nodes[2].local);
    job_plan_fini(&plan);
    ck_assert_int_eq(make("--host n3,localhost p"), ORTE_SUCCESS);
    ck_assert_str_eq(plan.nodes[1].name, "n2");
    ck_assert(!plan.nodes[0].local && plan.nodes[1].local);
    job_plan_fini(&plan);
    struct node_request own[] = {{.name = (char *) "n1", .slots = 1}, {.name = name, .slots = 1}};
    allocation = (struct allocation){
        .manager = "Slurm", .job = (char *) "7", .nodes = own, .count = 2, .here = (char *) "n1"};
    ck_assert_int_eq(make("p"), ORTE_SUCCESS); /* its own name counts more */
    ck_assert(!plan.nodes[0].local && plan.nodes[1].local);
    job_plan_fini(&plan);
}
END_TEST

/* "name:slots" of every node. */
static const char *nodes(void)
{
    static char text[256];
    size_t used = 0;
    for (uint32_t i = 0; i < plan.node_count && used < sizeof(text); i++) {
        used += (size_t) snprintf(text + used, sizeof(text) - used, "%s%s:%u", i ? " " : "",
                                  plan.nodes[i].name, plan.nodes[i].slots);
    }
    return text;
}

START_TEST(test_nodes_are_added)
{
    static const char words[] = "alpha:3,user@gamma,node1:7,localhost";
    struct node_list hosts = {0};
    uint32_t places[4];
    ck_assert_msg(make("--simulate 3x2 -n 6 true") == ORTE_SUCCESS, "%s", reason);
    ck_assert_int_eq(node_list_parse(&hosts, words, strlen(words), 0, 0, reason, sizeof(reason)),
                     ORTE_SUCCESS);
    ck_assert_int_eq(job_plan_add_nodes(&plan, &hosts, places), ORTE_SUCCESS);
    ck_assert_str_eq(nodes(), "node0:2 node1:7 node2:2 alpha:3 gamma:1 localhost:1");
    ck_assert(places[0] == 3 && places[1] == 4 && places[2] == 1 && places[3] == 5);
    ck_assert_str_eq(plan.nodes[4].user, "user");
    ck_assert(plan.nodes[5].local && !plan.nodes[3].local);
    ck_assert_ptr_eq(job_plan_find(&plan, "node2"), &plan.nodes[2]);
    ck_assert_ptr_eq(job_plan_find(&plan, "gamma"), &plan.nodes[4]);
    ck_assert_ptr_eq(job_plan_find(&plan, "+n3"), &plan.nodes[3]);
    node_list_fini(&hosts);
    job_plan_fini(&plan);
}
END_TEST

START_TEST(test_a_node_that_is_added_again_is_named_anew)
{
    static const char first[] = "one@alpha:3,beta,two@gamma";
    static const char second[] =
        "three@alpha:2,four@beta,alpha.example:2,gamma,delta:2,delta.example";
    struct node_list before = {0}, again = {0};
    uint32_t places[6];
    ck_assert_msg(make("--simulate 1x1 true") == ORTE_SUCCESS, "%s", reason);
    ck_assert_int_eq(node_list_parse(&before, first, strlen(first), 0, 0, reason, sizeof(reason)),
                     ORTE_SUCCESS);
    ck_assert_int_eq(node_list_parse(&again, second, strlen(second), 0, 0, reason, sizeof(reason)),
                     ORTE_SUCCESS);
    ck_assert_int_eq(job_plan_add_nodes(&plan, &before, places), ORTE_SUCCESS);
    ck_assert_int_eq(job_plan_add_nodes(&plan, &again, places), ORTE_SUCCESS);
    ck_assert_str_eq(nodes(), "node0:1 alpha:4 beta:1 gamma:1 delta:3");
    ck_assert(places[0] == 1 && places[2] == 1 && places[4] == 4 && places[5] == 4);
    ck_assert_str_eq(plan.nodes[1].user, "three");
    ck_assert_str_eq(plan.nodes[2].user, "four");
    ck_assert_str_eq(plan.nodes[3].user, "two");
    node_list_fini(&before);
    node_list_fini(&again);
    job_plan_fini(&plan);
}
END_TEST

UNIT_MAIN("plan")
