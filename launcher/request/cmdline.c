#include <config.h>

#include <base/settings/log.h>
#include <base/settings/param.h>
#include <base/settings/param_file.h>
#include <base/data/strings.h>
#include <errno.h>
#include <launcher/request/help.h>
#include <launcher/request/mca_names.h>
#include <launcher/request/run_request.h>
#include <launcher/request/suggest.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RANKS_MAX = 1 << 20,
    SLOTS_MAX = 1 << 20,
    NODES_MAX = 1 << 16,
    SIMULATED_MAX = 1024,
    TIMEOUT_MAX_S = 365 * 24 * 3600,
    HOST_NAME_MAX_BYTES = 253,
    SHORT_OPTION = 6 /* letters: shorter words are like too many others */
};

struct parser {
    struct run_request *request;
    struct app_request *app; /* the one whose options are being read; borrowed */
    char **argv;             /* what is left */
    char *reason;
    size_t reason_size;
    char **params; /* owned, NULL-ended: NAME=VALUE of --mca */
    bool done;     /* --help or --version */
};

struct option {
    const char *name;
    int values;
    bool (*apply)(struct parser *parser, const char *option, char **values);
    size_t flag; /* with no apply: which bool of the request it sets */
};

static KEEL_PRINTF(2, 3) bool wrong(struct parser *parser, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(parser->reason, parser->reason_size, format, args);
    va_end(args);
    return false;
}

static bool no_memory(struct parser *parser)
{
    return wrong(parser, "out of memory");
}

/* Sets PREFIXNAME=VALUE in an environment; name need not end. */
static bool env_set(char ***env, const char *prefix, const char *name, size_t name_size,
                    const char *value)
{
    char *entry;
    if (asprintf(&entry, "%s%.*s=%s", prefix, (int) name_size, name, value) < 0) {
        return false;
    }
    return strings_set(env, entry);
}

/* Values. */

static bool parse_number(const char *text, uint32_t min, uint32_t max, uint32_t *number)
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

static bool number_option(struct parser *parser, const char *option, const char *text, uint32_t max,
                          uint32_t *number)
{
    if (parse_number(text, 1, max, number)) {
        return true;
    }
    return wrong(parser, "%s %s: a whole number from 1 to %u is needed", option, text, max);
}

static bool apply_count(struct parser *parser, const char *option, char **values)
{
    return number_option(parser, option, values[0], RANKS_MAX, &parser->app->count);
}

static bool apply_timeout(struct parser *parser, const char *option, char **values)
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
            return no_memory(parser);
        }
    }
    return true;
}

static bool apply_export(struct parser *parser, const char *option, char **values)
{
    const char *text = values[0];
    size_t size = strcspn(text, "=");
    if (!name_valid(text, size)) {
        return wrong(parser, "%s '%s': NAME or NAME=VALUE is needed", option, text);
    }
    if (!text[size] && text[size - 1] == '*') {
        return export_matching(parser, text, size - 1);
    }
    const char *value = text[size] ? text + size + 1 : getenv(text);
    if (!value) {
        log_warn(LOG_LAUNCHER, "%s %s: there is no such variable in the environment", option, text);
        return true;
    }
    return env_set(&parser->app->env, "", text, size, value) || no_memory(parser);
}

static bool set_text(struct parser *parser, const char *option, const char *text, char **to)
{
    if (!*text) {
        return wrong(parser, "%s: a folder is needed", option);
    }
    char *copy = strdup(text);
    if (!copy) {
        return no_memory(parser);
    }
    free(*to);
    *to = copy;
    return true;
}

static bool apply_wdir(struct parser *parser, const char *option, char **values)
{
    return set_text(parser, option, values[0], &parser->app->wdir);
}

static bool apply_output(struct parser *parser, const char *option, char **values)
{
    return set_text(parser, option, values[0], &parser->request->output_dir);
}

static bool apply_report_uri(struct parser *parser, const char *option, char **values)
{
    if (!*values[0]) {
        return wrong(parser, "%s: a file, - or + is needed", option);
    }
    return set_text(parser, option, values[0], &parser->request->uri_file);
}

static void warn_of_mistake(const struct parser *parser, const char *option, const char *name)
{
    const char *meant = mca_meant(name);
    if (meant && !strings_value(parser->params, name)) {
        log_warn(LOG_LAUNCHER, "%s %s: no parameter has this name; was %s meant?", option, name,
                 meant);
    }
}

static bool apply_mca(struct parser *parser, const char *option, char **values)
{
    char why[512];
    if (!param_name_ok(values[0])) {
        return wrong(parser, "%s '%s': not a parameter's name (docs/parameters.md lists them)",
                     option, values[0]);
    }
    if (strlen(values[1]) > PARAM_VALUE_MAX) {
        return wrong(parser, "%s %s: the value has %zu characters; at most %d are possible", option,
                     values[0], strlen(values[1]), PARAM_VALUE_MAX);
    }
    if (strchr(values[1], '\n')) {
        return wrong(parser, "%s %s: a value is one line", option, values[0]);
    }
    if (mca_check(values[0], values[1], why, sizeof(why)) != ORTE_SUCCESS) {
        return wrong(parser, "%s %s", option, why);
    }
    warn_of_mistake(parser, option, values[0]);
    if (param_override(values[0], values[1]) != ORTE_SUCCESS) { /* it fits: nothing was read yet */
        return no_memory(parser);
    }
    return env_set(&parser->params, "", values[0], strlen(values[0]), values[1]) ||
           no_memory(parser);
}

static bool apply_recovery(struct parser *parser, const char *option, char **values)
{
    char name[] = "enable_recovery", on[] = "1";
    (void) values;
    return apply_mca(parser, option, (char *[]){name, on});
}

static bool apply_noprefix(struct parser *parser, const char *option, char **values)
{
    char name[] = "library_path", off[] = "0";
    (void) values;
    return apply_mca(parser, option, (char *[]){name, off});
}

static bool apply_bind(struct parser *parser, const char *option, char **values)
{
    if (strcmp(values[0], "core") == 0) {
        parser->request->bind = BIND_CORE;
    } else if (strcmp(values[0], "none") == 0) {
        parser->request->bind = BIND_NONE;
    } else {
        return wrong(parser, "%s %s: core or none is needed", option, values[0]);
    }
    return true;
}

static bool apply_pty(struct parser *parser, const char *option, char **values)
{
    (void) option;
    (void) values;
    parser->request->pty = PTY_ALWAYS;
    return true;
}

static bool apply_no_pty(struct parser *parser, const char *option, char **values)
{
    (void) option;
    (void) values;
    parser->request->pty = PTY_NEVER;
    return true;
}

static bool apply_simulate(struct parser *parser, const char *option, char **values)
{
    struct run_request *request = parser->request;
    char nodes[16];
    size_t size = strcspn(values[0], "x");
    snprintf(nodes, sizeof(nodes), "%.*s", (int) size, values[0]);
    if (size >= sizeof(nodes) || !values[0][size] ||
        !parse_number(nodes, 1, SIMULATED_MAX, &request->simulate_nodes) ||
        !parse_number(values[0] + size + 1, 1, SIMULATED_MAX, &request->simulate_slots)) {
        return wrong(parser, "%s %s: NODESxSLOTS is needed, each from 1 to %d, as in 3x2", option,
                     values[0], SIMULATED_MAX);
    }
    return true;
}

/* NAME or NAME:SLOTS; an IPv6 address with slots is written in brackets. A name that begins with
 * '-' would be an option of the agent's. */
static bool split_host(const char *text, size_t size, size_t *name_size, const char **slots)
{
    const char *colon = memchr(text, ':', size);
    *slots = NULL;
    *name_size = size;
    if (text[0] == '[') {
        const char *close = memchr(text, ']', size);
        if (!close || (close + 1 < text + size && close[1] != ':')) {
            return false;
        }
        *name_size = (size_t) (close + 1 - text);
        *slots = *name_size < size ? close + 2 : NULL;
    } else if (colon && !memchr(colon + 1, ':', size - (size_t) (colon + 1 - text))) {
        *name_size = (size_t) (colon - text);
        *slots = colon + 1;
    }
    return text[0] != '-' && name_valid(text, *name_size) && *name_size <= HOST_NAME_MAX_BYTES;
}

static struct node_request *find_node(struct run_request *request, const char *name, size_t size)
{
    for (size_t i = 0; i < request->node_count; i++) {
        if (strlen(request->nodes[i].name) == size &&
            strncmp(request->nodes[i].name, name, size) == 0) {
            return &request->nodes[i];
        }
    }
    return NULL;
}

/* A host that is named again brings its slots along; one without a number counts as one. */
static bool add_node(struct parser *parser, const char *name, size_t size, uint32_t slots)
{
    struct run_request *request = parser->request;
    struct node_request *node = find_node(request, name, size);
    if (node) {
        node->slots = (node->slots ? node->slots : 1) + (slots ? slots : 1);
        return node->slots <= SLOTS_MAX || wrong(parser, "too many slots on %s", node->name);
    }
    if (request->node_count >= NODES_MAX) {
        return wrong(parser, "more than %d hosts", NODES_MAX);
    }
    struct node_request *nodes =
        realloc(request->nodes, (request->node_count + 1) * sizeof(*request->nodes));
    if (!nodes) {
        return no_memory(parser);
    }
    request->nodes = nodes;
    node = &nodes[request->node_count];
    *node = (struct node_request){strndup(name, size), slots};
    if (!node->name) {
        return no_memory(parser);
    }
    request->node_count++;
    return true;
}

static bool apply_host(struct parser *parser, const char *option, char **values)
{
    const char *text = values[0];
    for (;;) {
        size_t size = strcspn(text, ","), name_size;
        const char *slots_text;
        char slots[16] = "";
        uint32_t number = 0;
        bool valid = split_host(text, size, &name_size, &slots_text);
        if (valid && slots_text) {
            size_t digits = size - (size_t) (slots_text - text);
            snprintf(slots, sizeof(slots), "%.*s", (int) digits, slots_text);
            valid = digits < sizeof(slots) && parse_number(slots, 1, SLOTS_MAX, &number);
        }
        if (!valid) {
            return wrong(parser, "%s '%.*s': NAME or NAME:SLOTS is needed, separated by commas",
                         option, (int) size, text);
        }
        if (!add_node(parser, text, name_size, number)) {
            return false;
        }
        if (!text[size]) {
            return true;
        }
        text += size + 1;
    }
}

static bool apply_help(struct parser *parser, const char *option, char **values)
{
    (void) option;
    (void) values;
    help_print();
    parser->done = true;
    return true;
}

static bool apply_version(struct parser *parser, const char *option, char **values)
{
    (void) option;
    (void) values;
    version_print();
    parser->done = true;
    return true;
}

/* Scripts written for others say it to run as root, which needs no permission here. */
static bool apply_nothing(struct parser *parser, const char *option, char **values)
{
    (void) parser;
    (void) option;
    (void) values;
    return true;
}

/* Written with one or two dashes; those of one letter with one. */
static const struct option options[] = {
    {"n", 1, apply_count, 0},
    {"np", 1, apply_count, 0},
    {"c", 1, apply_count, 0},
    {"x", 1, apply_export, 0},
    {"wdir", 1, apply_wdir, 0},
    {"wd", 1, apply_wdir, 0},
    {"mca", 2, apply_mca, 0},
    {"gmca", 2, apply_mca, 0},
    {"bind-to", 1, apply_bind, 0},
    {"oversubscribe", 0, NULL, offsetof(struct run_request, oversubscribe)},
    {"simulate", 1, apply_simulate, 0},
    {"host", 1, apply_host, 0},
    {"H", 1, apply_host, 0},
    {"tag-output", 0, NULL, offsetof(struct run_request, tag_output)},
    {"timestamp-output", 0, NULL, offsetof(struct run_request, timestamp_output)},
    {"output-filename", 1, apply_output, 0},
    {"pty", 0, apply_pty, 0},
    {"no-pty", 0, apply_no_pty, 0},
    {"timeout", 1, apply_timeout, 0},
    {"enable-recovery", 0, apply_recovery, 0},
    {"noprefix", 0, apply_noprefix, 0},
    {"report-bindings", 0, NULL, offsetof(struct run_request, report_bindings)},
    {"report-uri", 1, apply_report_uri, 0},
    {"allow-run-as-root", 0, apply_nothing, 0},
    {"version", 0, apply_version, 0},
    {"V", 0, apply_version, 0},
    {"help", 0, apply_help, 0},
    {"h", 0, apply_help, 0},
};

/* Unknown options. */

/* The option whose name is nearly this, or the only one whose name begins so. NULL: there is none.
 */
static const char *near_option(const char *name, size_t size)
{
    const char *nearest = NULL, *begins = NULL;
    size_t least = size < SHORT_OPTION ? 2 : 3, beginnings = 0; /* one letter, or two, may differ */
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
        size_t distance = suggest_distance(name, size, options[i].name);
        if (distance < least && distance < size) {
            least = distance;
            nearest = options[i].name;
        }
        if (size > 2 && strncmp(options[i].name, name, size) == 0) {
            begins = options[i].name;
            beginnings++;
        }
    }
    return nearest || beginnings != 1 ? nearest : begins;
}

static bool unknown_option(struct parser *parser, const char *text, const char *name, size_t size)
{
    const char *instead = suggest_for_option(name, size), *nearest = near_option(name, size);
    if (instead) {
        return wrong(parser, "keelrun has no option '%.*s'; in its place: %s",
                     (int) (name + size - text), text, instead);
    }
    if (nearest) {
        return wrong(parser, "unknown option '%s'; the nearest is %s%s", text,
                     nearest[1] ? "--" : "-", nearest);
    }
    return wrong(parser, "unknown option '%s' (keelrun --help lists all)", text);
}

static const struct option *find_option(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
        if (strlen(options[i].name) == size && strncmp(options[i].name, name, size) == 0) {
            return &options[i];
        }
    }
    return NULL;
}

/* Arguments. */

/* Reads one option and its values; those of --name=value too. */
static bool parse_option(struct parser *parser)
{
    char *text = *parser->argv++;
    bool two_dashes = text[1] == '-';
    char *name = text + 1 + two_dashes;
    size_t size = two_dashes ? strcspn(name, "=") : strlen(name);
    const struct option *option = find_option(name, size);
    if (!option) {
        return unknown_option(parser, text, name, size);
    }
    char *values[2] = {NULL, NULL};
    int count = 0;
    if (name[size] && count < option->values) {
        values[count++] = name + size + 1;
    } else if (name[size]) {
        return wrong(parser, "%.*s takes no value", (int) (name + size - text), text);
    }
    while (count < option->values) {
        if (!*parser->argv) {
            return wrong(parser, "%s needs %s", text,
                         option->values == 2 ? "a name and a value" : "a value");
        }
        values[count++] = *parser->argv++;
    }
    if (option->apply) {
        return option->apply(parser, text, values);
    }
    *(bool *) ((char *) parser->request + option->flag) = true;
    return true;
}

static bool begin_app(struct parser *parser)
{
    struct run_request *request = parser->request;
    struct app_request *apps =
        realloc(request->apps, (request->app_count + 1) * sizeof(*request->apps));
    if (!apps) {
        return no_memory(parser);
    }
    request->apps = apps;
    parser->app = &apps[request->app_count++];
    *parser->app = (struct app_request){0};
    parser->app->env = calloc(1, sizeof(char *));
    return parser->app->env || no_memory(parser);
}

/* The program and its arguments, up to a colon or the end. */
static bool parse_program(struct parser *parser)
{
    if (!*parser->argv || strcmp(*parser->argv, ":") == 0) {
        return wrong(parser, parser->request->app_count > 1
                                 ? "there is no program behind the ':' (keelrun --help)"
                                 : "no program is given (keelrun --help)");
    }
    if (!**parser->argv) {
        return wrong(parser, "the program's name is empty");
    }
    for (; *parser->argv && strcmp(*parser->argv, ":") != 0; parser->argv++) {
        if (!strings_add(&parser->app->argv, strdup(*parser->argv))) {
            return no_memory(parser);
        }
    }
    return true;
}

static bool parse_app(struct parser *parser)
{
    if (!begin_app(parser)) {
        return false;
    }
    while (*parser->argv && (*parser->argv)[0] == '-' && (*parser->argv)[1]) {
        if (strcmp(*parser->argv, "--") == 0) {
            parser->argv++;
            break;
        }
        if (!parse_option(parser)) {
            return false;
        }
        if (parser->done) {
            return true;
        }
    }
    return parse_program(parser);
}

static bool parse_apps(struct parser *parser)
{
    for (;;) {
        if (!parse_app(parser)) {
            return false;
        }
        if (parser->done || !*parser->argv) {
            return true;
        }
        parser->argv++; /* the colon */
    }
}

/* Gives every app the parameters, under the names that Keel's and Open MPI's programs read. */
static bool export_params(struct parser *parser)
{
    for (size_t i = 0; i < parser->request->app_count; i++) {
        char ***env = &parser->request->apps[i].env;
        for (char **param = parser->params; param && *param; param++) {
            size_t size = strcspn(*param, "=");
            const char *value = *param + size + 1;
            if (!env_set(env, "KEEL_MCA_", *param, size, value) ||
                !env_set(env, "OMPI_MCA_", *param, size, value)) {
                return no_memory(parser);
            }
        }
    }
    return true;
}

static bool check_request(struct parser *parser)
{
    const struct run_request *request = parser->request;
    uint64_t ranks = 0;
    for (size_t i = 0; i < request->app_count; i++) {
        ranks += request->apps[i].count;
    }
    if (ranks > RANKS_MAX) {
        return wrong(parser, "%llu ranks are more than %d", (unsigned long long) ranks, RANKS_MAX);
    }
    if (request->simulate_nodes && request->node_count) {
        return wrong(parser, "--simulate and --host exclude each other");
    }
    return true;
}

enum cmdline_result cmdline_parse(struct run_request *request, int argc, char **argv, char *reason,
                                  size_t reason_size)
{
    struct run_request parsed = {0};
    struct parser parser = {.request = &parsed,
                            .argv = argv + (argc > 0),
                            .reason = reason,
                            .reason_size = reason_size};
    bool right =
        parse_apps(&parser) && (parser.done || (check_request(&parser) && export_params(&parser)));
    strings_free(parser.params);
    if (!right || parser.done) {
        run_request_fini(&parsed);
        return right ? CMDLINE_DONE : CMDLINE_ERROR;
    }
    *request = parsed;
    return CMDLINE_RUN;
}

void run_request_fini(struct run_request *request)
{
    for (size_t i = 0; i < request->app_count; i++) {
        strings_free(request->apps[i].argv);
        strings_free(request->apps[i].env);
        free(request->apps[i].wdir);
    }
    for (size_t i = 0; i < request->node_count; i++) {
        free(request->nodes[i].name);
    }
    free(request->apps);
    free(request->nodes);
    free(request->output_dir);
    free(request->uri_file);
    *request = (struct run_request){0};
}
