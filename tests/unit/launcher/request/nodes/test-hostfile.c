#include <config.h>

#include <fcntl.h>
#include <launcher/request/nodes/hostfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static struct node_list list;
static char reason[512];

/* An exact copy, so that a sanitizer sees a read behind it. */
static int parse(const char *text)
{
    size_t size = strlen(text);
    char *copy = malloc(size + 1);
    memcpy(copy, text, size);
    reason[0] = '\0';
    int status = hostfile_parse(&list, "f", copy, size, reason, sizeof(reason));
    free(copy);
    return status;
}

/* nodes: "NAME:SLOTS:MAX NAME:..." */
static void assert_nodes(const char *text, const char *nodes)
{
    char joined[1024] = "";
    for (size_t i = 0; i < list.count; i++) {
        size_t used = strlen(joined);
        snprintf(joined + used, sizeof(joined) - used, "%s%s:%u:%u", i ? " " : "",
                 list.nodes[i].name, list.nodes[i].slots, list.nodes[i].slots_max);
    }
    ck_assert_msg(strcmp(joined, nodes) == 0, "%s: %s", text, joined);
    node_list_fini(&list);
}

static void assert_parses(const char *text, const char *nodes)
{
    ck_assert_msg(parse(text) == ORTE_SUCCESS, "%s: %s", text, reason);
    assert_nodes(text, nodes);
}

START_TEST(test_lines_are_read)
{
    assert_parses("a", "a:0:0");
    assert_parses("a\nb slots=4\nc slots=2 max_slots=3\n", "a:0:0 b:4:0 c:2:3");
    assert_parses("a max-slots=5\n", "a:5:5");
    assert_parses("a:4 slots=4\nb:1 slots=1 max_slots=2\n", "a:4:0 b:1:2");
    assert_parses("a slots = 2 max_slots =3\nb slots= 4", "a:2:3 b:4:0");
    assert_parses("\ta\tslots=1048576\r\n b:3#four\n", "a:1048576:0 b:3:0");
    assert_parses("n[01-03,7] slots=2\n", "n01:2:0 n02:2:0 n03:2:0 n7:2:0");
    assert_parses("n[1-2]:3,m,k:1 max_slots=4", "n1:3:4 n2:3:4 m:4:4 k:1:4");
    assert_parses("fe80::1 slots=2\n[fe80::2]:3\n10.0.0.7:2\n",
                  "fe80::1:2:0 [fe80::2]:3:0 10.0.0.7:2:0");
}
END_TEST

START_TEST(test_a_host_that_comes_again_brings_its_slots)
{
    assert_parses("a\nb\na\na\n", "a:3:0 b:0:0");
    assert_parses("a slots=2 max_slots=2\na slots=3 max_slots=4\n", "a:5:6");
    assert_parses("a slots=2 max_slots=2\na\n", "a:3:0");
}
END_TEST

START_TEST(test_many_hosts_have_their_limit)
{
    ck_assert_int_eq(parse("n[1-65536]\n"), ORTE_SUCCESS);
    ck_assert_uint_eq(list.count, 65536);
    ck_assert_int_eq(parse("more\n"), ORTE_ERR_BAD_PARAM);
    ck_assert_str_eq(reason, "f:1: more than 65536 hosts");
    ck_assert_int_eq(parse("n7\n"), ORTE_SUCCESS);
    node_list_fini(&list);
}
END_TEST

START_TEST(test_mistakes_are_named_with_their_line)
{
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"a\nb slots=x\n", "f:2: 'slots=x': a whole number from 1 to 1048576 is needed"},
        {"a slots=0", "f:1: 'slots=0': a whole number"},
        {"a slots=", "f:1: 'slots=': a whole number"},
        {"a slots=1048577", "f:1: 'slots=1048577'"},
        {"a slots=18446744073709551617", "f:1: 'slots=18446744073709551617'"},
        {"a slots=-1", "f:1: 'slots=-1'"},
        {"a slot=2", "f:1: 'slot=2': slots= or max_slots= is needed; the nearest is slots="},
        {"a b", "f:1: 'b': slots= or max_slots= is needed"},
        {"a slots=2 slots=2", "f:1: 'slots=2': it is there already"},
        {"a slots=3 max_slots=2", "f:1: slots=3 is more than max_slots=2"},
        {"", "f: no host is in it"},
        {"\n \t\r\n# all\n#\n", "f: no host is in it"},
        {"+n0", "f:1: '+n0': NAME or NAME:SLOTS is needed"},
        {"bad!!", "f:1: 'bad!!': NAME or"},
        {"\xef\xbb\xbf"
         "a",
         "f:1: "},
        {"a\nb:4 slots=8", "f:2: 'b:4': another number of slots is given beside it"},
        {"n[1-2]:3,m:2 slots=2", "f:1: 'n[1-2]:3': another number of slots is given beside it"},
        {"a:4 max_slots=2", "f:1: 'a:4': the number is more than max_slots"},
        {"slots=2", "f:1: 'slots=2': NAME or NAME:SLOTS is needed"},
        {"a,,b", "f:1: '': NAME or NAME:SLOTS is needed"},
        {"-o slots=2", "f:1: '-o': NAME or NAME:SLOTS is needed"},
        {"\n\na:0", "f:3: 'a:0': NAME or NAME:SLOTS is needed"},
        {"a:2x", "f:1: 'a:2x'"},
        {"a:", "f:1: 'a:'"},
        {"[fe80::1", "f:1: '[fe80::1'"},
        {"[fe80::1]2", "f:1: '[fe80::1]2'"},
        {"n[1-", "f:1: 'n[1-': character "},
        {"n[3-1]", "f:1: 'n[3-1]': character 6: the range ends before it begins"},
        {"n[1-99999]", "f:1: "},
        {"@a", "f:1: '@a': USER@NAME is needed"},
        {"u@", "f:1: 'u@': NAME or NAME:SLOTS is needed"},
        {"-u@a", "f:1: '-u@a': USER@NAME is needed"},
        {"u;v@a", "f:1: 'u;v@a': USER@NAME is needed"},
        {"u@v@a", "f:1: 'u@v@a': NAME or NAME:SLOTS is needed"},
        {"u@a\nv@a", "f:2: 'v@a': for this host another user, u, is named already"},
        {"a:1048576\na:1", "f:2: 'a': too many slots"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        ck_assert_msg(parse(wrong[i].text) == ORTE_ERR_BAD_PARAM, "%s", wrong[i].text);
        ck_assert_msg(strncmp(reason, wrong[i].why, strlen(wrong[i].why)) == 0, "%s: %s",
                      wrong[i].text, reason);
        node_list_fini(&list);
    }
}
END_TEST

static void assert_unreadable(const char *path, int status, const char *why)
{
    ck_assert_int_eq(hostfile_read(&list, path, false, reason, sizeof(reason)), status);
    ck_assert_msg(strstr(reason, path) == reason && strstr(reason, why), "%s", reason);
    ck_assert_uint_eq(list.count, 0);
}

START_TEST(test_files)
{
    char path[] = "/tmp/keel-hostfile-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_eq(write(fd, "a slots=2\nb", 11), 11);
    ck_assert_int_eq(hostfile_read(&list, path, false, reason, sizeof(reason)), ORTE_SUCCESS);
    assert_nodes(path, "a:2:0 b:0:0");
    ck_assert_int_eq(pwrite(fd, "\n", 2, 3), 2);
    assert_unreadable(path, ORTE_ERR_FILE_READ_FAILURE, ":2: a byte 0 is there: not a text");
    ck_assert_int_eq(ftruncate(fd, HOSTFILE_SIZE_MAX + 1), 0);
    assert_unreadable(path, ORTE_ERR_FILE_READ_FAILURE, "larger than 4 MiB");
    close(fd);
    unlink(path);
    assert_unreadable(path, ORTE_ERR_FILE_OPEN_FAILURE, "No such file or directory");
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    assert_unreadable(path, ORTE_ERR_FILE_READ_FAILURE,
                      "not a regular file"); /* and nobody waits */
    unlink(path);
    assert_unreadable("/tmp", ORTE_ERR_FILE_READ_FAILURE, "not a regular file");
}
END_TEST

UNIT_MAIN("hostfile")
