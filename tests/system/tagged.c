/* Messages by tag and several threads. Usage: tagged mixed|serve|idle|anew [COUNT|FILE]
 *
 *   mixed   eight threads of each rank send to all ranks and receive from any, in all the ways that
 *           there are, messages of all sizes; what comes is whole, complete and in order
 *   serve   with a progress thread: a rank that is not in Keel receives, until FILE is there
 *   idle    a rank that waits uses little of the processor, in each call that waits
 *
 *   anew    messages after a checkpoint and after a restart of all ranks
 *
 * Each rank prints "rank N: MODE: ok", or says what is wrong and ends the job. */
#include "must.h"

#include <keel/keel.h>
#include <keel/pml.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PAIRS = 4, LARGEST = 150000, WINDOW = 4, RANKS_MOST = 8, IDLE_MS = 150, LIMIT_S = 60 };
enum { IDLE_TRIALS = 2 };
enum { FIRST_TAG = 10, SERVE_TAG = 100, IDLE_TAG, ANEW_TAG, KEPT_TAG, LATE_TAG };

static int32_t me, ranks;
static unsigned long count = 100;
static const char *file;
static struct keel_pml_context *context;

static double now_s(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double) time.tv_sec + (double) time.tv_nsec * 1e-9;
}

static void sleep_ms(int ms)
{
    const struct timespec time = {ms / 1000, (long) (ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

/* ---- messages: the sender's number, then bytes that follow from it ---- */

struct message {
    uint32_t number;
    unsigned char bytes[LARGEST];
};

static size_t size_of(uint32_t number)
{
    static const size_t sizes[] = {0, 1, 100, 3000, 5000, 40000, 70000, LARGEST};
    return sizes[number % (sizeof(sizes) / sizeof(*sizes))];
}

static opal_convertor_t data_of(struct message *message, size_t size)
{
    opal_convertor_t data;
    opal_convertor_prepare(&data, message, sizeof(message->number) + size);
    return data;
}

static void fill(struct message *message, uint32_t number)
{
    message->number = number;
    for (size_t i = 0; i < size_of(number); i++) {
        message->bytes[i] = (unsigned char) (number + i);
    }
}

static void check(const struct message *message, const struct keel_pml_status *status, int32_t tag)
{
    size_t size = size_of(message->number);
    must(status->error == OPAL_SUCCESS && status->tag == tag && !status->truncated);
    must(status->source >= 0 && status->source < ranks);
    must(status->bytes == sizeof(message->number) + size);
    for (size_t i = 0; i < size; i += 97) {
        must(message->bytes[i] == (unsigned char) (message->number + i));
    }
}

static struct message *message_new(void)
{
    struct message *made = calloc(1, sizeof(*made));
    must(made);
    return made;
}

/* ---- senders and receivers ---- */

struct worker {
    pthread_t thread;
    int32_t tag;
    void (*receive)(struct worker *worker); /* NULL: it sends */
    uint32_t next[RANKS_MOST];              /* number of the next message of each rank */
};

static void send_all(struct worker *worker)
{
    struct message *message = message_new();
    for (uint32_t number = 0; number < count; number++) {
        opal_convertor_t data = data_of(message, size_of(number));
        fill(message, number);
        for (int32_t rank = 0; rank < ranks; rank++) {
            keel_pml_mode_t mode = number % 3 == 0   ? KEEL_PML_SYNCHRONOUS
                                   : number % 7 == 0 ? KEEL_PML_BUFFERED
                                                     : KEEL_PML_STANDARD;
            must(keel_pml_send(context, &data, (me + rank) % ranks, worker->tag, mode) ==
                 OPAL_SUCCESS);
        }
    }
    free(message);
}

static void in_order(struct worker *worker, const struct message *message,
                     const struct keel_pml_status *status)
{
    check(message, status, worker->tag);
    must(message->number == worker->next[status->source]++);
}

static void receive_plainly(struct worker *worker)
{
    struct message *message = message_new();
    opal_convertor_t data = data_of(message, LARGEST);
    for (unsigned long i = 0; i < count * (unsigned) ranks; i++) {
        struct keel_pml_status status;
        must(keel_pml_recv(context, &data, KEEL_PML_ANY_SOURCE, worker->tag, &status) ==
             OPAL_SUCCESS);
        in_order(worker, message, &status);
    }
    free(message);
}

static void receive_probed(struct worker *worker)
{
    struct message *message = message_new();
    for (unsigned long i = 0; i < count * (unsigned) ranks; i++) {
        struct keel_pml_status status, end;
        struct keel_pml_message *taken;
        struct keel_pml_request *request;
        must(keel_pml_mprobe(context, KEEL_PML_ANY_SOURCE, worker->tag, &taken, &status) ==
             OPAL_SUCCESS);
        must(status.bytes <= sizeof(*message));
        opal_convertor_t data = data_of(message, status.bytes - sizeof(message->number));
        must(keel_pml_imrecv(&taken, &data, &request) == OPAL_SUCCESS && !taken);
        must(keel_pml_wait(&request, &end) == OPAL_SUCCESS && end.source == status.source);
        in_order(worker, message, &end);
    }
    free(message);
}

/* Posted together: each rank's come in the order of the receives. */
static void receive_windows(struct worker *worker)
{
    struct message *messages[WINDOW];
    struct keel_pml_request *requests[WINDOW];
    struct keel_pml_status statuses[WINDOW];
    for (int i = 0; i < WINDOW; i++) {
        messages[i] = message_new();
    }
    for (unsigned long left = count * (unsigned) ranks; left > 0;) {
        size_t posted = left < WINDOW ? left : WINDOW;
        for (size_t i = 0; i < posted; i++) {
            opal_convertor_t data = data_of(messages[i], LARGEST);
            must(keel_pml_irecv(context, &data, KEEL_PML_ANY_SOURCE, worker->tag, &requests[i]) ==
                 OPAL_SUCCESS);
        }
        for (size_t i = 0; i < posted; i++) {
            size_t index;
            struct keel_pml_status status;
            must(keel_pml_waitany(posted, requests, &index, &status) == OPAL_SUCCESS);
            must(index < posted && !requests[index]);
            statuses[index] = status;
        }
        for (size_t i = 0; i < posted; i++) {
            in_order(worker, messages[i], &statuses[i]);
        }
        left -= posted;
    }
    for (int i = 0; i < WINDOW; i++) {
        free(messages[i]);
    }
}

static atomic_int callbacks_at_once;

static void note_end(struct keel_pml_request *request, const struct keel_pml_status *status,
                     void *calls)
{
    (void) request;
    must(status->error == OPAL_SUCCESS);
    must(atomic_fetch_add(&callbacks_at_once, 1) == 0);
    (*(unsigned long *) calls)++;
    atomic_fetch_sub(&callbacks_at_once, 1);
}

/* A callback has run, and returned, before its request shows its end. */
static void receive_called_back(struct worker *worker)
{
    struct message *message = message_new();
    struct keel_pml_request *request;
    unsigned long calls = 0;
    opal_convertor_t data = data_of(message, LARGEST);
    must(keel_pml_recv_init(context, &data, KEEL_PML_ANY_SOURCE, worker->tag, &request) ==
         OPAL_SUCCESS);
    must(keel_pml_callback(request, note_end, &calls) == OPAL_SUCCESS);
    for (unsigned long i = 0; i < count * (unsigned) ranks; i++) {
        struct keel_pml_status status;
        bool done = false;
        must(keel_pml_start(request) == OPAL_SUCCESS);
        while (i % 2 == 0 && !done) {
            must(keel_pml_test(&request, &done, &status) == OPAL_SUCCESS);
        }
        if (i % 2 != 0) {
            must(keel_pml_wait(&request, &status) == OPAL_SUCCESS);
        }
        must(calls == i + 1);
        in_order(worker, message, &status);
    }
    must(keel_pml_request_free(&request) == OPAL_SUCCESS);
    free(message);
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    (worker->receive ? worker->receive : send_all)(worker);
    return NULL;
}

static void mixed(void)
{
    void (*const receive[PAIRS])(struct worker *) = {receive_plainly, receive_probed,
                                                     receive_windows, receive_called_back};
    struct worker workers[2 * PAIRS];
    for (int i = 0; i < 2 * PAIRS; i++) {
        workers[i] =
            (struct worker){.tag = FIRST_TAG + i / 2, .receive = i % 2 ? receive[i / 2] : NULL};
        must(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    }
    for (int i = 0; i < 2 * PAIRS; i++) {
        must(pthread_join(workers[i].thread, NULL) == 0);
    }
}

/* ---- a progress thread ---- */

static void serve(void)
{
    struct message *message = message_new();
    struct keel_pml_request *request;
    opal_convertor_t data = data_of(message, LARGEST);
    if (me == 0) {
        must(keel_fence() == ORTE_SUCCESS);
        must(keel_pml_send(context, &data, 1, SERVE_TAG, KEEL_PML_SYNCHRONOUS) == OPAL_SUCCESS);
        FILE *made = fopen(file, "w");
        must(made && fclose(made) == 0);
    } else if (me == 1) {
        double end = now_s(CLOCK_MONOTONIC) + LIMIT_S;
        must(keel_pml_irecv(context, &data, 0, SERVE_TAG, &request) == OPAL_SUCCESS);
        must(keel_fence() == ORTE_SUCCESS);
        while (access(file, F_OK) != 0) {
            must(now_s(CLOCK_MONOTONIC) < end);
        }
        must(keel_pml_wait(&request, NULL) == OPAL_SUCCESS);
    }
    free(message);
}

/* ---- sleeping ---- */

static struct keel_pml_request *irecv(int32_t source, int32_t tag)
{
    struct keel_pml_request *request;
    must(keel_pml_irecv(context, NULL, source, tag, &request) == OPAL_SUCCESS);
    return request;
}

static int wait_in_recv(void)
{
    return keel_pml_recv(context, NULL, 1, IDLE_TAG, NULL);
}

static int wait_in_wait(void)
{
    struct keel_pml_request *request = irecv(1, IDLE_TAG);
    return keel_pml_wait(&request, NULL);
}

static int wait_in_waitall(void)
{
    struct keel_pml_request *requests[] = {irecv(1, IDLE_TAG), NULL};
    return keel_pml_waitall(2, requests, NULL);
}

static int wait_in_waitsome(void)
{
    struct keel_pml_request *requests[] = {NULL, irecv(1, IDLE_TAG)};
    size_t ended, indices[2];
    int status = keel_pml_waitsome(2, requests, &ended, indices, NULL);
    must(ended == 1 && indices[0] == 1);
    return status;
}

static int wait_in_waitany(void)
{
    struct keel_pml_request *requests[] = {irecv(1, IDLE_TAG)};
    size_t index;
    return keel_pml_waitany(1, requests, &index, NULL);
}

static int wait_in_probe(void)
{
    int status = keel_pml_probe(context, KEEL_PML_ANY_SOURCE, IDLE_TAG, NULL);
    must(status == OPAL_SUCCESS);
    return keel_pml_recv(context, NULL, 1, IDLE_TAG, NULL);
}

static int wait_in_mprobe(void)
{
    struct keel_pml_message *taken;
    struct keel_pml_request *request;
    must(keel_pml_mprobe(context, 1, IDLE_TAG, &taken, NULL) == OPAL_SUCCESS);
    must(keel_pml_imrecv(&taken, NULL, &request) == OPAL_SUCCESS);
    return keel_pml_wait(&request, NULL);
}

static int wait_in_send(void)
{
    return keel_pml_send(context, NULL, 1, IDLE_TAG, KEEL_PML_SYNCHRONOUS);
}

static void end_wait(bool of_send)
{
    sleep_ms(IDLE_MS);
    must((of_send ? keel_pml_recv(context, NULL, 0, IDLE_TAG, NULL)
                  : keel_pml_send(context, NULL, 0, IDLE_TAG, KEEL_PML_STANDARD)) == OPAL_SUCCESS);
}

/* Of the processor, in ms. */
static double time_of(int (*wait)(void))
{
    const double before = now_s(CLOCK_PROCESS_CPUTIME_ID);
    must(wait() == OPAL_SUCCESS);
    return (now_s(CLOCK_PROCESS_CPUTIME_ID) - before) * 1000;
}

/* The least of some: a busy machine makes what it takes look longer. */
static void idle(void)
{
    static const struct {
        const char *name;
        int (*wait)(void);
    } waits[] = {{"recv", wait_in_recv},       {"wait", wait_in_wait},
                 {"waitall", wait_in_waitall}, {"waitsome", wait_in_waitsome},
                 {"waitany", wait_in_waitany}, {"probe", wait_in_probe},
                 {"mprobe", wait_in_mprobe},   {"send", wait_in_send}};
    for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
        double least = IDLE_MS;
        for (int trial = 0; trial < IDLE_TRIALS; trial++) {
            must(keel_fence() == ORTE_SUCCESS);
            if (me == 1) {
                end_wait(waits[i].wait == wait_in_send);
            } else if (me == 0) {
                const double used = time_of(waits[i].wait);
                least = used < least ? used : least;
            }
        }
        if (me == 0) {
            printf("%s: %.1f ms of processor time in %d ms\n", waits[i].name, least, IDLE_MS);
            must(least < IDLE_MS / 5.0);
        }
    }
}

/* ---- checkpoints ---- */

/* Every rank sends to the next, short and long messages. */
static void exchange(struct message *out, struct message *in)
{
    for (uint32_t number = 0; number < 16; number++) {
        struct keel_pml_request *request;
        struct keel_pml_status status;
        opal_convertor_t from = data_of(out, size_of(number)), to = data_of(in, LARGEST);
        fill(out, number);
        must(keel_pml_isend(context, &from, (me + 1) % ranks, ANEW_TAG, KEEL_PML_STANDARD,
                            &request) == OPAL_SUCCESS);
        must(keel_pml_recv(context, &to, KEEL_PML_ANY_SOURCE, ANEW_TAG, &status) == OPAL_SUCCESS);
        check(in, &status, ANEW_TAG);
        must(keel_pml_wait(&request, NULL) == OPAL_SUCCESS);
    }
}

/* Messages that nobody has received, a long one among them, and a receive that none has come for,
 * are there afterwards. */
static void go_through(int state, struct message *out, struct message *in)
{
    struct message *late = message_new(), *large = message_new();
    struct keel_pml_status status;
    struct keel_pml_request *posted, *announced;
    opal_convertor_t from = data_of(out, size_of(3)), to = data_of(in, LARGEST),
                     whole = data_of(large, LARGEST), later = data_of(late, LARGEST);
    fill(out, 3);
    must(keel_pml_send(context, &from, (me + 1) % ranks, KEPT_TAG, KEEL_PML_STANDARD) ==
         OPAL_SUCCESS);
    must(keel_pml_irecv(context, &later, KEEL_PML_ANY_SOURCE, LATE_TAG, &posted) == OPAL_SUCCESS);
    fill(large, 7);
    must(keel_pml_isend(context, &whole, (me + 1) % ranks, KEPT_TAG, KEEL_PML_STANDARD,
                        &announced) == OPAL_SUCCESS);
    must(keel_ft_event(OPAL_CRS_CHECKPOINT) == ORTE_SUCCESS);
    must(keel_ft_event(state) == ORTE_SUCCESS);
    must(keel_pml_recv(context, &to, KEEL_PML_ANY_SOURCE, KEPT_TAG, &status) == OPAL_SUCCESS);
    check(in, &status, KEPT_TAG);
    must(keel_pml_recv(context, &to, KEEL_PML_ANY_SOURCE, KEPT_TAG, &status) == OPAL_SUCCESS);
    check(in, &status, KEPT_TAG);
    must(keel_pml_wait(&announced, NULL) == OPAL_SUCCESS);
    must(keel_pml_send(context, &from, (me + 1) % ranks, LATE_TAG, KEEL_PML_STANDARD) ==
         OPAL_SUCCESS);
    must(keel_pml_wait(&posted, &status) == OPAL_SUCCESS);
    check(late, &status, LATE_TAG);
    free(late);
    free(large);
}

static void anew(void)
{
    struct message *out = message_new(), *in = message_new();
    exchange(out, in);
    go_through(OPAL_CRS_CONTINUE, out, in);
    exchange(out, in);
    go_through(OPAL_CRS_RESTART, out, in);
    exchange(out, in);
    go_through(OPAL_CRS_RESTART, out, in);
    exchange(out, in);
    must(keel_fence() == ORTE_SUCCESS);
    free(out);
    free(in);
}

/* ---- the job ---- */

static const struct mode {
    const char *name;
    void (*run)(void);
    bool multiple, progress;
} modes[] = {{"mixed", mixed, true, false},
             {"serve", serve, false, true},
             {"idle", idle, false, false},
             {"anew", anew, false, false}};

static const struct mode *mode_of(const char *name)
{
    size_t i = 0;
    while (i < sizeof(modes) / sizeof(*modes) && strcmp(modes[i].name, name) != 0) {
        i++;
    }
    return i < sizeof(modes) / sizeof(*modes) ? &modes[i] : NULL;
}

int main(int argc, char **argv)
{
    struct keel_options options = KEEL_OPTIONS_DEFAULT;
    const struct mode *mode = argc > 1 ? mode_of(argv[1]) : NULL;
    if (!mode) {
        return 2;
    }
    options.thread_multiple = mode->multiple;
    options.progress_thread = mode->progress;
    file = argc > 2 ? argv[2] : "";
    count = argc > 2 && mode->run == mixed ? strtoul(argv[2], NULL, 10) : count;
    if (keel_init(&options) != ORTE_SUCCESS || keel_job_size() > RANKS_MOST) {
        return 2;
    }
    me = (int32_t) keel_my_name()->vpid;
    ranks = (int32_t) keel_job_size();
    must(keel_pml_context_open(0, NULL, (size_t) ranks, me, &context) == OPAL_SUCCESS);
    mode->run();
    must(keel_pml_context_free(&context) == OPAL_SUCCESS);
    printf("rank %d: %s: ok\n", (int) me, mode->name);
    return keel_finalize() == ORTE_SUCCESS ? 0 : 1;
}
