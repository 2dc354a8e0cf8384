/* Random histories of sends, receives and probes between two to four ranks, over modules of every
 * kind. Each message is received once, whole, by a receive that wants it, and none overtakes
 * another of its sender's that the same receive could have had. */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <tests/unit/pml/world.h>

enum {
    MESSAGES = 120,
    LIVE = 24, /* requests at a time of each kind */
    TAGS = 3,
    ROOM = 3000,
    ANY = KEEL_PML_ANY_SOURCE,
    ANY_TAG = KEEL_PML_ANY_TAG,
    FIRST = 64,
    MAX = 256
};

/* A message; its number is in its bytes. */
struct sent {
    struct keel_pml_request *request;
    char *bytes;
    size_t size;
    int from, to;
    int32_t tag;
    bool came;
};

/* A receive, numbered by when it was posted, or when its message was taken. */
struct received {
    struct keel_pml_request *request;
    char *bytes;
    int32_t source, tag;
    int me, message; /* -1: none yet */
    bool cancelled;
};

static struct keel_pml_context *ctx[WORLD_RANKS];
static struct sent sent[MESSAGES];
static struct received received[4 * MESSAGES];
static size_t sent_count, received_count, came_count;

static const size_t sizes[] = {0,         1,           8,       FIRST - 1, FIRST, FIRST + 1,
                               MAX,       FIRST + MAX, MAX + 1, 2 * MAX,   1000,  FIRST + MAX + 1,
                               ROOM - 100};

static char byte_of(size_t number, size_t offset)
{
    return (char) (number * 7 + offset * 13 + offset / 256 + 1);
}

/* In one piece, or in some that may be empty. */
static opal_convertor_t convertor_of(char *bytes, size_t size, struct iovec parts[4])
{
    opal_convertor_t data;
    size_t at = 0;
    if (world_random(2)) {
        opal_convertor_prepare(&data, bytes, size);
        return data;
    }
    for (int i = 0; i < 4; i++) {
        size_t most = size - at, part = i == 3     ? most
                                        : most > 0 ? world_random((unsigned) most)
                                                   : 0;
        parts[i] = (struct iovec){bytes + at, part};
        at += part;
    }
    ck_assert_int_eq(opal_convertor_prepare_iovec(&data, parts, 4), OPAL_SUCCESS);
    return data;
}

static struct iovec parts_of_sends[MESSAGES][4], parts_of_receives[4 * MESSAGES][4];

static void send_one(void)
{
    struct sent *message = &sent[sent_count];
    keel_pml_mode_t mode = (keel_pml_mode_t) world_random(4);
    message->from = (int) world_random((unsigned) world.rules.ranks);
    message->to = (int) world_random((unsigned) world.rules.ranks);
    message->tag = (int32_t) world_random(TAGS) - 1;
    message->size = sizes[world_random(sizeof(sizes) / sizeof(*sizes))];
    message->came = false;
    message->bytes = malloc(message->size + 1);
    for (size_t i = 0; i < message->size; i++) {
        message->bytes[i] = byte_of(sent_count, i);
    }
    opal_convertor_t data = convertor_of(message->bytes, message->size, parts_of_sends[sent_count]);
    ck_assert_int_eq(keel_pml_isend(ctx[message->from], &data, message->to, message->tag, mode,
                                    &message->request),
                     OPAL_SUCCESS);
    sent_count++;
}

static struct received *receive_new(int me)
{
    struct received *receive = &received[received_count++];
    *receive = (struct received){.me = me, .message = -1, .bytes = malloc(ROOM)};
    memset(receive->bytes, 0, ROOM);
    return receive;
}

static void post_one(int me, int32_t source, int32_t tag)
{
    struct received *receive = receive_new(me);
    opal_convertor_t data =
        convertor_of(receive->bytes, ROOM, parts_of_receives[receive - received]);
    receive->source = source;
    receive->tag = tag;
    ck_assert_int_eq(keel_pml_irecv(ctx[me], &data, source, tag, &receive->request), OPAL_SUCCESS);
}

static int32_t some_source(void)
{
    unsigned ranks = (unsigned) world.rules.ranks, chosen = world_random(ranks + 1);
    return chosen == ranks ? ANY : (int32_t) chosen;
}

static int32_t some_tag(void)
{
    unsigned chosen = world_random(TAGS + 1);
    return chosen == TAGS ? ANY_TAG : (int32_t) chosen - 1;
}

/* A probe sees what a receive at the same time gets. */
static void probe_one(int me)
{
    int32_t source = some_source(), tag = some_tag();
    struct keel_pml_status seen, got;
    struct keel_pml_message *message = NULL;
    bool there = false;
    ck_assert_int_eq(keel_pml_iprobe(ctx[me], source, tag, &there, &seen), OPAL_SUCCESS);
    if (!there) {
        return;
    }
    ck_assert_int_eq(keel_pml_improbe(ctx[me], source, tag, &message, &got), OPAL_SUCCESS);
    ck_assert_ptr_nonnull(message);
    ck_assert(seen.source == got.source && seen.tag == got.tag && seen.bytes == got.bytes);
    struct received *receive = receive_new(me);
    opal_convertor_t data =
        convertor_of(receive->bytes, ROOM, parts_of_receives[receive - received]);
    receive->source = source;
    receive->tag = tag;
    ck_assert_int_eq(keel_pml_imrecv(&message, &data, &receive->request), OPAL_SUCCESS);
}

/* Which message it is: one of that source, tag and size that has not come, with these bytes. */
static int message_in(const struct received *receive, const struct keel_pml_status *status)
{
    for (size_t i = 0; i < sent_count; i++) {
        const struct sent *message = &sent[i];
        if (!message->came && message->from == status->source && message->to == receive->me &&
            message->tag == status->tag && message->size == status->bytes &&
            memcmp(message->bytes, receive->bytes, message->size) == 0) {
            return (int) i;
        }
    }
    return -1;
}

static bool wants(const struct received *receive, const struct sent *message)
{
    return receive->me == message->to && !receive->cancelled &&
           (receive->source == ANY || receive->source == message->from) &&
           (receive->tag == ANY_TAG ? message->tag >= 0 : receive->tag == message->tag);
}

static void look_at(struct received *receive)
{
    struct keel_pml_status status;
    bool done = false;
    if (!receive->request || keel_pml_test(&receive->request, &done, &status) != OPAL_SUCCESS) {
        ck_assert(!receive->request || receive->cancelled);
        receive->request = NULL;
    }
    if (!done || receive->cancelled) {
        return;
    }
    ck_assert(!status.truncated);
    receive->message = message_in(receive, &status);
    ck_assert_int_ge(receive->message, 0);
    ck_assert(wants(receive, &sent[receive->message]));
    ck_assert_int_eq(receive->bytes[status.bytes], 0);
    sent[receive->message].came = true;
    came_count++;
}

static void look_at_all(void)
{
    for (size_t i = 0; i < received_count; i++) {
        look_at(&received[i]);
    }
    for (size_t i = 0; i < sent_count; i++) {
        bool done;
        if (sent[i].request) {
            ck_assert_int_eq(keel_pml_test(&sent[i].request, &done, NULL), OPAL_SUCCESS);
        }
    }
}

static void cancel_one(void)
{
    if (received_count > 0) {
        struct received *receive = &received[world_random((unsigned) received_count)];
        if (receive->request && keel_pml_cancel(receive->request) == OPAL_SUCCESS) {
            receive->cancelled = true;
        }
    }
}

/* Two messages of one sender to one rank: the later one's receive was posted first, and wanted the
 * earlier one as well. Equal messages cannot be told apart. */
static void check_order(void)
{
    for (size_t late = 0; late < received_count; late++) {
        for (size_t early = 0; early < late; early++) {
            const struct received *first = &received[early], *second = &received[late];
            if (first->message < 0 || second->message < 0 || first->message < second->message) {
                continue;
            }
            const struct sent *overtook = &sent[first->message], *passed = &sent[second->message];
            ck_assert_msg(overtook->from != passed->from || !wants(first, passed) ||
                              overtook->size <= 1,
                          "message %d overtook %d", first->message, second->message);
        }
    }
}

static void finish(void)
{
    for (int round = 0; came_count < sent_count; round++) {
        ck_assert_int_lt(round, 5000);
        for (int me = 0; me < world.rules.ranks; me++) {
            probe_one(me);
        }
        if (received_count + (size_t) world.rules.ranks < 4 * MESSAGES - 8 && round % 50 == 49) {
            for (int me = 0; me < world.rules.ranks; me++) {
                post_one(me, ANY, world_random(2) ? ANY_TAG : -1);
            }
        }
        look_at_all();
    }
    check_order();
    for (size_t i = 0; i < received_count; i++) {
        if (received[i].request) {
            ck_assert_int_eq(keel_pml_cancel(received[i].request), OPAL_SUCCESS);
            ck_assert_int_eq(keel_pml_wait(&received[i].request, NULL), OPAL_ERR_INTERUPTED);
        }
        free(received[i].bytes);
    }
    for (size_t i = 0; i < sent_count; i++) {
        ck_assert_int_eq(keel_pml_wait(&sent[i].request, NULL), OPAL_SUCCESS);
        free(sent[i].bytes);
    }
    for (int i = 0; i < world.rules.ranks; i++) {
        ck_assert_int_eq(keel_pml_context_free(&ctx[i]), OPAL_SUCCESS);
    }
    world_close();
}

static void history(const struct world_rules *rules)
{
    world_open(rules);
    sent_count = received_count = came_count = 0;
    for (int i = 0; i < rules->ranks; i++) {
        ck_assert_int_eq(pml_context_open(world.pml[i], 7, NULL, (size_t) rules->ranks, i, &ctx[i]),
                         OPAL_SUCCESS);
    }
    while (sent_count < MESSAGES) {
        int me = (int) world_random((unsigned) rules->ranks);
        switch (world_random(8)) {
        case 0:
        case 1:
        case 2:
            send_one();
            break;
        case 3:
        case 4:
            if (received_count < 2 * MESSAGES) {
                post_one(me, some_source(), some_tag());
            }
            break;
        case 5:
            if (received_count < 2 * MESSAGES) {
                probe_one(me);
            }
            break;
        case 6:
            world_progress();
            look_at_all();
            break;
        default:
            if (world_random(4) == 0) {
                cancel_one();
            }
        }
    }
    finish();
}

/* So many histories for each number of ranks; each kind of module once with calm and once with bad
 * weather. */
static void histories(uint32_t flags, unsigned seeds)
{
    for (unsigned i = 0; i < seeds; i++) {
        const bool extended = flags & MCA_PTL_FLAGS_EXTENDED;
        struct world_rules rules = {
            .ranks = 2 + (int) (i % 3),
            .flags = flags,
            .first = FIRST,
            .min = 16,
            .max = i % 5 == 4 ? SIZE_MAX : MAX,
            .delay = i % 2 ? 6 : 0,
            .reorders = i % 4 > 0,
            .splits = i % 3 == 1,
            .late = i % 7 > 3,
            .copies = i % 6 > 2,
            .immediate = extended && i % 10 > 4,
            .room = extended && i % 11 > 6 ? 2 + i % 3 : 0,
            .refuses = extended && i % 13 > 8 ? 20 : 0,
            .seed = i * 7919 + flags,
        };
        if (i % 9 == 8) {
            rules.cache_size = 3;
            rules.cache_bytes = 64;
        }
        history(&rules);
    }
}

UNIT_CASE(modules_that_put, histories(MCA_PTL_FLAGS_EXTENDED | MCA_PTL_PUT, 100))
UNIT_CASE(modules_that_get, histories(MCA_PTL_FLAGS_EXTENDED | MCA_PTL_GET, 100))
UNIT_CASE(modules_of_version_1, histories(MCA_PTL_PUT, 100))

/* A receiver that asks for no data all the time. */
START_TEST(receivers_without_room)
{
    setenv("KEEL_MCA_pml_unexpected_size", "900", 1);
    histories(MCA_PTL_FLAGS_EXTENDED | MCA_PTL_PUT, 60);
    histories(MCA_PTL_FLAGS_EXTENDED | MCA_PTL_GET, 60);
}
END_TEST

UNIT_MAIN("pml-random")
