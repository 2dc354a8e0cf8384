#include <config.h>

#include <base/clock.h>
#include <base/crypto.h>
#include <base/log.h>
#include <base/name.h>
#include <btl/sm/module.h>
#include <stdlib.h>

/* How often processes that keep others waiting are looked up in the kernel. */
#define CHECK_US 20000

static const char *session_dir(void)
{
    const struct btl_host *host = btl_host();
    return host->ops->session_dir(host->arg);
}

struct mca_btl_base_endpoint_t *sm_endpoint_find(struct sm_module *module,
                                                 const orte_process_name_t *name)
{
    return roster_find(module->roster, name);
}

void sm_endpoint_rouse(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    if (sm_endpoint_roused(endpoint)) {
        return;
    }
    const struct roster_entry *entry = roster_entry(module->roster, endpoint);
    endpoint->module = module;
    endpoint->name = entry->name;
    endpoint->proc = entry->proc;
    endpoint->cma = module->params.use_cma ? SM_CMA_UNTRIED : SM_CMA_OFF;
    sm_process_init(&endpoint->process, 0, 0);
    rdma_am_peer_init(&endpoint->am, endpoint);
    sm_help_init(module, endpoint);
    list_init(&endpoint->tx.inflight);
    list_init(&endpoint->tx.link);
    list_init(&endpoint->rx.link);
    list_init(&endpoint->failed_link);
    list_append(&module->endpoints, &endpoint->link);
}

static void endpoint_free(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    list_remove(&endpoint->link);
    btl_card_cancel(&endpoint->question);
    sm_tx_release(module, endpoint);
    sm_peer_detach(endpoint->peer);
    sm_process_fini(&endpoint->process);
    roster_remove(module->roster, endpoint, true);
}

static int endpoint_attach(struct mca_btl_base_endpoint_t *endpoint, const struct sm_card *card,
                           char *reason, size_t reason_size)
{
    int status = sm_peer_attach(&endpoint->peer, card, session_dir(), reason, reason_size);
    if (status == ORTE_SUCCESS) {
        endpoint->card = *card;
        sm_process_init(&endpoint->process, (pid_t) card->pid, card->start_time);
    }
    return status;
}

struct mca_btl_base_endpoint_t *sm_endpoint_create(struct sm_module *module,
                                                   const orte_process_name_t *name,
                                                   const struct sm_card *card, char *reason,
                                                   size_t reason_size)
{
    struct mca_btl_base_endpoint_t *endpoint = roster_add(module->roster, name, NULL);
    if (!endpoint) {
        return NULL;
    }
    sm_endpoint_rouse(module, endpoint);
    if (endpoint_attach(endpoint, card, reason, reason_size) != ORTE_SUCCESS) {
        endpoint_free(module, endpoint);
        return NULL;
    }
    btl_met(&module->super, name);
    return endpoint;
}

static void take_card(void *arg, int status, const void *data, size_t size)
{
    struct mca_btl_base_endpoint_t *endpoint = arg;
    char reason[256] = "it published no segment";
    struct sm_card card;
    if (status == ORTE_SUCCESS) {
        status = sm_card_decode(&card, data, size);
    }
    if (status != ORTE_SUCCESS ||
        endpoint_attach(endpoint, &card, reason, sizeof(reason)) != ORTE_SUCCESS) {
        log_info(LOG_BTL, "sm: %s: %s", ORTE_NAME_PRINT(&endpoint->name), reason);
        sm_endpoint_fail(endpoint->module, endpoint, false, "its segment is not to be had");
    }
}

int sm_endpoint_open(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    sm_endpoint_rouse(module, endpoint);
    if (!endpoint->peer && !endpoint->question && !endpoint->failing && !endpoint->failed &&
        btl_card_ask(&module->cards, endpoint->proc, &endpoint->question, take_card, endpoint) !=
            ORTE_SUCCESS) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    return endpoint->peer && !endpoint->failing ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

static int card_judge(void *arg, const void *data, size_t size)
{
    struct sm_card *card = arg;
    int status = sm_card_decode(card, data, size);
    return status != ORTE_SUCCESS || sm_peer_reachable(card, session_dir()) ? status
                                                                            : ORTE_ERR_UNREACH;
}

bool sm_endpoint_reaches(mca_btl_base_module_t *btl, const opal_proc_t *proc)
{
    struct sm_module *module = sm_of(btl);
    struct sm_card card;
    return proc->node == module->node && !name_equal(&proc->proc_name, &module->me) &&
           btl_card_may_lead(&module->cards, proc, card_judge, &card);
}

/* The endpoint of a peer, made or adopted; NULL: not of this node, or not reachable here. Nothing
 * is opened before its first use. */
struct mca_btl_base_endpoint_t *sm_endpoint_add(mca_btl_base_module_t *btl, opal_proc_t *proc)
{
    struct sm_module *module = sm_of(btl);
    struct sm_card card = {.pid = 0}; /* none */
    if (proc->node != module->node || name_equal(&proc->proc_name, &module->me)) {
        return NULL;
    }
    struct mca_btl_base_endpoint_t *endpoint = sm_endpoint_find(module, &proc->proc_name);
    bool reachable = btl_card_may_lead(&module->cards, proc, card_judge, &card);
    if (endpoint && endpoint->peer && card.pid != 0 &&
        !crypto_equal(endpoint->card.nonce, card.nonce, SM_NONCE_BYTES)) {
        sm_endpoint_leave(module, endpoint); /* of an earlier life of the process */
        endpoint = NULL;
    }
    if (endpoint && endpoint->peer) {
        endpoint->proc = proc;
        return endpoint;
    }
    if (!reachable) {
        return NULL;
    }
    if (!endpoint) {
        return roster_add(module->roster, &proc->proc_name, proc);
    }
    roster_entry(module->roster, endpoint)->proc = proc;
    if (sm_endpoint_roused(endpoint)) {
        endpoint->proc = proc;
    }
    return endpoint;
}

/* For its owner, who may be called back and, while it is still there, rouse it. */
static void endpoint_end(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    bool roused = sm_endpoint_roused(endpoint);
    if (roused) {
        sm_endpoint_leave(module, endpoint);
    }
    btl_pending_end(&module->super, endpoint);
    if (!roused && sm_endpoint_roused(endpoint)) {
        sm_endpoint_leave(module, endpoint);
    } else if (!roused) {
        roster_remove(module->roster, endpoint, false);
    }
}

void sm_endpoints_end(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t **endpoints,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        endpoint_end(sm_of(btl), endpoints[i]);
    }
}

void sm_endpoint_fail(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint,
                      bool corrupt, const char *why)
{
    endpoint->corrupt |= corrupt;
    if (endpoint->failing || endpoint->failed) {
        return;
    }
    endpoint->failing = true;
    endpoint->why = why;
    list_append(&module->failing, &endpoint->failed_link);
}

/* Completes all operations to this peer with an error, once each. */
static void end_operations(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    sm_sends_flush(module, endpoint);
    sm_ops_flush(module, endpoint);
    sm_tx_stop(module, endpoint, ORTE_ERR_UNREACH);
    rdma_am_cancel(module->am, &endpoint->am, ORTE_ERR_UNREACH);
}

void sm_endpoint_leave(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    if (endpoint->left) {
        return;
    }
    endpoint->left = true;
    endpoint->failed = ORTE_ERR_UNREACH;
    endpoint->proc = NULL;
    roster_forget(module->roster, endpoint);
    list_remove(&endpoint->failed_link);
    list_remove(&endpoint->link);
    list_append(&module->leaving, &endpoint->link);
    sm_rx_stop(module, endpoint);
    end_operations(module, endpoint);
}

static void settle(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    orte_process_name_t name = endpoint->name;
    opal_proc_t *proc = endpoint->proc;
    endpoint->failed = ORTE_ERR_UNREACH;
    list_append(&module->failed, &endpoint->failed_link);
    if (endpoint->corrupt) {
        sm_rx_stop(module, endpoint);
    }
    end_operations(module, endpoint);
    if (endpoint->peer) {
        btl_report_error(&module->super, MCA_BTL_ERROR_FLAGS_NONFATAL, proc,
                         "sm: lost process %u of this node, %s: %s", (unsigned) endpoint->card.pid,
                         ORTE_NAME_PRINT(&name), endpoint->why);
    } else {
        btl_report_error(&module->super, MCA_BTL_ERROR_FLAGS_NONFATAL, proc,
                         "sm: no way to %s of this node: %s", ORTE_NAME_PRINT(&name),
                         endpoint->why);
    }
    if (!proc) {
        sm_endpoint_leave(module, endpoint);
    }
}

int sm_endpoints_settle(struct sm_module *module)
{
    int settled = 0;
    for (struct list *link = list_pop(&module->failing); link; link = list_pop(&module->failing)) {
        settle(module, container_of(link, struct mca_btl_base_endpoint_t, failed_link));
        settled++;
    }
    return settled;
}

/* Looks after a peer that this process waits for. */
static void check_peer(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint,
                       bool ask_kernel)
{
    if (endpoint->tx.open && !sm_claim_alive(&endpoint->tx.claim)) {
        sm_endpoint_fail(module, endpoint, false, "it no longer reads");
    } else if (ask_kernel && sm_process_gone(&endpoint->process)) {
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
    list_for_each (endpoint, &module->endpoints, struct mca_btl_base_endpoint_t, link) {
        if (endpoint->am.unanswered > 0) {
            check_peer(module, endpoint, true);
        }
    }
}

/* Whether a peer that is given up has done reading. */
static bool has_done(struct mca_btl_base_endpoint_t *endpoint, bool ask_kernel)
{
    return !endpoint->tx.open || !sm_claim_alive(&endpoint->tx.claim) ||
           (ask_kernel && sm_process_gone(&endpoint->process));
}

static void check_given_up(struct sm_module *module, bool ask_kernel)
{
    struct mca_btl_base_endpoint_t *endpoint;
    list_for_each (endpoint, &module->leaving, struct mca_btl_base_endpoint_t, link) {
        if (has_done(endpoint, ask_kernel)) {
            endpoint_free(module, endpoint);
        }
    }
    list_for_each (endpoint, &module->failed, struct mca_btl_base_endpoint_t, failed_link) {
        if (has_done(endpoint, ask_kernel)) {
            list_remove(&endpoint->failed_link);
            sm_tx_release(module, endpoint);
        }
    }
}

void sm_endpoints_check(struct sm_module *module)
{
    if (list_empty(&module->waiting) && list_empty(&module->leaving) &&
        list_empty(&module->failed) && !rdma_am_active(module->am)) {
        return;
    }
    uint64_t now = clock_us();
    bool ask_kernel = now - module->checked_us >= CHECK_US;
    if (ask_kernel) {
        module->checked_us = now;
    }
    check_live(module, ask_kernel);
    if (rdma_am_open(module->am)) {
        sm_recall_check(module, now);
    }
    check_given_up(module, ask_kernel);
}

void sm_endpoints_restart(struct sm_module *module)
{
    struct mca_btl_base_endpoint_t *endpoint;
    list_for_each (endpoint, &module->endpoints, struct mca_btl_base_endpoint_t, link) {
        sm_rx_stop(module, endpoint);
        end_operations(module, endpoint);
        if (!endpoint->proc) {
            sm_endpoint_leave(module, endpoint);
        }
    }
    list_for_each (endpoint, &module->leaving, struct mca_btl_base_endpoint_t, link) {
        endpoint_free(module, endpoint);
    }
    list_for_each (endpoint, &module->endpoints, struct mca_btl_base_endpoint_t, link) {
        btl_card_cancel(&endpoint->question);
        list_remove(&endpoint->failed_link);
        sm_tx_release(module, endpoint);
        sm_peer_detach(endpoint->peer);
        endpoint->peer = NULL;
        sm_process_fini(&endpoint->process);
        endpoint->cma = module->params.use_cma ? SM_CMA_UNTRIED : SM_CMA_OFF;
        endpoint->failing = endpoint->corrupt = false;
        endpoint->failed = ORTE_SUCCESS;
        endpoint->why = NULL;
    }
}

void sm_endpoints_destroy(struct sm_module *module)
{
    while (!list_empty(&module->endpoints)) {
        sm_endpoint_leave(
            module, container_of(module->endpoints.next, struct mca_btl_base_endpoint_t, link));
    }
    struct mca_btl_base_endpoint_t *endpoint;
    list_for_each (endpoint, &module->leaving, struct mca_btl_base_endpoint_t, link) {
        endpoint_free(module, endpoint);
    }
}
