/* A job that may be registered, and every way in which one may not. */
#include <config.h>

#include <launcher/pmix/job_check.h>
#include <string.h>
#include <tests/lib/unit.h>

/* Five ranks on three nodes, the second of which has none. */
static char *names[] = {(char *) "a", (char *) "b", (char *) "c"};
static uint32_t daemons[] = {0, 1, 2};
static uint32_t node_of[5], local_rank_of[5], app_of[5];
static char *argv[] = {(char *) "program", NULL};
static struct pmix_program apps[2];
static struct job_map map;
static struct pmix_job job;
static char reason[256];

static void begin(void)
{
    static const uint32_t nodes[] = {0, 2, 0, 2, 2}, locals[] = {0, 0, 1, 1, 2};
    memcpy(node_of, nodes, sizeof(node_of));
    memcpy(local_rank_of, locals, sizeof(local_rank_of));
    memset(app_of, 0, sizeof(app_of));
    app_of[4] = 1;
    apps[0] = apps[1] = (struct pmix_program){.argv = argv};
    names[0] = (char *) "a";
    names[1] = (char *) "b";
    names[2] = (char *) "c";
    map = (struct job_map){.size = 5,
                           .node_count = 3,
                           .node_names = names,
                           .daemon_of_node = daemons,
                           .node_of = node_of,
                           .local_rank_of = local_rank_of};
    job = (struct pmix_job){.nspace = "job",
                            .map = &map,
                            .daemon = 2,
                            .node = "c",
                            .apps = apps,
                            .app_count = 2,
                            .app_of = app_of,
                            .folder = "/tmp",
                            .universe = 6};
}

static void refused(const char *why)
{
    reason[0] = '\0';
    ck_assert_int_eq(pmix_job_check(&job, reason, sizeof(reason)), -1);
    ck_assert_msg(strstr(reason, why) != NULL, "%s", reason);
    begin();
}

START_TEST(well_made)
{
    begin();
    ck_assert_int_eq(pmix_job_check(&job, reason, sizeof(reason)), 0);
    names[1] = (char *) "a"; /* of a node without ranks */
    ck_assert_int_eq(pmix_job_check(&job, reason, sizeof(reason)), 0);
    begin();
    job.daemon = 7; /* where none of its ranks is */
    job.node = "elsewhere";
    ck_assert_int_eq(pmix_job_check(&job, reason, sizeof(reason)), 0);
}
END_TEST

START_TEST(names_and_sizes)
{
    char longer[PMIX_MAX_NSLEN + 2];
    memset(longer, 'n', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    begin();
    job.nspace = "";
    refused("name");
    job.nspace = longer;
    refused("name");
    longer[PMIX_MAX_NSLEN] = '\0';
    job.nspace = longer;
    ck_assert_int_eq(pmix_job_check(&job, reason, sizeof(reason)), 0);
    begin();
    map.size = 0;
    refused("no ranks");
    job.app_count = 0;
    refused("no ranks");
    job.universe = 0;
    refused("universe");
    job.folder = NULL;
    refused("folder");
    apps[1].argv = NULL;
    refused("program");
}
END_TEST

START_TEST(nodes)
{
    static char *const bad[] = {(char *) "", (char *) "x,y", (char *) "x;y", (char *) "x[1]",
                                (char *) "x y"};
    begin();
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        names[2] = bad[i];
        refused("list");
    }
    names[0] = (char *) "c";
    refused("one name: c");
    job.node = "d";
    refused("another name");
}
END_TEST

START_TEST(places)
{
    begin();
    node_of[3] = 3;
    refused("not there");
    app_of[3] = 2;
    refused("not there");
    local_rank_of[2] = 0; /* twice */
    refused("local ranks of a node are wrong: a");
    local_rank_of[4] = 3; /* one is left out */
    refused("local ranks of a node are wrong: c");
    local_rank_of[0] = 70000;
    refused("local ranks");
}
END_TEST

UNIT_MAIN("pmix-job-check")
