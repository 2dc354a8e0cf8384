/* Text from a pipe comes line by line, however it was written. */
#include <config.h>

#include <base/loop/lines.h>
#include <fcntl.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static struct loop *loop;
static struct lines lines;
static int writer;
static char heard[8192]; /* "first|second|" */
static unsigned count, ends;

static void hear(struct lines *which, const char *line)
{
    ck_assert_ptr_eq(which, &lines);
    strcat(strcat(heard, line), "|");
    count++;
}

static void end(struct lines *which)
{
    ck_assert_int_eq(which->fd, -1);
    ends++;
}

static void open_lines(void)
{
    int fds[2];
    ck_assert_int_eq(loop_create(&loop), ORTE_SUCCESS);
    ck_assert_int_eq(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    lines_init(&lines, loop, hear);
    lines_read(&lines); /* nothing was opened */
    lines_close(&lines);
    lines.ended = end;
    lines_open(&lines, fds[0]);
    writer = fds[1];
}

static void writes(const char *text)
{
    ck_assert_int_eq(write(writer, text, strlen(text)), (ssize_t) strlen(text));
}

START_TEST(test_pieces)
{
    open_lines();
    writes("on");
    lines_read(&lines);
    ck_assert_uint_eq(count, 0);
    writes("e\n\ntwo\nth");
    while (count < 3) {
        loop_poll(loop);
    }
    ck_assert_str_eq(heard, "one||two|");
    close(writer);
    while (ends == 0) {
        loop_poll(loop);
    }
    ck_assert_str_eq(heard, "one||two|th|");
    ck_assert_uint_eq(ends, 1);
    lines_close(&lines);
    ck_assert_uint_eq(count, 4);
    loop_destroy(loop);
}
END_TEST

START_TEST(test_a_long_line)
{
    char text[3 * LINES_MAX];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    open_lines();
    writes(text);
    lines_close(&lines);
    ck_assert_uint_eq(count, 4);
    ck_assert_uint_eq(strlen(heard), sizeof(text) - 1 + 4);
    ck_assert_uint_eq(ends, 0);
    close(writer);
    loop_destroy(loop);
}
END_TEST

START_TEST(test_dropped)
{
    open_lines();
    writes("never\n");
    lines_drop(&lines);
    ck_assert_int_eq(lines.fd, -1);
    lines_close(&lines);
    ck_assert_uint_eq(count, 0);
    close(writer);
    loop_destroy(loop);
}
END_TEST

UNIT_MAIN("lines")
