#include <config.h>

#include <pml/pieces/range.h>
#include <stdlib.h>

bool range_add(struct list *ranges, size_t offset, size_t size, const mca_ptl_base_module_t *by)
{
    struct range *range = malloc(sizeof(*range));
    if (range) {
        range->offset = offset;
        range->size = size;
        range->by = by;
        list_append(ranges, &range->link);
    }
    return range;
}

struct range *range_first(const struct list *ranges)
{
    return list_empty(ranges) ? NULL : container_of(ranges->next, struct range, link);
}

void range_taken(struct range *range, size_t size)
{
    range->offset += size;
    range->size -= size;
    if (range->size == 0) {
        list_remove(&range->link);
        free(range);
    }
}

void ranges_clear(struct list *ranges)
{
    for (struct list *link; (link = list_pop(ranges));) {
        free(container_of(link, struct range, link));
    }
}
