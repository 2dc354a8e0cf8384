/* Memory that the provider has registered. */
#ifndef BTL_FABRIC_MR_H
#define BTL_FABRIC_MR_H

#include <btl/fabric/fabric.h>

/* A registration. It stays as long as an operation uses it, also when its region is gone. */
struct fabric_mr {
    struct fid_mr *mr;
    unsigned users;
};

/* With one user. NULL: the provider cannot, or no memory. */
struct fabric_mr *fabric_mr_open(struct fabric *fabric, const void *base, size_t size,
                                 uint64_t access, uint64_t key);
struct fabric_mr *fabric_mr_hold(struct fabric_mr *mr);
/* NULL is nobody's. */
void fabric_mr_release(struct fabric_mr *mr);

#endif
