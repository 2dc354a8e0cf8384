/* Where a core file is, by the kernel's pattern. */
#include <config.h>

#include <base/host/corefile.h>
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static const struct core_dump dump = {.folder = "/a[1]", .pid = 4711, .signal = 11};

static void assert_glob(const char *pattern, bool uses_pid, const char *expected)
{
    char text[128];
    ck_assert(corefile_glob(&dump, pattern, uses_pid, text, sizeof(text)));
    ck_assert_str_eq(text, expected);
}

START_TEST(patterns)
{
    assert_glob("core", false, "/a\\[1\\]/core");
    assert_glob("core", true, "/a\\[1\\]/core.4711");
    assert_glob("core.%p", true, "/a\\[1\\]/core.4711");
    assert_glob("/var/%e.%s%%*", false, "/var/*.11%\\*");
    assert_glob("/x/%P", true, "/x/*.4711");
    assert_glob("/x/c%", false, "/x/c");
}
END_TEST

START_TEST(no_file)
{
    char text[16];
    ck_assert(!corefile_glob(&dump, "|/usr/lib/systemd/systemd-coredump %P", false, text, 16));
    ck_assert(!corefile_glob(&dump, "@/run/coredump.socket", false, text, 16));
    ck_assert(!corefile_glob(&dump, "", true, text, 16));
    ck_assert(!corefile_glob(&dump, "/a/long/folder/core", false, text, 16));
    ck_assert(corefile_glob(&dump, "/twelve/bytes", false, text, 16));
}
END_TEST

static int crash(const char *folder)
{
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
        if (chdir(folder) == 0 && setrlimit(RLIMIT_CORE, &unlimited) == 0 &&
            prctl(PR_SET_DUMPABLE, 1) == 0) {
            signal(SIGQUIT, SIG_DFL);
            raise(SIGQUIT);
        }
        _exit(1);
    }
    return pid;
}

/* One that begins with a letter: the file is in the folder of the process. */
static bool has_plain_pattern(void)
{
    FILE *file = fopen("/proc/sys/kernel/core_pattern", "re");
    int first = file ? getc(file) : EOF;
    if (file) {
        fclose(file);
    }
    return isalpha(first);
}

START_TEST(a_file)
{
    char folder[] = "/tmp/keel-test-core-XXXXXX";
    int status;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    pid_t pid = crash(folder);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    struct core_dump real = {.folder = folder, .pid = pid, .signal = SIGQUIT};
    char *path = corefile_find(&real);
    real.since = time(NULL) + 1000;
    char *later = corefile_find(&real);
    ck_assert_ptr_null(later);
    ck_assert(!path || WCOREDUMP(status));
    if (has_plain_pattern() && WCOREDUMP(status)) {
        ck_assert_ptr_nonnull(path);
        ck_assert_int_eq(unlink(path), 0);
    }
    free(path);
    (void) rmdir(folder);
}
END_TEST

UNIT_MAIN("base: core files")
