/* add_procs and del_procs of every module: its component's functions make and end endpoints, and
 * here it is counted how often each was added. */
#include <config.h>

#include <btl/entry.h>
#include <btl/lock.h>
#include <btl/procs.h>
#include <stdlib.h>

/* How often callers added an endpoint; 0 while it is being ended. */
static uintptr_t count_of(void *const *place)
{
    return (uintptr_t) *place;
}

static void count_set(void **place, uintptr_t count)
{
    *place = (void *) count;
}

/* The choice of rails, whose own reference no count shows. */
static struct {
    bool (*keeps)(void *arg, const mca_btl_base_module_t *module,
                  const struct mca_btl_base_endpoint_t *endpoint);
    void (*met)(void *arg, mca_btl_base_module_t *module, const orte_process_name_t *name);
    void *arg;
} keeper;

void btl_set_keeper(bool (*keeps)(void *arg, const mca_btl_base_module_t *module,
                                  const struct mca_btl_base_endpoint_t *endpoint),
                    void (*met)(void *arg, mca_btl_base_module_t *module,
                                const orte_process_name_t *name),
                    void *arg)
{
    keeper.keeps = keeps;
    keeper.met = met;
    keeper.arg = arg;
}

void btl_met(mca_btl_base_module_t *module, const orte_process_name_t *name)
{
    if (keeper.met) {
        keeper.met(keeper.arg, module, name);
    }
}

bool btl_reaches(mca_btl_base_module_t *module, const opal_proc_t *proc)
{
    const struct btl_component *component = btl_entry(module)->component;
    return !component->reaches || component->reaches(module, proc);
}

static bool is_kept(const struct btl_module_entry *entry,
                    const struct mca_btl_base_endpoint_t *endpoint)
{
    return keeper.keeps && keeper.keeps(keeper.arg, entry->module, endpoint);
}

/* One more for this endpoint, which it may be the first to have. */
static int count_up(struct btl_module_entry *entry, struct mca_btl_base_endpoint_t *endpoint)
{
    void **place = btl_map_find(&entry->added, endpoint);
    if (!place) {
        return btl_map_put(&entry->added, endpoint, (void *) (uintptr_t) 1);
    }
    if (count_of(place) == 0) {
        return OPAL_ERR_UNREACH; /* a callback of its end adds it */
    }
    count_set(place, count_of(place) + 1);
    return OPAL_SUCCESS;
}

/* The endpoint of a peer, counted; NULL: not reached, or *status. */
static struct mca_btl_base_endpoint_t *add_one(struct btl_module_entry *entry, opal_proc_t *proc,
                                               int *status)
{
    struct mca_btl_base_endpoint_t *endpoint = entry->component->add(entry->module, proc);
    int counted = endpoint ? count_up(entry, endpoint) : OPAL_SUCCESS;
    if (counted == ORTE_ERR_OUT_OF_RESOURCE) {
        *status = counted;
        if (!is_kept(entry, endpoint)) {
            entry->component->end(entry->module, &endpoint, 1);
        }
    }
    return counted == OPAL_SUCCESS ? endpoint : NULL;
}

int btl_add_procs(mca_btl_base_module_t *module, size_t count, opal_proc_t **procs,
                  struct mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable)
{
    struct btl_module_entry *entry = btl_entry(module);
    int status = OPAL_SUCCESS;
    for (size_t i = 0; i < count; i++) {
        endpoints[i] = add_one(entry, procs[i], &status);
        if (endpoints[i] && reachable && status == OPAL_SUCCESS) {
            status = opal_bitmap_set_bit(reachable, (int) i);
        }
    }
    return status;
}

/* One less. True: it was the last, so that the endpoint is to end. */
static bool count_down(const struct btl_module_entry *entry,
                       const struct mca_btl_base_endpoint_t *endpoint, int *status)
{
    void **place = btl_map_find(&entry->added, endpoint);
    if (!place || count_of(place) == 0) {
        *status = OPAL_ERR_BAD_PARAM;
        return false;
    }
    count_set(place, count_of(place) - 1);
    return count_of(place) == 0;
}

static void forget(struct btl_module_entry *entry, const struct mca_btl_base_endpoint_t *endpoint)
{
    btl_map_remove(&entry->added, endpoint);
    if (entry->added.count == 0) {
        btl_map_fini(&entry->added);
    }
}

/* What is in flight may call back, and add other peers. */
static void end_all(struct btl_module_entry *entry, struct mca_btl_base_endpoint_t **endpoints,
                    struct mca_btl_base_endpoint_t **ended, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        endpoints[i] = ended[i];
    }
    entry->component->end(entry->module, endpoints, count);
    for (size_t i = 0; i < count; i++) {
        forget(entry, ended[i]);
    }
}

int btl_del_procs(mca_btl_base_module_t *module, size_t count, opal_proc_t **procs,
                  struct mca_btl_base_endpoint_t **endpoints)
{
    struct btl_module_entry *entry = btl_entry(module);
    struct mca_btl_base_endpoint_t **ended = malloc((2 * count + 1) * sizeof(*ended));
    size_t ended_count = 0;
    int status = OPAL_SUCCESS;
    (void) procs;
    if (!ended) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    for (size_t i = 0; i < count; i++) {
        if (!endpoints[i] || !count_down(entry, endpoints[i], &status)) {
            continue;
        }
        if (is_kept(entry, endpoints[i])) {
            forget(entry, endpoints[i]);
        } else {
            ended[ended_count++] = endpoints[i];
        }
    }
    end_all(entry, ended + count, ended, ended_count);
    free(ended);
    return status;
}

bool btl_del_ends(const mca_btl_base_module_t *module,
                  const struct mca_btl_base_endpoint_t *endpoint)
{
    const struct btl_module_entry *entry = btl_entry(module);
    if (!entry || !entry->component->add) {
        return true; /* a module of a test's, which does not count */
    }
    void **place = btl_map_find(&entry->added, endpoint);
    return place && count_of(place) == 1 && !is_kept(entry, endpoint);
}

void btl_keep(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint)
{
    int status = OPAL_SUCCESS;
    btl_lock();
    struct btl_module_entry *entry = btl_entry(module);
    if (entry && count_down(entry, endpoint, &status)) {
        forget(entry, endpoint);
    }
    btl_unlock();
}

void btl_give_back(mca_btl_base_module_t *module, opal_proc_t *proc,
                   struct mca_btl_base_endpoint_t *endpoint)
{
    btl_lock();
    struct btl_module_entry *entry = btl_entry(module);
    bool counts = entry && entry->component->add;
    /* Without memory for the count it stays until the module is finalized. */
    if (!counts || count_up(entry, endpoint) == OPAL_SUCCESS) {
        (void) module->btl_del_procs(module, 1, &proc, &endpoint);
    }
    btl_unlock();
}
