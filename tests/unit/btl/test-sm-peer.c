/* The sm module among processes: peers that die, scribble, are not there, or leave. */
#include <config.h>

#include <tests/lib/unit.h>

#include <base/fault.h>
#include <base/log.h>
#include <base/param.h>
#include <btl/sm/module.h>
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tests/lib/minihost.h>
#include <unistd.h>

#define TAG 7
#define MAX_RANKS 4

/* One rank's view. */
struct rank {
    struct minihost *host;
    mca_btl_base_module_t *btl;
    struct mca_btl_base_endpoint_t *endpoints[MAX_RANKS];
    unsigned received[MAX_RANKS]; /* good messages, by sender */
    unsigned errors[MAX_RANKS];   /* error callbacks, by peer */
    unsigned strange_errors;
};

static struct rank *current;

#define must(condition)                                                                         \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            minihost_fail(current->host, "rank %d, line %d: %s", current->host->rank, __LINE__, \
                          #condition);                                                          \
        }                                                                                       \
    } while (0)

/* A message: who, which, and bytes that follow from that. */
struct head {
    uint32_t from, number;
};

static void fill(unsigned char *bytes, size_t size, uint32_t number)
{
    struct head head = {(uint32_t) current->host->rank, number};
    memset(bytes, (int) (number & 0xff), size);
    memcpy(bytes, &head, sizeof(head));
}

static void on_message(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                       mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag;
    struct rank *rank = cbdata;
    const unsigned char *bytes = descriptor->des_segments[0].seg_addr.pval;
    size_t size = (size_t) descriptor->des_segments[0].seg_len;
    struct head head;
    must(size >= sizeof(head));
    memcpy(&head, bytes, sizeof(head));
    must(head.from < MAX_RANKS && head.number == rank->received[head.from]);
    for (size_t i = sizeof(head); i < size; i++) {
        must(bytes[i] == (head.number & 0xff));
    }
    rank->received[head.from]++;
}

static void on_error(mca_btl_base_module_t *btl, int32_t flags, opal_proc_t *proc, char *text)
{
    (void) btl;
    must(flags == MCA_BTL_ERROR_FLAGS_NONFATAL && text && text[0]);
    if (proc) {
        current->errors[proc->proc_name.vpid]++;
    } else {
        current->strange_errors++;
    }
}

static int progress(void)
{
    minihost_check(current->host);
    return btl_progress();
}

static void wait_all(void)
{
    minihost_barrier(current->host, btl_progress);
}

static void open_sm(struct rank *rank, struct minihost *host)
{
    *rank = (struct rank){.host = host};
    current = rank;
    must(param_override("btl", "sm") == ORTE_SUCCESS);
    char reason[256] = "";
    if (btl_open(&minihost_ops, host, reason, sizeof(reason)) != ORTE_SUCCESS) {
        minihost_fail(host, "%s", reason);
    }
    size_t count;
    rank->btl = btl_modules(&count)[0];
    must(rank->btl->btl_register(rank->btl, TAG, on_message, rank) == OPAL_SUCCESS);
    must(rank->btl->btl_register_error(rank->btl, on_error) == OPAL_SUCCESS);
    minihost_barrier(host, NULL);
}

static void add_all(struct rank *rank)
{
    opal_proc_t *procs[MAX_RANKS];
    for (int i = 0; i < rank->host->size; i++) {
        procs[i] = &rank->host->procs[i];
    }
    must(rank->btl->btl_add_procs(rank->btl, (size_t) rank->host->size, procs, rank->endpoints,
                                  NULL) == OPAL_SUCCESS);
    minihost_barrier(rank->host, NULL);
}

static void start(struct rank *rank, struct minihost *host)
{
    open_sm(rank, host);
    add_all(rank);
}

static void drop(struct rank *rank, int peer)
{
    opal_proc_t *proc = &rank->host->procs[peer];
    must(rank->btl->btl_del_procs(rank->btl, 1, &proc, &rank->endpoints[peer]) == OPAL_SUCCESS);
    rank->endpoints[peer] = NULL;
}

static void run(const struct minihost_options *options, int (*fn)(struct minihost *, void *),
                void *arg)
{
    char reason[512] = "";
    bool ok = minihost_run(options, fn, arg, reason, sizeof(reason));
    ck_assert_msg(ok, "%s", reason);
}

/* Sends one message; false: no room. *status gets another error. */
static bool try_send(struct rank *rank, int to, uint32_t number, size_t size,
                     mca_btl_base_completion_fn_t done, void *data, int *status)
{
    mca_btl_base_descriptor_t *descriptor =
        rank->btl->btl_alloc(rank->btl, rank->endpoints[to], MCA_BTL_NO_ORDER, size,
                             MCA_BTL_DES_FLAGS_BTL_OWNERSHIP | MCA_BTL_DES_SEND_ALWAYS_CALLBACK);
    *status = descriptor ? OPAL_SUCCESS : OPAL_ERR_OUT_OF_RESOURCE;
    if (!descriptor) {
        return false;
    }
    fill(descriptor->des_segments[0].seg_addr.pval, size, number);
    descriptor->des_cbfunc = done;
    descriptor->des_cbdata = data;
    *status = rank->btl->btl_send(rank->btl, rank->endpoints[to], descriptor, TAG);
    if (*status < 0) {
        rank->btl->btl_free(rank->btl, descriptor);
    }
    return *status >= 0;
}

static void send_one(struct rank *rank, int to, uint32_t number, size_t size)
{
    int status;
    while (!try_send(rank, to, number, size, NULL, NULL, &status)) {
        must(status == OPAL_ERR_OUT_OF_RESOURCE);
        progress();
    }
}

/* ---- a peer is killed in the middle of a stream ---- */

enum { VICTIM = 2 };

struct stream {
    unsigned accepted, good, bad;
};

static void on_sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint;
    struct stream *stream = descriptor->des_cbdata;
    stream->good += status == OPAL_SUCCESS;
    stream->bad += status < 0;
    must(stream->good + stream->bad <= stream->accepted + 1);
}

/* Sends and receives with all until it dies, with messages half read and half written. */
static void victim_live(struct minihost *host, void *arg)
{
    struct rank rank;
    start(&rank, host);
    size_t size = *(const size_t *) arg;
    uint32_t number = 0;
    for (;;) {
        int status;
        for (int to = 0; to < VICTIM; to++) {
            while (!try_send(&rank, to, number, 100, NULL, NULL, &status)) {
                progress();
            }
        }
        number++;
        progress();
        if (rank.received[0] > 300 && rank.received[1] > 300) {
            int cut = (int) (size % 3);
            for (int i = 0; i < cut; i++) {
                try_send(&rank, 0, number + (uint32_t) i, 4000, NULL, NULL, &status);
            }
            raise(SIGKILL);
        }
    }
}

static int victim_run(struct minihost *host, void *arg)
{
    pid_t child = fork();
    if (child == 0) {
        victim_live(host, arg);
        _exit(1);
    }
    siginfo_t info;
    while (waitid(P_PID, (id_t) child, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    if (info.si_code != CLD_KILLED) {
        minihost_fail(host, "the victim was not killed");
    }
    minihost_barrier(host, NULL); /* a zombie until the others are done */
    waitpid(child, NULL, 0);
    return 0;
}

static int survivor_run(struct minihost *host, void *arg)
{
    struct rank rank;
    start(&rank, host);
    size_t size = *(const size_t *) arg;
    struct stream stream = {0};
    int other = 1 - host->rank, status = 0;
    uint32_t to_other = 0, to_victim = 0;
    while (status != ORTE_ERR_UNREACH) {
        send_one(&rank, other, to_other++, 60);
        if (try_send(&rank, VICTIM, to_victim, size, on_sent, &stream, &status)) {
            to_victim++;
            stream.accepted++;
        }
        progress();
    }
    while (rank.errors[VICTIM] == 0 || stream.good + stream.bad < stream.accepted) {
        progress();
    }
    must(rank.errors[VICTIM] == 1 && rank.errors[other] == 0);
    must(stream.good + stream.bad == stream.accepted);
    for (int i = 0; i < 1000; i++) {
        send_one(&rank, other, to_other++, i % 10 ? 60 : 20000);
    }
    atomic_uint *sent = (atomic_uint *) (void *) host->shared;
    atomic_store(&sent[host->rank], to_other);
    while (atomic_load(&sent[other]) == 0 || rank.received[other] < atomic_load(&sent[other])) {
        progress();
    }
    drop(&rank, VICTIM);
    must(stream.good + stream.bad == stream.accepted);
    wait_all();
    btl_close();
    return 0;
}

static int killed_run(struct minihost *host, void *arg)
{
    return host->rank == VICTIM ? victim_run(host, arg) : survivor_run(host, arg);
}

START_TEST(killed_peer_stops_nobody)
{
    const struct minihost_options options = {.size = 3, .timeout_ms = 9000};
    size_t sizes[] = {40, 300, 3000, 32768};
    size_t size = sizes[_i];
    run(&options, killed_run, &size);
}
END_TEST

/* ---- a peer scribbles on what it shares ---- */

enum scribble {
    KIND,
    LENGTH,
    FAR_FRAGMENT,
    HEADER_FRAGMENT,
    UNCOMMITTED_FRAGMENT,
    ENDLESS_FRAGMENT,
    FRAME,
    CONSUMED,
    SCRIBBLES
};

/* Writes a slot that no sane peer writes, where the next message to rank 0 goes. */
static void scribble_slot(struct rank *rank, enum scribble what)
{
    struct sm_module *module = sm_of(rank->btl);
    struct sm_tx_ring *ring = &rank->endpoints[0]->tx.ring;
    struct sm_slot *slot = &ring->slots[ring->tail & (ring->count - 1)];
    const size_t *start = module->segment->layout.start, *end = module->segment->layout.end;
    const uint64_t fragments[SCRIBBLES][2] = {
        [FAR_FRAGMENT] = {UINT64_MAX - 8, 64},
        [HEADER_FRAGMENT] = {0, 64},
        [UNCOMMITTED_FRAGMENT] = {end[SM_AREA_LARGE] - 64, 64},
        [ENDLESS_FRAGMENT] = {start[SM_AREA_SMALL], UINT64_MAX - 64},
        [FRAME] = {start[SM_AREA_SMALL], 64},
    };
    uint64_t low = SM_FRAGMENT;
    low = what == KIND ? 0x0e : low;
    low = what == LENGTH ? SM_INLINE | (uint64_t) 60000 << 16 : low;
    low = what == FRAME ? SM_FRAGMENT | SM_FRAME : low;
    if (what != KIND && what != LENGTH) {
        atomic_store(&slot->fragment.offset, fragments[what][0]);
        atomic_store(&slot->fragment.length, fragments[what][1]);
    }
    atomic_store(&slot->head, (uint64_t) (uint32_t) (ring->tail + 1) << 32 | low);
}

/* Claims to have consumed what rank 0 never sent. */
static void scribble_line(struct rank *rank)
{
    struct sm_module *module = sm_of(rank->btl);
    while (!rank->endpoints[0]->rx.open) {
        progress();
    }
    atomic_store(&module->segment->lines[rank->endpoints[0]->rx.cell].consumed, 1u << 30);
}

static int scribbler_run(struct minihost *host, void *arg)
{
    enum scribble what = *(const enum scribble *) arg;
    struct rank rank;
    start(&rank, host);
    send_one(&rank, 0, 0, 40);
    if (what == FRAME) {
        send_one(&rank, 0, 1, 3000); /* so that the fragment is there */
    }
    while (rank.received[0] == 0) {
        progress();
    }
    if (what == CONSUMED) {
        scribble_line(&rank);
    } else {
        scribble_slot(&rank, what);
    }
    minihost_barrier(host, NULL);
    /* The victim refuses this process from now on; that is all that happens here. */
    int status = 0;
    for (uint32_t number = 2; status != ORTE_ERR_UNREACH; number++) {
        try_send(&rank, 0, number, 20000, NULL, NULL, &status);
        progress();
    }
    must(rank.errors[2] == 0);
    send_one(&rank, 2, 0, 100);
    wait_all();
    btl_close();
    return 0;
}

static int scribbled_run(struct minihost *host, void *arg)
{
    if (host->rank == 1) {
        return scribbler_run(host, arg);
    }
    struct rank rank;
    start(&rank, host);
    int other = 2 - host->rank;
    struct stream stream = {0};
    int status = 0;
    if (host->rank == 0) {
        send_one(&rank, 1, 0, 40);
        while (rank.errors[1] == 0) {
            stream.accepted +=
                try_send(&rank, 1, 1 + stream.accepted, 3000, on_sent, &stream, &status);
            progress();
        }
        while (stream.good + stream.bad < stream.accepted) {
            progress();
        }
        must(!try_send(&rank, 1, 1, 40, NULL, NULL, &status));
        must(status == ORTE_ERR_UNREACH);
        must(rank.errors[1] == 1);
    }
    minihost_barrier(host, btl_progress);
    for (uint32_t i = 0; i < 500; i++) {
        send_one(&rank, other, i, i % 10 ? 50 : 5000);
    }
    while (rank.received[other] < 500) {
        progress();
    }
    must(rank.errors[other] == 0);
    wait_all();
    btl_close();
    return 0;
}

START_TEST(scribbling_peer_harms_only_itself)
{
    const struct minihost_options options = {.size = 3, .timeout_ms = 9000};
    enum scribble what = (enum scribble) _i;
    run(&options, scribbled_run, &what);
}
END_TEST

static int announcer_run(struct minihost *host, void *arg)
{
    (void) arg;
    struct rank rank;
    start(&rank, host);
    if (host->rank == 1) {
        struct sm_peer *peer = rank.endpoints[0]->peer;
        struct sm_module *module = sm_of(rank.btl);
        const uint64_t offsets[] = {0, UINT64_MAX - 63, module->segment->layout.start[0],
                                    module->segment->layout.start[0] + 1,
                                    module->segment->layout.size};
        for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
            struct sm_announcement announcement = {.jobid = 9,
                                                   .vpid = (uint32_t) i,
                                                   .ring_offset = offsets[i],
                                                   .ring_slots = module->params.ring_slots};
            sm_card_encode(announcement.card, &module->segment->card);
            announcement.ring_slots <<= i == 2; /* the third is in the wrong place by size */
            struct sm_claim claim;
            must(sm_board_announce(peer->board, peer->shape.peers, 5, &announcement, &claim) ==
                 ORTE_SUCCESS);
            while (sm_claim_alive(&claim)) {
                progress();
            }
        }
        memset(&peer->board->cells[7].announcement, 0xff, sizeof(struct sm_announcement));
        atomic_store(&peer->board->cells[7].word, SM_CELL_OPEN);
        atomic_fetch_add(&peer->board->doorbell, 1);
        while (atomic_load(&peer->board->cells[7].word) == SM_CELL_OPEN) {
            progress();
        }
    }
    wait_all();
    send_one(&rank, 1 - host->rank, 0, 50);
    while (rank.received[1 - host->rank] < 1) {
        progress();
    }
    must(list_empty(&sm_of(rank.btl)->endpoints) == false);
    must(sm_of(rank.btl)->endpoints.next->next == &sm_of(rank.btl)->endpoints); /* one */
    wait_all();
    btl_close();
    return 0;
}

START_TEST(false_announcements_are_refused)
{
    const struct minihost_options options = {.size = 2, .timeout_ms = 9000};
    log_set_verbosity(LOG_BTL, -2); /* they are warned of */
    run(&options, announcer_run, NULL);
}
END_TEST

/* ---- put and get without single copy ---- */

#define REGION ((size_t) 200000)

static void on_rdma(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    void *local, mca_btl_base_registration_handle_t *handle, void *context,
                    void *data, int status)
{
    (void) btl, (void) endpoint, (void) local, (void) handle, (void) context;
    *(int *) data = status;
}

/* The status that a put or get of the right neighbour's region ends with. */
static int rdma(struct rank *rank, bool put, unsigned char *local, size_t at, size_t size)
{
    int result = 1, right = (rank->host->rank + 1) % rank->host->size;
    unsigned char *shared = rank->host->shared + MINIHOST_SHARED_PER_RANK * (size_t) right;
    uint64_t address;
    memcpy(&address, shared + 256, sizeof(address));
    int status = (put ? rank->btl->btl_put : rank->btl->btl_get)(
        rank->btl, rank->endpoints[right], local, address + at, NULL,
        (mca_btl_base_registration_handle_t *) (void *) shared, size, 0, MCA_BTL_NO_ORDER, on_rdma,
        NULL, &result);
    must(status == OPAL_SUCCESS);
    while (result == 1) {
        progress();
    }
    return result;
}

static void forbid_single_copy(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(*filter), .filter = filter};
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

enum forbidden { BY_PARAMETER, BY_KERNEL, BY_KERNEL_LATER };

static int emulated_run(struct minihost *host, void *arg)
{
    enum forbidden how = *(const enum forbidden *) arg;
    struct rank rank = {.host = host};
    current = &rank;
    if (how == BY_PARAMETER) {
        must(param_override("btl_sm_use_cma", "no") == ORTE_SUCCESS);
    } else if (how == BY_KERNEL) {
        forbid_single_copy();
    }
    start(&rank, host);
    unsigned char *region = calloc(1, REGION), *local = malloc(REGION);
    must(region && local);
    mca_btl_base_registration_handle_t *handle = rank.btl->btl_register_mem(
        rank.btl, MCA_BTL_ENDPOINT_ANY, region, REGION, MCA_BTL_REG_FLAG_ACCESS_ANY);
    must(handle);
    unsigned char *shared = host->shared + MINIHOST_SHARED_PER_RANK * (size_t) host->rank;
    uint64_t address = (uint64_t) (uintptr_t) region;
    memcpy(shared, handle, rank.btl->btl_registration_handle_size);
    memcpy(shared + 256, &address, sizeof(address));
    wait_all();
    int right = (host->rank + 1) % host->size;
    must(rdma(&rank, false, local, 0, 8) == OPAL_SUCCESS);
    if (how == BY_KERNEL_LATER) {
        forbid_single_copy(); /* found out by an operation, which is done all the same */
    }
    memset(local, 10 + host->rank, REGION);
    must(rdma(&rank, true, local, 0, REGION) == OPAL_SUCCESS);
    must(rank.endpoints[right]->cma == SM_CMA_OFF);
    wait_all();
    for (size_t i = 0; i < REGION; i++) {
        must(region[i] == 10 + (host->rank + host->size - 1) % host->size);
    }
    memset(local, 0, REGION);
    must(rdma(&rank, false, local, 1, REGION - 1) == OPAL_SUCCESS);
    must(local[0] == 10 + host->rank && local[REGION - 2] == 10 + host->rank);
    must(rdma(&rank, true, local, 1, REGION) == OPAL_ERR_VALUE_OUT_OF_BOUNDS);
    wait_all();
    must(rank.btl->btl_deregister_mem(rank.btl, handle) == OPAL_SUCCESS);
    wait_all();
    must(rdma(&rank, true, local, 0, 1) == OPAL_ERR_PERM);
    wait_all();
    btl_close();
    free(region);
    free(local);
    return 0;
}

START_TEST(put_and_get_work_without_single_copy)
{
    const struct minihost_options options = {.size = 2, .timeout_ms = 9000};
    enum forbidden how = (enum forbidden) _i;
    run(&options, emulated_run, &how);
}
END_TEST

/* ---- short of everything ---- */

/* Sends, memory and single copy fail now and then: all arrives all the same, in order. */
static int short_run(struct minihost *host, void *arg)
{
    (void) arg;
    struct rank rank;
    start(&rank, host);
    must(fault_set(
             "btl.sm.send:error=EAGAIN:p=0.2:seed=7; btl.sm.memory:error=ENOSPC:p=0.7:seed=3") ==
         ORTE_SUCCESS);
    int other = 1 - host->rank;
    for (uint32_t i = 0; i < 3000; i++) {
        send_one(&rank, other, i, i % 3 ? 30 : i % 2 ? 4000 : 30000);
    }
    while (rank.received[other] < 3000) {
        progress();
    }
    must(rank.errors[other] == 0);
    must(fault_set(NULL) == ORTE_SUCCESS);
    wait_all();
    btl_close();
    return 0;
}

START_TEST(shortage_loses_nothing)
{
    const struct minihost_options options = {.size = 2, .timeout_ms = 9000};
    run(&options, short_run, NULL);
}
END_TEST

/* ---- who is reachable ---- */

static uint8_t forged[SM_CARD_BYTES];

static void forge(void *arg, int status, const void *data, size_t size)
{
    (void) arg;
    must(status == OPAL_SUCCESS && size == sizeof(forged));
    memcpy(forged, data, size);
    forged[32] ^= 1; /* the nonce */
}

/* A host that hands out rank 2's card with another nonce. */
static void forging_get_card(void *host, const opal_proc_t *peer, const char *key,
                             keel_card_fn done, void *arg)
{
    if (peer->proc_name.vpid != 2) {
        minihost_ops.get_card(host, peer, key, done, arg);
        return;
    }
    minihost_ops.get_card(host, peer, key, forge, NULL);
    done(arg, OPAL_SUCCESS, forged, sizeof(forged));
}

static int reach_run(struct minihost *host, void *arg)
{
    (void) arg;
    struct rank rank;
    open_sm(&rank, host);
    struct keel_host_ops ops = minihost_ops;
    ops.get_card = forging_get_card;
    ((struct btl_host *) (uintptr_t) btl_host())->ops = &ops;
    add_all(&rank);
    if (host->rank == 0) {
        must(!rank.endpoints[0] && rank.endpoints[1]);  /* myself; my node */
        must(!rank.endpoints[2] && !rank.endpoints[3]); /* another node's */
    } else if (host->rank == 3) {
        must(!rank.endpoints[2]); /* my node, but not who it says */
    }
    wait_all();
    btl_close();
    return 0;
}

START_TEST(other_nodes_and_forged_cards_are_not_reachable)
{
    const struct minihost_options options = {.size = 4, .nodes = 2, .timeout_ms = 9000};
    run(&options, reach_run, NULL);
}
END_TEST

/* ---- leaving ---- */

static void drop_sender(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                        mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    struct rank *rank = cbdata;
    on_message(btl, tag, descriptor, cbdata);
    drop(rank, 1);
    /* The message is there until the callback ends. */
    const unsigned char *bytes = descriptor->des_segments[0].seg_addr.pval;
    must(bytes[descriptor->des_segments[0].seg_len - 1] == 0);
}

static int drop_run(struct minihost *host, void *arg)
{
    (void) arg;
    struct rank rank;
    start(&rank, host);
    if (host->rank == 0) {
        must(rank.btl->btl_register(rank.btl, TAG, drop_sender, &rank) == OPAL_SUCCESS);
        while (rank.received[1] == 0) {
            progress();
        }
        for (int i = 0; i < 2000; i++) {
            progress();
        }
        must(rank.received[1] == 1 && rank.errors[1] == 0);
    } else {
        int status = 0;
        for (uint32_t number = 0; status != ORTE_ERR_UNREACH; number++) {
            try_send(&rank, 0, number, 3000, NULL, NULL, &status);
            progress();
        }
    }
    wait_all();
    btl_close();
    return 0;
}

START_TEST(callback_may_drop_its_sender)
{
    const struct minihost_options options = {.size = 2, .timeout_ms = 9000};
    run(&options, drop_run, NULL);
}
END_TEST

static unsigned count_large(struct rank *rank, mca_btl_base_descriptor_t **taken, unsigned most)
{
    unsigned count = 0;
    size_t size = rank->btl->btl_max_send_size;
    while (count < most &&
           (taken[count] = rank->btl->btl_alloc(rank->btl, NULL, MCA_BTL_NO_ORDER, size, 0))) {
        memset(taken[count++]->des_segments[0].seg_addr.pval, 0xee, size);
    }
    for (unsigned i = 0; i < count; i++) {
        rank->btl->btl_free(rank->btl, taken[i]);
    }
    return count;
}

/* A fragment that was sent to a peer is not used again while that peer may read it, also when the
 * endpoint is gone. */
static int lasting_run(struct minihost *host, void *arg)
{
    (void) arg;
    struct rank rank;
    start(&rank, host);
    if (host->rank == 0) {
        mca_btl_base_descriptor_t *taken[256];
        unsigned all = count_large(&rank, taken, 256);
        struct stream stream = {.accepted = 1};
        int status;
        must(try_send(&rank, 1, 0, rank.btl->btl_max_send_size, on_sent, &stream, &status));
        drop(&rank, 1);
        must(stream.bad == 1 && stream.good == 0);
        must(count_large(&rank, taken, 256) == all - 1);
        for (int i = 0; i < 2000; i++) {
            progress();
        }
        must(count_large(&rank, taken, 256) == all - 1);
        minihost_barrier(host, NULL);
        while (count_large(&rank, taken, 256) < all) {
            progress();
        }
    } else {
        minihost_barrier(host, NULL);
        while (rank.received[0] == 0) {
            progress();
        }
    }
    wait_all();
    btl_close();
    return 0;
}

START_TEST(fragments_last_while_they_are_read)
{
    const struct minihost_options options = {.size = 2, .timeout_ms = 9000};
    run(&options, lasting_run, NULL);
}
END_TEST

static unsigned count_descriptors(void)
{
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir)) {
        count++;
    }
    closedir(dir);
    return count;
}

static unsigned count_mappings(void)
{
    char line[512];
    unsigned count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof(line), maps)) {
        count += strstr(line, "keel-sm") || strstr(line, "/sm-");
    }
    fclose(maps);
    return count;
}

static unsigned count_files(const char *path)
{
    unsigned count = 0;
    DIR *dir = opendir(path);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        count += entry->d_name[0] != '.';
    }
    closedir(dir);
    return count;
}

static int leaving_run(struct minihost *host, void *arg)
{
    struct rank rank = {.host = host};
    current = &rank;
    must(param_override("btl_sm_backing", arg) == ORTE_SUCCESS);
    unsigned descriptors = count_descriptors();
    start(&rank, host);
    must(count_mappings() > 0);
    must(count_files(minihost_ops.session_dir(host)) ==
         (strcmp(arg, "file") == 0 ? (unsigned) host->size : 0));
    for (int to = 0; to < host->size; to++) {
        if (rank.endpoints[to]) {
            send_one(&rank, to, 0, 3000);
        }
    }
    for (int from = 0; from < host->size; from++) {
        while (from != host->rank && rank.received[from] == 0) {
            progress();
        }
    }
    wait_all();
    btl_close(); /* without del_procs */
    must(count_mappings() == 0);
    must(count_descriptors() == descriptors);
    minihost_barrier(host, NULL);
    must(count_files(minihost_ops.session_dir(host)) == 0);
    return 0;
}

START_TEST(finalize_leaves_nothing)
{
    const struct minihost_options options = {.size = 3, .timeout_ms = 9000};
    static char backings[2][8] = {"memfd", "file"};
    run(&options, leaving_run, backings[_i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sm-peer");
    TCase *tcase = tcase_create("sm-peer");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, killed_peer_stops_nobody, 0, 4);
    tcase_add_loop_test(tcase, scribbling_peer_harms_only_itself, 0, SCRIBBLES);
    tcase_add_test(tcase, false_announcements_are_refused);
    tcase_add_loop_test(tcase, put_and_get_work_without_single_copy, 0, 3);
    tcase_add_test(tcase, shortage_loses_nothing);
    tcase_add_test(tcase, other_nodes_and_forged_cards_are_not_reachable);
    tcase_add_test(tcase, callback_may_drop_its_sender);
    tcase_add_test(tcase, fragments_last_while_they_are_read);
    tcase_add_loop_test(tcase, finalize_leaves_nothing, 0, 2);
    return unit_main(suite);
}
