#include <config.h>

#include <launcher/node/explain/explain.h>

#include <base/data/bytes.h>
#include <base/data/clock.h>
#include <launcher/node/daemon.h>
#include <launcher/node/explain/tracer.h>
#include <launcher/node/service.h>
#include <stdlib.h>
#include <unistd.h>
#include <wireup/proto.h>

static uint64_t ms_since(uint64_t time_us)
{
    return time_us ? (clock_us() - time_us) / 1000u : 0;
}

/* To the report: a rank's state. */
static int put_state(opal_buffer_t *report, uint32_t rank, const struct doing *doing)
{
    static const struct blob none;
    const struct blob *counters = doing->counters ? doing->counters : &none;
    return proto_pack(report, "uuqsqqqb", rank, doing->pid, ms_since(doing->moved_us), doing->what,
                      ms_since(doing->began_us), doing->cpu_ms, doing->memory_bytes, counters->data,
                      counters->size);
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

/* --- the ranks are asked, and those that are inside Keel answer --- */

#define LOOK_US 500000u   /* for them to answer */
enum { ORDERS_MAX = 64 }; /* that wait for the same answers */

struct explainer {
    struct daemon *daemon; /* borrowed */
    uint32_t orders[ORDERS_MAX];
    uint32_t count;
    struct loop_timer timer;
};

static void conclude(struct explainer *explainer)
{
    loop_timer_stop(&explainer->timer);
    for (uint32_t i = 0; i < explainer->count; i++) {
        report_states(explainer->daemon, explainer->orders[i]);
    }
    explainer->count = 0;
}

static void waited(struct loop_timer *timer)
{
    conclude(container_of(timer, struct explainer, timer));
}

void explain_looked(struct daemon *daemon)
{
    if (daemon->explainer && server_looks(daemon->server, daemon->launch.map.jobid) == 0) {
        conclude(daemon->explainer);
    }
}

static struct explainer *create(struct daemon *daemon)
{
    struct explainer *explainer = calloc(1, sizeof(*explainer));
    if (explainer) {
        explainer->daemon = daemon;
        loop_timer_init(&explainer->timer, daemon->loop, waited);
    }
    return explainer;
}

void explain_destroy(struct daemon *daemon)
{
    if (daemon->explainer) {
        loop_timer_stop(&daemon->explainer->timer);
    }
    free(daemon->explainer);
    daemon->explainer = NULL;
}

/* The states are reported when the ranks have answered. */
static void ask(struct daemon *daemon, uint32_t number)
{
    daemon->explainer = daemon->explainer ? daemon->explainer : create(daemon);
    struct explainer *explainer = daemon->explainer;
    if (!explainer || explainer->count == ORDERS_MAX) {
        report_states(daemon, number);
        return;
    }
    explainer->orders[explainer->count++] = number;
    if (explainer->count == 1) {
        server_look(daemon->server, daemon->launch.map.jobid);
        loop_timer_start(&explainer->timer, LOOK_US);
    }
    explain_looked(daemon);
}

int explain_ranks(struct daemon *daemon, opal_buffer_t *buffer)
{
    uint32_t number, each_ms, all_ms;
    int status = proto_unpack(buffer, "uuu", &number, &each_ms, &all_ms);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    ask(daemon, number);
    if (all_ms > 0) {
        struct trace_limits limits = {(uint64_t) each_ms * 1000u, (uint64_t) all_ms * 1000u};
        tracer_begin(daemon, number, limits);
    } else if (each_ms > 0) {
        tracer_stop(daemon);
    }
    return ORTE_SUCCESS;
}
