/* Posted receives: completing, failing, posting. The matching itself is in rml/message/match.c. */
#include <config.h>

#include <base/settings/log.h>
#include <base/types/name.h>
#include <rml/calls/receive.h>
#include <stdlib.h>
#include <string.h>

void rml_receive_unref_locked(struct rml_receive *receive)
{
    if (--receive->refs == 0) {
        free(receive);
    }
}

/* --- completing --- */

static void call_iov(struct rml_receive *receive, struct rml_message *message)
{
    struct iovec *parts = receive->parts;
    size_t size = (size_t) receive->count * sizeof(*parts);
    orte_process_name_t origin = message->info.origin;
    bool persistent = receive->posted.flags & ORTE_RML_PERSISTENT;
    int status = ORTE_ERR_OUT_OF_RESOURCE;
    if (persistent) {
        parts = malloc(size + 1); /* the callback may write into it */
    }
    if (parts) {
        if (persistent) {
            memcpy(parts, receive->parts, size);
        }
        status = rml_message_scatter(message, parts, receive->count, receive->posted.flags);
    }
    receive->iov_fn(status, &origin, parts ? parts : receive->parts, receive->count,
                    message->info.tag, receive->arg);
    if (persistent) {
        free(parts);
    }
}

static void call_buffer(struct rml_receive *receive, struct rml_message *message)
{
    orte_process_name_t origin = message->info.origin;
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    int status = buffer ? rml_message_load(message, buffer) : ORTE_ERR_OUT_OF_RESOURCE;
    if (receive->kind == RML_RECEIVE_BUFFER) {
        receive->buffer_fn(status, &origin, buffer, message->info.tag, receive->arg);
    } else if (status == ORTE_SUCCESS) {
        receive->handler_fn(receive->arg, &message->info, &buffer);
    } else {
        log_error(LOG_RML, "no memory for a message of tag %u from %s", message->info.tag,
                  ORTE_NAME_PRINT(&origin));
    }
    if (buffer) {
        OBJ_RELEASE(buffer);
    }
}

static void run_delivery(struct rml *rml, struct rml_completion *completion)
{
    struct rml_message *message = container_of(completion, struct rml_message, completion);
    struct rml_receive *receive = rml_receive_of(message->posted);
    if (receive->kind == RML_RECEIVE_IOV) {
        call_iov(receive, message);
    } else {
        call_buffer(receive, message);
    }
    pthread_mutex_lock(&rml->lock);
    rml_consumed_locked(rml, message);
    rml_receive_unref_locked(receive);
    pthread_mutex_unlock(&rml->lock);
    rml_message_destroy(message);
}

static void drop_delivery(struct rml *rml, struct rml_completion *completion)
{
    struct rml_message *message = container_of(completion, struct rml_message, completion);
    (void) rml;
    rml_receive_unref_locked(rml_receive_of(message->posted));
    rml_message_destroy(message);
}

static void run_failure(struct rml *rml, struct rml_completion *completion)
{
    struct rml_receive *receive = container_of(completion, struct rml_receive, failure);
    orte_process_name_t peer = receive->posted.peer;
    if (receive->kind == RML_RECEIVE_IOV) {
        receive->iov_fn(receive->status, &peer, receive->parts, receive->count, receive->posted.tag,
                        receive->arg);
    } else if (receive->kind == RML_RECEIVE_BUFFER) {
        receive->buffer_fn(receive->status, &peer, NULL, receive->posted.tag, receive->arg);
    }
    pthread_mutex_lock(&rml->lock);
    rml_receive_unref_locked(receive);
    pthread_mutex_unlock(&rml->lock);
}

static void drop_failure(struct rml *rml, struct rml_completion *completion)
{
    (void) rml;
    rml_receive_unref_locked(container_of(completion, struct rml_receive, failure));
}

struct rml_receive *rml_receive_due(struct rml_completion *completion, struct rml_message **message)
{
    *message = NULL;
    if (completion->run == run_failure) {
        return container_of(completion, struct rml_receive, failure);
    }
    if (completion->run != run_delivery) {
        return NULL;
    }
    *message = container_of(completion, struct rml_message, completion);
    return rml_receive_of((*message)->posted);
}

void rml_receive_fail_locked(struct rml *rml, struct rml_receive *receive, int status)
{
    rml_match_remove(&receive->posted);
    receive->status = status;
    if (receive->kind == RML_RECEIVE_WAIT) {
        __atomic_store_n(&receive->done, true, __ATOMIC_RELEASE);
        rml_wake_locked(rml);
    } else {
        rml_due_locked(rml, &receive->failure);
    }
}

void rml_matched(void *arg, struct rml_posted *posted, struct rml_message *message)
{
    struct rml *rml = arg;
    struct rml_receive *receive = rml_receive_of(posted);
    if (!message) {
        rml_receive_fail_locked(rml, receive, ORTE_ERR_OUT_OF_RESOURCE);
        return;
    }
    if (receive->kind == RML_RECEIVE_WAIT) {
        receive->message = message;
        __atomic_store_n(&receive->done, true, __ATOMIC_RELEASE);
        rml_wake_locked(rml);
        return;
    }
    if (posted->flags & ORTE_RML_PERSISTENT) {
        receive->refs++; /* else the queue's reference moves on */
    }
    message->posted = posted;
    message->completion.run = run_delivery;
    message->completion.drop = drop_delivery;
    message->completion.recursive =
        receive->kind == RML_RECEIVE_HANDLER || (posted->flags & ORTE_RML_FLAG_RECURSIVE_CALLBACK);
    rml_due_locked(rml, &message->completion);
}

/* In a daemon nobody waits for what ranks and tools make up: their messages are bounded. */
void rml_deliver_locked(struct rml *rml, struct rml_message *message)
{
    struct rml_info info = message->info;
    unsigned held = 0;
    rml_match_arrive(&rml->match, message);
    if (!rml_is_daemon(rml) || info.role == OOB_KEY_CONTROL ||
        rml->match.unexpected_bytes <= rml->unexpected_max ||
        rml->match.unexpected.prev != &message->link) {
        return;
    }
    rml_consumed_locked(rml, message);
    (void) !rml_match_drop_newest(&rml->match, message);
    rml->counters.overflow++;
    if (log_rate_ok("rml unexpected", &held)) {
        log_error(LOG_RML, "a message of tag %u from %s is dropped: too many that nobody takes",
                  info.tag, ORTE_NAME_PRINT(&info.origin));
    }
}

/* --- posting --- */

bool rml_receive_valid(const orte_process_name_t *peer, orte_rml_tag_t tag)
{
    return peer && tag != ORTE_RML_TAG_INVALID && peer->jobid != ORTE_JOBID_INVALID &&
           peer->vpid != ORTE_VPID_INVALID;
}

struct rml_receive *rml_receive_create(enum rml_receive_kind kind, const orte_process_name_t *peer,
                                       orte_rml_tag_t tag, int flags, const struct iovec *parts,
                                       int count)
{
    size_t size = (size_t) count * sizeof(*parts);
    struct rml_receive *receive = calloc(1, sizeof(*receive) + size);
    if (!receive) {
        return NULL;
    }
    list_init(&receive->posted.link);
    receive->failure.run = run_failure;
    receive->failure.drop = drop_failure;
    receive->failure.recursive = flags & ORTE_RML_FLAG_RECURSIVE_CALLBACK;
    receive->posted.peer = *peer;
    receive->posted.tag = tag;
    receive->posted.flags = flags;
    receive->kind = kind;
    receive->refs = 1;
    receive->count = count;
    if (size > 0) {
        memcpy(receive->parts, parts, size);
    }
    return receive;
}

/* Can messages still come from there, without the link to the daemon? */
static bool reachable_locked(struct rml *rml, const orte_process_name_t *peer)
{
    if (name_equal(peer, &rml->config.name)) {
        return true;
    }
    const struct rml_peer *known = rml_peer_find(&rml->peers, peer);
    return known && known->state == RML_PEER_UP;
}

void rml_fail_receives_locked(struct rml *rml)
{
    struct rml_posted *posted;
    list_for_each (posted, &rml->match.posted, struct rml_posted, link) {
        struct rml_receive *receive = rml_receive_of(posted);
        if (receive->kind != RML_RECEIVE_HANDLER && !reachable_locked(rml, &posted->peer)) {
            rml_receive_fail_locked(rml, receive, ORTE_ERR_COMM_FAILURE);
        }
    }
}

void rml_fail_receives_from_locked(struct rml *rml, const struct rml_peer *peer)
{
    struct rml_posted *posted;
    list_for_each (posted, &rml->match.posted, struct rml_posted, link) {
        struct rml_receive *receive = rml_receive_of(posted);
        if (receive->kind != RML_RECEIVE_HANDLER && name_equal(&posted->peer, &peer->name)) {
            rml_receive_fail_locked(rml, receive, ORTE_ERR_COMM_FAILURE);
        }
    }
}

void rml_care_for_posted_locked(struct rml *rml)
{
    struct rml_posted *posted;
    list_for_each (posted, &rml->match.posted, struct rml_posted, link) {
        if (rml_receive_of(posted)->kind != RML_RECEIVE_HANDLER) {
            rml_care_locked(rml, &posted->peer);
        }
    }
}

orte_rml_tag_t rml_waiting_tag_locked(const struct rml *rml, const struct rml_peer *peer)
{
    const struct rml_posted *posted;
    list_for_each (posted, &rml->match.posted, struct rml_posted, link) {
        if (container_of(posted, struct rml_receive, posted)->kind != RML_RECEIVE_HANDLER &&
            rml_name_matches(&posted->peer, &peer->name)) {
            return posted->tag;
        }
    }
    return ORTE_RML_TAG_INVALID;
}

/* Will nothing come from there any more? */
static bool hopeless_locked(struct rml *rml, const orte_process_name_t *name)
{
    const struct rml_peer *peer = rml_peer_find(&rml->peers, name);
    return (peer && peer->gone) || (rml->upstream_down && !reachable_locked(rml, name));
}

void rml_receive_post(struct rml *rml, struct rml_receive *receive)
{
    pthread_mutex_lock(&rml->lock);
    receive->refs++; /* for the look at its link */
    rml_match_post(&rml->match, &receive->posted);
    bool waits = !list_empty(&receive->posted.link);
    if (waits && rml->phase == RML_FINALIZED && receive->kind == RML_RECEIVE_WAIT) {
        rml_receive_fail_locked(rml, receive, ORTE_ERR_COMM_DISABLED);
    } else if (waits && hopeless_locked(rml, &receive->posted.peer)) {
        rml_receive_fail_locked(rml, receive, ORTE_ERR_COMM_FAILURE);
    } else if (waits && receive->kind != RML_RECEIVE_HANDLER) {
        rml_care_locked(rml, &receive->posted.peer);
    }
    rml_receive_unref_locked(receive);
    pthread_mutex_unlock(&rml->lock);
}

void rml_receives_fini(struct rml *rml)
{
    for (struct list *link; (link = list_pop(&rml->match.posted));) {
        rml_receive_unref_locked(rml_receive_of(container_of(link, struct rml_posted, link)));
    }
    rml_match_fini(&rml->match);
}
