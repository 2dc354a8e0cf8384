/* The files of --output-filename: made below the folder, and checked before the launch. Root may
 * write everywhere, so what cannot be written is a folder where a file should be, or the reverse.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <launcher/front/outfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static char folder[64], reason[512];

static void begin(void)
{
    snprintf(folder, sizeof(folder), "/tmp/keel-test-outfile-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void end(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static int check(const char *name, uint32_t ranks)
{
    reason[0] = '\0';
    return outfile_check(path_of(name), ranks, reason, sizeof(reason));
}

START_TEST(test_files_are_made_anew)
{
    struct stat info;
    begin();
    ck_assert_int_eq(check("out", 2), ORTE_SUCCESS);
    for (int turn = 0; turn < 2; turn++) {
        int fd = outfile_open(path_of("out"), 1, 2);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(fstat(fd, &info), 0);
        ck_assert_int_eq(info.st_size, 0);
        ck_assert_int_eq(write(fd, "x", 1), 1);
        close(fd);
    }
    ck_assert_int_eq(access(path_of("out/1/rank.1/stderr"), F_OK), 0);
    ck_assert_int_ne(access(path_of("out/1/rank.1/stdout"), F_OK), 0);
    ck_assert_int_eq(check("out", 2), ORTE_SUCCESS); /* they may be replaced */
    end();
}
END_TEST

START_TEST(test_what_cannot_be_made_is_named)
{
    begin();
    close(open(path_of("file"), O_CREAT | O_WRONLY, 0600));
    ck_assert_int_eq(check("file", 1), ORTE_ERR_FILE_OPEN_FAILURE);
    ck_assert_ptr_nonnull(strstr(reason, "/file/1: Not a directory"));
    ck_assert_int_eq(check("none/out", 1), ORTE_ERR_FILE_OPEN_FAILURE);
    ck_assert_ptr_nonnull(strstr(reason, "/none/out: No such file"));
    ck_assert_int_eq(outfile_open(path_of("none/out"), 0, 1), -ENOENT);
    char longest[4100];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    ck_assert_int_eq(outfile_open(longest, 0, 1), -ENAMETOOLONG);
    end();
}
END_TEST

START_TEST(test_only_these_ranks_are_looked_at)
{
    begin();
    ck_assert_int_eq(check("out", 1), ORTE_SUCCESS);
    ck_assert_int_eq(mkdir(path_of("out/1/rank.3"), 0700), 0);
    ck_assert_int_eq(mkdir(path_of("out/1/rank.3/stdout"), 0700), 0);
    ck_assert_int_eq(check("out", 3), ORTE_SUCCESS);
    ck_assert_int_eq(check("out", 4), ORTE_ERR_FILE_OPEN_FAILURE);
    ck_assert_ptr_nonnull(strstr(reason, "/rank.3/stdout: Is a directory"));
    ck_assert_int_eq(check("out", 0), ORTE_ERR_FILE_OPEN_FAILURE); /* any rank's */
    end();
}
END_TEST

UNIT_MAIN("files of ranks", test_files_are_made_anew, test_what_cannot_be_made_is_named,
          test_only_these_ranks_are_looked_at)
