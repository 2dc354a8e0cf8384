/* Out of the receive callback, then act: message events, progressed waits, receives posted anew. A
 * question goes round; each rank answers it by asking its right neighbour first. */
#include "old.h"

enum { QUESTION = MY_TAG, ANSWER };
enum { ROUNDS = 20, LARGE = 1000000 };

static bool in_callback;
static int handled; /* questions */

/* --- a rank answers --- */

static opal_buffer_t answer;
static volatile bool answered, lost;

static void got_answer(int status, orte_process_name_t *sender, opal_buffer_t *buffer,
                       orte_rml_tag_t tag, void *cbdata)
{
    (void) sender;
    (void) tag;
    CHECK(cbdata == &answer);
    lost = ORTE_SUCCESS != status || OPAL_SUCCESS != opal_dss.copy_payload(&answer, buffer);
    answered = !lost;
}

/* Asks a rank for the sum of its number and those of all behind it; waits for a callback. */
static int32_t ask(orte_vpid_t rank)
{
    orte_process_name_t peer;
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    int32_t sum = -1, count = 1;

    OBJ_CONSTRUCT(&answer, opal_buffer_t);
    answered = lost = false;
    CHECK(ORTE_SUCCESS == orte_rml.recv_buffer_nb(rank_name(&peer, rank), ANSWER,
                                                  ORTE_RML_NON_PERSISTENT, got_answer, &answer));
    CHECK(OPAL_SUCCESS == opal_dss.pack(buffer, &rank, 1, ORTE_VPID));
    CHECK(0 < orte_rml.send_buffer(&peer, buffer, QUESTION, 0));
    OBJ_RELEASE(buffer);
    ORTE_PROGRESSED_WAIT(lost, answered, 1);
    CHECK(OPAL_SUCCESS == opal_dss.unpack(&answer, &sum, &count, OPAL_INT32));
    OBJ_DESTRUCT(&answer);
    return sum;
}

static void sent(int status, orte_process_name_t *peer, opal_buffer_t *buffer, orte_rml_tag_t tag,
                 void *cbdata)
{
    (void) peer;
    (void) cbdata;
    CHECK(ORTE_SUCCESS == status);
    CHECK(ANSWER == tag);
    OBJ_RELEASE(buffer);
}

/* Outside of the callback, so it may block for the neighbour, whose answer comes to a callback. */
static void process_question(int fd, short event, void *data)
{
    orte_message_event_t *mev = (orte_message_event_t *) data;
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    orte_vpid_t me = ORTE_VPID_INVALID;
    int32_t sum, count = 1;

    (void) fd;
    (void) event;
    CHECK(!in_callback);
    CHECK(QUESTION == mev->tag);
    CHECK(OPAL_SUCCESS == opal_dss.unpack(mev->buffer, &me, &count, ORTE_VPID));
    CHECK(ORTE_PROC_MY_NAME->vpid == me);
    sum = (int32_t) me;
    if (me + 1 < orte_process_info.num_procs) {
        sum += ask(me + 1);
    }
    CHECK(OPAL_SUCCESS == opal_dss.pack(buffer, &sum, 1, OPAL_INT32));
    CHECK(ORTE_SUCCESS == orte_rml.send_buffer_nb(&mev->sender, buffer, ANSWER, 0, sent, NULL));
    handled++;
    OBJ_RELEASE(mev);
    CHECK(NULL == mev);
}

static void got_question(int status, orte_process_name_t *sender, opal_buffer_t *buffer,
                         orte_rml_tag_t tag, void *cbdata)
{
    CHECK(ORTE_SUCCESS == status);
    in_callback = true;
    ORTE_MESSAGE_EVENT(sender, buffer, tag, process_question);
    CHECK(ORTE_SUCCESS == orte_rml.recv_buffer_nb(ORTE_NAME_WILDCARD, QUESTION,
                                                  ORTE_RML_NON_PERSISTENT, got_question, cbdata));
    in_callback = false;
}

/* --- events keep their order, and their payload --- */

static int next_event;
static bool all_events;

static void process_number(int fd, short event, void *data)
{
    orte_message_event_t *mev = (orte_message_event_t *) data;
    int32_t number = -1, count = 1;
    char *large = (char *) malloc(LARGE);

    (void) fd;
    (void) event;
    CHECK(OPAL_SUCCESS == opal_dss.unpack(mev->buffer, &number, &count, OPAL_INT32));
    CHECK(number == next_event);
    CHECK(mev->sender.vpid == ORTE_PROC_MY_NAME->vpid);
    count = LARGE;
    CHECK(OPAL_SUCCESS == opal_dss.unpack(mev->buffer, large, &count, OPAL_BYTE));
    CHECK(LARGE == count && large[0] == (char) number && large[LARGE - 1] == (char) number);
    free(large);
    all_events = ++next_event == ROUNDS;
    OBJ_RELEASE(mev);
}

static void post_events(void)
{
    int32_t i, none = 0;
    char *large = (char *) malloc(LARGE);
    opal_buffer_t *buffer;

    for (i = 0; i < ROUNDS; i++) {
        int32_t skipped, count = 1;
        buffer = OBJ_NEW(opal_buffer_t);
        memset(large, (char) i, LARGE);
        CHECK(OPAL_SUCCESS == opal_dss.pack(buffer, &none, 1, OPAL_INT32));
        CHECK(OPAL_SUCCESS == opal_dss.pack(buffer, &i, 1, OPAL_INT32));
        CHECK(OPAL_SUCCESS == opal_dss.pack(buffer, large, LARGE, OPAL_BYTE));
        CHECK(OPAL_SUCCESS == opal_dss.unpack(buffer, &skipped, &count, OPAL_INT32));
        ORTE_MESSAGE_EVENT(ORTE_PROC_MY_NAME, buffer, MY_TAG, process_number);
        OBJ_RELEASE(buffer); /* the event has its own */
    }
    free(large);
    CHECK(0 == next_event);
    ORTE_PROGRESSED_WAIT(all_events, 0, 1);
    CHECK(ROUNDS == next_event);
}

/* Rank 0 asks itself, and so everybody; the others serve until they have been asked enough. */
int main(int argc, char **argv)
{
    int32_t i, ranks, sum = 0;

    begin(&argc, &argv);
    ranks = (int32_t) orte_process_info.num_procs;
    post_events();
    CHECK(ORTE_SUCCESS == orte_rml.recv_buffer_nb(ORTE_NAME_WILDCARD, QUESTION,
                                                  ORTE_RML_NON_PERSISTENT, got_question, NULL));
    if (0 == ORTE_PROC_MY_NAME->vpid) {
        for (i = 0; i < ROUNDS; i++) {
            sum += ranks > 1 ? ask(1) : 0;
        }
        CHECK(sum == ROUNDS * (ranks * (ranks - 1) / 2));
    } else {
        ORTE_PROGRESSED_WAIT(false, handled, ROUNDS);
    }
    CHECK(ORTE_SUCCESS == orte_rml.recv_cancel(ORTE_NAME_WILDCARD, QUESTION));
    return end();
}
