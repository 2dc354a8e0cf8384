#include <config.h>

#include <base/data/array.h>
#include <rml/broadcast/cast.h>
#include <stdlib.h>

static struct rml_cast_item *item_of(struct list *link)
{
    return container_of(link, struct rml_cast_item, link);
}

static struct rml_cast_child *find(const struct rml_cast *cast, uint32_t vpid)
{
    for (uint32_t i = 0; i < cast->child_count; i++) {
        if (cast->children[i].vpid == vpid) {
            return &cast->children[i];
        }
    }
    return NULL;
}

void rml_cast_init(struct rml_cast *cast)
{
    *cast = (struct rml_cast){.last = 0};
    list_init(&cast->items);
}

void rml_cast_fini(struct rml_cast *cast, struct list *items)
{
    list_splice(items, &cast->items);
    free(cast->children);
    cast->children = NULL;
    cast->child_count = 0;
}

/* --- who is below --- */

static bool is_among(uint32_t vpid, const uint32_t *vpids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (vpids[i] == vpid) {
            return true;
        }
    }
    return false;
}

int rml_cast_set_children(struct rml_cast *cast, const uint32_t *vpids, uint32_t count,
                          uint32_t lost)
{
    bool first = !cast->children && cast->last == 0;
    size_t most = (size_t) count + cast->child_count + 1;
    struct rml_cast_child *children = calloc(most, sizeof(*children));
    if (!children) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct rml_cast_child *known = find(cast, vpids[i]);
        children[i] = known ? *known
                            : (struct rml_cast_child){
                                  .joined = first, .sent = cast->floor, .done = cast->floor};
        children[i].vpid = vpids[i];
        children[i].early = false;
    }
    uint32_t kept = count;
    for (uint32_t i = 0; i < cast->child_count; i++) {
        const struct rml_cast_child *child = &cast->children[i];
        if (child->early && child->vpid != lost && !is_among(child->vpid, vpids, count)) {
            children[kept++] = *child;
        }
    }
    free(cast->children);
    cast->children = children;
    cast->child_count = kept;
    return ORTE_SUCCESS;
}

void rml_cast_begin(struct rml_cast *cast, uint64_t last)
{
    cast->last = cast->floor = cast->told = last;
    for (uint32_t i = 0; i < cast->child_count; i++) {
        struct rml_cast_child *child = &cast->children[i];
        *child = (struct rml_cast_child){.vpid = child->vpid, .sent = last, .done = last};
    }
}

int rml_cast_join(struct rml_cast *cast, uint32_t vpid, uint64_t last, uint64_t done)
{
    struct rml_cast_child *child = find(cast, vpid);
    if (last < cast->floor || done > last) {
        return ORTE_ERR_BAD_PARAM;
    }
    if (!child) {
        if (!array_resize(&cast->children, cast->child_count + 1u, sizeof(*child))) {
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
        child = &cast->children[cast->child_count++];
        *child = (struct rml_cast_child){.vpid = vpid, .early = true, .done = cast->floor};
    }
    child->joined = true;
    child->sent = last;
    child->done = done > child->done ? done : child->done;
    return ORTE_SUCCESS;
}

bool rml_cast_raise(struct rml_cast *cast, uint32_t vpid, uint64_t done)
{
    struct rml_cast_child *child = find(cast, vpid);
    if (!child || !child->joined || done > child->sent) {
        return false;
    }
    child->done = done > child->done ? done : child->done;
    return true;
}

/* --- what goes through --- */

bool rml_cast_is_next(const struct rml_cast *cast, uint64_t number)
{
    return number == cast->last + 1;
}

void rml_cast_take(struct rml_cast *cast, struct rml_cast_item *item)
{
    item->number = ++cast->last;
    list_append(&cast->items, &item->link);
}

static struct rml_cast_item *next_for(struct rml_cast *cast, const struct rml_cast_child *child)
{
    struct rml_cast_item *item;
    list_for_each (item, &cast->items, struct rml_cast_item, link) {
        if (item->number == child->sent + 1) {
            return item;
        }
    }
    return NULL;
}

struct rml_cast_item *rml_cast_due(struct rml_cast *cast, uint32_t *vpid)
{
    for (uint32_t i = 0; i < cast->child_count; i++) {
        struct rml_cast_child *child = &cast->children[i];
        struct rml_cast_item *item =
            child->joined && child->sent < cast->last ? next_for(cast, child) : NULL;
        if (item) {
            child->sent = item->number;
            *vpid = child->vpid;
            return item;
        }
    }
    return NULL;
}

/* All daemons below have everything up to here. */
static uint64_t done_below(const struct rml_cast *cast)
{
    uint64_t done = cast->last;
    for (uint32_t i = 0; i < cast->child_count; i++) {
        done = cast->children[i].done < done ? cast->children[i].done : done;
    }
    return done;
}

void rml_cast_prune(struct rml_cast *cast, struct list *items)
{
    uint64_t below = done_below(cast);
    while (!list_empty(&cast->items)) {
        struct rml_cast_item *item = item_of(cast->items.next);
        if (item->number > below || item->busy > 0) {
            return;
        }
        cast->floor = item->number;
        list_remove(&item->link);
        list_append(items, &item->link);
    }
}

bool rml_cast_must_tell(struct rml_cast *cast, uint64_t *done)
{
    if (cast->floor <= cast->told) {
        return false;
    }
    cast->told = cast->floor;
    *done = cast->floor;
    return true;
}
