#include <config.h>

#include <launcher/request/suggest.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 64, DISTANCE_MAX = 2, NAME_MAX_BYTES = 40, SHOWN_MAX = 40, BEGINNING_MIN = 3 };

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

static size_t distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t row[WORD_MAX + 1];
    if (a_size > WORD_MAX || b_size > WORD_MAX || a_size > b_size + DISTANCE_MAX ||
        b_size > a_size + DISTANCE_MAX) {
        return SUGGEST_NEVER;
    }
    for (size_t j = 0; j <= b_size; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a_size; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            size_t changed =
                diagonal + (tolower((unsigned char) a[i - 1]) != tolower((unsigned char) b[j - 1]));
            diagonal = row[j];
            row[j] = smallest(changed, row[j] + 1, row[j - 1] + 1);
        }
    }
    return row[b_size] <= DISTANCE_MAX ? row[b_size] : SUGGEST_NEVER;
}

size_t suggest_distance(const char *a, size_t a_size, const char *b)
{
    return distance(a, a_size, b, strlen(b));
}

void suggest_look(struct suggestion *suggestion, const char *candidate)
{
    size_t apart = suggest_distance(suggestion->word, suggestion->size, candidate);
    if (apart < suggestion->least && apart < suggestion->size) {
        suggestion->least = apart;
        suggestion->nearest = candidate;
    }
}

/* Does the name begin with the word, but for one letter. */
static bool begins(const char *name, const char *word, size_t size)
{
    bool found = false;
    for (size_t part = size - 1; size >= BEGINNING_MIN && part <= size + 1 && !found; part++) {
        found = part < strlen(name) && distance(word, size, name, part) <= 1;
    }
    return found;
}

void suggest_among(const char *const *names, const char *word, size_t size, char *reason,
                   size_t reason_size)
{
    const char *equals = memchr(word, '=', size), *begun = NULL;
    struct suggestion near = {word, equals ? (size_t) (equals - word) + 1 : size, SUGGEST_NEVER,
                              NULL};
    size_t used = (size_t) snprintf(reason, reason_size,
                                    "'%.*s': ", (int) (size < SHOWN_MAX ? size : SHOWN_MAX), word);
    for (size_t i = 0; names[i]; i++) {
        suggest_look(&near, names[i]);
        begun = !begun && begins(names[i], word, near.size) ? names[i] : begun;
        const char *before = i == 0 ? "" : names[i + 1] ? ", " : " or ";
        used += used < reason_size
                    ? (size_t) snprintf(reason + used, reason_size - used, "%s%s", before, names[i])
                    : 0;
    }
    near.nearest = near.nearest ? near.nearest : begun;
    if (used < reason_size) {
        snprintf(reason + used, reason_size - used, " is needed%s%s",
                 near.nearest ? "; the nearest is " : "", near.nearest ? near.nearest : "");
    }
}

/* Other launchers' options, each between bars, and what to do here: texts in turn, each ended with
 * 0. Without pointers, which the loader would relocate at each start. */
static const char others[] =
#include <launcher/request/peers_table.inc>
    ;

const char *suggest_for_option(const char *name, size_t size)
{
    char word[NAME_MAX_BYTES + 3];
    if (size == 0 || size > NAME_MAX_BYTES || memchr(name, '|', size)) {
        return NULL;
    }
    snprintf(word, sizeof(word), "|%.*s|", (int) size, name);
    for (const char *names = others, *instead; *names; names = instead + strlen(instead) + 1) {
        instead = names + strlen(names) + 1;
        if (strstr(names, word)) {
            return instead;
        }
    }
    return NULL;
}
