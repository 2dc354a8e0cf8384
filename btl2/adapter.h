/* The adapter from BTL 2.0 to a module of BTL 3.0: what its parts share. All of it is guarded by
 * the lock of the data plane (btl/lock/lock.h), where that is used. */
#ifndef BTL2_ADAPTER_H
#define BTL2_ADAPTER_H

#include <base/data/pool.h>
#include <btl/interface/base.h>
#include <btl/memory/region.h>
#include <keel/btl2.h>
#include <keel/btl_ext.h>

struct btl2_module {
    mca_btl2_base_module_t super;   /* first */
    mca_btl_base_module_t *btl;     /* the 3.0 module; borrowed */
    const struct keel_btl_ext *ext; /* its extension; borrowed */
    mca_btl2_base_component_t component;
    mca_mpool_base_module_t mpool;
    mca_btl2_base_module_error_cb_fn_t error; /* NULL: errors go to the log */
    struct pool descs, ops, regions;
};

/* Memory that is registered with the 3.0 module. */
struct btl2_region {
    mca_mpool_base_registration_t super; /* first; ref_count counts those who use it */
    mca_btl_base_registration_handle_t *handle;
    uint64_t key[REGION_KEY_WORDS];
};

/* A header and the data behind it. */
enum { BTL2_MINE = 2 };

struct btl2_desc {
    mca_btl2_base_descriptor_t super; /* first */
    struct btl2_module *module;       /* borrowed */
    mca_btl2_base_segment_t mine[BTL2_MINE];
    struct btl2_region *regions[BTL2_MINE]; /* of mine; NULL: not registered */
    mca_btl_base_descriptor_t *inner;       /* what sends it; NULL: was not sent, has no payload */
    mca_btl_base_segment_t segments[MCA_BTL_DES_MAX_SEGMENTS]; /* inner's, while it is sent */
    unsigned holds;                                            /* operations that are not over */
    unsigned accesses;                                         /* of them puts and gets */
    bool freed;                                                /* ends with the last operation */
};

static inline struct btl2_module *btl2_of(mca_btl2_base_module_t *btl)
{
    return (struct btl2_module *) btl;
}

static inline struct btl2_desc *btl2_desc_of(mca_btl2_base_descriptor_t *descriptor)
{
    return (struct btl2_desc *) (void *) descriptor;
}

/* Endpoints are the 3.0 module's. */
static inline struct mca_btl_base_endpoint_t *btl2_inner(struct mca_btl2_base_endpoint_t *endpoint)
{
    return (struct mca_btl_base_endpoint_t *) (void *) endpoint;
}
static inline struct mca_btl2_base_endpoint_t *btl2_outer(struct mca_btl_base_endpoint_t *endpoint)
{
    return (struct mca_btl2_base_endpoint_t *) (void *) endpoint;
}

/* module.c: NULL: there is none for it. */
struct btl2_module *btl2_module_of(const mca_btl_base_module_t *btl);

/* desc.c. wrap makes a descriptor of a 3.0 one, which is its own from then on; NULL: no memory, and
 * nothing happened. */
struct btl2_desc *btl2_wrap(struct btl2_module *module, mca_btl_base_descriptor_t *inner,
                            uint32_t flags);
/* The 3.0 descriptor that a send needs; NULL: there is none left. */
mca_btl_base_descriptor_t *btl2_desc_inner(struct btl2_desc *desc,
                                           struct mca_btl_base_endpoint_t *endpoint);
/* An operation that was counted in holds is over: calls back, and frees what is to be freed. */
void btl2_complete(struct btl2_desc *desc, struct mca_btl_base_endpoint_t *endpoint, int status);

/* What a program's own registration is good for. */
#define BTL2_RIGHTS_ALL \
    (MCA_BTL_REG_FLAG_LOCAL_WRITE | MCA_BTL_REG_FLAG_REMOTE_READ | MCA_BTL_REG_FLAG_REMOTE_WRITE)

/* region.c: NULL: no room. The caller's until it releases it. */
struct btl2_region *btl2_region_open(struct btl2_module *module, void *base, size_t size,
                                     uint32_t flags);
void btl2_region_hold(struct btl2_region *region);
void btl2_region_release(struct btl2_region *region);
bool btl2_region_covers(const struct btl2_region *region, const void *base, size_t size);
extern const mca_mpool_base_module_t btl2_mpool;

extern const size_t btl2_op_size; /* of rdma.c's operations */

/* What the tables have. */
mca_btl2_base_descriptor_t *btl2_alloc(mca_btl2_base_module_t *btl,
                                       struct mca_btl2_base_endpoint_t *endpoint, uint8_t order,
                                       size_t size, uint32_t flags);
int btl2_free(mca_btl2_base_module_t *btl, mca_btl2_base_descriptor_t *descriptor);
mca_btl2_base_descriptor_t *btl2_prepare_src(mca_btl2_base_module_t *btl,
                                             struct mca_btl2_base_endpoint_t *endpoint,
                                             mca_mpool_base_registration_t *registration,
                                             opal_convertor_t *convertor, uint8_t order,
                                             size_t reserve, size_t *size, uint32_t flags);
mca_btl2_base_descriptor_t *btl2_prepare_dst(mca_btl2_base_module_t *btl,
                                             struct mca_btl2_base_endpoint_t *endpoint,
                                             mca_mpool_base_registration_t *registration,
                                             opal_convertor_t *convertor, uint8_t order,
                                             size_t reserve, size_t *size, uint32_t flags);
int btl2_register(mca_btl2_base_module_t *btl, mca_btl2_base_tag_t tag,
                  mca_btl2_base_module_recv_cb_fn_t cbfunc, void *cbdata);
int btl2_send(mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
              mca_btl2_base_descriptor_t *descriptor, mca_btl2_base_tag_t tag);
int btl2_sendi(mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
               opal_convertor_t *convertor, void *header, size_t header_size, size_t payload_size,
               uint8_t order, uint32_t flags, mca_btl2_base_tag_t tag,
               mca_btl2_base_descriptor_t **descriptor);
int btl2_put(mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
             mca_btl2_base_descriptor_t *descriptor);
int btl2_get(mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
             mca_btl2_base_descriptor_t *descriptor);

#endif
