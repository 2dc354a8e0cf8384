#include <config.h>

#include <base/host/paths.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static const char *load(const char *module)
{
    static char reason[512];
    return paths_load(module, "keel_x", reason, sizeof(reason)) ? "loaded" : reason;
}

/* The cases copy this program into trees of their own and ask the copies what they find: with
 * ASK_PROGRAM, ASK_MODULE or ASK_LOAD set, it prints the answer and ends before main. */
__attribute__((constructor)) static void answer(void)
{
    const char *program = getenv("ASK_PROGRAM"), *module = getenv("ASK_MODULE");
    const char *loaded = getenv("ASK_LOAD");
    if (program || module || loaded || getenv("ASK_LIBRARY")) {
        const char *found = program  ? paths_program(program)
                            : module ? paths_module(module)
                            : loaded ? load(loaded)
                                     : paths_library();
        printf("%s\n", found ? found : "nothing");
        fflush(stdout);
        _exit(0);
    }
}

static char root[] = "/tmp/keel-test-paths-XXXXXX";

static char *below(const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    return path;
}

static void make_folders(const char *name)
{
    char *path = below(name);
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
}

static void make_file(const char *name, mode_t mode)
{
    make_folders(name);
    int fd = open(below(name), O_WRONLY | O_CREAT | O_EXCL, mode);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

static void copy_self(const char *name)
{
    char data[65536];
    ssize_t got;
    make_file(name, 0700);
    int from = open("/proc/self/exe", O_RDONLY), to = open(below(name), O_WRONLY);
    ck_assert(from >= 0 && to >= 0);
    while ((got = read(from, data, sizeof(data))) > 0) {
        ck_assert_int_eq(write(to, data, (size_t) got), got);
    }
    close(from);
    close(to);
}

/* What the copy answers, without the root in front. argv0 is chosen by the caller. */
static const char *ask(const char *copy, const char *argv0, const char *variable, const char *name)
{
    static char text[PATH_MAX];
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(fds[1], STDOUT_FILENO);
        setenv(variable, name, 1);
        execl(below(copy), argv0, (char *) NULL);
        _exit(1);
    }
    close(fds[1]);
    ssize_t got = read(fds[0], text, sizeof(text) - 1);
    close(fds[0]);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_gt(got, 1);
    text[got - 1] = '\0';
    return strncmp(text, root, strlen(root)) == 0 ? text + strlen(root) + 1 : text;
}

static void begin(void)
{
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static void end(void)
{
    char command[PATH_MAX];
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(installed_tree)
{
    begin();
    copy_self("bin/keelrun");
    make_file("bin/keeld", 0700);
    make_file("lib/keel/keel-x.so", 0600);
    ck_assert_str_eq(ask("bin/keelrun", "keelrun", "ASK_PROGRAM", "keeld"), "bin/keeld");
    ck_assert_str_eq(ask("bin/keelrun", "/etc/passwd", "ASK_PROGRAM", "keeld"), "bin/keeld");
    ck_assert_str_eq(ask("bin/keelrun", "keelrun", "ASK_MODULE", "keel-x.so"),
                     "lib/keel/keel-x.so");
    ck_assert_str_eq(ask("bin/keelrun", "keelrun", "ASK_LIBRARY", ""), "nothing");
    make_file("lib64/libkeel.so.0", 0600);
    ck_assert_str_eq(ask("bin/keelrun", "keelrun", "ASK_LIBRARY", ""), "lib64");
    make_file("lib/libkeel.so.0", 0600);
    ck_assert_str_eq(ask("bin/keelrun", "keelrun", "ASK_LIBRARY", ""), "lib");
    ck_assert_str_eq(ask("bin/keelrun", "keelrun", "ASK_PROGRAM", "absent"), "nothing");
    ck_assert_str_eq(ask("bin/keelrun", "keelrun", "ASK_PROGRAM", "../bin/keeld"), "nothing");
    ck_assert_str_eq(ask("bin/keelrun", "keelrun", "ASK_PROGRAM", ""), "nothing");
    end();
}
END_TEST

#define LIBTOOL "lib/" KEEL_LIBTOOL_OBJDIR "/"

START_TEST(build_tree)
{
    static const char *const copies[] = {"tests/unit/base/host/test-paths", "bin/keelrun",
                                         LIBTOOL "x"};
    begin();
    make_file(LIBTOOL "keel-x.so", 0600);
    make_file(LIBTOOL "libkeel.so.0", 0600);
    for (int i = 0; i < 3; i++) {
        copy_self(copies[i]);
    }
    for (int i = 0; i < 3; i++) {
        ck_assert_str_eq(ask(copies[i], "x", "ASK_PROGRAM", "keelrun"), "bin/keelrun");
        ck_assert_str_eq(ask(copies[i], "x", "ASK_MODULE", "keel-x.so"), LIBTOOL "keel-x.so");
        ck_assert_str_eq(ask(copies[i], "x", "ASK_LIBRARY", ""), "lib/" KEEL_LIBTOOL_OBJDIR);
        ck_assert_str_eq(ask(copies[i], "x", "ASK_MODULE", "keel-y.so"), "nothing");
    }
    end();
}
END_TEST

START_TEST(parents_of_an_installed_tree_are_not_searched)
{
    begin();
    copy_self("a/b/c/d/bin/keelrun");
    make_file("lib/keel/keel-x.so", 0600);
    make_file(LIBTOOL "keel-x.so", 0600);
    make_file("bin/keeld", 0700);
    ck_assert_str_eq(ask("a/b/c/d/bin/keelrun", "x", "ASK_MODULE", "keel-x.so"), "nothing");
    ck_assert_str_eq(ask("a/b/c/d/bin/keelrun", "x", "ASK_PROGRAM", "keeld"), "nothing");
    char target[PATH_MAX];
    make_file("elsewhere/libkeel.so.0", 0600);
    snprintf(target, sizeof(target), "%s", below("elsewhere/libkeel.so.0"));
    ck_assert_int_eq(symlink(target, below(LIBTOOL "libkeel.so.0")), 0);
    ck_assert_str_eq(ask("a/b/c/d/bin/keelrun", "x", "ASK_MODULE", "keel-x.so"), "nothing");
    unlink(below(LIBTOOL "libkeel.so.0"));
    make_file(LIBTOOL "libkeel.so.0", 0600);
    if (chown(below(LIBTOOL "libkeel.so.0"), 1, 1) == 0) {
        ck_assert_str_eq(ask("a/b/c/d/bin/keelrun", "x", "ASK_MODULE", "keel-x.so"), "nothing");
    }
    end();
}
END_TEST

START_TEST(links_are_resolved)
{
    begin();
    copy_self("opt/keel/bin/keelrun");
    make_file("opt/keel/bin/keeld", 0700);
    make_folders("usr/bin/");
    char target[PATH_MAX];
    snprintf(target, sizeof(target), "%s", below("opt/keel/bin/keelrun"));
    ck_assert_int_eq(symlink(target, below("usr/bin/keelrun")), 0);
    ck_assert_str_eq(ask("usr/bin/keelrun", "keelrun", "ASK_PROGRAM", "keeld"),
                     "opt/keel/bin/keeld");
    end();
}
END_TEST

START_TEST(only_usable_files_count)
{
    begin();
    copy_self("bin/keelrun");
    make_folders("bin/keeld/");
    ck_assert_str_eq(ask("bin/keelrun", "keelrun", "ASK_PROGRAM", "keeld"), "nothing");
    rmdir(below("bin/keeld"));
    make_file("bin/keeld", 0600);
    ck_assert_str_eq(ask("bin/keelrun", "keelrun", "ASK_PROGRAM", "keeld"), "nothing");
    end();
}
END_TEST

START_TEST(why_a_module_is_not_loaded)
{
    begin();
    copy_self("bin/keelrun");
    make_file("lib/keel/keel-x.so", 0600);
    const char *cannot = "lib/keel/keel-x.so cannot be loaded: ";
    ck_assert(strncmp(ask("bin/keelrun", "keelrun", "ASK_LOAD", "keel-x.so"), cannot,
                      strlen(cannot)) == 0);
    ck_assert_str_eq(ask("bin/keelrun", "keelrun", "ASK_LOAD", "keel-y.so"),
                     "keel-y.so is not installed: Keel was built without what it needs");
    end();
}
END_TEST

UNIT_MAIN("paths")
