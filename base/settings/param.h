/* Parameters: each is a row with type, default, range, unit and help, in the file that uses it. A
 * value comes from, in this order: param_override (keelrun's
 * --mca), the environment (KEEL_MCA_NAME), ~/.config/keel/keel.conf, /etc/keel/keel.conf, the
 * default. A value that does not fit is reported once, with its source, and the default holds;
 * unless somebody demands that it fits (param_demand).
 *
 * Sizes accept k, m, g (1024s); times are plain numbers in the unit that the name ends with;
 * booleans accept 0/1, true/false, yes/no, on/off. Any thread; values do not change once read,
 * until param_forget. */
#ifndef BASE_PARAM_H
#define BASE_PARAM_H

#include <base/settings/param_file.h>
#include <keel/types.h>
#include <limits.h>

/* A parameter is a row, alone or in a table, which is a struct of rows:
 *
 *   static struct {
 *       struct param links, rcvbuf;
 *   } params = {
 *       .links = PARAM_INT("btl_tcp_links", "0", 0, 8, "links", "Links to a peer."),
 *       .rcvbuf = PARAM_SIZE("btl_tcp_rcvbuf", "0", 0, 1 << 30, "Receive buffer of a socket."),
 *   };
 *   PARAM_ROWS("btl", params);
 *   links = param_int(&params.links);
 *
 * min and max both 0: any, but a size is never negative. unit: "ms", "ranks", ..., or "". help: one
 * sentence. Names and defaults are literals: a lint reads them from the sources. */
#define PARAM_INT(name_, default_, min_, max_, unit_, help_)                                       \
    {                                                                                              \
        .name = name_, .type = PARAM_TYPE_INT, .default_text = default_, .min = min_, .max = max_, \
        .unit = unit_, .help = help_                                                               \
    }
#define PARAM_SIZE(name_, default_, min_, max_, help_)                                 \
    {                                                                                  \
        .name = name_, .type = PARAM_TYPE_SIZE, .default_text = default_, .min = min_, \
        .max = max_, .unit = "bytes", .help = help_                                    \
    }
#define PARAM_BOOL(name_, default_, help_)                                              \
    {                                                                                   \
        .name = name_, .type = PARAM_TYPE_BOOL, .default_text = default_, .help = help_ \
    }
#define PARAM_STRING(name_, default_, help_)                                              \
    {                                                                                     \
        .name = name_, .type = PARAM_TYPE_STRING, .default_text = default_, .help = help_ \
    }
/* choices: NULL-ended; the value is the index. Where "yes" and "no" are among them, the other words
 * of a bool are, too. */
#define PARAM_ENUM(name_, default_, choices_, help_)                                           \
    {                                                                                          \
        .name = name_, .type = PARAM_TYPE_ENUM, .default_text = default_, .choices = choices_, \
        .help = help_                                                                          \
    }
/* A parameter that several rooms have by different names: type, range, unit and choices are those
 * of the row like, and so is help where it is NULL. */
#define PARAM_LIKE(name_, default_, like_, help_)                             \
    {                                                                         \
        .name = name_, .default_text = default_, .help = help_, .like = like_ \
    }

enum param_type {
    PARAM_TYPE_INT,
    PARAM_TYPE_SIZE,
    PARAM_TYPE_BOOL,
    PARAM_TYPE_STRING,
    PARAM_TYPE_ENUM,
};

struct param {
    const char *name;
    enum param_type type;
    const char *default_text;
    int64_t min, max;
    const char *const *choices;
    const char *unit, *help;
    const struct param *like;
    /* filled when it is read */
    struct param *next_;
    bool resolved_;
    int64_t number_;
    char *text_;
    const char *source_; /* where the value was found */
    unsigned line_;      /* of that file, or 0 */
    char *complaint_;    /* why a value that was found does not fit; NULL: it does */
};

/* Behind the definition of a row, an array or a table: names it to keel_params_each and
 * param_demand, with the room that it belongs to. It costs a process that lists none nothing. */
#define PARAM_ROWS(room_, rows_)                                                                   \
    static const struct param_rows rows_##_rows = {room_, (struct param *) &(rows_),               \
                                                   sizeof(rows_) / sizeof(struct param)};          \
    static const struct param_rows *rows_##_listed __attribute__((section("keel_params"), used)) = \
        &rows_##_rows
struct param_rows {
    const char *room;
    struct param *rows;
    size_t count;
};

int64_t param_int(struct param *param); /* INT, SIZE, BOOL, ENUM */
bool param_bool(struct param *param);
const char *param_string(struct param *param); /* never NULL; valid until param_forget */
/* For parameters that must not be replaced by their defaults: looks at all rows of this program or
 * library that begin with prefix and are wanted (NULL: all are), and reads none. One whose value
 * does not fit is ORTE_ERR_BAD_PARAM with the reason, without a warning. */
int param_demand(const char *prefix, bool (*wanted)(const char *name, const void *arg),
                 const void *arg, char *reason, size_t size) KEEL_MUST_CHECK;
/* The same for one row; the complaint becomes "" where it fits. */
bool param_fits(struct param *param, char *complaint, size_t size) KEEL_MUST_CHECK;

/* Sets a value from the command line, before the parameter is first read; the last call counts.
 * Names of no row are kept (they may be another program's). ORTE_ERR_BAD_PARAM: not a parameter's
 * name, or a value of more than 4095 characters; ORTE_ERR_RESOURCE_BUSY: another one was read. */
int param_override(const char *name, const char *value) KEEL_MUST_CHECK;
/* Somebody gave it a value, which need not fit: on the command line, in the environment, in a file.
 */
bool param_is_set(const char *name);
/* What a parameter is, or will be when it is read: its value, where that is from ("default",
 * "command line", "environment", "FILE:LINE"), and why one that was given does not fit, or "".
 * Reads nothing, but completes a row that is like another. */
#define PARAM_SOURCE_MAX (PATH_MAX + 16) /* bytes of FILE:LINE */
struct param_state {
    char value[PARAM_VALUE_MAX + 1], source[PARAM_SOURCE_MAX], complaint[512];
};
void param_inspect(struct param *param, struct param_state *state);
/* Visits every name that has a value in the environment or a file, whether or not it is a
 * parameter's; where: "environment", or "FILE:LINE". */
void param_each_given(void (*visit)(void *arg, const char *where, const char *name), void *arg);
/* Forgets all values that were read, and the files: for a process that begins anew, in another
 * environment. What param_override has set stays. No thread may use parameters, and no string of
 * theirs is valid any more. */
void param_forget(void);
/* For tests, before the first parameter is read: other files in place of the two; NULL: none. */
void param_set_files(const char *user, const char *system);

/* Parses by the rules above; ORTE_ERR_BAD_PARAM or VALUE_OUT_OF_BOUNDS. */
int param_parse_int(const char *text, bool is_size, int64_t min, int64_t max,
                    int64_t *value) KEEL_MUST_CHECK;
/* The same for another room's parameter. ORTE_ERR_BAD_PARAM: the value does not
 * fit; reason says what would. */
int param_check(const struct param *param, const char *text, char *reason,
                size_t size) KEEL_MUST_CHECK;
int param_parse_bool(const char *text, bool *value) KEEL_MUST_CHECK;

#endif
