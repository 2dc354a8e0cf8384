#include <config.h>

#include <launcher/request/nodes/hostlist.h>

#include <base/data/array.h>
#include <base/data/bytes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 15 /* of a number in a name */ };

/* --- reading --- */

struct reader {
    const char *text, *at; /* the whole, for places; what is read next */
    char *reason;
    size_t reason_size;
    struct hostlist list;
};

static KEEL_PRINTF(2, 3) int wrong(const struct reader *reader, const char *format, ...)
{
    char what[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    snprintf(reader->reason, reader->reason_size, "character %zu: %s",
             (size_t) (reader->at - reader->text) + 1, what);
    return ORTE_ERR_BAD_PARAM;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_char(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '_';
}

static int add_name(struct reader *reader, const char *name)
{
    struct hostlist *list = &reader->list;
    if (list->count == HOSTLIST_MAX) {
        (void) wrong(reader, "more than %u nodes", HOSTLIST_MAX);
        return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    if (!array_add(&list->names, list->count, sizeof(*list->names)) ||
        !(list->names[list->count] = strdup(name))) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    list->count++;
    return ORTE_SUCCESS;
}

/* A number as in a name: width is how many digits it has. */
static int read_number(struct reader *reader, uint64_t *number, int *width)
{
    uint64_t value = 0;
    const char *begin = reader->at;
    while (is_digit(*reader->at) && reader->at - begin < DIGITS_MAX) {
        value = 10 * value + (uint64_t) (*reader->at++ - '0');
    }
    if (reader->at == begin || is_digit(*reader->at)) {
        return wrong(reader, "a number of 1 to %d digits is needed", DIGITS_MAX);
    }
    *number = value;
    *width = (int) (reader->at - begin);
    return ORTE_SUCCESS;
}

/* "3" or "1-3"; more: another range follows. */
static int read_range(struct reader *reader, uint64_t *low, uint64_t *high, int *width, bool *more)
{
    int ignored;
    int status = read_number(reader, low, width);
    *high = *low;
    if (status == ORTE_SUCCESS && *reader->at == '-') {
        reader->at++;
        status = read_number(reader, high, &ignored);
    }
    if (status != ORTE_SUCCESS) {
        return status;
    }
    if (*high < *low) {
        return wrong(reader, "the range ends before it begins");
    }
    if (*reader->at != ',' && *reader->at != ']') {
        return wrong(reader, "',' or ']' is needed");
    }
    *more = *reader->at++ == ',';
    return ORTE_SUCCESS;
}

static int read_rest(struct reader *reader, char *name, size_t used);

/* All numbers of a range, each with what follows the brackets. */
static int read_behind(struct reader *reader, char *name, size_t used, uint64_t low, uint64_t high,
                       int width, const char *behind)
{
    for (uint64_t number = low; number <= high; number++) {
        int digits = snprintf(name + used, HOSTLIST_NAME_MAX + 1 - used, "%0*llu", width,
                              (unsigned long long) number);
        if (used + (size_t) digits > HOSTLIST_NAME_MAX) {
            return wrong(reader, "a name of more than %d characters", HOSTLIST_NAME_MAX);
        }
        reader->at = behind;
        int status = read_rest(reader, name, used + (size_t) digits);
        if (status != ORTE_SUCCESS) {
            return status;
        }
    }
    return ORTE_SUCCESS;
}

/* Behind '[': the ranges. What follows the brackets is read once for each number. */
static int read_ranges(struct reader *reader, char *name, size_t used)
{
    const char *close = strchr(reader->at, ']');
    if (!close) {
        return wrong(reader, "there is no ']'");
    }
    for (bool more = true; more;) {
        uint64_t low, high;
        int width;
        int status = read_range(reader, &low, &high, &width, &more);
        const char *next = reader->at;
        if (status == ORTE_SUCCESS) {
            status = read_behind(reader, name, used, low, high, width, close + 1);
        }
        if (status != ORTE_SUCCESS) {
            return status;
        }
        reader->at = more ? next : reader->at;
    }
    return ORTE_SUCCESS;
}

/* The rest of a name of which there are used characters, up to a comma or the end. The recursion
 * ends because each bracket adds a character to the name. */
static int read_rest(struct reader *reader, char *name, size_t used)
{
    for (; is_name_char(*reader->at); reader->at++) {
        if (used == HOSTLIST_NAME_MAX) {
            return wrong(reader, "a name of more than %d characters", HOSTLIST_NAME_MAX);
        }
        if (used == 0 && *reader->at == '-') {
            return wrong(reader, "a name begins with '-'");
        }
        name[used++] = *reader->at;
    }
    if (*reader->at == '[') {
        reader->at++;
        return read_ranges(reader, name, used);
    }
    if (*reader->at && *reader->at != ',') {
        return wrong(reader, "this cannot stand in a name");
    }
    if (used == 0) {
        return wrong(reader, "a name is needed");
    }
    name[used] = '\0';
    return add_name(reader, name);
}

int hostlist_expand(struct hostlist *list, const char *text, char *reason, size_t reason_size)
{
    char name[HOSTLIST_NAME_MAX + 1];
    struct reader reader = {text, text, reason, reason_size, {NULL, 0}};
    snprintf(reason, reason_size, "out of memory");
    int status = read_rest(&reader, name, 0);
    while (status == ORTE_SUCCESS && *reader.at == ',') {
        reader.at++;
        status = read_rest(&reader, name, 0);
    }
    if (status != ORTE_SUCCESS) {
        hostlist_fini(&reader.list);
        return status;
    }
    *list = reader.list;
    return ORTE_SUCCESS;
}

void hostlist_fini(struct hostlist *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        free(list->names[i]);
    }
    free(list->names);
    *list = (struct hostlist){0};
}

/* "4", or "4(x2)" for twice 4. */
static int read_repeated(struct reader *reader, uint64_t *number, uint64_t *times)
{
    int ignored;
    *times = 1;
    int status = read_number(reader, number, &ignored);
    if (status != ORTE_SUCCESS || *reader->at != '(') {
        return status;
    }
    if (reader->at[1] != 'x') {
        return wrong(reader, "(xTIMES) is needed");
    }
    reader->at += 2;
    status = read_number(reader, times, &ignored);
    if (status == ORTE_SUCCESS && *reader->at != ')') {
        status = wrong(reader, "')' is needed");
    }
    reader->at += status == ORTE_SUCCESS;
    return status;
}

int hostlist_numbers(uint32_t *numbers, uint32_t count, uint32_t max, const char *text,
                     char *reason, size_t reason_size)
{
    struct reader reader = {text, text, reason, reason_size, {NULL, 0}};
    for (uint32_t filled = 0;;) {
        uint64_t number, times;
        int status = read_repeated(&reader, &number, &times);
        if (status != ORTE_SUCCESS) {
            return status;
        }
        if (number == 0 || number > max) {
            return wrong(&reader, "a number from 1 to %u is needed", max);
        }
        if (times == 0 || times > count - filled) {
            return wrong(&reader, "numbers for %u nodes are needed", count);
        }
        while (times-- > 0) {
            numbers[filled++] = (uint32_t) number;
        }
        if (filled == count && !*reader.at) {
            return ORTE_SUCCESS;
        }
        if (filled == count || *reader.at != ',') {
            return wrong(&reader, "numbers for %u nodes, with commas between them, are needed",
                         count);
        }
        reader.at++;
    }
}

/* --- writing --- */

/* A name that ends with a number that can be counted on from. */
struct numbered {
    size_t prefix; /* characters before the number */
    int width;     /* of the number; 0: there is none */
    uint64_t number;
};

static struct numbered split(const char *name)
{
    size_t size = strlen(name);
    struct numbered split = {size, 0, 0};
    while (split.prefix > 0 && is_digit(name[split.prefix - 1]) && split.width < DIGITS_MAX) {
        split.prefix--;
        split.width++;
    }
    if (split.width > 0) {
        split.number = strtoull(name + split.prefix, NULL, 10);
    }
    return split;
}

/* Whether the name is this prefix with this number behind it. */
static bool is_numbered(const char *name, const char *prefix, const struct numbered *like,
                        uint64_t number)
{
    char digits[32];
    snprintf(digits, sizeof(digits), "%0*llu", like->width, (unsigned long long) number);
    return strncmp(name, prefix, like->prefix) == 0 && strcmp(name + like->prefix, digits) == 0;
}

/* Whether the name is this prefix and digits. */
static bool has_prefix(const char *name, const char *prefix, size_t size)
{
    struct numbered own = split(name);
    return own.width > 0 && own.prefix == size && strncmp(name, prefix, size) == 0;
}

static bool append(struct bytes *text, const char *format, ...) KEEL_PRINTF(2, 3);

static bool append(struct bytes *text, const char *format, ...)
{
    char part[2 * HOSTLIST_NAME_MAX];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(part, sizeof(part), format, arguments);
    va_end(arguments);
    return size >= 0 && (size_t) size < sizeof(part) && bytes_append(text, part, (size_t) size);
}

/* Writes names[from] and those behind it that are one range with it. Returns how many; 0: no
 * memory. */
static uint32_t print_range(struct bytes *text, const char *const *names, uint32_t count)
{
    struct numbered first = split(names[0]);
    uint32_t size = 1;
    while (size < count && is_numbered(names[size], names[0], &first, first.number + size)) {
        size++;
    }
    bool done = append(text, "%s", names[0] + first.prefix) &&
                (size == 1 || append(text, "-%s", names[size - 1] + first.prefix));
    return done ? size : 0;
}

/* The same for all ranges of names[0]'s prefix. */
static uint32_t print_group(struct bytes *text, const char *const *names, uint32_t count)
{
    struct numbered first = split(names[0]);
    bool alone = first.width == 0 || count == 1 || !has_prefix(names[1], names[0], first.prefix);
    if (alone) {
        return append(text, "%s", names[0]) ? 1 : 0;
    }
    uint32_t size = 0;
    bool done = append(text, "%.*s[", (int) first.prefix, names[0]);
    while (done && size < count && has_prefix(names[size], names[0], first.prefix)) {
        done = size == 0 || append(text, ",");
        uint32_t more = done ? print_range(text, names + size, count - size) : 0;
        done = more > 0;
        size += more;
    }
    return done && append(text, "]") ? size : 0;
}

char *hostlist_print(const char *const *names, uint32_t count)
{
    struct bytes text = {0};
    bool done = true;
    for (uint32_t i = 0; i < count && done;) {
        done = i == 0 || append(&text, ",");
        uint32_t more = done ? print_group(&text, names + i, count - i) : 0;
        done = more > 0;
        i += more;
    }
    char *out = done && bytes_append(&text, "", 1) ? strdup(text.data + text.head) : NULL;
    bytes_fini(&text);
    return out;
}
