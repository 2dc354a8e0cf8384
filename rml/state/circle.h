/* A circle: the processes that had to do with one, each once, so that they can be told of its end.
 * Bounded. Pure. */
#ifndef RML_CIRCLE_H
#define RML_CIRCLE_H

#include <keel/types.h>

#define RML_CIRCLE_MAX 65536u

struct rml_circle {
    orte_process_name_t *slots; /* owned; open addressing, ORTE_JOBID_INVALID: free */
    uint32_t size;              /* a power of two, or 0 */
    uint32_t count;
    uint32_t last; /* the slot of the last name that was added or found */
};

enum rml_circle_added { RML_CIRCLE_NEW, RML_CIRCLE_KNOWN, RML_CIRCLE_FULL };

/* Zero-initialized is empty. FULL: there is no room, or no memory, for one more. */
enum rml_circle_added rml_circle_add(struct rml_circle *circle, const orte_process_name_t *name);
void rml_circle_each(const struct rml_circle *circle,
                     void (*visit)(void *arg, const orte_process_name_t *name), void *arg);
void rml_circle_fini(struct rml_circle *circle); /* it is empty then */

#endif
