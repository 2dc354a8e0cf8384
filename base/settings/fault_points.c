#include <config.h>

#include <base/settings/fault_points.h>
#include <stdio.h>
#include <string.h>

#ifdef OFFER_PMIX
#define LACKS_PMIX NULL
#else
#define LACKS_PMIX "PMIx"
#endif

enum {
    ERROR = 1u << FAULT_ERROR,
    DROP = 1u << FAULT_DROP,
    SHORT = 1u << FAULT_SHORT,
    DUPLICATE = 1u << FAULT_DUPLICATE,
    REORDER = 1u << FAULT_REORDER,
    CORRUPT = 1u << FAULT_CORRUPT,
    CALL = ERROR | DROP | DUPLICATE | 1u << FAULT_EARLY,
};

/* What begins alike stands together, a row on each line. */
/* clang-format off */
static const struct fault_point points[] = {
    {"btl.any.alloc", ERROR, NULL},
    {"btl.any.atomic", CALL, NULL},
    {"btl.any.get", CALL, NULL},
    {"btl.any.put", CALL, NULL},
    {"btl.any.register", ERROR, NULL},
    {"btl.any.send", CALL, NULL},
#include <base/settings/transport_points.inc>
    {"launcher.check", ERROR, NULL},
    {"launcher.launch", ERROR, NULL},
    {"launcher.pmix", ERROR, LACKS_PMIX},
    {"launcher.spawn", ERROR, NULL},
    {"launcher.topology", ERROR | DROP, NULL},
    {"oob.accept", ERROR | DROP, NULL},
    {"oob.connect", ERROR | DROP, NULL},
    {"oob.recv", ERROR | SHORT, NULL},
    {"oob.send", ERROR | SHORT, NULL},
    {"ptl.rail.answer", ERROR, NULL},
    {"ptl.rail.message", ERROR, NULL},
    {"rml.frame", DROP, NULL},
};
/* clang-format on */
enum { POINTS = sizeof(points) / sizeof(*points) };

const struct fault_point *fault_point_find(const char *name)
{
    for (size_t i = 0; i < POINTS; i++) {
        if (strcmp(points[i].name, name) == 0) {
            return &points[i];
        }
    }
    return NULL;
}

bool fault_point_knows(const struct fault_point *point, enum fault_action action)
{
    return action == FAULT_DELAY || action == FAULT_KILL || (point->actions >> action & 1);
}

/* The bytes of a name up to its last dot among the first size, that dot included; 0: none. */
static size_t family_size(const char *name, size_t size)
{
    while (size > 0 && name[size - 1] != '.') {
        size--;
    }
    return size;
}

static void add(char *text, size_t size, const char *word, size_t length, bool first)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%.*s", first ? "" : ", ", (int) length, word);
}

static size_t list_like(const char *name, size_t length, char *text, size_t size)
{
    size_t count = 0;
    snprintf(text, size, "there are ");
    for (size_t i = 0; i < POINTS; i++) {
        if (strncmp(points[i].name, name, length) == 0) {
            add(text, size, points[i].name, strlen(points[i].name), count++ == 0);
        }
    }
    return count;
}

static void list_beginnings(char *text, size_t size)
{
    const char *last = "";
    snprintf(text, size, "points begin with ");
    for (size_t i = 0; i < POINTS; i++) {
        const char *name = points[i].name;
        size_t length = family_size(name, strlen(name));
        if (strncmp(name, last, length) != 0) {
            add(text, size, name, length, !*last);
            last = name;
        }
    }
}

void fault_points_near(const char *name, char *text, size_t size)
{
    size_t length = family_size(name, strlen(name));
    while (length > 0 && list_like(name, length, text, size) == 0) {
        length = family_size(name, length - 1);
    }
    if (length == 0) {
        list_beginnings(text, size);
    }
}
