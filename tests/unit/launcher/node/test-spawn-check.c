/* Whether ranks that are to be added could be started on this node. */
#include <config.h>

#include <launcher/node/spawn_check.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

/* Rank 0 is on this daemon's node and asks for rank 1 here and rank 2 on another. */
static uint32_t node_of[] = {0}, daemon_of_node[] = {1, 2}, app_of[] = {0};
static uint32_t new_apps[] = {1, 2}, new_nodes[] = {0, 1}, new_local[] = {1, 0};
static char *no_env[] = {NULL}, *path_env[] = {(char *) "PATH=/bin", NULL};
static char *none[] = {(char *) "/nonexistent", NULL}, *sh[] = {(char *) "sh", NULL};
static struct launch_app parent = {.argv = sh, .env = no_env}, apps[2];
static char reason[256];

static int check(void)
{
    struct daemon daemon = {
        .name = {1, 1},
        .node = (char *) "here",
        .launch = {.map = {.size = 1,
                           .node_count = 2,
                           .node_of = node_of,
                           .daemon_of_node = daemon_of_node},
                   .apps = &parent,
                   .app_count = 1,
                   .app_of = app_of},
    };
    struct spawned spawned = {.number = 1,
                              .first = 1,
                              .count = 2,
                              .node_first = 2,
                              .app_first = 1,
                              .app_count = 2,
                              .apps = apps,
                              .app_of = new_apps,
                              .node_of = new_nodes,
                              .local_rank_of = new_local};
    reason[0] = '\0';
    return spawn_check(&daemon, &spawned, reason, sizeof(reason));
}

static void set_up(void)
{
    apps[0] = (struct launch_app){.argv = sh, .env = no_env, .wdir = (char *) ""};
    apps[1] = (struct launch_app){.argv = none, .env = no_env, .wdir = (char *) ""};
}

START_TEST(test_only_programs_of_this_node_count)
{
    set_up();
    ck_assert_int_eq(check(), ORTE_SUCCESS);
    apps[0].argv = none;
    ck_assert_int_eq(check(), ORTE_ERR_NOT_FOUND);
    ck_assert_str_eq(reason, "cannot start /nonexistent on node here: No such file or directory");
}
END_TEST

START_TEST(test_folders)
{
    set_up();
    apps[0].wdir = (char *) "/";
    ck_assert_int_eq(check(), ORTE_SUCCESS);
    apps[0].wdir = (char *) "/nowhere";
    ck_assert_int_eq(check(), ORTE_ERR_NOT_FOUND);
    ck_assert_str_eq(reason,
                     "cannot enter the folder /nowhere on node here: No such file or directory");
    apps[0].wdir = (char *) "/dev/null";
    ck_assert_int_eq(check(), ORTE_ERR_NOT_FOUND);
    ck_assert_str_eq(reason, "cannot enter the folder /dev/null on node here: Not a directory");
    apps[0].wdir = NULL;
    parent.wdir = (char *) "/parents";
    ck_assert_int_eq(check(), ORTE_ERR_NOT_FOUND);
    ck_assert_str_eq(reason,
                     "cannot enter the folder /parents on node here: No such file or directory");
    parent.wdir = NULL;
}
END_TEST

START_TEST(test_path_is_the_programs_then_its_parents_then_the_daemons)
{
    set_up();
    ck_assert_int_eq(setenv("PATH", "/nonexistent", 1), 0);
    ck_assert_int_eq(check(), ORTE_ERR_NOT_FOUND);
    parent.env = path_env;
    ck_assert_int_eq(check(), ORTE_SUCCESS);
    parent.env = no_env;
    apps[0].env = path_env;
    ck_assert_int_eq(check(), ORTE_SUCCESS);
    apps[0].env = no_env;
    apps[0].path = (char *) "/nonexistent:/bin";
    ck_assert_int_eq(check(), ORTE_SUCCESS);
}
END_TEST

START_TEST(test_what_does_not_fit_the_job)
{
    set_up();
    new_nodes[1] = 2;
    ck_assert_int_eq(check(), ORTE_ERR_BAD_PARAM);
    ck_assert_str_eq(reason, "node here: the order does not fit the job");
    new_nodes[1] = 1;
}
END_TEST

UNIT_MAIN("spawn_check")
