/* What the processes send and receive, and what must come of it. */
#include <pml/peers/core.h>
#include <pml/requests/request.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/unit/pml/sim/state.h>

enum {
    MESSAGES = 40,
    RECEIVES = 4 * MESSAGES,
    TAGS = 3,
    PARTS = 3,
    RANGES = 32,
    ANY = KEEL_PML_ANY_SOURCE,
    ANY_TAG = KEEL_PML_ANY_TAG,
    LARGEST = 24000,
    BEHIND = 8, /* bytes behind a buffer that stay as they are */
};

struct message {
    struct keel_pml_request *request;
    char *bytes;
    size_t size;
    int from, to, context;
    int32_t tag;
    keel_pml_mode_t mode;
    struct iovec parts[PARTS];
    bool asked, over, came;
    int status;
};

/* Of a receive's buffer. */
struct range {
    size_t from, to;
};

/* Numbered by when it was posted, or its message taken. */
struct receive {
    struct keel_pml_request *request;
    char *bytes;
    size_t room;
    int me, context;
    int32_t source, tag;
    struct iovec parts[PARTS];
    bool over, cancelled, hopeless; /* hopeless: it has to end with an error */
    int message;                    /* that came; -1: none */
    struct range ranges[RANGES];    /* that came by RDMA */
    size_t range_count;
    unsigned put_by; /* rails that put some of them, a bit each */
};

static struct {
    struct message messages[MESSAGES];
    int message_count;
    struct receive receives[RECEIVES];
    int receive_count, asks;
    bool cancelling;
} program;

/* ---- bytes ---- */

static uint64_t word_of(int message, size_t word)
{
    uint64_t z = ((uint64_t) message << 40) + (word + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return word == 0 ? (z & ~UINT64_C(0xffffffff)) | (uint32_t) message : z ^ (z >> 32);
}

/* A message begins with its number. */
static void fill(int message, char *bytes, size_t size)
{
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = word_of(message, at / 8);
        memcpy(bytes + at, &word, size - at < 8 ? size - at : 8);
    }
}

static bool is_filled(int message, const char *bytes, size_t size)
{
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = word_of(message, at / 8);
        if (memcmp(bytes + at, &word, size - at < 8 ? size - at : 8) != 0) {
            return false;
        }
    }
    return true;
}

static bool is_all(char byte, const char *bytes, size_t size)
{
    return size == 0 || (bytes[0] == byte && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* In one piece, or in some that may be empty. */
static opal_convertor_t convertor_of(char *bytes, size_t size, struct iovec parts[PARTS])
{
    opal_convertor_t data;
    size_t at = 0;
    if (chance(75)) {
        opal_convertor_prepare(&data, bytes, size);
        return data;
    }
    for (int i = 0; i < PARTS; i++) {
        size_t part = i == PARTS - 1 ? size - at : below(size - at + 1);
        parts[i] = (struct iovec){bytes + at, part};
        at += part;
    }
    if (opal_convertor_prepare_iovec(&data, parts, PARTS) != OPAL_SUCCESS) {
        abort();
    }
    return data;
}

/* ---- sends ---- */

static size_t some_size(void)
{
    const size_t first = rail.modules[0]->super.super.ptl_first_frag_size;
    const size_t sizes[] = {0, 4, 8, 64, 65, 100, first - 1, first, first + 1, 2 * first};
    if (sim.options.prompt) {
        return 4 + below(LARGEST);
    }
    switch (below(sim.options.parts ? 2 : 8)) {
    case 0:
        return 4 + below(LARGEST);
    case 1:
    case 2:
        return 4 + below(3000);
    default:
        return sizes[below(sizeof(sizes) / sizeof(*sizes))];
    }
}

static int number_of(const struct message *message)
{
    return (int) (message - program.messages);
}

/* The program may do with its buffer what it likes. */
static void send_over(struct message *message, int status)
{
    message->over = true;
    message->status = status;
    sim_log("%d: send %d ends: %s", message->from, number_of(message), opal_strerror(status));
    if (message->size > 0) {
        memset(message->bytes, 0xee, message->size);
    }
    if (status != OPAL_SUCCESS) {
        sim.report->failed++;
        if (!sim.lost[message->from][message->to]) {
            sim_violated("message %d of rank %d to %d: %s", number_of(message), message->from,
                         message->to, opal_strerror(status));
        }
    }
}

static void look_at_send(struct message *message)
{
    struct keel_pml_status status;
    bool done = false;
    if (message->request && request_is_complete(message->request)) {
        int error = keel_pml_test(&message->request, &done, &status);
        if (!done || status.bytes != message->size) {
            sim_violated("message %d: an end of %zu bytes", number_of(message), status.bytes);
        }
        send_over(message, error);
    }
}

static void send_one(struct message *message)
{
    const size_t size = message->size;
    message->bytes = malloc(size + (size == 0));
    message->asked = true;
    fill(number_of(message), message->bytes, size);
    opal_convertor_t data = convertor_of(message->bytes, size, message->parts);
    sim.report->messages++;
    sim.report->bytes += size;
    sim_log("%d: send %d to %d, context %d, tag %d, %zu bytes, mode %d", message->from,
            number_of(message), message->to, message->context, message->tag, size, message->mode);
    int status = keel_pml_isend(sim.process[message->from].context[message->context], &data,
                                message->to, message->tag, message->mode, &message->request);
    if (status != OPAL_SUCCESS) {
        send_over(message, status);
    } else {
        look_at_send(message);
    }
}

/* ---- receives ---- */

static struct receive *receive_new(int me, int context)
{
    struct receive *receive = &program.receives[program.receive_count++];
    size_t room = chance(5) ? 4 + below(2000) : LARGEST + 4;
    *receive = (struct receive){.me = me,
                                .context = context,
                                .source = ANY,
                                .tag = ANY_TAG,
                                .room = room,
                                .message = -1,
                                .bytes = malloc(room + BEHIND)};
    return receive;
}

/* Behind what a message fills nothing is written. */
static void prepare(struct receive *receive)
{
    memset(receive->bytes, 0x11, receive->room < 64 ? receive->room : 64);
    memset(receive->bytes + receive->room, 0x11, BEHIND);
}

static struct message *message_in(const struct receive *receive,
                                  const struct keel_pml_status *status)
{
    uint32_t number = 0;
    if (status->bytes >= 4) {
        memcpy(&number, receive->bytes, 4);
    }
    for (uint32_t i = number; i < (uint32_t) program.message_count; i++) {
        struct message *message = &program.messages[i];
        if (!message->came && message->asked && message->from == status->source &&
            message->to == receive->me && message->context == receive->context &&
            message->tag == status->tag &&
            (status->truncated ? message->size > status->bytes : message->size == status->bytes)) {
            return message;
        }
        if (status->bytes >= 4) {
            break;
        }
    }
    return NULL;
}

static bool wants(const struct receive *receive, const struct message *message)
{
    return receive->me == message->to && receive->context == message->context &&
           (receive->source == ANY || receive->source == message->from) &&
           (receive->tag == ANY_TAG ? message->tag >= 0 : receive->tag == message->tag);
}

static void received(struct receive *receive, const struct keel_pml_status *status)
{
    struct message *message = message_in(receive, status);
    if (!message || !wants(receive, message)) {
        sim_violated("rank %d receives %zu bytes of rank %d with tag %d that nobody sent",
                     receive->me, status->bytes, status->source, status->tag);
    } else if (!is_filled(number_of(message), receive->bytes, status->bytes) ||
               !is_all(0x11, receive->bytes + receive->room, BEHIND)) {
        sim_violated("message %d of rank %d to %d: wrong bytes", number_of(message), message->from,
                     message->to);
    } else {
        message->came = true;
        receive->message = number_of(message);
        memset(receive->bytes, 0xa5, receive->room);
    }
}

static void receive_over(struct receive *receive, int error, const struct keel_pml_status *status)
{
    receive->over = true;
    sim_log("%d: receive %d of %d, tag %d, ends: %s", receive->me,
            (int) (receive - program.receives), status->source, status->tag, opal_strerror(error));
    if (error == OPAL_SUCCESS || status->truncated) {
        received(receive, status);
        return;
    }
    int32_t source = receive->source == ANY ? status->source : receive->source;
    memset(receive->bytes, 0xa5, receive->room);
    if (receive->cancelled && error == OPAL_ERR_INTERUPTED) {
        return;
    }
    sim.report->failed++;
    if (source < 0 || !sim.lost[source][receive->me]) {
        sim_violated("a receive of rank %d from %d: %s", receive->me, source, opal_strerror(error));
    }
}

static void look_at_receive(struct receive *receive)
{
    struct keel_pml_status status = {.source = ANY};
    bool done = false;
    if (receive->request && request_is_complete(receive->request)) {
        int error = keel_pml_test(&receive->request, &done, &status);
        receive_over(receive, error, &status);
    }
}

static void started(struct receive *receive, int error)
{
    if (error != OPAL_SUCCESS) {
        receive_over(receive, error, &(struct keel_pml_status){.source = receive->source});
    } else {
        look_at_receive(receive);
    }
}

/* One that wants this message, perhaps among others. */
static void receive_one(const struct message *message)
{
    struct receive *receive = receive_new(message->to, message->context);
    receive->source = chance(25) ? ANY : message->from;
    receive->tag = message->tag >= 0 && chance(25) ? ANY_TAG : message->tag;
    prepare(receive);
    sim_log("%d: receive %d from %d, context %d, tag %d", receive->me,
            (int) (receive - program.receives), receive->source, receive->context, receive->tag);
    opal_convertor_t data = convertor_of(receive->bytes, receive->room, receive->parts);
    started(receive, keel_pml_irecv(sim.process[receive->me].context[receive->context], &data,
                                    receive->source, receive->tag, &receive->request));
}

/* Any message that is there. */
static void take_one(int me, int context, int32_t tag)
{
    struct keel_pml_message *taken = NULL;
    struct keel_pml_status status;
    if (program.receive_count == RECEIVES ||
        keel_pml_improbe(sim.process[me].context[context], ANY, tag, &taken, &status) !=
            OPAL_SUCCESS ||
        !taken) {
        return;
    }
    struct receive *receive = receive_new(me, context);
    receive->tag = tag;
    prepare(receive);
    opal_convertor_t data = convertor_of(receive->bytes, receive->room, receive->parts);
    int error = keel_pml_imrecv(&taken, &data, &receive->request);
    if (error != OPAL_SUCCESS) {
        receive->source = status.source;
    }
    started(receive, error);
}

void sim_program_lost(int rank, int peer)
{
    sim.lost[rank][peer] = sim.lost[peer][rank] = true;
    for (int i = 0; i < program.receive_count; i++) {
        struct receive *receive = &program.receives[i];
        receive->hopeless =
            receive->hopeless || (receive->me == rank && receive->source == peer && !receive->over);
    }
}

/* ---- the whole ---- */

void sim_program_plan(void)
{
    program.message_count = 6 + (int) below(MESSAGES - 6);
    program.receive_count = 0;
    program.asks = 0;
    program.cancelling = false;
    for (int i = 0; i < program.message_count; i++) {
        struct message *message = &program.messages[i];
        int from = (int) below((uint64_t) sim.ranks);
        int to = (from + 1 + (int) below((uint64_t) sim.ranks - 1)) % sim.ranks;
        const keel_pml_mode_t modes[] = {KEEL_PML_STANDARD, KEEL_PML_STANDARD, KEEL_PML_SYNCHRONOUS,
                                         KEEL_PML_BUFFERED};
        *message = (struct message){.from = from,
                                    .to = to,
                                    .context = (int) below(SIM_CONTEXTS),
                                    .tag = (int32_t) below(TAGS) - 1,
                                    .size = some_size(),
                                    .mode = modes[below(4)]};
    }
    /* sends in the order of their numbers */
    uint64_t at = 0;
    const unsigned together = below(100);
    const uint64_t window = sim.options.prompt ? SIM_WINDOW / 8 : SIM_WINDOW;
    for (int i = 0; i < program.message_count; i++) {
        at += chance(together) ? 0 : below(2 * window / (uint64_t) program.message_count);
        program.asks += 2;
        later(at, ON_ASK, program.messages[i].from, (void *) (intptr_t) (2 * i)); // NOLINT
        later(below(window), ON_ASK, program.messages[i].to,
              (void *) (intptr_t) (2 * i + 1)); // NOLINT
    }
}

void sim_program_ask(int number)
{
    struct message *message = &program.messages[number / 2];
    program.asks--;
    if (number % 2) {
        receive_one(message);
    } else {
        send_one(message);
    }
}

void sim_program_look(int rank)
{
    for (int i = 0; i < program.message_count; i++) {
        if (program.messages[i].from == rank) {
            look_at_send(&program.messages[i]);
        }
    }
    for (int i = 0; i < program.receive_count; i++) {
        if (program.receives[i].me == rank) {
            look_at_receive(&program.receives[i]);
        }
    }
    if ((program.asks == 0 && !program.cancelling) || chance(2)) {
        take_one(rank, (int) below(SIM_CONTEXTS), chance(50) ? ANY_TAG : -1);
    }
}

static bool is_hopeless(const struct message *message)
{
    return sim.lost[message->from][message->to];
}

/* What has not ended. */
static const char *missing(int *number)
{
    for (int i = 0; i < program.message_count; i++) {
        const struct message *message = &program.messages[i];
        *number = i;
        if (!message->over) {
            return "a send";
        }
        if (!message->came && !is_hopeless(message)) {
            return "the arrival of message";
        }
    }
    for (int i = 0; i < program.receive_count; i++) {
        const struct receive *receive = &program.receives[i];
        *number = i;
        if (!receive->over && (receive->hopeless || program.cancelling || !receive->request)) {
            return "a receive";
        }
    }
    for (*number = 0; *number < sim.ranks; ++*number) {
        if (sim.process[*number].pml->buffered > 0) {
            return "a buffered send";
        }
    }
    return NULL;
}

bool sim_program_is_over(void)
{
    int number;
    return program.asks == 0 && !missing(&number);
}

void sim_program_missing(char *text, size_t size)
{
    int number = 0;
    const char *what = missing(&number);
    snprintf(text, size, "%s %d", what ? what : "nothing", number);
}

/* Posted receives that nobody wants. A message that has come since then ends its receive. */
void sim_program_cancel(void)
{
    program.cancelling = true;
    for (int i = 0; i < program.receive_count; i++) {
        struct receive *receive = &program.receives[i];
        if (receive->request) {
            sim_enter(receive->me);
            receive->cancelled = keel_pml_cancel(receive->request) == OPAL_SUCCESS;
        }
    }
}

/* A message and an earlier one of the same sender, whose receive was posted later: the first
 * receive wanted both. Those of no bytes cannot be told apart. */
static bool has_overtaken(const struct receive *first, const struct receive *second)
{
    const struct message *overtook = &program.messages[first->message],
                         *passed = &program.messages[second->message];
    return overtook->from == passed->from && overtook->size > 0 && passed->size > 0 &&
           wants(first, passed);
}

static void check_order(void)
{
    for (int late = 0; late < program.receive_count; late++) {
        const struct receive *second = &program.receives[late];
        for (int early = 0; second->message >= 0 && early < late; early++) {
            const struct receive *first = &program.receives[early];
            if (first->message > second->message && has_overtaken(first, second)) {
                sim_violated("message %d to rank %d overtook %d", first->message, first->me,
                             second->message);
            }
        }
    }
}

void sim_program_check(void)
{
    for (int i = 0; i < program.receive_count; i++) {
        const struct receive *receive = &program.receives[i];
        if (receive->over && !is_all((char) 0xa5, receive->bytes, receive->room)) {
            sim_violated("rank %d: a receive's buffer was written to after its end", receive->me);
        }
    }
    check_order();
}

void sim_program_free(void)
{
    for (int i = 0; i < program.message_count; i++) {
        free(program.messages[i].bytes);
    }
    for (int i = 0; i < program.receive_count; i++) {
        free(program.receives[i].bytes);
    }
}

void sim_program_read(int rank, const void *from)
{
    const char *at = from;
    for (int i = 0; i < program.message_count; i++) {
        const struct message *message = &program.messages[i];
        if (message->from == rank && message->over && at >= message->bytes &&
            at < message->bytes + message->size) {
            sim_violated("message %d of rank %d: a put reads its buffer after its end", i, rank);
        }
    }
}

static struct receive *receive_at(int rank, const char *at)
{
    for (int i = 0; i < program.receive_count; i++) {
        struct receive *receive = &program.receives[i];
        if (receive->me == rank && !receive->over && at >= receive->bytes &&
            at < receive->bytes + receive->room) {
            return receive;
        }
    }
    return NULL;
}

static void count_rails(struct receive *receive, int put_by)
{
    const unsigned before = receive->put_by;
    receive->put_by |= put_by >= 0 ? 1u << put_by : 0;
    sim.report->divided += before != 0 && before != receive->put_by;
}

void sim_program_landed(int rank, const void *at, size_t size, int put_by)
{
    struct receive *receive = receive_at(rank, at);
    if (!receive || receive->range_count == RANGES) {
        return; /* a buffer of ptl/rail's */
    }
    count_rails(receive, put_by);
    const size_t from = (size_t) ((const char *) at - receive->bytes), to = from + size;
    for (size_t i = 0; i < receive->range_count; i++) {
        if (from < receive->ranges[i].to && receive->ranges[i].from < to) {
            sim_violated("rank %d: bytes %zu to %zu came twice by RDMA", rank, from, to);
        }
    }
    receive->ranges[receive->range_count++] = (struct range){from, to};
}
