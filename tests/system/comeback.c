/* comeback SIZE TIMES CUT MEND: rank 0 sends rank 1 a stream of messages of SIZE bytes. When each
 * of their rails carries some, rank 1 runs the command CUT, waits until a rail is lost, runs MEND,
 * and waits until the rail carries some again; so many times. It prints how long each of these
 * took, and the longest time in which no message came.
 *
 * comeback SIZE: no rail is cut by a command. The first one that is new to rank 1 is waited for. */
#include "must.h"

#include <keel/keel.h>
#include <keel/pml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 1, DATA = 1, STOP, WINDOW = 8, RAILS = 8, SOME = 64 << 10, ROWS = 64 };

static struct keel_pml_context *context;
static uint32_t me;
static size_t size;

/* ---- the stream ---- */

/* At the beginning of each message. */
struct head {
    uint64_t number;
    bool last;
};

static struct keel_pml_request *requests[WINDOW];
static struct head *buffers[WINDOW];
static uint64_t ended;
static uint64_t came_ms, longest_ms; /* when the last one came; between two of them */

static void start(uint64_t number)
{
    opal_convertor_t data;
    struct keel_pml_request **request = &requests[number % WINDOW];
    opal_convertor_prepare(&data, buffers[number % WINDOW], size);
    must_succeed(me == 0 ? keel_pml_isend(context, &data, 1, DATA, KEEL_PML_STANDARD, request)
                         : keel_pml_irecv(context, &data, 0, DATA, request),
                 "start");
}

static void send_next(bool last)
{
    *buffers[ended % WINDOW] = (struct head){ended, last};
    start(ended++);
}

/* If the oldest has come, another one is waited for in its place. Returns whether it was the last.
 */
static bool receive_some(void)
{
    bool done = false;
    const struct head *head = buffers[ended % WINDOW];
    must_succeed(keel_pml_test(&requests[ended % WINDOW], &done, NULL), "a message");
    if (!done) {
        return false;
    }
    if (head->number != ended) {
        keel_abort(1, "message %llu instead of %llu", (unsigned long long) head->number,
                   (unsigned long long) ended);
    }
    const bool last = head->last;
    const uint64_t now = now_ms();
    longest_ms = now - came_ms > longest_ms ? now - came_ms : longest_ms;
    came_ms = now;
    start(ended++ + WINDOW);
    return last;
}

/* ---- rails ---- */

/* Bytes that it has brought or fetched. */
static uint64_t carried(const struct keel_rail *rail)
{
    struct keel_btl_stat stats[ROWS];
    uint64_t bytes = 0;
    const size_t count = keel_btl_stats(rail->btl, rail->endpoint, stats, ROWS);
    for (size_t i = 0; i < count && i < ROWS; i++) {
        if (strcmp(stats[i].name, "bytes_received") == 0 ||
            strcmp(stats[i].name, "get_bytes") == 0) {
            bytes += stats[i].value;
        }
    }
    return bytes;
}

struct rails {
    struct keel_rail rail[RAILS];
    uint64_t before[RAILS]; /* bytes that each had carried when this was looked at */
    size_t count;
};

static struct rails rails_now(void)
{
    const orte_process_name_t peer = {keel_my_name()->jobid, 1 - me};
    struct rails now = {.count = 0};
    const struct keel_rail *rails = keel_rails(&peer, &now.count);
    now.count = now.count < RAILS ? now.count : RAILS;
    for (size_t i = 0; i < now.count; i++) {
        now.rail[i] = rails[i];
        now.before[i] = carried(&rails[i]);
    }
    return now;
}

static bool has(const struct rails *rails, const struct keel_rail *rail)
{
    for (size_t i = 0; i < rails->count; i++) {
        if (rails->rail[i].endpoint == rail->endpoint) {
            return true;
        }
    }
    return false;
}

/* One of these that is not among those; NULL: none. */
static const struct keel_rail *one_without(const struct rails *these, const struct rails *those)
{
    for (size_t i = 0; i < these->count; i++) {
        if (!has(those, &these->rail[i])) {
            return &these->rail[i];
        }
    }
    return NULL;
}

static uint64_t changed_ms; /* when the rails to the peer last changed */

static void changed(const orte_process_name_t *peer, void *arg)
{
    (void) arg;
    if (peer->vpid != me) {
        changed_ms = now_ms();
    }
}

static const char *name_of(const struct keel_rail *rail)
{
    return rail->btl->btl_component->btl_version.mca_component_name;
}

/* ---- what is waited for: the stream goes on meanwhile ---- */

/* Short messages go by one of them. */
static void until_used(const struct rails *rails)
{
    for (size_t i = 0; i < rails->count; i++) {
        while (carried(&rails->rail[i]) < rails->before[i] + SOME && (size >= SOME || i == 0)) {
            (void) receive_some();
        }
    }
}

static struct keel_rail until_lost(const struct rails *before)
{
    struct rails now = rails_now();
    for (; !one_without(before, &now); now = rails_now()) {
        (void) receive_some();
    }
    return *one_without(before, &now);
}

static void until_there(const struct keel_rail *rail)
{
    for (struct rails now = rails_now(); !has(&now, rail); now = rails_now()) {
        (void) receive_some();
    }
}

/* Returns when. */
static uint64_t until_it_carries(const struct keel_rail *rail)
{
    const uint64_t before = carried(rail);
    while (carried(rail) < before + SOME) {
        (void) receive_some();
    }
    return now_ms();
}

static void run(const char *command)
{
    if (system(command) != 0) {
        keel_abort(1, "%s failed", command);
    }
}

/* The rails were whole before, and are after it. */
static void lose_one(const char *cut, const char *mend, uint64_t pause_ms)
{
    const struct rails whole = rails_now();
    until_used(&whole);
    const uint64_t cut_ms = now_ms();
    came_ms = cut_ms;
    longest_ms = 0;
    run(cut);
    const struct keel_rail rail = until_lost(&whole);
    const uint64_t lost_ms = changed_ms;
    while (now_ms() < lost_ms + pause_ms) {
        (void) receive_some();
    }
    const uint64_t mended_ms = now_ms();
    run(mend);
    until_there(&rail);
    const uint64_t found_ms = changed_ms, used_ms = until_it_carries(&rail);
    printf(
        "%s: lost %d ms after its cut; no message for %d ms; with its link back for %d ms found, "
        "for %d ms used\n",
        name_of(&rail), (int) (lost_ms - cut_ms), (int) longest_ms, (int) (found_ms - mended_ms),
        (int) (used_ms - mended_ms));
    fflush(stdout);
}

static void wait_for_new(void)
{
    const struct rails first = rails_now();
    struct rails now = first;
    for (; !one_without(&now, &first); now = rails_now()) {
        (void) receive_some();
    }
    const struct keel_rail *rail = one_without(&now, &first);
    const uint64_t used_ms = until_it_carries(rail);
    printf("%s: new for %d ms used\n", name_of(rail), (int) (used_ms - changed_ms));
}

/* ---- the ranks ---- */

/* Rank 1 says when it has seen enough. */
static void send_until_told(void)
{
    bool told = false;
    opal_convertor_t nothing;
    struct keel_pml_request *stop = NULL;
    opal_convertor_prepare(&nothing, NULL, 0);
    must_succeed(keel_pml_irecv(context, &nothing, 1, STOP, &stop), "irecv");
    while (!told) {
        must_succeed(keel_pml_test(&stop, &told, NULL), "test");
        must_succeed(keel_pml_wait(&requests[ended % WINDOW], NULL), "a message");
        send_next(told);
    }
    must_succeed(keel_pml_waitall(WINDOW, requests, NULL), "the last messages");
}

static void receive_to_the_end(void)
{
    opal_convertor_t nothing;
    opal_convertor_prepare(&nothing, NULL, 0);
    must_succeed(keel_pml_send(context, &nothing, 0, STOP, KEEL_PML_STANDARD), "stop");
    while (!receive_some()) {
    }
    for (int i = 0; i < WINDOW; i++) {
        must_succeed(keel_pml_cancel(requests[i]), "cancel");
        (void) keel_pml_wait(&requests[i], NULL);
    }
}

static void receive(char **words)
{
    const unsigned long times = words[0] ? strtoul(words[0], NULL, 10) : 0;
    must_succeed(keel_rails_watch(changed, NULL), "watch");
    for (uint64_t i = 0; i < WINDOW; i++) {
        start(i);
    }
    if (times == 0) {
        wait_for_new();
    }
    for (unsigned long i = 0; i < times; i++) {
        lose_one(words[1], words[2], i * 700 % 2000);
    }
    receive_to_the_end();
}

int main(int argc, char **argv)
{
    size = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    if ((argc != 2 && argc != 5) || size < sizeof(struct head)) {
        return 2;
    }
    must_succeed(keel_init(NULL), "init");
    me = keel_my_name()->vpid;
    must_succeed(keel_pml_context_open(CONTEXT, NULL, keel_job_size(), (int32_t) me, &context),
                 "context");
    for (int i = 0; i < WINDOW; i++) {
        if (!(buffers[i] = calloc(1, size))) {
            keel_abort(1, "no memory");
        }
    }
    if (me == 0) {
        send_until_told();
    } else {
        receive(argv + 2);
    }
    for (int i = 0; i < WINDOW; i++) {
        free(buffers[i]);
    }
    must_succeed(keel_pml_context_free(&context), "free");
    must_succeed(keel_finalize(), "finalize");
    return 0;
}
