/* Regions, put, get and atomics: over sends, checked at the target (btl/emulation/rdma_am.h), or
 * the provider's own (ofi_native.h). */
#ifndef BTL_OFI_RDMA_H
#define BTL_OFI_RDMA_H

#include <btl/ofi/ofi_peer.h>

mca_btl_base_registration_handle_t *ofi_register_mem(mca_btl_base_module_t *btl,
                                                     ofi_endpoint *endpoint, void *base,
                                                     size_t size, uint32_t flags);
int ofi_deregister_mem(mca_btl_base_module_t *btl, mca_btl_base_registration_handle_t *handle);
int ofi_rdma(mca_btl_base_module_t *btl, ofi_endpoint *endpoint, const struct rdma_call *call,
             bool put);
int ofi_atomic(mca_btl_base_module_t *btl, ofi_endpoint *endpoint, const struct atomic_call *call);

#endif
