/* buffer.h, object.h and the layout of a buffer against Open MPI 1.6's opal_dss. Nearly all of this
 * test happens in the compiler. */
#include <tests/lib/unit.h>
#include <tests/unit/base/seed.h>

#include <keel/buffer.h>
#include <string.h>

ASSERT_TYPE((opal_data_type_t) 0, uint8_t);
ASSERT_TYPE((opal_dss_buffer_type_t) 0, uint8_t);
ASSERT_VALUE(OPAL_UNDEF, 0);
ASSERT_VALUE(OPAL_BYTE, 1);
ASSERT_VALUE(OPAL_BOOL, 2);
ASSERT_VALUE(OPAL_STRING, 3);
ASSERT_VALUE(OPAL_SIZE, 4);
ASSERT_VALUE(OPAL_PID, 5);
ASSERT_VALUE(OPAL_INT, 6);
ASSERT_VALUE(OPAL_INT8, 7);
ASSERT_VALUE(OPAL_INT16, 8);
ASSERT_VALUE(OPAL_INT32, 9);
ASSERT_VALUE(OPAL_INT64, 10);
ASSERT_VALUE(OPAL_UINT, 11);
ASSERT_VALUE(OPAL_UINT8, 12);
ASSERT_VALUE(OPAL_UINT16, 13);
ASSERT_VALUE(OPAL_UINT32, 14);
ASSERT_VALUE(OPAL_UINT64, 15);
ASSERT_VALUE(OPAL_BYTE_OBJECT, 16);
ASSERT_VALUE(OPAL_DATA_TYPE, 17);
ASSERT_VALUE(OPAL_NULL, 18);
ASSERT_VALUE(OPAL_DATA_VALUE, 19);
ASSERT_VALUE(OPAL_DSS_ID_DYNAMIC, 30);
ASSERT_VALUE(ORTE_STD_CNTR, 31);
ASSERT_VALUE(ORTE_NAME, 32);
ASSERT_VALUE(ORTE_VPID, 33);
ASSERT_VALUE(ORTE_JOBID, 34);
ASSERT_VALUE(ORTE_EXIT_CODE, 38);
ASSERT_VALUE(ORTE_RML_TAG, 47);
ASSERT_VALUE(ORTE_DAEMON_CMD, 48);
ASSERT_VALUE(OPAL_DSS_BUFFER_NON_DESC, 0);
ASSERT_VALUE(OPAL_DSS_BUFFER_FULLY_DESC, 1);

ASSERT_SLOT(opal_dss_t, 0, set, int (*)(opal_dss_value_t *, void *, opal_data_type_t));
ASSERT_SLOT(opal_dss_t, 1, get, int (*)(void **, opal_dss_value_t *, opal_data_type_t));
ASSERT_SLOT(opal_dss_t, 2, set_buffer_type, int (*)(opal_buffer_t *, opal_dss_buffer_type_t));
ASSERT_SLOT(opal_dss_t, 3, pack, int (*)(opal_buffer_t *, const void *, int32_t, opal_data_type_t));
ASSERT_SLOT(opal_dss_t, 4, unpack, int (*)(opal_buffer_t *, void *, int32_t *, opal_data_type_t));
ASSERT_SLOT(opal_dss_t, 5, copy, int (*)(void **, void *, opal_data_type_t));
ASSERT_SLOT(opal_dss_t, 6, compare, int (*)(const void *, const void *, opal_data_type_t));
ASSERT_SLOT(opal_dss_t, 7, size, int (*)(size_t *, void *, opal_data_type_t));
ASSERT_SLOT(opal_dss_t, 8, print, int (*)(char **, char *, void *, opal_data_type_t));
ASSERT_SLOT(opal_dss_t, 9, release, void (*)(opal_dss_value_t *));
ASSERT_SLOT(opal_dss_t, 10, peek, int (*)(opal_buffer_t *, opal_data_type_t *, int32_t *));
ASSERT_SLOT(opal_dss_t, 11, unload, int (*)(opal_buffer_t *, void **, int32_t *));
ASSERT_SLOT(opal_dss_t, 12, load, int (*)(opal_buffer_t *, void *, int32_t));
ASSERT_SLOT(opal_dss_t, 13, copy_payload, int (*)(opal_buffer_t *, opal_buffer_t *));
ASSERT_SLOT(opal_dss_t, 14, register_type,
            int (*)(opal_dss_pack_fn_t, opal_dss_unpack_fn_t, opal_dss_copy_fn_t,
                    opal_dss_compare_fn_t, opal_dss_size_fn_t, opal_dss_print_fn_t,
                    opal_dss_release_fn_t, bool, const char *, opal_data_type_t *));
ASSERT_SLOT(opal_dss_t, 15, lookup_data_type, char *(*) (opal_data_type_t));
ASSERT_SLOT(opal_dss_t, 16, dump_data_types, void (*)(int));
ASSERT_SLOT(opal_dss_t, 17, dump, int (*)(int, void *, opal_data_type_t));
ASSERT_VALUE(sizeof(opal_dss_t), 18 * sizeof(void (*)(void)));

/* Programs look into buffers and byte objects. */
ASSERT_VALUE(offsetof(opal_buffer_t, super), 0);
ASSERT_TYPE(((opal_buffer_t *) NULL)->type, uint8_t);
ASSERT_TYPE(((opal_buffer_t *) NULL)->base_ptr, char *);
ASSERT_TYPE(((opal_buffer_t *) NULL)->pack_ptr, char *);
ASSERT_TYPE(((opal_buffer_t *) NULL)->unpack_ptr, char *);
ASSERT_TYPE(((opal_buffer_t *) NULL)->bytes_allocated, size_t);
ASSERT_TYPE(((opal_buffer_t *) NULL)->bytes_used, size_t);
ASSERT_TYPE(((opal_byte_object_t *) NULL)->size, int32_t);
ASSERT_TYPE(((opal_byte_object_t *) NULL)->bytes, uint8_t *);
ASSERT_TYPE(((opal_dss_value_t *) NULL)->type, uint8_t);
ASSERT_TYPE(((opal_dss_value_t *) NULL)->data, void *);

/* The seed's declarations name the struct, programs the type. */
ASSERT_TYPE((struct opal_buffer_t *) NULL, opal_buffer_t *);

START_TEST(no_slot_is_empty)
{
    void (*slots[18])(void);
    memcpy(slots, &opal_dss, sizeof(slots));
    for (int i = 0; i < 18; i++) {
        ck_assert_msg(slots[i] != NULL, "slot %d", i);
    }
}
END_TEST

UNIT_MAIN("seed-buffer")
