/* Queues by key: their order, and what a lookup costs. */
#include <config.h>

#include <pml/match/queues.h>
#include <stdlib.h>
#include <tests/lib/unit.h>

enum { MANY = 10000 };

static struct queue_link links[MANY];

static void expect(struct queues *queues, uint64_t key, const struct queue_link *link)
{
    ck_assert_ptr_eq(queues_first(queues, key), link);
}

START_TEST(each_key_has_its_order)
{
    struct queues queues;

    queues_init(&queues);
    expect(&queues, 5, NULL);
    queues_append(&queues, &links[0], 5);
    queues_append(&queues, &links[1], 6);
    queues_append(&queues, &links[2], 5);
    queues_append(&queues, &links[3], 5);
    expect(&queues, 6, &links[1]);
    expect(&queues, 5, &links[0]);
    queues_remove(&queues, &links[2]); /* from the middle */
    queues_remove(&queues, &links[0]); /* the oldest */
    expect(&queues, 5, &links[3]);
    queues_append(&queues, &links[0], 5);
    queues_remove(&queues, &links[3]);
    expect(&queues, 5, &links[0]);
    queues_append(&queues, &links[2], 5);
    queues_remove(&queues, &links[2]); /* the newest */
    queues_remove(&queues, &links[0]);
    expect(&queues, 5, NULL);
    expect(&queues, 6, &links[1]);
    ck_assert_uint_eq(queues.keys, 1);
    queues_fini(&queues);
}
END_TEST

/* Keys as sources and tags make them. */
static uint64_t key_of(unsigned pattern, uint64_t i)
{
    const uint64_t keys[] = {
        i, i << 12, i << 20, i << 32, i << 44, ~i, i % 100 << 32 | i / 100, (i << 32) + MANY - i};
    return keys[pattern];
}

START_TEST(a_lookup_costs_the_same_however_many_keys_there_are)
{
    for (unsigned pattern = 0; pattern < 8; pattern++) {
        struct queues queues;
        queues_init(&queues);
        for (size_t i = 0; i < MANY; i++) {
            queues_append(&queues, &links[i], key_of(pattern, i));
        }
        ck_assert_uint_eq(queues.keys, MANY);
        uint64_t before = queues.steps;
        for (size_t i = 0; i < MANY; i++) {
            expect(&queues, key_of(pattern, i), &links[i]);
            expect(&queues, key_of(pattern, i) ^ UINT64_C(1) << 63, NULL);
        }
        /* Empty: a step each. */
        ck_assert_msg(queues.steps - before <= 2 * 2 * MANY, "pattern %u: %u steps", pattern,
                      (unsigned) (queues.steps - before));
        for (size_t i = 0; i < MANY; i += 2) {
            queues_remove(&queues, &links[i]);
        }
        for (size_t i = 0; i < MANY; i++) {
            expect(&queues, key_of(pattern, i), i % 2 ? &links[i] : NULL);
        }
        ck_assert_uint_eq(queues.keys, MANY / 2);
        queues_fini(&queues);
    }
}
END_TEST

/* Slots are shared, so that what follows the oldest of a key in its slot must outlive it. */
START_TEST(the_next_item_takes_the_place_of_the_oldest)
{
    struct queues queues;

    queues_init(&queues);
    for (size_t i = 0; i < MANY; i++) {
        queues_append(&queues, &links[i], i / 2);
    }
    for (size_t i = 0; i < MANY; i += 2) {
        queues_remove(&queues, &links[i]);
    }
    for (size_t i = 1; i < MANY; i += 2) {
        expect(&queues, i / 2, &links[i]);
    }
    queues_fini(&queues);
}
END_TEST

START_TEST(a_long_queue_costs_other_keys_nothing)
{
    struct queues queues;

    queues_init(&queues);
    for (size_t i = 0; i < MANY; i++) {
        queues_append(&queues, &links[i], 7);
    }
    uint64_t before = queues.steps;
    for (uint64_t key = 1000; key < 2000; key++) {
        expect(&queues, key, NULL);
    }
    ck_assert_uint_le(queues.steps - before, 2 * 1000);
    ck_assert_ptr_eq(queues.slots, queues.first_slots);
    for (size_t i = 0; i < MANY; i++) {
        expect(&queues, 7, &links[i]);
        queues_remove(&queues, &links[i]);
    }
    expect(&queues, 7, NULL);
    queues_fini(&queues);
}
END_TEST

UNIT_MAIN("queues")
