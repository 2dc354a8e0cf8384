#include <config.h>

#include <base/data/clock.h>
#include <base/data/crypto.h>
#include <base/settings/log.h>
#include <base/types/name.h>
#include <btl/sm/module.h>
#include <stdlib.h>
#include <string.h>

/* How often processes that keep others waiting are looked up in the kernel. */
#define CHECK_US 20000

static struct mca_btl_base_endpoint_t *endpoint_of(struct btl_peer *life)
{
    return (struct mca_btl_base_endpoint_t *) (void *) life;
}

/* ---- hooks ---- */

static bool is_neighbour(const struct btl_peers *peers, const opal_proc_t *proc)
{
    return proc->node == sm_of(peers->module)->node && !name_equal(&proc->proc_name, &peers->me);
}

static void endpoint_begin(struct btl_peer *life)
{
    struct mca_btl_base_endpoint_t *endpoint = endpoint_of(life);
    struct sm_module *module = sm_of(life->peers->module);
    endpoint->cma = module->params.use_cma ? SM_CMA_UNTRIED : SM_CMA_OFF;
    sm_process_init(&endpoint->process, 0, 0);
    rdma_am_peer_init(&endpoint->am, endpoint);
    sm_help_init(module, endpoint);
    list_init(&endpoint->tx.inflight);
    list_init(&endpoint->tx.link);
    list_init(&endpoint->rx.link);
    list_init(&endpoint->lingering);
}

static int card_judge(void *peers, const void *data, size_t size)
{
    struct sm_card card;
    int status = sm_card_decode(&card, data, size);
    (void) peers;
    return status != ORTE_SUCCESS || sm_peer_reachable(&card, btl_session_dir()) ? status
                                                                                 : ORTE_ERR_UNREACH;
}

/* Maps the segment that the card tells of. */
static int endpoint_attach(struct mca_btl_base_endpoint_t *endpoint, const struct sm_card *card)
{
    char reason[256];
    int status = sm_peer_attach(&endpoint->peer, card, btl_session_dir(), reason, sizeof(reason));
    if (status == ORTE_SUCCESS) {
        endpoint->card = *card;
        endpoint->life.located = true;
        sm_process_init(&endpoint->process, (pid_t) card->pid, card->start_time);
    } else {
        free(endpoint->refusal);
        endpoint->refusal = strdup(reason);
    }
    return status;
}

static int endpoint_locate(struct btl_peer *life, const void *data, size_t size)
{
    struct mca_btl_base_endpoint_t *endpoint = endpoint_of(life);
    struct sm_card card;
    int status = sm_card_decode(&card, data, size);
    if (status == ORTE_SUCCESS) {
        status = endpoint_attach(endpoint, &card);
        life->why = life->state == PEER_CARD ? endpoint->refusal : life->why;
    }
    return status;
}

/* Whose segment is mapped can be written to: its owner finds the ring when it looks. */
static void endpoint_connect(struct btl_peer *life)
{
    (void) !btl_peer_up(life, 0);
}

/* What a peer wrote before it broke is still delivered, unless it was given up. */
static void endpoint_cut(struct btl_peer *life, int status)
{
    struct mca_btl_base_endpoint_t *endpoint = endpoint_of(life);
    struct sm_module *module = sm_of(life->peers->module);
    if (life->state != PEER_BROKEN || endpoint->given_up) {
        sm_rx_stop(module, endpoint, endpoint->given_up);
        endpoint->given_up = false;
    }
    sm_tx_halt(module, endpoint);
    (void) desc_set_finish(&module->super, &module->descs, endpoint);
    sm_ops_flush(module, endpoint);
    sm_tx_stop(module, endpoint, status);
    rdma_am_cancel(module->am, &endpoint->am, status);
    list_remove(&endpoint->lingering);
    list_append(&module->lingering, &endpoint->lingering);
}

static void endpoint_forget(struct btl_peer *life)
{
    struct mca_btl_base_endpoint_t *endpoint = endpoint_of(life);
    struct sm_module *module = sm_of(life->peers->module);
    list_remove(&endpoint->lingering);
    sm_tx_release(module, endpoint);
    sm_peer_detach(endpoint->peer);
    endpoint->peer = NULL;
    free(endpoint->refusal);
    endpoint->refusal = NULL;
    free(endpoint->pace);
    endpoint->pace = NULL;
    sm_process_fini(&endpoint->process);
    endpoint->cma = module->params.use_cma ? SM_CMA_UNTRIED : SM_CMA_OFF;
}

/* It lingers. */
static void endpoint_end(struct btl_peer *life)
{
    (void) life;
}

const struct btl_peer_hooks sm_peer_hooks = {
    .suits = is_neighbour,
    .begin = endpoint_begin,
    .judge = card_judge,
    .locate = endpoint_locate,
    .connect = endpoint_connect,
    .cut = endpoint_cut,
    .forget = endpoint_forget,
    .end = endpoint_end,
    .fails_for_good = true,
};

/* ---- who is reached ---- */

int sm_endpoint_open(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    struct btl_peer *life = &endpoint->life;
    btl_peer_activate(&module->peers, life);
    btl_peer_want(life);
    if (life->state == PEER_HANDSHAKE) {
        endpoint_connect(life);
    }
    if (life->state == PEER_UP) {
        return ORTE_SUCCESS;
    }
    return life->state <= PEER_FAILING ? ORTE_ERR_OUT_OF_RESOURCE : ORTE_ERR_UNREACH;
}

/* Whether what is mapped is not the segment that this card tells of. */
static bool is_anothers(const struct mca_btl_base_endpoint_t *endpoint, const struct sm_card *card)
{
    return endpoint->peer && !crypto_equal(endpoint->card.nonce, card->nonce, SM_NONCE_BYTES);
}

/* The same, of the card that its host has now. */
static int judge_again(void *arg, const void *data, size_t size)
{
    const struct mca_btl_base_endpoint_t **endpoint = arg;
    struct sm_card card;
    int status = sm_card_decode(&card, data, size);
    if (status == ORTE_SUCCESS && is_anothers(*endpoint, &card)) {
        *endpoint = NULL;
    }
    return status;
}

static bool began_anew(struct sm_module *module, const struct mca_btl_base_endpoint_t *endpoint,
                       const opal_proc_t *proc)
{
    if (endpoint->peer) {
        (void) btl_card_may_lead(&module->peers.cards, proc, judge_again, &endpoint);
    }
    return !endpoint;
}

/* One that nobody added ends when it has broken, or when its process was started anew. */
static bool ends_unheld(struct mca_btl_base_endpoint_t *endpoint, bool anew)
{
    bool ends = !endpoint->life.proc && (anew || endpoint->life.state >= PEER_FAILING);
    if (ends) {
        btl_peer_end(&endpoint->life);
    }
    return ends;
}

struct mca_btl_base_endpoint_t *sm_endpoint_add(mca_btl_base_module_t *btl, opal_proc_t *proc)
{
    struct sm_module *module = sm_of(btl);
    struct btl_peers *peers = &module->peers;
    struct mca_btl_base_endpoint_t *endpoint = roster_find(peers->roster, &proc->proc_name);
    if (endpoint && endpoint->life.peers) {
        bool anew = began_anew(module, endpoint, proc);
        if (!ends_unheld(endpoint, anew) && anew) {
            /* whoever has added it deletes it before it is reached again */
            sm_endpoint_fail(module, endpoint, false, "its process was started anew");
        }
    }
    return endpoint_of(btl_peer_add(peers, proc));
}

static struct mca_btl_base_endpoint_t *meet(struct sm_module *module,
                                            const orte_process_name_t *name)
{
    bool again;
    return endpoint_of(btl_peer_meet(&module->peers, name, &again));
}

struct mca_btl_base_endpoint_t *sm_endpoint_meet(struct sm_module *module,
                                                 const orte_process_name_t *name,
                                                 const struct sm_card *card)
{
    struct mca_btl_base_endpoint_t *endpoint = meet(module, name);
    if (endpoint && ends_unheld(endpoint, is_anothers(endpoint, card))) {
        endpoint = meet(module, name);
    }
    if (!endpoint) {
        return NULL;
    }
    if (!endpoint->life.proc && !endpoint->peer &&
        endpoint_attach(endpoint, card) != ORTE_SUCCESS) {
        log_warn(LOG_BTL, "sm: %s writes to this process and is refused: %s", ORTE_NAME_PRINT(name),
                 endpoint->refusal ? endpoint->refusal : "out of memory");
        btl_peer_end(&endpoint->life);
        return NULL;
    }
    int status = sm_endpoint_open(module, endpoint);
    bool comes = status == ORTE_ERR_OUT_OF_RESOURCE && endpoint->life.state < PEER_FAILING;
    return comes || (status == ORTE_SUCCESS && !is_anothers(endpoint, card)) ? endpoint : NULL;
}

/* ---- peers that fail, and what they may still read ---- */

void sm_endpoint_fail(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint,
                      bool corrupt, const char *why)
{
    if (corrupt) {
        sm_rx_stop(module, endpoint, true);
    }
    sm_tx_halt(module, endpoint);
    btl_peer_fail(&endpoint->life, why);
}

void sm_endpoint_left(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    bool up = endpoint->life.state == PEER_UP && endpoint->tx.ready && !endpoint->rx.open;
    if (!up || sm_claim_alive(&endpoint->tx.claim)) {
        return;
    }
    if (!sm_claim_left(&endpoint->tx.claim) || sm_tx_settle(module, endpoint) != ORTE_SUCCESS ||
        !list_empty(&endpoint->tx.inflight) || rdma_am_peer_active(&endpoint->am)) {
        sm_endpoint_fail(module, endpoint, false, "it no longer reads");
        return;
    }
    btl_peer_left(&endpoint->life);
    list_remove(&endpoint->lingering);
    sm_tx_release(module, endpoint);
}

/* Whoever leaves reads no more, and closes its ring: that is no failure. */
void sm_endpoint_ended(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint)
{
    struct sm_module *module = sm_of(btl);
    const struct sm_board *board = module->segment->board;
    struct sm_announcement unused;
    bool left =
        !(endpoint->tx.ready && sm_claim_alive(&endpoint->tx.claim)) &&
        !(endpoint->rx.open && sm_board_look(board, endpoint->rx.cell, &unused) != SM_CELL_CLOSED);
    if (endpoint->life.state != PEER_IDLE && !(left && endpoint->life.state == PEER_UP)) {
        sm_endpoint_fail(module, endpoint, false, "its process ended");
    }
}

/* Its ring is dropped by progress, since this may be called while one of its messages is received.
 */
void sm_endpoint_give_up(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                         const char *why)
{
    endpoint->given_up = true;
    sm_endpoint_fail(sm_of(btl), endpoint, false, why);
}

/* Looks after a peer that this process waits for. */
static void check_peer(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint,
                       bool ask_kernel)
{
    sm_endpoint_left(module, endpoint);
    if (ask_kernel && endpoint->tx.ready && sm_process_gone(&endpoint->process)) {
        sm_endpoint_fail(module, endpoint, false, "it ended");
    }
}

static void check_live(struct sm_module *module, bool ask_kernel)
{
    struct mca_btl_base_endpoint_t *endpoint;
    list_for_each (endpoint, &module->waiting, struct mca_btl_base_endpoint_t, tx.link) {
        check_peer(module, endpoint, ask_kernel);
    }
    if (!ask_kernel || !rdma_am_active(module->am)) {
        return;
    }
    list_for_each (endpoint, &module->peers.used, struct mca_btl_base_endpoint_t, life.link) {
        if (endpoint->am.unanswered > 0) {
            check_peer(module, endpoint, true);
        }
    }
}

static void endpoint_free(struct mca_btl_base_endpoint_t *endpoint)
{
    endpoint_forget(&endpoint->life);
    btl_peer_free(&endpoint->life);
}

/* The peers that are not waited for any more: those that do not read any more, either. */
static void check_lingering(struct sm_module *module, bool ask_kernel)
{
    struct mca_btl_base_endpoint_t *endpoint;
    list_for_each (endpoint, &module->lingering, struct mca_btl_base_endpoint_t, lingering) {
        bool reads = endpoint->tx.open && sm_claim_alive(&endpoint->tx.claim) &&
                     !(ask_kernel && sm_process_gone(&endpoint->process));
        if (!reads && (ends_unheld(endpoint, false) || endpoint->life.state == PEER_ENDED)) {
            endpoint_free(endpoint);
        } else if (!reads) {
            list_remove(&endpoint->lingering);
            sm_tx_release(module, endpoint);
        }
    }
}

void sm_endpoints_check(struct sm_module *module)
{
    if (list_empty(&module->waiting) && list_empty(&module->lingering) &&
        !rdma_am_active(module->am)) {
        return;
    }
    uint64_t now = clock_us();
    bool ask_kernel = now - module->checked_us >= CHECK_US;
    if (ask_kernel) {
        module->checked_us = now;
    }
    check_live(module, ask_kernel);
    if (rdma_am_open(module->am)) {
        sm_help_check(module, now);
    }
    check_lingering(module, ask_kernel);
}

/* All of them have ended. */
static void free_lingering(struct sm_module *module)
{
    struct mca_btl_base_endpoint_t *endpoint;
    list_for_each (endpoint, &module->lingering, struct mca_btl_base_endpoint_t, lingering) {
        endpoint_free(endpoint);
    }
}

void sm_endpoints_restart(struct sm_module *module)
{
    btl_peers_restart(&module->peers);
    free_lingering(module);
}

void sm_endpoints_destroy(struct sm_module *module)
{
    btl_peers_end_all(&module->peers);
    free_lingering(module);
    if (module->segment) {
        sm_board_close(module->segment->board, module->params.max_peers);
    }
}
