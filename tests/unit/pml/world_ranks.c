/* The ranks of a world: their PMLs. */
#include <stdlib.h>
#include <tests/unit/pml/world.h>

struct pml *world_graveyard[WORLD_GRAVES];
static size_t graves;

static int others_progress(void *arg)
{
    struct pml **mine = arg;
    if (world.hook) {
        world.hook((int) (mine - world.pml));
    }
    for (int i = 0; i < world.rules.ranks; i++) {
        if (&world.pml[i] != mine && world.pml[i] && !world.dead[i]) {
            (void) pml_progress(world.pml[i]);
        }
    }
    return 0;
}

static uint64_t time_of_world(void *arg)
{
    (void) arg;
    return world_time();
}

static opal_proc_t *proc_at(void *arg, size_t index)
{
    (void) arg;
    return &world.procs[index];
}

void world_open(const struct world_rules *rules)
{
    static mca_ptl_base_component_t *const components[] = {&world_component, NULL};
    world = (struct world){.rules = *rules};
    for (int i = 0; i < rules->ranks; i++) {
        world.procs[i] = (opal_proc_t){.proc_name = {1, (orte_vpid_t) i}};
        world.members[i] = &world.procs[i];
        const struct pml_host host = {.me = &world.procs[i],
                                      .job_size = (size_t) rules->ranks,
                                      .proc = proc_at,
                                      .progress = others_progress,
                                      .clock_ns = time_of_world,
                                      .arg = &world.pml[i]};
        world_opening = i;
        if (pml_open(&world.pml[i], &host, components) != OPAL_SUCCESS) {
            abort();
        }
    }
}

void world_progress(void)
{
    for (int i = 0; i < world.rules.ranks; i++) {
        if (!world.dead[i]) {
            (void) pml_progress(world.pml[i]);
        }
    }
}

void world_close(void)
{
    bool all_lived = true;
    for (int i = 0; i < world.rules.ranks; i++) {
        all_lived = all_lived && !world.dead[i];
        if (world.dead[i]) {
            world_graveyard[graves++ % WORLD_GRAVES] = world.pml[i];
        } else if (pml_close(world.pml[i]) != OPAL_SUCCESS) {
            abort();
        }
        world.pml[i] = NULL;
    }
    world_clear();
    if (all_lived && (world.waiting != 0 || world.counts.kept != 0)) {
        abort();
    }
}
