#include <config.h>

#include <base/clock.h>
#include <btl/sm/module.h>

/* A peer that was waited for in vain is not asked for so many times as long. */
#define ABSENCES 20
/* This side may have been away itself: so often at least it has looked for an answer in vain. */
#define LOOKS 4
/* Requests to a peer that nothing is known of: each holds a fragment. */
#define FIRST_WINDOW 2

bool sm_put_begins(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint)
{
    (void) btl;
    return sm_rx_ring_put_begins(&endpoint->rx.ring);
}

void sm_put_ends(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint)
{
    (void) btl;
    sm_rx_ring_put_ends(&endpoint->rx.ring);
}

void sm_help_init(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    endpoint->help = (struct sm_help){.heard = 0};
    if (module->params.use_cma) {
        endpoint->am.window = FIRST_WINDOW;
    }
}

bool sm_helps(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    struct sm_help *help = &endpoint->help;
    if (endpoint->am.held) {
        return true; /* behind what is being taken back */
    }
    if (module->params.patience_us == 0 || endpoint->am.stale > 0) {
        return false;
    }
    if (help->absent_us > 0 && clock_us() < help->absent_us) {
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
    bool quiet = help->looks == LOOKS && now - help->quiet_us >= module->params.patience_us;
    return endpoint->am.held || quiet;
}

/* False: not yet. */
static bool take_back(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint,
                      uint64_t now)
{
    struct sm_tx *tx = &endpoint->tx;
    if (!endpoint->am.held) {
        endpoint->am.held = true;
        if (tx->open) {
            sm_tx_ring_recall(&tx->ring);
        }
    }
    if (tx->open && sm_tx_ring_puts(&tx->ring) != 2 * endpoint->am.puts_answered) {
        return false; /* it is in the midst of one, or its answer is on the way */
    }
    endpoint->help.absent_us = now + (uint64_t) ABSENCES * module->params.patience_us;
    endpoint->am.window = FIRST_WINDOW;
    endpoint->help.looks = 0;
    rdma_am_take_back(module->am, &endpoint->am, sm_copy_rest);
    return true;
}

void sm_recall_check(struct sm_module *module, uint64_t now)
{
    struct mca_btl_base_endpoint_t *endpoint;
    list_for_each (endpoint, &module->peers.used, struct mca_btl_base_endpoint_t, life.link) {
        if (is_absent(module, endpoint, now) && take_back(module, endpoint, now)) {
            return; /* its callbacks may have changed the list */
        }
    }
}
