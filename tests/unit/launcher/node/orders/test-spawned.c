#include <config.h>

#include <base/data/strings.h>
#include <launcher/node/orders/orders.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/decoder.h>
#include <tests/lib/unit.h>
#include <wireup/proto.h>

enum { NODES = 2, RANKS = 2, ADDED = 3 };

static char **strings(const char *first, const char *second)
{
    char **list = NULL;
    ck_assert(!first || strings_add(&list, strdup(first)));
    ck_assert(!second || strings_add(&list, strdup(second)));
    return list ? list : calloc(1, sizeof(*list));
}

static uint32_t *numbers(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t *list = calloc(3, sizeof(*list));
    list[0] = a;
    list[1] = b;
    list[2] = c;
    return list;
}

/* Two ranks of two programs on two nodes. */
static struct launch two_ranks(void)
{
    struct launch launch = {
        .map = {.size = RANKS,
                .node_count = NODES,
                .node_names = strings("a", "b"),
                .daemon_of_node = numbers(0, 1, 0),
                .node_of = numbers(0, 1, 0),
                .local_rank_of = numbers(0, 0, 0)},
        .apps = calloc(2, sizeof(*launch.apps)),
        .app_count = 2,
        .app_of = numbers(0, 1, 0),
        .cpus = strings("", ""),
    };
    launch.apps[0] = (struct launch_app){strings("one", NULL), strings(NULL, NULL), NULL, NULL};
    launch.apps[1] =
        (struct launch_app){strings("two", NULL), strings("A=1", "B=1"), strdup("/parents"), NULL};
    return launch;
}

/* Three ranks of one program more, wished for by rank 1. */
static struct spawned three_more(void)
{
    struct spawned spawned = {
        .number = 1,
        .parent = 1,
        .first = RANKS,
        .count = ADDED,
        .node_first = NODES,
        .app_first = 2,
        .app_count = 1,
        .apps = calloc(1, sizeof(*spawned.apps)),
        .app_of = numbers(2, 2, 2),
        .node_of = numbers(0, 1, 0),
        .local_rank_of = numbers(1, 1, 2),
        .cpus = strings("2", ""),
    };
    ck_assert(strings_add(&spawned.cpus, strdup("3")));
    spawned.apps[0] =
        (struct launch_app){strings("three", NULL), strings("B=2", "C=2"), NULL, NULL};
    return spawned;
}

static void launch_free(struct launch *launch)
{
    for (uint32_t i = 0; i < launch->app_count; i++) {
        launch_app_fini(&launch->apps[i]);
    }
    free(launch->apps);
    free(launch->app_of);
    for (uint32_t i = 0; i < launch->map.node_count; i++) {
        free(launch->map.node_names[i]);
    }
    free(launch->map.node_names);
    free(launch->map.daemon_of_node);
    free(launch->map.node_of);
    free(launch->map.local_rank_of);
    strings_free(launch->cpus);
}

/* The same, the last one on a node that the job does not have. */
static struct spawned on_one_node_more(void)
{
    struct spawned spawned = three_more();
    spawned.node_count = 1;
    spawned.node_names = strings("c", NULL);
    spawned.daemon_of_node = numbers(7, 0, 0);
    spawned.node_of[2] = NODES;
    return spawned;
}

START_TEST(more_nodes)
{
    struct launch launch = two_ranks();
    struct spawned spawned = on_one_node_more(), read;
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(spawned_pack(buffer, &spawned), OPAL_SUCCESS);
    ck_assert_int_eq(spawned_unpack(buffer, &read), OPAL_SUCCESS);
    ck_assert_uint_eq(launch_daemon_of(&launch, &read, 1), 1);
    ck_assert_uint_eq(launch_daemon_of(&launch, &read, 2), 7);
    ck_assert_int_eq(launch_extend(&launch, &read), ORTE_SUCCESS);
    uint32_t daemons[] = {0, 1, 7};
    ck_assert_uint_eq(launch.map.node_count, NODES + 1);
    ck_assert_mem_eq(launch.map.daemon_of_node, daemons, sizeof(daemons));
    ck_assert_str_eq(launch.map.node_names[1], "b");
    ck_assert_str_eq(launch.map.node_names[2], "c");
    OBJ_RELEASE(buffer);
    spawned_fini(&read);
    spawned_fini(&spawned);
    launch_free(&launch);
}
END_TEST

START_TEST(grown)
{
    struct launch launch = two_ranks();
    struct spawned spawned = three_more();
    ck_assert_int_eq(launch_extend(&launch, &spawned), ORTE_SUCCESS);
    ck_assert_uint_eq(launch.map.size, RANKS + ADDED);
    ck_assert_uint_eq(launch.app_count, 3);
    uint32_t nodes[] = {0, 1, 0, 1, 0}, apps[] = {0, 1, 2, 2, 2}, local[] = {0, 0, 1, 1, 2};
    ck_assert_mem_eq(launch.map.node_of, nodes, sizeof(nodes));
    ck_assert_mem_eq(launch.map.local_rank_of, local, sizeof(local));
    ck_assert_mem_eq(launch.app_of, apps, sizeof(apps));
    ck_assert_str_eq(launch.apps[2].argv[0], "three");
    spawned_fini(&spawned);
    launch_free(&launch);
}
END_TEST

/* Ranks that are bound join others, and ranks that are not. */
START_TEST(bindings)
{
    struct launch launch = two_ranks();
    struct spawned spawned = three_more();
    ck_assert_int_eq(launch_extend(&launch, &spawned), ORTE_SUCCESS);
    ck_assert_uint_eq(strings_count(launch.cpus), RANKS + ADDED);
    ck_assert_str_eq(launch.cpus[1], "");
    ck_assert_str_eq(launch.cpus[2], "2");
    ck_assert_str_eq(launch.cpus[3], "");
    ck_assert_str_eq(launch.cpus[4], "3");
    spawned_fini(&spawned);
    launch_free(&launch);
}
END_TEST

START_TEST(environment)
{
    struct launch launch = two_ranks();
    struct spawned spawned = three_more();
    ck_assert_int_eq(launch_extend(&launch, &spawned), ORTE_SUCCESS);
    char **env = launch.apps[2].env;
    ck_assert_uint_eq(strings_count(env), 3);
    ck_assert_str_eq(env[0], "A=1"); /* its parent's */
    ck_assert_str_eq(env[1], "B=2"); /* its own comes first */
    ck_assert_str_eq(env[2], "C=2");
    ck_assert_uint_eq(strings_count(launch.apps[1].env), 2);
    ck_assert_str_eq(launch.apps[2].wdir, "/parents"); /* none of its own */
    spawned_fini(&spawned);
    launch_free(&launch);
}
END_TEST

static void refused(const char *what, struct spawned *spawned)
{
    struct launch launch = two_ranks();
    ck_assert_msg(launch_extend(&launch, spawned) == ORTE_ERR_BAD_PARAM, "%s", what);
    ck_assert_uint_eq(launch.map.size, RANKS);
    ck_assert_uint_eq(launch.app_count, 2);
    spawned_fini(spawned);
    launch_free(&launch);
}

START_TEST(what_does_not_fit)
{
    struct spawned spawned = three_more();
    spawned.first++;
    refused("a gap between the ranks", &spawned);
    spawned = three_more();
    spawned.app_first--;
    refused("a program that is there", &spawned);
    spawned = three_more();
    spawned.parent = RANKS;
    refused("a parent that is not there", &spawned);
    spawned = three_more();
    spawned.node_of[1] = NODES;
    refused("a node that is not there", &spawned);
    spawned = on_one_node_more();
    spawned.node_first--;
    refused("a node that is there", &spawned);
    spawned = three_more();
    spawned.app_of[1] = 0;
    refused("an old program", &spawned);
    spawned = three_more();
    spawned.app_of[2] = 3;
    refused("a program that does not come along", &spawned);
}
END_TEST

START_TEST(order)
{
    struct spawned spawned = three_more(), read;
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    spawned.puts = strings("port=p q", NULL);
    ck_assert_int_eq(spawned_pack(buffer, &spawned), OPAL_SUCCESS);
    ck_assert_int_eq(spawned_unpack(buffer, &read), OPAL_SUCCESS);
    ck_assert_uint_eq(proto_left(buffer), 0);
    ck_assert_uint_eq(read.parent, 1);
    ck_assert_mem_eq(read.node_of, spawned.node_of, ADDED * sizeof(*read.node_of));
    ck_assert_str_eq(read.apps[0].env[1], "C=2");
    ck_assert_str_eq(strings_value(read.puts, "port"), "p q");
    ck_assert_str_eq(read.cpus[0], "2");
    ck_assert_str_eq(read.cpus[1], "");
    spawned_fini(&read);
    OBJ_RELEASE(buffer);

    free(spawned.cpus[2]); /* one rank's are missing */
    spawned.cpus[2] = NULL;
    buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(spawned_pack(buffer, &spawned), OPAL_SUCCESS);
    ck_assert_int_eq(spawned_unpack(buffer, &read), ORTE_ERR_VALUE_OUT_OF_BOUNDS);
    OBJ_RELEASE(buffer);

    /* more ranks than there are bytes for */
    buffer = proto_new_bare("uuuuuu", 1u, 1u, 2u, 1u << 19, 2u, 1u);
    ck_assert_int_eq(spawned_unpack(buffer, &read), ORTE_ERR_VALUE_OUT_OF_BOUNDS);
    OBJ_RELEASE(buffer);
    spawned_fini(&spawned);
}
END_TEST

static int unpack(opal_buffer_t *buffer, void *out)
{
    return spawned_unpack(buffer, out);
}

static void fini(void *read)
{
    spawned_fini(read);
}

static void check(const void *read)
{
    const struct spawned *spawned = read;
    ck_assert(spawned->count > 0 && spawned->app_count > 0);
    ck_assert_ptr_nonnull(spawned->apps[0].argv[0]);
}

static const struct decoder decoder = {unpack, fini, check, sizeof(struct spawned)};

static opal_buffer_t *packed(void)
{
    struct spawned spawned = on_one_node_more();
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(spawned_pack(buffer, &spawned), OPAL_SUCCESS);
    spawned_fini(&spawned);
    return buffer;
}

START_TEST(hostile_orders)
{
    decoder_refuses_beginnings(&decoder, packed());
    decoder_survives_noise(&decoder, packed());
}
END_TEST

UNIT_MAIN("spawned")
