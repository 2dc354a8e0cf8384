/* Where ranks are to run and what they are bound to: --map-by, --rank-by, --bind-to and their kin
 * as a struct. docs/mapping.md has the rules. */
#ifndef LAUNCHER_REQUEST_PLACEMENT_H
#define LAUNCHER_REQUEST_PLACEMENT_H

#include <base/host/topo.h>
#include <keel/types.h>

enum { RANKS_MAX = 1 << 20 }; /* of a job */

enum map_by { MAP_BY_SLOT, MAP_BY_NODE, MAP_BY_OBJECT, MAP_BY_PPR, MAP_BY_SEQ, MAP_BY_RANKFILE };

enum rank_by {
    RANK_BY_DEFAULT, /* as --map-by has placed them */
    RANK_BY_SLOT,
    RANK_BY_NODE,
    RANK_BY_OBJECT,
    RANK_BY_SPAN,
    RANK_BY_FILL,
};

/* What a level is where none is named: the whole node, or for ranking the object of the mapping. */
enum { LEVEL_NODE = TOPO_LEVELS };

/* One line of a rankfile: "rank 3=alpha slot=0:1-2". */
struct rank_place {
    char *host;    /* owned; NULL: no line names this rank */
    uint32_t line; /* of the file, for messages */
    char *cpus;    /* owned; the text behind "slot="; NULL: not bound */
};

struct placement {
    enum map_by map_by;
    unsigned map_level;     /* of MAP_BY_OBJECT and MAP_BY_PPR; LEVEL_NODE: ppr:N:node */
    uint32_t per_object;    /* N of ppr:N:OBJECT */
    uint32_t cpus_per_rank; /* PE=n; 0: not given */
    bool span, no_local, hwthreads;
    enum rank_by rank_by;
    unsigned rank_level; /* of RANK_BY_OBJECT, SPAN and FILL; LEVEL_NODE: not named */
    bool bind_given;     /* else bind is what the mapping brings along */
    bool bind;           /* false: --bind-to none */
    unsigned bind_level;
    bool overload, if_supported;
    char *cpu_set;   /* owned: --cpu-set, processors by logical number, "0-3,8"; NULL: all */
    bool files_wait; /* files that are named may be FIFOs and devices, for which this waits */
    char *file;      /* owned: that of seq or of the rankfile, for messages; NULL: none */
    char **sequence; /* owned, NULL-ended: the hosts of seq's file, in order; NULL: the
                      * hostfiles' */
    struct rank_place *ranks; /* owned: of the rankfile */
    uint32_t rank_count;
};

/* The words of --map-by, --rank-by, --bind-to. Pure but for FILE=, which is read here.
 * ORTE_ERR_BAD_PARAM: reason names the word, what is possible, and the nearest. oversubscribe: set
 * to 1 or -1 by OVERSUBSCRIBE and NOOVERSUBSCRIBE, else left. */
int placement_map_by(struct placement *placement, const char *words, int *oversubscribe,
                     char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* Do these name a policy, and not only modifiers of one. */
bool placement_names_policy(const char *words);
int placement_rank_by(struct placement *placement, const char *words, char *reason,
                      size_t reason_size) KEEL_MUST_CHECK;
int placement_bind_to(struct placement *placement, const char *words, char *reason,
                      size_t reason_size) KEEL_MUST_CHECK;
/* "0-3,8" */
int placement_cpu_set(struct placement *placement, const char *list, char *reason,
                      size_t reason_size) KEEL_MUST_CHECK;
/* Does one word exclude another: SPAN with slot, PE=n with --bind-to package, ... Fills in what
 * follows from what was given: PE=n binds. */
int placement_settle(struct placement *placement, char *reason, size_t reason_size) KEEL_MUST_CHECK;
void placement_fini(struct placement *placement);

enum { POLICY_MAX = 40 };
/* As --map-by has it, without modifiers: "ppr:2:core". */
void placement_policy(const struct placement *placement, char name[POLICY_MAX]);

/* For completion: the words of --map-by, --rank-by and --bind-to, one by one. behind: "", or a
 * shell's pattern of the words before, without the last colon: "core", "ppr:*". The more exact
 * pattern comes first, and all words of one together. */
typedef void placement_offer_fn(void *arg, const char *behind, const char *word);
void placement_offer_map(placement_offer_fn *fn, void *arg);
void placement_offer_rank(placement_offer_fn *fn, void *arg);
void placement_offer_bind(placement_offer_fn *fn, void *arg);

/* "core"; LEVEL_NODE: "node". */
const char *level_name(unsigned level);

#endif
