#include <config.h>

#include <tests/lib/unit.h>

#include <base/data/clock.h>
#include <launcher/front/output.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PUTS = 16, PUT_BYTES = 64 * 1024, LINE_BYTES = 64, SOURCE = 3, PATIENCE_US = 5000000 };

static struct loop *loop;
static struct output *output;
static size_t credited;
static bool idle;
static int read_end; /* of the pipe that is standard output */

static void on_written(void *arg, uint32_t source, uint32_t bytes)
{
    (void) arg;
    ck_assert_uint_eq(source, SOURCE);
    credited += bytes;
}

static void on_failed(void *arg, uint8_t stream, int error)
{
    (void) arg;
    ck_abort_msg("stream %u: error %d", stream, error);
}

static void on_idle(void *arg)
{
    (void) arg;
    idle = true;
}

static const struct output_ops ops = {.written = on_written, .failed = on_failed};

/* Puts lines of a rank that are more than the pipe holds. */
static void put_lines(const struct output_request *request)
{
    static uint8_t lines[PUT_BYTES];
    const struct output_origin origin = {
        .source = SOURCE, .node = "n0", .nspace = "keel-1", .number = 1};
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    ck_assert_int_eq(dup2(fds[1], 1), 1);
    close(fds[1]);
    read_end = fds[0];
    ck_assert_int_eq(loop_create(&loop), ORTE_SUCCESS);
    ck_assert_int_eq(output_create(&output, loop, request, &ops, NULL), ORTE_SUCCESS);
    for (size_t i = 0; i < sizeof(lines); i++) {
        lines[i] = (i + 1) % LINE_BYTES == 0 ? '\n' : 'x';
    }
    for (int i = 0; i < PUTS; i++) {
        output_put(output, &origin, lines, sizeof(lines));
    }
}

/* Runs the loop until the condition is true, or for that long. */
static bool wait_until(bool (*condition)(void), uint64_t limit_us)
{
    for (uint64_t end = clock_us() + limit_us; clock_us() < end; usleep(500)) {
        loop_poll(loop);
        if (condition()) {
            return true;
        }
    }
    return false;
}

static bool credit_stands_still(void)
{
    static size_t before;
    size_t now = credited;
    bool same = now == before && now > 0;
    before = now;
    return same;
}

static bool all_is_written(void)
{
    return idle;
}

/* Reads to the end; returns the number of lines. */
static void *count_lines(void *arg)
{
    size_t *lines = arg;
    char data[4096];
    for (ssize_t got; (got = read(read_end, data, sizeof(data))) > 0;) {
        for (ssize_t i = 0; i < got; i++) {
            *lines += data[i] == '\n';
        }
    }
    return NULL;
}

static void check_credit(const struct output_request *request)
{
    size_t lines = 0;
    pthread_t reader;
    put_lines(request);
    (void) wait_until(credit_stands_still, 200000);
    ck_assert_uint_le(credited, 4 * PUT_BYTES); /* nobody reads: the rest waits */
    ck_assert_int_eq(pthread_create(&reader, NULL, count_lines, &lines), 0);
    output_finish(output, on_idle);
    ck_assert(wait_until(all_is_written, PATIENCE_US));
    ck_assert_uint_eq(credited, (size_t) PUTS * PUT_BYTES);
    output_destroy(output);
    close(1);
    pthread_join(reader, NULL);
    ck_assert_uint_eq(lines, (size_t) PUTS * PUT_BYTES / LINE_BYTES);
    loop_destroy(loop);
    close(read_end);
}

START_TEST(test_credit_for_what_is_written)
{
    struct output_request request = {0};
    check_credit(&request);
}
END_TEST

START_TEST(test_credit_for_tagged_lines_that_are_written)
{
    struct output_request request = {.tag = OUTPUT_TAG_JOB};
    check_credit(&request);
}
END_TEST

START_TEST(test_a_line_of_the_launcher_is_one_line)
{
    char text[4096] = "rank 0 (\033[31mprog\n\r, pid 7) failed", told[2048];
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    ck_assert_int_eq(dup2(fds[1], 2), 2);
    ck_assert(output_line_now(text));
    ssize_t size = read(fds[0], told, sizeof(told) - 1);
    ck_assert_int_gt(size, 0);
    told[size] = '\0';
    ck_assert_str_eq(told, "keelrun: rank 0 (?[31mprog??, pid 7) failed\n");
    memset(text, 'x', sizeof(text) - 1);
    ck_assert(output_line_now(text));
    size = read(fds[0], told, sizeof(told) - 1);
    ck_assert_int_gt(size, 1000);
    ck_assert_ptr_eq(memchr(told, '\n', (size_t) size), told + size - 1);
}
END_TEST

START_TEST(test_files_are_credited_at_once)
{
    char folder[] = "/tmp/keel-test-output-XXXXXX";
    char command[128];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    struct output_request request = {.files = OUTPUT_FILES_DIR, .path = folder, .no_copy = true};
    put_lines(&request);
    ck_assert_uint_eq(credited, (size_t) PUTS * PUT_BYTES);
    output_finish(output, on_idle);
    ck_assert(idle);
    output_destroy(output);
    loop_destroy(loop);
    snprintf(command, sizeof(command), "test $(wc -l < %s/1/rank.0/stdout) = %d && rm -r %s",
             folder, PUTS * PUT_BYTES / LINE_BYTES, folder);
    ck_assert_int_eq(system(command), 0);
    close(read_end);
}
END_TEST

/* Ranks 0 and 1, whose lines go into one file; returns its text. */
static const char *share(struct output_request *request, const char *file)
{
    static char text[256];
    struct output_origin first = {.rank = 0, .node = "n0", .nspace = "s", .pid = 7, .number = 1};
    struct output_origin second = first;
    second.rank = 1;
    ck_assert_int_eq(loop_create(&loop), ORTE_SUCCESS);
    ck_assert_int_eq(output_create(&output, loop, request, &ops, NULL), ORTE_SUCCESS);
    credited = 0;
    first.source = second.source = SOURCE;
    output_put(output, &first, (const uint8_t *) "on", 2);
    output_put(output, &second, (const uint8_t *) "two\nthr", 7);
    output_put(output, &first, (const uint8_t *) "e\n", 2);
    output_finish(output, on_idle);
    ck_assert_uint_eq(credited, 11);
    output_destroy(output);
    loop_destroy(loop);
    FILE *in = fopen(file, "r");
    ck_assert_ptr_nonnull(in);
    text[fread(text, 1, sizeof(text) - 1, in)] = '\0';
    fclose(in);
    return text;
}

START_TEST(test_ranks_share_a_file_line_by_line)
{
    char folder[] = "/tmp/keel-test-output-XXXXXX", path[64], file[80];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/%%h", folder);
    snprintf(file, sizeof(file), "%s/n0.stdout", folder);
    struct output_request request = {.files = OUTPUT_FILES_PATTERN, .path = path, .no_copy = true};
    ck_assert_str_eq(share(&request, file), "two\none\nthr\n");
    request.tag = OUTPUT_TAG_DETAILED;
    ck_assert_str_eq(share(&request, file), "[s,1][n0:7]<stdout>: two\n[s,0][n0:7]<stdout>: one\n"
                                            "[s,1][n0:7]<stdout>: thr\n");
    request.tag = OUTPUT_TAG_FULLNAME;
    ck_assert_str_eq(share(&request, file),
                     "[s,1]<stdout>: two\n[s,0]<stdout>: one\n[s,1]<stdout>: thr\n");
    unlink(file);
    rmdir(folder);
}
END_TEST

UNIT_MAIN("output")
