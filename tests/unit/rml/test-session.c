/* Two sessions face to face. */
#include <rml/delivery/session.h>
#include <tests/lib/unit.h>

enum { A = 10, B = 20, B_AGAIN = 21, WINDOW = RML_WINDOW_MIN };

static struct rml_session a, b;
static struct rml_heard heard;
static struct rml_out frame;

static void begin(void)
{
    rml_session_init(&a, A, WINDOW, WINDOW);
    rml_session_init(&b, B, WINDOW, WINDOW);
}

static void hear(struct rml_session *at, const struct rml_stamp *stamp)
{
    heard = (struct rml_heard){.take = false};
    list_init(&heard.done);
    list_init(&heard.ended);
    rml_session_receive(at, stamp, 1000, &heard);
}

/* Whatever one end has to say besides messages. */
static bool speak(struct rml_session *from, struct rml_stamp *stamp)
{
    return rml_session_word(from, OOB_APP, 1000, stamp);
}

static void push(struct rml_session *from)
{
    frame = (struct rml_out){.length = 5, .ask = true};
    rml_session_push(from, OOB_APP, &frame, 1000);
}

static void open_sessions(void)
{
    struct rml_stamp stamp;
    push(&a);
    ck_assert_ptr_null(rml_session_next(&a, OOB_APP, 1000, &stamp)); /* to whom? */
    ck_assert(speak(&a, &stamp));
    ck_assert(stamp.kind == RML_PROBE && stamp.dest_epoch == 0);
    hear(&b, &stamp);
    ck_assert(heard.reply);
    rml_session_reply(&b, OOB_APP, &heard, &stamp);
    hear(&a, &stamp);
    ck_assert(heard.send);
}

START_TEST(a_message_and_its_acknowledgement)
{
    struct rml_stamp stamp;
    begin();
    open_sessions();
    ck_assert_ptr_eq(rml_session_next(&a, OOB_APP, 1000, &stamp), &frame);
    ck_assert(stamp.dest_epoch == B && stamp.epoch == A && stamp.length == 5);
    rml_sender_returned(&frame);
    hear(&b, &stamp);
    ck_assert(heard.take && b.used);
    ck_assert(speak(&b, &stamp));
    ck_assert_int_eq(stamp.kind, RML_ACK);
    hear(&a, &stamp);
    ck_assert_ptr_eq(list_pop(&heard.done), &frame.link);
    ck_assert_uint_eq(rml_session_due(&a), UINT64_MAX);
    ck_assert_uint_eq(rml_session_silent(&a), UINT64_MAX);
}
END_TEST

START_TEST(a_handshake_makes_the_question_needless)
{
    struct rml_stamp stamp;
    begin();
    push(&a);
    heard = (struct rml_heard){.take = false};
    rml_session_know(&a, B, &heard);
    ck_assert(heard.send && !heard.renewed);
    ck_assert_ptr_eq(rml_session_next(&a, OOB_APP, 1000, &stamp), &frame);
}
END_TEST

START_TEST(a_message_for_another_incarnation_is_not_taken)
{
    struct rml_stamp stamp;
    begin();
    open_sessions();
    (void) rml_session_next(&a, OOB_APP, 1000, &stamp);
    rml_session_init(&b, B_AGAIN, WINDOW, WINDOW);
    hear(&b, &stamp);
    ck_assert(!heard.take && heard.reply);
    rml_session_reply(&b, OOB_APP, &heard, &stamp);
    hear(&a, &stamp); /* it may be late: who is there? */
    ck_assert(!heard.renewed && list_empty(&heard.ended));
    ck_assert(speak(&a, &stamp));
    ck_assert(stamp.kind == RML_PROBE && stamp.dest_epoch == 0);
    hear(&b, &stamp);
    rml_session_reply(&b, OOB_APP, &heard, &stamp);
    hear(&a, &stamp);
    ck_assert(heard.renewed && heard.was_used && a.peer == B_AGAIN);
    ck_assert_ptr_eq(list_pop(&heard.ended), &frame.link);
}
END_TEST

START_TEST(an_old_answer_changes_nothing)
{
    struct rml_stamp stamp;
    begin();
    open_sessions();
    stamp = (struct rml_stamp){.kind = RML_ACK, .epoch = B_AGAIN, .dest_epoch = A, .sequence = 7};
    hear(&a, &stamp);
    ck_assert(!heard.renewed && a.ask_who);
    ck_assert(speak(&a, &stamp));
    stamp = (struct rml_stamp){
        .kind = RML_ACK, .epoch = B_AGAIN, .dest_epoch = A, .sequence = stamp.sequence + 1};
    hear(&a, &stamp);
    ck_assert(!heard.renewed && a.peer == B);
}
END_TEST

START_TEST(only_questions_go_to_the_unknown)
{
    struct rml_stamp stamp = {.kind = RML_DATA, .epoch = A, .length = 5};
    begin();
    hear(&b, &stamp);
    ck_assert(heard.refused && !heard.take);
}
END_TEST

START_TEST(giving_up)
{
    struct rml_stamp stamp;
    struct list failed = LIST_INIT(failed);
    begin();
    open_sessions();
    (void) rml_session_next(&a, OOB_APP, 1000, &stamp);
    ck_assert_uint_eq(rml_session_silent(&a), 1000);
    rml_session_fail(&a, &failed);
    ck_assert_ptr_eq(list_pop(&failed), &frame.link);
    hear(&b, &stamp); /* it arrives all the same */
    ck_assert(heard.take);
    push(&a);
    ck_assert_ptr_eq(rml_session_next(&a, OOB_APP, 1000, &stamp), &frame);
    hear(&b, &stamp);
    ck_assert(heard.take && heard.restarted);
}
END_TEST

/* What is queued once a peer has ended is for whoever comes next. */
START_TEST(a_forgotten_peer_has_a_successor)
{
    struct rml_stamp stamp;
    begin();
    open_sessions();
    (void) rml_session_next(&a, OOB_APP, 1000, &stamp);
    struct list failed = LIST_INIT(failed);
    rml_session_fail(&a, &failed);
    rml_session_forget(&a);
    push(&a);
    ck_assert_ptr_null(rml_session_next(&a, OOB_APP, 1000, &stamp));
    heard = (struct rml_heard){.take = false};
    list_init(&heard.ended);
    rml_session_know(&a, B_AGAIN, &heard);
    ck_assert(heard.renewed && heard.send && list_empty(&heard.ended));
    ck_assert_ptr_eq(rml_session_next(&a, OOB_APP, 1000, &stamp), &frame);
    ck_assert_uint_eq(stamp.dest_epoch, B_AGAIN);
}
END_TEST

/* Everything that its predecessor was sent had arrived: its stream begins at the beginning too. */
START_TEST(a_successor_hears_the_first_position)
{
    struct rml_session successor;
    struct rml_stamp stamp;
    begin();
    open_sessions();
    (void) rml_session_next(&a, OOB_APP, 1000, &stamp);
    rml_sender_returned(&frame);
    hear(&b, &stamp);
    ck_assert(speak(&b, &stamp));
    hear(&a, &stamp);
    ck_assert(!rml_session_pending(&a));
    rml_session_forget(&a);
    push(&a);
    rml_session_init(&successor, B_AGAIN, WINDOW, WINDOW);
    heard = (struct rml_heard){.take = false};
    list_init(&heard.ended);
    rml_session_know(&a, B_AGAIN, &heard);
    ck_assert(heard.renewed && heard.send);
    ck_assert_ptr_eq(rml_session_next(&a, OOB_APP, 1000, &stamp), &frame);
    hear(&successor, &stamp);
    ck_assert(heard.take);
}
END_TEST

/* a begins anew: b learns of it by a's question, and what it had under way has ended. */
START_TEST(a_restart)
{
    enum { A_AGAIN = 77 };
    struct rml_stamp stamp, question;
    struct list ended = LIST_INIT(ended);
    begin();
    open_sessions();
    ck_assert(!rml_session_announce(&a, 1000)); /* nothing to tell */
    (void) rml_session_next(&a, OOB_APP, 1000, &stamp);
    uint64_t before = a.peer;
    rml_session_restart(&a, A_AGAIN, &ended);
    ck_assert(!list_empty(&ended) && !rml_session_pending(&a));
    ck_assert(a.peer == 0 && rml_session_is_with(&a, before));
    ck_assert(!rml_session_is_with(&a, before + 1));
    ck_assert(rml_session_announce(&a, 1000));
    ck_assert(!rml_session_announce(&a, 1000));
    ck_assert(rml_session_word(&a, OOB_APP, 1000, &question));
    ck_assert(question.kind == RML_PROBE && question.epoch == A_AGAIN && question.dest_epoch == 0);
    hear(&b, &question);
    ck_assert(heard.reply && !heard.renewed);
    ck_assert(rml_session_word(&b, OOB_APP, 1000, &question)); /* b asks in turn */
    hear(&a, &question);
    ck_assert(heard.reply);
    rml_session_reply(&a, OOB_APP, &heard, &stamp);
    hear(&b, &stamp);
    ck_assert(heard.renewed);
}
END_TEST

UNIT_MAIN("rml/session")
