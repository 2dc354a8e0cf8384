/* The module: its socket, messages, put and get, its table. docs/add-a-transport.md goes through
 * it. */
#include <config.h>

#include <base/settings/log.h>
#include <base/settings/param.h>
#include <btl/peers/netcard.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <tests/lib/udgram/udgram.h>
#include <unistd.h>

enum {
    SMALL_SIZE = 4096,
    MAX_REGIONS = 65536,
    MAX_OPS = 4096,
    BATCH = 64,          /* most datagrams in one pass */
    ACTIVE_POLLS = 1024, /* after the last event */
    HANDSHAKE_US = 60000000,
    FLUSH_US = 2000000,
};

static struct param free_list_param =
    PARAM_INT("btl_udgram_free_list_max", "512", 1, 1 << 16, "", "Most descriptors of each size.");
PARAM_ROWS("btl", free_list_param);

/* ---- the socket ---- */

/* A file with a name that no other socket had or will have. */
static int socket_open(struct udgram *udgram)
{
    const struct btl_host *host = udgram->peers.cards.host;
    const char *folder = host->ops->session_dir ? host->ops->session_dir(host->arg) : NULL;
    char *path = udgram->card.path;
    struct sock_addr address;
    uint64_t number;

    crypto_random(&number, sizeof(number));
    int length = snprintf(path, UDGRAM_PATH_BYTES, "%s/udgram.%016llx", folder ? folder : "",
                          (unsigned long long) number);
    if (!folder || length >= UDGRAM_PATH_BYTES || sock_addr_unix(&address, path) != 0) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    udgram->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (udgram->fd < 0 ||
        bind(udgram->fd, (struct sockaddr *) &address.storage, address.length) != 0) {
        fd_close(&udgram->fd);
        return OPAL_ERR_NOT_AVAILABLE;
    }
    return OPAL_SUCCESS;
}

static void socket_close(struct udgram *udgram)
{
    if (udgram->fd >= 0) {
        (void) unlink(udgram->card.path);
    }
    fd_close(&udgram->fd);
}

static int card_publish(struct udgram *udgram)
{
    uint8_t bytes[UDGRAM_CARD_BYTES];

    udgram->card.netstack = netcard_netstack();
    return btl_card_publish(&udgram->peers.cards, bytes, udgram_card_encode(bytes, &udgram->card));
}

int udgram_transmit(struct udgram *udgram, udgram_endpoint *peer, const struct iovec *parts,
                    size_t count)
{
    const struct msghdr message = {
        .msg_name = &peer->at.storage,
        .msg_namelen = peer->at.length,
        .msg_iov = (struct iovec *) parts,
        .msg_iovlen = count,
    };

    if (sendmsg(udgram->fd, &message, MSG_NOSIGNAL) >= 0) {
        return OPAL_SUCCESS;
    }
    if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == EINTR) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    btl_peer_fail(&peer->life, "its socket is gone");
    return OPAL_ERR_UNREACH;
}

/* ---- messages ---- */

static int descriptor_transmit(struct udgram *udgram, udgram_endpoint *endpoint,
                               const mca_btl_base_descriptor_t *descriptor, uint8_t channel,
                               mca_btl_base_tag_t tag)
{
    uint8_t header[UDGRAM_HEADER_BYTES];
    struct iovec parts[MCA_BTL_DES_MAX_SEGMENTS + 1] = {{header, sizeof(header)}};

    udgram_header_encode(header, &(struct udgram_header){.kind = UDGRAM_AM,
                                                         .channel = channel,
                                                         .tag = tag,
                                                         .index = endpoint->their_index});
    for (size_t i = 0; i < descriptor->des_segment_count; i++) {
        const mca_btl_base_segment_t *segment = &descriptor->des_segments[i];
        parts[i + 1] = (struct iovec){segment->seg_addr.pval, segment->seg_len};
    }
    return udgram_transmit(udgram, endpoint, parts, descriptor->des_segment_count + 1);
}

/* Whoever wants a callback gets it from progress, so that callbacks that send do not nest. */
static int channel_send(mca_btl_base_module_t *btl, udgram_endpoint *endpoint,
                        mca_btl_base_descriptor_t *descriptor, uint8_t channel,
                        mca_btl_base_tag_t tag)
{
    struct udgram *udgram = udgram_of(btl);
    struct desc_send *later;
    size_t total;
    int status = desc_total(descriptor, btl->btl_max_send_size, &total);

    if (status == OPAL_SUCCESS) {
        status = udgram_peer_want(udgram, endpoint);
    }
    if (status == OPAL_SUCCESS) {
        status = desc_later_begin(&udgram->descs, desc_of(descriptor), endpoint, &later);
    }
    if (status != OPAL_SUCCESS) {
        return status;
    }
    status = descriptor_transmit(udgram, endpoint, descriptor, channel, tag);
    return desc_later_end(btl, &udgram->descs, endpoint, desc_of(descriptor), later, status);
}

/* ---- progress ---- */

/* A frame of a peer, which a callback may end. */
static void frame_take(struct udgram *udgram, udgram_endpoint *peer,
                       const struct udgram_header *header, mca_btl_base_segment_t *data)
{
    if (header->kind == UDGRAM_BYE) {
        udgram_bye_received(peer);
    } else if (header->channel != BTL_CHANNEL_RDMA) {
        btl_deliver_on(&udgram->super, btl_peer_added(&peer->life), header->channel, header->tag,
                       data, 1);
    } else if (peer->life.state != PEER_CLOSING &&
               rdma_am_receive(udgram->am, &peer->am, data, 1) != OPAL_SUCCESS) {
        btl_peer_break(&peer->life, OPAL_ERR_UNREACH, "it sent a frame that is none");
    }
}

static void received(struct udgram *udgram, const struct sock_addr *from, size_t size)
{
    if (size < UDGRAM_HEADER_BYTES || size > sizeof(udgram->buffer)) {
        udgram->dropped++;
        return;
    }
    const struct udgram_header header = udgram_header_decode(udgram->buffer);
    mca_btl_base_segment_t data = {
        .seg_addr.pval = udgram->buffer + UDGRAM_HEADER_BYTES,
        .seg_len = size - UDGRAM_HEADER_BYTES,
    };
    udgram_endpoint *peer = udgram_peer_find(udgram, &header, udgram_path(from));
    if (header.kind == UDGRAM_HELLO) {
        udgram_hello_received(udgram, udgram->buffer, size, from);
    } else if (peer && (header.kind == UDGRAM_AM || header.kind == UDGRAM_BYE)) {
        frame_take(udgram, peer, &header, &data);
    } else {
        udgram->dropped++;
    }
}

static int receive(struct udgram *udgram)
{
    int events = 0;

    for (; events < BATCH; events++) {
        struct sock_addr from = {.length = sizeof(from.storage)};
        ssize_t size = recvfrom(udgram->fd, udgram->buffer, sizeof(udgram->buffer), MSG_TRUNC,
                                (struct sockaddr *) &from.storage, &from.length);
        if (size < 0) {
            break;
        }
        received(udgram, &from, (size_t) size);
    }
    return events;
}

static int progress(mca_btl_base_module_t *btl)
{
    struct udgram *udgram = udgram_of(btl);
    int events = receive(udgram) + desc_set_finish(btl, &udgram->descs, NULL) +
                 btl_peers_progress(&udgram->peers) + rdma_am_progress(udgram->am);

    udgram->idle_polls = events > 0 ? 0 : udgram->idle_polls + 1;
    return events;
}

/* A poll costs a system call. */
static bool active(mca_btl_base_module_t *btl)
{
    const struct udgram *udgram = udgram_of(btl);

    return udgram->idle_polls < ACTIVE_POLLS || !list_empty(&udgram->descs.done) ||
           btl_peers_busy(&udgram->peers) || rdma_am_active(udgram->am);
}

/* ---- put, get and atomics, over messages ---- */

static int rdma(mca_btl_base_module_t *btl, udgram_endpoint *endpoint, const struct rdma_call *call,
                bool put)
{
    struct udgram *udgram = udgram_of(btl);

    if (udgram_peer_want(udgram, endpoint) == OPAL_ERR_UNREACH) {
        return OPAL_ERR_UNREACH;
    }
    return put ? rdma_am_put(udgram->am, &endpoint->am, call)
               : rdma_am_get(udgram->am, &endpoint->am, call);
}

static int atomic(mca_btl_base_module_t *btl, udgram_endpoint *endpoint,
                  const struct atomic_call *call)
{
    struct udgram *udgram = udgram_of(btl);

    if (udgram_peer_want(udgram, endpoint) == OPAL_ERR_UNREACH) {
        return OPAL_ERR_UNREACH;
    }
    return rdma_am_atomic(udgram->am, &endpoint->am, call);
}

/* ---- keel_btl_ext ---- */

static bool rdma_open(mca_btl_base_module_t *btl, udgram_endpoint *endpoint)
{
    return endpoint ? endpoint->life.peers && rdma_am_peer_open(&endpoint->am)
                    : rdma_am_open(udgram_of(btl)->am);
}

/* How full the peer's socket is cannot be seen. */
static enum btl_room room(mca_btl_base_module_t *btl, udgram_endpoint *endpoint)
{
    const struct udgram *udgram = udgram_of(btl);

    if (!endpoint) {
        return desc_set_room(&udgram->descs);
    }
    if (endpoint->life.state >= PEER_FAILING) {
        return BTL_ROOM;
    }
    bool on_its_way = endpoint->life.state == PEER_CARD || endpoint->life.state == PEER_HANDSHAKE;
    return on_its_way || !rdma_am_has_room(udgram->am) ? BTL_ROOM_NONE : BTL_ROOM_UNSEEN;
}

static bool is_quiet(mca_btl_base_module_t *btl)
{
    const struct udgram *udgram = udgram_of(btl);

    return list_empty(&udgram->descs.done) && !rdma_am_active(udgram->am);
}

static int wait_fd(mca_btl_base_module_t *btl)
{
    return udgram_of(btl)->fd;
}

/* Nothing tells when there is room in a peer's socket, or that it is time for a hello. */
static int wait_arm(mca_btl_base_module_t *btl)
{
    const struct udgram *udgram = udgram_of(btl);

    return !list_empty(&udgram->descs.done) || btl_peers_busy(&udgram->peers) ||
                   rdma_am_stuck(udgram->am)
               ? OPAL_ERR_RESOURCE_BUSY
               : OPAL_SUCCESS;
}

static const struct btl_ext_ops udgram_ext = {
    .flags = KEEL_BTL_REMOTE_COMPLETION,
    .atomic_flags = ATOMIC_ALL_EXT_FLAGS,
    .channel_send = channel_send,
    .rdma_open = rdma_open,
    .am_at = offsetof(struct mca_btl_base_endpoint_t, am),
    .room = room,
    .is_quiet = is_quiet,
    .wait_fd = wait_fd,
    .wait_arm = wait_arm,
};

/* ---- the module ---- */

static void describe(mca_btl_base_module_t *btl, udgram_endpoint *endpoint, char *text, size_t size)
{
    const struct udgram *udgram = udgram_of(btl);

    if (!endpoint) {
        snprintf(text, size, "%s: %llu datagrams of strangers dropped", udgram->card.path,
                 udgram->dropped);
    }
}

static void module_destroy(struct udgram *udgram)
{
    rdma_am_destroy(udgram->am);
    desc_set_fini(&udgram->descs);
    region_table_destroy(udgram->regions);
    btl_peers_fini(&udgram->peers);
    socket_close(udgram);
    free(udgram);
}

static int finalize(mca_btl_base_module_t *btl)
{
    btl_peers_end_all(&udgram_of(btl)->peers);
    module_destroy(udgram_of(btl));
    return OPAL_SUCCESS;
}

static int ft_event(int state)
{
    return btl_component_ft_event(&btl_udgram_component, state);
}

/* Another socket, another card: what comes to the old one is of a life that is over. */
static int restart(mca_btl_base_module_t *btl)
{
    struct udgram *udgram = udgram_of(btl);

    btl_peers_restart(&udgram->peers);
    socket_close(udgram);
    udgram->peers.cards.life++;
    int status = socket_open(udgram);
    return status == OPAL_SUCCESS ? card_publish(udgram) : status;
}

static const mca_btl_base_module_t module_template = {
    BTL_MODULE_TABLE,
    .btl_component = &btl_udgram_component.component,
    .btl_eager_limit = SMALL_SIZE,
    .btl_rndv_eager_limit = SMALL_SIZE,
    .btl_max_send_size = UDGRAM_SEND_MAX,
    .btl_rdma_pipeline_send_length = UDGRAM_SEND_MAX,
    .btl_rdma_pipeline_frag_size = 1 << 20,
    .btl_exclusivity = 1,
    .btl_latency = 5,
    .btl_bandwidth = 1000,
    .btl_flags = BTL_MODULE_FLAGS | MCA_BTL_FLAGS_SEND_INPLACE,
    .btl_finalize = finalize,
    .btl_alloc = btl_alloc,
    .btl_prepare_src = btl_prepare_src,
    .btl_send = btl_send_by_channel,
    .btl_sendi = btl_sendi_by_send,
    .btl_register_mem = btl_register_mem,
    .btl_deregister_mem = btl_deregister_mem,
    .btl_ft_event = ft_event,
};

static struct udgram *module_create(void)
{
    struct udgram *udgram = calloc(1, sizeof(*udgram));
    size_t limit = (size_t) param_int(&free_list_param);
    const struct desc_size sizes[] = {
        {.payload = SMALL_SIZE, .limit = limit, .per_chunk = 32},
        {.payload = UDGRAM_SEND_MAX, .limit = limit, .per_chunk = 8},
    };

    if (!udgram) {
        return NULL;
    }
    udgram->super = module_template;
    udgram->fd = -1;
    desc_set_init(&udgram->descs, sizes, 2, 0);
    udgram->regions = region_table_create(MAX_REGIONS);
    const struct rdma_am_config config = {.module = &udgram->super,
                                          .regions = udgram->regions,
                                          .max_ops = MAX_OPS,
                                          .send = channel_send};
    if (btl_peers_init(&udgram->peers, &udgram_peer_hooks, &udgram->super, "udgram",
                       sizeof(udgram_endpoint)) != OPAL_SUCCESS ||
        !udgram->regions || rdma_am_create(&udgram->am, &config) != OPAL_SUCCESS ||
        socket_open(udgram) != OPAL_SUCCESS || card_publish(udgram) != OPAL_SUCCESS) {
        module_destroy(udgram);
        return NULL;
    }
    udgram->peers.handshake_us = HANDSHAKE_US;
    udgram->peers.flush_us = FLUSH_US;
    return udgram;
}

/* ---- the component ---- */

static mca_btl_base_module_t **init(int *count, bool progress_threads, bool threads)
{
    struct udgram *udgram = module_create();

    (void) progress_threads, (void) threads;
    return btl_one_module(udgram ? &udgram->super : NULL, count);
}

struct btl_component btl_udgram_component = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("udgram")},
                  .btl_init = init,
                  .btl_progress = btl_progress},
    .peers_at = offsetof(struct udgram, peers),
    .describe = describe,
    .progress = progress,
    .active = active,
    .restart = restart,
    .rdma = rdma,
    .atomic = atomic,
    .ext = &udgram_ext,
};
