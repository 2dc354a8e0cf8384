/* What the options do: one function each, or one for several. */
#include <config.h>

#include <launcher/request/options/parser.h>

#include <base/data/strings.h>
#include <base/host/topo.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <base/settings/param_file.h>
#include <errno.h>
#include <launcher/request/options/help.h>
#include <launcher/request/options/mca_names.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMEOUT_MAX_S = 365 * 24 * 3600 };

bool parser_wrong(struct parser *parser, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(parser->reason, parser->reason_size, format, args);
    va_end(args);
    return false;
}

bool parser_no_memory(struct parser *parser)
{
    return parser_wrong(parser, "out of memory");
}

bool env_set(char ***env, const char *prefix, const char *name, size_t name_size, const char *value)
{
    char *entry;
    if (asprintf(&entry, "%s%.*s=%s", prefix, (int) name_size, name, value) < 0) {
        return false;
    }
    return strings_set(env, entry);
}

/* Values. */

bool parse_number(const char *text, uint32_t min, uint32_t max, uint32_t *number)
{
    char *end;
    if (text[0] < '0' || text[0] > '9') {
        return false;
    }
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || *end || value < min || value > max) {
        return false;
    }
    *number = (uint32_t) value;
    return true;
}

bool number_option(struct parser *parser, const char *option, const char *text, uint32_t max,
                   uint32_t *number)
{
    if (parse_number(text, 1, max, number)) {
        return true;
    }
    return parser_wrong(parser, "%s %s: a whole number from 1 to %u is needed", option, text, max);
}

bool apply_count(struct parser *parser, const char *option, char **values)
{
    return number_option(parser, option, values[0], RANKS_MAX, &parser->app->count);
}

bool apply_timeout(struct parser *parser, const char *option, char **values)
{
    return number_option(parser, option, values[0], TIMEOUT_MAX_S, &parser->request->timeout_s);
}

static bool name_valid(const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (name[i] <= ' ' || name[i] == 0x7f) {
            return false;
        }
    }
    return size > 0;
}

/* -x PREFIX*: everything of keelrun's own environment that begins so. */
static bool export_matching(struct parser *parser, const char *prefix, size_t size)
{
    for (char **entry = environ; *entry; entry++) {
        char *equals = strchr(*entry, '=');
        if (equals && strncmp(*entry, prefix, size) == 0 && (size_t) (equals - *entry) >= size &&
            !env_set(&parser->app->env, "", *entry, (size_t) (equals - *entry), equals + 1)) {
            return parser_no_memory(parser);
        }
    }
    return true;
}

bool apply_export(struct parser *parser, const char *option, char **values)
{
    const char *text = values[0];
    size_t size = strcspn(text, "=");
    if (!name_valid(text, size)) {
        return parser_wrong(parser, "%s '%s': NAME or NAME=VALUE is needed", option, text);
    }
    if (!text[size] && text[size - 1] == '*') {
        return export_matching(parser, text, size - 1);
    }
    const char *value = text[size] ? text + size + 1 : getenv(text);
    if (!value) {
        log_warn(LOG_LAUNCHER, "%s %s: there is no such variable in the environment", option, text);
        return true;
    }
    return env_set(&parser->app->env, "", text, size, value) || parser_no_memory(parser);
}

/* -genv NAME VALUE and, of one program, -env */
static bool set_env(struct parser *parser, char ***env, const char *option, char **values)
{
    if (!name_valid(values[0], strlen(values[0])) || strchr(values[0], '=')) {
        return parser_wrong(parser, "%s '%s': NAME VALUE is needed", option, values[0]);
    }
    return env_set(env, "", values[0], strlen(values[0]), values[1]) || parser_no_memory(parser);
}

bool apply_env(struct parser *parser, const char *option, char **values)
{
    return set_env(parser, &parser->app->env, option, values);
}

bool apply_genv(struct parser *parser, const char *option, char **values)
{
    return set_env(parser, &parser->genv, option, values);
}

/* NAME,NAME,...: with keelrun's own values. */
static bool set_envlist(struct parser *parser, char ***env, const char *option, const char *names)
{
    for (;;) {
        size_t size = strcspn(names, ",");
        char *name = strndup(names, size);
        const char *value = name ? getenv(name) : NULL;
        bool right = name_valid(names, size) && !memchr(names, '=', size);
        bool set = !right || !value || env_set(env, "", name, size, value);
        if (right && name && !value) {
            log_warn(LOG_LAUNCHER, "%s %s: there is no such variable in the environment", option,
                     name);
        }
        free(name);
        if (!right) {
            return parser_wrong(parser, "%s '%s': NAME,NAME,... is needed", option, names);
        }
        if (!set || !name) {
            return parser_no_memory(parser);
        }
        if (!names[size]) {
            return true;
        }
        names += size + 1;
    }
}

bool apply_envlist(struct parser *parser, const char *option, char **values)
{
    return set_envlist(parser, &parser->app->env, option, values[0]);
}

bool apply_genvlist(struct parser *parser, const char *option, char **values)
{
    return set_envlist(parser, &parser->genv, option, values[0]);
}

bool set_text(struct parser *parser, const char *option, const char *needed, const char *text,
              char **to)
{
    if (!*text) {
        return parser_wrong(parser, "%s: %s is needed", option, needed);
    }
    char *copy = strdup(text);
    if (!copy) {
        return parser_no_memory(parser);
    }
    free(*to);
    *to = copy;
    return true;
}

bool apply_wdir(struct parser *parser, const char *option, char **values)
{
    return set_text(parser, option, "a folder", values[0], &parser->app->wdir);
}

bool apply_output_dir(struct parser *parser, const char *option, char **values)
{
    char why[512] = "out of memory";
    return output_parse_dir(&parser->request->output, values[0], why, sizeof(why)) ==
               ORTE_SUCCESS ||
           parser_wrong(parser, "%s %s: %s", option, values[0], why);
}

/* Words with commas between them, as mpirun 5 has them. */
bool apply_output(struct parser *parser, const char *option, char **values)
{
    struct run_request *request = parser->request;
    char why[512] = "out of memory";
    return output_parse(&request->output, values[0], &request->merge_stderr, why, sizeof(why)) ==
               ORTE_SUCCESS ||
           parser_wrong(parser, "%s %s", option, why);
}

bool *ranks_parse(const char *list)
{
    bool *ranks = calloc(RANKS_MAX, sizeof(*ranks));
    const char *wrong;
    if (ranks && !topo_list_parse(list, ranks, RANKS_MAX, &wrong)) {
        free(ranks);
        return NULL;
    }
    return ranks;
}

bool apply_output_ranks(struct parser *parser, const char *option, char **values)
{
    bool *ranks = ranks_parse(values[0]);
    free(ranks);
    return ranks ? set_text(parser, option, "a list", values[0], &parser->request->output.ranks)
                 : parser_wrong(parser, "%s '%s': numbers of ranks are needed, as in 0,4-7", option,
                                values[0]);
}

bool apply_report_uri(struct parser *parser, const char *option, char **values)
{
    return set_text(parser, option, "a file, - or +", values[0], &parser->request->uri_file);
}

bool apply_report(struct parser *parser, const char *option, char **values)
{
    const char *value = values[0], *file = value + strlen("json:");
    parser->request->report = true;
    if (strcmp(value, "json") == 0) {
        free(parser->request->report_file);
        parser->request->report_file = NULL;
        return true;
    }
    if (strncmp(value, "json:", strlen("json:")) != 0) {
        return parser_wrong(parser, "%s '%s': json, or json:FILE, is needed", option, value);
    }
    return set_text(parser, option, "a file behind json:", file, &parser->request->report_file);
}

bool apply_dvm(struct parser *parser, const char *option, char **values)
{
    return set_text(parser, option, "a file", values[0], &parser->request->dvm);
}

static void warn_of_mistake(const struct parser *parser, const char *option, const char *name)
{
    const char *meant = mca_meant(name);
    if (meant && !strings_value(parser->params, name)) {
        log_warn(LOG_LAUNCHER, "%s %s: no parameter has this name; was %s meant?", option, name,
                 meant);
    }
}

bool apply_mca(struct parser *parser, const char *option, char **values)
{
    char why[512];
    if (!param_name_ok(values[0])) {
        return parser_wrong(parser,
                            "%s '%s': not a parameter's name (docs/parameters.md lists them)",
                            option, values[0]);
    }
    if (strlen(values[1]) > PARAM_VALUE_MAX) {
        return parser_wrong(parser, "%s %s: the value has %zu characters; at most %d are possible",
                            option, values[0], strlen(values[1]), PARAM_VALUE_MAX);
    }
    if (strchr(values[1], '\n')) {
        return parser_wrong(parser, "%s %s: a value is one line", option, values[0]);
    }
    if (mca_check(values[0], values[1], why, sizeof(why)) != ORTE_SUCCESS) {
        return parser_wrong(parser, "%s %s", option, why);
    }
    warn_of_mistake(parser, option, values[0]);
    if (param_override(values[0], values[1]) != ORTE_SUCCESS) { /* it fits: nothing was read yet */
        return parser_no_memory(parser);
    }
    return env_set(&parser->params, "", values[0], strlen(values[0]), values[1]) ||
           parser_no_memory(parser);
}

/* NAME=VALUE of the row. */
bool apply_param(struct parser *parser, const char *option, char **values)
{
    char text[64];
    snprintf(text, sizeof(text), "%s", values[0]);
    char *value = strchr(text, '=');
    *value++ = '\0';
    return apply_mca(parser, option, (char *[]){text, value});
}

static bool set_param(struct parser *parser, const char *option, const char *name, char *value)
{
    return apply_mca(parser, option, (char *[]){(char *) (uintptr_t) name, value});
}

bool apply_prefix(struct parser *parser, const char *option, char **values)
{
    if (values[0][0] != '/') {
        return parser_wrong(parser, "%s '%s': the whole path of a folder is needed", option,
                            values[0]);
    }
    return set_param(parser, option, "plm_prefix", values[0]);
}

bool apply_noprefix(struct parser *parser, const char *option, char **values)
{
    char no[] = "0";
    return set_param(parser, option, "library_path", no) &&
           set_param(parser, option, "plm_prefix", values[0]);
}

bool apply_launch_agent(struct parser *parser, const char *option, char **values)
{
    if (!values[0][strspn(values[0], " \t")]) {
        return parser_wrong(parser, "%s: a command is needed, as keeld", option);
    }
    return set_param(parser, option, "plm_launch_agent", values[0]);
}

bool apply_stdin(struct parser *parser, const char *option, char **values)
{
    struct run_request *request = parser->request;
    if (strcmp(values[0], "all") == 0 || strcmp(values[0], "none") == 0) {
        request->input = values[0][0] == 'a' ? INPUT_ALL : INPUT_NONE;
        return true;
    }
    request->input = INPUT_RANK;
    return parse_number(values[0], 0, RANKS_MAX - 1, &request->input_rank) ||
           parser_wrong(parser, "%s '%s': a rank's number, all or none is needed", option,
                        values[0]);
}

bool apply_pty(struct parser *parser, const char *option, char **values)
{
    (void) option;
    parser->request->pty = strcmp(values[0], "always") == 0 ? PTY_ALWAYS : PTY_NEVER;
    return true;
}

bool apply_help(struct parser *parser, const char *option, char **values)
{
    (void) option;
    (void) values;
    help_print();
    parser->done = true;
    return true;
}

bool apply_version(struct parser *parser, const char *option, char **values)
{
    (void) option;
    (void) values;
    version_print();
    parser->done = true;
    return true;
}

bool apply_parameters(struct parser *parser, const char *option, char **values)
{
    (void) option;
    (void) values;
    parameters_print();
    parser->done = true;
    return true;
}

bool apply_completion(struct parser *parser, const char *option, char **values)
{
    if (strcmp(values[0], "bash") != 0) {
        return parser_wrong(parser, "%s %s: bash is needed", option, values[0]);
    }
    completion_print();
    parser->done = true;
    return true;
}

/* Of options that ask for what keelrun does by itself. */
bool apply_nothing(struct parser *parser, const char *option, char **values)
{
    (void) parser;
    (void) option;
    (void) values;
    return true;
}
