/* rml_control: a job that can be asked how it is, and the tool that asks.
 *
 *   keelrun -n 4 --report-uri FILE rml_control work [SECONDS]
 *                                           ranks that work, until they are told to stop
 *   rml_control ask CONTACT [stop]          the state of every rank; then, perhaps, stop
 *
 * CONTACT is keelrun's contact string, or file:FILE. Run the tool in another shell, as the same
 * user. A rank answers from a callback, whatever else it does. */
#include <keel/buffer.h>
#include <keel/keel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { QUESTION_TAG = ORTE_RML_TAG_MAX + 1, ANSWER_TAG, PATIENCE_S = 30 };
enum { SAY_STATE = 1, STOP };

static void check(int status, const char *what)
{
    if (status < 0) {
        keel_abort(1, "%s: %s", what, opal_strerror(status));
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double) time.tv_sec + (double) time.tv_nsec / 1e9;
}

/* Runs callbacks; sleeps a little when there was nothing to do. */
static void progress(void)
{
    if (keel_progress() == 0) {
        usleep(1000);
    }
}

/* --- a rank --- */

static struct {
    uint64_t steps;
    bool stop;
    int answers;
} work;

static void answered(int status, orte_process_name_t *peer, opal_buffer_t *buffer,
                     orte_rml_tag_t tag, void *cbdata)
{
    (void) buffer;
    (void) tag;
    (void) cbdata;
    if (status < 0) { /* the tool has gone: no harm */
        fprintf(stderr, "rml_control: no answer to %s: %s\n", ORTE_NAME_PRINT(peer),
                opal_strerror(status));
    }
    work.answers--;
}

/* The callback of one persistent receive for whoever asks. */
static void asked(int status, orte_process_name_t *peer, opal_buffer_t *buffer, orte_rml_tag_t tag,
                  void *cbdata)
{
    int32_t command = 0, count = 1, pid = (int32_t) getpid();
    (void) tag;
    (void) cbdata;
    if (status < 0 || opal_dss.unpack(buffer, &command, &count, OPAL_INT32) != OPAL_SUCCESS) {
        return; /* the end, or a question that makes no sense */
    }
    opal_buffer_t *answer = OBJ_NEW(opal_buffer_t);
    check(opal_dss.pack(answer, &pid, 1, OPAL_INT32), "pack");
    check(opal_dss.pack(answer, &work.steps, 1, OPAL_UINT64), "pack");
    /* delivered: this rank may leave only when the answer has arrived */
    if (orte_rml.send_buffer_nb(peer, answer, ANSWER_TAG, KEEL_RML_DELIVERED, answered, NULL) ==
        ORTE_SUCCESS) {
        work.answers++;
    }
    OBJ_RELEASE(answer);
    work.stop = work.stop || command == STOP;
}

static int be_rank(int argc, char **argv)
{
    double until = now() + (argc > 2 ? atof(argv[2]) : 3600.0);
    check(
        orte_rml.recv_buffer_nb(ORTE_NAME_WILDCARD, QUESTION_TAG, ORTE_RML_PERSISTENT, asked, NULL),
        "recv_buffer_nb");
    while ((!work.stop || work.answers > 0) && now() < until) {
        work.steps++; /* whatever the program is for */
        progress();
    }
    check(keel_finalize(), "keel_finalize");
    return 0;
}

/* --- the tool --- */

static struct {
    uint32_t asked, heard, lost;
    double deadline;
} survey;

static void rank_lost(const orte_process_name_t *peer, orte_rml_exception_t exception)
{
    printf("%s %s\n", ORTE_NAME_PRINT(peer),
           exception == ORTE_RML_PEER_DISCONNECTED ? "has gone" : "cannot be reached");
    survey.lost++;
}

static void heard(int status, orte_process_name_t *peer, opal_buffer_t *buffer, orte_rml_tag_t tag,
                  void *cbdata)
{
    int32_t pid = 0, count = 1;
    uint64_t steps = 0;
    (void) tag;
    (void) cbdata;
    if (status < 0 || opal_dss.unpack(buffer, &pid, &count, OPAL_INT32) != OPAL_SUCCESS ||
        opal_dss.unpack(buffer, &steps, &count, OPAL_UINT64) != OPAL_SUCCESS) {
        return;
    }
    printf("rank %u: process %d, %llu steps\n", peer->vpid, pid, (unsigned long long) steps);
    survey.heard++;
}

static void ask(orte_process_name_t *rank, int32_t command)
{
    opal_buffer_t *question = OBJ_NEW(opal_buffer_t);
    check(opal_dss.pack(question, &command, 1, OPAL_INT32), "pack");
    check(orte_rml.send_buffer(rank, question, QUESTION_TAG, 0), "send_buffer");
    OBJ_RELEASE(question);
    survey.asked++;
}

/* Whoever does not answer in time is counted as lost. */
static int ask_all(int32_t command)
{
    orte_process_name_t rank = {0, 0};
    uint32_t ranks = 0;
    memset(&survey, 0, sizeof(survey));
    check(keel_tool_job(&rank.jobid, &ranks), "keel_tool_job");
    for (rank.vpid = 0; rank.vpid < ranks; rank.vpid++) {
        ask(&rank, command);
    }
    survey.deadline = now() + PATIENCE_S;
    while (survey.heard + survey.lost < survey.asked && now() < survey.deadline) {
        progress();
    }
    printf("%s: %u of %u ranks have answered\n", ORTE_NAME_PRINT(keel_my_name()), survey.heard,
           survey.asked);
    return survey.heard == survey.asked ? 0 : 1;
}

static int be_tool(int argc, char **argv)
{
    bool stop = argc > 3 && strcmp(argv[3], "stop") == 0;
    check(orte_rml.add_exception_handler(rank_lost), "add_exception_handler");
    check(orte_rml.recv_buffer_nb(ORTE_NAME_WILDCARD, ANSWER_TAG, ORTE_RML_PERSISTENT, heard, NULL),
          "recv_buffer_nb");
    int result = ask_all(stop ? STOP : SAY_STATE);
    check(keel_finalize(), "keel_finalize");
    return result;
}

int main(int argc, char **argv)
{
    struct keel_options options = KEEL_OPTIONS_DEFAULT;
    bool works = argc > 1 && strcmp(argv[1], "work") == 0;
    bool asks = argc > 2 && strcmp(argv[1], "ask") == 0;
    if (!works && !asks) {
        fprintf(stderr, "usage: rml_control work [SECONDS]\n"
                        "       rml_control ask CONTACT|file:FILE [stop]\n");
        return 2;
    }
    options.data_plane = false;
    options.contact = asks ? argv[2] : NULL;
    if (keel_init(&options) != ORTE_SUCCESS) {
        return 1; /* the reason was logged */
    }
    return works ? be_rank(argc, argv) : be_tool(argc, argv);
}
