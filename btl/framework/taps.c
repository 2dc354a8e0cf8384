#include <config.h>

#include <btl/check/check.h>
#include <btl/fault/fault.h>
#include <btl/framework/stats.h>
#include <btl/lock/lock.h>
#include <btl/lock/wake.h>
#include <btl/modules/entry.h>
#include <btl/progress/thread.h>
#include <stdio.h>

/* Each makes no tap, with ORTE_SUCCESS, when no parameter asks for it. */
static int (*const makers[])(mca_btl_base_module_t *module, struct btl_tap **tap) = {
    btl_stats_tap_create, check_tap_create, fault_tap_create};
enum { MAKERS = sizeof(makers) / sizeof(*makers) };

/* Whether a call may leave work for progress, which a sleeping progress thread has to see. */
static bool leaves_work(enum btl_slot slot)
{
    switch (slot) {
    case BTL_ADD_PROCS:
    case BTL_DEL_PROCS:
    case BTL_FREE: /* somebody may wait for a descriptor */
    case BTL_FLUSH:
    case BTL_PENDING_ADD:
        return true;
    default:
        return slot >= BTL_SEND && slot <= BTL_ATOMIC_CSWAP;
    }
}

static void call_locked(struct btl_tap *tap, struct btl_call *call)
{
    /* The progress thread sleeps on it; two sleepers would take each other's news away. */
    if ((call->slot == BTL_WAIT_FD || call->slot == BTL_WAIT_ARM) && btl_thread_runs()) {
        call->status = OPAL_ERR_NOT_SUPPORTED;
        return;
    }
    btl_lock_take();
    btl_tap_next(tap, call);
    if (leaves_work(call->slot)) {
        btl_wake_stir();
    }
    btl_lock_drop();
}

static const struct btl_tap_ops lock_ops = {.place = BTL_TAP_LOCK, .call = call_locked};

/* All are made before the first is added: they look at the module's own table. */
static int entry_open(struct btl_module_entry *entry, bool locks)
{
    struct btl_tap *made[MAKERS] = {NULL};
    int status = ORTE_SUCCESS;
    btl_taps_init(&entry->taps, entry->module, entry->component->ext ? &entry->ext : NULL);
    for (size_t i = 0; i < MAKERS && status == ORTE_SUCCESS; i++) {
        status = makers[i](entry->module, &made[i]);
    }
    for (size_t i = 0; i < MAKERS; i++) {
        if (made[i]) {
            btl_tap_add(&entry->taps, made[i]);
        }
    }
    if (locks && status == ORTE_SUCCESS) {
        entry->lock.ops = &lock_ops;
        btl_tap_add(&entry->taps, &entry->lock);
    }
    return status;
}

int btl_taps_open(bool locks, char *reason, size_t reason_size)
{
    size_t count;
    struct btl_module_entry **entries = btl_entries(&count);
    int status = ORTE_SUCCESS;
    for (size_t i = 0; i < count && status == ORTE_SUCCESS; i++) {
        status = entry_open(entries[i], locks);
        if (status != ORTE_SUCCESS) {
            snprintf(reason, reason_size, "no memory to watch over module %s",
                     btl_module_name(entries[i]->module));
        }
    }
    return status;
}
