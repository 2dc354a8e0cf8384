#include <config.h>

#include <tests/unit/btl/tcp/peer.h>

#include <base/settings/param.h>
#include <string.h>
#include <tests/lib/unit.h>

struct tcp_peer tcp_peer;

static void take(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                 mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag, (void) cbdata;
    tcp_peer.received++;
    ck_assert_uint_eq((uintptr_t) descriptor->des_segments[0].seg_addr.pval % 8, 0);
    size_t size = descriptor->des_segments[0].seg_len;
    memcpy(&tcp_peer.last_number, descriptor->des_segments[0].seg_addr.pval, size < 4 ? size : 4);
}

void tcp_peer_start(int rank)
{
    tcp_host_init(&tcp_peer.host);
    tcp_host_open(&tcp_peer.host, rank);
    tcp_peer.host.btl->btl_register(tcp_peer.host.btl, TCP_PEER_TAG, take, NULL);
}

void tcp_peer_param(const char *name, const char *value)
{
    ck_assert_int_eq(param_override(name, value), ORTE_SUCCESS);
}

void raw_send_am(int fd, uint32_t number)
{
    raw_frame(fd, &(struct tcp_frame){.type = TCP_FRAME_AM, .tag = TCP_PEER_TAG, .size = 4},
              &number);
}

int raw_open_accepted(int rank, uint64_t incarnation)
{
    enum tcp_verdict verdict;
    int fd = raw_open(&tcp_peer.host, rank, incarnation, &verdict);

    ck_assert_int_eq(verdict, TCP_VERDICT_ACCEPT);
    return fd;
}

static void completed_fn(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *ep,
                         mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) ep;
    tcp_peer.completed += status == OPAL_SUCCESS;
    tcp_peer.failed += status != OPAL_SUCCESS;
    btl->btl_free(btl, descriptor);
}

int tcp_peer_send(struct mca_btl_base_endpoint_t *ep, size_t size)
{
    mca_btl_base_descriptor_t *descriptor = tcp_peer.host.btl->btl_alloc(
        tcp_peer.host.btl, ep, MCA_BTL_NO_ORDER, size, MCA_BTL_DES_SEND_ALWAYS_CALLBACK);

    ck_assert_ptr_nonnull(descriptor);
    memset(descriptor->des_segments[0].seg_addr.pval, 5, size);
    descriptor->des_cbfunc = completed_fn;
    int status = tcp_peer.host.btl->btl_send(tcp_peer.host.btl, ep, descriptor, TCP_PEER_TAG);
    if (status < 0) {
        tcp_peer.host.btl->btl_free(tcp_peer.host.btl, descriptor);
    }
    return status;
}

void raw_expect_am(int fd, uint32_t wanted)
{
    struct tcp_frame frame;
    uint8_t data[256];
    uint32_t number;

    raw_read_frame(fd, &frame);
    ck_assert_int_eq(frame.type, TCP_FRAME_AM);
    ck_assert_uint_eq(frame.tag, TCP_PEER_TAG);
    ck_assert_uint_le(frame.size, sizeof(data));
    raw_read(fd, data, frame.size);
    memcpy(&number, data, 4);
    ck_assert_uint_eq(number, wanted);
}

int raw_serve(int listener, uint64_t incarnation)
{
    uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES];
    int fd = raw_accept(listener, challenge, hello);

    raw_welcome(fd, TCP_VERDICT_ACCEPT, incarnation, challenge, hello);
    return fd;
}

static void rdma_done(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *ep, void *local,
                      mca_btl_base_registration_handle_t *handle, void *context, void *cbdata,
                      int status)
{
    (void) btl, (void) ep, (void) local, (void) handle, (void) context;
    tcp_peer.completed += status == OPAL_SUCCESS;
    tcp_peer.failed += status != OPAL_SUCCESS;
    if (cbdata) {
        *(int *) cbdata = status;
    }
}

int tcp_peer_access(struct mca_btl_base_endpoint_t *ep, bool get, void *local, size_t size,
                    int *status)
{
    static struct region_handle handle = {.index = 1, .generation = 3, .size = UINT64_MAX};

    return (get ? tcp_peer.host.btl->btl_get : tcp_peer.host.btl->btl_put)(
        tcp_peer.host.btl, ep, local, 4096, NULL, (mca_btl_base_registration_handle_t *) &handle,
        size, 0, MCA_BTL_NO_ORDER, rdma_done, NULL, status);
}
