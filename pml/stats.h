/* What is counted of the messages with one member of a context. */
#ifndef PML_STATS_H
#define PML_STATS_H

#include <stdint.h>

struct pml_stats {
    uint64_t sent, sent_bytes, announced;
    uint64_t received, received_bytes, unexpected;
    uint64_t waiting,
        waiting_most; /* filled in when they are asked for: the peer's quota has them */
};

#endif
