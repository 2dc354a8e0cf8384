/* Modules that stand before other modules: the layers above see the outermost alone, and what comes
 * up passes all of them, from the inside out. btl/check checks both sides, btl/fault fails on
 * purpose. One thread at a time. */
#ifndef BTL_LAYER_H
#define BTL_LAYER_H

#include <btl/base.h>

struct btl_layer {
    mca_btl_base_module_t super;  /* first: what stands above uses this table */
    mca_btl_base_module_t *inner; /* the module behind it; super's btl_finalize finalizes it, too */
    /* What inner received. Passes it on with btl_deliver_on, as its own module's. */
    void (*deliver)(struct btl_layer *layer, struct mca_btl_base_endpoint_t *endpoint,
                    uint8_t channel, mca_btl_base_tag_t tag, mca_btl_base_segment_t *segments,
                    size_t count);
    /* inner reports that a peer (or NULL) failed; the report goes up by itself. NULL: no interest.
     */
    void (*failed)(struct btl_layer *layer, int32_t flags, opal_proc_t *proc);
    /* A checkpoint or restart of the module ended well: nothing is under way. NULL: no interest. */
    void (*drained)(struct btl_layer *layer);
    /* What inner has for an endpoint that callers have, or NULL, when that ended. NULL: the same.
     */
    struct mca_btl_base_endpoint_t *(*inside)(const struct btl_layer *layer,
                                              struct mca_btl_base_endpoint_t *endpoint);
    int (*progress)(struct btl_layer *layer); /* NULL: nothing to do */
    /* Of a layer that keeps calls back, else all NULL: whether it keeps none; and what ends them
     * all with an error, for a restart. While it is held its calls are short, as from a checkpoint
     * on those of a module are, and what it keeps still goes to the module. */
    bool (*is_quiet)(const struct btl_layer *layer);
    void (*end)(struct btl_layer *layer);
    bool held;
    const struct keel_btl_ext *ext; /* of super; NULL: as the module of the component */
    struct btl_layer *next;         /* of all, in the order in which they were made */
};

/* The parameters of all layers. */
void btl_layers_register_params(void);
/* Puts the layers that the parameters ask for before a module. *outer: the outermost that stands,
 * or the module itself; also with an error, whose text reason gets. */
int btl_layers_add(mca_btl_base_module_t *module, mca_btl_base_module_t **outer, char *reason,
                   size_t reason_size) KEEL_MUST_CHECK;
/* The last thing in a layer's btl_finalize, before its memory goes. */
void btl_layer_remove(struct btl_layer *layer);

extern struct btl_layer *btl_layers; /* all that stand; NULL: messages pay one branch */
struct btl_layer *btl_layer_find(const mca_btl_base_module_t *inner);
mca_btl_base_module_t *btl_layer_find_outermost(mca_btl_base_module_t *module);
const mca_btl_base_module_t *btl_layer_find_innermost(const mca_btl_base_module_t *module);
/* What the component's module has for an endpoint of the outermost; NULL: nothing any more. */
struct mca_btl_base_endpoint_t *btl_layers_inside(const mca_btl_base_module_t *outermost,
                                                  struct mca_btl_base_endpoint_t *endpoint);
int btl_layers_progress(void);
/* For ft_event: of all layers that stand before a component's module. */
void btl_layers_hold(const mca_btl_base_module_t *module, bool held);
bool btl_layers_quiet(const mca_btl_base_module_t *module);
void btl_layers_end(const mca_btl_base_module_t *module);
void btl_layers_drained(const mca_btl_base_module_t *module);
/* The layer whose own module this is; NULL: it is no layer's. */
struct btl_layer *btl_layer_of(const mca_btl_base_module_t *module);

/* The layer that stands before this module; NULL: none. */
static inline struct btl_layer *btl_layer_before(const mca_btl_base_module_t *module)
{
    return btl_layers ? btl_layer_find(module) : NULL;
}

static inline mca_btl_base_module_t *btl_layer_outermost(mca_btl_base_module_t *module)
{
    return btl_layers ? btl_layer_find_outermost(module) : module;
}

/* The module of a component. */
static inline const mca_btl_base_module_t *btl_layer_innermost(const mca_btl_base_module_t *module)
{
    return btl_layers ? btl_layer_find_innermost(module) : module;
}

#endif
