#include <config.h>

#include <base/data/clock.h>
#include <btl/sm/module.h>

/* A peer that was waited for in vain is not asked for so many times as long. */
#define ABSENCES 20
/* This side may have been away itself: so often at least it has looked for an answer in vain. */
#define LOOKS 4
/* Requests to a peer that nothing is known of: each holds a fragment. */
#define FIRST_WINDOW 2
/* One that leaves more of its ring unread is asked for no part. */
#define UNREAD_SHARE 4

bool sm_claims(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
               uint32_t number)
{
    return sm_board_claim_request(sm_of(btl)->segment->board, endpoint->rx.cell, number);
}

void sm_help_init(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    endpoint->help = (struct sm_help){.heard = endpoint->am.heard};
    if (module->params.use_cma) {
        endpoint->am.window = FIRST_WINDOW;
    }
}

/* Whether it is time to ask again, and the peer has passed over what it was asked for before. */
static bool is_back(struct mca_btl_base_endpoint_t *endpoint)
{
    struct sm_tx_ring *ring = &endpoint->tx.ring;
    return clock_us() >= endpoint->help.absent_us &&
           (!endpoint->tx.open ||
            (sm_tx_ring_refresh(ring) == ORTE_SUCCESS && ring->consumed >= endpoint->help.tail));
}

bool sm_helps(struct mca_btl_base_endpoint_t *endpoint)
{
    struct sm_help *help = &endpoint->help;
    if (help->absent_us > 0 && !is_back(endpoint)) {
        return false;
    }
    help->absent_us = 0;
    if (!rdma_am_peer_open(&endpoint->am)) {
        help->looks = 0;
    }
    return true;
}

/* Whether operations wait for the peer, and have waited for long. */
static bool is_absent(const struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint,
                      uint64_t now)
{
    struct sm_help *help = &endpoint->help;
    if (endpoint->cma != SM_CMA_WORKS || endpoint->life.state != PEER_UP ||
        !rdma_am_peer_open(&endpoint->am)) {
        return false;
    }
    if (help->looks == 0 || help->heard != endpoint->am.heard) {
        help->looks = 0;
        help->heard = endpoint->am.heard;
        help->quiet_us = now;
    }
    help->looks += help->looks < LOOKS;
    return help->looks == LOOKS && now - help->quiet_us >= module->params.patience_us;
}

/* Copies all that the peer has not claimed; its callbacks may end the endpoint. */
static void take(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    struct sm_tx *tx = &endpoint->tx;
    uint32_t last = endpoint->am.asked, claimed = last;
    if (tx->open && !sm_claim_requests(&tx->claim, last, &claimed)) {
        sm_endpoint_fail(module, endpoint, true, "it claimed what it was not asked for");
        return;
    }
    rdma_am_take(module->am, &endpoint->am, claimed);
}

bool sm_shares(const struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    struct sm_tx_ring *ring = &endpoint->tx.ring;
    if (module->params.patience_us == 0 || endpoint->am.unreaching || !sm_helps(endpoint)) {
        return false;
    }
    return !endpoint->tx.open || (sm_tx_ring_refresh(ring) == ORTE_SUCCESS &&
                                  ring->tail - ring->consumed <= ring->count / UNREAD_SHARE);
}

int sm_help_work(struct sm_module *module)
{
    struct mca_btl_base_endpoint_t *endpoint;
    list_for_each (endpoint, &module->peers.used, struct mca_btl_base_endpoint_t, life.link) {
        enum rdma_am_work work = endpoint->life.state == PEER_UP
                                     ? rdma_am_work(module->am, &endpoint->am)
                                     : RDMA_AM_IDLE;
        if (work == RDMA_AM_WAITS) {
            take(module, endpoint);
        }
        if (work != RDMA_AM_IDLE) {
            return work == RDMA_AM_COPIED; /* callbacks may have changed the list */
        }
    }
    return 0;
}

void sm_help_check(struct sm_module *module, uint64_t now)
{
    struct mca_btl_base_endpoint_t *endpoint;
    list_for_each (endpoint, &module->peers.used, struct mca_btl_base_endpoint_t, life.link) {
        if (is_absent(module, endpoint, now)) {
            endpoint->help = (struct sm_help){.absent_us = now + (uint64_t) ABSENCES *
                                                                     module->params.patience_us,
                                              .tail = endpoint->tx.ring.tail};
            endpoint->am.window = FIRST_WINDOW;
            take(module, endpoint);
            return; /* callbacks may have changed the list */
        }
    }
}
