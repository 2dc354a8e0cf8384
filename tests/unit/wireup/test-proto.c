#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <tests/lib/decoder.h>
#include <tests/lib/unit.h>
#include <wireup/proto.h>

static opal_buffer_t *message(void)
{
    orte_process_name_t name = {7, 9};
    opal_buffer_t *buffer = proto_new(5, "cuiqnsb", 200, UINT32_MAX, INT32_MIN, UINT64_MAX - 1,
                                      name, "a text", "\0bytes", (size_t) 6);
    ck_assert_ptr_nonnull(buffer);
    return buffer;
}

struct values {
    uint8_t kind, c;
    uint32_t u;
    int32_t i;
    uint64_t q;
    orte_process_name_t n;
    char *s;
    uint8_t *b;
    size_t size;
};

static int read_all(opal_buffer_t *buffer, struct values *values)
{
    return proto_unpack(buffer, "ccuiqnsb", &values->kind, &values->c, &values->u, &values->i,
                        &values->q, &values->n, &values->s, &values->b, &values->size);
}

START_TEST(test_every_letter_comes_back)
{
    struct values values;
    opal_buffer_t *buffer = message();
    ck_assert_int_eq(read_all(buffer, &values), ORTE_SUCCESS);
    ck_assert_uint_eq(values.kind, 5);
    ck_assert_uint_eq(values.c, 200);
    ck_assert_uint_eq(values.u, UINT32_MAX);
    ck_assert_int_eq(values.i, INT32_MIN);
    ck_assert_uint_eq(values.q, UINT64_MAX - 1);
    ck_assert_uint_eq(values.n.jobid, 7);
    ck_assert_uint_eq(values.n.vpid, 9);
    ck_assert_str_eq(values.s, "a text");
    ck_assert_uint_eq(values.size, 6);
    ck_assert(memcmp(values.b, "\0bytes", 6) == 0);
    ck_assert_uint_eq(proto_left(buffer), 0);
    free(values.s);
    free(values.b);
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(test_a_bare_message_has_no_first_byte)
{
    uint32_t number = 0;
    opal_buffer_t *buffer = proto_new_bare("u", 77u);
    ck_assert_ptr_nonnull(buffer);
    ck_assert_int_eq(proto_unpack(buffer, "u", &number), ORTE_SUCCESS);
    ck_assert_uint_eq(number, 77);
    ck_assert_uint_eq(proto_left(buffer), 0);
    OBJ_RELEASE(buffer);
    ck_assert_ptr_null(proto_new_bare("b", "x", SIZE_MAX));
}
END_TEST

START_TEST(test_no_bytes_are_null)
{
    uint8_t *data = (uint8_t *) "x";
    size_t size = 1;
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(proto_pack(buffer, "b", NULL, (size_t) 0), ORTE_SUCCESS);
    ck_assert_int_eq(proto_unpack(buffer, "b", &data, &size), ORTE_SUCCESS);
    ck_assert_ptr_null(data);
    ck_assert_uint_eq(size, 0);
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(test_a_short_message_leaves_nothing_to_free)
{
    opal_buffer_t *whole = message();
    for (size_t size = 0; size < whole->bytes_used; size++) {
        struct values values = {.s = (char *) "x", .b = (uint8_t *) "y"};
        opal_buffer_t *buffer = decoder_load(whole->base_ptr, size);
        ck_assert_int_ne(read_all(buffer, &values), ORTE_SUCCESS);
        ck_assert_ptr_null(values.s);
        ck_assert_ptr_null(values.b);
        OBJ_RELEASE(buffer);
    }
    OBJ_RELEASE(whole);
}
END_TEST

START_TEST(test_a_missing_text_is_an_error)
{
    const char *none = NULL;
    char *text = NULL;
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(opal_dss.pack(buffer, &none, 1, OPAL_STRING), OPAL_SUCCESS);
    ck_assert_int_ne(proto_unpack(buffer, "s", &text), ORTE_SUCCESS);
    ck_assert_ptr_null(text);
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(test_no_value_is_an_error)
{
    static const char letters[] = "cuiqnsb";
    static const opal_data_type_t types[] = {OPAL_UINT8, OPAL_UINT32, OPAL_INT32,      OPAL_UINT64,
                                             ORTE_NAME,  OPAL_STRING, OPAL_BYTE_OBJECT};
    for (size_t i = 0; letters[i]; i++) {
        uint64_t value[4] = {0};
        size_t size = 0;
        const char format[] = {letters[i], 0};
        opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
        ck_assert_int_eq(opal_dss.pack(buffer, value, 0, types[i]), OPAL_SUCCESS);
        ck_assert_msg(proto_unpack(buffer, format, value, &size) != ORTE_SUCCESS, "%s", format);
        OBJ_RELEASE(buffer);
    }
}
END_TEST

START_TEST(test_more_values_than_one_are_an_error)
{
    opal_byte_object_t object = {.size = 1, .bytes = (uint8_t *) "x"},
                       *objects[] = {&object, &object};
    const char *texts[] = {"one", "two"};
    char *text;
    uint8_t *data;
    size_t size;
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(opal_dss.pack(buffer, objects, 2, OPAL_BYTE_OBJECT), OPAL_SUCCESS);
    ck_assert_int_ne(proto_unpack(buffer, "b", &data, &size), ORTE_SUCCESS);
    ck_assert_ptr_null(data);
    OBJ_RELEASE(buffer);
    buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(opal_dss.pack(buffer, texts, 2, OPAL_STRING), OPAL_SUCCESS);
    ck_assert_int_ne(proto_unpack(buffer, "s", &text), ORTE_SUCCESS);
    ck_assert_ptr_null(text);
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(test_too_many_bytes_are_refused)
{
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_int_eq(proto_pack(buffer, "b", "x", (size_t) INT32_MAX + 1), ORTE_ERR_BAD_PARAM);
    ck_assert_ptr_null(proto_new(1, "b", "x", SIZE_MAX));
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(test_a_message_is_whole_or_none)
{
    ck_assert_ptr_null(proto_whole(NULL, ORTE_SUCCESS));
    ck_assert_ptr_null(proto_whole(NULL, ORTE_ERROR));
    opal_buffer_t *buffer = message();
    ck_assert_ptr_eq(proto_whole(buffer, ORTE_SUCCESS), buffer);
    ck_assert_ptr_null(proto_whole(buffer, ORTE_ERROR));
}
END_TEST

UNIT_MAIN("proto")
