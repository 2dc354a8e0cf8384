#include <config.h>

#include <btl/emulation/rdma_am_sides.h>
#include <btl/interface/base.h>
#include <btl/memory/desc.h>
#include <stdlib.h>
#include <string.h>

int rdma_am_create(struct rdma_am **am, const struct rdma_am_config *config)
{
    if (config->max_ops == 0 || config->module->btl_max_send_size <= RDMA_AM_ATOMIC_BYTES) {
        return ORTE_ERR_BAD_PARAM;
    }
    struct rdma_am *made = calloc(1, sizeof(*made));
    struct am_op *ops = am_ops_create(config->max_ops);
    if (!made || !ops) {
        free(made);
        free(ops);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    made->config = *config;
    made->ops = ops;
    list_init(&made->free_ops);
    list_init(&made->stuck);
    am_replies_init(&made->replies);
    *am = made;
    return ORTE_SUCCESS;
}

void rdma_am_destroy(struct rdma_am *am)
{
    if (!am) {
        return;
    }
    pool_fini(&am->replies);
    free(am->ops);
    free(am);
}

void rdma_am_peer_init(struct rdma_am_peer *peer, struct mca_btl_base_endpoint_t *endpoint)
{
    *peer =
        (struct rdma_am_peer){.endpoint = endpoint, .known_as = endpoint, .window = RDMA_AM_WINDOW};
    list_init(&peer->link);
    list_init(&peer->requesting);
    list_init(&peer->waiting);
    list_init(&peer->replies);
}

void rdma_am_cancel(struct rdma_am *am, struct rdma_am_peer *peer, int status)
{
    list_remove(&peer->link);
    am_replies_drop(am, peer);
    peer->unanswered = 0;
    am_ops_cancel(am, peer, status);
}

void am_peer_stuck(struct rdma_am *am, struct rdma_am_peer *peer)
{
    list_remove(&peer->link);
    list_append(&am->stuck, &peer->link);
}

int am_peer_pump(struct rdma_am *am, struct rdma_am_peer *peer)
{
    if (peer->pumping) {
        return 0; /* the pump further up the stack goes on */
    }
    peer->pumping = true;
    int sent = 0, status = OPAL_SUCCESS;
    while (!list_empty(&peer->replies) && !btl_is_shortage(status)) {
        status = am_reply_next(am, peer);
        sent += !btl_is_shortage(status);
    }
    while (!list_empty(&peer->requesting) && am_may_request(am, peer) && !btl_is_shortage(status)) {
        status = am_request_next(am, peer);
        sent += status == OPAL_SUCCESS;
    }
    if (btl_is_shortage(status)) {
        am_peer_stuck(am, peer);
    }
    peer->pumping = false;
    return sent;
}

int rdma_am_progress(struct rdma_am *am)
{
    struct list peers;
    list_init(&peers);
    list_splice(&peers, &am->stuck);
    int sent = 0;
    for (struct list *link = list_pop(&peers); link; link = list_pop(&peers)) {
        sent += am_peer_pump(am, container_of(link, struct rdma_am_peer, link));
    }
    return sent;
}

bool rdma_am_active(const struct rdma_am *am)
{
    return am->live_ops > 0 || am->replies.in_use > 0;
}

bool rdma_am_peer_active(const struct rdma_am_peer *peer)
{
    return !list_empty(&peer->requesting) || !list_empty(&peer->waiting) ||
           !list_empty(&peer->replies);
}

bool rdma_am_open(const struct rdma_am *am)
{
    return am->live_ops > am->over_ops;
}

bool rdma_am_peer_open(const struct rdma_am_peer *peer)
{
    return !list_empty(&peer->requesting) || !list_empty(&peer->waiting);
}

bool rdma_am_shares(const struct rdma_am *am)
{
    return am->shared_ops > 0;
}

bool rdma_am_stuck(const struct rdma_am *am)
{
    return !list_empty(&am->stuck);
}

bool rdma_am_has_room(const struct rdma_am *am)
{
    return am->live_ops < am->config.max_ops;
}

void rdma_am_lose(struct rdma_am_peer *peer, int status)
{
    if (peer->lost == OPAL_SUCCESS) {
        peer->lost = status;
    }
}

int rdma_am_lost(struct rdma_am_peer *peer)
{
    int lost = peer->lost;
    peer->lost = OPAL_SUCCESS;
    return lost;
}

void am_copy_payload(unsigned char *to, const mca_btl_base_segment_t *segments, size_t count,
                     size_t header)
{
    size_t first = (size_t) segments[0].seg_len - header;
    if (first > 0) {
        memcpy(to, (const unsigned char *) segments[0].seg_addr.pval + header, first);
    }
    desc_gather(to + first, segments + 1, count - 1);
}

int rdma_am_receive(struct rdma_am *am, struct rdma_am_peer *peer,
                    const mca_btl_base_segment_t *segments, size_t count)
{
    struct rdma_am_frame frame;
    if (count == 0 || rdma_am_decode(&frame, segments[0].seg_addr.pval,
                                     (size_t) segments[0].seg_len) != OPAL_SUCCESS) {
        return OPAL_ERR_BAD_PARAM;
    }
    size_t payload = 0;
    for (size_t i = 0; i < count; i++) {
        payload += (size_t) segments[i].seg_len;
    }
    payload -= rdma_am_frame_bytes(frame.kind);
    return rdma_am_is_request(frame.kind)
               ? am_receive_request(am, peer, &frame, segments, count, payload)
               : am_receive_reply(am, peer, &frame, segments, count, payload);
}
