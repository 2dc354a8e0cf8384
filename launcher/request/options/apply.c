/* What the options do: a function for each kind, and for each option that is of none. */
#include <config.h>

#include <launcher/request/options/parser.h>

#include <base/data/strings.h>
#include <base/host/topo.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <base/settings/param_file.h>
#include <base/text/number.h>
#include <launcher/request/options/mca_names.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Kinds of options. */

static void *member(const struct parser *parser)
{
    const void *const bases[] = {
        [BASE_REQUEST] = parser->request, [BASE_APP] = parser->app, [BASE_PARSER] = parser};
    return (char *) (uintptr_t) bases[parser->row->base] + parser->row->offset;
}

bool apply_flag(struct parser *parser, const char *value)
{
    (void) value;
    *(bool *) member(parser) = true;
    return true;
}

bool apply_choice(struct parser *parser, const char *value)
{
    (void) value;
    *(unsigned *) member(parser) = parser->row->number;
    return true;
}

bool number_option(struct parser *parser, const char *value, uint32_t *number)
{
    return node_number(value, strlen(value), parser->row->number, number) ||
           parser_wrong(parser, "%s '%s': a whole number from 1 to %u is needed", parser->option,
                        value, parser->row->number);
}

bool apply_number(struct parser *parser, const char *value)
{
    return number_option(parser, value, member(parser));
}

bool apply_text(struct parser *parser, const char *value)
{
    char **text = member(parser);
    if (!*value) {
        return parser_wrong(parser, "%s: %s is needed", parser->option, parser->row->text);
    }
    free(*text);
    *text = strdup(value);
    return *text || parser_no_memory(parser);
}

bool apply_place(struct parser *parser, const char *value)
{
    char why[512];
    return parser->row->place(&parser->request->placement, value, why, sizeof(why)) ==
               ORTE_SUCCESS ||
           parser_wrong(parser, "%s %s", parser->option, why);
}

bool apply_print(struct parser *parser, const char *value)
{
    (void) value;
    parser->row->print();
    parser->done = true;
    return true;
}

/* The environment. */

static bool name_valid(const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (name[i] <= ' ' || name[i] == 0x7f) {
            return false;
        }
    }
    return size > 0;
}

/* keelrun's own value of a variable. */
static bool export_own(struct parser *parser, const char *name, size_t size)
{
    char *copy = strndup(name, size);
    const char *value = copy ? getenv(copy) : NULL;
    if (copy && !value) {
        log_warn(LOG_LAUNCHER, "%s %s: there is no such variable in the environment",
                 parser->option, copy);
    }
    bool set = copy && (!value || env_set(member(parser), "", name, size, value));
    free(copy);
    return set || parser_no_memory(parser);
}

/* -x PREFIX*: everything of keelrun's own environment that begins so. */
static bool export_matching(struct parser *parser, const char *prefix, size_t size)
{
    for (char **entry = environ; *entry; entry++) {
        char *equals = strchr(*entry, '=');
        if (equals && strncmp(*entry, prefix, size) == 0 && (size_t) (equals - *entry) >= size &&
            !env_set(member(parser), "", *entry, (size_t) (equals - *entry), equals + 1)) {
            return parser_no_memory(parser);
        }
    }
    return true;
}

bool apply_export(struct parser *parser, const char *text)
{
    size_t size = strcspn(text, "=");
    if (!name_valid(text, size)) {
        return parser_wrong(parser, "%s '%s': NAME or NAME=VALUE is needed", parser->option, text);
    }
    if (text[size]) {
        return env_set(member(parser), "", text, size, text + size + 1) || parser_no_memory(parser);
    }
    return text[size - 1] == '*' ? export_matching(parser, text, size - 1)
                                 : export_own(parser, text, size);
}

bool apply_env(struct parser *parser, const char *name)
{
    if (!name_valid(name, strlen(name)) || strchr(name, '=')) {
        return parser_wrong(parser, "%s '%s': NAME VALUE is needed", parser->option, name);
    }
    return env_set(member(parser), "", name, strlen(name), parser->second) ||
           parser_no_memory(parser);
}

/* NAME,NAME,...: with keelrun's own values. */
bool apply_envlist(struct parser *parser, const char *names)
{
    for (size_t size;; names += size + 1) {
        size = strcspn(names, ",");
        if (!name_valid(names, size) || memchr(names, '=', size)) {
            return parser_wrong(parser, "%s '%s': NAME,NAME,... is needed", parser->option, names);
        }
        if (!export_own(parser, names, size)) {
            return false;
        }
        if (!names[size]) {
            return true;
        }
    }
}

/* Output. */

bool apply_output_dir(struct parser *parser, const char *value)
{
    char why[512] = "out of memory";
    return output_parse_dir(&parser->request->output, value, why, sizeof(why)) == ORTE_SUCCESS ||
           parser_wrong(parser, "%s %s: %s", parser->option, value, why);
}

/* Words with commas between them, as mpirun 5 has them. */
bool apply_output(struct parser *parser, const char *words)
{
    struct run_request *request = parser->request;
    char why[512] = "out of memory";
    return output_parse(&request->output, words, &request->merge_stderr, why, sizeof(why)) ==
               ORTE_SUCCESS ||
           parser_wrong(parser, "%s %s", parser->option, why);
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

bool apply_output_ranks(struct parser *parser, const char *list)
{
    bool *ranks = ranks_parse(list);
    free(ranks);
    return ranks ? apply_text(parser, list)
                 : parser_wrong(parser, "%s '%s': numbers of ranks are needed, as in 0,4-7",
                                parser->option, list);
}

bool apply_report(struct parser *parser, const char *value)
{
    char **file = member(parser);
    parser->request->report = true;
    if (strcmp(value, "json") == 0) {
        free(*file);
        *file = NULL;
        return true;
    }
    return strncmp(value, "json:", strlen("json:")) == 0
               ? apply_text(parser, value + strlen("json:"))
               : parser_wrong(parser, "%s '%s': json, or json:FILE, is needed", parser->option,
                              value);
}

/* Parameters. */

static bool set_param(struct parser *parser, const char *name, const char *value)
{
    char why[MCA_WHY_MAX];
    if (!param_name_ok(name)) {
        return parser_wrong(parser,
                            "%s '%s': not a parameter's name (docs/parameters.md lists them)",
                            parser->option, name);
    }
    if (strlen(value) > PARAM_VALUE_MAX) {
        return parser_wrong(parser, "%s %s: the value has %zu characters; at most %d are possible",
                            parser->option, name, strlen(value), PARAM_VALUE_MAX);
    }
    if (strchr(value, '\n')) {
        return parser_wrong(parser, "%s %s: a value is one line", parser->option, name);
    }
    if (mca_check(name, value, why, sizeof(why)) != ORTE_SUCCESS) {
        return parser_wrong(parser, "%s %s", parser->option, why);
    }
    if (!strings_value(parser->params, name) && mca_is_unknown(name, why, sizeof(why))) {
        log_warn(LOG_LAUNCHER, "%s %s: %s", parser->option, name, why);
    }
    if (param_override(name, value) != ORTE_SUCCESS) { /* it fits: nothing was read yet */
        return parser_no_memory(parser);
    }
    return env_set(&parser->params, "", name, strlen(name), value) || parser_no_memory(parser);
}

bool apply_mca(struct parser *parser, const char *name)
{
    return set_param(parser, name, parser->second);
}

bool apply_param(struct parser *parser, const char *value)
{
    return set_param(parser, parser->row->param, value);
}

bool apply_prefix(struct parser *parser, const char *folder)
{
    return folder[0] == '/' ? apply_param(parser, folder)
                            : parser_wrong(parser, "%s '%s': the whole path of a folder is needed",
                                           parser->option, folder);
}

bool apply_noprefix(struct parser *parser, const char *none)
{
    return set_param(parser, "library_path", "0") && apply_param(parser, none);
}

bool apply_launch_agent(struct parser *parser, const char *command)
{
    return command[strspn(command, " \t")]
               ? apply_param(parser, command)
               : parser_wrong(parser, "%s: a command is needed, as keeld", parser->option);
}

/* Others. */

bool apply_stdin(struct parser *parser, const char *value)
{
    struct run_request *request = parser->request;
    if (strcmp(value, "all") == 0 || strcmp(value, "none") == 0) {
        request->input = value[0] == 'a' ? INPUT_ALL : INPUT_NONE;
        return true;
    }
    request->input = INPUT_RANK;
    const char *end = number_read(value, SIZE_MAX, RANKS_MAX - 1, &request->input_rank);
    return (end && !*end) || parser_wrong(parser, "%s '%s': a rank's number, all or none is needed",
                                          parser->option, value);
}

bool apply_completion(struct parser *parser, const char *shell)
{
    return strcmp(shell, "bash") == 0
               ? apply_print(parser, shell)
               : parser_wrong(parser, "%s '%s': bash is needed", parser->option, shell);
}
