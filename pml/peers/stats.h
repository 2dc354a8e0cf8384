/* What is counted of the messages with one member of a context. */
#ifndef PML_STATS_H
#define PML_STATS_H

#include <stddef.h>
#include <stdint.h>

struct keel_pml_stat;
struct pml;

struct pml_stats {
    uint64_t sent, sent_bytes, announced;
    uint64_t received, received_bytes, unexpected;
    uint64_t waiting,
        waiting_most; /* filled in when they are asked for: the peer's quota has them */
};

/* Of all contexts and members of a PML: as keel_pml_stats. */
size_t pml_stats_total(struct pml *pml, struct keel_pml_stat *stats, size_t count);

#endif
