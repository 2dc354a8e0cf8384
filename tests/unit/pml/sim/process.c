/* Processes of one job in one: what ptl/rail and the PML ask of the data plane below them, each
 * time for the process that runs. */
#include <btl/lock/lock.h>
#include <btl/lock/wake.h>
#include <btl/plane/plane.h>
#include <ptl/components.h>
#include <ptl/rail/link.h>
#include <stdlib.h>
#include <string.h>
#include <tests/unit/pml/sim/state.h>
#include <time.h>

#include <btl/interface/base.h>
#include <pml/peers/context.h>
#include <pml/peers/peer.h>

enum { JOB = 7, FIRST_CONTEXT = 40, TICK_NS = 200000, NARROW = 8 << 10 };

/* The clock of everything in this program. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
    const uint64_t now = sim_now() + UINT64_C(1000000000);
    (void) clock;
    *time = (struct timespec){(time_t) (now / 1000000000u), (long) (now % 1000000000u)};
    return 0;
}

/* ptl/rail's state lies where it belongs to while its process runs. */
void sim_enter(int rank)
{
    if (rank != sim.current) {
        sim.process[sim.current].rail = rail;
        rail = sim.process[rank].rail;
        sim.current = rank;
    }
}

static struct sim_process *me(void)
{
    return &sim.process[sim.current];
}

void sim_poll_soon(int rank, uint64_t wait_ns)
{
    struct sim_process *process = &sim.process[rank];
    uint64_t at = sim_now() + wait_ns;
    at = at < process->sleeps_until ? process->sleeps_until : at;
    if (process->poll_at <= sim_now() || at < process->poll_at) {
        process->poll_at = at;
        later(at - sim_now(), ON_POLL, rank, NULL);
    }
}

void sim_deliver(int rank, struct sim_item *item)
{
    list_append(&sim.process[rank].inbox, &item->link);
    sim_poll_soon(rank, below(2 * SIM_US));
}

/* ---- the choice of rails ---- */

static bool is_better(const mca_btl_base_module_t *one, const mca_btl_base_module_t *other)
{
    return one->btl_exclusivity != other->btl_exclusivity
               ? one->btl_exclusivity > other->btl_exclusivity
               : one->btl_latency < other->btl_latency;
}

/* The rails to the peer that are up, of the highest exclusivity, best first. */
static size_t choose(int peer, struct keel_rail *rails)
{
    size_t count = 0;
    for (int i = 0; i < sim.rails; i++) {
        struct sim_module *module = me()->modules[i];
        if (!module->endpoints[peer].listed) {
            continue;
        }
        size_t place = count++;
        for (; place > 0 && is_better(&module->super, rails[place - 1].btl); place--) {
            rails[place] = rails[place - 1];
        }
        rails[place] = (struct keel_rail){
            .btl = &module->super, .endpoint = &module->endpoints[peer], .send = true};
    }
    size_t kept = 0;
    while (kept < count && rails[kept].btl->btl_exclusivity == rails[0].btl->btl_exclusivity) {
        kept++;
    }
    return kept;
}

/* False: they are what they were. */
static bool choose_again(int peer)
{
    struct sim_process *process = me();
    struct keel_rail rails[SIM_RAILS];
    size_t count = choose(peer, rails);
    bool same = count == process->chosen_count[peer];
    for (size_t i = 0; same && i < count; i++) {
        same = rails[i].btl == process->chosen[peer][i].btl;
    }
    memcpy(process->chosen[peer], rails, count * sizeof(*rails));
    process->chosen_count[peer] = count;
    return !same;
}

void sim_tell_choice(endpoint *end, bool back)
{
    struct sim_news *news = malloc(sizeof(*news));
    *news = (struct sim_news){.end = end, .back = back};
    list_append(&me()->news, &news->link);
}

/* Not while a module runs. */
static void settle(void)
{
    struct sim_process *process = me();
    for (struct list *link; (link = list_pop(&process->news));) {
        struct sim_news *news = container_of(link, struct sim_news, link);
        const int peer = news->end->peer;
        news->end->listed = news->back;
        free(news);
        const bool others = choose_again(peer);
        if (process->chosen_count[peer] == 0) {
            sim_program_lost(sim.current, peer);
        }
        if (others && process->watch) {
            process->watch(&sim.process[peer].proc.proc_name, process->watch_arg);
        }
    }
}

/* ---- what ptl/rail calls ---- */

static const opal_proc_t *host_me(void *unused)
{
    (void) unused;
    return &me()->proc;
}

static const struct keel_host_ops host_ops = {.me = host_me};
static const struct btl_host the_host = {.ops = &host_ops};

const struct keel_rail *keel_host_rails(const opal_proc_t *peer, size_t *count)
{
    const struct sim_process *process = me();
    *count = process->chosen_count[peer->proc_name.vpid];
    return *count > 0 ? process->chosen[peer->proc_name.vpid] : NULL;
}

int keel_host_rails_watch(keel_rails_fn changed, void *arg)
{
    me()->watch = changed;
    me()->watch_arg = arg;
    return OPAL_SUCCESS;
}

static void take(struct sim_item *item)
{
    switch (item->what) {
    case ON_FRAME:
        sim_frame_taken(container_of(item, struct sim_frame, item));
        break;
    case ON_DONE:
        sim_op_ended(item);
        break;
    case ON_NOTICE:
        sim_noticed(container_of(item, endpoint, notice));
        break;
    case ON_LOOK:
        sim_looked(container_of(item, endpoint, look));
        break;
    default:
        sim_opened(container_of(item, endpoint, open));
    }
}

int keel_host_progress(void)
{
    struct sim_process *process = me();
    struct list inbox;
    int events = 0;
    list_init(&inbox);
    list_splice(&inbox, &process->inbox);
    for (struct list *link; (link = list_pop(&inbox)); events++) {
        take(container_of(link, struct sim_item, link));
    }
    events += sim_give_room(process);
    settle();
    if (process->wanted && *process->wanted) {
        process->after(NULL);
    }
    if (!list_empty(&process->pendings)) {
        sim_poll_soon(sim.current, 5 * SIM_US + below(20 * SIM_US));
    }
    return events;
}

mca_btl_base_module_t **btl_modules(size_t *count)
{
    *count = (size_t) sim.rails;
    return me()->btls;
}

const struct keel_btl_ext *keel_btl_ext(mca_btl_base_module_t *btl)
{
    return &container_of(btl, struct sim_module, super)->ext;
}

const opal_proc_t *btl_proc_of(mca_btl_base_module_t *btl, const endpoint *end)
{
    (void) btl;
    return end->used ? &sim.process[end->peer].proc : NULL;
}

bool btl_connected(mca_btl_base_module_t *btl, endpoint *end)
{
    (void) btl;
    sim_connect(end);
    return end->up;
}

/* The other end notices as it does when the rail dies. */
const orte_process_name_t *btl_fail(mca_btl_base_module_t *btl, endpoint *end, const char *why)
{
    (void) btl, (void) why;
    sim_cut(sim_link_of(end->rail, end->rank, end->peer));
    return &sim.process[end->peer].proc.proc_name;
}

struct btl_threads btl_threads(void)
{
    return (struct btl_threads){0};
}

bool btl_reaches(mca_btl_base_module_t *btl, const opal_proc_t *proc)
{
    (void) btl, (void) proc;
    return true;
}

const struct btl_host *btl_host(void)
{
    return &the_host;
}

/* Passes end with settle. What the PML wants is done by its own progress. */
void plane_after_pass(enum plane_after whose, const bool *wanted, void (*after)(void *arg),
                      void *arg)
{
    (void) arg;
    if (whose == PLANE_AFTER_RAILS) {
        me()->wanted = wanted;
        me()->after = after;
    }
}

bool plane_rest(plane_rest_fn rest, void *arg, uint64_t until_us)
{
    (void) rest, (void) arg, (void) until_us;
    return false;
}

bool plane_is_inside(void)
{
    return false;
}

bool btl_lock_used;
void btl_lock_take(void)
{
}

void btl_lock_drop(void)
{
}

void btl_wake_stir(void)
{
}

static bool is_quiet(int rank)
{
    const struct pml *pml = sim.process[rank].pml;
    const struct rail_link *link;
    sim_enter(rank);
    list_for_each (link, &rail.all_links, const struct rail_link, all) {
        if (link->kept_bytes > 0) {
            return false;
        }
    }
    return pml->sends.in_use == 0 && pml->recvs.in_use == 0;
}

bool sim_is_chosen(const endpoint *end)
{
    const struct sim_process *process = me();
    size_t i = 0;
    while (i < process->chosen_count[end->peer] && process->chosen[end->peer][i].endpoint != end) {
        i++;
    }
    return i < process->chosen_count[end->peer];
}

void sim_check_paths(int rank)
{
    const struct sim_process *process = &sim.process[rank];
    const struct peer *peer;
    sim_enter(rank);
    list_for_each (peer, &process->pml->all_peers, const struct peer, all) {
        const int other = (int) peer->proc->proc_name.vpid;
        bool right = peer->paths.count == process->chosen_count[other];
        for (size_t i = 0; right && i < peer->paths.count; i++) {
            right = sim_is_chosen(peer->paths.path[i].peer->endpoint);
        }
        if (!right && peer->gone == OPAL_SUCCESS && peer->paths.count > 0) {
            sim_violated("rank %d uses %zu of %zu rails to %d", rank, peer->paths.count,
                         process->chosen_count[other], other);
        }
    }
}

bool sim_processes_are_quiet(void)
{
    int rank = 0;
    while (rank < sim.ranks && is_quiet(rank)) {
        rank++;
    }
    return rank == sim.ranks;
}

/* ---- their life ---- */

static opal_proc_t *proc_at(void *arg, size_t index)
{
    (void) arg;
    return &sim.process[index].proc;
}

static void modules_create(int rank)
{
    struct sim_process *process = &sim.process[rank];
    for (int i = 0; i < sim.rails; i++) {
        process->modules[i] = sim_module_create(rank, i);
        process->btls[i] = &process->modules[i]->super;
    }
}

static void process_open(int rank)
{
    static mca_ptl_base_component_t *const components[] = {&ptl_rail_component, NULL};
    struct sim_process *process = &sim.process[rank];
    const struct pml_host host = {
        .me = &process->proc, .job_size = (size_t) sim.ranks, .proc = proc_at};
    sim_enter(rank);
    for (int peer = 0; peer < sim.ranks; peer++) {
        (void) choose_again(peer);
    }
    if (pml_open(&process->pml, &host, components) != OPAL_SUCCESS) {
        abort();
    }
    if (sim.options.narrow) {
        process->pml->striped_most = NARROW;
    }
    if (chance(20)) {
        process->pml->unexpected_most = below(3000);
    }
    for (int i = 0; i < SIM_CONTEXTS; i++) {
        if (pml_context_open(process->pml, (uint32_t) (FIRST_CONTEXT + i), NULL, (size_t) sim.ranks,
                             rank, &process->context[i]) != OPAL_SUCCESS) {
            abort();
        }
    }
    sim_poll_soon(rank, TICK_NS);
}

/* Both sides agree on the numbers of the first message and the first frame, which soon wrap. */
static void sequences_near_wrap(void)
{
    for (int rank = 0; rank < sim.ranks; rank++) {
        sim_enter(rank);
        rail.first_number = UINT32_MAX - 2;
        for (int peer = 0; peer < sim.ranks; peer++) {
            for (int i = 0; i < SIM_CONTEXTS; i++) {
                struct member *member = context_member(sim.process[rank].context[i], peer);
                member->next = member->seen = member->told = UINT16_MAX - 2;
                member->source.order.expected = UINT16_MAX - 2;
            }
        }
    }
}

void sim_processes_open(void)
{
    for (int rank = 0; rank < sim.ranks; rank++) {
        struct sim_process *process = &sim.process[rank];
        process->proc = (opal_proc_t){.proc_name = {JOB, (orte_vpid_t) rank}};
        list_init(&process->inbox);
        list_init(&process->pendings);
        list_init(&process->news);
        modules_create(rank);
    }
    for (int rank = 0; rank < sim.ranks; rank++) {
        process_open(rank);
    }
    if (chance(50)) {
        sequences_near_wrap();
    }
}

/* What is under way ends: somebody may wait for it. */
static void end_rails(struct sim_process *process)
{
    for (int i = 0; i < sim.rails * sim.ranks; i++) {
        endpoint *end = &process->modules[i / sim.ranks]->endpoints[i % sim.ranks];
        end->up = false;
        sim_ops_fail(end);
    }
}

/* Of any message. */
static void check_left(int rank)
{
    if (rail.frags.in_use > 0) {
        sim_violated("rank %d: %zu first fragments are left", rank, rail.frags.in_use);
    }
    if (!list_empty(&rail.all_sends) || !list_empty(&rail.all_recvs)) {
        sim_violated("rank %d: ptl/rail has sends or receives left", rank);
    }
}

/* What has come, and will not be looked at; endpoints have items of their own there. */
static void inbox_clear(struct sim_process *process)
{
    for (struct list *link; (link = list_pop(&process->inbox));) {
        struct sim_item *item = container_of(link, struct sim_item, link);
        if (item->what == ON_FRAME || item->what == ON_DONE) {
            free(item);
        }
    }
}

static void process_close(int rank)
{
    struct sim_process *process = &sim.process[rank];
    sim_enter(rank);
    for (int i = 0; i < SIM_CONTEXTS && sim.report->held; i++) {
        if (keel_pml_context_free(&process->context[i]) != OPAL_SUCCESS) {
            sim_violated("rank %d: a context cannot be freed", rank);
        }
    }
    check_left(rank);
    if (!sim.report->held) {
        end_rails(process);
        pml_abandon(process->pml);
    } else if (pml_close(process->pml) != OPAL_SUCCESS) {
        sim_violated("rank %d: its messages cannot be closed", rank);
    }
    inbox_clear(process);
    for (int i = 0; i < sim.rails; i++) {
        for (int peer = 0; peer < sim.ranks; peer++) {
            sim_end_pending(process, &process->modules[i]->endpoints[peer]);
        }
        sim_module_destroy(process->modules[i]);
    }
}

void sim_processes_close(void)
{
    for (int rank = 0; rank < sim.ranks; rank++) {
        process_close(rank);
    }
}
