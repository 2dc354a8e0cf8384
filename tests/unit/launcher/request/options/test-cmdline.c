#include <config.h>

#include <base/host/topo.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <launcher/request/run_request.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

enum { WORDS = 64 };

static struct run_request request;
static char reason[512];

/* Parses a line of words separated by single blanks. */
static enum cmdline_result parse(const char *line)
{
    static char text[4096];
    char *argv[WORDS + 2] = {(char *) "keelrun"};
    int argc = 1;
    snprintf(text, sizeof(text), "%s", line);
    for (char *word = strtok(text, " "); word && argc <= WORDS; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    reason[0] = 0;
    return cmdline_parse(&request, argc, argv, reason, sizeof(reason));
}

static void assert_parses(const char *line)
{
    ck_assert_msg(parse(line) == CMDLINE_RUN, "'%s' is refused: %s", line, reason);
}

static const char *env_of(size_t app, const char *name)
{
    size_t size = strlen(name);
    for (char **entry = request.apps[app].env; *entry; entry++) {
        if (strncmp(*entry, name, size) == 0 && (*entry)[size] == '=') {
            return *entry + size + 1;
        }
    }
    return NULL;
}

START_TEST(test_input_and_output)
{
    assert_parses("p");
    ck_assert(request.input == INPUT_RANK && request.input_rank == 0 && !request.output.ranks);
    run_request_fini(&request);
    assert_parses("--stdin all --output rank,timestamp,merge-stderr-to-stdout,dir=a,b p");
    ck_assert(request.input == INPUT_ALL && request.output.timestamp && request.merge_stderr);
    ck_assert_int_eq(request.output.tag, OUTPUT_TAG_RANK);
    ck_assert_str_eq(request.output.path, "a,b");
    run_request_fini(&request);
    assert_parses("--stdin 3 -l --output-ranks 0,4-7 p");
    ck_assert(request.input == INPUT_RANK && request.input_rank == 3);
    ck_assert_int_eq(request.output.tag, OUTPUT_TAG_RANK);
    bool *ranks = ranks_parse(request.output.ranks);
    ck_assert(ranks && ranks[0] && !ranks[1] && !ranks[3] && ranks[4] && ranks[7] && !ranks[8]);
    free(ranks);
    run_request_fini(&request);
    assert_parses("--stdin none p");
    ck_assert_int_eq(request.input, INPUT_NONE);
    run_request_fini(&request);
}
END_TEST

START_TEST(test_environment_as_hydra_writes_it)
{
    setenv("KEEL_TEST_A", "1", 1);
    setenv("KEEL_TEST_B", "2", 1);
    assert_parses("-genv X all -env X own -envlist KEEL_TEST_A p : "
                  "-genvlist KEEL_TEST_A,KEEL_TEST_B q");
    ck_assert_str_eq(env_of(0, "X"), "own");
    ck_assert_str_eq(env_of(1, "X"), "all");
    ck_assert_str_eq(env_of(0, "KEEL_TEST_A"), "1");
    ck_assert_str_eq(env_of(0, "KEEL_TEST_B"), "2");
    ck_assert_str_eq(env_of(1, "KEEL_TEST_B"), "2");
    run_request_fini(&request);
}
END_TEST

START_TEST(test_time_limit_of_the_environment)
{
    setenv("MPIEXEC_TIMEOUT", "12", 1);
    assert_parses("p");
    ck_assert_uint_eq(request.timeout_s, 12);
    run_request_fini(&request);
    assert_parses("--timeout 3 p");
    ck_assert_uint_eq(request.timeout_s, 3);
    run_request_fini(&request);
    setenv("MPIEXEC_TIMEOUT", "12s", 1);
    ck_assert_int_eq(parse("p"), CMDLINE_ERROR);
    ck_assert_msg(strstr(reason, "MPIEXEC_TIMEOUT '12s': a whole number"), "%s", reason);
}
END_TEST

START_TEST(test_program_and_defaults)
{
    assert_parses("prog -n 4 --help -x");
    ck_assert_uint_eq(request.app_count, 1);
    ck_assert_uint_eq(request.apps[0].count, 0);
    ck_assert_str_eq(request.apps[0].argv[0], "prog");
    ck_assert_str_eq(request.apps[0].argv[4], "-x");
    ck_assert_ptr_null(request.apps[0].argv[5]);
    ck_assert_ptr_null(request.apps[0].env[0]);
    ck_assert_ptr_null(request.apps[0].wdir);
    ck_assert(!request.oversubscribe && request.output.tag == OUTPUT_TAG_NONE &&
              !request.report_bindings);
    ck_assert(!request.placement.bind);
    ck_assert_uint_eq(request.timeout_s, 0);
    run_request_fini(&request);
    run_request_fini(&request);
}
END_TEST

START_TEST(test_all_spellings_of_the_count)
{
    static const char *const lines[] = {"-n 7 p",  "-np 7 p",  "--np 7 p",   "-c 7 p",
                                        "--n 7 p", "--np=7 p", "-n 3 -n 7 p"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        assert_parses(lines[i]);
        ck_assert_uint_eq(request.apps[0].count, 7);
        run_request_fini(&request);
    }
}
END_TEST

START_TEST(test_flags_and_values)
{
    assert_parses("--oversubscribe -tag-output --timestamp-output --report-bindings --timeout 30 "
                  "--bind-to core -wd /tmp --output-filename out --allow-run-as-root -- -odd");
    ck_assert(request.oversubscribe && request.output.tag == OUTPUT_TAG_JOB &&
              request.output.timestamp && request.report_bindings);
    ck_assert_uint_eq(request.timeout_s, 30);
    ck_assert(request.placement.bind && request.placement.bind_level == TOPO_CORE);
    ck_assert_str_eq(request.apps[0].wdir, "/tmp");
    ck_assert_str_eq(request.output.path, "out");
    ck_assert_int_eq(request.pty, PTY_AUTO);
    ck_assert_str_eq(request.apps[0].argv[0], "-odd");
    run_request_fini(&request);
    assert_parses("--bind-to core -bind-to none --pty --wdir=/usr p");
    ck_assert(!request.placement.bind);
    ck_assert_int_eq(request.pty, PTY_ALWAYS);
    ck_assert_str_eq(request.apps[0].wdir, "/usr");
    run_request_fini(&request);
    assert_parses("--pty -no-pty p");
    ck_assert_int_eq(request.pty, PTY_NEVER);
    run_request_fini(&request);
}
END_TEST

START_TEST(test_several_programs)
{
    assert_parses("-n 1 --wdir /a -x V=1 p x : -n 2 --tag-output q : r");
    ck_assert_uint_eq(request.app_count, 3);
    ck_assert_uint_eq(request.apps[0].count, 1);
    ck_assert_uint_eq(request.apps[1].count, 2);
    ck_assert_uint_eq(request.apps[2].count, 0);
    ck_assert_str_eq(request.apps[0].argv[1], "x");
    ck_assert_ptr_null(request.apps[0].argv[2]);
    ck_assert_str_eq(request.apps[1].argv[0], "q");
    ck_assert_str_eq(env_of(0, "V"), "1");
    ck_assert_ptr_null(env_of(1, "V"));
    ck_assert_ptr_null(request.apps[1].wdir);
    ck_assert_int_eq(request.output.tag, OUTPUT_TAG_JOB);
    run_request_fini(&request);
}
END_TEST

static unsigned warnings;

static void count_warning(void *arg, enum log_level level, const char *line)
{
    (void) arg;
    warnings += level == LOG_WARN && strstr(line, "UNSET_ONE") != NULL;
}

START_TEST(test_exported_variables)
{
    setenv("CMDLINE_A", "own a", 1);
    setenv("CMDLINE_B", "", 1);
    unsetenv("UNSET_ONE");
    log_set_sink(count_warning, NULL);
    assert_parses("-x CMDLINE_A -x NEW=a=b -x NEW=c=d -x EMPTY= -x UNSET_ONE p : -x CMDLINE_* q");
    ck_assert_str_eq(env_of(0, "CMDLINE_A"), "own a");
    ck_assert_str_eq(env_of(0, "NEW"), "c=d");
    ck_assert_str_eq(env_of(0, "EMPTY"), "");
    ck_assert_ptr_null(request.apps[0].env[3]);
    ck_assert_uint_eq(warnings, 1);
    ck_assert_str_eq(env_of(1, "CMDLINE_A"), "own a");
    ck_assert_str_eq(env_of(1, "CMDLINE_B"), "");
    ck_assert_ptr_null(request.apps[1].env[2]);
    run_request_fini(&request);
}
END_TEST

static struct param known = PARAM_INT("cmdline_test_known", "1", 0, 100, "", "Only for this test.");

START_TEST(test_parameters_reach_the_launcher_and_every_app)
{
    assert_parses("--mca cmdline_test_known 42 p : --gmca btl self,tcp -mca btl sm q");
    ck_assert_int_eq(param_int(&known), 42);
    for (size_t app = 0; app < 2; app++) {
        ck_assert_str_eq(env_of(app, "KEEL_MCA_cmdline_test_known"), "42");
        ck_assert_str_eq(env_of(app, "OMPI_MCA_cmdline_test_known"), "42");
        ck_assert_str_eq(env_of(app, "KEEL_MCA_btl"), "sm");
        ck_assert_str_eq(env_of(app, "OMPI_MCA_btl"), "sm");
        ck_assert_ptr_null(request.apps[app].env[4]);
    }
    run_request_fini(&request);
}
END_TEST

static char mistakes[512];

static void keep_mistakes(void *arg, enum log_level level, const char *line)
{
    (void) arg;
    (void) level;
    size_t used = strlen(mistakes);
    snprintf(mistakes + used, sizeof(mistakes) - used, "%s\n", line);
}

START_TEST(test_parameters_that_are_nearly_keels)
{
    log_set_sink(keep_mistakes, NULL);
    /* Open MPI's, somebody's, short ones, and those whose values Open MPI's programs check */
    assert_parses("--mca pml_ob1_verbose 1 --mca btl_vader_exclusivity 1 --mca btl_keel_verbose 1 "
                  "--mca my_own_parameter 1 --mca bt1 sm --mca btl_tcp_links many "
                  "--mca btl_usnic_retrans_timeout 9 --mca btl_mine_window 1 --mca tcp_links 1 p");
    ck_assert_str_eq(mistakes, "");
    run_request_fini(&request);
    assert_parses("--mca btl_sm_exclusivty 1 --mca btl_sm_exclusivty 2 p");
    ck_assert_ptr_nonnull(
        strstr(mistakes, "btl_sm_exclusivty: no parameter has this name; was btl_sm_exclusivity"));
    ck_assert_ptr_eq(strchr(mistakes, '\n') + 1, mistakes + strlen(mistakes));
    ck_assert_str_eq(env_of(0, "KEEL_MCA_btl_sm_exclusivty"), "2");
    run_request_fini(&request);
}
END_TEST

/* There is one line, which ends with the text. */
static void assert_warned(const char *name, const char *text)
{
    char words[512], line[1024];
    snprintf(words, sizeof(words), "--mca %s 1 p", name);
    snprintf(line, sizeof(line), "--mca %s: no parameter has this name; the nearest: %s\n", name,
             text);
    mistakes[0] = '\0';
    assert_parses(words);
    size_t size = strlen(line), whole = strlen(mistakes);
    ck_assert_uint_ge(whole, size);
    ck_assert_str_eq(mistakes + whole - size, line);
    ck_assert_ptr_eq(strchr(mistakes, '\n'), mistakes + whole - 1);
    run_request_fini(&request);
}

START_TEST(test_parameters_that_a_component_does_not_have)
{
    log_set_sink(keep_mistakes, NULL);
    assert_warned("btl_tcp_use_links", "btl_tcp_links");
    assert_warned("btl_usnic_window", "btl_usnic_bandwidth, btl_usnic_channels, "
                                      "btl_usnic_checksum, btl_usnic_connectivity_map, ...");
    assert_warned("oob_tcp_window_size", "oob_tcp_if_exclude, oob_tcp_if_include");
    assert_warned("rml_suspect", "rml_suspect_ms");
    assert_warned(
        "btl_tcp_" /* and 119 more */
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "btl_tcp_bandwidth, btl_tcp_connect_timeout_ms, btl_tcp_eager_limit, "
        "btl_tcp_exclusivity, ...");
}
END_TEST

START_TEST(test_hosts)
{
    assert_parses("--host a:2,b -H c,a:3,b,[fe80::1]:4,fe80::2 p");
    static const struct {
        const char *name;
        uint32_t slots;
    } expected[] = {{"a", 5}, {"b", 2}, {"c", 0}, {"[fe80::1]", 4}, {"fe80::2", 0}};
    ck_assert_uint_eq(request.hosts.count, 5);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_str_eq(request.hosts.nodes[i].name, expected[i].name);
        ck_assert_uint_eq(request.hosts.nodes[i].slots, expected[i].slots);
    }
    run_request_fini(&request);
}
END_TEST

START_TEST(test_simulated_nodes)
{
    assert_parses("--simulate 3x2 -n 6 p");
    ck_assert_uint_eq(request.simulate_nodes, 3);
    ck_assert_uint_eq(request.simulate_slots, 2);
    run_request_fini(&request);
}
END_TEST

START_TEST(test_where_ranks_run)
{
    const struct placement *placement = &request.placement;
    assert_parses("--map-by core:SPAN --rank-by package:fill --bind-to numa --cpu-set 0-3 "
                  "--nolocal --use-hwthread-cpus --display map,topo --dry-run --json -N 2 p");
    ck_assert(placement->map_by == MAP_BY_OBJECT && placement->map_level == TOPO_CORE);
    ck_assert(placement->span && placement->no_local && placement->hwthreads);
    ck_assert(placement->rank_by == RANK_BY_FILL && placement->rank_level == TOPO_PACKAGE);
    ck_assert(placement->bind && placement->bind_level == TOPO_NUMA);
    ck_assert_str_eq(placement->cpu_set, "0-3");
    ck_assert_uint_eq(request.display, DISPLAY_MAP | DISPLAY_TOPO);
    ck_assert(request.dry_run && request.json);
    ck_assert_uint_eq(request.apps[0].per_node, 2);
    run_request_fini(&request);
    assert_parses("--npersocket 2 --cpus-per-proc 3 --nooversubscribe p");
    ck_assert(placement->map_by == MAP_BY_PPR && placement->map_level == TOPO_PACKAGE);
    ck_assert(placement->per_object == 2 && placement->cpus_per_rank == 3 && placement->bind);
    ck_assert(request.no_oversubscribe && !request.oversubscribe);
    run_request_fini(&request);
    assert_parses("--npersocket 2 p");
    ck_assert(placement->bind && placement->bind_level == TOPO_PACKAGE);
    run_request_fini(&request);
    assert_parses("--bynode --bind-to-socket --display-map --display-allocation p");
    ck_assert(placement->map_by == MAP_BY_NODE && placement->bind_level == TOPO_PACKAGE);
    ck_assert_uint_eq(request.display, DISPLAY_MAP | DISPLAY_ALLOCATION);
    run_request_fini(&request);
    assert_parses("--display MAP,Topo p");
    ck_assert_uint_eq(request.display, DISPLAY_MAP | DISPLAY_TOPO);
    run_request_fini(&request);
    assert_parses("--dry-run --json p");
    ck_assert_uint_eq(request.display, DISPLAY_MAP);
    run_request_fini(&request);
    assert_parses("--dry-run --report-bindings p");
    ck_assert_uint_eq(request.display, 0);
    run_request_fini(&request);
    ck_assert_int_eq(parse("--json p"), CMDLINE_ERROR);
    ck_assert_str_eq(reason,
                     "--json: --display, --report-bindings or --dry-run says what is displayed");
    assert_parses("--report-bindings --json p");
    run_request_fini(&request);
}
END_TEST

START_TEST(test_hosts_of_each_program)
{
    assert_parses("--host a,+n1 -N 1 p : --host b:2,+e:3 -N 2 q : r");
    ck_assert_uint_eq(request.apps[0].hosts.count, 2);
    ck_assert_str_eq(request.apps[0].hosts.nodes[1].name, "+n1");
    ck_assert_uint_eq(request.apps[0].per_node, 1);
    ck_assert_str_eq(request.apps[1].hosts.nodes[1].name, "+e:3");
    ck_assert_uint_eq(request.apps[1].hosts.nodes[0].slots, 2);
    ck_assert_uint_eq(request.apps[1].per_node, 2);
    ck_assert_uint_eq(request.apps[2].hosts.count, 0);
    ck_assert_uint_eq(request.hosts.count, 4);
    ck_assert_str_eq(request.hosts.nodes[2].name, "b");
    run_request_fini(&request);
}
END_TEST

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(test_programs_in_a_file)
{
    static const char path[] = "programs-of-test-cmdline";
    write_file(path, "# two\n-n 1 \"a b\" 'c\"d' e\\ f\n\n-n 2 --wdir /w \\\n q # end\n");
    assert_parses("--tag-output --app programs-of-test-cmdline");
    ck_assert_uint_eq(request.app_count, 2);
    ck_assert_str_eq(request.apps[0].argv[0], "a b");
    ck_assert_str_eq(request.apps[0].argv[1], "c\"d");
    ck_assert_str_eq(request.apps[0].argv[2], "e f");
    ck_assert_str_eq(request.apps[1].wdir, "/w");
    ck_assert_uint_eq(request.apps[1].count, 2);
    ck_assert_int_eq(request.output.tag, OUTPUT_TAG_JOB);
    run_request_fini(&request);
    write_file(path, "-n 1 p\n\n-n x q\n");
    ck_assert_int_eq(parse("--app programs-of-test-cmdline"), CMDLINE_ERROR);
    ck_assert_str_eq(reason, "programs-of-test-cmdline:3: -n 'x': a whole number from 1 to 1048576 "
                             "is needed");
    write_file(path, "p 'q\n\n");
    ck_assert_int_eq(parse("--app programs-of-test-cmdline"), CMDLINE_ERROR);
    ck_assert_ptr_nonnull(strstr(reason, "programs-of-test-cmdline:1: a quote has no end"));
    unlink(path);
}
END_TEST

/* As many programs, each of its own line. */
static void write_programs(const char *path, unsigned count)
{
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    for (unsigned i = 0; i < count; i++) {
        fputs("p\n", file);
    }
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(test_programs_are_limited)
{
    static const char path[] = "programs-of-test-cmdline";
    static char *argv[2 * (APPS_MAX + 5)] = {(char *) "keelrun"};
    for (int i = 0; i < APPS_MAX + 4; i++) {
        argv[2 * i + 1] = (char *) "p";
        argv[2 * i + 2] = (char *) (i < APPS_MAX + 3 ? ":" : NULL);
    }
    ck_assert_int_eq(cmdline_parse(&request, 2 * APPS_MAX + 8, argv, reason, sizeof(reason)),
                     CMDLINE_ERROR);
    ck_assert_str_eq(reason, "4100 programs are more than 4096");
    argv[2 * APPS_MAX] = NULL;
    ck_assert_int_eq(cmdline_parse(&request, 2 * APPS_MAX, argv, reason, sizeof(reason)),
                     CMDLINE_RUN);
    ck_assert_uint_eq(request.app_count, APPS_MAX);
    run_request_fini(&request);
    write_programs(path, APPS_MAX);
    assert_parses("--app programs-of-test-cmdline");
    run_request_fini(&request);
    write_programs(path, APPS_MAX + 2);
    ck_assert_int_eq(parse("--app programs-of-test-cmdline"), CMDLINE_ERROR);
    ck_assert_str_eq(reason, "programs-of-test-cmdline:4097: 4098 programs are more than 4096");
    unlink(path);
}
END_TEST

/* Where each word counts those before it, this takes minutes. */
START_TEST(test_a_program_has_a_million_arguments)
{
    static const char path[] = "programs-of-test-cmdline";
    enum { COUNT = 1000000 };
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    for (unsigned i = 0; i < COUNT; i++) {
        fputs("p ", file);
    }
    ck_assert_int_eq(fclose(file), 0);
    assert_parses("--app programs-of-test-cmdline");
    ck_assert_uint_eq(request.app_count, 1);
    ck_assert_str_eq(request.apps[0].argv[COUNT - 1], "p");
    ck_assert_ptr_null(request.apps[0].argv[COUNT]);
    run_request_fini(&request);
    unlink(path);
}
END_TEST

/* Only hwloc can tell; where it is missing, the mapping says so. */
START_TEST(test_a_topology_that_hwloc_does_not_read)
{
    static const char path[] = "topology-of-test-cmdline.xml";
    struct topo topo = {0};
    bool there = topo_describe(&topo, "pu:1", reason, sizeof(reason)) == ORTE_SUCCESS;
    enum cmdline_result result = there ? CMDLINE_ERROR : CMDLINE_RUN;
    topo_fini(&topo);
    write_file(path, "<topology><object</topology>\n");
    ck_assert_int_eq(parse("--simulate 1x1 --simulate-topo x p"), result);
    ck_assert(!there || strstr(reason, "--simulate-topo 'x': hwloc's description of a node"));
    ck_assert_int_eq(parse("--simulate 1x1 --simulate-topo topology-of-test-cmdline.xml p"),
                     result);
    ck_assert(!there || strstr(reason, "test-cmdline.xml': a file that hwloc wrote"));
    unlink(path);
}
END_TEST

START_TEST(test_parameters_stand_in_for_options)
{
    static const char path[] = "hosts-of-test-cmdline";
    const struct placement *placement = &request.placement;
    write_file(path, "a\nb slots=2\na\n");
    assert_parses("--mca rmaps_base_mapping_policy socket:PE=2 --mca hwloc_base_binding_policy "
                  "core --mca rank_by core --mca orte_default_hostfile hosts-of-test-cmdline "
                  "--mca rmaps_base_oversubscribe 1 p");
    ck_assert(placement->map_by == MAP_BY_OBJECT && placement->map_level == TOPO_PACKAGE);
    ck_assert(placement->cpus_per_rank == 2 && placement->bind_level == TOPO_CORE);
    ck_assert_int_eq(placement->rank_by, RANK_BY_DEFAULT); /* no package is in a core */
    ck_assert_uint_eq(request.hostfile.count, 2);
    ck_assert(request.oversubscribe);
    run_request_fini(&request);
    assert_parses("--map-by seq --bind-to none --nooversubscribe p");
    ck_assert(placement->map_by == MAP_BY_SEQ && !placement->bind && !request.oversubscribe);
    ck_assert_str_eq(placement->sequence[2], "a"); /* a line is a rank */
    ck_assert_ptr_null(placement->sequence[3]);
    run_request_fini(&request);
    unlink(path);
}
END_TEST

START_TEST(test_options_count_more_than_words_of_map_by)
{
    assert_parses("--mca map_by core:OVERSUBSCRIBE --nooversubscribe p");
    ck_assert(request.no_oversubscribe && !request.oversubscribe);
    ck_assert_int_eq(request.placement.map_by, MAP_BY_OBJECT);
    run_request_fini(&request);
    assert_parses("--map-by core --map-by core:SPAN p : --map-by core q");
    run_request_fini(&request);
}
END_TEST

START_TEST(test_open_mpis_variables_count)
{
    const struct placement *placement = &request.placement;
    setenv("OMPI_MCA_rmaps_base_mapping_policy", "node", 1);
    setenv("OMPI_MCA_hwloc_base_binding_policy", "core", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    assert_parses("--mca bind_to package p");
    ck_assert(placement->map_by == MAP_BY_NODE && placement->bind_level == TOPO_PACKAGE);
    ck_assert(request.oversubscribe);
    run_request_fini(&request);
}
END_TEST

START_TEST(test_a_parameter_that_makes_no_sense)
{
    ck_assert_int_eq(parse("--mca map_by cor p"), CMDLINE_ERROR);
    ck_assert_ptr_nonnull(strstr(reason, "the parameter map_by: 'cor': slot, "));
}
END_TEST

/* What is wrong, and a word of the reason. */
static const struct {
    const char *line, *word;
} wrong[] = {
    {"", "no program"},
    {"-n 2", "no program"},
    {"p :", "behind the ':'"},
    {": p", "no program"},
    {"p : : q", "behind the ':'"},
    {"-n", "-n needs a value"},
    {"-n 0 p", "-n '0'"},
    {"-n -1 p", "-n '-1'"},
    {"-n 2x p", "-n '2x'"},
    {"-n 0x2 p", "-n '0x2'"},
    {"-n +2 p", "-n '+2'"},
    {"-n 1048577 p", "from 1 to 1048576"},
    {"-n 99999999999999999999 p", "whole number"},
    {"-n 1000000 p : -n 1000000 q", "2000000 ranks"},
    {"--np= p", "whole number"},
    {"--timeout 0 p", "--timeout '0'"},
    {"--timeout p", "--timeout 'p'"},
    {"--mca btl", "a name and a value"},
    {"--mca a=b c p", "'a=b'"},
    {"-x =1 p", "-x '=1'"},
    {"--wdir= p", "a folder"},
    {"--bind-to sockt p", "nearest is socket"},
    {"--simulate 3 p", "NODESxSLOTS"},
    {"--simulate 3x p", "NODESxSLOTS"},
    {"--simulate x3 p", "NODESxSLOTS"},
    {"--simulate 0x3 p", "NODESxSLOTS"},
    {"--simulate 3x-1 p", "NODESxSLOTS"},
    {"--simulate 2000x2 p", "NODESxSLOTS"},
    {"--simulate 3x2x2 p", "NODESxSLOTS"},
    {"--simulate 11111111111111111111x2 p", "NODESxSLOTS"},
    {"--simulate 2x2 --host a p", "--simulate excludes --host and --hostfile"},
    {"--host a:0 p", "'a:0'"},
    {"--host a:x p", "'a:x'"},
    {"--host a: p", "'a:'"},
    {"--host a,,b p", "NAME or NAME:SLOTS"},
    {"--host a, p", "NAME or NAME:SLOTS"},
    {"--host :2 p", "':2'"},
    {"--host [a p", "'[a'"},
    {"--host a,-oProxyCommand=b p", "'-oProxyCommand=b'"},
    {"--host a:1000000,a:1000000 p", "--host 'a': too many slots"},
    {"--tag-output=1 p", "takes no value"},
    {"--map-by core --bynode p", "--bynode: --map-by has said already how ranks are mapped"},
    {"--npersocket 2 --map-by node p", "--map-by: --npersocket has said already"},
    {"--host a:2:3 p", "'a:2:3'"},
    {"--simulate 1x1 --simulate-topo none.xml p", "'none.xml': No such file"},
    {"--simulate 1x1 --simulate-topo /dev/.xml p", "'/dev/.xml': "},
    {"--simulate 1x1 --simulate-topo core:99(size=1)pu:99 p", "more than 4096 hardware threads"},
    {"--stdin some p", "--stdin 'some': a rank's number, all or none is needed"},
    {"--output tag,foo p", "--output 'foo': tag, tag-detailed"},
    {"--output dir= p", "--output a folder is needed"},
    {"--output file=a%q:pattern p", "--output '%q' in the pattern"},
    {"--output-filename a:nocpy p", "--output-filename a:nocpy: 'nocpy' behind the colon"},
    {"--output-ranks 4- p", "--output-ranks '4-': numbers of ranks"},
    {"-genv A=B c p", "-genv 'A=B': NAME VALUE is needed"},
    {"-genvlist A,,B p", "-genvlist ',B': NAME,NAME,... is needed"},
    {"--tagoutput p", "nearest is --tag-output"},
    {"--oversubscibe p", "'--oversubscibe'; the nearest is --oversubscribe"},
    {"-nn 2 p", "nearest is -n"},
    {"--oversub p", "nearest is --oversubscribe"},
    {"-z p", "unknown option '-z' (keelrun --help lists all)"},
    {"--bys p", "'--bys' (keelrun --help lists all)"}, /* the beginning of two */
    {"--verbos p", "'--verbos' (keelrun --help lists all)"},
    {"-wdiir p", "nearest is --wdir"},
    {"--map-by cor p", "--map-by 'cor': slot, node, "},
    {"--map-by=slot:SPAN p", "--map-by slot:SPAN: SPAN goes with an object"},
    {"--rank-by cord p", "--rank-by 'cord': slot, "},
    {"--rank-by core p", "--rank-by core: with --map-by slot"},
    {"--cpus-per-proc 0 p", "--cpus-per-proc '0': a whole number"},
    {"--cpus-per-proc 2 --bind-to socket p", "--bind-to package: with PE=2"},
    {"--cpu-set 3-0 p", "--cpu-set '3-0': numbers of processors"},
    {"--rankfile /nonexistent/f p", "--rankfile /nonexistent/f: No such file"},
    {"--map-by rankfile p", "a file is needed"},
    {"--map-by seq p", "--map-by seq: a file of hosts is needed"},
    {"--display mop p",
     "--display 'mop': map, allocation, bind or topo is needed; the nearest is map"},
    {"--display map, p", "--display '': map"},
    {"--simulate-topo pu:4 p", "--simulate-topo needs --simulate"},
    {"--oversubscribe --map-by :NOOVERSUBSCRIBE p", "exclude each other"},
    {"--completion zsh p", "bash is needed"},
    {"--app /nonexistent/f", "--app /nonexistent/f: No such file"},
    {"--app f p", "--app f: nothing can follow"},
    {"--host u@+n1 p", "'u@+n1': USER@NAME is needed"},
    {"--map-by slot:OVERSUBSCRIBE:NOOVERSUBSCRIBE p", "exclude each other"},
    {"--host +x1 p", "--host '+x1': +nK, +nK:SLOTS or +e[:K] is needed"},
    {"--host a,+e:0 p", "--host '+e:0': +nK, +nK:SLOTS or +e[:K] is needed"},
    {"--host +n1:0 p", "--host '+n1:0': +nK, +nK:SLOTS or +e[:K] is needed"},
    {"--mapby core p", "in its place: --map-by HOW"},
    {"--demux poll p", "no option '--demux'; in its place: nothing"},
    {"--hostfile /nonexistent/f p", "--hostfile /nonexistent/f: No such file or directory"},
    {"--default-hostfile f p", "in its place: --hostfile FILE"},
    {"--npersocket x p", "--npersocket 'x': a whole number"},
    {"-N 0 p", "-N '0': a whole number from 1 to"},
    {"-genvnone p", "env -i"},
    {"--label p", "-l, or --tag-output"},
    {"--verbose p", "--mca log_verbose 1"},
    {"--mca btl_sm_eager_count 3 p", "--mca btl_sm_eager_count 3: a whole number from 4 to 65536"},
    {"--mca btl_sm_eager_count x p", "from 4 to 65536 is wanted"},
    {"--mca oob_security xyz p", "one of auto, encrypt, auth, none is wanted"},
    {"--mca rml_compress_min 1x p", "a size from 0 to 2147483647 is wanted"},
    {"--mca btl_check maybe p", "yes or no is wanted"},
    {"--this-is-a-very-long-option-that-nobody-knows p", "--help"},
};

UNIT_LOOP(test_mistakes_are_named, 0, sizeof(wrong) / sizeof(*wrong))
{
    ck_assert_int_eq(parse(wrong[_i].line), CMDLINE_ERROR);
    ck_assert_msg(strstr(reason, wrong[_i].word), "'%s': '%s' does not say '%s'", wrong[_i].line,
                  reason, wrong[_i].word);
}
END_TEST

START_TEST(test_an_empty_program_name_is_refused)
{
    char *argv[] = {(char *) "keelrun", (char *) "", NULL};
    ck_assert_int_eq(cmdline_parse(&request, 2, argv, reason, sizeof(reason)), CMDLINE_ERROR);
    ck_assert_ptr_nonnull(strstr(reason, "empty"));
    char *none[] = {NULL};
    ck_assert_int_eq(cmdline_parse(&request, 0, none, reason, sizeof(reason)), CMDLINE_ERROR);
}
END_TEST

/* Runs a parse with its standard output in a file; returns what it printed. */
static const char *printed_by(const char *line)
{
    static char text[16384];
    char path[] = "/tmp/keel-test-help-XXXXXX";
    int saved = dup(1), fd = mkstemp(path);
    dup2(fd, 1);
    ck_assert_int_eq(parse(line), CMDLINE_DONE);
    fflush(stdout);
    dup2(saved, 1);
    ssize_t got = pread(fd, text, sizeof(text) - 1, 0);
    ck_assert_int_gt(got, 0);
    text[got] = 0;
    close(fd);
    close(saved);
    unlink(path);
    return text;
}

START_TEST(test_help_and_version)
{
    static const char *const words[] = {"Usage:",       "Examples", "--simulate",       "--bind-to",
                                        "--mca",        "-x ",      "--timeout",        "--host",
                                        "--tag-output", "--wdir",   "--report-bindings"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        ck_assert_ptr_nonnull(strstr(printed_by("-n 2 --help"), words[i]));
    }
    ck_assert_ptr_nonnull(strstr(printed_by("-h"), "Usage:"));
    ck_assert_ptr_nonnull(strstr(printed_by("--version"), PACKAGE_VERSION));
    ck_assert_ptr_nonnull(strstr(printed_by("-V --wrong"), "keelrun"));
}
END_TEST

START_TEST(test_report)
{
    assert_parses("p");
    ck_assert(!request.report);
    run_request_fini(&request);
    assert_parses("--report json p");
    ck_assert(request.report);
    ck_assert_ptr_null(request.report_file);
    run_request_fini(&request);
    assert_parses("--report json:a:b p");
    ck_assert(request.report);
    ck_assert_str_eq(request.report_file, "a:b");
    run_request_fini(&request);
    assert_parses("--report json:a --report json p");
    ck_assert_ptr_null(request.report_file);
    run_request_fini(&request);
    ck_assert_int_eq(parse("--report json: p"), CMDLINE_ERROR);
    ck_assert_int_eq(parse("--report xml p"), CMDLINE_ERROR);
    ck_assert_str_eq(reason, "--report 'xml': json, or json:FILE, is needed");
}
END_TEST

UNIT_MAIN("cmdline")
