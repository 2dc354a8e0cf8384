/* The PTL over BTL modules, between real processes, below a PML of a few lines: tags are places in
 * a table of messages, and what a receive gets is known. */
#include <tests/lib/unit.h>

#include <base/settings/param.h>
#include <keel/btl_ext.h>
#include <keel/host.h>
#include <ptl/base.h>
#include <ptl/components.h>
#include <ptl/rail/rail.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/minihost.h>
#include <unistd.h>

enum { RANKS = 2, PIECES = 5, GUARD = 64, GUARD_BYTE = 0xa5, CONTEXT = 7, MOST = 3 << 20 };

/* --- the messages --- */

struct plan {
    size_t size, room; /* of the message, of the buffer */
    bool acked;        /* although it is small */
    bool scattered;    /* at the sender; at the receiver */
    bool scatters;
    bool late; /* matched when all have come */
};
static struct plan plans[600];
static size_t plan_count;

static void plan_size(size_t size)
{
    for (unsigned bits = 0; bits < 16; bits++) {
        struct plan plan = {.size = size,
                            .room = size + (bits & 1 ? 10 : 0),
                            .acked = bits & 1,
                            .scattered = bits & 2,
                            .scatters = bits & 4,
                            .late = bits & 8};
        plans[plan_count++] = plan;
    }
    plans[plan_count++] = (struct plan){.size = size, .room = size / 2};
    plans[plan_count++] =
        (struct plan){.size = size, .room = size / 2, .late = true, .acked = true};
    plans[plan_count++] = (struct plan){.size = size, .room = 0, .scattered = true};
}

static uint8_t byte_of(int from, size_t tag, size_t place)
{
    return (uint8_t) ((size_t) from * 101 + tag * 31 + place * 7 + (place >> 8) * 3);
}

/* Memory of a message's end: bytes, with a guard behind them, whole or in pieces. */
struct memory {
    uint8_t *bytes;
    size_t size;
    struct iovec pieces[PIECES];
};

static void memory_make(struct memory *memory, size_t size, bool scattered,
                        opal_convertor_t *convertor)
{
    memory->size = size;
    memory->bytes = malloc(size + GUARD);
    memset(memory->bytes, GUARD_BYTE, size + GUARD);
    if (!scattered) {
        opal_convertor_prepare(convertor, memory->bytes, size);
        return;
    }
    for (size_t i = 0; i < PIECES; i++) { /* the last ones first */
        size_t start = size * (PIECES - 1 - i) / PIECES, end = size * (PIECES - i) / PIECES;
        memory->pieces[i] = (struct iovec){memory->bytes + start, end - start};
    }
    (void) opal_convertor_prepare_iovec(convertor, memory->pieces, PIECES);
}

/* --- the PML --- */

struct out {
    mca_ptl_base_send_request_t super; /* first */
    int to;
    bool begun, acked;
    struct {
        size_t offset, size;
    } wanted[64]; /* to be put */
    size_t wanted_count;
    size_t reported;
    int failed;
    struct memory memory;
};

struct in {
    mca_ptl_base_recv_request_t super; /* first */
    int from;
    bool over;
    size_t message, received, delivered, wanted;
    int failed;
    struct memory memory;
};

static struct {
    struct minihost *host;
    struct ptl_set *set;
    struct ptl_paths paths[RANKS];
    struct out *outs[RANKS];
    struct in *ins[RANKS];
    size_t waiting[RANKS]; /* messages that came and are not matched */
    mca_ptl_base_recv_frag_t *frags[RANKS][600];
    int changed[RANKS];
} pml;

static void must(bool good, const char *what)
{
    if (!good) {
        minihost_fail(pml.host, "rank %d: %s", pml.host->rank, what);
    }
}

static int other(void)
{
    return 1 - pml.host->rank;
}

static bool is_shortage(int status)
{
    return status == OPAL_ERR_OUT_OF_RESOURCE;
}

/* The first fragment, and what may follow it. */
static void out_go_on(struct out *out)
{
    struct ptl_path *path = &pml.paths[out->to].path[0];
    size_t size = out->super.req_header.hdr_msg_length, first = path->ptl->ptl_first_frag_size;
    if (!out->begun) {
        bool whole = size <= first && !out->acked;
        int status =
            path->ptl->ptl_send(path->ptl, path->peer, &out->super, 0, size < first ? size : first,
                                whole ? 0 : MCA_PTL_FLAGS_ACK);
        must(status == OPAL_SUCCESS || is_shortage(status), "ptl_send");
        out->begun = status == OPAL_SUCCESS;
        return;
    }
    while (out->wanted_count > 0 && !out->failed) {
        const size_t before = out->super.req_offset, last = out->wanted_count - 1;
        int status = path->ptl->ptl_put(path->ptl, path->peer, &out->super,
                                        out->wanted[last].offset, out->wanted[last].size, 0);
        must(status == OPAL_SUCCESS || is_shortage(status), "ptl_put");
        if (status != OPAL_SUCCESS) {
            break;
        }
        const size_t taken = out->super.req_offset - before;
        out->super.req_offset = before;
        out->wanted[last].offset += taken;
        out->wanted[last].size -= taken;
        out->wanted_count -= out->wanted[last].size == 0;
    }
}

static bool out_is_over(const struct out *out)
{
    return out->failed || (out->begun && out->reported == out->super.req_header.hdr_msg_length);
}

static void send_progress(mca_ptl_base_module_t *ptl, mca_ptl_base_send_request_t *request,
                          size_t bytes)
{
    struct out *out = (struct out *) request;
    (void) ptl;
    out->reported += bytes;
    must(out->reported <= request->req_header.hdr_msg_length, "more reported than there is");
}

static void in_go_on(struct in *in)
{
    struct ptl_path *path = &pml.paths[in->from].path[0];
    while (in->super.req_fetch && in->super.req_offset < in->wanted && !in->failed) {
        int status = path->ptl->ptl_get(path->ptl, path->peer, &in->super, in->super.req_offset,
                                        in->wanted - in->super.req_offset, 0);
        must(status == OPAL_SUCCESS || is_shortage(status), "ptl_get");
        if (status != OPAL_SUCCESS) {
            return;
        }
    }
    if (in->received >= (in->super.req_fetch ? in->wanted : in->message) && !in->over) {
        in->over = true;
        if (in->super.req_ptl) {
            struct keel_ptl_module_t *ptl = keel_ptl_extended(path->ptl);
            ptl->ptl_recv_end(ptl, &in->super, OPAL_SUCCESS);
        }
    }
}

static void recv_progress(mca_ptl_base_module_t *ptl, mca_ptl_base_recv_request_t *request,
                          size_t received, size_t delivered)
{
    struct in *in = (struct in *) request;
    (void) ptl;
    in->received += received;
    in->delivered += delivered;
    must(in->received <= in->message && in->delivered <= in->memory.size, "too many bytes");
    if (!request->req_fetch) {
        in_go_on(in);
    }
}

static void hand_over(int from, size_t tag)
{
    mca_ptl_base_recv_frag_t *frag = pml.frags[from][tag];
    mca_ptl_base_module_t *ptl = frag->frag_base.frag_owner;
    struct in *in = &pml.ins[from][tag];
    in->message = frag->frag_base.frag_header.hdr_match.hdr_msg_length;
    in->wanted = in->message < in->memory.size ? in->message : in->memory.size;
    frag->frag_request = &in->super;
    pml.frags[from][tag] = NULL;
    ptl->ptl_matched(ptl, frag);
}

static bool match(mca_ptl_base_module_t *ptl, mca_ptl_base_recv_frag_t *frag,
                  mca_ptl_base_match_header_t *header)
{
    size_t tag = (size_t) header->hdr_tag;
    int from = header->hdr_src;
    must(header->hdr_contextid == CONTEXT && from < RANKS && tag < plan_count &&
             header->hdr_msg_seq == (uint16_t) (tag * 3),
         "the header is another one");
    must(header->hdr_msg_length == plans[tag].size, "the message has another length");
    must(frag->frag_base.frag_owner == ptl && !pml.frags[from][tag], "a message came twice");
    pml.frags[from][tag] = frag;
    pml.waiting[from]++;
    if (!plans[tag].late) {
        hand_over(from, tag);
    }
    return !plans[tag].late;
}

static void send_failed(struct keel_ptl_module_t *ptl, mca_ptl_base_send_request_t *request,
                        int status)
{
    (void) ptl;
    must(!((struct out *) request)->failed, "a send failed twice");
    ((struct out *) request)->failed = status;
}

static void put_wanted(struct keel_ptl_module_t *ptl, mca_ptl_base_send_request_t *request,
                       size_t offset, size_t size, int status)
{
    struct out *out = (struct out *) request;
    (void) ptl;
    must(status == OPAL_SUCCESS, "a put failed");
    must(out->wanted_count < sizeof(out->wanted) / sizeof(*out->wanted), "too many pulls");
    out->wanted[out->wanted_count].offset = offset;
    out->wanted[out->wanted_count++].size = size;
}

static void recv_failed(struct keel_ptl_module_t *ptl, mca_ptl_base_recv_request_t *request,
                        size_t offset, size_t size, int status)
{
    (void) ptl, (void) offset, (void) size;
    ((struct in *) request)->failed = status;
}

static void peer_changed(struct keel_ptl_module_t *ptl, struct ompi_proc_t *proc)
{
    (void) ptl;
    pml.changed[proc->super.proc_name.vpid]++;
}

static void peer_ready(struct keel_ptl_module_t *ptl, struct mca_ptl_base_peer_t *peer)
{
    (void) ptl, (void) peer;
}

static const struct ptl_upcalls upcalls = {
    .match = match,
    .send_progress = send_progress,
    .recv_progress = recv_progress,
    .send_failed = send_failed,
    .put_wanted = put_wanted,
    .recv_failed = recv_failed,
    .peer_changed = peer_changed,
    .peer_ready = peer_ready,
};

/* --- memory that is pinned --- */

/* What the module registers for all endpoints, of a message from the other rank. */
static struct {
    bool counts;
    mca_btl_base_module_t own; /* its functions */
    struct {
        mca_btl_base_registration_handle_t *handle;
        size_t size;
    } open[64];
    size_t count, now, most; /* registrations so far; bytes */
    size_t came;             /* bytes of the message, at the last registration */
} pinned;

static mca_btl_base_registration_handle_t *count_register(mca_btl_base_module_t *module,
                                                          struct mca_btl_base_endpoint_t *endpoint,
                                                          void *base, size_t size, uint32_t flags)
{
    mca_btl_base_registration_handle_t *handle =
        pinned.own.btl_register_mem(module, endpoint, base, size, flags);
    must(handle && endpoint == MCA_BTL_ENDPOINT_ANY, "register_mem");
    must(pinned.count < sizeof(pinned.open) / sizeof(*pinned.open), "too many registrations");
    pinned.open[pinned.count].handle = handle;
    pinned.open[pinned.count++].size = size;
    pinned.now += size;
    pinned.most = pinned.now > pinned.most ? pinned.now : pinned.most;
    pinned.came = pml.ins[other()][0].received;
    return handle;
}

static int count_deregister(mca_btl_base_module_t *module,
                            mca_btl_base_registration_handle_t *handle)
{
    size_t i = 0;
    while (pinned.open[i].handle != handle) {
        must(++i < pinned.count, "what is not registered is deregistered");
    }
    pinned.now -= pinned.open[i].size;
    pinned.open[i].handle = NULL;
    return pinned.own.btl_deregister_mem(module, handle);
}

/* The module to the other rank says that it pins, and counts. */
static void pin(void)
{
    size_t count;
    const struct keel_rail *rails = keel_host_rails(&pml.host->procs[other()], &count);
    mca_btl_base_module_t *module = rails[0].btl;
    struct keel_btl_ext *ext = (struct keel_btl_ext *) (uintptr_t) keel_btl_ext(module);
    pinned.own = *module;
    module->btl_register_mem = count_register;
    module->btl_deregister_mem = count_deregister;
    ext->flags |= KEEL_BTL_PINS;
}

/* --- running it --- */

static const char *btl, *rendezvous;

static int poll_all(void)
{
    (void) minihost_progress(pml.host);
    return ptl_progress(pml.set, 0);
}

static void open_rank(struct minihost *host)
{
    static mca_ptl_base_component_t *const components[] = {&ptl_rail_component, NULL};
    char reason[256] = "";
    opal_proc_t *procs[RANKS] = {&host->procs[0], &host->procs[1]};
    struct ompi_proc_t *same[RANKS] = {(struct ompi_proc_t *) procs[0],
                                       (struct ompi_proc_t *) procs[1]};
    pml.host = host;
    must(param_override("btl", btl) == ORTE_SUCCESS, "override btl");
    must(param_override("btl_tcp_if_include", "lo") == ORTE_SUCCESS, "override tcp");
    must(param_override("ptl_rail_rendezvous", rendezvous) == ORTE_SUCCESS, "override");
    if (keel_host_open(&minihost_ops, host, NULL, reason, sizeof(reason)) != OPAL_SUCCESS) {
        minihost_fail(host, "open: %s", reason);
    }
    minihost_barrier(host, NULL);
    must(keel_host_add_procs(procs, RANKS, reason, sizeof(reason)) == OPAL_SUCCESS, reason);
    if (pinned.counts) {
        pin();
    }
    must(ptl_open(&pml.set, components, &upcalls, false, false) == ORTE_SUCCESS, "ptl_open");
    must(ptl_add_procs(pml.set, RANKS, same, pml.paths) == ORTE_SUCCESS, "add_procs");
    minihost_barrier(host, poll_all);
}

static void close_rank(void)
{
    struct ompi_proc_t *procs[RANKS] = {(struct ompi_proc_t *) &pml.host->procs[0],
                                        (struct ompi_proc_t *) &pml.host->procs[1]};
    must(ptl_del_procs(RANKS, procs, pml.paths) == ORTE_SUCCESS, "del_procs");
    ptl_close(pml.set);
    must(keel_host_close() == OPAL_SUCCESS, "close");
}

static void make_requests(void)
{
    for (int peer = 0; peer < RANKS; peer++) {
        pml.outs[peer] = calloc(plan_count, sizeof(struct out));
        pml.ins[peer] = calloc(plan_count, sizeof(struct in));
        for (size_t tag = 0; tag < plan_count; tag++) {
            const struct plan *plan = &plans[tag];
            struct out *out = &pml.outs[peer][tag];
            struct in *in = &pml.ins[peer][tag];
            out->to = in->from = peer;
            out->acked = plan->acked;
            memory_make(&out->memory, plan->size, plan->scattered, &out->super.req_convertor);
            memory_make(&in->memory, plan->room, plan->scatters, &in->super.req_convertor);
            out->super.req_header = (mca_ptl_base_match_header_t){
                .hdr_contextid = CONTEXT,
                .hdr_src = pml.host->rank,
                .hdr_dst = peer,
                .hdr_tag = (int32_t) tag,
                .hdr_msg_length = plan->size,
                .hdr_msg_seq = (uint16_t) (tag * 3),
            };
            uint8_t *bytes = malloc(plan->size + 1);
            for (size_t i = 0; i < plan->size; i++) {
                bytes[i] = byte_of(pml.host->rank, tag, i);
            }
            opal_convertor_t fill = out->super.req_convertor;
            (void) opal_convertor_unpack_bytes(&fill, bytes, plan->size);
            free(bytes);
        }
    }
}

static void free_requests(void)
{
    for (int peer = 0; peer < RANKS; peer++) {
        for (size_t tag = 0; tag < plan_count; tag++) {
            free(pml.outs[peer][tag].memory.bytes);
            free(pml.ins[peer][tag].memory.bytes);
        }
        free(pml.outs[peer]);
        free(pml.ins[peer]);
    }
}

static void check_in(int from, size_t tag)
{
    struct in *in = &pml.ins[from][tag];
    uint8_t *bytes = malloc(in->memory.size + 1);
    opal_convertor_t data = in->super.req_convertor;
    size_t size = opal_convertor_pack_bytes(&data, bytes, in->wanted);
    must(size == in->wanted && in->delivered == in->wanted && !in->failed, "bytes are missing");
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != byte_of(from, tag, i)) {
            minihost_fail(pml.host, "rank %d: message %zu of %zu bytes from %d: byte %zu is wrong",
                          pml.host->rank, tag, plans[tag].size, from, i);
        }
    }
    for (size_t i = 0; i < GUARD; i++) {
        must(in->memory.bytes[in->memory.size + i] == GUARD_BYTE, "behind the buffer");
    }
    free(bytes);
}

/* Sends go on, one after the other, and receives. True: all is over. */
static bool go_on(bool hands_over)
{
    bool over = true;
    for (int peer = 0; peer < RANKS; peer++) {
        for (size_t tag = 0; tag < plan_count; tag++) {
            struct out *out = &pml.outs[peer][tag];
            struct in *in = &pml.ins[peer][tag];
            if (!out_is_over(out)) {
                out_go_on(out);
            }
            if (hands_over && pml.frags[peer][tag]) {
                hand_over(peer, tag);
            }
            if (in->super.req_fetch) {
                in_go_on(in);
            }
            over = over && out_is_over(out) && in->over;
        }
    }
    return over;
}

static bool all_have_come(void)
{
    return pml.waiting[0] == plan_count && pml.waiting[1] == plan_count;
}

static int run_rank(struct minihost *host, void *unused)
{
    (void) unused;
    open_rank(host);
    make_requests();
    minihost_barrier(host, poll_all);
    while (!go_on(all_have_come())) {
        minihost_check(host);
        (void) poll_all();
    }
    for (int peer = 0; peer < RANKS; peer++) {
        for (size_t tag = 0; tag < plan_count; tag++) {
            must(!pml.outs[peer][tag].failed, "a send failed");
            must(!pml.outs[peer][tag].super.req_ptl && !pml.ins[peer][tag].super.req_ptl,
                 "the PTL still has a request");
            check_in(peer, tag);
        }
    }
    minihost_barrier(host, poll_all);
    close_rank();
    free_requests();
    return 0;
}

/* Never more than is allowed is registered, and bytes move before the last of it is. */
static int run_pinned(struct minihost *host, void *registered_most)
{
    const size_t most = *(const size_t *) registered_most, size = plans[0].size;
    int status = run_rank(host, NULL);
    must(pinned.now == 0, "a registration is left");
    must(pinned.most <= most, "too much is registered at a time");
    must(pinned.count >= size / (most / 2), "the message is registered at once");
    must(pinned.came > 0 && pinned.came >= size - 2 * most,
         "nothing moves before all is registered");
    return status;
}

/* --- a peer that ends --- */

/* Messages that nobody matches, before rank 1 ends: short, to be acknowledged, to be fetched. */
static void plan_ending(void)
{
    static const size_t sizes[] = {8, 8, MOST};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        plans[plan_count++] =
            (struct plan){.size = sizes[i], .room = sizes[i], .acked = i > 0, .late = true};
    }
}

static void check_end(void)
{
    int peer = other();
    struct out *outs = pml.outs[peer];
    struct in *in = &pml.ins[peer][2];
    const struct ptl_path *path = &pml.paths[peer].path[0];
    struct ompi_proc_t *proc = (struct ompi_proc_t *) &pml.host->procs[peer];
    while (pml.changed[peer] == 0) { /* sm hears of it when it has something to send */
        struct out again = {.super.req_header = outs[0].super.req_header};
        again.super.req_convertor = outs[0].super.req_convertor;
        (void) path->ptl->ptl_send(path->ptl, path->peer, &again.super, 0, 8, 0);
        minihost_check(pml.host);
        (void) poll_all();
    }
    must(pml.changed[peer] == 1, "peer_changed is called once");
    must(!outs[0].failed && out_is_over(&outs[0]), "what was sent was sent");
    must(outs[1].failed == OPAL_ERR_UNREACH && outs[2].failed == OPAL_ERR_UNREACH,
         "what was not answered fails");
    must(!outs[1].super.req_ptl && !outs[2].super.req_ptl, "the PTL still has a request");
    struct out last = {.super.req_header = outs[0].super.req_header};
    must(path->ptl->ptl_send(path->ptl, path->peer, &last.super, 0, 8, 0) == OPAL_ERR_UNREACH,
         "a peer that is gone takes a message");
    hand_over(peer, 0); /* what came is there */
    must(pml.ins[peer][0].over, "a message that came is lost");
    hand_over(peer, 2); /* but for what was to be fetched */
    must(in->super.req_fetch &&
             path->ptl->ptl_get(path->ptl, path->peer, &in->super, 0, MOST, 0) == OPAL_ERR_UNREACH,
         "bytes are fetched from a peer that is gone");
    struct keel_ptl_module_t *ptl = keel_ptl_extended(path->ptl);
    ptl->ptl_recv_end(ptl, &in->super, OPAL_ERROR);
    struct ptl_paths paths;
    must(ptl_add_procs(pml.set, 1, &proc, &paths) == ORTE_ERR_UNREACH, "it is reached");
    (void) ptl_del_procs(1, &proc, &paths);
}

static int run_ending(struct minihost *host, void *unused)
{
    (void) unused;
    open_rank(host);
    make_requests();
    minihost_barrier(host, poll_all);
    for (size_t tag = 0; tag < plan_count; tag++) {
        while (!pml.outs[other()][tag].begun) {
            out_go_on(&pml.outs[other()][tag]);
            (void) poll_all();
        }
    }
    while (pml.waiting[other()] < plan_count) {
        minihost_check(host);
        (void) poll_all();
    }
    minihost_barrier(host, poll_all);
    if (host->rank == 1) {
        _exit(EXIT_SUCCESS); /* without a word */
    }
    keel_host_proc_ended(&host->procs[1]);
    check_end();
    hand_over(1, 1);
    close_rank();
    free_requests();
    return 0;
}

/* --- the cases --- */

static void run_with(const char *btls, const char *how, int (*rank)(struct minihost *, void *),
                     void *arg)
{
    char reason[512];
    struct minihost_options options = {.size = RANKS, .timeout_ms = 25000};
    btl = btls;
    rendezvous = how;
    bool good = minihost_run(&options, rank, arg, reason, sizeof(reason));
    ck_assert_msg(good, "%s, %s: %s", btls, how, reason);
}

static void run(const char *btls, const char *how, int (*rank)(struct minihost *, void *))
{
    run_with(btls, how, rank, NULL);
}

static void run_sizes(const char *btls, const char *how)
{
    static const size_t sizes[] = {0,     1,     8,     63,    64,         65,      2047,
                                   4063,  4064,  4065,  4096,  5000,       32735,   32736,
                                   32737, 65503, 65504, 65505, 100 * 1000, 1 << 20, MOST};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        plan_size(sizes[i]);
    }
    run(btls, how, run_rank);
}

UNIT_CASE(test_sm_get, run_sizes("self,sm", "get"))
UNIT_CASE(test_sm_put, run_sizes("self,sm", "put"))
UNIT_CASE(test_sm_send, run_sizes("self,sm", "send"))
UNIT_CASE(test_tcp_get, run_sizes("self,tcp", "get"))
UNIT_CASE(test_tcp_put, run_sizes("self,tcp", "put"))
UNIT_CASE(test_tcp_send, run_sizes("self,tcp", "send"))

START_TEST(test_memory_is_pinned_in_pieces)
{
    size_t most = 8 << 20;
    plans[plan_count++] = (struct plan){.size = 8 * most, .room = 8 * most};
    pinned.counts = true;
    run_with("self,tcp", "get", run_pinned, &most);
}
END_TEST

START_TEST(test_sm_peer_ends)
{
    plan_ending();
    run("self,sm", "get", run_ending);
}
END_TEST

START_TEST(test_tcp_peer_ends)
{
    plan_ending();
    run("self,tcp", "get", run_ending);
}
END_TEST

UNIT_MAIN("rail")
