/* Rails that are chosen before they connect: soon, after a while, or never. One that something
 * waits for gives way where another rail to the peer connects. */
#include <stdlib.h>
#include <tests/unit/pml/sim/state.h>

enum {
    LOOK_NS = 100000, /* between looks at one that something waits for */
    LATE_LOOKS = 2,   /* at one while another rail works, after which it gives way */
    LOOKS_MOST = 60,  /* at any, after which it is lost */
};
#define SOON (300 * SIM_US)

void sim_handshakes_plan(int low, int high)
{
    const int some = (int) below((uint64_t) sim.rails);
    const int sure = sim_link_of(some, low, high)->session > 0 ? some : 0;
    for (int i = 0; i < sim.rails; i++) {
        struct sim_link *link = sim_link_of(i, low, high);
        if (link->session == 0) {
            continue; /* it comes later */
        }
        link->session = 0;
        link->unconnected = true;
        link->connects_ns = i == sure || chance(30) ? below(SOON)
                            : chance(50)            ? below(SIM_WINDOW)
                                                    : SIM_NEVER;
    }
}

/* Something is to be sent by it. */
void sim_connect(endpoint *end)
{
    struct sim_link *link = sim_link_of(end->rail, end->rank, end->peer);
    if (!end->unconnected || end->wanted) {
        return;
    }
    end->wanted = true;
    sim.busy++;
    later(LOOK_NS, ON_LOOK, end->rank, end);
    if (!link->begun) {
        link->begun = true;
        sim.busy += link->connects_ns != SIM_NEVER;
        if (link->connects_ns != SIM_NEVER) {
            later(link->connects_ns, ON_RETURN, link->low, link);
        }
    }
}

/* What waited for it goes by another one. */
static void give_way(endpoint *end)
{
    end->unconnected = false;
    sim.report->gave_way++;
    sim_log("%d has rail %d to %d give way", end->rank, end->rail, end->peer);
    sim_frames_drop(end);
    sim_end_pending(&sim.process[end->rank], end);
    sim_tell_choice(end, false);
}

/* Others are to connect, too. */
static bool connects_elsewhere(const endpoint *end)
{
    bool some = false;
    for (int i = 0; i < sim.rails; i++) {
        endpoint *other = sim_end(i, end->rank, end->peer);
        sim_connect(other);
        some = some || other->up;
    }
    return some;
}

/* In this end's poll. */
void sim_looked(endpoint *end)
{
    if (end->unconnected) {
        end->late += connects_elsewhere(end);
        if (++end->looks < LOOKS_MOST && end->late <= LATE_LOOKS) {
            later(LOOK_NS, ON_LOOK, end->rank, end);
            return;
        }
        give_way(end);
    }
    sim.busy--;
}

void sim_check_word(const endpoint *end)
{
    for (int i = 0; i < sim.rails; i++) {
        const endpoint *other = sim_end(i, end->rank, end->peer);
        if (other->up && sim_is_chosen(other)) {
            sim_violated("rank %d tells %d what came by rail %d, which is not connected, and not "
                         "by rail %d",
                         end->rank, end->peer, end->rail, i);
        }
    }
}
