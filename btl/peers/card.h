/* Cards: what a module publishes so that its peers find it. A restart begins another life of the
 * module, with another card under another key. One thread at a time. */
#ifndef BTL_CARD_H
#define BTL_CARD_H

#include <btl/interface/base.h>

/* The cards of a module and of its peers. */
struct btl_cards {
    const struct btl_host *host; /* borrowed */
    const char *name;            /* "tcp"; a literal */
    unsigned life;               /* how often the module was restarted */
};

/* As put_card of the host, under the key of the module's life. */
int btl_card_publish(const struct btl_cards *cards, const void *data, size_t size) KEEL_MUST_CHECK;

/* A card, or why there is none (status < 0: data NULL); data ends with the call. */
typedef void (*btl_card_fn)(void *arg, int status, const void *data, size_t size);
/* A question that the host has not answered. It cannot be taken back, so it is memory of its own.
 */
struct btl_card_question;
/* Asks for a peer's card. *question is set until answer is called, once, perhaps before this
 * returns. OUT_OF_RESOURCE: nothing was asked. */
int btl_card_ask(const struct btl_cards *cards, const opal_proc_t *peer,
                 struct btl_card_question **question, btl_card_fn answer,
                 void *arg) KEEL_MUST_CHECK;
/* The answer will not be called; *question may be NULL. */
void btl_card_cancel(struct btl_card_question **question);

/* Whether a peer's card leads to it, as far as is known before its first use: read decodes and
 * judges it; NOT_AVAILABLE: another module reaches the peer. A card that is not here yet counts as
 * good. */
bool btl_card_may_lead(const struct btl_cards *cards, const opal_proc_t *peer,
                       int (*read)(void *arg, const void *data, size_t size), void *arg);

#endif
