/* Atomic operations on 4 or 8 bytes of this process's memory, as a peer asked for them. They are
 * the processor's own, so the process may mix them with its. */
#ifndef BTL_ATOMIC_H
#define BTL_ATOMIC_H

#include <keel/btl_ext.h>

#define ATOMIC_MAX_BYTES 8
/* Beside the operations of keel/btl.h and keel/btl_ext.h: compare with operand, and if equal set
 * value. */
#define ATOMIC_CSWAP 0x0100u
/* What a module that serves all of them advertises: in its table, and in its extension beside
 * that. */
#define ATOMIC_ALL_FLAGS                                                                      \
    (MCA_BTL_ATOMIC_SUPPORTS_ADD | MCA_BTL_ATOMIC_SUPPORTS_AND | MCA_BTL_ATOMIC_SUPPORTS_OR | \
     MCA_BTL_ATOMIC_SUPPORTS_XOR | MCA_BTL_ATOMIC_SUPPORTS_CSWAP | MCA_BTL_ATOMIC_SUPPORTS_GLOB)
#define ATOMIC_ALL_EXT_FLAGS                                                                    \
    (MCA_BTL_ATOMIC_SUPPORTS_SWAP | MCA_BTL_ATOMIC_SUPPORTS_MIN | MCA_BTL_ATOMIC_SUPPORTS_MAX | \
     MCA_BTL_ATOMIC_SUPPORTS_32BIT)

struct atomic {
    uint32_t op; /* mca_btl_base_atomic_op_t or ATOMIC_CSWAP */
    uint64_t operand;
    uint64_t value; /* of ATOMIC_CSWAP; else 0 */
};

/* The bytes that an operation with these flags works on. */
static inline size_t atomic_bytes(int flags)
{
    return flags & MCA_BTL_ATOMIC_FLAG_32BIT ? sizeof(uint32_t) : sizeof(uint64_t);
}

/* The bit of the flags that advertise it; 0: there is no such operation. */
uint32_t atomic_support(uint32_t op);
/* Whether a caller of btl_atomic_op and btl_atomic_fop may name it. */
bool atomic_is_known(uint32_t op);
/* Whether there is such an operation on so many bytes, and the address is aligned. */
bool atomic_is_valid(const struct atomic *atomic, uint64_t address, uint64_t size);
/* Applies a valid one, ordered against all others; returns what was there before. Of 4 bytes the
 * low halves of operand and value count. */
uint64_t atomic_apply(void *address, const struct atomic *atomic, size_t size);
/* Writes a number as one of size bytes, at any alignment. */
void atomic_put(void *to, uint64_t number, size_t size);

#endif
