/* The open modules, and what the framework keeps of each; what its parts do when they open and
 * close. For the framework's own files. */
#ifndef BTL_ENTRY_H
#define BTL_ENTRY_H

#include <btl/modules/tap.h>

struct btl_module_entry {
    mca_btl_base_module_t *module;
    const struct btl_component *component;
    mca_btl_base_module_error_cb_fn_t error; /* NULL: errors go to the log */
    uint64_t failures, dropped;              /* for btl/framework/stats.h */
    bool closing;                            /* nothing waits for room any more */
    bool shut; /* held, and callers use ext directly, past the tap that holds: btl_ext_shut's */
    struct keel_btl_ext ext;
    struct btl_taps taps;
    struct btl_tap lock, hold; /* those that are no more than a function */
};

/* From btl_open to btl_close. One thread at a time: where several use it, it is guarded by the
 * lock. entry.c's. */
extern struct btl_open_modules {
    struct btl_module_entry **entries; /* owned; beside modules */
    mca_btl_base_module_t **modules;   /* owned */
    size_t count;
} btl_open_modules __attribute__((visibility("hidden")));

/* NULL: not open. */
static inline struct btl_module_entry *btl_entry(const mca_btl_base_module_t *module)
{
    for (size_t i = 0; i < btl_open_modules.count; i++) {
        if (btl_open_modules.modules[i] == module) {
            return btl_open_modules.entries[i];
        }
    }
    return NULL;
}
struct btl_module_entry **btl_entries(size_t *count);
/* Keeps these modules of a component, or, out of memory, none of them. */
int btl_entries_add(const struct btl_component *component, mca_btl_base_module_t **modules,
                    size_t count) KEEL_MUST_CHECK;
/* Forgets the last one, which was finalized; and all that are left. */
void btl_entries_remove_last(void);
void btl_entries_clear(void);

/* NULL: it has none. */
static inline struct btl_peers *btl_entry_peers(const struct btl_module_entry *entry)
{
    return btl_peers_of(entry->component, entry->module);
}
/* A checkpoint holds it: it takes nothing. */
static inline bool btl_entry_is_held(const struct btl_module_entry *entry)
{
    return entry->taps.at[BTL_TAP_HOLD] != NULL;
}

/* choice.c: the parameter btl, the components to open ("self,sm"), or not to open ("^tcp").
 * BAD_PARAM, with the reason: an empty or unknown name, one that stands twice, a ^ that is not the
 * first character, or nothing that would be opened. */
int btl_choice_check(const char *choice, char *reason, size_t size) KEEL_MUST_CHECK;
/* Whether a choice that was checked opens this component. */
bool btl_choice_opens(const char *choice, const struct btl_component *component);

/* ext.c, ftevent.c. btl_ext_init fills entry->ext. The component's channel_sendi is called without
 * a step between: btl_ext_shut puts one that refuses in its place. */
void btl_ext_init(struct btl_module_entry *entry);
void btl_ext_shut(struct btl_module_entry *entry, bool shut);

/* taps.c: which taps each module gets, when all are open: the lock's, where locks says that several
 * threads use the data plane, and what the parameters ask for. reason gets the text of an error. */
int btl_taps_open(bool locks, char *reason, size_t reason_size) KEEL_MUST_CHECK;

/* upcall.c: forgets tags and observer; says how many messages were dropped. */
void btl_upcalls_close(void);

#endif
