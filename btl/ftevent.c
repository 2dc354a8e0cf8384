/* btl_ft_event: a process that is about to be checkpointed, goes on, or was restarted.
 *
 * From CHECKPOINT on a module takes nothing new: its send, sendi, put, get and atomics are short,
 * as if a queue were full. What it took before is brought to its end by progress, as far as that
 * goes within a time, and what peers send still goes up. */
#include <config.h>

#include <base/clock.h>
#include <base/log.h>
#include <base/param.h>
#include <btl/entry.h>
#include <btl/ftevent.h>
#include <btl/lock.h>
#include <btl/progress.h>
#include <btl/wake.h>
#include <stdio.h>

static struct param quiesce_timeout = {
    .name = "btl_base_quiesce_timeout_ms",
    .type = PARAM_INT,
    .default_text = "5000",
    .min = 0,
    .max = 3600000,
    .unit = "ms",
    .help = "How long a checkpoint waits for what is in flight",
};

void btl_ftevent_register_params(void)
{
    param_register(&quiesce_timeout);
}

/* --- holding --- */

static void refuse(struct btl_tap *tap, struct btl_call *call)
{
    if (call->slot < BTL_SEND || call->slot > BTL_ATOMIC_CSWAP) {
        btl_tap_next(tap, call);
    }
}

static const struct btl_tap_ops hold_ops = {.place = BTL_TAP_HOLD, .call = refuse};

/* What a tap behind this one keeps back was accepted, and goes to the module yet. */
static void hold(struct btl_module_entry *entry)
{
    if (!btl_entry_is_held(entry)) {
        entry->hold.ops = &hold_ops;
        btl_tap_add(&entry->taps, &entry->hold);
    }
}

static void resume(struct btl_module_entry *entry)
{
    if (btl_entry_is_held(entry)) {
        btl_tap_remove(&entry->hold);
    }
}

/* --- the states --- */

static bool is_quiet(const struct btl_module_entry *entry)
{
    return btl_taps_quiet(&entry->taps) && entry->component->ext->is_quiet(entry->module);
}

/* Progress until the module has nothing under way. TIMEOUT: it still has. */
static int drain(struct btl_module_entry *entry)
{
    uint64_t deadline = clock_us() + (uint64_t) param_int(&quiesce_timeout) * 1000u;
    while (!is_quiet(entry)) {
        btl_progress();
        btl_host_progress();
        if (clock_us() >= deadline) {
            log_info(LOG_BTL, "%s: messages or operations are under way at the checkpoint",
                     btl_component_name(&entry->component->component));
            return OPAL_ERR_TIMEOUT;
        }
    }
    btl_taps_drained(&entry->taps);
    return OPAL_SUCCESS;
}

static int module_ft_event(mca_btl_base_module_t *module, int state,
                           int (*restart)(mca_btl_base_module_t *module))
{
    struct btl_module_entry *entry = module ? btl_entry(module) : NULL;
    if (state < OPAL_CRS_NONE || state > OPAL_CRS_ERROR) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (!entry) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    if (btl_progressing()) {
        return OPAL_ERR_RESOURCE_BUSY;
    }
    int status = OPAL_SUCCESS;
    switch (state) {
    case OPAL_CRS_CHECKPOINT:
        hold(entry);
        return drain(entry);
    case OPAL_CRS_RESTART:
        hold(entry); /* its callbacks are not to use it before it is whole again */
        btl_taps_end(&entry->taps);
        status = restart ? restart(module) : OPAL_SUCCESS;
        if (restart && status == OPAL_SUCCESS) {
            btl_taps_drained(&entry->taps);
        }
        resume(entry);
        return status;
    case OPAL_CRS_CONTINUE:
    case OPAL_CRS_RUNNING:
    case OPAL_CRS_ERROR:
        resume(entry);
        return OPAL_SUCCESS;
    default:
        return OPAL_SUCCESS;
    }
}

int btl_module_ft_event(mca_btl_base_module_t *module, int state,
                        int (*restart)(mca_btl_base_module_t *module))
{
    btl_lock();
    int status = module_ft_event(module, state, restart);
    btl_wake_stir(); /* the descriptors it sleeps on may be others now */
    btl_unlock();
    return status;
}

int btl_ft_event(int state)
{
    int first = OPAL_SUCCESS;
    size_t count = 0;
    struct btl_module_entry **entries = btl_entries(&count);
    btl_lock();
    if (state == OPAL_CRS_CHECKPOINT) {
        for (size_t i = 0; i < count; i++) {
            hold(entries[i]); /* all, before the first is drained */
        }
    }
    for (size_t i = 0; i < count; i++) {
        int status = entries[i]->module->btl_ft_event(state);
        first = first == OPAL_SUCCESS ? status : first;
    }
    btl_unlock();
    return first;
}
