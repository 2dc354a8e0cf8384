#include <config.h>

#include <base/loop/patience.h>

enum { ROUND_TRIPS = 8, LONGEST_TIMES = 4 };

#define FIRST_TIME_US UINT64_C(1000000)

static const struct backoff between_turns = {.base_us = 10000, .cap_us = 1000000};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void patience_begin(struct patience *patience, size_t count, uint64_t full_us, uint64_t limit_us,
                    unsigned refusals_max, uint64_t now_us)
{
    *patience = (struct patience){
        .count = count,
        .full_us = full_us,
        .refusals_max = refusals_max,
        .first = true,
        .wait = between_turns,
    };
    patience_renew(patience, limit_us, now_us);
}

void patience_renew(struct patience *patience, uint64_t limit_us, uint64_t now_us)
{
    patience->until_us = limit_us > UINT64_MAX - now_us ? UINT64_MAX
                         : limit_us                     ? now_us + limit_us
                                                        : 0;
}

/* Bounded by what the connect has in all. */
static uint64_t within_limit(const struct patience *patience, uint64_t time_us, uint64_t now_us)
{
    if (patience->until_us == 0) {
        return time_us;
    }
    return least(time_us, patience->until_us > now_us ? patience->until_us - now_us : 0);
}

uint64_t patience_time(const struct patience *patience, uint64_t now_us)
{
    bool is_short = patience->first && patience->count > 1;
    uint64_t time_us = is_short ? least(FIRST_TIME_US, patience->full_us) : patience->full_us;
    return within_limit(patience, time_us, now_us);
}

uint64_t patience_grown(uint64_t full_us)
{
    return LONGEST_TIMES * full_us;
}

uint64_t patience_longest(const struct patience *patience, uint64_t now_us)
{
    return within_limit(patience, patience_grown(patience->full_us), now_us);
}

static uint32_t bit(size_t address)
{
    return UINT32_C(1) << address;
}

/* The next of those that are worth another turn, from here on. */
static enum patience_next find_slow(struct patience *patience, size_t from)
{
    for (patience->at = from; patience->at < patience->count; patience->at++) {
        if (patience->slow & bit(patience->at)) {
            return PATIENCE_GO;
        }
    }
    return PATIENCE_OVER;
}

/* All have had their turn. */
static enum patience_next end_turn(struct patience *patience, struct backoff_chance *chance,
                                   uint64_t now_us, uint64_t *wait_us)
{
    bool first = patience->first;
    patience->first = false;
    if (patience->until_us == 0) {
        return first && patience->count > 1 ? find_slow(patience, 0) : PATIENCE_OVER;
    }
    bool nowhere = patience->refused == UINT32_MAX >> (32 - patience->count);
    patience->refusals = nowhere ? patience->refusals + 1 : 0;
    patience->refused = 0;
    patience->at = 0;
    *wait_us = backoff_next(&patience->wait, chance);
    bool over = patience->refusals >= patience->refusals_max || *wait_us >= patience->until_us ||
                now_us >= patience->until_us - *wait_us;
    return over ? PATIENCE_OVER : PATIENCE_WAIT;
}

enum patience_next patience_ended(struct patience *patience, enum patience_outcome outcome,
                                  struct backoff_chance *chance, uint64_t now_us, uint64_t *wait_us)
{
    if (outcome == PATIENCE_SLOW && patience->first) {
        patience->slow |= bit(patience->at);
    } else if (outcome == PATIENCE_REFUSED) {
        patience->refused |= bit(patience->at);
    }
    if (patience->at + 1 == patience->count) {
        return end_turn(patience, chance, now_us, wait_us);
    }
    if (!patience->first && patience->until_us == 0) {
        return find_slow(patience, patience->at + 1);
    }
    patience->at++;
    return PATIENCE_GO;
}

uint64_t patience_after_round_trip(uint64_t round_trip_us, uint64_t left_us, uint64_t longest_us)
{
    uint64_t needed_us =
        round_trip_us > UINT64_MAX / ROUND_TRIPS ? UINT64_MAX : ROUND_TRIPS * round_trip_us;
    return needed_us > left_us ? least(needed_us, longest_us > left_us ? longest_us : left_us)
                               : left_us;
}
