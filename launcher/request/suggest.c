#include <config.h>

#include <launcher/request/suggest.h>

#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 64, DISTANCE_MAX = 2, NAME_MAX_BYTES = 40 };

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

size_t suggest_distance(const char *a, size_t a_size, const char *b)
{
    size_t row[WORD_MAX + 1];
    size_t b_size = strlen(b);
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
            size_t changed = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = smallest(changed, row[j] + 1, row[j - 1] + 1);
        }
    }
    return row[b_size] <= DISTANCE_MAX ? row[b_size] : SUGGEST_NEVER;
}

void suggest_look(struct suggestion *suggestion, const char *candidate)
{
    size_t distance = suggest_distance(suggestion->word, suggestion->size, candidate);
    if (distance < suggestion->least && distance < suggestion->size) {
        suggestion->least = distance;
        suggestion->nearest = candidate;
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
