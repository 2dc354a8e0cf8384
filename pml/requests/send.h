/* Sends: the first fragment, what follows its acknowledgement, the end. */
#ifndef PML_SEND_H
#define PML_SEND_H

#include <pml/peers/stripe.h>
#include <pml/pieces/range.h>
#include <pml/requests/request.h>

enum {
    SEND_CONTROL = KEEL_PML_BUFFERED + 1 /* a mode: one PML tells another, out of order */
};

enum send_stage {
    SEND_WAITS, /* nothing was taken */
    SEND_FIRST, /* the first fragment is under way */
    SEND_REST   /* a module reported bytes of it */
};

/* ptl is last: a module's ptl_cache_bytes lie behind it. */
struct send {
    struct keel_pml_request super;
    struct list sending; /* of its peer's, unless it ended at once */
    struct member *member;
    size_t length, reported; /* bytes: of the message, and those that modules have done with */
    void *copy;              /* of a buffered message; owned */
    int failed;              /* the status that it is to end with */
    uint8_t mode;            /* keel_pml_mode_t, or SEND_CONTROL */
    uint8_t stage;           /* enum send_stage */
    bool busy;               /* a module's function is being called with it */
    struct stripe stripe;    /* bytes behind the first fragment */
    struct list again;       /* struct range, owned: of these, to be put as a module asks */
    mca_ptl_base_send_request_t ptl;
};

/* The short way of most messages, without a request: one that lies together goes whole, where
 * nothing waits before it. The peer is connected. False: nothing happened. */
bool send_at_once(struct member *member, const opal_convertor_t *data, int32_t tag,
                  keel_pml_mode_t mode) KEEL_MUST_CHECK;
/* An idle request, of a peer that is connected. NULL: no memory. */
struct send *send_new(struct member *member, const opal_convertor_t *data, int32_t tag,
                      uint8_t mode);
/* Starts it. An error: it is idle. OUT_OF_RESOURCE is none: it waits. */
int send_start(struct send *send) KEEL_MUST_CHECK;
/* The same for a send of a buffered message: a copy of it is sent, and it ends. */
int send_start_buffered(struct send *send) KEEL_MUST_CHECK;
/* Of one that waits, taken from its peer's pending requests: goes on. False: it waits again, before
 * the others. */
bool send_resume(struct send *send);
/* Whether it has to wait until the peer has seen older messages. */
bool send_is_stalled(const struct send *send);
/* Of an active one: it ends with this status. */
void send_fail(struct send *send, int status);

/* Calls of modules. */
void send_upcall_progress(mca_ptl_base_module_t *ptl, mca_ptl_base_send_request_t *request,
                          size_t bytes);
void send_upcall_failed(struct keel_ptl_module_t *ptl, mca_ptl_base_send_request_t *request,
                        int status);
void send_upcall_put_wanted(struct keel_ptl_module_t *ptl, mca_ptl_base_send_request_t *request,
                            size_t offset, size_t size, int status);

/* For the pools. */
void send_construct(void *item, void *unused);
void send_construct_cached(void *item, void *module);

#endif
