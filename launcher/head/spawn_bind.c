#include <config.h>

#include <launcher/head/spawn_bind.h>

#include <launcher/map/view.h>
#include <stdlib.h>
#include <string.h>

/* Processors that ranks are bound to. */
struct object {
    char *cpus; /* owned */
    uint32_t ranks, most;
};

struct node_objects {
    struct object *objects; /* owned */
    uint32_t count;
    bool read;
};

struct spawn_binding {
    const struct hnp *hnp;      /* borrowed */
    struct node_objects *nodes; /* owned, by node; each is read when it gets its first rank */
    uint32_t unbound;
};

/* Takes the text; NULL stands for one that there was no memory for. There is room. */
static bool add_object(struct node_objects *node, char *cpus, uint32_t most)
{
    if (cpus) {
        node->objects[node->count++] = (struct object){.cpus = cpus, .most = most};
    }
    return cpus;
}

static struct object *find_object(struct node_objects *node, const char *cpus)
{
    for (uint32_t i = 0; i < node->count; i++) {
        if (strcmp(node->objects[i].cpus, cpus) == 0) {
            return &node->objects[i];
        }
    }
    return NULL;
}

/* Those of a level of the node's topology. */
static int read_level(struct node_objects *node, const struct placement *placement,
                      const struct topo *topo, unsigned level)
{
    char why[256];
    struct view view;
    int status = view_make(&view, topo, placement->cpu_set, placement->hwthreads, why, sizeof(why));
    if (status != ORTE_SUCCESS) {
        return status;
    }
    const struct view_level *objects = &view.levels[level];
    bool *chosen = calloc((size_t) objects->count + 1, sizeof(*chosen));
    node->objects = calloc((size_t) objects->count + 1, sizeof(*node->objects));
    bool made = chosen && node->objects;
    for (uint32_t i = 0; i < objects->count && made; i++) {
        bool limited = level != LEVEL_NODE && !placement->overload;
        chosen[i] = true;
        made = add_object(node, view_cpus(&view, level, chosen),
                          limited ? objects->size[i] : UINT32_MAX);
        chosen[i] = false;
    }
    free(chosen);
    view_fini(&view);
    return made ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

/* What the job's ranks of this node are bound to. */
static int read_ranks(struct node_objects *node, const struct job_plan *plan, uint32_t number)
{
    node->objects = calloc((size_t) plan->rank_count + 1, sizeof(*node->objects));
    bool made = node->objects;
    for (uint32_t rank = 0; rank < plan->rank_count && made; rank++) {
        if (plan->node_of[rank] == number && !find_object(node, plan->cpus[rank])) {
            made = add_object(node, strdup(plan->cpus[rank]), UINT32_MAX);
        }
    }
    return made ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

static int read_node(struct spawn_binding *binding, uint32_t number)
{
    const struct hnp *hnp = binding->hnp;
    const struct topo *topo = hnp->plan.nodes[number].topo;
    struct node_objects *node = &binding->nodes[number];
    unsigned level = job_plan_bind_level(&hnp->request.placement);
    int status = topo && level <= LEVEL_NODE
                     ? read_level(node, &hnp->request.placement, topo, level)
                     : read_ranks(node, &hnp->plan, number);
    for (uint32_t rank = 0; rank < hnp->plan.rank_count && status == ORTE_SUCCESS; rank++) {
        bool here = hnp->plan.node_of[rank] == number && !hnp->ended[rank];
        struct object *object = here ? find_object(node, hnp->plan.cpus[rank]) : NULL;
        if (object) {
            object->ranks++;
        }
    }
    node->read = true;
    return status;
}

char *spawn_binding_choose(struct spawn_binding *binding, uint32_t number)
{
    struct node_objects *node = &binding->nodes[number];
    struct object *best = NULL;
    if (!node->read && read_node(binding, number) != ORTE_SUCCESS) {
        return NULL;
    }
    for (uint32_t i = 0; i < node->count; i++) {
        struct object *object = &node->objects[i];
        if (object->ranks < object->most && (!best || object->ranks < best->ranks)) {
            best = object;
        }
    }
    if (!best) {
        binding->unbound++;
        return strdup("");
    }
    best->ranks++;
    return strdup(best->cpus);
}

uint32_t spawn_binding_unbound(const struct spawn_binding *binding)
{
    return binding->unbound;
}

int spawn_binding_create(struct spawn_binding **out, const struct hnp *hnp)
{
    struct spawn_binding *binding = calloc(1, sizeof(*binding));
    struct node_objects *nodes = calloc((size_t) hnp->plan.node_count + 1, sizeof(*nodes));
    if (!binding || !nodes) {
        free(binding);
        free(nodes);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    binding->hnp = hnp;
    binding->nodes = nodes;
    *out = binding;
    return ORTE_SUCCESS;
}

void spawn_binding_destroy(struct spawn_binding *binding)
{
    for (uint32_t i = 0; binding && i < binding->hnp->plan.node_count; i++) {
        for (uint32_t j = 0; j < binding->nodes[i].count; j++) {
            free(binding->nodes[i].objects[j].cpus);
        }
        free(binding->nodes[i].objects);
    }
    if (binding) {
        free(binding->nodes);
    }
    free(binding);
}
