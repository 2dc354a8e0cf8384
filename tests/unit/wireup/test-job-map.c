#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <tests/lib/decoder.h>
#include <tests/lib/unit.h>
#include <wireup/job_map.h>
#include <wireup/proto.h>

static char name0[] = "node0", name1[] = "node1";
static char *names[] = {name0, name1};
static uint32_t daemons[] = {1, 2};
static uint32_t nodes[] = {0, 0, 1};
static uint32_t local_ranks[] = {0, 1, 0};

static struct job_map example(void)
{
    struct job_map map = {
        .jobid = 0x50001,
        .uuid = "0123456789abcdef0123456789abcdef",
        .app_key = {1, 2, 3},
        .size = 3,
        .node_count = 2,
        .node_names = names,
        .daemon_of_node = daemons,
        .node_of = nodes,
        .local_rank_of = local_ranks,
    };
    return map;
}

static opal_buffer_t *packed(const struct job_map *map)
{
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(job_map_pack(buffer, map), OPAL_SUCCESS);
    return buffer;
}

static int unpack(opal_buffer_t *buffer, void *out)
{
    return job_map_unpack(buffer, out);
}

static void fini(void *read)
{
    job_map_fini(read);
}

static void check(const void *read)
{
    const struct job_map *map = read;
    for (uint32_t rank = 0; rank < map->size; rank++) {
        ck_assert_uint_lt(map->node_of[rank], map->node_count);
    }
}

static const struct decoder decoder = {unpack, fini, check, sizeof(struct job_map)};

START_TEST(test_a_map_comes_back)
{
    struct job_map map = example(), read;
    opal_buffer_t *buffer = packed(&map);
    ck_assert_int_eq(job_map_unpack(buffer, &read), ORTE_SUCCESS);
    ck_assert_uint_eq(read.jobid, map.jobid);
    ck_assert_str_eq(read.uuid, map.uuid);
    ck_assert(memcmp(read.app_key, map.app_key, sizeof(map.app_key)) == 0);
    ck_assert_uint_eq(read.size, 3);
    ck_assert_uint_eq(read.node_count, 2);
    ck_assert_str_eq(read.node_names[1], "node1");
    ck_assert(memcmp(read.daemon_of_node, daemons, sizeof(daemons)) == 0);
    ck_assert(memcmp(read.node_of, nodes, sizeof(nodes)) == 0);
    ck_assert(memcmp(read.local_rank_of, local_ranks, sizeof(local_ranks)) == 0);
    job_map_fini(&read);
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(test_a_short_map_is_refused)
{
    struct job_map map = example();
    decoder_refuses_beginnings(&decoder, packed(&map));
}
END_TEST

static void assert_refused(const struct job_map *map)
{
    struct job_map read;
    opal_buffer_t *buffer = packed(map);
    ck_assert_int_ne(job_map_unpack(buffer, &read), ORTE_SUCCESS);
    OBJ_RELEASE(buffer);
}

START_TEST(test_indices_out_of_range_are_refused)
{
    uint32_t bad_nodes[] = {0, 2, 1}, bad_locals[] = {0, 3, 0}, bad_daemons[] = {1, 1u << 20};
    struct job_map map = example();
    map.node_of = bad_nodes;
    assert_refused(&map);
    map = example();
    map.local_rank_of = bad_locals;
    assert_refused(&map);
    map = example();
    map.daemon_of_node = bad_daemons;
    assert_refused(&map);
    map = example();
    strcpy(map.uuid, "short");
    assert_refused(&map);
}
END_TEST

/* Counts that the rest of the message does not hold are refused before memory is asked for. */
START_TEST(test_lying_counts_are_refused)
{
    static const uint32_t counts[][2] = {{1u << 20, 2}, {3, 1u << 16},   {0, 2},
                                         {3, 0},        {UINT32_MAX, 2}, {3, UINT32_MAX}};
    struct job_map map = example(), read;
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
        ck_assert_int_eq(proto_pack(buffer, "usbuu", map.jobid, map.uuid, map.app_key,
                                    sizeof(map.app_key), counts[i][0], counts[i][1]),
                         ORTE_SUCCESS);
        ck_assert_int_eq(opal_dss.pack(buffer, names, 2, OPAL_STRING), OPAL_SUCCESS);
        ck_assert_int_ne(job_map_unpack(buffer, &read), ORTE_SUCCESS);
        OBJ_RELEASE(buffer);
    }
}
END_TEST

START_TEST(test_noise_is_survived)
{
    struct job_map map = example();
    decoder_survives_noise(&decoder, packed(&map));
}
END_TEST

UNIT_MAIN("job_map")
