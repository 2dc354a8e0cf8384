#include <config.h>

#include <base/text/number.h>

const char *number_read(const char *text, size_t size, uint32_t max, uint32_t *number)
{
    uint64_t value = 0;
    size_t digits = 0;
    for (; digits < size && text[digits] >= '0' && text[digits] <= '9'; digits++) {
        value = 10 * value + (uint64_t) (text[digits] - '0');
        if (value > max) {
            return NULL;
        }
    }
    if (digits == 0) {
        return NULL;
    }
    *number = (uint32_t) value;
    return text + digits;
}

const char *range_read(const char *text, uint32_t max, uint32_t *first, uint32_t *last)
{
    uint32_t from = 0, to;
    const char *end = number_read(text, SIZE_MAX, max, &from);
    to = from;
    if (end && *end == '-') {
        end = number_read(end + 1, SIZE_MAX, max, &to);
    }
    if (!end || to < from) {
        return NULL;
    }
    *first = from;
    *last = to;
    return end;
}
