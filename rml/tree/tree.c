/* The daemons' tree: level d holds radix^d vpids, numbered level by level. The children of vpid v
 * on a level that is w wide are v + w, v + 2w, ... v + radix * w: siblings lie w apart, so
 * neighbouring vpids sit under different parents. All sums are 64 bits wide: vpids may come from
 * anywhere. */
#include <config.h>

#include <base/data/array.h>
#include <rml/interface/core.h>
#include <rml/tree/tree.h>
#include <stdlib.h>

struct level {
    uint64_t first; /* its lowest vpid */
    uint64_t width;
};

static struct level level_of(uint32_t radix, uint32_t vpid)
{
    struct level level = {0, 1};
    if (radix == 1) {
        level.first = vpid;
        return level;
    }
    while (vpid >= level.first + level.width) {
        level.first += level.width;
        level.width *= radix;
    }
    return level;
}

uint32_t tree_parent(uint32_t radix, uint32_t vpid)
{
    if (vpid == 0) {
        return UINT32_MAX;
    }
    if (radix == 1) {
        return vpid - 1;
    }
    struct level level = level_of(radix, vpid);
    uint64_t above = level.width / radix;
    uint64_t above_first = level.first - above;
    return (uint32_t) (above_first + (vpid - level.first) % above);
}

uint32_t tree_children(uint32_t radix, uint32_t count, uint32_t vpid, uint32_t *children,
                       uint32_t max)
{
    if (vpid >= count) {
        return 0;
    }
    uint64_t width = level_of(radix, vpid).width;
    uint64_t child = (uint64_t) vpid + width;
    uint32_t found = 0;
    for (; found < radix && child < count; child += width) {
        if (found < max) {
            children[found] = (uint32_t) child;
        }
        found++;
    }
    return found;
}

/* --- with some of them lost --- */

void rml_tree_init(struct rml_tree *tree, uint32_t radix, uint32_t count)
{
    *tree = (struct rml_tree){.radix = radix ? radix : 1, .count = count};
}

void rml_tree_fini(struct rml_tree *tree)
{
    free(tree->lost);
    tree->lost = NULL;
    tree->lost_count = 0;
}

int rml_tree_grow(struct rml_tree *tree, uint32_t count)
{
    if (count < tree->count) {
        return ORTE_ERR_BAD_PARAM;
    }
    if (tree->lost && !array_extend(&tree->lost, tree->count, count, sizeof(*tree->lost))) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    tree->count = count;
    return ORTE_SUCCESS;
}

int rml_tree_lose(struct rml_tree *tree, uint32_t vpid)
{
    if (vpid == 0 || vpid >= tree->count) {
        return ORTE_ERR_BAD_PARAM;
    }
    if (!tree->lost) {
        tree->lost = calloc(tree->count, sizeof(*tree->lost));
        if (!tree->lost) {
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
    }
    if (tree->lost[vpid]) {
        return ORTE_EXISTS;
    }
    tree->lost[vpid] = true;
    tree->lost_count++;
    return ORTE_SUCCESS;
}

bool rml_tree_is_lost(const struct rml_tree *tree, uint32_t vpid)
{
    return tree->lost && vpid < tree->count && tree->lost[vpid];
}

uint32_t rml_tree_parent(const struct rml_tree *tree, uint32_t vpid)
{
    uint32_t parent = tree_parent(tree->radix, vpid);
    while (parent != UINT32_MAX && rml_tree_is_lost(tree, parent)) {
        parent = tree_parent(tree->radix, parent);
    }
    return parent;
}

uint32_t rml_tree_children(const struct rml_tree *tree, uint32_t vpid, uint32_t *children,
                           uint32_t max)
{
    if (tree->lost_count == 0) {
        return tree_children(tree->radix, tree->count, vpid, children, max);
    }
    uint32_t found = 0;
    for (uint32_t below = vpid + 1; vpid < tree->count && below < tree->count; below++) {
        if (!tree->lost[below] && rml_tree_parent(tree, below) == vpid) {
            if (found < max) {
                children[found] = below;
            }
            found++;
        }
    }
    return found;
}

uint32_t rml_tree_towards(const struct rml_tree *tree, uint32_t me, uint32_t dest)
{
    while (dest != UINT32_MAX && dest > me) {
        uint32_t parent = rml_tree_parent(tree, dest);
        if (parent == me) {
            return dest;
        }
        dest = parent;
    }
    return UINT32_MAX;
}
