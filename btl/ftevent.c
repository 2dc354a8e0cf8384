/* btl_ft_event: a process that is about to be checkpointed, goes on, or was restarted.
 *
 * From CHECKPOINT on a module takes nothing new: its send, sendi, put, get and atomics are short,
 * as if a queue were full. What it took before is brought to its end by progress, as far as that
 * goes within a time, and what peers send still goes up. */
#include <config.h>

#include <base/clock.h>
#include <base/log.h>
#include <base/param.h>
#include <btl/framework.h>
#include <btl/guard.h>
#include <btl/layer.h>
#include <btl/lock.h>
#include <btl/thread.h>
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

static int held_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag)
{
    (void) btl, (void) endpoint, (void) descriptor, (void) tag;
    return OPAL_ERR_OUT_OF_RESOURCE;
}

static int held_sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      opal_convertor_t *convertor, void *header, size_t header_size,
                      size_t payload_size, uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                      mca_btl_base_descriptor_t **descriptor)
{
    (void) btl, (void) endpoint, (void) convertor, (void) header, (void) header_size;
    (void) payload_size, (void) order, (void) flags, (void) tag;
    if (descriptor) {
        *descriptor = NULL;
    }
    return OPAL_ERR_OUT_OF_RESOURCE;
}

static int held_rdma(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     void *local_address, uint64_t remote_address,
                     mca_btl_base_registration_handle_t *local_handle,
                     mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                     int order, mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext,
                     void *cbdata)
{
    (void) btl, (void) endpoint, (void) local_address, (void) remote_address, (void) local_handle;
    (void) remote_handle, (void) size, (void) flags, (void) order;
    (void) cbfunc, (void) cbcontext, (void) cbdata;
    return OPAL_ERR_OUT_OF_RESOURCE;
}

static int held_op(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                   uint64_t remote_address, mca_btl_base_registration_handle_t *remote_handle,
                   mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                   mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    (void) btl, (void) endpoint, (void) remote_address, (void) remote_handle, (void) op;
    (void) operand, (void) flags, (void) order, (void) cbfunc, (void) cbcontext, (void) cbdata;
    return OPAL_ERR_OUT_OF_RESOURCE;
}

static int held_fop(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    void *local_address, uint64_t remote_address,
                    mca_btl_base_registration_handle_t *local_handle,
                    mca_btl_base_registration_handle_t *remote_handle, mca_btl_base_atomic_op_t op,
                    uint64_t operand, int flags, int order,
                    mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    (void) local_address, (void) local_handle;
    return held_op(btl, endpoint, remote_address, remote_handle, op, operand, flags, order, cbfunc,
                   cbcontext, cbdata);
}

static int held_cswap(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      void *local_address, uint64_t remote_address,
                      mca_btl_base_registration_handle_t *local_handle,
                      mca_btl_base_registration_handle_t *remote_handle, uint64_t compare,
                      uint64_t value, int flags, int order,
                      mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    (void) local_address, (void) local_handle, (void) compare;
    return held_op(btl, endpoint, remote_address, remote_handle, 0, value, flags, order, cbfunc,
                   cbcontext, cbdata);
}

/* The functions are put aside, so that a module that is not held pays nothing. */
static void shut(struct btl_module_entry *entry)
{
    mca_btl_base_module_t *module = btl_guard_table(entry->module);
    if (entry->shut) {
        return;
    }
    entry->shut = true;
    entry->open_table = *module;
    module->btl_send = held_send;
    module->btl_sendi = held_sendi;
    module->btl_put = held_rdma;
    module->btl_get = held_rdma;
    module->btl_atomic_op = held_op;
    module->btl_atomic_fop = held_fop;
    module->btl_atomic_cswap = held_cswap;
}

/* Calls that a layer before the module keeps back were accepted, and go to it yet: then it is the
 * layer that takes nothing new, and the module is shut when that has nothing left. */
static void hold(struct btl_module_entry *entry)
{
    entry->held = true;
    btl_layers_hold(entry->module, true);
    if (btl_layers_quiet(entry->module)) {
        shut(entry);
    }
}

static void resume(struct btl_module_entry *entry)
{
    mca_btl_base_module_t *module = btl_guard_table(entry->module);
    const mca_btl_base_module_t *table = &entry->open_table;
    entry->held = false;
    btl_layers_hold(entry->module, false);
    if (!entry->shut) {
        return;
    }
    entry->shut = false;
    module->btl_send = table->btl_send;
    module->btl_sendi = table->btl_sendi;
    module->btl_put = table->btl_put;
    module->btl_get = table->btl_get;
    module->btl_atomic_op = table->btl_atomic_op;
    module->btl_atomic_fop = table->btl_atomic_fop;
    module->btl_atomic_cswap = table->btl_atomic_cswap;
}

/* --- the states --- */

static bool is_quiet(struct btl_module_entry *entry)
{
    if (!entry->shut && btl_layers_quiet(entry->module)) {
        shut(entry);
    }
    return entry->shut && entry->component->ext->is_quiet(entry->module);
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
    btl_layers_drained(entry->module);
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
        shut(entry);
        btl_layers_end(entry->module);
        status = restart ? restart(module) : OPAL_SUCCESS;
        if (restart && status == OPAL_SUCCESS) {
            btl_layers_drained(entry->module);
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
    btl_thread_stir(); /* the descriptors it sleeps on may be others now */
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
