/* Pairing, beside a search through all pairings there are. */
#include <config.h>

#include <base/net/pairing.h>
#include <string.h>
#include <tests/lib/unit.h>

enum { SIDE = 6, GRAPHS = 100000 };

__extension__ typedef unsigned __int128 wide;

struct graph {
    size_t rows, columns;
    uint64_t weights[SIDE * SIDE];
};

/* ---- every pairing, in the order of the rule for equals ---- */

struct trial {
    const struct graph *graph;
    int partners[SIDE], best[SIDE];
    unsigned taken; /* columns, a bit each */
    int pairs, best_pairs;
    wide weight, best_weight;
};

static void try_rows(struct trial *trial, size_t row)
{
    const struct graph *graph = trial->graph;

    if (row == graph->rows) {
        if (trial->pairs > trial->best_pairs ||
            (trial->pairs == trial->best_pairs && trial->weight > trial->best_weight)) {
            memcpy(trial->best, trial->partners, sizeof(trial->best));
            trial->best_pairs = trial->pairs;
            trial->best_weight = trial->weight;
        }
        return;
    }
    for (size_t j = 0; j < graph->columns; j++) {
        uint64_t weight = graph->weights[row * graph->columns + j];
        if (weight == 0 || trial->taken >> j & 1) {
            continue;
        }
        trial->partners[row] = (int) j;
        trial->taken ^= 1u << j, trial->pairs++, trial->weight += weight;
        try_rows(trial, row + 1);
        trial->taken ^= 1u << j, trial->pairs--, trial->weight -= weight;
    }
    trial->partners[row] = PAIRING_NONE;
    try_rows(trial, row + 1);
}

/* ---- graphs ---- */

static uint64_t random_state = 88172645463325252;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Few different weights give many equals; the largest ones would overflow 64 bits. */
static void make_graph(struct graph *graph)
{
    uint64_t kind = random_next() % 4, density = 1 + random_next() % 4;

    graph->rows = random_next() % (SIDE + 1);
    graph->columns = random_next() % (SIDE + 1);
    for (size_t i = 0; i < graph->rows * graph->columns; i++) {
        uint64_t any = random_next();
        uint64_t weight = kind == 0 ? 1 + any % 2 : kind == 1 ? any | 1 : UINT64_MAX - any % kind;
        graph->weights[i] = random_next() % 4 < density ? weight : 0;
    }
}

static void transpose(struct graph *to, const struct graph *from)
{
    *to = (struct graph){.rows = from->columns, .columns = from->rows};
    for (size_t i = 0; i < from->rows; i++) {
        for (size_t j = 0; j < from->columns; j++) {
            to->weights[j * from->rows + i] = from->weights[i * from->columns + j];
        }
    }
}

static void find(int *partners, const struct graph *graph, bool first)
{
    ck_assert_int_eq(pairing_find(graph->weights, graph->rows, graph->columns, first, partners),
                     ORTE_SUCCESS);
}

static void check_inverse(const struct graph *graph, const int *here, const int *there)
{
    for (int i = 0; i < (int) graph->rows; i++) {
        ck_assert(here[i] == PAIRING_NONE || there[here[i]] == i);
    }
    for (int j = 0; j < (int) graph->columns; j++) {
        ck_assert(there[j] == PAIRING_NONE || here[there[j]] == j);
    }
}

START_TEST(no_pairing_is_better_and_both_ends_find_it)
{
    for (unsigned round = 0; round < GRAPHS; round++) {
        struct graph graph, turned;
        int here[SIDE], there[SIDE];
        make_graph(&graph);
        transpose(&turned, &graph);
        struct trial trial = {.graph = &graph, .best_pairs = -1};
        try_rows(&trial, 0);
        find(here, &graph, true);
        find(there, &turned, false);
        for (size_t i = 0; i < graph.rows; i++) {
            ck_assert_msg(here[i] == trial.best[i], "graph %u", round);
        }
        check_inverse(&graph, here, there);
    }
}
END_TEST

START_TEST(more_pairs_are_better_than_heavier_ones)
{
    static const struct graph graph = {2, 2, {UINT64_MAX, 1, 1, 0}};
    int partners[2];

    find(partners, &graph, true);
    ck_assert_int_eq(partners[0], 1);
    ck_assert_int_eq(partners[1], 0);
}
END_TEST

/* Only who is first tells these ends apart: their weights are the same, and both pairings are as
 * good. */
START_TEST(equal_ends_agree)
{
    static const struct graph graph = {3, 3, {0, 7, 7, 7, 0, 7, 7, 7, 0}};
    int here[3], there[3];

    find(here, &graph, true);
    find(there, &graph, false);
    ck_assert_int_eq(here[0], 1);
    ck_assert_int_eq(here[1], 2);
    ck_assert_int_eq(here[2], 0);
    check_inverse(&graph, here, there);
}
END_TEST

START_TEST(large_sides)
{
    static uint64_t weights[PAIRING_MAX * PAIRING_MAX];
    int partners[PAIRING_MAX];

    for (size_t i = 0; i < PAIRING_MAX * PAIRING_MAX; i++) {
        weights[i] = UINT64_MAX; /* all pairings are equal */
    }
    ck_assert_int_eq(pairing_find(weights, PAIRING_MAX, PAIRING_MAX, true, partners), 0);
    for (int i = 0; i < PAIRING_MAX; i++) {
        ck_assert_int_eq(partners[i], i);
    }
    for (size_t i = 0; i < PAIRING_MAX; i++) {
        weights[i * PAIRING_MAX + PAIRING_MAX - 1 - i] = 1; /* the lightest ones */
    }
    ck_assert_int_eq(pairing_find(weights, PAIRING_MAX, PAIRING_MAX, false, partners), 0);
    for (int i = 0; i < PAIRING_MAX; i++) {
        ck_assert_int_ne(partners[i], PAIRING_MAX - 1 - i);
    }
}
END_TEST

START_TEST(bad_sizes)
{
    int partners[PAIRING_MAX + 1] = {5};

    ck_assert_int_eq(pairing_find(NULL, PAIRING_MAX + 1, 0, true, partners), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(pairing_find(NULL, 0, PAIRING_MAX + 1, true, partners), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(pairing_find(NULL, 0, PAIRING_MAX, true, partners), ORTE_SUCCESS);
    ck_assert_int_eq(partners[0], 5);
    ck_assert_int_eq(pairing_find(NULL, 1, 0, true, partners), ORTE_SUCCESS);
    ck_assert_int_eq(partners[0], PAIRING_NONE);
}
END_TEST

UNIT_MAIN("pairing")
