/* The sm module and peers that die, scribble, or are not who they say. */
#include <config.h>

#include <tests/unit/btl/sm/rank.h>

#include <base/settings/log.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <unistd.h>

/* ---- a peer is killed in the middle of a stream ---- */

enum { VICTIM = 2 };

/* Sends and receives with all until it dies, with messages half read and half written. */
static void victim_live(struct minihost *host, void *arg)
{
    struct sm_rank rank;
    sm_rank_start(&rank, host);
    size_t size = *(const size_t *) arg;
    uint32_t number = 0;
    for (;;) {
        int status;
        for (int to = 0; to < VICTIM; to++) {
            while (!sm_rank_try_send(&rank, to, number, 100, NULL, NULL, &status)) {
                sm_rank_progress();
            }
        }
        number++;
        sm_rank_progress();
        if (rank.received[0] > 300 && rank.received[1] > 300) {
            int cut = (int) (size % 3);
            for (int i = 0; i < cut; i++) {
                sm_rank_try_send(&rank, 0, number + (uint32_t) i, 4000, NULL, NULL, &status);
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
    struct sm_rank rank;
    sm_rank_start(&rank, host);
    size_t size = *(const size_t *) arg;
    struct sm_stream stream = {0};
    int other = 1 - host->rank, status = 0;
    uint32_t to_other = 0, to_victim = 0;
    while (status != ORTE_ERR_UNREACH) {
        sm_rank_send(&rank, other, to_other++, 60);
        if (sm_rank_try_send(&rank, VICTIM, to_victim, size, sm_stream_sent, &stream, &status)) {
            to_victim++;
            stream.accepted++;
        }
        sm_rank_progress();
    }
    while (rank.errors[VICTIM] == 0 || stream.good + stream.bad < stream.accepted) {
        sm_rank_progress();
    }
    must(rank.errors[VICTIM] == 1 && rank.errors[other] == 0);
    must(stream.good + stream.bad == stream.accepted);
    for (int i = 0; i < 1000; i++) {
        sm_rank_send(&rank, other, to_other++, i % 10 ? 60 : 20000);
    }
    atomic_uint *sent = (atomic_uint *) (void *) host->shared;
    atomic_store(&sent[host->rank], to_other);
    while (atomic_load(&sent[other]) == 0 || rank.received[other] < atomic_load(&sent[other])) {
        sm_rank_progress();
    }
    sm_rank_drop(&rank, VICTIM);
    must(stream.good + stream.bad == stream.accepted);
    sm_rank_wait_all();
    btl_close();
    return 0;
}

static int killed_run(struct minihost *host, void *arg)
{
    return host->rank == VICTIM ? victim_run(host, arg) : survivor_run(host, arg);
}

UNIT_LOOP(killed_peer_stops_nobody, 0, 4)
{
    const struct minihost_options options = {.size = 3, .timeout_ms = 9000};
    size_t sizes[] = {40, 300, 3000, 32768};
    size_t size = sizes[_i];
    sm_ranks_run(&options, killed_run, &size);
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
    LONG_FRAGMENT,
    FRAME,
    CONSUMED,
    SCRIBBLES
};

/* Writes a slot that no sane peer writes, where the next message to rank 0 goes. */
static void scribble_slot(struct sm_rank *rank, enum scribble what)
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
        [LONG_FRAGMENT] = {start[SM_AREA_SMALL], rank->btl->btl_max_send_size + 1},
        [FRAME] = {start[SM_AREA_SMALL], 64},
    };
    uint64_t low = SM_FRAGMENT;
    low = what == KIND ? 0x0e : low;
    low = what == LENGTH ? SM_INLINE | (uint64_t) 60000 << 16 : low;
    low = what == FRAME ? SM_FRAGMENT | 8 << SM_CHANNEL_SHIFT : low;
    if (what != KIND && what != LENGTH) {
        atomic_store(&slot->fragment.offset, fragments[what][0]);
        atomic_store(&slot->fragment.length, fragments[what][1]);
    }
    atomic_store(&slot->head, (uint64_t) (uint32_t) (ring->tail + 1) << 32 | low);
}

/* Claims to have consumed what rank 0 never sent. */
static void scribble_line(struct sm_rank *rank)
{
    struct sm_module *module = sm_of(rank->btl);
    while (!rank->endpoints[0]->rx.open) {
        sm_rank_progress();
    }
    atomic_store(&module->segment->lines[rank->endpoints[0]->rx.cell].consumed, 1u << 30);
}

static int scribbler_run(struct minihost *host, void *arg)
{
    enum scribble what = *(const enum scribble *) arg;
    struct sm_rank rank;
    sm_rank_start(&rank, host);
    sm_rank_send(&rank, 0, 0, 40);
    if (what == FRAME) {
        sm_rank_send(&rank, 0, 1, 3000); /* so that the fragment is there */
    }
    while (rank.received[0] == 0) {
        sm_rank_progress();
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
        sm_rank_try_send(&rank, 0, number, 20000, NULL, NULL, &status);
        sm_rank_progress();
    }
    must(rank.errors[2] == 0);
    sm_rank_send(&rank, 2, 0, 100);
    sm_rank_wait_all();
    btl_close();
    return 0;
}

static int scribbled_run(struct minihost *host, void *arg)
{
    if (host->rank == 1) {
        return scribbler_run(host, arg);
    }
    struct sm_rank rank;
    sm_rank_start(&rank, host);
    int other = 2 - host->rank;
    struct sm_stream stream = {0};
    int status = 0;
    if (host->rank == 0) {
        sm_rank_send(&rank, 1, 0, 40);
        while (rank.errors[1] == 0) {
            stream.accepted += sm_rank_try_send(&rank, 1, 1 + stream.accepted, 3000, sm_stream_sent,
                                                &stream, &status);
            sm_rank_progress();
        }
        while (stream.good + stream.bad < stream.accepted) {
            sm_rank_progress();
        }
        must(!sm_rank_try_send(&rank, 1, 1, 40, NULL, NULL, &status));
        must(status == ORTE_ERR_UNREACH);
        must(rank.errors[1] == 1);
    }
    minihost_barrier(host, btl_progress);
    for (uint32_t i = 0; i < 500; i++) {
        sm_rank_send(&rank, other, i, i % 10 ? 50 : 5000);
    }
    while (rank.received[other] < 500) {
        sm_rank_progress();
    }
    must(rank.errors[other] == 0);
    sm_rank_wait_all();
    btl_close();
    return 0;
}

UNIT_LOOP(scribbling_peer_harms_only_itself, 0, SCRIBBLES)
{
    const struct minihost_options options = {.size = 3, .timeout_ms = 9000};
    enum scribble what = (enum scribble) _i;
    sm_ranks_run(&options, scribbled_run, &what);
}
END_TEST

/* ---- a peer whose ring ends ---- */

static void operated(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     void *address, mca_btl_base_registration_handle_t *handle, void *context,
                     void *data, int status)
{
    (void) btl, (void) endpoint, (void) address, (void) handle, (void) context;
    *(int *) data = status;
}

/* An atomic at rank 1, which answers that it knows no such region. */
static int operate(struct sm_rank *rank, int *status)
{
    struct region_handle none = {.size = UINT64_MAX};
    *status = 1;
    return rank->btl->btl_atomic_op(rank->btl, rank->endpoints[1], 64, (void *) &none,
                                    MCA_BTL_ATOMIC_ADD, 1, 0, MCA_BTL_NO_ORDER, operated, NULL,
                                    status);
}

static int unanswered_run(struct minihost *host, void *arg)
{
    (void) arg;
    struct sm_rank rank;
    int status;
    sm_rank_start(&rank, host);
    if (host->rank == 0) {
        must(operate(&rank, &status) == OPAL_SUCCESS);
        while (status > 0) {
            sm_rank_progress();
        }
        must(status == OPAL_ERR_PERM);
    }
    sm_rank_wait_all();
    if (host->rank == 1) { /* as if somebody had scribbled on rank 0's board */
        sm_claim_close(&rank.endpoints[0]->tx.claim);
    }
    minihost_barrier(host, NULL);
    if (host->rank == 0) {
        must(operate(&rank, &status) == OPAL_SUCCESS);
        while (status > 0) {
            sm_rank_progress();
        }
        must(status == OPAL_ERR_UNREACH && rank.errors[1] == 1);
    }
    minihost_barrier(host, NULL); /* until then rank 1 answers nothing */
    sm_rank_wait_all();
    btl_close();
    return 0;
}

START_TEST(operations_end_with_the_ring_of_their_answers)
{
    const struct minihost_options options = {.size = 2, .timeout_ms = 9000};
    sm_ranks_run(&options, unanswered_run, NULL);
}
END_TEST

/* Announces a ring to rank 0, which must not take it. */
static void announce_in_vain(struct sm_peer *peer, const struct sm_announcement *announcement)
{
    struct sm_claim claim;
    must(sm_board_announce(peer->board, peer->shape.peers, 5, announcement, &claim) ==
         ORTE_SUCCESS);
    while (sm_claim_alive(&claim)) {
        sm_rank_progress();
    }
}

/* In my name, with a place that could be a ring's, and a card that is not mine. */
static void announce_as_another(struct sm_rank *rank, struct sm_peer *peer)
{
    struct sm_module *module = sm_of(rank->btl);
    struct sm_announcement announcement = {
        .jobid = module->peers.me.jobid,
        .vpid = module->peers.me.vpid,
        .ring_offset = module->segment->layout.start[SM_AREA_RINGS],
        .ring_slots = module->params.ring_slots,
    };
    struct sm_card card = module->segment->card;
    card.nonce[0] ^= 1;
    sm_card_encode(announcement.card, &card);
    announce_in_vain(peer, &announcement);
}

static int announcer_run(struct minihost *host, void *arg)
{
    (void) arg;
    struct sm_rank rank;
    sm_rank_start(&rank, host);
    if (host->rank == 1) {
        struct sm_module *module = sm_of(rank.btl);
        must(sm_endpoint_open(module, rank.endpoints[0]) == ORTE_SUCCESS);
        struct sm_peer *peer = rank.endpoints[0]->peer;
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
            announce_in_vain(peer, &announcement);
        }
        announce_as_another(&rank, peer);
        memset(&peer->board->cells[7].announcement, 0xff, sizeof(struct sm_announcement));
        atomic_store(&peer->board->cells[7].word, SM_CELL_OPEN);
        atomic_fetch_add(&peer->board->doorbell, 1);
        while (atomic_load(&peer->board->cells[7].word) == SM_CELL_OPEN) {
            sm_rank_progress();
        }
    }
    sm_rank_wait_all();
    sm_rank_send(&rank, 1 - host->rank, 0, 50);
    while (rank.received[1 - host->rank] < 1) {
        sm_rank_progress();
    }
    const struct list *used = &sm_of(rank.btl)->peers.used;
    must(!list_empty(used) && used->next->next == used); /* one */
    sm_rank_wait_all();
    btl_close();
    return 0;
}

START_TEST(false_announcements_are_refused)
{
    const struct minihost_options options = {.size = 2, .timeout_ms = 9000};
    log_set_verbosity(LOG_BTL, -2); /* they are warned of */
    sm_ranks_run(&options, announcer_run, NULL);
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

static int forging_peek_card(void *host, const opal_proc_t *peer, const char *key,
                             const void **data, size_t *size)
{
    if (peer->proc_name.vpid != 2) {
        return minihost_ops.peek_card(host, peer, key, data, size);
    }
    minihost_ops.get_card(host, peer, key, forge, NULL);
    *data = forged;
    *size = sizeof(forged);
    return OPAL_SUCCESS;
}

static int reach_run(struct minihost *host, void *arg)
{
    (void) arg;
    struct sm_rank rank;
    struct keel_host_ops ops = minihost_ops;
    ops.get_card = forging_get_card;
    ops.peek_card = forging_peek_card;
    sm_rank_ops = &ops;
    sm_rank_start(&rank, host);
    if (host->rank == 0) {
        must(!rank.endpoints[0] && rank.endpoints[1]);  /* myself; my node */
        must(!rank.endpoints[2] && !rank.endpoints[3]); /* another node's */
    } else if (host->rank == 3) {
        must(!rank.endpoints[2]); /* my node, but not who it says */
    }
    sm_rank_wait_all();
    btl_close();
    return 0;
}

START_TEST(other_nodes_and_forged_cards_are_not_reachable)
{
    const struct minihost_options options = {.size = 4, .nodes = 2, .timeout_ms = 9000};
    sm_ranks_run(&options, reach_run, NULL);
}
END_TEST

/* ---- a process that dies and is started anew ---- */

struct second { /* in the memory that all ranks share */
    atomic_bool there;
    uint8_t card[SM_CARD_BYTES];
};

static struct second *second_of(void *host)
{
    return (struct second *) (void *) ((struct minihost *) host)->shared;
}

static int second_put_card(void *host, const char *key, const void *data, size_t size)
{
    (void) key;
    must(size == SM_CARD_BYTES);
    memcpy(second_of(host)->card, data, size);
    atomic_store(&second_of(host)->there, true);
    return OPAL_SUCCESS;
}

static int second_peek_card(void *host, const opal_proc_t *peer, const char *key, const void **data,
                            size_t *size)
{
    if (peer->proc_name.vpid != 1 || !atomic_load(&second_of(host)->there)) {
        return minihost_ops.peek_card(host, peer, key, data, size);
    }
    *data = second_of(host)->card;
    *size = SM_CARD_BYTES;
    return OPAL_SUCCESS;
}

static void second_get_card(void *host, const opal_proc_t *peer, const char *key, keel_card_fn done,
                            void *arg)
{
    const void *data = NULL;
    size_t size = 0;
    int status = second_peek_card(host, peer, key, &data, &size);
    done(arg, status, data, size);
}

/* Ends when its message was read. */
static void live_once(struct minihost *host, bool killed)
{
    struct sm_rank rank;
    pid_t child = fork();
    if (child == 0) {
        sm_rank_start(&rank, host);
        sm_rank_send(&rank, 0, 0, 3000);
        minihost_barrier(host, NULL);
        if (killed) {
            raise(SIGKILL);
        }
        btl_close();
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

/* Another process gets the name of one that was killed. */
static void lives_twice(struct minihost *host)
{
    struct sm_rank rank;
    live_once(host, true);
    struct keel_host_ops ops = minihost_ops;
    ops.put_card = second_put_card;
    sm_rank_ops = &ops;
    sm_rank_start(&rank, host);
    sm_rank_send(&rank, 0, 0, 3000);
    while (rank.received[0] == 0) {
        sm_rank_progress();
    }
    sm_rank_wait_all();
    btl_close();
}

static void take_message(struct sm_rank *rank)
{
    while (rank->received[1] == 0) {
        sm_rank_progress();
    }
    rank->received[1] = 0;
}

static void add_second(struct sm_rank *rank)
{
    opal_proc_t *proc = &rank->host->procs[1];
    must(rank->btl->btl_add_procs(rank->btl, 1, &proc, &rank->endpoints[1], NULL) == OPAL_SUCCESS);
}

static int twice_run(struct minihost *host, void *arg)
{
    bool held = *(const bool *) arg;
    if (host->rank == 1) {
        lives_twice(host);
        return 0;
    }
    struct sm_rank rank;
    struct keel_host_ops ops = minihost_ops;
    ops.get_card = second_get_card;
    ops.peek_card = second_peek_card;
    sm_rank_ops = &ops;
    sm_rank_open(&rank, host);
    if (held) {
        sm_rank_add_all(&rank);
    } else {
        minihost_barrier(host, NULL);
    }
    take_message(&rank);
    minihost_barrier(host, NULL);
    minihost_barrier(host, NULL); /* the second one has opened */
    struct mca_btl_base_endpoint_t *first = rank.endpoints[1];
    if (held) {
        add_second(&rank);
        must(!rank.endpoints[1] && rank.errors[1] == 0);
        while (rank.errors[1] == 0) {
            sm_rank_progress();
        }
        add_second(&rank);
        must(!rank.endpoints[1] && rank.errors[1] == 1);
        rank.endpoints[1] = first;
        sm_rank_drop(&rank, 1);
        add_second(&rank);
        must(rank.endpoints[1]);
    }
    minihost_barrier(host, NULL);
    take_message(&rank);
    if (!held) {
        add_second(&rank);
    }
    sm_rank_send(&rank, 1, 0, 3000);
    sm_rank_wait_all();
    must(rank.errors[1] == (unsigned) held);
    btl_close();
    return 0;
}

static int ended_run(struct minihost *host, void *arg)
{
    bool killed = *(const bool *) arg;
    struct sm_rank rank;
    if (host->rank == 1) {
        live_once(host, killed);
        minihost_barrier(host, NULL);
        return 0;
    }
    sm_rank_start(&rank, host);
    sm_rank_send(&rank, 1, 0, 40); /* waits for nothing */
    take_message(&rank);
    minihost_barrier(host, NULL);
    minihost_barrier(host, NULL);
    btl_component_of(rank.btl)->ended(rank.btl, rank.endpoints[1]);
    must(rank.errors[1] == 0);
    for (int i = 0; i < 1000; i++) {
        sm_rank_progress();
    }
    must(rank.errors[1] == (unsigned) killed);
    btl_close();
    return 0;
}

UNIT_LOOP(the_host_knows_of_a_death_and_who_left_is_no_failure, 0, 2)
{
    const struct minihost_options options = {.size = 2, .timeout_ms = 9000};
    bool killed = _i == 1;
    sm_ranks_run(&options, ended_run, &killed);
}
END_TEST

UNIT_LOOP(an_endpoint_of_an_earlier_life_fails_where_it_is_held_and_goes_where_not, 0, 2)
{
    const struct minihost_options options = {.size = 2, .timeout_ms = 9000};
    bool held = _i == 1;
    sm_ranks_run(&options, twice_run, &held);
}
END_TEST

UNIT_MAIN("sm-peer")
