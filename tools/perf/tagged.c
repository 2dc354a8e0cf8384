/* Tests of messages by source and tag, between the same two ranks: there and back by blocking calls
 * at both ends, streams with a window of requests at each. */
#include <config.h>

#include <keel/pml.h>
#include <stdlib.h>
#include <tools/perf/test.h>

enum { CONTEXT = 1, PASSES_A_DRIVE = 64 };
enum { POSTED = 1000, UNEXPECTED = 2000000 }; /* the first tags of those that wait all the time */
enum { DATA = 1, THERE, BACK, COUNT, RECEIPT_TAG, ENDED }; /* tags */

static struct keel_pml_context *context;
static struct keel_pml_request **posted; /* of other tags; NULL at the end */

static int32_t other; /* rank */

size_t tagged_stats(struct keel_btl_stat *stats, size_t room)
{
    struct keel_pml_stat counted[16];
    size_t most = sizeof(counted) / sizeof(*counted), count = 0;
    if (context) {
        count = keel_pml_stats(context, other, counted, most);
    }
    for (size_t i = 0; i < count && i < most && i < room; i++) {
        stats[i] = (struct keel_btl_stat){counted[i].name, counted[i].unit, counted[i].help,
                                          counted[i].value};
    }
    return count < most ? count : most;
}

static int post(unsigned char *to, size_t size, int32_t tag, struct keel_pml_request **request)
{
    opal_convertor_t data;
    opal_convertor_prepare(&data, to, size);
    return keel_pml_irecv(context, &data, other, tag, request);
}

static int begin_send(unsigned char *from, size_t size, int32_t tag,
                      struct keel_pml_request **request)
{
    opal_convertor_t data;
    opal_convertor_prepare(&data, from, size);
    return keel_pml_isend(context, &data, other, tag, KEEL_PML_STANDARD, request);
}

static int send(unsigned char *from, size_t size, int32_t tag)
{
    opal_convertor_t data;
    opal_convertor_prepare(&data, from, size);
    return keel_pml_send(context, &data, other, tag, KEEL_PML_STANDARD);
}

static int receive(unsigned char *to, size_t size, int32_t tag)
{
    opal_convertor_t data;
    opal_convertor_prepare(&data, to, size);
    return keel_pml_recv(context, &data, other, tag, NULL);
}

/* Receives and messages of other tags, which wait while the tests run. */
static int gather_crowd(const struct pair *pair)
{
    int status = OPAL_SUCCESS;
    posted = calloc((size_t) pair->posted + 1, sizeof(struct keel_pml_request *));
    if (!posted) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    for (unsigned i = 0; i < pair->posted && status == OPAL_SUCCESS; i++) {
        status = post(NULL, 0, POSTED + (int32_t) i, &posted[i]);
    }
    for (unsigned i = 0; i < pair->unexpected && status == OPAL_SUCCESS; i++) {
        status = send(NULL, 0, UNEXPECTED + (int32_t) i);
    }
    return status;
}

const char *needs_tagged(const struct pair *pair)
{
    uint32_t size = keel_job_size();
    if (size < 2) {
        return "it needs two ranks";
    }
    if (context) {
        return NULL;
    }
    other = 1 - (int32_t) keel_my_name()->vpid;
    if (keel_pml_context_open(CONTEXT, NULL, size, (int32_t) keel_my_name()->vpid, &context) !=
        OPAL_SUCCESS) {
        return "messages by tag are not to be had here";
    }
    return gather_crowd(pair) == OPAL_SUCCESS ? NULL : "what is to wait at both ends failed";
}

void tagged_close(void)
{
    for (size_t i = 0; posted && posted[i]; i++) {
        (void) keel_pml_request_free(&posted[i]);
    }
    free(posted);
    if (context) {
        (void) keel_pml_context_free(&context);
    }
}

/* The answering end has taken back what it posted, so that it takes nothing of the next test. */
static int end_answer(struct pair *pair, int status)
{
    pair->ends -= status == OPAL_SUCCESS;
    return status == OPAL_SUCCESS ? send(pair->out, 0, ENDED) : status;
}

int finish_tags(struct pair *pair)
{
    return receive(pair->in, 0, ENDED);
}

/* --- there and back, in batches whose number of messages is told when it is another one --- */

static unsigned batch;

static int receive_turn(struct pair *pair, size_t size, int32_t tag)
{
    opal_convertor_t data;
    if (!pair->any) {
        return receive(pair->in, size, tag);
    }
    opal_convertor_prepare(&data, pair->in, size);
    return keel_pml_recv(context, &data, KEEL_PML_ANY_SOURCE, KEEL_PML_ANY_TAG, NULL);
}

int run_tag(struct pair *pair, size_t size, unsigned count)
{
    int status = OPAL_SUCCESS;
    if (count != batch) {
        batch = count;
        status = send((unsigned char *) &batch, sizeof(batch), COUNT);
    }
    for (unsigned i = 0; i < count && status == OPAL_SUCCESS; i++) {
        status = send(pair->out + pair_turn(pair, size), size, THERE);
        if (status == OPAL_SUCCESS) {
            status = receive_turn(pair, size, BACK);
        }
    }
    return status;
}

int finish_tag(struct pair *pair)
{
    batch = 0;
    return finish_tags(pair);
}

/* Progress until the request ends (*ended), or the other end is done. The test drives it, as a call
 * that waits would; what else the pair has to do is not urgent. */
static int await(struct pair *pair, struct keel_pml_request **request, bool *ended)
{
    int status = OPAL_SUCCESS;
    *ended = false;
    for (unsigned pass = 1; !*ended && status == OPAL_SUCCESS && pair->ends == 0; pass++) {
        status = keel_pml_test(request, ended, NULL);
        if (!*ended && status == OPAL_SUCCESS && pass % PASSES_A_DRIVE == 0) {
            status = pair_drive(pair);
        }
    }
    return status;
}

/* A new number has come before the first message of the batch that it is for. */
static int learn_batch(unsigned *next, struct keel_pml_request **told)
{
    bool is_new;
    int status = keel_pml_test(told, &is_new, NULL);
    if (status != OPAL_SUCCESS || !is_new) {
        return status;
    }
    batch = *next;
    return post((unsigned char *) next, sizeof(*next), COUNT, told);
}

/* All of a batch but the first. */
static int echo_rest(struct pair *pair, size_t size)
{
    int status = OPAL_SUCCESS;
    for (unsigned i = 1; i < batch && status == OPAL_SUCCESS; i++) {
        status = receive_turn(pair, size, THERE);
        if (status == OPAL_SUCCESS) {
            status = send(pair->out + pair_turn(pair, size), size, BACK);
        }
    }
    return status;
}

/* The first message of a batch is answered before the batch's number is looked at, for that may
 * poll. */
int answer_tag(struct pair *pair, size_t size)
{
    bool came = true;
    unsigned next;
    struct keel_pml_request *told = NULL, *first = NULL;
    int status = post((unsigned char *) &next, sizeof(next), COUNT, &told);
    while (status == OPAL_SUCCESS && came) {
        status = post(pair->in, size, THERE, &first);
        if (status == OPAL_SUCCESS) {
            status = await(pair, &first, &came);
        }
        if (status == OPAL_SUCCESS && came) {
            status = send(pair->out + pair_turn(pair, size), size, BACK);
        }
        if (status == OPAL_SUCCESS && came) {
            status = learn_batch(&next, &told);
        }
        if (status == OPAL_SUCCESS && came) {
            status = echo_rest(pair, size);
        }
    }
    (void) keel_pml_request_free(&first);
    (void) keel_pml_request_free(&told);
    return end_answer(pair, status);
}

/* --- streams --- */

/* The window; NULL: no memory. */
static struct keel_pml_request **window_create(const struct pair *pair)
{
    return calloc(pair->window, sizeof(struct keel_pml_request *));
}

/* Ends when the other end has received all of them and said so. */
int run_tags(struct pair *pair, size_t size, unsigned count)
{
    struct keel_pml_request **sends = window_create(pair), *receipt = NULL;
    uint64_t told = count;
    int status = sends ? post(pair->in, 0, RECEIPT_TAG, &receipt) : OPAL_ERR_OUT_OF_RESOURCE;
    for (unsigned i = 0; i < count && status == OPAL_SUCCESS; i++) {
        struct keel_pml_request **slot = &sends[i % pair->window];
        status = keel_pml_wait(slot, NULL);
        if (status == OPAL_SUCCESS) {
            status = begin_send(pair->out + pair_turn(pair, size), size, DATA, slot);
        }
    }
    if (status == OPAL_SUCCESS) {
        status = keel_pml_waitall(pair->window, sends, NULL);
    }
    if (status == OPAL_SUCCESS) {
        status = send((unsigned char *) &told, sizeof(told), COUNT);
    }
    if (status == OPAL_SUCCESS) {
        status = keel_pml_wait(&receipt, NULL);
    }
    free(sends);
    return status;
}

/* What the answering end of a stream has posted, and seen. */
struct stream {
    struct keel_pml_request **posted; /* the window; message n goes to posted[n % window] */
    struct keel_pml_request *last;    /* of the number of messages of this batch */
    uint64_t count, received;         /* of this batch; ever */
    uint64_t goal;                    /* what will have been received after this batch */
};

static int post_count(struct stream *stream)
{
    return post((unsigned char *) &stream->count, sizeof(stream->count), COUNT, &stream->last);
}

/* Takes what has come, and posts as many again. */
static int take_some(struct pair *pair, struct stream *stream, size_t size)
{
    bool came = true;
    int status = OPAL_SUCCESS;
    while (came && status == OPAL_SUCCESS) {
        struct keel_pml_request **oldest = &stream->posted[stream->received % pair->window];
        status = keel_pml_test(oldest, &came, NULL);
        if (came && status == OPAL_SUCCESS) {
            stream->received++;
            status = post(pair->in, size, DATA, oldest);
        }
    }
    return status;
}

/* Sends the receipt, when all of a batch has come. */
static int end_batch(struct pair *pair, struct stream *stream)
{
    bool told = false;
    int status = stream->last ? keel_pml_test(&stream->last, &told, NULL) : OPAL_SUCCESS;
    if (told) {
        stream->goal += stream->count;
    }
    if (status == OPAL_SUCCESS && !stream->last && stream->received == stream->goal) {
        status = post_count(stream);
        if (status == OPAL_SUCCESS) {
            status = send(pair->out, 0, RECEIPT_TAG);
        }
    }
    return status;
}

/* Window receives are posted at any time. All go to the same memory, which nobody looks at. */
int answer_tags(struct pair *pair, size_t size)
{
    struct stream stream = {.posted = window_create(pair)};
    int status = stream.posted ? post_count(&stream) : OPAL_ERR_OUT_OF_RESOURCE;
    for (unsigned i = 0; i < pair->window && status == OPAL_SUCCESS; i++) {
        status = post(pair->in, size, DATA, &stream.posted[i]);
    }
    while (status == OPAL_SUCCESS && pair->ends == 0) {
        status = take_some(pair, &stream, size);
        if (status == OPAL_SUCCESS) {
            status = end_batch(pair, &stream);
        }
        if (status == OPAL_SUCCESS) {
            status = pair_drive(pair);
        }
    }
    for (unsigned i = 0; i < pair->window && stream.posted; i++) {
        (void) keel_pml_request_free(&stream.posted[i]);
    }
    free(stream.posted);
    (void) keel_pml_request_free(&stream.last);
    return end_answer(pair, status);
}
