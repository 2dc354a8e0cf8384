#include <config.h>

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tools/ps/options.h>

/* Debuggers have some seconds more than the head gives them. */
static const double answer_s = 5, stacks_s = 30;

static const struct option table[] = {
    {"json", no_argument, NULL, 'j'},
    {"stacks", no_argument, NULL, 's'},
    {"counters", no_argument, NULL, 'c'},
    {"watch", no_argument, NULL, 'w'},
    {"job", required_argument, NULL, 'J'},
    {"timeout", required_argument, NULL, 't'},
    {"completion", required_argument, NULL, 'C'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
    printf(
        "Usage: keel-ps [OPTION]...\n"
        "Prints this user's jobs whose keelrun runs on this host, with their nodes and ranks. See\n"
        "keel-ps(1).\n\n"
        "  --job ID          only jobs whose id begins so; repeatable\n"
        "  --json            as one JSON object, on a line\n"
        "  --stacks          what the ranks wait in: their stacks, each distinct one once\n"
        "  --counters        what each rank has counted, below it\n"
        "  --watch [SECONDS] again and again, with so many seconds between, else 2\n"
        "  --timeout SECONDS what a keelrun has to answer\n"
        "  --completion bash print what completes this command line in bash\n"
        "  -h, --help, -V, --version\n");
}

static void print_completion(void)
{
    printf("# Completes keel-ps's command line in bash; printed by keel-ps --completion bash.\n"
           "complete -W '");
    for (const struct option *option = table; option->name; option++) {
        printf("--%s ", option->name);
    }
    printf("' keel-ps\n");
}

static int print(int option)
{
    if (option == 'h') {
        print_help();
    } else if (option == 'V') {
        printf("keel-ps (Keel) %s\n", PACKAGE_VERSION);
    } else {
        print_completion();
    }
    return 1;
}

static int wrong(const char *what, const char *value)
{
    fprintf(stderr, "keel-ps: %s%s (keel-ps --help)\n", what, value);
    return -1;
}

static int read_seconds(const char *name, const char *text, double *seconds)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < 0.1 || value > 86400) {
        fprintf(stderr, "keel-ps: --%s: seconds from 0.1 to 86400 are needed, not %s\n", name,
                text);
        return -1;
    }
    *seconds = value;
    return 0;
}

/* The next word may be the seconds. */
static int take_watch(struct options *options, char **argv)
{
    options->watch = true;
    bool given = argv[optind] && argv[optind][0] != '-';
    return given ? read_seconds("watch", argv[optind++], &options->watch_s) : 0;
}

static int take_job(struct options *options, const char *job)
{
    size_t digits = strspn(job, "0123456789abcdef");
    if (digits == 0 || digits > 32 || job[digits]) {
        return wrong("--job: no job's id begins with ", job);
    }
    const char **longer = realloc(options->jobs, (options->job_count + 1) * sizeof(*longer));
    if (!longer) {
        return wrong("out of memory", "");
    }
    options->jobs = longer;
    longer[options->job_count++] = job;
    return 0;
}

static int take(struct options *options, int option, char **argv)
{
    switch (option) {
    case 'j':
        options->json = true;
        return 0;
    case 's':
        options->stacks = true;
        return 0;
    case 'c':
        options->counters = true;
        return 0;
    case 'w':
        return take_watch(options, argv);
    case 'J':
        return take_job(options, optarg);
    case 't':
        return read_seconds("timeout", optarg, &options->timeout_s);
    case 'C':
        return strcmp(optarg, "bash") == 0 ? print(option)
                                           : wrong("--completion: bash is needed, not ", optarg);
    case 'h':
    case 'V':
        return print(option);
    default:
        return -1; /* getopt_long has said why */
    }
}

int options_read(struct options *options, int argc, char **argv)
{
    int option, status = 0;
    *options = (struct options){.watch_s = 2};
    while (status == 0 && (option = getopt_long(argc, argv, "hV", table, NULL)) != -1) {
        status = take(options, option, argv);
    }
    if (status == 0 && argv[optind]) {
        status = wrong("what is ", argv[optind]);
    }
    if (options->timeout_s == 0) {
        options->timeout_s = options->stacks ? stacks_s : answer_s;
    }
    return status;
}

void options_free(struct options *options)
{
    free(options->jobs);
}

bool options_want(const struct options *options, const char *job)
{
    bool want = options->job_count == 0;
    for (size_t i = 0; i < options->job_count && !want; i++) {
        want = strncmp(job, options->jobs[i], strlen(options->jobs[i])) == 0;
    }
    return want;
}
