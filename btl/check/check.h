/* The checking tap, --mca btl_check 1: it stands before a module and holds both sides, caller and
 * module, to docs/btl.md. Callers get descriptors and handles of its own, which stay known for a
 * while after their end; so what is used twice or too late is told from what never was, also where
 * the module's pools hand out the same memory again. Endpoints are the module's. A breach is
 * reported, and a call that would do harm is not passed on. */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include <btl/check/map.h>
#include <btl/modules/tap.h>
#include <stdatomic.h>

/* NULL with ORTE_SUCCESS when the parameter btl_check does not ask for it. */
int check_tap_create(mca_btl_base_module_t *module, struct btl_tap **tap) KEEL_MUST_CHECK;
/* Of this process, since it began. */
unsigned long check_breaches(void);

/* ---- inside btl/check ---- */

/* What ended stays readable for a while, so that its use afterwards is told from a stranger's. */
enum { CHECK_GRAVES = 4096 };

struct check_graves {
    void *graves[CHECK_GRAVES];
    size_t next;
};

/* Buries a thing; returns the one that its grave held before, or NULL. */
void *check_bury(struct check_graves *graves, void *thing);

struct check {
    struct btl_tap tap;                        /* first */
    mca_btl_base_module_t *module;             /* borrowed; until its finalize */
    const char *name;                          /* the component's, which outlives its modules */
    struct btl_map endpoints;                  /* struct check_endpoint; the dead ones included */
    struct btl_map descs;                      /* by the descriptor that callers have; likewise */
    struct btl_map regions;                    /* by the handle that callers have; likewise */
    struct btl_map ops;                        /* by themselves; likewise */
    struct btl_map inner_descs, inner_regions; /* by what the module has; living */
    struct btl_map requests; /* that wait for room, by the caller's struct keel_btl_pending */
    struct check_graves dead_descs, dead_regions, dead_ops;
    size_t living;          /* endpoints */
    atomic_ulong unwritten; /* breaches that were not logged */
};

/* What is known of an endpoint. Kept until finalize. */
struct check_endpoint {
    struct mca_btl_base_endpoint_t *endpoint;
    opal_proc_t *proc;        /* borrowed, while it lives */
    char name[32];            /* the peer's */
    unsigned long pending;    /* callbacks to come */
    unsigned long operations; /* of which so many of puts, gets and atomics */
    bool gone;
    struct check_endpoint *before; /* owned: that ended, at the same address; NULL: none */
};

struct check_desc {
    mca_btl_base_descriptor_t base;                            /* first: what callers have */
    mca_btl_base_segment_t segments[MCA_BTL_DES_MAX_SEGMENTS]; /* theirs */
    mca_btl_base_segment_t given[MCA_BTL_DES_MAX_SEGMENTS];    /* as the module gave them */
    size_t given_count;
    mca_btl_base_descriptor_t *inner;
    mca_btl_base_segment_t *inner_segments; /* the module's, which a caller's own may replace */
    enum { DESC_CALLERS, DESC_MODULES, DESC_FREED } state;
    unsigned pending; /* callbacks to come */
    bool several;     /* ... from several endpoints */
    unsigned called;  /* callbacks that belong to the send being called */
    /* As it was when it was first sent, while callbacks are to come. */
    mca_btl_base_descriptor_t sent;
    uint64_t bytes;            /* a hash */
    struct check_endpoint *to; /* of the last send */
};

struct check_region {
    unsigned char bytes[MCA_BTL_REG_HANDLE_MAX_SIZE]; /* first: what callers have */
    mca_btl_base_registration_handle_t *inner;
    uintptr_t base;
    size_t size;
    unsigned long users; /* operations under way that name it as their local handle */
    bool gone;
};

/* What is reported: who broke a rule, where the call or callback came from. */
enum check_side { CHECK_CALLER, CHECK_MODULE };

struct check_call {
    struct check *check;
    const char *operation; /* "send" */
    const void *from;      /* a return address */
    struct check_endpoint *endpoint;
};

/* report.c */
void check_report(const struct check_call *at, enum check_side side, const char *format, ...)
    KEEL_PRINTF(3, 4);
bool check_is_wanted(void);
void check_conclude(struct check *check);

/* What a call that sends or moves something returned: a module that is held takes nothing. */
void check_taken(const struct check_call *at, int status);

/* Called before a call is looked at; false, reported: another thread is inside. */
bool check_enter(const struct check_call *at) KEEL_MUST_CHECK;
void check_leave(void);
/* Around what runs the caller's code. */
void check_callback_begin(const struct check_call *at);
void check_callback_end(void);
bool check_in_callback(void);

/* check.c */
/* Passes the call on to the module, or what stands before it. */
void check_pass(const struct check_call *at, struct btl_call *call);
/* Gives a descriptor, or a handle, back to the module. Returns what its function does. */
int check_give_back(const struct check_call *at, enum btl_slot slot, void *inner);
/* Buries in graves; frees, and takes out of the map, what lay there before. */
void check_end(struct check_graves *graves, struct btl_map *map, void *thing);

/* A call of one slot, with its endpoint known: looks at it, and passes it on or refuses it. */
/* desc.c */
void check_alloc(struct check_call *at, struct btl_call *call);
void check_prepare_src(struct check_call *at, struct btl_call *call);
void check_free(struct check_call *at, struct btl_call *call);
/* A module's descriptor as callers see it. NULL: no memory (the module has it back), or, reported,
 * it is one in use. */
struct check_desc *check_desc_create(const struct check_call *at, mca_btl_base_descriptor_t *inner);
void check_desc_end(struct check *check, struct check_desc *desc);
/* Whether it is what was asked for. */
void check_desc_look(const struct check_call *at, const mca_btl_base_descriptor_t *made,
                     size_t size, uint32_t flags);

/* send.c */
uint64_t check_hash(const mca_btl_base_segment_t *segments, size_t count);
void check_send(struct check_call *at, struct btl_call *call);
void check_sendi(struct check_call *at, struct btl_call *call);

/* region.c */
void check_register_mem(struct check_call *at, struct btl_call *call);
void check_deregister_mem(struct check_call *at, struct btl_call *call);
/* The region of a local handle, which must cover this; *bad, reported: it does not. NULL without a
 * handle. */
struct check_region *check_region_local(const struct check_call *at, const void *handle,
                                        const void *address, size_t size, bool *bad);
/* Reports a remote handle that this process gave up itself. */
void check_region_remote(const struct check_call *at, const void *handle);

/* ext.c */
void check_flush(struct check_call *at, struct btl_call *call);
void check_pending_add(struct check_call *at, struct btl_call *call);
void check_pending_remove(struct check_call *at, struct btl_call *call);
/* Reports requests of an endpoint that ends which were not called. */
void check_ext_endpoint_end(const struct check_call *at);
/* After the module's finalize, which has to call whatever waits. */
void check_ext_fini(struct check_call *at);

/* rdma.c: put and get; atomics; op.c: the operation that each begins. */
void check_rdma(struct check_call *at, struct btl_call *call);
void check_atomic(struct check_call *at, struct btl_call *call);

#endif
