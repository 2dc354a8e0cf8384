/* Questions for cards, and what a module knows of one before it asks. */
#include <btl/peers/card.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

/* A host that answers when the test says so. */
static struct {
    bool at_once;
    const char *card; /* of every peer; NULL: it published none */
    char key[64];
    keel_card_fn done; /* of the question that is open */
    void *done_arg;
    opal_proc_t asked;
    size_t published;
} host;

static void host_answer(void)
{
    if (host.card) {
        host.done(host.done_arg, OPAL_SUCCESS, host.card, strlen(host.card));
    } else {
        host.done(host.done_arg, OPAL_ERR_NOT_FOUND, NULL, 0);
    }
}

static void host_get_card(void *arg, const opal_proc_t *peer, const char *key, keel_card_fn done,
                          void *done_arg)
{
    (void) arg;
    strcpy(host.key, key);
    host.done = done;
    host.done_arg = done_arg;
    host.asked = *peer;
    if (host.at_once) {
        host_answer();
    }
}

static int host_put_card(void *arg, const char *key, const void *data, size_t size)
{
    (void) arg, (void) data;
    strcpy(host.key, key);
    host.published += size;
    return OPAL_SUCCESS;
}

static int host_peek_card(void *arg, const opal_proc_t *peer, const char *key, const void **data,
                          size_t *size)
{
    (void) arg, (void) peer;
    strcpy(host.key, key);
    *data = host.card;
    *size = host.card ? strlen(host.card) : 0;
    return host.at_once ? host.card ? OPAL_SUCCESS : OPAL_ERR_NOT_FOUND : OPAL_ERR_NOT_AVAILABLE;
}

static const struct keel_host_ops host_ops = {
    .put_card = host_put_card, .get_card = host_get_card, .peek_card = host_peek_card};

/* Who asks. */
struct asker {
    struct btl_card_question *question;
    int answers, status;
    char card[16];
};

static void taken(void *arg, int status, const void *data, size_t size)
{
    struct asker *asker = arg;
    ck_assert_ptr_null(asker->question);
    asker->answers++;
    asker->status = status;
    ck_assert_uint_lt(size, sizeof(asker->card));
    memcpy(asker->card, status == OPAL_SUCCESS ? data : "", size);
    asker->card[size] = '\0';
}

static const struct btl_host the_host = {.ops = &host_ops};
static const struct btl_cards cards = {.host = &the_host, .name = "wire"};
static const opal_proc_t peer = {.proc_name = {7, 3}};

static void host_reset(bool at_once, const char *card)
{
    memset(&host, 0, sizeof(host));
    host.at_once = at_once;
    host.card = card;
}

START_TEST(each_life_has_a_card_of_its_own)
{
    const struct btl_cards later = {.host = cards.host, .name = "wire", .life = 12};
    host_reset(true, "here");
    ck_assert_int_eq(btl_card_publish(&cards, "mine", 4), OPAL_SUCCESS);
    ck_assert_str_eq(host.key, "btl.wire");
    ck_assert_int_eq(btl_card_publish(&later, "mine", 4), OPAL_SUCCESS);
    ck_assert_str_eq(host.key, "btl.wire.12");
    ck_assert_uint_eq(host.published, 8);
    struct asker asker = {NULL, 0, 0, ""};
    ck_assert_int_eq(btl_card_ask(&later, &peer, &asker.question, taken, &asker), OPAL_SUCCESS);
    ck_assert_str_eq(host.key, "btl.wire.12");
}
END_TEST

START_TEST(an_answer_may_come_at_once_or_later)
{
    for (int later = 0; later < 2; later++) {
        struct asker asker = {NULL, 0, 0, ""};
        opal_proc_t short_lived = peer;
        host_reset(!later, "here");
        ck_assert_int_eq(btl_card_ask(&cards, &short_lived, &asker.question, taken, &asker),
                         OPAL_SUCCESS);
        memset(&short_lived, 0, sizeof(short_lived)); /* the question has its own */
        if (later) {
            ck_assert_ptr_nonnull(asker.question);
            ck_assert_int_eq(asker.answers, 0);
            host_answer();
        }
        ck_assert_ptr_null(asker.question);
        ck_assert_int_eq(asker.answers, 1);
        ck_assert_int_eq(asker.status, OPAL_SUCCESS);
        ck_assert_str_eq(asker.card, "here");
        ck_assert_uint_eq(host.asked.proc_name.vpid, 3);
    }
}
END_TEST

START_TEST(there_may_be_no_card)
{
    struct asker asker = {NULL, 0, 0, ""};
    host_reset(true, NULL);
    ck_assert_int_eq(btl_card_ask(&cards, &peer, &asker.question, taken, &asker), OPAL_SUCCESS);
    ck_assert_int_eq(asker.answers, 1);
    ck_assert_int_eq(asker.status, OPAL_ERR_NOT_FOUND);
}
END_TEST

/* The memory of who asked is gone by then: a sanitized build sees who touches it. */
START_TEST(a_cancelled_question_is_answered_to_nobody)
{
    struct asker *asker = calloc(1, sizeof(*asker));
    host_reset(false, "here");
    ck_assert_int_eq(btl_card_ask(&cards, &peer, &asker->question, taken, asker), OPAL_SUCCESS);
    btl_card_cancel(&asker->question);
    btl_card_cancel(&asker->question); /* none is open */
    free(asker);
    host_answer();
}
END_TEST

/* Of a card that is "good" or not. */
static int judge(void *arg, const void *data, size_t size)
{
    (*(int *) arg)++;
    return size == 4 && memcmp(data, "good", 4) == 0 ? OPAL_SUCCESS : OPAL_ERR_BAD_PARAM;
}

START_TEST(what_is_known_before_the_first_use_decides)
{
    int judged = 0;
    host_reset(true, "good");
    ck_assert(btl_card_may_lead(&cards, &peer, judge, &judged));
    host_reset(true, "evil");
    ck_assert(!btl_card_may_lead(&cards, &peer, judge, &judged));
    ck_assert_int_eq(judged, 2);
    host_reset(true, NULL);
    ck_assert(!btl_card_may_lead(&cards, &peer, judge, &judged));
    host_reset(false, "evil"); /* it is not here */
    ck_assert(btl_card_may_lead(&cards, &peer, judge, &judged));
    ck_assert_int_eq(judged, 2);
    const struct keel_host_ops no_peek = {.get_card = host_get_card};
    const struct btl_host blind_host = {.ops = &no_peek};
    const struct btl_cards blind = {.host = &blind_host, .name = "wire"};
    ck_assert(btl_card_may_lead(&blind, &peer, judge, &judged));
}
END_TEST

UNIT_MAIN("card")
