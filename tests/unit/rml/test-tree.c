#include <rml/interface/core.h>
#include <rml/tree/tree.h>
#include <stdint.h>
#include <tests/lib/unit.h>

enum { COUNT_MAX = 200 };

static const uint32_t radixes[] = {1, 2, 3, 64};

static void expect_children(uint32_t radix, uint32_t count, uint32_t vpid, const uint32_t *expected,
                            uint32_t expected_count)
{
    uint32_t found[COUNT_MAX];
    ck_assert_uint_eq(tree_children(radix, count, vpid, found, COUNT_MAX), expected_count);
    for (uint32_t i = 0; i < expected_count; i++) {
        ck_assert_uint_eq(found[i], expected[i]);
    }
}

/* While nobody is lost. */
static uint32_t towards(uint32_t radix, uint32_t me, uint32_t dest)
{
    struct rml_tree tree;
    rml_tree_init(&tree, radix, COUNT_MAX);
    return rml_tree_towards(&tree, me, dest);
}

/* Levels of radix 2: 0 | 1 2 | 3 4 5 6 | 7 ...; siblings lie a level's width apart. */
START_TEST(binary_tree_by_hand)
{
    expect_children(2, 13, 0, (uint32_t[]){1, 2}, 2);
    expect_children(2, 13, 1, (uint32_t[]){3, 5}, 2);
    expect_children(2, 13, 2, (uint32_t[]){4, 6}, 2);
    expect_children(2, 13, 3, (uint32_t[]){7, 11}, 2);
    expect_children(2, 13, 4, (uint32_t[]){8, 12}, 2);
    expect_children(2, 13, 5, (uint32_t[]){9}, 1);
    expect_children(2, 13, 6, (uint32_t[]){10}, 1);
    expect_children(2, 13, 7, NULL, 0);
    ck_assert_uint_eq(tree_parent(2, 0), UINT32_MAX);
    ck_assert_uint_eq(tree_parent(2, 12), 4);
    ck_assert_uint_eq(tree_parent(2, 9), 5);
    ck_assert_uint_eq(towards(2, 0, 12), 2);
    ck_assert_uint_eq(towards(2, 1, 12), UINT32_MAX);
    ck_assert_uint_eq(towards(2, 2, 12), 4);
}
END_TEST

START_TEST(ternary_tree_by_hand)
{
    expect_children(3, 16, 0, (uint32_t[]){1, 2, 3}, 3);
    expect_children(3, 16, 1, (uint32_t[]){4, 7, 10}, 3);
    expect_children(3, 16, 3, (uint32_t[]){6, 9, 12}, 3);
    expect_children(3, 16, 4, (uint32_t[]){13}, 1);
    expect_children(3, 16, 6, (uint32_t[]){15}, 1);
    ck_assert_uint_eq(tree_parent(3, 14), 5);
}
END_TEST

START_TEST(chain_and_star)
{
    expect_children(1, 3, 0, (uint32_t[]){1}, 1);
    expect_children(1, 3, 1, (uint32_t[]){2}, 1);
    expect_children(1, 3, 2, NULL, 0);
    ck_assert_uint_eq(towards(1, 0, 150), 1);
    ck_assert_uint_eq(towards(1, 150, 3), UINT32_MAX);
    ck_assert_uint_eq(tree_children(64, 65, 0, NULL, 0), 64);
    ck_assert_uint_eq(tree_children(64, 66, 1, NULL, 0), 1);
    ck_assert_uint_eq(tree_parent(64, 65), 1);
}
END_TEST

START_TEST(children_know_their_parent)
{
    for (size_t r = 0; r < 4; r++) {
        for (uint32_t count = 1; count <= COUNT_MAX; count++) {
            uint32_t below = 0;
            for (uint32_t vpid = 0; vpid < count; vpid++) {
                uint32_t children[COUNT_MAX];
                uint32_t found = tree_children(radixes[r], count, vpid, children, COUNT_MAX);
                below += found;
                for (uint32_t i = 0; i < found; i++) {
                    ck_assert_uint_lt(children[i], count);
                    ck_assert_uint_eq(tree_parent(radixes[r], children[i]), vpid);
                }
            }
            ck_assert_uint_eq(below, count - 1); /* everybody but the root has one parent */
        }
    }
}
END_TEST

/* Steps by the tree's own rule; COUNT_MAX: it does not arrive. */
static uint32_t walk(uint32_t radix, uint32_t at, uint32_t to)
{
    uint32_t steps = 0;
    while (at != to && steps < COUNT_MAX) {
        uint32_t next = towards(radix, at, to);
        at = next == UINT32_MAX ? tree_parent(radix, at) : next;
        steps++;
    }
    return steps;
}

/* Down a chain; or up and down, over the root of a tree that is 7, 5 and 2 deep. */
static const uint32_t longest_ways[] = {199, 14, 10, 4};

START_TEST(every_way_arrives)
{
    for (size_t r = 0; r < 4; r++) {
        uint32_t longest = 0;
        for (uint32_t i = 0; i < COUNT_MAX * COUNT_MAX; i++) {
            uint32_t steps = walk(radixes[r], i / COUNT_MAX, i % COUNT_MAX);
            longest = steps > longest ? steps : longest;
        }
        ck_assert_uint_eq(longest, longest_ways[r]);
    }
}
END_TEST

START_TEST(huge_numbers_do_not_overflow)
{
    ck_assert_uint_eq(tree_parent(UINT32_MAX, UINT32_MAX), 0);
    ck_assert_uint_lt(tree_parent(2, UINT32_MAX - 2), UINT32_MAX - 2);
    ck_assert_uint_eq(tree_children(2, UINT32_MAX, UINT32_MAX - 1, NULL, 0), 0);
    ck_assert_uint_eq(tree_children(64, 5, 7, NULL, 0), 0);
}
END_TEST

/* --- with some of them lost --- */

static struct rml_tree tree_without(uint32_t radix, uint32_t count, const uint32_t *lost,
                                    uint32_t lost_count)
{
    struct rml_tree tree;
    rml_tree_init(&tree, radix, count);
    for (uint32_t i = 0; i < lost_count; i++) {
        ck_assert_int_eq(rml_tree_lose(&tree, lost[i]), ORTE_SUCCESS);
    }
    return tree;
}

static void expect_living(const struct rml_tree *tree, uint32_t vpid, const uint32_t *expected,
                          uint32_t expected_count)
{
    uint32_t found[COUNT_MAX];
    ck_assert_uint_eq(rml_tree_children(tree, vpid, found, COUNT_MAX), expected_count);
    for (uint32_t i = 0; i < expected_count; i++) {
        ck_assert_uint_eq(found[i], expected[i]);
        ck_assert_uint_eq(rml_tree_parent(tree, expected[i]), vpid);
    }
}

START_TEST(repaired_binary_tree_by_hand)
{
    struct rml_tree tree = tree_without(2, 13, (uint32_t[]){1}, 1);
    expect_living(&tree, 0, (uint32_t[]){2, 3, 5}, 3);
    expect_living(&tree, 3, (uint32_t[]){7, 11}, 2);
    ck_assert_uint_eq(rml_tree_towards(&tree, 0, 11), 3);
    ck_assert_uint_eq(rml_tree_towards(&tree, 2, 11), UINT32_MAX);
    ck_assert_int_eq(rml_tree_lose(&tree, 3), ORTE_SUCCESS);
    expect_living(&tree, 0, (uint32_t[]){2, 5, 7, 11}, 4);
    ck_assert_int_eq(rml_tree_lose(&tree, 4), ORTE_SUCCESS);
    expect_living(&tree, 2, (uint32_t[]){6, 8, 12}, 3);
    ck_assert_uint_eq(rml_tree_towards(&tree, 0, 12), 2);
    ck_assert_uint_eq(rml_tree_towards(&tree, 2, 12), 12);
    rml_tree_fini(&tree);
}
END_TEST

START_TEST(repaired_ternary_tree_by_hand)
{
    struct rml_tree tree = tree_without(3, 16, (uint32_t[]){4, 1}, 2);
    expect_living(&tree, 0, (uint32_t[]){2, 3, 7, 10, 13}, 5);
    expect_living(&tree, 13, NULL, 0);
    expect_living(&tree, 3, (uint32_t[]){6, 9, 12}, 3);
    rml_tree_fini(&tree);
}
END_TEST

START_TEST(repaired_chain_and_star)
{
    struct rml_tree chain = tree_without(1, 6, (uint32_t[]){3, 1, 2}, 3);
    expect_living(&chain, 0, (uint32_t[]){4}, 1);
    expect_living(&chain, 4, (uint32_t[]){5}, 1);
    ck_assert_uint_eq(rml_tree_towards(&chain, 0, 5), 4);
    ck_assert_uint_eq(rml_tree_towards(&chain, 5, 0), UINT32_MAX);
    struct rml_tree star = tree_without(64, 67, (uint32_t[]){1}, 1);
    ck_assert_uint_eq(rml_tree_children(&star, 0, NULL, 0), 64);
    ck_assert_uint_eq(rml_tree_parent(&star, 65), 0);
    ck_assert_uint_eq(rml_tree_parent(&star, 66), 2);
    rml_tree_fini(&chain);
    rml_tree_fini(&star);
}
END_TEST

START_TEST(the_root_and_strangers_are_not_lost)
{
    struct rml_tree tree = tree_without(2, 5, (uint32_t[]){4}, 1);
    ck_assert_int_eq(rml_tree_lose(&tree, 4), ORTE_EXISTS);
    ck_assert_int_eq(rml_tree_lose(&tree, 0), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(rml_tree_lose(&tree, 5), ORTE_ERR_BAD_PARAM);
    ck_assert(!rml_tree_is_lost(&tree, UINT32_MAX) && rml_tree_is_lost(&tree, 4));
    ck_assert_uint_eq(rml_tree_children(&tree, 9, NULL, 0), 0);
    rml_tree_fini(&tree);
}
END_TEST

static bool arrives(const struct rml_tree *tree, uint32_t at, uint32_t to)
{
    for (uint32_t steps = 0; steps < tree->count; steps++) {
        if (at == to) {
            return true;
        }
        uint32_t next = rml_tree_towards(tree, at, to);
        at = next == UINT32_MAX ? rml_tree_parent(tree, at) : next;
        if (rml_tree_is_lost(tree, at)) {
            return false;
        }
    }
    return at == to;
}

/* Whoever lives has one parent that lives, and the way between any two avoids the lost. */
START_TEST(the_living_stay_one_tree)
{
    enum { COUNT = 70 };
    uint32_t random = 12345;
    for (uint32_t round = 0; round < 40; round++) {
        struct rml_tree tree = tree_without(radixes[round % 4], COUNT, NULL, 0);
        uint32_t below = 0, children[COUNT];
        for (uint32_t i = 0; i < round; i++) {
            random = random * 1664525u + 1013904223u;
            int status = rml_tree_lose(&tree, 1 + (random >> 8) % (COUNT - 1));
            ck_assert(status == ORTE_SUCCESS || status == ORTE_EXISTS);
        }
        for (uint32_t vpid = 0; vpid < COUNT; vpid++) {
            if (!rml_tree_is_lost(&tree, vpid)) {
                below += rml_tree_children(&tree, vpid, children, COUNT);
            }
        }
        ck_assert_uint_eq(below, COUNT - tree.lost_count - 1);
        for (uint32_t i = 0; i < COUNT * COUNT; i++) {
            uint32_t from = i / COUNT, to = i % COUNT;
            if (!rml_tree_is_lost(&tree, from) && !rml_tree_is_lost(&tree, to)) {
                ck_assert_msg(arrives(&tree, from, to), "radix %u: from %u to %u", tree.radix, from,
                              to);
            }
        }
        rml_tree_fini(&tree);
    }
}
END_TEST

/* Whoever was there keeps its parent, and stays lost or not. */
START_TEST(a_tree_grows_at_its_end)
{
    for (uint32_t radix = 1; radix <= 4; radix++) {
        struct rml_tree small = tree_without(radix, 6, (uint32_t[]){2}, 1);
        struct rml_tree tree = tree_without(radix, 6, (uint32_t[]){2}, 1);
        ck_assert_int_eq(rml_tree_grow(&tree, 5), ORTE_ERR_BAD_PARAM);
        ck_assert_int_eq(rml_tree_grow(&tree, 20), ORTE_SUCCESS);
        ck_assert_int_eq(rml_tree_lose(&tree, 19), ORTE_SUCCESS);
        uint32_t below = 0;
        for (uint32_t vpid = 0; vpid < 20; vpid++) {
            ck_assert(rml_tree_is_lost(&tree, vpid) == (vpid == 2 || vpid == 19));
            ck_assert(vpid >= 6 || rml_tree_parent(&tree, vpid) == rml_tree_parent(&small, vpid));
            below += rml_tree_is_lost(&tree, vpid) ? 0 : rml_tree_children(&tree, vpid, NULL, 0);
        }
        ck_assert_uint_eq(below, 20 - 2 - 1);
        rml_tree_fini(&small);
        rml_tree_fini(&tree);
    }
}
END_TEST

UNIT_MAIN("rml/tree")
