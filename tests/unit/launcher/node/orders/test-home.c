#include <config.h>

#include <launcher/node/orders/home.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static char node[] = "far", contact[] = "65536.0;tcp://127.0.0.1:1";
static char given[] = "KEEL_MCA_btl=self,tcp", empty[] = "KEEL_MCA_x=", other[] = "OMPI_MCA_btl=x";
static char torn[] = "KEEL_MCA_torn=a\nhnp 1.0;tcp://bad";
static char *settings[] = {given, other, torn, empty, NULL};
static char reason[256];

static struct home example(void)
{
    struct home home = {
        .job = {.uuid = "0123456789abcdef0123456789abcdef", .family = 5u << 16},
        .vpid = 2,
        .count = 3,
        .radix = 64,
        .topology = true,
        .agent = true,
        .node = node,
        .contact = contact,
        .settings = settings,
    };
    for (size_t i = 0; i < sizeof(home.job.control_key); i++) {
        home.job.control_key[i] = (uint8_t) (7 * i);
    }
    return home;
}

/* An exact copy, so that a sanitizer sees a read behind it. */
static int parse(struct home *home, const char *text, size_t size)
{
    char *copy = malloc(size ? size : 1);
    memcpy(copy, text, size);
    reason[0] = 0;
    int status = home_parse(home, copy, size, reason, sizeof(reason));
    free(copy);
    return status;
}

START_TEST(test_a_home_comes_back)
{
    struct home home = example(), read;
    size_t size;
    char *text = home_print(&home, &size, reason, sizeof(reason));
    ck_assert_ptr_nonnull(text);
    ck_assert_msg(parse(&read, text, size) == ORTE_SUCCESS, "%s", reason);
    ck_assert(memcmp(read.job.control_key, home.job.control_key, sizeof(home.job.control_key)) ==
              0);
    ck_assert_str_eq(read.job.uuid, home.job.uuid);
    ck_assert_uint_eq(read.job.family, home.job.family);
    ck_assert_uint_eq(read.vpid, 2);
    ck_assert_uint_eq(read.count, 3);
    ck_assert_uint_eq(read.radix, 64);
    ck_assert(read.topology);
    ck_assert(read.agent);
    ck_assert_str_eq(read.node, node);
    ck_assert_str_eq(read.contact, contact);
    /* Keel's own alone, and none that would be several lines */
    ck_assert_str_eq(read.settings[0], given);
    ck_assert_str_eq(read.settings[1], empty);
    ck_assert_ptr_null(read.settings[2]);
    home_fini(&read);
    free(text);
}
END_TEST

START_TEST(test_a_short_home_is_refused)
{
    struct home home = example(), read = {.vpid = 4711}, before = read;
    size_t size;
    char *text = home_print(&home, &size, reason, sizeof(reason));
    for (size_t part = 0; part < size - 1; part++) { /* the last newline may be missing */
        ck_assert_int_ne(parse(&read, text, part), ORTE_SUCCESS);
        ck_assert(memcmp(&read, &before, sizeof(read)) == 0);
        ck_assert(reason[0] != 0);
    }
    free(text);
}
END_TEST

/* The example's text with one line in place of the one that begins with name ("": taken out). */
static int parse_with(const char *name, const char *line)
{
    struct home home = example(), read;
    size_t size;
    char *text = home_print(&home, &size, reason, sizeof(reason)), changed[4096];
    ck_assert_ptr_nonnull(text);
    char *whole = strndup(text, size), *at = strstr(whole, name);
    ck_assert_ptr_nonnull(at);
    char *rest = strchr(at, '\n') + 1;
    *at = 0;
    snprintf(changed, sizeof(changed), "%s%s%s%s", whole, line, *line ? "\n" : "", rest);
    int status = parse(&read, changed, strlen(changed));
    if (status == ORTE_SUCCESS) {
        home_fini(&read);
    }
    free(whole);
    free(text);
    return status;
}

START_TEST(test_what_makes_no_sense_is_refused)
{
    static const char *const lines[][2] = {
        {"keel ", "keel"},
        {"key ", "key 00"},
        {"key ", "key zz"},
        {"job ", "job abc"},
        {"job ", "job "},
        {"family ", "family 65535"},
        {"family ", "family 4294901760"},
        {"vpid ", "vpid 0"},
        {"vpid ", "vpid 3"},
        {"vpid ", "vpid -1"},
        {"vpid ", "vpid 1x"},
        {"count ", "count 1"},
        {"count ", "count 65538"},
        {"radix ", "radix 0"},
        {"topology ", "topology 2"},
        {"topology ", "topology 1\ntopology 1"},
        {"agent ", "agent 0"},
        {"node ", "node "},
        {"node ", "node a\nnode b"},
        {"vpid ", "vpid 1\nvpid 1"},
        {"hnp ", "hnp "},
        {"set ", "set PATH=/tmp"},
        {"set ", "set KEEL_MCA_x"},
        {"set ", "set"},
        {"set ", "more than this"},
        {"family ", ""},
        {"count ", ""},
        {"radix ", ""},
        {"node ", ""},
        {"hnp ", ""},
        {"job ", ""},
    };
    ck_assert_int_eq(parse_with("vpid ", "vpid 1"), ORTE_SUCCESS);
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        ck_assert_msg(parse_with(lines[i][0], lines[i][1]) == ORTE_ERR_BAD_PARAM, "%s",
                      lines[i][1][0] ? lines[i][1] : lines[i][0]);
        ck_assert_ptr_nonnull(strstr(reason, "line "));
    }
}
END_TEST

START_TEST(test_a_home_without_a_key_or_a_vpid_is_refused)
{
    ck_assert_int_eq(parse_with("key ", ""), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(parse_with("vpid ", ""), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(parse_with("keel ", ""), ORTE_ERR_BAD_PARAM);
}
END_TEST

START_TEST(test_another_version_is_named)
{
    static const struct {
        const char *line, *word;
    } others[] = {
        {"2 9.8.7+git~1", "of Keel " PACKAGE_VERSION ", and keelrun of 9.8.7+git~1:"},
        {"3 " PACKAGE_VERSION, "of " PACKAGE_VERSION ":"},
        {"1", "of another version:"},
        {"2 \033[31m", "of another version:"},
        {"2 01234567890123456789012345678901234567890123456789012345678901234567", "keelrun of "},
    };
    char line[128];
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        snprintf(line, sizeof(line), "keel %s", others[i].line);
        ck_assert_int_eq(parse_with("keel ", line), ORTE_ERR_NOT_SUPPORTED);
        ck_assert_msg(strstr(reason, others[i].word), "%s", reason);
        ck_assert_ptr_null(strchr(reason, '\033'));
    }
}
END_TEST

START_TEST(test_what_comes_behind_the_dot_is_refused)
{
    struct home home = example(), read;
    size_t size;
    char *text = home_print(&home, &size, reason, sizeof(reason));
    char *longer = malloc(size + 8);
    memcpy(longer, text, size);
    memcpy(longer + size, "vpid 1\n", 8);
    ck_assert_int_eq(parse(&read, longer, size + 7), ORTE_ERR_BAD_PARAM);
    free(longer);
    free(text);
}
END_TEST

START_TEST(test_too_much_does_not_fit)
{
    enum { COUNT = 100, LENGTH = 1000 };
    static char line[LENGTH + 1];
    char *many[COUNT + 1];
    struct home home = example();
    size_t size;
    memset(line, 'x', LENGTH);
    memcpy(line, "KEEL_MCA_y=", 11);
    for (int i = 0; i < COUNT; i++) {
        many[i] = line;
    }
    many[COUNT] = NULL;
    home.settings = many;
    ck_assert_ptr_null(home_print(&home, &size, reason, sizeof(reason)));
    ck_assert_ptr_nonnull(
        strstr(reason, "more than 48 KiB, 100000 bytes of it the settings of --mca"));
    many[40] = NULL;
    char *text = home_print(&home, &size, reason, sizeof(reason));
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_le(size, HOME_SIZE_MAX);
    free(text);
}
END_TEST

START_TEST(test_noise_is_survived)
{
    struct home home = example(), read;
    size_t size;
    char *text = home_print(&home, &size, reason, sizeof(reason)), *bytes = malloc(size);
    srandom(5);
    for (int round = 0; round < 20000; round++) {
        memcpy(bytes, text, size);
        for (long changes = random() % 4; changes >= 0; changes--) {
            bytes[(size_t) random() % size] = (char) (random() % 4 ? random() : '\n');
        }
        if (parse(&read, bytes, size) == ORTE_SUCCESS) {
            ck_assert_uint_lt(read.vpid, read.count);
            home_fini(&read);
        }
    }
    free(bytes);
    free(text);
}
END_TEST

/* Of the example for several daemons; nodes is the line's value. */
static int choose(struct home *home, const char *nodes, uint32_t count, const char *const *names)
{
    struct home all = example();
    size_t size;
    all.nodes = (char *) (uintptr_t) nodes;
    all.count = count;
    char *text = home_print(&all, &size, reason, sizeof(reason));
    ck_assert_ptr_nonnull(text);
    ck_assert_msg(parse(home, text, size) == ORTE_SUCCESS, "%s", reason);
    ck_assert_ptr_null(home->node);
    ck_assert_str_eq(home->nodes, nodes);
    free(text);
    return home_choose(home, names, reason, sizeof(reason));
}

START_TEST(test_a_daemon_finds_itself_among_the_nodes)
{
    struct home home;
    const char *const slurm[] = {"n7", "n1", NULL}, *const host[] = {"x", "m02.cluster", NULL};
    ck_assert_int_eq(choose(&home, "n[1-3,7],m02", 6, slurm), ORTE_SUCCESS);
    ck_assert_uint_eq(home.vpid, 4);
    ck_assert_str_eq(home.node, "n7");
    home_fini(&home);
    ck_assert_int_eq(choose(&home, "n[1-3,7],m02", 6, host), ORTE_SUCCESS);
    ck_assert_uint_eq(home.vpid, 5);
    ck_assert_str_eq(home.node, "m02");
    home_fini(&home);
}
END_TEST

START_TEST(test_a_daemon_that_is_not_among_the_nodes_says_so)
{
    struct home home;
    const char *const names[] = {"n9", "x", NULL};
    ck_assert_int_eq(choose(&home, "n[1-3]", 4, names), ORTE_ERR_NOT_FOUND);
    ck_assert_str_eq(reason, "n9 is none of the nodes n[1-3]");
    home_fini(&home);
    ck_assert_int_eq(choose(&home, "n[1-3", 4, names), ORTE_ERR_BAD_PARAM);
    ck_assert_ptr_nonnull(strstr(reason, "nodes: character 3: "));
    home_fini(&home);
    ck_assert_int_eq(choose(&home, "n[1-3]", 3, names), ORTE_ERR_BAD_PARAM);
    ck_assert_ptr_nonnull(strstr(reason, "3 nodes for 3 daemons"));
    home_fini(&home);
}
END_TEST

START_TEST(test_a_topology_need_not_be_asked_for)
{
    ck_assert_int_eq(parse_with("topology ", ""), ORTE_SUCCESS);
}
END_TEST

START_TEST(test_one_node_and_many_exclude_each_other)
{
    ck_assert_int_eq(parse_with("vpid ", "nodes n1"), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(parse_with("node ", "nodes n1"), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(parse_with("radix ", "radix 1\nnodes n1"), ORTE_ERR_BAD_PARAM);
}
END_TEST

UNIT_MAIN("home")
