/* What may have been meant by a word that nobody knows. */
#ifndef LAUNCHER_REQUEST_SUGGEST_H
#define LAUNCHER_REQUEST_SUGGEST_H

#include <keel/types.h>

#define SUGGEST_NEVER SIZE_MAX

/* How many letters must be put in, taken out or changed to get from one word, of a_size letters, to
 * the other, capital or not; SUGGEST_NEVER when that is more than two or the words are very long.
 */
size_t suggest_distance(const char *a, size_t a_size, const char *b);

/* Of words that are looked at one after the other, the nearest to one that nobody knows. */
struct suggestion {
    const char *word; /* borrowed, as nearest */
    size_t size, least;
    const char *nearest; /* less than least apart, and by fewer letters than word has; NULL: none */
};
void suggest_look(struct suggestion *suggestion, const char *candidate);

/* Says that a word is none of these names, NULL-ended, and which is nearest, or begins so:
 * "'cor': slot, node or core is needed; the nearest is core". Of NAME=VALUE the name is compared,
 * which ends in '=' among the names, too. */
void suggest_among(const char *const *names, const char *word, size_t size, char *reason,
                   size_t reason_size);

/* What Keel has in place of an option of Open MPI's mpirun, hydra's mpiexec or srun, without its
 * dashes: a text for the user. NULL: no such option. */
const char *suggest_for_option(const char *name, size_t size);

#endif
