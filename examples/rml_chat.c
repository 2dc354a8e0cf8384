/* rml_chat: every rank says so many lines to every rank, itself included, and hears what the others
 * say, all at once: nothing blocks until all is said and heard.
 *
 *   keelrun -n 4 rml_chat [LINES]      the lines to each rank (default 100); exits with 1 on errors
 *
 * One persistent receive hears all lines. A line that has left makes room for the next one: its
 * callback says it. Lines of one rank must come in their order; those of several mix as they like.
 * Who has heard everything tells rank 0, which gives the verdict. */
#include <keel/keel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_LINE = ORTE_RML_TAG_MAX + 1, TAG_TALLY, TAG_VERDICT };
enum { AT_ONCE = 16 }; /* lines under way */

static orte_process_name_t me;
static uint32_t ranks;
static uint64_t lines;                  /* to each rank */
static uint64_t said, heard_all, wrong; /* lines begun, lines heard, those that were not right */
static uint64_t *heard;                 /* by rank: its next line */

static void check(int status, const char *what)
{
    if (status < 0) {
        keel_abort(1, "%s: %s", what, opal_strerror(status));
    }
}

static opal_buffer_t *new_buffer(void)
{
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    check(buffer ? OPAL_SUCCESS : OPAL_ERR_OUT_OF_RESOURCE, "buffer");
    return buffer;
}

static void make_text(char *text, size_t size, uint32_t from, uint32_t to, uint64_t number)
{
    snprintf(text, size, "line %llu of rank %u to rank %u", (unsigned long long) number, from, to);
}

/* --- saying --- */

static void line_left(int status, orte_process_name_t *peer, opal_buffer_t *buffer,
                      orte_rml_tag_t tag, void *cbdata);

/* The next line, to the next rank. */
static void say(void)
{
    char text[96], *packed = text;
    uint64_t number = said / ranks;
    orte_process_name_t peer = {me.jobid, (uint32_t) (said % ranks)};
    said++;
    make_text(text, sizeof(text), me.vpid, peer.vpid, number);
    opal_buffer_t *buffer = new_buffer();
    check(opal_dss.pack(buffer, &number, 1, OPAL_UINT64), "pack");
    check(opal_dss.pack(buffer, &packed, 1, OPAL_STRING), "pack");
    check(orte_rml.send_buffer_nb(&peer, buffer, TAG_LINE, 0, line_left, NULL), "send_buffer_nb");
    OBJ_RELEASE(buffer); /* the RML has its own reference, until the callback has returned */
}

static void line_left(int status, orte_process_name_t *peer, opal_buffer_t *buffer,
                      orte_rml_tag_t tag, void *cbdata)
{
    (void) peer;
    (void) buffer;
    (void) tag;
    (void) cbdata;
    check(status, "a line did not leave");
    if (said < lines * ranks) {
        say();
    }
}

/* --- hearing --- */

static void tally_left(int status, orte_process_name_t *peer, struct iovec *msg, int count,
                       orte_rml_tag_t tag, void *cbdata)
{
    (void) peer;
    (void) msg;
    (void) count;
    (void) tag;
    (void) cbdata;
    check(status, "the tally did not leave");
}

/* From inside a callback one may send as well; the memory lives on. */
static void tell_tally(void)
{
    static uint64_t tally[2];
    static struct iovec part = {tally, sizeof(tally)};
    orte_process_name_t root = {me.jobid, 0};
    tally[0] = heard_all;
    tally[1] = wrong;
    check(orte_rml.send_nb(&root, &part, 1, TAG_TALLY, 0, tally_left, NULL), "send_nb");
}

static void line_heard(int status, orte_process_name_t *peer, opal_buffer_t *buffer,
                       orte_rml_tag_t tag, void *cbdata)
{
    char expected[96], *text = NULL;
    uint64_t number = 0;
    int32_t one = 1;
    (void) tag;
    (void) cbdata;
    check(status, "a line did not come");
    check(opal_dss.unpack(buffer, &number, &one, OPAL_UINT64), "unpack");
    check(opal_dss.unpack(buffer, &text, &one, OPAL_STRING), "unpack");
    make_text(expected, sizeof(expected), peer->vpid, me.vpid, number);
    wrong += number != heard[peer->vpid]++ || !text || strcmp(text, expected) != 0;
    free(text);
    if (++heard_all == lines * ranks) {
        tell_tally();
    }
}

/* --- the verdict --- */

/* Rank 0 adds up; one scatter list goes to all. The callbacks above run inside these calls. */
static uint64_t give_verdict(void)
{
    uint64_t errors = 0;
    orte_process_name_t any = {me.jobid, ORTE_VPID_WILDCARD};
    for (uint32_t i = 0; i < ranks; i++) {
        uint64_t tally[2] = {0, 0};
        struct iovec part = {tally, sizeof(tally)};
        check(orte_rml.recv(&any, &part, 1, TAG_TALLY, 0), "recv");
        errors += tally[1] + (tally[0] != lines * ranks);
    }
    struct iovec part = {&errors, sizeof(errors)};
    for (uint32_t rank = 1; rank < ranks; rank++) {
        orte_process_name_t peer = {me.jobid, rank};
        check(orte_rml.send(&peer, &part, 1, TAG_VERDICT, 0), "send");
    }
    printf("rml_chat: %u ranks, %llu lines, %llu errors\n", ranks,
           (unsigned long long) (lines * ranks * ranks), (unsigned long long) errors);
    return errors;
}

static uint64_t hear_verdict(void)
{
    uint64_t errors = 1;
    orte_process_name_t root = {me.jobid, 0};
    struct iovec part = {&errors, sizeof(errors)};
    check(orte_rml.recv(&root, &part, 1, TAG_VERDICT, 0), "recv");
    return errors;
}

int main(int argc, char **argv)
{
    struct keel_options options = KEEL_OPTIONS_DEFAULT;
    options.data_plane = false; /* messages only */
    long asked = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
    if (asked < 1) {
        fprintf(stderr, "usage: rml_chat [LINES], at least 1\n");
        return 2;
    }
    lines = (uint64_t) asked;
    if (keel_init(&options) != ORTE_SUCCESS) {
        return 1; /* the reason was logged */
    }
    me = *keel_my_name();
    ranks = keel_job_size();
    heard = calloc(ranks, sizeof(*heard));
    check(heard ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE, "heard");
    check(orte_rml.recv_buffer_nb(ORTE_NAME_WILDCARD, TAG_LINE, ORTE_RML_PERSISTENT, line_heard,
                                  NULL),
          "recv_buffer_nb");
    while (said < AT_ONCE && said < lines * ranks) {
        say();
    }
    uint64_t errors = me.vpid == 0 ? give_verdict() : hear_verdict();
    check(orte_rml.recv_cancel(ORTE_NAME_WILDCARD, TAG_LINE), "recv_cancel");
    free(heard);
    check(keel_finalize(), "finalize");
    return errors > 0;
}
