/* Atomics on this process's memory, and the values that callers know them by. */
#include <btl/interface/atomic.h>
#include <tests/lib/unit.h>

/* Open MPI 4.1's. */
_Static_assert(MCA_BTL_ATOMIC_SWAP == 0x001a, "SWAP");
_Static_assert(MCA_BTL_ATOMIC_MIN == 0x0020, "MIN");
_Static_assert(MCA_BTL_ATOMIC_MAX == 0x0021, "MAX");
_Static_assert(MCA_BTL_ATOMIC_SUPPORTS_SWAP == 0x00010000, "SUPPORTS_SWAP");
_Static_assert(MCA_BTL_ATOMIC_SUPPORTS_MIN == 0x00100000, "SUPPORTS_MIN");
_Static_assert(MCA_BTL_ATOMIC_SUPPORTS_MAX == 0x00200000, "SUPPORTS_MAX");
_Static_assert(MCA_BTL_ATOMIC_SUPPORTS_32BIT == 0x01000000, "SUPPORTS_32BIT");
_Static_assert(MCA_BTL_ATOMIC_FLAG_32BIT == 0x00000001, "FLAG_32BIT");

START_TEST(only_the_bytes_asked_for_change)
{
    static const struct {
        struct atomic atomic;
        uint64_t start, wide, narrow; /* what 8 bytes become, and the low 4 alone */
    } cases[] = {
        {{MCA_BTL_ATOMIC_ADD, 1, 0}, 0xffffffff, 0x100000000, 0},
        {{MCA_BTL_ATOMIC_AND, 0xff, 0}, 0xaaaa0000abcd, 0xcd, 0xaaaa000000cd},
        {{MCA_BTL_ATOMIC_OR, 0x100000002, 0}, 1, 0x100000003, 3},
        {{MCA_BTL_ATOMIC_XOR, 0x100000003, 0}, 1, 0x100000002, 2},
        {{MCA_BTL_ATOMIC_SWAP, 0x500000006, 0}, 0x700000008, 0x500000006, 0x700000006},
        {{MCA_BTL_ATOMIC_MIN, 0x7fffffff, 0}, 0x80000000, 0x7fffffff, 0x80000000},
        {{MCA_BTL_ATOMIC_MAX, 0x7fffffff, 0}, 0x80000000, 0x80000000, 0x7fffffff},
        {{ATOMIC_CSWAP, 5, 6}, 0x100000005, 0x100000005, 0x100000006},
        {{ATOMIC_CSWAP, 0x100000005, 6}, 0x100000005, 6, 0x100000006},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint64_t word = cases[i].start, low;
        ck_assert_uint_eq(atomic_apply(&word, &cases[i].atomic, 8), cases[i].start);
        ck_assert_uint_eq(word, cases[i].wide);
        word = cases[i].start;
        low = atomic_apply(&word, &cases[i].atomic, 4);
        ck_assert_uint_eq(low, (uint32_t) cases[i].start);
        ck_assert_uint_eq(word, cases[i].narrow);
    }
}
END_TEST

START_TEST(what_cannot_be_is_told)
{
    struct atomic atomic = {MCA_BTL_ATOMIC_MAX, 1, 0};
    ck_assert(atomic_is_valid(&atomic, 8, 8) && atomic_is_valid(&atomic, 12, 4));
    ck_assert(!atomic_is_valid(&atomic, 12, 8) && !atomic_is_valid(&atomic, 2, 4));
    ck_assert(!atomic_is_valid(&atomic, 0, 0) && !atomic_is_valid(&atomic, 0, 16));
    atomic.op = ATOMIC_CSWAP;
    ck_assert(atomic_is_valid(&atomic, 8, 8) && !atomic_is_known(atomic.op));
    atomic.op = 0x15; /* a logical and, in Open MPI */
    ck_assert(!atomic_is_valid(&atomic, 8, 8) && !atomic_is_known(atomic.op));
}
END_TEST

UNIT_MAIN("atomic")
