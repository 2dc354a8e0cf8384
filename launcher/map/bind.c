#include <config.h>

#include <launcher/map/bind.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int bind_map_make(struct bind_map *map, char *reason, size_t reason_size)
{
    struct bind_map made;
    int rc = topo_cores(&made.cores, &made.count, reason, reason_size);
    if (rc != ORTE_SUCCESS) {
        return rc;
    }
    if (made.count == 0) {
        free(made.cores);
        snprintf(reason, reason_size, "no core was found that this process may use");
        return ORTE_ERR_NOT_FOUND;
    }
    *map = made;
    return ORTE_SUCCESS;
}

void bind_map_fini(struct bind_map *map)
{
    free(map->cores);
    *map = (struct bind_map){0};
}

const cpu_set_t *bind_choose(const struct bind_map *map, uint32_t local_rank)
{
    return &map->cores[local_rank % map->count].cpus;
}

/* "0,2-5" */
static void print_cpus(const cpu_set_t *cpus, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (int first = 0; first < CPU_SETSIZE && used < size; first++) {
        int last = first;
        if (!CPU_ISSET(first, cpus)) {
            continue;
        }
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, cpus)) {
            last++;
        }
        const char *comma = used > 0 ? "," : "";
        int wrote = last > first ? snprintf(text + used, size - used, "%s%d-%d", comma, first, last)
                                 : snprintf(text + used, size - used, "%s%d", comma, first);
        used += (size_t) wrote;
        first = last;
    }
}

const char *bind_report(const struct bind_map *map, uint32_t rank, const char *node,
                        uint32_t local_rank, char *text, size_t size)
{
    char cpus[256];
    if (!map) {
        snprintf(text, size, "rank %u on %s: not bound", rank, node);
        return text;
    }
    const struct topo_core *core = &map->cores[local_rank % map->count];
    print_cpus(&core->cpus, cpus, sizeof(cpus));
    snprintf(text, size, "rank %u on %s: bound to package %u core %u (processors %s)", rank, node,
             core->package, core->core, cpus);
    return text;
}
