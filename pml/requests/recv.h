/* Receives, and the messages that come for them. */
#ifndef PML_RECV_H
#define PML_RECV_H

#include <pml/peers/stripe.h>
#include <pml/pieces/range.h>
#include <pml/requests/request.h>

struct recv {
    struct keel_pml_request super;
    struct match_receive match;
    struct member *member;      /* whose message it got; NULL: none yet */
    size_t length;              /* of the message */
    size_t expected;            /* bytes that modules will report */
    size_t received, delivered; /* bytes that they did report, and those that fitted */
    size_t taken;               /* bytes that they took to fetch, or that came first */
    size_t lost;                /* bytes of them that they fetched in vain */
    struct list again;          /* struct range, owned: to be fetched over another rail */
    struct stripe stripe;
    int failed;                    /* the status that it is to end with */
    bool busy;                     /* a module's function is being called with it */
    bool begun;                    /* the first fragment was reported */
    struct list receiving;         /* of its peer's, while it is not whole */
    mca_ptl_base_module_t *module; /* that brought the first fragment */
    mca_ptl_base_recv_request_t ptl;
};

/* A first fragment that came: in frag_pml of the fragment. */
struct keel_pml_message {
    union {
        struct match_message match; /* while its context is open */
        struct early_message early; /* before */
    };
    mca_ptl_base_module_t *module; /* that brought it */
    const mca_ptl_base_match_header_t *header;
    struct keel_pml_context *context;
};
_Static_assert(sizeof(struct keel_pml_message) <=
                   sizeof(((mca_ptl_base_recv_frag_t *) NULL)->frag_pml),
               "the words of a fragment hold a message");

static inline mca_ptl_base_recv_frag_t *message_frag(struct keel_pml_message *message)
{
    return container_of(message, mca_ptl_base_recv_frag_t, frag_pml);
}
/* It is its module's again: nobody wants it. */
void message_give_back(struct keel_pml_message *message);
/* Of one that was matched; NULL stays NULL. */
static inline struct keel_pml_message *message_of(struct match_message *match)
{
    return match ? container_of(match, struct keel_pml_message, match) : NULL;
}
static inline struct member *message_member(const struct keel_pml_message *message)
{
    return container_of(message->match.source, struct member, source);
}

/* An idle request. NULL: no memory. */
struct recv *recv_new(struct keel_pml_context *context, const opal_convertor_t *data,
                      int32_t source, int32_t tag);
/* Posts it, or takes a message that waits. UNREACH and others: it is idle. */
int recv_start(struct recv *recv) KEEL_MUST_CHECK;
/* Of a posted one that was matched: takes a message of which all bytes are there. */
void recv_take_whole(struct recv *recv, const mca_ptl_base_match_header_t *header,
                     const void *bytes);
/* Of an idle one: takes this message. */
void recv_take(struct recv *recv, struct keel_pml_message *message);
/* Of one that waits for room, taken from its peer's pending requests: goes on. False: it waits
 * again, before the others. */
bool recv_resume(struct recv *recv);
/* Of an active one: it ends with this status. */
void recv_fail(struct recv *recv, int status);
/* No message of this member will come any more. */
void recv_fail_member(struct member *member, int status);

/* Calls of modules. */
void recv_upcall_progress(mca_ptl_base_module_t *ptl, mca_ptl_base_recv_request_t *request,
                          size_t received, size_t delivered);
void recv_upcall_failed(struct keel_ptl_module_t *ptl, mca_ptl_base_recv_request_t *request,
                        size_t offset, size_t size, int status);

#endif
