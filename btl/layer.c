#include <config.h>

#include <btl/check/check.h>
#include <btl/fault/fault_layer.h>
#include <btl/layer.h>
#include <stdio.h>

/* From the inside out. Each returns NULL with ORTE_SUCCESS when no parameter asks for it. */
static int (*const makers[])(mca_btl_base_module_t *inner,
                             struct btl_layer **layer) = {fault_layer_create, check_layer_create};

struct btl_layer *btl_layers;

void btl_layers_register_params(void)
{
    check_register_params();
}

struct btl_layer *btl_layer_find(const mca_btl_base_module_t *inner)
{
    struct btl_layer *layer = btl_layers;
    while (layer && layer->inner != inner) {
        layer = layer->next;
    }
    return layer;
}

mca_btl_base_module_t *btl_layer_find_outermost(mca_btl_base_module_t *module)
{
    for (struct btl_layer *layer = btl_layers; layer; layer = layer->next) {
        if (layer->inner == module) {
            module = &layer->super;
        }
    }
    return module;
}

struct btl_layer *btl_layer_of(const mca_btl_base_module_t *module)
{
    struct btl_layer *layer = btl_layers;
    while (layer && &layer->super != module) {
        layer = layer->next;
    }
    return layer;
}

const mca_btl_base_module_t *btl_layer_find_innermost(const mca_btl_base_module_t *module)
{
    for (const struct btl_layer *layer = btl_layer_of(module); layer;
         layer = btl_layer_of(module)) {
        module = layer->inner;
    }
    return module;
}

static void layer_append(struct btl_layer *layer)
{
    struct btl_layer **end = &btl_layers;
    while (*end) {
        end = &(*end)->next;
    }
    *end = layer;
}

int btl_layers_add(mca_btl_base_module_t *module, mca_btl_base_module_t **outer, char *reason,
                   size_t reason_size)
{
    int status = ORTE_SUCCESS;
    *outer = module;
    for (size_t i = 0; i < sizeof(makers) / sizeof(*makers) && status == ORTE_SUCCESS; i++) {
        struct btl_layer *layer = NULL;
        status = makers[i](*outer, &layer);
        if (layer) {
            layer_append(layer);
            *outer = &layer->super;
        }
    }
    if (status != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "no memory to watch over module %s",
                 btl_component_name(module->btl_component));
    }
    return status;
}

void btl_layer_remove(struct btl_layer *layer)
{
    struct btl_layer **at = &btl_layers;
    while (*at && *at != layer) {
        at = &(*at)->next;
    }
    if (*at) {
        *at = layer->next;
    }
}

struct mca_btl_base_endpoint_t *btl_layers_inside(const mca_btl_base_module_t *outermost,
                                                  struct mca_btl_base_endpoint_t *endpoint)
{
    const struct btl_layer *layer = btl_layers ? btl_layer_of(outermost) : NULL;
    for (; layer && endpoint; layer = btl_layer_of(layer->inner)) {
        endpoint = layer->inside ? layer->inside(layer, endpoint) : endpoint;
    }
    return endpoint;
}

int btl_layers_progress(void)
{
    int events = 0;
    for (struct btl_layer *layer = btl_layers; layer; layer = layer->next) {
        events += layer->progress ? layer->progress(layer) : 0;
    }
    return events;
}

void btl_layers_hold(const mca_btl_base_module_t *module, bool held)
{
    for (struct btl_layer *at = btl_layer_before(module); at; at = btl_layer_before(&at->super)) {
        at->held = held;
    }
}

bool btl_layers_quiet(const mca_btl_base_module_t *module)
{
    bool quiet = true;
    for (struct btl_layer *at = btl_layer_before(module); at; at = btl_layer_before(&at->super)) {
        quiet = quiet && (!at->is_quiet || at->is_quiet(at));
    }
    return quiet;
}

void btl_layers_end(const mca_btl_base_module_t *module)
{
    for (struct btl_layer *at = btl_layer_before(module); at; at = btl_layer_before(&at->super)) {
        if (at->end) {
            at->end(at);
        }
    }
}

void btl_layers_drained(const mca_btl_base_module_t *module)
{
    for (struct btl_layer *at = btl_layer_before(module); at; at = btl_layer_before(&at->super)) {
        if (at->drained) {
            at->drained(at);
        }
    }
}
