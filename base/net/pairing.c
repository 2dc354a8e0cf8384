#include <config.h>

#include <base/net/pairing.h>
#include <string.h>

/* Sums of 64 pairs, each worth more than 64 weights, need more than 64 bits. */
__extension__ typedef __int128 wide;

#define PAIR_WORTH ((wide) 1 << 72) /* more than all weights together: another pair always wins */
#define ENDLESS ((wide) 1 << 120)

/* The first side's interfaces are rows, the other's columns. Both sides are filled up to the same
 * size with interfaces that pair with nothing, so that every row gets a column: a pair of value 0
 * is none. The prices of a row and a column are together at least the value of their pair, and
 * exactly that where they are paired (tight): so no other pairing is worth more. */
struct market {
    const uint64_t *weights;
    size_t rows, columns, size;
    size_t row_step, column_step; /* in weights */
    wide row_price[PAIRING_MAX], column_price[PAIRING_MAX];
    int row_of[PAIRING_MAX], column_of[PAIRING_MAX];
};

static wide value(const struct market *market, size_t row, size_t column)
{
    if (row >= market->rows || column >= market->columns) {
        return 0;
    }
    uint64_t weight = market->weights[row * market->row_step + column * market->column_step];
    return weight ? PAIR_WORTH + (wide) weight : 0;
}

static wide slack(const struct market *market, size_t row, size_t column)
{
    return market->row_price[row] + market->column_price[column] - value(market, row, column);
}

static void pair(struct market *market, int row, int column)
{
    market->row_of[column] = row;
    market->column_of[row] = column;
}

/* ---- the heaviest pairing ---- */

/* A search for the cheapest way from a row without a column to a column without a row. */
struct search {
    int row;
    wide least[PAIRING_MAX]; /* slack by which a column can be reached */
    int from[PAIRING_MAX]; /* the column whose row reaches it so; PAIRING_NONE: the search's row */
    bool reached[PAIRING_MAX];
};

static void search_start(struct search *search, int row)
{
    search->row = row;
    for (size_t i = 0; i < PAIRING_MAX; i++) {
        search->least[i] = ENDLESS;
        search->reached[i] = false;
    }
}

/* Looks at all columns from the row of the column that was reached last. Returns the nearest. */
static int search_look(struct search *search, const struct market *market, int last)
{
    int row = last == PAIRING_NONE ? search->row : market->row_of[last], nearest = PAIRING_NONE;

    for (size_t j = 0; j < market->size; j++) {
        if (search->reached[j]) {
            continue;
        }
        wide distance = slack(market, (size_t) row, j);
        if (distance < search->least[j]) {
            search->least[j] = distance;
            search->from[j] = last;
        }
        if (nearest == PAIRING_NONE || search->least[j] < search->least[nearest]) {
            nearest = (int) j;
        }
    }
    return nearest;
}

/* Changes the prices so that the nearest column is tight; what was tight stays so. */
static void search_reach(struct search *search, struct market *market, int nearest)
{
    wide distance = search->least[nearest];

    market->row_price[search->row] -= distance;
    for (size_t j = 0; j < market->size; j++) {
        if (search->reached[j]) {
            market->row_price[market->row_of[j]] -= distance;
            market->column_price[j] += distance;
        } else {
            search->least[j] -= distance;
        }
    }
    search->reached[nearest] = true;
}

static void place_row(struct market *market, int row)
{
    struct search search;
    int column = PAIRING_NONE;

    search_start(&search, row);
    do {
        column = search_look(&search, market, column);
        search_reach(&search, market, column);
    } while (market->row_of[column] != PAIRING_NONE);
    while (column != PAIRING_NONE) {
        int from = search.from[column];
        pair(market, from == PAIRING_NONE ? row : market->row_of[from], column);
        column = from;
    }
}

static void place_all(struct market *market)
{
    for (size_t i = 0; i < market->size; i++) {
        for (size_t j = 0; j < market->size; j++) {
            wide worth = value(market, i, j);
            market->row_price[i] = worth > market->row_price[i] ? worth : market->row_price[i];
        }
        place_row(market, (int) i);
    }
}

/* ---- the first of equals ---- */

/* The equals are the pairings of tight pairs alone. */
struct equals {
    struct market *market;
    bool open[PAIRING_MAX][PAIRING_MAX]; /* tight, and not ruled out by a decision */
    bool tried[PAIRING_MAX];
};

/* Gives a row that lost its column another one, moving rows that can move. */
static bool find_other(struct equals *equals, int row)
{
    struct market *market = equals->market;

    for (size_t j = 0; j < market->size; j++) {
        if (!equals->open[row][j] || equals->tried[j]) {
            continue;
        }
        equals->tried[j] = true;
        if (market->row_of[j] == PAIRING_NONE || find_other(equals, market->row_of[j])) {
            pair(market, row, (int) j);
            return true;
        }
    }
    return false;
}

/* Whether the row can have the column in one of the equals; then it has. */
static bool can_have(struct equals *equals, int row, int column)
{
    struct market *market = equals->market;
    struct market before = *market;
    int loser = market->row_of[column];

    if (loser == row) {
        return true;
    }
    market->row_of[market->column_of[row]] = PAIRING_NONE;
    pair(market, row, column);
    memset(equals->tried, 0, sizeof(equals->tried));
    equals->tried[column] = true;
    if (!find_other(equals, loser)) {
        *market = before;
        return false;
    }
    return true;
}

/* Settles a row's partner: the lowest that it can have. Rows before it keep theirs, having no other
 * pair open; one without a partner may still change the interface that it is not paired with. */
static void decide(struct equals *equals, size_t row)
{
    const struct market *market = equals->market;

    for (size_t j = 0; j < market->columns; j++) {
        bool real = value(market, row, j) > 0;
        if (real && equals->open[row][j] && can_have(equals, (int) row, (int) j)) {
            memset(equals->open[row], 0, sizeof(equals->open[row]));
            equals->open[row][j] = true;
            return;
        }
        if (real) {
            equals->open[row][j] = false;
        }
    }
}

static void decide_all(struct market *market)
{
    struct equals equals = {.market = market};

    for (size_t i = 0; i < market->size; i++) {
        for (size_t j = 0; j < market->size; j++) {
            equals.open[i][j] = slack(market, i, j) == 0;
        }
    }
    for (size_t i = 0; i < market->rows; i++) {
        decide(&equals, i);
    }
}

int pairing_find(const uint64_t *weights, size_t mine, size_t theirs, bool first, int *partners)
{
    if (mine > PAIRING_MAX || theirs > PAIRING_MAX) {
        return ORTE_ERR_BAD_PARAM;
    }
    struct market market = {.weights = weights,
                            .rows = first ? mine : theirs,
                            .columns = first ? theirs : mine,
                            .size = mine > theirs ? mine : theirs,
                            .row_step = first ? theirs : 1,
                            .column_step = first ? 1 : theirs};
    memset(market.row_of, 0xff, sizeof(market.row_of)); /* PAIRING_NONE */
    place_all(&market);
    decide_all(&market);
    const int *partner_of = first ? market.column_of : market.row_of;
    for (size_t i = 0; i < mine; i++) {
        size_t partner = (size_t) partner_of[i];
        bool paired = partner < theirs && weights[i * theirs + partner] > 0;
        partners[i] = paired ? (int) partner : PAIRING_NONE;
    }
    return ORTE_SUCCESS;
}
