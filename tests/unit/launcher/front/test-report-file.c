/* Where the lines of --report go. */
#include <config.h>

#include <launcher/front/report_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static char reason[256];

static struct run_request request_for(const char *path)
{
    return (struct run_request){.report = true, .report_file = (char *) (uintptr_t) path};
}

START_TEST(lines_replace_what_was_there)
{
    char path[] = "/tmp/keel-test-report-XXXXXX", text[64] = "";
    struct run_request request = request_for(path);
    struct report_file file;
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "what was there before", 21), 21);
    close(fd);
    ck_assert_int_eq(report_file_open(&file, &request, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert(report_file_write(&file, "{}", reason, sizeof(reason)));
    ck_assert(report_file_write(&file, "", reason, sizeof(reason)));
    ck_assert(report_file_close(&file, reason, sizeof(reason)));
    FILE *read = fopen(path, "re");
    ck_assert_ptr_nonnull(read);
    ck_assert_uint_eq(fread(text, 1, sizeof(text) - 1, read), 4);
    fclose(read);
    unlink(path);
    ck_assert_str_eq(text, "{}\n\n");
}
END_TEST

START_TEST(a_file_that_cannot_be_written)
{
    struct run_request request = request_for("/proc/no-such-folder/report");
    struct report_file file;
    ck_assert_int_ne(report_file_open(&file, &request, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_str_eq(reason, "--report: /proc/no-such-folder/report: No such file or directory");
    ck_assert(report_file_close(&file, reason, sizeof(reason)));
}
END_TEST

START_TEST(a_full_disk_is_told_once)
{
    struct run_request request = request_for("/dev/full");
    struct report_file file;
    ck_assert_int_eq(report_file_open(&file, &request, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert(!report_file_write(&file, "{}", reason, sizeof(reason)));
    ck_assert_str_eq(reason, "--report: /dev/full: No space left on device; "
                             "the rest of the report is lost");
    ck_assert(report_file_write(&file, "{}", reason, sizeof(reason)));
    ck_assert(report_file_close(&file, reason, sizeof(reason)));
}
END_TEST

START_TEST(no_file)
{
    struct run_request request = request_for(NULL);
    struct report_file file;
    ck_assert_int_eq(report_file_open(&file, &request, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_ptr_null(file.path);
    ck_assert(report_file_close(&file, reason, sizeof(reason)));
}
END_TEST

UNIT_MAIN("launcher: the file of --report")
