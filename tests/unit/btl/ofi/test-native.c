/* Operations of the provider's own that do not end: their deadline, and whose memory it is. */
#include <config.h>

#include <base/data/clock.h>
#include <base/settings/param.h>
#include <btl/interface/base.h>
#include <btl/memory/region.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/minihost.h>
#include <tests/lib/unit.h>

enum { SMALL = 100, LARGE = 256 << 10, TIMEOUT_MS = 150 };

#define must minihost_must

/* What rank 1 shows rank 0. */
struct target {
    unsigned char handle[MCA_BTL_REG_HANDLE_MAX_SIZE];
    unsigned char data[LARGE];
};

struct end {
    unsigned long count;
    int status;
};

static mca_btl_base_module_t *btl;
static struct mca_btl_base_endpoint_t *endpoints[2];

static struct target *target_of(struct minihost *host)
{
    return (struct target *) (void *) (host->shared + MINIHOST_SHARED_PER_RANK);
}

static int all_progress(void)
{
    return btl_progress();
}

static void begin(struct minihost *host, const char *provider, const char *rma)
{
    char reason[256] = "";
    opal_proc_t *procs[2] = {&host->procs[0], &host->procs[1]};
    size_t count;

    must(host, param_override("btl", "ofi") == ORTE_SUCCESS);
    must(host, param_override("btl_ofi_provider", provider) == ORTE_SUCCESS);
    must(host, param_override("btl_ofi_rma", rma) == ORTE_SUCCESS);
    must(host, param_override("btl_ofi_atomics", rma) == ORTE_SUCCESS);
    must(host, param_override("btl_ofi_rma_timeout_ms", "150") == ORTE_SUCCESS);
    must(host, param_override("btl_ofi_flush_timeout_ms", "150") == ORTE_SUCCESS);
    if (btl_open(&minihost_ops, host, reason, sizeof(reason)) != ORTE_SUCCESS) {
        minihost_fail(host, "%s", reason);
    }
    btl = btl_modules(&count)[0];
    minihost_barrier(host, NULL); /* all cards are there */
    must(host, btl->btl_add_procs(btl, 2, procs, endpoints, NULL) == OPAL_SUCCESS);
    must(host, endpoints[0] && endpoints[1]);
}

static void on_end(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                   void *address, mca_btl_base_registration_handle_t *handle, void *context,
                   void *data, int status)
{
    (void) module, (void) endpoint, (void) address, (void) handle, (void) data;
    struct end *end = context;

    end->count++;
    end->status = status;
}

static int start(struct minihost *host, bool put, void *local, size_t size, struct end *end)
{
    struct target *target = target_of(host);
    mca_btl_base_registration_handle_t *handle = (void *) target->handle;
    uint64_t remote = (uint64_t) (uintptr_t) target->data;

    *end = (struct end){0};
    return (put ? btl->btl_put : btl->btl_get)(btl, endpoints[1], local, remote, NULL, handle, size,
                                               0, MCA_BTL_NO_ORDER, on_end, end, NULL);
}

static void started(struct minihost *host, bool put, void *local, size_t size, struct end *end)
{
    int status;

    while ((status = start(host, put, local, size, end)) == OPAL_ERR_OUT_OF_RESOURCE) {
        btl_progress();
        minihost_check(host);
    }
    must(host, status == OPAL_SUCCESS);
}

static int ended(struct minihost *host, const struct end *end)
{
    while (*(volatile const unsigned long *) &end->count == 0) {
        btl_progress();
        minihost_check(host);
    }
    must(host, end->count == 1);
    return end->status;
}

/* The first ones go over sends, until the peer is known. The target of one may be kept from running
 * for longer than the module waits. */
static void warm(struct minihost *host, void *local)
{
    struct end end;
    int status;

    for (int i = 0; i < 3; i += status == OPAL_SUCCESS) {
        started(host, true, local, SMALL, &end);
        status = ended(host, &end);
        must(host, status == OPAL_SUCCESS || status == OPAL_ERR_TIMEOUT);
    }
}

static mca_btl_base_registration_handle_t *show(struct minihost *host)
{
    struct target *target = target_of(host);
    mca_btl_base_registration_handle_t *handle = btl->btl_register_mem(
        btl, MCA_BTL_ENDPOINT_ANY, target->data, LARGE, MCA_BTL_REG_FLAG_ACCESS_ANY);

    must(host, handle);
    memcpy(target->handle, handle, btl->btl_registration_handle_size);
    return handle;
}

/* ---- a target that refuses in silence ---- */

static int refuse(struct minihost *host, void *arg)
{
    (void) arg;
    static unsigned char local[SMALL];
    static struct end end; /* the module may still have it */

    begin(host, "shm", "always");
    must(host, btl->btl_registration_handle_size > sizeof(struct region_handle));
    mca_btl_base_registration_handle_t *handle = host->rank == 1 ? show(host) : NULL;
    minihost_barrier(host, NULL);
    if (host->rank == 0) {
        warm(host, local);
    }
    minihost_barrier(host, all_progress);
    if (handle) {
        must(host, btl->btl_deregister_mem(btl, handle) == OPAL_SUCCESS);
    }
    minihost_barrier(host, all_progress);
    if (host->rank == 0) {
        uint64_t begun_us = clock_us();
        started(host, true, local, SMALL, &end);
        int status = ended(host, &end);
        must(host, status == OPAL_ERR_TIMEOUT || status == OPAL_ERR_PERM);
        must(host, status == OPAL_ERR_PERM || clock_us() - begun_us >= TIMEOUT_MS * 1000);
    }
    minihost_barrier(host, all_progress);
    btl_close();
    must(host, end.count == (host->rank == 0));
    return 0;
}

START_TEST(what_is_refused_in_silence_ends)
{
    struct minihost_options options = {.size = 2, .timeout_ms = 25000};
    char reason[512] = "";

    ck_assert_msg(minihost_run(&options, refuse, NULL, reason, sizeof(reason)), "%s", reason);
}
END_TEST

/* ---- a target that does nothing while it is left ---- */

static bool is_all(const unsigned char *bytes, size_t size, unsigned char value)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != value) {
            return false;
        }
    }
    return true;
}

/* Leaves the target with operations under way; then the memory is mine again, for other things. */
static void leave(struct minihost *host, unsigned char *small, unsigned char *large, bool waits)
{
    opal_proc_t *proc = &host->procs[1];
    struct end ends[3];
    bool taken[3] = {true};

    started(host, false, large, LARGE, &ends[0]);
    taken[1] = start(host, false, small, SMALL, &ends[1]) == OPAL_SUCCESS;
    taken[2] = start(host, true, small, SMALL, &ends[2]) == OPAL_SUCCESS;
    for (int i = 0; waits && i < 3; i++) {
        must(host, !taken[i] || ended(host, &ends[i]) < 0);
    }
    must(host, btl->btl_del_procs(btl, 1, &proc, &endpoints[1]) == OPAL_SUCCESS);
    for (int i = 0; i < 3; i++) {
        must(host, ends[i].count == taken[i] && (!taken[i] || ends[i].status < 0));
    }
    memset(small, 0x5a, SMALL);
    memset(large, 0x5a, LARGE);
}

static int abandon(struct minihost *host, void *arg)
{
    static unsigned char small[SMALL], large[LARGE];
    opal_proc_t *proc = &host->procs[1];

    begin(host, "tcp;ofi_rxm", "always");
    if (host->rank == 1) {
        memset(target_of(host)->data, 0x77, LARGE);
        (void) show(host);
    }
    minihost_barrier(host, NULL);
    if (host->rank == 0) {
        warm(host, large);
    }
    minihost_barrier(host, all_progress);
    if (host->rank == 0) {
        leave(host, small, large, arg != NULL);
    }
    minihost_barrier(host, NULL); /* the target sleeps until here */
    for (int i = 0; i < 20000; i++) {
        btl_progress();
    }
    minihost_barrier(host, all_progress);
    if (host->rank == 0) {
        must(host, is_all(small, SMALL, 0x5a) && is_all(large, LARGE, 0x5a));
        /* The provider would not let go of the memory, so the rail is closed. */
        must(host, btl->btl_add_procs(btl, 1, &(opal_proc_t *){proc}, &endpoints[1], NULL) ==
                       OPAL_SUCCESS);
        must(host, !endpoints[1]);
    }
    minihost_barrier(host, NULL);
    btl_close();
    return 0;
}

UNIT_LOOP(memory_that_was_given_back_stays_untouched, 0, 2)
{
    struct minihost_options options = {.size = 2, .timeout_ms = 25000};
    char reason[512] = "";

    ck_assert_msg(
        minihost_run(&options, abandon, _i == 0 ? NULL : (void *) 1, reason, sizeof(reason)), "%s",
        reason);
}
END_TEST

/* ---- a provider that is known for it ---- */

static int ask(struct minihost *host, void *arg)
{
    (void) arg;
    begin(host, "shm", "native");
    must(host, btl->btl_registration_handle_size == sizeof(struct region_handle));
    minihost_barrier(host, all_progress);
    btl_close();
    return 0;
}

START_TEST(what_is_known_not_to_work_goes_over_sends)
{
    struct minihost_options options = {.size = 2, .timeout_ms = 25000};
    char reason[512] = "";

    ck_assert_msg(minihost_run(&options, ask, NULL, reason, sizeof(reason)), "%s", reason);
}
END_TEST

UNIT_MAIN("ofi-native")
