/* Receives that are taken back: what was due to them goes to others, or is there again. */
#include <config.h>

#include <base/types/name.h>
#include <rml/calls/calls.h>
#include <rml/calls/receive.h>

/* Chooses receives: those of the application that were posted with a peer and a tag, wildcards
 * taken literally, or all of them, or one. */
struct choice {
    const orte_process_name_t *peer; /* NULL: every peer and tag */
    orte_rml_tag_t tag;
    const struct rml_receive *one; /* or just this */
};

static bool chosen(const struct choice *choice, const struct rml_receive *receive)
{
    if (choice->one) {
        return receive == choice->one;
    }
    return (receive->kind == RML_RECEIVE_IOV || receive->kind == RML_RECEIVE_BUFFER) &&
           (!choice->peer || (receive->posted.tag == choice->tag &&
                              name_equal(&receive->posted.peer, choice->peer)));
}

/* A returned message that found another receive goes before what arrived later. */
static void reorder_locked(struct rml *rml, struct rml_message *message)
{
    struct rml_completion *completion;
    list_for_each (completion, &rml->due, struct rml_completion, link) {
        struct rml_message *other;
        if (rml_receive_due(completion, &other) && other && other->arrival > message->arrival) {
            list_remove(&message->completion.link);
            list_insert_before(&completion->link, &message->completion.link);
            return;
        }
    }
}

static void return_locked(struct rml *rml, struct rml_message *message)
{
    bool copy = message->posted->flags & ORTE_RML_PEEK;
    rml_receive_unref_locked(rml_receive_of(message->posted));
    message->posted = NULL;
    if (copy) {
        rml_message_destroy(message);
        return;
    }
    list_init(&message->completion.link);
    size_t due = rml->due_count;
    rml_match_return(&rml->match, message);
    if (rml->due_count > due && rml->due.prev == &message->completion.link) {
        reorder_locked(rml, message);
    }
}

/* Takes back what is due to the chosen receives: messages into the list, by their link. */
static size_t undue_chosen_locked(struct rml *rml, const struct choice *choice,
                                  struct list *messages)
{
    size_t found = 0;
    struct rml_completion *completion;
    list_for_each (completion, &rml->due, struct rml_completion, link) {
        struct rml_message *message;
        struct rml_receive *receive = rml_receive_due(completion, &message);
        if (!receive || !chosen(choice, receive)) {
            continue;
        }
        rml_undue_locked(rml, completion);
        if (message) {
            list_append(messages, &message->link);
        } else {
            rml_receive_unref_locked(receive);
        }
        found++;
    }
    return found;
}

static size_t cancel_locked(struct rml *rml, const struct choice *choice)
{
    size_t found = 0;
    struct list messages = LIST_INIT(messages);
    struct rml_posted *posted;
    found += undue_chosen_locked(rml, choice, &messages);
    list_for_each (posted, &rml->match.posted, struct rml_posted, link) {
        if (chosen(choice, rml_receive_of(posted))) {
            rml_match_remove(posted);
            rml_receive_unref_locked(rml_receive_of(posted));
            found++;
        }
    }
    for (struct list *link; (link = list_pop(&messages));) {
        return_locked(rml, container_of(link, struct rml_message, link));
    }
    return found;
}

int rml_call_recv_cancel(struct rml *rml, const orte_process_name_t *peer, orte_rml_tag_t tag)
{
    if (!rml_receive_valid(peer, tag)) {
        return ORTE_ERR_BAD_PARAM;
    }
    pthread_mutex_lock(&rml->lock);
    size_t found = cancel_locked(rml, &(struct choice){.peer = peer, .tag = tag});
    pthread_mutex_unlock(&rml->lock);
    return found > 0 ? ORTE_SUCCESS : ORTE_ERR_NOT_FOUND;
}

void rml_drop_receives(struct rml *rml)
{
    struct rml_posted *posted;
    pthread_mutex_lock(&rml->lock);
    (void) cancel_locked(rml, &(struct choice){.peer = NULL});
    list_for_each (posted, &rml->match.posted, struct rml_posted, link) {
        if (rml_receive_of(posted)->kind == RML_RECEIVE_WAIT) {
            rml_receive_fail_locked(rml, rml_receive_of(posted), ORTE_ERR_COMM_DISABLED);
        }
    }
    pthread_mutex_unlock(&rml->lock);
}

void rml_cancel_locked(struct rml *rml, const struct rml_receive *receive)
{
    (void) cancel_locked(rml, &(struct choice){.one = receive});
}
