/* ptl.h against the interface that it declares, PTL 1.0: types, order of members, values. Nearly
 * all of this test happens in the compiler.
 */
#include <tests/lib/unit.h>
#include <tests/unit/base/seed.h>

#include <keel/ptl.h>

#define ASSERT_MEMBER(type, member, ...) ASSERT_TYPE(((type *) NULL)->member, __VA_ARGS__)
#define ASSERT_FIRST(type, member, ...)                   \
    _Static_assert(offsetof(type, member) == 0, #member); \
    ASSERT_MEMBER(type, member, __VA_ARGS__)
#define ASSERT_NEXT(type, before, member, ...)                                \
    _Static_assert(offsetof(type, before) < offsetof(type, member), #member); \
    ASSERT_MEMBER(type, member, __VA_ARGS__)

typedef struct mca_ptl_base_module_t module;
typedef struct mca_ptl_base_peer_t peer;
typedef struct mca_ptl_base_send_request_t send_request;
typedef struct mca_ptl_base_recv_request_t recv_request;
typedef struct mca_ptl_base_recv_frag_t recv_frag;
typedef struct mca_ptl_base_component_1_0_0_t component;

/* Constants and types of data. */
ASSERT_VALUE(MCA_PTL_ENABLE, 0);
ASSERT_VALUE(MCA_PTL_PUT, 1);
ASSERT_VALUE(MCA_PTL_GET, 2);
ASSERT_VALUE((mca_ptl_control_t) MCA_PTL_ENABLE, 0);
ASSERT_TYPE((mca_ptl_sequence_t) 0, uint64_t);
ASSERT_TYPE((mca_ptl_tstamp_t) 0, uint64_t);
ASSERT_TYPE((mca_ptl_queue_t *) NULL, struct opal_list_t *);
ASSERT_TYPE((mca_ptl_base_module_t *) NULL, module *);
ASSERT_TYPE((mca_ptl_base_component_t *) NULL, component *);
ASSERT_TYPE((mca_ptl_base_component_1_0_0_t *) NULL, component *);
/* Types that are named only. */
ASSERT_TYPE((struct mca_ptl_base_fragment_t *) NULL, mca_ptl_base_fragment_t *);
ASSERT_TYPE((struct mca_ptl_base_send_frag_t *) NULL, mca_ptl_base_send_frag_t *);

/* Types of functions. */
ASSERT_TYPE((mca_ptl_base_component_init_fn_t) 0, module **(*) (int *, bool, bool) );
ASSERT_TYPE((mca_ptl_base_component_control_fn_t) 0, int (*)(int, void *, size_t));
ASSERT_TYPE((mca_ptl_base_component_progress_fn_t) 0, int (*)(mca_ptl_tstamp_t));
ASSERT_TYPE((mca_ptl_base_module_finalize_fn_t) 0, int (*)(module *));
ASSERT_TYPE((mca_ptl_base_module_add_procs_fn_t) 0,
            int (*)(module *, size_t, struct ompi_proc_t **, peer **, struct ompi_bitmap_t *));
ASSERT_TYPE((mca_ptl_base_module_del_procs_fn_t) 0,
            int (*)(module *, size_t, struct ompi_proc_t **, peer **));
ASSERT_TYPE((mca_ptl_base_module_request_init_fn_t) 0, int (*)(module *, send_request *));
ASSERT_TYPE((mca_ptl_base_module_request_fini_fn_t) 0, void (*)(module *, send_request *));
ASSERT_TYPE((mca_ptl_base_module_send_fn_t) 0,
            int (*)(module *, peer *, send_request *, size_t, size_t, int));
ASSERT_TYPE((mca_ptl_base_module_put_fn_t) 0,
            int (*)(module *, peer *, send_request *, size_t, size_t, int));
ASSERT_TYPE((mca_ptl_base_module_get_fn_t) 0,
            int (*)(module *, peer *, recv_request *, size_t, size_t, int));
ASSERT_TYPE((mca_ptl_base_module_match_fn_t) 0,
            bool (*)(module *, recv_frag *, struct mca_ptl_base_match_header_t *));
ASSERT_TYPE((mca_ptl_base_module_matched_fn_t) 0, void (*)(module *, recv_frag *));
ASSERT_TYPE((mca_ptl_base_module_recv_progress_fn_t) 0,
            void (*)(module *, recv_request *, size_t, size_t));
ASSERT_TYPE((mca_ptl_base_module_send_progress_fn_t) 0, void (*)(module *, send_request *, size_t));

/* The component's table. */
ASSERT_FIRST(component, ptlm_version, mca_base_component_t);
ASSERT_NEXT(component, ptlm_version, ptlm_data, mca_base_component_data_1_0_0_t);
ASSERT_NEXT(component, ptlm_data, ptlm_init, mca_ptl_base_component_init_fn_t);
ASSERT_NEXT(component, ptlm_init, ptlm_control, mca_ptl_base_component_control_fn_t);
ASSERT_NEXT(component, ptlm_control, ptlm_progress, mca_ptl_base_component_progress_fn_t);

/* The module's table. */
ASSERT_FIRST(module, ptl_component, mca_ptl_base_component_t *);
ASSERT_NEXT(module, ptl_component, ptl_cache_size, size_t);
ASSERT_NEXT(module, ptl_cache_size, ptl_cache_bytes, size_t);
ASSERT_NEXT(module, ptl_cache_bytes, ptl_first_frag_size, size_t);
ASSERT_NEXT(module, ptl_first_frag_size, ptl_min_frag_size, size_t);
ASSERT_NEXT(module, ptl_min_frag_size, ptl_max_frag_size, size_t);
ASSERT_NEXT(module, ptl_max_frag_size, ptl_exclusivity, uint32_t);
ASSERT_NEXT(module, ptl_exclusivity, ptl_latency, uint32_t);
ASSERT_NEXT(module, ptl_latency, ptl_bandwidth, uint32_t);
ASSERT_NEXT(module, ptl_bandwidth, ptl_flags, uint32_t);
ASSERT_NEXT(module, ptl_flags, ptl_add_procs, mca_ptl_base_module_add_procs_fn_t);
ASSERT_NEXT(module, ptl_add_procs, ptl_del_procs, mca_ptl_base_module_del_procs_fn_t);
ASSERT_NEXT(module, ptl_del_procs, ptl_finalize, mca_ptl_base_module_finalize_fn_t);
ASSERT_NEXT(module, ptl_finalize, ptl_send, mca_ptl_base_module_send_fn_t);
ASSERT_NEXT(module, ptl_send, ptl_put, mca_ptl_base_module_put_fn_t);
ASSERT_NEXT(module, ptl_put, ptl_get, mca_ptl_base_module_get_fn_t);
ASSERT_NEXT(module, ptl_get, ptl_matched, mca_ptl_base_module_matched_fn_t);
ASSERT_NEXT(module, ptl_matched, ptl_request_init, mca_ptl_base_module_request_init_fn_t);
ASSERT_NEXT(module, ptl_request_init, ptl_request_fini, mca_ptl_base_module_request_fini_fn_t);
ASSERT_NEXT(module, ptl_request_fini, ptl_match, mca_ptl_base_module_match_fn_t);
ASSERT_NEXT(module, ptl_match, ptl_send_progress, mca_ptl_base_module_send_progress_fn_t);
ASSERT_NEXT(module, ptl_send_progress, ptl_recv_progress, mca_ptl_base_module_recv_progress_fn_t);
ASSERT_NEXT(module, ptl_recv_progress, ptl_stack, struct mca_ptl_base_module_t *);
ASSERT_NEXT(module, ptl_stack, ptl_base, struct mca_pml_base_ptl_t *);
/* And nothing more: a pointer, 5 sizes, 4 words, 14 pointers. */
ASSERT_VALUE(sizeof(module), 8 + 5 * 8 + 4 * 4 + 14 * 8);

/* What the interface only names. */
ASSERT_FIRST(struct ompi_proc_t, super, opal_proc_t);
ASSERT_VALUE(sizeof(struct ompi_proc_t), sizeof(opal_proc_t));
ASSERT_FIRST(struct ompi_bitmap_t, super, opal_bitmap_t);
ASSERT_VALUE(sizeof(struct ompi_bitmap_t), sizeof(opal_bitmap_t));
ASSERT_VALUE(MCA_PTL_HDR_TYPE_MATCH, 1);
ASSERT_VALUE(MCA_PTL_HDR_TYPE_RNDV, 2);
ASSERT_VALUE(MCA_PTL_HDR_TYPE_FRAG, 3);
ASSERT_VALUE(MCA_PTL_HDR_TYPE_ACK, 4);
ASSERT_VALUE(MCA_PTL_FLAGS_ACK, 1);
ASSERT_VALUE(sizeof(mca_ptl_base_match_header_t), 32);

START_TEST(versions_are_ptl_1)
{
    const mca_base_component_t version = {MCA_PTL_BASE_VERSION_1_0_0, "name", 7, 8, 9};
    ck_assert_int_eq(version.mca_major_version, 1);
    ck_assert_int_eq(version.mca_minor_version, 0);
    ck_assert_int_eq(version.mca_release_version, 0);
    ck_assert_str_eq(version.mca_type_name, "ptl");
    ck_assert_int_eq(version.mca_type_major_version, 1);
    ck_assert_int_eq(version.mca_type_minor_version, 0);
    ck_assert_int_eq(version.mca_type_release_version, 0);
    ck_assert_str_eq(version.mca_component_name, "name");
    ck_assert_int_eq(version.mca_component_major_version, 7);
    ck_assert_int_eq(version.mca_component_minor_version, 8);
    ck_assert_int_eq(version.mca_component_release_version, 9);
}
END_TEST

UNIT_MAIN("seed-ptl")
