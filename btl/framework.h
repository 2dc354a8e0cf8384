/* What the framework knows of an open module; for the framework's own files. */
#ifndef BTL_FRAMEWORK_H
#define BTL_FRAMEWORK_H

#include <btl/base.h>
#include <btl/map.h>

struct btl_module_entry {
    mca_btl_base_module_t *module;
    const struct btl_component *component;
    mca_btl_base_module_error_cb_fn_t error; /* NULL: errors go to the log */
    struct btl_map added;                    /* endpoints, and how often each was added */
    bool closing;                            /* nothing waits for room any more */
    bool held;                               /* by a checkpoint; see ftevent.c */
    bool shut;                               /* held, and its functions are replaced */
    mca_btl_base_module_t open_table;        /* shut: has the functions that were replaced */
    struct keel_btl_ext ext;
};

/* NULL: not open. */
struct btl_module_entry *btl_entry(const mca_btl_base_module_t *module);
struct btl_module_entry **btl_entries(size_t *count);

/* progress.c. Reads its parameters; most: components that will be added. */
int btl_progress_open(size_t most) KEEL_MUST_CHECK;
/* Every pass polls this component, or those that are due. */
void btl_progress_add(const struct btl_component *component);
void btl_progress_close(void);
/* Up the stack of the calling thread, progress runs. */
bool btl_progressing(void);
/* It runs somewhere. */
bool btl_progress_is_open(void);
/* btl_progress of the thread that holds the lock (btl/lock.h); thorough: components that are idle
 * are polled, too. */
int btl_pass_locked(bool thorough);
/* Drives the host's own work, such as cards that are on their way; returns the events. */
int btl_host_progress(void);

/* procs.c: del_procs of a module, or of one before it, would end this endpoint of its. */
bool btl_del_ends(const mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint);

/* upcall.c: forgets tags and observer; says how many messages were dropped. */
void btl_upcalls_close(void);

/* The parameters that these files read later. */
void btl_progress_register_params(void);
void btl_ext_register_params(void);
void btl_ftevent_register_params(void);
/* ext.c: fills entry->ext. */
void btl_ext_init(struct btl_module_entry *entry);
/* Whether somebody waits for room; then btl_pending_call, at the end of a pass, calls those for
 * whom there is some. Returns how many. */
extern size_t btl_pending_count;
int btl_pending_call(void);

#endif
