/* The suite over the modules of the data plane: each rank is a process. */
#include <config.h>

#include <base/settings/param.h>
#include <stdlib.h>
#include <tests/conformance/tagged/suite.h>
#include <unistd.h>

enum { SEEDS = 4, HEADERS = 44, LONGEST = 2 << 20 };

static bool ended;

static int progress(void)
{
    return keel_pml_progress() + minihost_progress(host);
}

static void meet_all(void)
{
    if (!ended) {
        minihost_barrier(host, progress);
    }
}

/* Where short messages end, and fragments do. */
static void learn_limits(void)
{
    size_t count;
    const struct keel_rail *rails =
        keel_host_rails(&host->procs[myself == last ? 0 : last], &count);
    limit_count = 0;
    for (size_t i = 0; i < count && limit_count + 2 <= LIMITS_MOST; i++) {
        limits[limit_count++] = rails[i].btl->btl_eager_limit - HEADERS;
        limits[limit_count++] = rails[i].btl->btl_max_send_size - HEADERS;
    }
    must(limit_count > 0);
    most = LONGEST;
    long_bytes = 140000;
}

static void open_modules(void)
{
    char reason[256] = "";
    opal_proc_t *procs[RANKS_MOST];
    myself = host->rank;
    for (int i = 0; i < ranks; i++) {
        procs[i] = &host->procs[i];
    }
    succeeds(param_override("btl", module_names));
    if (keel_host_open(&minihost_ops, host, NULL, reason, sizeof(reason)) != OPAL_SUCCESS) {
        minihost_fail(host, "open: %s", reason);
    }
    minihost_barrier(host, NULL);
    if (keel_host_add_procs(procs, (size_t) ranks, reason, sizeof(reason)) != OPAL_SUCCESS) {
        minihost_fail(host, "add_procs: %s", reason);
    }
    succeeds(keel_pml_open_on(&minihost_ops, host));
    learn_limits();
    meet_all();
}

static void close_modules(void)
{
    succeeds(keel_pml_close());
    succeeds(keel_host_close());
}

static opal_proc_t *proc(int rank)
{
    return &host->procs[rank];
}

static int context(int rank, uint32_t id, opal_proc_t *const *members, size_t count, int32_t me,
                   struct keel_pml_context **opened)
{
    (void) rank;
    return keel_pml_context_open(id, members, count, me, opened);
}

static void cover(const struct pml_case *test)
{
    for (seed = 1; seed <= (test->drawn ? SEEDS : 1u); seed++) {
        begin();
        test->run();
        end();
        meet_all();
    }
}

static void lose_rank(int rank)
{
    meet_all();
    if (rank == myself) {
        _exit(EXIT_SUCCESS); /* without a word */
    }
    keel_host_proc_ended(&host->procs[rank]);
    ended = true;
}

const struct ground modules = {
    .open = open_modules,
    .close = close_modules,
    .cover = cover,
    .proc = proc,
    .context = context,
    .progress = progress,
    .meet = meet_all,
    .lose = lose_rank,
    .burst = 20000,
    .stride = 29,
};
