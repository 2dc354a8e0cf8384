/* add_procs and del_procs of every module: its component's functions, or those of btl/peers/peer.h,
 * make and end endpoints, and here it is counted how often each was added. */
#include <config.h>

#include <btl/lock/lock.h>
#include <btl/modules/entry.h>
#include <btl/peers/peer.h>
#include <stdlib.h>

/* In place of the count, while an endpoint is being ended. */
#define ENDING UINT32_MAX

/* The choice of rails owns endpoints; no count shows its own reference. */
static struct btl_owner owner;

void btl_set_owner(const struct btl_owner *choice)
{
    owner = choice ? *choice : (struct btl_owner){0};
}

void btl_met(mca_btl_base_module_t *module, const orte_process_name_t *name)
{
    if (owner.met) {
        owner.met(owner.arg, module, name);
    }
}

bool btl_connects_elsewhere(mca_btl_base_module_t *module, const opal_proc_t *proc)
{
    return owner.connects && owner.connects(owner.arg, module, &proc->proc_name);
}

bool btl_connected(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint)
{
    struct btl_peers *peers = btl_entry_peers(btl_entry(module));
    int status;
    return !peers || btl_peer_connected(peers, btl_peer_of(endpoint), &status);
}

bool btl_reaches(mca_btl_base_module_t *module, const opal_proc_t *proc)
{
    const struct btl_module_entry *entry = btl_entry(module);
    struct btl_peers *peers = btl_entry_peers(entry);
    if (entry->component->reaches) {
        return entry->component->reaches(module, proc);
    }
    return !peers || btl_peers_reach(peers, proc);
}

void btl_peer_ended(mca_btl_base_module_t *module, const orte_process_name_t *name,
                    struct mca_btl_base_endpoint_t *endpoint)
{
    const struct btl_module_entry *entry = btl_entry(module);
    struct btl_peers *peers = entry ? btl_entry_peers(entry) : NULL;
    struct btl_peer *peer = peers ? roster_find(peers->roster, name) : NULL;
    if (peer) {
        endpoint = btl_peer_endpoint(peer);
    }
    if (endpoint && entry && entry->component->ended) {
        entry->component->ended(module, endpoint);
    } else if (peer) {
        btl_peer_died(peers, peer);
    }
}

void btl_proc_ended(const orte_process_name_t *name)
{
    size_t count;
    mca_btl_base_module_t **modules = btl_modules(&count);

    for (size_t i = 0; i < count; i++) {
        btl_peer_ended(modules[i], name, NULL);
    }
}

const opal_proc_t *btl_proc_of(mca_btl_base_module_t *module,
                               const struct mca_btl_base_endpoint_t *endpoint)
{
    const struct btl_host *host = btl_host();
    return btl_entry_peers(btl_entry(module))
               ? ((const struct btl_peer *) (const void *) endpoint)->proc
               : host->ops->me(host->arg);
}

const orte_process_name_t *btl_fail(mca_btl_base_module_t *module,
                                    struct mca_btl_base_endpoint_t *endpoint, const char *why)
{
    const struct btl_module_entry *entry = btl_entry(module);
    const struct btl_host *host = btl_host();
    if (!btl_entry_peers(entry)) {
        return &host->ops->me(host->arg)->proc_name;
    }
    if (entry->component->fail) {
        entry->component->fail(module, endpoint, why);
    } else {
        btl_peer_fail(btl_peer_of(endpoint), why);
    }
    return &btl_peer_of(endpoint)->name;
}

void btl_retry(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint, bool on)
{
    const struct btl_module_entry *entry = btl_entry(module);
    if (entry && entry->component->retry) {
        entry->component->retry(module, endpoint, on);
    } else if (entry && btl_entry_peers(entry)) {
        btl_peer_retry(btl_peer_of(endpoint), on);
    }
}

static bool is_owned(const struct btl_module_entry *entry,
                     const struct mca_btl_base_endpoint_t *endpoint)
{
    return owner.owns && owner.owns(owner.arg, entry->module, endpoint);
}

/* Where it is counted how often callers added an endpoint; NULL: it is none of the module's. */
static uint32_t *count_of(const struct btl_module_entry *entry,
                          const struct mca_btl_base_endpoint_t *endpoint)
{
    const struct btl_component *component = entry->component;
    return component->added ? component->added(entry->module, endpoint)
                            : roster_added(btl_entry_peers(entry)->roster, endpoint);
}

/* The endpoint of a peer, counted; NULL: not reached, or a callback of its end adds it. */
static struct mca_btl_base_endpoint_t *add_one(const struct btl_module_entry *entry,
                                               opal_proc_t *proc)
{
    const struct btl_component *component = entry->component;
    struct mca_btl_base_endpoint_t *endpoint =
        component->add ? component->add(entry->module, proc)
                       : btl_peer_endpoint(btl_peer_add(btl_entry_peers(entry), proc));
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
    if (entry->component->end) {
        entry->component->end(entry->module, endpoints, count);
    } else {
        btl_peers_end(btl_entry_peers(entry), endpoints, count);
    }
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
    size_t ended_count = 0;
    int status = OPAL_SUCCESS;
    (void) procs;
    if (btl_calls_back()) {
        return OPAL_ERR_RESOURCE_BUSY;
    }
    struct mca_btl_base_endpoint_t **ended = malloc((2 * count + 1) * sizeof(*ended));
    if (!ended) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    for (size_t i = 0; i < count; i++) {
        if (endpoints[i] && count_down(entry, endpoints[i], &status) &&
            !is_owned(entry, endpoints[i])) {
            ended[ended_count++] = endpoints[i];
        }
    }
    end_all(entry, ended + count, ended, ended_count);
    free(ended);
    return status;
}

/* Else it is a module of a test's. */
static bool counts(const struct btl_module_entry *entry)
{
    return entry && (entry->component->add || entry->component->peers_at > 0);
}

bool btl_del_ends(const mca_btl_base_module_t *module,
                  const struct mca_btl_base_endpoint_t *endpoint)
{
    const struct btl_module_entry *entry = btl_entry(module);
    if (btl_calls_back()) {
        return false;
    }
    if (!counts(entry)) {
        return true;
    }
    const uint32_t *count = count_of(entry, endpoint);
    return count && *count == 1 && !is_owned(entry, endpoint);
}

void btl_keep(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint)
{
    int status;
    btl_lock();
    struct btl_module_entry *entry = btl_entry(module);
    if (counts(entry)) {
        (void) count_down(entry, endpoint, &status);
    }
    btl_unlock();
}

void btl_give_back(mca_btl_base_module_t *module, size_t count, opal_proc_t **procs,
                   struct mca_btl_base_endpoint_t **endpoints)
{
    btl_lock();
    struct btl_module_entry *entry = btl_entry(module);
    for (size_t i = 0; i < count && counts(entry); i++) {
        uint32_t *added = count_of(entry, endpoints[i]);
        if (added) {
            ++*added;
        }
    }
    (void) module->btl_del_procs(module, count, procs, endpoints);
    btl_unlock();
}
