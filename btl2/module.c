/* The 2.0 modules: one for each module of the data plane, from the first call that asks for them
 * until the data plane closes. */
#include <config.h>

#include <btl/interface/base.h>
#include <btl/lock/lock.h>
#include <btl/plane/plane.h>
#include <btl2/adapter.h>
#include <stdlib.h>
#include <string.h>

static struct {
    mca_btl2_base_module_t **modules; /* owned, as each of them */
    size_t count;
} adapter;

struct btl2_module *btl2_module_of(const mca_btl_base_module_t *btl)
{
    for (size_t i = 0; i < adapter.count; i++) {
        struct btl2_module *module = btl2_of(adapter.modules[i]);
        if (module->btl == btl) {
            return module;
        }
    }
    return NULL;
}

/* ---- what goes straight to 3.0 ---- */

static int add_procs(mca_btl2_base_module_t *btl, size_t count, struct ompi_proc_t **procs,
                     struct mca_btl2_base_endpoint_t **endpoints, opal_bitmap_t *reachable)
{
    mca_btl_base_module_t *inner = btl2_of(btl)->btl;
    return inner->btl_add_procs(inner, count, (opal_proc_t **) (void *) procs,
                                (struct mca_btl_base_endpoint_t **) (void *) endpoints, reachable);
}

static int del_procs(mca_btl2_base_module_t *btl, size_t count, struct ompi_proc_t **procs,
                     struct mca_btl2_base_endpoint_t **endpoints)
{
    mca_btl_base_module_t *inner = btl2_of(btl)->btl;
    return inner->btl_del_procs(inner, count, (opal_proc_t **) (void *) procs,
                                (struct mca_btl_base_endpoint_t **) (void *) endpoints);
}

static void dump(mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
                 int verbose)
{
    mca_btl_base_module_t *inner = btl2_of(btl)->btl;
    inner->btl_dump(inner, btl2_inner(endpoint), verbose);
}

/* ---- errors ---- */

static void failed(mca_btl_base_module_t *btl, int32_t flags, opal_proc_t *proc, char *text)
{
    struct btl2_module *module = btl2_module_of(btl);
    const int32_t known = MCA_BTL2_ERROR_FLAGS_FATAL | MCA_BTL2_ERROR_FLAGS_NONFATAL;

    if (module && module->error) {
        module->error(&module->super, flags & known, (struct ompi_proc_t *) (void *) proc, text);
    }
}

static int register_error(mca_btl2_base_module_t *btl, mca_btl2_base_module_error_cb_fn_t cbfunc)
{
    struct btl2_module *module = btl2_of(btl);

    btl_lock();
    int status = module->btl->btl_register_error(module->btl, cbfunc ? failed : NULL);
    if (status == OPAL_SUCCESS) {
        module->error = cbfunc;
    }
    btl_unlock();
    return status;
}

/* Keel ends the module itself, with the one of 3.0; what a program has set is taken back. */
static int finalize(mca_btl2_base_module_t *btl)
{
    return btl2_of(btl)->error ? register_error(btl, NULL) : OPAL_SUCCESS;
}

/* ---- their life ---- */

/* What 2.0 knows. Memory at any address, or none at all: what it accesses is not aligned for it. */
static uint32_t flags_of(const mca_btl_base_module_t *btl)
{
    uint32_t known = (MCA_BTL2_FLAGS_CUDA_GET << 1) - 1;

    if (!btl->btl_register_mem || btl->btl_put_alignment > 1) {
        known &= ~(uint32_t) MCA_BTL2_FLAGS_PUT;
    }
    if (!btl->btl_register_mem || btl->btl_get_alignment > 1) {
        known &= ~(uint32_t) MCA_BTL2_FLAGS_GET;
    }
    return btl->btl_flags & known;
}

static void component_init(mca_btl2_base_component_t *component,
                           const mca_btl_base_component_t *inner)
{
    *component = (mca_btl2_base_component_t){
        .btl_version = inner->btl_version,
        .btl_progress = inner->btl_progress,
    };
    component->btl_version.mca_type_major_version = 2;
    component->btl_version.mca_type_minor_version = 0;
    component->btl_version.mca_type_release_version = 0;
}

static void table_init(struct btl2_module *module)
{
    const mca_btl_base_module_t *btl = module->btl;
    module->super = (mca_btl2_base_module_t){
        .btl_component = &module->component,
        .btl_eager_limit = btl->btl_eager_limit,
        .btl_rndv_eager_limit = btl->btl_rndv_eager_limit,
        .btl_max_send_size = btl->btl_max_send_size,
        .btl_rdma_pipeline_send_length = btl->btl_rdma_pipeline_send_length,
        .btl_rdma_pipeline_frag_size = btl->btl_rdma_pipeline_frag_size,
        .btl_min_rdma_pipeline_size = btl->btl_min_rdma_pipeline_size,
        .btl_exclusivity = btl->btl_exclusivity,
        .btl_latency = btl->btl_latency,
        .btl_bandwidth = btl->btl_bandwidth,
        .btl_flags = flags_of(btl),
        .btl_add_procs = add_procs,
        .btl_del_procs = del_procs,
        .btl_register = btl2_register,
        .btl_finalize = finalize,
        .btl_alloc = btl2_alloc,
        .btl_free = btl2_free,
        .btl_prepare_src = btl2_prepare_src,
        .btl_prepare_dst = btl2_prepare_dst,
        .btl_send = btl2_send,
        .btl_sendi = btl2_sendi,
        .btl_put = btl2_put,
        .btl_get = btl2_get,
        .btl_dump = dump,
        .btl_mpool = &module->mpool,
        .btl_register_error = register_error,
        .btl_ft_event = btl->btl_ft_event,
    };
}

static mca_btl2_base_module_t *module_create(mca_btl_base_module_t *btl)
{
    struct btl2_module *module = calloc(1, sizeof(*module));

    if (!module) {
        return NULL;
    }
    module->btl = btl;
    module->ext = keel_btl_ext(btl);
    module->mpool = btl2_mpool;
    component_init(&module->component, btl->btl_component);
    table_init(module);
    pool_init(&module->descs, sizeof(struct btl2_desc), _Alignof(struct btl2_desc), 32, 0, NULL,
              NULL);
    pool_init(&module->ops, btl2_op_size, _Alignof(max_align_t), 32, 0, NULL, NULL);
    pool_init(&module->regions, sizeof(struct btl2_region), _Alignof(struct btl2_region), 128, 0,
              NULL, NULL);
    return &module->super;
}

static void module_destroy(struct btl2_module *module)
{
    pool_fini(&module->regions);
    pool_fini(&module->ops);
    pool_fini(&module->descs);
    free(module);
}

/* The 3.0 modules have ended, and so has all that was under way. */
static void close_all(void)
{
    for (size_t i = 0; i < adapter.count; i++) {
        module_destroy(btl2_of(adapter.modules[i]));
    }
    free(adapter.modules);
    adapter.modules = NULL;
    adapter.count = 0;
    memset(mca_btl2_base_active_message_trigger, 0, sizeof(mca_btl2_base_active_message_trigger));
}

static void open_all(void)
{
    size_t count;
    mca_btl_base_module_t **btls = btl_modules(&count);

    adapter.modules = calloc(count, sizeof(mca_btl2_base_module_t *));
    for (size_t i = 0; adapter.modules && i < count; i++) {
        mca_btl2_base_module_t *made = module_create(btls[i]);
        if (!made) {
            close_all();
            return;
        }
        adapter.modules[adapter.count++] = made;
    }
    btl_at_close(close_all);
}

mca_btl2_base_module_t **keel_btl2_modules(size_t *count)
{
    *count = 0;
    if (!plane_is_open()) {
        return NULL;
    }
    btl_lock();
    if (adapter.count == 0) {
        open_all();
    }
    btl_unlock();
    *count = adapter.count;
    return adapter.modules;
}
