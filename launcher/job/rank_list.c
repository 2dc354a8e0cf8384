#include <config.h>

#include <launcher/job/rank_list.h>

#include <stdio.h>
#include <string.h>

/* Appends the ranks from first to last; false: they do not fit. */
static bool put_range(char *text, size_t size, const char *before, uint32_t first, uint32_t last)
{
    char range[40];
    size_t used = strlen(text);
    if (first == last) {
        snprintf(range, sizeof(range), "%s%u", before, first);
    } else {
        snprintf(range, sizeof(range), "%s%u-%u", before, first, last);
    }
    if (used + strlen(range) + sizeof(", ...") > size) {
        snprintf(text + used, size - used, ", ...");
        return false;
    }
    strcpy(text + used, range);
    return true;
}

uint32_t rank_list_print(char *text, size_t size, const bool *flags, uint32_t count)
{
    uint32_t total = 0;
    for (uint32_t rank = 0; rank < count; rank++) {
        total += flags[rank];
    }
    snprintf(text, size, "%s", total == 1 ? "rank" : "ranks");
    const char *before = " ";
    for (uint32_t rank = 0; rank < count; rank++) {
        uint32_t first = rank;
        while (rank < count && flags[rank]) {
            rank++;
        }
        if (rank > first) {
            if (!put_range(text, size, before, first, rank - 1)) {
                return total;
            }
            before = ", ";
        }
    }
    return total;
}
