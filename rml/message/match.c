#include <config.h>

#include <base/settings/log.h>
#include <rml/message/match.h>

bool rml_name_matches(const orte_process_name_t *mask, const orte_process_name_t *name)
{
    return (mask->jobid == ORTE_JOBID_WILDCARD || mask->jobid == name->jobid) &&
           (mask->vpid == ORTE_VPID_WILDCARD || mask->vpid == name->vpid);
}

/* What a waiting message costs: a flood of empty ones counts too. */
static size_t cost(const struct rml_message *message)
{
    return sizeof(*message) + message->size;
}

static bool wants(const struct rml_posted *posted, const struct rml_message *message)
{
    return posted->tag == message->info.tag &&
           rml_name_matches(&posted->peer, &message->info.origin);
}

void rml_match_init(struct rml_match *match,
                    void (*matched)(void *arg, struct rml_posted *posted,
                                    struct rml_message *message),
                    void *arg)
{
    *match = (struct rml_match){.matched = matched, .arg = arg};
    list_init(&match->posted);
    list_init(&match->unexpected);
}

void rml_match_fini(struct rml_match *match)
{
    for (struct list *link; (link = list_pop(&match->unexpected));) {
        rml_message_destroy(container_of(link, struct rml_message, link));
    }
    match->unexpected_bytes = 0;
}

/* Gives a copy to a receive that peeks, or without memory nothing; then a persistent one stays
 * posted and sees the next message. */
static bool peek(struct rml_match *match, struct rml_posted *posted,
                 const struct rml_message *message)
{
    struct rml_message *copy = rml_message_clone(message);
    bool persistent = posted->flags & ORTE_RML_PERSISTENT;
    if (!copy && persistent) {
        log_error(LOG_RML, "no memory for a peek at %zu bytes", message->size);
        return false;
    }
    if (!persistent) {
        list_remove(&posted->link);
    }
    match->matched(match->arg, posted, copy);
    return true;
}

/* True: a receive took the message. */
static bool offer(struct rml_match *match, struct rml_message *message)
{
    struct rml_posted *posted;
    list_for_each (posted, &match->posted, struct rml_posted, link) {
        if (!wants(posted, message)) {
            continue;
        }
        if (posted->flags & ORTE_RML_PEEK) {
            (void) peek(match, posted, message);
            continue;
        }
        if (!(posted->flags & ORTE_RML_PERSISTENT)) {
            list_remove(&posted->link);
        }
        match->matched(match->arg, posted, message);
        return true;
    }
    return false;
}

void rml_match_arrive(struct rml_match *match, struct rml_message *message)
{
    message->arrival = match->arrivals++;
    if (!offer(match, message)) {
        list_append(&match->unexpected, &message->link);
        match->unexpected_bytes += cost(message);
    }
}

bool rml_match_drop_newest(struct rml_match *match, const struct rml_message *message)
{
    if (match->unexpected.prev != &message->link) {
        return false;
    }
    struct rml_message *newest = container_of(match->unexpected.prev, struct rml_message, link);
    list_remove(&newest->link);
    match->unexpected_bytes -= cost(newest);
    rml_message_destroy(newest);
    return true;
}

void rml_match_post(struct rml_match *match, struct rml_posted *posted)
{
    bool persistent = posted->flags & ORTE_RML_PERSISTENT;
    list_append(&match->posted, &posted->link);
    struct rml_message *message;
    list_for_each (message, &match->unexpected, struct rml_message, link) {
        if (!wants(posted, message)) {
            continue;
        }
        if (posted->flags & ORTE_RML_PEEK) {
            if (peek(match, posted, message) && !persistent) {
                return;
            }
            continue;
        }
        list_remove(&message->link);
        match->unexpected_bytes -= cost(message);
        if (!persistent) {
            list_remove(&posted->link);
            match->matched(match->arg, posted, message);
            return;
        }
        match->matched(match->arg, posted, message);
    }
}

void rml_match_remove(struct rml_posted *posted)
{
    list_remove(&posted->link);
}

void rml_match_return(struct rml_match *match, struct rml_message *message)
{
    if (offer(match, message)) {
        return;
    }
    struct list *at = &match->unexpected;
    struct rml_message *other;
    list_for_each (other, &match->unexpected, struct rml_message, link) {
        if (other->arrival > message->arrival) {
            at = &other->link;
            break;
        }
    }
    list_insert_before(at, &message->link);
    match->unexpected_bytes += cost(message);
}
