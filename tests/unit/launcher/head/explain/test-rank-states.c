/* What the ranks do, as text: the same is told together, and what daemons make up is bounded. */
#include <config.h>

#include <launcher/head/explain/rank_states.h>
#include <launcher/job/rank_list.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static char text[1 << 20];
static unsigned lines;

static void say(void *arg, const char *line)
{
    size_t used = strlen(text);
    (void) arg;
    ck_assert_uint_lt(used + strlen(line) + 2, sizeof(text));
    snprintf(text + used, sizeof(text) - used, "%s\n", line);
    lines++;
}

static struct rank_states *make(uint32_t count)
{
    struct rank_states *states;
    ck_assert_int_eq(rank_states_create(&states, count), ORTE_SUCCESS);
    return states;
}

static int tell(struct rank_states *states, uint32_t rank, const char *what)
{
    struct rank_state_told told = {
        .pid = 1000 + rank, .for_ms = 100 * (uint64_t) rank + 50, .what = what, .node = "n0"};
    return rank_states_tell(states, rank, &told);
}

static void print(struct rank_states *states)
{
    text[0] = '\0';
    lines = 0;
    rank_states_print(states, say, NULL);
    rank_states_destroy(states);
}

START_TEST(test_tells_together_what_is_the_same)
{
    struct rank_states *states = make(5);
    ck_assert_int_eq(tell(states, 1, "running"), ORTE_SUCCESS);
    ck_assert_int_eq(tell(states, 3, "in fence 1"), ORTE_SUCCESS);
    ck_assert_int_eq(tell(states, 0, "in fence 1"), ORTE_SUCCESS);
    ck_assert_int_eq(tell(states, 2, "in fence 1"), ORTE_SUCCESS);
    print(states);
    ck_assert_str_eq(text, "3 of 5: in fence 1 (ranks 0, 2-3)\n"
                           "  rank 0 on node n0, pid 1000: for 0.0 s\n"
                           "  rank 2 on node n0, pid 1002: for 0.2 s\n"
                           "  rank 3 on node n0, pid 1003: for 0.3 s\n"
                           "1 of 5: running (rank 1)\n"
                           "  rank 1 on node n0, pid 1001: for 0.1 s\n");
}
END_TEST

START_TEST(test_says_nothing_of_nobody)
{
    print(make(0));
    ck_assert_str_eq(text, "");
    print(make(3));
    ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(test_takes_each_rank_once)
{
    struct rank_states *states = make(2);
    ck_assert_int_eq(tell(states, 2, "running"), ORTE_ERR_VALUE_OUT_OF_BOUNDS);
    ck_assert_int_eq(tell(states, UINT32_MAX, "running"), ORTE_ERR_VALUE_OUT_OF_BOUNDS);
    ck_assert_int_eq(tell(states, 1, "running"), ORTE_SUCCESS);
    ck_assert_int_eq(tell(states, 1, "in fence 1"), ORTE_EXISTS);
    print(states);
    ck_assert_ptr_nonnull(strstr(text, "running"));
    ck_assert_ptr_null(strstr(text, "fence"));
}
END_TEST

/* Nothing that a daemon says reaches the terminal as a command, or as a flood. */
START_TEST(test_bounds_what_daemons_make_up)
{
    enum { RANKS = 2000 };
    struct rank_states *states = make(RANKS);
    char what[4096];
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        memset(what, 'x', sizeof(what));
        snprintf(what, 32, "\033[2J\n%u", rank);
        what[strlen(what)] = 'x';
        what[sizeof(what) - 1] = '\0';
        ck_assert_int_eq(tell(states, rank, what), ORTE_SUCCESS);
    }
    print(states);
    ck_assert_ptr_null(strchr(text, '\033'));
    ck_assert_uint_eq(lines, RANK_STATES_GROUPS * 2);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        ck_assert_uint_lt(strlen(line), RANK_STATE_BYTES + 64);
    }
}
END_TEST

START_TEST(test_gives_a_line_to_some_ranks_only)
{
    enum { RANKS = 4096 };
    struct rank_states *states = make(RANKS);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        ck_assert_int_eq(tell(states, rank, rank % 2 ? "odd" : "even"), ORTE_SUCCESS);
    }
    print(states);
    ck_assert_uint_eq(lines, RANK_STATES_LINES + 2);
    ck_assert_ptr_nonnull(strstr(text, "2048 of 4096: even (ranks 0, 2, 4, "));
    ck_assert_ptr_nonnull(strstr(text, ", ...)\n"));
}
END_TEST

START_TEST(test_prints_lists)
{
    bool flags[] = {true, true, false, true, false, true, true, true};
    char list[64];
    rank_list_print(list, sizeof(list), flags, 8);
    ck_assert_str_eq(list, "ranks 0-1, 3, 5-7");
    rank_list_print(list, sizeof(list), flags + 2, 2);
    ck_assert_str_eq(list, "rank 1");
    rank_list_print(list, 16, flags, 8);
    ck_assert_str_eq(list, "ranks 0-1, ...");
}
END_TEST

UNIT_MAIN("rank_states")
