#include <opal/util/output.h>
#include <orte/mca/errmgr/errmgr.h>
#include <tests/lib/unit.h>

/* Standard output and standard error into a pipe, and back. */
static int kept[2], ends[2];
static char written[4096];

static void capture(void)
{
    ck_assert_int_eq(pipe(ends), 0);
    fflush(stdout);
    for (int fd = 1; fd <= 2; fd++) {
        kept[fd - 1] = dup(fd);
        ck_assert_int_eq(dup2(ends[1], fd), fd);
    }
}

static const char *captured(void)
{
    for (int fd = 1; fd <= 2; fd++) {
        ck_assert_int_eq(dup2(kept[fd - 1], fd), fd);
        close(kept[fd - 1]);
    }
    close(ends[1]);
    ssize_t size = read(ends[0], written, sizeof(written) - 1);
    ck_assert_int_ge(size, 0);
    written[size] = 0;
    close(ends[0]);
    return written;
}

/* What stream 0 writes before its text. */
static char *prefix(void)
{
    static char text[300], host[256];
    ck_assert_int_eq(gethostname(host, sizeof(host) - 1), 0);
    snprintf(text, sizeof(text), "[%s:%ld] ", host, (long) getpid());
    return text;
}

START_TEST(stream_zero)
{
    char expected[2048];
    capture();
    opal_output(0, "a %s of %d", "number", 7);
    opal_output(0, "with its newline\n");
    opal_output(0, "%s", "");
    opal_output_verbose(1, 0, "too much");
    opal_output_set_verbosity(0, 2);
    opal_output_verbose(2, 0, "not too much");
    ck_assert_int_eq(opal_output_get_verbosity(0), 2);
    opal_output_close(0); /* is always there */
    opal_output(0, "end");
    opal_output(-1, "nobody");
    opal_output(63, "nobody");
    opal_output(64, "nobody");
    char *p = prefix();
    snprintf(expected, sizeof(expected),
             "%sa number of 7\n%swith its newline\n%s\n%snot too much\n%send\n", p, p, p, p, p);
    ck_assert_str_eq(captured(), expected);
}
END_TEST

START_TEST(streams_of_the_program)
{
    opal_output_stream_t stream;
    OBJ_CONSTRUCT(&stream, opal_output_stream_t);
    char tag[] = "me: ";
    stream.lds_prefix = tag;
    stream.lds_suffix = (char *) " (sic)";
    stream.lds_want_stdout = true;
    int both = opal_output_open(&stream);
    tag[0] = 'X'; /* was copied */
    stream.lds_prefix = stream.lds_suffix = NULL;
    stream.lds_verbose_level = 5;
    int plain = opal_output_open(&stream), standard = opal_output_open(NULL);
    OBJ_DESTRUCT(&stream);
    ck_assert(both > 0 && plain > 0 && standard > 0 && both != plain && plain != standard);
    capture();
    opal_output(both, "text\n");
    opal_output_verbose(5, plain, "level %d", 5);
    opal_output_verbose(6, plain, "level %d", 6);
    ck_assert(opal_output_switch(both, false));
    opal_output(both, "silent");
    ck_assert(!opal_output_switch(both, true));
    opal_output_close(plain);
    opal_output(plain, "closed");
    captured();
    ck_assert_str_eq(written, "me: text (sic)\nlevel 5\n");
    capture();
    opal_output(standard, "x");
    char expected[400];
    snprintf(expected, sizeof(expected), "%sx\n", prefix());
    ck_assert_str_eq(captured(), expected);
    opal_output_close(both);
    opal_output_close(standard);
}
END_TEST

START_TEST(what_is_not_served)
{
    opal_output_stream_t stream;
    OBJ_CONSTRUCT(&stream, opal_output_stream_t);
    stream.lds_want_file = true;
    ck_assert_int_eq(opal_output_open(&stream), OPAL_ERR_NOT_SUPPORTED);
    stream.lds_want_file = false;
    stream.lds_want_syslog = true;
    ck_assert_int_eq(opal_output_open(&stream), OPAL_ERR_NOT_SUPPORTED);
    stream.lds_want_syslog = false;
    stream.lds_is_debugging = true;
    stream.lds_want_stdout = true;
    int debugging = opal_output_open(&stream);
    capture();
    opal_output(debugging, "not without OPAL_ENABLE_DEBUG");
    OPAL_OUTPUT((0, "nor this"));
    OPAL_OUTPUT_VERBOSE((0, 0, "nor this"));
    ck_assert_str_eq(captured(), "");
    int last = debugging;
    for (int id; (id = opal_output_open(NULL)) >= 0;) {
        last = id;
    }
    ck_assert_int_eq(last, 63);
    ck_assert_int_eq(opal_output_open(NULL), OPAL_ERR_OUT_OF_RESOURCE);
    for (int id = 1; id < 64; id++) {
        opal_output_close(id);
    }
    ck_assert_int_eq(opal_output_open(NULL), 1);
    opal_output_close(1);
    OBJ_DESTRUCT(&stream);
}
END_TEST

START_TEST(as_a_string)
{
    char *text = opal_output_string(0, 0, "text %d\n", 1);
    char expected[400];
    snprintf(expected, sizeof(expected), "%stext 1", prefix());
    ck_assert_str_eq(text, expected);
    free(text);
    ck_assert_ptr_null(opal_output_string(1, 0, "too much"));
    ck_assert_ptr_null(opal_output_string(0, 9, "nobody"));
}
END_TEST

START_TEST(errors_are_logged)
{
    capture();
    ORTE_ERROR_LOG(ORTE_SUCCESS);
    ORTE_ERROR_LOG(ORTE_ERR_SILENT);
    ORTE_ERROR_LOG(ORTE_ERR_TIMEOUT);
    captured();
    ck_assert_ptr_nonnull(strstr(written, "ORTE_ERROR_LOG: timed out (-15) at "));
    ck_assert_ptr_nonnull(strstr(written, "test-output.c:"));
    ck_assert_ptr_eq(strchr(written, '\n'), strrchr(written, '\n'));
}
END_TEST

UNIT_MAIN("compat/output")
