/* btl_ft_event: a process that is about to be checkpointed, goes on, or was restarted.
 *
 * From CHECKPOINT on a module takes nothing new: its send, sendi, put, get and atomics are short,
 * as if a queue were full. What it took before is brought to its end by progress, as far as that
 * goes within a time, and what peers send still goes up. */
#include <config.h>

#include <base/data/clock.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <btl/lock/lock.h>
#include <btl/lock/wake.h>
#include <btl/modules/entry.h>
#include <btl/progress/progress.h>

static struct param quiesce_timeout =
    PARAM_INT("btl_base_quiesce_timeout_ms", "5000", 0, 3600000, "ms",
              "How long a checkpoint waits for what is in flight");
PARAM_ROWS("btl", quiesce_timeout);

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
        btl_ext_shut(entry, !btl_taps_ext(entry->module));
        btl_tap_add(&entry->taps, &entry->hold);
    }
}

static void resume(struct btl_module_entry *entry)
{
    if (btl_entry_is_held(entry)) {
        btl_tap_remove(&entry->hold);
        btl_ext_shut(entry, false);
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
                     btl_module_name(entry->module));
            return OPAL_ERR_TIMEOUT;
        }
    }
    btl_taps_drained(&entry->taps);
    return OPAL_SUCCESS;
}

static int restart(struct btl_module_entry *entry)
{
    int (*opens_anew)(mca_btl_base_module_t * module) = entry->component->restart;
    btl_taps_end(&entry->taps);
    int status = opens_anew ? opens_anew(entry->module) : OPAL_SUCCESS;
    if (opens_anew && status == OPAL_SUCCESS) {
        btl_taps_drained(&entry->taps);
    }
    resume(entry);
    return status;
}

static int module_ft_event(struct btl_module_entry *entry, int state)
{
    switch (state) {
    case OPAL_CRS_CHECKPOINT:
        return drain(entry);
    case OPAL_CRS_RESTART:
        return restart(entry);
    case OPAL_CRS_CONTINUE:
    case OPAL_CRS_RUNNING:
    case OPAL_CRS_ERROR:
        resume(entry);
        return OPAL_SUCCESS;
    default:
        return OPAL_SUCCESS;
    }
}

/* All are held before the first is drained or restarted: callbacks are not to use any before it is
 * whole again. component NULL: every one's modules. */
static int modules_ft_event(const struct btl_component *component, int state)
{
    bool holds = state == OPAL_CRS_CHECKPOINT || state == OPAL_CRS_RESTART;
    size_t count, found = 0;
    struct btl_module_entry **entries = btl_entries(&count);
    int first = OPAL_SUCCESS;
    for (size_t i = 0; i < count; i++) {
        if (holds && (!component || entries[i]->component == component)) {
            hold(entries[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!component || entries[i]->component == component) {
            int status = module_ft_event(entries[i], state);
            first = first == OPAL_SUCCESS ? status : first;
            found++;
        }
    }
    return found > 0 ? first : OPAL_ERR_NOT_AVAILABLE;
}

int btl_component_ft_event(const struct btl_component *component, int state)
{
    if (state < OPAL_CRS_NONE || state > OPAL_CRS_ERROR) {
        return OPAL_ERR_BAD_PARAM;
    }
    btl_lock();
    int status = btl_progressing() || btl_calls_back() ? OPAL_ERR_RESOURCE_BUSY
                                                       : modules_ft_event(component, state);
    btl_wake_stir(); /* the descriptors it sleeps on may be others now */
    btl_unlock();
    return status;
}

int btl_ft_event(int state)
{
    return btl_component_ft_event(NULL, state);
}
