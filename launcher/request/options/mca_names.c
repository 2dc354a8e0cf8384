#include <config.h>

#include <base/settings/log.h>
#include <base/settings/param.h>
#include <launcher/request/options/mca_names.h>
#include <launcher/request/suggest.h>
#include <stdio.h>
#include <string.h>

#include <launcher/request/options/mca_table.inc>

#define UNKNOWN "no parameter has this name"
enum { SHORTEST = 8 /* shorter names are like too many others */ };

static const struct known *find(const char *name)
{
    for (size_t i = 0; i < sizeof(keels) / sizeof(*keels); i++) {
        if (strcmp(keels[i].name, name) == 0) {
            return &keels[i];
        }
    }
    return NULL;
}

static bool is_openmpis(const char *name)
{
    for (size_t i = 0; i < sizeof(openmpis) / sizeof(*openmpis); i++) {
        size_t star = strcspn(openmpis[i], "*");
        if (openmpis[i][star] ? strncmp(openmpis[i], name, star) == 0
                              : strcmp(openmpis[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static int check(const struct known *known, const char *value, char *reason, size_t size)
{
    enum { CHOICES_MAX = sizeof(known->choices) / sizeof(known->choices[0]) };
    const char *choices[CHOICES_MAX + 1] = {NULL};
    for (size_t i = 0; i < CHOICES_MAX && known->choices[i][0]; i++) {
        choices[i] = known->choices[i];
    }
    const struct param param = {.name = known->name,
                                .type = known->type,
                                .min = known->min,
                                .max = known->max,
                                .choices = choices};
    return param_check(&param, value, reason, size);
}

int mca_check(const char *name, const char *value, char *reason, size_t size)
{
    const struct known *known = find(name);
    return known && !is_openmpis(name) ? check(known, value, reason, size) : ORTE_SUCCESS;
}

/* The first two words of a name: "btl_tcp" of btl_tcp_links. 0: it has one only. */
static size_t kind_of(const char *name)
{
    size_t first = strcspn(name, "_");
    return name[first] ? first + 1 + strcspn(name + first + 1, "_") : 0;
}

static bool is_of_kind(const char *name, const char *kind, size_t size)
{
    return size && strncmp(name, kind, size) == 0 && (!name[size] || name[size] == '_');
}

static bool has_word(const char *name, const char *word, size_t size)
{
    for (; *name; name += strcspn(name, "_"), name += *name == '_') {
        if (strcspn(name, "_") == size && strncmp(name, word, size) == 0) {
            return true;
        }
    }
    return false;
}

static size_t words_in_common(const char *name, const char *other)
{
    size_t count = 0;
    for (size_t size; *name; name += size, name += *name == '_') {
        size = strcspn(name, "_");
        count += has_word(other, name, size);
    }
    return count;
}

/* Those of its kind that have the most words of the name. */
static bool name_kind(const char *name, char *text, size_t size)
{
    enum { SHOWN = 4 };
    size_t kind = kind_of(name), most = 0, count = 0, used = 0;
    for (size_t i = 0; i < sizeof(keels) / sizeof(*keels); i++) {
        const char *other = keels[i].name;
        size_t common = is_of_kind(other, name, kind) ? words_in_common(name, other) : 0;
        if (common == 0 || common < most) {
            continue;
        }
        count = common > most ? 0 : count;
        used = count ? used : (size_t) snprintf(text, size, UNKNOWN "; the nearest:");
        if (used < size && count <= SHOWN) {
            used += (size_t) snprintf(text + used, size - used, "%s %s", count ? "," : "",
                                      count < SHOWN ? other : "...");
        }
        most = common;
        count++;
    }
    return most > 0;
}

bool mca_is_unknown(const char *name, char *text, size_t size)
{
    struct suggestion near = {name, strlen(name), SUGGEST_NEVER, NULL};
    if (near.size < SHORTEST || find(name) || is_openmpis(name)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(keels) / sizeof(*keels); i++) {
        suggest_look(&near, keels[i].name);
    }
    if (near.nearest) {
        snprintf(text, size, UNKNOWN "; was %s meant?", near.nearest);
    }
    return near.nearest || name_kind(name, text, size);
}

static void check_given(void *arg, const char *where, const char *name)
{
    char why[MCA_WHY_MAX];
    (void) arg;
    if (mca_is_unknown(name, why, sizeof(why))) {
        log_warn(LOG_LAUNCHER, "%s: %s: %s", where, name, why);
    }
}

void mca_check_given(void)
{
    param_each_given(check_given, NULL);
}
