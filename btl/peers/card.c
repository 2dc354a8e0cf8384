#include <config.h>

#include <base/settings/log.h>
#include <btl/peers/card.h>
#include <stdio.h>
#include <stdlib.h>

enum { CARD_KEY = 64 };

struct btl_card_question {
    struct btl_card_question **place; /* whoever asks; NULL: nobody wants the answer any more */
    opal_proc_t peer;
    btl_card_fn answer;
    void *arg;
};

/* "btl.tcp", and after a restart "btl.tcp.1". */
static void key_of(char key[CARD_KEY], const struct btl_cards *cards)
{
    if (cards->life == 0) {
        snprintf(key, CARD_KEY, "btl.%s", cards->name);
    } else {
        snprintf(key, CARD_KEY, "btl.%s.%u", cards->name, cards->life);
    }
}

int btl_card_publish(const struct btl_cards *cards, const void *data, size_t size)
{
    char key[CARD_KEY];

    key_of(key, cards);
    return cards->host->ops->put_card(cards->host->arg, key, data, size);
}

/* keel_card_fn of the host, which may be inside a call of its own. */
static void answered(void *arg, int status, const void *data, size_t size)
{
    struct btl_card_question *question = arg;

    btl_enter();
    struct btl_card_question asked = *question;
    free(question);
    if (asked.place) {
        *asked.place = NULL;
        asked.answer(asked.arg, status, data, size);
    }
    btl_leave();
}

int btl_card_ask(const struct btl_cards *cards, const opal_proc_t *peer,
                 struct btl_card_question **place, btl_card_fn answer, void *arg)
{
    struct btl_card_question *question = malloc(sizeof(*question));
    char key[CARD_KEY];

    if (!question) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    *question = (struct btl_card_question){place, *peer, answer, arg};
    *place = question;
    key_of(key, cards);
    cards->host->ops->get_card(cards->host->arg, &question->peer, key, answered, question);
    return OPAL_SUCCESS;
}

void btl_card_cancel(struct btl_card_question **place)
{
    if (*place) {
        (*place)->place = NULL;
        *place = NULL;
    }
}

bool btl_card_may_lead(const struct btl_cards *cards, const opal_proc_t *peer,
                       int (*read)(void *arg, const void *data, size_t size), void *arg)
{
    const struct btl_host *host = cards->host;
    int status = OPAL_ERR_NOT_AVAILABLE;
    const void *data;
    size_t size;
    char key[CARD_KEY];

    if (host->ops->peek_card) {
        key_of(key, cards);
        status = host->ops->peek_card(host->arg, peer, key, &data, &size);
    }
    if (status == OPAL_ERR_NOT_AVAILABLE) {
        return true;
    }
    if (status == OPAL_SUCCESS) {
        status = read(arg, data, size);
    }
    if (status != OPAL_SUCCESS && status != OPAL_ERR_NOT_AVAILABLE) {
        log_info(LOG_BTL, "%s: %s has no card that leads to it: %s", cards->name,
                 ORTE_NAME_PRINT(&peer->proc_name), opal_strerror(status));
    }
    return status == OPAL_SUCCESS;
}
