#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tools/cli.h>
#include <tools/perf/options.h>
#include <tools/perf/test.h>

enum { SIZE_MOST = 1 << 30 };

static const size_t last_size_default = 4u << 20;

static void print_tests(void)
{
    printf("\nTests:\n");
    for (size_t i = 0; all_tests[i].name; i++) {
        printf("  %-12s %s\n", all_tests[i].name, all_tests[i].what);
    }
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

static bool take_size(struct cli *cli, const char *text)
{
    struct options *options = cli->members;
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

static bool take_rotate(struct cli *cli, const char *text)
{
    size_t *bytes = cli_member(cli);
    const char *end;
    return read_size(text, bytes, &end) && !*end && *bytes > 0;
}

static const struct perf_test *find_test(const char *name, size_t length)
{
    for (size_t i = 0; all_tests[i].name; i++) {
        if (strlen(all_tests[i].name) == length && strncmp(all_tests[i].name, name, length) == 0) {
            return &all_tests[i];
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

static bool take_tests(struct cli *cli, const char *text)
{
    char what[1024];
    if (!*text || read_tests(cli->members, text)) {
        return *text;
    }
    size_t used =
        (size_t) snprintf(what, sizeof(what), "--test does not take %.100s; the tests are", text);
    for (size_t i = 0; all_tests[i].name && used < sizeof(what); i++) {
        used += (size_t) snprintf(what + used, sizeof(what) - used, "%s %s", i > 0 ? "," : "",
                                  all_tests[i].name);
    }
    return cli_wrong(cli, what, "") == 0;
}

static bool take_iterations(struct cli *cli, const char *text)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    *(uint64_t *) cli_member(cli) = value;
    return !errno && *text >= '0' && *text <= '9' && !*end && value > 0;
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

static bool take_rails(struct cli *cli, const char *text)
{
    return cli_text(cli, text) && read_rails(text, true);
}

static bool take_btl(struct cli *cli, const char *text)
{
    return cli_text(cli, text) && read_rails(text, false);
}

#define SETS(take, member) take, .offset = offsetof(struct options, member)
#define COUNT(member, most_) SETS(cli_count, member), .least = 1, .most = most_

static const struct cli_option rows[] = {
    {"rails", "NAME[,NAME...]", "over these modules (self, sm, tcp, ...); default: the best",
     SETS(take_rails, rails)},
    {"btl", "NAME", "the same with one name", SETS(take_btl, rails)},
    {"test", "NAME[,NAME...]", "default: all", .take = take_tests},
    {"size", "FIRST[:LAST]", "bytes (k and m may follow), doubled on the way; default 8:4m",
     .take = take_size},
    {"window", "N", "operations under way in a stream; default 64", COUNT(window, 65536)},
    {"time", "SECONDS", "for each size of each test; default 0.3", SETS(cli_real, seconds),
     .least = 1e-9, .most = 3600},
    {"iterations", "N", "so many operations instead", SETS(take_iterations, iterations)},
    {"rotate", "BYTES", "buffers taken in turn from so much memory; default: one",
     SETS(take_rotate, rotate)},
    {"compute", "US", "rank 1 computes for so many microseconds between two polls",
     COUNT(compute_us, 1000000)},
    {"posted", "N", "so many receives of other tags are posted before", COUNT(posted, 1000000)},
    {"unexpected", "N", "so many messages of other tags wait at both ends",
     COUNT(unexpected, 1000000)},
    {"any", NULL, "tag_lat receives from any source, with any tag", SETS(cli_flag, any)},
    {"progress-thread", NULL, "ranks that sleep; measures wake_lat",
     SETS(cli_flag, progress_thread)},
    {"stats", NULL, "print what the rail has counted", SETS(cli_flag, stats)},
    {"json", NULL, "print one JSON object", SETS(cli_flag, json)},
    {"plot", "FILE.svg", "draw a picture too", SETS(cli_text, plot)},
};

int options_read(struct options *options, int argc, char **argv, bool loud)
{
    struct cli cli = {
        .program = "keel-perf",
        .usage = "Usage: keelrun -n 2 keel-perf [OPTION]...\n"
                 "Measures the data plane between ranks 0 and 1. See keel-perf(1).\n\n",
        .options = rows,
        .count = sizeof(rows) / sizeof(*rows),
        .members = options,
        .more = print_tests,
        .quiet = !loud,
    };
    *options = (struct options){
        .first_size = 8, .last_size = last_size_default, .window = 64, .seconds = 0.3};
    int status = cli_read(&cli, argc, argv);
    if (status == 0 && options->any && options->unexpected > 0) {
        return cli_wrong(&cli, "--any would take the messages of --unexpected", "");
    }
    bool all = status == 0 && options->test_count == 0;
    for (size_t i = 0; all && all_tests[i].name; i++) {
        if (all_tests[i].asleep == options->progress_thread && !add_test(options, &all_tests[i])) {
            return cli_wrong(&cli, "no memory", "");
        }
    }
    return status;
}

void options_free(struct options *options)
{
    free(options->tests);
    options->tests = NULL;
    options->test_count = 0;
}
