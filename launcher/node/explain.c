#include <config.h>

#include <launcher/node/explain.h>

#include <base/data/clock.h>
#include <launcher/node/daemon.h>
#include <launcher/node/service.h>
#include <launcher/node/tracer.h>
#include <unistd.h>
#include <wireup/proto.h>

static uint64_t ms_since(uint64_t time_us)
{
    return time_us ? (clock_us() - time_us) / 1000u : 0;
}

/* To the report: a rank's state. */
static int put_state(opal_buffer_t *report, uint32_t rank, const struct doing *doing)
{
    return proto_pack(report, "uuqsqqq", rank, doing->pid, ms_since(doing->moved_us), doing->what,
                      ms_since(doing->began_us), doing->cpu_ms, doing->memory_bytes);
}

static void report_states(struct daemon *daemon, uint32_t number)
{
    const struct job_map *map = &daemon->launch.map;
    struct doing doing;
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < map->size; rank++) {
        count += local_doing(daemon, rank, &doing);
    }
    opal_buffer_t *report = proto_new(REPORT_STATES, "uuu", number, (uint32_t) getpid(), count);
    for (uint32_t rank = 0; report && rank < map->size; rank++) {
        if (local_doing(daemon, rank, &doing)) {
            report = proto_whole(report, put_state(report, rank, &doing));
        }
    }
    daemon_report(daemon, report);
}

int explain_ranks(struct daemon *daemon, opal_buffer_t *buffer)
{
    uint32_t number, each_ms, all_ms;
    int status = proto_unpack(buffer, "uuu", &number, &each_ms, &all_ms);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    report_states(daemon, number);
    if (all_ms > 0) {
        struct trace_limits limits = {(uint64_t) each_ms * 1000u, (uint64_t) all_ms * 1000u};
        tracer_begin(daemon, number, limits);
    } else if (each_ms > 0) {
        tracer_stop(daemon);
    }
    return ORTE_SUCCESS;
}
