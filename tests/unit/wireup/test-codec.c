#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <tests/lib/decoder.h>
#include <tests/lib/unit.h>
#include <wireup/codec.h>
#include <wireup/proto.h>

struct thing {
    uint32_t number;
    unsigned small;
    bool flag;
    char *text, *none;
    char **words;
    struct window window;
    uint32_t count;
    uint32_t *one_by_one, *together;
};

static void code(struct codec *codec, struct thing *thing)
{
    uint32_t count = thing->count;
    codec_u32(codec, &thing->number, 1000);
    codec_u8(codec, &thing->small, 5);
    codec_flag(codec, &thing->flag);
    codec_text(codec, &thing->text);
    codec_optional_text(codec, &thing->none);
    codec_strings(codec, &thing->words);
    codec_window(codec, &thing->window);
    codec_u32(codec, &count, UINT32_MAX);
    codec_array(codec, &thing->one_by_one, &thing->count, count, sizeof(uint32_t));
    for (uint32_t i = 0; codec_goes_on(codec) && i < count; i++) {
        codec_u32(codec, &thing->one_by_one[i], UINT32_MAX);
    }
    codec_u32s(codec, &thing->together, count);
    codec_check(codec, thing->number != 666);
}

static char text[] = "text", word[] = "word";
static char *words[] = {word, text, NULL};
static uint32_t numbers[] = {7, 8, 9};
static const struct thing example = {.number = 1000,
                                     .small = 5,
                                     .flag = true,
                                     .text = text,
                                     .words = words,
                                     .window = {25, 80},
                                     .count = 3,
                                     .one_by_one = numbers,
                                     .together = numbers};

static opal_buffer_t *packed(struct thing thing)
{
    struct codec codec = {.buffer = OBJ_NEW(opal_buffer_t)};
    code(&codec, &thing);
    ck_assert_int_eq(codec.status, ORTE_SUCCESS);
    return codec.buffer;
}

static void fini(void *arg)
{
    struct thing *thing = arg;
    free(thing->text);
    free(thing->none);
    for (char **each = thing->words; each && *each; each++) {
        free(*each);
    }
    free(thing->words);
    free(thing->one_by_one);
    free(thing->together);
}

static int unpack(opal_buffer_t *buffer, void *out)
{
    struct thing read = {0};
    struct codec codec = {.buffer = buffer, .unpacks = true};
    code(&codec, &read);
    if (codec.status != ORTE_SUCCESS) {
        fini(&read);
    } else {
        *(struct thing *) out = read;
    }
    return codec.status;
}

static void check(const void *arg)
{
    const struct thing *thing = arg;
    ck_assert(thing->number <= 1000 && thing->small <= 5 && thing->text && thing->words);
}

static const struct decoder decoder = {unpack, fini, check, sizeof(struct thing)};

START_TEST(what_is_packed_comes_back)
{
    struct thing read;
    opal_buffer_t *buffer = packed(example);
    ck_assert_int_eq(unpack(buffer, &read), ORTE_SUCCESS);
    ck_assert_uint_eq(proto_left(buffer), 0);
    ck_assert(read.number == 1000 && read.small == 5 && read.flag);
    ck_assert_str_eq(read.text, "text");
    ck_assert_ptr_null(read.none);
    ck_assert_str_eq(read.words[0], "word");
    ck_assert_str_eq(read.words[1], "text");
    ck_assert_ptr_null(read.words[2]);
    ck_assert(read.window.rows == 25 && read.window.columns == 80);
    ck_assert_uint_eq(read.count, 3);
    ck_assert(memcmp(read.one_by_one, numbers, sizeof(numbers)) == 0);
    ck_assert(memcmp(read.together, numbers, sizeof(numbers)) == 0);
    fini(&read);
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(the_bytes_are_those_of_formats)
{
    opal_buffer_t *buffer = packed(example), *same = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(proto_pack(same, "uccss", 1000u, 5, 1, "text", ""), ORTE_SUCCESS);
    ck_assert_int_eq(proto_pack_strings(same, words), ORTE_SUCCESS);
    ck_assert_int_eq(proto_pack(same, "uuuuuu", 25u, 80u, 3u, 7u, 8u, 9u), ORTE_SUCCESS);
    ck_assert_int_eq(opal_dss.pack(same, numbers, 3, OPAL_UINT32), OPAL_SUCCESS);
    ck_assert_uint_eq(buffer->bytes_used, same->bytes_used);
    ck_assert(memcmp(buffer->base_ptr, same->base_ptr, same->bytes_used) == 0);
    OBJ_RELEASE(buffer);
    OBJ_RELEASE(same);
}
END_TEST

START_TEST(what_is_out_of_range_is_refused)
{
    for (int what = 0; what < 4; what++) {
        struct thing thing = example, read;
        thing.number = what == 0 ? 1001 : what == 1 ? 666 : 0;
        thing.small = what == 2 ? 6 : 0;
        opal_buffer_t *buffer = packed(thing);
        int status = unpack(buffer, &read);
        ck_assert_int_eq(status, what == 3 ? ORTE_SUCCESS : ORTE_ERR_VALUE_OUT_OF_BOUNDS);
        if (status == ORTE_SUCCESS) {
            fini(&read);
        }
        OBJ_RELEASE(buffer);
    }
}
END_TEST

/* An array that the message cannot hold is not allocated. */
START_TEST(lying_counts_are_refused)
{
    for (uint32_t count = 1; count > 0; count *= 2) {
        uint32_t *array = NULL, known = 0;
        struct codec codec = {.buffer = OBJ_NEW(opal_buffer_t), .unpacks = true};
        codec_array(&codec, &array, &known, count, sizeof(*array));
        ck_assert_int_eq(codec.status, ORTE_ERR_VALUE_OUT_OF_BOUNDS);
        ck_assert(!array && known == 0);
        OBJ_RELEASE(codec.buffer);
    }
}
END_TEST

START_TEST(nothing_happens_after_a_failure)
{
    struct thing thing = example;
    struct codec codec = {.buffer = OBJ_NEW(opal_buffer_t), .status = ORTE_ERR_PERM};
    code(&codec, &thing);
    ck_assert_uint_eq(codec.buffer->bytes_used, 0);
    codec.unpacks = true;
    code(&codec, &thing);
    codec_fail(&codec, ORTE_ERROR);
    ck_assert_int_eq(codec.status, ORTE_ERR_PERM);
    ck_assert(memcmp(&thing, &example, sizeof(thing)) == 0);
    OBJ_RELEASE(codec.buffer);
}
END_TEST

START_TEST(short_and_noisy_bytes_are_survived)
{
    decoder_refuses_beginnings(&decoder, packed(example));
    decoder_survives_noise(&decoder, packed(example));
}
END_TEST

UNIT_MAIN("codec")
