/* The sm module without single copy, without memory, without room. */
#include <config.h>

#include <tests/unit/btl/sm/rank.h>

#include <base/settings/fault.h>
#include <base/settings/param.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <tests/lib/unit.h>

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
static int rdma(struct sm_rank *rank, bool put, unsigned char *local, size_t at, size_t size)
{
    int result = 1, right = (rank->host->rank + 1) % rank->host->size;
    unsigned char *shared = rank->host->shared + MINIHOST_SHARED_PER_RANK * (size_t) right;
    uint64_t address;
    memcpy(&address, shared + 256, sizeof(address));
    int status = (put ? rank->btl->btl_put : rank->btl->btl_get)(
        rank->btl, rank->endpoints[right], local, address + at, NULL,
        (mca_btl_base_registration_handle_t *) (void *) shared, size, 0, MCA_BTL_NO_ORDER, on_rdma,
        NULL, &result);
    if (status == OPAL_ERR_VALUE_OUT_OF_BOUNDS) {
        return status; /* as the handle shows */
    }
    must(status == OPAL_SUCCESS);
    while (result == 1) {
        sm_rank_progress();
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
    struct sm_rank rank = {.host = host};
    sm_rank_current = &rank;
    /* tried at once, instead of asking the target first */
    must(param_override("btl_sm_patience", "0") == ORTE_SUCCESS);
    if (how == BY_PARAMETER) {
        must(param_override("btl_sm_use_cma", "no") == ORTE_SUCCESS);
    } else if (how == BY_KERNEL) {
        forbid_single_copy();
    }
    sm_rank_start(&rank, host);
    unsigned char *region = calloc(1, REGION), *local = malloc(REGION);
    must(region && local);
    mca_btl_base_registration_handle_t *handle = rank.btl->btl_register_mem(
        rank.btl, MCA_BTL_ENDPOINT_ANY, region, REGION, MCA_BTL_REG_FLAG_ACCESS_ANY);
    must(handle);
    unsigned char *shared = host->shared + MINIHOST_SHARED_PER_RANK * (size_t) host->rank;
    uint64_t address = (uint64_t) (uintptr_t) region;
    memcpy(shared, handle, rank.btl->btl_registration_handle_size);
    memcpy(shared + 256, &address, sizeof(address));
    sm_rank_wait_all();
    int right = (host->rank + 1) % host->size;
    must(rdma(&rank, false, local, 0, 8) == OPAL_SUCCESS);
    if (how == BY_KERNEL_LATER) {
        forbid_single_copy(); /* found out by an operation, which is done all the same */
    }
    memset(local, 10 + host->rank, REGION);
    must(rdma(&rank, true, local, 0, REGION) == OPAL_SUCCESS);
    must(rank.endpoints[right]->cma == SM_CMA_OFF);
    sm_rank_wait_all();
    for (size_t i = 0; i < REGION; i++) {
        must(region[i] == 10 + (host->rank + host->size - 1) % host->size);
    }
    memset(local, 0, REGION);
    must(rdma(&rank, false, local, 1, REGION - 1) == OPAL_SUCCESS);
    must(local[0] == 10 + host->rank && local[REGION - 2] == 10 + host->rank);
    must(rdma(&rank, true, local, 1, REGION) == OPAL_ERR_VALUE_OUT_OF_BOUNDS);
    sm_rank_wait_all();
    must(rank.btl->btl_deregister_mem(rank.btl, handle) == OPAL_SUCCESS);
    sm_rank_wait_all();
    must(rdma(&rank, true, local, 0, 1) == OPAL_ERR_PERM);
    sm_rank_wait_all();
    btl_close();
    free(region);
    free(local);
    return 0;
}

UNIT_LOOP(put_and_get_work_without_single_copy, 0, 3)
{
    const struct minihost_options options = {.size = 2, .timeout_ms = 9000};
    enum forbidden how = (enum forbidden) _i;
    sm_ranks_run(&options, emulated_run, &how);
}
END_TEST

/* ---- short of everything ---- */

/* Sends, memory and single copy fail now and then: all arrives all the same, in order. */
static int short_run(struct minihost *host, void *arg)
{
    (void) arg;
    struct sm_rank rank;
    sm_rank_start(&rank, host);
    must(fault_set(
             "btl.sm.send:error=EAGAIN:p=0.2:seed=7; btl.sm.memory:error=ENOSPC:p=0.7:seed=3") ==
         ORTE_SUCCESS);
    int other = 1 - host->rank;
    for (uint32_t i = 0; i < 3000; i++) {
        sm_rank_send(&rank, other, i, i % 3 ? 30 : i % 2 ? 4000 : 30000);
    }
    while (rank.received[other] < 3000) {
        sm_rank_progress();
    }
    must(rank.errors[other] == 0);
    must(fault_set(NULL) == ORTE_SUCCESS);
    sm_rank_wait_all();
    btl_close();
    return 0;
}

START_TEST(shortage_loses_nothing)
{
    const struct minihost_options options = {.size = 2, .timeout_ms = 9000};
    sm_ranks_run(&options, short_run, NULL);
}
END_TEST

UNIT_MAIN("sm-shortage")
