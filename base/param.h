/* The parameter registry: every parameter is registered once, with type, default, range, unit and
 * help, by the file that uses it. A value comes from, in this order: param_override (keelrun's
 * --mca), the environment (KEEL_MCA_NAME), ~/.config/keel/keel.conf, /etc/keel/keel.conf, the
 * default. A value that does not fit is reported once, with its source, and the default holds;
 * unless somebody demands that it fits (param_demand).
 *
 * Sizes accept k, m, g (1024s); times are plain numbers in the unit that the name ends with;
 * booleans accept 0/1, true/false, yes/no, on/off. Any thread; values do not change once read. */
#ifndef BASE_PARAM_H
#define BASE_PARAM_H

#include <keel/types.h>

enum param_type { PARAM_INT, PARAM_SIZE, PARAM_BOOL, PARAM_STRING, PARAM_ENUM };

struct param {
    const char *name;
    enum param_type type;
    const char *default_text;
    int64_t min, max; /* PARAM_INT and PARAM_SIZE; both 0: any (a size is never negative) */
    const char *const *choices; /* PARAM_ENUM: NULL-ended; the value is the index */
    const char *unit;           /* "", "bytes", "ms", ... */
    const char *help;           /* one sentence */
    /* filled by the registry */
    struct param *next_;
    bool resolved_;
    int64_t number_;
    char *text_;
    char *complaint_;    /* why a value that was found does not fit; NULL: it does */
    const char *source_; /* "default", "environment", "command line" or a file's name */
};

/* Adds a static struct param; a second call with the same one is a no-op. Called by the getters. */
void param_register(struct param *param);
int64_t param_int(struct param *param); /* INT, SIZE, BOOL, ENUM */
bool param_bool(struct param *param);
const char *param_string(struct param *param); /* never NULL; lives as long as the process */
/* Where the value came from: "default", "environment", ... */
const char *param_source(struct param *param);
/* For parameters that must not be replaced by their defaults: looks at all that are registered and
 * begin with prefix, and reads none. One whose value does not fit is ORTE_ERR_BAD_PARAM with the
 * reason, without a warning. */
int param_demand(const char *prefix, char *reason, size_t size) KEEL_MUST_CHECK;

/* Sets a value from the command line, before the parameter is first read; the last call counts.
 * Names that nobody registers are kept (they may be another program's). ORTE_ERR_BAD_PARAM: not a
 * parameter's name, or a value of more than 4095 characters; ORTE_ERR_RESOURCE_BUSY: another one
 * was read.
 */
int param_override(const char *name, const char *value) KEEL_MUST_CHECK;
/* Somebody gave it a value, which need not fit: on the command line, in the environment, in a file.
 */
bool param_is_set(const char *name);
/* Visits every name that has a value in the environment or a file, whether or not it is a
 * parameter's; where: "environment", or "FILE:LINE". */
void param_each_given(void (*visit)(void *arg, const char *where, const char *name), void *arg);
/* For tests, before the first parameter is read: other files in place of the two; NULL: none. */
void param_set_files(const char *user, const char *system);
/* Walks all registered parameters, sorted by name. */
void param_each(void (*visit)(struct param *param, void *arg), void *arg);

/* Parses by the rules above without a registry; ORTE_ERR_BAD_PARAM or VALUE_OUT_OF_BOUNDS. */
int param_parse_int(const char *text, bool is_size, int64_t min, int64_t max,
                    int64_t *value) KEEL_MUST_CHECK;
/* The same for a parameter that is registered elsewhere. ORTE_ERR_BAD_PARAM: the value does not
 * fit; reason says what would. */
int param_check(const struct param *param, const char *text, char *reason,
                size_t size) KEEL_MUST_CHECK;
int param_parse_bool(const char *text, bool *value) KEEL_MUST_CHECK;

#endif
