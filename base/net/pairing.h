/* Pairing of two sides' interfaces, computed by each side for itself: as many pairs as there can
 * be, and among those the heaviest. A pure function: the Hungarian method, for tens of interfaces.
 */
#ifndef BASE_PAIRING_H
#define BASE_PAIRING_H

#include <keel/types.h>

enum { PAIRING_MAX = 64 /* interfaces of a side */, PAIRING_NONE = -1 };

/* weights has mine times theirs numbers: weights[i * theirs + j] tells how good a pair my interface
 * i and their interface j are, any 64 bits; 0: they cannot be paired. partners[i] becomes the
 * partner of my interface i, or PAIRING_NONE.
 *
 * The two ends call it with weights that are transposed, and with first set at exactly one of them
 * (the process of the lower name, say); they get the same pairs. Of several pairings that are
 * equally good both choose the one in which the first side's interface 0 has the partner of the
 * lowest number, then its interface 1, and so on; no partner counts as the highest. (The weights
 * alone could not decide it: two pairings may differ by nothing but which side is which.)
 *
 * ORTE_ERR_BAD_PARAM: a side has more than PAIRING_MAX interfaces. */
int pairing_find(const uint64_t *weights, size_t mine, size_t theirs, bool first,
                 int *partners) KEEL_MUST_CHECK;

#endif
