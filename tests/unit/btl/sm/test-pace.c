/* The choice between the two ways of copying, by a clock that the test moves. */
#include <config.h>

#include <btl/sm/pace.h>
#include <stdlib.h>
#include <tests/lib/unit.h>

#define MIB ((size_t) 1 << 20)

/* One who puts or gets one operation after the other. */
struct world {
    struct sm_pace pace;
    uint64_t now;
    uint64_t cost[SM_WAYS]; /* ns for 1 MiB */
    uint64_t ns[SM_WAYS];   /* that operations took by now */
};

static enum sm_way one(struct world *world, bool put, size_t size)
{
    enum sm_way way = sm_pace_way(&world->pace, put, size);
    uint64_t began = world->now, ns = world->cost[way] * size / MIB;
    world->now += ns;
    world->ns[way] += ns;
    const struct sm_timed timed = {put, size, began, world->now};
    sm_pace_count(&world->pace, way, &timed);
    world->now += 1000; /* the caller's own work */
    return way;
}

static void many(struct world *world, bool put, size_t size, int count)
{
    world->ns[SM_ASK] = world->ns[SM_COPY] = 0;
    for (int i = 0; i < count; i++) {
        one(world, put, size);
    }
}

static bool prefers(const struct world *world, enum sm_way way)
{
    return world->ns[!way] <= world->ns[way] / 30;
}

START_TEST(the_target_is_first)
{
    struct world world = {.cost = {100, 10}};
    ck_assert_int_eq(one(&world, true, MIB), SM_ASK);
    ck_assert_int_eq(one(&world, false, MIB), SM_ASK);
}
END_TEST

START_TEST(the_faster_way_is_taken)
{
    struct world slow_target = {.now = 5, .cost = {60000, 45000}};
    many(&slow_target, false, MIB, 100);
    many(&slow_target, false, MIB, 10000);
    ck_assert(prefers(&slow_target, SM_COPY));
    struct world slow_kernel = {.now = 5, .cost = {45000, 60000}};
    many(&slow_kernel, false, MIB, 100);
    many(&slow_kernel, false, MIB, 10000);
    ck_assert(prefers(&slow_kernel, SM_ASK));
}
END_TEST

/* However slow the other way is: trials have a share of the time. */
START_TEST(trials_are_bounded)
{
    struct world world = {.cost = {45000, 4500000}};
    many(&world, true, MIB, 100000);
    many(&world, true, MIB, 100000);
    ck_assert(prefers(&world, SM_ASK));
    ck_assert_uint_gt(world.ns[SM_COPY], 0);
}
END_TEST

START_TEST(equals_do_not_alternate)
{
    struct world world = {.cost = {45000, 44000}};
    many(&world, true, MIB, 10000);
    ck_assert(prefers(&world, SM_ASK));
}
END_TEST

START_TEST(sizes_and_directions_are_apart)
{
    struct world world = {.cost = {60000, 45000}};
    many(&world, true, MIB, 2000);
    ck_assert_int_eq(sm_pace_way(&world.pace, true, MIB), SM_COPY);
    ck_assert_int_eq(sm_pace_way(&world.pace, true, 2 * MIB - 1), SM_COPY);
    ck_assert_int_eq(sm_pace_way(&world.pace, true, 2 * MIB), SM_ASK);
    ck_assert_int_eq(sm_pace_way(&world.pace, true, MIB - 1), SM_ASK);
    ck_assert_int_eq(sm_pace_way(&world.pace, false, MIB), SM_ASK);
    many(&world, true, (size_t) 1 << 33, 100);
    ck_assert_int_eq(sm_pace_way(&world.pace, true, (size_t) 1 << 40), SM_COPY);
}
END_TEST

START_TEST(what_changes_is_noticed)
{
    struct world world = {.cost = {45000, 60000}};
    many(&world, false, MIB, 1000);
    world.cost[SM_ASK] = 90000; /* it shares its processor now */
    many(&world, false, MIB, 2000);
    many(&world, false, MIB, 10000);
    ck_assert(prefers(&world, SM_COPY));
    world.cost[SM_ASK] = 30000;
    many(&world, false, MIB, 2000);
    many(&world, false, MIB, 10000);
    ck_assert(prefers(&world, SM_ASK));
}
END_TEST

/* Now and then a process loses its processor, in trials as well. */
START_TEST(lost_time_decides_little)
{
    struct world world = {.cost = {60000, 45000}};
    srand(1);
    int count[SM_WAYS] = {0, 0};
    for (int i = 0; i < 50000; i++) {
        const uint64_t lost = rand() % 300 == 0 ? 4000000 : 0;
        world.cost[SM_ASK] += lost;
        world.cost[SM_COPY] += lost;
        count[one(&world, true, MIB)]++;
        world.cost[SM_ASK] -= lost;
        world.cost[SM_COPY] -= lost;
    }
    ck_assert_int_le(count[SM_ASK], count[SM_COPY] / 5);
}
END_TEST

/* Many under way: those that go through the target end one after the other. */
START_TEST(a_queue_is_measured_by_its_ends)
{
    enum { DEPTH = 32 };
    struct world world = {.cost = {45000, 60000}};
    uint64_t began[DEPTH], busy_until = 0;
    for (int i = 0; i < 20000; i++) {
        uint64_t *mine = &began[i % DEPTH];
        if (i >= DEPTH) { /* the oldest ends */
            busy_until = (busy_until > *mine ? busy_until : *mine) + 45000;
            world.now = world.now > busy_until ? world.now : busy_until;
            const struct sm_timed timed = {true, MIB, *mine, world.now};
            sm_pace_count(&world.pace, SM_ASK, &timed);
        }
        while (sm_pace_way(&world.pace, true, MIB) == SM_COPY) {
            one(&world, true, MIB);
        }
        *mine = world.now;
    }
    ck_assert_uint_gt(world.ns[SM_COPY], 0);
    ck_assert_uint_lt(world.ns[SM_COPY], world.now / 40);
}
END_TEST

/* One that does as much after each of its own copies, and goes on beside those of the peer. */
START_TEST(what_does_not_go_on_beside_it_counts)
{
    struct world world = {.cost = {50000, 45000}};
    for (int i = 0; i < 20000; i++) {
        if (one(&world, true, MIB) == SM_COPY) {
            world.now += 40000;
        }
    }
    ck_assert(prefers(&world, SM_ASK));
}
END_TEST

UNIT_MAIN("sm-pace")
