#include <config.h>

#include <base/data/strings.h>
#include <launcher/node/orders/orders.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/decoder.h>
#include <tests/lib/unit.h>
#include <wireup/proto.h>

static char name0[] = "node0", name1[] = "node1";
static char *names[] = {name0, name1};
static uint32_t daemons[] = {1, 2}, nodes[] = {0, 1, 1}, local_ranks[] = {0, 0, 1};
static uint32_t app_of[] = {0, 1, 1};
static char program[] = "prog", argument[] = "with space", variable[] = "A=1", folder[] = "/tmp";
static char folders[] = "/opt/bin:bin";
static char *argv0[] = {program, NULL}, *argv1[] = {program, argument, NULL};
static char *env0[] = {NULL}, *env1[] = {variable, NULL};
static struct launch_app apps[] = {{argv0, env0, NULL, NULL}, {argv1, env1, folder, folders}};

static char bound[] = "0,2-5", unbound[] = "", *cpus[] = {bound, unbound, bound, NULL};

static struct launch example(void)
{
    struct launch launch = {
        .map = {.jobid = 0x50001,
                .uuid = "0123456789abcdef0123456789abcdef",
                .size = 3,
                .node_count = 2,
                .node_names = names,
                .daemon_of_node = daemons,
                .node_of = nodes,
                .local_rank_of = local_ranks},
        .apps = apps,
        .app_count = 2,
        .app_of = app_of,
        .cpus = cpus,
        .yield = true,
        .pty = true,
        .merge_stderr = true,
        .input_first = 1,
        .input_count = 2,
        .window = {25, 132},
    };
    return launch;
}

static opal_buffer_t *packed(const struct launch *launch)
{
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(launch_pack(buffer, launch), OPAL_SUCCESS);
    return buffer;
}

static int unpack(opal_buffer_t *buffer, void *out)
{
    return launch_unpack(buffer, out);
}

static void fini(void *read)
{
    launch_fini(read);
}

static void check(const void *read)
{
    const struct launch *launch = read;
    for (uint32_t rank = 0; rank < launch->map.size; rank++) {
        ck_assert_uint_lt(launch->app_of[rank], launch->app_count);
    }
}

static const struct decoder decoder = {unpack, fini, check, sizeof(struct launch)};

START_TEST(test_a_launch_comes_back)
{
    struct launch launch = example(), read;
    opal_buffer_t *buffer = packed(&launch);
    ck_assert_int_eq(launch_unpack(buffer, &read), ORTE_SUCCESS);
    ck_assert_uint_eq(proto_left(buffer), 0);
    ck_assert_uint_eq(read.map.size, 3);
    ck_assert_uint_eq(read.app_count, 2);
    ck_assert_str_eq(read.apps[0].argv[0], program);
    ck_assert_ptr_null(read.apps[0].argv[1]);
    ck_assert_ptr_null(read.apps[0].env[0]);
    ck_assert_str_eq(read.apps[1].argv[1], argument);
    ck_assert_str_eq(read.apps[1].env[0], variable);
    ck_assert_str_eq(read.apps[1].wdir, folder);
    ck_assert_str_eq(read.apps[1].path, folders);
    ck_assert(memcmp(read.app_of, app_of, sizeof(app_of)) == 0);
    ck_assert_uint_eq(strings_count(read.cpus), 3);
    ck_assert_str_eq(read.cpus[0], "0,2-5");
    ck_assert_str_eq(read.cpus[1], "");
    ck_assert(read.yield && read.pty && read.merge_stderr);
    ck_assert(read.input_first == 1 && read.input_count == 2);
    ck_assert(read.window.rows == 25 && read.window.columns == 132);
    launch_fini(&read);
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(test_a_short_launch_is_refused)
{
    struct launch launch = example();
    decoder_refuses_beginnings(&decoder, packed(&launch));
}
END_TEST

static void assert_refused(const struct launch *launch)
{
    struct launch read;
    opal_buffer_t *buffer = packed(launch);
    ck_assert_int_ne(launch_unpack(buffer, &read), ORTE_SUCCESS);
    OBJ_RELEASE(buffer);
}

START_TEST(test_a_launch_that_makes_no_sense_is_refused)
{
    uint32_t no_such_app[] = {0, 1, 2};
    char one[] = "1", *too_few[] = {one, NULL};
    char *nothing[] = {NULL};
    struct launch_app no_program[] = {{nothing, env0, NULL, NULL}, apps[1]};
    struct launch launch = example();
    launch.app_of = no_such_app;
    assert_refused(&launch);
    launch = example();
    launch.apps = no_program;
    assert_refused(&launch);
    launch = example();
    launch.cpus = too_few;
    assert_refused(&launch);
    launch = example();
    launch.app_count = 0;
    assert_refused(&launch);
}
END_TEST

START_TEST(test_strings_come_back)
{
    char **read;
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(proto_pack_strings(buffer, argv1), ORTE_SUCCESS);
    ck_assert_int_eq(proto_pack_strings(buffer, NULL), ORTE_SUCCESS);
    ck_assert_int_eq(proto_unpack_strings(buffer, &read), ORTE_SUCCESS);
    ck_assert_str_eq(read[1], argument);
    ck_assert_ptr_null(read[2]);
    strings_free(read);
    ck_assert_int_eq(proto_unpack_strings(buffer, &read), ORTE_SUCCESS);
    ck_assert_ptr_null(read[0]);
    strings_free(read);
    OBJ_RELEASE(buffer);
}
END_TEST

/* A count that the message does not hold is refused before memory is asked for. */
START_TEST(test_lying_counts_are_refused)
{
    static const uint32_t counts[] = {2, 3, 1u << 20, (1u << 20) + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        char **read = NULL;
        const char *one = "one";
        opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
        ck_assert_int_eq(proto_pack(buffer, "u", counts[i]), ORTE_SUCCESS);
        ck_assert_int_eq(opal_dss.pack(buffer, &one, 1, OPAL_STRING), OPAL_SUCCESS);
        ck_assert_int_ne(proto_unpack_strings(buffer, &read), ORTE_SUCCESS);
        ck_assert_ptr_null(read);
        OBJ_RELEASE(buffer);
    }
}
END_TEST

START_TEST(test_noise_is_survived)
{
    struct launch launch = example();
    decoder_survives_noise(&decoder, packed(&launch));
}
END_TEST

UNIT_MAIN("orders")
