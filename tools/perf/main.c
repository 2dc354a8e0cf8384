/* keel-perf: latency, rate and bandwidth of the data plane between two ranks. See keel-perf(1). */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tools/perf/options.h>
#include <tools/perf/plot.h>
#include <tools/perf/report.h>

static const char place_key[] = "keel-perf.place";

/* The results that a picture is drawn of. */
struct results {
    struct result *all;
    size_t count;
};

static void check(int status, const char *what)
{
    if (status < 0) {
        keel_abort(1, "keel-perf: %s: %s", what, opal_strerror(status));
    }
}

static void keep(struct results *results, const struct result *result)
{
    struct result *longer = realloc(results->all, (results->count + 1) * sizeof(*longer));
    if (!longer) {
        keel_abort(1, "keel-perf: no memory for the results");
    }
    results->all = longer;
    results->all[results->count++] = *result;
}

/* The size after this one; the last is never left out. */
static size_t next_size(const struct options *options, size_t size)
{
    size_t next = size > 0 ? 2 * size : 1;
    return size < options->last_size && next > options->last_size ? options->last_size : next;
}

/* One test over all sizes. Both ends walk through them alike, so that the answering one knows when
 * to go on. */
static void run_test(struct pair *pair, const struct options *options, const struct perf_test *test,
                     struct report *report, struct results *results)
{
    size_t first = test->fixed_size ? test->fixed_size : options->first_size;
    size_t last = test->fixed_size ? test->fixed_size : options->last_size;
    for (size_t size = first; size <= last; size = next_size(options, size)) {
        struct effort effort = {.seconds = options->seconds, .iterations = options->iterations};
        struct result result;
        if (!report) {
            check(test->answer ? test->answer(pair, size) : pair_answer(pair), test->name);
            continue;
        }
        check(measure(pair, test, size, &effort, &result), test->name);
        check(pair_end(pair), test->name);
        if (test->finish) {
            check(test->finish(pair), test->name);
        }
        report_result(report, &result);
        keep(results, &result);
    }
}

static void run_tests(struct pair *pair, const struct options *options, struct report *report,
                      struct results *results)
{
    for (size_t i = 0; i < options->test_count; i++) {
        const struct perf_test *test = options->tests[i];
        const char *refusal = test->asleep == pair->asleep ? test->refusal(pair)
                              : test->asleep               ? "it needs --progress-thread"
                                                           : "its ends poll";
        if (refusal && report) {
            report_refusal(report, test, refusal);
        } else if (!refusal) {
            run_test(pair, options, test, report, results);
        }
    }
}

/* Rank 0 learns where the ranks that take part are. */
static size_t learn_places(struct place places[2])
{
    size_t count = keel_job_size() > 1 ? 2 : 1;
    for (size_t i = 0; i < count; i++) {
        orte_process_name_t rank = {keel_my_name()->jobid, (orte_vpid_t) i};
        void *card = NULL;
        size_t size = 0;
        check(keel_modex_recv(&rank, place_key, &card, &size), "where the ranks are");
        if (size != sizeof(places[i])) {
            keel_abort(1, "keel-perf: rank %zu is of another version", i);
        }
        memcpy(&places[i], card, size);
        free(card);
    }
    return count;
}

static void cannot_write(const char *path)
{
    keel_abort(1, "keel-perf: cannot write %s: %s", path, strerror(errno));
}

static void draw(FILE *out, const struct options *options, const struct report *report,
                 const struct place *place, const struct results *results)
{
    char title[256];
    snprintf(title, sizeof(title), "keel-perf over %s, %s", report->btl, place->model);
    if (!plot_write(out, title, results->all, results->count)) {
        cannot_write(options->plot);
    }
}

/* Rank 0's part. Returns the program's exit code. */
static int lead(struct pair *pair, const struct options *options)
{
    struct place places[2];
    struct results results = {.count = 0};
    struct report report = {.out = stdout, .json = options->json, .rails = options->rails};
    size_t place_count = learn_places(places);
    FILE *picture = NULL;
    if (options->plot && !(picture = fopen(options->plot, "we"))) { /* not after minutes of work */
        cannot_write(options->plot);
    }
    report_begin(&report, pair, places, place_count);
    run_tests(pair, options, &report, &results);
    report_end(&report, options->stats ? pair : NULL);
    if (picture) {
        draw(picture, options, &report, places, &results);
    }
    int exit_code = results.count > 0 && !ferror(stdout) ? 0 : 1;
    free(results.all);
    return exit_code;
}

/* What was sent over a rail that failed may be lost, and its echo waited for in vain. */
static void rails_changed(const orte_process_name_t *peer, void *arg)
{
    const struct pair *pair = arg;
    size_t count;
    const struct keel_rail *rails = keel_rails(peer, &count);
    bool mine = pair->btl && peer->vpid == 1 - keel_my_name()->vpid;
    for (size_t i = 0; i < count; i++) {
        mine = mine && rails[i].btl != pair->btl;
    }
    if (mine) {
        keel_abort(1, "keel-perf: the rail to rank %u has failed", peer->vpid);
    }
}

static int run(const struct options *options)
{
    static struct pair pair; /* for rails_changed, until keel_finalize */
    struct place place = {.pinned_here = false};
    uint32_t rank = keel_my_name()->vpid;
    size_t capacity = options->last_size > 64 ? options->last_size : 64;
    capacity = options->rotate > capacity ? options->rotate : capacity;
    char why[256];
    int exit_code = 0;
    pair = (struct pair){.window = options->window,
                         .rotate = options->rotate,
                         .posted = options->posted,
                         .unexpected = options->unexpected,
                         .any = options->any,
                         .compute_us = options->compute_us,
                         .asleep = options->progress_thread};
    check(keel_rails_watch(rails_changed, &pair), "watching the rails");
    place_pin(&place);
    place_describe(&place);
    check(keel_modex_send(place_key, &place, sizeof(place)), "where this rank is");
    if (!pair_open(&pair, rank <= 1, options->rails, capacity, why, sizeof(why))) {
        keel_abort(1, "keel-perf: %s", why);
    }
    if (rank == 0) {
        exit_code = lead(&pair, options);
    } else if (rank == 1) {
        run_tests(&pair, options, NULL, NULL);
    }
    tagged_close();
    check(keel_fence(), "the last fence");
    if (rank <= 1) {
        pair_close(&pair);
    }
    return exit_code;
}

/* These modules, and none beside them but self. Several are of one class, so that the best of them
 * does not leave out the others. */
static void open_rails(const char *rails)
{
    char names[256], components[256] = "self", parameter[288], *rest = names;
    bool several = strchr(rails, ',');
    snprintf(names, sizeof(names), "%s", rails);
    for (char *name; (name = strsep(&rest, ","));) {
        size_t used = strlen(components);
        if (strcmp(name, "self") != 0) {
            snprintf(components + used, sizeof(components) - used, ",%s", name);
        }
        if (several && strcmp(name, "self") != 0) {
            snprintf(parameter, sizeof(parameter), "KEEL_MCA_btl_%s_exclusivity", name);
            setenv(parameter, "65535", 1);
        }
    }
    setenv("KEEL_MCA_btl", components, 1);
}

int main(int argc, char **argv)
{
    struct options options;
    const char *rank = getenv("KEEL_RANK");
    bool loud = !rank || strcmp(rank, "0") == 0;
    int asked = options_read(&options, argc, argv, loud);
    if (asked != 0) { /* one rank complains, and ends the job; the others must not end it before */
        options_free(&options);
        return asked < 0 && loud ? 2 : 0;
    }
    if (options.rails) {
        open_rails(options.rails);
    }
    /* It polls, unless it was asked not to, and then counts without atomics. */
    setenv("KEEL_MCA_enable_progress_threads", options.progress_thread ? "1" : "0", 1);
    if (options.stats) {
        setenv("KEEL_MCA_btl_base_stats", "1", 1);
    }
    int exit_code = 1;
    struct keel_options how = KEEL_OPTIONS_DEFAULT;
    how.progress_thread = options.progress_thread;
    if (keel_init(&how) == ORTE_SUCCESS) {
        exit_code = run(&options);
        if (keel_finalize() != ORTE_SUCCESS) {
            exit_code = 1;
        }
    }
    options_free(&options);
    return exit_code;
}
