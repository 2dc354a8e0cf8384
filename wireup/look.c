#include <config.h>

#include <wireup/look.h>

#include <stdlib.h>
#include <wireup/proto.h>

enum record { RECORD_END, RECORD_JOB, RECORD_NODE, RECORD_RANK, RECORD_LINE };

int look_pack_job(opal_buffer_t *buffer, const struct keel_job_state *job)
{
    return proto_pack(buffer, "cusssuqu", (uint8_t) RECORD_JOB, job->number, job->id, job->phase,
                      job->program, job->pid, job->age_ms, job->rank_count);
}

int look_pack_node(opal_buffer_t *buffer, const struct keel_node_state *node)
{
    return proto_pack(buffer, "cussu", (uint8_t) RECORD_NODE, node->number, node->name, node->state,
                      node->pid);
}

int look_pack_counter(opal_buffer_t *counters, const char *name, uint64_t value)
{
    return proto_pack(counters, "sq", name, value);
}

int look_pack_rank(opal_buffer_t *buffer, const struct keel_rank_state *rank, const void *counters,
                   size_t counters_bytes)
{
    return proto_pack(buffer, "cuuusqqqqb", (uint8_t) RECORD_RANK, rank->rank, rank->node,
                      rank->pid, rank->state, rank->still_ms, rank->age_ms, rank->cpu_ms,
                      rank->memory_bytes, counters, counters_bytes);
}

int look_pack_line(opal_buffer_t *buffer, const char *line)
{
    return proto_pack(buffer, "cs", (uint8_t) RECORD_LINE, line);
}

int look_pack_end(opal_buffer_t *buffer)
{
    return proto_pack(buffer, "c", (uint8_t) RECORD_END);
}

static int take_job(opal_buffer_t *buffer, const struct keel_look *look, void *arg)
{
    struct keel_job_state job;
    char *id, *phase, *program;
    int status = proto_unpack(buffer, "usssuqu", &job.number, &id, &phase, &program, &job.pid,
                              &job.age_ms, &job.rank_count);
    job.id = id;
    job.phase = phase;
    job.program = program;
    if (status == OPAL_SUCCESS && look) {
        look->job(arg, &job);
    }
    free(id);
    free(phase);
    free(program);
    return status;
}

static int take_node(opal_buffer_t *buffer, const struct keel_look *look, void *arg)
{
    struct keel_node_state node;
    char *name, *state;
    int status = proto_unpack(buffer, "ussu", &node.number, &name, &state, &node.pid);
    node.name = name;
    node.state = state;
    if (status == OPAL_SUCCESS && look) {
        look->node(arg, &node);
    }
    free(name);
    free(state);
    return status;
}

struct counters {
    struct keel_counter list[LOOK_COUNTERS_MAX]; /* owned names */
    size_t count;
};

static int take_counters(struct counters *counters, opal_buffer_t *buffer)
{
    int status = OPAL_SUCCESS;
    while (status == OPAL_SUCCESS && proto_left(buffer) > 0) {
        char *name;
        uint64_t value;
        status = counters->count < LOOK_COUNTERS_MAX ? proto_unpack(buffer, "sq", &name, &value)
                                                     : ORTE_ERR_BAD_PARAM;
        if (status == OPAL_SUCCESS) {
            counters->list[counters->count++] = (struct keel_counter){name, value};
        }
    }
    return status;
}

/* Takes the bytes. */
static int read_counters(struct counters *counters, uint8_t *bytes, size_t size)
{
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    counters->count = 0;
    if (!buffer || size > LOOK_COUNTERS_BYTES) {
        free(bytes);
        if (buffer) {
            OBJ_RELEASE(buffer);
        }
        return buffer ? ORTE_ERR_BAD_PARAM : ORTE_ERR_OUT_OF_RESOURCE;
    }
    int status = bytes ? opal_dss.load(buffer, bytes, (int32_t) size) : OPAL_SUCCESS;
    if (status == OPAL_SUCCESS) {
        status = take_counters(counters, buffer);
    }
    OBJ_RELEASE(buffer);
    return status;
}

static int take_rank(opal_buffer_t *buffer, const struct keel_look *look, void *arg)
{
    struct keel_rank_state rank;
    struct counters counters = {.count = 0};
    char *state;
    uint8_t *bytes;
    size_t size;
    int status =
        proto_unpack(buffer, "uuusqqqqb", &rank.rank, &rank.node, &rank.pid, &state, &rank.still_ms,
                     &rank.age_ms, &rank.cpu_ms, &rank.memory_bytes, &bytes, &size);
    if (status == OPAL_SUCCESS) {
        status = read_counters(&counters, bytes, size);
    }
    rank.state = state;
    rank.counters = counters.list;
    rank.counter_count = counters.count;
    if (status == OPAL_SUCCESS && look) {
        look->rank(arg, &rank);
    }
    for (size_t i = 0; i < counters.count; i++) {
        free((char *) counters.list[i].name);
    }
    free(state);
    return status;
}

static int take_line(opal_buffer_t *buffer, const struct keel_look *look, void *arg)
{
    char *line;
    int status = proto_unpack(buffer, "s", &line);
    if (status == OPAL_SUCCESS && look) {
        look->line(arg, line);
    }
    free(line);
    return status;
}

/* look NULL: checks them. */
static int walk(opal_buffer_t *buffer, const struct keel_look *look, void *arg)
{
    uint8_t kind = RECORD_END;
    int status;
    do {
        status = proto_unpack(buffer, "c", &kind);
        if (status == OPAL_SUCCESS && kind != RECORD_END) {
            status = kind == RECORD_JOB    ? take_job(buffer, look, arg)
                     : kind == RECORD_NODE ? take_node(buffer, look, arg)
                     : kind == RECORD_RANK ? take_rank(buffer, look, arg)
                     : kind == RECORD_LINE ? take_line(buffer, look, arg)
                                           : ORTE_ERR_BAD_PARAM;
        }
    } while (status == OPAL_SUCCESS && kind != RECORD_END);
    return status == OPAL_SUCCESS && proto_left(buffer) > 0 ? ORTE_ERR_BAD_PARAM : status;
}

int look_unpack(opal_buffer_t *buffer, const struct keel_look *look, void *arg)
{
    char *start = buffer->unpack_ptr;
    int status = walk(buffer, NULL, NULL);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    buffer->unpack_ptr = start;
    return walk(buffer, look, arg);
}
