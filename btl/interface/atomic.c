#include <config.h>

#include <btl/interface/atomic.h>
#include <string.h>

uint32_t atomic_support(uint32_t op)
{
    switch (op) {
    case MCA_BTL_ATOMIC_ADD:
        return MCA_BTL_ATOMIC_SUPPORTS_ADD;
    case MCA_BTL_ATOMIC_AND:
        return MCA_BTL_ATOMIC_SUPPORTS_AND;
    case MCA_BTL_ATOMIC_OR:
        return MCA_BTL_ATOMIC_SUPPORTS_OR;
    case MCA_BTL_ATOMIC_XOR:
        return MCA_BTL_ATOMIC_SUPPORTS_XOR;
    case MCA_BTL_ATOMIC_SWAP:
        return MCA_BTL_ATOMIC_SUPPORTS_SWAP;
    case MCA_BTL_ATOMIC_MIN:
        return MCA_BTL_ATOMIC_SUPPORTS_MIN;
    case MCA_BTL_ATOMIC_MAX:
        return MCA_BTL_ATOMIC_SUPPORTS_MAX;
    case ATOMIC_CSWAP:
        return MCA_BTL_ATOMIC_SUPPORTS_CSWAP;
    default:
        return 0;
    }
}

bool atomic_is_known(uint32_t op)
{
    return op != ATOMIC_CSWAP && atomic_support(op) != 0;
}

bool atomic_is_valid(const struct atomic *atomic, uint64_t address, uint64_t size)
{
    return atomic_support(atomic->op) != 0 &&
           (size == sizeof(uint32_t) || size == sizeof(uint64_t)) && address % size == 0;
}

/* What is there after the operation. */
static uint64_t outcome(const struct atomic *atomic, int64_t found, int64_t operand)
{
    switch (atomic->op) {
    case MCA_BTL_ATOMIC_ADD:
        return (uint64_t) found + (uint64_t) operand;
    case MCA_BTL_ATOMIC_AND:
        return (uint64_t) (found & operand);
    case MCA_BTL_ATOMIC_OR:
        return (uint64_t) (found | operand);
    case MCA_BTL_ATOMIC_XOR:
        return (uint64_t) (found ^ operand);
    case MCA_BTL_ATOMIC_SWAP:
        return (uint64_t) operand;
    case MCA_BTL_ATOMIC_MIN:
        return (uint64_t) (found < operand ? found : operand);
    case MCA_BTL_ATOMIC_MAX:
        return (uint64_t) (found > operand ? found : operand);
    default:
        return found == operand ? atomic->value : (uint64_t) found;
    }
}

static uint32_t apply32(uint32_t *word, const struct atomic *atomic)
{
    uint32_t found = __atomic_load_n(word, __ATOMIC_RELAXED);
    int32_t operand = (int32_t) (uint32_t) atomic->operand;
    while (!__atomic_compare_exchange_n(word, &found,
                                        (uint32_t) outcome(atomic, (int32_t) found, operand), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
    return found;
}

static uint64_t apply64(uint64_t *word, const struct atomic *atomic)
{
    uint64_t found = __atomic_load_n(word, __ATOMIC_RELAXED);
    int64_t operand = (int64_t) atomic->operand;
    while (!__atomic_compare_exchange_n(word, &found, outcome(atomic, (int64_t) found, operand),
                                        false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
    return found;
}

uint64_t atomic_apply(void *address, const struct atomic *atomic, size_t size)
{
    return size == sizeof(uint32_t) ? apply32(address, atomic) : apply64(address, atomic);
}

void atomic_put(void *to, uint64_t number, size_t size)
{
    uint32_t narrow = (uint32_t) number;
    memcpy(to, size == sizeof(narrow) ? (const void *) &narrow : (const void *) &number, size);
}
