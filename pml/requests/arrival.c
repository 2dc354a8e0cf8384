#include <config.h>

#include <base/settings/log.h>
#include <pml/peers/context.h>
#include <pml/peers/peer.h>
#include <pml/requests/arrival.h>
#include <pml/requests/control.h>

static struct keel_pml_message *message_in(mca_ptl_base_recv_frag_t *frag)
{
    return (struct keel_pml_message *) (void *) frag->frag_pml;
}

/* What it costs to keep the message. */
static size_t cost_of(struct keel_pml_message *message)
{
    const mca_ptl_base_recv_frag_t *frag = message_frag(message);
    return sizeof(*frag) + frag->frag_base.frag_size;
}

static void complain(const struct keel_pml_message *message, const char *why)
{
    unsigned held_back = 0;
    if (log_rate_ok("pml", &held_back)) {
        log_warn(LOG_PTL, "a message of rank %d, context %u, is dropped: %s (%u more)",
                 message->header->hdr_src, message->header->hdr_contextid, why, held_back);
    }
}

static void drop(struct keel_pml_message *message, const char *why)
{
    complain(message, why);
    message_give_back(message);
}

/* Hands messages to the receives that they were matched with. True: `of` was among them. */
static bool hand_out(struct list *matches, const struct keel_pml_message *of)
{
    bool among = false;

    for (struct list *link; (link = list_pop(matches));) {
        struct match_receive *receive = container_of(link, struct match_receive, link.queue);
        struct keel_pml_message *message = message_of(receive->message);
        among = among || message == of;
        recv_take(container_of(receive, struct recv, match), message);
    }
    return among;
}

/* Its message is not whole, and waits: it ends with the sender, whose end only those hear of that
 * have a path to it. */
static void watch_sender(struct peer *peer)
{
    if (peer && peer_connect(peer) != OPAL_SUCCESS) {
        peer_has_changed(peer, OPAL_SUCCESS); /* its rail may not be known yet */
    }
}

/* Its sender waits for an answer. */
static bool is_announcement(const mca_ptl_base_match_header_t *header)
{
    return header->hdr_common.hdr_flags & MCA_PTL_FLAGS_ACK;
}

static void count(struct member *member, const mca_ptl_base_match_header_t *header)
{
    member->stats.received++;
    member->stats.received_bytes += header->hdr_msg_length;
}

static bool arrive(struct keel_pml_context *context, struct keel_pml_message *message)
{
    const mca_ptl_base_match_header_t *header = message->header;
    struct list matches;

    if (!context_has_rank(context, header->hdr_src)) {
        drop(message, "there is no such rank");
        return false;
    }
    struct member *member = context_member(context, header->hdr_src);
    if (control_is(header)) {
        control_arrived(member, header);
        message_give_back(message);
        return false;
    }
    count(member, header);
    message->context = context;
    message->match.tag = header->hdr_tag;
    message->match.bytes = cost_of(message);
    list_init(&message->match.frame.link);
    list_init(&matches);
    switch (match_arrive(&context->match, &member->source, &message->match, header->hdr_msg_seq,
                         &matches)) {
    case REORDER_NOW:
    case REORDER_KEPT:
        break;
    case REORDER_AGAIN:
        message_give_back(message); /* a copy */
        return false;
    case REORDER_TOO_FAR:
        drop(message, "it is too far ahead");
        return false;
    }
    control_came(member);
    if (!hand_out(&matches, message)) {
        member->stats.unexpected++;
        if (is_announcement(header)) {
            watch_sender(member->peer);
        }
        pml_has_news(context->pml); /* for probes */
        return false;
    }
    return true;
}

/* ---- before a context is opened ---- */

/* By its module: a rank tells nothing yet. NULL: it is not known, or there is no memory. */
static struct peer *sender_of(struct pml *pml, struct keel_pml_message *message)
{
    struct keel_ptl_module_t *ptl = keel_ptl_extended(message->module);
    struct ompi_proc_t *proc =
        ptl && ptl->ptl_sender ? ptl->ptl_sender(ptl, message_frag(message)) : NULL;
    return proc ? peer_of(pml, &proc->super) : NULL;
}

static void keep_early(struct pml *pml, struct keel_pml_message *message)
{
    struct peer *sender = sender_of(pml, message);
    uint16_t id = message->header->hdr_contextid;

    if (control_is(message->header)) { /* it counts whatever became of the context */
        control_of_peer(sender, message->header);
        message_give_back(message);
        return;
    }
    if (context_was_lost(pml, id)) {
        message_give_back(message);
        return;
    }
    message->early.bytes = cost_of(message);
    message->early.quota = sender ? &sender->quota : &pml->stray;
    if (!early_put(&pml->early, id, &message->early)) {
        context_is_lost(pml, id);
        drop(message, "the context is not open, and there is no more room for such messages");
    } else if (is_announcement(message->header)) {
        watch_sender(sender);
    }
}

void arrival_of_early(struct keel_pml_context *context)
{
    struct early_message *early;

    while ((early = early_take(&context->pml->early, context->id))) {
        (void) arrive(context, container_of(early, struct keel_pml_message, early));
    }
}

void arrival_forget(struct pml *pml, uint16_t id)
{
    struct early_message *early;

    while ((early = early_take(&pml->early, id))) {
        message_give_back(container_of(early, struct keel_pml_message, early));
    }
}

void arrival_end_early(const struct peer *peer)
{
    struct early *early = &peer->pml->early;
    struct early_message *each;

    list_for_each (each, &early->all, struct early_message, all) {
        struct keel_pml_message *message = container_of(each, struct keel_pml_message, early);
        if (each->quota == &peer->quota && is_announcement(message->header)) {
            early_remove(early, each);
            message_give_back(message);
        }
    }
}

void arrival_drop_early(struct pml *pml)
{
    struct early_message *early;

    while ((early = early_drop(&pml->early))) {
        message_give_back(container_of(early, struct keel_pml_message, early));
    }
}

/* ---- others ---- */

void arrival_drop_unexpected(struct keel_pml_context *context)
{
    struct match_message *match;

    while ((match = match_drop(&context->match))) {
        message_give_back(message_of(match));
    }
}

void arrival_drop(struct keel_pml_context *context)
{
    struct match_message *match;

    for (size_t i = 0; i < context->size; i++) {
        struct member *member = &context->members[i];
        while (member->context && (match = match_source_drop(&member->source))) {
            message_give_back(message_of(match));
        }
    }
    arrival_drop_unexpected(context);
}

bool arrival_upcall_match(mca_ptl_base_module_t *ptl, mca_ptl_base_recv_frag_t *frag,
                          mca_ptl_base_match_header_t *header)
{
    struct pml *pml = pml_of(ptl);
    struct keel_pml_context *context = context_find(pml, header->hdr_contextid);
    struct keel_pml_message *message = message_in(frag);

    message->module = ptl;
    message->header = header;
    if (!context) {
        keep_early(pml, message);
        return false;
    }
    return arrive(context, message);
}

bool arrival_upcall_matchi(struct keel_ptl_module_t *ptl, const mca_ptl_base_match_header_t *header,
                           const void *bytes)
{
    struct keel_pml_context *context = context_find(pml_of(&ptl->super), header->hdr_contextid);
    if (!context || !context_has_rank(context, header->hdr_src) || control_is(header)) {
        return false;
    }
    struct member *member = context_member(context, header->hdr_src);
    struct match_receive *receive =
        match_at_once(&context->match, &member->source, header->hdr_tag, header->hdr_msg_seq);
    if (!receive) {
        return false;
    }
    count(member, header);
    control_came(member);
    recv_take_whole(container_of(receive, struct recv, match), header, bytes);
    return true;
}
