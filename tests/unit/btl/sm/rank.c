#include <config.h>

#include <tests/unit/btl/sm/rank.h>

#include <base/settings/param.h>
#include <check.h>
#include <string.h>

struct sm_rank *sm_rank_current;
const struct keel_host_ops *sm_rank_ops = &minihost_ops;

/* How a message begins: who, which. The other bytes follow from that. */
struct head {
    uint32_t from, number;
};

static void fill(unsigned char *bytes, size_t size, uint32_t number)
{
    struct head head = {(uint32_t) sm_rank_current->host->rank, number};
    memset(bytes, (int) (number & 0xff), size);
    memcpy(bytes, &head, sizeof(head));
}

void sm_rank_on_message(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                        mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) tag;
    struct sm_rank *rank = cbdata;
    const unsigned char *bytes = descriptor->des_segments[0].seg_addr.pval;
    size_t size = (size_t) descriptor->des_segments[0].seg_len;
    struct head head;
    must(size >= sizeof(head) && size <= btl->btl_max_send_size);
    memcpy(&head, bytes, sizeof(head));
    must(head.from < SM_RANKS_MAX && head.number == rank->received[head.from]);
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
        sm_rank_current->errors[proc->proc_name.vpid]++;
    }
}

int sm_rank_progress(void)
{
    minihost_check(sm_rank_current->host);
    return btl_progress();
}

void sm_rank_wait_all(void)
{
    minihost_barrier(sm_rank_current->host, btl_progress);
}

void sm_rank_open(struct sm_rank *rank, struct minihost *host)
{
    *rank = (struct sm_rank){.host = host};
    sm_rank_current = rank;
    must(param_override("btl", "sm") == ORTE_SUCCESS);
    char reason[256] = "";
    if (btl_open(sm_rank_ops, host, reason, sizeof(reason)) != ORTE_SUCCESS) {
        minihost_fail(host, "%s", reason);
    }
    size_t count;
    rank->btl = btl_modules(&count)[0];
    must(rank->btl->btl_register(rank->btl, SM_RANK_TAG, sm_rank_on_message, rank) == OPAL_SUCCESS);
    must(rank->btl->btl_register_error(rank->btl, on_error) == OPAL_SUCCESS);
    minihost_barrier(host, NULL);
}

void sm_rank_add_all(struct sm_rank *rank)
{
    opal_proc_t *procs[SM_RANKS_MAX];
    for (int i = 0; i < rank->host->size; i++) {
        procs[i] = &rank->host->procs[i];
    }
    must(rank->btl->btl_add_procs(rank->btl, (size_t) rank->host->size, procs, rank->endpoints,
                                  NULL) == OPAL_SUCCESS);
    minihost_barrier(rank->host, NULL);
}

void sm_rank_start(struct sm_rank *rank, struct minihost *host)
{
    sm_rank_open(rank, host);
    sm_rank_add_all(rank);
}

void sm_rank_drop(struct sm_rank *rank, int peer)
{
    opal_proc_t *proc = &rank->host->procs[peer];
    must(rank->btl->btl_del_procs(rank->btl, 1, &proc, &rank->endpoints[peer]) == OPAL_SUCCESS);
    rank->endpoints[peer] = NULL;
}

void sm_ranks_run(const struct minihost_options *options, int (*fn)(struct minihost *, void *),
                  void *arg)
{
    char reason[512] = "";
    bool ok = minihost_run(options, fn, arg, reason, sizeof(reason));
    ck_assert_msg(ok, "%s", reason);
}

bool sm_rank_try_send(struct sm_rank *rank, int to, uint32_t number, size_t size,
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
    *status = rank->btl->btl_send(rank->btl, rank->endpoints[to], descriptor, SM_RANK_TAG);
    if (*status < 0) {
        rank->btl->btl_free(rank->btl, descriptor);
    }
    return *status >= 0;
}

void sm_rank_send(struct sm_rank *rank, int to, uint32_t number, size_t size)
{
    int status;
    while (!sm_rank_try_send(rank, to, number, size, NULL, NULL, &status)) {
        must(status == OPAL_ERR_OUT_OF_RESOURCE);
        sm_rank_progress();
    }
}

void sm_stream_sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint;
    struct sm_stream *stream = descriptor->des_cbdata;
    stream->good += status == OPAL_SUCCESS;
    stream->bad += status < 0;
    must(stream->good + stream->bad <= stream->accepted + 1);
}
