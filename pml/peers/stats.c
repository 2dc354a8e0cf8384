#include <config.h>

#include <pml/peers/context.h>
#include <stddef.h>
#include <string.h>

static const struct row {
    const char *name, *unit, *help;
    size_t at;
} rows[] = {
    {"messages_sent", "messages", "Messages that a rail has taken, or the first bytes of them.",
     offsetof(struct pml_stats, sent)},
    {"bytes_sent", "bytes", "Bytes of them.", offsetof(struct pml_stats, sent_bytes)},
    {"announced", "messages", "Those of them that needed the receiver's answer.",
     offsetof(struct pml_stats, announced)},
    {"messages_received", "messages",
     "Messages that have come, or the first bytes of them; copies count.",
     offsetof(struct pml_stats, received)},
    {"bytes_received", "bytes", "Bytes of them.", offsetof(struct pml_stats, received_bytes)},
    {"unexpected", "messages", "Those of them that no receive took when they came.",
     offsetof(struct pml_stats, unexpected)},
    {"unexpected_now", "bytes",
     "Memory of what waits for a receive, of all contexts with this rank.",
     offsetof(struct pml_stats, waiting)},
    {"unexpected_most", "bytes", "The most that this ever was; with all ranks, their sum.",
     offsetof(struct pml_stats, waiting_most)},
};
enum { ROWS = sizeof(rows) / sizeof(*rows) };

/* A member that is not used yet has counted nothing. */
static uint64_t read_row(const struct member *member, const struct row *row)
{
    struct pml_stats stats = member->stats;
    uint64_t value;
    if (member->peer) {
        stats.waiting = member->peer->quota.bytes;
        stats.waiting_most = member->peer->quota.highest;
    }
    memcpy(&value, (const char *) &stats + row->at, sizeof(value));
    return value;
}

static uint64_t sum_up(const struct keel_pml_context *context, int32_t rank, const struct row *row)
{
    uint64_t sum = 0;
    if (rank >= 0) {
        return read_row(&context->members[rank], row);
    }
    for (size_t i = 0; i < context->size; i++) {
        sum += read_row(&context->members[i], row);
    }
    return sum;
}

size_t keel_pml_stats(struct keel_pml_context *context, int32_t rank, struct keel_pml_stat *stats,
                      size_t count)
{
    if (!context || (rank != KEEL_PML_ANY_SOURCE && !context_has_rank(context, rank))) {
        return 0;
    }
    pml_lock(context->pml);
    for (size_t i = 0; stats && i < ROWS && i < count; i++) {
        stats[i] = (struct keel_pml_stat){rows[i].name, rows[i].unit, rows[i].help,
                                          sum_up(context, rank, &rows[i])};
    }
    pml_unlock(context->pml);
    return ROWS;
}

static void add(struct pml_stats *total, const struct pml_stats *stats)
{
    total->sent += stats->sent;
    total->sent_bytes += stats->sent_bytes;
    total->announced += stats->announced;
    total->received += stats->received;
    total->received_bytes += stats->received_bytes;
    total->unexpected += stats->unexpected;
}

static struct pml_stats total_of(struct pml *pml)
{
    struct pml_stats total = {0};
    struct keel_pml_context *context;
    struct peer *peer;
    list_for_each (context, &pml->all_contexts, struct keel_pml_context, all) {
        for (size_t i = 0; i < context->size; i++) {
            add(&total, &context->members[i].stats);
        }
    }
    list_for_each (peer, &pml->all_peers, struct peer, all) {
        total.waiting += peer->quota.bytes;
        total.waiting_most += peer->quota.highest;
    }
    return total;
}

size_t pml_stats_total(struct pml *pml, struct keel_pml_stat *stats, size_t count)
{
    pml_lock(pml);
    const struct pml_stats total = total_of(pml);
    pml_unlock(pml);
    for (size_t i = 0; i < ROWS && i < count; i++) {
        stats[i] = (struct keel_pml_stat){rows[i].name, rows[i].unit, rows[i].help, 0};
        memcpy(&stats[i].value, (const char *) &total + rows[i].at, sizeof(stats[i].value));
    }
    return ROWS;
}
