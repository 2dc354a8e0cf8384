#include <config.h>

#include <base/settings/log.h>
#include <base/settings/param.h>
#include <base/settings/param_file.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define SYSTEM_FILE "/etc/keel/keel.conf"
#define ENV_PREFIX "KEEL_MCA_"

struct override {
    struct override *next;
    char *value;
    char name[];
};

/* Where a value was found. */
struct found {
    const char *text;   /* borrowed from the environment, an override or a file */
    const char *source; /* a literal, or a file's path */
    unsigned line;      /* of a file, else 0 */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Guarded by lock. */
static struct param *params; /* that were read */
static struct override *overrides;

static pthread_once_t files_once = PTHREAD_ONCE_INIT;
/* Written before and inside files_once, then constant until param_forget. */
static struct param_file user_file, system_file;
static bool files_replaced;

/* ---- texts to values ---- */

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t")] == '\0';
}

/* 1, 1024, ... for what stands behind a number; 0: not a unit. */
static int64_t unit_factor(const char *text, bool is_size)
{
    text += strspn(text, " \t");
    if (!*text) {
        return 1;
    }
    if (!is_size || !is_blank(text + 1)) {
        return 0;
    }
    switch (*text) {
    case 'k':
    case 'K':
        return INT64_C(1) << 10;
    case 'm':
    case 'M':
        return INT64_C(1) << 20;
    case 'g':
    case 'G':
        return INT64_C(1) << 30;
    default:
        return 0;
    }
}

int param_parse_int(const char *text, bool is_size, int64_t min, int64_t max, int64_t *value)
{
    text += strspn(text, " \t");
    const char *digits = text + (*text == '-' || *text == '+');
    if (!isdigit((unsigned char) *digits)) {
        return ORTE_ERR_BAD_PARAM;
    }
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    bool overflow = errno == ERANGE;
    int64_t factor = unit_factor(end, is_size);
    if (factor == 0) {
        return ORTE_ERR_BAD_PARAM;
    }
    int64_t product;
    if (overflow || __builtin_mul_overflow((int64_t) number, factor, &product) || product < min ||
        product > max) {
        return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    *value = product;
    return ORTE_SUCCESS;
}

int param_parse_bool(const char *text, bool *value)
{
    static const char *const yes[] = {"1", "true", "yes", "on"};
    static const char *const no[] = {"0", "false", "no", "off"};
    for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++) {
        if (strcasecmp(text, yes[i]) == 0) {
            *value = true;
            return ORTE_SUCCESS;
        }
        if (strcasecmp(text, no[i]) == 0) {
            *value = false;
            return ORTE_SUCCESS;
        }
    }
    return ORTE_ERR_BAD_PARAM;
}

/* "off" is as good as "no" where that is a choice. */
static bool is_choice(const char *choice, const char *text)
{
    bool a, b;

    return strcasecmp(text, choice) == 0 || (param_parse_bool(choice, &a) == ORTE_SUCCESS &&
                                             param_parse_bool(text, &b) == ORTE_SUCCESS && a == b);
}

static int parse_enum(const struct param *param, const char *text, int64_t *value)
{
    for (int i = 0; param->choices && param->choices[i]; i++) {
        if (is_choice(param->choices[i], text)) {
            *value = i;
            return ORTE_SUCCESS;
        }
    }
    return ORTE_ERR_BAD_PARAM;
}

static void param_range(const struct param *param, int64_t *min, int64_t *max)
{
    bool any = param->min == 0 && param->max == 0;
    *min = !any ? param->min : param->type == PARAM_TYPE_SIZE ? 0 : INT64_MIN;
    *max = !any ? param->max : INT64_MAX;
}

static int parse_value(const struct param *param, const char *text, int64_t *number)
{
    int64_t min, max;
    bool flag;
    int rc;
    switch (param->type) {
    case PARAM_TYPE_INT:
    case PARAM_TYPE_SIZE:
        param_range(param, &min, &max);
        return param_parse_int(text, param->type == PARAM_TYPE_SIZE, min, max, number);
    case PARAM_TYPE_BOOL:
        rc = param_parse_bool(text, &flag);
        if (rc == ORTE_SUCCESS) {
            *number = flag;
        }
        return rc;
    case PARAM_TYPE_ENUM:
        return parse_enum(param, text, number);
    case PARAM_TYPE_STRING:
        *number = 0;
        return strlen(text) <= PARAM_VALUE_MAX ? ORTE_SUCCESS : ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    return ORTE_ERR_BAD_PARAM;
}

/* ---- sources ---- */

static void read_files(void)
{
    if (files_replaced) {
        return;
    }
    char path[PATH_MAX];
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    int length = -1;
    if (config && *config == '/') { /* a relative one is to be ignored */
        length = snprintf(path, sizeof(path), "%s/keel/keel.conf", config);
    } else if (home && *home == '/') {
        length = snprintf(path, sizeof(path), "%s/.config/keel/keel.conf", home);
    }
    if (length > 0 && (size_t) length < sizeof(path)) {
        param_file_read(&user_file, path);
    }
    param_file_read(&system_file, SYSTEM_FILE);
}

void param_set_files(const char *user, const char *system)
{
    files_replaced = true;
    if (user) {
        param_file_read(&user_file, user);
    }
    if (system) {
        param_file_read(&system_file, system);
    }
}

static struct override *find_override_locked(const char *name)
{
    struct override *override = overrides;
    while (override && strcmp(override->name, name) != 0) {
        override = override->next;
    }
    return override;
}

static bool find_in_file(const struct param_file *file, const char *name, struct found *found)
{
    const struct param_line *line = param_file_find(file, name);
    if (line) {
        *found = (struct found){line->value, file->path, line->number};
    }
    return line;
}

static void find_value_locked(const char *name, struct found *found)
{
    *found = (struct found){NULL, "default", 0};
    struct override *override = find_override_locked(name);
    if (override) {
        *found = (struct found){override->value, "command line", 0};
        return;
    }
    char variable[sizeof(ENV_PREFIX) + PARAM_NAME_MAX];
    snprintf(variable, sizeof(variable), ENV_PREFIX "%s", name);
    const char *value = getenv(variable);
    if (value) {
        *found = (struct found){value, "environment", 0};
    } else if (!find_in_file(&user_file, name, found)) {
        find_in_file(&system_file, name, found);
    }
}

/* ---- values ---- */

static void inherit(struct param *param)
{
    const struct param *like = param->like;
    if (like) {
        param->type = like->type;
        param->min = like->min;
        param->max = like->max;
        param->choices = like->choices;
        param->unit = like->unit;
        param->help = param->help ? param->help : like->help;
    }
}

/* What a value of this parameter looks like. */
static void describe(char *text, size_t size, const struct param *param)
{
    int64_t min, max;
    bool sized = param->type == PARAM_TYPE_SIZE;
    param_range(param, &min, &max);
    if (param->type == PARAM_TYPE_BOOL) {
        snprintf(text, size, "yes or no is wanted");
    } else if (param->type == PARAM_TYPE_STRING) {
        snprintf(text, size, "at most %d characters are wanted", PARAM_VALUE_MAX);
    } else if (param->type == PARAM_TYPE_ENUM) {
        size_t used = 0;
        for (int i = 0; param->choices[i] && used < size; i++) {
            used += (size_t) snprintf(text + used, size - used, "%s%s", i ? ", " : "one of ",
                                      param->choices[i]);
        }
        used = used < size ? used : size - 1;
        snprintf(text + used, size - used, " is wanted");
    } else if (min == INT64_MIN && max == INT64_MAX) {
        snprintf(text, size, "a whole number is wanted");
    } else {
        snprintf(text, size, "a %s from %lld to %lld is wanted%s", sized ? "size" : "whole number",
                 (long long) min, (long long) max, sized ? " (k, m or g may stand behind it)" : "");
    }
}

/* ":12" behind a file's name, "" behind other sources. */
static const char *print_line(char text[16], const struct found *found)
{
    text[0] = '\0';
    if (found->line) {
        snprintf(text, 16, ":%u", found->line);
    }
    return text;
}

static void explain(char *text, size_t size, const struct param *param, const struct found *found)
{
    char line[16], wanted[256];
    describe(wanted, sizeof(wanted), param);
    snprintf(text, size, "%s%s: %s = %.64s%s: %s", found->source, print_line(line, found),
             param->name, found->text, strlen(found->text) > 64 ? "..." : "", wanted);
}

int param_check(const struct param *param, const char *text, char *reason, size_t size)
{
    char wanted[256];
    int64_t number;
    if (parse_value(param, text, &number) == ORTE_SUCCESS) {
        return ORTE_SUCCESS;
    }
    describe(wanted, sizeof(wanted), param);
    snprintf(reason, size, "%s %.64s%s: %s", param->name, text, strlen(text) > 64 ? "..." : "",
             wanted);
    return ORTE_ERR_BAD_PARAM;
}

/* The parameter's value: what was given, if that fits, else the default. complaint (of size bytes)
 * becomes why what was given does not fit, or "". */
static struct found choose_locked(const struct param *param, int64_t *number, char *complaint,
                                  size_t size)
{
    struct found found;
    *number = 0;
    complaint[0] = '\0';
    find_value_locked(param->name, &found);
    if (found.text && parse_value(param, found.text, number) != ORTE_SUCCESS) {
        explain(complaint, size, param, &found);
        found.text = NULL;
    }
    if (!found.text) {
        found = (struct found){param->default_text, "default", 0};
        if (parse_value(param, found.text, number) != ORTE_SUCCESS) {
            snprintf(complaint, size, "the parameter %s has a bad default", param->name);
        }
    }
    return found;
}

static char nothing[] = ""; /* the text of a string that there was no memory for */

static void resolve_locked(struct param *param, char *complaint, size_t size)
{
    inherit(param);
    struct found found = choose_locked(param, &param->number_, complaint, size);
    char *text = strdup(found.text);
    param->text_ = text ? text : nothing;
    param->source_ = found.source;
    param->line_ = found.line;
    param->complaint_ = *complaint ? strdup(complaint) : NULL;
    param->next_ = params;
    params = param;
    __atomic_store_n(&param->resolved_, true, __ATOMIC_RELEASE);
}

static void resolve(struct param *param)
{
    if (__atomic_load_n(&param->resolved_, __ATOMIC_ACQUIRE)) {
        return;
    }
    char complaint[512] = "";
    pthread_once(&files_once, read_files);
    pthread_mutex_lock(&lock);
    if (!param->resolved_) {
        resolve_locked(param, complaint, sizeof(complaint));
    }
    pthread_mutex_unlock(&lock);
    if (*complaint) {
        log_warn(LOG_BASE, "%s; using \"%s\"", complaint, param->default_text);
    }
}

void param_forget(void)
{
    while (params) {
        struct param *param = params;
        params = param->next_;
        if (param->text_ != nothing) {
            free(param->text_);
        }
        free(param->complaint_);
        param->complaint_ = NULL;
        param->resolved_ = false;
    }
    if (!files_replaced) {
        param_file_fini(&user_file);
        param_file_fini(&system_file);
        files_once = (pthread_once_t) PTHREAD_ONCE_INIT;
    }
}

/* What the parameter is, or will be when it is read; complaint as before. */
static struct found foresee_locked(const struct param *param, char *complaint, size_t size)
{
    int64_t number;
    if (!param->resolved_) {
        return choose_locked(param, &number, complaint, size);
    }
    snprintf(complaint, size, "%s", param->complaint_ ? param->complaint_ : "");
    return (struct found){param->text_, param->source_, param->line_};
}

bool param_fits(struct param *param, char *complaint, size_t size)
{
    pthread_once(&files_once, read_files);
    pthread_mutex_lock(&lock);
    inherit(param);
    (void) foresee_locked(param, complaint, size);
    pthread_mutex_unlock(&lock);
    return !*complaint;
}

int64_t param_int(struct param *param)
{
    resolve(param);
    return param->number_;
}

bool param_bool(struct param *param)
{
    return param_int(param) != 0;
}

const char *param_string(struct param *param)
{
    resolve(param);
    return param->text_;
}

static const struct param *find_resolved_locked(const char *name)
{
    const struct param *param = params;
    while (param && strcmp(param->name, name) != 0) {
        param = param->next_;
    }
    return param;
}

void param_inspect(struct param *param, struct param_state *state)
{
    char line[16];
    pthread_once(&files_once, read_files);
    pthread_mutex_lock(&lock);
    inherit(param);
    struct found found = foresee_locked(param, state->complaint, sizeof(state->complaint));
    snprintf(state->value, sizeof(state->value), "%s", found.text);
    snprintf(state->source, sizeof(state->source), "%s%s", found.source, print_line(line, &found));
    pthread_mutex_unlock(&lock);
}

bool param_is_set(const char *name)
{
    struct found found;
    pthread_once(&files_once, read_files);
    pthread_mutex_lock(&lock);
    find_value_locked(name, &found);
    pthread_mutex_unlock(&lock);
    return found.text != NULL;
}

static void visit_environment(void (*visit)(void *arg, const char *where, const char *name),
                              void *arg)
{
    const size_t prefix = sizeof(ENV_PREFIX) - 1;
    for (char **variable = environ; variable && *variable; variable++) {
        char name[PARAM_NAME_MAX + 1];
        size_t size = strcspn(*variable, "=");
        if (strncmp(*variable, ENV_PREFIX, prefix) != 0 || size - prefix > PARAM_NAME_MAX) {
            continue;
        }
        snprintf(name, sizeof(name), "%.*s", (int) (size - prefix), *variable + prefix);
        if (param_name_ok(name)) {
            visit(arg, "environment", name);
        }
    }
}

void param_each_given(void (*visit)(void *arg, const char *where, const char *name), void *arg)
{
    const struct param_file *files[] = {&user_file, &system_file};
    pthread_once(&files_once, read_files);
    visit_environment(visit, arg);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        for (size_t j = 0; j < files[i]->count; j++) {
            const struct param_line *line = &files[i]->lines[j];
            char where[PARAM_SOURCE_MAX];
            snprintf(where, sizeof(where), "%s:%u", files[i]->path, line->number);
            visit(arg, where, line->name);
        }
    }
}

/* Takes value on success. */
static int override_locked(const char *name, char *value)
{
    const struct param *resolved = find_resolved_locked(name);
    if (resolved && strcmp(resolved->text_, value) != 0) {
        return ORTE_ERR_RESOURCE_BUSY;
    }
    struct override *override = find_override_locked(name);
    if (!override) {
        size_t length = strlen(name);
        override = calloc(1, sizeof(*override) + length + 1);
        if (!override) {
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
        memcpy(override->name, name, length);
        override->next = overrides;
        overrides = override;
    }
    free(override->value);
    override->value = value;
    return ORTE_SUCCESS;
}

int param_override(const char *name, const char *value)
{
    if (!param_name_ok(name) || strlen(value) > PARAM_VALUE_MAX) {
        return ORTE_ERR_BAD_PARAM;
    }
    char *copy = strdup(value);
    if (!copy) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    pthread_mutex_lock(&lock);
    int rc = override_locked(name, copy);
    pthread_mutex_unlock(&lock);
    if (rc != ORTE_SUCCESS) {
        free(copy);
    }
    return rc;
}
