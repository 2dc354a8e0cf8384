/* Atomic operations on 8 bytes of this process's memory, as a peer asked for them. They are the
 * processor's own, so the process may mix them with its. */
#ifndef BTL_ATOMIC_H
#define BTL_ATOMIC_H

#include <keel/btl.h>

#define ATOMIC_BYTES 8
/* Beside the values of mca_btl_base_atomic_op_t: compare with operand, and if equal set value. */
#define ATOMIC_CSWAP 0x0100u
/* What a module that serves all of them advertises. */
#define ATOMIC_ALL_FLAGS                                                                      \
    (MCA_BTL_ATOMIC_SUPPORTS_ADD | MCA_BTL_ATOMIC_SUPPORTS_AND | MCA_BTL_ATOMIC_SUPPORTS_OR | \
     MCA_BTL_ATOMIC_SUPPORTS_XOR | MCA_BTL_ATOMIC_SUPPORTS_CSWAP | MCA_BTL_ATOMIC_SUPPORTS_GLOB)

struct atomic {
    uint32_t op; /* mca_btl_base_atomic_op_t or ATOMIC_CSWAP */
    uint64_t operand;
    uint64_t value; /* of ATOMIC_CSWAP; else 0 */
};

/* Whether a caller of btl_atomic_op and btl_atomic_fop may name it. */
bool atomic_is_known(mca_btl_base_atomic_op_t op);
/* Whether there is such an operation, and the address is aligned. */
bool atomic_is_valid(const struct atomic *atomic, uint64_t address);
/* Applies a valid one, ordered against all others; returns what was there before. */
uint64_t atomic_apply(void *address, const struct atomic *atomic);

#endif
