/* keel/btl2.h, by the old names of <ompi/mca/btl/btl.h>, against the interface that it declares,
 * BTL 2.0: types, order of members, values. Nearly all of this test happens in the compiler. The
 * one difference: the trigger table has 256 entries.
 */
#include <tests/lib/unit.h>
#include <tests/unit/base/seed.h>

#include <ompi/mca/btl/btl.h>
#include <string.h>

#define ASSERT_MEMBER(type, member, ...) ASSERT_TYPE(((type *) NULL)->member, __VA_ARGS__)
#define ASSERT_FIRST(type, member, ...)                   \
    _Static_assert(offsetof(type, member) == 0, #member); \
    ASSERT_MEMBER(type, member, __VA_ARGS__)
/* It follows the one before it (sizes and paddings as the ABI has them). */
#define ASSERT_NEXT(type, before, member, ...)                                \
    _Static_assert(offsetof(type, before) < offsetof(type, member), #member); \
    ASSERT_MEMBER(type, member, __VA_ARGS__)
/* A constant by its old name and by Keel's. */
#define ASSERT_CONSTANT(name, value)     \
    ASSERT_VALUE(MCA_BTL_##name, value); \
    ASSERT_VALUE(MCA_BTL2_##name, value)

typedef struct mca_btl2_base_module_t module;
typedef struct mca_btl2_base_endpoint_t endpoint;
typedef struct mca_btl2_base_descriptor_t descriptor;
typedef struct mca_btl2_base_component_2_0_0_t component;

/* Constants. */
ASSERT_CONSTANT(NO_ORDER, 255);
ASSERT_CONSTANT(AM_FRAMEWORK_MASK, 0xD0);
ASSERT_CONSTANT(TAG_BTL, 0x20);
ASSERT_CONSTANT(TAG_FT, 0x30);
ASSERT_CONSTANT(TAG_PML, 0x40);
ASSERT_CONSTANT(TAG_OSC_RDMA, 0x60);
ASSERT_CONSTANT(TAG_USR, 0x80);
ASSERT_CONSTANT(TAG_MAX, 255);
ASSERT_CONSTANT(TAG_IB, 0x20);
ASSERT_CONSTANT(TAG_UDAPL, 0x21);
ASSERT_CONSTANT(FLAGS_SEND, 0x0001);
ASSERT_CONSTANT(FLAGS_PUT, 0x0002);
ASSERT_CONSTANT(FLAGS_GET, 0x0004);
ASSERT_CONSTANT(FLAGS_RDMA, 0x0006);
ASSERT_CONSTANT(FLAGS_SEND_INPLACE, 0x0008);
ASSERT_CONSTANT(FLAGS_NEED_ACK, 0x0010);
ASSERT_CONSTANT(FLAGS_NEED_CSUM, 0x0020);
ASSERT_CONSTANT(FLAGS_RDMA_MATCHED, 0x0040);
ASSERT_CONSTANT(FLAGS_RDMA_COMPLETION, 0x0080);
ASSERT_CONSTANT(FLAGS_HETEROGENEOUS_RDMA, 0x0100);
ASSERT_CONSTANT(FLAGS_FAILOVER_SUPPORT, 0x0200);
ASSERT_CONSTANT(FLAGS_CUDA_PUT, 0x0400);
ASSERT_CONSTANT(FLAGS_CUDA_GET, 0x0800);
ASSERT_CONSTANT(FLAGS_CUDA_RDMA, 0x0c00);
ASSERT_CONSTANT(EXCLUSIVITY_HIGH, 65536);
ASSERT_CONSTANT(EXCLUSIVITY_DEFAULT, 1024);
ASSERT_CONSTANT(EXCLUSIVITY_LOW, 0);
ASSERT_CONSTANT(ERROR_FLAGS_FATAL, 0x1);
ASSERT_CONSTANT(ERROR_FLAGS_NONFATAL, 0x2);
ASSERT_CONSTANT(DES_FLAGS_PRIORITY, 0x0001);
ASSERT_CONSTANT(DES_FLAGS_BTL_OWNERSHIP, 0x0002);
ASSERT_CONSTANT(DES_SEND_ALWAYS_CALLBACK, 0x0004);
ASSERT_CONSTANT(DES_FLAGS_PUT, 0x0010);
ASSERT_CONSTANT(DES_FLAGS_GET, 0x0020);
ASSERT_CONSTANT(DES_MAX_SEGMENTS, 16);

/* Types of data. */
ASSERT_TYPE((mca_btl_base_tag_t) 0, uint8_t);
ASSERT_TYPE((mca_btl_base_module_t *) NULL, module *);
ASSERT_TYPE((struct mca_btl_base_endpoint_t *) NULL, endpoint *);
ASSERT_TYPE((mca_btl_base_descriptor_t *) NULL, descriptor *);

ASSERT_FIRST(mca_btl_base_segment_t, seg_addr, opal_ptr_t);
ASSERT_NEXT(mca_btl_base_segment_t, seg_addr, seg_len, uint32_t);
ASSERT_NEXT(mca_btl_base_segment_t, seg_len, seg_key.key32[0], uint32_t);
ASSERT_MEMBER(mca_btl_base_segment_t, seg_key.key64[0], uint64_t);
ASSERT_MEMBER(mca_btl_base_segment_t, seg_key.key8[0], uint8_t);
ASSERT_VALUE(sizeof(((mca_btl_base_segment_t *) NULL)->seg_key.key32), 16);
ASSERT_VALUE(sizeof(((mca_btl_base_segment_t *) NULL)->seg_key.key64), 16);
ASSERT_VALUE(sizeof(((mca_btl_base_segment_t *) NULL)->seg_key.key8), 16);
ASSERT_VALUE(offsetof(mca_btl_base_segment_t, seg_len), 8);
ASSERT_VALUE(offsetof(mca_btl_base_segment_t, seg_key), 16);
ASSERT_VALUE(sizeof(mca_btl_base_segment_t), 32);

ASSERT_FIRST(descriptor, super, ompi_free_list_item_t);
ASSERT_NEXT(descriptor, super, des_src, mca_btl_base_segment_t *);
ASSERT_NEXT(descriptor, des_src, des_src_cnt, size_t);
ASSERT_NEXT(descriptor, des_src_cnt, des_dst, mca_btl_base_segment_t *);
ASSERT_NEXT(descriptor, des_dst, des_dst_cnt, size_t);
ASSERT_NEXT(descriptor, des_dst_cnt, des_cbfunc, mca_btl_base_completion_fn_t);
ASSERT_NEXT(descriptor, des_cbfunc, des_cbdata, void *);
ASSERT_NEXT(descriptor, des_cbdata, des_context, void *);
ASSERT_NEXT(descriptor, des_context, des_flags, uint32_t);
ASSERT_NEXT(descriptor, des_flags, order, uint8_t);
/* And nothing more: the item, four segments' words, three pointers, flags, order and padding. */
ASSERT_VALUE(sizeof(descriptor), sizeof(ompi_free_list_item_t) + 4 * 8 + 3 * 8 + 8);

ASSERT_FIRST(mca_btl_base_header_t, tag, mca_btl_base_tag_t);
ASSERT_VALUE(sizeof(mca_btl_base_header_t), 1);

ASSERT_FIRST(mca_btl_active_message_callback_t, cbfunc, mca_btl_base_module_recv_cb_fn_t);
ASSERT_NEXT(mca_btl_active_message_callback_t, cbfunc, cbdata, void *);
ASSERT_TYPE(mca_btl_base_active_message_trigger[0], mca_btl_active_message_callback_t);
ASSERT_VALUE(sizeof(mca_btl_base_active_message_trigger),
             (MCA_BTL_TAG_MAX + 1) * sizeof(mca_btl_active_message_callback_t));

ASSERT_FIRST(component, btl_version, mca_base_component_t);
ASSERT_NEXT(component, btl_version, btl_data, mca_base_component_data_t);
ASSERT_NEXT(component, btl_data, btl_init, mca_btl_base_component_init_fn_t);
ASSERT_NEXT(component, btl_init, btl_progress, mca_btl_base_component_progress_fn_t);
ASSERT_TYPE((mca_btl_base_component_2_0_0_t *) NULL, component *);
ASSERT_TYPE((mca_btl_base_component_t *) NULL, component *);
ASSERT_TYPE((mca_btl_base_component_1_0_1_t *) NULL, component *);
ASSERT_TYPE((mca_btl_base_component_1_0_0_t *) NULL, component *);

/* Types of functions. */
ASSERT_TYPE((mca_btl_base_completion_fn_t) 0, void (*)(module *, endpoint *, descriptor *, int));
ASSERT_TYPE((mca_btl_base_component_init_fn_t) 0, module **(*) (int *, bool, bool) );
ASSERT_TYPE((mca_btl_base_component_progress_fn_t) 0, int (*)(void));
ASSERT_TYPE((mca_btl_base_module_recv_cb_fn_t) 0,
            void (*)(module *, uint8_t, descriptor *, void *));
ASSERT_TYPE((mca_btl_base_module_finalize_fn_t) 0, int (*)(module *));
ASSERT_TYPE((mca_btl_base_module_add_procs_fn_t) 0,
            int (*)(module *, size_t, struct ompi_proc_t **, endpoint **, struct opal_bitmap_t *));
ASSERT_TYPE((mca_btl_base_module_del_procs_fn_t) 0,
            int (*)(module *, size_t, struct ompi_proc_t **, endpoint **));
ASSERT_TYPE((mca_btl_base_module_register_fn_t) 0,
            int (*)(module *, uint8_t, mca_btl_base_module_recv_cb_fn_t, void *));
ASSERT_TYPE((mca_btl_base_module_error_cb_fn_t) 0,
            void (*)(module *, int32_t, struct ompi_proc_t *, char *));
ASSERT_TYPE((mca_btl_base_module_register_error_fn_t) 0,
            int (*)(module *, mca_btl_base_module_error_cb_fn_t));
ASSERT_TYPE((mca_btl_base_module_alloc_fn_t) 0,
            descriptor *(*) (module *, endpoint *, uint8_t, size_t, uint32_t));
ASSERT_TYPE((mca_btl_base_module_free_fn_t) 0, int (*)(module *, descriptor *));
ASSERT_TYPE((mca_btl_base_module_prepare_fn_t) 0,
            descriptor *(*) (module *, endpoint *, mca_mpool_base_registration_t *,
                             struct opal_convertor_t *, uint8_t, size_t, size_t *, uint32_t));
ASSERT_TYPE((mca_btl_base_module_send_fn_t) 0,
            int (*)(module *, endpoint *, descriptor *, uint8_t));
ASSERT_TYPE((mca_btl_base_module_sendi_fn_t) 0,
            int (*)(module *, endpoint *, struct opal_convertor_t *, void *, size_t, size_t,
                    uint8_t, uint32_t, uint8_t, descriptor **));
ASSERT_TYPE((mca_btl_base_module_put_fn_t) 0, int (*)(module *, endpoint *, descriptor *));
ASSERT_TYPE((mca_btl_base_module_get_fn_t) 0, int (*)(module *, endpoint *, descriptor *));
ASSERT_TYPE((mca_btl_base_module_dump_fn_t) 0, void (*)(module *, endpoint *, int));
ASSERT_TYPE((mca_btl_base_module_ft_event_fn_t) 0, int (*)(int));

/* The module's table. */
ASSERT_FIRST(module, btl_component, mca_btl_base_component_t *);
ASSERT_NEXT(module, btl_component, btl_eager_limit, size_t);
ASSERT_NEXT(module, btl_eager_limit, btl_rndv_eager_limit, size_t);
ASSERT_NEXT(module, btl_rndv_eager_limit, btl_max_send_size, size_t);
ASSERT_NEXT(module, btl_max_send_size, btl_rdma_pipeline_send_length, size_t);
ASSERT_NEXT(module, btl_rdma_pipeline_send_length, btl_rdma_pipeline_frag_size, size_t);
ASSERT_NEXT(module, btl_rdma_pipeline_frag_size, btl_min_rdma_pipeline_size, size_t);
ASSERT_NEXT(module, btl_min_rdma_pipeline_size, btl_exclusivity, uint32_t);
ASSERT_NEXT(module, btl_exclusivity, btl_latency, uint32_t);
ASSERT_NEXT(module, btl_latency, btl_bandwidth, uint32_t);
ASSERT_NEXT(module, btl_bandwidth, btl_flags, uint32_t);
ASSERT_NEXT(module, btl_flags, btl_add_procs, mca_btl_base_module_add_procs_fn_t);
ASSERT_NEXT(module, btl_add_procs, btl_del_procs, mca_btl_base_module_del_procs_fn_t);
ASSERT_NEXT(module, btl_del_procs, btl_register, mca_btl_base_module_register_fn_t);
ASSERT_NEXT(module, btl_register, btl_finalize, mca_btl_base_module_finalize_fn_t);
ASSERT_NEXT(module, btl_finalize, btl_alloc, mca_btl_base_module_alloc_fn_t);
ASSERT_NEXT(module, btl_alloc, btl_free, mca_btl_base_module_free_fn_t);
ASSERT_NEXT(module, btl_free, btl_prepare_src, mca_btl_base_module_prepare_fn_t);
ASSERT_NEXT(module, btl_prepare_src, btl_prepare_dst, mca_btl_base_module_prepare_fn_t);
ASSERT_NEXT(module, btl_prepare_dst, btl_send, mca_btl_base_module_send_fn_t);
ASSERT_NEXT(module, btl_send, btl_sendi, mca_btl_base_module_sendi_fn_t);
ASSERT_NEXT(module, btl_sendi, btl_put, mca_btl_base_module_put_fn_t);
ASSERT_NEXT(module, btl_put, btl_get, mca_btl_base_module_get_fn_t);
ASSERT_NEXT(module, btl_get, btl_dump, mca_btl_base_module_dump_fn_t);
ASSERT_NEXT(module, btl_dump, btl_mpool, mca_mpool_base_module_t *);
ASSERT_NEXT(module, btl_mpool, btl_register_error, mca_btl_base_module_register_error_fn_t);
ASSERT_NEXT(module, btl_register_error, btl_ft_event, mca_btl_base_module_ft_event_fn_t);
/* And nothing more: a pointer, 6 sizes, 4 words, 16 pointers. */
ASSERT_VALUE(sizeof(module), 8 + 6 * 8 + 4 * 4 + 16 * 8);

START_TEST(versions_are_btl_2)
{
    const mca_base_component_t version = {MCA_BTL_BASE_VERSION_2_0_0};
    ck_assert_int_eq(version.mca_major_version, 2);
    ck_assert_int_eq(version.mca_minor_version, 0);
    ck_assert_int_eq(version.mca_release_version, 0);
    ck_assert_str_eq(version.mca_type_name, "btl");
    ck_assert_int_eq(version.mca_type_major_version, 2);
    ck_assert_int_eq(version.mca_type_minor_version, 0);
    ck_assert_int_eq(version.mca_type_release_version, 0);
}
END_TEST

/* A class of an application's own that begins with a descriptor. */
START_TEST(descriptors_have_a_class)
{
    mca_btl_base_descriptor_t made;
    OBJ_CONSTRUCT(&made, mca_btl_base_descriptor_t);
    MCA_BTL_BASE_HEADER_HTON(made);
    MCA_BTL_BASE_HEADER_NTOH(made);
    ck_assert_str_eq(mca_btl_base_descriptor_t_class.cls_name, "mca_btl_base_descriptor_t");
    ck_assert_uint_eq(mca_btl_base_descriptor_t_class.cls_sizeof, sizeof(made));
    OBJ_DESTRUCT(&made);
}
END_TEST

UNIT_MAIN("seed-btl2")
