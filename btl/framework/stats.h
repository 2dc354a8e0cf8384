/* Statistics: counters, told as rows of name, unit and meaning.
 *
 * What is counted anyway, at no cost that shows, lies in the framework's entry of a module, or in
 * the module's own memory, whose component names the members in a table. What costs more, messages
 * and accesses of a module and of each peer, is counted by a tap, and only where btl_base_stats
 * asks for it. */
#ifndef BTL_STATS_H
#define BTL_STATS_H

#include <btl/modules/tap.h>

/* A row of a table, which ends with one without a name. */
struct btl_stat {
    const char *name, *unit, *help;
    size_t at; /* BTL_STAT_AT */
};
/* Where a counter lies in the memory of what it counts for; it is a uint64_t. */
#define BTL_STAT_AT(type, member) \
    _Generic(((type *) NULL)->member, uint64_t : offsetof(type, member))

/* What an endpoint knows of its peer at this moment; a table ends as those of struct btl_stat do.
 */
struct btl_gauge {
    const char *name, *unit, *help;
    uint64_t (*read)(const struct mca_btl_base_endpoint_t *endpoint); /* of one that was used */
};

/* NULL with ORTE_SUCCESS where no parameter asks for it. */
int btl_stats_tap_create(mca_btl_base_module_t *module, struct btl_tap **tap) KEEL_MUST_CHECK;
#endif
