#include <config.h>

#include <base/host/cgroup.h>
#include <base/host/paths.h>
#include <base/host/topo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static const char v1_groups[] = "12:cpuset:/\n"
                                "11:blkio:/a:b\n"
                                "4:cpu,cpuacct:/docker/12ab\n"
                                "1:name=systemd:/init.scope\n"
                                "0::/init.scope\n";

START_TEST(group_paths)
{
    char path[64];
    ck_assert(cgroup_parse_path(v1_groups, CGROUP_V1, "cpu", path, sizeof(path)));
    ck_assert_str_eq(path, "/docker/12ab");
    ck_assert(cgroup_parse_path(v1_groups, CGROUP_V2, "cpu", path, sizeof(path)));
    ck_assert_str_eq(path, "/init.scope");
    ck_assert(cgroup_parse_path("0::/", CGROUP_V2, "cpu", path, sizeof(path)));
    ck_assert_str_eq(path, "/");
    ck_assert(cgroup_parse_path("3:cpuacct,cpu:/x:y\n", CGROUP_V1, "cpu", path, sizeof(path)));
    ck_assert_str_eq(path, "/x:y");
    ck_assert(cgroup_parse_path("3:cpu:/x\n8:pids:/y\n", CGROUP_V1, "pids", path, sizeof(path)));
    ck_assert_str_eq(path, "/y");
}
END_TEST

START_TEST(bad_group_paths)
{
    static const char *const bad[] = {
        "",        "\n\n",       "0:",       "0::",    "0::x",          "10::/a",   "0:cpu:/a",
        "garbage", "1:cpuset:/", "2:xcpu:/", "2:,,:/", "2:cpux,acpu:/", "2 cpu /a", ":::::"};
    char path[64];
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        ck_assert(!cgroup_parse_path(bad[i], CGROUP_V2, "cpu", path, sizeof(path)));
    }
    ck_assert(
        !cgroup_parse_path("1:cpuset:/\n2:xcpu:/\n0::/\n", CGROUP_V1, "cpu", path, sizeof(path)));
    ck_assert(!cgroup_parse_path("0::/longer", CGROUP_V2, "cpu", path, 7));
    ck_assert(cgroup_parse_path("0::/longer", CGROUP_V2, "cpu", path, 8));
}
END_TEST

static const char mounts[] =
    "24 30 0:22 / /proc rw,nosuid shared:5 - proc proc rw\n"
    "31 24 0:27 / /sys/fs/cgroup ro shared:9 - tmpfs tmpfs ro,mode=755\n"
    "32 31 0:28 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw\n"
    "33 31 0:29 /docker/12ab /sys/fs/cgroup/cpu,cpuacct ro master:11 - cgroup cgroup "
    "rw,cpu,cpuacct\n"
    "34 31 0:30 / /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n";

START_TEST(mounts_of_a_hierarchy)
{
    char root[64], point[64];
    ck_assert(cgroup_parse_mount(mounts, CGROUP_V2, "cpu", root, point, sizeof(root)));
    ck_assert_str_eq(root, "/");
    ck_assert_str_eq(point, "/sys/fs/cgroup/unified");
    ck_assert(cgroup_parse_mount(mounts, CGROUP_V1, "cpu", root, point, sizeof(root)));
    ck_assert_str_eq(root, "/docker/12ab");
    ck_assert_str_eq(point, "/sys/fs/cgroup/cpu,cpuacct");
    ck_assert(cgroup_parse_mount("1 2 0:1 / /my\\040cg\\ rw - cgroup2 x rw", CGROUP_V2, "cpu", root,
                                 point, sizeof(root)));
    ck_assert_str_eq(point, "/my cg\\");
}
END_TEST

START_TEST(bad_mounts)
{
    static const char *const bad[] = {
        "",
        "\n",
        " - cgroup2 x rw\n",
        "1 2 3 4 - cgroup2",
        "1 2 0:1 / /x rw - cgroup2x x rw",
        "1 2 0:1 / /x rw - \n1 2 0:1 / cgroup2",
        "1 2 0:1 / /x rw cgroup2 x rw\n1 - cgroup2 x rw",
        "1 2 0:1 / /much-too-long-for-the-caller rw - cgroup2 x rw",
    };
    char root[16], point[16];
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        ck_assert_msg(!cgroup_parse_mount(bad[i], CGROUP_V2, "cpu", root, point, sizeof(root)),
                      "accepted: %s", bad[i]);
    }
    ck_assert(!cgroup_parse_mount("1 2 0:1 / /x rw - cgroup x rw,cpuset", CGROUP_V1, "cpu", root,
                                  point, sizeof(root)));
    ck_assert(!cgroup_parse_mount("1 2 0:1 / /x rw - cgroup", CGROUP_V1, "cpu", root, point,
                                  sizeof(root)));
}
END_TEST

static const char *folder_of(const char *path, const char *root, const char *point)
{
    static char folder[64];
    return cgroup_folder(path, root, point, folder, sizeof(folder)) ? folder : NULL;
}

START_TEST(folders_of_groups)
{
    ck_assert_str_eq(folder_of("/a/b", "/", "/cg"), "/cg/a/b");
    ck_assert_str_eq(folder_of("/", "/", "/cg"), "/cg");
    ck_assert_str_eq(folder_of("/docker/1", "/docker/1", "/cg"), "/cg");
    ck_assert_str_eq(folder_of("/docker/1/x", "/docker/1", "/cg"), "/cg/x");
    ck_assert_str_eq(folder_of("/docker/12", "/docker/1", "/cg"), "/cg");
    ck_assert_str_eq(folder_of("/other", "/docker/1", "/cg"), "/cg");
    char small[6];
    ck_assert(!cgroup_folder("/a/b", "/", "/cg", small, sizeof(small)));
}
END_TEST

START_TEST(quotas_round_up)
{
    ck_assert_uint_eq(cgroup_parse_oom_kills("low 0\noom 2\noom_kill 13\noom_group_kill 0\n"), 13);
    ck_assert_uint_eq(cgroup_parse_oom_kills("oom_kill_disable 7\nunder_oom 0\noom_kill 1"), 1);
    ck_assert_uint_eq(cgroup_parse_oom_kills("oom_kill_disable 7\n"), 0);
    ck_assert_uint_eq(cgroup_parse_cpu_max("max 100000\n"), 0);
    ck_assert_uint_eq(cgroup_parse_cpu_max("100000 100000\n"), 1);
    ck_assert_uint_eq(cgroup_parse_cpu_max("150000 100000\n"), 2);
    ck_assert_uint_eq(cgroup_parse_cpu_max("1000 100000\n"), 1);
    ck_assert_uint_eq(cgroup_parse_cpu_max("400000 100000"), 4);
    static const char *const bad[] = {"",   "max", "-1 100000", "0 100000", "5",
                                      "5 ", "5 0", "5 -1",      "x 100000", "5x 100000"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        ck_assert_uint_eq(cgroup_parse_cpu_max(bad[i]), 0);
    }
    ck_assert_uint_eq(cgroup_parse_cpu_max("9223372036854775807 1"), 0x7fffffff);
}
END_TEST

START_TEST(usable_processors_follow_affinity)
{
    cpu_set_t mine, one;
    ck_assert_int_eq(sched_getaffinity(0, sizeof(mine), &mine), 0);
    unsigned cpus = topo_usable_cpus();
    ck_assert_uint_ge(cpus, 1);
    ck_assert_uint_le(cpus, (unsigned) CPU_COUNT(&mine));
    int cpu = 0;
    while (!CPU_ISSET(cpu, &mine)) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
    ck_assert_uint_eq(topo_usable_cpus(), 1);
}
END_TEST

START_TEST(a_list_makes_a_set)
{
    cpu_set_t sets[2];
    ck_assert(topo_list_set("0,1022-1025,2047", sets, sizeof(sets)));
    ck_assert_int_eq(CPU_COUNT_S(sizeof(sets), sets), 6);
    ck_assert(CPU_ISSET_S(0, sizeof(sets), sets) && CPU_ISSET_S(1025, sizeof(sets), sets) &&
              CPU_ISSET_S(2047, sizeof(sets), sets));
    static const char *const wrong[] = {"", "2048", "0-2048", "1,", "2-1", "1;2", "x"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        ck_assert_msg(!topo_list_set(wrong[i], sets, sizeof(sets)), "%s", wrong[i]);
    }
}
END_TEST

START_TEST(lists_of_processors)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(8, &set);
    ck_assert(topo_list_meets("8\n", &set, sizeof(set)));
    ck_assert(topo_list_meets("0-8\n", &set, sizeof(set)));
    ck_assert(topo_list_meets("8-99999999999999999999", &set, sizeof(set)));
    ck_assert(topo_list_meets("0-3,7-9", &set, sizeof(set)));
    ck_assert(!topo_list_meets("0-7,9,18", &set, sizeof(set)));
    ck_assert(!topo_list_meets("9-7", &set, sizeof(set)));
    ck_assert(!topo_list_meets("\n", &set, sizeof(set)));
    ck_assert(!topo_list_meets("", &set, sizeof(set)));
    ck_assert(!topo_list_meets("x8", &set, sizeof(set)));
    ck_assert(!topo_list_meets("0-", &set, sizeof(set)));
    ck_assert(!topo_list_meets("1000000-2000000", &set, sizeof(set)));
}
END_TEST

START_TEST(nodes_that_are_near)
{
    unsigned known = 0, near = 0;
    for (int node = 0; node < 64; node++) {
        char path[64];
        snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", node);
        if (access(path, R_OK) == 0) {
            known++;
            near += topo_node_is_near(node);
        }
    }
    ck_assert(known == 0 || near > 0);
    ck_assert(topo_node_is_near(-1));
}
END_TEST

/* The threads are numbered in logical order, those in the affinity mask are usable. */
static void check_threads(void)
{
    cpu_set_t mine, all;
    struct topo topo;
    char reason[256] = "";
    ck_assert_int_eq(sched_getaffinity(0, sizeof(mine), &mine), 0);
    int rc = topo_read(&topo, reason, sizeof(reason));
    ck_assert_msg(rc == ORTE_SUCCESS, "%s", reason);
    CPU_ZERO(&all);
    uint32_t cores = 0, last = TOPO_NONE;
    for (uint32_t i = 0; i < topo.count; i++) {
        const struct topo_thread *thread = &topo.threads[i];
        ck_assert_uint_eq(thread->object[TOPO_HWTHREAD], i);
        ck_assert(thread->object[TOPO_CORE] != TOPO_NONE);
        ck_assert(thread->object[TOPO_PACKAGE] != TOPO_NONE);
        ck_assert_uint_lt(thread->os, CPU_SETSIZE);
        if (thread->usable) {
            CPU_SET(thread->os, &all);
            cores += thread->object[TOPO_CORE] != last;
            last = thread->object[TOPO_CORE];
        }
    }
    ck_assert(CPU_EQUAL(&all, &mine));
    ck_assert_uint_eq(topo_usable_cores(), topo.quota && topo.quota < cores ? topo.quota : cores);
    topo_fini(&topo);
}

START_TEST(the_table_has_the_usable_processors)
{
    char *module = paths_module("keel-hwloc.so");
#ifdef BUILT_WITH_HWLOC
    ck_assert_ptr_nonnull(module);
#endif
    if (!module) {
        struct topo topo;
        char reason[256] = "";
        ck_assert_int_eq(topo_read(&topo, reason, sizeof(reason)), ORTE_ERR_NOT_AVAILABLE);
        ck_assert_ptr_nonnull(strstr(reason, "keel-hwloc.so"));
        return;
    }
    free(module);
    unsetenv("HWLOC_PLUGINS_PATH");
    check_threads();
    ck_assert_ptr_null(getenv("HWLOC_PLUGINS_PATH"));

    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
    ck_assert_uint_eq(topo_usable_cores(), 1);
    setenv("HWLOC_PLUGINS_PATH", "/mine", 1);
    check_threads();
    ck_assert_str_eq(getenv("HWLOC_PLUGINS_PATH"), "/mine");
}
END_TEST

static const char two_by_two[] = "topology 1\nquota 0\n"
                                 "0 + 0 0 - - 0 0\n"
                                 "2 + 0 0 - - 0 0\n"
                                 "1 + 1 1 - - 0 1\n"
                                 "3 - 1 1 - - 0 1\n";

START_TEST(a_topology_comes_back_from_text)
{
    struct topo topo;
    char hash[TOPO_HASH_TEXT], other[TOPO_HASH_TEXT];
    ck_assert_int_eq(topo_parse(&topo, two_by_two), ORTE_SUCCESS);
    ck_assert_uint_eq(topo.count, 4);
    ck_assert(topo.threads[0].usable && !topo.threads[3].usable);
    ck_assert_uint_eq(topo.threads[1].os, 2);
    ck_assert_uint_eq(topo.threads[1].object[TOPO_HWTHREAD], 1);
    ck_assert_uint_eq(topo.threads[2].object[TOPO_PACKAGE], 1);
    ck_assert_uint_eq(topo.threads[2].object[TOPO_L3], TOPO_NONE);
    char *text = topo_print(&topo);
    ck_assert_str_eq(text, two_by_two);
    topo_hash(hash, text);
    ck_assert_uint_eq(strlen(hash), TOPO_HASH_TEXT - 1);
    text[strlen(text) - 2] = '0';
    topo_hash(other, text);
    ck_assert_str_ne(hash, other);
    free(text);
    topo_fini(&topo);
}
END_TEST

START_TEST(bad_topologies)
{
    static const char *const bad[] = {
        "",
        "topology 2\nquota 0\n0 + 0 0 0 0 0 0\n",
        "topology 1\nquota 0\n",
        "topology 1\nquota -1\n0 + 0 0 0 0 0 0\n",
        "topology 1\nquota 0\n0 + 0 0 0 0 0\n",
        "topology 1\nquota 0\n0 + 0 0 0 0 0 0 0\n",
        "topology 1\nquota 0\n0 + 0 0 0 0 0 0",
        "topology 1\nquota 0\n0 ? 0 0 0 0 0 0\n",
        "topology 1\nquota 0\n0 + - 0 0 0 0 0\n",
        "topology 1\nquota 0\n0 + 0 0 0 0 0 -\n",
        "topology 1\nquota 0\n99999 + 0 0 0 0 0 0\n",
        "topology 1\nquota 0\n0 + 0 0 0 0 0 99999999999\n",
        "topology 1\nquota 0\n0 + 0 0 0 0 0 0\n0 + 1 0 0 0 0 0\n",
        "topology 1\nquota 0\n\n0 + 0 0 0 0 0 0\n",
        "topology 1\nquota 0\n0 + 1 0 0 0 0 0\n",
        "topology 1\nquota 0\n0 + 0 0 0 0 0 16000\n",
    };
    struct topo topo;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        ck_assert_msg(topo_parse(&topo, bad[i]) == ORTE_ERR_BAD_PARAM, "%zu", i);
    }
    for (size_t size = 0; size < sizeof(two_by_two) - 1;
         size++) { /* cut in a line, or before one */
        char text[sizeof(two_by_two)];
        snprintf(text, sizeof(text), "%.*s", (int) size, two_by_two);
        if (topo_parse(&topo, text) == ORTE_SUCCESS) {
            ck_assert_uint_lt(topo.count, 4);
            topo_fini(&topo);
        }
    }
}
END_TEST

START_TEST(described_topologies)
{
    struct topo topo;
    char reason[256] = "";
    char *module = paths_module("keel-hwloc.so");
    if (!module) {
        return;
    }
    free(module);
    ck_assert_int_eq(topo_describe(&topo, "package:2 l3:1 core:2 pu:2", reason, sizeof(reason)),
                     ORTE_SUCCESS);
    ck_assert_uint_eq(topo.count, 8);
    const struct topo_thread *last = &topo.threads[7];
    ck_assert(last->usable && last->os == 7);
    ck_assert_uint_eq(last->object[TOPO_CORE], 3);
    ck_assert_uint_eq(last->object[TOPO_L3], 1);
    ck_assert_uint_eq(last->object[TOPO_L2], TOPO_NONE);
    ck_assert_uint_eq(last->object[TOPO_PACKAGE], 1);
    topo_fini(&topo);
    ck_assert_int_eq(topo_describe(&topo, "package:2 numa:2 core:2 pu:1", reason, sizeof(reason)),
                     ORTE_SUCCESS);
    ck_assert_uint_eq(topo.count, 8);
    for (uint32_t i = 0; i < topo.count; i++) {
        ck_assert_uint_eq(topo.threads[i].object[TOPO_NUMA], i / 2);
    }
    topo_fini(&topo);
    ck_assert_int_eq(topo_describe(&topo, "nonsense", reason, sizeof(reason)), ORTE_ERR_BAD_PARAM);
    ck_assert_ptr_nonnull(strstr(reason, "package:2 core:4 pu:2"));
    ck_assert_int_eq(topo_describe(&topo, "/none.xml", reason, sizeof(reason)), ORTE_ERR_BAD_PARAM);
}
END_TEST

/* A level that hwloc does not know, behind which it looks for what is not there. */
static const char crashing[] =
    "<?xml version=\"1.0\"?>\n"
    "<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" cpuset=\"0x1\" "
    "complete_cpuset=\"0x1\" allowed_cpuset=\"0x1\" nodeset=\"0x1\" complete_nodeset=\"0x1\" "
    "allowed_nodeset=\"0x1\"><object type=\"NUMANod\" cpuset=\"0x1\" "
    "nodeset=\"0x1\"/></object></topology>\n";

static void assert_refused(const char *content, const char *why)
{
    char path[] = "/tmp/keel-topology-XXXXXX.xml", reason[512] = "";
    int fd = mkstemps(path, 4);
    struct topo topo;
    ck_assert_int_eq(write(fd, content, strlen(content)), (ssize_t) strlen(content));
    close(fd);
    int status = topo_describe(&topo, path, reason, sizeof(reason));
    unlink(path);
    ck_assert_int_eq(status, ORTE_ERR_BAD_PARAM);
    ck_assert_msg(strncmp(reason + 1, path, strlen(path)) == 0 && strstr(reason, why), "%s",
                  reason);
}

START_TEST(a_damaged_file_is_refused)
{
    char *module = paths_module("keel-hwloc.so");
    if (!module) {
        return;
    }
    free(module);
    assert_refused(crashing, "': ");
    assert_refused("", "lstopo x.xml");
    assert_refused("<?xml version=\"1.0\"?>\n<topology/>", "lstopo x.xml");
}
END_TEST

START_TEST(lists_are_read)
{
    bool flags[8] = {false};
    const char *wrong;
    ck_assert(topo_list_parse("0,2-3,7", flags, 8, &wrong));
    ck_assert(flags[0] && !flags[1] && flags[2] && flags[3] && !flags[4] && flags[7]);
    static const char *const bad[] = {"",   "8",   "0-8", "3-2",  "0,",
                                      ",0", "0 1", "-1",  "0--1", "99999999999999999999"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        ck_assert_msg(!topo_list_parse(bad[i], flags, 8, &wrong), "%s", bad[i]);
    }
}
END_TEST

UNIT_MAIN("topo")
