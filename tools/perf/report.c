#include <config.h>

#include <inttypes.h>
#include <tools/json.h>
#include <tools/perf/report.h>
#include <tools/perf/test.h>

static void begin_json(const struct report *report, const struct pair *pair,
                       const struct place *places, size_t count)
{
    FILE *out = report->out;
    fputs("{\"machine\":{", out);
    json_member(out, "model", places[0].model, ",");
    json_member(out, "kernel", places[0].kernel, ",");
    fprintf(out, "\"processors\":%ld,\"ranks\":[", places[0].online);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? ",{" : "{", out);
        json_member(out, "host", places[i].host, ",");
        json_member(out, "affinity", places[i].processors, "}");
    }
    fprintf(out, "]},\"window\":%u,\n\"results\":[", pair->window);
}

static void put_limit(FILE *out, const char *name, size_t limit)
{
    if (limit == SIZE_MAX) {
        fprintf(out, "  %s any", name);
    } else {
        fprintf(out, "  %s %zu", name, limit);
    }
}

static void begin_table(const struct report *report, const struct pair *pair,
                        const struct place *places, size_t count)
{
    FILE *out = report->out;
    const mca_btl_base_module_t *btl = pair->btl;
    fprintf(out, "# keel-perf (Keel) %s\n", PACKAGE_VERSION);
    fprintf(out, "# machine   %s, %ld processors, %s\n", places[0].model, places[0].online,
            places[0].kernel);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "# rank %zu    %s, processors %s%s\n", i, places[i].host, places[i].processors,
                places[i].pinned_here ? " (pinned by keel-perf)" : "");
    }
    fprintf(out, "# module    %s: latency %u us, bandwidth %u MB/s, exclusivity %u\n", report->btl,
            btl->btl_latency, btl->btl_bandwidth, btl->btl_exclusivity);
    fprintf(out, "# limits    eager %zu  send %zu", btl->btl_eager_limit, btl->btl_max_send_size);
    put_limit(out, "put", btl->btl_put_limit);
    put_limit(out, "get", btl->btl_get_limit);
    fprintf(out, "  window %u\n", pair->window);
}

void report_begin(struct report *report, const struct pair *pair, const struct place *places,
                  size_t place_count)
{
    report->btl = pair->btl->btl_component->btl_version.mca_component_name;
    if (report->json) {
        begin_json(report, pair, places, place_count);
    } else {
        begin_table(report, pair, places, place_count);
    }
    fflush(report->out);
}

static const char *over(const struct report *report, const struct perf_test *test)
{
    return test->all_rails && report->rails ? report->rails : report->btl;
}

static void put_heading(struct report *report, const struct perf_test *test)
{
    if (report->shown != test) {
        fprintf(report->out, "\n# %s over %s: %s\n", test->name, over(report, test), test->what);
        fprintf(report->out, "#%9s %12s %10s %10s %10s %12s %14s\n", "bytes", "iterations",
                "min us", "median us", "p99 us", "MB/s", "messages/s");
    }
    report->shown = test;
}

/* A figure that is not known, and so negative, is none. */
static const char *text_of(double figure, const char *form, const char *none, char text[32])
{
    snprintf(text, 32, form, figure);
    return figure < 0 ? none : text;
}

static void put_json_result(struct report *report, const struct result *result)
{
    FILE *out = report->out;
    char p99[32], cpu[32];
    fputs(report->count++ ? ",\n{" : "\n{", out);
    json_member(out, "btl", over(report, result->test), ",");
    json_member(out, "test", result->test->name, ",");
    fprintf(out,
            "\"size\":%zu,\"iterations\":%" PRIu64
            ",\"latency_us\":{\"min\":%.4f,\"median\":%.4f,\"mean\":%.4f,\"p99\":%s},"
            "\"MB_per_s\":%.2f,\"messages_per_s\":%.0f,\"cpu_us\":%s}",
            result->size, result->iterations, result->min_us, result->median_us, result->mean_us,
            text_of(result->p99_us, "%.4f", "null", p99), result->megabytes_per_s,
            result->messages_per_s, text_of(result->cpu_us, "%.4f", "null", cpu));
}

void report_result(struct report *report, const struct result *result)
{
    if (report->json) {
        put_json_result(report, result);
    } else {
        char p99[32];
        put_heading(report, result->test);
        fprintf(report->out, "%10zu %12" PRIu64 " %10.3f %10.3f %10s %12.2f %14.0f\n", result->size,
                result->iterations, result->min_us, result->median_us,
                text_of(result->p99_us, "%.3f", "-", p99), result->megabytes_per_s,
                result->messages_per_s);
    }
    fflush(report->out);
}

void report_refusal(struct report *report, const struct perf_test *test, const char *why)
{
    fprintf(stderr, "keel-perf: %s over %s is left out: %s\n", test->name, over(report, test), why);
}

enum { COUNTERS_MOST = 64 };

static void put_counters(const struct report *report, const char *scope,
                         const struct keel_btl_stat *stats, size_t count)
{
    if (report->json) {
        fprintf(report->out, "\"%s\":{", scope);
    }
    for (size_t i = 0; i < count && i < COUNTERS_MOST; i++) {
        if (report->json) {
            fprintf(report->out, "%s\"%s\":%" PRIu64, i ? "," : "", stats[i].name, stats[i].value);
        } else {
            fprintf(report->out, "%s %s %" PRIu64 " %s\n", scope, stats[i].name, stats[i].value,
                    stats[i].unit);
        }
    }
    fputs(report->json ? "}" : "", report->out);
}

static void put_all_counters(const struct report *report, const struct pair *pair)
{
    struct keel_btl_stat stats[COUNTERS_MOST];
    const char *comma = report->json ? "," : "";
    put_counters(report, "module", stats, keel_btl_stats(pair->btl, NULL, stats, COUNTERS_MOST));
    fputs(comma, report->out);
    put_counters(report, "peer", stats,
                 keel_btl_stats(pair->btl, pair->endpoint, stats, COUNTERS_MOST));
    size_t tagged = tagged_stats(stats, COUNTERS_MOST);
    if (tagged > 0) {
        fputs(comma, report->out);
        put_counters(report, "tagged", stats, tagged);
    }
}

void report_end(struct report *report, const struct pair *counters)
{
    fputs(report->json ? "\n]" : "", report->out);
    if (counters) {
        fputs(report->json ? ",\"counters\":{"
                           : "\n# counters of rank 0's module, and of its peer\n",
              report->out);
        put_all_counters(report, counters);
        fputs(report->json ? "}" : "", report->out);
    }
    fputs(report->json ? "}\n" : "", report->out);
    fflush(report->out);
}
