/* Inside opal_dss: what is known of each type, and the way to a buffer's bytes.
 *
 * A type is a row of functions, the application's types like the built-in ones. Functions that read
 * or pack values move the buffer's position even when they fail; dss_pack and dss_unpack put it
 * back. */
#ifndef BASE_DSS_H
#define BASE_DSS_H

#include <keel/buffer.h>

enum { DSS_VALUE_DEPTH_MAX = 16 }; /* values within values */

struct dss_type {
    const char *name;
    opal_dss_pack_fn_t pack;
    opal_dss_unpack_fn_t unpack;
    opal_dss_copy_fn_t copy;
    opal_dss_compare_fn_t compare;
    opal_dss_size_fn_t size;
    opal_dss_print_fn_t print;
    opal_dss_release_fn_t release;
    bool structured; /* pack and unpack take the address of a pointer to the value */

    /* Built-in types only. */
    uint8_t memory;        /* bytes of a value in memory; 0: it varies */
    uint8_t min_wire;      /* least bytes that a value takes in a buffer */
    bool is_signed;        /* a signed number */
    bool tagged;           /* its width differs between hosts: the real type is always packed */
    opal_data_type_t real; /* the type it is packed as; OPAL_UNDEF: its own */
};

/* NULL: no such type. */
const struct dss_type *dss_type_find(opal_data_type_t type);

/* Buffers. */
static inline bool dss_described(const opal_buffer_t *buffer)
{
    return buffer->type == OPAL_DSS_BUFFER_FULLY_DESC;
}

/* Bytes that are packed and not yet unpacked. */
static inline size_t dss_buffer_left(const opal_buffer_t *buffer)
{
    return buffer->base_ptr ? buffer->bytes_used - (size_t) (buffer->unpack_ptr - buffer->base_ptr)
                            : 0;
}

/* Adds bytes at the end, uninitialised; *at is where they begin. A buffer never exceeds INT32_MAX
 * bytes: OPAL_ERR_OUT_OF_RESOURCE. */
int dss_buffer_extend(opal_buffer_t *buffer, size_t bytes, char **at) KEEL_MUST_CHECK;
/* Cuts the buffer back to its first bytes. */
void dss_buffer_cut(opal_buffer_t *buffer, size_t bytes);
/* Moves over bytes to read; *at is where they begin. OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER. */
int dss_buffer_take(opal_buffer_t *buffer, size_t bytes, const char **at) KEEL_MUST_CHECK;
int dss_buffer_put_type(opal_buffer_t *buffer, opal_data_type_t type) KEEL_MUST_CHECK;
int dss_buffer_take_type(opal_buffer_t *buffer, opal_data_type_t *type) KEEL_MUST_CHECK;
int dss_buffer_put_int32(opal_buffer_t *buffer, int32_t value) KEEL_MUST_CHECK;
int dss_buffer_take_int32(opal_buffer_t *buffer, int32_t *value) KEEL_MUST_CHECK;
/* Reads an item's head; *type is written where the buffer is described. */
int dss_buffer_take_head(opal_buffer_t *buffer, opal_data_type_t *type,
                         int32_t *count) KEEL_MUST_CHECK;

int dss_set_buffer_type(opal_buffer_t *buffer, opal_dss_buffer_type_t type);
int dss_peek(opal_buffer_t *buffer, opal_data_type_t *type, int32_t *num_values);
int dss_unload(opal_buffer_t *buffer, void **payload, int32_t *bytes_used);
int dss_load(opal_buffer_t *buffer, void *payload, int32_t bytes_used);
int dss_copy_payload(opal_buffer_t *dest, opal_buffer_t *src);

/* Numbers of 1, 2, 4 or 8 bytes: in memory (sign-extended when they are signed) and big-endian in
 * buffers. */
uint64_t dss_number_load(const void *at, size_t width, bool is_signed);
void dss_number_store(void *at, size_t width, uint64_t value);
uint64_t dss_number_decode(const char *at, size_t width, bool is_signed);
void dss_number_encode(char *at, size_t width, uint64_t value);

/* The functions of opal_dss. */
int dss_pack(opal_buffer_t *buffer, const void *src, int32_t num_values, opal_data_type_t type);
int dss_unpack(opal_buffer_t *buffer, void *dest, int32_t *num_values, opal_data_type_t type);
int dss_set(opal_dss_value_t *value, void *new_value, opal_data_type_t type);
int dss_get(void **data, opal_dss_value_t *value, opal_data_type_t type);
int dss_copy(void **dest, void *src, opal_data_type_t type);
int dss_compare(const void *value1, const void *value2, opal_data_type_t type);
int dss_size(size_t *size, void *src, opal_data_type_t type);
int dss_print(char **output, char *prefix, void *src, opal_data_type_t type);
void dss_release(opal_dss_value_t *value);
int dss_dump(int output_stream, void *src, opal_data_type_t type);
void dss_dump_data_types(int output);

/* More than DSS_VALUE_DEPTH_MAX values within values. */
bool dss_value_too_deep(const opal_dss_value_t *value);

/* The rows of the built-in types. */
typedef int dss_pack_fn(opal_buffer_t *, const void *, int32_t, opal_data_type_t);
typedef int dss_unpack_fn(opal_buffer_t *, void *, int32_t *, opal_data_type_t);
typedef int dss_copy_fn(void **, void *, opal_data_type_t);
typedef int dss_compare_fn(const void *, const void *, opal_data_type_t);
typedef int dss_size_fn(size_t *, void *, opal_data_type_t);
typedef int dss_print_fn(char **, char *, void *, opal_data_type_t);
typedef void dss_release_fn(opal_dss_value_t *);

dss_pack_fn dss_pack_number, dss_pack_string, dss_pack_byte_object, dss_pack_null, dss_pack_value,
    dss_pack_name;
dss_unpack_fn dss_unpack_number, dss_unpack_string, dss_unpack_byte_object, dss_unpack_null,
    dss_unpack_value, dss_unpack_name;
dss_copy_fn dss_copy_fixed, dss_copy_string, dss_copy_byte_object, dss_copy_value;
dss_compare_fn dss_compare_number, dss_compare_id, dss_compare_string, dss_compare_byte_object,
    dss_compare_null, dss_compare_value, dss_compare_name;
dss_size_fn dss_size_fixed, dss_size_string, dss_size_byte_object, dss_size_value;
dss_print_fn dss_print_number, dss_print_string, dss_print_byte_object, dss_print_null,
    dss_print_value, dss_print_name;
dss_release_fn dss_release_plain, dss_release_byte_object, dss_release_value;

#endif
