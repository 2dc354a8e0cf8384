/* Random histories. All ranks draw the same plan of messages from the seed; each sends its own in
 * this order, and receives, probes and cancels as it likes. Each message is received once, whole,
 * by a receive that wants it, and none overtakes another of its sender's that the same receive
 * could have had. Then a rank ends. */
#include <config.h>

#include <stdlib.h>
#include <tests/conformance/tagged/suite.h>

enum { MESSAGES = 150, TAGS = 3, RECEIVES = 4 * MESSAGES, LIVE = 16 };

/* Its number is its pattern. */
struct message {
    int from, to;
    int32_t tag;
    size_t size;
    keel_pml_mode_t mode;
    bool scattered;
};

/* Numbered by when it was posted, or its message taken. */
struct receive {
    struct keel_pml_request *request;
    struct buffer in;
    int32_t source, tag;
    int message; /* -1: none yet */
    bool cancelled;
};

struct player {
    struct receive receives[RECEIVES];
    struct keel_pml_request *sends[MESSAGES];
    struct buffer out[MESSAGES];
    bool came[MESSAGES];
    int rank, next, receive_count, live, left; /* left: messages to come */
    size_t room;                               /* for any of them */
};

static struct message plan[MESSAGES];
static struct player players[RANKS_MOST];

/* --- the plan --- */

static size_t draw_size(void)
{
    switch (draw(4)) {
    case 0:
        return draw(200);
    case 1:
        return limits[draw((uint32_t) limit_count)] + draw(3) - 1;
    case 2:
        return draw((uint32_t) long_bytes);
    default:
        return draw(40) == 0 ? draw((uint32_t) most) : 8;
    }
}

static void draw_plan(void)
{
    draw_from(seed);
    for (int i = 0; i < MESSAGES; i++) {
        plan[i] = (struct message){.from = (int) draw((uint32_t) ranks),
                                   .to = (int) draw((uint32_t) ranks),
                                   .tag = (int32_t) draw(TAGS) - 1,
                                   .size = draw_size(),
                                   .mode = (keel_pml_mode_t) draw(4),
                                   .scattered = draw(4) == 0};
    }
}

static void player_open(struct player *player, int rank)
{
    *player = (struct player){.rank = rank};
    for (int i = 0; i < MESSAGES; i++) {
        if (plan[i].to == rank) {
            player->left++;
            player->room = plan[i].size > player->room ? plan[i].size : player->room;
        }
    }
}

/* --- sending --- */

/* One message, as long as there is any. */
static void send_next(struct player *player)
{
    while (player->next < MESSAGES && plan[player->next].from != player->rank) {
        player->next++;
    }
    if (player->next == MESSAGES) {
        return;
    }
    int number = player->next++;
    const struct message *message = &plan[number];
    struct buffer *out = &player->out[number];
    buffer_open(out, message->size, message->scattered);
    buffer_fill(out, message->size, (unsigned) number);
    succeeds(keel_pml_isend(context_of(player->rank), &out->data, message->to, message->tag,
                            message->mode, &player->sends[number]));
}

/* --- receiving --- */

static struct receive *receive_new(struct player *player, int32_t source, int32_t tag)
{
    struct receive *receive = &player->receives[player->receive_count++];
    must(player->receive_count < RECEIVES);
    *receive = (struct receive){.source = source, .tag = tag, .message = -1};
    buffer_open(&receive->in, player->room, draw(2));
    player->live++;
    return receive;
}

static int32_t some_source(void)
{
    uint32_t chosen = draw((uint32_t) ranks + 1);
    return chosen == (uint32_t) ranks ? ANY : (int32_t) chosen;
}

static int32_t some_tag(void)
{
    uint32_t chosen = draw(TAGS + 1);
    return chosen == TAGS ? ANY_TAG : (int32_t) chosen - 1;
}

static void post_one(struct player *player)
{
    struct receive *receive = receive_new(player, some_source(), some_tag());
    succeeds(keel_pml_irecv(context_of(player->rank), &receive->in.data, receive->source,
                            receive->tag, &receive->request));
}

/* A probe sees what a receive at the same time gets. */
static void probe_one(struct player *player)
{
    struct keel_pml_context *context = context_of(player->rank);
    int32_t source = some_source(), tag = some_tag();
    struct keel_pml_status seen, got;
    struct keel_pml_message *message = NULL;
    bool there = false;
    succeeds(keel_pml_iprobe(context, source, tag, &there, &seen));
    if (!there) {
        return;
    }
    struct receive *receive = receive_new(player, source, tag);
    if (draw(2)) {
        succeeds(keel_pml_improbe(context, source, tag, &message, &got));
        must(message && seen.source == got.source && seen.tag == got.tag);
        must(seen.bytes == got.bytes);
        succeeds(keel_pml_imrecv(&message, &receive->in.data, &receive->request));
    } else {
        succeeds(keel_pml_irecv(context, &receive->in.data, source, tag, &receive->request));
    }
}

static void cancel_one(struct player *player)
{
    if (player->receive_count > 0) {
        struct receive *receive = &player->receives[draw((uint32_t) player->receive_count)];
        receive->cancelled =
            receive->cancelled ||
            (receive->request && keel_pml_cancel(receive->request) == OPAL_SUCCESS);
    }
}

/* Which message it is: one of that source, tag and size that has not come, with these bytes. */
static int message_in(const struct player *player, const struct receive *receive,
                      const struct keel_pml_status *status)
{
    for (int i = 0; i < MESSAGES; i++) {
        const struct message *message = &plan[i];
        if (!player->came[i] && message->from == status->source && message->to == player->rank &&
            message->tag == status->tag && message->size == status->bytes &&
            buffer_is(&receive->in, message->size, (unsigned) i)) {
            return i;
        }
    }
    return -1;
}

static bool wants(const struct receive *receive, const struct message *message)
{
    return !receive->cancelled && (receive->source == ANY || receive->source == message->from) &&
           (receive->tag == ANY_TAG ? message->tag >= 0 : receive->tag == message->tag);
}

static void look_at(struct player *player, struct receive *receive)
{
    struct keel_pml_status status;
    bool done = false;
    int error = keel_pml_test(&receive->request, &done, &status);
    if (!done) {
        return;
    }
    must(error == (receive->cancelled ? OPAL_ERR_INTERUPTED : OPAL_SUCCESS));
    if (!receive->cancelled) {
        must(!status.truncated);
        receive->message = message_in(player, receive, &status);
        must(receive->message >= 0 && wants(receive, &plan[receive->message]));
        player->came[receive->message] = true;
        player->left--;
    }
    player->live--;
    free(receive->in.bytes);
}

static void look_at_all(struct player *player)
{
    for (int i = 0; i < player->receive_count; i++) {
        if (player->receives[i].request) {
            look_at(player, &player->receives[i]);
        }
    }
}

/* Two messages of one sender: the later one's receive was posted first, and wanted the earlier one
 * as well. Messages of a byte cannot be told apart. */
static void check_order(const struct player *player)
{
    for (int late = 0; late < player->receive_count; late++) {
        for (int early = 0; early < late; early++) {
            const struct receive *first = &player->receives[early];
            const struct receive *second = &player->receives[late];
            if (first->message > second->message && second->message >= 0) {
                const struct message *overtook = &plan[first->message];
                const struct message *passed = &plan[second->message];
                must(overtook->from != passed->from || !wants(first, passed) ||
                     overtook->size <= 1);
            }
        }
    }
}

/* --- a history --- */

static void step(struct player *player)
{
    uint32_t what = draw(8);
    bool room = player->live < LIVE && player->receive_count < RECEIVES / 2;
    if (what < 3) {
        send_next(player);
    } else if (what < 5 && room) {
        post_one(player);
    } else if (what == 5 && player->receive_count < RECEIVES - 1) {
        probe_one(player);
    } else if (what == 6) {
        look_at_all(player);
    } else if (draw(4) == 0) {
        cancel_one(player);
    }
}

static bool is_over(const struct player *player)
{
    return player->next == MESSAGES && player->left == 0;
}

static bool all_over(void)
{
    bool over = true;
    for (int i = 0; i < ranks; i++) {
        over = over && (!plays(i) || is_over(&players[i]));
    }
    return over;
}

static void finish(struct player *player)
{
    check_order(player);
    for (int i = 0; i < player->receive_count; i++) {
        struct receive *receive = &player->receives[i];
        if (receive->request) {
            must(receive->cancelled || keel_pml_cancel(receive->request) == OPAL_SUCCESS);
            must(keel_pml_wait(&receive->request, NULL) == OPAL_ERR_INTERUPTED);
            free(receive->in.bytes);
        }
    }
    for (int i = 0; i < MESSAGES; i++) {
        succeeds(keel_pml_wait(&player->sends[i], NULL));
        free(player->out[i].bytes);
    }
}

static void every_message_comes_once_whole_and_in_order(void)
{
    draw_plan();
    draw_from(seed * RANKS_MOST + (unsigned) (myself > 0 ? myself : 0));
    for (int i = 0; i < ranks; i++) {
        player_open(&players[i], i);
    }
    while (!all_over()) {
        minihost_check(host);
        for (int i = 0; i < ranks; i++) {
            if (plays(i)) {
                step(&players[i]);
            }
        }
        if (draw(2)) {
            (void) ground->progress();
        }
    }
    for (int i = 0; i < ranks; i++) {
        if (plays(i)) {
            finish(&players[i]);
        }
    }
}

const struct pml_case plan_cases[] = {
    PML_CASE(every_message_comes_once_whole_and_in_order, .drawn = true),
    {.name = NULL},
};

/* --- the end of a rank --- */

enum { NEEDY = 4 }; /* requests that need the last rank */

static void need_last(struct keel_pml_request *needy[NEEDY], struct keel_pml_request **again)
{
    opal_convertor_t data = target_data(0, 8);
    needy[0] = isend(0, last, 1, 8, KEEL_PML_SYNCHRONOUS);
    needy[1] = isend(0, last, 2, long_bytes, KEEL_PML_STANDARD);
    needy[2] = irecv(0, last, 3, 8);
    succeeds(keel_pml_recv_init(context_of(0), &data, last, 3, again));
    succeeds(keel_pml_start(*again));
    needy[3] = *again;
    succeeds(keel_pml_probe(context_of(0), last, 2, NULL));
}

static void unreachable(void)
{
    struct keel_pml_context *context = context_of(0);
    struct keel_pml_request *request = NULL;
    bool there;
    must(keel_pml_isend(context, NULL, last, 5, KEEL_PML_STANDARD, &request) == OPAL_ERR_UNREACH);
    must(keel_pml_irecv(context, NULL, last, 5, &request) == OPAL_ERR_UNREACH);
    must(keel_pml_iprobe(context, last, 5, &there, NULL) == OPAL_ERR_UNREACH);
    must(keel_pml_probe(context, last, 5, NULL) == OPAL_ERR_UNREACH);
    must(!request);
}

/* What came whole is received, and what did not is an error. */
static void outlive(struct keel_pml_request *needy[NEEDY], struct keel_pml_request *again)
{
    opal_convertor_t to = target_data(0, long_bytes);
    struct keel_pml_request *late = NULL;
    for (int i = 0; i < NEEDY; i++) {
        must(keel_pml_wait(&needy[i], NULL) == OPAL_ERR_UNREACH);
    }
    succeeds(keel_pml_recv(context_of(0), &to, last, 1, NULL));
    int status = keel_pml_irecv(context_of(0), &to, last, 2, &late);
    must(status == OPAL_ERR_UNREACH || keel_pml_wait(&late, NULL) == OPAL_ERR_UNREACH);
    must(keel_pml_start(again) == OPAL_ERR_UNREACH);
    succeeds(keel_pml_request_free(&again));
    unreachable();
}

/* The others go on: rank 0, and with three ranks another one. */
static void the_end_of_a_rank_ends_what_needs_it(void)
{
    struct keel_pml_request *needy[NEEDY], *again = NULL, *recv;
    if (last == 0) {
        return;
    }
    (void) isend(last, 0, 1, 8, KEEL_PML_STANDARD); /* they go with it */
    (void) isend(last, 0, 2, long_bytes, KEEL_PML_STANDARD);
    struct keel_pml_request *wild = irecv(0, ANY, 3, 8);
    struct keel_pml_request *send = isend(0, last - 1, 4, long_bytes, KEEL_PML_STANDARD);
    if (plays(0)) {
        need_last(needy, &again);
    }
    lose(last);
    if (plays(0)) {
        outlive(needy, again);
    }
    recv = irecv(last - 1, 0, 4, long_bytes);
    received(last - 1, &recv, 0, 4, long_bytes);
    sent(0, &send);
    send = isend(0, 0, 3, 8, KEEL_PML_STANDARD);
    received(0, &wild, 0, 3, 8);
    sent(0, &send);
}

const struct pml_case end_cases[] = {
    PML_CASE(the_end_of_a_rank_ends_what_needs_it, .ends = true),
    {.name = NULL},
};
