#include <config.h>

#include <base/host/session.h>
#include <errno.h>
#include <fcntl.h>
#include <launcher/shepherd/program.h>
#include <launcher/shepherd/shepherd.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static char top[64];

static const char *in_top(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
    return path;
}

static void make_file(const char *name, mode_t mode)
{
    int fd = open(in_top(name), O_CREAT | O_WRONLY, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

/* top/one/{prog,plain}, top/two/{prog,plain (executable),folder/}, and we are in top. */
static void make_tree(void)
{
    snprintf(top, sizeof(top), "/tmp/keel-test-program-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    mkdir(in_top("one"), 0700);
    mkdir(in_top("two"), 0700);
    mkdir(in_top("two/folder"), 0700);
    make_file("one/prog", 0700);
    make_file("one/plain", 0600);
    make_file("one/data", 0600);
    make_file("two/prog", 0700);
    make_file("two/plain", 0700);
    ck_assert_int_eq(chdir(top), 0);
}

static void assert_found(const char *name, const char *wdir, const char *path_env,
                         const char *expected)
{
    char entry[512], found[PATH_MAX];
    char *env[] = {(char *) "OTHER=1", entry, NULL};
    snprintf(entry, sizeof(entry), "PATH=%s", path_env);
    ck_assert_int_eq(program_find(name, wdir, NULL, env, found, sizeof(found)), 0);
    ck_assert_str_eq(found, expected);
}

static void assert_missing(const char *name, const char *wdir, const char *path_env, int error)
{
    char entry[512], found[PATH_MAX] = "untouched";
    char *env[] = {entry, NULL};
    snprintf(entry, sizeof(entry), "PATH=%s", path_env);
    ck_assert_int_eq(program_find(name, wdir, NULL, env, found, sizeof(found)), -error);
    ck_assert_str_eq(found, "untouched");
}

START_TEST(test_the_path_is_searched_in_order)
{
    char both[256];
    make_tree();
    snprintf(both, sizeof(both), "/nonexistent:%s:%s", in_top("one"), in_top("two"));
    assert_found("prog", NULL, both, in_top("one/prog"));
    assert_found("plain", NULL, both, in_top("two/plain")); /* the first is not executable */
    assert_missing("data", NULL, both, EACCES);
    assert_missing("nowhere", NULL, both, ENOENT);
    assert_missing("folder", NULL, both, ENOENT); /* not a program, so not found */
    assert_missing("", NULL, both, ENOENT);
    folder_remove(top);
}
END_TEST

START_TEST(test_folders_that_may_not_be_searched_do_not_count)
{
    enum { NOBODY = 65534 };
    make_tree();
    ck_assert_int_eq(chmod(in_top("one"), 0), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(seteuid(NOBODY), 0); /* top is for its owner alone */
    }
    assert_missing("prog", NULL, in_top("one"), ENOENT);
    assert_missing(in_top("one/prog"), NULL, "/bin", EACCES);
    ck_assert_int_eq(seteuid(getuid()), 0);
    ck_assert_int_eq(chmod(in_top("one"), 0700), 0);
    folder_remove(top);
}
END_TEST

START_TEST(test_names_with_a_slash_are_paths)
{
    make_tree();
    assert_found("one/prog", NULL, "/bin", "one/prog");
    assert_found("./one/prog", NULL, "/bin", "./one/prog");
    assert_found(in_top("two/prog"), "/usr", "/bin", in_top("two/prog"));
    assert_missing("./prog", NULL, in_top("one"), ENOENT);
    assert_missing("one/data", NULL, "/bin", EACCES);
    assert_missing("two/folder", NULL, "/bin", EISDIR);
    assert_missing("one/prog/x", NULL, "/bin", ENOTDIR);
    folder_remove(top);
}
END_TEST

/* The process changes to wdir before it executes, so what is found there is absolute. */
START_TEST(test_relative_names_start_from_the_working_folder)
{
    char expected[256];
    make_tree();
    assert_found("./prog", in_top("one"), "/bin", in_top("one/./prog"));
    snprintf(expected, sizeof(expected), "%s/two/folder/../prog", top);
    assert_found("../prog", "two/folder", "/bin", expected);
    assert_found("prog", in_top("two"), "/nonexistent:", in_top("two/./prog"));
    assert_found("prog", top, "one", in_top("one/prog"));
    assert_missing("one/prog", in_top("one"), "/bin", ENOENT);
    folder_remove(top);
}
END_TEST

START_TEST(test_the_working_folder_is_the_last)
{
    make_tree();
    assert_found("prog", in_top("one"), "/nonexistent", in_top("one/./prog"));
    assert_found("prog", NULL, "two", "two/prog");
    assert_missing("prog", NULL, "/nonexistent", ENOENT);
    assert_missing("plain", in_top("one"), "/nonexistent", EACCES);
    assert_found("prog", in_top("one"), in_top("two"), in_top("two/prog"));
    assert_found("plain", in_top("two"), in_top("one"), in_top("two/./plain"));
    assert_missing("folder", in_top("two"), "/nonexistent", ENOENT);
    folder_remove(top);
}
END_TEST

/* What Keel itself starts (ssh, srun) is never taken from there. */
START_TEST(test_agents_are_in_the_path_only)
{
    char found[PATH_MAX];
    make_tree();
    ck_assert_int_eq(chdir(in_top("one")), 0);
    setenv("PATH", in_top("two"), 1);
    ck_assert_int_eq(program_resolve("prog", found, sizeof(found)), 0);
    ck_assert_str_eq(found, in_top("two/prog"));
    setenv("PATH", "/nonexistent", 1);
    ck_assert_int_eq(program_resolve("prog", found, sizeof(found)), -ENOENT);
    folder_remove(top);
}
END_TEST

START_TEST(test_folders_that_are_named_come_first)
{
    char found[PATH_MAX], entry[512], *env[] = {entry, NULL};
    make_tree();
    snprintf(entry, sizeof(entry), "PATH=%s", in_top("two"));
    ck_assert_int_eq(program_find("prog", NULL, "/nonexistent:one", env, found, sizeof(found)), 0);
    ck_assert_str_eq(found, "one/prog");
    ck_assert_int_eq(program_find("plain", NULL, "one", env, found, sizeof(found)), 0);
    ck_assert_str_eq(found, in_top("two/plain"));
    ck_assert_int_eq(program_find("one/prog", NULL, "two", env, found, sizeof(found)), 0);
    ck_assert_str_eq(found, "one/prog");
    ck_assert_int_eq(program_find("prog", NULL, "", env, found, sizeof(found)), 0);
    ck_assert_str_eq(found, in_top("two/prog"));
    folder_remove(top);
}
END_TEST

START_TEST(test_without_a_path)
{
    char found[PATH_MAX];
    char *none[] = {(char *) "PATHS=/x", NULL};
    ck_assert_int_eq(program_find("sh", NULL, NULL, none, found, sizeof(found)), 0);
    ck_assert_str_eq(found, "/bin/sh");
    setenv("PATH", "/usr/bin", 1);
    ck_assert_int_eq(program_resolve("env", found, sizeof(found)), 0);
    ck_assert_str_eq(found, "/usr/bin/env");
}
END_TEST

START_TEST(test_lengths_are_checked)
{
    char found[PATH_MAX], name[PATH_MAX + 10];
    char *env[] = {(char *) "PATH=/bin", NULL};
    ck_assert_int_eq(program_find("sh", NULL, NULL, env, found, 8), 0);
    ck_assert_int_eq(program_find("sh", NULL, NULL, env, found, 7), -ENAMETOOLONG);
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    ck_assert_int_eq(program_find(name, NULL, NULL, env, found, sizeof(found)), -ENOENT);
    name[0] = '/';
    ck_assert_int_eq(program_find(name, NULL, NULL, env, found, sizeof(found)), -ENAMETOOLONG);
}
END_TEST

UNIT_MAIN("program")
