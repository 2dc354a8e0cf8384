/* A tool of the tests: joins a running job by its contact string.
 *
 *   visitor stay CONTACT            says its name, and stays until its input ends
 *   visitor call CONTACT VPID       sends a message to the tool with that number
 *   visitor everywhere CONTACT N    sends a message to each of N daemons, and to every rank
 *   visitor forbidden CONTACT N     sends all of the runtime's tags to N daemons and rank 0 */
#include <keel/keel.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 500 };

static orte_process_name_t me, rank;
static uint32_t ranks;

static void must(bool holds, const char *what)
{
    if (!holds) {
        keel_abort(1, "visitor: not so: %s", what);
    }
}

static int say(orte_process_name_t name, int tag)
{
    char byte = 'x';
    struct iovec part = {&byte, 1};
    return orte_rml.send(&name, &part, 1, tag, KEEL_RML_DELIVERED);
}

static void heard(int status, orte_process_name_t *peer, struct iovec *msg, int count,
                  orte_rml_tag_t tag, void *cbdata)
{
    (void) msg;
    (void) count;
    (void) tag;
    (void) cbdata;
    if (status >= 0) {
        printf("heard %u.%u\n", peer->jobid & 0xffff, peer->vpid);
    }
}

static void stay(void)
{
    static char byte;
    struct iovec part = {&byte, 1};
    struct pollfd input = {.fd = 0, .events = POLLIN};
    must(orte_rml.recv_nb(ORTE_NAME_WILDCARD, &part, 1, TAG, ORTE_RML_PERSISTENT, heard, NULL) ==
             ORTE_SUCCESS,
         "recv_nb");
    printf("here %u\n", me.vpid);
    while (poll(&input, 1, 5) == 0) {
        (void) keel_progress();
        (void) fflush(stdout);
    }
}

static void visit_all(uint32_t daemons)
{
    for (uint32_t i = 0; i < daemons; i++) {
        orte_process_name_t daemon = {me.jobid & 0xffff0000u, i};
        must(say(daemon, TAG) == 1, "a message to a daemon");
    }
    for (uint32_t i = 0; i < ranks; i++) {
        must(say((orte_process_name_t){rank.jobid, i}, TAG) == 1, "a message to a rank");
    }
    must(say((orte_process_name_t){rank.jobid, ranks}, TAG) == ORTE_ERR_ADDRESSEE_UNKNOWN,
         "a rank that is not there");
    must(say((orte_process_name_t){me.jobid, me.vpid + 1}, TAG) == ORTE_ERR_ADDRESSEE_UNKNOWN,
         "a tool that is not there");
    must(say((orte_process_name_t){me.jobid & 0xffff0000u, daemons}, TAG) ==
             ORTE_ERR_ADDRESSEE_UNKNOWN,
         "a daemon that is not there");
    printf("visited %u daemons and %u ranks\n", daemons, ranks);
}

static void forbidden(uint32_t daemons)
{
    for (int tag = 1; tag <= ORTE_RML_TAG_MAX; tag++) {
        for (uint32_t i = 0; i < daemons; i++) {
            (void) say((orte_process_name_t){me.jobid & 0xffff0000u, i}, tag);
        }
        (void) say(rank, tag);
    }
    printf("said\n");
}

int main(int argc, char **argv)
{
    struct keel_options options = KEEL_OPTIONS_DEFAULT;
    if (argc < 3) {
        return 2;
    }
    uint32_t number = argc > 3 ? (uint32_t) atoi(argv[3]) : 0;
    options.contact = argv[2];
    int status = keel_init(&options);
    if (status != ORTE_SUCCESS) {
        printf("refused: %s\n", opal_strerror(status));
        return 1;
    }
    me = *keel_my_name();
    must(keel_tool_job(&rank.jobid, &ranks) == ORTE_SUCCESS, "keel_tool_job");
    if (strcmp(argv[1], "stay") == 0) {
        stay();
    } else if (strcmp(argv[1], "call") == 0) {
        printf("sent %d\n", say((orte_process_name_t){me.jobid, number}, TAG));
    } else if (strcmp(argv[1], "everywhere") == 0) {
        visit_all(number);
    } else {
        forbidden(number);
    }
    (void) fflush(stdout);
    return keel_finalize() == ORTE_SUCCESS ? 0 : 1;
}
