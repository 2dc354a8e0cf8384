/* What the framework knows of an open module; for the framework's own files. */
#ifndef BTL_FRAMEWORK_H
#define BTL_FRAMEWORK_H

#include <btl/base.h>

struct btl_module_entry {
    mca_btl_base_module_t *module;
    const struct btl_component *component;
    mca_btl_base_module_error_cb_fn_t error; /* NULL: errors go to the log */
    bool closing;                            /* nothing waits for room any more */
    bool held;                               /* by a checkpoint; see ftevent.c */
    bool shut;                               /* held, and its functions are replaced */
    mca_btl_base_module_t open_table;        /* shut: has the functions that were replaced */
    struct keel_btl_ext ext;
};

/* NULL: not open. */
struct btl_module_entry *btl_entry(const mca_btl_base_module_t *module);
struct btl_module_entry **btl_entries(size_t *count);
/* Drives the host's own work, such as cards that are on their way; returns the events. */
int btl_host_progress(void);
/* Up the stack of the calling thread, progress runs. */
bool btl_progressing(void);
/* It runs somewhere. */
bool btl_progress_is_open(void);
/* btl_progress of the thread that holds the lock (btl/lock.h); thorough: components that are idle
 * are polled, too. */
int btl_pass_locked(bool thorough);

/* The parameters that ext.c and ftevent.c read later. */
void btl_ext_register_params(void);
void btl_ftevent_register_params(void);
/* ext.c: fills entry->ext. */
void btl_ext_init(struct btl_module_entry *entry);
/* Whether somebody waits for room; then btl_pending_call, at the end of a pass, calls those for
 * whom there is some. Returns how many. */
extern size_t btl_pending_count;
int btl_pending_call(void);

#endif
