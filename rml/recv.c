/* Receives: posting, completing, cancelling. The matching itself is in rml/match.c. */
#include <config.h>

#include <base/log.h>
#include <rml/calls.h>
#include <rml/state.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    KIND_WAIT, /* a blocking call: it takes the message itself */
    KIND_IOV,
    KIND_BUFFER,
    KIND_HANDLER, /* rml_handle */
};

struct rml_receive {
    struct rml_posted posted;
    struct rml_completion failure; /* completes without a message, with status */
    enum kind kind;
    int status;

    /* guarded by the RML's lock */
    unsigned refs;               /* the queue's, and one for each message that is due to it */
    struct rml_message *message; /* KIND_WAIT: owned, once done */
    bool done;

    orte_rml_callback_fn_t iov_fn;
    orte_rml_buffer_callback_fn_t buffer_fn;
    rml_handler_fn handler_fn;
    void *arg;
    int count;
    struct iovec parts[]; /* copy of the caller's array */
};

static struct rml_receive *receive_of(struct rml_posted *posted)
{
    return container_of(posted, struct rml_receive, posted);
}

static void unref_locked(struct rml_receive *receive)
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
    if (receive->kind == KIND_BUFFER) {
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
    struct rml_receive *receive = receive_of(message->posted);
    if (receive->kind == KIND_IOV) {
        call_iov(receive, message);
    } else {
        call_buffer(receive, message);
    }
    pthread_mutex_lock(&rml->lock);
    rml_consumed_locked(rml, message);
    unref_locked(receive);
    pthread_mutex_unlock(&rml->lock);
    rml_message_destroy(message);
}

static void drop_delivery(struct rml *rml, struct rml_completion *completion)
{
    struct rml_message *message = container_of(completion, struct rml_message, completion);
    (void) rml;
    unref_locked(receive_of(message->posted));
    rml_message_destroy(message);
}

static void run_failure(struct rml *rml, struct rml_completion *completion)
{
    struct rml_receive *receive = container_of(completion, struct rml_receive, failure);
    orte_process_name_t peer = receive->posted.peer;
    if (receive->kind == KIND_IOV) {
        receive->iov_fn(receive->status, &peer, receive->parts, receive->count, receive->posted.tag,
                        receive->arg);
    } else if (receive->kind == KIND_BUFFER) {
        receive->buffer_fn(receive->status, &peer, NULL, receive->posted.tag, receive->arg);
    }
    pthread_mutex_lock(&rml->lock);
    unref_locked(receive);
    pthread_mutex_unlock(&rml->lock);
}

static void drop_failure(struct rml *rml, struct rml_completion *completion)
{
    (void) rml;
    unref_locked(container_of(completion, struct rml_receive, failure));
}

/* Takes a posted receive off its queue and completes it with an error. */
static void fail_locked(struct rml *rml, struct rml_receive *receive, int status)
{
    rml_match_remove(&receive->posted);
    receive->status = status;
    if (receive->kind == KIND_WAIT) {
        __atomic_store_n(&receive->done, true, __ATOMIC_RELEASE);
        rml_wake_locked(rml);
    } else {
        rml_due_locked(rml, &receive->failure);
    }
}

void rml_matched(void *arg, struct rml_posted *posted, struct rml_message *message)
{
    struct rml *rml = arg;
    struct rml_receive *receive = receive_of(posted);
    if (!message) {
        fail_locked(rml, receive, ORTE_ERR_OUT_OF_RESOURCE);
        return;
    }
    if (receive->kind == KIND_WAIT) {
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
        receive->kind == KIND_HANDLER || (posted->flags & ORTE_RML_FLAG_RECURSIVE_CALLBACK);
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

static bool receive_valid(const orte_process_name_t *peer, orte_rml_tag_t tag)
{
    return peer && tag != ORTE_RML_TAG_INVALID && peer->jobid != ORTE_JOBID_INVALID &&
           peer->vpid != ORTE_VPID_INVALID;
}

static bool parts_valid(const struct iovec *parts, int count, int flags)
{
    if (!parts || count < 0) {
        return false;
    }
    if (flags & ORTE_RML_ALLOC) {
        return count > 0;
    }
    for (int i = 0; i < count; i++) {
        if (!parts[i].iov_base && parts[i].iov_len > 0) {
            return false;
        }
    }
    return true;
}

static struct rml_receive *create(enum kind kind, const orte_process_name_t *peer,
                                  orte_rml_tag_t tag, int flags, const struct iovec *parts,
                                  int count)
{
    size_t size = (size_t) count * sizeof(*parts);
    struct rml_receive *receive = calloc(1, sizeof(*receive) + size);
    if (!receive) {
        return NULL;
    }
    list_init(&receive->posted.link);
    list_init(&receive->failure.link);
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
    if (rml_name_equal(peer, &rml->config.name)) {
        return true;
    }
    const struct rml_peer *known = rml_peer_find(&rml->peers, peer);
    return known && known->state == RML_PEER_UP;
}

void rml_fail_receives_locked(struct rml *rml)
{
    struct rml_posted *posted;
    list_for_each (posted, &rml->match.posted, struct rml_posted, link) {
        struct rml_receive *receive = receive_of(posted);
        if (receive->kind != KIND_HANDLER && !reachable_locked(rml, &posted->peer)) {
            fail_locked(rml, receive, ORTE_ERR_COMM_FAILURE);
        }
    }
}

void rml_fail_receives_from_locked(struct rml *rml, const struct rml_peer *peer)
{
    struct rml_posted *posted;
    list_for_each (posted, &rml->match.posted, struct rml_posted, link) {
        struct rml_receive *receive = receive_of(posted);
        if (receive->kind != KIND_HANDLER && rml_name_equal(&posted->peer, &peer->name)) {
            fail_locked(rml, receive, ORTE_ERR_COMM_FAILURE);
        }
    }
}

void rml_care_for_posted_locked(struct rml *rml)
{
    struct rml_posted *posted;
    list_for_each (posted, &rml->match.posted, struct rml_posted, link) {
        if (receive_of(posted)->kind != KIND_HANDLER) {
            rml_care_locked(rml, &posted->peer);
        }
    }
}

orte_rml_tag_t rml_waiting_tag_locked(const struct rml *rml, const struct rml_peer *peer)
{
    const struct rml_posted *posted;
    list_for_each (posted, &rml->match.posted, struct rml_posted, link) {
        if (container_of(posted, struct rml_receive, posted)->kind != KIND_HANDLER &&
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

static void post(struct rml *rml, struct rml_receive *receive)
{
    pthread_mutex_lock(&rml->lock);
    receive->refs++; /* for the look at its link */
    rml_match_post(&rml->match, &receive->posted);
    bool waits = !list_empty(&receive->posted.link);
    if (waits && rml->phase == RML_FINALIZED && receive->kind == KIND_WAIT) {
        fail_locked(rml, receive, ORTE_ERR_COMM_DISABLED);
    } else if (waits && hopeless_locked(rml, &receive->posted.peer)) {
        fail_locked(rml, receive, ORTE_ERR_COMM_FAILURE);
    } else if (waits && receive->kind != KIND_HANDLER) {
        rml_care_locked(rml, &receive->posted.peer);
    }
    unref_locked(receive);
    pthread_mutex_unlock(&rml->lock);
}

/* --- the calls --- */

/* Blocks for one message; on success it is the caller's. */
static int wait_for_message(struct rml *rml, const orte_process_name_t *peer, orte_rml_tag_t tag,
                            int flags, struct rml_message **message)
{
    if (rml->config.dispatch == RML_DISPATCH_LOOP) {
        return ORTE_ERR_NOT_SUPPORTED;
    }
    flags &= ~ORTE_RML_PERSISTENT;
    struct rml_receive *receive = create(KIND_WAIT, peer, tag, flags, NULL, 0);
    if (!receive) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    post(rml, receive);
    int status = rml_block(rml, &receive->done, 0);
    if (status == ORTE_SUCCESS) {
        status = receive->status;
        *message = receive->message;
    }
    pthread_mutex_lock(&rml->lock);
    if (status == ORTE_SUCCESS) {
        rml_consumed_locked(rml, *message);
    }
    unref_locked(receive);
    pthread_mutex_unlock(&rml->lock);
    return status;
}

int rml_call_recv(struct rml *rml, const orte_process_name_t *peer, struct iovec *msg, int count,
                  orte_rml_tag_t tag, int flags)
{
    struct rml_message *message = NULL;
    if (!receive_valid(peer, tag) || !parts_valid(msg, count, flags)) {
        return ORTE_ERR_BAD_PARAM;
    }
    int status = wait_for_message(rml, peer, tag, flags, &message);
    if (status == ORTE_SUCCESS) {
        status = rml_message_scatter(message, msg, count, flags);
        rml_message_destroy(message);
    }
    return status;
}

int rml_call_recv_buffer(struct rml *rml, const orte_process_name_t *peer, opal_buffer_t *buffer,
                         orte_rml_tag_t tag, int flags)
{
    struct rml_message *message = NULL;
    if (!receive_valid(peer, tag) || !buffer) {
        return ORTE_ERR_BAD_PARAM;
    }
    int status = wait_for_message(rml, peer, tag, flags, &message);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    int size = (int) message->size;
    status = rml_message_load(message, buffer);
    rml_message_destroy(message);
    return status == ORTE_SUCCESS ? size : status;
}

int rml_call_recv_nb(struct rml *rml, const orte_process_name_t *peer, const struct iovec *msg,
                     int count, orte_rml_tag_t tag, int flags, orte_rml_callback_fn_t cbfunc,
                     void *cbdata)
{
    if (!receive_valid(peer, tag) || !parts_valid(msg, count, flags) || !cbfunc) {
        return ORTE_ERR_BAD_PARAM;
    }
    struct rml_receive *receive = create(KIND_IOV, peer, tag, flags, msg, count);
    if (!receive) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    receive->iov_fn = cbfunc;
    receive->arg = cbdata;
    post(rml, receive);
    return ORTE_SUCCESS;
}

int rml_call_recv_buffer_nb(struct rml *rml, const orte_process_name_t *peer, orte_rml_tag_t tag,
                            int flags, orte_rml_buffer_callback_fn_t cbfunc, void *cbdata)
{
    if (!receive_valid(peer, tag) || !cbfunc) {
        return ORTE_ERR_BAD_PARAM;
    }
    struct rml_receive *receive = create(KIND_BUFFER, peer, tag, flags, NULL, 0);
    if (!receive) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    receive->buffer_fn = cbfunc;
    receive->arg = cbdata;
    post(rml, receive);
    return ORTE_SUCCESS;
}

/* --- cancelling --- */

/* Chooses receives: those of the application for a peer and a tag, or all of them, or one. */
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
    return (receive->kind == KIND_IOV || receive->kind == KIND_BUFFER) &&
           (!choice->peer || (receive->posted.tag == choice->tag &&
                              rml_names_overlap(&receive->posted.peer, choice->peer)));
}

/* The receive that a due completion belongs to; NULL: it is a send's. *message: what it brings. */
static struct rml_receive *due_receive(struct rml_completion *completion,
                                       struct rml_message **message)
{
    *message = NULL;
    if (completion->run == run_failure) {
        return container_of(completion, struct rml_receive, failure);
    }
    if (completion->run != run_delivery) {
        return NULL;
    }
    *message = container_of(completion, struct rml_message, completion);
    return receive_of((*message)->posted);
}

/* A returned message that found another receive goes before what arrived later. */
static void reorder_locked(struct rml *rml, struct rml_message *message)
{
    struct rml_completion *completion;
    list_for_each (completion, &rml->due, struct rml_completion, link) {
        struct rml_message *other;
        if (due_receive(completion, &other) && other && other->arrival > message->arrival) {
            list_remove(&message->completion.link);
            list_insert_before(&completion->link, &message->completion.link);
            return;
        }
    }
}

static void return_locked(struct rml *rml, struct rml_message *message)
{
    bool copy = message->posted->flags & ORTE_RML_PEEK;
    unref_locked(receive_of(message->posted));
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
        struct rml_receive *receive = due_receive(completion, &message);
        if (!receive || !chosen(choice, receive)) {
            continue;
        }
        rml_undue_locked(rml, completion);
        if (message) {
            list_append(messages, &message->link);
        } else {
            unref_locked(receive);
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
        if (chosen(choice, receive_of(posted))) {
            rml_match_remove(posted);
            unref_locked(receive_of(posted));
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
    if (!receive_valid(peer, tag)) {
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
        if (receive_of(posted)->kind == KIND_WAIT) {
            fail_locked(rml, receive_of(posted), ORTE_ERR_COMM_DISABLED);
        }
    }
    pthread_mutex_unlock(&rml->lock);
}

/* --- handlers --- */

void rml_handle(struct rml *rml, orte_rml_tag_t tag, rml_handler_fn fn, void *arg)
{
    if (tag == ORTE_RML_TAG_INVALID || tag > ORTE_RML_TAG_MAX) {
        log_error(LOG_RML, "tag %u is not the runtime's: no handler", tag);
        return;
    }
    struct rml_receive *receive = NULL;
    if (fn) {
        receive = create(KIND_HANDLER, ORTE_NAME_WILDCARD, tag, ORTE_RML_PERSISTENT, NULL, 0);
        if (!receive) {
            log_error(LOG_RML, "no memory for the handler of tag %u", tag);
            return;
        }
        receive->handler_fn = fn;
        receive->arg = arg;
    }
    pthread_mutex_lock(&rml->lock);
    if (rml->handlers[tag]) {
        (void) cancel_locked(rml, &(struct choice){.one = rml->handlers[tag]});
    }
    rml->handlers[tag] = receive;
    if (receive) {
        rml_match_post(&rml->match, &receive->posted);
    }
    pthread_mutex_unlock(&rml->lock);
}

void rml_receives_fini(struct rml *rml)
{
    for (struct list *link; (link = list_pop(&rml->match.posted));) {
        unref_locked(receive_of(container_of(link, struct rml_posted, link)));
    }
    rml_match_fini(&rml->match);
}
