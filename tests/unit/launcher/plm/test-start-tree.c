/* Who starts whom: nobody is further away than two agents, and nobody starts many. */
#include <config.h>

#include <launcher/plm/start_tree.h>
#include <tests/lib/unit.h>

START_TEST(test_threshold)
{
    ck_assert_uint_eq(start_tree_block(31, 32), 1);
    ck_assert_uint_gt(start_tree_block(32, 32), 1);
    ck_assert_uint_eq(start_tree_block(65535, 0), 1);
    ck_assert_uint_eq(start_tree_block(1, 1), 1);
    ck_assert_uint_eq(start_tree_block(65535, 1), 256);
}
END_TEST

START_TEST(test_every_daemon_has_a_starter)
{
    for (uint32_t daemons = 1; daemons <= 300; daemons++) {
        uint32_t block = start_tree_block(daemons, 1), heads = 0, others = 0;
        for (uint32_t vpid = 1; vpid <= daemons; vpid++) {
            uint32_t head = start_tree_head(block, vpid);
            ck_assert_uint_ge(head, 1);
            ck_assert_uint_le(head, vpid);
            ck_assert_uint_eq(start_tree_head(block, head), head); /* depth 2 */
            others = head == vpid ? 0 : others + 1;
            heads += head == vpid;
            ck_assert_uint_lt(others, block);
        }
        ck_assert_uint_le(heads, block);
        ck_assert_uint_lt((uint64_t) (block - 1) * (block - 1), daemons);
    }
}
END_TEST

START_TEST(test_flat)
{
    for (uint32_t vpid = 1; vpid < 100; vpid++) {
        ck_assert_uint_eq(start_tree_head(1, vpid), vpid);
    }
}
END_TEST

UNIT_MAIN("start_tree")
