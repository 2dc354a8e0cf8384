#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <tests/unit/launcher/map/naive_parts.h>

enum { UNLIMITED = 1000000 };

/* The nodes of the program that is being mapped, in its order. */
struct row {
    uint32_t nodes[NAIVE_NODES];
    uint32_t count;
};

/* --- words: processor, object --- */

unsigned naive_processor_level(const struct naive *naive)
{
    return naive->request->placement.hwthreads ? TOPO_HWTHREAD : TOPO_CORE;
}

/* The threads of one object, usable or not. */
static uint64_t threads_of(const struct topo *topo, unsigned level, uint32_t number)
{
    uint64_t mask = 0;
    for (uint32_t i = 0; i < topo->count; i++) {
        bool in = level == LEVEL_NODE ? number == 0 : topo->threads[i].object[level] == number;
        mask |= in ? 1ull << i : 0;
    }
    return mask;
}

/* The objects of a level that have a usable processor, by logical number. */
uint32_t naive_objects_of(const struct naive_node *node, unsigned level, uint64_t *objects)
{
    uint32_t count = 0;
    for (uint32_t number = 0; number < NAIVE_THREADS; number++) {
        uint64_t mask = threads_of(node->topo, level, number) & node->usable;
        if (mask) {
            objects[count++] = mask;
        }
    }
    return count;
}

static uint32_t processors_in(const struct naive *naive, const struct naive_node *node,
                              uint64_t mask)
{
    uint64_t processors[NAIVE_THREADS];
    uint32_t all = naive_objects_of(node, naive_processor_level(naive), processors), count = 0;
    for (uint32_t i = 0; i < all; i++) {
        count += (processors[i] & mask) != 0;
    }
    return count;
}

/* The object of a level that contains all of a mask; 0: there is none. */
static uint64_t container(const struct naive_node *node, unsigned level, uint64_t mask)
{
    uint64_t objects[NAIVE_THREADS];
    uint32_t count = naive_objects_of(node, level, objects);
    for (uint32_t i = 0; i < count; i++) {
        if ((mask & ~objects[i]) == 0) {
            return objects[i];
        }
    }
    return 0;
}

/* "0-3,8" as flags below count. */
static bool read_list(const char *text, size_t size, bool *flags, uint32_t count)
{
    for (size_t i = 0; i < size; i++) {
        char *end;
        unsigned long first = strtoul(text + i, &end, 10), last = first;
        if (*end == '-') {
            last = strtoul(end + 1, &end, 10);
        }
        if (first > last || last >= count) {
            return false;
        }
        for (; first <= last; first++) {
            flags[first] = true;
        }
        i = (size_t) (end - text);
    }
    return true;
}

/* In the affinity mask and in --cpu-set. */
static bool find_usable(const struct naive *naive, struct naive_node *node)
{
    const char *set = naive->request->placement.cpu_set;
    bool wanted[NAIVE_THREADS] = {false};
    uint32_t most = 0;
    uint64_t in_set = 0;
    for (uint32_t i = 0; i < node->topo->count; i++) {
        uint32_t number = node->topo->threads[i].object[naive_processor_level(naive)];
        most = number + 1 > most ? number + 1 : most;
        node->usable |= node->topo->threads[i].usable ? 1ull << i : 0;
    }
    if (!set) {
        return true;
    }
    if (!read_list(set, strlen(set), wanted, most)) {
        return false;
    }
    for (uint32_t number = 0; number < most; number++) {
        in_set |= wanted[number] ? threads_of(node->topo, naive_processor_level(naive), number) : 0;
    }
    node->usable &= in_set;
    return node->usable != 0;
}

/* --- nodes and slots --- */

/* The usable processors, which a quota lowers. --cpu-set is nothing to slots. */
static uint32_t count_slots(const struct naive *naive, const struct topo *topo)
{
    bool seen[NAIVE_THREADS] = {false};
    uint32_t count = 0;
    for (uint32_t i = 0; i < topo->count; i++) {
        uint32_t number = topo->threads[i].object[naive_processor_level(naive)];
        count += topo->threads[i].usable && !seen[number];
        seen[number] |= topo->threads[i].usable;
    }
    return topo->quota && topo->quota < count ? topo->quota : count;
}

static struct naive_node *find_node(struct naive *naive, const char *name)
{
    for (uint32_t i = 0; i < naive->node_count; i++) {
        if (strcmp(naive->nodes[i].name, name) == 0) {
            return &naive->nodes[i];
        }
    }
    return NULL;
}

static uint32_t asked_of(const struct app_request *program, const struct naive_node *node)
{
    for (size_t i = 0; i < program->hosts.count; i++) {
        if (strcmp(program->hosts.nodes[i].name, node->name) == 0) {
            return program->hosts.nodes[i].slots ? program->hosts.nodes[i].slots : UNLIMITED;
        }
    }
    return 0;
}

/* --host selects from the hostfile's nodes: in its order, with as many slots as it says. Programs'
 * slots add up, to no more than there are. A program without --host has all nodes. */
static bool select_hosts(struct naive *naive)
{
    const struct run_request *request = naive->request;
    struct naive chosen = *naive;
    bool all = false;
    chosen.node_count = 0;
    for (size_t program = 0; program < request->app_count; program++) {
        const struct node_list *hosts = &request->apps[program].hosts;
        all |= hosts->count == 0;
        for (size_t i = 0; i < hosts->count; i++) {
            struct naive_node *node = find_node(naive, hosts->nodes[i].name);
            uint32_t slots = hosts->nodes[i].slots;
            if (!node || (node->slots_max && slots > node->slots_max) ||
                (node->slots && slots > node->slots && !request->oversubscribe)) {
                return false;
            }
            if (!find_node(&chosen, node->name)) {
                chosen.nodes[chosen.node_count++] = *node;
            }
        }
    }
    for (uint32_t i = 0; i < chosen.node_count && !all; i++) {
        struct naive_node *node = &chosen.nodes[i];
        uint32_t sum = 0, largest = 0;
        for (size_t program = 0; program < request->app_count; program++) {
            uint32_t asked = asked_of(&request->apps[program], node);
            sum += asked;
            largest = asked > largest && asked < UNLIMITED ? asked : largest;
        }
        if (node->slots && sum > node->slots) {
            sum = largest > node->slots ? largest : node->slots;
        }
        node->slots = sum < UNLIMITED ? sum : node->slots;
    }
    if (!all) {
        *naive = chosen;
    }
    return true;
}

static bool find_nodes(struct naive *naive)
{
    if (!select_hosts(naive)) {
        return false;
    }
    for (uint32_t i = 0; i < naive->node_count; i++) {
        struct naive_node *node = &naive->nodes[i];
        node->given = node->slots > 0;
        node->slots = node->given ? node->slots : count_slots(naive, node->topo);
        if (!find_usable(naive, node)) {
            return false;
        }
    }
    return true;
}

/* A program's nodes, and how many of its ranks each may have. */
static bool find_row(struct naive *naive, const struct app_request *program, struct row *row)
{
    const struct run_request *request = naive->request;
    row->count = 0;
    for (uint32_t i = 0; i < naive->node_count; i++) {
        naive->nodes[i].of_program = 0;
        naive->nodes[i].program_limit = program->hosts.count ? 0 : UNLIMITED;
    }
    for (uint32_t i = 0; i < (program->hosts.count ? program->hosts.count : naive->node_count);
         i++) {
        struct naive_node *node = program->hosts.count
                                      ? find_node(naive, program->hosts.nodes[i].name)
                                      : &naive->nodes[i];
        if (!node) {
            return false;
        }
        if (program->hosts.count) {
            uint32_t slots = request->oversubscribe ? 0 : program->hosts.nodes[i].slots;
            node->program_limit = slots ? slots : UNLIMITED;
        }
        if (program->per_node && program->per_node < node->program_limit) {
            node->program_limit = program->per_node;
        }
        if (!(request->placement.no_local && node->local)) {
            row->nodes[row->count++] = (uint32_t) (node - naive->nodes);
        }
    }
    return row->count > 0;
}

static uint32_t limit_of(const struct naive *naive, const struct naive_node *node)
{
    const struct run_request *request = naive->request;
    uint32_t limit = UNLIMITED;
    if (naive->use && naive->use->closed[node - naive->nodes]) {
        return 0;
    }
    if ((node->given && !request->oversubscribe && !naive->use) || request->no_oversubscribe) {
        limit = node->slots;
    }
    return node->slots_max && node->slots_max < limit ? node->slots_max : limit;
}

static bool below_limit(const struct naive *naive, const struct naive_node *node)
{
    return node->placed < limit_of(naive, node) && node->of_program < node->program_limit;
}

/* --- mapping --- */

/* The n lowest free processors for PE=n on an object; 0: there are not that many. */
static uint64_t pick(const struct naive *naive, const struct naive_node *node, uint64_t object)
{
    uint32_t wanted = naive->request->placement.cpus_per_rank, found = 0;
    uint64_t processors[NAIVE_THREADS], picked = 0;
    uint32_t count = naive_objects_of(node, naive_processor_level(naive), processors);
    if (processors_in(naive, node, object) < wanted) {
        object = node->usable;
    }
    for (uint32_t i = 0; i < count && found < wanted; i++) {
        if ((processors[i] & object) && !(processors[i] & node->taken)) {
            picked |= processors[i];
            found++;
        }
    }
    return found == wanted ? picked : 0;
}

/* May a rank go to this object? */
static bool fits(const struct naive *naive, const struct naive_node *node, uint64_t object)
{
    return naive->request->placement.cpus_per_rank == 0 || pick(naive, node, object) != 0;
}

/* The next object in turn that a rank may go to, behind the last one; 0: there is none. Of a job
 * that runs, one of those with the fewest ranks. */
static uint64_t next_in_turn(const struct naive *naive, const struct naive_node *node,
                             unsigned level)
{
    uint64_t objects[NAIVE_THREADS];
    uint32_t count = naive_objects_of(node, level, objects), begin = 0;
    for (uint32_t i = 0; i < count; i++) {
        begin = objects[i] == node->last ? i + 1 : begin;
    }
    uint32_t fewest = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (begin + i) % count;
        if (fits(naive, node, objects[at]) && node->load[at] < fewest) {
            fewest = node->load[at];
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (begin + i) % count;
        if (fits(naive, node, objects[at]) && node->load[at] == fewest) {
            return objects[at];
        }
    }
    return 0;
}

unsigned naive_map_level(const struct placement *placement)
{
    bool object = placement->map_by == MAP_BY_OBJECT || placement->map_by == MAP_BY_PPR;
    return object ? placement->map_level : LEVEL_NODE;
}

static uint64_t find_object(const struct naive *naive, struct naive_node *node)
{
    const struct placement *placement = &naive->request->placement;
    uint64_t object = next_in_turn(naive, node, naive_map_level(placement));
    if (!object && placement->overload) {
        node->taken = 0;
        object = next_in_turn(naive, node, naive_map_level(placement));
    }
    return object;
}

/* Counts one rank on an object of the mapping, where ranks are added by object. */
void naive_load_object(const struct naive *naive, struct naive_node *node, uint64_t object)
{
    uint64_t objects[NAIVE_THREADS];
    uint32_t count = naive_objects_of(node, naive_map_level(&naive->request->placement), objects);
    bool counts = naive->use && naive->request->placement.map_by == MAP_BY_OBJECT;
    for (uint32_t i = 0; i < count && counts; i++) {
        node->load[i] += objects[i] == object;
    }
}

static void put(struct naive *naive, uint32_t program, uint32_t node, uint64_t object)
{
    struct naive_node *at = &naive->nodes[node];
    naive_load_object(naive, at, object);
    uint64_t own = naive->request->placement.cpus_per_rank ? pick(naive, at, object) : 0;
    at->taken |= own;
    at->last = object;
    at->placed++;
    at->of_program++;
    naive->placed[naive->count++] =
        (struct naive_rank){.program = program, .node = node, .object = object, .own = own};
}

static bool has_room(struct naive *naive, uint32_t node, bool leveled, uint32_t round)
{
    struct naive_node *at = &naive->nodes[node];
    uint32_t level = at->given ? at->slots + round - 1 : at->slots * round;
    return below_limit(naive, at) && (!leveled || at->placed < level) && find_object(naive, at);
}

/* How many of the wanted ranks found no place; in rounds, or with no -n in the first alone. */
static uint32_t place(struct naive *naive, uint32_t program, const struct row *row, uint32_t wanted)
{
    const struct placement *placement = &naive->request->placement;
    const struct app_request *app = &naive->request->apps[program];
    bool turns = placement->map_by == MAP_BY_NODE || placement->span, leveled = !app->per_node;
    bool once = !app->count && !app->per_node;
    for (uint32_t round = 1; wanted > 0 && (round == 1 || !once) && round < UNLIMITED; round++) {
        bool more = false;
        do {
            more = false;
            for (uint32_t i = 0; i < row->count; i++) {
                uint32_t node = row->nodes[i];
                while (wanted > 0 && has_room(naive, node, leveled, round)) {
                    put(naive, program, node, find_object(naive, &naive->nodes[node]));
                    wanted--;
                    more = turns;
                    if (turns) {
                        break;
                    }
                }
            }
        } while (more);
        bool ever = false;
        for (uint32_t i = 0; i < row->count; i++) {
            ever |= has_room(naive, row->nodes[i], false, round);
        }
        if (!ever) {
            break;
        }
    }
    return wanted;
}

static uint32_t place_ppr(struct naive *naive, uint32_t program, const struct row *row,
                          uint32_t wanted)
{
    const struct placement *placement = &naive->request->placement;
    for (uint32_t i = 0; i < row->count; i++) {
        struct naive_node *node = &naive->nodes[row->nodes[i]];
        uint64_t objects[NAIVE_THREADS];
        uint32_t count = naive_objects_of(node, placement->map_level, objects);
        for (uint32_t object = 0; object < count; object++) {
            for (uint32_t n = 0; n < placement->per_object && wanted > 0; n++) {
                if (below_limit(naive, node) && !fits(naive, node, objects[object]) &&
                    placement->overload) {
                    node->taken = 0;
                }
                if (below_limit(naive, node) && fits(naive, node, objects[object])) {
                    put(naive, program, row->nodes[i], objects[object]);
                    wanted--;
                }
            }
        }
    }
    return wanted;
}

/* --- seq and rankfiles --- */

static bool put_named(struct naive *naive, uint32_t program, const char *host, uint64_t own)
{
    struct naive_node *node = find_node(naive, host);
    if (!node || node->program_limit == 0 || (naive->request->placement.no_local && node->local) ||
        !below_limit(naive, node)) {
        return false;
    }
    put(naive, program, (uint32_t) (node - naive->nodes), node->usable);
    naive->placed[naive->count - 1].own = own;
    return true;
}

static bool place_sequence(struct naive *naive, uint32_t program)
{
    char **hosts = naive->request->placement.sequence;
    uint32_t lines = 0, first = naive->count, count = naive->request->apps[program].count;
    while (hosts[lines]) {
        lines++;
    }
    uint32_t end = count ? first + count : lines;
    bool right = first < lines && end <= lines;
    for (uint32_t i = first; right && i < end; i++) {
        right = put_named(naive, program, hosts[i], 0);
    }
    return right;
}

/* The processors of "S:LIST", "S:*" or "LIST", of which each must be usable; 0: they are not. */
static uint64_t read_slot(const struct naive *naive, const struct naive_node *node,
                          const char *slot)
{
    const char *colon = strchr(slot, ':'), *list = colon ? colon + 1 : slot;
    bool packages[NAIVE_THREADS] = {false}, wanted[NAIVE_THREADS] = {false};
    uint64_t found = 0;
    if (colon && !read_list(slot, (size_t) (colon - slot), packages, NAIVE_THREADS)) {
        return 0;
    }
    if (*list != '*' && !read_list(list, strlen(list), wanted, NAIVE_THREADS)) {
        return 0;
    }
    for (uint32_t package = 0; package < NAIVE_THREADS; package++) {
        uint64_t inside = colon ? threads_of(node->topo, TOPO_PACKAGE, package) : ~0ull;
        uint32_t at = 0, most = 0;
        uint64_t here = 0;
        if (colon ? !packages[package] : package > 0) {
            continue;
        }
        for (uint32_t number = 0; number < NAIVE_THREADS; number++) {
            uint64_t processor =
                threads_of(node->topo, naive_processor_level(naive), number) & inside;
            if (!processor) {
                continue;
            }
            bool meant = *list == '*' || wanted[at];
            if (meant && *list != '*' && !(processor & node->usable)) {
                return 0;
            }
            here |= meant ? processor & node->usable : 0;
            most = ++at;
        }
        for (uint32_t number = most; *list != '*' && number < NAIVE_THREADS; number++) {
            if (wanted[number]) {
                return 0;
            }
        }
        if (!here) {
            return 0;
        }
        found |= here;
    }
    return found;
}

static bool place_rankfile(struct naive *naive, uint32_t program)
{
    const struct placement *placement = &naive->request->placement;
    uint32_t first = naive->count, count = naive->request->apps[program].count;
    uint32_t end = count ? first + count : placement->rank_count;
    if (first >= placement->rank_count || end > placement->rank_count) {
        return false;
    }
    for (uint32_t i = first; i < end; i++) {
        const struct rank_place *line = &placement->ranks[i];
        struct naive_node *node = find_node(naive, line->host);
        uint64_t own = node && line->cpus ? read_slot(naive, node, line->cpus) : 0;
        if ((line->cpus && !own) || !put_named(naive, program, line->host, own)) {
            return false;
        }
    }
    return true;
}

/* --- how many --- */

static bool shares_nodes(const struct app_request *program, const struct app_request *later)
{
    bool shares = program->hosts.count == 0 || later->hosts.count == 0;
    for (size_t i = 0; i < later->hosts.count; i++) {
        struct naive_node host = {.name = later->hosts.nodes[i].name};
        shares |= asked_of(program, &host) > 0;
    }
    return shares;
}

static uint32_t count_wanted(const struct naive *naive, uint32_t program, const struct row *row)
{
    const struct run_request *request = naive->request;
    const struct app_request *app = &request->apps[program];
    uint32_t sum = 0, later = 0;
    for (uint32_t i = 0; i < row->count; i++) {
        const struct naive_node *node = &naive->nodes[row->nodes[i]];
        uint64_t objects[NAIVE_THREADS];
        uint32_t limit = limit_of(naive, node), level = node->slots < limit ? node->slots : limit;
        uint32_t here = level > node->placed ? level - node->placed : 0;
        if (request->placement.map_by == MAP_BY_PPR) {
            here = request->placement.per_object *
                   naive_objects_of(node, request->placement.map_level, objects);
            here = app->per_node && app->per_node < here ? app->per_node : here;
        } else if (app->per_node) {
            here = app->per_node;
        } else if (node->program_limit < here) {
            here = node->program_limit;
        }
        sum += here;
    }
    if (app->per_node || request->placement.map_by == MAP_BY_PPR) {
        return sum;
    }
    for (size_t i = program + 1; i < request->app_count; i++) {
        later += shares_nodes(app, &request->apps[i]) ? request->apps[i].count : 0;
    }
    return sum > later ? sum - later : 0;
}

/* Nodes that have no such objects. */
static void leave_out(const struct naive *naive, struct row *row)
{
    uint64_t objects[NAIVE_THREADS];
    unsigned level = naive_map_level(&naive->request->placement);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < row->count; i++) {
        if (naive_objects_of(&naive->nodes[row->nodes[i]], level, objects) > 0) {
            row->nodes[kept++] = row->nodes[i];
        }
    }
    row->count = kept;
}

bool naive_map_program(struct naive *naive, uint32_t program)
{
    const struct placement *placement = &naive->request->placement;
    const struct app_request *app = &naive->request->apps[program];
    struct row row;
    if (!find_row(naive, app, &row)) {
        return false;
    }
    if (placement->map_by == MAP_BY_SEQ) {
        return place_sequence(naive, program);
    }
    if (placement->map_by == MAP_BY_RANKFILE) {
        return place_rankfile(naive, program);
    }
    uint32_t before = row.count;
    leave_out(naive, &row);
    if (row.count == 0 || (row.count < before && !naive->use)) {
        return false;
    }
    uint32_t wanted = app->count ? app->count : count_wanted(naive, program, &row);
    if (wanted == 0 || wanted + naive->count > NAIVE_RANKS) {
        return false;
    }
    if (placement->map_by == MAP_BY_PPR) {
        before = wanted + 1;
        while (wanted > 0 && wanted < before) {
            before = wanted;
            wanted = place_ppr(naive, program, &row, wanted);
            before = naive->use && naive->use->again ? before : wanted;
        }
        return wanted == 0;
    }
    uint32_t left = place(naive, program, &row, wanted);
    bool exact = app->count || app->per_node;
    return exact ? left == 0 : left < wanted;
}

/* --- ranking --- */

/* The next rank without a number of a program on a node, in an object, gets the next one. */
static bool number_one(struct naive *naive, uint32_t program, uint32_t node, uint64_t object)
{
    for (uint32_t i = 0; i < naive->count; i++) {
        struct naive_rank *rank = &naive->placed[i];
        if (!rank->numbered && rank->program == program && rank->node == node &&
            (rank->object & ~object) == 0) {
            rank->numbered = true;
            naive->ranks[naive->numbered++] = *rank;
            return true;
        }
    }
    return false;
}

/* One of each object in turn; all: each object's ranks before the next object. */
static bool number_turn(struct naive *naive, uint32_t program, uint32_t node, unsigned level,
                        bool all)
{
    uint64_t objects[NAIVE_THREADS];
    uint32_t count = naive_objects_of(&naive->nodes[node], level, objects);
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        while (number_one(naive, program, node, objects[i])) {
            any = true;
            if (!all) {
                break;
            }
        }
    }
    return any;
}

static void number_program(struct naive *naive, uint32_t program, enum rank_by by, unsigned level,
                           const struct row *row)
{
    bool again = true;
    if (by == RANK_BY_NODE || by == RANK_BY_SPAN) {
        while (again) {
            again = false;
            for (uint32_t i = 0; i < row->count; i++) {
                again |= number_turn(naive, program, row->nodes[i], level, false);
            }
        }
        return;
    }
    for (uint32_t i = 0; i < row->count; i++) {
        while (number_turn(naive, program, row->nodes[i], level, by != RANK_BY_OBJECT)) {
        }
    }
}

bool naive_number(struct naive *naive)
{
    const struct placement *placement = &naive->request->placement;
    enum rank_by by = placement->rank_by;
    unsigned level = placement->rank_level;
    if (placement->map_by == MAP_BY_SEQ || placement->map_by == MAP_BY_RANKFILE) {
        memcpy(naive->ranks, naive->placed, sizeof(naive->ranks));
        naive->numbered = naive->count;
        return true;
    }
    if (by == RANK_BY_DEFAULT) {
        by = placement->map_by == MAP_BY_NODE ? RANK_BY_NODE
             : placement->span                ? RANK_BY_SPAN
                                              : RANK_BY_SLOT;
        level = LEVEL_NODE;
    }
    if (by == RANK_BY_SLOT || by == RANK_BY_NODE) {
        level = LEVEL_NODE;
    } else if (by != RANK_BY_OBJECT && level == LEVEL_NODE) {
        level = naive_map_level(placement);
    }
    for (uint32_t i = 0; i < naive->count; i++) {
        const struct naive_rank *rank = &naive->placed[i];
        if (!container(&naive->nodes[rank->node], level, rank->object)) {
            return false;
        }
    }
    for (uint32_t program = 0; program < naive->request->app_count; program++) {
        struct row row;
        (void) find_row(naive, &naive->request->apps[program], &row);
        number_program(naive, program, by, level, &row);
    }
    return true;
}

/* --- binding --- */

/* The object of a level that has the first of these threads; 0: none of them is usable. */
uint64_t naive_first_object(const struct naive_node *node, unsigned level, uint64_t threads)
{
    uint64_t objects[NAIVE_THREADS], found = 0;
    uint32_t count = naive_objects_of(node, level, objects);
    for (uint32_t thread = 0; thread < NAIVE_THREADS && !found; thread++) {
        for (uint32_t i = 0; i < count && (threads & 1ull << thread); i++) {
            found |= objects[i] & 1ull << thread ? objects[i] : 0;
        }
    }
    return found;
}

bool naive_lives(const struct naive *naive, uint32_t rank)
{
    return !naive->use || rank >= naive->first || !naive->use->ended[rank];
}

/* Living ranks that are bound to an object, or to something of which the first is in it. */
static uint32_t bound_to(const struct naive *naive, uint32_t node, unsigned level, uint64_t object)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < naive->numbered; i++) {
        const struct naive_rank *rank = &naive->ranks[i];
        count += rank->node == node && rank->bound && naive_lives(naive, i) &&
                 naive_first_object(&naive->nodes[node], level, rank->bound) == object;
    }
    return count;
}

bool naive_bind_one(struct naive *naive, struct naive_rank *rank, unsigned level)
{
    const struct placement *placement = &naive->request->placement;
    const struct naive_node *node = &naive->nodes[rank->node];
    uint64_t objects[NAIVE_THREADS], best = container(node, level, rank->object);
    uint32_t count = naive_objects_of(node, level, objects);
    if (count == 0) {
        return placement->if_supported;
    }
    for (uint32_t i = 0; i < count && !container(node, level, rank->object); i++) {
        if ((objects[i] & rank->object) &&
            (!best || bound_to(naive, rank->node, level, objects[i]) <
                          bound_to(naive, rank->node, level, best))) {
            best = objects[i];
        }
    }
    if (!best) {
        return false;
    }
    uint32_t processors = processors_in(naive, node, best);
    if (naive->use && !placement->overload &&
        bound_to(naive, rank->node, level, best) >= processors) {
        naive->unbound++;
        return true;
    }
    rank->bound = best;
    return placement->overload || bound_to(naive, rank->node, level, best) <= processors;
}

/* More ranks than counted slots, and nobody has allowed it. */
static bool is_dropped(const struct naive *naive)
{
    bool more = false;
    for (uint32_t i = 0; i < naive->node_count; i++) {
        more |= !naive->nodes[i].given && naive->nodes[i].placed > naive->nodes[i].slots;
    }
    return more && !naive->request->oversubscribe && !naive->request->placement.overload;
}

static bool bind_all(struct naive *naive)
{
    const struct placement *placement = &naive->request->placement;
    bool own = placement->cpus_per_rank || placement->map_by == MAP_BY_RANKFILE, any = false;
    for (uint32_t i = 0; i < naive->count; i++) {
        any |= naive->ranks[i].own != 0;
    }
    any &= own && placement->map_by == MAP_BY_RANKFILE ? true : placement->bind;
    if (!own && !placement->bind_given && !placement->bind) {
        for (uint32_t i = 0; placement->cpu_set && i < naive->count; i++) {
            naive->ranks[i].bound = naive->nodes[naive->ranks[i].node].usable;
        }
        return true;
    }
    bool binds = own ? any : placement->bind;
    naive->dropped = binds && is_dropped(naive);
    for (uint32_t i = 0; binds && !naive->dropped && i < naive->count; i++) {
        naive->ranks[i].bound = own ? naive->ranks[i].own : 0;
        if (!own && !naive_bind_one(naive, &naive->ranks[i], placement->bind_level)) {
            return false;
        }
    }
    return true;
}

bool naive_map(struct naive *naive)
{
    bool right = find_nodes(naive);
    for (uint32_t program = 0; right && program < naive->request->app_count; program++) {
        right = naive_map_program(naive, program);
    }
    return right && naive_number(naive) && bind_all(naive);
}
