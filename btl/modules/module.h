/* What modules begin with, and functions for their tables (btl/modules/table.c,
 * btl/framework/stats.c). */
#ifndef BTL_MODULE_H
#define BTL_MODULE_H

#include <btl/memory/desc.h>
#include <btl/memory/region.h>
#include <stddef.h>

/* How the struct of a module begins whose table has the four functions that follow. */
struct btl_module {
    mca_btl_base_module_t super;
    struct desc_set descs;
    struct region_table *regions;
};
#define BTL_MODULE_BEGINS(type)                                                         \
    _Static_assert(offsetof(type, super) == 0 &&                                        \
                       offsetof(type, descs) == offsetof(struct btl_module, descs) &&   \
                       offsetof(type, regions) == offsetof(struct btl_module, regions), \
                   "as struct btl_module")

mca_btl_base_descriptor_t *btl_alloc(mca_btl_base_module_t *module,
                                     struct mca_btl_base_endpoint_t *endpoint, uint8_t order,
                                     size_t size, uint32_t flags);
/* Memory stays where it is where btl_flags say SEND_INPLACE. */
mca_btl_base_descriptor_t *btl_prepare_src(mca_btl_base_module_t *module,
                                           struct mca_btl_base_endpoint_t *endpoint,
                                           opal_convertor_t *convertor, uint8_t order,
                                           size_t reserve, size_t *size, uint32_t flags);
mca_btl_base_registration_handle_t *btl_register_mem(mca_btl_base_module_t *module,
                                                     struct mca_btl_base_endpoint_t *endpoint,
                                                     void *base, size_t size, uint32_t flags);
int btl_deregister_mem(mca_btl_base_module_t *module, mca_btl_base_registration_handle_t *handle);

/* Logs the module or the endpoint, by describe of its component, and their counters that are not 0;
 * verbose: a module's peers that are in use, too. */
void btl_dump(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint, int verbose);

/* What is the same in every module's table. */
#define BTL_MODULE_FLAGS \
    (MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_RDMA | MCA_BTL_FLAGS_ATOMIC_OPS | MCA_BTL_FLAGS_ATOMIC_FOPS)
#define BTL_MODULE_TABLE                                                                       \
    .btl_atomic_flags = ATOMIC_ALL_FLAGS,                                                      \
    .btl_registration_handle_size = sizeof(struct region_handle), .btl_get_limit = SIZE_MAX,   \
    .btl_put_limit = SIZE_MAX, .btl_add_procs = btl_add_procs, .btl_del_procs = btl_del_procs, \
    .btl_register = btl_register_tag, .btl_free = desc_btl_free, .btl_put = btl_put,           \
    .btl_get = btl_get, .btl_dump = btl_dump, .btl_atomic_op = btl_atomic_op,                  \
    .btl_atomic_fop = btl_atomic_fop, .btl_atomic_cswap = btl_atomic_cswap,                    \
    .btl_register_error = btl_register_error_fn

#endif
