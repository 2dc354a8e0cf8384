/* BTL 2.0 by its own names. Those that BTL 3.0 (keel/btl.h) has as well mean 2.0 from here on to
 * the end of the file: it cannot use BTL 3.0 beside it. Calls of keel/keel.h that give a 3.0
 * module, such as keel_rails, keep doing so. */
#ifndef KEEL_COMPAT_OMPI_BTL_H
#define KEEL_COMPAT_OMPI_BTL_H

#include <opal/class/opal_bitmap.h>
#include <opal/mca/crs/base/base.h>
#include <opal/mca/crs/crs.h>
#include <opal/mca/mca.h>
#include <opal/types.h>
#include <opal_config.h>

#include <keel/btl2.h>

/* 3.0 has the other macros with the same values. */
#define MCA_BTL_TAG_FT MCA_BTL2_TAG_FT
#define MCA_BTL_BASE_VERSION_2_0_0 MCA_BTL2_BASE_VERSION_2_0_0

#define mca_btl_base_module_t mca_btl2_base_module_t
#define mca_btl_base_endpoint_t mca_btl2_base_endpoint_t
#define mca_btl_base_descriptor_t mca_btl2_base_descriptor_t
#define mca_btl_base_descriptor_t_class mca_btl2_base_descriptor_t_class
#define mca_btl_base_segment_t mca_btl2_base_segment_t
#define mca_btl_base_header_t mca_btl2_base_header_t
#define mca_btl_base_tag_t mca_btl2_base_tag_t
#define mca_btl_base_completion_fn_t mca_btl2_base_completion_fn_t
#define mca_btl_base_component_init_fn_t mca_btl2_base_component_init_fn_t
#define mca_btl_base_component_progress_fn_t mca_btl2_base_component_progress_fn_t
#define mca_btl_base_module_recv_cb_fn_t mca_btl2_base_module_recv_cb_fn_t
#define mca_btl_active_message_callback_t mca_btl2_active_message_callback_t
#define mca_btl_base_active_message_trigger mca_btl2_base_active_message_trigger
#define mca_btl_base_component_2_0_0_t mca_btl2_base_component_2_0_0_t
#define mca_btl_base_component_t mca_btl2_base_component_t
#define mca_btl_base_component_1_0_1_t mca_btl2_base_component_1_0_1_t
#define mca_btl_base_component_1_0_0_t mca_btl2_base_component_1_0_0_t
#define mca_btl_base_module_finalize_fn_t mca_btl2_base_module_finalize_fn_t
#define mca_btl_base_module_add_procs_fn_t mca_btl2_base_module_add_procs_fn_t
#define mca_btl_base_module_del_procs_fn_t mca_btl2_base_module_del_procs_fn_t
#define mca_btl_base_module_register_fn_t mca_btl2_base_module_register_fn_t
#define mca_btl_base_module_error_cb_fn_t mca_btl2_base_module_error_cb_fn_t
#define mca_btl_base_module_register_error_fn_t mca_btl2_base_module_register_error_fn_t
#define mca_btl_base_module_alloc_fn_t mca_btl2_base_module_alloc_fn_t
#define mca_btl_base_module_free_fn_t mca_btl2_base_module_free_fn_t
#define mca_btl_base_module_prepare_fn_t mca_btl2_base_module_prepare_fn_t
#define mca_btl_base_module_send_fn_t mca_btl2_base_module_send_fn_t
#define mca_btl_base_module_sendi_fn_t mca_btl2_base_module_sendi_fn_t
#define mca_btl_base_module_put_fn_t mca_btl2_base_module_put_fn_t
#define mca_btl_base_module_get_fn_t mca_btl2_base_module_get_fn_t
#define mca_btl_base_module_dump_fn_t mca_btl2_base_module_dump_fn_t
#define mca_btl_base_module_ft_event_fn_t mca_btl2_base_module_ft_event_fn_t

#endif
