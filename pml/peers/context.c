#include <config.h>

#include <pml/peers/context.h>
#include <pml/peers/peer.h>
#include <stdlib.h>
#include <string.h>

/* ---- members ---- */

static opal_proc_t *proc_of(const struct keel_pml_context *context, int32_t rank)
{
    const struct pml_host *host = &context->pml->host;
    return context->procs ? context->procs[rank] : host->proc(host->arg, (size_t) rank);
}

/* Where there is no memory for a peer, its messages are counted with those of others like it. */
void context_member_init(struct keel_pml_context *context, int32_t rank)
{
    struct pml *pml = context->pml;
    struct member *member = &context->members[rank];

    member->context = context;
    member->peer = peer_of(pml, proc_of(context, rank));
    list_init(&member->tell);
    match_source_init(&member->source, rank, member->peer ? &member->peer->quota : &pml->stray,
                      UINT16_MAX, SEQUENCE_AHEAD, 0);
}

int member_connect(struct member *member)
{
    struct keel_pml_context *context = member->context;

    if (!member->peer) {
        member->peer = peer_of(context->pml, proc_of(context, member->source.rank));
    }
    return member->peer ? peer_connect(member->peer) : OPAL_ERR_OUT_OF_RESOURCE;
}

/* ---- the table ---- */

static struct context_page *page_of(struct pml *pml, uint16_t id)
{
    struct context_page **page = &pml->pages[id / CONTEXT_PAGE];

    if (!*page) {
        *page = calloc(1, sizeof(**page));
    }
    return *page;
}

void context_is_lost(struct pml *pml, uint16_t id)
{
    struct context_page *page = page_of(pml, id);
    if (page) {
        page->lost[id % CONTEXT_PAGE] = true;
    }
}

static int copy_procs(struct keel_pml_context *context, opal_proc_t *const *members)
{
    if (!members) {
        return OPAL_SUCCESS;
    }
    context->procs = calloc(context->size, sizeof(opal_proc_t *));
    if (!context->procs) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    memcpy(context->procs, members, context->size * sizeof(opal_proc_t *));
    return OPAL_SUCCESS;
}

static void destroy(struct keel_pml_context *context)
{
    match_fini(&context->match);
    free(context->members);
    free(context->procs);
    free(context);
}

int context_create(struct pml *pml, uint16_t id, opal_proc_t *const *members, size_t size,
                   int32_t rank, struct keel_pml_context **created)
{
    struct context_page *page = page_of(pml, id);
    struct keel_pml_context *context = calloc(1, sizeof(*context));

    if (!page || !context || page->contexts[id % CONTEXT_PAGE]) {
        free(context);
        return page && context ? OPAL_EXISTS : OPAL_ERR_OUT_OF_RESOURCE;
    }
    context->pml = pml;
    context->id = id;
    context->rank = rank;
    context->size = size;
    match_init(&context->match);
    context->members = calloc(size, sizeof(*context->members));
    if (!context->members || copy_procs(context, members) != OPAL_SUCCESS) {
        destroy(context);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    page->contexts[id % CONTEXT_PAGE] = context;
    list_append(&pml->all_contexts, &context->all);
    *created = context;
    return OPAL_SUCCESS;
}

void context_destroy(struct keel_pml_context *context)
{
    struct pml *pml = context->pml;
    struct member *member;

    list_for_each (member, &pml->tells, struct member, tell) {
        if (member->context == context) {
            list_remove(&member->tell);
        }
    }
    pml->pages[context->id / CONTEXT_PAGE]->contexts[context->id % CONTEXT_PAGE] = NULL;
    list_remove(&context->all);
    destroy(context);
}

void contexts_fini(struct pml *pml)
{
    for (size_t i = 0; i < CONTEXT_PAGES; i++) {
        free(pml->pages[i]);
    }
}
