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
