/* failover sum MIB FILE [SEED]: rank 0 sends so many MiB to rank 1, and on until there is the file,
 * in messages of 8 bytes to 64 MiB, to be looked at word by word. Both print how many rails they
 * have to each other, their names and the time, whenever that changes. Code 0: every message came
 * once, in order and whole, and the sums of both agree.
 *
 * failover last: ranks 0 and 1 send and receive until their last rail is lost; both print when each
 * of their requests has ended with an error, in milliseconds since 1970, and return 7. */
#include "must.h"

#include <keel/keel.h>
#include <keel/pml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONTEXT = 1, SIZE = 1, DATA, SUM, WINDOW = 16, LAST = 8 };
#define LARGEST ((size_t) 64 << 20)
#define MOST_BYTES ((size_t) 128 << 20) /* under way */

static struct keel_pml_context *context;
static uint32_t me;
static uint64_t seed = 1;

static opal_convertor_t data_of(void *bytes, size_t length)
{
    opal_convertor_t data;
    opal_convertor_prepare(&data, bytes, length);
    return data;
}

/* Both ranks compute the same. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Every second one is short. */
static size_t size_of(uint64_t number)
{
    const uint64_t random = mix(number + seed * 7919 + 1);
    const unsigned bits = random % 2 ? 3 + random / 2 % 10 : 13 + random / 2 % 14;
    const size_t size = ((size_t) 1 << bits) + (random >> 32) % ((size_t) 1 << bits);
    return size < LARGEST ? size & ~(size_t) 7 : LARGEST;
}

static uint64_t word(uint64_t number, size_t place)
{
    return mix(number) + place * UINT64_C(0x9e3779b97f4a7c15);
}

/* ---- sum ---- */

/* Of messages under way, oldest first in a ring. */
struct slot {
    struct keel_pml_request *request;
    uint64_t *words;
    size_t size;
    uint64_t number;
};

static struct slot slots[WINDOW];
static uint64_t begun, ended, sum, bytes_begun;
static size_t bytes_under_way;

static void begin(size_t size)
{
    struct slot *slot = &slots[begun % WINDOW];
    *slot = (struct slot){.words = malloc(size), .size = size, .number = begun++};
    if (!slot->words) {
        keel_abort(1, "no memory for %zu bytes", size);
    }
    for (size_t i = 0; me == 0 && i < size / 8; i++) {
        slot->words[i] = word(slot->number, i);
    }
    opal_convertor_t data = data_of(slot->words, size);
    must_succeed(me == 0
                     ? keel_pml_isend(context, &data, 1, DATA, KEEL_PML_STANDARD, &slot->request)
                     : keel_pml_irecv(context, &data, 0, DATA, &slot->request),
                 "start");
    bytes_begun += size;
    bytes_under_way += size;
}

static void end_oldest(void)
{
    struct slot *slot = &slots[ended++ % WINDOW];
    struct keel_pml_status status;
    must_succeed(keel_pml_wait(&slot->request, &status), "a message");
    for (size_t i = 0; i < slot->size / 8; i++) {
        if (me == 1 && slot->words[i] != word(slot->number, i)) {
            keel_abort(1, "message %llu: word %zu of %zu is wrong",
                       (unsigned long long) slot->number, i, slot->size / 8);
        }
        sum = sum * 31 + word(slot->number, i);
    }
    if (status.bytes != slot->size) {
        keel_abort(1, "message %llu: %zu bytes of %zu", (unsigned long long) slot->number,
                   status.bytes, slot->size);
    }
    bytes_under_way -= slot->size;
    free(slot->words);
}

static void make_room(size_t size)
{
    while (begun > ended && (begun - ended == WINDOW || bytes_under_way + size > MOST_BYTES)) {
        end_oldest();
    }
}

/* Each message's size goes before it; 0: there is no more. */
static void tell_size(uint64_t size)
{
    opal_convertor_t data = data_of(&size, sizeof(size));
    must_succeed(keel_pml_send(context, &data, 1, SIZE, KEEL_PML_STANDARD), "a size");
}

static void send_all(uint64_t bytes, const char *file)
{
    while (bytes_begun < bytes || access(file, F_OK) != 0) {
        const size_t size = size_of(begun);
        tell_size(size);
        make_room(size);
        begin(size);
    }
    tell_size(0);
}

static void receive_all(void)
{
    uint64_t size = 0;
    opal_convertor_t data = data_of(&size, sizeof(size));
    must_succeed(keel_pml_recv(context, &data, 0, SIZE, NULL), "a size");
    for (; size > 0; must_succeed(keel_pml_recv(context, &data, 0, SIZE, NULL), "a size")) {
        if (size != size_of(begun)) {
            keel_abort(1, "message %llu: its size is wrong", (unsigned long long) begun);
        }
        make_room(size);
        begin(size);
        data = data_of(&size, sizeof(size));
    }
}

static void compare(void)
{
    uint64_t theirs = sum;
    opal_convertor_t data = data_of(&theirs, sizeof(theirs));
    must_succeed(me == 0 ? keel_pml_send(context, &data, 1, SUM, KEEL_PML_SYNCHRONOUS)
                         : keel_pml_recv(context, &data, 0, SUM, NULL),
                 "the sum");
    if (me == 1) {
        printf("%llu messages, %llu MiB: the sum is %s\n", (unsigned long long) ended,
               (unsigned long long) (bytes_begun >> 20), theirs == sum ? "right" : "WRONG");
    }
}

static void changed(const orte_process_name_t *peer, void *arg)
{
    size_t count;
    const struct keel_rail *rails = keel_rails(peer, &count);
    (void) arg;
    if (peer->vpid == me) {
        return;
    }
    printf("rank %u: %zu rails", me, count);
    for (size_t i = 0; i < count; i++) {
        printf(" %s", rails[i].btl->btl_component->btl_version.mca_component_name);
    }
    printf(" at %llu\n", (unsigned long long) now_ms());
    fflush(stdout);
}

/* ---- last ---- */

static char text[4 << 20];

static void start_some(struct keel_pml_request **requests)
{
    static char targets[LAST][64];
    const int32_t peer = (int32_t) (1 - me);
    for (int i = 0; i < LAST; i++) {
        opal_convertor_t data = data_of(text, sizeof(text)), few = data_of(targets[i], 64);
        must_succeed(
            keel_pml_isend(context, &data, peer, DATA + i, KEEL_PML_STANDARD, &requests[2 * i]),
            "isend");
        must_succeed(keel_pml_irecv(context, &few, peer, SUM + LAST + i, &requests[2 * i + 1]),
                     "irecv");
    }
}

/* To and fro, until there is no way. */
static void talk(void)
{
    const int32_t peer = (int32_t) (1 - me);
    int status = OPAL_SUCCESS;
    for (unsigned long round = 0; status == OPAL_SUCCESS; round++) {
        opal_convertor_t data = data_of(&round, sizeof(round));
        struct keel_pml_request *receive = NULL;
        status = keel_pml_irecv(context, &data, peer, SIZE, &receive);
        if (status == OPAL_SUCCESS) {
            unsigned long number = round;
            opal_convertor_t mine = data_of(&number, sizeof(number));
            status = keel_pml_send(context, &mine, peer, SIZE, KEEL_PML_STANDARD);
            int received = keel_pml_wait(&receive, NULL);
            status = status == OPAL_SUCCESS ? received : status;
        }
        if (round == 100) {
            printf("rank %u is ready\n", me);
            fflush(stdout);
        }
    }
}

/* A long message each way, so that every rail is in use. */
static void use_all_rails(void)
{
    static char target[sizeof(text)];
    struct keel_pml_request *receive = NULL;
    opal_convertor_t data = data_of(text, sizeof(text)), place = data_of(target, sizeof(target));
    must_succeed(keel_pml_irecv(context, &place, (int32_t) (1 - me), SUM, &receive), "irecv");
    must_succeed(keel_pml_send(context, &data, (int32_t) (1 - me), SUM, KEEL_PML_STANDARD), "send");
    must_succeed(keel_pml_wait(&receive, NULL), "wait");
}

static int lose_last(void)
{
    struct keel_pml_request *requests[2 * LAST];
    use_all_rails();
    start_some(requests);
    talk();
    int errors = 0;
    for (int i = 0; i < 2 * LAST; i++) {
        errors += keel_pml_wait(&requests[i], NULL) == OPAL_ERR_UNREACH;
    }
    printf("rank %u: %d of %d requests ended with an error at %llu\n", me, errors, 2 * LAST,
           (unsigned long long) now_ms());
    fflush(stdout);
    return keel_fence() == ORTE_SUCCESS && errors == 2 * LAST ? 7 : 2;
}

int main(int argc, char **argv)
{
    if (argc < 2 || (argc < 4 && strcmp(argv[1], "last") != 0)) {
        return 2;
    }
    must_succeed(keel_init(NULL), "init");
    me = keel_my_name()->vpid;
    must_succeed(keel_pml_context_open(CONTEXT, NULL, keel_job_size(), (int32_t) me, &context),
                 "context");
    int code = 0;
    if (argc < 4) {
        code = lose_last();
    } else {
        const orte_process_name_t peer = {keel_my_name()->jobid, 1 - me};
        seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
        must_succeed(keel_rails_watch(changed, NULL), "watch");
        changed(&peer, NULL);
        if (me == 0) {
            send_all(strtoull(argv[2], NULL, 10) << 20, argv[3]);
        } else {
            receive_all();
        }
        while (ended < begun) {
            end_oldest();
        }
        compare();
    }
    must_succeed(keel_pml_context_free(&context), "free");
    must_succeed(keel_finalize(), "finalize");
    return code;
}
