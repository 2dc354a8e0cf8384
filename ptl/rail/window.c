#include <config.h>

#include <ptl/rail/window.h>
#include <stdlib.h>

enum { WORD_BITS = 64, WORDS = RAIL_WINDOW / WORD_BITS };

void rail_window_init(struct rail_window *window, uint32_t first)
{
    *window = (struct rail_window){.expected = first};
}

void rail_window_fini(struct rail_window *window)
{
    free(window->ahead);
    window->ahead = NULL;
}

static uint64_t *word_of(const struct rail_window *window, uint32_t number)
{
    return &window->ahead[number / WORD_BITS % WORDS];
}

static uint64_t bit_of(uint32_t number)
{
    return UINT64_C(1) << number % WORD_BITS;
}

/* Those behind it that have come are no longer ahead. */
static void advance(struct rail_window *window)
{
    window->expected++;
    while (window->ahead && (*word_of(window, window->expected) & bit_of(window->expected))) {
        *word_of(window, window->expected) &= ~bit_of(window->expected);
        window->expected++;
    }
}

static enum rail_verdict keep(struct rail_window *window, uint32_t number)
{
    if (!window->ahead && !(window->ahead = calloc(WORDS, sizeof(*window->ahead)))) {
        return RAIL_NO_MEMORY;
    }
    if (*word_of(window, number) & bit_of(number)) {
        return RAIL_AGAIN;
    }
    *word_of(window, number) |= bit_of(number);
    return RAIL_NEW;
}

enum rail_verdict rail_window_take(struct rail_window *window, uint32_t number)
{
    const int32_t ahead = (int32_t) (number - window->expected);

    if (ahead == 0) {
        advance(window);
        return RAIL_NEW;
    }
    if (ahead < 0) {
        return RAIL_AGAIN;
    }
    return ahead < RAIL_WINDOW ? keep(window, number) : RAIL_TOO_FAR;
}
