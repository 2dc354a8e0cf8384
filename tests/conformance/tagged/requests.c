/* Probes, and the calls that take the ends of requests. */
#include <config.h>

#include <tests/conformance/tagged/suite.h>

/* --- probes --- */

static void a_probe_tells_and_leaves(void)
{
    struct keel_pml_status status;
    bool there = true;
    if (plays(last)) {
        succeeds(keel_pml_iprobe(context_of(last), 0, 5, &there, NULL));
        must(!there);
    }
    meet();
    struct keel_pml_request *send = isend(0, last, 5, long_bytes, KEEL_PML_STANDARD);
    if (plays(last)) {
        succeeds(keel_pml_probe(context_of(last), ANY, 5, &status));
        must(status.source == 0 && status.bytes == long_bytes);
        succeeds(keel_pml_iprobe(context_of(last), 0, ANY_TAG, &there, &status));
        must(there && status.tag == 5);
    }
    struct keel_pml_request *recv = irecv(last, 0, 5, long_bytes);
    if (plays(last)) {
        succeeds(keel_pml_iprobe(context_of(last), 0, 5, &there, NULL));
        must(!there);
    }
    received(last, &recv, 0, 5, long_bytes);
    sent(0, &send);
}

/* Two messages are taken, and received the other way round. */
static void take_two(size_t size)
{
    struct keel_pml_context *context = context_of(last);
    struct keel_pml_message *first = NULL, *second = NULL;
    struct keel_pml_status status;
    struct keel_pml_request *recv;
    opal_convertor_t data = target_data(last, long_bytes);
    succeeds(keel_pml_mprobe(context, 0, 5, &first, &status));
    must(first && status.bytes == size);
    succeeds(keel_pml_mprobe(context, 0, ANY_TAG, &second, &status));
    must(second && status.bytes == 3);
    must(keel_pml_context_free(&context) == OPAL_ERR_RESOURCE_BUSY && context);
    succeeds(keel_pml_imrecv(&second, &data, &recv));
    must(!second);
    received(last, &recv, 0, 5, 3);
    succeeds(keel_pml_imrecv(&first, &data, &recv));
    received(last, &recv, 0, 5, size);
}

static void a_message_is_taken_by_a_probe(void)
{
    if (plays(last)) {
        struct keel_pml_message *none = NULL;
        succeeds(keel_pml_improbe(context_of(last), 0, 5, &none, NULL));
        must(!none);
    }
    meet();
    for (size_t size = 0; size <= long_bytes; size += long_bytes / 4) {
        struct keel_pml_request *first = isend(0, last, 5, size, KEEL_PML_STANDARD);
        struct keel_pml_request *second = isend(0, last, 5, 3, KEEL_PML_STANDARD);
        if (plays(last)) {
            take_two(size);
        }
        sent(0, &first);
        sent(0, &second);
    }
}

/* --- persistent requests --- */

static void start(int rank, struct keel_pml_request *request)
{
    if (plays(rank)) {
        succeeds(keel_pml_start(request));
        must(keel_pml_start(request) == OPAL_ERR_RESOURCE_BUSY);
    }
}

static void wait_persistent(int rank, struct keel_pml_request *request,
                            struct keel_pml_status *status)
{
    if (plays(rank)) {
        struct keel_pml_request *same = request;
        succeeds(keel_pml_waitall(1, &same, status));
        must(same == request);
    }
}

static void a_request_is_started_again(void)
{
    struct keel_pml_request *send = NULL, *recv = NULL;
    struct keel_pml_status status = {.error = -1};
    opal_convertor_t from = source_data(long_bytes), to = target_data(last, long_bytes);
    if (plays(0)) {
        succeeds(keel_pml_send_init(context_of(0), &from, last, 5, KEEL_PML_STANDARD, &send));
        must(keel_pml_context_free(&(struct keel_pml_context *){context_of(0)}) ==
             OPAL_ERR_RESOURCE_BUSY);
    }
    if (plays(last)) {
        succeeds(keel_pml_recv_init(context_of(last), &to, 0, 5, &recv));
        succeeds(keel_pml_wait(&recv, &status)); /* not started */
        must(status.source == ANY && status.error == OPAL_SUCCESS);
    }
    for (int i = 0; i < 10; i++) {
        i % 2 ? start(0, send) : start(last, recv);
        i % 2 ? start(last, recv) : start(0, send);
        wait_persistent(last, recv, &status);
        expect(last, &status, 0, 5, long_bytes);
        wait_persistent(0, send, NULL);
    }
    succeeds(keel_pml_request_free(&send));
    succeeds(keel_pml_request_free(&recv));
    must(!send && !recv);
}

/* --- receives that are cancelled --- */

static void cancel_first(struct keel_pml_request **recv)
{
    struct keel_pml_status status;
    bool done = false;
    succeeds(keel_pml_cancel(*recv));
    must(keel_pml_cancel(*recv) == OPAL_ERR_NOT_FOUND);
    must(keel_pml_test(recv, &done, &status) == OPAL_ERR_INTERUPTED);
    must(done && status.error == OPAL_ERR_INTERUPTED && status.bytes == 0);
}

static void a_receive_is_cancelled(void)
{
    struct keel_pml_request *recv = irecv(last, 0, 5, 8), *second = irecv(last, 0, 5, 8);
    struct keel_pml_request *freed = irecv(last, 0, 7, 8);
    if (plays(last)) {
        cancel_first(&recv);
    }
    succeeds(keel_pml_request_free(&freed));
    meet();
    struct keel_pml_request *sends[3];
    for (int32_t i = 0; i < 3; i++) {
        sends[i] = isend(0, last, 5 + i, 8, KEEL_PML_STANDARD);
    }
    must(!plays(0) || keel_pml_cancel(sends[0]) == OPAL_ERR_NOT_SUPPORTED);
    recv = irecv(last, 0, 6, 8);
    received(last, &recv, 0, 6, 8); /* so the message ahead of it was matched */
    must(!plays(last) || keel_pml_cancel(second) == OPAL_ERR_NOT_FOUND);
    received(last, &second, 0, 5, 8);
    recv = irecv(last, 0, 7, 8); /* what was freed has not taken its message */
    received(last, &recv, 0, 7, 8);
    for (int i = 0; i < 3; i++) {
        sent(0, &sends[i]);
    }
}

/* --- callbacks --- */

/* What the callback was told; by one rank at a time. */
static struct {
    int calls, starts; /* at most so many */
    struct keel_pml_request *last, *started, *waited;
    struct keel_pml_status status;
} told;

static void tell(struct keel_pml_request *request, const struct keel_pml_status *status, void *arg)
{
    must(arg == &told);
    told.calls++;
    told.last = request;
    told.status = *status;
    if (told.started && told.calls < told.starts) {
        succeeds(keel_pml_wait(&told.started, NULL));
        succeeds(keel_pml_start(told.started));
    }
    if (told.waited) {
        succeeds(keel_pml_wait(&told.waited, NULL));
    }
}

static void ask(int rank, struct keel_pml_request *request)
{
    if (plays(rank)) {
        succeeds(keel_pml_callback(request, tell, &told));
    }
}

static void await_calls(int rank, int calls)
{
    while (plays(rank) && told.calls < calls) {
        minihost_check(host);
        (void) ground->progress();
    }
    must(!plays(rank) || told.calls == calls);
}

static void a_callback_comes_once(void)
{
    memset(&told, 0, sizeof(told));
    struct keel_pml_request *recv = irecv(last, 0, 5, 8);
    ask(last, recv);
    must(told.calls == 0);
    meet();
    struct keel_pml_request *send = isend(0, last, 5, 8, KEEL_PML_STANDARD);
    await_calls(last, 1);
    must(!plays(last) || told.last == recv);
    expect(last, &told.status, 0, 5, 8);
    received(last, &recv, 0, 5, 8);
    must(!plays(last) || told.calls == 1);
    sent(0, &send);
    /* From a callback that is asked for after the end; and not of what was freed, or asked no more.
     */
    memset(&told, 0, sizeof(told));
    send = isend(0, last, 6, 8, KEEL_PML_STANDARD);
    recv = irecv(last, 0, 6, 8);
    received(last, &recv, 0, 6, 8);
    ask(0, send);
    sent(0, &send);
    must(!plays(0) || told.calls == 1);
    recv = irecv(last, 0, 5, 8);
    ask(last, recv);
    succeeds(keel_pml_request_free(&recv));
    meet();
    send = isend(0, last, 5, 8, KEEL_PML_STANDARD);
    ask(0, send);
    succeeds(plays(0) ? keel_pml_callback(send, NULL, NULL) : OPAL_SUCCESS);
    sent(0, &send);
    must(!plays(0) || told.calls == 1);
    recv = irecv(last, 0, 5, 8);
    received(last, &recv, 0, 5, 8);
    must(!plays(0) || told.calls == 1);
}

/* It does not stop progress. */
static void a_callback_starts_its_request_again(void)
{
    enum { STARTS = 6 };
    memset(&told, 0, sizeof(told));
    opal_convertor_t from = source_data(8);
    struct keel_pml_request *recvs[STARTS];
    for (int i = 0; i < STARTS; i++) {
        recvs[i] = irecv(last, 0, 5, 8);
    }
    if (plays(0)) {
        struct keel_pml_request *send;
        succeeds(keel_pml_send_init(context_of(0), &from, last, 5, KEEL_PML_STANDARD, &send));
        told.started = send;
        told.starts = STARTS;
        ask(0, send);
        succeeds(keel_pml_start(send));
        await_calls(0, STARTS);
        succeeds(keel_pml_wait(&send, NULL));
        succeeds(keel_pml_request_free(&send));
    }
    for (int i = 0; i < STARTS; i++) {
        received(last, &recvs[i], 0, 5, 8);
    }
}

static void a_callback_waits_for_what_has_ended_with_it(void)
{
    memset(&told, 0, sizeof(told));
    struct keel_pml_request *recv = irecv(last, 0, 5, 8);
    struct keel_pml_request *waited = irecv(last, 0, 6, 8);
    told.waited = waited;
    ask(last, recv);
    ask(last, waited);
    meet();
    struct keel_pml_request *send = isend(0, last, 5, 8, KEEL_PML_STANDARD);
    struct keel_pml_request *other = isend(0, last, 6, 8, KEEL_PML_STANDARD);
    await_calls(last, 2);
    must(!plays(last) || (!told.waited && told.last == waited));
    received(last, &recv, 0, 5, 8);
    sent(0, &send);
    sent(0, &other);
}

/* --- several requests --- */

enum { SEVERAL = 4 };

static void none_has_ended(struct keel_pml_request *recvs[SEVERAL])
{
    size_t index, ended = 99, indices[SEVERAL];
    bool done = true;
    succeeds(keel_pml_testany(SEVERAL, recvs, &index, &done, NULL));
    must(!done);
    succeeds(keel_pml_testsome(SEVERAL, recvs, &ended, indices, NULL));
    must(ended == 0);
}

/* Of tags 0, 2 and 3. */
static void wait_for_any(struct keel_pml_request *recvs[SEVERAL])
{
    struct keel_pml_status statuses[SEVERAL];
    size_t index = 99;
    bool done = true;
    succeeds(keel_pml_waitany(SEVERAL, recvs, &index, statuses));
    must(index == 2 && statuses[0].tag == 2 && !recvs[2]);
    succeeds(keel_pml_testall(SEVERAL, recvs, &done, statuses));
    must(!done);
}

static void wait_for_some(struct keel_pml_request *recvs[SEVERAL])
{
    struct keel_pml_status statuses[SEVERAL];
    size_t ended = 99, indices[SEVERAL];
    succeeds(keel_pml_waitsome(SEVERAL, recvs, &ended, indices, statuses));
    must(ended == 1 && indices[0] == 3 && statuses[0].tag == 3);
}

static void wait_for_all(struct keel_pml_request *recvs[SEVERAL])
{
    struct keel_pml_status statuses[SEVERAL];
    succeeds(keel_pml_cancel(recvs[0]));
    must(keel_pml_waitall(SEVERAL, recvs, statuses) == OPAL_ERR_INTERUPTED);
    must(statuses[0].error == OPAL_ERR_INTERUPTED && statuses[3].error == OPAL_SUCCESS);
}

static void nothing_to_wait_for(struct keel_pml_request *recvs[SEVERAL])
{
    size_t index = 99, ended = 99, indices[SEVERAL];
    bool done = false;
    succeeds(keel_pml_waitany(SEVERAL, recvs, &index, NULL));
    succeeds(keel_pml_waitsome(SEVERAL, recvs, &ended, indices, NULL));
    must(index == SEVERAL && ended == 0);
    succeeds(keel_pml_waitall(0, NULL, NULL));
    succeeds(keel_pml_testall(SEVERAL, recvs, &done, NULL));
    must(done);
}

static void any_some_and_all_are_waited_for(void)
{
    static void (*const waits[SEVERAL])(struct keel_pml_request *[SEVERAL]) = {
        none_has_ended, wait_for_any, wait_for_some, wait_for_all};
    struct keel_pml_request *recvs[SEVERAL], *send = NULL;
    for (int32_t i = 0; i < SEVERAL; i++) {
        recvs[i] = i == 1 ? NULL : irecv(last, 0, i, 8);
    }
    for (int i = 0; i < SEVERAL; i++) {
        if (i == 1 || i == 2) {
            send = isend(0, last, i + 1, 8, KEEL_PML_STANDARD);
        }
        if (plays(last)) {
            waits[i](recvs);
        }
        sent(0, &send);
        meet();
    }
    if (plays(last)) {
        nothing_to_wait_for(recvs);
    }
}

const struct pml_case request_cases[] = {
    PML_CASE(a_probe_tells_and_leaves),
    PML_CASE(a_message_is_taken_by_a_probe),
    PML_CASE(a_request_is_started_again),
    PML_CASE(a_receive_is_cancelled),
    PML_CASE(a_callback_comes_once),
    PML_CASE(a_callback_starts_its_request_again),
    PML_CASE(a_callback_waits_for_what_has_ended_with_it),
    PML_CASE(any_some_and_all_are_waited_for),
    {.name = NULL},
};
