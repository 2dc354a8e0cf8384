#include <stdlib.h>
#include <string.h>
#include <tests/unit/ptl/mock.h>

enum { FIRST_FRAGMENT = 16, FRAGMENT = 32, MOCK_PROCS = 64 };

struct mca_ptl_base_peer_t {
    orte_vpid_t vpid;
};

struct mock_module {
    struct keel_ptl_module_t super; /* that nobody extends but a test */
    const struct mock_plan *plan;
    struct mca_ptl_base_peer_t *peers[MOCK_PROCS]; /* if it keeps them */
};

/* A fragment on its way. */
struct packet {
    mca_ptl_base_recv_frag_t frag; /* first */
    struct packet *next;
    mca_ptl_tstamp_t due;
    char bytes[FRAGMENT];
};

struct mock mock;
static struct packet *wire;
static mca_ptl_tstamp_t now;

size_t mock_index(const mca_ptl_base_module_t *ptl)
{
    return (size_t) (((const struct mock_module *) ptl)->plan - mock.plans);
}

static struct packet *put_on_wire(mca_ptl_base_module_t *ptl, struct mca_ptl_base_peer_t *peer,
                                  const mca_ptl_base_header_t *header)
{
    struct packet *packet = calloc(1, sizeof(*packet));
    if (!packet) {
        abort();
    }
    packet->frag.frag_base = (mca_ptl_base_fragment_t){
        .frag_owner = ptl, .frag_peer = peer, .frag_header = *header, .frag_addr = packet->bytes};
    packet->due = now + mock.delay;
    struct packet **end = &wire;
    while (*end) {
        end = &(*end)->next;
    }
    return *end = packet;
}

/* Takes at most limit bytes of the request. */
static size_t send_bytes(mca_ptl_base_module_t *ptl, struct mca_ptl_base_peer_t *peer,
                         mca_ptl_base_send_request_t *request, size_t offset, size_t size,
                         size_t limit, mca_ptl_base_header_t *header)
{
    opal_convertor_t data = request->req_convertor;
    size_t length = size < limit ? size : limit;
    opal_convertor_set_position(&data, &offset);
    if (header->hdr_common.hdr_type == MCA_PTL_HDR_TYPE_FRAG) {
        header->hdr_frag.hdr_frag_length = length;
    } else {
        header->hdr_rndv.hdr_frag_length = length;
    }
    __atomic_fetch_add(&request->req_offset, length, __ATOMIC_RELAXED);
    struct packet *packet = put_on_wire(ptl, peer, header);
    packet->frag.frag_base.frag_size = opal_convertor_pack_bytes(&data, packet->bytes, length);
    return length;
}

static int send_first(mca_ptl_base_module_t *ptl, struct mca_ptl_base_peer_t *peer,
                      mca_ptl_base_send_request_t *request, size_t offset, size_t size, int flags)
{
    mca_ptl_base_header_t header = {.hdr_rndv = {.hdr_match = request->req_header}};
    header.hdr_common.hdr_flags = (uint8_t) flags;
    header.hdr_common.hdr_type = MCA_PTL_HDR_TYPE_MATCH;
    if (!(flags & MCA_PTL_FLAGS_ACK)) {
        ptl->ptl_send_progress(
            ptl, request,
            send_bytes(ptl, peer, request, offset, size, ptl->ptl_first_frag_size, &header));
        return OPAL_SUCCESS;
    }
    mca_ptl_base_send_frag_t *frag = malloc(sizeof(*frag));
    if (!frag) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    header.hdr_common.hdr_type = MCA_PTL_HDR_TYPE_RNDV;
    header.hdr_rndv.hdr_src_ptr.pval = frag;
    frag->frag_request = request;
    frag->frag_base.frag_size =
        send_bytes(ptl, peer, request, offset, size, ptl->ptl_first_frag_size, &header);
    return OPAL_SUCCESS;
}

static int put(mca_ptl_base_module_t *ptl, struct mca_ptl_base_peer_t *peer,
               mca_ptl_base_send_request_t *request, size_t offset, size_t size, int flags)
{
    mca_ptl_base_header_t header = {
        .hdr_frag = {.hdr_common = {MCA_PTL_HDR_TYPE_FRAG, (uint8_t) flags},
                     .hdr_frag_offset = offset,
                     .hdr_dst_ptr = request->req_peer_match}};
    ptl->ptl_send_progress(
        ptl, request,
        send_bytes(ptl, peer, request, offset, size, ptl->ptl_max_frag_size, &header));
    return OPAL_SUCCESS;
}

/* Copies the bytes of a fragment to their place and frees it. */
static void land(mca_ptl_base_module_t *ptl, struct packet *packet,
                 mca_ptl_base_recv_request_t *request, size_t offset)
{
    const mca_ptl_base_fragment_t *frag = &packet->frag.frag_base;
    opal_convertor_t data = request->req_convertor;
    opal_convertor_set_position(&data, &offset);
    size_t fitted = opal_convertor_unpack_bytes(&data, frag->frag_addr, frag->frag_size);
    ptl->ptl_recv_progress(ptl, request, frag->frag_size, fitted);
    free(packet);
}

static void matched(mca_ptl_base_module_t *ptl, mca_ptl_base_recv_frag_t *frag)
{
    const mca_ptl_base_header_t *header = &frag->frag_base.frag_header;
    mca_ptl_base_recv_request_t *request = frag->frag_request;
    if (header->hdr_common.hdr_flags & MCA_PTL_FLAGS_ACK) {
        mca_ptl_base_header_t ack = {.hdr_ack = {.hdr_common = {MCA_PTL_HDR_TYPE_ACK, 0},
                                                 .hdr_src_ptr = header->hdr_rndv.hdr_src_ptr,
                                                 .hdr_dst_match = {.pval = request}}};
        ack.hdr_ack.hdr_dst_addr.pval = request->req_convertor.one.iov_base;
        ack.hdr_ack.hdr_dst_size = opal_convertor_get_packed_size(&request->req_convertor);
        put_on_wire(ptl, frag->frag_base.frag_peer, &ack);
    }
    land(ptl, (struct packet *) frag, request, 0);
}

static void acknowledged(mca_ptl_base_module_t *ptl, struct packet *packet)
{
    const mca_ptl_base_ack_header_t *ack = &packet->frag.frag_base.frag_header.hdr_ack;
    mca_ptl_base_send_frag_t *frag = ack->hdr_src_ptr.pval;
    mca_ptl_base_send_request_t *request = frag->frag_request;
    size_t size = frag->frag_base.frag_size;
    request->req_peer_match = ack->hdr_dst_match;
    request->req_peer_addr = ack->hdr_dst_addr;
    request->req_peer_size = ack->hdr_dst_size;
    free(frag);
    free(packet);
    ptl->ptl_send_progress(ptl, request, size);
}

static void deliver(struct packet *packet)
{
    mca_ptl_base_header_t *header = &packet->frag.frag_base.frag_header;
    mca_ptl_base_module_t *ptl = packet->frag.frag_base.frag_owner;
    switch (header->hdr_common.hdr_type) {
    case MCA_PTL_HDR_TYPE_FRAG:
        land(ptl, packet, header->hdr_frag.hdr_dst_ptr.pval, header->hdr_frag.hdr_frag_offset);
        break;
    case MCA_PTL_HDR_TYPE_ACK:
        acknowledged(ptl, packet);
        break;
    default:
        ptl->ptl_match(ptl, &packet->frag, &header->hdr_match);
    }
}

static int progress(mca_ptl_tstamp_t tstamp)
{
    now = tstamp;
    while (wire && wire->due <= now && mock.lame == OPAL_SUCCESS) {
        struct packet *packet = wire;
        wire = packet->next;
        deliver(packet);
    }
    return mock.lame;
}

static int control(int param, void *value, size_t size)
{
    if (mock.lame != OPAL_SUCCESS || param != MCA_PTL_ENABLE || size != sizeof(bool)) {
        return mock.lame != OPAL_SUCCESS ? mock.lame : OPAL_ERR_BAD_PARAM;
    }
    mock.enabled = *(bool *) value;
    return OPAL_SUCCESS;
}

static int add_procs(mca_ptl_base_module_t *ptl, size_t nprocs, struct ompi_proc_t **procs,
                     struct mca_ptl_base_peer_t **peers, struct ompi_bitmap_t *reachable)
{
    struct mock_module *module = (struct mock_module *) ptl;
    const struct mock_plan *plan = module->plan;
    mock.asked[mock_index(ptl)] += (int) nprocs;
    if (plan->broken) {
        return OPAL_ERR_UNREACH;
    }
    for (size_t i = 0; i < nprocs; i++) {
        orte_vpid_t vpid = procs[i]->super.proc_name.vpid;
        if (plan->reaches >> vpid & 1) {
            peers[i] = mock.keeps_peers ? module->peers[vpid] : NULL;
            if (!peers[i]) {
                peers[i] = module->peers[vpid] = malloc(sizeof(*peers[i]));
                peers[i]->vpid = vpid;
                mock.added[mock_index(ptl)]++;
            }
            opal_bitmap_set_bit(&reachable->super, (int) i);
        }
    }
    return OPAL_SUCCESS;
}

static int del_procs(mca_ptl_base_module_t *ptl, size_t nprocs, struct ompi_proc_t **procs,
                     struct mca_ptl_base_peer_t **peers)
{
    int status = OPAL_SUCCESS;
    for (size_t i = 0; i < nprocs; i++) {
        if (peers[i]->vpid != procs[i]->super.proc_name.vpid) {
            status = OPAL_ERR_BAD_PARAM;
        }
        ((struct mock_module *) ptl)->peers[peers[i]->vpid] = NULL;
        free(peers[i]);
        mock.added[mock_index(ptl)]--;
    }
    return status;
}

static int finalize(mca_ptl_base_module_t *ptl)
{
    mock.finalized++;
    free(ptl);
    return OPAL_SUCCESS;
}

static mca_ptl_base_module_t *make(const struct mock_plan *plan)
{
    struct mock_module *module = calloc(1, sizeof(*module));
    if (!module) {
        abort();
    }
    module->plan = plan;
    module->super.super = (mca_ptl_base_module_t){.ptl_component = &mock_component,
                                                  .ptl_first_frag_size = FIRST_FRAGMENT,
                                                  .ptl_max_frag_size = FRAGMENT,
                                                  .ptl_exclusivity = plan->exclusivity,
                                                  .ptl_latency = plan->latency,
                                                  .ptl_bandwidth = plan->bandwidth,
                                                  .ptl_flags = MCA_PTL_PUT | plan->flags,
                                                  .ptl_add_procs = add_procs,
                                                  .ptl_del_procs = del_procs,
                                                  .ptl_finalize = finalize,
                                                  .ptl_send = send_first,
                                                  .ptl_put = put,
                                                  .ptl_matched = matched};
    return &module->super.super;
}

static mca_ptl_base_module_t **init(int *num_ptls, bool enable_progress_threads,
                                    bool enable_mpi_threads)
{
    mock.progress_threads = enable_progress_threads;
    mock.threads = enable_mpi_threads;
    mca_ptl_base_module_t **made =
        mock.count > 0 ? calloc((size_t) mock.count, sizeof(mca_ptl_base_module_t *)) : NULL;
    for (int i = 0; made && i < mock.count; i++) {
        made[i] = make(&mock.plans[i]);
    }
    *num_ptls = made ? mock.count : 0;
    return made;
}

static int open_component(void)
{
    mock.opened++;
    return mock.refuses;
}

static int close_component(void)
{
    mock.closed++;
    return OPAL_SUCCESS;
}

mca_ptl_base_component_t mock_component = {
    {MCA_PTL_BASE_VERSION_1_0_0, "mock", 1, 0, 0, open_component, close_component, NULL, NULL},
    {false},
    init,
    control,
    progress,
};
