/* What the daemons of single ranks do with them, for one that asks. */
#include <config.h>

#include <launcher/pmix/exchange/exchange_internal.h>

#include <stdlib.h>
#include <wireup/proto.h>

/* An operation that several daemons carry out. */
struct round {
    pmix_done_fn *done;
    void *done_arg;
    uint32_t open; /* answers to come */
    bool any;      /* has somebody done it? */
    pmix_status_t status;
    struct blob data;
};

static void round_settle(struct round *round)
{
    if (--round->open == 0) {
        round->done(round->done_arg, round->any ? PMIX_SUCCESS : round->status, round->data.data,
                    round->data.size);
        blob_fini(&round->data);
        free(round);
    }
}

static void round_answered(void *arg, pmix_status_t status, const void *data, size_t size)
{
    struct round *round = arg;
    if (status == PMIX_SUCCESS && size > 0 &&
        blob_append(&round->data, data, size) != ORTE_SUCCESS) {
        status = PMIX_ERR_NOMEM;
    }
    if (status == PMIX_SUCCESS) {
        round->any = true;
    } else {
        round->status = status;
    }
    round_settle(round);
}

struct target {
    uint32_t daemon, number;
};

static int compare_targets(const void *a, const void *b)
{
    const struct target *left = a, *right = b;
    return left->daemon != right->daemon   ? (left->daemon < right->daemon ? -1 : 1)
           : left->number != right->number ? (left->number < right->number ? -1 : 1)
                                           : 0;
}

/* NULL: processes that are not of this job, or no memory. */
static struct target *make_targets(const struct exchange *exchange, const pmix_proc_t *procs,
                                   size_t proc_count, uint32_t *count)
{
    const struct job_map *map = &exchange->daemon->launch.map;
    uint32_t *numbers = exchange_numbers(exchange, procs, proc_count, count);
    struct target *targets = numbers ? calloc(*count, sizeof(*targets)) : NULL;
    for (uint32_t i = 0; targets && i < *count; i++) {
        targets[i] = (struct target){map->daemon_of_node[map->node_of[numbers[i]]], numbers[i]};
    }
    free(numbers);
    if (targets) {
        qsort(targets, *count, sizeof(*targets), compare_targets);
    }
    return targets;
}

/* To one daemon; all targets are its own. */
static void send_rank_op(struct exchange *exchange, struct round *round, enum rank_op op,
                         int32_t argument, const struct target *targets, uint32_t count)
{
    round->open++;
    struct pending *pending = exchange_pending(exchange, round_answered, round);
    if (!pending) {
        return;
    }
    opal_buffer_t *buffer =
        proto_new(MESSAGE_RANK_OP, "qciu", pending->request, (uint8_t) op, argument, count);
    int status = buffer ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
    for (uint32_t i = 0; i < count && status == ORTE_SUCCESS; i++) {
        status = proto_pack(buffer, "u", targets[i].number);
    }
    exchange_ask(pending, targets[0].daemon, proto_whole(buffer, status));
}

void exchange_rank_op(struct exchange *exchange, enum rank_op op, int32_t argument,
                      const pmix_proc_t *procs, size_t proc_count, pmix_done_fn *done,
                      void *done_arg)
{
    uint32_t count = 0;
    struct target *targets = make_targets(exchange, procs, proc_count, &count);
    struct round *round = targets ? calloc(1, sizeof(*round)) : NULL;
    if (!round) {
        free(targets);
        done(done_arg, PMIX_ERR_NOT_FOUND, NULL, 0);
        return;
    }
    *round =
        (struct round){.done = done, .done_arg = done_arg, .open = 1, .status = PMIX_ERR_NOT_FOUND};
    for (uint32_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && targets[end].daemon == targets[first].daemon; end++) {
        }
        send_rank_op(exchange, round, op, argument, targets + first, end - first);
    }
    free(targets);
    round_settle(round);
}

/* --- another daemon's operation --- */

/* Reads the numbers of local ranks. NULL: no memory, or a rank of another daemon. */
static uint32_t *read_numbers(struct exchange *exchange, opal_buffer_t *buffer, uint32_t count)
{
    if (proto_left(buffer) / sizeof(uint32_t) < count) {
        return NULL;
    }
    uint32_t *numbers = calloc(count + 1u, sizeof(*numbers));
    for (uint32_t i = 0; numbers && i < count; i++) {
        if (proto_unpack(buffer, "u", &numbers[i]) != OPAL_SUCCESS ||
            !local_is_here(exchange->daemon, numbers[i])) {
            free(numbers);
            return NULL;
        }
    }
    return numbers;
}

int exchange_take_rank_op(struct exchange *exchange, uint32_t asker, opal_buffer_t *buffer)
{
    uint64_t request;
    uint8_t op;
    int32_t argument;
    uint32_t count;
    int status = proto_unpack(buffer, "qciu", &request, &op, &argument, &count);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    struct blob answer = {0};
    uint32_t *numbers = read_numbers(exchange, buffer, count);
    pmix_status_t outcome = PMIX_ERR_NOT_FOUND;
    if (numbers && !exchange->closed) {
        outcome = exchange->ops->rank_op(exchange->arg, op, argument, numbers, count, &answer);
    }
    exchange_answer(exchange->daemon, asker, request, outcome, answer.data, answer.size);
    blob_fini(&answer);
    free(numbers);
    return ORTE_SUCCESS;
}
