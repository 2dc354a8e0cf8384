#include <config.h>

#include <base/data/array.h>
#include <base/settings/log.h>
#include <ptl/base.h>
#include <stdlib.h>

struct ptl_set {
    mca_ptl_base_component_t **components; /* open */
    size_t component_count;
    mca_ptl_base_module_t **modules; /* sorted; of those that stand before others the outermost */
    size_t module_count;
};

static void component_close(const mca_ptl_base_component_t *component)
{
    if (component->ptlm_version.mca_close_component) {
        component->ptlm_version.mca_close_component();
    }
}

/* Before the first of lower exclusivity; there is room. */
static void insert_module(struct ptl_set *set, mca_ptl_base_module_t *module)
{
    size_t place = set->module_count++;
    for (; place > 0 && set->modules[place - 1]->ptl_exclusivity < module->ptl_exclusivity;
         place--) {
        set->modules[place] = set->modules[place - 1];
    }
    set->modules[place] = module;
}

static int keep_modules(struct ptl_set *set, mca_ptl_base_module_t **made, size_t count,
                        const struct ptl_upcalls *upcalls)
{
    if (!array_resize(&set->modules, set->module_count + count, sizeof(*set->modules))) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (size_t i = 0; i < count; i++) {
        made[i]->ptl_match = upcalls->match;
        made[i]->ptl_send_progress = upcalls->send_progress;
        made[i]->ptl_recv_progress = upcalls->recv_progress;
        struct keel_ptl_module_t *extended = keel_ptl_extended(made[i]);
        if (extended) {
            extended->ptl_send_failed = upcalls->send_failed;
            extended->ptl_put_wanted = upcalls->put_wanted;
            extended->ptl_recv_failed = upcalls->recv_failed;
            extended->ptl_peer_changed = upcalls->peer_changed;
            extended->ptl_peer_ready = upcalls->peer_ready;
            extended->ptl_matchi = upcalls->matchi;
        }
        insert_module(set, made[i]);
    }
    return ORTE_SUCCESS;
}

/* NOT_AVAILABLE: the component has no module, and is closed. */
static int component_open(struct ptl_set *set, mca_ptl_base_component_t *component,
                          const struct ptl_upcalls *upcalls, bool progress_threads, bool threads)
{
    const mca_base_component_t *version = &component->ptlm_version;
    int status = version->mca_open_component ? version->mca_open_component() : ORTE_SUCCESS;
    if (status != ORTE_SUCCESS) {
        log_info(LOG_PTL, "%s: not opened: %s", ptl_component_name(component),
                 opal_strerror(status));
        return ORTE_ERR_NOT_AVAILABLE;
    }
    int count = 0;
    mca_ptl_base_module_t **made = component->ptlm_init(&count, progress_threads, threads);
    status = made && count > 0 ? keep_modules(set, made, (size_t) count, upcalls)
                               : ORTE_ERR_NOT_AVAILABLE;
    if (status == ORTE_SUCCESS) {
        set->components[set->component_count++] = component;
    } else {
        for (int i = 0; made && i < count; i++) {
            made[i]->ptl_finalize(made[i]);
        }
        component_close(component);
    }
    free(made);
    log_info(LOG_PTL, "%s: %d modules: %s", ptl_component_name(component), count,
             opal_strerror(status));
    return status;
}

int ptl_open(struct ptl_set **opened, mca_ptl_base_component_t *const *components,
             const struct ptl_upcalls *upcalls, bool progress_threads, bool threads)
{
    size_t count = 0;
    while (components[count]) {
        count++;
    }
    struct ptl_set *set = calloc(1, sizeof(*set));
    int status = ORTE_ERR_OUT_OF_RESOURCE;
    if (!set || !(set->components = calloc(count + 1, sizeof(mca_ptl_base_component_t *)))) {
        goto close;
    }
    for (size_t i = 0; i < count; i++) {
        status = component_open(set, components[i], upcalls, progress_threads, threads);
        if (status != ORTE_SUCCESS && status != ORTE_ERR_NOT_AVAILABLE) {
            goto close;
        }
    }
    if (set->module_count > 0) {
        *opened = set;
        return ORTE_SUCCESS;
    }
    status = ORTE_ERR_NOT_AVAILABLE;
close:
    ptl_close(set);
    return status;
}

void ptl_close(struct ptl_set *set)
{
    if (!set) {
        return;
    }
    for (size_t i = set->module_count; i-- > 0;) {
        mca_ptl_base_module_t *below;
        for (mca_ptl_base_module_t *module = set->modules[i]; module; module = below) {
            below = module->ptl_stack;
            module->ptl_finalize(module);
        }
    }
    for (size_t i = set->component_count; i-- > 0;) {
        component_close(set->components[i]);
    }
    free(set->modules);
    free(set->components);
    free(set);
}

mca_ptl_base_module_t **ptl_modules(const struct ptl_set *set, size_t *count)
{
    *count = set->module_count;
    return set->modules;
}

/* What lower calls goes to upper where that has functions for it; upper calls what lower called.
 * Messages take no short way past it. */
static void take_upcalls(mca_ptl_base_module_t *upper, mca_ptl_base_module_t *lower)
{
    const mca_ptl_base_module_t above = *lower;
    struct keel_ptl_module_t *extended = keel_ptl_extended(lower);
    if (extended) {
        extended->ptl_matchi = NULL;
    }
    lower->ptl_match = upper->ptl_match ? upper->ptl_match : above.ptl_match;
    lower->ptl_send_progress =
        upper->ptl_send_progress ? upper->ptl_send_progress : above.ptl_send_progress;
    lower->ptl_recv_progress =
        upper->ptl_recv_progress ? upper->ptl_recv_progress : above.ptl_recv_progress;
    upper->ptl_match = above.ptl_match;
    upper->ptl_send_progress = above.ptl_send_progress;
    upper->ptl_recv_progress = above.ptl_recv_progress;
}

int ptl_stack(struct ptl_set *set, mca_ptl_base_module_t *upper, mca_ptl_base_module_t *lower)
{
    size_t place = 0;
    while (place < set->module_count && set->modules[place] != lower) {
        place++;
    }
    if (place == set->module_count) {
        return ORTE_ERR_NOT_FOUND;
    }
    if (upper->ptl_exclusivity != lower->ptl_exclusivity) {
        return ORTE_ERR_BAD_PARAM;
    }
    take_upcalls(upper, lower);
    upper->ptl_stack = lower;
    upper->ptl_base = lower->ptl_base;
    set->modules[place] = upper;
    return ORTE_SUCCESS;
}

int ptl_control(struct ptl_set *set, int param, void *value, size_t size)
{
    int first = ORTE_SUCCESS;
    for (size_t i = 0; i < set->component_count; i++) {
        int status = set->components[i]->ptlm_control(param, value, size);
        first = first == ORTE_SUCCESS ? status : first;
    }
    return first;
}

int ptl_progress(struct ptl_set *set, mca_ptl_tstamp_t now)
{
    int first = ORTE_SUCCESS;
    for (size_t i = 0; i < set->component_count; i++) {
        int status = set->components[i]->ptlm_progress(now);
        first = first == ORTE_SUCCESS ? status : first;
    }
    return first;
}
