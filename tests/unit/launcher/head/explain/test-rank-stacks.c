/* The stacks of ranks, as text: each distinct one once, and what daemons make up is bounded. */
#include <config.h>

#include <launcher/head/explain/rank_stacks.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static char text[1 << 20];

static void say(void *arg, const char *line)
{
    size_t used = strlen(text);
    (void) arg;
    ck_assert_uint_lt(used + strlen(line) + 2, sizeof(text));
    snprintf(text + used, sizeof(text) - used, "%s\n", line);
}

static struct rank_stacks *make_by(uint32_t count, bool by_call)
{
    struct rank_stacks *stacks;
    ck_assert_int_eq(rank_stacks_create(&stacks, count, by_call), ORTE_SUCCESS);
    return stacks;
}

static struct rank_stacks *make(uint32_t count)
{
    return make_by(count, false);
}

static void print(struct rank_stacks *stacks)
{
    text[0] = '\0';
    rank_stacks_print(stacks, "are", say, NULL);
    rank_stacks_destroy(stacks);
}

START_TEST(test_each_stack_comes_once)
{
    static const char fence[] = "epoll_wait from libc\nwait at a.c:1\nkeel_fence at b.c:2\nmain\n";
    struct rank_stacks *stacks = make(5);
    ck_assert_int_eq(rank_stacks_tell(stacks, 1, true, "pause from libc\nmain\n"), ORTE_SUCCESS);
    ck_assert_int_eq(rank_stacks_tell(stacks, 0, true, fence), ORTE_SUCCESS);
    ck_assert_int_eq(rank_stacks_tell(stacks, 0, false, "poll\n"), ORTE_SUCCESS);
    ck_assert_int_eq(rank_stacks_tell(stacks, 0, false, "poll\n"), ORTE_SUCCESS);
    ck_assert_int_eq(rank_stacks_fail(stacks, 4, "it is forbidden"), ORTE_SUCCESS);
    ck_assert_int_eq(rank_stacks_tell(stacks, 3, true, fence), ORTE_SUCCESS);
    ck_assert_int_eq(rank_stacks_tell(stacks, 2, true, fence), ORTE_SUCCESS);
    print(stacks);
    ck_assert_str_eq(text, "3 of 5 are in keel_fence (ranks 0, 2-3):\n"
                           "  #0 epoll_wait from libc\n"
                           "  #1 wait at a.c:1\n"
                           "  #2 keel_fence at b.c:2\n"
                           "  #3 main\n"
                           "1 of 5 are in pause (rank 1):\n"
                           "  #0 pause from libc\n"
                           "  #1 main\n"
                           "another thread of 1 of 5 is in poll (rank 0):\n"
                           "  #0 poll\n"
                           "no stack of 1 of 5 (rank 4): it is forbidden\n");
}
END_TEST

/* One polls in it, one sleeps; a third came from elsewhere. */
static struct rank_stacks *in_a_fence(bool by_call)
{
    struct rank_stacks *stacks = make_by(3, by_call);
    ck_assert_int_eq(
        rank_stacks_tell(stacks, 0, true, "poll\nkeel_fence at b.c:2\nmain at m.c:1\n"),
        ORTE_SUCCESS);
    ck_assert_int_eq(rank_stacks_tell(stacks, 1, true, "nap\nkeel_fence at b.c:2\nmain at m.c:1\n"),
                     ORTE_SUCCESS);
    ck_assert_int_eq(rank_stacks_tell(stacks, 2, true, "nap\nkeel_fence at b.c:2\nmain at m.c:9\n"),
                     ORTE_SUCCESS);
    return stacks;
}

START_TEST(test_ranks_in_one_call_are_told_together)
{
    print(in_a_fence(true));
    ck_assert_str_eq(text, "2 of 3 are in keel_fence (ranks 0-1):\n"
                           "  #0 poll\n"
                           "  #1 keel_fence at b.c:2\n"
                           "  #2 main at m.c:1\n"
                           "1 of 3 are in keel_fence (rank 2):\n"
                           "  #0 nap\n"
                           "  #1 keel_fence at b.c:2\n"
                           "  #2 main at m.c:9\n");
    print(in_a_fence(false)); /* where they crashed */
    ck_assert_ptr_nonnull(strstr(text, "1 of 3 are in keel_fence (rank 0):\n"));
}
END_TEST

START_TEST(test_the_call_is_what_the_program_called)
{
    char call[16];
    rank_stacks_call(call, sizeof(call), "poll\nPMIx_Fence at a.c:1\nMPI_Init at b.c:2\nmain\n");
    ck_assert_str_eq(call, "MPI_Init");
    rank_stacks_call(call, sizeof(call), "poll from libc\nmain\n");
    ck_assert_str_eq(call, "poll");
    rank_stacks_call(call, sizeof(call), "");
    ck_assert_str_eq(call, "");
    rank_stacks_call(call, sizeof(call), "MPI_a_long_name_of_a_call\n");
    ck_assert_str_eq(call, "MPI_a_long_name");
}
END_TEST

START_TEST(test_hostile_reports_are_refused)
{
    struct rank_stacks *stacks = make(2);
    char *large = malloc(STACK_BYTES_MAX + 2);
    memset(large, 'x', STACK_BYTES_MAX + 1);
    large[STACK_BYTES_MAX + 1] = '\0';
    ck_assert_int_eq(rank_stacks_tell(stacks, 2, true, "a\n"), ORTE_ERR_VALUE_OUT_OF_BOUNDS);
    ck_assert_int_eq(rank_stacks_fail(stacks, UINT32_MAX, "a"), ORTE_ERR_VALUE_OUT_OF_BOUNDS);
    ck_assert_int_eq(rank_stacks_tell(stacks, 0, true, large), ORTE_ERR_VALUE_OUT_OF_BOUNDS);
    ck_assert_int_eq(rank_stacks_fail(stacks, 1, large), ORTE_SUCCESS);
    for (int i = 0; i < STACKS_MAX; i++) {
        ck_assert_int_eq(rank_stacks_tell(stacks, 0, false, "\033[2J\r\n"), ORTE_SUCCESS);
    }
    ck_assert_int_eq(rank_stacks_tell(stacks, 0, false, "a\n"), ORTE_ERR_VALUE_OUT_OF_BOUNDS);
    print(stacks);
    ck_assert_ptr_null(strchr(text, '\033'));
    ck_assert_ptr_null(strchr(text, '\r'));
    ck_assert_uint_lt(strlen(text), 1024);
    free(large);
}
END_TEST

START_TEST(test_the_number_of_stacks_is_bounded)
{
    struct rank_stacks *stacks = make(1000);
    char frames[16];
    for (uint32_t rank = 0; rank < 1000; rank++) {
        snprintf(frames, sizeof(frames), "f%u\n", rank);
        ck_assert_int_eq(rank_stacks_tell(stacks, rank, true, frames), ORTE_SUCCESS);
    }
    print(stacks);
    ck_assert_ptr_nonnull(strstr(text, "are in f255 (rank 255):"));
    ck_assert_ptr_null(strstr(text, "f256"));
    ck_assert_ptr_nonnull(strstr(text, "and 744 threads with other stacks\n"));
}
END_TEST

UNIT_MAIN("rank_stacks")
