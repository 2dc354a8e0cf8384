/* The headers of ptl/rail, through the receive path of a process that sends to itself while
 * requests wait: no byte lands outside of a receive's buffer, no request ends twice, and what ends
 * leaves nothing behind. */
#include <config.h>

#include <base/settings/param.h>
#include <keel/host.h>
#include <ptl/base.h>
#include <ptl/components.h>
#include <ptl/rail/link.h>
#include <stdlib.h>
#include <string.h>
#include <tests/fuzz/fuzz.h>

enum { MOST = 24, STEPS = 64, LARGEST = 20000 };

struct out {
    mca_ptl_base_send_request_t super; /* first */
    uint8_t *data;
    struct iovec halves[2];
    bool used, over;
    size_t reported, wanted; /* bytes; wanted: asked for in all */
    size_t from, size;       /* of the last one that is to be put */
};

struct in {
    mca_ptl_base_recv_request_t super; /* first */
    uint8_t *data;
    struct iovec halves[2];
    bool used;
    size_t wanted, room, delivered;
};

static struct ptl_set *set;
static struct ptl_paths paths;
static struct out outs[MOST];
static struct in ins[MOST];
static mca_ptl_base_recv_frag_t *frags[STEPS * 2];
static size_t frag_count;
static opal_proc_t myself = {.proc_name = {7, 0}, .hostname = "here"};

/* --- a host of one process --- */

static const opal_proc_t *host_me(void *host)
{
    (void) host;
    return &myself;
}

static int host_put_card(void *host, const char *key, const void *data, size_t size)
{
    (void) host, (void) key, (void) data, (void) size;
    return OPAL_SUCCESS;
}

static void host_get_card(void *host, const opal_proc_t *peer, const char *key, keel_card_fn done,
                          void *arg)
{
    (void) host, (void) peer, (void) key;
    done(arg, OPAL_ERR_NOT_FOUND, NULL, 0);
}

static int host_pair_key(void *host, const orte_process_name_t *peer, const char *purpose,
                         uint8_t key[32])
{
    (void) host, (void) peer, (void) purpose;
    memset(key, 1, 32);
    return OPAL_SUCCESS;
}

static const struct keel_host_ops host_ops = {
    .me = host_me, .put_card = host_put_card, .get_card = host_get_card, .pair_key = host_pair_key};

/* --- a PML that matches when the input says so --- */

static bool match(mca_ptl_base_module_t *ptl, mca_ptl_base_recv_frag_t *frag,
                  mca_ptl_base_match_header_t *header)
{
    if (frag_count == sizeof(frags) / sizeof(*frags)) {
        frag->frag_request = NULL;
        ptl->ptl_matched(ptl, frag);
        return true;
    }
    fuzz_check(header->hdr_src >= 0 && header->hdr_tag != INT32_MIN, "a header makes sense");
    frags[frag_count++] = frag;
    return false;
}

static void send_progress(mca_ptl_base_module_t *ptl, mca_ptl_base_send_request_t *request,
                          size_t bytes)
{
    struct out *out = (struct out *) request;
    (void) ptl;
    out->reported += bytes;
    fuzz_check(out->used && !out->over, "a send that ended is not told of");
    fuzz_check(out->reported <= request->req_header.hdr_msg_length, "no byte is reported twice");
}

static void recv_progress(mca_ptl_base_module_t *ptl, mca_ptl_base_recv_request_t *request,
                          size_t received, size_t delivered)
{
    struct in *in = (struct in *) request;
    (void) ptl;
    in->delivered += delivered;
    fuzz_check(in->used, "a receive that there is not is not told of");
    fuzz_check(delivered <= received && delivered <= in->room, "no more fits than comes");
}

static void send_failed(struct keel_ptl_module_t *ptl, mca_ptl_base_send_request_t *request,
                        int status)
{
    struct out *out = (struct out *) request;
    (void) ptl, (void) status;
    fuzz_check(out->used && !out->over && !request->req_ptl, "a send fails once");
    out->over = true;
}

static void put_wanted(struct keel_ptl_module_t *ptl, mca_ptl_base_send_request_t *request,
                       size_t offset, size_t size, int status)
{
    struct out *out = (struct out *) request;
    (void) ptl, (void) status;
    fuzz_check(out->used && !out->over, "a send that ended is not asked for");
    fuzz_check(size > 0 && offset + size <= request->req_header.hdr_msg_length,
               "what is asked for is of the message");
    out->wanted += size;
    fuzz_check(out->wanted <= request->req_header.hdr_msg_length, "no byte is asked for twice");
    out->from = offset;
    out->size = size;
}

static void recv_failed(struct keel_ptl_module_t *ptl, mca_ptl_base_recv_request_t *request,
                        size_t offset, size_t size, int status)
{
    (void) ptl, (void) offset, (void) size, (void) status;
    fuzz_check(((struct in *) request)->used, "a receive fails while it waits");
}

static void peer_changed(struct keel_ptl_module_t *ptl, struct ompi_proc_t *proc)
{
    (void) ptl, (void) proc;
}

static void peer_ready(struct keel_ptl_module_t *ptl, struct mca_ptl_base_peer_t *peer)
{
    (void) ptl, (void) peer;
}

static void open_once(void)
{
    static const struct ptl_upcalls upcalls = {.match = match,
                                               .send_progress = send_progress,
                                               .recv_progress = recv_progress,
                                               .send_failed = send_failed,
                                               .put_wanted = put_wanted,
                                               .recv_failed = recv_failed,
                                               .peer_changed = peer_changed,
                                               .peer_ready = peer_ready};
    static mca_ptl_base_component_t *const components[] = {&ptl_rail_component, NULL};
    opal_proc_t *procs[] = {&myself};
    struct ompi_proc_t *same[] = {(struct ompi_proc_t *) &myself};
    if (set) {
        return;
    }
    fuzz_check(param_override("btl", "self") == ORTE_SUCCESS &&
                   keel_host_open(&host_ops, NULL, NULL, NULL, 0) == OPAL_SUCCESS &&
                   keel_host_add_procs(procs, 1, NULL, 0) == OPAL_SUCCESS &&
                   ptl_open(&set, components, &upcalls, false, false) == ORTE_SUCCESS &&
                   ptl_add_procs(set, 1, same, &paths) == ORTE_SUCCESS,
               "a process can send to itself");
}

/* --- what an input does --- */

static void begin_send(struct feed *feed)
{
    struct out *out = &outs[feed_byte(feed) % MOST];
    mca_ptl_base_module_t *ptl = paths.path[0].ptl;
    size_t size = feed_u32(feed) % LARGEST, first = ptl->ptl_first_frag_size;
    if (out->used) {
        return;
    }
    *out = (struct out){.used = true, .data = calloc(1, size + 1)};
    out->super.req_header.hdr_msg_length = size;
    out->halves[0] = (struct iovec){out->data, size / 2};
    out->halves[1] = (struct iovec){out->data + size / 2, size - size / 2};
    if (feed_byte(feed) % 2) {
        opal_convertor_prepare(&out->super.req_convertor, out->data, size);
    } else {
        (void) opal_convertor_prepare_iovec(&out->super.req_convertor, out->halves, 2);
    }
    bool acked = size > first || feed_byte(feed) % 2;
    int status = ptl->ptl_send(ptl, paths.path[0].peer, &out->super, 0, size < first ? size : first,
                               acked ? MCA_PTL_FLAGS_ACK : 0);
    out->over = status != OPAL_SUCCESS;
}

static void match_one(struct feed *feed)
{
    struct in *in = &ins[feed_byte(feed) % MOST];
    size_t room = feed_u32(feed) % LARGEST;
    if (frag_count == 0) {
        return;
    }
    mca_ptl_base_recv_frag_t *frag = frags[--frag_count];
    mca_ptl_base_module_t *ptl = frag->frag_base.frag_owner;
    frag->frag_request = NULL;
    if (!in->used) {
        size_t length = frag->frag_base.frag_header.hdr_match.hdr_msg_length;
        *in = (struct in){.used = true, .data = malloc(room + (room == 0)), .room = room};
        in->wanted = room < length ? room : length;
        in->halves[0] = (struct iovec){in->data, room / 2};
        in->halves[1] = (struct iovec){in->data + room / 2, room - room / 2};
        if (feed_byte(feed) % 2) {
            opal_convertor_prepare(&in->super.req_convertor, in->data, room);
        } else {
            (void) opal_convertor_prepare_iovec(&in->super.req_convertor, in->halves, 2);
        }
        frag->frag_request = &in->super;
    }
    ptl->ptl_matched(ptl, frag);
}

static void fetch(struct feed *feed)
{
    struct in *in = &ins[feed_byte(feed) % MOST];
    const struct ptl_path *path = &paths.path[0];
    if (in->used && in->super.req_fetch && in->super.req_offset < in->wanted) {
        (void) path->ptl->ptl_get(path->ptl, path->peer, &in->super, in->super.req_offset,
                                  in->wanted - in->super.req_offset, 0);
    }
}

/* What is asked for by a pull, real or not. */
static void put_more(struct feed *feed)
{
    struct out *out = &outs[feed_byte(feed) % MOST];
    const struct ptl_path *path = &paths.path[0];
    if (!out->used || out->over || out->size == 0) {
        return;
    }
    const size_t before = out->super.req_offset, size = 1 + feed_u32(feed) % out->size;
    (void) path->ptl->ptl_put(path->ptl, path->peer, &out->super, out->from, size, 0);
    const size_t taken = out->super.req_offset - before;
    fuzz_check(taken <= size, "no more is taken than was given");
    out->super.req_offset = before;
    out->from += taken;
    out->size -= taken;
}

static struct rail_link *link_of_mine(void)
{
    return roster_find(rail.links, &myself.proc_name);
}

/* The process that was given up for what it said is a peer again. */
static void forgive(void)
{
    void *entry = roster_find(rail.given_up, &myself.proc_name);
    struct rail_link *link = link_of_mine();
    if (entry) {
        roster_remove(rail.given_up, entry, true);
        paths.path[0].peer->reached = true;
    }
    if (link) {
        link->lost = false;
    }
}

static void arrive(const uint8_t *bytes, size_t size)
{
    struct rail_module *module = rail.modules[0];
    mca_btl_base_segment_t segment = {.seg_addr.pval = (void *) (uintptr_t) bytes, .seg_len = size};
    mca_btl_base_descriptor_t descriptor = {.des_segments = &segment,
                                            .des_segment_count = 1,
                                            .des_context = paths.path[0].peer->endpoint};
    rail_arrived(module->btl, RAIL_TAG, &descriptor, NULL);
    forgive();
}

/* A header that may name a request that waits. */
static void arrive_header(struct feed *feed)
{
    const struct out *out = &outs[feed_byte(feed) % MOST];
    const struct in *in = &ins[feed_byte(feed) % MOST];
    struct rail_header header = {
        .type = (uint8_t) (RAIL_MATCH + feed_byte(feed) % RAIL_PULL),
        .flags = feed_byte(feed) % 64,
        .match = {.hdr_src = (int32_t) feed_byte(feed), .hdr_tag = (int32_t) feed_u32(feed)},
        .bytes = feed_u32(feed) % LARGEST,
        .own_id = feed_u32(feed) % LARGEST,
        .offset = feed_u32(feed) % LARGEST,
        .address = feed_u64(feed)};
    const struct rail_send *send = out->used ? out->super.req_ptl : NULL;
    const struct rail_recv *recv = in->used ? in->super.req_ptl : NULL;
    bool to_send = header.type == RAIL_ACK || header.type == RAIL_NACK ||
                   header.type == RAIL_WANT || header.type == RAIL_PULL;
    header.id = to_send ? (send ? send->id : 1) : (recv ? recv->id : 1);
    size_t handle_size, size, payload;
    uint8_t *handle = feed_copy(feed, feed_byte(feed), &handle_size);
    header.handle = handle;
    header.handle_size = (uint16_t) handle_size;
    uint8_t bytes[RAIL_MOST_BYTES];
    size = rail_encode(bytes, &header);
    payload = header.type == RAIL_FRAG ? header.bytes : feed_byte(feed);
    uint8_t *exact = calloc(1, RAIL_NUMBER_BYTES + size + payload);
    memcpy(exact + RAIL_NUMBER_BYTES, bytes, size);
    if (feed_byte(feed) % 2) {
        arrive(exact + RAIL_NUMBER_BYTES, size + payload);
    } else {
        const struct rail_link *link = link_of_mine();
        rail_encode_number(exact, (link ? link->come.expected : 0) + feed_byte(feed) % 4 - 1);
        rail_set_came(exact, feed_byte(feed));
        arrive(exact, RAIL_NUMBER_BYTES + size + payload);
    }
    free(exact);
    free(handle);
}

static void arrive_bytes(struct feed *feed)
{
    size_t size;
    uint8_t *bytes = feed_copy(feed, feed_byte(feed), &size);
    if (size > 0) {
        bytes[0] = rail_first_byte(bytes[0] & 0xf); /* another version is known at once */
    }
    arrive(bytes, size);
    free(bytes);
}

static void go_on(void)
{
    fuzz_check(ptl_progress(set, 0) == ORTE_SUCCESS, "progress works");
}

static void end_all(void)
{
    struct keel_ptl_module_t *ptl = keel_ptl_extended(paths.path[0].ptl);
    go_on();
    while (frag_count > 0) {
        mca_ptl_base_recv_frag_t *frag = frags[--frag_count];
        frag->frag_request = NULL;
        ptl->super.ptl_matched(&ptl->super, frag);
    }
    for (size_t i = 0; i < MOST; i++) {
        if (ins[i].used && ins[i].super.req_ptl) {
            ptl->ptl_recv_end(ptl, &ins[i].super, OPAL_ERROR);
        }
        if (outs[i].used && outs[i].super.req_ptl) {
            ptl->ptl_send_end(ptl, &outs[i].super);
        }
        free(ins[i].data);
        free(outs[i].data);
        ins[i] = (struct in){0};
        outs[i] = (struct out){0};
    }
    fuzz_check(list_empty(&rail.all_sends) && rail.frags.in_use == 0, "nothing is left");
    if (link_of_mine()) { /* each input has one of its own */
        rail_link_forget(link_of_mine());
    }
    go_on();
}

/* Or not: long messages are put in pieces, then. */
static void pin_memory(bool pins)
{
    rail.modules[0]->pins = pins;
    rail.modules[0]->gets = !pins;
    rail.registered_most = pins ? 256 : SIZE_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed feed = {data, size};
    open_once();
    pin_memory(size % 2);
    for (int i = 0; i < STEPS && feed.left > 0; i++) {
        switch (feed_byte(&feed) % 7) {
        case 0:
            begin_send(&feed);
            break;
        case 1:
            match_one(&feed);
            break;
        case 2:
            fetch(&feed);
            break;
        case 3:
            arrive_bytes(&feed);
            break;
        case 4:
            arrive_header(&feed);
            break;
        case 5:
            put_more(&feed);
            break;
        default:
            go_on();
        }
    }
    end_all();
    return 0;
}
