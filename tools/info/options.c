#include <config.h>

#include <stdlib.h>
#include <tools/cli.h>
#include <tools/info/options.h>

static bool take_all(struct cli *cli, const char *value)
{
    struct options *options = cli->members;
    (void) value;
    options->build = options->components = options->devices = true;
    return options->topology = options->params = true;
}

/* --param NAME, or as ompi_info has it: --param FRAMEWORK COMPONENT. */
static bool take_param(struct cli *cli, const char *value)
{
    struct options *options = cli->members;
    struct pattern *longer =
        realloc(options->patterns, (options->pattern_count + 1) * sizeof(*longer));
    if (!longer) {
        return cli_wrong(cli, "out of memory", "") == 0;
    }
    options->patterns = longer;
    longer[options->pattern_count++] = (struct pattern){value, cli_next(cli)};
    return options->params = true;
}

static bool take_format(struct cli *cli, enum format format)
{
    struct options *options = cli->members;
    bool other = options->format != FORMAT_TEXT && options->format != format;
    options->format = format;
    return !other || cli_wrong(cli, "--md prints all parameters, and nothing else", "") == 0;
}

static bool take_json(struct cli *cli, const char *value)
{
    (void) value;
    return take_format(cli, FORMAT_JSON);
}

static bool take_md(struct cli *cli, const char *value)
{
    (void) value;
    return take_format(cli, FORMAT_MD);
}

/* ompi_info's, which gets an answer. */
static bool take_parsable(struct cli *cli, const char *value)
{
    (void) value;
    return cli_wrong(cli, "--parsable: --json is what programs read", "") == 0;
}

#define FLAG(member) cli_flag, .offset = offsetof(struct options, member)

static const struct cli_option rows[] = {
    {"build", NULL, "version, compiler, options, libraries", FLAG(build)},
    {"components", NULL, "what moves bytes and messages", FLAG(components)},
    {"devices", NULL, "what each component finds here: interfaces, providers", FLAG(devices)},
    {"topology", NULL, "this machine's processors", FLAG(topology)},
    {"param", "NAME",
     "parameters whose names begin so, or of this layer, with value,\n"
     "source, range and meaning; repeatable",
     .take = take_param},
    {"params", NULL, "all parameters", FLAG(params)},
    {"all", NULL, "all of that", .take = take_all, .letter = 'a'},
    {"json", NULL, "as one JSON object", .take = take_json},
    {"md", NULL, "all parameters with their defaults, as docs/parameters.md", .take = take_md},
    {"parsable", NULL, NULL, .take = take_parsable},
    {"parseable", NULL, NULL, .take = take_parsable},
};

static bool selects(const struct options *options)
{
    return options->build || options->components || options->devices || options->topology ||
           options->params;
}

int options_read(struct options *options, int argc, char **argv)
{
    struct cli cli = {
        .program = "keel-info",
        .usage = "Usage: keel-info [OPTION]...\n"
                 "Prints what this installation of Keel is, has, and finds on this machine; "
                 "without an\noption: --build --components. See keel-info(1).\n\n",
        .options = rows,
        .count = sizeof(rows) / sizeof(*rows),
        .members = options,
    };
    *options = (struct options){.format = FORMAT_TEXT};
    int status = cli_read(&cli, argc, argv);
    if (status == 0 && options->format == FORMAT_MD && selects(options)) {
        return cli_wrong(&cli, "--md prints all parameters, and nothing else", "");
    }
    if (!selects(options)) {
        options->build = options->components = true;
    }
    return status;
}

void options_free(struct options *options)
{
    free(options->patterns);
}
