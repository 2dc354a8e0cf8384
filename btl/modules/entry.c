#include <config.h>

#include <base/data/array.h>
#include <btl/modules/entry.h>
#include <stdlib.h>
#include <string.h>

struct btl_open_modules btl_open_modules;

struct btl_module_entry **btl_entries(size_t *count)
{
    *count = btl_open_modules.count;
    return btl_open_modules.entries;
}

mca_btl_base_module_t **btl_modules(size_t *count)
{
    *count = btl_open_modules.count;
    return btl_open_modules.modules;
}

static bool make_room(size_t total)
{
    return array_resize(&btl_open_modules.entries, total, sizeof(struct btl_module_entry *)) &&
           array_resize(&btl_open_modules.modules, total, sizeof(mca_btl_base_module_t *));
}

void btl_entries_remove_last(void)
{
    free(btl_open_modules.entries[--btl_open_modules.count]);
}

int btl_entries_add(const struct btl_component *component, mca_btl_base_module_t **modules,
                    size_t count)
{
    if (!make_room(btl_open_modules.count + count)) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (size_t i = 0; i < count; i++) {
        struct btl_module_entry *entry = calloc(1, sizeof(*entry));
        if (!entry) {
            while (i-- > 0) {
                btl_entries_remove_last();
            }
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
        entry->module = modules[i];
        entry->component = component;
        btl_open_modules.entries[btl_open_modules.count] = entry;
        btl_open_modules.modules[btl_open_modules.count++] = modules[i];
    }
    return ORTE_SUCCESS;
}

void btl_entries_clear(void)
{
    while (btl_open_modules.count > 0) {
        btl_entries_remove_last();
    }
    free(btl_open_modules.entries);
    free(btl_open_modules.modules);
    memset(&btl_open_modules, 0, sizeof(btl_open_modules));
}
