/* The open modules, and what the framework keeps of each; for the framework's own files. */
#ifndef BTL_ENTRY_H
#define BTL_ENTRY_H

#include <btl/tap.h>

struct btl_module_entry {
    mca_btl_base_module_t *module;
    const struct btl_component *component;
    mca_btl_base_module_error_cb_fn_t error; /* NULL: errors go to the log */
    uint64_t failures, dropped;              /* for btl/stats.h */
    bool closing;                            /* nothing waits for room any more */
    struct keel_btl_ext ext;
    struct btl_taps taps;
    struct btl_tap lock, hold; /* those that are no more than a function */
};

/* NULL: not open. */
struct btl_module_entry *btl_entry(const mca_btl_base_module_t *module);
struct btl_module_entry **btl_entries(size_t *count);
/* Keeps these modules of a component, or, out of memory, none of them. */
int btl_entries_add(const struct btl_component *component, mca_btl_base_module_t **modules,
                    size_t count) KEEL_MUST_CHECK;
/* Forgets them all, which were finalized. */
void btl_entries_clear(void);

/* NULL: it has none. */
static inline struct btl_peers *btl_entry_peers(const struct btl_module_entry *entry)
{
    return entry->component->peers ? entry->component->peers(entry->module) : NULL;
}
/* A checkpoint holds it: it takes nothing. */
static inline bool btl_entry_is_held(const struct btl_module_entry *entry)
{
    return entry->taps.at[BTL_TAP_HOLD] != NULL;
}

#endif
