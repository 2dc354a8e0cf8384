#include <config.h>

#include <pml/match/match.h>

/* What of a receive is ANY. */
enum { WILD_TAG = 1, WILD_SOURCE = 2, WILD_BOTH = WILD_TAG | WILD_SOURCE };

static unsigned wildness(int32_t source, int32_t tag)
{
    return (source == MATCH_ANY_SOURCE ? WILD_SOURCE : 0) | (tag == MATCH_ANY_TAG ? WILD_TAG : 0);
}

static uint64_t key_of(int32_t source, int32_t tag)
{
    return (uint64_t) (uint32_t) source << 32 | (uint32_t) tag;
}

void match_init(struct match *match)
{
    *match = (struct match){.posts = 0};
    queues_init(&match->receives);
    queues_init(&match->messages);
    list_init(&match->any);
    list_init(&match->internal);
}

void match_fini(struct match *match)
{
    queues_fini(&match->receives);
    queues_fini(&match->messages);
}

void match_source_init(struct match_source *source, int32_t rank, struct match_quota *quota,
                       uint32_t last, uint32_t ahead, uint32_t first)
{
    *source = (struct match_source){.rank = rank, .quota = quota};
    reorder_init(&source->order, last, ahead, first);
}

/* ---- messages that wait for a receive ---- */

static void message_queue(struct match *match, struct match_message *message)
{
    int32_t rank = message->source->rank, tag = message->tag;

    queues_append(&match->messages, &message->exact, key_of(rank, tag));
    queues_append(&match->messages, &message->any_source, key_of(MATCH_ANY_SOURCE, tag));
    if (tag >= 0) {
        queues_append(&match->messages, &message->any_tag, key_of(rank, MATCH_ANY_TAG));
    }
    list_append(tag >= 0 ? &match->any : &match->internal, &message->frame.link);
    match_quota_add(message->source->quota, message->bytes);
}

static void message_unqueue(struct match *match, struct match_message *message)
{
    queues_remove(&match->messages, &message->exact);
    queues_remove(&match->messages, &message->any_source);
    if (message->tag >= 0) {
        queues_remove(&match->messages, &message->any_tag);
    }
    list_remove(&message->frame.link);
    message->source->quota->bytes -= message->bytes;
}

static struct match_message *message_listed(const struct list *list)
{
    return list_empty(list) ? NULL : container_of(list->next, struct match_message, frame.link);
}

/* The oldest that such a receive may take. */
static struct match_message *message_find(struct match *match, int32_t source, int32_t tag)
{
    unsigned wild = wildness(source, tag);

    if (wild == WILD_BOTH) {
        return message_listed(&match->any);
    }
    struct queue_link *link = queues_first(&match->messages, key_of(source, tag));
    if (!link) {
        return NULL;
    }
    return wild == WILD_TAG      ? container_of(link, struct match_message, any_tag)
           : wild == WILD_SOURCE ? container_of(link, struct match_message, any_source)
                                 : container_of(link, struct match_message, exact);
}

const struct match_message *match_probe(struct match *match, int32_t source, int32_t tag)
{
    return message_find(match, source, tag);
}

struct match_message *match_take(struct match *match, int32_t source, int32_t tag)
{
    struct match_message *message = message_find(match, source, tag);

    if (message) {
        message_unqueue(match, message);
    }
    return message;
}

struct match_message *match_drop(struct match *match)
{
    struct match_message *message = message_listed(&match->any);

    message = message ? message : message_listed(&match->internal);
    if (message) {
        message_unqueue(match, message);
    }
    return message;
}

/* ---- receives ---- */

struct match_message *match_post(struct match *match, struct match_receive *receive)
{
    /* Mostly none waits: that spares the call. */
    receive->message =
        match->messages.keys > 0 ? match_take(match, receive->source, receive->tag) : NULL;
    receive->posted = !receive->message;
    if (receive->posted) {
        receive->order = match->posts++;
        match->posted[wildness(receive->source, receive->tag)]++;
        queues_append(&match->receives, &receive->link, key_of(receive->source, receive->tag));
    }
    return receive->message;
}

static void receive_unqueue(struct match *match, struct match_receive *receive)
{
    receive->posted = false;
    match->posted[wildness(receive->source, receive->tag)]--;
    queues_remove(&match->receives, &receive->link);
}

bool match_cancel(struct match *match, struct match_receive *receive)
{
    bool posted = receive->posted;

    if (posted) {
        receive_unqueue(match, receive);
    }
    return posted;
}

struct match_receive *match_give_up(struct match *match, int32_t source)
{
    struct queue_link *link = queues_any_of(&match->receives, (uint32_t) source);

    if (!link) {
        return NULL;
    }
    struct match_receive *receive = container_of(link, struct match_receive, link);
    receive_unqueue(match, receive);
    return receive;
}

/* The oldest that wants such a message, where some of those that are posted are for ANY. */
static struct match_receive *receive_find(struct match *match, int32_t source, int32_t tag)
{
    struct match_receive *oldest = NULL;

    for (unsigned wild = 0; wild <= WILD_BOTH; wild++) {
        if (match->posted[wild] == 0 || (wild & WILD_TAG && tag < 0)) {
            continue;
        }
        uint64_t key = key_of(wild & WILD_SOURCE ? MATCH_ANY_SOURCE : source,
                              wild & WILD_TAG ? MATCH_ANY_TAG : tag);
        struct queue_link *link = queues_first(&match->receives, key);
        if (link) {
            struct match_receive *receive = container_of(link, struct match_receive, link);
            oldest = oldest && oldest->order < receive->order ? oldest : receive;
        }
    }
    return oldest;
}

/* The same, and it is posted no more; mostly none is for ANY. */
static inline struct match_receive *receive_take(struct match *match, int32_t source, int32_t tag)
{
    const size_t *posted = match->posted;

    if ((posted[WILD_TAG] | posted[WILD_SOURCE] | posted[WILD_BOTH]) > 0) {
        struct match_receive *receive = receive_find(match, source, tag);
        if (receive) {
            receive_unqueue(match, receive);
        }
        return receive;
    }
    struct queue_link *link = queues_take(&match->receives, key_of(source, tag));
    if (!link) {
        return NULL;
    }
    struct match_receive *receive = container_of(link, struct match_receive, link);
    receive->posted = false;
    match->posted[0]--;
    return receive;
}

/* ---- arrival ---- */

/* The kept message that this is the frame of, if any. */
static struct match_message *no_longer_early(struct match_source *source,
                                             struct reorder_frame *frame)
{
    if (!frame) {
        return NULL;
    }
    struct match_message *message = container_of(frame, struct match_message, frame);
    source->quota->bytes -= message->bytes;
    return message;
}

struct match_message *match_source_drop(struct match_source *source)
{
    return no_longer_early(source, reorder_drop(&source->order));
}

static void deliver(struct match *match, struct match_message *message, struct list *matches)
{
    struct match_receive *receive = receive_take(match, message->source->rank, message->tag);

    if (!receive) {
        message_queue(match, message);
        return;
    }
    receive->message = message;
    list_append(matches, &receive->link.queue);
}

struct match_receive *match_at_once(struct match *match, struct match_source *source, int32_t tag,
                                    uint32_t sequence)
{
    if (!reorder_is_next_alone(&source->order, sequence)) {
        return NULL;
    }
    struct match_receive *receive = receive_take(match, source->rank, tag);
    if (receive) {
        reorder_step(&source->order);
    }
    return receive;
}

enum reorder_verdict match_arrive(struct match *match, struct match_source *source,
                                  struct match_message *message, uint32_t sequence,
                                  struct list *matches)
{
    enum reorder_verdict verdict = reorder_put(&source->order, &message->frame, sequence);

    if (verdict == REORDER_KEPT) {
        message->source = source;
        match_quota_add(source->quota, message->bytes);
    } else if (verdict == REORDER_NOW) {
        message->source = source;
        do {
            deliver(match, message, matches);
        } while ((message = no_longer_early(source, reorder_next(&source->order))));
    }
    return verdict;
}
