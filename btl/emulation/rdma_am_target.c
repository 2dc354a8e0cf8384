/* rdma_am at the target: requests are carried out and answered. */
#include <config.h>

#include <base/data/le.h>
#include <btl/emulation/rdma_am_sides.h>
#include <btl/interface/atomic.h>
#include <btl/interface/base.h>
#include <btl/modules/tap.h>
#include <string.h>

/* A reply that found no room; answers request. */
struct am_reply {
    struct pool_item item;
    struct list link;
    struct rdma_am_frame request;
    int status;
    uint64_t before; /* what an atomic found */
};

void am_replies_init(struct pool *replies)
{
    pool_init(replies, sizeof(struct am_reply), _Alignof(struct am_reply), 32, 0, NULL, NULL);
}

void am_replies_drop(struct rdma_am *am, struct rdma_am_peer *peer)
{
    for (struct list *link = list_pop(&peer->replies); link; link = list_pop(&peer->replies)) {
        pool_put(&am->replies, container_of(link, struct am_reply, link));
    }
    peer->replies_queued = 0;
}

/* The memory of a request's chunk, or NULL and why not. */
static unsigned char *chunk_access(struct rdma_am *am, struct rdma_am_peer *peer,
                                   const struct rdma_am_frame *request, uint32_t right, int *status)
{
    struct region_handle handle = {.index = request->region_index,
                                   .generation = request->region_generation};
    unsigned char *memory = region_access(am->config.regions, &handle, peer->known_as,
                                          request->address, request->total, right, status);
    return memory ? memory + request->offset : NULL;
}

/* Answers a request; GET's data is fetched now, and its region checked now. */
static int reply_send(struct rdma_am *am, struct rdma_am_peer *peer,
                      const struct rdma_am_frame *request, int status, uint64_t before)
{
    const void *data = NULL;
    unsigned char word[ATOMIC_MAX_BYTES];
    if (request->kind == RDMA_AM_GET && status == OPAL_SUCCESS) {
        data = chunk_access(am, peer, request, MCA_BTL_REG_FLAG_REMOTE_READ, &status);
    } else if (request->kind == RDMA_AM_ATOMIC && status == OPAL_SUCCESS) {
        put_le64(word, before);
        data = word;
    }
    size_t size = data ? (size_t) request->size : 0;
    mca_btl_base_module_t *module = am->config.module;
    mca_btl_base_descriptor_t *descriptor =
        btl_own(module)->btl_alloc(module, peer->endpoint, MCA_BTL_NO_ORDER,
                                   RDMA_AM_REPLY_BYTES + size, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    if (!descriptor) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    struct rdma_am_frame reply = {
        .kind = request->kind + 1,
        .status = status,
        .op_index = request->op_index,
        .op_generation = request->op_generation,
        .offset = request->offset,
        .size = request->size,
    };
    unsigned char *bytes = descriptor->des_segments[0].seg_addr.pval;
    rdma_am_encode(bytes, &reply);
    if (size > 0) {
        memcpy(bytes + RDMA_AM_REPLY_BYTES, data, size);
    }
    peer->replying = true;
    int sent = am->config.send(module, peer->endpoint, descriptor, BTL_CHANNEL_RDMA, 0);
    peer->replying = false;
    if (sent < 0) {
        btl_own(module)->btl_free(module, descriptor);
    }
    return sent < 0 ? sent : OPAL_SUCCESS;
}

int am_reply_next(struct rdma_am *am, struct rdma_am_peer *peer)
{
    struct am_reply *queued = container_of(list_pop(&peer->replies), struct am_reply, link);
    peer->replies_queued--;
    int status = reply_send(am, peer, &queued->request, queued->status, queued->before);
    if (btl_is_shortage(status)) {
        list_prepend(&peer->replies, &queued->link);
        peer->replies_queued++;
    } else {
        pool_put(&am->replies, queued);
    }
    return status;
}

/* Answers now, or queues behind the replies that wait. */
static int reply(struct rdma_am *am, struct rdma_am_peer *peer, const struct rdma_am_frame *request,
                 int status, uint64_t before)
{
    if (list_empty(&peer->replies) && !peer->replying) {
        int sent = reply_send(am, peer, request, status, before);
        if (!btl_is_shortage(sent)) {
            return OPAL_SUCCESS; /* a link that is gone needs no reply */
        }
    }
    struct am_reply *queued = peer->replies_queued < RDMA_AM_WINDOW ? pool_get(&am->replies) : NULL;
    if (!queued) {
        return OPAL_ERR_BAD_PARAM;
    }
    queued->request = *request;
    queued->status = status;
    queued->before = before;
    list_append(&peer->replies, &queued->link);
    peer->replies_queued++;
    am_peer_stuck(am, peer);
    return OPAL_SUCCESS;
}

int rdma_am_begin(struct rdma_am_landing *landing, const void *header, size_t size, size_t data)
{
    *landing = (struct rdma_am_landing){.status = OPAL_SUCCESS};
    if (rdma_am_decode(&landing->frame, header, size) != OPAL_SUCCESS) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (landing->frame.kind != RDMA_AM_PUT) {
        return OPAL_ERR_NOT_SUPPORTED;
    }
    return landing->frame.size == data ? OPAL_SUCCESS : OPAL_ERR_BAD_PARAM;
}

void *rdma_am_land(struct rdma_am *am, struct rdma_am_peer *peer, struct rdma_am_landing *landing,
                   size_t size)
{
    size_t at = landing->landed;
    unsigned char *memory = NULL;
    if (size > landing->frame.size - at) {
        landing->status = OPAL_ERR_VALUE_OUT_OF_BOUNDS;
        return NULL;
    }
    landing->landed += size;
    if (landing->status == OPAL_SUCCESS) {
        memory = chunk_access(am, peer, &landing->frame, MCA_BTL_REG_FLAG_REMOTE_WRITE,
                              &landing->status);
    }
    return memory ? memory + at : NULL;
}

int rdma_am_end(struct rdma_am *am, struct rdma_am_peer *peer, struct rdma_am_landing *landing)
{
    if (landing->landed < landing->frame.size) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (landing->landed == 0) {
        (void) rdma_am_land(am, peer, landing, 0); /* its region is checked all the same */
    }
    return reply(am, peer, &landing->frame, landing->status, 0);
}

static int receive_put(struct rdma_am *am, struct rdma_am_peer *peer,
                       const struct rdma_am_frame *frame, const mca_btl_base_segment_t *segments,
                       size_t count)
{
    struct rdma_am_landing landing = {.frame = *frame, .status = OPAL_SUCCESS};
    unsigned char *to = rdma_am_land(am, peer, &landing, (size_t) frame->size);
    if (to) {
        am_copy_payload(to, segments, count, RDMA_AM_REQUEST_BYTES);
    }
    return rdma_am_end(am, peer, &landing);
}

/* Applied once, here: the reply may wait, and takes along what was found. */
static int receive_atomic(struct rdma_am *am, struct rdma_am_peer *peer,
                          const struct rdma_am_frame *frame)
{
    int status = OPAL_ERR_BAD_PARAM;
    uint64_t before = 0;
    if (atomic_is_valid(&frame->atomic, frame->address, frame->total)) {
        void *word = chunk_access(am, peer, frame, MCA_BTL_REG_FLAG_REMOTE_ATOMIC, &status);
        before = word ? atomic_apply(word, &frame->atomic, (size_t) frame->size) : 0;
    }
    return reply(am, peer, frame, status, before);
}

/* A region is checked just before its bytes move, which they do now. */
static int receive_shared(struct rdma_am *am, struct rdma_am_peer *peer,
                          const struct rdma_am_frame *frame)
{
    const bool put = frame->kind == RDMA_AM_PULL;
    int status = OPAL_SUCCESS;
    void *memory =
        chunk_access(am, peer, frame,
                     put ? MCA_BTL_REG_FLAG_REMOTE_WRITE : MCA_BTL_REG_FLAG_REMOTE_READ, &status);
    if (memory) {
        status = am->config.reach(am->config.module, peer->endpoint, put, memory, frame->there,
                                  (size_t) frame->size);
    }
    return reply(am, peer, frame, status, 0);
}

int am_receive_request(struct rdma_am *am, struct rdma_am_peer *peer,
                       const struct rdma_am_frame *frame, const mca_btl_base_segment_t *segments,
                       size_t count, size_t payload)
{
    const struct rdma_am_config *config = &am->config;
    size_t reply_room = config->module->btl_max_send_size - RDMA_AM_REPLY_BYTES;
    if (payload != (frame->kind == RDMA_AM_PUT ? frame->size : 0) ||
        (frame->kind == RDMA_AM_GET && frame->size > reply_room) ||
        (rdma_am_is_shared(frame->kind) && (!config->reach || frame->size > config->share_bytes))) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (frame->kind != RDMA_AM_ATOMIC && config->claim &&
        !config->claim(config->module, peer->endpoint, frame->number)) {
        return OPAL_SUCCESS;
    }
    switch (frame->kind) {
    case RDMA_AM_PUT:
        return receive_put(am, peer, frame, segments, count);
    case RDMA_AM_GET:
        return reply(am, peer, frame, OPAL_SUCCESS, 0);
    case RDMA_AM_PULL:
    case RDMA_AM_PUSH:
        return receive_shared(am, peer, frame);
    default:
        return receive_atomic(am, peer, frame);
    }
}
