#include <config.h>

#include <base/settings/log.h>
#include <pml/peers/context.h>
#include <pml/peers/peer.h>
#include <pml/requests/control.h>
#include <pml/requests/send.h>

/* The tags. Each message also has, as its number, that of the first message that has not come. */
enum {
    CONTROL_SEEN = INT32_MIN + 1,
    CONTROL_ASK = INT32_MIN + 2,
    CONTROL_ASK_NO_MORE = INT32_MIN + 3
};

void control_queue(struct member *member)
{
    if (list_empty(&member->tell)) {
        pml_queue(member->context->pml, &member->context->pml->tells, &member->tell);
    }
}

void control_of_peer(struct peer *peer, const mca_ptl_base_match_header_t *header)
{
    if (peer && (header->hdr_tag == CONTROL_ASK || header->hdr_tag == CONTROL_ASK_NO_MORE)) {
        peer->asked = header->hdr_tag == CONTROL_ASK;
    }
    if (peer && !list_empty(&peer->pending)) {
        peer_is_due(peer);
    }
}

void control_arrived(struct member *member, const mca_ptl_base_match_header_t *header)
{

    /* An older one may come behind a newer one. */
    if ((uint16_t) (header->hdr_msg_seq - member->seen) <=
        (uint16_t) (member->next - member->seen)) {
        member->seen = header->hdr_msg_seq;
    }
    control_of_peer(member->peer, header);
}

/* Without memory it is tried again when the next message comes. */
void control_tell(struct member *member)
{
    struct peer *peer = member->peer;
    const struct match_quota *quota = member->source.quota;

    if (!peer || member_connect(member) != OPAL_SUCCESS) {
        return;
    }
    bool asks = peer->asks ? quota->bytes > quota->most / 2 : match_quota_is_over(quota);
    int32_t tag = asks == peer->asks ? CONTROL_SEEN : asks ? CONTROL_ASK : CONTROL_ASK_NO_MORE;
    struct send *send = send_new(member, NULL, tag, SEND_CONTROL);
    if (!send) {
        return;
    }
    send->ptl.req_header.hdr_msg_seq = (uint16_t) member->source.order.expected;
    request_abandon(&send->super);
    int status = send_start(send);
    if (status != OPAL_SUCCESS) {
        request_release(&send->super);
        log_info(LOG_PTL, "rank %d of context %u: not told: %s", member->source.rank,
                 member->context->id, opal_strerror(status));
        return;
    }
    member->told = (uint16_t) member->source.order.expected;
    peer->asks = asks;
}
