/* What a PMIx client waits for: captured requests and answers, in every cut, and lies. */
#include <config.h>

#include <launcher/pmix/connection/asked.h>
#include <string.h>
#include <tests/lib/unit.h>

/* From libpmix 4.2.2, rank 1: a request for the job's data, a fence, a fence of rank 0 alone, a
 * get. What stands behind the commands is cut off. */
#define INIT "\0\0\0\x01\0\0\0\x65\0\0\0\x02\0\0\0\0\x02\0"
#define FENCE "\0\0\0\x01\0\0\0\x66\0\0\0\x05\0\0\0\0\x02\x03\x02\x01\x02"
#define FENCE_NEXT "\0\0\0\x01\0\0\0\x67\0\0\0\x03\0\0\0\0\x02\x03\x02"
#define GET "\0\0\0\x01\0\0\0\x68\0\0\0\x03\0\0\0\0\x02\x04\x02"
/* An answer has rank 0 as its index, and the tag of the request. */
#define ANSWER(tag) "\0\0\0\0\0\0\0" tag "\0\0\0\x02\0\0\0\0"

static struct asked asked;

static void hear(const char *bytes, size_t size)
{
    asked_read(&asked, (const uint8_t *) bytes, size);
}
#define HEAR(text) hear(text, sizeof(text) - 1)

static void write_part(const char *first, size_t unsent)
{
    asked_written(&asked, (const uint8_t *) first, ASKED_HEADER_BYTES, unsent);
}

static void answer(const char *header)
{
    write_part(header, 0);
}

static void assert_doing(unsigned fences, bool in_fence, const char *call)
{
    struct asked_view view = asked_look(&asked);
    ck_assert_uint_eq(view.fences, fences);
    ck_assert_int_eq(view.in_fence, in_fence);
    ck_assert_pstr_eq(view.call, call);
}

START_TEST(fences_are_counted)
{
    asked_begin(&asked);
    ck_assert_uint_eq(asked_look(&asked).moved_us, 0);
    HEAR(INIT);
    ck_assert_uint_ge(asked_look(&asked).moved_us, asked_look(&asked).began_us);
    assert_doing(0, false, NULL);
    HEAR(FENCE);
    assert_doing(1, true, NULL);
    answer(ANSWER("\x65"));
    assert_doing(1, true, NULL);
    answer(ANSWER("\x66"));
    assert_doing(1, false, NULL);
    HEAR(FENCE_NEXT);
    assert_doing(2, true, NULL);
    asked_begin(&asked);
    assert_doing(0, false, NULL);
}
END_TEST

START_TEST(a_call_in_an_open_fence)
{
    asked_begin(&asked);
    HEAR(FENCE GET);
    assert_doing(1, true, "PMIx_Get");
    answer(ANSWER("\x68"));
    assert_doing(1, true, NULL);
}
END_TEST

/* The descriptor has what arrived: any part of a message, or several. */
START_TEST(in_every_cut)
{
    static const char all[] = INIT FENCE FENCE_NEXT GET;
    const size_t size = sizeof(all) - 1;
    for (size_t first = 0; first <= size; first++) {
        for (size_t second = first; second <= size; second++) {
            asked_begin(&asked);
            hear(all, first);
            hear(all + first, second - first);
            hear(all + second, size - second);
            assert_doing(2, true, "PMIx_Get");
        }
    }
}
END_TEST

START_TEST(others_are_passed_over)
{
    asked_begin(&asked);
    HEAR("\0\0\0\x01\0\0\0\x65\0\0\0\0\0\0\0\0");                 /* no body */
    HEAR("\0\0\0\x01\0\0\0\x66\0\0\0\x01\0\0\0\0\x02");           /* no command */
    HEAR("\0\0\0\x01\0\0\0\x67\0\0\0\x05\0\0\0\0\0\0\0\x01\x03"); /* packed otherwise */
    HEAR("\0\0\0\x01\0\0\0\x68\0\0\0\x02\0\0\0\0\x02\xff");       /* an unknown command */
    HEAR("\0\0\0\x01\0\0\0\x69\0\0\0\x02\0\0\0\0\x02\x05");       /* one without a name */
    assert_doing(0, false, NULL);
    HEAR(FENCE);
    assert_doing(1, true, NULL);
}
END_TEST

/* What is left of an answer may be as long as a header, and look like one. */
START_TEST(an_answer_that_is_sent_in_parts)
{
    asked_begin(&asked);
    HEAR(FENCE GET);
    write_part(ANSWER("\x65"), 40);
    write_part(ANSWER("\x66"), 16);
    write_part(ANSWER("\x68"), 0);
    assert_doing(1, true, "PMIx_Get");
    write_part(ANSWER("\x66"), 24); /* the next one, with what follows its header */
    assert_doing(1, false, "PMIx_Get");
    asked_begin(&asked);
    HEAR(FENCE);
    answer(ANSWER("\x66"));
    assert_doing(1, false, NULL);
}
END_TEST

/* 4 GiB are announced: nothing in them is a message. */
START_TEST(a_long_body)
{
    char piece[4096];
    memset(piece, 2, sizeof(piece));
    asked_begin(&asked);
    HEAR("\0\0\0\x01\0\0\0\x66\xff\xff\xff\xff\0\0\0\0\x02\x03");
    uint64_t left = UINT32_MAX - 2u;
    for (; left >= sizeof(piece); left -= sizeof(piece)) {
        hear(piece, sizeof(piece));
    }
    assert_doing(1, true, NULL);
    hear(piece, (size_t) left);
    HEAR(FENCE_NEXT);
    assert_doing(2, true, NULL);
}
END_TEST

UNIT_MAIN("asked")
