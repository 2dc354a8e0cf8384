/* Bytes of a message that are to be moved out of turn: by the rail whose receiver asks for them, or
 * because one was lost that should have moved them. */
#ifndef PML_RANGE_H
#define PML_RANGE_H

#include <base/data/list.h>
#include <keel/ptl.h>

struct range {
    struct list link;
    size_t offset, size;
    const mca_ptl_base_module_t *by; /* borrowed: that should move them if it can; NULL: any */
};

/* False: no memory. */
bool range_add(struct list *ranges, size_t offset, size_t size, const mca_ptl_base_module_t *by);
/* NULL: there is none. */
struct range *range_first(const struct list *ranges);
/* A rail took so many bytes of it. */
void range_taken(struct range *range, size_t size);
void ranges_clear(struct list *ranges);

#endif
