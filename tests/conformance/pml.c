/* Messages by source and tag over real rails: pml [PARAMETER=VALUE]... MODULES PROCESSES [SEED]
 *
 * Every process draws the same plan of messages from the seed: who sends to whom, with which tag,
 * how many bytes, in which mode, scattered or not. Receivers take them by exact and wild receives,
 * by probes, posted early or late. Each message must come once, whole, and in order among those of
 * its sender and tag. Then a process ends, and nobody waits for it for ever. */
#include <config.h>

#include <base/settings/param.h>
#include <keel/pml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/minihost.h>
#include <unistd.h>

enum { MESSAGES = 600, TAGS = 3, PIECES = 4, RANKS_MOST = 8, CONTEXT = 3, LARGEST = 3 << 20 };

struct message {
    int from, to;
    int32_t tag;
    size_t size;
    keel_pml_mode_t mode;
    bool scattered, scatters;
    bool late; /* its sender waits before it */
};

static struct message plan[MESSAGES];
static const char *modules;
static int ranks, points;
static uint64_t seed;
static struct minihost *host;
static struct keel_pml_context *context;

static uint32_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t) (*state >> 33);
}

static size_t draw_size(uint64_t *state)
{
    static const size_t near[] = {0, 8, 64, 4064, 4096, 32736, 65504, 262144};
    switch (draw(state) % 4) {
    case 0:
        return draw(state) % 200;
    case 1:
        return draw(state) % 70000;
    case 2:
        return near[draw(state) % (sizeof(near) / sizeof(*near))] + draw(state) % 3;
    default:
        return draw(state) % 40 == 0 ? draw(state) % LARGEST : 8;
    }
}

static void draw_plan(void)
{
    uint64_t state = seed * 7919 + 1;
    for (int i = 0; i < MESSAGES; i++) {
        plan[i] = (struct message){.from = (int) draw(&state) % ranks,
                                   .to = (int) draw(&state) % ranks,
                                   .tag = (int32_t) draw(&state) % TAGS,
                                   .size = draw_size(&state),
                                   .mode = draw(&state) % 2 ? KEEL_PML_STANDARD
                                                            : (keel_pml_mode_t) (draw(&state) % 4),
                                   .scattered = draw(&state) % 4 == 0,
                                   .scatters = draw(&state) % 4 == 0,
                                   .late = draw(&state) % 16 == 0};
    }
}

static void must(bool good, const char *what)
{
    if (!good) {
        minihost_fail(host, "rank %d: %s", host->rank, what);
    }
}

static int poll_all(void)
{
    return keel_pml_progress() + minihost_progress(host);
}

/* --- data --- */

struct buffer {
    uint8_t *bytes;
    size_t size;
    struct iovec pieces[PIECES];
    opal_convertor_t data;
};

static void buffer_make(struct buffer *buffer, size_t size, bool scattered)
{
    buffer->size = size;
    buffer->bytes = malloc(size + 1);
    for (size_t i = 0; i < PIECES; i++) {
        size_t start = size * i / PIECES, end = size * (i + 1) / PIECES;
        buffer->pieces[i] = (struct iovec){buffer->bytes + start, end - start};
    }
    if (scattered) {
        must(opal_convertor_prepare_iovec(&buffer->data, buffer->pieces, PIECES) == OPAL_SUCCESS,
             "prepare");
    } else {
        opal_convertor_prepare(&buffer->data, buffer->bytes, size);
    }
}

static uint8_t byte_of(int number, size_t place)
{
    return (uint8_t) ((size_t) number * 37 + place * 11 + (place >> 8));
}

static void buffer_fill(const struct buffer *buffer, int number)
{
    for (size_t i = 0; i < buffer->size; i++) {
        buffer->bytes[i] = byte_of(number, i);
    }
}

static bool buffer_is(const struct buffer *buffer, int number)
{
    for (size_t i = 0; i < plan[number].size; i++) {
        if (buffer->bytes[i] != byte_of(number, i)) {
            return false;
        }
    }
    return true;
}

/* --- sending --- */

static struct buffer outs[MESSAGES];
static struct keel_pml_request *sends[MESSAGES];

static int begin(int number)
{
    const struct message *message = &plan[number];
    buffer_make(&outs[number], message->size, message->scattered);
    buffer_fill(&outs[number], number);
    return keel_pml_isend(context, &outs[number].data, message->to, message->tag, message->mode,
                          &sends[number]);
}

/* --- receiving --- */

/* A receive: which message it must be is known when it ends, by source and tag. */
struct receive {
    struct keel_pml_request *request;
    struct buffer in;
};

static struct receive receives[MESSAGES];
static int next_of[RANKS_MOST][TAGS]; /* the next message of this sender and tag to this rank */
static int receive_count, ended_count, expected_count;

static int next_message(int from, int32_t tag, int after)
{
    int i = after;
    while (i < MESSAGES &&
           (plan[i].from != from || plan[i].to != host->rank || plan[i].tag != tag)) {
        i++;
    }
    return i;
}

static void first_messages(void)
{
    for (int from = 0; from < ranks; from++) {
        for (int32_t tag = 0; tag < TAGS; tag++) {
            next_of[from][tag] = next_message(from, tag, 0);
        }
    }
    for (int i = 0; i < MESSAGES; i++) {
        expected_count += plan[i].to == host->rank;
    }
}

/* The message that came is the next one of its sender and tag, and whole. */
static void check_end(const struct receive *receive, const struct keel_pml_status *status)
{
    must(status->error == OPAL_SUCCESS && !status->truncated, "a receive failed");
    must(status->source >= 0 && status->source < ranks && status->tag >= 0 && status->tag < TAGS,
         "a status makes no sense");
    int *next = &next_of[status->source][status->tag], number = *next;
    must(number < MESSAGES, "a message came that nobody sent");
    must(status->bytes == plan[number].size,
         "a message has another length, or came before its turn");
    must(buffer_is(&receive->in, number), "a message has other bytes");
    *next = next_message(status->source, status->tag, number + 1);
    ended_count++;
}

/* Receives end in the order in which they were posted as far as they want the same: so the oldest
 * one is looked at first, and a wild one that is not over stops the look. */
static void end_receives(void)
{
    for (int i = 0; i < receive_count; i++) {
        struct receive *receive = &receives[i];
        struct keel_pml_status status;
        bool done = false;
        if (!receive->request) {
            continue;
        }
        must(keel_pml_test(&receive->request, &done, &status) == OPAL_SUCCESS, "test");
        if (!done) {
            return;
        }
        check_end(receive, &status);
        free(receive->in.bytes);
    }
}

static void post(int32_t source, int32_t tag, bool scatters)
{
    struct receive *receive = &receives[receive_count++];
    buffer_make(&receive->in, LARGEST, scatters);
    must(keel_pml_irecv(context, &receive->in.data, source, tag, &receive->request) == OPAL_SUCCESS,
         "irecv");
}

/* Takes one that is there, by a probe. */
static void take_probed(bool matched)
{
    struct keel_pml_message *message = NULL;
    struct keel_pml_status status;
    bool there = false;
    struct receive *receive = &receives[receive_count];
    if (matched) {
        must(keel_pml_improbe(context, KEEL_PML_ANY_SOURCE, KEEL_PML_ANY_TAG, &message, &status) ==
                 OPAL_SUCCESS,
             "improbe");
        there = message;
    } else {
        must(keel_pml_iprobe(context, KEEL_PML_ANY_SOURCE, KEEL_PML_ANY_TAG, &there, &status) ==
                 OPAL_SUCCESS,
             "iprobe");
    }
    if (!there) {
        return;
    }
    receive_count++;
    buffer_make(&receive->in, status.bytes, false);
    int error = matched ? keel_pml_imrecv(&message, &receive->in.data, &receive->request)
                        : keel_pml_irecv(context, &receive->in.data, status.source, status.tag,
                                         &receive->request);
    must(error == OPAL_SUCCESS, "a probed message is gone");
    must(keel_pml_wait(&receive->request, &status) == OPAL_SUCCESS, "wait");
    check_end(receive, &status);
    free(receive->in.bytes);
}

/* One more receive, of any kind; those that probe come when nothing is posted, so that the order
 * can be told. */
static void receive_more(uint64_t *state)
{
    uint32_t how = draw(state) % 4;
    bool all_ended = ended_count == receive_count;
    if (receive_count - ended_count >= 8) {
        return;
    }
    if (how < 2 && all_ended) {
        take_probed(how);
        return;
    }
    /* the oldest that is not received, by its name or by less of it */
    int first = MESSAGES;
    for (int from = 0; from < ranks; from++) {
        for (int32_t tag = 0; tag < TAGS; tag++) {
            first = next_of[from][tag] < first ? next_of[from][tag] : first;
        }
    }
    if (all_ended && first < MESSAGES) {
        post(how == 3 ? KEEL_PML_ANY_SOURCE : plan[first].from,
             how == 2 ? KEEL_PML_ANY_TAG : plan[first].tag, plan[first].scatters);
    } else if (first < MESSAGES && receive_count < expected_count) {
        post(KEEL_PML_ANY_SOURCE, KEEL_PML_ANY_TAG, how % 2);
    }
}

static void run_plan(void)
{
    uint64_t state = seed + (uint64_t) host->rank;
    int sending = 0;
    first_messages();
    while (sending < MESSAGES || ended_count < expected_count) {
        minihost_check(host);
        for (int burst = 0; burst < 4 && sending < MESSAGES; sending++) {
            if (plan[sending].from != host->rank) {
                continue;
            }
            if (plan[sending].late && draw(&state) % 8) {
                break;
            }
            int status = begin(sending);
            if (status == OPAL_ERR_OUT_OF_RESOURCE) { /* buffered sends hold too much */
                free(outs[sending].bytes);
                break;
            }
            must(status == OPAL_SUCCESS, "isend");
            burst++;
        }
        receive_more(&state);
        end_receives();
        (void) poll_all();
    }
    must(keel_pml_waitall(MESSAGES, sends, NULL) == OPAL_SUCCESS, "waitall");
    for (int i = 0; i < MESSAGES; i++) {
        free(outs[i].bytes);
    }
}

/* --- the end of a process --- */

/* The last rank is gone: receives of its messages, and sends that need it, end with an error. */
static void lose_the_last(void)
{
    struct keel_pml_request *receive, *wild, *send;
    struct keel_pml_status status;
    struct buffer in, out;
    int last = ranks - 1;
    bool done;
    buffer_make(&in, LARGEST, false);
    buffer_make(&out, LARGEST, false);
    must(keel_pml_irecv(context, &in.data, last, 0, &receive) == OPAL_SUCCESS, "irecv");
    must(keel_pml_irecv(context, &in.data, KEEL_PML_ANY_SOURCE, 1, &wild) == OPAL_SUCCESS, "irecv");
    must(keel_pml_isend(context, &out.data, last, 0, KEEL_PML_SYNCHRONOUS, &send) == OPAL_SUCCESS,
         "isend");
    minihost_barrier(host, poll_all);
    if (host->rank == last) {
        _exit(EXIT_SUCCESS);
    }
    keel_host_proc_ended(&host->procs[last]);
    must(keel_pml_wait(&send, &status) == OPAL_ERR_UNREACH, "a send to nobody");
    must(keel_pml_wait(&receive, &status) == OPAL_ERR_UNREACH, "a receive from nobody");
    must(keel_pml_test(&wild, &done, NULL) == OPAL_SUCCESS && !done, "any other may send");
    must(keel_pml_cancel(wild) == OPAL_SUCCESS, "cancel");
    must(keel_pml_wait(&wild, &status) == OPAL_ERR_INTERUPTED, "cancelled");
    must(keel_pml_isend(context, &out.data, last, 0, KEEL_PML_STANDARD, &send) == OPAL_ERR_UNREACH,
         "a send to who is gone");
    free(in.bytes);
    free(out.bytes);
}

static void open_rank(void)
{
    char reason[256] = "";
    opal_proc_t *procs[RANKS_MOST];
    for (int i = 0; i < ranks; i++) {
        procs[i] = &host->procs[i];
    }
    must(param_override("btl", modules) == ORTE_SUCCESS, "override btl");
    if (keel_host_open(&minihost_ops, host, NULL, reason, sizeof(reason)) != OPAL_SUCCESS) {
        minihost_fail(host, "open: %s", reason);
    }
    minihost_barrier(host, NULL);
    must(keel_host_add_procs(procs, (size_t) ranks, reason, sizeof(reason)) == OPAL_SUCCESS,
         reason);
    must(keel_pml_open_on(&minihost_ops, host) == OPAL_SUCCESS, "open_on");
    minihost_barrier(host, poll_all);
    if (host->rank % 2) { /* others' messages come before its context is there */
        for (int i = 0; i < 2000; i++) {
            (void) poll_all();
        }
    }
    must(keel_pml_context_open(CONTEXT, procs, (size_t) ranks, host->rank, &context) ==
             OPAL_SUCCESS,
         "context_open");
}

static int run_rank(struct minihost *mine, void *ends)
{
    host = mine;
    open_rank();
    run_plan();
    minihost_barrier(host, poll_all);
    if (*(bool *) ends) {
        lose_the_last();
    }
    must(keel_pml_context_free(&context) == OPAL_SUCCESS, "context_free");
    must(keel_pml_close() == OPAL_SUCCESS, "pml_close");
    must(keel_host_close() == OPAL_SUCCESS, "host_close");
    return 0;
}

static int run(const char *what, bool ends)
{
    char reason[512];
    struct minihost_options options = {.size = ranks, .timeout_ms = 60000};
    bool good = minihost_run(&options, run_rank, &ends, reason, sizeof(reason));
    printf("%s %d - %s, %d processes, seed %llu: %s\n", good ? "ok" : "not ok", ++points, modules,
           ranks, (unsigned long long) seed, what);
    if (!good) {
        printf("# %s\n", reason);
    }
    fflush(stdout);
    return !good;
}

static bool set_parameter(char *setting)
{
    char *value = strchr(setting, '=');
    *value = '\0';
    return param_override(setting, value + 1) == ORTE_SUCCESS;
}

int main(int argc, char **argv)
{
    bool good = true;
    for (; argc > 1 && strchr(argv[1], '='); argv++) {
        good = good && set_parameter(argv[1]);
        argc--;
    }
    ranks = argc > 2 ? atoi(argv[2]) : 0;
    if (!good || argc < 3 || argc > 4 || ranks < 1 || ranks > RANKS_MOST) {
        fprintf(stderr, "usage: pml [PARAMETER=VALUE]... MODULES PROCESSES [SEED]\n");
        return 2;
    }
    modules = argv[1];
    int failed = 0;
    uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 0) : 1, last = argc > 3 ? first : 4;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (seed = first; seed <= last; seed++) {
        draw_plan();
        failed += run("every message comes once, whole and in order", false);
    }
    if (ranks > 1) {
        seed = last;
        failed += run("... and the end of a process ends what needs it", true);
    }
    printf("1..%d\n", points);
    return failed > 0;
}
