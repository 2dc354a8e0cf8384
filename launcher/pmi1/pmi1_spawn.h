/* PMI-1's spawn as a struct: lines "name=value" from "mcmd=spawn" to "endcmd", a block of them for
 * each program. Pure. What a client sends is hostile until it has been read. */
#ifndef LAUNCHER_PMI1_PMI1_SPAWN_H
#define LAUNCHER_PMI1_PMI1_SPAWN_H

#include <launcher/node/orders/orders.h>

/* All zero: nothing was read. */
struct pmi1_spawn {
    struct spawn_wish *wishes; /* owned: one for each block */
    uint32_t count;
    char **puts;       /* owned: KEY=VALUE for the new ranks' key-value space */
    char *put_key;     /* owned: of the pair of puts whose value comes next; NULL: none */
    char *info_key;    /* owned: the same of the info */
    uint32_t items;    /* strings in all of this ... */
    size_t bytes;      /* ... and what they take */
    int total, so_far; /* blocks that there are to be; the one that was read last */
    bool open;         /* in the lines of a block */
};

enum { PMI1_SPAWN_ITEMS_MAX = 16384, PMI1_SPAWN_BYTES_MAX = 4 << 20 };

/* "mcmd=spawn": the first block, or another one. */
int pmi1_spawn_begin(struct pmi1_spawn *spawn) KEEL_MUST_CHECK;
/* Takes a line of a block. Names and keys of the info that it does not know are passed over.
 * ORTE_ERR_BAD_PARAM: it makes no sense; ORTE_ERR_OUT_OF_RESOURCE: there is too much of it. */
int pmi1_spawn_line(struct pmi1_spawn *spawn, const char *line) KEEL_MUST_CHECK;
/* Behind a block: was it the last? */
bool pmi1_spawn_is_whole(const struct pmi1_spawn *spawn);
/* The ranks of all blocks. */
uint64_t pmi1_spawn_ranks(const struct pmi1_spawn *spawn);
/* The name of a line that a block lacks, or that has no ranks or no program; NULL: none. */
const char *pmi1_spawn_lacks(const struct pmi1_spawn *spawn);
void pmi1_spawn_fini(struct pmi1_spawn *spawn);

#endif
