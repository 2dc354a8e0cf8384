/* What daemons tell of processes: there and back, known bytes, and every cut. */
#include <config.h>

#include <launcher/pmix/pmix_module.h>
#include <string.h>
#include <tests/lib/unit.h>

static const struct pmix_state example = {
    .number = 0x01020304, .pid = 1234, .state = PMIX_PROC_STATE_TERM_NON_ZERO, .exit_code = -1};

START_TEST(known_bytes)
{
    static const uint8_t golden[] = {4,  3, 2, 1, 0xd2, 4,    0,    0,
                                     62, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};
    uint8_t bytes[64];
    ck_assert_uint_eq(pmix_state_put(NULL, &example), sizeof(golden));
    ck_assert_uint_eq(pmix_state_put(bytes, &example), sizeof(golden));
    ck_assert_int_eq(memcmp(bytes, golden, sizeof(golden)), 0);
}
END_TEST

START_TEST(there_and_back)
{
    uint8_t bytes[128];
    size_t size = 0;
    struct pmix_state state;
    for (uint32_t number = 0; number < 3; number++) {
        state = example;
        state.number = number;
        size += pmix_state_put(bytes + size, &state);
    }
    for (size_t cut = 0; cut <= size; cut++) {
        const uint8_t *at = bytes;
        size_t left = cut;
        uint32_t read = 0;
        while (pmix_state_next(&at, &left, &state)) {
            ck_assert_uint_eq(state.number, read++);
            ck_assert_int_eq(state.pid, example.pid);
            ck_assert_uint_eq(state.state, example.state);
            ck_assert_int_eq(state.exit_code, example.exit_code);
        }
        ck_assert_uint_eq(read, cut / (size / 3));
    }
}
END_TEST

UNIT_MAIN("pmix-states")
