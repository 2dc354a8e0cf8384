#include <config.h>

#include <base/data/array.h>
#include <launcher/map/mapping.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int mapping_fail(struct mapping *mapping, int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(mapping->reason, mapping->reason_size, format, arguments);
    va_end(arguments);
    return status;
}

int mapping_unknown(struct mapping *mapping, uint32_t node)
{
    return mapping_fail(mapping, ORTE_ERR_NOT_AVAILABLE, "the processors of node %s are not known",
                        mapping->plan->nodes[node].name);
}

int mapping_add(struct mapping *mapping, uint32_t app, uint32_t node, uint32_t object, char *cpus)
{
    if (!array_add(&mapping->places, mapping->count, sizeof(*mapping->places))) {
        free(cpus);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    mapping->places[mapping->count++] = (struct place){
        .app = app,
        .node = node,
        .turn = mapping->nodes[node].turn,
        .object = object,
        .cpus = cpus,
    };
    mapping->nodes[node].placed++;
    mapping->nodes[node].of_app++;
    if (mapping->nodes[node].load) {
        mapping->nodes[node].load[object]++;
    }
    return ORTE_SUCCESS;
}
