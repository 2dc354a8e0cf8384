#include <config.h>

#include <launcher/request/output_request.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static struct output_request output;
static bool merge;
static char reason[512];

static void parse(const char *words)
{
    output_request_fini(&output);
    merge = false;
    ck_assert_msg(output_parse(&output, words, &merge, reason, sizeof(reason)) == ORTE_SUCCESS,
                  "%s: %s", words, reason);
}

static void refuse(const char *words, const char *why)
{
    output_request_fini(&output);
    ck_assert_msg(output_parse(&output, words, &merge, reason, sizeof(reason)) ==
                      ORTE_ERR_BAD_PARAM,
                  "%s is taken", words);
    ck_assert_msg(strstr(reason, why) != NULL, "%s: %s", words, reason);
    ck_assert_ptr_null(output.path);
}

START_TEST(words_may_be_written_as_mpirun_has_them)
{
    parse("TAG,timestamp");
    ck_assert(output.tag == OUTPUT_TAG_JOB && output.timestamp && !output.path && !merge);
    parse("tag_detailed");
    ck_assert_int_eq(output.tag, OUTPUT_TAG_DETAILED);
    parse("Tag-FullName,rank,merge-stderr-to-stdout");
    ck_assert(output.tag == OUTPUT_TAG_FULLNAME && merge); /* what tells more */
    parse("rank");
    ck_assert(output.tag == OUTPUT_TAG_RANK && !output.raw);
    parse("raw,merge");
    ck_assert(output.raw && merge);
    output_request_fini(&output);
}
END_TEST

START_TEST(names_and_their_qualifiers)
{
    parse("tag,dir=a,b");
    ck_assert(output.files == OUTPUT_FILES_DIR && !output.no_copy && !output.no_jobid);
    ck_assert_str_eq(output.path, "a,b");
    parse("DIR=out:nojobid,NOCOPY");
    ck_assert(output.files == OUTPUT_FILES_DIR && output.no_copy && output.no_jobid);
    ck_assert_str_eq(output.path, "out");
    parse("file=out:12/x:12:nocopy:pattern");
    ck_assert(output.files == OUTPUT_FILES_PATTERN && output.no_copy);
    ck_assert_str_eq(output.path, "out:12/x:12");
    parse("file=a:copy:raw");
    ck_assert(output.raw && !output.no_copy);
    ck_assert_str_eq(output.path, "a");
    parse("file=100%");
    ck_assert_int_eq(output.files, OUTPUT_FILES_NAME);
    ck_assert_str_eq(output.path, "100%");
    ck_assert_int_eq(output_parse_dir(&output, "d:nocopy", reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert(output.files == OUTPUT_FILES_DIR && output.no_copy); /* the last counts */
    ck_assert_str_eq(output.path, "d");
    output_request_fini(&output);
}
END_TEST

START_TEST(mistakes_are_named)
{
    refuse("nonsense,tag", "'nonsense': ");
    refuse("", "'': tag, tag-detailed");
    refuse("tag,", "'': tag");
    refuse("tags", "'tags': tag");
    refuse("xml", "'xml': there is no XML");
    refuse("dir=", "a folder is needed");
    refuse("file=", "a file is needed");
    refuse("file=:nocopy", "a file is needed");
    refuse("dir=a:pattern", "'pattern' behind the colon: copy, nocopy, raw or nojobid");
    refuse("file=a:nojobid", "'nojobid' behind the colon: copy, nocopy, raw or pattern");
    refuse("file=a:nocpy", "'nocpy' behind the colon");
    refuse("file=a%:pattern", "'%' in the pattern");
    refuse("file=a%q:pattern", "'%q' in the pattern");
    refuse("file=%%%:pattern", "'%' in the pattern");
    parse("dir=a:nojobid");
    ck_assert_int_eq(output_parse(&output, "file=b:nocopy,x", &merge, reason, sizeof(reason)),
                     ORTE_ERR_BAD_PARAM);
    ck_assert(output.files == OUTPUT_FILES_DIR && output.no_jobid && !output.no_copy);
    ck_assert_str_eq(output.path, "a");
    output_request_fini(&output);
}
END_TEST

static void is_path(const char *words, const char *expected)
{
    const struct output_origin origin = {
        .rank = 12, .pid = 7, .node = "n/1", .nspace = "keel-a", .number = 2};
    parse(words);
    char *path = output_path(&output, &origin);
    ck_assert_str_eq(path, expected);
    free(path);
}

START_TEST(paths)
{
    is_path("dir=out", "out/1/rank.12/stderr");
    is_path("dir=out:nojobid", "out/rank.12/stderr");
    is_path("file=out%r", "out%r.12.stderr");
    is_path("file=%%%r%h-%n.%j:pattern", "%12n_1-keel-a.1.stderr");
    output_request_fini(&output);
}
END_TEST

START_TEST(what_a_pattern_depends_on)
{
    parse("file=%%r:pattern");
    ck_assert(output_is_shared(&output) && !output_needs_node(&output));
    parse("file=%h:pattern");
    ck_assert(output_is_shared(&output) && output_needs_node(&output));
    parse("file=%%%r:pattern");
    ck_assert(!output_is_shared(&output) && !output_needs_node(&output));
    parse("file=%h");
    ck_assert(!output_is_shared(&output) && !output_needs_node(&output));
    output_request_fini(&output);
}
END_TEST

UNIT_MAIN("output_request")
