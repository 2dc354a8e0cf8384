/* Messages of all sizes, in all ways; and in order. */
#include <config.h>

#include <stdlib.h>
#include <tests/conformance/tagged/suite.h>

/* --- every rank sends to every rank --- */

enum { TAG = 5, SIZES_MOST = 64 };
enum take { POSTED, PROBED, TAKEN, TAKES };

/* How the messages of an exchange go. */
struct way {
    keel_pml_mode_t mode;
    enum take take;
    bool late; /* receives come after the sends, as they do when messages are probed for */
    bool any_source, any_tag, scattered, scatters;
};
enum { WAYS = 4 * TAKES * 2 * 2 * 2 * 2 * 2 };

static struct way way_of(unsigned number)
{
    struct way way = {.mode = (keel_pml_mode_t) (number % 4), .take = number / 4 % TAKES};
    number /= 4 * TAKES;
    way.late = number & 1 || way.take != POSTED;
    way.any_source = number & 2;
    way.any_tag = number & 4;
    way.scattered = number & 8;
    way.scatters = number & 16;
    return way;
}

/* A rank's part, by peers. */
struct side {
    struct keel_pml_request *sends[RANKS_MOST], *receives[RANKS_MOST];
    struct buffer out[RANKS_MOST], in[RANKS_MOST];
};

static struct side sides[RANKS_MOST];

static unsigned pattern_of(int from, int to)
{
    return (unsigned) (from * RANKS_MOST + to + 1);
}

static void send_to_all(int me, size_t size, const struct way *way)
{
    struct side *side = &sides[me];
    for (int to = 0; to < ranks; to++) {
        buffer_open(&side->out[to], size, way->scattered);
        buffer_fill(&side->out[to], size, pattern_of(me, to));
        succeeds(keel_pml_isend(context_of(me), &side->out[to].data, to, TAG, way->mode,
                                &side->sends[to]));
    }
}

static void receive_one(int me, int from, size_t size, const struct way *way)
{
    struct keel_pml_context *context = context_of(me);
    struct keel_pml_message *message = NULL;
    struct keel_pml_status status = {.bytes = size};
    struct keel_pml_request **receive = &sides[me].receives[from];
    const opal_convertor_t *data = &sides[me].in[from].data;
    int32_t source = way->any_source ? ANY : from, tag = way->any_tag ? ANY_TAG : TAG;
    if (way->take == TAKEN) {
        succeeds(keel_pml_mprobe(context, source, tag, &message, &status));
        succeeds(keel_pml_imrecv(&message, data, receive));
        must(!message);
    } else if (way->take == PROBED) {
        succeeds(keel_pml_probe(context, source, tag, &status));
        succeeds(keel_pml_irecv(context, data, status.source, status.tag, receive));
    } else {
        succeeds(keel_pml_irecv(context, data, source, tag, receive));
    }
    must(status.bytes == size);
}

static void receive_from_all(int me, size_t size, const struct way *way)
{
    for (int from = 0; from < ranks; from++) {
        buffer_open(&sides[me].in[from], size, way->scatters);
        receive_one(me, from, size, way);
    }
}

/* One message of each rank has come, whole. */
static void check_side(int me, size_t size)
{
    struct side *side = &sides[me];
    struct keel_pml_status statuses[RANKS_MOST];
    unsigned sources = 0;
    succeeds(keel_pml_waitall((size_t) ranks, side->receives, statuses));
    succeeds(keel_pml_waitall((size_t) ranks, side->sends, NULL));
    for (int i = 0; i < ranks; i++) {
        must(statuses[i].bytes == size && statuses[i].tag == TAG && !statuses[i].truncated);
        must(buffer_is(&side->in[i], size, pattern_of(statuses[i].source, me)));
        sources |= 1u << statuses[i].source;
        free(side->in[i].bytes);
        free(side->out[i].bytes);
    }
    must(sources == (1u << ranks) - 1);
}

static void exchange(size_t size, const struct way *way)
{
    for (int half = 0; half < 2; half++) {
        for (int me = 0; me < ranks; me++) {
            if (plays(me) && (half == 0) == way->late) {
                send_to_all(me, size, way);
            } else if (plays(me)) {
                receive_from_all(me, size, way);
            }
        }
        meet();
    }
    for (int me = 0; me < ranks; me++) {
        if (plays(me)) {
            check_side(me, size);
        }
    }
    meet();
}

/* Of each limit, those beside it too. */
static size_t choose_sizes(size_t sizes[SIZES_MOST])
{
    size_t count = 0;
    const size_t others[] = {0, 1, 8, 500, long_bytes, most};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        sizes[count++] = others[i];
    }
    for (size_t i = 0; i < limit_count; i++) {
        for (size_t beside = 0; beside < 3; beside++) {
            sizes[count++] = limits[i] + beside - 1;
        }
    }
    return count;
}

static void every_size_goes_every_way(void)
{
    size_t sizes[SIZES_MOST], count = choose_sizes(sizes);
    for (size_t i = 0; i < count; i++) {
        unsigned stride = ground->stride * (sizes[i] > 100000 ? 7 : 1);
        for (unsigned number = (unsigned) (i + seed) % stride; number < WAYS; number += stride) {
            const struct way way = way_of(number);
            exchange(sizes[i], &way);
        }
    }
}

/* --- many, in order --- */

enum { FLOODS = 4, FLOOD_MOST = 20000, FLOOD_TAGS = 7 };

static struct keel_pml_request *flood[RANKS_MOST][FLOOD_MOST];
static int32_t numbers[RANKS_MOST][FLOOD_MOST];

static void flood_next(int me, int pass)
{
    for (int32_t i = 0; i < ground->burst; i++) {
        opal_convertor_t data;
        numbers[me][i] = pass * ground->burst + i;
        opal_convertor_prepare(&data, &numbers[me][i], sizeof(numbers[me][i]));
        succeeds(keel_pml_isend(context_of(me), &data, (me + 1) % ranks, i % FLOOD_TAGS,
                                KEEL_PML_STANDARD, &flood[me][i]));
    }
}

static void take_flood(int me, int pass)
{
    int before = (me + ranks - 1) % ranks;
    for (int32_t i = 0; i < ground->burst; i++) {
        struct keel_pml_status status;
        int32_t number = -1;
        opal_convertor_t data;
        opal_convertor_prepare(&data, &number, sizeof(number));
        succeeds(keel_pml_recv(context_of(me), &data, i % 2 ? before : ANY, ANY_TAG, &status));
        must(number == pass * ground->burst + i && status.tag == i % FLOOD_TAGS);
    }
}

/* Each rank floods the next one, which receives when all are sent. */
static void many_messages_stay_in_order(void)
{
    for (int pass = 0; pass < FLOODS; pass++) {
        for (int me = 0; me < ranks; me++) {
            if (plays(me)) {
                flood_next(me, pass);
            }
        }
        meet();
        for (int me = 0; me < ranks; me++) {
            if (plays(me)) {
                take_flood(me, pass);
            }
        }
        for (int me = 0; me < ranks; me++) {
            succeeds(keel_pml_waitall((size_t) ground->burst, flood[me], NULL));
        }
    }
}

/* --- modes, matching --- */

/* The receiver's memory is not written behind the buffer. */
static void a_message_that_does_not_fit_is_cut(void)
{
    const size_t sizes[] = {10, limits[0], limits[0] + 1, long_bytes};
    for (size_t i = 0; i < 4; i++) {
        for (size_t room = 0; room < sizes[i]; room += sizes[i] / 5) {
            target_of(last)[room] = 0;
            struct keel_pml_request *send = isend(0, last, 5, sizes[i], KEEL_PML_STANDARD);
            struct keel_pml_request *recv = irecv(last, 0, 5, room);
            struct keel_pml_status status = ends(last, &recv, OPAL_ERR_UNPACK_INADEQUATE_SPACE);
            sent(0, &send);
            if (plays(last)) {
                must(status.truncated);
                status.truncated = false;
                expect(last, &status, 0, 5, room);
                must(target_of(last)[room] == 0);
            }
        }
    }
}

static void never_ends(int me, struct keel_pml_request **request)
{
    for (int i = 0; i < 20 && plays(me); i++) {
        bool done = true;
        (void) ground->progress();
        succeeds(keel_pml_test(request, &done, NULL));
        must(!done);
    }
}

static void a_synchronous_send_ends_when_it_is_matched(void)
{
    for (size_t size = 0; size <= long_bytes; size += long_bytes / 20) {
        struct keel_pml_request *send = isend(0, last, 5, size, KEEL_PML_SYNCHRONOUS);
        never_ends(0, &send);
        meet();
        struct keel_pml_request *recv = irecv(last, 0, 5, size);
        received(last, &recv, 0, 5, size);
        sent(0, &send);
    }
}

static void a_buffered_send_ends_at_once(void)
{
    for (size_t size = 0; size <= long_bytes; size += long_bytes / 4) {
        struct keel_pml_request *send = NULL;
        if (plays(0)) {
            struct buffer out;
            bool done = false;
            buffer_open(&out, size, true);
            buffer_fill(&out, size, 1);
            succeeds(keel_pml_isend(context_of(0), &out.data, last, 5, KEEL_PML_BUFFERED, &send));
            succeeds(keel_pml_test(&send, &done, NULL));
            must(done && !send);
            buffer_fill(&out, size, 2);
            free(out.bytes);
        }
        struct keel_pml_request *recv = irecv(last, 0, 5, size);
        struct keel_pml_status status = ends(last, &recv, OPAL_SUCCESS);
        must(!plays(last) || (status.bytes == size && pattern_is(target_of(last), size, 1)));
    }
}

static void messages_go_to_the_oldest_receive_that_wants_them(void)
{
    enum { COUNT = 5 };
    uint8_t places[COUNT][8] = {{0}};
    struct keel_pml_request *recvs[COUNT] = {NULL}, *sends[COUNT];
    const int32_t wanted[COUNT][2] = {{0, 5}, {ANY, 6}, {0, ANY_TAG}, {ANY, ANY_TAG}, {0, -4}};
    const int32_t tags[COUNT] = {-4, 6, 7, 5, 8};
    const size_t takes[COUNT] = {4, 1, 2, 0, 3};
    for (size_t i = 0; i < COUNT && plays(last); i++) {
        opal_convertor_t data;
        opal_convertor_prepare(&data, places[i], sizeof(places[i]));
        succeeds(keel_pml_irecv(context_of(last), &data, wanted[i][0], wanted[i][1], &recvs[i]));
    }
    meet();
    for (size_t i = 0; i < COUNT; i++) {
        sends[i] = isend(0, last, tags[i], 8, KEEL_PML_STANDARD);
    }
    for (size_t i = 0; i < COUNT; i++) {
        struct keel_pml_status status = ends(last, &recvs[takes[i]], OPAL_SUCCESS);
        must(!plays(last) || status.tag == tags[i]);
        sent(0, &sends[i]);
    }
}

/* --- contexts --- */

enum { OTHER = 0 }; /* the number of a context beside those of begin */

/* Of the last rank and the first, in this order. */
static struct keel_pml_context *open_other(int rank)
{
    opal_proc_t *members[] = {ground->proc(last), ground->proc(0)};
    return plays(rank) ? context_open(rank, OTHER, members, last > 0 ? 2 : 1, rank != last) : NULL;
}

static void free_others(struct keel_pml_context *first, struct keel_pml_context *second)
{
    if (first) {
        succeeds(keel_pml_context_free(&first));
    }
    if (second && last > 0) {
        succeeds(keel_pml_context_free(&second));
    }
    meet();
}

/* In the other one the first rank has number 1, if it is not the last, too. */
static void contexts_keep_their_messages_apart(void)
{
    struct keel_pml_context *other = open_other(0), *receiver = last > 0 ? open_other(last) : other;
    struct keel_pml_request *send = NULL, *second;
    struct keel_pml_status status;
    opal_convertor_t from = source_data(9), to = target_data(last, 9);
    if (plays(0)) {
        succeeds(keel_pml_isend(other, &from, 0, 5, KEEL_PML_STANDARD, &send));
    }
    second = isend(0, last, 5, 8, KEEL_PML_STANDARD);
    if (plays(last)) {
        succeeds(keel_pml_recv(context_of(last), &to, ANY, ANY_TAG, &status));
        expect(last, &status, 0, 5, 8);
        succeeds(keel_pml_recv(receiver, &to, ANY, ANY_TAG, &status));
        expect(last, &status, last > 0, 5, 9);
    }
    sent(0, &send);
    sent(0, &second);
    free_others(other, receiver);
}

static void messages_wait_until_their_context_is_opened(void)
{
    enum { COUNT = 20 };
    struct keel_pml_context *early = open_other(0), *late = early;
    struct keel_pml_request *sends[COUNT] = {NULL};
    for (int i = 0; i < COUNT && plays(0); i++) {
        opal_convertor_t from = source_data((size_t) i * limits[0] / 10);
        succeeds(keel_pml_isend(early, &from, 0, i, KEEL_PML_STANDARD, &sends[i]));
    }
    for (int i = 0; i < 10; i++) {
        (void) ground->progress();
    }
    meet();
    late = last > 0 ? open_other(last) : early;
    for (int i = 0; i < COUNT; i++) {
        struct keel_pml_status status;
        opal_convertor_t to = target_data(last, long_bytes);
        if (plays(last)) {
            succeeds(keel_pml_recv(late, &to, ANY, ANY_TAG, &status));
            expect(last, &status, last > 0, i, (size_t) i * limits[0] / 10);
        }
        sent(0, &sends[i]);
    }
    free_others(early, late);
}

const struct pml_case message_cases[] = {
    PML_CASE(every_size_goes_every_way),
    PML_CASE(many_messages_stay_in_order),
    PML_CASE(a_message_that_does_not_fit_is_cut),
    PML_CASE(a_synchronous_send_ends_when_it_is_matched),
    PML_CASE(a_buffered_send_ends_at_once),
    PML_CASE(messages_go_to_the_oldest_receive_that_wants_them),
    PML_CASE(contexts_keep_their_messages_apart),
    PML_CASE(messages_wait_until_their_context_is_opened),
    {.name = NULL},
};
