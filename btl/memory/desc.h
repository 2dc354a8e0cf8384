/* Descriptors for modules: a pool of them, with payload behind or in memory that the module gives
 * (a shared segment), and the logic of alloc and prepare_src that is the same for every transport.
 * One thread at a time. */
#ifndef BTL_DESC_H
#define BTL_DESC_H

#include <base/data/list.h>
#include <base/data/pool.h>
#include <btl/interface/base.h>

#define DESC_SIZES 2    /* small and large payloads */
#define DESC_SEGMENTS 4 /* alloc and prepare_src fill one or two; the rest is the module's */

/* A send of a descriptor that was accepted and is not over. */
struct desc_send {
    struct list link;  /* the module's */
    struct desc *desc; /* NULL: the record is free */
    struct mca_btl_base_endpoint_t *endpoint;
    uint64_t position; /* the module's */
};

struct desc {
    mca_btl_base_descriptor_t base; /* first: what callers see */
    mca_btl_base_segment_t segments[DESC_SEGMENTS];
    struct pool *pool;      /* borrowed */
    unsigned char *payload; /* capacity bytes; the headroom lies right before them */
    size_t capacity;
    struct desc_send send; /* of the first of several sends at a time; mostly there is one */
    unsigned holds;        /* sends that are not over, of any number */
    bool freed;            /* by its owner; it goes back to the pool without holds */
};

struct desc_size {
    size_t payload;   /* bytes */
    size_t limit;     /* most descriptors */
    size_t per_chunk; /* made at once */
    void *slots;      /* NULL, or limit slots in the module's memory, each headroom + payload */
    size_t slot_size; /* distance between slots */
};

struct desc_class {
    struct pool pool;
    struct desc_size size;
    size_t headroom;
    size_t made;
};

struct desc_set {
    struct desc_class classes[DESC_SIZES];
    size_t count;
    struct pool sends; /* struct desc_send, beside those in the descriptors */
    struct list done;  /* struct desc_send that desc_set_finish calls back for, with success */
};

/* sizes: 1 or 2, ascending; the last one is btl_max_send_size. headroom: bytes before each payload,
 * for the transport's own header. Payloads are aligned to 64 bytes (in slots: as the module made
 * them). */
void desc_set_init(struct desc_set *set, const struct desc_size *sizes, size_t count,
                   size_t headroom);
/* Frees all memory, descriptors in use included. */
void desc_set_fini(struct desc_set *set);

/* NONE: all are in use. UNSEEN: those of one size are. */
enum btl_room desc_set_room(const struct desc_set *set);

static inline struct desc *desc_of(mca_btl_base_descriptor_t *descriptor)
{
    return (struct desc *) (void *) descriptor;
}

/* What btl_alloc, btl_free and btl_prepare_src return. in_place: contiguous data may stay where it
 * is, in a second segment. */
mca_btl_base_descriptor_t *desc_alloc(struct desc_set *set, uint8_t order, size_t size,
                                      uint32_t flags);
mca_btl_base_descriptor_t *desc_prepare(struct desc_set *set, opal_convertor_t *convertor,
                                        uint8_t order, size_t reserve, size_t *size, uint32_t flags,
                                        bool in_place);
/* A descriptor with holds is freed with the last of them; NULL: nothing happens. */
int desc_free(mca_btl_base_descriptor_t *descriptor);
/* A module's btl_free. */
int desc_btl_free(mca_btl_base_module_t *module, mca_btl_base_descriptor_t *descriptor);

/* ---- sends that are not over ----
 *
 * Any number of sends of one descriptor may be under way, to one peer or several. Each holds it
 * from its acceptance on: until desc_complete, or, where its callback comes before the transport is
 * done with the bytes (btl_complete), until desc_release. */
static inline void desc_hold(struct desc *desc)
{
    desc->holds++;
}
void desc_release(struct desc *desc);
/* Releases and calls back. */
void desc_complete(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                   struct desc *desc, int status);

/* The same for modules that list them: a record of a send, which holds. NULL: there are too many.
 */
struct desc_send *desc_send_begin(struct desc_set *set, struct desc *desc,
                                  struct mca_btl_base_endpoint_t *endpoint);
void desc_send_release(struct desc_set *set, struct desc_send *send);
void desc_send_complete(mca_btl_base_module_t *module, struct desc_set *set, struct desc_send *send,
                        int status);

/* ---- sends that are over inside the call ----
 *
 * A callback that was asked for comes from progress, so that sends from inside callbacks do not
 * nest. */

/* Before such a send: *later is what its callback takes, NULL where none was asked for.
 * OUT_OF_RESOURCE: there are too many. */
static inline int desc_later_begin(struct desc_set *set, struct desc *desc,
                                   struct mca_btl_base_endpoint_t *endpoint,
                                   struct desc_send **later)
{
    bool calls = desc->base.des_flags & MCA_BTL_DES_SEND_ALWAYS_CALLBACK && desc->base.des_cbfunc;
    *later = calls ? desc_send_begin(set, desc, endpoint) : NULL;
    return calls && !*later ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_SUCCESS;
}
/* After it; returns what btl_send has to return where the send has come to this status. */
int desc_later_end(mca_btl_base_module_t *module, struct desc_set *set,
                   struct mca_btl_base_endpoint_t *endpoint, struct desc *desc,
                   struct desc_send *later, int status);
/* Calls back for those that are done, to this endpoint (NULL: to any); returns how many. */
int desc_set_finish(mca_btl_base_module_t *module, struct desc_set *set,
                    const struct mca_btl_base_endpoint_t *endpoint);

/* The bytes of a descriptor that a caller wants sent. Callers may have changed the segments:
 * BAD_PARAM when there are too many, or they come to more than max, or there is no descriptor. */
int desc_total(const mca_btl_base_descriptor_t *descriptor, size_t max,
               size_t *total) KEEL_MUST_CHECK;
/* Copies all segments, one after another; returns the bytes. */
size_t desc_gather(void *to, const mca_btl_base_segment_t *segments, size_t count);

#endif
