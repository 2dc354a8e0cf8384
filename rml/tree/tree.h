/* The daemons' tree when some of them are lost, pure: whoever's parent is lost belongs to the next
 * living one above. So a loss moves nobody but the children of the lost, and the order in which
 * losses become known does not matter. Parents have lower vpids than their children. */
#ifndef RML_TREE_H
#define RML_TREE_H

#include <keel/types.h>

struct rml_tree {
    uint32_t radix;
    uint32_t count; /* daemons, lost ones included; 0: there is no tree yet */
    uint32_t lost_count;
    bool *lost; /* owned, by vpid; NULL: nobody is */
};

void rml_tree_init(struct rml_tree *tree, uint32_t radix, uint32_t count);
void rml_tree_fini(struct rml_tree *tree);
/* To count daemons, which are no fewer than before. Nobody's parent changes. */
int rml_tree_grow(struct rml_tree *tree, uint32_t count) KEEL_MUST_CHECK;
/* ORTE_EXISTS: it is lost already; ORTE_ERR_BAD_PARAM: the root, or nobody; or
 * ORTE_ERR_OUT_OF_RESOURCE. */
int rml_tree_lose(struct rml_tree *tree, uint32_t vpid) KEEL_MUST_CHECK;
bool rml_tree_is_lost(const struct rml_tree *tree, uint32_t vpid);
/* UINT32_MAX for the root. A lost one has a parent too, but is nobody's child. */
uint32_t rml_tree_parent(const struct rml_tree *tree, uint32_t vpid);
/* Returns their number, fills at most max, in ascending order. */
uint32_t rml_tree_children(const struct rml_tree *tree, uint32_t vpid, uint32_t *children,
                           uint32_t max);
/* The child of me whose subtree holds dest; UINT32_MAX: it is not below me. */
uint32_t rml_tree_towards(const struct rml_tree *tree, uint32_t me, uint32_t dest);

#endif
