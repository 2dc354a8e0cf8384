#include <config.h>

#include <launcher/request/submit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/decoder.h>
#include <tests/lib/unit.h>
#include <wireup/proto.h>

/* The request of a command line, whose words are separated by single spaces. */
static struct run_request parsed(const char *line)
{
    static char text[256];
    char *argv[32] = {NULL};
    int argc = 0;
    struct run_request request;
    char reason[256] = "";
    snprintf(text, sizeof(text), "%s", line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    ck_assert_msg(cmdline_parse(&request, argc, argv, reason, sizeof(reason)) == CMDLINE_RUN, "%s",
                  reason);
    return request;
}

static struct run_request example(void)
{
    return parsed("keelrun --host a:2,b --bind-to core --oversubscribe --timeout 7 --pty "
                  "-n 3 -x A=1 --wdir /tmp prog argument : -n 1 other");
}

static opal_buffer_t *packed(const struct run_request *request)
{
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(submit_pack(buffer, request), OPAL_SUCCESS);
    return buffer;
}

static int unpack(opal_buffer_t *buffer, void *out)
{
    return submit_unpack(buffer, out);
}

static void fini(void *read)
{
    run_request_fini(read);
}

static void check(const void *read)
{
    const struct run_request *request = read;
    for (size_t i = 0; i < request->app_count; i++) {
        ck_assert_ptr_nonnull(request->apps[i].argv[0]);
    }
}

static const struct decoder decoder = {unpack, fini, check, sizeof(struct run_request)};

START_TEST(test_a_request_comes_back)
{
    struct run_request request = example(), read;
    request.window = (struct window){25, 132};
    opal_buffer_t *buffer = packed(&request);
    ck_assert_int_eq(submit_unpack(buffer, &read), ORTE_SUCCESS);
    ck_assert_uint_eq(proto_left(buffer), 0);
    ck_assert_uint_eq(read.app_count, 2);
    ck_assert_uint_eq(read.apps[0].count, 3);
    ck_assert_str_eq(read.apps[0].argv[1], "argument");
    ck_assert_ptr_null(read.apps[0].argv[2]);
    ck_assert_str_eq(read.apps[0].env[0], "A=1");
    ck_assert_str_eq(read.apps[0].wdir, "/tmp");
    ck_assert_str_eq(read.apps[1].argv[0], "other");
    ck_assert_uint_eq(read.node_count, 2);
    ck_assert_str_eq(read.nodes[0].name, "a");
    ck_assert_uint_eq(read.nodes[0].slots, 2);
    ck_assert_str_eq(read.nodes[1].name, "b");
    ck_assert_uint_eq(read.nodes[1].slots, 0);
    ck_assert_int_eq(read.bind, BIND_CORE);
    ck_assert(read.oversubscribe && !read.report_bindings);
    ck_assert_uint_eq(read.timeout_s, 7);
    ck_assert_int_eq(read.pty, PTY_ALWAYS);
    ck_assert(read.window.rows == 25 && read.window.columns == 132);
    ck_assert_uint_eq(read.simulate_nodes, 0);
    run_request_fini(&read);
    run_request_fini(&request);
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(test_a_simulation_comes_back)
{
    struct run_request request = parsed("keelrun --simulate 3x2 --report-bindings prog");
    struct run_request read;
    opal_buffer_t *buffer = packed(&request);
    ck_assert_int_eq(submit_unpack(buffer, &read), ORTE_SUCCESS);
    ck_assert_uint_eq(read.simulate_nodes, 3);
    ck_assert_uint_eq(read.simulate_slots, 2);
    ck_assert(read.report_bindings);
    ck_assert_uint_eq(read.node_count, 0);
    run_request_fini(&read);
    run_request_fini(&request);
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(test_a_short_request_is_refused)
{
    struct run_request request = example();
    decoder_refuses_beginnings(&decoder, packed(&request));
    run_request_fini(&request);
}
END_TEST

START_TEST(test_lying_counts_are_refused)
{
    static const uint32_t counts[][2] = {{0, 0},          {1, 1},     {4096, 0},  {4097, 0},
                                         {UINT32_MAX, 0}, {1, 65536}, {1, 65537}, {1, UINT32_MAX}};
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        struct run_request read;
        opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
        ck_assert_int_eq(proto_pack(buffer, "uuuuccccuuu", counts[i][0], counts[i][1], 0u, 0u, 0, 0,
                                    0, 0, 0u, 0u, 0u),
                         ORTE_SUCCESS);
        ck_assert_int_ne(submit_unpack(buffer, &read), ORTE_SUCCESS);
        OBJ_RELEASE(buffer);
    }
}
END_TEST

START_TEST(test_noise_is_survived)
{
    struct run_request request = example();
    decoder_survives_noise(&decoder, packed(&request));
    run_request_fini(&request);
}
END_TEST

UNIT_MAIN("submit", test_a_request_comes_back, test_a_simulation_comes_back,
          test_a_short_request_is_refused, test_lying_counts_are_refused, test_noise_is_survived)
