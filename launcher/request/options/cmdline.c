#include <config.h>

#include <launcher/request/options/parser.h>

#include <base/data/bytes.h>
#include <base/data/strings.h>
#include <launcher/request/nodes/hostfile.h>
#include <launcher/request/rankfile.h>
#include <launcher/request/suggest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_OPTION = 6 /* letters: shorter words are like too many others */ };

/* Unknown options. */

/* The option whose name is nearly this, or the only one whose name begins so. NULL: there is none.
 */
static const char *near_option(const char *name, size_t size)
{
    /* one letter, or two, may differ */
    struct suggestion near = {.word = name, .size = size, .least = size < SHORT_OPTION ? 2 : 3};
    const char *begins = NULL;
    size_t beginnings = 0;
    for (size_t i = 0; i < option_count; i++) {
        for (const char *const *one = options[i].names; *one; one++) {
            suggest_look(&near, *one);
            if (size > 2 && strncmp(*one, name, size) == 0) {
                begins = *one;
                beginnings++;
            }
        }
    }
    return near.nearest || beginnings != 1 ? near.nearest : begins;
}

static bool unknown_option(struct parser *parser, const char *text, const char *name, size_t size)
{
    const char *instead = suggest_for_option(name, size), *nearest = near_option(name, size);
    if (instead) {
        return parser_wrong(parser, "keelrun has no option '%.*s'; in its place: %s",
                            (int) (name + size - text), text, instead);
    }
    if (nearest) {
        return parser_wrong(parser, "unknown option '%s'; the nearest is %s%s", text,
                            nearest[1] ? "--" : "-", nearest);
    }
    return parser_wrong(parser, "unknown option '%s' (keelrun --help lists all)", text);
}

/* Arguments. */

bool option_apply(struct parser *parser, const struct option *row, const char *shown,
                  const char *value)
{
    snprintf(parser->option, sizeof(parser->option), "%s", shown);
    parser->row = row;
    return !row->apply || row->apply(parser, value);
}

/* Reads one option and its values; those of --name=value too. */
static bool parse_option(struct parser *parser)
{
    char *text = *parser->argv++, shown[sizeof(parser->option)]; /* without the value */
    bool two_dashes = text[1] == '-';
    char *name = text + 1 + two_dashes;
    size_t size = two_dashes ? strcspn(name, "=") : strlen(name);
    const struct option *row = option_find(name, size);
    if (!row) {
        return unknown_option(parser, text, name, size);
    }
    const char *values[2] = {row->text, NULL};
    int count = 0, wanted = !row->value ? 0 : strchr(row->value, ' ') ? 2 : 1;
    if (name[size] && count < wanted) {
        values[count++] = name + size + 1;
    } else if (name[size]) {
        return parser_wrong(parser, "%.*s takes no value", (int) (name + size - text), text);
    }
    while (count < wanted) {
        if (!*parser->argv) {
            return parser_wrong(parser, "%s needs %s", text,
                                wanted == 2 ? "a name and a value" : "a value");
        }
        values[count++] = *parser->argv++;
    }
    snprintf(shown, sizeof(shown), "%.*s", (int) (name + size - text), text);
    parser->second = values[1];
    return option_apply(parser, row, shown, values[0]);
}

/* The word that ends a program: a colon, or the NULL behind the last. */
static char **end_of_app(char **word)
{
    while (*word && strcmp(*word, ":") != 0) {
        word++;
    }
    return word;
}

static bool too_many_apps(struct parser *parser)
{
    size_t count = APPS_MAX + 1;
    for (char **end = end_of_app(parser->argv); *end; end = end_of_app(end + 1)) {
        count++;
    }
    return parser_wrong(parser, "%zu programs are more than %d", count, APPS_MAX);
}

static bool begin_app(struct parser *parser)
{
    struct run_request *request = parser->request;
    if (request->app_count == APPS_MAX) {
        return too_many_apps(parser);
    }
    struct app_request *apps =
        bytes_grow(request->apps, &parser->apps_size, (request->app_count + 1) * sizeof(*apps),
                   sizeof(*apps), APPS_MAX * sizeof(*apps));
    if (!apps) {
        return parser_no_memory(parser);
    }
    request->apps = apps;
    parser->app = &apps[request->app_count++];
    *parser->app = (struct app_request){0};
    parser->app->env = calloc(1, sizeof(char *));
    return parser->app->env || parser_no_memory(parser);
}

/* The program and its arguments, up to a colon or the end. */
static bool parse_program(struct parser *parser)
{
    if (!*parser->argv || strcmp(*parser->argv, ":") == 0) {
        return parser_wrong(parser, parser->request->app_count > 1
                                        ? "there is no program behind the ':' (keelrun --help)"
                                        : "no program is given (keelrun --help)");
    }
    if (!**parser->argv) {
        return parser_wrong(parser, "the program's name is empty");
    }
    size_t count = (size_t) (end_of_app(parser->argv) - parser->argv);
    char **words = parser->app->argv = calloc(count + 1, sizeof(*words));
    for (size_t i = 0; words && i < count; i++) {
        words[i] = strdup(parser->argv[i]);
        if (!words[i]) {
            return parser_no_memory(parser);
        }
    }
    parser->argv += count;
    return words || parser_no_memory(parser);
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

/* The lines of --app's file take the place of what is left. */
bool apply_app(struct parser *parser, const char *path)
{
    char why[512];
    if (parser->file.path) {
        return parser_wrong(parser, "%s in a file of %s", parser->option, parser->option);
    }
    if (*parser->argv) {
        return parser_wrong(parser, "%s %s: nothing can follow but '%s' does", parser->option, path,
                            *parser->argv);
    }
    if (app_file_read(&parser->file, path, why, sizeof(why)) != ORTE_SUCCESS) {
        return parser_wrong(parser, "%s %s", parser->option, why);
    }
    parser->argv = parser->file.words;
    return true;
}

/* Gives every program the variables of -genv, where it has none of its own by this name. */
static bool export_genv(struct parser *parser)
{
    for (size_t i = 0; i < parser->request->app_count; i++) {
        char ***env = &parser->request->apps[i].env;
        for (char **entry = parser->genv; entry && *entry; entry++) {
            char *name = strndup(*entry, strcspn(*entry, "="));
            bool set = name && (strings_value(*env, name) ||
                                env_set(env, "", name, strlen(name), *entry + strlen(name) + 1));
            free(name);
            if (!set) {
                return parser_no_memory(parser);
            }
        }
    }
    return true;
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
                return parser_no_memory(parser);
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
        return parser_wrong(parser, "%llu ranks are more than %d", (unsigned long long) ranks,
                            RANKS_MAX);
    }
    const struct {
        bool given;
        const char *why;
    } wrong[] = {
        {request->simulate_nodes && (request->hosts.count || request->hostfile.count),
         "--simulate excludes --host and --hostfile"},
        {request->simulate_nodes && request->dvm,
         "--simulate excludes --dvm, whose nodes there are"},
        {request->simulate_topo && !request->simulate_nodes,
         "--simulate-topo needs --simulate NODESxSLOTS"},
        {request->json && !request->display && !request->report_bindings,
         "--json: --display, --report-bindings or --dry-run says what is displayed"},
        {request->oversubscribe && request->no_oversubscribe,
         "--oversubscribe and --nooversubscribe exclude each other"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        if (wrong[i].given) {
            return parser_wrong(parser, "%s", wrong[i].why);
        }
    }
    return true;
}

/* --map-by seq without a file: each line of the hostfiles is a rank. */
static bool make_sequence(struct parser *parser)
{
    struct run_request *request = parser->request;
    struct node_list list = {.repeats = true};
    char why[512] = "out of memory";
    int status = ORTE_SUCCESS;
    if (request->placement.map_by != MAP_BY_SEQ || request->placement.sequence) {
        return true;
    }
    if (!parser->hostfiles) {
        return parser_wrong(parser, "--map-by seq: a file of hosts is needed, as in seq:FILE=F or "
                                    "with --hostfile");
    }
    for (char **text = parser->hostfiles; *text && status == ORTE_SUCCESS; text++) {
        status =
            hostfile_parse(&list, request->hostfile_name, *text, strlen(*text), why, sizeof(why));
    }
    if (status == ORTE_SUCCESS) {
        status = sequence_set(&request->placement, &list, request->hostfile_name);
    }
    node_list_fini(&list);
    return status == ORTE_SUCCESS || parser_wrong(parser, "--map-by seq: %s", why);
}

static bool settle(struct parser *parser)
{
    struct run_request *request = parser->request;
    char why[512];
    if (request->dry_run && !request->display && !request->report_bindings) {
        request->display = DISPLAY_MAP;
    }
    if (!defaults_apply(parser) || !make_sequence(parser)) {
        return false;
    }
    return placement_settle(&parser->request->placement, why, sizeof(why)) == ORTE_SUCCESS ||
           parser_wrong(parser, "%s", why);
}

/* Says in which line of --app's file a reason is. */
static void locate(struct parser *parser)
{
    char why[512];
    snprintf(why, sizeof(why), "%s", parser->reason);
    parser_wrong(parser, "%s:%u: %s", parser->file.path, app_file_line(&parser->file, parser->argv),
                 why);
}

enum cmdline_result cmdline_parse(struct run_request *request, int argc, char **argv, char *reason,
                                  size_t reason_size)
{
    struct run_request parsed = {.placement.files_wait = true};
    struct parser parser = {.request = &parsed,
                            .argv = argv + (argc > 0),
                            .reason = reason,
                            .reason_size = reason_size};
    bool right = parse_apps(&parser);
    if (!right && parser.file.path) {
        locate(&parser);
    }
    right = right && (parser.done || (settle(&parser) && check_request(&parser) &&
                                      export_genv(&parser) && export_params(&parser)));
    strings_free(parser.params);
    strings_free(parser.genv);
    strings_free(parser.hostfiles);
    app_file_fini(&parser.file);
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
        node_list_fini(&request->apps[i].hosts);
    }
    node_list_fini(&request->hosts);
    node_list_fini(&request->hostfile);
    free(request->apps);
    free(request->hostfile_name);
    output_request_fini(&request->output);
    free(request->uri_file);
    free(request->report_file);
    free(request->dvm);
    free(request->simulate_topo);
    placement_fini(&request->placement);
    *request = (struct run_request){0};
}
