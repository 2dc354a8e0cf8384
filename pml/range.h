/* Bytes of a message that a lost rail did not move: another one is to. */
#ifndef PML_RANGE_H
#define PML_RANGE_H

#include <base/data/list.h>

struct range {
    struct list link;
    size_t offset, size;
};

/* False: no memory. */
bool range_add(struct list *ranges, size_t offset, size_t size);
/* NULL: there is none. */
struct range *range_first(const struct list *ranges);
/* A rail took so many bytes of it. */
void range_taken(struct range *range, size_t size);
void ranges_clear(struct list *ranges);

#endif
