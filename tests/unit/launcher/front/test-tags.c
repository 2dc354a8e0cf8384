#include <config.h>

#include <launcher/front/tags.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static char out[TAGS_LINE_MAX * 3];
static size_t out_size;
static unsigned calls;

static void emit(void *arg, const char *data, size_t size)
{
    ck_assert_ptr_eq(arg, out);
    ck_assert_int_eq(data[size - 1], '\n');
    memcpy(out + out_size, data, size);
    out_size += size;
    out[out_size] = 0;
    calls++;
}

static struct tagger *make(bool tagged, bool timestamped)
{
    struct tagger *tagger;
    out_size = calls = 0;
    out[0] = 0;
    ck_assert_int_eq(tagger_create(&tagger, tagged ? "[1,7]<stdout>: " : "", timestamped),
                     ORTE_SUCCESS);
    return tagger;
}

static void feed(struct tagger *tagger, const char *text, time_t seconds, long ns)
{
    struct timespec now = {seconds, ns};
    tagger_feed(tagger, text, strlen(text), &now, emit, out);
}

START_TEST(test_every_line_gets_its_tag)
{
    struct tagger *tagger = make(true, false);
    feed(tagger, "a\n\nbc\n", 0, 0);
    ck_assert_str_eq(out, "[1,7]<stdout>: a\n[1,7]<stdout>: \n[1,7]<stdout>: bc\n");
    ck_assert_uint_eq(calls, 3);
    tagger_end(tagger, emit, out);
    ck_assert_uint_eq(calls, 3);
    tagger_destroy(tagger);
    tagger_destroy(NULL);
}
END_TEST

START_TEST(test_a_line_is_held_back_until_it_is_whole)
{
    struct tagger *tagger = make(true, false);
    feed(tagger, "one ", 0, 0);
    feed(tagger, "line", 0, 0);
    ck_assert_uint_eq(calls, 0);
    feed(tagger, "\nrest", 0, 0);
    ck_assert_str_eq(out, "[1,7]<stdout>: one line\n");
    tagger_end(tagger, emit, out);
    ck_assert_str_eq(out, "[1,7]<stdout>: one line\n[1,7]<stdout>: rest\n");
    tagger_end(tagger, emit, out);
    ck_assert_uint_eq(calls, 2);
    tagger_destroy(tagger);
}
END_TEST

/* Cut anywhere, the result is the same. */
START_TEST(test_cuts_do_not_matter)
{
    static const char text[] = "x\n\nlonger line\nlast";
    static const char expected[] = "[1,7]<stdout>: x\n[1,7]<stdout>: \n"
                                   "[1,7]<stdout>: longer line\n[1,7]<stdout>: last\n";
    struct timespec now = {0, 0};
    for (size_t cut = 0; cut < sizeof(text); cut++) {
        struct tagger *tagger = make(true, false);
        tagger_feed(tagger, text, cut, &now, emit, out);
        tagger_feed(tagger, text + cut, sizeof(text) - 1 - cut, &now, emit, out);
        tagger_end(tagger, emit, out);
        ck_assert_str_eq(out, expected);
        tagger_destroy(tagger);
    }
}
END_TEST

START_TEST(test_the_time_stands_before_the_tag)
{
    setenv("TZ", "UTC0", 1);
    struct tagger *tagger = make(true, true);
    feed(tagger, "a", 1795151527, 123456789); /* the line's first byte counts */
    feed(tagger, "b\n", 1795151528, 0);
    ck_assert_str_eq(out, "Fri Nov 20 05:12:07.123456 2026 [1,7]<stdout>: ab\n");
    tagger_destroy(tagger);
    tagger = make(false, true);
    feed(tagger, "a\n", 1793577600, 5000);
    ck_assert_str_eq(out, "Mon Nov  2 00:00:00.000005 2026 a\n");
    tagger_destroy(tagger);
}
END_TEST

START_TEST(test_bytes_are_not_interpreted)
{
    struct timespec now = {0, 0};
    struct tagger *tagger = make(true, false);
    tagger_feed(tagger, "a\0b\xff\r\n", 6, &now, emit, out);
    ck_assert_mem_eq(out, "[1,7]<stdout>: a\0b\xff\r\n", 21);
    ck_assert_uint_eq(out_size, 21);
    tagger_destroy(tagger);
}
END_TEST

static void feed_many(struct tagger *tagger, size_t count)
{
    struct timespec now = {0, 0};
    char *text = malloc(count);
    memset(text, 'y', count);
    tagger_feed(tagger, text, count, &now, emit, out);
    free(text);
}

START_TEST(test_long_lines_come_in_pieces)
{
    size_t tag = strlen("[1,7]<stdout>: ");
    struct tagger *tagger = make(true, false);
    feed_many(tagger, TAGS_LINE_MAX); /* just fits */
    ck_assert_uint_eq(calls, 0);
    feed(tagger, "\n", 0, 0);
    ck_assert_uint_eq(calls, 1);
    ck_assert_uint_eq(out_size, tag + TAGS_LINE_MAX + 1);
    out_size = calls = 0;
    feed_many(tagger, TAGS_LINE_MAX + 1);
    ck_assert_uint_eq(calls, 1);
    feed(tagger, "z\n", 0, 0);
    ck_assert_uint_eq(calls, 2);
    ck_assert_uint_eq(out_size, 2 * tag + TAGS_LINE_MAX + 1 + 3);
    ck_assert_str_eq(out + out_size - tag - 3, "[1,7]<stdout>: yz\n");
    tagger_destroy(tagger);
}
END_TEST

UNIT_MAIN("tags")
