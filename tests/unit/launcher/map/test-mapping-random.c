/* Random command lines on random nodes, and programs that are added to what they give: job_plan_*
 * and the naive mapper agree, and what the page promises holds. "test-mapping-random COUNT [FIRST]"
 * takes COUNT inputs, each made of its number; COUNT 1 prints its input. */
#include <config.h>

#include <launcher/map/plan.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/unit/launcher/map/naive.h>
#include <unistd.h>

enum { LINE = 1024, REASON = 512, WORDS = 64, USUAL_COUNT = 10000, OS_MAX = 6000 };

struct input {
    struct topo topos[NAIVE_NODES];
    struct topo_thread threads[NAIVE_NODES][NAIVE_THREADS];
    struct naive_node nodes[NAIVE_NODES];
    char names[NAIVE_NODES][16];
    uint32_t node_count;
    char line[LINE];
    char job[LINE]; /* the line of the job, while line is that of ranks that are added to it */
};

static uint64_t state;

/* --- random numbers: SplitMix64 --- */

static uint64_t draw(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint32_t from_to(uint32_t first, uint32_t last)
{
    return first + (uint32_t) (draw() % (last - first + 1));
}

static bool one_in(uint32_t n)
{
    return draw() % n == 0;
}

static void say(struct input *input, const char *format, ...)
{
    size_t used = strlen(input->line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(input->line + used, LINE - used, format, arguments);
    va_end(arguments);
}

/* --- topologies --- */

static void add_core(struct topo *topo, const uint32_t *number, bool smt)
{
    for (uint32_t i = 0; i < (smt ? 2u : 1u) && topo->count < NAIVE_THREADS; i++) {
        struct topo_thread *thread = &topo->threads[topo->count];
        memcpy(thread->object, number, sizeof(thread->object));
        thread->object[TOPO_HWTHREAD] = topo->count++;
    }
}

/* Packages of NUMA nodes of L3s of cores, each with as many as comes. */
static void make_objects(struct topo *topo)
{
    uint32_t number[TOPO_LEVELS] = {0}, packages = from_to(1, 2);
    uint32_t numas = from_to(1, 2), caches = from_to(1, 2), cores = from_to(1, 3);
    bool smt = one_in(2), uneven = one_in(3), pairs = one_in(3);
    for (uint32_t package = 0; package < packages; package++, number[TOPO_PACKAGE]++) {
        for (uint32_t numa = 0; numa < numas; numa++, number[TOPO_NUMA]++) {
            for (uint32_t cache = 0; cache < caches; cache++, number[TOPO_L3]++) {
                uint32_t count = uneven ? from_to(1, 3) : cores;
                for (uint32_t core = 0; core < count; core++) {
                    add_core(topo, number, smt);
                    number[TOPO_CORE]++;
                    number[TOPO_L1]++;
                    number[TOPO_L2] += !pairs || core % 2 || core + 1 == count;
                }
            }
        }
    }
}

static void spoil_level(struct topo *topo, unsigned level, uint32_t number)
{
    for (uint32_t i = 0; i < topo->count; i++) {
        topo->threads[i].object[level] = number;
    }
}

static void make_topo(struct topo *topo)
{
    make_objects(topo);
    if (one_in(5)) {
        spoil_level(topo, TOPO_L3, TOPO_NONE);
    }
    if (one_in(8)) {
        spoil_level(topo, TOPO_NUMA, 0); /* packages in one NUMA node */
    }
    bool masked = one_in(3);
    uint32_t stride = one_in(2) ? 1 : 5, kept = from_to(0, topo->count - 1);
    uint32_t first = one_in(4) ? 5000 : 0;
    for (uint32_t i = 0; i < topo->count; i++) {
        topo->threads[i].os =
            first + (i * stride) % NAIVE_THREADS; /* 64 is prime to 5: none comes twice */
        topo->threads[i].usable = !masked || i == kept || !one_in(3);
    }
    topo->quota = one_in(6) ? from_to(1, 4) : 0;
}

/* --- nodes --- */

static void make_nodes(struct input *input)
{
    FILE *file = fopen("h", "we");
    bool given = one_in(2);
    input->node_count = from_to(1, 4);
    for (uint32_t i = 0; i < input->node_count; i++) {
        struct naive_node *node = &input->nodes[i];
        bool local = i == 1 && one_in(4);
        snprintf(input->names[i], sizeof(input->names[i]), local ? "localhost" : "n%u", i);
        input->topos[i].threads = input->threads[i];
        make_topo(&input->topos[i]);
        *node =
            (struct naive_node){.name = input->names[i], .local = local, .topo = &input->topos[i]};
        node->slots = given || local || one_in(4) ? from_to(1, 6) : 0;
        node->slots_max = node->slots && one_in(5) ? node->slots + from_to(0, 2) : 0;
        fprintf(file, "%s", node->name);
        fprintf(file, node->slots ? " slots=%u" : "", node->slots);
        fprintf(file, node->slots_max ? " max_slots=%u\n" : "\n", node->slots_max);
    }
    fclose(file);
    say(input, "--hostfile h");
}

/* --- options --- */

static const char *const levels[] = {"hwthread", "core", "l1cache", "l2cache",
                                     "l3cache",  "numa", "package"};

/* Returns its level; LEVEL_NODE where ranks are on no object. */
static unsigned make_map(struct input *input, bool *named, bool *object)
{
    unsigned level = from_to(TOPO_HWTHREAD, TOPO_PACKAGE);
    *object = *named = false;
    switch (from_to(0, 7)) {
    case 0:
        return LEVEL_NODE;
    case 1:
        say(input, " --map-by slot");
        return LEVEL_NODE;
    case 2:
        say(input, " --map-by node");
        return LEVEL_NODE;
    case 3:
        say(input, " --map-by ppr:%u:%s", from_to(1, 3), levels[level]);
        return level;
    case 4:
        say(input, " --map-by ppr:%u:node", from_to(1, 4));
        return LEVEL_NODE;
    case 5:
        *named = true;
        return LEVEL_NODE;
    default:
        *object = true;
        say(input, " --map-by %s%s", levels[level], one_in(3) ? ":SPAN" : "");
        return level;
    }
}

static void make_rank(struct input *input, unsigned map)
{
    static const char *const words[] = {"slot", "node", "span", "fill"};
    static const char *const orders[] = {"", ":SPAN", ":FILL"};
    if (one_in(2)) {
        return;
    }
    if (map != LEVEL_NODE && one_in(2)) {
        say(input, " --rank-by %s%s", levels[from_to(map, TOPO_PACKAGE)], orders[from_to(0, 2)]);
    } else {
        say(input, " --rank-by %s", words[from_to(0, 3)]);
    }
}

static void make_bind(struct input *input, bool narrow, bool none)
{
    unsigned level = from_to(TOPO_HWTHREAD, narrow ? TOPO_CORE : TOPO_PACKAGE);
    if (one_in(3)) {
        return;
    }
    say(input, " --bind-to %s", none || one_in(8) ? "none" : levels[level]);
    say(input, "%s%s", one_in(3) ? ":overload-allowed" : "", one_in(4) ? ":if-supported" : "");
}

static const char *some_node(const struct input *input)
{
    return one_in(40) ? "elsewhere" : input->names[from_to(0, input->node_count - 1)];
}

static void make_sequence(struct input *input)
{
    FILE *file = fopen("s", "we");
    for (uint32_t lines = from_to(1, 6); lines > 0; lines--) {
        fprintf(file, "%s\n", some_node(input));
    }
    fclose(file);
    say(input, " --map-by seq:FILE=s");
}

static void make_rankfile(struct input *input)
{
    FILE *file = fopen("r", "we");
    uint32_t ranks = from_to(1, 5);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t first = from_to(0, 3);
        fprintf(file, "rank %u=%s", rank, some_node(input));
        switch (from_to(0, 4)) {
        case 0:
            fprintf(file, " slot=%u:*", from_to(0, 1));
            break;
        case 1:
            fprintf(file, " slot=%u:%u-%u", from_to(0, 1), first, first + from_to(0, 1));
            break;
        case 2:
            fprintf(file, " slot=%u,%u", first, from_to(0, 6));
            break;
        default:
            break;
        }
        putc('\n', file);
    }
    fclose(file);
    say(input, " --rankfile r");
}

/* --host of one program: each node once, as node_list_parse adds up what comes again. */
static void make_hosts(struct input *input)
{
    uint32_t first = from_to(0, input->node_count - 1), count = from_to(1, input->node_count);
    say(input, " --host ");
    for (uint32_t i = 0; i < count; i++) {
        const char *name = input->names[(first + i) % input->node_count];
        say(input, "%s%s", i ? "," : "", one_in(60) ? "elsewhere" : name);
        if (one_in(3)) {
            say(input, ":%u", from_to(1, 4));
        }
    }
}

static void make_programs(struct input *input)
{
    for (uint32_t programs = one_in(3) ? from_to(2, 3) : 1, i = 0; i < programs; i++) {
        say(input, i ? " :" : "");
        if (one_in(3)) {
            make_hosts(input);
        }
        if (!one_in(3)) {
            say(input, " -n %u", from_to(1, one_in(5) ? 20 : 8));
        }
        if (one_in(4)) {
            say(input, " -N %u", from_to(1, 4));
        }
        say(input, " p%u", i);
    }
}

static void make_input(struct input *input, uint64_t seed)
{
    bool named, object, threads = one_in(6);
    memset(input, 0, sizeof(*input));
    state = seed;
    (void) draw();
    make_nodes(input);
    unsigned level = make_map(input, &named, &object);
    uint32_t processors = !named && one_in(3) ? from_to(1, 4) : 0;
    bool rankfile = named && one_in(2);
    if (named) {
        rankfile ? make_rankfile(input) : make_sequence(input);
    } else {
        make_rank(input, level);
    }
    make_bind(input, processors > 0, rankfile);
    say(input, threads ? " --use-hwthread-cpus" : "");
    say(input, processors ? " --cpus-per-proc %u" : "", processors);
    say(input, one_in(4) ? " --oversubscribe" : one_in(8) ? " --nooversubscribe" : "");
    say(input, one_in(8) ? " --nolocal" : "");
    say(input, one_in(8) ? " --cpu-set %u-%u" : "", level % 2, level % 2 + (uint32_t) (seed % 3));
    make_programs(input);
}

/* Ranks that are added have mapping, ranking and binding of their own, and the job's processors. */
static void make_addition(struct input *input, const struct placement *job)
{
    bool named, object;
    memcpy(input->job, input->line, LINE);
    input->line[0] = '\0';
    unsigned level = make_map(input, &named, &object);
    uint32_t processors = one_in(3) ? from_to(1, 4) : 0;
    make_rank(input, level);
    make_bind(input, processors > 0, false);
    say(input, job->hwthreads ? " --use-hwthread-cpus" : "");
    say(input, processors ? " --cpus-per-proc %u" : "", processors);
    say(input, one_in(8) ? " --nooversubscribe" : "");
    say(input, one_in(8) ? " --nolocal" : "");
    say(input, job->cpu_set ? " --cpu-set %s" : "", job->cpu_set);
    if (one_in(3)) {
        make_hosts(input);
    }
    say(input, one_in(4) ? " -N %u" : "", from_to(1, 4));
    say(input, " -n %u added", from_to(1, 8));
}

/* --- what both make of it --- */

static const struct input *shown;
static uint64_t shown_number;

static void complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("# input %llu: keelrun %s%s%s\n# ", (unsigned long long) shown_number, shown->job,
           shown->job[0] ? "; added: " : "", shown->line);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

static bool parse(const struct input *input, struct run_request *request, char *reason)
{
    char text[LINE], *argv[WORDS] = {(char *) "keelrun"}, *rest = NULL;
    int argc = 1;
    snprintf(text, sizeof(text), "%s", input->line);
    for (char *word = strtok_r(text, " ", &rest); word && argc + 1 < WORDS;
         word = strtok_r(NULL, " ", &rest)) {
        argv[argc++] = word;
    }
    return cmdline_parse(request, argc, argv, reason, REASON) == CMDLINE_RUN;
}

static bool plan_it(struct input *input, const struct run_request *request, struct job_plan *plan,
                    char *reason)
{
    struct allocation none = {0};
    if (job_plan_nodes(plan, request, &none, reason, REASON) != ORTE_SUCCESS) {
        return false;
    }
    for (uint32_t node = 0; node < plan->node_count; node++) {
        for (uint32_t i = 0; i < input->node_count; i++) {
            if (strcmp(plan->nodes[node].name, input->names[i]) == 0) {
                plan->nodes[node].topo = &input->topos[i];
            }
        }
    }
    return job_plan_map(plan, request, reason, REASON) == ORTE_SUCCESS;
}

/* Threads of the kernel's numbers "0,2-5". */
static uint64_t threads_named(const struct topo *topo, const char *cpus)
{
    static bool flags[OS_MAX];
    memset(flags, 0, sizeof(flags));
    const char *wrong;
    uint64_t mask = 0;
    if (!*cpus || !topo_list_parse(cpus, flags, OS_MAX, &wrong)) {
        return 0;
    }
    for (uint32_t i = 0; i < topo->count; i++) {
        mask |= flags[topo->threads[i].os] ? 1ull << i : 0;
    }
    return mask;
}

static bool compare_rank(const struct job_plan *plan, const struct naive *naive, uint32_t rank)
{
    const struct naive_rank *other = &naive->ranks[rank];
    const struct map_node *node = &plan->nodes[plan->node_of[rank]];
    uint64_t bound = threads_named(node->topo, plan->cpus[rank]);
    if (strcmp(node->name, naive->nodes[other->node].name) == 0 &&
        plan->app_of[rank] == other->program && bound == other->bound) {
        return true;
    }
    complain("rank %u: node %s, program %u, threads 0x%llx; the naive mapper has %s, %u, 0x%llx",
             rank, node->name, plan->app_of[rank], (unsigned long long) bound,
             naive->nodes[other->node].name, other->program, (unsigned long long) other->bound);
    return false;
}

static bool compare(const struct job_plan *plan, const struct naive *naive)
{
    bool same = plan->rank_count == naive->numbered;
    if (!same) {
        complain("%u ranks; the naive mapper has %u", plan->rank_count, naive->numbered);
    }
    for (uint32_t rank = 0; rank < naive->numbered && same; rank++) {
        same = compare_rank(plan, naive, rank);
    }
    if (same && naive->dropped != (plan->note != NULL)) {
        complain("the binding is %sdropped", plan->note ? "" : "not ");
        same = false;
    }
    return same;
}

/* --- properties --- */

static uint32_t processors_in(const struct topo *topo, bool hwthreads, uint64_t mask)
{
    bool seen[NAIVE_THREADS] = {false};
    uint32_t count = 0;
    for (uint32_t i = 0; i < topo->count; i++) {
        uint32_t number = topo->threads[i].object[hwthreads ? TOPO_HWTHREAD : TOPO_CORE];
        if (mask & 1ull << i) {
            count += !seen[number];
            seen[number] = true;
        }
    }
    return count;
}

static bool check_node(const struct job_plan *plan, const struct run_request *request,
                       uint32_t node)
{
    const struct map_node *at = &plan->nodes[node];
    uint32_t ranks = 0;
    for (uint32_t rank = 0; rank < plan->rank_count; rank++) {
        if (plan->node_of[rank] == node && plan->local_rank_of[rank] != ranks++) {
            complain("the local ranks of %s are out of order", at->name);
            return false;
        }
    }
    bool may = request->oversubscribe || (!at->slots_explicit && !request->no_oversubscribe);
    if ((ranks > at->slots && !may) || (at->slots_max && ranks > at->slots_max)) {
        complain("%s has %u ranks and %u slots", at->name, ranks, at->slots);
        return false;
    }
    return true;
}

static bool check_rank(const struct job_plan *plan, const struct run_request *request,
                       uint32_t rank, uint64_t *taken)
{
    const struct placement *placement = &request->placement;
    uint32_t node = plan->node_of[rank], wanted = placement->cpus_per_rank;
    if (node >= plan->node_count || plan->app_of[rank] >= request->app_count) {
        complain("rank %u is nowhere", rank);
        return false;
    }
    const struct topo *topo = plan->nodes[node].topo;
    uint64_t bound = threads_named(topo, plan->cpus[rank]);
    for (uint32_t i = 0; i < topo->count; i++) {
        if ((bound & 1ull << i) && !topo->threads[i].usable) {
            complain("rank %u is bound outside of the mask", rank);
            return false;
        }
    }
    if (wanted && bound &&
        (processors_in(topo, placement->hwthreads, bound) != wanted ||
         (!placement->overload && (taken[node] & bound)))) {
        complain("rank %u does not have %u processors of its own", rank, wanted);
        return false;
    }
    taken[node] |= bound;
    return true;
}

static bool check_properties(const struct job_plan *plan, const struct run_request *request)
{
    uint64_t taken[NAIVE_NODES] = {0};
    uint32_t counts[8] = {0};
    bool right = true;
    for (uint32_t rank = 0; rank < plan->rank_count && right; rank++) {
        right = check_rank(plan, request, rank, taken);
        counts[plan->app_of[rank] % 8]++;
    }
    for (uint32_t node = 0; node < plan->node_count && right; node++) {
        right = check_node(plan, request, node);
    }
    for (size_t program = 0; program < request->app_count && right; program++) {
        uint32_t wanted = request->apps[program].count;
        right = counts[program] > 0 && (wanted == 0 || wanted == counts[program]);
        if (!right) {
            complain("program %zu has %u ranks", program, counts[program]);
        }
    }
    return right;
}

/* --- ranks that are added --- */

struct tally {
    unsigned planned, refused, bound, added, full, unbound, mixed, asked, unasked;
};

static bool any_bound(const struct job_plan *plan, uint32_t first, uint32_t end)
{
    bool any = false;
    for (uint32_t rank = first; rank < end && !any; rank++) {
        any = plan->cpus[rank][0];
    }
    return any;
}

/* Some ranks have ended, some nodes are closed. */
static void make_use(struct naive_use *use, const struct job_plan *plan, uint32_t program)
{
    *use = (struct naive_use){.program = program, .again = one_in(2)};
    bool ended = one_in(2), closed = one_in(4);
    for (uint32_t rank = 0; rank < plan->rank_count; rank++) {
        use->ended[rank] = ended && one_in(3);
    }
    for (uint32_t node = 0; node < plan->node_count; node++) {
        use->closed[node] = closed && one_in(3);
    }
}

static bool in_order(const struct job_plan *plan)
{
    uint32_t next[NAIVE_NODES] = {0};
    bool right = true;
    for (uint32_t rank = 0; rank < plan->rank_count; rank++) {
        right &= plan->local_rank_of[rank] == next[plan->node_of[rank]]++;
    }
    if (!right) {
        complain("local ranks are out of order");
    }
    return right;
}

static bool any_object(const struct topo *topo, unsigned level)
{
    bool any = false;
    for (uint32_t i = 0; i < topo->count && !any; i++) {
        any = topo->threads[i].object[level] != TOPO_NONE;
    }
    return any;
}

/* Nodes of which nothing is known until it is asked for. */
static void hide(struct job_plan *plan, const struct topo **hidden)
{
    bool all = one_in(2);
    for (uint32_t node = 0; node < plan->node_count; node++) {
        hidden[node] = all || one_in(2) ? plan->nodes[node].topo : NULL;
        plan->nodes[node].topo = hidden[node] ? NULL : plan->nodes[node].topo;
    }
}

/* False: nothing was asked for that is hidden. */
static bool reveal(struct job_plan *plan, const bool *asked, const struct topo **hidden)
{
    bool any = false;
    for (uint32_t node = 0; node < plan->node_count; node++) {
        if (asked[node] && hidden[node]) {
            plan->nodes[node].topo = hidden[node];
            hidden[node] = NULL;
            any = true;
        }
    }
    return any;
}

/* No node is asked that no rank goes to. With PE=n and ppr this shows only when it has answered. */
static bool check_asked(const struct job_plan *plan, const struct run_request *request,
                        const bool *asked, uint32_t first)
{
    const struct placement *placement = &request->placement;
    unsigned level = placement->map_by == MAP_BY_OBJECT ? placement->map_level : TOPO_HWTHREAD;
    bool right = true;
    for (uint32_t node = 0; node < plan->node_count; node++) {
        const struct topo *topo = plan->nodes[node].topo;
        bool used = !asked[node] || !any_object(topo, level);
        for (uint32_t rank = first; rank < plan->rank_count && !used; rank++) {
            used = plan->node_of[rank] == node;
        }
        right &= used;
    }
    if (!right && !placement->cpus_per_rank && placement->map_by != MAP_BY_PPR) {
        complain("a node is asked for its processors that no rank goes to");
        return false;
    }
    return true;
}

/* As with all topologies at once, but some are known only when they are asked for. */
static bool extend(struct job_plan *plan, const struct run_request *request, struct plan_use *use,
                   uint32_t *unbound, bool *fits, char *reason, struct tally *tally)
{
    const struct topo *hidden[NAIVE_NODES];
    bool asked[NAIVE_NODES] = {false};
    uint32_t first = plan->rank_count;
    int status;
    use->unknown = asked;
    hide(plan, hidden);
    do {
        status = job_plan_extend(plan, request, use, unbound, reason, REASON);
    } while (status == ORTE_ERR_NOT_AVAILABLE && reveal(plan, asked, hidden));
    *fits = status == ORTE_SUCCESS;
    for (uint32_t node = 0; node < plan->node_count; node++) {
        tally->asked += asked[node];
        tally->unasked += hidden[node] && *fits;
        plan->nodes[node].topo = hidden[node] ? hidden[node] : plan->nodes[node].topo;
    }
    return !*fits || check_asked(plan, request, asked, first);
}

/* What both make of one program more. */
static bool try_addition(struct input *input, struct naive *naive, struct job_plan *plan,
                         uint32_t program, struct tally *tally)
{
    struct run_request request;
    struct naive_use use;
    char reason[REASON] = "";
    uint32_t unbound = 0, before = plan->rank_count;
    make_addition(input, &naive->request->placement);
    make_use(&use, plan, program);
    if (!parse(input, &request, reason)) {
        complain("it is refused: %s", reason);
        return false;
    }
    struct plan_use given = {.ended = use.ended,
                             .ended_count = plan->rank_count,
                             .closed = use.closed,
                             .app = program,
                             .again = use.again};
    const struct run_request *job = naive->request;
    naive->use = &use;
    naive->request = &request;
    bool fits, asked_well = extend(plan, &request, &given, &unbound, &fits, reason, tally);
    bool right = naive_extend(naive) == fits;
    if (!asked_well) {
        right = false;
    } else if (!right) {
        complain("%s; the naive mapper says otherwise", fits ? "it fits" : reason);
    } else if (!fits) {
        right = plan->rank_count == before;
    } else {
        right = in_order(plan) && compare(plan, naive);
        if (right && unbound != naive->unbound) {
            complain("%u are not bound; the naive mapper has %u", unbound, naive->unbound);
            right = false;
        }
    }
    tally->added += fits;
    tally->full += !fits;
    tally->unbound += fits && unbound > 0;
    tally->mixed +=
        fits && !any_bound(plan, 0, before) && any_bound(plan, before, plan->rank_count);
    naive->request = job;
    run_request_fini(&request);
    return right;
}

/* --- all of them --- */

static bool try_input(uint64_t number, struct tally *tally)
{
    static struct input input;
    static struct naive naive;
    struct run_request request;
    struct job_plan plan = {0};
    char reason[REASON] = "";
    make_input(&input, number);
    shown = &input;
    shown_number = number;
    if (!parse(&input, &request, reason)) {
        complain("it is refused: %s", reason);
        return false;
    }
    memset(&naive, 0, sizeof(naive));
    naive.request = &request;
    naive.node_count = input.node_count;
    memcpy(naive.nodes, input.nodes, sizeof(naive.nodes));
    bool planned = plan_it(&input, &request, &plan, reason), right = naive_map(&naive) == planned;
    if (!right) {
        complain("%s; the naive mapper says otherwise", planned ? "it fits" : reason);
    } else if (planned) {
        right = compare(&plan, &naive) && check_properties(&plan, &request);
    }
    uint32_t refused = tally->full;
    for (uint32_t i = 0; i < 2 && planned && right && refused == tally->full; i++) {
        right = try_addition(&input, &naive, &plan, (uint32_t) request.app_count + i, tally);
    }
    tally->planned += planned;
    tally->refused += !planned;
    tally->bound += planned && any_bound(&plan, 0, plan.rank_count);
    job_plan_fini(&plan);
    run_request_fini(&request);
    return right;
}

static void print_input(const struct input *input)
{
    printf("# keelrun %s\n", input->line);
    for (uint32_t i = 0; i < input->node_count; i++) {
        char *text = topo_print(&input->topos[i]);
        printf("--- %s: slots %u, at most %u\n%s", input->names[i], input->nodes[i].slots,
               input->nodes[i].slots_max, text ? text : "");
        free(text);
    }
    (void) !system("tail -n 99 h r s 2>/dev/null"); /* NOLINT: a debugging aid */
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : USUAL_COUNT;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, wrong = 0;
    struct tally tally = {0};
    char memory[] = "/dev/shm/keel-mapping-XXXXXX", disk[] = "/tmp/keel-mapping-XXXXXX";
    const char *folder = mkdtemp(memory) ? memory : mkdtemp(disk);
    if (!folder || chdir(folder) != 0) {
        puts("Bail out! no folder");
        return EXIT_FAILURE;
    }
    for (uint64_t i = first; i < first + count && wrong < 10; i++) {
        wrong += !try_input(i, &tally);
    }
    if (count == 1) {
        print_input(shown);
    }
    (void) unlink("h");
    (void) unlink("r");
    (void) unlink("s");
    (void) rmdir(folder);
    printf("# %u fit, of which %u are bound; %u do not\n", tally.planned, tally.bound,
           tally.refused);
    printf("# ranks were added %u times, %u times not; %u times some are not bound, %u times bound "
           "ones to a job that is not\n",
           tally.added, tally.full, tally.unbound, tally.mixed);
    printf("# for these %u nodes were asked for their processors, and %u not\n", tally.asked,
           tally.unasked);
    printf("%sok 1 - the naive mapper agrees on %llu inputs\n", wrong ? "not " : "",
           (unsigned long long) count);
    bool both = count < 100 || (tally.bound > count / 10 && tally.refused > count / 10 &&
                                tally.added > count / 10 && tally.full > count / 50 &&
                                tally.unbound > count / 50 && tally.mixed > count / 50);
    printf("%sok 2 - many of them fit, and many do not\n1..2\n", both ? "" : "not ");
    return wrong || !both ? EXIT_FAILURE : EXIT_SUCCESS;
}
