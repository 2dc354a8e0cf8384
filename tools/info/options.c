#include <config.h>

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tools/info/options.h>

static const struct option table[] = {
    {"all", no_argument, NULL, 'a'},
    {"build", no_argument, NULL, 'b'},
    {"components", no_argument, NULL, 'c'},
    {"devices", no_argument, NULL, 'd'},
    {"topology", no_argument, NULL, 't'},
    {"param", required_argument, NULL, 'p'},
    {"params", no_argument, NULL, 'P'},
    {"json", no_argument, NULL, 'j'},
    {"md", no_argument, NULL, 'm'},
    {"completion", required_argument, NULL, 'C'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    /* ompi_info's, which get an answer */
    {"parsable", no_argument, NULL, 'x'},
    {"parseable", no_argument, NULL, 'x'},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
    printf("Usage: keel-info [OPTION]...\n"
           "Prints what this installation of Keel is, has, and finds on this machine; without an\n"
           "option: --build --components. See keel-info(1).\n\n"
           "  --build           version, compiler, options, libraries\n"
           "  --components      what moves bytes and messages\n"
           "  --devices         what each component finds here: interfaces, providers\n"
           "  --topology        this machine's processors\n"
           "  --param NAME      parameters whose names begin so, or of this layer, with value,\n"
           "                    source, range and meaning; repeatable\n"
           "  --params          all parameters\n"
           "  -a, --all         all of that\n"
           "  --json            as one JSON object\n"
           "  --md              all parameters with their defaults, as docs/parameters.md\n"
           "  --completion bash print what completes this command line in bash\n"
           "  -h, --help, -V, --version\n");
}

static void print_completion(void)
{
    printf("# Completes keel-info's command line in bash; printed by keel-info --completion bash.\n"
           "complete -W '");
    for (const struct option *option = table; option->name; option++) {
        if (option->val != 'x') {
            printf("--%s ", option->name);
        }
    }
    printf("' keel-info\n");
}

static int print(int option)
{
    if (option == 'h') {
        print_help();
    } else if (option == 'V') {
        printf("keel-info (Keel) %s\n", PACKAGE_VERSION);
    } else {
        print_completion();
    }
    return 1;
}

static int wrong(const char *what, const char *value)
{
    fprintf(stderr, "keel-info: %s%s (keel-info --help)\n", what, value);
    return -1;
}

/* --param NAME, or as ompi_info has it: --param FRAMEWORK COMPONENT. */
static bool add_pattern(struct options *options, char **argv)
{
    struct pattern *longer =
        realloc(options->patterns, (options->pattern_count + 1) * sizeof(*longer));
    if (!longer) {
        return false;
    }
    options->patterns = longer;
    bool two = argv[optind] && argv[optind][0] != '-';
    longer[options->pattern_count++] = (struct pattern){optarg, two ? argv[optind] : NULL};
    optind += two;
    options->params = true;
    return true;
}

static int take(struct options *options, int option, char **argv)
{
    switch (option) {
    case 'a':
        options->build = options->components = options->devices = true;
        options->topology = options->params = true;
        return 0;
    case 'b':
        options->build = true;
        return 0;
    case 'c':
        options->components = true;
        return 0;
    case 'd':
        options->devices = true;
        return 0;
    case 't':
        options->topology = true;
        return 0;
    case 'P':
        options->params = true;
        return 0;
    case 'p':
        return add_pattern(options, argv) ? 0 : wrong("out of memory", "");
    case 'j':
    case 'm':
        options->format = option == 'j' ? FORMAT_JSON : FORMAT_MD;
        return 0;
    case 'C':
        return strcmp(optarg, "bash") == 0 ? print(option)
                                           : wrong("--completion: bash is needed, not ", optarg);
    case 'x':
        return wrong("--parsable: --json is what programs read", "");
    case 'h':
    case 'V':
        return print(option);
    default:
        return -1; /* getopt_long has said why */
    }
}

static bool selects(const struct options *options)
{
    return options->build || options->components || options->devices || options->topology ||
           options->params;
}

int options_read(struct options *options, int argc, char **argv)
{
    int option, status = 0;
    *options = (struct options){.format = FORMAT_TEXT};
    while (status == 0 && (option = getopt_long(argc, argv, "ahV", table, NULL)) != -1) {
        status = take(options, option, argv);
    }
    if (status != 0) {
        return status;
    }
    if (argv[optind]) {
        return wrong("what is ", argv[optind]);
    }
    if (options->format == FORMAT_MD && selects(options)) {
        return wrong("--md prints all parameters, and nothing else", "");
    }
    if (!selects(options)) {
        options->build = options->components = true;
    }
    return 0;
}

void options_free(struct options *options)
{
    free(options->patterns);
}
