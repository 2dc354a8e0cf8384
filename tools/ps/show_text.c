/* For people. */
#include <config.h>

#include <inttypes.h>
#include <string.h>
#include <tools/cli.h>
#include <tools/ps/show.h>

/* "8.2 s", "12:04", "3:12:04". */
static const char *duration(char text[32], uint64_t ms)
{
    unsigned long long s = ms / 1000u;
    if (s < 60) {
        snprintf(text, 32, "%llu.%llu s", s, (unsigned long long) (ms % 1000u / 100u));
    } else if (s < 3600) {
        snprintf(text, 32, "%llu:%02llu", s / 60, s % 60);
    } else {
        snprintf(text, 32, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
    }
    return text;
}

static const char *size(char text[32], uint64_t bytes)
{
    static const char units[] = "KMGT";
    double value = (double) bytes / 1024;
    int unit = 0;
    if (bytes < 1000) {
        snprintf(text, 32, "%u", (unsigned) bytes);
        return text;
    }
    while (value >= 1000 && units[unit + 1]) {
        value /= 1024;
        unit++;
    }
    snprintf(text, 32, "%.*f%c", value < 10 ? 1 : 0, value, units[unit]);
    return text;
}

/* The head of a part, once. */
static bool begin(struct shown *shown, const char *part)
{
    bool new = !shown->part || strcmp(shown->part, part) != 0;
    shown->part = part;
    return new;
}

static void text_job(void *arg, const struct keel_job_state *job)
{
    struct shown *shown = arg;
    char age[32];
    bool stands = strcmp(job->phase, "stands") == 0; /* a DVM, and no job */
    fprintf(shown->out, "job %s: ", job->id);
    if (!stands) {
        fprintf(shown->out, "%u rank%s of ", job->rank_count, job->rank_count == 1 ? "" : "s");
    }
    cli_print(shown->out, stands ? "a DVM" : job->program);
    fprintf(shown->out, ", %s for %s, %s %u\n", job->phase, duration(age, job->age_ms),
            stands ? "keel-dvm" : "keelrun", job->pid);
}

static void text_node(void *arg, const struct keel_node_state *node)
{
    struct shown *shown = arg;
    char pid[16] = "-";
    shown_add_node(shown, node);
    if (begin(shown, "nodes")) {
        fprintf(shown->out, "  %-16s %8s  %s\n", "NODE", "PID", "STATE");
    }
    if (node->pid) {
        snprintf(pid, sizeof(pid), "%u", node->pid);
    }
    fprintf(shown->out, "  %-16s %8s  ", node->name, pid);
    cli_print(shown->out, node->state);
    fputc('\n', shown->out);
}

/* Memory of messages that wait for a receive; "-": the rank has not said. */
static const char *waiting(char text[32], const struct keel_rank_state *rank)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < rank->counter_count; i++) {
        const struct keel_counter *counter = &rank->counters[i];
        if (strcmp(counter->name, "rml_waiting_bytes") == 0 ||
            strcmp(counter->name, "pml_unexpected_now") == 0) {
            bytes += counter->value;
        }
    }
    return rank->counter_count > 0 ? size(text, bytes) : "-";
}

static void text_counters(FILE *out, const struct keel_rank_state *rank)
{
    for (size_t i = 0; i < rank->counter_count; i++) {
        if (rank->counters[i].value > 0) {
            fputs("       ", out);
            cli_print(out, rank->counters[i].name);
            fprintf(out, " %" PRIu64 "\n", rank->counters[i].value);
        }
    }
}

static void text_rank(void *arg, const struct keel_rank_state *rank)
{
    struct shown *shown = arg;
    char pid[16] = "-", cpu[32] = "-", used[32] = "-", memory[32] = "-", still[32] = "-", wait[32];
    if (begin(shown, "ranks")) {
        fprintf(shown->out, "  %4s %-16s %8s %6s %8s %6s %6s %8s  %s\n", "RANK", "NODE", "PID",
                "CPU%", "TIME", "MEM", "QUEUE", "STILL", "STATE");
    }
    if (rank->pid) {
        double age_ms = rank->age_ms > 0 ? (double) rank->age_ms : 1;
        snprintf(pid, sizeof(pid), "%u", rank->pid);
        snprintf(cpu, sizeof(cpu), "%.1f", 100 * (double) rank->cpu_ms / age_ms);
        duration(used, rank->cpu_ms);
        size(memory, rank->memory_bytes);
        duration(still, rank->still_ms);
    }
    fprintf(shown->out, "  %4u %-16s %8s %6s %8s %6s %6s %8s  ", rank->rank,
            shown_node(shown, rank->node), pid, cpu, used, memory, waiting(wait, rank), still);
    cli_print(shown->out, rank->state);
    fputc('\n', shown->out);
    if (shown->counters) {
        text_counters(shown->out, rank);
    }
}

static void text_line(void *arg, const char *line)
{
    struct shown *shown = arg;
    fputs("  ", shown->out);
    cli_print(shown->out, line);
    fputc('\n', shown->out);
}

static void text_end(struct shown *shown)
{
    (void) shown;
}

static void text_other(FILE *out, const char *id, const char *state)
{
    fprintf(out, "job %s: %s\n", id, state);
}

const struct show show_text = {
    .look = {text_job, text_node, text_rank, text_line},
    .end = text_end,
    .other = text_other,
    .before = "",
    .between = "\n",
    .after = "",
    .none = "no jobs\n",
};
