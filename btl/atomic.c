#include <config.h>

#include <btl/atomic.h>

bool atomic_is_known(mca_btl_base_atomic_op_t op)
{
    switch (op) {
    case MCA_BTL_ATOMIC_ADD:
    case MCA_BTL_ATOMIC_AND:
    case MCA_BTL_ATOMIC_OR:
    case MCA_BTL_ATOMIC_XOR:
        return true;
    default:
        return false;
    }
}

bool atomic_is_valid(const struct atomic *atomic, uint64_t address)
{
    return (atomic->op == ATOMIC_CSWAP || atomic_is_known(atomic->op)) &&
           address % ATOMIC_BYTES == 0;
}

uint64_t atomic_apply(void *address, const struct atomic *atomic)
{
    uint64_t *word = address;
    uint64_t before = atomic->operand;
    switch (atomic->op) {
    case MCA_BTL_ATOMIC_ADD:
        return __atomic_fetch_add(word, atomic->operand, __ATOMIC_SEQ_CST);
    case MCA_BTL_ATOMIC_AND:
        return __atomic_fetch_and(word, atomic->operand, __ATOMIC_SEQ_CST);
    case MCA_BTL_ATOMIC_OR:
        return __atomic_fetch_or(word, atomic->operand, __ATOMIC_SEQ_CST);
    case MCA_BTL_ATOMIC_XOR:
        return __atomic_fetch_xor(word, atomic->operand, __ATOMIC_SEQ_CST);
    default:
        __atomic_compare_exchange_n(word, &before, atomic->value, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
        return before;
    }
}
