/* A peer that the ofi module lost is lost on both sides. It is tried again, and comes back to the
 * same endpoint. */
#include <config.h>

#include <base/settings/fault.h>
#include <base/settings/param.h>
#include <btl/interface/base.h>
#include <sys/mman.h>
#include <tests/lib/minihost.h>
#include <tests/lib/unit.h>

/* What the provider keeps of an endpoint that stays open to the end (btl/ofi/README.md) is no leak
 * of Keel's. For LeakSanitizer. */
const char *__lsan_default_suppressions(void) __attribute__((visibility("default")));
const char *__lsan_default_suppressions(void)
{
    return "leak:libfabric.so\n";
}

enum { TAG = 9, BEHIND, ROUNDS = 3, FROM_MEMORY = 16 };

#define must minihost_must

static mca_btl_base_module_t *btl;
static struct mca_btl_base_endpoint_t *endpoints[2], *other;
static unsigned received, behind, losses, returns;
static void *from_memory[FROM_MEMORY];
static bool retries; /* as who chooses rails does */

static void take(mca_btl_base_module_t *module, mca_btl_base_tag_t tag,
                 mca_btl_base_descriptor_t *descriptor, void *data)
{
    (void) module, (void) descriptor, (void) data;
    received += tag == TAG;
    behind += tag == BEHIND;
}

static void changed(void *arg, mca_btl_base_module_t *module, opal_proc_t *proc, bool back)
{
    (void) arg, (void) proc;
    losses += !back;
    returns += back;
    if (retries && !back) {
        btl_retry(module, other, true);
    }
}

static void begin_over(struct minihost *host, const char *provider)
{
    char reason[256] = "";
    opal_proc_t *procs[2] = {&host->procs[0], &host->procs[1]};
    size_t count;

    must(host, param_override("btl", "ofi") == ORTE_SUCCESS);
    must(host, param_override("btl_ofi_provider", provider) == ORTE_SUCCESS);
    if (btl_open(&minihost_ops, host, reason, sizeof(reason)) != ORTE_SUCCESS) {
        minihost_fail(host, "%s", reason);
    }
    btl = btl_modules(&count)[0];
    btl->btl_register(btl, TAG, take, NULL);
    btl->btl_register(btl, BEHIND, take, NULL);
    btl_watch_peers(changed, NULL);
    minihost_barrier(host, NULL); /* all cards are there */
    must(host, btl->btl_add_procs(btl, 2, procs, endpoints, NULL) == OPAL_SUCCESS);
    other = endpoints[1 - host->rank];
}

static void begin(struct minihost *host)
{
    begin_over(host, "shm");
}

static void until(struct minihost *host, const unsigned *count, unsigned least)
{
    while (*(volatile const unsigned *) count < least) {
        btl_progress();
        minihost_check(host);
    }
}

static int send_by(mca_btl_base_tag_t tag)
{
    char text[8] = "";
    return btl->btl_sendi(btl, other, NULL, text, sizeof(text), 0, MCA_BTL_NO_ORDER, 0, tag, NULL);
}

static int send_one(void)
{
    return send_by(TAG);
}

static void send_sure_by(struct minihost *host, mca_btl_base_tag_t tag)
{
    int status;

    while ((status = send_by(tag)) == OPAL_ERR_OUT_OF_RESOURCE) {
        btl_progress();
        minihost_check(host);
    }
    must(host, status == OPAL_SUCCESS);
}

static void send_sure(struct minihost *host)
{
    send_sure_by(host, TAG);
}

/* The session fails here. */
static void lose(struct minihost *host)
{
    unsigned before = losses;

    must(host, fault_set("btl.ofi.send:drop") == ORTE_SUCCESS);
    must(host, send_one() == OPAL_SUCCESS);
    must(host, fault_set("") == ORTE_SUCCESS);
    until(host, &losses, before + 1);
    must(host, send_one() == OPAL_ERR_UNREACH);
}

static int lose_and_return(struct minihost *host, void *arg)
{
    (void) arg;
    begin(host);
    retries = host->rank == 1;
    if (host->rank == 0) {
        send_sure(host);
    }
    for (unsigned round = 1; host->rank == 0 && round <= ROUNDS; round++) {
        lose(host);
        btl_retry(btl, other, true);
        must(host, send_one() == OPAL_ERR_UNREACH);
        until(host, &returns, round);
        send_sure(host);
    }
    if (host->rank == 1) {
        until(host, &received, 1 + ROUNDS);
        must(host, losses == ROUNDS);
    }
    minihost_barrier(host, btl_progress);
    must(host, losses == returns);
    btl_close();
    return 0;
}

/* Rank 1 has nothing under way, and learns of the loss, with room for the word (NULL) or without.
 */
static int lose_once(struct minihost *host, void *without_room)
{
    begin(host);
    if (host->rank == 0) {
        send_sure(host);
    } else {
        until(host, &received, 1);
    }
    minihost_barrier(host, NULL);
    if (host->rank == 0) {
        while (without_room && send_one() == OPAL_SUCCESS) {
        }
        lose(host);
    }
    minihost_barrier(host, NULL);
    if (host->rank == 1) {
        until(host, &losses, 1);
        must(host, send_one() == OPAL_ERR_UNREACH);
    }
    minihost_barrier(host, btl_progress);
    must(host, losses == 1 && returns == 0);
    btl_close();
    return 0;
}

/* Messages from memory that their user takes away once they have failed, although the provider has
 * not sent them. What comes behind them, in the next session, comes. */
static void fail_from_memory(struct minihost *host)
{
    const size_t size = btl->btl_max_send_size;
    for (unsigned i = 0; i < FROM_MEMORY; i++) {
        void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        must(host, memory != MAP_FAILED);
        from_memory[i] = memory;
        opal_convertor_t convertor;
        size_t taken = size;
        opal_convertor_prepare(&convertor, memory, size);
        mca_btl_base_descriptor_t *descriptor = btl->btl_prepare_src(
            btl, other, &convertor, MCA_BTL_NO_ORDER, 0, &taken, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
        must(host, descriptor && taken == size);
        must(host, btl->btl_send(btl, other, descriptor, TAG) >= 0);
    }
    lose(host);
    for (unsigned i = 0; i < FROM_MEMORY; i++) {
        must(host, munmap(from_memory[i], size) == 0);
    }
}

static int lose_memory(struct minihost *host, void *arg)
{
    (void) arg;
    begin_over(host, "tcp;ofi_rxm");
    retries = host->rank == 1;
    if (host->rank == 0) {
        send_sure(host);
    } else {
        until(host, &received, 1);
    }
    minihost_barrier(host, NULL); /* rank 1 polls no more */
    if (host->rank == 0) {
        fail_from_memory(host);
        btl_retry(btl, other, true);
    }
    minihost_barrier(host, NULL);
    until(host, &returns, 1);
    send_sure_by(host, BEHIND);
    until(host, &behind, 1);
    minihost_barrier(host, btl_progress);
    btl_close();
    return 0;
}

static void run(int (*rank)(struct minihost *, void *), void *arg)
{
    struct minihost_options options = {.size = 2, .timeout_ms = 25000};
    char reason[512] = "";

    ck_assert_msg(minihost_run(&options, rank, arg, reason, sizeof(reason)), "%s", reason);
}

UNIT_CASE(what_is_lost_returns_as_often_as_it_is_lost, run(lose_and_return, NULL))
UNIT_CASE(who_is_idle_learns_of_a_loss, run(lose_once, NULL))
UNIT_CASE(who_is_idle_learns_of_a_loss_once_there_is_room, run(lose_once, &retries))

UNIT_CASE(what_comes_behind_memory_that_is_gone_comes, run(lose_memory, NULL))

UNIT_MAIN("ofi-return")
