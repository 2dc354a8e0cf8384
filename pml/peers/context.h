/* Contexts and their members. */
#ifndef PML_CONTEXT_H
#define PML_CONTEXT_H

#include <pml/peers/peer.h>

/* NULL: it is not open. */
static inline struct keel_pml_context *context_find(const struct pml *pml, uint16_t id)
{
    const struct context_page *page = pml->pages[id / CONTEXT_PAGE];
    return page ? page->contexts[id % CONTEXT_PAGE] : NULL;
}

static inline bool context_has_rank(const struct keel_pml_context *context, int32_t rank)
{
    return rank >= 0 && (size_t) rank < context->size;
}

void context_member_init(struct keel_pml_context *context, int32_t rank);
/* The rank is one of the context's. */
static inline struct member *context_member(struct keel_pml_context *context, int32_t rank)
{
    struct member *member = &context->members[rank];
    if (!member->context) {
        context_member_init(context, rank);
    }
    return member;
}

/* Its peer has paths, if the status is SUCCESS. UNREACH: there are none; OUT_OF_RESOURCE. */
int member_connect(struct member *member) KEEL_MUST_CHECK;
static inline bool member_is_ready(const struct member *member)
{
    return member->peer && peer_is_connected(member->peer);
}
static inline int member_ready(struct member *member)
{
    return member_is_ready(member) ? OPAL_SUCCESS : member_connect(member);
}

/* A message of this context was dropped: it cannot be opened any more. */
void context_is_lost(struct pml *pml, uint16_t id);
static inline bool context_was_lost(const struct pml *pml, uint16_t id)
{
    const struct context_page *page = pml->pages[id / CONTEXT_PAGE];
    return page && page->lost[id % CONTEXT_PAGE];
}
/* An empty context in the table. EXISTS, or OUT_OF_RESOURCE. */
int context_create(struct pml *pml, uint16_t id, opal_proc_t *const *members, size_t size,
                   int32_t rank, struct keel_pml_context **context) KEEL_MUST_CHECK;
/* No request and no message is left. */
void context_destroy(struct keel_pml_context *context);
void contexts_fini(struct pml *pml);

#endif
