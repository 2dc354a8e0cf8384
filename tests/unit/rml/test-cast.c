/* One daemon's part in broadcasts: what it takes, keeps, passes on and gives up. */
#include <rml/broadcast/cast.h>
#include <tests/lib/unit.h>

enum { ITEMS = 16 };

static struct rml_cast cast;
static struct rml_cast_item items[ITEMS];
static struct list over;

static void begin(const uint32_t *children, uint32_t count)
{
    rml_cast_init(&cast);
    list_init(&over);
    for (int i = 0; i < ITEMS; i++) {
        items[i] = (struct rml_cast_item){.busy = 0};
        list_init(&items[i].link);
    }
    ck_assert_int_eq(rml_cast_set_children(&cast, children, count, UINT32_MAX), ORTE_SUCCESS);
}

static void take(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        rml_cast_take(&cast, &items[cast.last]);
    }
}

/* Sends all that is due to a child, and checks the numbers; others' go too. */
static void expect_due(uint32_t child, uint64_t first, uint64_t last)
{
    uint32_t vpid;
    struct rml_cast_item *item;
    while ((item = rml_cast_due(&cast, &vpid))) {
        if (vpid == child) {
            ck_assert_uint_eq(item->number, first);
            first++;
        }
    }
    ck_assert_uint_eq(first, last + 1);
}

static uint64_t pruned(void)
{
    rml_cast_prune(&cast, &over);
    return cast.floor;
}

START_TEST(each_child_gets_each_once_in_order)
{
    begin((uint32_t[]){3, 5}, 2);
    take(4);
    expect_due(3, 1, 4);
    uint32_t vpid;
    ck_assert_ptr_null(rml_cast_due(&cast, &vpid));
    take(1);
    expect_due(5, 5, 5);
    rml_cast_fini(&cast, &over);
}
END_TEST

START_TEST(only_the_next_is_taken)
{
    begin(NULL, 0);
    ck_assert(rml_cast_is_next(&cast, 1) && !rml_cast_is_next(&cast, 2));
    take(2);
    ck_assert(!rml_cast_is_next(&cast, 2) && rml_cast_is_next(&cast, 3));
    rml_cast_fini(&cast, &over);
}
END_TEST

START_TEST(kept_until_all_below_have_it)
{
    uint64_t done;
    begin((uint32_t[]){3, 5}, 2);
    take(3);
    expect_due(3, 1, 3);
    ck_assert_uint_eq(pruned(), 0);
    ck_assert(rml_cast_raise(&cast, 3, 3));
    ck_assert_uint_eq(pruned(), 0);
    ck_assert(!rml_cast_must_tell(&cast, &done));
    ck_assert(rml_cast_raise(&cast, 5, 2));
    ck_assert_uint_eq(pruned(), 2);
    ck_assert(rml_cast_must_tell(&cast, &done));
    ck_assert_uint_eq(done, 2);
    ck_assert(!rml_cast_must_tell(&cast, &done));
    rml_cast_fini(&cast, &over);
}
END_TEST

START_TEST(kept_while_it_is_delivered_here)
{
    begin(NULL, 0);
    items[1].busy = 1;
    take(3);
    ck_assert_uint_eq(pruned(), 1);
    items[1].busy = 0;
    ck_assert_uint_eq(pruned(), 3);
    rml_cast_fini(&cast, &over);
}
END_TEST

/* Relay 1 has 4 of 6 and has passed 2 on to each of its children, 3 and 5; then it is lost. */
START_TEST(orphans_go_on_where_they_were)
{
    begin((uint32_t[]){1, 2}, 2);
    take(6);
    expect_due(1, 1, 6);
    ck_assert(rml_cast_raise(&cast, 2, 6) && rml_cast_raise(&cast, 1, 1));
    ck_assert_uint_eq(pruned(), 1);
    ck_assert_int_eq(rml_cast_set_children(&cast, (uint32_t[]){2, 3, 5}, 3, 1), ORTE_SUCCESS);
    expect_due(3, 1, 0); /* nothing, before it has joined */
    ck_assert_uint_eq(pruned(), 1);
    ck_assert_int_eq(rml_cast_join(&cast, 3, 2, 1), ORTE_SUCCESS);
    expect_due(3, 3, 6);
    ck_assert_int_eq(rml_cast_join(&cast, 5, 2, 2), ORTE_SUCCESS);
    expect_due(5, 3, 6);
    ck_assert(rml_cast_raise(&cast, 3, 6) && rml_cast_raise(&cast, 5, 6));
    ck_assert_uint_eq(pruned(), 6);
    rml_cast_fini(&cast, &over);
}
END_TEST

/* A daemon that is new, 7, begins behind 4, of which its parent has taken 3 so far. One below it,
 * 15, is new as well. */
START_TEST(newcomers_begin_where_the_tree_is)
{
    begin((uint32_t[]){1}, 1);
    take(3);
    expect_due(1, 1, 3);
    ck_assert(rml_cast_raise(&cast, 1, 3));
    ck_assert_uint_eq(pruned(), 3);
    ck_assert_int_eq(rml_cast_set_children(&cast, (uint32_t[]){1, 7}, 2, UINT32_MAX), ORTE_SUCCESS);
    ck_assert_int_eq(rml_cast_join(&cast, 7, 4, 4), ORTE_SUCCESS);
    take(3);
    expect_due(7, 5, 6); /* which it has */
    ck_assert(rml_cast_raise(&cast, 1, 6) && !rml_cast_raise(&cast, 7, 7));
    ck_assert_uint_eq(pruned(), 4);
    ck_assert(rml_cast_raise(&cast, 7, 6));
    ck_assert_uint_eq(pruned(), 6);
    rml_cast_fini(&cast, &over);
}
END_TEST

START_TEST(a_newcomer_waits_for_those_below)
{
    begin((uint32_t[]){15}, 1);
    rml_cast_begin(&cast, 4);
    ck_assert(!rml_cast_is_next(&cast, 4) && rml_cast_is_next(&cast, 5));
    take(1);
    expect_due(15, 1, 0); /* it has not joined */
    ck_assert_uint_eq(pruned(), 4);
    ck_assert_int_eq(rml_cast_join(&cast, 15, 3, 3), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(rml_cast_join(&cast, 15, 4, 4), ORTE_SUCCESS);
    expect_due(15, 5, 5);
    ck_assert(rml_cast_raise(&cast, 15, 5));
    ck_assert_uint_eq(pruned(), 5);
    rml_cast_fini(&cast, &over);
}
END_TEST

/* An orphan may come before this daemon knows that the one between is lost. */
START_TEST(an_orphan_may_come_early)
{
    begin((uint32_t[]){1}, 1);
    take(3);
    expect_due(1, 1, 3);
    ck_assert_int_eq(rml_cast_join(&cast, 3, 1, 1), ORTE_SUCCESS);
    expect_due(3, 2, 3);
    ck_assert(rml_cast_raise(&cast, 3, 3));
    ck_assert_int_eq(rml_cast_set_children(&cast, (uint32_t[]){3, 5}, 2, 1), ORTE_SUCCESS);
    expect_due(3, 1, 0);
    ck_assert_uint_eq(pruned(), 0);
    ck_assert_int_eq(rml_cast_join(&cast, 5, 0, 0), ORTE_SUCCESS);
    expect_due(5, 1, 3);
    rml_cast_fini(&cast, &over);
}
END_TEST

/* In a chain 1, 2, 3, 4 both 1 and 3 are lost, and 2 hears of 1 first; 4 has come already. */
START_TEST(who_came_early_stays_through_other_losses)
{
    begin((uint32_t[]){3}, 1);
    take(2);
    expect_due(3, 1, 2);
    ck_assert_int_eq(rml_cast_join(&cast, 4, 2, 2), ORTE_SUCCESS);
    ck_assert_int_eq(rml_cast_set_children(&cast, (uint32_t[]){3}, 1, 1), ORTE_SUCCESS);
    take(1);
    expect_due(4, 3, 3);
    ck_assert_int_eq(rml_cast_set_children(&cast, (uint32_t[]){4}, 1, 3), ORTE_SUCCESS);
    take(1);
    expect_due(4, 4, 4);
    ck_assert(rml_cast_raise(&cast, 4, 4));
    ck_assert_uint_eq(pruned(), 4);
    ck_assert_int_eq(rml_cast_set_children(&cast, NULL, 0, 4), ORTE_SUCCESS);
    ck_assert_uint_eq(cast.child_count, 0);
    rml_cast_fini(&cast, &over);
}
END_TEST

START_TEST(nonsense_is_refused)
{
    begin((uint32_t[]){1, 2}, 2);
    take(4);
    expect_due(1, 1, 4);
    ck_assert(!rml_cast_raise(&cast, 1, 5)); /* never sent */
    ck_assert(!rml_cast_raise(&cast, 9, 1)); /* nobody's child */
    ck_assert_int_eq(rml_cast_join(&cast, 3, 2, 3), ORTE_ERR_BAD_PARAM);
    ck_assert(rml_cast_raise(&cast, 1, 4) && rml_cast_raise(&cast, 2, 4));
    ck_assert_uint_eq(pruned(), 4);
    ck_assert_int_eq(rml_cast_join(&cast, 3, 2, 2), ORTE_ERR_BAD_PARAM); /* not kept any more */
    rml_cast_fini(&cast, &over);
}
END_TEST

UNIT_MAIN("rml/cast")
