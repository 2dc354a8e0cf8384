/* Messages: tags, sizes, prepare_src, return codes and callbacks, sendi. */
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/btl.h>

/* What the receive callbacks of a case found. */
struct inbox {
    atomic_ulong count;
    unsigned long tags[256];
    size_t last_size;
    unsigned seed; /* of the next message, whose content is then compared; 0: any content */
    size_t header; /* bytes before the content */
};

static void take(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                 mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    struct test *test = cbdata;
    struct inbox *inbox = test->state;
    must(test, btl == test->btl);
    must(test, descriptor->des_context == test->endpoints[test->left]);
    size_t size;
    const unsigned char *bytes = received(test, descriptor, &size);
    if (inbox->seed) {
        must(test, size >= inbox->header);
        must(test, pattern_is(bytes, inbox->header, 3));
        must(test, pattern_is(bytes + inbox->header, size - inbox->header, inbox->seed++));
    }
    inbox->last_size = size;
    inbox->tags[tag]++;
    inbox->count++;
}

static void every_tag_arrives(struct test *test)
{
    struct inbox inbox = {.count = 0};
    test->state = &inbox;
    for (int tag = 0; tag < 256; tag++) {
        on_tag(test, (uint8_t) tag, take);
    }
    meet(test);
    for (int tag = 0; tag < 256; tag++) {
        send_bytes(test, test->right, "tag", 3, (uint8_t) tag);
    }
    pump_until(test, &inbox.count, 256);
    for (int tag = 0; tag < 256; tag++) {
        must(test, inbox.tags[tag] == 1);
    }
    meet(test);
}

static void unknown_tag_is_dropped(struct test *test)
{
    struct inbox inbox = {.count = 0};
    test->state = &inbox;
    on_tag(test, 7, take);
    on_tag(test, 8, take);
    on_tag(test, 8, NULL);
    meet(test);
    send_bytes(test, test->right, "x", 1, 8);
    send_bytes(test, test->right, "x", 1, 9);
    send_bytes(test, test->right, "x", 1, 7);
    pump_until(test, &inbox.count, 1);
    must(test, inbox.tags[7] == 1);
    meet(test);
}

/* All sizes up to 130, then around each power of two, up to the module's limit. */
static size_t next_size(struct test *test, size_t size)
{
    size_t max = test->btl->btl_max_send_size;
    if (size < 130) {
        return size + 1;
    }
    size_t power = 128;
    while (power <= size + 1) {
        power *= 2;
    }
    size_t candidates[] = {power / 2, power / 2 + 1, power - 1};
    for (size_t i = 0; i < 3; i++) {
        if (candidates[i] > size && candidates[i] < max) {
            return candidates[i];
        }
    }
    return size < max - 1 ? max - 1 : max;
}

static void every_size_arrives(struct test *test)
{
    struct inbox inbox = {.seed = 1};
    test->state = &inbox;
    on_tag(test, 200, take);
    meet(test);
    unsigned long sent = 0;
    for (size_t size = 0;; size = next_size(test, size)) {
        mca_btl_base_descriptor_t *descriptor = alloc_wait(test, test->right, size, 0);
        pattern_fill(descriptor->des_segments[0].seg_addr.pval, size, (unsigned) ++sent);
        send_wait(test, test->right, descriptor, 200);
        if (size == test->btl->btl_max_send_size) {
            break;
        }
    }
    pump_until(test, &inbox.count, sent);
    must(test, inbox.last_size == test->btl->btl_max_send_size);
    meet(test);
}

/* A caller may send less of a segment than it allocated. */
static void shrunk_segment_is_sent_as_it_is(struct test *test)
{
    struct inbox inbox = {.seed = 1};
    test->state = &inbox;
    on_tag(test, 1, take);
    meet(test);
    const size_t sizes[] = {test->btl->btl_eager_limit, test->btl->btl_max_send_size};
    for (unsigned i = 0; i < 2; i++) {
        mca_btl_base_descriptor_t *descriptor = alloc_wait(test, test->right, sizes[i], 0);
        pattern_fill(descriptor->des_segments[0].seg_addr.pval, 10, i + 1);
        descriptor->des_segments[0].seg_len = 10;
        send_wait(test, test->right, descriptor, 1);
        pump_until(test, &inbox.count, i + 1);
        must(test, inbox.last_size == 10);
        meet(test);
    }
}

/* Sends what the convertor has left in as many messages as it takes, each after reserve bytes.
 * Returns the number of messages. */
static unsigned send_converted(struct test *test, opal_convertor_t *convertor, size_t reserve,
                               bool contiguous)
{
    mca_btl_base_module_t *btl = test->btl;
    unsigned messages = 0;
    do {
        size_t before = convertor->bytes_converted;
        size_t size = opal_convertor_get_packed_size(convertor) - before;
        size_t together = size;
        const void *user = contiguous ? opal_convertor_current(convertor, &together) : NULL;
        mca_btl_base_descriptor_t *descriptor = btl->btl_prepare_src(
            btl, test->endpoints[test->right], convertor, MCA_BTL_NO_ORDER, reserve, &size, 0);
        if (!descriptor) {
            must(test, convertor->bytes_converted == before);
            pump(test);
            continue;
        }
        must(test, convertor->bytes_converted == before + size);
        must(test, descriptor->des_segment_count >= 1 && descriptor->des_segment_count <= 2);
        size_t total = 0;
        for (size_t i = 0; i < descriptor->des_segment_count; i++) {
            total += descriptor->des_segments[i].seg_len;
        }
        must(test, total == reserve + size && total <= btl->btl_max_send_size);
        if (reserve > 0) {
            must(test, descriptor->des_segments[0].seg_len >= reserve);
            pattern_fill(descriptor->des_segments[0].seg_addr.pval, reserve, 3);
        }
        if (contiguous && reserve > 0 && size > btl->btl_eager_limit &&
            (btl->btl_flags & MCA_BTL_FLAGS_SEND_INPLACE)) {
            must(test, descriptor->des_segment_count == 2);
            must(test, descriptor->des_segments[1].seg_addr.pval == user);
        }
        send_wait(test, test->right, descriptor, 77);
        messages++;
    } while (convertor->bytes_converted < opal_convertor_get_packed_size(convertor));
    return messages;
}

/* Receives a stream of converted data: reserve bytes of pattern 3, then the stream goes on. */
struct stream {
    unsigned long bytes;
    atomic_ulong messages;
    size_t reserve;
};

static void take_stream(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                        mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag;
    struct test *test = cbdata;
    struct stream *stream = test->state;
    size_t size;
    const unsigned char *bytes = received(test, descriptor, &size);
    must(test, size >= stream->reserve && pattern_is(bytes, stream->reserve, 3));
    must(test, descriptor->des_segments[0].seg_len >= stream->reserve);
    for (size_t i = stream->reserve; i < size; i++) {
        must(test, bytes[i] == pattern(9, stream->bytes));
        stream->bytes++;
    }
    stream->messages++;
}

static void run_stream(struct test *test, struct stream *stream, opal_convertor_t *convertor,
                       size_t start, bool contiguous)
{
    *stream = (struct stream){.reserve = stream->reserve, .bytes = start};
    must(test, opal_convertor_set_position(convertor, &start) == OPAL_SUCCESS);
    meet(test); /* the left neighbour's bytes are counted from here on */
    unsigned sent = send_converted(test, convertor, stream->reserve, contiguous);
    pump_until(test, &stream->messages, sent);
    must(test, stream->bytes == opal_convertor_get_packed_size(convertor));
    meet(test);
}

static void prepare_src_takes_any_data(struct test *test)
{
    struct stream stream = {.reserve = 0};
    test->state = &stream;
    on_tag(test, 77, take_stream);
    size_t max = test->btl->btl_max_send_size, size = 3 * max + 17;
    unsigned char *memory = malloc(2 * size);
    must(test, memory);
    const size_t reserves[] = {0, 1, 8, 64, 200};
    for (size_t i = 0; i < sizeof(reserves) / sizeof(*reserves); i++) {
        stream.reserve = reserves[i];
        opal_convertor_t convertor;
        pattern_fill(memory, size, 9);
        opal_convertor_prepare(&convertor, memory, size);
        run_stream(test, &stream, &convertor, 0, true);
        run_stream(test, &stream, &convertor, 12345 % size, true);
        run_stream(test, &stream, &convertor, size - 1, true);
        run_stream(test, &stream, &convertor, size, true);

        /* Pieces of many sizes, with gaps, an empty one among them. */
        struct iovec pieces[64];
        size_t at = 0, place = 0;
        for (size_t p = 0; p < 64; p++) {
            size_t length = p == 63 ? size - at : p % 9 == 4 ? 0 : (p * p * 13) % (size / 64) + 1;
            pieces[p] = (struct iovec){.iov_base = memory + place, .iov_len = length};
            for (size_t b = 0; b < length; b++) {
                memory[place + b] = pattern(9, at + b);
            }
            at += length;
            place += length + p % 5;
        }
        must(test, opal_convertor_prepare_iovec(&convertor, pieces, 64) == OPAL_SUCCESS);
        run_stream(test, &stream, &convertor, 0, false);
        run_stream(test, &stream, &convertor, size / 3, false);
        run_stream(test, &stream, &convertor, size - 1, false);
    }
    free(memory);
}

/* What happened to one descriptor. */
struct fate {
    struct test *test;
    atomic_ulong callbacks;
    atomic_ulong *all; /* callbacks of the case */
    mca_btl_base_descriptor_t *descriptor;
    bool owned, sending;
};

static void sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                 mca_btl_base_descriptor_t *descriptor, int status)
{
    struct fate *fate = descriptor->des_cbdata;
    struct test *test = fate->test;
    must(test, btl == test->btl && endpoint == test->endpoints[test->right]);
    must(test, descriptor == fate->descriptor && status == OPAL_SUCCESS);
    fate->callbacks++;
    (*fate->all)++;
}

/* Sends one descriptor and says how often it has to call back. */
static unsigned long send_with_fate(struct test *test, struct fate *fate, size_t size,
                                    uint32_t flags, bool with_callback)
{
    mca_btl_base_descriptor_t *descriptor = alloc_wait(test, test->right, size, flags);
    memset(descriptor->des_segments[0].seg_addr.pval, 1, size);
    fate->descriptor = descriptor;
    fate->owned = flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP;
    descriptor->des_cbfunc = with_callback ? sent : NULL;
    descriptor->des_cbdata = fate;
    for (;;) {
        int status = test->btl->btl_send(test->btl, test->endpoints[test->right], descriptor, 50);
        if (status >= 0) {
            must(test, status <= 1);
            bool wanted = status == 0 || (flags & MCA_BTL_DES_SEND_ALWAYS_CALLBACK);
            return with_callback && wanted ? 1 : 0;
        }
        must(test, is_shortage(status) && fate->callbacks == 0);
        pump(test);
    }
}

static void each_send_completes_once(struct test *test)
{
    enum { EACH = 20 };
    static const uint32_t flags[] = {0, MCA_BTL_DES_SEND_ALWAYS_CALLBACK,
                                     MCA_BTL_DES_FLAGS_BTL_OWNERSHIP | MCA_BTL_DES_FLAGS_SIGNAL,
                                     MCA_BTL_DES_FLAGS_BTL_OWNERSHIP |
                                         MCA_BTL_DES_SEND_ALWAYS_CALLBACK |
                                         MCA_BTL_DES_FLAGS_PRIORITY};
    const size_t sizes[] = {0, 8, test->btl->btl_eager_limit, test->btl->btl_max_send_size};
    struct inbox inbox = {.count = 0};
    test->state = &inbox;
    on_tag(test, 50, take);
    meet(test);
    unsigned long messages = 0;
    for (int round = 0; round < 4 * 4 * 2; round++) {
        struct fate fates[EACH];
        unsigned long wanted[EACH], all_wanted = 0;
        atomic_ulong callbacks = 0;
        for (int i = 0; i < EACH; i++) {
            fates[i] = (struct fate){.test = test, .all = &callbacks};
            wanted[i] =
                send_with_fate(test, &fates[i], sizes[round / 4 % 4], flags[round % 4], round < 16);
            all_wanted += wanted[i];
        }
        messages += EACH;
        pump_until(test, &callbacks, all_wanted);
        pump_until(test, &inbox.count, messages);
        /* The descriptors without a callback are done when the peer has their messages. */
        atomic_store(&board_of(test, test->rank)->received, inbox.count);
        while (atomic_load(&board_of(test, test->right)->received) < messages) {
            pump(test);
        }
        pump_idle(test);
        for (int i = 0; i < EACH; i++) {
            must(test, fates[i].callbacks == wanted[i]);
            if (!fates[i].owned) {
                must(test, test->btl->btl_free(test->btl, fates[i].descriptor) == OPAL_SUCCESS);
            }
        }
        meet(test);
    }
}

struct ordered {
    atomic_ulong count;     /* messages that arrived, each with its number in it */
    atomic_ulong callbacks; /* of my own */
    uint8_t asked;          /* the order of the descriptor in flight */
    uint8_t told;           /* ... when it was done */
};

static void take_ordered(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                         mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag;
    struct test *test = cbdata;
    struct ordered *ordered = test->state;
    size_t size;
    unsigned char number = received(test, descriptor, &size)[0];
    must(test, number == (unsigned char) ordered->count);
    ordered->count++;
}

static void sent_in_order(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                          mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint;
    struct test *test = descriptor->des_cbdata;
    struct ordered *ordered = test->state;
    must(test, status == OPAL_SUCCESS);
    must(test, ordered->asked == MCA_BTL_NO_ORDER || descriptor->order == ordered->asked);
    ordered->told = descriptor->order;
    ordered->callbacks++;
}

/* A message by a descriptor of this order, which alloc and prepare_src keep and the callback has.
 */
static void send_ordered(struct test *test, unsigned number, uint8_t order)
{
    mca_btl_base_module_t *btl = test->btl;
    struct ordered *ordered = test->state;
    struct mca_btl_base_endpoint_t *endpoint = test->endpoints[test->right];
    unsigned char byte = (unsigned char) number;
    mca_btl_base_descriptor_t *descriptor;
    for (;;) {
        opal_convertor_t convertor;
        size_t size = 1;
        opal_convertor_prepare(&convertor, &byte, size);
        descriptor = number % 2
                         ? btl->btl_alloc(btl, endpoint, order, 1, 0)
                         : btl->btl_prepare_src(btl, endpoint, &convertor, order, 0, &size, 0);
        if (descriptor) {
            break;
        }
        pump(test);
    }
    must(test, descriptor->order == order);
    *(unsigned char *) descriptor->des_segments[0].seg_addr.pval = byte;
    descriptor->des_flags |= MCA_BTL_DES_SEND_ALWAYS_CALLBACK | MCA_BTL_DES_FLAGS_BTL_OWNERSHIP;
    descriptor->des_cbfunc = sent_in_order;
    descriptor->des_cbdata = test;
    ordered->asked = order;
    unsigned long before = ordered->callbacks;
    int status;
    while (is_shortage(status = btl->btl_send(btl, endpoint, descriptor, 51))) {
        pump(test);
    }
    must(test, status >= 0);
    pump_until(test, &ordered->callbacks, before + 1);
}

/* Order tags: any value is taken, what the callback told is good for the next call, and messages
 * of one endpoint come in the order of the calls whatever their tags. */
static void order_tags_are_kept(struct test *test)
{
    static const uint8_t orders[] = {MCA_BTL_NO_ORDER, 0, 1, 7, 254};
    enum { ROUNDS = 10, ORDERS = sizeof(orders) };
    struct ordered ordered = {.count = 0};
    unsigned number = 0;
    test->state = &ordered;
    on_tag(test, 51, take_ordered);
    meet(test);
    for (int i = 0; i < ROUNDS * ORDERS; i++) {
        send_ordered(test, number++, orders[i % ORDERS]);
        unsigned char byte = (unsigned char) number++;
        int status;
        while (
            is_shortage(status = test->btl->btl_sendi(test->btl, test->endpoints[test->right], NULL,
                                                      &byte, 1, 0, ordered.told, 0, 51, NULL))) {
            pump(test);
        }
        must(test, status == OPAL_SUCCESS);
    }
    pump_until(test, &ordered.count, number);
    meet(test);
}

/* One descriptor sent several times, without waiting: each accepted send is one message and one
 * callback. */
static void one_descriptor_is_sent_often(struct test *test)
{
    enum { TIMES = 50 };
    struct inbox inbox = {.count = 0};
    test->state = &inbox;
    on_tag(test, 50, take);
    meet(test);
    atomic_ulong callbacks = 0;
    struct fate fate = {.test = test, .all = &callbacks};
    fate.descriptor = alloc_wait(test, test->right, 100, MCA_BTL_DES_SEND_ALWAYS_CALLBACK);
    memset(fate.descriptor->des_segments[0].seg_addr.pval, 1, 100);
    fate.descriptor->des_cbfunc = sent;
    fate.descriptor->des_cbdata = &fate;
    for (int i = 0; i < TIMES;) {
        int status =
            test->btl->btl_send(test->btl, test->endpoints[test->right], fate.descriptor, 50);
        must(test, status >= 0 || is_shortage(status));
        i += status >= 0;
        if (status < 0) {
            pump(test);
        }
    }
    pump_until(test, &callbacks, TIMES);
    pump_until(test, &inbox.count, TIMES);
    must(test, test->btl->btl_free(test->btl, fate.descriptor) == OPAL_SUCCESS);
    meet(test);
}

/* Several sends at once, of one descriptor or of several; what comes of them. */
struct flight {
    struct test *test;
    atomic_ulong arrived, callbacks;
    size_t size;            /* of each message */
    unsigned long from[16]; /* callbacks, by the rank sent to */
};

static void take_same(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                      mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag;
    struct test *test = cbdata;
    struct flight *flight = test->state;
    size_t size;
    const unsigned char *bytes = received(test, descriptor, &size);
    must(test, size == flight->size && pattern_is(bytes, size, 5));
    flight->arrived++;
}

static void landed(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                   mca_btl_base_descriptor_t *descriptor, int status)
{
    struct flight *flight = descriptor->des_cbdata;
    struct test *test = flight->test;
    int to = 0;
    while (to < test->size && endpoint != test->endpoints[to]) {
        to++;
    }
    must(test, btl == test->btl && to < test->size && status == OPAL_SUCCESS);
    flight->from[to]++;
    flight->callbacks++;
}

static mca_btl_base_descriptor_t *alloc_flight(struct flight *flight)
{
    mca_btl_base_descriptor_t *descriptor = alloc_wait(
        flight->test, flight->test->right, flight->size, MCA_BTL_DES_SEND_ALWAYS_CALLBACK);
    pattern_fill(descriptor->des_segments[0].seg_addr.pval, flight->size, 5);
    descriptor->des_cbfunc = landed;
    descriptor->des_cbdata = flight;
    return descriptor;
}

/* Sends while nobody polls; returns how many were taken. */
static unsigned long send_at_once(struct flight *flight, mca_btl_base_descriptor_t **descriptors,
                                  size_t count)
{
    struct test *test = flight->test;
    unsigned long before = flight->callbacks, taken = 0;
    struct board *mine = board_of(test, test->rank);
    halt(test);
    for (size_t i = 0; i < count; i++) {
        int status =
            test->btl->btl_send(test->btl, test->endpoints[test->right], descriptors[i], 52);
        must(test, status >= 0 || is_shortage(status));
        taken += status >= 0;
    }
    atomic_store(&mine->done, atomic_load(&mine->done) + taken);
    resume(test);
    pump_until(test, &flight->callbacks, before + taken);
    pump_until(test, &flight->arrived, atomic_load(&board_of(test, test->left)->done));
    meet(test);
    return taken;
}

/* Any number of sends of one descriptor may be under way: as many as of that many descriptors. */
static void one_descriptor_flies_as_often_as_many(struct test *test)
{
    enum { SENDS = 4 };
    const size_t sizes[] = {100, test->btl->btl_eager_limit, test->btl->btl_max_send_size};
    struct flight flight = {.test = test};
    test->state = &flight;
    on_tag(test, 52, take_same);
    for (size_t s = 0; s < 3; s++) {
        mca_btl_base_descriptor_t *many[SENDS], *one[SENDS];
        flight.size = sizes[s];
        meet(test);
        for (int i = 0; i < SENDS; i++) {
            many[i] = alloc_flight(&flight);
            one[i] = many[0];
        }
        (void) send_at_once(&flight, many, 1); /* from here on there is a way */
        unsigned long most = send_at_once(&flight, many, SENDS);
        must(test, send_at_once(&flight, one, SENDS) >= most);
        for (int i = 0; i < SENDS; i++) {
            must(test, test->btl->btl_free(test->btl, many[i]) == OPAL_SUCCESS);
        }
    }
    must(test, test->btl->btl_free(test->btl, NULL) == OPAL_SUCCESS);
}

/* To every peer at once; the last send gives it to the module, whichever is over first. */
static void one_descriptor_goes_to_all(struct test *test)
{
    const size_t sizes[] = {8, test->btl->btl_eager_limit, test->btl->btl_max_send_size};
    struct flight flight = {.test = test};
    unsigned long peers = 0, sent_before = 0;
    test->state = &flight;
    on_tag(test, 52, take_same);
    for (int i = 0; i < test->size; i++) {
        peers += test->endpoints[i] != NULL;
    }
    for (size_t s = 0; s < 3; s++, sent_before += peers) {
        flight.size = sizes[s];
        meet(test);
        mca_btl_base_descriptor_t *descriptor = alloc_flight(&flight);
        unsigned long left = peers;
        for (int to = 0; to < test->size; to++) {
            if (!test->endpoints[to]) {
                continue;
            }
            if (--left == 0) {
                descriptor->des_flags |= MCA_BTL_DES_FLAGS_BTL_OWNERSHIP;
            }
            int status;
            while ((status = test->btl->btl_send(test->btl, test->endpoints[to], descriptor, 52)) <
                   0) {
                must(test, is_shortage(status));
                pump(test);
            }
        }
        pump_until(test, &flight.callbacks, sent_before + peers);
        pump_until(test, &flight.arrived, sent_before + peers);
        for (int to = 0; to < test->size; to++) {
            must(test, flight.from[to] == (test->endpoints[to] ? s + 1 : 0));
        }
        meet(test);
    }
}

/* A caller's own segments, in the place of the descriptor's. */
static void segments_of_the_caller_are_sent(struct test *test)
{
    const size_t sizes[] = {MCA_BTL_DES_MAX_SEGMENTS, 1000, test->btl->btl_eager_limit,
                            test->btl->btl_max_send_size};
    struct flight flight = {.test = test};
    unsigned long messages = 0;
    unsigned char *memory = malloc(test->btl->btl_max_send_size);
    test->state = &flight;
    must(test, memory);
    on_tag(test, 52, take_same);
    for (size_t s = 0; s < 4; s++) {
        mca_btl_base_segment_t segments[MCA_BTL_DES_MAX_SEGMENTS];
        const size_t piece = sizes[s] / MCA_BTL_DES_MAX_SEGMENTS;
        flight.size = sizes[s];
        meet(test);
        mca_btl_base_descriptor_t *descriptor = alloc_flight(&flight);
        pattern_fill(memory, sizes[s], 5);
        for (size_t i = 0; i < MCA_BTL_DES_MAX_SEGMENTS; i++) {
            segments[i].seg_addr.pval = memory + i * piece;
            segments[i].seg_len = i == MCA_BTL_DES_MAX_SEGMENTS - 1 ? sizes[s] - i * piece : piece;
        }
        descriptor->des_segments = segments;
        descriptor->des_segment_count = MCA_BTL_DES_MAX_SEGMENTS;
        send_wait(test, test->right, descriptor, 52);
        pump_until(test, &flight.callbacks, ++messages);
        memset(memory, 0xff, sizes[s]);
        pump_until(test, &flight.arrived, messages);
        meet(test);
    }
    free(memory);
}

/* One sendi with retries; now and then through the descriptor that it leaves. */
static void sendi_wait(struct test *test, opal_convertor_t *convertor, void *header,
                       size_t header_size, size_t payload_size, bool with_descriptor)
{
    mca_btl_base_module_t *btl = test->btl;
    struct mca_btl_base_endpoint_t *endpoint = test->endpoints[test->right];
    for (;;) {
        mca_btl_base_descriptor_t *left = (void *) &left;
        size_t before = convertor ? convertor->bytes_converted : 0;
        int status = btl->btl_sendi(btl, endpoint, convertor, header, header_size, payload_size,
                                    MCA_BTL_NO_ORDER, 0, 77, with_descriptor ? &left : NULL);
        if (status == OPAL_SUCCESS) {
            must(test, !with_descriptor || !left);
            must(test, !convertor || convertor->bytes_converted == before + payload_size);
            return;
        }
        must(test, is_shortage(status));
        must(test, !convertor || convertor->bytes_converted == before);
        if (with_descriptor && left) {
            must(test, left->des_segments[0].seg_len == header_size + payload_size);
            unsigned char *to = left->des_segments[0].seg_addr.pval;
            memcpy(to, header, header_size);
            if (convertor) {
                opal_convertor_pack_bytes(convertor, to + header_size, payload_size);
            }
            send_wait(test, test->right, left, 77);
            return;
        }
        pump(test);
    }
}

static void sendi_copies_both(struct test *test)
{
    struct stream stream = {.reserve = 0};
    test->state = &stream;
    on_tag(test, 77, take_stream);
    size_t limit = test->btl->btl_max_send_size;
    unsigned char *memory = malloc(limit + 64);
    unsigned char header[64];
    must(test, memory);
    const size_t headers[] = {0, 1, 24, 64};
    for (size_t h = 0; h < 4; h++) {
        const size_t payloads[] = {0, 1, 7, 64, 200, 4000, limit - headers[h]};
        for (size_t p = 0; p < 7; p++) {
            stream = (struct stream){.reserve = headers[h]};
            meet(test);
            for (unsigned scatter = 0; scatter < 2; scatter++) {
                size_t start = scatter * payloads[p], half = payloads[p] / 2;
                for (size_t i = 0; i < payloads[p]; i++) {
                    memory[i + (scatter && i >= half ? 3 : 0)] = pattern(9, start + i);
                }
                pattern_fill(header, sizeof(header), 3);
                struct iovec pieces[] = {{memory, half}, {memory + half + 3, payloads[p] - half}};
                opal_convertor_t convertor;
                opal_convertor_prepare(&convertor, memory, payloads[p]);
                if (scatter) {
                    must(test, opal_convertor_prepare_iovec(&convertor, pieces, 2) == OPAL_SUCCESS);
                }
                sendi_wait(test, payloads[p] > 0 ? &convertor : NULL, header, headers[h],
                           payloads[p], scatter);
                memset(memory, 0xff, limit + 64); /* both were copied */
                memset(header, 0xff, sizeof(header));
            }
            pump_until(test, &stream.messages, 2);
            must(test, stream.bytes == 2 * payloads[p]);
            meet(test);
        }
    }
    opal_convertor_t convertor;
    mca_btl_base_descriptor_t *left = NULL;
    opal_convertor_prepare(&convertor, memory, limit);
    int status = test->btl->btl_sendi(test->btl, test->endpoints[test->right], &convertor, header,
                                      1, limit, MCA_BTL_NO_ORDER, 0, 77, &left);
    must(test, status < 0 && !left && convertor.bytes_converted == 0);
    left = (void *) &left; /* bytes that come from nowhere; and no descriptor at all */
    must(test, test->btl->btl_sendi(test->btl, test->endpoints[test->right], NULL, header, 1, 8,
                                    MCA_BTL_NO_ORDER, 0, 77, &left) < 0);
    must(test, !left);
    must(test, test->btl->btl_sendi(test->btl, test->endpoints[test->right], NULL, NULL, 8, 0,
                                    MCA_BTL_NO_ORDER, 0, 77, NULL) < 0);
    must(test, test->btl->btl_send(test->btl, test->endpoints[test->right], NULL, 77) < 0);
    free(memory);
    meet(test);
}

const struct test_case send_cases[] = {
    {.name = "tags", .run = every_tag_arrives, .min_size = 1},
    {.name = "tags, cards late", .run = every_tag_arrives, .min_size = 1, .late_cards = true},
    {.name = "unknown tag", .run = unknown_tag_is_dropped, .min_size = 1},
    {.name = "sizes", .run = every_size_arrives, .min_size = 1},
    {.name = "shrunk segment", .run = shrunk_segment_is_sent_as_it_is, .min_size = 1},
    {.name = "prepare_src", .run = prepare_src_takes_any_data, .min_size = 1},
    {.name = "completions", .run = each_send_completes_once, .min_size = 1},
    {.name = "order tags", .run = order_tags_are_kept, .min_size = 1},
    {.name = "one descriptor often", .run = one_descriptor_is_sent_often, .min_size = 1},
    {.name = "one descriptor at once",
     .run = one_descriptor_flies_as_often_as_many,
     .min_size = 1,
     .undisturbed = true},
    {.name = "one descriptor to all", .run = one_descriptor_goes_to_all, .min_size = 1},
    {.name = "segments of the caller", .run = segments_of_the_caller_are_sent, .min_size = 1},
    {.name = "sendi", .run = sendi_copies_both, .min_size = 1, .asks_too_much = true},
    {.name = NULL},
};
