#include <config.h>

#include <base/types/dss.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Integers whose width is the host's are packed as one of these widths. */
_Static_assert(sizeof(bool) == 1 && sizeof(int) == 4 && sizeof(pid_t) == 4, "widths of real types");
_Static_assert(sizeof(size_t) == 4 || sizeof(size_t) == 8, "width of size_t");
_Static_assert(sizeof(orte_process_name_t) == 8, "a name is two 32-bit numbers");

#define NUMBER_FUNCTIONS                                                              \
    .pack = dss_pack_number, .unpack = dss_unpack_number, .copy = dss_copy_fixed,     \
    .compare = dss_compare_number, .size = dss_size_fixed, .print = dss_print_number, \
    .release = dss_release_plain

static const struct dss_type builtin[] = {
    [OPAL_BYTE] = {"OPAL_BYTE", NUMBER_FUNCTIONS, .memory = 1, .min_wire = 1},
    [OPAL_BOOL] = {"OPAL_BOOL", NUMBER_FUNCTIONS, .memory = sizeof(bool), .min_wire = 1,
                   .tagged = true, .real = OPAL_UINT8},
    [OPAL_STRING] = {"OPAL_STRING", dss_pack_string, dss_unpack_string, dss_copy_string,
                     dss_compare_string, dss_size_string, dss_print_string, dss_release_plain,
                     .structured = true, .min_wire = 4},
    [OPAL_SIZE] = {"OPAL_SIZE", NUMBER_FUNCTIONS, .memory = sizeof(size_t), .min_wire = 1,
                   .tagged = true, .real = sizeof(size_t) == 8 ? OPAL_UINT64 : OPAL_UINT32},
    [OPAL_PID] = {"OPAL_PID", NUMBER_FUNCTIONS, .memory = sizeof(pid_t), .min_wire = 1,
                  .is_signed = true, .tagged = true, .real = OPAL_UINT32},
    [OPAL_INT] = {"OPAL_INT", NUMBER_FUNCTIONS, .memory = sizeof(int), .min_wire = 1,
                  .is_signed = true, .tagged = true, .real = OPAL_INT32},
    [OPAL_INT8] = {"OPAL_INT8", NUMBER_FUNCTIONS, .memory = 1, .min_wire = 1, .is_signed = true},
    [OPAL_INT16] = {"OPAL_INT16", NUMBER_FUNCTIONS, .memory = 2, .min_wire = 2, .is_signed = true},
    [OPAL_INT32] = {"OPAL_INT32", NUMBER_FUNCTIONS, .memory = 4, .min_wire = 4, .is_signed = true},
    [OPAL_INT64] = {"OPAL_INT64", NUMBER_FUNCTIONS, .memory = 8, .min_wire = 8, .is_signed = true},
    /* The format packs unsigned int as a signed real type of the same width. */
    [OPAL_UINT] = {"OPAL_UINT", NUMBER_FUNCTIONS, .memory = sizeof(int), .min_wire = 1,
                   .tagged = true, .real = OPAL_INT32},
    [OPAL_UINT8] = {"OPAL_UINT8", NUMBER_FUNCTIONS, .memory = 1, .min_wire = 1},
    [OPAL_UINT16] = {"OPAL_UINT16", NUMBER_FUNCTIONS, .memory = 2, .min_wire = 2},
    [OPAL_UINT32] = {"OPAL_UINT32", NUMBER_FUNCTIONS, .memory = 4, .min_wire = 4},
    [OPAL_UINT64] = {"OPAL_UINT64", NUMBER_FUNCTIONS, .memory = 8, .min_wire = 8},
    [OPAL_BYTE_OBJECT] = {"OPAL_BYTE_OBJECT", dss_pack_byte_object, dss_unpack_byte_object,
                          dss_copy_byte_object, dss_compare_byte_object, dss_size_byte_object,
                          dss_print_byte_object, dss_release_byte_object, .structured = true,
                          .min_wire = 4},
    [OPAL_DATA_TYPE] = {"OPAL_DATA_TYPE", NUMBER_FUNCTIONS, .memory = 1, .min_wire = 1,
                        .real = OPAL_UINT8},
    [OPAL_NULL] = {"OPAL_NULL", dss_pack_null, dss_unpack_null, dss_copy_fixed, dss_compare_null,
                   dss_size_fixed, dss_print_null, dss_release_plain, .memory = 1, .min_wire = 1},
    [OPAL_DATA_VALUE] = {"OPAL_DATA_VALUE", dss_pack_value, dss_unpack_value, dss_copy_value,
                         dss_compare_value, dss_size_value, dss_print_value, dss_release_value,
                         .structured = true, .min_wire = 1},
    [ORTE_STD_CNTR] = {"ORTE_STD_CNTR", NUMBER_FUNCTIONS, .memory = 4, .min_wire = 4,
                       .is_signed = true, .real = OPAL_INT32},
    [ORTE_NAME] = {"ORTE_NAME", dss_pack_name, dss_unpack_name, dss_copy_fixed, dss_compare_name,
                   dss_size_fixed, dss_print_name, dss_release_plain, .memory = 8, .min_wire = 8},
    [ORTE_VPID] = {"ORTE_VPID", dss_pack_number, dss_unpack_number, dss_copy_fixed, dss_compare_id,
                   dss_size_fixed, dss_print_number, dss_release_plain, .memory = 4, .min_wire = 4,
                   .real = OPAL_UINT32},
    [ORTE_JOBID] = {"ORTE_JOBID", dss_pack_number, dss_unpack_number, dss_copy_fixed,
                    dss_compare_id, dss_size_fixed, dss_print_number, dss_release_plain,
                    .memory = 4, .min_wire = 4, .real = OPAL_UINT32},
    [ORTE_EXIT_CODE] = {"ORTE_EXIT_CODE", NUMBER_FUNCTIONS, .memory = 4, .min_wire = 4,
                        .is_signed = true, .real = OPAL_INT32},
    [ORTE_RML_TAG] = {"ORTE_RML_TAG", NUMBER_FUNCTIONS, .memory = 4, .min_wire = 4,
                      .real = OPAL_UINT32},
    [ORTE_DAEMON_CMD] = {"ORTE_DAEMON_CMD", NUMBER_FUNCTIONS, .memory = 1, .min_wire = 1,
                         .real = OPAL_UINT8},
};

enum {
    BUILTIN_END = sizeof(builtin) / sizeof(builtin[0]),
    TYPE_END = UINT8_MAX + 1,
};

/* The application's types. Entries are written under the lock and read without it. */
static _Atomic(struct dss_type *) registered[TYPE_END];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned opens; /* guarded by lock */

const struct dss_type *dss_type_find(opal_data_type_t type)
{
    if (type < BUILTIN_END && builtin[type].name) {
        return &builtin[type];
    }
    return atomic_load_explicit(&registered[type], memory_order_acquire);
}

static char *lookup_data_type(opal_data_type_t type)
{
    const struct dss_type *info = dss_type_find(type);
    return info ? strdup(info->name) : NULL;
}

static bool name_taken(const char *name)
{
    for (unsigned type = 0; type < TYPE_END; type++) {
        const struct dss_type *info = dss_type_find((opal_data_type_t) type);
        if (info && strcmp(info->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The number for a new type: the wanted one, or the first free one above the built-in types. */
static int choose_type_locked(opal_data_type_t wanted, unsigned *chosen)
{
    if (wanted == OPAL_UNDEF) {
        unsigned type = BUILTIN_END;
        while (type < TYPE_END && dss_type_find((opal_data_type_t) type)) {
            type++;
        }
        *chosen = type;
        return type < TYPE_END ? OPAL_SUCCESS : OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (dss_type_find(wanted)) {
        return OPAL_ERR_DATA_TYPE_REDEF;
    }
    *chosen = wanted;
    return wanted >= OPAL_DSS_ID_DYNAMIC ? OPAL_SUCCESS : OPAL_ERR_BAD_PARAM;
}

/* Takes the row over on success. */
static int register_locked(struct dss_type *made, opal_data_type_t *type)
{
    unsigned chosen;
    int rc = name_taken(made->name) ? OPAL_ERR_DATA_TYPE_REDEF : choose_type_locked(*type, &chosen);
    if (rc == OPAL_SUCCESS) {
        atomic_store_explicit(&registered[chosen], made, memory_order_release);
        *type = (opal_data_type_t) chosen;
    }
    return rc;
}

static void free_type(struct dss_type *type)
{
    if (type) {
        free((char *) type->name);
        free(type);
    }
}

static int register_type(opal_dss_pack_fn_t pack, opal_dss_unpack_fn_t unpack,
                         opal_dss_copy_fn_t copy, opal_dss_compare_fn_t compare,
                         opal_dss_size_fn_t size, opal_dss_print_fn_t print,
                         opal_dss_release_fn_t release, bool structured, const char *name,
                         opal_data_type_t *type)
{
    if (!pack || !unpack || !copy || !compare || !size || !print || !release || !name || !type) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct dss_type *made = calloc(1, sizeof(*made));
    char *own_name = strdup(name);
    if (!made || !own_name) {
        free(made);
        free(own_name);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    *made = (struct dss_type){
        .name = own_name,
        .pack = pack,
        .unpack = unpack,
        .copy = copy,
        .compare = compare,
        .size = size,
        .print = print,
        .release = release,
        .structured = structured,
    };
    pthread_mutex_lock(&lock);
    int rc = register_locked(made, type);
    pthread_mutex_unlock(&lock);
    if (rc != OPAL_SUCCESS) {
        free_type(made);
    }
    return rc;
}

int opal_dss_open(void)
{
    pthread_mutex_lock(&lock);
    opens++;
    pthread_mutex_unlock(&lock);
    return OPAL_SUCCESS;
}

/* The last close forgets the application's types; the built-in ones are always there. */
int opal_dss_close(void)
{
    pthread_mutex_lock(&lock);
    int rc = opens > 0 ? OPAL_SUCCESS : OPAL_ERROR;
    if (opens > 0 && --opens == 0) {
        for (unsigned type = 0; type < TYPE_END; type++) {
            free_type(atomic_exchange_explicit(&registered[type], NULL, memory_order_acq_rel));
        }
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

opal_dss_t opal_dss = {
    .set = dss_set,
    .get = dss_get,
    .set_buffer_type = dss_set_buffer_type,
    .pack = dss_pack,
    .unpack = dss_unpack,
    .copy = dss_copy,
    .compare = dss_compare,
    .size = dss_size,
    .print = dss_print,
    .release = dss_release,
    .peek = dss_peek,
    .unload = dss_unload,
    .load = dss_load,
    .copy_payload = dss_copy_payload,
    .register_type = register_type,
    .lookup_data_type = lookup_data_type,
    .dump_data_types = dss_dump_data_types,
    .dump = dss_dump,
};
