/* The suite over a simulated PTL, which reorders, delays, splits and copies what it carries, and is
 * short of room (tests/unit/pml/world.h). This process plays all ranks. */
#include <config.h>

#include <tests/conformance/tagged/suite.h>
#include <tests/unit/pml/world.h>

enum { FIRST = 64, MAX = 256, KINDS = 3, WEATHERS = 13, SEEDS = 60 };

static void set_limits(void)
{
    const size_t all[] = {FIRST, MAX, FIRST + MAX, 2 * MAX};
    memcpy(limits, all, sizeof(all));
    limit_count = sizeof(all) / sizeof(*all);
    most = 3000;
    long_bytes = 2000;
}

static void nothing(void)
{
}

static opal_proc_t *proc(int rank)
{
    return &world.procs[rank];
}

static int context(int rank, uint32_t id, opal_proc_t *const *members, size_t count, int32_t me,
                   struct keel_pml_context **opened)
{
    return pml_context_open(world.pml[rank], id, members, count, me, opened);
}

static int progress(void)
{
    world_progress();
    return 0;
}

/* Each kind of module once with calm and once with bad weather. */
static struct world_rules rules_of(uint32_t flags, unsigned i)
{
    const bool extended = flags & MCA_PTL_FLAGS_EXTENDED;
    const bool keeps = i % 9 == 8;
    return (struct world_rules){
        .ranks = ranks,
        .flags = flags,
        .first = FIRST,
        .min = 16,
        .max = i % 5 == 4 ? SIZE_MAX : MAX,
        .delay = i % 2 ? 6 : 0,
        .reorders = i % 4 > 0,
        .splits = i % 3 == 1,
        .late = i % 7 > 3,
        .copies = i % 6 > 2,
        .immediate = extended && i % 10 > 4,
        .room = extended && i % 11 > 6 ? 2 + i % 3 : 0,
        .refuses = extended && i % 13 > 8 ? 20 : 0,
        .cache_size = keeps ? 3 : 0,
        .cache_bytes = keeps ? 64 : 0,
        .seed = i * 7919 + flags,
    };
}

static void cover(const struct pml_case *test)
{
    static const uint32_t kinds[KINDS] = {MCA_PTL_FLAGS_EXTENDED | MCA_PTL_PUT,
                                          MCA_PTL_FLAGS_EXTENDED | MCA_PTL_GET, MCA_PTL_PUT};
    for (unsigned i = 0; i < KINDS * (test->drawn ? SEEDS : WEATHERS); i++) {
        const struct world_rules rules = rules_of(kinds[i % KINDS], i / KINDS);
        if (test->ends && !(rules.flags & MCA_PTL_FLAGS_EXTENDED)) {
            continue; /* they cannot tell that a peer is gone */
        }
        seed = i;
        world_open(&rules);
        begin();
        test->run();
        end();
        world_close();
    }
}

const struct ground simulation = {
    .open = set_limits,
    .close = nothing,
    .cover = cover,
    .proc = proc,
    .context = context,
    .progress = progress,
    .meet = nothing,
    .lose = world_kill,
    .burst = 100,
    .stride = 61,
};
