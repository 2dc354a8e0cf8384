/* The words of --map-by, --rank-by and --bind-to, and rankfiles. */
#include <config.h>

#include <launcher/request/placement.h>
#include <launcher/request/rankfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static struct placement placement;
static char reason[512];
static int oversubscribe;

static int map_by(const char *words)
{
    return placement_map_by(&placement, words, &oversubscribe, reason, sizeof(reason));
}

static int rank_by(const char *words)
{
    return placement_rank_by(&placement, words, reason, sizeof(reason));
}

static int bind_to(const char *words)
{
    return placement_bind_to(&placement, words, reason, sizeof(reason));
}

START_TEST(test_map_by)
{
    static const struct {
        const char *words;
        enum map_by by;
        unsigned level;
        uint32_t per_object, cpus;
        bool span, no_local, hwthreads;
        int oversubscribe;
    } cases[] = {
        {"slot", MAP_BY_SLOT, LEVEL_NODE, 0, 0, false, false, false, 0},
        {"NODE", MAP_BY_NODE, LEVEL_NODE, 0, 0, false, false, false, 0},
        {"hwthread", MAP_BY_OBJECT, TOPO_HWTHREAD, 0, 0, false, false, false, 0},
        {"Core:Span", MAP_BY_OBJECT, TOPO_CORE, 0, 0, true, false, false, 0},
        {"l1cache", MAP_BY_OBJECT, TOPO_L1, 0, 0, false, false, false, 0},
        {"l2cache", MAP_BY_OBJECT, TOPO_L2, 0, 0, false, false, false, 0},
        {"l3cache,pe=4,span", MAP_BY_OBJECT, TOPO_L3, 0, 4, true, false, false, 0},
        {"numa:NOLOCAL", MAP_BY_OBJECT, TOPO_NUMA, 0, 0, false, true, false, 0},
        {"socket:HWTCPUS:PE=65536", MAP_BY_OBJECT, TOPO_PACKAGE, 0, 65536, false, false, true, 0},
        {"package", MAP_BY_OBJECT, TOPO_PACKAGE, 0, 0, false, false, false, 0},
        {"ppr:2:socket", MAP_BY_PPR, TOPO_PACKAGE, 2, 0, false, false, false, 0},
        {"ppr:1:node:PE=2", MAP_BY_PPR, LEVEL_NODE, 1, 2, false, false, false, 0},
        {"PPR:1048576:L2CACHE,OVERSUBSCRIBE", MAP_BY_PPR, TOPO_L2, 1048576, 0, false, false, false,
         1},
        {"seq", MAP_BY_SEQ, LEVEL_NODE, 0, 0, false, false, false, 0},
        {"PE=3", MAP_BY_SLOT, TOPO_HWTHREAD, 0, 3, false, false, false, 0},
        {":NOOVERSUBSCRIBE", MAP_BY_SLOT, TOPO_HWTHREAD, 0, 0, false, false, false, -1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        oversubscribe = 0;
        ck_assert_msg(map_by(cases[i].words) == ORTE_SUCCESS, "%s: %s", cases[i].words, reason);
        ck_assert_msg(placement.map_by == cases[i].by && placement.map_level == cases[i].level &&
                          placement.per_object == cases[i].per_object &&
                          placement.cpus_per_rank == cases[i].cpus &&
                          placement.span == cases[i].span &&
                          placement.no_local == cases[i].no_local &&
                          placement.hwthreads == cases[i].hwthreads &&
                          oversubscribe == cases[i].oversubscribe,
                      "%s", cases[i].words);
        placement_fini(&placement);
    }
}
END_TEST

START_TEST(test_the_last_policy_counts)
{
    ck_assert_int_eq(map_by("ppr:2:core"), ORTE_SUCCESS);
    ck_assert_int_eq(map_by("core:SPAN:PE=2"), ORTE_SUCCESS);
    ck_assert_uint_eq(placement.per_object, 0);
    ck_assert_int_eq(map_by("slot"), ORTE_SUCCESS);
    ck_assert(!placement.span);
    ck_assert_uint_eq(placement.cpus_per_rank, 2); /* as of --cpus-per-proc */
    placement_fini(&placement);
}
END_TEST

START_TEST(test_rank_by)
{
    static const struct {
        const char *words;
        enum rank_by by;
        unsigned level;
    } cases[] = {
        {"slot", RANK_BY_SLOT, LEVEL_NODE},           {"Node", RANK_BY_NODE, LEVEL_NODE},
        {"fill", RANK_BY_FILL, LEVEL_NODE},           {"span", RANK_BY_SPAN, LEVEL_NODE},
        {"core", RANK_BY_OBJECT, TOPO_CORE},          {"socket", RANK_BY_OBJECT, TOPO_PACKAGE},
        {"package:SPAN", RANK_BY_SPAN, TOPO_PACKAGE}, {"l3cache,fill", RANK_BY_FILL, TOPO_L3},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ck_assert_msg(rank_by(cases[i].words) == ORTE_SUCCESS, "%s", reason);
        ck_assert_msg(placement.rank_by == cases[i].by && placement.rank_level == cases[i].level,
                      "%s", cases[i].words);
    }
}
END_TEST

START_TEST(test_bind_to)
{
    static const struct {
        const char *words;
        bool given, bind;
        enum topo_level level;
        bool overload, if_supported;
    } cases[] = {
        {"none", true, false, TOPO_HWTHREAD, false, false},
        {"core", true, true, TOPO_CORE, false, false},
        {"HWTHREAD:overload-allowed", true, true, TOPO_HWTHREAD, true, false},
        {"socket:If-Supported", true, true, TOPO_PACKAGE, false, true},
        {"numa:if-supported:overload-allowed", true, true, TOPO_NUMA, true, true},
        {"l1cache,overload-allowed", true, true, TOPO_L1, true, false},
        {":overload-allowed", false, false, TOPO_HWTHREAD, true, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        placement = (struct placement){0};
        ck_assert_msg(bind_to(cases[i].words) == ORTE_SUCCESS, "%s", reason);
        ck_assert_msg(placement.bind_given == cases[i].given && placement.bind == cases[i].bind &&
                          placement.bind_level == cases[i].level &&
                          placement.overload == cases[i].overload &&
                          placement.if_supported == cases[i].if_supported,
                      "%s", cases[i].words);
    }
}
END_TEST

START_TEST(test_mistakes_are_named)
{
    static const struct {
        int (*parse)(const char *words);
        const char *words, *why;
    } cases[] = {
        {map_by, "cor", "'cor': slot, node, hwthread, core, "},
        {map_by, "cor", "rankfile is needed; the nearest is core"},
        {map_by, "", "'': slot, "},
        {map_by, ":", "'': PE=, "},
        {map_by, "board", "'board': slot"},
        {map_by, "core:SPA", "'SPA': PE=, SPAN, OVERSUBSCRIBE, "},
        {map_by, "core:SPA", "; the nearest is SPAN"},
        {map_by, "core:", "'': PE="},
        {map_by, "core:core", "'core': PE="},
        {map_by, "core:PE", "nearest is PE="},
        {map_by, "core:PE=", "'PE=': a whole number from 1 to 65536"},
        {map_by, "core:PE=0", "'PE=0': a whole number"},
        {map_by, "core:PE=2x", "'PE=2x': a whole number"},
        {map_by, "core:PE=65537", "'PE=65537'"},
        {map_by, "ppr", "'ppr': ppr:N:OBJECT is needed, as in ppr:2:package"},
        {map_by, "ppr:2", "'ppr:2': ppr:N:OBJECT is needed"},
        {map_by, "ppr:x:core", "'x': a whole number from 1 to 1048576"},
        {map_by, "ppr:2:slot", "'slot': node, hwthread, "},
        {map_by, "ppr:2:cores", "the nearest is core"},
        {map_by, "core:FILE=x", "FILE=F belongs to seq and rankfile"},
        {map_by, "seq:FILE=", "'seq:FILE=': a file is needed, as in seq:FILE=F"},
        {map_by, "rankfile:FILE=", "'rankfile:FILE=': a file is needed, as in rankfile:FILE=F"},
        {map_by, "rankfile:FILE=/nonexistent/f", "rankfile:FILE=/nonexistent/f: No such file"},
        {map_by, "seq:FILE=/nonexistent/f", "seq:FILE=/nonexistent/f: No such file"},
        {rank_by, "cord", "the nearest is core"},
        {rank_by, "", "'': slot, "},
        {rank_by, "slot:SPAN", "'SPAN': nothing can follow slot"},
        {rank_by, "core:SPAM", "'SPAM': SPAN or FILL is needed; the nearest is SPAN"},
        {rank_by, "core:span:fill", "'fill': nothing can follow core:SPAN"},
        {bind_to, "sockt", "'sockt': none, hwthread, "},
        {bind_to, "sockt", "the nearest is socket"},
        {bind_to, "node", "'node': none"},
        {bind_to, "", "'': none"},
        {bind_to, "core:overload", "'overload': overload-allowed or if-supported is needed"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        placement = (struct placement){0};
        ck_assert_msg(cases[i].parse(cases[i].words) != ORTE_SUCCESS, "%s", cases[i].words);
        ck_assert_msg(strstr(reason, cases[i].why), "%s: %s", cases[i].words, reason);
        ck_assert(placement.map_by == MAP_BY_SLOT && !placement.bind && !placement.span);
    }
}
END_TEST

START_TEST(test_words_that_exclude_each_other)
{
    static const struct {
        const char *map, *rank, *bind, *why; /* why NULL: they do not */
    } cases[] = {
        {"slot:SPAN", NULL, NULL, "--map-by slot:SPAN: SPAN goes with an object"},
        {"node:SPAN", NULL, NULL, "node:SPAN"},
        {"seq:SPAN", NULL, NULL, "seq:SPAN"},
        {"ppr:1:core:SPAN", NULL, NULL, "--map-by ppr:1:core:SPAN: SPAN goes"},
        {"core:SPAN", NULL, NULL, NULL},
        {"rankfile", NULL, NULL, "a file is needed"},
        {"seq", "slot", NULL, "with --map-by seq the file numbers the ranks"},
        {"slot", "core", NULL, "--rank-by core: with --map-by slot ranks are not on an object"},
        {"ppr:1:node", "core:FILL", NULL, "with --map-by ppr:1:node ranks"},
        {"slot", "span", NULL, NULL},
        {"core", "socket:span", NULL, NULL},
        {"core", "core", NULL, NULL},
        {"socket", "core", NULL, "--rank-by core: an object that is package or contains it"},
        {"ppr:2:numa", "l3cache", NULL, "an object that is numa"},
        {"slot:PE=2", NULL, "socket", "--bind-to package: with PE=2 ranks are bound"},
        {"slot:PE=2", NULL, "l1cache", "core, hwthread or none is possible"},
        {"slot:PE=2", NULL, "core", NULL},
        {"slot:PE=2", NULL, "hwthread", NULL},
        {"slot:PE=2", NULL, "none", NULL},
        {"socket", NULL, "core", NULL},
        {"core", NULL, "socket", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        placement = (struct placement){0};
        ck_assert_int_eq(map_by(cases[i].map), ORTE_SUCCESS);
        ck_assert_int_eq(cases[i].rank ? rank_by(cases[i].rank) : ORTE_SUCCESS, ORTE_SUCCESS);
        ck_assert_int_eq(cases[i].bind ? bind_to(cases[i].bind) : ORTE_SUCCESS, ORTE_SUCCESS);
        reason[0] = '\0';
        int status = placement_settle(&placement, reason, sizeof(reason));
        ck_assert_msg((status == ORTE_SUCCESS) == !cases[i].why, "%s: %s", cases[i].map, reason);
        ck_assert_msg(!cases[i].why || strstr(reason, cases[i].why), "%s: %s", cases[i].map,
                      reason);
    }
}
END_TEST

START_TEST(test_processors_of_their_own_bind)
{
    ck_assert_int_eq(map_by("PE=2"), ORTE_SUCCESS);
    ck_assert_int_eq(placement_settle(&placement, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert(placement.bind && placement.bind_level == TOPO_CORE && !placement.bind_given);
    ck_assert_int_eq(map_by("HWTCPUS"), ORTE_SUCCESS);
    ck_assert_int_eq(placement_settle(&placement, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert(placement.bind && placement.bind_level == TOPO_HWTHREAD);
    ck_assert_int_eq(bind_to("none"), ORTE_SUCCESS);
    ck_assert_int_eq(placement_settle(&placement, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert(!placement.bind);
}
END_TEST

static int parse_ranks(const char *text)
{
    size_t size = strlen(text);
    char *copy = malloc(size + 1); /* exact: a sanitizer sees a read behind it */
    memcpy(copy, text, size);
    int status = rankfile_parse(&placement, "f", copy, size, reason, sizeof(reason));
    free(copy);
    return status;
}

START_TEST(test_rankfiles)
{
    ck_assert_msg(parse_ranks("# mine\nrank 1=beta slot=1:0-2,4\n\n  rank 0=alpha slot=0:* # all\n"
                              "rank 3 = +n1\r\nrank 2= fe80::1 slots =3,5-7") == ORTE_SUCCESS,
                  "%s", reason);
    static const struct rank_place expected[] = {{(char *) "alpha", 4, (char *) "0:*"},
                                                 {(char *) "beta", 2, (char *) "1:0-2,4"},
                                                 {(char *) "fe80::1", 6, (char *) "3,5-7"},
                                                 {(char *) "+n1", 5, NULL}};
    ck_assert_uint_eq(placement.rank_count, 4);
    ck_assert_str_eq(placement.file, "f");
    for (size_t i = 0; i < 4; i++) {
        ck_assert_str_eq(placement.ranks[i].host, expected[i].host);
        ck_assert_uint_eq(placement.ranks[i].line, expected[i].line);
        ck_assert_pstr_eq(placement.ranks[i].cpus, expected[i].cpus);
    }
    placement.map_by = MAP_BY_RANKFILE;
    ck_assert_int_eq(bind_to("core"), ORTE_SUCCESS);
    ck_assert_int_ne(placement_settle(&placement, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_str_eq(reason, "--bind-to core: the rankfile says what ranks are bound to");
    ck_assert_int_eq(bind_to("none"), ORTE_SUCCESS);
    ck_assert_int_eq(placement_settle(&placement, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_ptr_null(placement.ranks[0].cpus);
    placement_fini(&placement);
}
END_TEST

START_TEST(test_mistakes_in_rankfiles)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "f: no rank is in it"},
        {"# none\n", "f: no rank is in it"},
        {"rank 0=a\nrank 2=b\n", "f: rank 1 is missing; the last is rank 2"},
        {"rank 0=a\nrank 0=b\n", "f:2: rank 0 is in line 1 already"},
        {"\nrnk 0=a", "f:2: 'rnk': a line is 'rank N=HOST slot=CPUS'"},
        {"rank", "f:1: '': a line is"},
        {"rank 0", "f:1: '0': a line is"},
        {"rank =a", "f:1: 'rank =a': a line is"},
        {"rank 0 a=b", "f:1: '0': a line is"},
        {"rank 0 = slot=1", "f:1: '0 = slot=1': a host's name"},
        {"rank 1048576=a", "f:1: '1048576=a': a line is"},
        {"rank -1=a", "f:1: '-1=a'"},
        {"rank 0=", "f:1: '0=': a host's name"},
        {"rank 0=-x", "f:1: '0=-x': a host's name"},
        {"rank 0=+e", "f:1: '0=+e': a host's name"},
        {"rank 0=a core=1", "f:1: 'core=1': slot=CPUS is needed"},
        {"rank 0=a slot=1-0", "f:1: 'slot=1-0': slot=PACKAGE:CORES"},
        {"rank 0=a slot=0:", "f:1: 'slot=0:'"},
        {"rank 0=a slot=:1", "f:1: 'slot=:1'"},
        {"rank 0=a slot=", "f:1: 'slot='"},
        {"rank 0=a slot=p0:1", "f:1: 'slot=p0:1'"},
        {"rank 0=a slot=0:1:2", "f:1: 'slot=0:1:2'"},
        {"rank 0=a slot=1,", "f:1: 'slot=1,'"},
        {"rank 0=a slot=1 2", "f:1: '2': nothing can follow"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ck_assert_msg(parse_ranks(cases[i].text) == ORTE_ERR_BAD_PARAM, "%s", cases[i].text);
        ck_assert_msg(strncmp(reason, cases[i].why, strlen(cases[i].why)) == 0, "%s: %s",
                      cases[i].text, reason);
        ck_assert_ptr_null(placement.ranks);
    }
}
END_TEST

START_TEST(test_sequences)
{
    FILE *file = fopen("sequence-of-test-placement", "we");
    fputs("b\na slots=2\nb # again\nn[1-2]\n", file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_msg(map_by("seq:FILE=sequence-of-test-placement") == ORTE_SUCCESS, "%s", reason);
    static const char *const names[] = {"b", "a", "b", "n1", "n2", NULL};
    for (size_t i = 0; i < 6; i++) {
        ck_assert_pstr_eq(placement.sequence[i], names[i]);
    }
    placement_fini(&placement);
    unlink("sequence-of-test-placement");
}
END_TEST

START_TEST(test_sets_of_processors)
{
    ck_assert_int_eq(placement_cpu_set(&placement, "0-3,8", reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_str_eq(placement.cpu_set, "0-3,8");
    ck_assert_int_ne(placement_cpu_set(&placement, "3-0", reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_str_eq(reason, "'3-0': numbers of processors are needed, as in 0-3,8");
    ck_assert_str_eq(placement.cpu_set, "0-3,8");
    placement_fini(&placement);
}
END_TEST

UNIT_MAIN("placement")
