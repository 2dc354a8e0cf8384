#include <config.h>

#include <btl/guard.h>
#include <btl/lock.h>
#include <btl/thread.h>
#include <stdlib.h>

/* A guarded module. None is added or removed while a second thread may call. */
struct guard {
    mca_btl_base_module_t *module; /* borrowed */
    mca_btl_base_module_t own;     /* its functions, as they were; guarded by the lock */
    const struct keel_btl_ext *own_ext;
    struct keel_btl_ext ext;
};

static struct guard *guards; /* owned */
static size_t guard_count;

static struct guard *find(const mca_btl_base_module_t *module)
{
    struct guard *guard = guards, *end = guards + guard_count;
    while (guard < end && guard->module != module) {
        guard++;
    }
    return guard < end ? guard : NULL;
}

/* Takes the lock; the functions may be called until leave. */
static const mca_btl_base_module_t *enter(const mca_btl_base_module_t *module)
{
    btl_lock_take();
    return &find(module)->own;
}

/* After a call that may leave work for progress. */
static void leave(void)
{
    btl_thread_stir();
    btl_lock_drop();
}

/* ---- the table ---- */

static int guarded_add_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                             struct mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable)
{
    int status = enter(btl)->btl_add_procs(btl, count, procs, endpoints, reachable);
    leave();
    return status;
}

static int guarded_del_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                             struct mca_btl_base_endpoint_t **endpoints)
{
    int status = enter(btl)->btl_del_procs(btl, count, procs, endpoints);
    leave();
    return status;
}

static int guarded_register(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                            mca_btl_base_module_recv_cb_fn_t cbfunc, void *cbdata)
{
    int status = enter(btl)->btl_register(btl, tag, cbfunc, cbdata);
    btl_lock_drop();
    return status;
}

static int guarded_register_error(mca_btl_base_module_t *btl,
                                  mca_btl_base_module_error_cb_fn_t cbfunc)
{
    int status = enter(btl)->btl_register_error(btl, cbfunc);
    btl_lock_drop();
    return status;
}

static int guarded_finalize(mca_btl_base_module_t *btl)
{
    int status = enter(btl)->btl_finalize(btl);
    btl_lock_drop();
    return status;
}

static void guarded_dump(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                         int verbose)
{
    enter(btl)->btl_dump(btl, endpoint, verbose);
    btl_lock_drop();
}

static mca_btl_base_descriptor_t *guarded_alloc(mca_btl_base_module_t *btl,
                                                struct mca_btl_base_endpoint_t *endpoint,
                                                uint8_t order, size_t size, uint32_t flags)
{
    mca_btl_base_descriptor_t *made = enter(btl)->btl_alloc(btl, endpoint, order, size, flags);
    btl_lock_drop();
    return made;
}

static int guarded_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor)
{
    int status = enter(btl)->btl_free(btl, descriptor);
    leave(); /* somebody may wait for a descriptor */
    return status;
}

static mca_btl_base_descriptor_t *guarded_prepare(mca_btl_base_module_t *btl,
                                                  struct mca_btl_base_endpoint_t *endpoint,
                                                  opal_convertor_t *convertor, uint8_t order,
                                                  size_t reserve, size_t *size, uint32_t flags)
{
    mca_btl_base_descriptor_t *made =
        enter(btl)->btl_prepare_src(btl, endpoint, convertor, order, reserve, size, flags);
    btl_lock_drop();
    return made;
}

static int guarded_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                        mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag)
{
    int status = enter(btl)->btl_send(btl, endpoint, descriptor, tag);
    leave();
    return status;
}

static int guarded_sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                         opal_convertor_t *convertor, void *header, size_t header_size,
                         size_t payload_size, uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                         mca_btl_base_descriptor_t **descriptor)
{
    int status = enter(btl)->btl_sendi(btl, endpoint, convertor, header, header_size, payload_size,
                                       order, flags, tag, descriptor);
    leave();
    return status;
}

static int guarded_put(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                       void *local_address, uint64_t remote_address,
                       mca_btl_base_registration_handle_t *local_handle,
                       mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                       int order, mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext,
                       void *cbdata)
{
    int status = enter(btl)->btl_put(btl, endpoint, local_address, remote_address, local_handle,
                                     remote_handle, size, flags, order, cbfunc, cbcontext, cbdata);
    leave();
    return status;
}

static int guarded_get(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                       void *local_address, uint64_t remote_address,
                       mca_btl_base_registration_handle_t *local_handle,
                       mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                       int order, mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext,
                       void *cbdata)
{
    int status = enter(btl)->btl_get(btl, endpoint, local_address, remote_address, local_handle,
                                     remote_handle, size, flags, order, cbfunc, cbcontext, cbdata);
    leave();
    return status;
}

static int guarded_op(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      uint64_t remote_address, mca_btl_base_registration_handle_t *remote_handle,
                      mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                      mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    int status = enter(btl)->btl_atomic_op(btl, endpoint, remote_address, remote_handle, op,
                                           operand, flags, order, cbfunc, cbcontext, cbdata);
    leave();
    return status;
}

static int guarded_fop(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                       void *local_address, uint64_t remote_address,
                       mca_btl_base_registration_handle_t *local_handle,
                       mca_btl_base_registration_handle_t *remote_handle,
                       mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                       mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    int status = enter(btl)->btl_atomic_fop(btl, endpoint, local_address, remote_address,
                                            local_handle, remote_handle, op, operand, flags, order,
                                            cbfunc, cbcontext, cbdata);
    leave();
    return status;
}

static int guarded_cswap(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                         void *local_address, uint64_t remote_address,
                         mca_btl_base_registration_handle_t *local_handle,
                         mca_btl_base_registration_handle_t *remote_handle, uint64_t compare,
                         uint64_t value, int flags, int order,
                         mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    int status = enter(btl)->btl_atomic_cswap(btl, endpoint, local_address, remote_address,
                                              local_handle, remote_handle, compare, value, flags,
                                              order, cbfunc, cbcontext, cbdata);
    leave();
    return status;
}

static mca_btl_base_registration_handle_t *
guarded_register_mem(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     void *base, size_t size, uint32_t flags)
{
    mca_btl_base_registration_handle_t *handle =
        enter(btl)->btl_register_mem(btl, endpoint, base, size, flags);
    btl_lock_drop();
    return handle;
}

static int guarded_deregister_mem(mca_btl_base_module_t *btl,
                                  mca_btl_base_registration_handle_t *handle)
{
    int status = enter(btl)->btl_deregister_mem(btl, handle);
    btl_lock_drop();
    return status;
}

/* ---- the extension ---- */

static const struct keel_btl_ext *enter_ext(const mca_btl_base_module_t *module)
{
    btl_lock_take();
    return find(module)->own_ext;
}

static int guarded_flush(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint)
{
    int status = enter_ext(btl)->flush(btl, endpoint);
    leave();
    return status;
}

static int guarded_pending_add(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                               struct keel_btl_pending *pending)
{
    int status = enter_ext(btl)->pending_add(btl, endpoint, pending);
    leave();
    return status;
}

static int guarded_pending_remove(mca_btl_base_module_t *btl, struct keel_btl_pending *pending)
{
    int status = enter_ext(btl)->pending_remove(btl, pending);
    btl_lock_drop();
    return status;
}

/* The progress thread sleeps on it; two sleepers would take each other's news away. */
static int guarded_wait_fd(mca_btl_base_module_t *btl)
{
    if (btl_thread_runs()) {
        return OPAL_ERR_NOT_SUPPORTED;
    }
    int fd = enter_ext(btl)->wait_fd(btl);
    btl_lock_drop();
    return fd;
}

static int guarded_wait_arm(mca_btl_base_module_t *btl)
{
    if (btl_thread_runs()) {
        return OPAL_ERR_NOT_SUPPORTED;
    }
    int status = enter_ext(btl)->wait_arm(btl);
    btl_lock_drop();
    return status;
}

static int guarded_channel_register(mca_btl_base_module_t *btl, uint8_t channel,
                                    mca_btl_base_module_recv_cb_fn_t cbfunc, void *cbdata)
{
    int status = enter_ext(btl)->channel_register(btl, channel, cbfunc, cbdata);
    btl_lock_drop();
    return status;
}

static int guarded_channel_send(mca_btl_base_module_t *btl,
                                struct mca_btl_base_endpoint_t *endpoint,
                                mca_btl_base_descriptor_t *descriptor, uint8_t channel,
                                mca_btl_base_tag_t tag)
{
    int status = enter_ext(btl)->channel_send(btl, endpoint, descriptor, channel, tag);
    leave();
    return status;
}

static int guarded_channel_sendi(mca_btl_base_module_t *btl,
                                 struct mca_btl_base_endpoint_t *endpoint,
                                 opal_convertor_t *convertor, void *header, size_t header_size,
                                 size_t payload_size, uint8_t order, uint32_t flags,
                                 uint8_t channel, mca_btl_base_tag_t tag,
                                 mca_btl_base_descriptor_t **descriptor)
{
    int status =
        enter_ext(btl)->channel_sendi(btl, endpoint, convertor, header, header_size, payload_size,
                                      order, flags, channel, tag, descriptor);
    leave();
    return status;
}

/* ---- which modules ---- */

static void guard_table(mca_btl_base_module_t *module)
{
    module->btl_add_procs = guarded_add_procs;
    module->btl_del_procs = guarded_del_procs;
    module->btl_register = guarded_register;
    module->btl_finalize = guarded_finalize;
    module->btl_alloc = guarded_alloc;
    module->btl_free = guarded_free;
    module->btl_prepare_src = guarded_prepare;
    module->btl_send = guarded_send;
    module->btl_sendi = guarded_sendi;
    module->btl_put = guarded_put;
    module->btl_get = guarded_get;
    module->btl_dump = guarded_dump;
    module->btl_atomic_op = guarded_op;
    module->btl_atomic_fop = guarded_fop;
    module->btl_atomic_cswap = guarded_cswap;
    module->btl_register_mem = module->btl_register_mem ? guarded_register_mem : NULL;
    module->btl_deregister_mem = module->btl_deregister_mem ? guarded_deregister_mem : NULL;
    module->btl_register_error = guarded_register_error;
    /* btl_ft_event is told no module: btl_module_ft_event takes the lock */
}

int btl_guards_add(mca_btl_base_module_t **modules, size_t count)
{
    guards = calloc(count, sizeof(*guards));
    if (!guards) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (size_t i = 0; i < count; i++) {
        struct guard *guard = &guards[i];
        guard->module = modules[i];
        guard->own = *modules[i];
        guard->own_ext = keel_btl_ext(modules[i]);
        if (guard->own_ext) {
            guard->ext = (struct keel_btl_ext){
                .flags = guard->own_ext->flags,
                .atomic_flags = guard->own_ext->atomic_flags,
                .flush = guarded_flush,
                .pending_add = guarded_pending_add,
                .pending_remove = guarded_pending_remove,
                .wait_fd = guarded_wait_fd,
                .wait_arm = guarded_wait_arm,
                .channel_register = guarded_channel_register,
                .channel_send = guarded_channel_send,
                .channel_sendi = guarded_channel_sendi,
            };
        }
        guard_table(modules[i]);
    }
    guard_count = count;
    return ORTE_SUCCESS;
}

void btl_guards_remove(void)
{
    free(guards);
    guards = NULL;
    guard_count = 0;
}

mca_btl_base_module_t *btl_guard_table(mca_btl_base_module_t *module)
{
    struct guard *guard = find(module);
    return guard ? &guard->own : module;
}

const struct keel_btl_ext *btl_guard_ext(const mca_btl_base_module_t *module)
{
    const struct guard *guard = find(module);
    return guard && guard->own_ext ? &guard->ext : NULL;
}
