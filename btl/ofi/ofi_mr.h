/* Memory that the provider has registered. */
#ifndef BTL_OFI_MR_H
#define BTL_OFI_MR_H

#include <btl/ofi/ofi_fabric.h>

/* A registration. It stays as long as an operation uses it, also when its region is gone. */
struct ofi_mr {
    struct fid_mr *mr;
    unsigned users;
};

/* With one user. NULL: the provider cannot, or no memory. */
struct ofi_mr *ofi_mr_open(struct ofi_fabric *fabric, const void *base, size_t size,
                           uint64_t access, uint64_t key);
struct ofi_mr *ofi_mr_hold(struct ofi_mr *mr);
/* NULL is nobody's. */
void ofi_mr_release(struct ofi_mr *mr);

#endif
