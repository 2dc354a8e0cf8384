/* What a PMIx server says of a job, as a job map. */
#include <config.h>

#include <bootstrap/pmix/pmix_map.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static struct pmix_view view;
static struct job_map map;
static char reason[256];

/* NULL ends; "?" stands for a host that the server does not tell. */
static void see(const char *const *hosts)
{
    pmix_view_fini(&view);
    strcpy(view.nspace, "slurm.pmix.1.0");
    while (hosts[view.size]) {
        view.size++;
    }
    view.hosts = calloc(view.size, sizeof(*view.hosts));
    for (uint32_t rank = 0; rank < view.size; rank++) {
        view.hosts[rank] = strcmp(hosts[rank], "?") == 0 ? NULL : strdup(hosts[rank]);
    }
}

static void make(const char *server)
{
    job_map_fini(&map);
    ck_assert_int_eq(crypto_open(), ORTE_SUCCESS);
    ck_assert_msg(pmix_job_map(&map, &view, server, reason, sizeof(reason)) == ORTE_SUCCESS, "%s",
                  reason);
}

static void expect_node(uint32_t rank, uint32_t node, uint32_t local, const char *name)
{
    ck_assert_uint_eq(map.node_of[rank], node);
    ck_assert_uint_eq(map.local_rank_of[rank], local);
    ck_assert_str_eq(map.node_names[node], name);
}

static void end(void)
{
    pmix_view_fini(&view);
    job_map_fini(&map);
}

START_TEST(nodes_are_numbered_by_their_first_ranks)
{
    static const char *const hosts[] = {"z", "a", "z", "m", "a", "z", NULL};
    see(hosts);
    make("");
    ck_assert_uint_eq(map.size, 6);
    ck_assert_uint_eq(map.node_count, 3);
    expect_node(0, 0, 0, "z");
    expect_node(1, 1, 0, "a");
    expect_node(2, 0, 1, "z");
    expect_node(3, 2, 0, "m");
    expect_node(4, 1, 1, "a");
    expect_node(5, 0, 2, "z");
    end();
}
END_TEST

START_TEST(ranks_whose_host_is_not_known_are_alone)
{
    static const char *const hosts[] = {"a", "?", "?", "a", NULL};
    see(hosts);
    make("");
    ck_assert_uint_eq(map.node_count, 3);
    expect_node(0, 0, 0, "a");
    expect_node(1, 1, 0, "unknown");
    expect_node(2, 2, 0, "unknown");
    expect_node(3, 0, 1, "a");
    end();
}
END_TEST

START_TEST(ids_come_from_namespace_and_server)
{
    static const char *const hosts[] = {"a", NULL};
    char uuid[JOB_UUID_TEXT];
    see(hosts);
    make("one");
    orte_jobid_t jobid = map.jobid;
    strcpy(uuid, map.uuid);
    ck_assert(job_uuid_ok(uuid));
    ck_assert_uint_eq(jobid & 0xffff, 1);
    ck_assert_uint_ne(jobid >> 16, 0);
    make("one");
    ck_assert_uint_eq(map.jobid, jobid);
    ck_assert_str_eq(map.uuid, uuid);
    make("two"); /* another node's server, or another job of that name */
    ck_assert_uint_eq(map.jobid, jobid);
    ck_assert_str_ne(map.uuid, uuid);
    strcpy(view.nspace, "slurm.pmix.1.1");
    make("one");
    ck_assert_uint_ne(map.jobid, jobid);
    ck_assert_str_ne(map.uuid, uuid);
    end();
}
END_TEST

START_TEST(hosts_are_checked)
{
    static char most[257];
    const char *hosts[] = {"good", "", NULL};
    static const char *const wrong[] = {"", "a b", "a\nb", "\177", "\303\251"};
    memset(most, 'h', 256);
    for (size_t i = 0; i <= sizeof(wrong) / sizeof(*wrong); i++) {
        hosts[1] = i < sizeof(wrong) / sizeof(*wrong) ? wrong[i] : most;
        see(hosts);
        ck_assert_int_eq(pmix_job_map(&map, &view, "", reason, sizeof(reason)), ORTE_ERR_BAD_PARAM);
        ck_assert_ptr_nonnull(strstr(reason, "rank 1"));
    }
    most[255] = '\0';
    see(hosts);
    make("");
    expect_node(1, 1, 0, most);
    end();
}
END_TEST

START_TEST(many_ranks)
{
    enum { RANKS = 100000, NODES = 30000 };
    char host[32];
    pmix_view_fini(&view);
    view.size = RANKS;
    view.hosts = calloc(RANKS, sizeof(*view.hosts));
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        snprintf(host, sizeof(host), "node%u", rank % NODES);
        view.hosts[rank] = strdup(host);
    }
    make("");
    ck_assert_uint_eq(map.node_count, NODES);
    ck_assert_uint_eq(map.node_of[99999], 99999 % NODES);
    ck_assert_uint_eq(map.local_rank_of[99999], 99999 / NODES);
    end();
}
END_TEST

UNIT_MAIN("bootstrap/pmix-job")
