#include <config.h>

#include <base/data/clock.h>
#include <base/settings/log.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static int capture = -1;

/* Standard error becomes a socket that keeps the boundaries of writes. Cases run in processes of
 * their own, so it need not be put back. */
static void capture_stderr(void)
{
    int fds[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
    ck_assert_int_eq(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
    close(fds[1]);
    capture = fds[0];
}

/* The next write as a text; its length, 0 when there was none. */
static size_t next_write(char *text, size_t size)
{
    ssize_t got = recv(capture, text, size - 1, MSG_DONTWAIT);
    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t) got : 0;
}

START_TEST(line_names_process_layer_and_level)
{
    char line[2048], expected[256];
    capture_stderr();
    log_warn(LOG_OOB, "peer %s left", "[[1,0],3]");
    next_write(line, sizeof(line));
    snprintf(expected, sizeof(expected), "[%ld] oob: warning: peer [[1,0],3] left\n",
             (long) getpid());
    ck_assert_str_eq(line, expected);

    log_set_identity("node7", "[[1,0],2]");
    log_error(LOG_LAUNCHER, "bad");
    next_write(line, sizeof(line));
    snprintf(expected, sizeof(expected), "[node7:%ld [[1,0],2]] launcher: error: bad\n",
             (long) getpid());
    ck_assert_str_eq(line, expected);
}
END_TEST

START_TEST(verbosity_filters)
{
    char line[2048];
    capture_stderr();
    log_info(LOG_RML, "no");
    ck_assert_uint_eq(next_write(line, sizeof(line)), 0);
    log_set_verbosity(LOG_RML, LOG_DEBUG);
    log_info(LOG_RML, "one");
    log_debug(LOG_RML, "two");
    log_trace(LOG_RML, "three");
    log_info(LOG_BTL, "other layer");
    ck_assert_uint_gt(next_write(line, sizeof(line)), 0);
    ck_assert_ptr_nonnull(strstr(line, "rml: info: one"));
    ck_assert_uint_gt(next_write(line, sizeof(line)), 0);
    ck_assert_ptr_nonnull(strstr(line, "rml: debug: two"));
    ck_assert_uint_eq(next_write(line, sizeof(line)), 0);

    log_set_verbosity(LOG_RML, -5); /* errors and warnings cannot be switched off */
    log_warn(LOG_RML, "still");
    ck_assert_uint_gt(next_write(line, sizeof(line)), 0);
}
END_TEST

START_TEST(verbosity_comes_from_parameters)
{
    setenv("KEEL_MCA_log_verbose", "1", 1);
    setenv("KEEL_MCA_log_oob_verbose", "3", 1);
    setenv("KEEL_MCA_log_btl_verbose", "0", 1);
    log_open();
    ck_assert_int_eq(log_verbosity[LOG_OOB], 3);
    ck_assert_int_eq(log_verbosity[LOG_BTL], 1);
    ck_assert_int_eq(log_verbosity[LOG_LAUNCHER], 1);
}
END_TEST

START_TEST(errno_is_kept)
{
    char line[2048];
    capture_stderr();
    errno = ECONNRESET;
    log_error(LOG_OOB, "read: %m");
    ck_assert_int_eq(errno, ECONNRESET);
    next_write(line, sizeof(line));
    ck_assert_ptr_nonnull(strstr(line, strerror(ECONNRESET)));
}
END_TEST

START_TEST(long_line_is_cut)
{
    char line[4096], big[3000];
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    capture_stderr();
    log_error(LOG_BASE, "%s", big);
    size_t length = next_write(line, sizeof(line));
    ck_assert_uint_eq(length, 1024);
    ck_assert_str_eq(line + length - 5, "x...\n");
    ck_assert_uint_eq(next_write(line, sizeof(line)), 0);
}
END_TEST

START_TEST(control_characters_do_not_break_lines)
{
    char line[2048];
    capture_stderr();
    log_error(LOG_BASE, "a\nb\x1b[31mc\x7f"
                        "d\xc3\xa9");
    next_write(line, sizeof(line));
    ck_assert_ptr_nonnull(strstr(line, "a?b?[31mc?d\xc3\xa9\n"));
}
END_TEST

static void *write_lines(void *arg)
{
    for (int i = 0; i < 50; i++) {
        log_error(LOG_BASE, "thread %s line %d", (const char *) arg, i);
    }
    return NULL;
}

START_TEST(threads_do_not_mix_lines)
{
    static const char *const names[] = {"aaaa", "bbbb", "cccc", "dddd"};
    pthread_t threads[4];
    char line[2048];
    int seen = 0, buffer = 1 << 20;
    capture_stderr();
    setsockopt(STDERR_FILENO, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_lines, (void *) names[i]), 0);
    }
    /* Reads along: the socket holds fewer lines than are written. */
    uint64_t end = clock_us() + 5000000;
    while (seen < 200 && clock_us() < end) {
        if (next_write(line, sizeof(line))) {
            char *newline = strchr(line, '\n');
            ck_assert_ptr_nonnull(strstr(line, "base: error: thread "));
            ck_assert(newline && newline[1] == '\0');
            seen++;
        }
    }
    ck_assert_int_eq(seen, 200);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
}
END_TEST

struct seen {
    enum log_level level;
    char line[256];
};

static void remember(void *arg, enum log_level level, const char *line)
{
    struct seen *seen = arg;
    seen->level = level;
    snprintf(seen->line, sizeof(seen->line), "%s", line);
}

START_TEST(sink_replaces_standard_error)
{
    struct seen seen = {LOG_TRACE, ""};
    char line[2048];
    capture_stderr();
    log_set_sink(remember, &seen);
    log_warn(LOG_PTL, "to the sink");
    ck_assert_int_eq(seen.level, LOG_WARN);
    ck_assert_ptr_nonnull(strstr(seen.line, "ptl: warning: to the sink"));
    ck_assert_ptr_null(strchr(seen.line, '\n'));
    ck_assert_uint_eq(next_write(line, sizeof(line)), 0);
    log_set_sink(NULL, NULL);
    log_warn(LOG_PTL, "back");
    ck_assert_uint_gt(next_write(line, sizeof(line)), 0);
}
END_TEST

START_TEST(rate_limit_is_per_key_and_second)
{
    unsigned held = 0;
    uint64_t begin = clock_us();
    ck_assert(log_rate_ok("10.0.0.1", &held));
    ck_assert(!log_rate_ok("10.0.0.1", &held));
    ck_assert(!log_rate_ok("10.0.0.1", &held));
    ck_assert(log_rate_ok("10.0.0.2", &held));
    ck_assert_uint_eq(held, 0);
    unsigned tries = 2;
    while (!log_rate_ok("10.0.0.1", &held) && clock_us() - begin < 5000000) {
        tries++;
        usleep(1000);
    }
    ck_assert_uint_ge(clock_us() - begin, 1000000);
    ck_assert_uint_eq(held, tries);
}
END_TEST

START_TEST(many_keys_are_bounded_together)
{
    unsigned held = 0, passed = 0;
    for (int i = 0; i < 5000; i++) {
        char key[32];
        snprintf(key, sizeof(key), "stranger-%d", i);
        passed += log_rate_ok(key, &held);
    }
    ck_assert_uint_ge(passed, 64);
    ck_assert_uint_le(passed, 64 * 3); /* the loop may run across a second's end */
}
END_TEST

UNIT_MAIN("log")
