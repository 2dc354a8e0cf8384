#include <config.h>

#include <base/data/strings.h>
#include <launcher/request/rankfile.h>
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
    FILE *file = fopen("hosts-of-test-submit", "we");
    ck_assert_ptr_nonnull(file);
    fputs("a slots=2 max_slots=3\nb\n", file);
    ck_assert_int_eq(fclose(file), 0);
    return parsed("keelrun --host a:2,b --hostfile hosts-of-test-submit --bind-to core "
                  "--oversubscribe --timeout 7 --pty --stdin 1 --merge-stderr-to-stdout "
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
    ck_assert_uint_eq(read.hosts.count, 2);
    ck_assert_str_eq(read.hosts.nodes[0].name, "a");
    ck_assert_uint_eq(read.hosts.nodes[0].slots, 2);
    ck_assert_str_eq(read.hosts.nodes[1].name, "b");
    ck_assert_uint_eq(read.hosts.nodes[1].slots, 0);
    ck_assert_uint_eq(read.hostfile.count, 2);
    ck_assert_str_eq(read.hostfile.nodes[0].name, "a");
    ck_assert_uint_eq(read.hostfile.nodes[0].slots_max, 3);
    ck_assert_str_eq(read.hostfile_name, "hosts-of-test-submit");
    ck_assert(read.placement.bind && read.placement.bind_level == TOPO_CORE);
    ck_assert(read.oversubscribe && !read.report_bindings);
    ck_assert_uint_eq(read.timeout_s, 7);
    ck_assert_int_eq(read.pty, PTY_ALWAYS);
    ck_assert(read.input == INPUT_RANK && read.input_rank == 1 && read.merge_stderr);
    ck_assert(read.window.rows == 25 && read.window.columns == 132);
    ck_assert_uint_eq(read.simulate_nodes, 0);
    run_request_fini(&read);
    run_request_fini(&request);
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(test_a_simulation_comes_back)
{
    struct run_request request = parsed("keelrun --simulate 3x2 -N 2 --report-bindings prog");
    struct run_request read;
    opal_buffer_t *buffer = packed(&request);
    ck_assert_int_eq(submit_unpack(buffer, &read), ORTE_SUCCESS);
    ck_assert_uint_eq(read.simulate_nodes, 3);
    ck_assert_uint_eq(read.simulate_slots, 2);
    ck_assert_uint_eq(read.apps[0].per_node, 2);
    ck_assert(read.report_bindings);
    ck_assert_uint_eq(read.hosts.count, 0);
    run_request_fini(&read);
    run_request_fini(&request);
    OBJ_RELEASE(buffer);
}
END_TEST

static int copy(const struct run_request *request, struct run_request *read)
{
    opal_buffer_t *buffer = packed(request);
    int status = submit_unpack(buffer, read);
    OBJ_RELEASE(buffer);
    return status;
}

START_TEST(test_users_of_hosts_come_back)
{
    struct run_request request = parsed("keelrun --host joe@a:2,b prog"), read;
    ck_assert_int_eq(copy(&request, &read), ORTE_SUCCESS);
    ck_assert_uint_eq(read.hosts.count, 2);
    ck_assert_str_eq(read.hosts.nodes[0].user, "joe");
    ck_assert_str_eq(read.hosts.nodes[0].name, "a");
    ck_assert_uint_eq(read.hosts.nodes[0].slots, 2);
    ck_assert_ptr_null(read.hosts.nodes[1].user);
    ck_assert_str_eq(read.hosts.nodes[1].name, "b");
    run_request_fini(&read);
    static const char *const bad[][2] = {{"-l", "a"},    {"", "a"},     {"joe", ""},
                                         {"joe", "a@b"}, {"joe", "-a"}, {"a b", "a"}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct node_request *node = &request.hosts.nodes[0];
        free(node->user);
        free(node->name);
        node->user = strdup(bad[i][0]);
        node->name = strdup(bad[i][1]);
        ck_assert_int_eq(copy(&request, &read), ORTE_ERR_VALUE_OUT_OF_BOUNDS);
    }
    run_request_fini(&request);
}
END_TEST

/* All that placement has, and what is new beside it. */
static struct run_request placed(void)
{
    static const char ranks[] = "rank 0=a slot=0:*\nrank 1=b\n";
    struct run_request request = parsed("keelrun -n 2 prog");
    struct placement *placement = &request.placement;
    char why[256];
    int ignored;
    ck_assert_int_eq(placement_map_by(placement, "ppr:2:l3cache:PE=3:NOLOCAL:HWTCPUS", &ignored,
                                      why, sizeof(why)),
                     ORTE_SUCCESS);
    ck_assert_int_eq(placement_rank_by(placement, "package:fill", why, sizeof(why)), ORTE_SUCCESS);
    ck_assert_int_eq(
        placement_bind_to(placement, "numa:overload-allowed:if-supported", why, sizeof(why)),
        ORTE_SUCCESS);
    ck_assert_int_eq(placement_cpu_set(placement, "0-3,8", why, sizeof(why)), ORTE_SUCCESS);
    ck_assert_int_eq(rankfile_parse(placement, "ranks", ranks, sizeof(ranks) - 1, why, sizeof(why)),
                     ORTE_SUCCESS);
    ck_assert(strings_add(&placement->sequence, strdup("a")));
    ck_assert(strings_add(&placement->sequence, strdup("a")));
    request.display = DISPLAY_MAP | DISPLAY_TOPO;
    request.json = request.report = request.dry_run = request.no_oversubscribe = request.stand =
        true;
    request.dvm = strdup("file:uri");
    request.simulate_topo = strdup("pack:2 core:4");
    request.apps[0].per_node = 7;
    request.apps[0].hosts.relative = true;
    ck_assert_int_eq(
        node_list_parse(&request.apps[0].hosts, "+n1:2,+e:3", 10, 0, 0, why, sizeof(why)),
        ORTE_SUCCESS);
    return request;
}

START_TEST(test_where_ranks_run_comes_back)
{
    struct run_request request = placed(), read;
    const struct placement *placement = &read.placement;
    opal_buffer_t *buffer = packed(&request);
    ck_assert_int_eq(submit_unpack(buffer, &read), ORTE_SUCCESS);
    ck_assert_uint_eq(proto_left(buffer), 0);
    ck_assert(placement->map_by == MAP_BY_PPR && placement->map_level == TOPO_L3);
    ck_assert(placement->per_object == 2 && placement->cpus_per_rank == 3);
    ck_assert(!placement->span && placement->no_local && placement->hwthreads);
    ck_assert(placement->rank_by == RANK_BY_FILL && placement->rank_level == TOPO_PACKAGE);
    ck_assert(placement->bind_given && placement->bind && placement->bind_level == TOPO_NUMA);
    ck_assert(placement->overload && placement->if_supported);
    ck_assert_str_eq(placement->cpu_set, "0-3,8");
    ck_assert_str_eq(placement->file, "ranks");
    ck_assert_str_eq(placement->sequence[1], "a");
    ck_assert_ptr_null(placement->sequence[2]);
    ck_assert_uint_eq(placement->rank_count, 2);
    ck_assert_str_eq(placement->ranks[0].cpus, "0:*");
    ck_assert_str_eq(placement->ranks[1].host, "b");
    ck_assert_ptr_null(placement->ranks[1].cpus);
    ck_assert_uint_eq(placement->ranks[1].line, 2);
    ck_assert_uint_eq(read.display, DISPLAY_MAP | DISPLAY_TOPO);
    ck_assert(read.json && read.report && read.dry_run && read.no_oversubscribe && read.stand);
    ck_assert_str_eq(read.dvm, "file:uri");
    ck_assert_str_eq(read.simulate_topo, "pack:2 core:4");
    ck_assert_uint_eq(read.apps[0].per_node, 7);
    ck_assert_str_eq(read.apps[0].hosts.nodes[0].name, "+n1");
    ck_assert_uint_eq(read.apps[0].hosts.nodes[0].slots, 2);
    ck_assert_str_eq(read.apps[0].hosts.nodes[1].name, "+e:3");
    run_request_fini(&read);
    run_request_fini(&request);
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(test_numbers_out_of_range_are_refused)
{
    for (unsigned what = 0; what < 12; what++) {
        struct run_request request = placed(), read;
        struct placement *placement = &request.placement;
        struct node_request *node = &request.apps[0].hosts.nodes[0];
        switch (what) {
        case 0:
            placement->map_by = MAP_BY_RANKFILE + 1;
            break;
        case 1:
            placement->map_level = LEVEL_NODE + 1;
            break;
        case 2:
            placement->per_object = 0;
            break;
        case 3:
            placement->cpus_per_rank = UINT32_MAX;
            break;
        case 4:
            placement->rank_by = RANK_BY_FILL + 1;
            break;
        case 5:
            placement->rank_level = LEVEL_NODE + 1;
            break;
        case 6:
            placement->bind_level = TOPO_LEVELS;
            break;
        case 7:
            request.display = 16;
            break;
        case 8:
            node->slots = NODE_SLOTS_MAX + 1;
            break;
        case 9:
            node->name[0] = '-';
            break;
        case 10:
            placement->cpu_set[0] = '-';
            break;
        case 11:
            placement->ranks[0].cpus[0] = '-';
            break;
        }
        opal_buffer_t *buffer = packed(&request);
        ck_assert_msg(submit_unpack(buffer, &read) != ORTE_SUCCESS, "case %u", what);
        run_request_fini(&request);
        OBJ_RELEASE(buffer);
    }
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
        ck_assert_int_eq(proto_pack(buffer, "uuuucccccccuuu", counts[i][0], counts[i][1], 0u, 0u, 0,
                                    0, 0, 0, 0, 0, 0, 0, 0u, 0u, 0u),
                         ORTE_SUCCESS);
        ck_assert_int_ne(submit_unpack(buffer, &read), ORTE_SUCCESS);
        OBJ_RELEASE(buffer);
    }
}
END_TEST

START_TEST(test_a_short_or_noisy_placement_is_refused)
{
    struct run_request request = placed();
    decoder_refuses_beginnings(&decoder, packed(&request));
    decoder_survives_noise(&decoder, packed(&request));
    run_request_fini(&request);
}
END_TEST

START_TEST(test_noise_is_survived)
{
    struct run_request request = example();
    decoder_survives_noise(&decoder, packed(&request));
    run_request_fini(&request);
}
END_TEST

UNIT_MAIN("submit")
