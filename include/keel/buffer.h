/* opal_buffer_t and opal_dss: typed, portable packing of control messages (Open MPI 1.6's format).
 *
 * A buffer is used by one thread at a time. opal_dss(7) describes the format and each call. */
#ifndef KEEL_BUFFER_H
#define KEEL_BUFFER_H

#include <keel/object.h>
#include <keel/types.h>

BEGIN_C_DECLS

typedef uint8_t opal_data_type_t;

enum {
    OPAL_UNDEF = 0,
    OPAL_BYTE = 1,
    OPAL_BOOL = 2,
    OPAL_STRING = 3,
    OPAL_SIZE = 4,
    OPAL_PID = 5,
    OPAL_INT = 6,
    OPAL_INT8 = 7,
    OPAL_INT16 = 8,
    OPAL_INT32 = 9,
    OPAL_INT64 = 10,
    OPAL_UINT = 11,
    OPAL_UINT8 = 12,
    OPAL_UINT16 = 13,
    OPAL_UINT32 = 14,
    OPAL_UINT64 = 15,
    OPAL_BYTE_OBJECT = 16,
    OPAL_DATA_TYPE = 17,
    OPAL_NULL = 18,
    OPAL_DATA_VALUE = 19,
    OPAL_DSS_ID_DYNAMIC = 30,
    ORTE_STD_CNTR = 31,
    ORTE_NAME = 32,
    ORTE_VPID = 33,
    ORTE_JOBID = 34,
    ORTE_EXIT_CODE = 38,
    ORTE_RML_TAG = 47,
    ORTE_DAEMON_CMD = 48,
};

enum { OPAL_DSS_BUFFER_NON_DESC = 0, OPAL_DSS_BUFFER_FULLY_DESC = 1 };
typedef uint8_t opal_dss_buffer_type_t;

struct opal_buffer_t {
    opal_object_t super;
    opal_dss_buffer_type_t type;
    char *base_ptr;   /* owned; NULL while empty */
    char *pack_ptr;   /* where the next value is packed */
    char *unpack_ptr; /* where the next value is read */
    size_t bytes_allocated;
    size_t bytes_used;
};
typedef struct opal_buffer_t opal_buffer_t;
extern const opal_class_t opal_buffer_t_class KEEL_PUBLIC(opal_buffer_t_class);

typedef struct opal_byte_object_t {
    int32_t size;
    uint8_t *bytes;
} opal_byte_object_t;

/* One value with its type. */
typedef struct opal_dss_value_t {
    opal_object_t super;
    opal_data_type_t type;
    void *data;
} opal_dss_value_t;
extern const opal_class_t opal_dss_value_t_class KEEL_PUBLIC(opal_dss_value_t_class);

typedef int (*opal_dss_pack_fn_t)(opal_buffer_t *buffer, const void *src, int32_t num_values,
                                  opal_data_type_t type);
typedef int (*opal_dss_unpack_fn_t)(opal_buffer_t *buffer, void *dest, int32_t *num_values,
                                    opal_data_type_t type);
typedef int (*opal_dss_copy_fn_t)(void **dest, void *src, opal_data_type_t type);
typedef int (*opal_dss_compare_fn_t)(const void *value1, const void *value2, opal_data_type_t type);
typedef int (*opal_dss_size_fn_t)(size_t *size, void *src, opal_data_type_t type);
typedef int (*opal_dss_print_fn_t)(char **output, char *prefix, void *src, opal_data_type_t type);
typedef void (*opal_dss_release_fn_t)(opal_dss_value_t *value);

struct opal_dss_t {
    int (*set)(opal_dss_value_t *value, void *new_value, opal_data_type_t type);
    int (*get)(void **data, opal_dss_value_t *value, opal_data_type_t type);
    int (*set_buffer_type)(opal_buffer_t *buffer, opal_dss_buffer_type_t type);
    opal_dss_pack_fn_t pack;
    opal_dss_unpack_fn_t unpack;
    opal_dss_copy_fn_t copy;
    opal_dss_compare_fn_t compare;
    opal_dss_size_fn_t size;
    opal_dss_print_fn_t print;
    opal_dss_release_fn_t release;
    int (*peek)(opal_buffer_t *buffer, opal_data_type_t *type, int32_t *num_values);
    int (*unload)(opal_buffer_t *buffer, void **payload, int32_t *bytes_used);
    int (*load)(opal_buffer_t *buffer, void *payload, int32_t bytes_used);
    int (*copy_payload)(opal_buffer_t *dest, opal_buffer_t *src);
    int (*register_type)(opal_dss_pack_fn_t pack, opal_dss_unpack_fn_t unpack,
                         opal_dss_copy_fn_t copy, opal_dss_compare_fn_t compare,
                         opal_dss_size_fn_t size, opal_dss_print_fn_t print,
                         opal_dss_release_fn_t release, bool structured, const char *name,
                         opal_data_type_t *type);
    char *(*lookup_data_type)(opal_data_type_t type); /* malloc'd name, or NULL */
    void (*dump_data_types)(int output);
    int (*dump)(int output_stream, void *src, opal_data_type_t type);
};
typedef struct opal_dss_t opal_dss_t;

extern opal_dss_t opal_dss KEEL_PUBLIC(opal_dss);

/* Counted: every open needs its close. keel_init opens by itself. */
int opal_dss_open(void) KEEL_PUBLIC(opal_dss_open);
int opal_dss_close(void) KEEL_PUBLIC(opal_dss_close);

END_C_DECLS
#endif
