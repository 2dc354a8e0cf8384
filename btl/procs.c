/* add_procs and del_procs of every module: its component's functions make and end endpoints, and
 * here it is counted how often each was added. */
#include <config.h>

#include <btl/entry.h>
#include <btl/lock.h>
#include <btl/procs.h>
#include <stdlib.h>

/* In place of the count, while an endpoint is being ended. */
#define ENDING UINT32_MAX

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

/* Where it is counted how often callers added an endpoint; NULL: it is none of the module's. */
static uint32_t *count_of(const struct btl_module_entry *entry,
                          const struct mca_btl_base_endpoint_t *endpoint)
{
    return entry->component->added(entry->module, endpoint);
}

/* The endpoint of a peer, counted; NULL: not reached, or a callback of its end adds it. */
static struct mca_btl_base_endpoint_t *add_one(const struct btl_module_entry *entry,
                                               opal_proc_t *proc)
{
    struct mca_btl_base_endpoint_t *endpoint = entry->component->add(entry->module, proc);
    uint32_t *count = endpoint ? count_of(entry, endpoint) : NULL;
    if (!count || *count == ENDING) {
        return NULL;
    }
    ++*count;
    return endpoint;
}

int btl_add_procs(mca_btl_base_module_t *module, size_t count, opal_proc_t **procs,
                  struct mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable)
{
    struct btl_module_entry *entry = btl_entry(module);
    int status = OPAL_SUCCESS;
    for (size_t i = 0; i < count; i++) {
        endpoints[i] = add_one(entry, procs[i]);
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
    uint32_t *count = count_of(entry, endpoint);
    if (!count || *count == 0 || *count == ENDING) {
        *status = OPAL_ERR_BAD_PARAM;
        return false;
    }
    return --*count == 0;
}

/* What is in flight may call back, and add other peers; an endpoint's memory may be another's then.
 */
static void end_all(const struct btl_module_entry *entry,
                    struct mca_btl_base_endpoint_t **endpoints,
                    struct mca_btl_base_endpoint_t **ended, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        endpoints[i] = ended[i];
        *count_of(entry, ended[i]) = ENDING;
    }
    entry->component->end(entry->module, endpoints, count);
    for (size_t i = 0; i < count; i++) {
        uint32_t *left = count_of(entry, ended[i]);
        if (left && *left == ENDING) {
            *left = 0;
        }
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
        if (endpoints[i] && count_down(entry, endpoints[i], &status) &&
            !is_kept(entry, endpoints[i])) {
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
    const uint32_t *count = count_of(entry, endpoint);
    return count && *count == 1 && !is_kept(entry, endpoint);
}

void btl_keep(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint)
{
    int status;
    btl_lock();
    struct btl_module_entry *entry = btl_entry(module);
    if (entry && entry->component->add) {
        (void) count_down(entry, endpoint, &status);
    }
    btl_unlock();
}

void btl_give_back(mca_btl_base_module_t *module, opal_proc_t *proc,
                   struct mca_btl_base_endpoint_t *endpoint)
{
    btl_lock();
    struct btl_module_entry *entry = btl_entry(module);
    uint32_t *count = entry && entry->component->add ? count_of(entry, endpoint) : NULL;
    if (count) {
        ++*count;
    }
    (void) module->btl_del_procs(module, 1, &proc, &endpoint);
    btl_unlock();
}
