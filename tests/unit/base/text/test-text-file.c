#include <config.h>

#include <base/text/text_file.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <unistd.h>

enum { MAX = 2 << 20 };

static char folder[] = "/tmp/keel-text-file-XXXXXX", path[64], reason[256];
static char *text;
static size_t size;

static unsigned long_limit(void)
{
    return 60000;
}

static unsigned short_limit(void)
{
    return 20;
}

static int read_file(const char *name, unsigned (*limit_ms)(void))
{
    return text_file_read(&text, &size, name, MAX, limit_ms, reason, sizeof(reason));
}

static void assert_text(const char *expected)
{
    ck_assert_uint_eq(size, strlen(expected));
    ck_assert_str_eq(text, expected);
    free(text);
}

static void assert_refused(const char *name, unsigned (*limit_ms)(void), int status,
                           const char *why)
{
    char expected[192];
    text = NULL;
    snprintf(expected, sizeof(expected), "%s: %s", name, why);
    ck_assert_int_eq(read_file(name, limit_ms), status);
    ck_assert_str_eq(reason, expected);
    ck_assert_ptr_null(text);
}

static void make_fifo(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/fifo", folder);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
}

static void remove_fifo(void)
{
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* A process that writes parts of 1 MiB, or of two bytes, to the FIFO; blocks in open until somebody
 * reads. */
static pid_t write_parts(unsigned parts, size_t part_size)
{
    static char part[1 << 20];
    memset(part, 'a', sizeof(part));
    pid_t child = fork();
    if (child == 0) {
        int fd = open(path, O_WRONLY);
        for (; parts > 0; parts--) {
            for (size_t done = 0; done < part_size;) {
                ssize_t put = write(fd, part + done, part_size - done);
                if (put < 0) {
                    _exit(1); /* killed by SIGPIPE, else */
                }
                done += (size_t) put;
            }
        }
        _exit(0);
    }
    return child;
}

START_TEST(regular_files_are_read_up_to_their_bound)
{
    char name[] = "/tmp/keel-text-file-XXXXXX";
    int fd = mkstemp(name);
    ck_assert_int_eq(write(fd, "a\nb", 3), 3);
    ck_assert_int_eq(read_file(name, NULL), ORTE_SUCCESS);
    assert_text("a\nb");
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    ck_assert_int_eq(read_file(name, long_limit), ORTE_SUCCESS);
    assert_text("");
    ck_assert_int_eq(ftruncate(fd, MAX), 0);
    ck_assert_int_eq(read_file(name, NULL), ORTE_SUCCESS);
    ck_assert_uint_eq(size, MAX);
    ck_assert_int_eq(text[MAX], 0);
    free(text);
    ck_assert_int_eq(ftruncate(fd, MAX + 1), 0);
    assert_refused(name, NULL, ORTE_ERR_FILE_READ_FAILURE, "larger than 2 MiB");
    close(fd);
    unlink(name);
    assert_refused(name, NULL, ORTE_ERR_FILE_OPEN_FAILURE, "No such file or directory");
    assert_refused("/tmp", long_limit, ORTE_ERR_FILE_READ_FAILURE, "not a regular file");
}
END_TEST

START_TEST(a_fifo_is_read_to_its_end)
{
    make_fifo();
    pid_t child = write_parts(3, 1);
    ck_assert_int_eq(read_file(path, long_limit), ORTE_SUCCESS);
    assert_text("aaa");
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    child = write_parts(1, 1 << 20); /* more than a pipe holds */
    ck_assert_int_eq(read_file(path, long_limit), ORTE_SUCCESS);
    ck_assert_uint_eq(size, 1 << 20);
    free(text);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    child = write_parts(0, 0);
    ck_assert_int_eq(read_file(path, long_limit), ORTE_SUCCESS);
    assert_text("");
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    remove_fifo();
}
END_TEST

START_TEST(a_fifo_without_an_end_is_given_up)
{
    make_fifo();
    assert_refused(path, NULL, ORTE_ERR_FILE_READ_FAILURE, "not a regular file");
    assert_refused(path, short_limit, ORTE_ERR_FILE_READ_FAILURE,
                   "nobody has written anything to it within 0.02 s");
    int fd = open(path, O_RDWR);
    assert_refused(path, short_limit, ORTE_ERR_FILE_READ_FAILURE,
                   "nobody has written anything to it within 0.02 s");
    ck_assert_int_eq(write(fd, "a\n", 2), 2);
    assert_refused(path, short_limit, ORTE_ERR_FILE_READ_FAILURE, "it has not ended within 0.02 s");
    close(fd);
    pid_t child = write_parts(1000, 1 << 20);
    assert_refused(path, long_limit, ORTE_ERR_FILE_READ_FAILURE, "larger than 2 MiB");
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status)); /* it has no reader any more */
    remove_fifo();
}
END_TEST

/* What the shell makes of <(command). */
START_TEST(a_descriptor_of_a_pipe_is_read_by_its_name)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
    ck_assert_int_eq(write(ends[1], "a\n", 2), 2);
    close(ends[1]);
    ck_assert_int_eq(read_file(path, long_limit), ORTE_SUCCESS);
    assert_text("a\n");
    ck_assert_int_eq(read_file(path, long_limit), ORTE_SUCCESS); /* the command wrote nothing */
    assert_text("");
    close(ends[0]);
}
END_TEST

START_TEST(a_reader_that_waits_can_be_ended)
{
    make_fifo();
    sigset_t all;
    sigfillset(&all);
    pid_t child = fork();
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &all, NULL);
        raise(SIGHUP); /* is blocked until it waits */
        _exit(read_file(path, long_limit));
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGHUP);
    remove_fifo();
}
END_TEST

START_TEST(devices_are_read_up_to_the_bound)
{
    ck_assert_int_eq(read_file("/dev/null", long_limit), ORTE_SUCCESS);
    assert_text("");
    assert_refused("/dev/zero", long_limit, ORTE_ERR_FILE_READ_FAILURE, "larger than 2 MiB");
    assert_refused("/dev/null", NULL, ORTE_ERR_FILE_READ_FAILURE, "not a regular file");
}
END_TEST

UNIT_MAIN("text_file")
