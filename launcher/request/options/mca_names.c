#include <config.h>

#include <base/settings/log.h>
#include <base/settings/param.h>
#include <launcher/request/options/mca_names.h>
#include <launcher/request/suggest.h>
#include <string.h>

#include <launcher/request/options/mca_table.inc>

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

const char *mca_meant(const char *name)
{
    struct suggestion near = {name, strlen(name), SUGGEST_NEVER, NULL};
    if (near.size < SHORTEST || find(name) || is_openmpis(name)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(keels) / sizeof(*keels); i++) {
        suggest_look(&near, keels[i].name);
    }
    return near.nearest;
}

static void check_given(void *arg, const char *where, const char *name)
{
    const char *meant = mca_meant(name);
    (void) arg;
    if (meant) {
        log_warn(LOG_LAUNCHER, "%s: %s: no parameter has this name; was %s meant?", where, name,
                 meant);
    }
}

void mca_check_given(void)
{
    param_each_given(check_given, NULL);
}
