/* btl.h against the interface that it declares, BTL 3.0: types, order of members, values. Nearly
 * all of this test happens in the compiler. The one difference: the trigger table has 256 entries.
 */
#include <tests/lib/unit.h>
#include <tests/unit/base/seed.h>

#include <keel/btl.h>
#include <string.h>

/* A member's type, and that it follows the one before it (sizes and paddings as the ABI has them).
 */
#define ASSERT_MEMBER(type, member, ...) ASSERT_TYPE(((type *) NULL)->member, __VA_ARGS__)
#define ASSERT_AFTER(type, before, member) \
    _Static_assert(offsetof(type, before) < offsetof(type, member), #member)
#define ASSERT_FIRST(type, member) _Static_assert(offsetof(type, member) == 0, #member)

typedef struct mca_btl_base_module_t module;
typedef struct mca_btl_base_endpoint_t endpoint;
typedef struct mca_btl_base_descriptor_t descriptor;
typedef struct mca_btl_base_registration_handle_t handle;
typedef struct mca_btl_base_component_3_0_0_t component;

/* Constants. */
ASSERT_VALUE(MCA_BTL_NO_ORDER, 255);
ASSERT_VALUE(MCA_BTL_AM_FRAMEWORK_MASK, 0xD0);
ASSERT_VALUE(MCA_BTL_TAG_BTL, 0x20);
ASSERT_VALUE(MCA_BTL_TAG_PML, 0x40);
ASSERT_VALUE(MCA_BTL_TAG_OSC_RDMA, 0x60);
ASSERT_VALUE(MCA_BTL_TAG_USR, 0x80);
ASSERT_VALUE(MCA_BTL_TAG_MAX, 255);
ASSERT_VALUE(MCA_BTL_TAG_IB, 0x20);
ASSERT_VALUE(MCA_BTL_TAG_UDAPL, 0x21);
ASSERT_VALUE(MCA_BTL_TAG_SMCUDA, 0x22);
ASSERT_VALUE(MCA_BTL_FLAGS_SEND, 0x0001);
ASSERT_VALUE(MCA_BTL_FLAGS_PUT, 0x0002);
ASSERT_VALUE(MCA_BTL_FLAGS_GET, 0x0004);
ASSERT_VALUE(MCA_BTL_FLAGS_RDMA, 0x0006);
ASSERT_VALUE(MCA_BTL_FLAGS_SEND_INPLACE, 0x0008);
ASSERT_VALUE(MCA_BTL_FLAGS_NEED_ACK, 0x0010);
ASSERT_VALUE(MCA_BTL_FLAGS_NEED_CSUM, 0x0020);
ASSERT_VALUE(MCA_BTL_FLAGS_RDMA_MATCHED, 0x0040);
ASSERT_VALUE(MCA_BTL_FLAGS_RDMA_COMPLETION, 0x0080);
ASSERT_VALUE(MCA_BTL_FLAGS_HETEROGENEOUS_RDMA, 0x0100);
ASSERT_VALUE(MCA_BTL_FLAGS_FAILOVER_SUPPORT, 0x0200);
ASSERT_VALUE(MCA_BTL_FLAGS_CUDA_PUT, 0x0400);
ASSERT_VALUE(MCA_BTL_FLAGS_CUDA_GET, 0x0800);
ASSERT_VALUE(MCA_BTL_FLAGS_CUDA_RDMA, 0x0c00);
ASSERT_VALUE(MCA_BTL_FLAGS_CUDA_COPY_ASYNC_SEND, 0x1000);
ASSERT_VALUE(MCA_BTL_FLAGS_CUDA_COPY_ASYNC_RECV, 0x2000);
ASSERT_VALUE(MCA_BTL_FLAGS_SIGNALED, 0x4000);
ASSERT_VALUE(MCA_BTL_FLAGS_ATOMIC_OPS, 0x08000);
ASSERT_VALUE(MCA_BTL_FLAGS_ATOMIC_FOPS, 0x10000);
ASSERT_VALUE(MCA_BTL_EXCLUSIVITY_HIGH, 65536);
ASSERT_VALUE(MCA_BTL_EXCLUSIVITY_DEFAULT, 1024);
ASSERT_VALUE(MCA_BTL_EXCLUSIVITY_LOW, 0);
ASSERT_VALUE(MCA_BTL_ERROR_FLAGS_FATAL, 0x1);
ASSERT_VALUE(MCA_BTL_ERROR_FLAGS_NONFATAL, 0x2);
ASSERT_VALUE(MCA_BTL_ERROR_FLAGS_ADD_CUDA_IPC, 0x4);
ASSERT_VALUE(MCA_BTL_REG_FLAG_LOCAL_WRITE, 1);
ASSERT_VALUE(MCA_BTL_REG_FLAG_REMOTE_READ, 2);
ASSERT_VALUE(MCA_BTL_REG_FLAG_REMOTE_WRITE, 4);
ASSERT_VALUE(MCA_BTL_REG_FLAG_REMOTE_ATOMIC, 8);
ASSERT_VALUE(MCA_BTL_REG_FLAG_ACCESS_ANY, 15);
ASSERT_VALUE(MCA_BTL_ATOMIC_SUPPORTS_ADD, 0x00000001);
ASSERT_VALUE(MCA_BTL_ATOMIC_SUPPORTS_AND, 0x00000200);
ASSERT_VALUE(MCA_BTL_ATOMIC_SUPPORTS_OR, 0x00000400);
ASSERT_VALUE(MCA_BTL_ATOMIC_SUPPORTS_XOR, 0x00000800);
ASSERT_VALUE(MCA_BTL_ATOMIC_SUPPORTS_CSWAP, 0x10000000);
ASSERT_VALUE(MCA_BTL_ATOMIC_SUPPORTS_GLOB, 0x20000000);
ASSERT_VALUE(MCA_BTL_ATOMIC_ADD, 0x0001);
ASSERT_VALUE(MCA_BTL_ATOMIC_AND, 0x0011);
ASSERT_VALUE(MCA_BTL_ATOMIC_OR, 0x0012);
ASSERT_VALUE(MCA_BTL_ATOMIC_XOR, 0x0014);
ASSERT_VALUE(MCA_BTL_DES_FLAGS_PRIORITY, 0x0001);
ASSERT_VALUE(MCA_BTL_DES_FLAGS_BTL_OWNERSHIP, 0x0002);
ASSERT_VALUE(MCA_BTL_DES_SEND_ALWAYS_CALLBACK, 0x0004);
ASSERT_VALUE(MCA_BTL_DES_FLAGS_CUDA_COPY_ASYNC, 0x0008);
ASSERT_VALUE(MCA_BTL_DES_FLAGS_PUT, 0x0010);
ASSERT_VALUE(MCA_BTL_DES_FLAGS_GET, 0x0020);
ASSERT_VALUE(MCA_BTL_DES_FLAGS_SIGNAL, 0x0040);
ASSERT_VALUE(MCA_BTL_DES_MAX_SEGMENTS, 16);
ASSERT_VALUE(MCA_BTL_SEG_MAX_SIZE, 256);
ASSERT_VALUE(MCA_BTL_REG_HANDLE_MAX_SIZE, 256);
ASSERT_TYPE(MCA_BTL_ENDPOINT_ANY, endpoint *);

/* Types of data. */
ASSERT_TYPE((mca_btl_base_tag_t) 0, uint8_t);
ASSERT_TYPE((mca_btl_base_atomic_op_t) 0, enum mca_btl_base_atomic_op_t);

ASSERT_MEMBER(mca_btl_base_segment_t, seg_addr, opal_ptr_t);
ASSERT_MEMBER(mca_btl_base_segment_t, seg_len, uint64_t);
ASSERT_FIRST(mca_btl_base_segment_t, seg_addr);
ASSERT_VALUE(offsetof(mca_btl_base_segment_t, seg_len), 8);
ASSERT_VALUE(sizeof(mca_btl_base_segment_t), 16);
ASSERT_VALUE(sizeof(opal_ptr_t), 8);
ASSERT_MEMBER(opal_ptr_t, lval, uint64_t);
ASSERT_MEMBER(opal_ptr_t, ival, uint32_t);
ASSERT_MEMBER(opal_ptr_t, pval, void *);
ASSERT_MEMBER(opal_ptr_t, sval.uval, uint32_t);
ASSERT_MEMBER(opal_ptr_t, sval.lval, uint32_t);

ASSERT_FIRST(descriptor, super);
ASSERT_MEMBER(descriptor, super, ompi_free_list_item_t);
ASSERT_MEMBER(descriptor, des_segments, mca_btl_base_segment_t *);
ASSERT_MEMBER(descriptor, des_segment_count, size_t);
ASSERT_MEMBER(descriptor, des_cbfunc, mca_btl_base_completion_fn_t);
ASSERT_MEMBER(descriptor, des_cbdata, void *);
ASSERT_MEMBER(descriptor, des_context, void *);
ASSERT_MEMBER(descriptor, des_flags, uint32_t);
ASSERT_MEMBER(descriptor, order, uint8_t);
ASSERT_AFTER(descriptor, super, des_segments);
ASSERT_AFTER(descriptor, des_segments, des_segment_count);
ASSERT_AFTER(descriptor, des_segment_count, des_cbfunc);
ASSERT_AFTER(descriptor, des_cbfunc, des_cbdata);
ASSERT_AFTER(descriptor, des_cbdata, des_context);
ASSERT_AFTER(descriptor, des_context, des_flags);
ASSERT_AFTER(descriptor, des_flags, order);
ASSERT_TYPE((mca_btl_base_descriptor_t *) NULL, descriptor *);

ASSERT_FIRST(mca_btl_base_header_t, tag);
ASSERT_MEMBER(mca_btl_base_header_t, tag, mca_btl_base_tag_t);
ASSERT_VALUE(sizeof(mca_btl_base_header_t), 1);

ASSERT_FIRST(mca_btl_active_message_callback_t, cbfunc);
ASSERT_MEMBER(mca_btl_active_message_callback_t, cbfunc, mca_btl_base_module_recv_cb_fn_t);
ASSERT_MEMBER(mca_btl_active_message_callback_t, cbdata, void *);
ASSERT_TYPE(mca_btl_base_active_message_trigger[0], mca_btl_active_message_callback_t);
ASSERT_VALUE(sizeof(mca_btl_base_active_message_trigger),
             (MCA_BTL_TAG_MAX + 1) * sizeof(mca_btl_active_message_callback_t));

ASSERT_FIRST(component, btl_version);
ASSERT_MEMBER(component, btl_version, mca_base_component_t);
ASSERT_MEMBER(component, btl_data, mca_base_component_data_t);
ASSERT_MEMBER(component, btl_init, mca_btl_base_component_init_fn_t);
ASSERT_MEMBER(component, btl_progress, mca_btl_base_component_progress_fn_t);
ASSERT_AFTER(component, btl_version, btl_data);
ASSERT_AFTER(component, btl_data, btl_init);
ASSERT_AFTER(component, btl_init, btl_progress);
ASSERT_TYPE((mca_btl_base_component_t *) NULL, component *);
ASSERT_TYPE((mca_btl_base_component_2_0_0_t *) NULL, component *);

/* Types of functions. */
ASSERT_TYPE((mca_btl_base_completion_fn_t) 0, void (*)(module *, endpoint *, descriptor *, int));
ASSERT_TYPE((mca_btl_base_rdma_completion_fn_t) 0,
            void (*)(module *, endpoint *, void *, handle *, void *, void *, int));
ASSERT_TYPE((mca_btl_base_component_init_fn_t) 0, module **(*) (int *, bool, bool) );
ASSERT_TYPE((mca_btl_base_component_progress_fn_t) 0, int (*)(void));
ASSERT_TYPE((mca_btl_base_module_recv_cb_fn_t) 0,
            void (*)(module *, uint8_t, descriptor *, void *));
ASSERT_TYPE((mca_btl_base_module_finalize_fn_t) 0, int (*)(module *));
ASSERT_TYPE((mca_btl_base_module_add_procs_fn_t) 0,
            int (*)(module *, size_t, struct opal_proc_t **, endpoint **, struct opal_bitmap_t *));
ASSERT_TYPE((mca_btl_base_module_del_procs_fn_t) 0,
            int (*)(module *, size_t, struct opal_proc_t **, endpoint **));
ASSERT_TYPE((mca_btl_base_module_register_fn_t) 0,
            int (*)(module *, uint8_t, mca_btl_base_module_recv_cb_fn_t, void *));
ASSERT_TYPE((mca_btl_base_module_error_cb_fn_t) 0,
            void (*)(module *, int32_t, struct opal_proc_t *, char *));
ASSERT_TYPE((mca_btl_base_module_register_error_fn_t) 0,
            int (*)(module *, mca_btl_base_module_error_cb_fn_t));
ASSERT_TYPE((mca_btl_base_module_alloc_fn_t) 0,
            descriptor *(*) (module *, endpoint *, uint8_t, size_t, uint32_t));
ASSERT_TYPE((mca_btl_base_module_free_fn_t) 0, int (*)(module *, descriptor *));
ASSERT_TYPE((mca_btl_base_module_prepare_fn_t) 0,
            descriptor *(*) (module *, endpoint *, struct opal_convertor_t *, uint8_t, size_t,
                             size_t *, uint32_t));
ASSERT_TYPE((mca_btl_base_module_register_mem_fn_t) 0,
            handle *(*) (module *, endpoint *, void *, size_t, uint32_t));
ASSERT_TYPE((mca_btl_base_module_deregister_mem_fn_t) 0, int (*)(module *, handle *));
ASSERT_TYPE((mca_btl_base_module_send_fn_t) 0,
            int (*)(module *, endpoint *, descriptor *, uint8_t));
ASSERT_TYPE((mca_btl_base_module_sendi_fn_t) 0,
            int (*)(module *, endpoint *, struct opal_convertor_t *, void *, size_t, size_t,
                    uint8_t, uint32_t, uint8_t, descriptor **));
ASSERT_TYPE((mca_btl_base_module_put_fn_t) 0,
            int (*)(module *, endpoint *, void *, uint64_t, handle *, handle *, size_t, int, int,
                    mca_btl_base_rdma_completion_fn_t, void *, void *));
ASSERT_TYPE((mca_btl_base_module_get_fn_t) 0,
            int (*)(module *, endpoint *, void *, uint64_t, handle *, handle *, size_t, int, int,
                    mca_btl_base_rdma_completion_fn_t, void *, void *));
ASSERT_TYPE((mca_btl_base_module_atomic_op64_fn_t) 0,
            int (*)(module *, endpoint *, uint64_t, handle *, mca_btl_base_atomic_op_t, uint64_t,
                    int, int, mca_btl_base_rdma_completion_fn_t, void *, void *));
ASSERT_TYPE((mca_btl_base_module_atomic_fop64_fn_t) 0,
            int (*)(module *, endpoint *, void *, uint64_t, handle *, handle *,
                    mca_btl_base_atomic_op_t, uint64_t, int, int, mca_btl_base_rdma_completion_fn_t,
                    void *, void *));
ASSERT_TYPE((mca_btl_base_module_atomic_cswap64_fn_t) 0,
            int (*)(module *, endpoint *, void *, uint64_t, handle *, handle *, uint64_t, uint64_t,
                    int, int, mca_btl_base_rdma_completion_fn_t, void *, void *));
ASSERT_TYPE((mca_btl_base_module_dump_fn_t) 0, void (*)(module *, endpoint *, int));
ASSERT_TYPE((mca_btl_base_module_ft_event_fn_t) 0, int (*)(int));

/* The module's table. */
#define ASSERT_NEXT(before, member, ...)        \
    ASSERT_MEMBER(module, member, __VA_ARGS__); \
    ASSERT_AFTER(module, before, member)
ASSERT_FIRST(module, btl_component);
ASSERT_MEMBER(module, btl_component, mca_btl_base_component_t *);
ASSERT_NEXT(btl_component, btl_eager_limit, size_t);
ASSERT_NEXT(btl_eager_limit, btl_rndv_eager_limit, size_t);
ASSERT_NEXT(btl_rndv_eager_limit, btl_max_send_size, size_t);
ASSERT_NEXT(btl_max_send_size, btl_rdma_pipeline_send_length, size_t);
ASSERT_NEXT(btl_rdma_pipeline_send_length, btl_rdma_pipeline_frag_size, size_t);
ASSERT_NEXT(btl_rdma_pipeline_frag_size, btl_min_rdma_pipeline_size, size_t);
ASSERT_NEXT(btl_min_rdma_pipeline_size, btl_exclusivity, uint32_t);
ASSERT_NEXT(btl_exclusivity, btl_latency, uint32_t);
ASSERT_NEXT(btl_latency, btl_bandwidth, uint32_t);
ASSERT_NEXT(btl_bandwidth, btl_flags, uint32_t);
ASSERT_NEXT(btl_flags, btl_atomic_flags, uint32_t);
ASSERT_NEXT(btl_atomic_flags, btl_registration_handle_size, size_t);
ASSERT_NEXT(btl_registration_handle_size, btl_get_limit, size_t);
ASSERT_NEXT(btl_get_limit, btl_get_alignment, size_t);
ASSERT_NEXT(btl_get_alignment, btl_put_limit, size_t);
ASSERT_NEXT(btl_put_limit, btl_put_alignment, size_t);
ASSERT_NEXT(btl_put_alignment, btl_add_procs, mca_btl_base_module_add_procs_fn_t);
ASSERT_NEXT(btl_add_procs, btl_del_procs, mca_btl_base_module_del_procs_fn_t);
ASSERT_NEXT(btl_del_procs, btl_register, mca_btl_base_module_register_fn_t);
ASSERT_NEXT(btl_register, btl_finalize, mca_btl_base_module_finalize_fn_t);
ASSERT_NEXT(btl_finalize, btl_alloc, mca_btl_base_module_alloc_fn_t);
ASSERT_NEXT(btl_alloc, btl_free, mca_btl_base_module_free_fn_t);
ASSERT_NEXT(btl_free, btl_prepare_src, mca_btl_base_module_prepare_fn_t);
ASSERT_NEXT(btl_prepare_src, btl_send, mca_btl_base_module_send_fn_t);
ASSERT_NEXT(btl_send, btl_sendi, mca_btl_base_module_sendi_fn_t);
ASSERT_NEXT(btl_sendi, btl_put, mca_btl_base_module_put_fn_t);
ASSERT_NEXT(btl_put, btl_get, mca_btl_base_module_get_fn_t);
ASSERT_NEXT(btl_get, btl_dump, mca_btl_base_module_dump_fn_t);
ASSERT_NEXT(btl_dump, btl_atomic_op, mca_btl_base_module_atomic_op64_fn_t);
ASSERT_NEXT(btl_atomic_op, btl_atomic_fop, mca_btl_base_module_atomic_fop64_fn_t);
ASSERT_NEXT(btl_atomic_fop, btl_atomic_cswap, mca_btl_base_module_atomic_cswap64_fn_t);
ASSERT_NEXT(btl_atomic_cswap, btl_register_mem, mca_btl_base_module_register_mem_fn_t);
ASSERT_NEXT(btl_register_mem, btl_deregister_mem, mca_btl_base_module_deregister_mem_fn_t);
ASSERT_NEXT(btl_deregister_mem, btl_mpool, mca_mpool_base_module_t *);
ASSERT_NEXT(btl_mpool, btl_register_error, mca_btl_base_module_register_error_fn_t);
ASSERT_NEXT(btl_register_error, btl_ft_event, mca_btl_base_module_ft_event_fn_t);
/* And nothing more: a pointer, 6 sizes, 5 words and their padding, 5 sizes, 20 pointers. */
ASSERT_VALUE(sizeof(module), 8 + 6 * 8 + 6 * 4 + 5 * 8 + 20 * 8);

START_TEST(versions_are_btl_3)
{
    const mca_base_component_t version = {MCA_BTL_DEFAULT_VERSION("name")};
    ck_assert_int_eq(version.mca_major_version, 2);
    ck_assert_int_eq(version.mca_minor_version, 0);
    ck_assert_int_eq(version.mca_release_version, 0);
    ck_assert_str_eq(version.mca_type_name, "btl");
    ck_assert_int_eq(version.mca_type_major_version, 3);
    ck_assert_int_eq(version.mca_type_minor_version, 0);
    ck_assert_int_eq(version.mca_type_release_version, 0);
    ck_assert_str_eq(version.mca_component_name, "name");
}
END_TEST

START_TEST(any_endpoint_is_minus_one)
{
    ck_assert_int_eq((intptr_t) MCA_BTL_ENDPOINT_ANY, -1);
}
END_TEST

UNIT_MAIN("seed-btl")
