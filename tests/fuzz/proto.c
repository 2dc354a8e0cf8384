/* The messages of wire-up and launching, by their formats: what is taken packs to bytes that are
 * taken for the same; what is refused leaves nothing behind. And sets of cards. */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <tests/fuzz/fuzz.h>
#include <wireup/cards.h>
#include <wireup/proto.h>

enum { RANKS = 4 };

static opal_buffer_t *load(struct feed *feed)
{
    size_t size;
    uint8_t *bytes = feed_copy(feed, feed->left, &size);
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    if (size == 0 || opal_dss.load(buffer, bytes, (int32_t) size) != OPAL_SUCCESS) {
        free(bytes);
    }
    return buffer;
}

/* One value of each kind, in the orders that the messages have. */
static void read_all(opal_buffer_t *buffer)
{
    uint8_t kind;
    uint32_t number;
    int32_t status;
    uint64_t request;
    orte_process_name_t name;
    char *text;
    uint8_t *data;
    size_t size;
    if (proto_unpack(buffer, "cuiqnsb", &kind, &number, &status, &request, &name, &text, &data,
                     &size) != ORTE_SUCCESS) {
        fuzz_check(!text && !data && size == 0, "an error leaves nothing");
        return;
    }
    fuzz_check(text && (data || size == 0), "a text is there, and bytes unless there are none");
    opal_buffer_t *again =
        proto_new(kind, "uiqnsb", number, status, request, name, text, data, size);
    uint8_t kind2 = 0;
    uint32_t number2;
    int32_t status2;
    uint64_t request2;
    orte_process_name_t name2;
    char *text2 = NULL;
    uint8_t *data2 = NULL;
    size_t size2;
    fuzz_check(again && proto_unpack(again, "cuiqnsb", &kind2, &number2, &status2, &request2,
                                     &name2, &text2, &data2, &size2) == ORTE_SUCCESS,
               "what was taken packs and unpacks");
    fuzz_check(kind == kind2 && number == number2 && status == status2 && request == request2 &&
                   name.jobid == name2.jobid && name.vpid == name2.vpid &&
                   strcmp(text, text2) == 0 && size == size2 &&
                   (size == 0 || memcmp(data, data2, size) == 0),
               "and is the same");
    fuzz_check(proto_left(again) == 0, "nothing is left");
    OBJ_RELEASE(again);
    free(text);
    free(data);
    free(text2);
    free(data2);
}

static void read_answer(opal_buffer_t *buffer)
{
    orte_process_name_t name;
    uint64_t request;
    int32_t status;
    uint8_t *cards;
    size_t size;
    if (proto_unpack(buffer, "nqib", &name, &request, &status, &cards, &size) == ORTE_SUCCESS) {
        (void) !cards_check(cards, size);
    }
    free(cards);
}

static void read_texts(opal_buffer_t *buffer)
{
    char *one, *other;
    if (proto_unpack(buffer, "ss", &one, &other) == ORTE_SUCCESS) {
        fuzz_check(strlen(one) + strlen(other) < buffer->bytes_used, "texts are not made longer");
    }
    free(one);
    free(other);
}

static void merge(struct feed *feed)
{
    struct blob sets[RANKS] = {{0}};
    size_t size;
    uint8_t *collection = feed_copy(feed, feed->left, &size);
    int status = cards_merge(sets, RANKS, collection, size);
    for (unsigned rank = 0; rank < RANKS; rank++) {
        fuzz_check(status == ORTE_SUCCESS || sets[rank].size == 0,
                   "nothing of a malformed collection is taken");
        fuzz_check(cards_check(sets[rank].data, sets[rank].size) == ORTE_SUCCESS,
                   "sets are well-formed");
        const uint8_t *data;
        size_t found;
        if (cards_find(&sets[rank], "btl.tcp", &data, &found) == ORTE_SUCCESS) {
            fuzz_check(found <= CARD_SIZE_MAX && data >= sets[rank].data &&
                           data + found <= sets[rank].data + sets[rank].size,
                       "a card lies in its set");
        }
        blob_fini(&sets[rank]);
    }
    free(collection);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed feed = {data, size};
    uint8_t choice = feed_byte(&feed);
    if (choice % 4 == 3) {
        merge(&feed);
        return 0;
    }
    opal_buffer_t *buffer = load(&feed);
    if (choice % 4 == 0) {
        read_all(buffer);
    } else if (choice % 4 == 1) {
        read_answer(buffer);
    } else {
        read_texts(buffer);
    }
    OBJ_RELEASE(buffer);
    return 0;
}
