/* For programs: an object for each job. */
#include <config.h>

#include <inttypes.h>
#include <string.h>
#include <tools/json.h>
#include <tools/ps/show.h>

static void json_job(void *arg, const struct keel_job_state *job)
{
    const struct shown *shown = arg;
    fputc('{', shown->out);
    json_member(shown->out, "id", job->id, ",");
    fprintf(shown->out, "\"number\":%u,", job->number);
    json_member(shown->out, "state", job->phase, ",");
    json_member(shown->out, "program", job->program, ",");
    fprintf(shown->out, "\"%s\":%u,\"age_ms\":%" PRIu64 ",\"rank_count\":%u",
            strcmp(job->phase, "stands") == 0 ? "keel-dvm" : "keelrun", job->pid, job->age_ms,
            job->rank_count);
}

/* An element of an array of the job's; what was open before is closed. */
static FILE *begin(struct shown *shown, const char *part)
{
    if (shown->part && strcmp(shown->part, part) == 0) {
        fputc(',', shown->out);
    } else {
        fprintf(shown->out, "%s,\"%s\":[", shown->part ? "]" : "", part);
    }
    shown->part = part;
    return shown->out;
}

static void json_node(void *arg, const struct keel_node_state *node)
{
    FILE *out = begin(arg, "nodes");
    shown_add_node(arg, node);
    fputc('{', out);
    json_member(out, "name", node->name, ",");
    json_member(out, "state", node->state, ",");
    fprintf(out, "\"pid\":%u}", node->pid);
}

static void json_rank(void *arg, const struct keel_rank_state *rank)
{
    FILE *out = begin(arg, "ranks");
    fprintf(out, "{\"rank\":%u,", rank->rank);
    json_member(out, "node", shown_node(arg, rank->node), ",");
    json_member(out, "state", rank->state, ",");
    fprintf(out,
            "\"pid\":%u,\"still_ms\":%" PRIu64 ",\"age_ms\":%" PRIu64 ",\"cpu_ms\":%" PRIu64
            ",\"memory_bytes\":%" PRIu64 ",\"counters\":{",
            rank->pid, rank->still_ms, rank->age_ms, rank->cpu_ms, rank->memory_bytes);
    for (size_t i = 0; i < rank->counter_count; i++) {
        fputs(i > 0 ? "," : "", out);
        json_text(out, rank->counters[i].name);
        fprintf(out, ":%" PRIu64, rank->counters[i].value);
    }
    fputs("}}", out);
}

static void json_line(void *arg, const char *line)
{
    json_text(begin(arg, "stacks"), line);
}

static void json_end(struct shown *shown)
{
    fputs(shown->part ? "]}" : "}", shown->out);
}

static void json_other(FILE *out, const char *id, const char *state)
{
    fputc('{', out);
    json_member(out, "id", id, ",");
    json_member(out, "state", state, "}");
}

const struct show show_json = {
    .look = {json_job, json_node, json_rank, json_line},
    .end = json_end,
    .other = json_other,
    .before = "{\"keel_ps\":1,\"jobs\":[",
    .between = ",",
    .after = "]}\n",
    .none = "",
};
