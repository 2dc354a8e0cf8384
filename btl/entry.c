#include <config.h>

#include <btl/entry.h>
#include <stdlib.h>
#include <string.h>

/* From btl_open to btl_close. One thread at a time: where several use it, it is guarded by the
 * lock. */
static struct {
    struct btl_module_entry **entries; /* owned; beside modules */
    mca_btl_base_module_t **modules;   /* owned */
    size_t count;
} open;

struct btl_module_entry **btl_entries(size_t *count)
{
    *count = open.count;
    return open.entries;
}

mca_btl_base_module_t **btl_modules(size_t *count)
{
    *count = open.count;
    return open.modules;
}

struct btl_module_entry *btl_entry(const mca_btl_base_module_t *module)
{
    for (size_t i = 0; i < open.count; i++) {
        if (open.modules[i] == module) {
            return open.entries[i];
        }
    }
    return NULL;
}

static bool make_room(size_t total)
{
    struct btl_module_entry **entries =
        realloc(open.entries, total * sizeof(struct btl_module_entry *));
    if (entries) {
        open.entries = entries;
    }
    mca_btl_base_module_t **modules = realloc(open.modules, total * sizeof(*modules));
    if (modules) {
        open.modules = modules;
    }
    return entries && modules;
}

int btl_entries_add(const struct btl_component *component, mca_btl_base_module_t **modules,
                    size_t count)
{
    if (!make_room(open.count + count)) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (size_t i = 0; i < count; i++) {
        struct btl_module_entry *entry = calloc(1, sizeof(*entry));
        if (!entry) {
            while (i-- > 0) {
                free(open.entries[--open.count]);
            }
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
        entry->module = modules[i];
        entry->component = component;
        open.entries[open.count] = entry;
        open.modules[open.count++] = modules[i];
    }
    return ORTE_SUCCESS;
}

void btl_entries_clear(void)
{
    for (size_t i = 0; i < open.count; i++) {
        free(open.entries[i]);
    }
    free(open.entries);
    free(open.modules);
    memset(&open, 0, sizeof(open));
}
