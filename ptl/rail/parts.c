#include <config.h>

#include <ptl/rail/parts.h>
#include <stdlib.h>

void rail_parts_end(struct rail_parts *parts)
{
    list_remove(&parts->link);
    free(parts->bytes);
    free(parts);
}

struct rail_parts *rail_parts_over(const struct list *all,
                                   const struct mca_btl_base_endpoint_t *endpoint)
{
    struct rail_parts *parts;
    list_for_each (parts, all, struct rail_parts, link) {
        if (parts->endpoint == endpoint) {
            return parts;
        }
    }
    return NULL;
}

struct rail_parts *rail_parts_begin(struct list *all, struct rail_parts *before,
                                    const struct mca_btl_base_endpoint_t *endpoint,
                                    const struct rail_part *part)
{
    struct rail_parts *parts = malloc(sizeof(*parts));
    uint8_t *bytes = malloc(part->whole);
    if (before) {
        rail_parts_end(before);
    }
    if (!parts || !bytes) {
        free(parts);
        free(bytes);
        return NULL;
    }
    *parts = (struct rail_parts){
        .endpoint = endpoint, .bytes = bytes, .number = part->number, .size = part->whole};
    list_append(all, &parts->link);
    return parts;
}
