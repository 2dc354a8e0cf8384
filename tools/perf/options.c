#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tools/perf/options.h>
#include <tools/perf/test.h>

enum { SIZE_MOST = 1 << 30, WINDOW_MOST = 65536, COMPUTE_MOST_US = 1000000, CROWD_MOST = 1000000 };

static const size_t last_size_default = 4u << 20;

static void print_help(void)
{
    printf("Usage: keelrun -n 2 keel-perf [OPTION]...\n"
           "Measures the data plane between ranks 0 and 1. See keel-perf(1).\n\n"
           "  --rails NAME[,NAME...] over these modules (self, sm, tcp, ...); default: the best\n"
           "  --btl NAME             the same with one name\n"
           "  --test NAME[,NAME...]  default: all\n"
           "  --size FIRST[:LAST]    bytes (k and m may follow), doubled on the way; default 8:4m\n"
           "  --window N             operations under way in a stream; default 64\n"
           "  --time SECONDS         for each size of each test; default 0.3\n"
           "  --iterations N         so many operations instead\n"
           "  --rotate BYTES         buffers taken in turn from so much memory; default: one\n"
           "  --compute US           rank 1 computes for so many microseconds between two polls\n"
           "  --posted N             so many receives of other tags are posted before\n"
           "  --unexpected N         so many messages of other tags wait at both ends\n"
           "  --any                  tag_lat receives from any source, with any tag\n"
           "  --progress-thread      ranks that sleep; measures wake_lat\n"
           "  --stats                print what the rail has counted\n"
           "  --json                 print one JSON object\n"
           "  --plot FILE.svg        draw a picture too\n"
           "  --help, --version\n\nTests:\n");
    for (size_t i = 0; all_tests[i]; i++) {
        printf("  %-12s %s\n", all_tests[i]->name, all_tests[i]->what);
    }
}

static void print_version(void)
{
    printf("keel-perf (Keel) %s\n", PACKAGE_VERSION);
}

/* A number of bytes with k or m behind it; *end is what follows. */
static bool read_size(const char *text, size_t *size, const char **end)
{
    char *after;
    errno = 0;
    unsigned long long value = strtoull(text, &after, 10);
    if (errno || after == text || *text == '-') {
        return false;
    }
    unsigned shift = *after == 'k' || *after == 'K' ? 10 : *after == 'm' || *after == 'M' ? 20 : 0;
    if (value > (unsigned long long) SIZE_MOST >> shift) {
        return false;
    }
    *size = (size_t) value << shift;
    *end = after + (shift > 0);
    return true;
}

static bool read_sizes(struct options *options, const char *text)
{
    size_t first, last;
    const char *end;
    if (!read_size(text, &first, &end)) {
        return false;
    }
    last = first;
    if (*end == ':' && !read_size(end + 1, &last, &end)) {
        return false;
    }
    if (*end || last < first) {
        return false;
    }
    options->first_size = first;
    options->last_size = last;
    return true;
}

static const struct perf_test *find_test(const char *name, size_t length)
{
    for (size_t i = 0; all_tests[i]; i++) {
        if (strlen(all_tests[i]->name) == length &&
            strncmp(all_tests[i]->name, name, length) == 0) {
            return all_tests[i];
        }
    }
    return NULL;
}

static bool add_test(struct options *options, const struct perf_test *test)
{
    const struct perf_test **longer =
        realloc(options->tests, (options->test_count + 1) * sizeof(*longer));
    if (longer) {
        options->tests = longer;
        options->tests[options->test_count++] = test;
    }
    return longer != NULL;
}

/* A list with commas. */
static bool read_tests(struct options *options, const char *text)
{
    for (;;) {
        size_t length = strcspn(text, ",");
        const struct perf_test *test = find_test(text, length);
        if (!test || !add_test(options, test)) {
            return false;
        }
        if (!text[length]) {
            return true;
        }
        text += length + 1;
    }
}

static bool read_count(const char *text, uint64_t most, uint64_t *count)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || *text < '0' || *text > '9' || *end || value == 0 || value > most) {
        return false;
    }
    *count = value;
    return true;
}

static bool read_seconds(const char *text, double *seconds)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value > 0 && value <= 3600)) {
        return false;
    }
    *seconds = value;
    return true;
}

/* A module's name, or several with commas. Which there are is known when they are opened. */
static bool read_rails(const char *text, bool several)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (length > 0 && several && text[length] == ',') {
        return read_rails(text + length + 1, several);
    }
    return length > 0 && !text[length];
}

static bool take_option(struct options *options, int option, const char *value)
{
    uint64_t number;
    const char *end;
    switch (option) {
    case 'b':
    case 'l':
        options->rails = value;
        return read_rails(value, option == 'l');
    case 't':
        return read_tests(options, value);
    case 's':
        return read_sizes(options, value);
    case 'w':
        if (!read_count(value, WINDOW_MOST, &number)) {
            return false;
        }
        options->window = (unsigned) number;
        return true;
    case 'o':
        return read_size(value, &options->rotate, &end) && !*end && options->rotate > 0;
    case 'q':
    case 'u':
        if (!read_count(value, CROWD_MOST, &number)) {
            return false;
        }
        *(option == 'q' ? &options->posted : &options->unexpected) = (unsigned) number;
        return true;
    case 'c':
        if (!read_count(value, COMPUTE_MOST_US, &number)) {
            return false;
        }
        options->compute_us = (unsigned) number;
        return true;
    case 'm':
        return read_seconds(value, &options->seconds);
    case 'i':
        return read_count(value, UINT64_MAX, &options->iterations);
    case 'p':
        options->plot = value;
        return *value != '\0';
    default:
        return false;
    }
}

static const struct option table[] = {
    {"rails", required_argument, NULL, 'l'},
    {"btl", required_argument, NULL, 'b'},
    {"test", required_argument, NULL, 't'},
    {"size", required_argument, NULL, 's'},
    {"window", required_argument, NULL, 'w'},
    {"rotate", required_argument, NULL, 'o'},
    {"posted", required_argument, NULL, 'q'},
    {"unexpected", required_argument, NULL, 'u'},
    {"any", no_argument, NULL, 'n'},
    {"compute", required_argument, NULL, 'c'},
    {"time", required_argument, NULL, 'm'},
    {"iterations", required_argument, NULL, 'i'},
    {"progress-thread", no_argument, NULL, 'r'},
    {"json", no_argument, NULL, 'j'},
    {"stats", no_argument, NULL, 'a'},
    {"plot", required_argument, NULL, 'p'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'v'},
    {NULL, 0, NULL, 0},
};

static int complain(bool loud, const char *what, const char *value)
{
    if (loud) {
        fprintf(stderr, "keel-perf: %s%s%s; see keel-perf --help\n", what, *value ? " " : "",
                value);
    }
    return -1;
}

static int complain_of_test(bool loud, const char *value)
{
    if (loud) {
        fprintf(stderr, "keel-perf: --test does not take %s; the tests are", value);
        for (size_t i = 0; all_tests[i]; i++) {
            fprintf(stderr, "%s %s", i > 0 ? "," : "", all_tests[i]->name);
        }
        fputc('\n', stderr);
    }
    return -1;
}

int options_read(struct options *options, int argc, char **argv, bool loud)
{
    int option, index = 0;
    *options = (struct options){
        .first_size = 8, .last_size = last_size_default, .window = 64, .seconds = 0.3};
    opterr = loud;
    while ((option = getopt_long(argc, argv, "", table, &index)) != -1) {
        if (option == '?') {
            return -1; /* getopt_long has said why */
        } else if (option == 'h' || option == 'v') {
            if (loud) {
                option == 'h' ? print_help() : print_version();
            }
            return 1;
        } else if (option == 'j') {
            options->json = true;
        } else if (option == 'a') {
            options->stats = true;
        } else if (option == 'n') {
            options->any = true;
        } else if (option == 'r') {
            options->progress_thread = true;
        } else if (!take_option(options, option, optarg)) {
            if (option == 't' && *optarg) {
                return complain_of_test(loud, optarg);
            }
            char what[64];
            snprintf(what, sizeof(what), "--%s does not take", table[index].name);
            return complain(loud, what, *optarg ? optarg : "nothing");
        }
    }
    if (optind < argc) {
        return complain(loud, "what is", argv[optind]);
    }
    if (options->any && options->unexpected > 0) {
        return complain(loud, "--any would take the messages of --unexpected", "");
    }
    bool all = options->test_count == 0;
    for (size_t i = 0; all && all_tests[i]; i++) {
        if (all_tests[i]->asleep == options->progress_thread && !add_test(options, all_tests[i])) {
            return complain(loud, "no memory", "");
        }
    }
    return 0;
}

void options_free(struct options *options)
{
    free(options->tests);
    options->tests = NULL;
    options->test_count = 0;
}
