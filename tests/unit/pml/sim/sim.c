#include <base/settings/param.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/unit/pml/sim/state.h>

enum { TICK_NS = 200000 };
#define PATIENCE (400000 * SIM_US) /* after the last thing that befell rails */

struct sim sim;

void sim_violated(const char *format, ...)
{
    va_list args;
    if (sim.report->held) {
        va_start(args, format);
        vsnprintf(sim.report->reason, sizeof(sim.report->reason), format, args);
        va_end(args);
    }
    sim.report->held = false;
}

/* ---- kinds of rails ---- */

/* Rails of all kinds take over from each other. */
static uint32_t some_flags(void)
{
    return MCA_BTL_FLAGS_SEND | (chance(50) ? MCA_BTL_FLAGS_PUT : 0) |
           (chance(50) ? MCA_BTL_FLAGS_GET : 0);
}

static mca_btl_base_component_t component = {.btl_version.mca_component_name = "sim"};

static void kind_init(struct sim_kind *kind, bool standby)
{
    const size_t eager = RAIL_MOST_BYTES + 16 + below(600);
    *kind =
        (struct sim_kind){.latency_ns = 500 + below(chance(70) ? 20 * SIM_US : 200 * SIM_US),
                          .jitter_ns = below(10 * SIM_US),
                          .ps_a_byte = 20 + below(2000),
                          .room = chance(50) ? 1000 : 1 + below(8),
                          .refuses = chance(70) ? 0 : below(40),
                          .at_once = chance(70) ? 0 : below(100),
                          .denies = chance(70) ? 0 : below(60),
                          .queues = sim.options.handshakes && chance(50),
                          .registers = sim.options.fate != SIM_CALM || chance(70),
                          .model = {.btl_component = &component,
                                    .btl_eager_limit = eager,
                                    .btl_rndv_eager_limit = eager,
                                    .btl_max_send_size = eager + below(2000),
                                    .btl_exclusivity = standby ? 10 : 20,
                                    .btl_latency = below(3),
                                    .btl_bandwidth = 100 + below(1000),
                                    .btl_flags = some_flags(),
                                    .btl_get_limit = chance(50) ? SIZE_MAX : 500 + below(4000),
                                    .btl_put_limit = chance(50) ? SIZE_MAX : 500 + below(4000)}};
}

/* Frames that come to the first rail go in parts, with shortages of room in between. */
static void make_parts(void)
{
    sim.ranks = 2;
    sim.rails = 3 + (int) below(SIM_RAILS - 2);
    for (int i = 0; i < sim.rails; i++) {
        struct sim_kind *kind = &sim.kinds[i];
        kind->model.btl_exclusivity = 20;
        kind->model.btl_flags = MCA_BTL_FLAGS_SEND;
        kind->model.btl_max_send_size = kind->model.btl_eager_limit + (i > 0 ? 4000 : 0);
        kind->refuses = i > 0 ? 0 : 60;
    }
}

/* ---- random numbers of production's ---- */

static const char *random_name(void)
{
    return "sim";
}

/* Half of the schedules begin near the end of numbers. */
static uint32_t random_number(void)
{
    return chance(50) ? UINT32_MAX - below(20) : (uint32_t) sim_random(&sim.random);
}

static void random_bytes(void *to, size_t size)
{
    for (size_t at = 0; at < size; at += 4) {
        uint32_t number = random_number();
        memcpy((char *) to + at, &number, size - at < 4 ? size - at : 4);
    }
}

static struct randombytes_implementation randomness = {
    .implementation_name = random_name, .random = random_number, .buf = random_bytes};

/* ---- a schedule ---- */

static void begin(uint64_t seed, const struct sim_options *options, struct sim_report *report)
{
    struct sim_queue queue = sim.queue;
    sim_queue_reset(&queue);
    rail = (struct rail){0};
    sim = (struct sim){.queue = queue, .options = *options, .report = report};
    *report = (struct sim_report){.held = true};
    sim.random.state = seed * UINT64_C(0x2545f4914f6cdd1d) + 1;
    sim.ranks = 2 + (int) below(3);
    sim.rails = options->rails > 0 ? options->rails : 1 + (int) below(SIM_RAILS);
    if (sim.rails == 1 && sim.options.fate == SIM_FAILOVER) {
        sim.options.fate = SIM_CALM;
    }
    bool standbys = chance(30);
    for (int i = 0; i < SIM_RAILS; i++) {
        kind_init(&sim.kinds[i], standbys && chance(50));
    }
    if (options->parts) {
        make_parts();
    }
    for (int i = 0; options->puts && i < sim.rails; i++) {
        sim.kinds[i].model.btl_flags = MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_PUT;
    }
    for (int i = 0; options->prompt && i < sim.rails; i++) {
        sim.kinds[i].refuses = 0;
        sim.kinds[i].room = SIZE_MAX;
        sim.kinds[i].model.btl_flags = MCA_BTL_FLAGS_SEND;
    }
    if (options->pins && param_override("ptl_rail_registered_size", "8k") != ORTE_SUCCESS) {
        abort();
    }
    sim_faults_plan();
    sim_processes_open();
    sim_program_plan();
}

/* After a poll: for how long a peer was not told what has come of it. */
static void measure_owed(const struct sim_process *process)
{
    for (int peer = 0; peer < sim.ranks; peer++) {
        const uint64_t since = process->owed_since[peer];
        const uint64_t owed_ns = since > 0 ? sim_now() - since : 0;
        sim.report->owed_ns = owed_ns > sim.report->owed_ns ? owed_ns : sim.report->owed_ns;
    }
}

static void poll(int rank)
{
    const struct sim_process *process = &sim.process[rank];
    if (process->poll_at != sim_now()) {
        return; /* one that was planned before came */
    }
    if (chance(1) && !sim.options.prompt) {
        sim.process[rank].sleeps_until = sim_now() + below(500 * SIM_US);
    }
    sim_enter(rank);
    (void) pml_progress(process->pml);
    measure_owed(process);
    sim_program_look(rank);
    sim_poll_soon(rank, sim.options.prompt ? SIM_PROMPT_NS : TICK_NS);
}

static void happen(const struct sim_event *event)
{
    endpoint *end = event->what;
    switch (event->kind) {
    case ON_POLL:
        poll(event->who);
        break;
    case ON_FRAME:
        sim_frame_came(event->what);
        break;
    case ON_ACCESS:
        sim_op_access(event->what);
        break;
    case ON_DONE:
        sim_op_done(event->what);
        break;
    case ON_ASK:
        sim_enter(event->who);
        sim_program_ask((int) (intptr_t) event->what);
        break;
    case ON_CUT:
        sim_cut_some();
        break;
    case ON_STALL:
        sim_stall_some();
        break;
    case ON_NOTICE:
        sim_notice(end);
        break;
    case ON_RETURN:
        sim_return(event->what);
        break;
    case ON_LOOK:
        sim_deliver(end->rank, &end->look);
        break;
    default:
        if (list_empty(&end->open.link)) {
            sim_deliver(end->rank, &end->open);
        }
    }
}

/* Until it is so; a hang is a violation. */
static void run_until(bool (*so)(void))
{
    struct sim_event event;
    uint64_t deadline = sim_now() + SIM_WINDOW + PATIENCE;
    while (sim.report->held && !(sim.busy == 0 && so()) && sim_next(&sim.queue, &event)) {
        sim.report->events++;
        happen(&event);
        deadline = sim.busy > 0 ? sim_now() + PATIENCE : deadline;
        if (sim_now() > deadline) {
            char what[80];
            sim_program_missing(what, sizeof(what));
            sim_violated("%s does not end", what);
        }
    }
}

/* What is still on its way. */
static void drain(void)
{
    struct sim_event event;
    while (sim_next(&sim.queue, &event)) {
        if (event.kind == ON_FRAME) {
            free(event.what);
        } else if (event.kind == ON_ACCESS || event.kind == ON_DONE) {
            sim_op_free(event.what);
        }
    }
}

void sim_run(uint64_t seed, const struct sim_options *options, struct sim_report *report)
{
    randombytes_set_implementation(&randomness);
    begin(seed, options, report);
    run_until(sim_program_is_over);
    if (report->held) {
        sim_program_cancel();
        run_until(sim_program_is_over);
        run_until(sim_rdma_is_over);
        run_until(sim_processes_are_quiet);
    }
    for (int rank = 0; report->held && rank < sim.ranks; rank++) {
        sim_check_paths(rank);
    }
    if (report->held) {
        sim_program_check();
    }
    sim_processes_close();
    drain();
    sim_program_free();
}
