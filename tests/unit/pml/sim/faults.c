/* Rails that die and return. */
#include <tests/unit/pml/sim/state.h>

enum { FAULTS = 8, LAST_FAULTS = 3, STALLS = 3 };

struct sim_link *sim_link_of(int number, int a, int b)
{
    return a < b ? &sim.links[number][a][b] : &sim.links[number][b][a];
}

endpoint *sim_end(int number, int rank, int peer)
{
    return &sim.process[rank].modules[number]->endpoints[peer];
}

static uint64_t mostly_soon(void)
{
    return chance(30) ? 0 : below(chance(80) ? 50 * SIM_US : 500 * SIM_US);
}

/* ---- death ---- */

/* After so much time one end knows, and the other one, which may be late. */
static uint64_t until_noticed(bool first)
{
    return first && sim.options.puts && chance(50) ? below(2000 * SIM_US) : mostly_soon();
}

void sim_cut(struct sim_link *link)
{
    if (link->cut || link->session == 0) {
        return;
    }
    link->cut = true;
    link->noticed = 0;
    sim.report->deaths++;
    sim_log("rail %d between %d and %d dies", link->rail, link->low, link->high);
    for (int i = 0; i < 2; i++) {
        link->until[i] = chance(30) ? UINT64_MAX : sim_now() + mostly_soon();
        link->late[i] = chance(50) ? below(400 * SIM_US) : 0;
        sim.busy++;
        later(until_noticed(i == 0), ON_NOTICE, i ? link->low : link->high,
              sim_end(link->rail, i ? link->low : link->high, i ? link->high : link->low));
    }
}

void sim_notice(endpoint *end)
{
    sim_deliver(end->rank, &end->notice);
}

/* In this end's poll. What is under way has called back before the rail is taken from the choice.
 */
void sim_noticed(endpoint *end)
{
    struct sim_link *link = sim_link_of(end->rail, end->rank, end->peer);
    sim_opened(end); /* it may not have known that the rail works */
    end->up = false;
    sim_log("%d knows that rail %d to %d is dead", end->rank, end->rail, end->peer);
    sim_ops_fail(end);
    sim_end_pending(&sim.process[end->rank], end);
    sim_tell_choice(end, false);
    sim.busy--;
    if (++link->noticed == 2 && chance(70)) {
        sim.busy++;
        later(mostly_soon() + mostly_soon(), ON_RETURN, link->low, link);
    }
}

/* Both ends use it, and its death is not on its way. */
static bool works(const struct sim_link *link)
{
    const endpoint *low = sim_end(link->rail, link->low, link->high);
    const endpoint *high = sim_end(link->rail, link->high, link->low);
    return !link->cut && link->session > 0 && low->up && high->up && low->listed && high->listed &&
           low->session == link->session && high->session == link->session;
}

static bool may_die(const struct sim_link *link)
{
    int others = 0;
    for (int i = 0; i < sim.rails; i++) {
        const struct sim_link *other = sim_link_of(i, link->low, link->high);
        others += other != link && works(other);
    }
    return works(link) && (sim.options.fate == SIM_LAST || others > 0);
}

/* Two processes, the lower one first. */
static void some_pair(int *low, int *high)
{
    *low = (int) below((uint64_t) sim.ranks - 1);
    *high = *low + 1 + (int) below((uint64_t) (sim.ranks - 1 - *low));
}

void sim_cut_some(void)
{
    for (int tries = 0; tries < 8; tries++) {
        int low, high;
        some_pair(&low, &high);
        struct sim_link *link = sim_link_of((int) below((uint64_t) sim.rails), low, high);
        if (!may_die(link)) {
            continue;
        }
        sim_cut(link);
        for (int i = 0; sim.options.fate == SIM_LAST && chance(30) && i < sim.rails; i++) {
            sim_cut(sim_link_of(i, low, high)); /* with others */
        }
        break;
    }
    sim.busy--;
}

/* ---- a cut that is over before anybody notices ---- */

void sim_stall_some(void)
{
    int low, high;
    some_pair(&low, &high);
    const uint64_t until = sim_now() + below(600 * SIM_US);
    sim_log("nothing passes between %d and %d for %.0f us", low, high,
            (double) (until - sim_now()) / SIM_US);
    for (int i = 0; i < sim.rails; i++) {
        endpoint *ends[] = {sim_end(i, low, high), sim_end(i, high, low)};
        sim_link_of(i, low, high)->stalled = until;
        for (int j = 0; j < 2; j++) {
            ends[j]->last_at = ends[j]->last_at > until ? ends[j]->last_at : until;
        }
    }
    sim.busy--;
}

/* ---- return ---- */

void sim_return(struct sim_link *link)
{
    sim.report->returns++;
    link->cut = false;
    link->session++;
    for (int i = 0; i < 2; i++) {
        int rank = i ? link->low : link->high;
        later(mostly_soon(), ON_OPEN, rank, sim_end(link->rail, rank, i ? link->high : link->low));
    }
    sim.busy++; /* it was one for the return, and is now one for each end */
}

/* In this end's poll. */
void sim_opened(endpoint *end)
{
    const struct sim_link *link = sim_link_of(end->rail, end->rank, end->peer);
    if (end->session == link->session) {
        return; /* it is known */
    }
    end->session = link->session;
    end->up = true;
    end->unconnected = false;
    sim_log("%d knows that rail %d to %d works", end->rank, end->rail, end->peer);
    end->under_way = 0;
    end->free_at = end->last_at = sim_now();
    for (struct list *item; (item = list_pop(&end->queue));) {
        sim_frame_go(end, container_of(item, struct sim_frame, item.link));
    }
    sim_tell_choice(end, true);
    sim.busy--;
}

/* ---- what is to come ---- */

/* The first rail is there from the beginning, others come perhaps. */
static void link_init(int number, int low, int high)
{
    struct sim_link *link = sim_link_of(number, low, high);
    bool there = number == 0 || sim.options.fate == SIM_CALM || chance(80);
    *link = (struct sim_link){.rail = number, .low = low, .high = high, .session = there};
    if (!there) {
        sim.busy++;
        later(below(SIM_WINDOW), ON_RETURN, low, link);
    }
}

static void links_init(void)
{
    for (int number = 0; number < sim.rails; number++) {
        for (int low = 0; low < sim.ranks; low++) {
            for (int high = low + 1; high < sim.ranks; high++) {
                link_init(number, low, high);
            }
        }
    }
}

static void handshakes_init(void)
{
    for (int low = 0; low < sim.ranks; low++) {
        for (int high = low + 1; high < sim.ranks; high++) {
            sim_handshakes_plan(low, high);
        }
    }
}

void sim_faults_plan(void)
{
    links_init();
    if (sim.options.handshakes) {
        handshakes_init();
    }
    int count = sim.options.fate == SIM_CALM       ? 0
                : sim.options.fate == SIM_FAILOVER ? 1 + (int) below(FAULTS)
                                                   : 1 + (int) below(LAST_FAULTS);
    for (int i = 0; i < count; i++) {
        sim.busy++;
        later(below(SIM_WINDOW), ON_CUT, 0, NULL);
    }
    for (int i = sim.options.fate == SIM_CALM ? 0 : (int) below(STALLS + 1); i > 0; i--) {
        sim.busy++;
        later(below(SIM_WINDOW), ON_STALL, 0, NULL);
    }
}
