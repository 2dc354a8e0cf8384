#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <tests/lib/impair.h>

const char *const impair_event_names[IMPAIR_EVENTS] = {
    "sent",  "cut",        "too_long",  "queue_full", "lost",
    "burst", "duplicated", "reordered", "corrupted",  "truncated",
};

void impair_init(struct impair *impair, struct impair_line *line, uint64_t seed)
{
    *impair = (struct impair){.line = line, .random = {.state = seed}};
}

/* Draws whatever the chance is: a setting changes nothing about the decisions beside it. */
static bool drawn(struct impair *impair, double chance)
{
    return (double) (sim_random(&impair->random) >> 11) * 0x1p-53 < chance;
}

static bool happens(struct impair *impair, double chance, enum impair_event event)
{
    bool does = drawn(impair, chance);
    impair->counts[event] += does;
    return does;
}

static uint64_t below(struct impair *impair, uint64_t limit)
{
    uint64_t random = sim_random(&impair->random);
    return limit > 0 ? random % limit : 0;
}

/* A bottleneck with a bounded queue before it. False: the queue is full. */
static bool pass_line(struct impair *impair, uint64_t now_ns, size_t size, uint64_t *at_ns)
{
    const struct impair_settings *settings = &impair->settings;
    uint64_t free_ns = impair->line->free_ns > now_ns ? impair->line->free_ns : now_ns;
    if (settings->rate == 0) {
        *at_ns = now_ns;
        return true;
    }
    double waiting = (double) (free_ns - now_ns) * 1e-9 * (double) settings->rate;
    if (settings->queue_bytes > 0 && waiting + (double) size > (double) settings->queue_bytes) {
        return false;
    }
    *at_ns = free_ns + (uint64_t) ((double) size * 1e9 / (double) settings->rate);
    impair->line->free_ns = *at_ns;
    return true;
}

static bool is_cut(struct impair *impair)
{
    struct impair_settings *settings = &impair->settings;
    if (settings->cut == 0 && settings->cut_after > 0) {
        settings->cut = --settings->cut_after == 0;
        return false;
    }
    return settings->cut != 0;
}

/* Two states: in a burst all is lost, and each packet may be its last. */
static bool in_burst(struct impair *impair)
{
    const struct impair_settings *settings = &impair->settings;
    bool begins = drawn(impair, settings->burst);
    bool ends =
        drawn(impair, settings->burst_length > 1 ? 1.0 / (double) settings->burst_length : 1);
    bool lost = impair->in_burst || begins;
    impair->in_burst = lost && !ends;
    return lost;
}

static bool vanishes(struct impair *impair, uint64_t now_ns, size_t size, uint64_t *at_ns)
{
    const struct impair_settings *settings = &impair->settings;
    impair->counts[IMPAIR_SENT]++;
    if (is_cut(impair)) {
        impair->counts[IMPAIR_CUT]++;
        return true;
    }
    if (settings->mtu > 0 && size > settings->mtu) {
        impair->counts[IMPAIR_TOO_LONG]++;
        return true;
    }
    if (!pass_line(impair, now_ns, size, at_ns)) {
        impair->counts[IMPAIR_QUEUE_FULL]++;
        return true;
    }
    bool burst = in_burst(impair), single = drawn(impair, settings->loss);
    impair->counts[burst ? IMPAIR_BURST : IMPAIR_LOST] += burst || single;
    return burst || single;
}

/* Late packets lose their place; the others keep theirs. */
static uint64_t arrival(struct impair *impair, uint64_t at_ns)
{
    const struct impair_settings *settings = &impair->settings;
    at_ns += settings->delay_ns + below(impair, settings->jitter_ns + 1);
    uint64_t late_ns = below(impair, settings->reorder_ns + 1);
    if (happens(impair, settings->reorder, IMPAIR_REORDERED)) {
        return at_ns + late_ns;
    }
    impair->last_ns = at_ns > impair->last_ns ? at_ns : impair->last_ns;
    return impair->last_ns;
}

static void spoil(struct impair *impair, struct impair_copy *copy)
{
    size_t left = (size_t) below(impair, copy->size);
    if (happens(impair, impair->settings.truncate, IMPAIR_TRUNCATED)) {
        copy->size = left;
    }
    size_t bit = (size_t) below(impair, copy->size * 8);
    if (happens(impair, impair->settings.corrupt, IMPAIR_CORRUPTED) && copy->size > 0) {
        copy->wrong_bit = bit;
    }
}

int impair_packet(struct impair *impair, uint64_t now_ns, size_t size,
                  struct impair_copy copies[IMPAIR_COPIES])
{
    uint64_t at_ns;
    if (vanishes(impair, now_ns, size, &at_ns)) {
        return 0;
    }
    int count = happens(impair, impair->settings.duplicate, IMPAIR_DUPLICATED) ? 2 : 1;
    for (int i = 0; i < count; i++) {
        copies[i] = (struct impair_copy){arrival(impair, at_ns), size, IMPAIR_SOUND};
        spoil(impair, &copies[i]);
    }
    return count;
}

/* --- settings as text --- */

enum { CHANCE, NUMBER };

static const struct setting {
    const char *name;
    size_t offset;
    int kind;
    double scale; /* of a number: to the unit of the member */
} all_settings[] = {
    {"loss", offsetof(struct impair_settings, loss), CHANCE, 0.01},
    {"burst", offsetof(struct impair_settings, burst), CHANCE, 0.01},
    {"burst_length", offsetof(struct impair_settings, burst_length), NUMBER, 1},
    {"duplicate", offsetof(struct impair_settings, duplicate), CHANCE, 0.01},
    {"reorder", offsetof(struct impair_settings, reorder), CHANCE, 0.01},
    {"reorder_by", offsetof(struct impair_settings, reorder_ns), NUMBER, 1e6},
    {"corrupt", offsetof(struct impair_settings, corrupt), CHANCE, 0.01},
    {"truncate", offsetof(struct impair_settings, truncate), CHANCE, 0.01},
    {"delay", offsetof(struct impair_settings, delay_ns), NUMBER, 1e6},
    {"jitter", offsetof(struct impair_settings, jitter_ns), NUMBER, 1e6},
    {"mtu", offsetof(struct impair_settings, mtu), NUMBER, 1},
    {"rate", offsetof(struct impair_settings, rate), NUMBER, 1e6},
    {"queue", offsetof(struct impair_settings, queue_bytes), NUMBER, 1},
    {"cut", offsetof(struct impair_settings, cut), NUMBER, 1},
    {"cut_after", offsetof(struct impair_settings, cut_after), NUMBER, 1},
};

bool impair_set(struct impair_settings *settings, const char *text)
{
    size_t length = strcspn(text, "=");
    char *end;
    double value = text[length] ? strtod(text + length + 1, &end) : -1;
    if (!(value >= 0 && value <= 1e9) || end == text + length + 1 || *end) {
        return false;
    }
    for (size_t i = 0; i < sizeof(all_settings) / sizeof(*all_settings); i++) {
        const struct setting *setting = &all_settings[i];
        char *member = (char *) settings + setting->offset;
        if (strlen(setting->name) != length || memcmp(setting->name, text, length) != 0) {
            continue;
        }
        if (setting->kind == CHANCE && value <= 100) {
            *(double *) (void *) member = value * setting->scale;
            return true;
        }
        if (setting->kind == NUMBER) {
            *(uint64_t *) (void *) member = (uint64_t) (value * setting->scale + 0.5);
            return true;
        }
    }
    return false;
}
