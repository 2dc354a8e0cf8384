/* Do more ranks share processors than there are? Then empty polls should yield. Each rank tells the
 * others of its node which processors it may use; bound ranks do not count where they do not run.
 */
#include <config.h>

#include <bootstrap/pmix/internal.h>

#include <base/host/topo.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <stdlib.h>

int cpus_publish(struct pmix *pmix)
{
    static const cpu_set_t none; /* overlaps with nobody: unknown */
    size_t size;
    cpu_set_t *mine = topo_affinity(&size);
    int status = mine ? pmix->calls->put(CPUS_KEY, mine, size, true)
                      : pmix->calls->put(CPUS_KEY, &none, sizeof(none), true);
    CPU_FREE(mine);
    return status;
}

static bool meets(const uint8_t *mask, const uint8_t *other, size_t size)
{
    bool any = false;
    for (size_t i = 0; i < size && !any; i++) {
        any = mask[i] & other[i];
    }
    return any;
}

/* Ranks of my node that run on some of my processors, and myself. */
static uint32_t count_rivals(struct pmix *pmix, uint32_t enough)
{
    const struct job_map *map = &pmix->backend.map;
    uint32_t me = pmix->backend.rank, rivals = 1;
    size_t mask;
    cpu_set_t *mine = topo_affinity(&mask);
    if (!mine) {
        return enough;
    }
    for (uint32_t rank = 0; rank < map->size && rivals < enough; rank++) {
        uint8_t *data = NULL;
        size_t size = 0;
        if (rank == me || map->node_of[rank] != map->node_of[me]) {
            continue;
        }
        bool known = pmix_ask(pmix, rank, CPUS_KEY, &data, &size) == ORTE_SUCCESS && size == mask;
        rivals += !known || meets(data, (const uint8_t *) mine, mask);
        free(data);
    }
    CPU_FREE(mine);
    return rivals;
}

void cpus_look(struct pmix *pmix)
{
    const struct job_map *map = &pmix->backend.map;
    uint32_t usable = topo_usable_cpus(), local = 0;
    for (uint32_t rank = 0; rank < map->size; rank++) {
        local += map->node_of[rank] == map->node_of[pmix->backend.rank];
    }
    if (local <= usable || getenv("KEEL_MCA_btl_yield") ||
        count_rivals(pmix, usable + 1) <= usable) {
        return;
    }
    log_info(LOG_BOOTSTRAP, "more ranks than processors: empty polls yield");
    if (param_override("btl_yield", "1") != ORTE_SUCCESS) {
        log_debug(LOG_BOOTSTRAP, "btl_yield was read already");
    }
}
