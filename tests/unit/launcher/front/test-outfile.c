/* The files of ranks' output: made with their folders, and checked before the launch. Root may
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

static char folder[64], reason[8192];
static struct list open_files;

static void begin(void)
{
    snprintf(folder, sizeof(folder), "/tmp/keel-test-outfile-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    list_init(&open_files);
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

static struct output_request request_of(enum output_files files, const char *name)
{
    return (struct output_request){.files = files, .path = (char *) path_of(name)};
}

static int check_files(enum output_files files, const char *name, uint32_t ranks)
{
    const struct output_request request = request_of(files, name);
    reason[0] = '\0';
    return outfile_check(&request, ranks, reason, sizeof(reason));
}

static int check(const char *name, uint32_t ranks)
{
    return check_files(OUTPUT_FILES_DIR, name, ranks);
}

/* 0 or -errno. */
static int open_one(struct outfile **file, enum output_files files, const char *name, uint32_t rank)
{
    const struct output_request request = request_of(files, name);
    const struct output_origin origin = {
        .rank = rank, .node = "a/b", .nspace = "keel-1", .number = 2};
    return outfile_open(file, &open_files, &request, &origin);
}

START_TEST(test_files_are_made_anew)
{
    struct stat info;
    struct outfile *file;
    begin();
    ck_assert_int_eq(check("out", 2), ORTE_SUCCESS);
    for (int turn = 0; turn < 2; turn++) {
        ck_assert_int_eq(open_one(&file, OUTPUT_FILES_DIR, "out", 1), 0);
        ck_assert_int_eq(fstat(file->fd, &info), 0);
        ck_assert_int_eq(info.st_size, 0);
        ck_assert_int_eq(write(file->fd, "x", 1), 1);
        ck_assert_int_eq(outfile_close(file), 0);
    }
    ck_assert_int_eq(access(path_of("out/1/rank.1/stderr"), F_OK), 0);
    ck_assert_int_ne(access(path_of("out/1/rank.1/stdout"), F_OK), 0);
    ck_assert_int_eq(check("out", 2), ORTE_SUCCESS); /* they may be replaced */
    end();
}
END_TEST

START_TEST(test_folders_are_made)
{
    struct outfile *file;
    begin();
    ck_assert_int_eq(check("some/where", 1), ORTE_SUCCESS);
    ck_assert_int_eq(access(path_of("some/where/1"), F_OK), 0);
    ck_assert_int_eq(check_files(OUTPUT_FILES_PATTERN, "by/%h/%r", 1), ORTE_SUCCESS);
    ck_assert_int_eq(access(path_of("by"), F_OK), 0);
    ck_assert_int_eq(open_one(&file, OUTPUT_FILES_PATTERN, "by/%h/%r", 3), 0);
    ck_assert_int_eq(access(path_of("by/a_b/3.stderr"), F_OK), 0);
    ck_assert_int_eq(outfile_close(file), 0);
    end();
}
END_TEST

START_TEST(test_a_file_is_shared_until_its_last_user)
{
    struct outfile *first, *second, *other;
    begin();
    ck_assert_int_eq(open_one(&first, OUTPUT_FILES_PATTERN, "all", 0), 0);
    ck_assert_int_eq(open_one(&second, OUTPUT_FILES_PATTERN, "all", 1), 0);
    ck_assert_ptr_eq(first, second);
    ck_assert_int_eq(open_one(&other, OUTPUT_FILES_PATTERN, "each%r", 1), 0);
    ck_assert_ptr_ne(other, first);
    ck_assert_int_eq(outfile_close(first), 0);
    ck_assert_int_eq(write(second->fd, "x", 1), 1);
    ck_assert_int_eq(outfile_close(second), 0);
    ck_assert_int_eq(outfile_close(other), 0);
    ck_assert_int_eq(outfile_close(NULL), 0);
    ck_assert(list_empty(&open_files));
    end();
}
END_TEST

START_TEST(test_what_cannot_be_made_is_named)
{
    struct outfile *file;
    begin();
    close(open(path_of("file"), O_CREAT | O_WRONLY, 0600));
    ck_assert_int_eq(check("file", 1), ORTE_ERR_FILE_OPEN_FAILURE);
    ck_assert_ptr_nonnull(strstr(reason, "/file/1: Not a directory"));
    ck_assert_int_eq(check_files(OUTPUT_FILES_NAME, "file/out", 1), ORTE_ERR_FILE_OPEN_FAILURE);
    ck_assert_ptr_nonnull(strstr(reason, "/file: Not a directory"));
    ck_assert_int_eq(open_one(&file, OUTPUT_FILES_NAME, "file/out", 0), -ENOTDIR);
    ck_assert_int_eq(mkdir(path_of("log.1.stderr"), 0700), 0);
    ck_assert_int_eq(check_files(OUTPUT_FILES_NAME, "log", 1), ORTE_SUCCESS);
    ck_assert_int_eq(check_files(OUTPUT_FILES_NAME, "log", 2), ORTE_ERR_FILE_OPEN_FAILURE);
    ck_assert_ptr_nonnull(strstr(reason, "/log.1.stderr: Is a directory"));
    ck_assert_int_eq(open_one(&file, OUTPUT_FILES_NAME, "log", 1), -EISDIR);
    char longest[5000];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    const struct output_request request = {.files = OUTPUT_FILES_DIR, .path = longest};
    ck_assert_int_eq(outfile_check(&request, 1, reason, sizeof(reason)),
                     ORTE_ERR_FILE_OPEN_FAILURE);
    ck_assert_ptr_nonnull(strstr(reason, "File name too long"));
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

UNIT_MAIN("files of ranks")
