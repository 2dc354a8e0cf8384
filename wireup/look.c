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

int look_pack_rank(opal_buffer_t *buffer, const struct keel_rank_state *rank)
{
    return proto_pack(buffer, "cuuusqqqq", (uint8_t) RECORD_RANK, rank->rank, rank->node, rank->pid,
                      rank->state, rank->still_ms, rank->age_ms, rank->cpu_ms, rank->memory_bytes);
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

static int take_rank(opal_buffer_t *buffer, const struct keel_look *look, void *arg)
{
    struct keel_rank_state rank;
    char *state;
    int status = proto_unpack(buffer, "uuusqqqq", &rank.rank, &rank.node, &rank.pid, &state,
                              &rank.still_ms, &rank.age_ms, &rank.cpu_ms, &rank.memory_bytes);
    rank.state = state;
    if (status == OPAL_SUCCESS && look) {
        look->rank(arg, &rank);
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
