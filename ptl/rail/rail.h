/* The PTL over BTL modules: one PTL module for each of them. The processes that it reaches by it
 * are those to which the choice of rails (btl/plane/bml.h) leads by that module now.
 *
 * A message of at most ptl_first_frag_size bytes travels behind its header, by sendi. A longer one
 * is announced, with its first bytes where the receiver cannot get them. Once it is matched, the
 * receiver moves the rest piece by piece, over any rails: it gets a piece, or pulls it, which the
 * sender puts, or sends in fragments. Parts: module.c (its life, peers), send.c and recv.c (the two
 * ends of a message), pull.c (what the receiver asks for), memory.h (its memory, rail by rail),
 * say.c (headers without data), wire.h. */
#ifndef PTL_RAIL_RAIL_H
#define PTL_RAIL_RAIL_H

#include <base/data/ids.h>
#include <base/data/list.h>
#include <base/data/pool.h>
#include <btl/peers/roster.h>
#include <keel/btl_ext.h>
#include <keel/ptl_ext.h>
#include <ptl/rail/wire.h>

/* Of keel_btl_ext. */
enum { RAIL_CHANNEL = 1, RAIL_TAG = 0 };

struct rail_module {
    struct keel_ptl_module_t super;
    mca_btl_base_module_t *btl;     /* borrowed */
    const struct keel_btl_ext *ext; /* btl's */
    unsigned number;                /* among rail.modules */
    bool gets, puts;                /* what it is used for, beside fragments */
    bool pins;                      /* memory that it registers */
    size_t frag_size;               /* most bytes behind a FRAG header */
    struct roster *roster;          /* of struct mca_ptl_base_peer_t; owned */
    struct list peers;              /* those in it */
};

/* What waits for room on a rail: few are short at a time. */
struct rail_room {
    struct keel_btl_pending pending; /* arg: who waits */
    const struct rail_module *module;
};

struct mca_ptl_base_peer_t {
    struct list link;                         /* in the module's peers */
    struct rail_module *module;               /* borrowed */
    opal_proc_t *proc;                        /* borrowed */
    struct mca_btl_base_endpoint_t *endpoint; /* the choice of rails' */
    struct rail_link *link_to;                /* borrowed; NULL: frames to it have no numbers */
    struct rail_room *room;                   /* that it waits for; owned; NULL: for none */
    bool refused;                             /* a message, by link_to */
    bool reached;                             /* the choice of rails leads to it by this module */
};

/* A send that its receiver has to answer. */
struct rail_send {
    struct list link;                     /* in rail.all_sends */
    const opal_proc_t *proc;              /* borrowed; its receiver */
    struct rail_module *module;           /* that announced it */
    mca_ptl_base_send_request_t *request; /* whose req_ptl this is */
    uint64_t id;
    bool matched;         /* its receiver has pulled some of it */
    size_t first;         /* bytes that went with the announcement */
    size_t left;          /* bytes of the message that were not reported */
    size_t quiet;         /* bytes behind the first ones that were not pulled */
    struct list ops;      /* puts under way */
    struct list grants;   /* of the message (memory.h); owned */
    struct list memories; /* struct rail_memory: where its bytes may be put; owned */
};

/* A receive of which not all came with its first fragment. */
struct rail_recv {
    struct list link;                         /* in rail.all_recvs */
    const opal_proc_t *proc;                  /* borrowed; its sender */
    struct rail_module *module;               /* that announced the message */
    struct mca_btl_base_endpoint_t *endpoint; /* the module's */
    mca_ptl_base_recv_request_t *request;     /* whose req_ptl this is */
    uint64_t id, send_id;
    uint64_t total;       /* bytes of the message */
    size_t quiet;         /* bytes behind the first ones that were not pulled */
    size_t pulled;        /* bytes that were, and have not come */
    bool contiguous;      /* the message: its memory can be asked for */
    struct list turns;    /* of pull.c: what is not pulled yet */
    struct list ops;      /* gets under way */
    struct list grants;   /* of the buffer, for puts (memory.h); owned */
    struct list memories; /* struct rail_memory: where its bytes may be fetched; owned */
};

/* A put or a get under way. */
struct rail_op {
    struct list link;           /* in its owner's ops; else the owner has ended */
    void *owner;                /* struct rail_send or struct rail_recv; NULL: it has ended */
    struct rail_module *module; /* that it goes by */
    struct mca_btl_base_endpoint_t *endpoint; /* the module's */
    struct rail_memory *awaits; /* of a get that waits for it; NULL: the get is under way */
    void *local;
    size_t offset, size;
    uint8_t bounce[]; /* of a get into memory that does not lie together: size bytes */
};

/* What all modules share. */
struct rail {
    struct rail_module **modules; /* owned; NULL: the component is not in use */
    size_t count;
    struct ids sends, recvs; /* struct rail_send, struct rail_recv */
    struct list all_sends;   /* struct rail_send; owned */
    struct list all_recvs;   /* struct rail_recv; owned */
    bool failover;           /* what a rail loses is given to another one */
    /* link.c's and owed.c's */
    struct roster *links;   /* owned; of struct rail_link */
    struct list all_links;  /* those in it */
    struct rail_link *last; /* the one that came last, over last_endpoint; NULL: none */
    const struct mca_btl_base_endpoint_t *last_endpoint;
    struct pool small_frames; /* struct rail_frame */
    uint32_t first_number;    /* of each process's frames: 0, but in tests */
    struct list owing;        /* struct rail_link, by owes */
    bool owes;                /* there may be some */
    unsigned owing_passes;    /* of progress, since there are */
    unsigned owing_look;      /* that after which the clock is read */
    uint64_t owing_ns;        /* the time after FIRST_LOOK of them */
    struct pool frags;        /* of recv.c */
    struct list outboxes;     /* of say.c */
    struct pool rooms;        /* struct rail_room */
    size_t registered_most;   /* bytes of a message, on a rail that pins memory */
    size_t answers_most;      /* bytes of answers to a peer that may wait for room */
    struct roster *given_up;  /* owned; processes that rails lead to no more */
    bool disabled;            /* by MCA_PTL_ENABLE: nothing is sent */
    bool warned;              /* of a bad header */
    uint64_t events;          /* that progress had, about; by atomic accesses */
};
extern struct rail rail;

/* The rail that this module of the framework's is. */
static inline struct rail_module *rail_of(mca_ptl_base_module_t *ptl)
{
    return container_of(ptl, struct rail_module, super.super);
}

/* --- module.c --- */

/* The module over this one; NULL: there is none. */
static inline struct rail_module *rail_module_over(const mca_btl_base_module_t *btl)
{
    size_t i = 0;
    while (i < rail.count && rail.modules[i]->btl != btl) {
        i++;
    }
    return i < rail.count ? rail.modules[i] : NULL;
}

/* A message of so many bytes moves piece by piece by the module, that puts them: otherwise too much
 * memory would be pinned at a time, and all of it before the first byte moves. */
static inline bool rail_in_pieces(const struct rail_module *module, uint64_t size)
{
    return module->pins && module->puts && size > rail.registered_most;
}

/* Something of what this peer sent or waits for is lost, or not understood, so that nothing behind
 * it can keep its order: the rails to it end here, and this one at its end. why stays valid. */
void rail_give_up(struct rail_module *module, struct mca_btl_base_endpoint_t *endpoint,
                  const char *why);

/* The process has given this one up: messages to and from it end when its puts and gets have. */
void rail_given_up_by(const orte_process_name_t *name);

/* A put or a get with this process has ended, and its owner was told. Where it was the last one of
 * a process that was given up, the layer above is told of that end. */
void rail_op_is_over(const opal_proc_t *proc);

/* --- say.c --- */

void rail_say_open(void);
void rail_say_close(void);
/* Sends a header without data, later where there is no room now; by an endpoint that brought
 * something. */
void rail_say(struct rail_module *module, struct mca_btl_base_endpoint_t *endpoint,
              const struct rail_header *header);
/* The same by any endpoint to this process: one that was never used has none (btl_proc_of). */
void rail_say_to(const opal_proc_t *proc, struct rail_module *module,
                 struct mca_btl_base_endpoint_t *endpoint, const struct rail_header *header);
/* ready will be called, and ends it first. NULL: *status says why, or there is no memory. */
struct rail_room *rail_room_await(const struct rail_module *module,
                                  struct mca_btl_base_endpoint_t *endpoint,
                                  keel_btl_pending_fn ready, void *arg, int *status);
/* In ready: returns its arg. */
void *rail_room_end(struct keel_btl_pending *pending);
/* Before ready; NULL: nothing. */
void rail_room_leave(struct rail_room *room);
/* After a shortage: ptl_peer_ready is to be called. Returns status. */
int rail_want_room(struct mca_ptl_base_peer_t *peer, int status);

/* An operation of this owner, that has these ops, by the peer's rail. local NULL: it gets a bounce
 * buffer. NULL: no memory. */
struct rail_op *rail_op_create(void *owner, struct list *ops,
                               const struct mca_ptl_base_peer_t *peer, void *local, size_t offset,
                               size_t size);
/* Frees it and returns its owner. */
void *rail_op_end(struct rail_op *op);
/* The owner of these ends. */
void rail_ops_leave(struct list *ops);

/* --- send.c --- */

int rail_ptl_send(mca_ptl_base_module_t *ptl, struct mca_ptl_base_peer_t *peer,
                  mca_ptl_base_send_request_t *request, size_t offset, size_t size, int flags);
int rail_ptl_put(mca_ptl_base_module_t *ptl, struct mca_ptl_base_peer_t *peer,
                 mca_ptl_base_send_request_t *request, size_t offset, size_t size, int flags);
int rail_ptl_sendi(struct keel_ptl_module_t *ptl, struct mca_ptl_base_peer_t *peer,
                   const mca_ptl_base_match_header_t *match, const void *bytes);
void rail_ptl_send_end(struct keel_ptl_module_t *ptl, mca_ptl_base_send_request_t *request);
/* ACK and NACK. False: it makes no sense. */
bool rail_answered(struct rail_module *module, struct mca_btl_base_endpoint_t *endpoint,
                   const struct rail_header *header) KEEL_MUST_CHECK;
/* The receiver asks for bytes. False: it makes no sense. */
bool rail_pulled(struct rail_module *module, struct mca_btl_base_endpoint_t *endpoint,
                 const struct rail_header *header) KEEL_MUST_CHECK;
/* Sends that this module (NULL: any) announced to this process (NULL: any), and that were not
 * answered. The PML is told, or not. */
void rail_fail_sends(const struct rail_module *module, const opal_proc_t *proc, int status);
void rail_forget_sends(const struct rail_module *module, const opal_proc_t *proc);

/* A RNDV that was lost with a rail goes by this one: what its header offers is changed for it. */
void rail_announce_again(struct rail_header *header, struct rail_module *module,
                         struct mca_btl_base_endpoint_t *endpoint);
/* WANT: a receiver would fetch by this rail, too. */
void rail_wanted(struct rail_module *module, struct mca_btl_base_endpoint_t *endpoint,
                 const struct rail_header *header);

/* --- pull.c --- */

/* Asks the sender for bytes, which it puts by this rail if it can, and else sends in fragments.
 * They may come meanwhile. */
void rail_pull(struct rail_recv *recv, struct rail_module *module,
               struct mca_btl_base_endpoint_t *endpoint, size_t offset, size_t size);
/* Some bytes have come: for more there is room now. The receive may end. */
void rail_pull_more(struct rail_recv *recv);
/* The module is lost, and what it did not pull yet fails. The receive may end. */
void rail_pulls_lost(struct rail_recv *recv, struct rail_module *module);
/* With the receive. */
void rail_pulls_end(struct rail_recv *recv);

/* --- recv.c --- */

void rail_recv_open(void);
void rail_recv_close(void);
extern const char rail_no_memory[]; /* why a peer is given up of which something was lost here */
/* A frame without a number, and what stands behind one. False: it makes no sense. */
bool rail_take(struct rail_module *module, struct mca_btl_base_endpoint_t *endpoint,
               const uint8_t *data, size_t size) KEEL_MUST_CHECK;
/* A process that is reached by others is reached by this module no more: what it said about memory
 * there is void. */
void rail_memory_lost(struct rail_module *module, const opal_proc_t *proc);
/* Of the channel. */
void rail_arrived(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                  mca_btl_base_descriptor_t *descriptor, void *cbdata);
struct ompi_proc_t *rail_ptl_sender(struct keel_ptl_module_t *ptl,
                                    const mca_ptl_base_recv_frag_t *frag);
void rail_ptl_matched(mca_ptl_base_module_t *ptl, mca_ptl_base_recv_frag_t *frag);
int rail_ptl_get(mca_ptl_base_module_t *ptl, struct mca_ptl_base_peer_t *peer,
                 mca_ptl_base_recv_request_t *request, size_t offset, size_t size, int flags);
void rail_ptl_recv_end(struct keel_ptl_module_t *ptl, mca_ptl_base_recv_request_t *request,
                       int status);

#endif
