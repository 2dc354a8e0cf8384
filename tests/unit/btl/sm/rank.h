/* For tests of the sm module among processes: one rank's module, what it has received and heard of
 * errors. Messages are numbered for each pair, and checked where they arrive. */
#ifndef TESTS_SM_RANK_H
#define TESTS_SM_RANK_H

#include <btl/sm/module.h>
#include <tests/lib/minihost.h>

enum { SM_RANK_TAG = 7, SM_RANKS_MAX = 4 };

struct sm_rank {
    struct minihost *host;
    mca_btl_base_module_t *btl;
    struct mca_btl_base_endpoint_t *endpoints[SM_RANKS_MAX];
    unsigned received[SM_RANKS_MAX]; /* good messages, by sender */
    unsigned errors[SM_RANKS_MAX];   /* error callbacks, by peer */
};

extern struct sm_rank *sm_rank_current;         /* this process's */
extern const struct keel_host_ops *sm_rank_ops; /* minihost's, unless a test has others */

#define must(condition) minihost_must(sm_rank_current->host, condition)

/* Forks the ranks; fails the test when one of them does. */
void sm_ranks_run(const struct minihost_options *options, int (*fn)(struct minihost *, void *),
                  void *arg);
/* Opens the module; then adds all peers. sm_rank_start does both. All ranks at once. */
void sm_rank_open(struct sm_rank *rank, struct minihost *host);
void sm_rank_add_all(struct sm_rank *rank);
void sm_rank_start(struct sm_rank *rank, struct minihost *host);
void sm_rank_drop(struct sm_rank *rank, int peer);
int sm_rank_progress(void);
void sm_rank_wait_all(void);

/* Sends one message; false: no room. *status gets another error. */
bool sm_rank_try_send(struct sm_rank *rank, int to, uint32_t number, size_t size,
                      mca_btl_base_completion_fn_t done, void *data, int *status);
void sm_rank_send(struct sm_rank *rank, int to, uint32_t number, size_t size); /* waits for room */
void sm_rank_on_message(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                        mca_btl_base_descriptor_t *descriptor, void *cbdata);

/* Messages whose completions are counted. */
struct sm_stream {
    unsigned accepted, good, bad;
};
/* Their callback; des_cbdata is the stream. */
void sm_stream_sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    mca_btl_base_descriptor_t *descriptor, int status);

#endif
