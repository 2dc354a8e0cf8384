/* The nodes that there are: one chain from the resource manager's over the hostfile's to --host's.
 */
#include <config.h>

#include <launcher/map/plan.h>

#include <base/data/list.h>
#include <base/data/strings.h>
#include <base/host/hostname.h>
#include <base/host/topo.h>
#include <base/text/number.h>
#include <base/text/reason.h>
#include <ctype.h>
#include <launcher/request/suggest.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int make_room(struct job_plan *plan, size_t count)
{
    char here[256];
    host_name(here, sizeof(here));
    plan->here = strdup(here);
    plan->nodes = calloc(count, sizeof(*plan->nodes));
    return plan->here && plan->nodes ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

/* Equal for names of one host: what stands before the first dot, of what is no number. */
static uint32_t hash_of_host(const char *name)
{
    char label[256];
    size_t size = isdigit((unsigned char) name[0]) ? strlen(name) : strcspn(name, ".");
    size = size < sizeof(label) ? size : sizeof(label) - 1;
    for (size_t i = 0; i < size; i++) {
        label[i] = (char) tolower((unsigned char) name[i]);
    }
    label[size] = '\0';
    return hash_of_string(label);
}

static struct map_node *find_number(const struct job_plan *plan, uint32_t number)
{
    struct hash_link *link = hash_first(&plan->by_number, hash_of_number(number));
    for (; link; link = hash_next(link)) {
        struct map_node *node = container_of(link, struct map_node, number_link);
        if (node->number == number) {
            return node;
        }
    }
    return NULL;
}

static struct map_node *find_node(const struct job_plan *plan, const char *name)
{
    struct map_node *found = plan->local && host_is_local(name, plan->here) ? plan->local : NULL;
    struct hash_link *link = found ? NULL : hash_first(&plan->by_name, hash_of_host(name));
    for (; link && !found; link = hash_next(link)) {
        struct map_node *node = container_of(link, struct map_node, link);
        found = host_same(node->name, name) ? node : NULL;
    }
    return found;
}

/* Takes the name; NULL stands for one that there was no memory for. There is room for the node. */
static struct map_node *add_node(struct job_plan *plan, char *name, bool local)
{
    struct map_node *node = &plan->nodes[plan->node_count];
    if (!name || !hash_add(&plan->by_name, &node->link, hash_of_host(name))) {
        free(name);
        return NULL;
    }
    plan->node_count++;
    node->name = name;
    node->local = local;
    plan->local = local ? node : plan->local;
    return node;
}

/* The first that somebody names counts. */
static bool name_user(struct map_node *node, const char *user)
{
    if (user && !node->user) {
        node->user = strdup(user);
    }
    return node->user || !user;
}

static void free_nodes(struct job_plan *plan)
{
    for (uint32_t i = 0; i < plan->node_count + plan->idle_count; i++) {
        free(plan->nodes[i].name);
        free(plan->nodes[i].user);
    }
    free(plan->nodes);
    free(plan->here);
    hash_fini(&plan->by_name);
    hash_fini(&plan->by_number);
    plan->nodes = NULL;
    plan->here = NULL;
    plan->local = NULL;
    plan->node_count = plan->idle_count = 0;
}

void job_plan_fini(struct job_plan *plan)
{
    free_nodes(plan);
    free(plan->node_of);
    free(plan->app_of);
    free(plan->local_rank_of);
    strings_free(plan->cpus);
    free(plan->note);
    *plan = (struct job_plan){0};
}

static int index_numbers(struct job_plan *plan)
{
    bool done = true;
    hash_fini(&plan->by_number);
    for (uint32_t i = 0; i < plan->node_count + plan->idle_count && done; i++) {
        struct map_node *node = &plan->nodes[i];
        done = hash_add(&plan->by_number, &node->number_link, hash_of_number(node->number));
    }
    return done ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

int job_plan_index(struct job_plan *plan)
{
    bool done = true;
    hash_fini(&plan->by_name);
    plan->local = NULL;
    for (uint32_t i = 0; i < plan->node_count + plan->idle_count && done; i++) {
        struct map_node *node = &plan->nodes[i];
        done = hash_add(&plan->by_name, &node->link, hash_of_host(node->name));
        plan->local = node->local ? node : plan->local;
    }
    return done ? index_numbers(plan) : ORTE_ERR_OUT_OF_RESOURCE;
}

/* Room for more nodes; those that there are move. */
static int grow_room(struct job_plan *plan, size_t more)
{
    size_t count = plan->node_count + more;
    struct map_node *nodes = calloc(count, sizeof(*nodes));
    if (!nodes) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    memcpy(nodes, plan->nodes, plan->node_count * sizeof(*nodes));
    free(plan->nodes);
    plan->nodes = nodes;
    return job_plan_index(plan);
}

/* Slots of those that are there count anew, and so does a user that is named for them. */
static void renew(const struct job_plan *plan, const struct node_list *hosts)
{
    for (size_t i = 0; i < hosts->count; i++) {
        struct map_node *node = find_node(plan, hosts->nodes[i].name);
        if (node) {
            node->slots = 0;
        }
        if (node && hosts->nodes[i].user) {
            free(node->user);
            node->user = NULL;
        }
    }
}

int job_plan_add_nodes(struct job_plan *plan, const struct node_list *hosts, uint32_t *places)
{
    uint32_t before = plan->node_count;
    int status = grow_room(plan, hosts->count);
    if (status == ORTE_SUCCESS) {
        renew(plan, hosts);
    }
    for (size_t i = 0; i < hosts->count && status == ORTE_SUCCESS; i++) {
        const struct node_request *host = &hosts->nodes[i];
        struct map_node *node = find_node(plan, host->name);
        if (!node) {
            node = add_node(plan, strdup(host->name), host_is_local(host->name, plan->here));
        }
        status = node && name_user(node, host->user) ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
        if (status == ORTE_SUCCESS) {
            node->number = (uint32_t) (node - plan->nodes);
            node->slots += host->slots ? host->slots : 1;
            places[i] = node->number;
        }
    }
    while (status != ORTE_SUCCESS && plan->node_count > before) {
        struct map_node *node = &plan->nodes[--plan->node_count];
        free(node->name);
        free(node->user);
        *node = (struct map_node){0};
    }
    int indexed = job_plan_index(plan);
    return status == ORTE_SUCCESS ? indexed : status;
}

static int make_simulated(struct job_plan *plan, const struct run_request *request)
{
    if (make_room(plan, request->simulate_nodes) != ORTE_SUCCESS) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t i = 0; i < request->simulate_nodes; i++) {
        char name[32];
        snprintf(name, sizeof(name), "node%u", i);
        struct map_node *node = add_node(plan, strdup(name), false);
        if (!node) {
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
        node->slots = request->simulate_slots;
        node->slots_explicit = true;
    }
    return ORTE_SUCCESS;
}

struct map_node *job_plan_find(const struct job_plan *plan, const char *name)
{
    uint32_t number;
    if (name[0] != '+') {
        return find_node(plan, name);
    }
    const char *end = strncasecmp(name, "+n", 2) == 0
                          ? number_read(name + 2, SIZE_MAX, NODES_MAX, &number)
                          : NULL;
    return end && !*end ? find_number(plan, number) : NULL;
}

/* This machine's slots, where nobody gives them. */
static uint32_t count_own(const struct run_request *request)
{
    return request->placement.hwthreads ? topo_usable_cpus() : topo_usable_cores();
}

/* A host that is named again, by another name, adds slots to its node. unknown: those of another
 * host, where they are not given: 0 (its topology tells), or 1. */
static int make_hosts(struct job_plan *plan, const struct node_list *hosts,
                      const struct run_request *request, uint32_t unknown)
{
    int status = make_room(plan, hosts->count);
    for (size_t i = 0; status == ORTE_SUCCESS && i < hosts->count; i++) {
        const struct node_request *host = &hosts->nodes[i];
        struct map_node *node = find_node(plan, host->name);
        if (!node) {
            node = add_node(plan, strdup(host->name), host_is_local(host->name, plan->here));
            if (!node) {
                return ORTE_ERR_OUT_OF_RESOURCE;
            }
            node->slots = node->local && host->slots == 0 ? count_own(request) : 0;
            node->slots_max = host->slots_max;
        } else { /* as of one name that comes again: a limit needs both */
            node->slots_max =
                node->slots_max && host->slots_max ? node->slots_max + host->slots_max : 0;
        }
        node->slots_explicit |= host->slots > 0;
        node->slots += host->slots > 0 ? host->slots : node->local ? 0 : unknown;
        if (!name_user(node, host->user)) {
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
    }
    return status;
}

/* Which of the allocation's nodes this machine is; its count: none of them. */
static size_t local_of(const struct allocation *allocation, const char *here)
{
    for (size_t i = 0; i < allocation->count; i++) {
        if (host_is_local(allocation->nodes[i].name, here)) {
            return i;
        }
    }
    for (size_t i = 0; allocation->here && i < allocation->count; i++) {
        if (strcasecmp(allocation->nodes[i].name, allocation->here) == 0) {
            return i;
        }
    }
    return allocation->count;
}

static int make_allocated(struct job_plan *plan, const struct allocation *allocation)
{
    int status = make_room(plan, allocation->count);
    size_t local = status == ORTE_SUCCESS ? local_of(allocation, plan->here) : 0;
    for (size_t i = 0; status == ORTE_SUCCESS && i < allocation->count; i++) {
        const struct node_request *given = &allocation->nodes[i];
        struct map_node *node = add_node(plan, strdup(given->name), i == local);
        if (!node) {
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
        node->slots = given->slots;
        node->slots_explicit = true;
    }
    return status;
}

/* Where nodes come from, for messages. */
struct origin {
    const struct allocation *allocation; /* NULL: the hostfile's */
    const char *hostfile;
};

static bool is_dvm(const struct origin *origin)
{
    return origin->allocation && strcmp(origin->allocation->manager, ALLOCATION_DVM) == 0;
}

/* "the hostfile my-hosts", "Slurm's job 17" */
static void print_origin(const struct origin *origin, char *text, size_t size)
{
    if (is_dvm(origin)) {
        snprintf(text, size, "the DVM of %s", origin->allocation->job);
    } else if (origin->allocation) {
        snprintf(text, size, "%s's job %s", origin->allocation->manager, origin->allocation->job);
    } else {
        snprintf(text, size, "the hostfile %s", origin->hostfile);
    }
}

void job_plan_suggest(const struct job_plan *from, const char *name, char *text, size_t size)
{
    const char *nearest = NULL;
    size_t least = strlen(name);
    bool numbered = isdigit((unsigned char) name[least - 1]);
    for (uint32_t i = 0; i < from->node_count && !numbered; i++) {
        size_t distance = suggest_distance(name, strlen(name), from->nodes[i].name);
        if (distance < least) {
            least = distance;
            nearest = from->nodes[i].name;
        }
    }
    if (name[0] == '+') {
        snprintf(text, size, ", which has %u nodes, +n0 to +n%u", from->node_count,
                 from->node_count - 1);
    } else {
        snprintf(text, size, "%s%s", nearest ? "; the nearest is " : "", nearest ? nearest : "");
    }
}

static int is_elsewhere(const struct job_plan *from, const char *name, const struct origin *origin,
                        char *reason, size_t reason_size)
{
    char meant[320], owner[PATH_MAX + 32];
    bool allocated = origin->allocation && !is_dvm(origin);
    bool slurm = allocated && allocation_is_slurm(origin->allocation);
    job_plan_suggest(from, name, meant, sizeof(meant));
    print_origin(origin, owner, sizeof(owner));
    return reason_set(ORTE_ERR_NOT_FOUND, reason, reason_size, "host %s is not in %s%s%s%s", name,
                      allocated ? "the allocation of " : "", owner, meant,
                      slurm ? "; with --mca plm rsh hosts need not be" : "");
}

static int has_too_few(const struct map_node *given, const char *name, uint32_t slots,
                       const struct origin *origin, char *reason, size_t reason_size)
{
    char owner[PATH_MAX + 32];
    print_origin(origin, owner, sizeof(owner));
    return reason_set(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size,
                      "host %s: %u slots are more than the %u that %s has there; --oversubscribe "
                      "allows it",
                      name, slots, given->slots, owner);
}

/* One host that was named, among the nodes that there are: all its slots, or as many as were asked
 * for. */
static int choose(struct job_plan *chosen, struct job_plan *from, const struct node_request *host,
                  const struct origin *origin, bool oversubscribe, char *reason, size_t reason_size)
{
    const struct map_node *given = job_plan_find(from, host->name);
    if (!given) {
        return is_elsewhere(from, host->name, origin, reason, reason_size);
    }
    struct map_node *node = find_node(chosen, given->name);
    if (node) { /* by another of its names */
        node->slots += host->slots ? host->slots : 1;
    } else {
        node = add_node(chosen, strdup(given->name), given->local);
        if (!node) {
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
        node->number = given->number;
        node->slots = host->slots ? host->slots : given->slots;
        node->slots_max = given->slots_max;
        node->slots_explicit = given->slots_explicit || host->slots > 0;
    }
    if (!name_user(node, host->user) || !name_user(node, given->user)) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (given->slots_max && node->slots > given->slots_max) {
        return reason_set(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size,
                          "host %s: %u slots are more than its max_slots, %u", host->name,
                          node->slots, given->slots_max);
    }
    if (given->slots_explicit && node->slots > given->slots && !oversubscribe) {
        return has_too_few(given, host->name, node->slots, origin, reason, reason_size);
    }
    return ORTE_SUCCESS;
}

/* "+n1", "+e" */
static const char *find_relative(const struct node_list *hosts, const char *prefix)
{
    for (size_t i = 0; i < hosts->count; i++) {
        if (strncasecmp(hosts->nodes[i].name, prefix, strlen(prefix)) == 0) {
            return hosts->nodes[i].name;
        }
    }
    return NULL;
}

/* Hosts that were named: among the nodes that there are, in the user's order. */
static int choose_all(struct job_plan *chosen, struct job_plan *from, const struct node_list *hosts,
                      const struct origin *origin, bool oversubscribe, char *reason,
                      size_t reason_size)
{
    int status = make_room(chosen, hosts->count);
    for (size_t i = 0; status == ORTE_SUCCESS && i < hosts->count; i++) {
        status = choose(chosen, from, &hosts->nodes[i], origin, oversubscribe, reason, reason_size);
    }
    return status;
}

/* The hostfile's, of those of the resource manager. */
static int narrow(struct job_plan *plan, const struct node_list *hosts, const struct origin *origin,
                  bool oversubscribe, char *reason, size_t reason_size)
{
    struct job_plan chosen = {0};
    int status = choose_all(&chosen, plan, hosts, origin, oversubscribe, reason, reason_size);
    free_nodes(plan);
    *plan = chosen;
    return status;
}

/* Slots that several programs ask for add up, to no more than there are. given: the node among
 * those that there are; NULL: nobody else gives slots. */
static void add_slots(struct map_node *node, const struct map_node *more,
                      const struct map_node *given)
{
    uint32_t larger = node->slots > more->slots ? node->slots : more->slots;
    bool capped = given && given->slots_explicit;
    bool both = node->slots_explicit && more->slots_explicit;
    if (node->slots == 0 || more->slots == 0) {
        node->slots = 0; /* its topology tells */
    } else if (!both && (given || node->local)) {
        node->slots = larger;
    } else {
        uint32_t most = !capped ? UINT32_MAX : given->slots > larger ? given->slots : larger;
        node->slots = more->slots < most - node->slots ? node->slots + more->slots : most;
    }
    node->slots_explicit = both;
}

/* The nodes of one program join those of the programs before it. There is room for them. */
static int join(struct job_plan *plan, const struct job_plan *program, const struct job_plan *from)
{
    for (uint32_t i = 0; i < program->node_count; i++) {
        const struct map_node *more = &program->nodes[i];
        struct map_node *node = find_node(plan, more->name);
        if (node) {
            add_slots(node, more, find_node(from, more->name));
            continue;
        }
        node = add_node(plan, strdup(more->name), more->local);
        if (!node || !name_user(node, more->user)) {
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
        node->number = more->number;
        node->slots = more->slots;
        node->slots_max = more->slots_max;
        node->slots_explicit = more->slots_explicit;
    }
    return ORTE_SUCCESS;
}

/* Those of --host, program by program. A program without --host has all nodes that there are, as
 * has one with "+e", which means what earlier programs have left. */
static int choose_hosts(struct job_plan *plan, const struct run_request *request,
                        const struct origin *origin, char *reason, size_t reason_size)
{
    struct job_plan chosen = {0};
    bool all = false;
    int status = make_room(&chosen, request->hosts.count);
    for (size_t i = 0; status == ORTE_SUCCESS && i < request->app_count; i++) {
        const struct node_list *hosts = &request->apps[i].hosts;
        struct job_plan program = {0};
        bool named = hosts->count > 0 && !find_relative(hosts, "+e");
        all |= !named;
        if (named) {
            status = plan->node_count ? choose_all(&program, plan, hosts, origin,
                                                   request->oversubscribe, reason, reason_size)
                                      : make_hosts(&program, hosts, request, 1);
            status = status == ORTE_SUCCESS ? join(&chosen, &program, plan) : status;
        }
        job_plan_fini(&program);
    }
    if (status != ORTE_SUCCESS || (all && plan->node_count)) {
        job_plan_fini(&chosen);
        return status;
    }
    free_nodes(plan);
    *plan = chosen;
    return ORTE_SUCCESS;
}

static int make_this_node(struct job_plan *plan, const struct run_request *request)
{
    struct map_node *node =
        make_room(plan, 1) == ORTE_SUCCESS ? add_node(plan, strdup(plan->here), true) : NULL;
    if (!node) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    node->slots = count_own(request);
    return ORTE_SUCCESS;
}

/* Those of the resource manager and of the hostfile. */
static int make_base(struct job_plan *plan, const struct run_request *request,
                     const struct allocation *allocation, struct origin *origin, char *reason,
                     size_t reason_size)
{
    int status = ORTE_SUCCESS;
    if (allocation->count) {
        origin->allocation = allocation;
        status = make_allocated(plan, allocation);
    }
    if (status != ORTE_SUCCESS || request->hostfile.count == 0) {
        return status;
    }
    status = plan->node_count ? narrow(plan, &request->hostfile, origin, request->oversubscribe,
                                       reason, reason_size)
                              : make_hosts(plan, &request->hostfile, request, 0);
    *origin = (struct origin){.hostfile = request->hostfile_name};
    return status;
}

static int make_nodes(struct job_plan *plan, const struct run_request *request,
                      const struct allocation *allocation, char *reason, size_t reason_size)
{
    struct origin origin = {0};
    const char *relative = find_relative(&request->hosts, "+");
    int status = request->simulate_nodes
                     ? make_simulated(plan, request)
                     : make_base(plan, request, allocation, &origin, reason, reason_size);
    for (uint32_t i = 0; i < plan->node_count; i++) {
        plan->nodes[i].number = i;
    }
    status = status == ORTE_SUCCESS ? index_numbers(plan) : status;
    if (status != ORTE_SUCCESS || request->simulate_nodes) {
        return status;
    }
    if (plan->node_count == 0 && relative) {
        return reason_set(
            ORTE_ERR_NOT_FOUND, reason, reason_size,
            "host %s counts the nodes of an allocation or a hostfile, and there is none", relative);
    }
    if (request->hosts.count) {
        status = choose_hosts(plan, request, &origin, reason, reason_size);
    } else if (plan->node_count == 0) {
        status = make_this_node(plan, request);
    }
    return status == ORTE_SUCCESS ? index_numbers(plan) : status;
}

int job_plan_nodes(struct job_plan *out, const struct run_request *request,
                   const struct allocation *allocation, char *reason, size_t reason_size)
{
    struct job_plan plan = {0};
    snprintf(reason, reason_size, "out of memory");
    int status = make_nodes(&plan, request, allocation, reason, reason_size);
    if (status != ORTE_SUCCESS) {
        job_plan_fini(&plan);
        return status;
    }
    *out = plan;
    return ORTE_SUCCESS;
}
