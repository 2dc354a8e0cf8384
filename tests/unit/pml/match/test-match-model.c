/* Random histories beside a reference matcher: plain lists, searched from the front. */
#include <config.h>

#include <pml/match/match.h>
#include <string.h>
#include <tests/lib/unit.h>

#ifdef __SANITIZE_ADDRESS__
enum { HISTORIES = 25000 };
#else
enum { HISTORIES = 500000 };
#endif
enum {
    STEPS = 30,   /* of a history */
    SOURCES = 3,  /* each with several rails: */
    AHEAD = 5,    /* a message passes at most so many */
    ITEMS = STEPS /* of messages, and of receives */
};

/* ---- the reference: items by number; what waits, in its order ---- */

struct item {
    int32_t source, tag;
};

struct queue {
    int items[ITEMS];
    int count;
};

static struct item sent[ITEMS], wanted[ITEMS];
static struct queue unexpected, posted;
static size_t waiting[SOURCES]; /* of each source, matched by nobody */

static bool fits(const struct item *receive, const struct item *message)
{
    return (receive->source == MATCH_ANY_SOURCE || receive->source == message->source) &&
           (receive->tag == MATCH_ANY_TAG ? message->tag >= 0 : receive->tag == message->tag);
}

static void queue_add(struct queue *queue, int item)
{
    queue->items[queue->count++] = item;
}

static void queue_cut(struct queue *queue, int at)
{
    queue->count--;
    memmove(&queue->items[at], &queue->items[at + 1],
            (size_t) (queue->count - at) * sizeof(*queue->items));
}

/* Where the first message stands that fits; -1: nowhere. */
static int message_for(const struct item *receive)
{
    for (int at = 0; at < unexpected.count; at++) {
        if (fits(receive, &sent[unexpected.items[at]])) {
            return at;
        }
    }
    return -1;
}

/* The message that such a receive takes, or -1. */
static int reference_take(const struct item *receive)
{
    int at = message_for(receive), message = at < 0 ? -1 : unexpected.items[at];

    if (at >= 0) {
        queue_cut(&unexpected, at);
        waiting[sent[message].source]--;
    }
    return message;
}

/* The receive that takes the message, or -1. */
static int reference_arrive(int message)
{
    for (int at = 0; at < posted.count; at++) {
        int receive = posted.items[at];
        if (fits(&wanted[receive], &sent[message])) {
            queue_cut(&posted, at);
            waiting[sent[message].source]--;
            return receive;
        }
    }
    queue_add(&unexpected, message);
    return -1;
}

/* ---- a history ---- */

static unsigned history;

/* As ck_assert, which takes notes each time. */
static void must(bool holds, const char *what)
{
    if (!holds) {
        ck_abort_msg("history %u: %s", history, what);
    }
}

static uint64_t random_state = 1;

static uint32_t below(uint32_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t) ((random_state >> 33) % limit);
}

static struct match match;
static struct match_quota quotas[SOURCES];
static struct match_source sources[SOURCES];
static struct match_message messages[ITEMS];
static struct match_receive receives[ITEMS];
static uint32_t first, last;
/* What each source sent, in order; whether it has come; how many counted already. */
static struct queue of_source[SOURCES];
static bool came[ITEMS];
static int counted[SOURCES];
static int sends, receives_used;

static void history_begin(void)
{
    first = (last - below(8)) & last;
    match_init(&match);
    for (int32_t i = 0; i < SOURCES; i++) {
        quotas[i] = (struct match_quota){.bytes = 0};
        match_source_init(&sources[i], i, &quotas[i], last, AHEAD, first);
        of_source[i].count = counted[i] = 0;
        waiting[i] = 0;
    }
    unexpected.count = posted.count = 0;
    sends = receives_used = 0;
}

static int32_t any_tag_of(void)
{
    return (int32_t) below(4) - 1;
}

static struct item any_receive(void)
{
    return (struct item){below(3) ? (int32_t) below(SOURCES) : MATCH_ANY_SOURCE,
                         below(3) ? any_tag_of() : MATCH_ANY_TAG};
}

static int number_of(const struct match_message *message)
{
    return message ? (int) (message - messages) : -1;
}

/* The message has come: what its source sent up to the first gap counts, in order. */
static void check_matches(int source, struct list *matches)
{
    const struct queue *queue = &of_source[source];

    while (counted[source] < queue->count && came[queue->items[counted[source]]]) {
        int message = queue->items[counted[source]++];
        int receive = reference_arrive(message);
        if (receive >= 0) {
            must(list_pop(matches) == &receives[receive].link.queue, "the receive matched");
            must(receives[receive].message == &messages[message], "its message");
        }
    }
    must(list_empty(matches), "no other receive is matched");
}

/* One of the source's messages comes by some rail: a new one, a late one, or one that came before.
 */
static void step_arrive(void)
{
    struct list matches = LIST_INIT(matches);
    int source = (int) below(SOURCES);
    struct queue *queue = &of_source[source];
    int low = counted[source] > 0 ? counted[source] - 1 : 0;
    int at = low + (int) below(AHEAD);

    while (queue->count <= at) { /* it and those before it are sent */
        if (sends == ITEMS) {
            return;
        }
        sent[sends] = (struct item){source, any_tag_of()};
        came[sends] = false;
        queue_add(queue, sends++);
    }
    int message = queue->items[at];
    uint32_t number = (first + (uint32_t) at) & last;
    if (came[message]) {
        struct match_message copy = {.tag = sent[message].tag};
        must(match_arrive(&match, &sources[source], &copy, number, &matches) == REORDER_AGAIN,
             "a copy is refused");
        return;
    }
    messages[message].tag = sent[message].tag;
    messages[message].bytes = 1;
    came[message] = true;
    waiting[source]++;
    struct match_receive *at_once =
        below(2) > 0 ? match_at_once(&match, &sources[source], sent[message].tag, number) : NULL;
    if (at_once) {
        must(at == counted[source], "a message in order");
        messages[message].source = &sources[source];
        at_once->message = &messages[message];
        list_append(&matches, &at_once->link.queue);
    } else {
        must(match_arrive(&match, &sources[source], &messages[message], number, &matches) ==
                 (at == counted[source] ? REORDER_NOW : REORDER_KEPT),
             "the verdict of an arrival");
    }
    check_matches(source, &matches);
}

static void step_post(void)
{
    int receive = receives_used++;

    wanted[receive] = any_receive();
    receives[receive] =
        (struct match_receive){.source = wanted[receive].source, .tag = wanted[receive].tag};
    int message = reference_take(&wanted[receive]);
    must(number_of(match_post(&match, &receives[receive])) == message, "what a receive takes");
    if (message < 0) {
        queue_add(&posted, receive);
    }
}

static void step_probe(void)
{
    struct item probe = any_receive();
    int at = message_for(&probe);

    must(number_of(match_probe(&match, probe.source, probe.tag)) ==
             (at < 0 ? -1 : unexpected.items[at]),
         "what a probe finds");
}

static void step_take(void)
{
    struct item probe = any_receive();

    must(number_of(match_take(&match, probe.source, probe.tag)) == reference_take(&probe),
         "the message taken out");
}

static void step_cancel(void)
{
    if (receives_used == 0) {
        return;
    }
    int receive = (int) below((uint32_t) receives_used);
    int at = 0;
    while (at < posted.count && posted.items[at] != receive) {
        at++;
    }
    must(match_cancel(&match, &receives[receive]) == (at < posted.count), "cancelled or not");
    if (at < posted.count) {
        queue_cut(&posted, at);
    }
}

/* All that waits is given back, and nothing else. */
static void history_end(void)
{
    int left = unexpected.count;

    for (const struct match_message *message; (message = match_drop(&match)); left--) {
        waiting[message->source->rank]--;
    }
    must(left == 0, "every unexpected message is dropped");
    for (int source = 0; source < SOURCES; source++) {
        while (match_source_drop(&sources[source])) {
            waiting[source]--;
        }
        must(waiting[source] == 0 && quotas[source].bytes == 0, "and every message ahead");
    }
    while (posted.count > 0) {
        must(match_cancel(&match, &receives[posted.items[--posted.count]]), "it was posted");
    }
    must(match.receives.keys + match.messages.keys == 0, "nothing is left");
    match_fini(&match);
}

static void check_histories(uint32_t last_number)
{
    /* Mostly arrivals and receives, in shares that differ from history to history. */
    static void (*const steps[])(void) = {step_arrive, step_post, step_probe, step_take,
                                          step_cancel};
    last = last_number;
    for (history = 0; history < HISTORIES; history++) {
        uint32_t arrivals = 2 + below(8);
        history_begin();
        for (int i = 0; i < STEPS; i++) {
            uint32_t kind = below(14);
            steps[kind < arrivals ? 0 : kind < 11 ? 1 : kind - 9]();
            for (int source = 0; source < SOURCES; source++) {
                must(quotas[source].bytes == waiting[source], "the bytes counted");
            }
        }
        history_end();
    }
}

START_TEST(with_numbers_of_16_bits)
{
    check_histories(UINT16_MAX);
}
END_TEST

START_TEST(with_numbers_of_32_bits)
{
    random_state = 2;
    check_histories(UINT32_MAX);
}
END_TEST

UNIT_MAIN("match model")
